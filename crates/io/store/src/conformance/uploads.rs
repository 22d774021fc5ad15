//! Promises of uploads: a blob that is brought bit by bit is there once it is finished, and not before; kept until a commit
//! names it, and freed if none does.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use bytes::Bytes;
use threadkeep_model::{BlobId, ThreadId};

use super::Hands;
use super::cells::file;
use crate::{CHUNK_BYTES, Result, StoreError, UploadId};

/// Bytes that differ from chunk to chunk, and with `seed`.
pub(super) fn content(seed: u32, size: usize) -> Bytes {
    (0..size as u32).map(|n| ((n / 7).wrapping_mul(seed + 3) % 251) as u8).collect::<Vec<u8>>().into()
}

pub(super) async fn begun(hands: &Hands) -> UploadId {
    hands.stores.blobs.begin_upload(hands.now()).await.expect("an upload")
}

/// Adds all of `content`, some chunks at a time.
async fn added(hands: &Hands, upload: UploadId, content: &Bytes, chunks: usize) {
    for at in (0..content.len()).step_by(chunks * CHUNK_BYTES) {
        let part = content.slice(at..content.len().min(at + chunks * CHUNK_BYTES));
        hands.stores.blobs.add_to_upload(upload, at as u64, part).await.expect("a part");
    }
}

async fn finished(hands: &Hands, upload: UploadId, content: &Bytes) -> Result<()> {
    hands.stores.blobs.finish_upload(upload, BlobId::of(content), content.len() as u64).await
}

/// An upload of all of `content`, finished.
async fn uploaded(hands: &Hands, content: &Bytes) -> UploadId {
    let upload = begun(hands).await;
    added(hands, upload, content, 2).await;
    finished(hands, upload, content).await.expect("a blob");
    upload
}

pub(super) async fn ended(hands: &Hands, upload: UploadId) {
    hands.stores.blobs.end_upload(upload).await.expect("an end");
}

/// Writes a file whose content is in the store already.
pub(super) async fn written(hands: &Hands, thread: ThreadId, content: &Bytes) -> Result<()> {
    let (entry, _) = file("/f", content);
    hands.try_commit(hands.commit(vec![hands.write(thread, vec![entry])])).await.map(drop)
}

pub(super) async fn blob(hands: &Hands, content: &Bytes) -> Option<Bytes> {
    hands.stores.blobs.blob(BlobId::of(content)).await.expect("a read")
}

pub(super) fn is_gone(result: &Result<()>) -> bool {
    matches!(result, Err(StoreError::Unavailable { .. }))
}

pub async fn what_was_uploaded_is_named_by_a_commit_and_read_in_parts(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    for (seed, size) in [(1, 5 * CHUNK_BYTES + 77), (2, 2 * CHUNK_BYTES), (3, 1), (4, 0)] {
        let content = content(seed, size);
        let upload = uploaded(&hands, &content).await;
        written(&hands, thread, &content).await.expect("a commit");
        ended(&hands, upload).await;
        hands.gc().await;
        assert_eq!(blob(&hands, &content).await, Some(content.clone()), "{size} bytes");
        let end = size as u64;
        for range in [0..3, 1..end, end.saturating_sub(80)..end + 9, 262_143..262_146, 300_000..900_000] {
            let part = hands.stores.blobs.blob_part(BlobId::of(&content), range.clone()).await.expect("a read");
            let cut = |at: u64| at.min(end) as usize;
            assert_eq!(
                part,
                Some(content.slice(cut(range.start.min(range.end))..cut(range.end))),
                "{range:?} of {size}"
            );
        }
    }
}

pub async fn nobody_sees_an_upload_before_it_is_finished(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let content = content(1, CHUNK_BYTES + 9);
    let upload = begun(&hands).await;
    added(&hands, upload, &content, 1).await;
    assert_eq!(blob(&hands, &content).await, None);
    assert_eq!(hands.stores.upkeep.all_blobs(None, 9).await.expect("a read"), []);
    let refused = written(&hands, thread, &content).await;
    assert!(matches!(refused, Err(StoreError::BlobMissing { blob }) if blob == BlobId::of(&content)), "{refused:?}");
    finished(&hands, upload, &content).await.expect("a blob");
    written(&hands, thread, &content).await.expect("a commit");
}

pub async fn an_upload_that_lacks_bytes_is_not_finished(hands: Hands) {
    let content = content(1, 3 * CHUNK_BYTES);
    let upload = begun(&hands).await;
    added(&hands, upload, &content.slice(..2 * CHUNK_BYTES), 1).await;
    let refused = finished(&hands, upload, &content).await;
    assert!(matches!(refused, Err(StoreError::Corrupt { .. })), "{refused:?}");
    assert_eq!(blob(&hands, &content).await, None);
    // The last part is sent again, as if its answer had been lost.
    for _ in 0..2 {
        let part = content.slice(2 * CHUNK_BYTES..);
        hands.stores.blobs.add_to_upload(upload, 2 * CHUNK_BYTES as u64, part).await.expect("a part");
    }
    finished(&hands, upload, &content).await.expect("a blob");
    assert_eq!(blob(&hands, &content).await, Some(content));
}

pub async fn what_was_given_up_is_gone_and_takes_nothing_more(hands: Hands) {
    let content = content(1, CHUNK_BYTES + 9);
    let upload = begun(&hands).await;
    added(&hands, upload, &content, 1).await;
    ended(&hands, upload).await;
    ended(&hands, upload).await;
    assert!(is_gone(&hands.stores.blobs.add_to_upload(upload, 0, content.clone()).await));
    assert!(is_gone(&finished(&hands, upload, &content).await));
    assert_eq!(blob(&hands, &content).await, None);
    assert_eq!(hands.gc().await.blobs, 0, "nothing is left of it");
    assert_ne!(begun(&hands).await, upload, "a number is not given again");
    let twice = uploaded(&hands, &content).await;
    assert!(is_gone(&finished(&hands, twice, &content).await), "it is finished once");
}

pub async fn equal_content_is_kept_once_however_it_came(hands: Hands) {
    let (thread, other) = (hands.thread(&["a"]).await, hands.thread(&["b"]).await);
    let content = content(1, 2 * CHUNK_BYTES + 5);
    let (entry, whole) = file("/whole", &content);
    let mut commit = hands.commit(vec![hands.write(thread, vec![entry])]);
    commit.blobs.push(whole);
    hands.done(commit).await;
    let uploads = [uploaded(&hands, &content).await, uploaded(&hands, &content).await];
    assert_eq!(hands.stores.upkeep.all_blobs(None, 9).await.expect("a read"), [BlobId::of(&content)]);
    // The one that brought it goes: those who brought it again can still name it.
    hands.delete(thread).await;
    assert_eq!(hands.gc().await.blobs, 0);
    ended(&hands, uploads[0]).await;
    written(&hands, other, &content).await.expect("a commit");
    ended(&hands, uploads[1]).await;
    assert_eq!(hands.gc().await.blobs, 0);
    assert_eq!(blob(&hands, &content).await, Some(content.clone()));
    hands.delete(other).await;
    assert_eq!(hands.gc().await.blobs, 1, "it goes with the last that names it");
    assert_eq!(blob(&hands, &content).await, None);
}

pub async fn uploads_side_by_side_do_not_mix(hands: Hands) {
    let contents: Vec<Bytes> = (1..4).map(|seed| content(seed, 6 * CHUNK_BYTES + seed as usize)).collect();
    let bring = |content: Bytes| {
        let (blobs, now) = (hands.stores.blobs.clone(), hands.now());
        tokio::spawn(async move {
            let upload = blobs.begin_upload(now).await.expect("an upload");
            for at in (0..content.len()).step_by(CHUNK_BYTES) {
                let part = content.slice(at..content.len().min(at + CHUNK_BYTES));
                blobs.add_to_upload(upload, at as u64, part).await.expect("a part");
                tokio::task::yield_now().await;
            }
            blobs.finish_upload(upload, BlobId::of(&content), content.len() as u64).await.expect("a blob");
        })
    };
    let same = contents[0].clone();
    let running: Vec<_> = contents.iter().cloned().chain([same]).map(bring).collect();
    for running in running {
        running.await.expect("an upload");
    }
    for content in &contents {
        assert_eq!(blob(&hands, content).await.as_ref(), Some(content));
    }
    assert_eq!(hands.stores.upkeep.all_blobs(None, 9).await.expect("a read").len(), 3);
}

pub async fn gc_leaves_young_uploads_alone_and_frees_old_ones(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let (half, whole) = (content(1, CHUNK_BYTES + 9), content(2, CHUNK_BYTES + 9));
    let unfinished = begun(&hands).await;
    added(&hands, unfinished, &half.slice(..CHUNK_BYTES), 1).await;
    uploaded(&hands, &whole).await;
    hands.pass(UploadId::KEPT_MICROS / 2);
    assert_eq!(hands.gc().await.blobs, 0);
    hands.stores.blobs.add_to_upload(unfinished, CHUNK_BYTES as u64, half.slice(CHUNK_BYTES..)).await.expect("a part");
    assert_eq!(blob(&hands, &whole).await.as_ref(), Some(&whole));
    hands.pass(UploadId::KEPT_MICROS / 2);
    assert_eq!(hands.gc().await.blobs, 2);
    assert!(is_gone(&finished(&hands, unfinished, &half).await));
    assert_eq!(blob(&hands, &whole).await, None);
    assert!(matches!(written(&hands, thread, &whole).await, Err(StoreError::BlobMissing { .. })));
    assert_eq!(hands.gc().await.blobs, 0);
}

pub async fn what_nobody_named_goes_once_its_upload_ends(hands: Hands) {
    let content = content(1, CHUNK_BYTES + 9);
    let upload = uploaded(&hands, &content).await;
    assert_eq!(hands.gc().await.blobs, 0);
    ended(&hands, upload).await;
    assert_eq!(hands.gc().await.blobs, 1);
    assert_eq!(blob(&hands, &content).await, None);
}

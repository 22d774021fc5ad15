//! Promises about content outside the store: its row is like that of any other blob, and says where the content is.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use threadkeep_model::BlobId;

use super::Hands;
use super::cells::file;
use super::uploads::{begun, blob, content, ended, is_gone, written};
use crate::{CHUNK_BYTES, StoreError, UploadId};

pub async fn content_elsewhere_is_named_like_any_other_and_says_where_it_is(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let (content, blobs) = (content(1, CHUNK_BYTES + 9), hands.stores.blobs.clone());
    let (id, size) = (BlobId::of(&content), content.len() as u64);
    let object = begun(&hands).await;
    assert!(matches!(written(&hands, thread, &content).await, Err(StoreError::BlobMissing { .. })));
    assert!(blobs.finish_elsewhere(object, id, size).await.expect("a blob"));
    assert!(is_gone(&blobs.finish_elsewhere(object, id, size).await.map(drop)), "it is finished once");
    written(&hands, thread, &content).await.expect("a commit");
    ended(&hands, object).await;
    let is_elsewhere = |error: StoreError| matches!(error, StoreError::Elsewhere { blob, object: at, size: said } if (blob, at, said) == (id, object, size));
    assert!(is_elsewhere(blobs.blob(id).await.expect_err("content elsewhere")));
    assert!(is_elsewhere(blobs.blobs(vec![id]).await.expect_err("content elsewhere")));
    assert!(is_elsewhere(blobs.blob_part(id, 0..3).await.expect_err("content elsewhere")));
    assert_eq!(hands.stores.upkeep.all_blobs(None, 9).await.expect("a read"), [id]);
    // The same content again, from an object of its own: nothing names that one.
    let again = begun(&hands).await;
    assert!(!blobs.finish_elsewhere(again, id, size).await.expect("the blob that is here"));
    assert_eq!(blobs.objects_in_use(vec![object, again]).await.expect("a read").len(), 2, "while its upload is open");
    ended(&hands, again).await;
    let asked = vec![object, again, UploadId(again.0 + 7)];
    assert_eq!(blobs.objects_in_use(asked.clone()).await.expect("a read"), [object]);
    hands.delete(thread).await;
    assert_eq!(hands.gc().await.blobs, 1);
    assert_eq!(blobs.objects_in_use(asked).await.expect("a read"), []);
    assert_eq!(blob(&hands, &content).await, None);
}

pub async fn content_elsewhere_comes_home_with_a_commit_that_brings_it(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let (content, blobs) = (content(1, CHUNK_BYTES + 9), hands.stores.blobs.clone());
    let object = begun(&hands).await;
    blobs.finish_elsewhere(object, BlobId::of(&content), content.len() as u64).await.expect("a blob");
    let (entry, whole) = file("/whole", &content);
    let mut commit = hands.commit(vec![hands.write(thread, vec![entry])]);
    commit.blobs.push(whole);
    hands.done(commit).await;
    ended(&hands, object).await;
    hands.gc().await;
    assert_eq!(blob(&hands, &content).await, Some(content));
    assert_eq!(blobs.objects_in_use(vec![object]).await.expect("a read"), [], "nothing names the object any more");
}

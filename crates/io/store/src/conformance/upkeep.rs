//! Promises of upkeep: freeing, walking, importing, rebuilding.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use bytes::Bytes;
use threadkeep_model::{
    Account, BlobId, Body, Bounds, CheckpointSet, Commit, Create, Entry, MessageBody, NewEntry, NewSegment, Position,
    Record, SegmentId, Tally, Thread, ThreadCommit, ThreadId,
};

use super::Hands;
use super::hands::{deleted, edited, quiet, said, text};
use crate::{
    ChangeQuery, FeedCursor, FeedNews, GcOptions, GcReport, ImportBatch, ImportedEntry, MessageFilter, MessageQuery,
    Order, SeenSegment, SegmentRow, Snapshot, StoreError, Tombstone,
};

pub async fn a_fork_survives_the_deletion_of_its_origin(hands: Hands) {
    let origin = hands.thread(&["a", "b", "c"]).await;
    let fork = hands.fork(origin, Bounds::all(Position(2))).await;
    let segment = hands.head(origin).await.segment;
    hands.delete(origin).await;
    let freed = hands.gc().await;
    assert_eq!((freed.segments, freed.entries), (0, 2), "the third message and the note of the fork");
    let left = hands.entries(segment, 0, 99).await;
    assert_eq!(left.iter().filter_map(text).collect::<Vec<_>>(), ["a", "b"]);
    hands.delete(fork).await;
    let freed = hands.gc().await;
    assert_eq!((freed.segments, freed.entries), (2, 2));
    assert!(hands.entries(segment, 0, 99).await.is_empty());
    assert_eq!(hands.gc().await, GcReport::default(), "there is nothing left to free");
}

pub async fn gc_frees_kind_by_kind_what_no_link_reaches(hands: Hands) {
    let origin = hands.thread(&["a", "b", "c"]).await;
    let segment = hands.head(origin).await.segment;
    let changes = vec![edited(segment, 1, 0, "A"), deleted(segment, 3, 2)];
    hands.done(hands.commit(vec![hands.write(origin, changes)])).await;
    // The fork sees the first message, and changes up to the first edit.
    let bounds = Bounds { changes: Position(4), ..Bounds::all(Position(1)) };
    hands.fork(origin, bounds).await;
    hands.delete(origin).await;
    assert_eq!(hands.gc().await.entries, 4);
    let left: Vec<u64> = hands.entries(segment, 0, 99).await.iter().map(|entry| entry.position.0).collect();
    assert_eq!(left, [1, 4]);
    let query =
        MessageQuery { spans: vec![(segment, 0..9)], filter: MessageFilter::ALL, order: Order::Ascending, limit: 9 };
    assert_eq!(hands.stores.store.messages(query).await.expect("a read").len(), 1, "derived rows go too");
    let query = ChangeQuery { spans: vec![(segment, Position(0)..=Position(99))], roots: 0..9 };
    assert_eq!(hands.stores.store.changes(query).await.expect("a read").len(), 1);
}

pub async fn gc_leaves_living_threads_alone(hands: Hands) {
    let thread = hands.thread(&["a", "b"]).await;
    let fork = hands.fork(thread, Bounds::all(Position(1))).await;
    let before = (hands.head(thread).await, hands.head(fork).await);
    assert_eq!(hands.gc().await, GcReport::default());
    assert_eq!((hands.head(thread).await, hands.head(fork).await), before);
    assert_eq!(hands.texts(thread).await, ["a", "b"]);
}

/// A message whose body lies in the blob store.
fn large(hands: &Hands, thread: ThreadId, text: &str) -> (Commit, BlobId) {
    let mut entry = said(text);
    let (id, bytes) = entry.spill(16).expect("a body above the limit");
    let mut commit = hands.commit(vec![hands.write(thread, vec![entry])]);
    commit.blobs.push((id, bytes));
    (commit, id)
}

pub async fn blobs_are_stored_once_and_freed_with_their_last_reference(hands: Hands) {
    let (one, other) = (hands.thread(&[]).await, hands.thread(&[]).await);
    // Above one chunk of any store.
    let words = "large ".repeat(200_000);
    for thread in [one, other] {
        hands.done(large(&hands, thread, &words).0).await;
    }
    let (_, id) = large(&hands, one, &words);
    let bytes = hands.stores.blobs.blob(id).await.expect("a read").expect("a blob");
    assert_eq!(BlobId::of(&bytes), id);
    assert_eq!(hands.stores.upkeep.all_blobs(None, 9).await.expect("a read"), [id], "equal bytes are stored once");
    let stored = hands.entry(hands.head(one).await.segment, Position(1)).await.expect("an entry");
    assert_eq!(stored.body, Body::Blob(id));
    hands.delete(one).await;
    assert_eq!(hands.gc().await.blobs, 0, "the other thread still names it");
    hands.delete(other).await;
    assert_eq!(hands.gc().await.blobs, 1);
    assert_eq!(hands.stores.blobs.blob(id).await.expect("a read"), None);
}

pub async fn a_commit_that_names_a_missing_blob_is_refused(hands: Hands) {
    let thread = hands.thread(&["a"]).await;
    let (mut commit, id) = large(&hands, thread, "a body that goes to the blob store");
    let brought = std::mem::take(&mut commit.blobs);
    let refused = hands.try_commit(commit.clone()).await;
    assert!(matches!(refused, Err(StoreError::BlobMissing { blob }) if blob == id));
    assert_eq!(hands.head(thread).await.version, Position(1));
    hands.done(Commit { blobs: brought, ..commit.clone() }).await;
    hands.done(commit).await;
    assert_eq!(hands.head(thread).await.version, Position(3), "what is there need not be brought again");
}

pub async fn everything_can_be_walked_in_pages(hands: Hands) {
    let mut threads = Vec::new();
    for n in 0..5 {
        threads.push(hands.thread(&[]).await);
        hands.done(large(&hands, threads[n], &format!("{n} is a body that goes to the blob store")).0).await;
    }
    let upkeep = &hands.stores.upkeep;
    let mut ids: Vec<ThreadId> = Vec::new();
    let mut segments: Vec<SegmentId> = Vec::new();
    let mut blobs: Vec<BlobId> = Vec::new();
    for _ in 0..5 {
        ids.extend(upkeep.all_threads(ids.last().copied(), 1).await.expect("a read").iter().map(|thread| thread.id));
        let some = upkeep.all_segments(segments.last().copied(), 1).await.expect("a read");
        segments.extend(some.iter().map(|row| row.segment.id));
        blobs.extend(upkeep.all_blobs(blobs.last().copied(), 1).await.expect("a read"));
    }
    assert!(upkeep.all_threads(ids.last().copied(), 9).await.expect("a read").is_empty());
    assert!(segments.is_sorted() && blobs.is_sorted() && segments.len() == 5 && blobs.len() == 5);
    threads.sort_by_key(|id| id.short());
    assert_eq!(ids, threads);
}

/// All of a store, in one batch.
pub(super) async fn whole(hands: &Hands) -> ImportBatch {
    let upkeep = &hands.stores.upkeep;
    let mut batch = ImportBatch { finished: true, now: hands.now(), ..ImportBatch::default() };
    batch.segments = upkeep.all_segments(None, 99).await.expect("a read");
    batch.threads = upkeep.all_threads(None, 99).await.expect("a read");
    for item in hands.feed(FeedCursor(0), 99).await {
        let FeedNews::Entry(entry) = item.news else { continue };
        let body: Bytes = match &entry.body {
            Body::Inline(bytes) => bytes.clone(),
            Body::Blob(id) => {
                let bytes = hands.stores.blobs.blob(*id).await.expect("a read").expect("a blob");
                batch.blobs.push((*id, bytes.clone()));
                bytes
            }
            Body::Absent | Body::Damaged => panic!("entries have bodies"),
        };
        let decoded = Entry::decode(entry.kind, entry.format, &body).expect("an entry");
        let blobs = batch.blobs.iter().map(|(id, _)| *id).filter(|id| entry.body == Body::Blob(*id)).collect();
        batch.entries.push(ImportedEntry { derived: decoded.derived(), blobs, entry: *entry });
    }
    batch
}

/// What is derived, in one value.
pub(super) async fn derived(hands: &Hands) -> String {
    let store = &hands.stores.store;
    let mut all = Vec::new();
    for thread in hands.stores.upkeep.all_threads(None, 99).await.expect("a read") {
        all.push(format!("{:?}", store.relations(vec![thread.id]).await.expect("a read")));
        all.push(format!("{:?}", store.checkpoints(thread.id).await.expect("a read")));
        all.push(format!("{thread:?}"));
    }
    for row in hands.stores.upkeep.all_segments(None, 99).await.expect("a read") {
        let segment = row.segment.id;
        let query = MessageQuery {
            spans: vec![(segment, 0..99)],
            filter: MessageFilter::ALL,
            order: Order::Ascending,
            limit: 99,
        };
        all.push(format!("{:?}", store.messages(query).await.expect("a read")));
        let query = ChangeQuery { spans: vec![(segment, Position(0)..=Position::END)], roots: 0..u64::MAX };
        all.push(format!("{:?}", store.changes(query).await.expect("a read")));
    }
    all.join("\n")
}

/// A store with something of everything.
pub(super) async fn furnished(hands: &Hands) -> (ThreadId, ThreadId) {
    let thread = hands.thread(&["a", "b"]).await;
    let segment = hands.head(thread).await.segment;
    hands.done(large(hands, thread, "a body that goes to the blob store").0).await;
    let named = Entry::CheckpointSet(CheckpointSet { name: "here".into(), version: Position(3) });
    let entries = vec![edited(segment, 1, 0, "A"), deleted(segment, 2, 1), NewEntry::new(&named)];
    hands.done(hands.commit(vec![hands.write(thread, entries)])).await;
    let fork = hands.fork(thread, Bounds::all(Position(1))).await;
    hands.say(fork, "c").await;
    (thread, fork)
}

/// The segments of a snapshot, each with the position up to which its messages are seen, in pages of two.
async fn seen(snapshot: &mut dyn Snapshot) -> Vec<(SegmentId, u64)> {
    let mut seen = Vec::new();
    loop {
        let page = snapshot.segments(2).await.expect("a page");
        assert!(page.len() <= 2);
        if page.is_empty() {
            return seen;
        }
        let until = |part: &SeenSegment| part.head.unwrap_or(part.bounds.messages).0;
        seen.extend(page.iter().map(|part| (part.row.segment.id, until(part))));
    }
}

async fn threads(snapshot: &mut dyn Snapshot) -> Vec<ThreadId> {
    let mut threads = Vec::new();
    loop {
        let page = snapshot.threads(2).await.expect("a page");
        assert!(page.len() <= 2);
        if page.is_empty() {
            return threads;
        }
        threads.extend(page.iter().map(|thread| thread.id));
    }
}

pub async fn a_snapshot_shows_one_moment_in_the_order_of_exports(hands: Hands) {
    let ann = Account::new("ann").expect("an account");
    let mut all = Vec::new();
    for n in 0..3 {
        all.push(hands.thread(&["a", "b"][..n.min(2)]).await);
    }
    let anns = hands.thread_with(ann.clone(), Record::default(), &["c"]).await;
    all.push(anns);
    let deleted = hands.thread(&["d"]).await;
    hands.delete(deleted).await;
    let mut versions = std::collections::BTreeMap::new();
    for thread in &all {
        let head = hands.head(*thread).await;
        versions.insert(head.segment, head.version.0);
    }
    let mut snapshot = hands.stores.upkeep.snapshot(None).await.expect("a snapshot");
    let mut of_ann = hands.stores.upkeep.snapshot(Some(ann)).await.expect("a snapshot");
    // What happens now is not in it.
    hands.say(all[0], "later").await;
    hands.thread(&["later"]).await;
    hands.delete(all[1]).await;
    let size = snapshot.size();
    assert_eq!((size.threads, size.segments, size.entries), (4, 4, 5), "the entry of the deleted thread is counted");
    let expected: Vec<_> = versions.into_iter().collect();
    assert_eq!(seen(&mut *snapshot).await, expected, "all begin at the same position, so they come by their ids");
    all.sort_by_key(|thread| thread.short());
    assert_eq!(threads(&mut *snapshot).await, all);
    let tombstones = snapshot.tombstones(None, 9).await.expect("a page");
    assert_eq!(tombstones.iter().map(|gone| gone.thread).collect::<Vec<_>>(), [deleted]);
    assert!(snapshot.tombstones(Some(deleted), 9).await.expect("a page").is_empty());
    let [one, other] = [BlobId::of(b"one"), BlobId::of(b"other")];
    assert_eq!(snapshot.new_blobs(vec![one, one]).await.expect("new"), [one]);
    assert_eq!(snapshot.new_blobs(vec![one, other]).await.expect("new"), [other]);
    snapshot.rewind().await.expect("from the beginning");
    assert_eq!(seen(&mut *snapshot).await, expected);
    assert_eq!(threads(&mut *snapshot).await, all);
    assert_eq!(snapshot.new_blobs(vec![one]).await.expect("new"), [one]);
    assert_eq!(threads(&mut *of_ann).await, [anns]);
    assert_eq!(seen(&mut *of_ann).await.len(), 1);
}

pub async fn a_snapshot_shows_segments_of_other_threads_as_far_as_links_reach(hands: Hands) {
    let root = hands.thread(&["a", "b", "c", "d"]).await;
    let top = hands.head(root).await.segment;
    // Two ways to the root: over a thread that is deleted, and directly.
    let between = hands.fork(root, Bounds::all(Position(3))).await;
    hands.say(between, "e").await;
    let middle = hands.head(between).await.segment;
    let far = hands.fork(between, Bounds::all(hands.head(between).await.version)).await;
    let near = hands.fork(root, Bounds::all(Position(1))).await;
    hands.delete(root).await;
    hands.delete(between).await;
    let mut snapshot = hands.stores.upkeep.snapshot(None).await.expect("a snapshot");
    let found: std::collections::HashMap<_, _> = seen(&mut *snapshot).await.into_iter().collect();
    assert_eq!(found.len(), 4);
    assert_eq!((found[&top], found[&middle]), (3, 4), "the longer way sees more of the root");
    hands.delete(far).await;
    let mut snapshot = hands.stores.upkeep.snapshot(None).await.expect("a snapshot");
    let found = seen(&mut *snapshot).await;
    let left = hands.head(near).await;
    assert_eq!(found, [(top, 1), (left.segment, left.version.0)]);
    let rows = hands.stores.upkeep.segment_rows(vec![middle, top, SegmentId::from_chance(1 << 40)]).await;
    let mut ids: Vec<_> = rows.expect("rows").into_iter().map(|row| row.segment.id).collect();
    ids.sort();
    let mut expected = [middle, top];
    expected.sort();
    assert_eq!(ids, expected);
}

pub async fn an_entry_without_its_damaged_body_stays_damaged(hands: Hands) {
    hands.thread(&["a", "b"]).await;
    let mut batch = whole(&hands).await;
    // The same thread under another name, with a message that was damaged elsewhere.
    let (thread, segment) = (hands.thread_id(), hands.segment_id());
    (batch.segments[0].segment.id, batch.segments[0].segment.thread) = (segment, thread);
    (batch.threads[0].id, batch.threads[0].head.segment) = (thread, segment);
    batch.entries.iter_mut().for_each(|imported| imported.entry.segment = segment);
    batch.entries[0].entry.body = Body::Damaged;
    hands.stores.upkeep.import(batch).await.expect("an import");
    let entries = hands.entries(hands.head(thread).await.segment, 0, 9).await;
    assert_eq!(entries[0].body, Body::Damaged);
    assert_eq!(text(&entries[1]).as_deref(), Some("b"));
    hands.stores.upkeep.rebuild(quiet()).await.expect("a rebuild");
    assert_eq!(hands.entries(hands.head(thread).await.segment, 0, 9).await, entries);
}

pub async fn an_import_can_be_repeated(hands: Hands) {
    furnished(&hands).await;
    let batch = whole(&hands).await;
    let before = derived(&hands).await;
    let latest = hands.stores.feed.latest().await.expect("a read");
    hands.stores.upkeep.import(batch).await.expect("an import of what is here");
    assert_eq!(derived(&hands).await, before);
    assert_eq!(hands.stores.feed.latest().await.expect("a read"), latest, "nothing happened");
}

pub async fn an_import_that_differs_is_refused(hands: Hands) {
    let (thread, _) = furnished(&hands).await;
    let before = derived(&hands).await;
    let batch = whole(&hands).await;
    let segment = |row: &SegmentRow| {
        let mut row = row.clone();
        row.segment.first = row.segment.first.next();
        row
    };
    let differs = ImportBatch { segments: batch.segments.iter().map(segment).collect(), ..ImportBatch::default() };
    assert!(matches!(hands.stores.upkeep.import(differs).await, Err(StoreError::Import { .. })));
    let mut moved: Vec<Thread> = batch.threads.clone();
    for thread in &mut moved {
        thread.head.version = Position(99);
    }
    let differs = ImportBatch { threads: moved, ..ImportBatch::default() };
    assert!(matches!(hands.stores.upkeep.import(differs).await, Err(StoreError::Import { .. })));
    let mut entries = batch.entries.clone();
    let other = Entry::MessageAppended(MessageBody::user("something else"));
    entries[0].entry.body = Body::Inline(other.encode());
    let differs = ImportBatch { entries, ..ImportBatch::default() };
    assert!(matches!(hands.stores.upkeep.import(differs).await, Err(StoreError::Import { .. })));
    let mut orphan = batch.entries[0].clone();
    orphan.entry.segment = hands.segment_id();
    let differs = ImportBatch { entries: vec![orphan], ..ImportBatch::default() };
    assert!(matches!(hands.stores.upkeep.import(differs).await, Err(StoreError::Import { .. })));
    // A thread that went on elsewhere: nothing is added to the one that lives here.
    let mut beyond = batch.entries[0].clone();
    beyond.entry.position = Position(99);
    let differs = ImportBatch { entries: vec![beyond], ..ImportBatch::default() };
    assert!(matches!(hands.stores.upkeep.import(differs).await, Err(StoreError::Import { .. })));
    let mut branch = batch.segments[0].clone();
    branch.segment.id = hands.segment_id();
    let differs = ImportBatch { segments: vec![branch], ..ImportBatch::default() };
    assert!(matches!(hands.stores.upkeep.import(differs).await, Err(StoreError::Import { .. })));
    assert_eq!(derived(&hands).await, before);
    assert_eq!(hands.head(thread).await.version, Position(7));
}

pub async fn a_deleted_thread_cannot_be_imported(hands: Hands) {
    let (thread, fork) = furnished(&hands).await;
    let batch = whole(&hands).await;
    hands.delete(thread).await;
    let refused = hands.stores.upkeep.import(batch).await;
    assert!(matches!(&refused, Err(StoreError::Import { what }) if what.contains("deleted")), "{refused:?}");
    assert_eq!(hands.stores.store.thread(thread.into()).await.expect("a read"), None);
    assert_eq!(hands.texts(fork).await, ["c"]);
}

pub async fn gc_waits_for_an_import(hands: Hands) {
    let gone = hands.thread(&["a"]).await;
    let segment = hands.head(gone).await.segment;
    let batch = whole(&hands).await;
    hands.delete(gone).await;
    let half = ImportBatch { segments: batch.segments, finished: false, now: hands.now(), ..ImportBatch::default() };
    hands.stores.upkeep.import(half).await.expect("the first half of an import");
    let options = || GcOptions { vacuum: false, now: hands.now() };
    let refused = hands.stores.upkeep.gc(options(), quiet()).await;
    assert!(matches!(refused, Err(StoreError::Unavailable { .. })), "{refused:?}");
    let end = ImportBatch { finished: true, now: hands.now(), ..ImportBatch::default() };
    hands.stores.upkeep.import(end).await.expect("the end of an import");
    assert_eq!(hands.stores.upkeep.gc(options(), quiet()).await.expect("gc").segments, 1);
    assert!(hands.entries(segment, 0, 9).await.is_empty());
}

pub async fn a_rebuild_changes_nothing_that_was_right(hands: Hands) {
    let (_, fork) = furnished(&hands).await;
    let deleted = hands.fork(fork, Bounds::all(Position(1))).await;
    hands.delete(deleted).await;
    let before = derived(&hands).await;
    hands.stores.upkeep.rebuild(quiet()).await.expect("a rebuild");
    assert_eq!(derived(&hands).await, before);
}

pub async fn deletions_are_imported_too(hands: Hands) {
    let (kept, gone, elsewhere) = (hands.thread(&["a"]).await, hands.thread(&["b"]).await, hands.thread_id());
    hands.delete(gone).await;
    let upkeep = &hands.stores.upkeep;
    let here = upkeep.all_tombstones(None, 9).await.expect("a walk");
    assert_eq!(here.iter().map(|tombstone| tombstone.thread).collect::<Vec<_>>(), [gone]);
    let tombstone = Tombstone { thread: elsewhere, time: hands.now() };
    let bring = |tombstones: &[Tombstone]| ImportBatch {
        tombstones: tombstones.to_vec(),
        finished: true,
        ..ImportBatch::default()
    };
    let before = hands.stores.feed.latest().await.expect("a read");
    for _ in 0..2 {
        upkeep.import(bring(&[tombstone, here[0]])).await.expect("an import, also when it is repeated");
    }
    let mut both = vec![tombstone, here[0]];
    both.sort_by_key(|tombstone| tombstone.thread.short());
    assert_eq!(upkeep.all_tombstones(None, 9).await.expect("a walk"), both);
    assert_eq!(upkeep.all_tombstones(Some(both[0].thread), 9).await.expect("a walk"), both[1..]);
    assert_eq!(hands.feed(before, 9).await.len(), 1, "it is told once");
    let segment = NewSegment { id: hands.segment_id(), link: None, birth: Tally::default() };
    let (account, record, entries) = (Account::local(), Record::default(), Vec::new());
    let create = Create { thread: elsewhere, account, record, segment, entries, created: None };
    let refused = hands.try_commit(hands.commit(vec![ThreadCommit::Create(create)])).await;
    assert!(matches!(refused, Err(StoreError::ThreadTaken { .. })), "its id stays refused");
    let lives = Tombstone { thread: kept, time: hands.now() };
    assert!(matches!(upkeep.import(bring(&[lives])).await, Err(StoreError::Import { .. })));
    assert_eq!(hands.texts(kept).await, ["a"]);
}

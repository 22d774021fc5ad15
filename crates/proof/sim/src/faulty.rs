//! A store that fails on demand: before a commit, so that nothing was kept, or after it, so that the
//! acknowledgement is lost.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use threadkeep_model::{
    Account, BlobId, Checkpoint, Commit, Committed, Head, ItemKind, MessageId, Position, QueuedId, Relation, Segment,
    SegmentId, Thread, ThreadId, ThreadName, Timestamp, Visibility,
};
use threadkeep_store::{
    Blobs, BoxFuture, CellPage, CellQuery, ChangeQuery, ChangeRow, EntryQuery, Item, ItemList, ItemQuery, ItemsByKind,
    KeyQuery, LeftOutQuery, ListQuery, MessageQuery, Related, Remembered, Result, Store, StoreError, StoredEntry,
    Stores, Total, UploadId,
};

use crate::Chance;

/// How often commits fail.
#[derive(Debug, Clone)]
pub struct Faults(Arc<Mutex<(Chance, u64)>>);

enum Fault {
    None,
    Before,
    After,
}

impl Faults {
    /// One in `n` commits fails, by chance; none for 0.
    pub fn one_in(n: u64, seed: u64) -> Self {
        Self(Arc::new(Mutex::new((Chance::new(seed), n))))
    }

    fn draw(&self) -> Fault {
        let mut state = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (chance, n) = &mut *state;
        if *n == 0 || !chance.one_in(*n) {
            Fault::None
        } else if chance.one_in(2) {
            Fault::Before
        } else {
            Fault::After
        }
    }
}

/// A store whose commits fail now and then.
pub struct Faulty {
    inner: Stores,
    faults: Faults,
}

impl Faulty {
    /// The same stores, which fail as `faults` says.
    pub fn wrap(inner: Stores, faults: Faults) -> Stores {
        let faulty = Arc::new(Self { inner: inner.clone(), faults });
        Stores { store: faulty.clone(), blobs: faulty, ..inner }
    }
}

fn fault(what: &str) -> StoreError {
    StoreError::Unavailable { what: what.to_owned() }
}

impl Store for Faulty {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed>> {
        Box::pin(async move {
            match self.faults.draw() {
                Fault::None => self.inner.store.commit(commit).await,
                Fault::Before => Err(fault("it failed before the commit")),
                Fault::After => {
                    self.inner.store.commit(commit).await?;
                    Err(fault("it failed after the commit"))
                }
            }
        })
    }

    fn remembered(&self, query: KeyQuery) -> BoxFuture<'_, Result<Option<Remembered>>> {
        self.inner.store.remembered(query)
    }
    fn thread(&self, name: ThreadName) -> BoxFuture<'_, Result<Option<Thread>>> {
        self.inner.store.thread(name)
    }
    fn threads(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.inner.store.threads(threads)
    }
    fn owners(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<(ThreadId, Account, Visibility)>>> {
        self.inner.store.owners(threads)
    }
    fn head(&self, thread: ThreadId) -> BoxFuture<'_, Result<Option<Head>>> {
        self.inner.store.head(thread)
    }
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.inner.store.list(query)
    }
    fn count(&self, query: ListQuery) -> BoxFuture<'_, Result<Total>> {
        self.inner.store.count(query)
    }
    fn chains(&self, segments: Vec<SegmentId>, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        self.inner.store.chains(segments, limit)
    }
    fn parents(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<(Relation, Head)>>> {
        self.inner.store.parents(threads)
    }
    fn chain(&self, segment: SegmentId, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        self.inner.store.chain(segment, limit)
    }
    fn segments(&self, thread: ThreadId, at: Position, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        self.inner.store.segments(thread, at, limit)
    }
    fn entries(&self, query: EntryQuery) -> BoxFuture<'_, Result<Vec<StoredEntry>>> {
        self.inner.store.entries(query)
    }
    fn messages(&self, query: MessageQuery) -> BoxFuture<'_, Result<Vec<StoredEntry>>> {
        self.inner.store.messages(query)
    }
    fn left_out(&self, query: LeftOutQuery) -> BoxFuture<'_, Result<Vec<u64>>> {
        self.inner.store.left_out(query)
    }
    fn changes(&self, query: ChangeQuery) -> BoxFuture<'_, Result<Vec<ChangeRow>>> {
        self.inner.store.changes(query)
    }
    fn relations(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<Vec<Related>>>> {
        self.inner.store.relations(threads)
    }
    fn checkpoints(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Checkpoint>>> {
        self.inner.store.checkpoints(thread)
    }
    fn cells(&self, query: CellQuery) -> BoxFuture<'_, Result<CellPage>> {
        self.inner.store.cells(query)
    }

    fn item(&self, kind: ItemKind, key: String) -> BoxFuture<'_, Result<Option<(ThreadId, Item)>>> {
        self.inner.store.item(kind, key)
    }

    fn all_items(&self, list: ItemList) -> BoxFuture<'_, Result<Vec<(ThreadId, Item)>>> {
        self.inner.store.all_items(list)
    }

    fn items(&self, query: ItemQuery) -> BoxFuture<'_, Result<Vec<Item>>> {
        self.inner.store.items(query)
    }
    fn items_of(&self, threads: Vec<ThreadId>, kinds: Vec<ItemKind>) -> BoxFuture<'_, Result<Vec<ItemsByKind>>> {
        self.inner.store.items_of(threads, kinds)
    }
    fn count_items(&self, query: ItemQuery) -> BoxFuture<'_, Result<usize>> {
        self.inner.store.count_items(query)
    }
    fn delivered(&self, queued: QueuedId) -> BoxFuture<'_, Result<Option<MessageId>>> {
        self.inner.store.delivered(queued)
    }
    fn subagents(&self, main: ThreadId) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.inner.store.subagents(main)
    }
}

impl Blobs for Faulty {
    fn blob(&self, blob: BlobId) -> BoxFuture<'_, Result<Option<Bytes>>> {
        self.inner.blobs.blob(blob)
    }

    fn blobs(&self, blobs: Vec<BlobId>) -> BoxFuture<'_, Result<Vec<Option<Bytes>>>> {
        self.inner.blobs.blobs(blobs)
    }

    fn blob_part(&self, blob: BlobId, range: std::ops::Range<u64>) -> BoxFuture<'_, Result<Option<Bytes>>> {
        self.inner.blobs.blob_part(blob, range)
    }

    fn begin_upload(&self, now: Timestamp) -> BoxFuture<'_, Result<UploadId>> {
        self.inner.blobs.begin_upload(now)
    }

    fn add_to_upload(&self, upload: UploadId, at: u64, bytes: Bytes) -> BoxFuture<'_, Result<()>> {
        self.inner.blobs.add_to_upload(upload, at, bytes)
    }

    fn finish_upload(&self, upload: UploadId, blob: BlobId, size: u64) -> BoxFuture<'_, Result<()>> {
        self.inner.blobs.finish_upload(upload, blob, size)
    }

    fn finish_elsewhere(&self, upload: UploadId, blob: BlobId, size: u64) -> BoxFuture<'_, Result<bool>> {
        self.inner.blobs.finish_elsewhere(upload, blob, size)
    }

    fn objects_in_use(&self, objects: Vec<UploadId>) -> BoxFuture<'_, Result<Vec<UploadId>>> {
        self.inner.blobs.objects_in_use(objects)
    }

    fn apart_above(&self) -> usize {
        self.inner.blobs.apart_above()
    }

    fn sweep_objects(&self) -> BoxFuture<'_, Result<u64>> {
        self.inner.blobs.sweep_objects()
    }

    fn end_upload(&self, upload: UploadId) -> BoxFuture<'_, Result<()>> {
        self.inner.blobs.end_upload(upload)
    }
}

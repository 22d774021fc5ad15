//! The promise of durability: the traits that every store implements.
//!
//! [`Store`] is the log and what is read from it; [`Blobs`], [`Leases`], [`Feed`], [`Timers`], [`Upkeep`], [`Registry`], [`Shelves`],
//! [`Processes`] and [`Fences`] are one ability each beside it. [`MemoryStore`] is the reference; [`conformance`] is the suite that every store runs.

mod cells;
mod error;
mod fences;
mod import;
mod keys;
pub mod lanes;
mod leases;
mod list;
mod list_run;
mod memory;
pub mod private;
mod processes;
mod query;
mod registry;
mod rows;
mod shelves;
mod signals;
mod snapshot;
pub mod sum;
pub mod terms;
mod timers;
mod uploads;

pub mod conformance;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::{
    Account, BlobId, Checkpoint, Commit, Committed, Head, ItemKind, MessageId, Position, QueuedId, Relation, Segment,
    SegmentId, Thread, ThreadId, ThreadName, Timestamp, Visibility,
};

pub use cells::{Cell, CellNames, CellPage, CellQuery};
pub use error::StoreError;
pub use fences::Fences;
pub use import::{ImportBatch, ImportedEntry, SegmentRow};
pub use keys::{KeptKey, KeyPlace, KeyQuery, KeyRow, Remembered};
pub use leases::{LeaseAsk, Leases, held};
pub use list::{
    Archived, EXPENSIVE_MAX, INDEX_TOTAL_MAX, ListCursor, ListFilter, ListQuery, ListSort, TOTAL_MAX, TimeRange, Total,
    lifecycle_code, tags, visibility_code, visibility_of,
};
pub use memory::MemoryStore;
pub use processes::Processes;
pub use query::{
    ChangeQuery, EntryQuery, IdPrefix, ItemList, ItemQuery, LeftOutQuery, MessageFilter, MessageQuery, Order,
};
pub use registry::{Registered, Registry, RegistryKind, RegistryQuery};
pub use rows::{
    Behind, ChangeRow, FeedCursor, FeedItem, FeedNews, Item, ItemsByKind, Related, StoredEntry, Tombstone, rebuilt_head,
};
pub use shelves::{NewVolume, Reshelving, Shelves, VolumeRow};
pub use signals::{Signal, Signals};
pub use snapshot::{HeldSnapshot, SeenSegment, Snapshot, SnapshotSize};
pub use timers::{Due, DueQuery, Timers};
pub use uploads::{CHUNK_BYTES, UploadId};

/// The result of an operation on a store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A future in a box, so that traits can promise one.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The log, and what is read from it.
///
/// Reads never see half a commit. Entries are immutable, so what was read up to a version stays true.
pub trait Store: Send + Sync {
    /// Applies `commit` whole or not at all, to every thread it names.
    ///
    /// Once this returns, the entries survive `kill -9` and a power cut, and every follower will see them in
    /// order. Commits to one thread are serialised.
    ///
    /// # Errors
    /// [`StoreError::EraMoved`] if a decision is stale: read again and decide anew;
    /// [`StoreError::VersionConflict`] if a version the caller expects moved. Nothing has changed then.
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed>>;

    /// The result that an idempotency key stands for, without a commit; none if no commit was kept under the key.
    ///
    /// # Errors
    /// [`StoreError::ThreadNotFound`] if a thread of the result was deleted since.
    fn remembered(&self, query: KeyQuery) -> BoxFuture<'_, Result<Option<Remembered>>>;

    /// The living thread that `name` names.
    fn thread(&self, name: ThreadName) -> BoxFuture<'_, Result<Option<Thread>>>;

    /// The living ones of these threads, in no order.
    fn threads(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<Thread>>>;

    /// The owners of the living ones of these threads, and who may read them, in no order.
    fn owners(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<(ThreadId, Account, Visibility)>>>;

    /// Where the living thread with this id stands, without its record.
    fn head(&self, thread: ThreadId) -> BoxFuture<'_, Result<Option<Head>>>;

    /// Living threads of one account that pass a filter, the newest first.
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<Thread>>>;

    /// How many living threads pass the filter of `query`, wherever its page is, as far as [`ListQuery::total_max`].
    fn count(&self, query: ListQuery) -> BoxFuture<'_, Result<Total>>;

    /// Up to `limit` segments from `segment` towards the root, following the links.
    fn chain(&self, segment: SegmentId, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>>;

    /// A thread's own segments, the newest first ([`SegmentRow::order`]), abandoned ones included; at most `limit` of
    /// those that begin at or before `at`.
    fn segments(&self, thread: ThreadId, at: Position, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>>;

    /// The segments that [`Store::chain`] gives for any of `segments`, each once, in no order; at most `limit`.
    fn chains(&self, segments: Vec<SegmentId>, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>>;

    /// Entries of one segment.
    fn entries(&self, query: EntryQuery) -> BoxFuture<'_, Result<Vec<StoredEntry>>>;

    /// Appended messages of some segments, by their ordinals.
    fn messages(&self, query: MessageQuery) -> BoxFuture<'_, Result<Vec<StoredEntry>>>;

    /// The ordinals of appended messages of some segments that `filter` leaves out, rising. It costs what it finds,
    /// unless the filter names a role.
    fn left_out(&self, query: LeftOutQuery) -> BoxFuture<'_, Result<Vec<u64>>>;

    /// Edits, deletions and insertions in some segments, by what they change, then by position.
    fn changes(&self, query: ChangeQuery) -> BoxFuture<'_, Result<Vec<ChangeRow>>>;

    /// Relations of living threads, from both ends, for one thread after the other: in the order they were made, each
    /// with the owner of the other thread and who may read that one. Whether one holds is for the reader to check.
    fn relations(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<Vec<Related>>>>;

    /// Relations in which one of `threads`, all living, is the child, in the order they were made, with the head of the
    /// parent. Whether one holds is for the reader to check.
    fn parents(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<(Relation, Head)>>>;

    /// A thread's named versions, oldest first.
    fn checkpoints(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Checkpoint>>>;

    /// Items of a living thread: everything with its own key, in the order of making.
    fn items(&self, query: ItemQuery) -> BoxFuture<'_, Result<Vec<Item>>>;

    /// Items of these kinds of living threads, for one thread after the other, in the order of making.
    fn items_of(&self, threads: Vec<ThreadId>, kinds: Vec<ItemKind>) -> BoxFuture<'_, Result<Vec<ItemsByKind>>>;

    /// The number of items that [`Store::items`] gives, without reading them.
    fn count_items(&self, query: ItemQuery) -> BoxFuture<'_, Result<usize>>;

    /// Files and values as a lineage shows them.
    fn cells(&self, query: CellQuery) -> BoxFuture<'_, Result<CellPage>>;
    /// The item of this kind with this key, with the living thread that has it.
    fn item(&self, kind: ItemKind, key: String) -> BoxFuture<'_, Result<Option<(ThreadId, Item)>>>;

    /// Items of all living threads of an account, or of all accounts, in the order in which they were made, with their
    /// threads.
    fn all_items(&self, list: ItemList) -> BoxFuture<'_, Result<Vec<(ThreadId, Item)>>>;

    /// Where a message lies that waited in a queue, once it was delivered.
    fn delivered(&self, queued: QueuedId) -> BoxFuture<'_, Result<Option<MessageId>>>;

    /// The living threads whose main thread is `main`, oldest first.
    fn subagents(&self, main: ThreadId) -> BoxFuture<'_, Result<Vec<Thread>>>;
}

/// Large values by the hash of their content, stored once however often they occur.
pub trait Blobs: Send + Sync {
    /// The bytes of `blob`, if they are here.
    fn blob(&self, blob: BlobId) -> BoxFuture<'_, Result<Option<Bytes>>>;

    /// The bytes of each of `blobs`, in their order.
    fn blobs(&self, blobs: Vec<BlobId>) -> BoxFuture<'_, Result<Vec<Option<Bytes>>>>;

    /// The bytes of `blob` from `range.start` up to `range.end` or the end, if it is here.
    fn blob_part(&self, blob: BlobId, range: std::ops::Range<u64>) -> BoxFuture<'_, Result<Option<Bytes>>>;

    /// Begins an upload of a blob in pieces. The blob is invisible until the upload is finished.
    ///
    /// What is neither finished nor ended within [`UploadId::KEPT_MICROS`] after `now` is freed by [`Upkeep::gc`].
    fn begin_upload(&self, now: Timestamp) -> BoxFuture<'_, Result<UploadId>>;

    /// Adds bytes at the place `at`, where those before it end: one or several chunks of [`CHUNK_BYTES`], of which only
    /// the very last may be smaller. Adding the same again changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the upload is finished, ended or freed.
    fn add_to_upload(&self, upload: UploadId, at: u64, bytes: Bytes) -> BoxFuture<'_, Result<()>>;

    /// Makes what was added the blob `blob` with `size` bytes: commits can name it from now on, and until the upload is
    /// ended, or as old as uploads become, gc leaves it alone. Its bytes are not copied; those of a blob that is here
    /// already are let go.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the upload is finished, ended or freed; [`StoreError::Corrupt`] if it has not `size`
    /// bytes.
    fn finish_upload(&self, upload: UploadId, blob: BlobId, size: u64) -> BoxFuture<'_, Result<()>>;

    /// Makes the object `upload`, which lies outside the store and has `size` bytes, the blob `blob`; otherwise as
    /// [`Blobs::finish_upload`]. False if the blob is here already: then nothing names the object.
    ///
    /// Reads of such a blob answer [`StoreError::Elsewhere`].
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the upload is finished, ended or freed.
    fn finish_elsewhere(&self, upload: UploadId, blob: BlobId, size: u64) -> BoxFuture<'_, Result<bool>>;

    /// Those of these objects that a blob or an open upload names.
    fn objects_in_use(&self, objects: Vec<UploadId>) -> BoxFuture<'_, Result<Vec<UploadId>>>;

    /// Ends an upload: frees what is not finished, and leaves to [`Upkeep::gc`] what is, unless an entry names it. That
    /// there is no such upload is no error.
    fn end_upload(&self, upload: UploadId) -> BoxFuture<'_, Result<()>>;

    /// Contents with more bytes than this are uploaded before the commit that names them. A store that has all contents
    /// itself takes them with the commit.
    fn apart_above(&self) -> usize {
        usize::MAX
    }

    /// Frees the objects outside the store that nothing in it names, and says how many. Without an object store there are
    /// none.
    fn sweep_objects(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(std::future::ready(Ok(0)))
    }
}

/// Everything that happens in the store, in one order.
pub trait Feed: Send + Sync {
    /// All events after `after`, in the order of commits: no gap, no repeat. It does not wait: events that cannot be
    /// ordered yet, because other commits are under way, come with a later read, and [`Signals::any`] is told then.
    fn feed(&self, after: FeedCursor, limit: usize) -> BoxFuture<'_, Result<Vec<FeedItem>>>;

    /// The cursor of what happened last: everything that happens from now on comes after it.
    fn latest(&self) -> BoxFuture<'_, Result<FeedCursor>>;

    /// How much happened after `after`, counted up to `limit`: what [`Feed::feed`] does not show yet included.
    fn behind(&self, after: FeedCursor, limit: usize) -> BoxFuture<'_, Result<Behind>> {
        Box::pin(async move {
            let unread = self.feed(after, limit).await?;
            let when = |item: &FeedItem| match &item.news {
                FeedNews::Entry(entry) => Some(entry.time),
                FeedNews::Began(segment) => Some(segment.created),
                FeedNews::Deleted => None,
            };
            Ok(Behind { items: unread.len() as u64, since: unread.iter().filter_map(when).min() })
        })
    }

    /// Wakes those who wait for news. A signal is a hint to look, never the truth.
    fn signals(&self) -> &Signals;
}

/// Upkeep of a store, and import.
pub trait Upkeep: Send + Sync {
    /// Frees what no living thread reaches, and tells `progress` how far it is.
    fn gc(&self, options: GcOptions, progress: Progress) -> BoxFuture<'_, Result<GcReport>>;

    /// Rewrites everything as small as can be, if that gives back a good part of it, and says how many bytes it gave back.
    /// Others that write wait meanwhile. A store that others share does nothing.
    fn compact(&self, progress: Progress) -> BoxFuture<'_, Result<u64>>;

    /// Builds every derived row again from the log. Damage in the log itself remains.
    fn rebuild(&self, progress: Progress) -> BoxFuture<'_, Result<()>>;

    /// Up to `limit` living threads whose id, in either spelling, begins with `prefix`.
    fn threads_by_prefix(&self, prefix: String, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>>>;

    /// Up to `limit` living threads above `after`, in the order of their ids.
    fn all_threads(&self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Thread>>>;

    /// Up to `limit` segments above `after`, in the order of their ids, those of deleted threads included.
    fn all_segments(&self, after: Option<SegmentId>, limit: usize) -> BoxFuture<'_, Result<Vec<SegmentRow>>>;

    /// The segments of these ids that are here, with their origins, in no order.
    fn segment_rows(&self, segments: Vec<SegmentId>) -> BoxFuture<'_, Result<Vec<SegmentRow>>>;

    /// The threads of an account, or of all, as they are now, with the segments that they see. Commits and imports from
    /// now on do not change it.
    fn snapshot(&self, account: Option<Account>) -> BoxFuture<'_, Result<Box<dyn Snapshot>>>;

    /// Up to `limit` blobs above `after`, in the order of their ids.
    fn all_blobs(&self, after: Option<BlobId>, limit: usize) -> BoxFuture<'_, Result<Vec<BlobId>>>;

    /// Up to `limit` deleted threads above `after`, in the order of their ids.
    fn all_tombstones(&self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Tombstone>>>;

    /// Compares the rows that serve lists with the threads; says what is wrong, one sentence each, at most `limit`.
    fn check_lists(&self, limit: usize) -> BoxFuture<'_, Result<Vec<String>>>;

    /// Adds what another store exported. What is here already and equal is left alone, so an import can be
    /// repeated; a thread appears with the batch that names it, and not before.
    fn import(&self, batch: ImportBatch) -> BoxFuture<'_, Result<()>>;
}

/// Told of progress: what is being done, how much is done, and of how much, as far as that is known.
pub type Progress = Arc<dyn Fn(&str, u64, Option<u64>) + Send + Sync>;

/// What [`Upkeep::gc`] may do beyond freeing rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcOptions {
    /// Whether to give freed space back to the file system.
    pub vacuum: bool,
    /// The time now, for what expires.
    pub now: Timestamp,
}

/// The result of [`Upkeep::gc`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GcReport {
    /// Number of freed segments.
    pub segments: u64,
    /// Number of freed entries.
    pub entries: u64,
    /// Number of freed blobs.
    pub blobs: u64,
    /// Bytes given back to the file system.
    pub bytes: u64,
}

/// The abilities an engine needs, in one hand.
#[derive(Clone)]
pub struct Stores {
    /// The log and its reads.
    pub store: Arc<dyn Store>,
    /// Large values by hash.
    pub blobs: Arc<dyn Blobs>,
    /// Leases of exclusive writers.
    pub leases: Arc<dyn Leases>,
    /// What happens, in order.
    pub feed: Arc<dyn Feed>,
    /// Garbage collection, rebuilds and imports.
    pub upkeep: Arc<dyn Upkeep>,
    /// Items that wait for a time.
    pub timers: Arc<dyn Timers>,
    /// Documents beside the threads.
    pub registry: Arc<dyn Registry>,
    /// The volumes of the search index.
    pub shelves: Arc<dyn Shelves>,
    /// The leases of processes.
    pub processes: Arc<dyn Processes>,
    /// Accounts that must not be written here.
    pub fences: Arc<dyn Fences>,
}

impl Stores {
    /// One store that has every ability.
    pub fn of<S>(store: S) -> Self
    where
        S: Store + Blobs + Leases + Feed + Timers + Upkeep + Registry + Shelves + Processes + Fences + 'static,
    {
        let store = Arc::new(store);
        Self {
            store: store.clone(),
            blobs: store.clone(),
            leases: store.clone(),
            feed: store.clone(),
            upkeep: store.clone(),
            timers: store.clone(),
            registry: store.clone(),
            shelves: store.clone(),
            processes: store.clone(),
            fences: store,
        }
    }
}

//! Moving threads from one store to another: rows of the log as they are stored, not as a thread shows them.

use bytes::Bytes;
use threadkeep_model::{Account, BlobId, Derived, Position, Record, Segment, Thread, Timestamp};

use crate::{KeptKey, Registered, StoredEntry, Tombstone};

/// A segment with what only a thread's first one carries.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentRow {
    /// The segment without its entries.
    pub segment: Segment,
    /// The thread's first record and its first owner; none for a branch.
    pub origin: Option<(Account, Record)>,
}

impl SegmentRow {
    /// The order of a thread's own segments. A thread that branches before it wrote anything has two that begin at
    /// the same position: its birth, which stays empty, and the branch, which begins with an entry.
    pub fn order(&self) -> (Position, bool) {
        (self.segment.first, self.origin.is_none())
    }
}

/// An entry to import, with what follows from it.
#[derive(Debug, Clone)]
pub struct ImportedEntry {
    /// The entry in its place.
    pub entry: StoredEntry,
    /// The rows that follow from it.
    pub derived: Derived,
    /// All blobs it names, its own body included.
    pub blobs: Vec<BlobId>,
}

impl ImportedEntry {
    /// Whether something follows from it that a thread has only while it lives. If the entry is here and its thread is
    /// not, because its account was released, an import makes these rows again.
    pub fn comes_back(&self) -> bool {
        self.derived.is_of_thread() || matches!(self.derived, Derived::Delivered { .. })
    }
}

/// One step of an import, kept whole or not at all. Segments come before their entries, and threads after both.
#[derive(Debug, Clone, Default)]
pub struct ImportBatch {
    /// Large values by their hashes.
    pub blobs: Vec<(BlobId, Bytes)>,
    /// Segments, each before its entries.
    pub segments: Vec<SegmentRow>,
    /// Entries with the rows that follow from them.
    pub entries: Vec<ImportedEntry>,
    /// Threads, with their heads.
    pub threads: Vec<Thread>,
    /// Threads that were deleted: their ids stay refused.
    pub tombstones: Vec<Tombstone>,
    /// Idempotency keys, each after its thread.
    pub keys: Vec<KeptKey>,
    /// All documents of an account ([`RegistryKind::OF_ACCOUNTS`](crate::RegistryKind::OF_ACCOUNTS)): they take the place
    /// of those that it has here.
    pub documents: Option<(Account, Vec<Registered>)>,
    /// Whether this is the last step. Until then the store frees nothing.
    pub finished: bool,
    /// The time of the import.
    pub now: Timestamp,
}

impl ImportBatch {
    /// How long an import that was broken off keeps the store from freeing what it brought.
    pub const KEPT_MICROS: i64 = 10 * 60 * 1_000_000;

    /// Until when the store frees nothing, after this step.
    pub fn kept_until(&self) -> Timestamp {
        if self.finished { Timestamp::from_micros(0) } else { self.now.plus_micros(Self::KEPT_MICROS) }
    }
}

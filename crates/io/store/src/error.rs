//! Why a store could not do what it was asked.

use threadkeep_model::{Account, BlobId, Expect, Lease, Refusal, ThreadId, Version};

use crate::UploadId;

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The caller expects another version.
    #[error("thread {thread} is at version {current}, not {expected}: read it again, then retry")]
    VersionConflict {
        /// The thread of the commit.
        thread: ThreadId,
        /// The version that the caller expects.
        expected: Version,
        /// The version of the thread.
        current: Version,
    },
    /// A decision is stale: decide again. Never reaches a user.
    #[error("thread {thread} changed while the operation was decided")]
    EraMoved {
        /// The thread of the commit.
        thread: ThreadId,
    },
    /// Another writer holds the lease of the thread.
    #[error("thread {thread} is held by {} until {}", by.holder, by.until)]
    WriterHeld {
        /// The thread of the commit.
        thread: ThreadId,
        /// The lease that is held.
        by: Lease,
    },
    /// The lease under which the caller writes has ended.
    #[error("the lease on thread {thread} has ended: nothing was written")]
    WriterLost {
        /// The thread of the commit.
        thread: ThreadId,
        /// The lease that another writer holds now, if there is one.
        to: Option<Lease>,
    },
    /// The lease of the process that owns the work has ended.
    #[error("the lease of this process has ended: nothing was written")]
    ProcessLost,
    /// The account moves to another store, or has moved there.
    #[error("account {} {note}: nothing was written", account.as_str())]
    Frozen {
        /// The account of the write.
        account: Account,
        /// The note of the fence.
        note: String,
    },
    /// There is no such living thread.
    #[error("there is no thread {thread}")]
    ThreadNotFound {
        /// The id that was asked for.
        thread: ThreadId,
    },
    /// A new thread's id, or its short id, is in use or was in use before.
    #[error("the id {thread} is taken")]
    ThreadTaken {
        /// The id that is taken.
        thread: ThreadId,
    },
    /// A new segment's id is in use. Never reaches a user.
    #[error("a segment id is taken")]
    SegmentTaken,
    /// The key was used for another request.
    #[error("the idempotency key was used for a different request within the last 24 hours")]
    IdempotencyKeyReused,
    /// A commit names a blob that is not there.
    #[error("blob {blob} is not in the store")]
    BlobMissing {
        /// The hash of the missing blob.
        blob: BlobId,
    },
    /// The content of a blob is in the object store.
    #[error("blob {blob} is in the object store, and no object store is named")]
    Elsewhere {
        /// The hash of the blob.
        blob: BlobId,
        /// The name of the object.
        object: UploadId,
        /// Its size in bytes.
        size: u64,
    },
    /// Stored data breaks a rule of the log.
    #[error("the store is damaged: {what}")]
    Corrupt {
        /// The damage, and its place.
        what: String,
    },
    /// Imported data does not fit the data in the store.
    #[error("cannot import: {what}")]
    Import {
        /// The reason of the refusal.
        what: String,
    },
    /// The disk is full.
    #[error("the disk is full: nothing was written")]
    DiskFull,
    /// The disk did not confirm a write. Nothing more is written until the program is started again.
    #[error(
        "the disk did not confirm a write ({what}); whether it was kept is not known, and nothing more is written \
         until the program is started again"
    )]
    Failed {
        /// The error of the disk.
        what: String,
    },
    /// The store cannot be used at this moment.
    #[error("the store is not available: {what}")]
    Unavailable {
        /// The reason, from the store.
        what: String,
    },
    /// A read took longer than [`EXPENSIVE_MAX`](crate::EXPENSIVE_MAX), or its caller stopped waiting.
    #[error("the list takes too long: there was no answer within {} s", crate::EXPENSIVE_MAX.as_secs())]
    TooExpensive,
    /// The store cannot be opened.
    #[error("cannot open the store {path}: {what}")]
    CannotOpen {
        /// The path or address of the store.
        path: String,
        /// The reason, from the store.
        what: String,
    },
    /// There is no such store.
    #[error("cannot open the store {path}: {what}")]
    NotFound {
        /// The path or address of the store.
        path: String,
        /// The part that is missing.
        what: String,
    },
    /// The store does not know who asks.
    #[error("cannot open the store {path}: {what}")]
    Unauthorized {
        /// The path or address of the store.
        path: String,
        /// The error of the store.
        what: String,
    },
    /// The store does not give the caller a needed right.
    #[error("cannot open the store {path}: {what}")]
    Forbidden {
        /// The path or address of the store.
        path: String,
        /// The right that is needed.
        what: String,
    },
    /// The store was made by a newer program.
    #[error("the store {path} has schema version {found}; this program knows versions up to {known}")]
    Newer {
        /// The path or address of the store.
        path: String,
        /// The schema version of the store.
        found: i64,
        /// The newest version this program knows.
        known: i64,
    },
}

impl StoreError {
    /// A store that holds what it cannot hold.
    pub fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    /// Garbage cannot be told from what an import brings before its thread.
    pub fn import_under_way() -> Self {
        let what = "an import is under way; collect garbage when it is finished (one that was broken off is forgotten \
                    after ten minutes)";
        Self::Unavailable { what: what.into() }
    }

    /// An import says that a thread was deleted, and it lives here.
    pub fn lives_here(thread: ThreadId) -> Self {
        Self::Import { what: format!("thread {thread} was deleted there, and lives here") }
    }

    /// A thread whose head is not what a commit expects.
    pub fn refused(thread: ThreadId, expect: &Expect, refusal: Refusal) -> Self {
        match refusal {
            Refusal::VersionConflict { current } => {
                Self::VersionConflict { thread, expected: expect.version.unwrap_or_default(), current }
            }
            Refusal::EraMoved => Self::EraMoved { thread },
            Refusal::WriterHeld { by } => Self::WriterHeld { thread, by },
            Refusal::WriterLost { to } => Self::WriterLost { thread, to },
        }
    }
}

//! Commits: the only way to change threads. A commit has entries for one or several threads, and a store applies it
//! whole or not at all.

use bytes::Bytes;

use crate::{
    Account, BlobId, Body, Caller, Derived, Entry, Head, Invalid, Kind, Lease, Link, Position, ProcessId, Record,
    SegmentId, Tally, ThreadId, Timestamp, Version,
};

/// Changes of one or several threads, with the state they expect.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The account and the actor that the entries carry.
    pub caller: Caller,
    /// The time of the commit, and of its entries without a time of their own. A store moves the time of an entry forward
    /// for a thread that is ahead: times never go back within a thread.
    pub time: Timestamp,
    /// The change of each thread; a thread occurs once.
    pub threads: Vec<ThreadCommit>,
    /// The new blobs that the entries name.
    pub blobs: Vec<(BlobId, Bytes)>,
    /// Makes a retry return the first result. Belongs to the first thread.
    pub idempotency: Option<Idempotency>,
    /// The process that owns the work. If its lease has ended, the commit is refused.
    pub owner: Option<ProcessId>,
}

/// The change of one thread.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "as in a write")]
pub enum ThreadCommit {
    /// The thread is created.
    Create(Create),
    /// The thread gets entries.
    Write(Write),
    /// The thread is deleted, with everything that belongs to it alone.
    Delete { thread: ThreadId, expect: Expect },
}

impl ThreadCommit {
    /// The thread it is about.
    pub fn thread(&self) -> ThreadId {
        match self {
            Self::Create(create) => create.thread,
            Self::Write(write) => write.thread,
            Self::Delete { thread, .. } => *thread,
        }
    }

    /// The entries that it gets.
    pub fn entries(&self) -> &[NewEntry] {
        match self {
            Self::Create(create) => &create.entries,
            Self::Write(write) => &write.entries,
            Self::Delete { .. } => &[],
        }
    }
}

/// A new thread. Its creation has no position of its own: the segment says where it begins.
#[derive(Debug, Clone)]
pub struct Create {
    /// The id of the new thread.
    pub thread: ThreadId,
    /// The account that owns it.
    pub account: Account,
    /// The record it begins with.
    pub record: Record,
    /// The segment it begins with.
    pub segment: NewSegment,
    /// The entries it begins with.
    pub entries: Vec<NewEntry>,
    /// When it was created, if another program did that earlier; the time of the commit otherwise.
    pub created: Option<Timestamp>,
}

impl Create {
    /// The same, with the version after its first entries as [`Record::born_at`].
    #[must_use]
    pub fn with_birth_recorded(mut self) -> Self {
        let before = self.segment.link.map_or(Position::START, |link| link.bounds.highest());
        self.record.born_at = Some(Position(before.0 + self.entries.len() as u64));
        self
    }
}

/// New entries of a thread.
#[derive(Debug, Clone)]
pub struct Write {
    /// The thread that gets the entries.
    pub thread: ThreadId,
    /// The state it must be in.
    pub expect: Expect,
    /// A segment that the thread writes to from now on, for rollback and truncation.
    pub branch: Option<NewSegment>,
    /// The entries, in order.
    pub entries: Vec<NewEntry>,
    /// The new record, if it changed.
    pub record: Option<Record>,
    /// The new owner, if it changed. The record is given with it.
    pub owner: Option<Account>,
}

/// The state of a thread that a commit expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expect {
    /// The era at which the change was decided. If the era moved, the change is decided again.
    pub era: Option<u64>,
    /// The version the caller expects. If the version moved, the caller is told.
    pub version: Option<Version>,
    /// The token of the lease under which the caller writes. If the lease ended, the caller is told.
    pub lease: Option<crate::LeaseToken>,
}

/// A segment that a store has not placed yet.
#[derive(Debug, Clone)]
pub struct NewSegment {
    /// The id of the new segment.
    pub id: SegmentId,
    /// The link to its parent; none for a root.
    pub link: Option<Link>,
    /// The tally it inherits.
    pub birth: Tally,
}

/// An entry that a store has not placed yet.
#[derive(Debug, Clone)]
pub struct NewEntry {
    /// The kind of the entry.
    pub kind: Kind,
    /// Its body, in the newest format.
    pub body: Body,
    /// The size of the body, in bytes.
    pub bytes: u64,
    /// The rows that follow from it.
    pub derived: Derived,
    /// All blobs it names, including its own body.
    pub blobs: Vec<BlobId>,
    /// When it happened, if another program told it first; the time of the commit otherwise.
    pub time: Option<Timestamp>,
}

impl NewEntry {
    /// Encodes `entry`, with the rows and blobs that follow from it.
    pub fn new(entry: &Entry) -> Self {
        let body = entry.encode();
        Self {
            kind: entry.kind(),
            bytes: body.len() as u64,
            body: Body::Inline(body),
            derived: entry.derived(),
            blobs: entry.blobs(),
            time: None,
        }
    }

    /// Moves a body of more than `inline_max` bytes out of the entry, and returns it as a blob.
    pub fn spill(&mut self, inline_max: usize) -> Option<(BlobId, Bytes)> {
        let Body::Inline(bytes) = &self.body else { return None };
        if bytes.len() <= inline_max {
            return None;
        }
        let (id, bytes) = (BlobId::of(bytes), bytes.clone());
        self.body = Body::Blob(id);
        self.blobs.push(id);
        Some((id, bytes))
    }
}

/// A key under which a caller may retry, and the hash of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// The key that the caller chose.
    pub key: IdempotencyKey,
    /// The hash of the request.
    pub hash: BlobId,
}

/// A key under which a caller may retry an append: 1 to 255 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Longest key, in bytes.
    pub const BYTES_MAX: usize = 255;
    /// How long a key is kept.
    pub const KEPT_MICROS: i64 = 24 * 3_600 * 1_000_000;

    /// A key as the caller chose it.
    ///
    /// # Errors
    /// If it is empty or too long, or has a control character.
    pub fn new(key: impl Into<String>) -> Result<Self, Invalid> {
        let key = key.into();
        if key.is_empty() || key.len() > Self::BYTES_MAX || key.contains(char::is_control) {
            let rule = format!("has 1 to {} bytes, and no control characters", Self::BYTES_MAX);
            return Err(Invalid::parameter("idempotencyKey", rule));
        }
        Ok(Self(key))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Committed {
    /// The threads of the commit in their order, without those that were deleted.
    pub threads: Vec<ThreadCommitted>,
    /// Whether this repeats the first result of the same idempotency key.
    pub replayed: bool,
}

/// The result of a commit for one thread.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadCommitted {
    /// The thread that changed.
    pub thread: ThreadId,
    /// The segment that holds the new entries.
    pub segment: SegmentId,
    /// The position of the first new entry.
    pub first: Position,
    /// How many entries are new.
    pub count: u64,
    /// The time of the new entries.
    pub time: Timestamp,
    /// The head after them; for a replay, the present head.
    pub head: Head,
}

/// Why a thread refuses a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum Refusal {
    /// The thread is at another version than the caller expects.
    VersionConflict { current: Version },
    /// The decision is stale and has to be made again.
    EraMoved,
    /// Another writer holds this lease.
    WriterHeld { by: Lease },
    /// The lease under which the caller writes has ended, and another writer may hold a new one.
    WriterLost { to: Option<Lease> },
}

//! The one way to change: a commit holds entries for one or several threads, and a store keeps it whole or
//! not at all.
//!
//! [`advance`] and [`born`] are the rules by which a store gives positions, ordinals and tallies. They are
//! pure, so that every store keeps the same rules.

use bytes::Bytes;

use crate::{
    Account, BlobId, Body, Caller, Derived, Entry, Head, Invalid, Kind, Lease, Link, Position, Record, Segment,
    SegmentId, Tally, ThreadId, Timestamp, Version, strip_nulls,
};

/// Entries for one or several threads, with what they expect.
#[derive(Debug, Clone)]
pub struct Commit {
    /// On whose behalf.
    pub caller: Caller,
    /// When. A store moves it forward where a thread is ahead: times never go back within a thread.
    pub time: Timestamp,
    /// What happens to each thread; a thread occurs once.
    pub threads: Vec<ThreadCommit>,
    /// Large values the entries name.
    pub blobs: Vec<(BlobId, Bytes)>,
    /// Makes a retry return the first result. Belongs to the first thread.
    pub idempotency: Option<Idempotency>,
}

/// What happens to one thread.
#[derive(Debug, Clone)]
pub enum ThreadCommit {
    /// It comes into being.
    Create(Create),
    /// It gets entries.
    Write(Write),
    /// It is deleted, with everything that is its own.
    Delete {
        /// Which one.
        thread: ThreadId,
        /// What must hold.
        expect: Expect,
    },
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
}

/// A thread comes into being. A birth has no position of its own: the segment tells it.
#[derive(Debug, Clone)]
pub struct Create {
    /// Its identity.
    pub thread: ThreadId,
    /// Its owner.
    pub account: Account,
    /// Its first record.
    pub record: Record,
    /// Its first segment.
    pub segment: NewSegment,
    /// Its first entries.
    pub entries: Vec<NewEntry>,
}

impl Create {
    /// The same, with the version it is born with in its record.
    #[must_use]
    pub fn with_birth_recorded(mut self) -> Self {
        let before = self.segment.link.map_or(Position::START, |link| link.bounds.highest());
        self.record.born_at = Some(Position(before.0 + self.entries.len() as u64));
        self
    }
}

/// A thread gets entries.
#[derive(Debug, Clone)]
pub struct Write {
    /// Which one.
    pub thread: ThreadId,
    /// What must hold.
    pub expect: Expect,
    /// A segment that the thread writes to from now on, for rollback and truncation.
    pub branch: Option<NewSegment>,
    /// The entries, in order.
    pub entries: Vec<NewEntry>,
    /// The record, where it changed.
    pub record: Option<Record>,
    /// The account that owns it from now on, where that changed; the record comes with it.
    pub owner: Option<Account>,
}

/// What a commit expects of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expect {
    /// The era at which it was decided. If it moved, it is decided again.
    pub era: Option<u64>,
    /// The version the caller expects. If it moved, the caller is told.
    pub version: Option<Version>,
    /// The token of the lease under which the caller writes. If it ended, the caller is told.
    pub lease: Option<u64>,
}

/// A segment that a store has not placed yet.
#[derive(Debug, Clone)]
pub struct NewSegment {
    /// Its identity.
    pub id: SegmentId,
    /// What it grows from.
    pub link: Option<Link>,
    /// What it inherits.
    pub birth: Tally,
}

/// An entry that a store has not placed yet.
#[derive(Debug, Clone)]
pub struct NewEntry {
    /// Its kind.
    pub kind: Kind,
    /// Its body, in the newest format.
    pub body: Body,
    /// What the body weighs, in bytes.
    pub bytes: u64,
    /// The rows that follow from it.
    pub derived: Derived,
    /// All blobs it names, its own body included.
    pub blobs: Vec<BlobId>,
}

impl NewEntry {
    /// `entry`, encoded.
    pub fn new(entry: &Entry) -> Self {
        let body = entry.encode();
        Self {
            kind: entry.kind(),
            bytes: body.len() as u64,
            body: Body::Inline(body),
            derived: entry.derived(),
            blobs: entry.blobs(),
        }
    }

    /// Moves a body of more than `inline_max` bytes out of the entry, and hands it over.
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

/// A key under which a caller may retry, and the hash of what it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// The caller's key.
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

    /// A key.
    ///
    /// # Errors
    /// If it is empty or too long.
    pub fn new(key: impl Into<String>) -> Result<Self, Invalid> {
        let key = strip_nulls(key.into());
        if key.is_empty() || key.len() > Self::BYTES_MAX {
            let rule = format!("has 1 to {} bytes", Self::BYTES_MAX);
            return Err(Invalid::parameter("idempotencyKey", rule));
        }
        Ok(Self(key))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a store did.
#[derive(Debug, Clone, PartialEq)]
pub struct Committed {
    /// For each thread of the commit, in its order, where it stands now. Deleted threads are left out.
    pub threads: Vec<ThreadCommitted>,
    /// Whether this is the first result again, under an idempotency key.
    pub replayed: bool,
}

/// Where a commit left one thread.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadCommitted {
    /// Which one.
    pub thread: ThreadId,
    /// The segment that holds the new entries.
    pub segment: SegmentId,
    /// The position of the first new entry.
    pub first: Position,
    /// How many entries are new.
    pub count: u64,
    /// The time they carry.
    pub time: Timestamp,
    /// The head after them; for a replay, the head as it was found.
    pub head: Head,
}

/// Why a thread refuses a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The thread is at another version than the caller expects.
    VersionConflict {
        /// The version it is at.
        current: Version,
    },
    /// The decision is stale: decide again.
    EraMoved,
    /// Somebody else is the thread's exclusive writer.
    WriterHeld {
        /// The lease that is held.
        by: Lease,
    },
    /// The lease under which the caller writes has ended.
    WriterLost {
        /// The lease that somebody else took since, if it is held.
        to: Option<Lease>,
    },
}

impl Expect {
    /// Whether `head` is as expected.
    ///
    /// # Errors
    /// Says what moved; a version the caller expects comes first.
    pub fn check(&self, head: &Head) -> Result<(), Refusal> {
        if self.version.is_some_and(|version| version != head.version) {
            return Err(Refusal::VersionConflict { current: head.version });
        }
        if self.era.is_some_and(|era| era != head.era) {
            return Err(Refusal::EraMoved);
        }
        Ok(())
    }
}

/// A thread after a commit, and where its new entries lie.
#[derive(Debug, Clone, PartialEq)]
pub struct Advanced {
    /// The new head.
    pub head: Head,
    /// The segment the commit opened.
    pub opened: Option<Segment>,
    /// The place of each new entry, in order: its position, its ordinal if it is an appended message, and
    /// the tally after it.
    pub places: Vec<(Position, Option<u64>, Tally)>,
}

impl Advanced {
    /// What to tell of it.
    pub fn committed(&self, thread: ThreadId) -> ThreadCommitted {
        let count = self.places.len() as u64;
        let first = self.places.first().map_or(self.head.version.next(), |(position, ..)| *position);
        ThreadCommitted { thread, segment: self.head.segment, first, count, time: self.head.updated, head: self.head }
    }
}

/// A thread at its birth, with its first entries.
pub fn born(create: &Create, time: Timestamp) -> Advanced {
    let version = create.segment.link.map_or(Position::START, |link| link.bounds.highest());
    let opened = Segment {
        id: create.segment.id,
        thread: create.thread,
        first: version.next(),
        link: create.segment.link,
        birth: create.segment.birth,
        created: time,
    };
    let mut head = Head { version, segment: opened.id, era: 0, fence: 0, updated: time, tally: create.segment.birth };
    let places = place(&mut head, &create.entries);
    Advanced { head, opened: Some(opened), places }
}

/// A thread after `write`.
///
/// # Errors
/// If `head` is not what the write expects.
pub fn advance(head: &Head, write: &Write, time: Timestamp) -> Result<Advanced, Refusal> {
    write.expect.check(head)?;
    let mut head = *head;
    // What only expects something changes nothing.
    if write.branch.is_some() || write.record.is_some() || !write.entries.is_empty() {
        head.updated = head.updated.max(time);
    }
    let opened = write.branch.as_ref().map(|branch| Segment {
        id: branch.id,
        thread: write.thread,
        first: head.version.next(),
        link: branch.link,
        birth: branch.birth,
        created: head.updated,
    });
    if let Some(segment) = &opened {
        head.segment = segment.id;
        head.tally = segment.birth;
        head.fence += 1;
    }
    if opened.is_some() || write.record.is_some() || write.entries.iter().any(|entry| entry.kind.moves_era()) {
        head.era += 1;
    }
    let places = place(&mut head, &write.entries);
    Ok(Advanced { head, opened, places })
}

fn place(head: &mut Head, entries: &[NewEntry]) -> Vec<(Position, Option<u64>, Tally)> {
    entries
        .iter()
        .map(|entry| {
            head.version = head.version.next();
            let ordinal = entry.derived.message().map(|_| head.tally.ordinals);
            head.tally = head.tally.after(&entry.derived, head.version, head.updated, entry.bytes);
            (head.version, ordinal, head.tally)
        })
        .collect()
}

//! The rows that a store returns.

use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::{
    Account, Actor, BlobId, Body, ChangeOp, Head, ItemKind, Kind, MessageId, Position, Relation, Segment, SegmentId,
    Tally, ThreadId, Timestamp, Visibility,
};

use crate::{Result, StoreError};

/// An entry in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEntry {
    /// The segment that holds it.
    pub segment: SegmentId,
    /// Its position in the segment.
    pub position: Position,
    /// The kind of the entry.
    pub kind: Kind,
    /// The format of the body.
    pub format: u8,
    /// When the entry was committed (the clock of the store).
    pub time: Timestamp,
    /// The account that answers for it.
    pub account: Arc<Account>,
    /// The actor that wrote it.
    pub actor: Arc<Actor>,
    /// The cause that its writer named.
    pub cause: Option<String>,
    /// The tally after it.
    pub tally: Tally,
    /// The body as it is stored.
    pub body: Body,
}

/// An edit, a deletion or an insertion, and one message it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeRow {
    /// The segment that holds it.
    pub segment: SegmentId,
    /// The position of the entry.
    pub position: Position,
    /// The ordinal of the appended message that anchors it.
    pub root: u64,
    /// The change: an edit, a deletion or an insertion.
    pub op: ChangeOp,
    /// The position of the message it does it to.
    pub target: Position,
}

/// Items of one thread, each with its kind.
pub type ItemsByKind = Vec<(ItemKind, Item)>;

/// An item: something with its own key in a thread, and its newest entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its key, unique for its kind within the thread.
    pub key: String,
    /// The place of its first entry.
    pub born: MessageId,
    /// When the first entry was committed.
    pub made: Timestamp,
    /// When something has to happen with it.
    pub due: Option<Timestamp>,
    /// The newest entry about it.
    pub entry: StoredEntry,
}

/// A relation of a thread, the owner of the other thread, and who may read that one.
pub type Related = (Relation, Account, Visibility);

/// What is left of a thread that was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tombstone {
    /// The thread. Its id, in both spellings, stays refused.
    pub thread: ThreadId,
    /// When it was deleted.
    pub time: Timestamp,
}

/// A place in the feed, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FeedCursor(pub u64);

/// How much of the feed a reader has not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Behind {
    /// How many items, counted up to a limit.
    pub items: u64,
    /// When the oldest of them happened.
    pub since: Option<Timestamp>,
}

impl Behind {
    /// How many seconds ago the oldest item happened, where it is `now`; 0 if there is none.
    pub fn seconds(&self, now: Timestamp) -> u64 {
        let micros = self.since.map_or(0, |since| now.as_micros().saturating_sub(since.as_micros()));
        u64::try_from(micros / 1_000_000).unwrap_or(0)
    }
}

/// Something that happened in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedItem {
    /// Its place in the feed.
    pub cursor: FeedCursor,
    /// The thread it happened to.
    pub thread: ThreadId,
    /// The news about the thread.
    pub news: FeedNews,
}

/// An event of a thread in the feed.
#[derive(Debug, Clone, PartialEq)]
pub enum FeedNews {
    /// It began a segment: it was born, or it branched.
    Began(Box<Segment>),
    /// It got an entry.
    Entry(Box<StoredEntry>),
    /// The thread was deleted.
    Deleted,
}

/// The head of a thread from its newest segment and the last entry there; the other fields come from `known`.
pub fn rebuilt_head(newest: &Segment, last: Option<&StoredEntry>, known: &Head) -> Head {
    Head {
        version: last.map_or(newest.first.previous(), |entry| entry.position),
        segment: newest.id,
        updated: last.map_or(newest.created, |entry| entry.time),
        tally: last.map_or(newest.birth, |entry| entry.tally),
        ..*known
    }
}

impl StoredEntry {
    /// The ordinal of an appended message.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if its tally counts no message.
    pub fn ordinal(&self) -> Result<u64> {
        let damaged =
            || format!("entry {} of segment {} is a message that nobody counted", self.position, self.segment);
        self.tally.ordinals.checked_sub(1).ok_or_else(|| StoreError::corrupt(damaged()))
    }

    /// The blob that holds the body, if it does not lie with the entry.
    pub fn large(&self) -> Option<BlobId> {
        match &self.body {
            Body::Blob(id) => Some(*id),
            Body::Inline(_) | Body::Absent | Body::Damaged => None,
        }
    }

    /// The body, if it lies with the entry.
    pub fn inline(&self) -> Option<&Bytes> {
        match &self.body {
            Body::Inline(bytes) => Some(bytes),
            Body::Blob(_) | Body::Absent | Body::Damaged => None,
        }
    }
}

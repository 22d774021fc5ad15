//! What a store answers with.

use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::{
    Account, Actor, BlobId, Body, ChangeOp, Head, Kind, MessageId, Position, Segment, SegmentId, Tally, ThreadId,
    Timestamp,
};

use crate::{Result, StoreError};

/// An entry in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEntry {
    /// The segment.
    pub segment: SegmentId,
    /// The position.
    pub position: Position,
    /// The kind.
    pub kind: Kind,
    /// The format of the body.
    pub format: u8,
    /// When.
    pub time: Timestamp,
    /// The account that answers for it.
    pub account: Arc<Account>,
    /// Who did it.
    pub actor: Arc<Actor>,
    /// What led to it.
    pub cause: Option<String>,
    /// The tally after it.
    pub tally: Tally,
    /// The body.
    pub body: Body,
}

/// An edit, a deletion or an insertion, and one message it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeRow {
    /// The segment that holds it.
    pub segment: SegmentId,
    /// Its position.
    pub position: Position,
    /// The ordinal of the appended message that anchors it.
    pub root: u64,
    /// What it does.
    pub op: ChangeOp,
    /// The position of the message it does it to.
    pub target: Position,
}

/// What has a key of its own within a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its key.
    pub key: String,
    /// The place of its first entry.
    pub born: MessageId,
    /// When that was.
    pub made: Timestamp,
    /// When something has to happen with it.
    pub due: Option<Timestamp>,
    /// Its newest entry.
    pub entry: StoredEntry,
}

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

/// Something that happened in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedItem {
    /// Its place.
    pub cursor: FeedCursor,
    /// The thread it happened to.
    pub thread: ThreadId,
    /// What happened.
    pub news: FeedNews,
}

/// What happened to a thread.
#[derive(Debug, Clone, PartialEq)]
pub enum FeedNews {
    /// It began a segment: it was born, or it branched.
    Began(Box<Segment>),
    /// It got an entry.
    Entry(Box<StoredEntry>),
    /// It was deleted.
    Deleted,
}

/// The head of a thread as its newest segment and the last entry there say; what they do not say is taken from `known`.
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
            Body::Inline(_) | Body::Absent => None,
        }
    }

    /// The body, if it lies with the entry.
    pub fn inline(&self) -> Option<&Bytes> {
        match &self.body {
            Body::Inline(bytes) => Some(bytes),
            Body::Blob(_) | Body::Absent => None,
        }
    }
}

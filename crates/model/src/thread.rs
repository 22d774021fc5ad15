//! Where a thread stands: its head, its record, its relations and its named versions.

use serde::{Deserialize, Serialize};

use crate::{Account, MessageId, Position, Record, SegmentId, Tally, ThreadId, Timestamp, Version};

/// The hot part of a thread: all that an append rewrites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The position of the last entry.
    pub version: Version,
    /// The segment the thread writes to.
    pub segment: SegmentId,
    /// Moves with every change that can make an earlier decision stale; appends leave it.
    pub era: u64,
    /// Raised whenever late writers have to be kept out.
    pub fence: u64,
    /// The time of the last entry; never goes back.
    pub updated: Timestamp,
    /// What the thread shows.
    pub tally: Tally,
}

/// A thread: who it is, where it stands, and its record.
#[derive(Debug, Clone, PartialEq)]
pub struct Thread {
    /// Its identity.
    pub id: ThreadId,
    /// The account that owns it.
    pub account: Account,
    /// When it came into being.
    pub created: Timestamp,
    /// Where it stands.
    pub head: Head,
    /// Title, flags, metadata and what else describes it.
    pub record: Record,
}

/// A version with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name, unique within the thread.
    pub name: String,
    /// The version it names.
    pub version: Version,
    /// When it was set.
    pub created: Timestamp,
}

/// What kind of relation two threads have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RelationKind {
    /// The child shares the parent's history up to a point.
    Fork,
    /// The child goes on from a summary.
    Handoff,
    /// The parent names the child.
    Mention,
    /// The child was derived from the parent, for an intent of its own.
    Spawn,
    /// The parent reads the child.
    Reference,
}

impl RelationKind {
    /// The kind as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fork => "fork",
            Self::Handoff => "handoff",
            Self::Mention => "mention",
            Self::Spawn => "spawn",
            Self::Reference => "reference",
        }
    }

    /// The code on disk.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind by its code on disk.
    pub fn from_code(code: u8) -> Option<Self> {
        let all = [Self::Fork, Self::Handoff, Self::Mention, Self::Spawn, Self::Reference];
        all.into_iter().find(|kind| kind.code() == code)
    }
}

/// A relation between two threads: one row, seen from both ends.
///
/// It holds while the entry that made it and the message it was made at are in the parent's view, and
/// both threads live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// The thread it was made on.
    pub parent: ThreadId,
    /// The thread at the other end.
    pub child: ThreadId,
    /// What kind of relation.
    pub kind: RelationKind,
    /// The entry that made it.
    pub made: MessageId,
    /// The index of the message where it was made.
    pub index: Option<u64>,
    /// The position of that message.
    pub anchor: Option<Position>,
    /// When it was made.
    pub created: Timestamp,
    /// A description.
    pub comment: Option<String>,
}

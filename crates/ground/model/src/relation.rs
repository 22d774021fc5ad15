//! Relations between threads, and named versions of one.

use serde::{Deserialize, Serialize};

use crate::text::words;
use crate::{MessageId, Position, ThreadId, Timestamp, Version};

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

/// The type of a relation between two threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RelationKind {
    /// The child shares the parent's history up to a point.
    Fork,
    /// The child continues from a summary of the parent.
    Handoff,
    /// The parent mentions the child.
    Mention,
    /// The child was derived from the parent, for an intent of its own.
    Spawn,
    /// The parent reads the child.
    Reference,
}

words!(RelationKind: Fork "fork", Handoff "handoff", Mention "mention", Spawn "spawn", Reference "reference");

impl RelationKind {
    /// The code on disk.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind by its code on disk.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
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
    /// The type of the relation.
    pub kind: RelationKind,
    /// The entry that made it.
    pub made: MessageId,
    /// The index of the message where it was made.
    pub index: Option<u64>,
    /// The position of that message.
    pub anchor: Option<Position>,
    /// When it was made.
    pub created: Timestamp,
    /// A description, in words for people.
    pub comment: Option<String>,
}

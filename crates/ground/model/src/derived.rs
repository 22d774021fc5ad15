//! The rows that stores derive from entries, to index them.

use std::fmt::Display;

use crate::{DiffStats, NewCell, Position, QueuedId, RelationKind, Role, Space, ThreadId, Timestamp, Version};

/// The rows that follow from an entry. They can be rebuilt from the log at any time.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the facts, unless a comment says more")]
pub enum Derived {
    /// No row at all.
    Nothing,
    /// A message, found by its ordinal.
    Message { role: Role, silent: bool, depth: u8 },
    /// An edit, a deletion or an insertion, found by the ordinal that anchors it.
    Change(Change),
    /// A relation to another thread, seen from both ends.
    Relation {
        child: ThreadId,
        kind: RelationKind,
        index: Option<u64>,
        /// The position of the message at `index`.
        anchor: Option<Position>,
        comment: Option<String>,
    },
    /// A name for a version.
    Checkpoint { name: String, version: Version },
    /// An item of the thread, by its key. The newest entry of a key counts.
    Item {
        kind: ItemKind,
        /// The key of the item; none if the place of the entry is the key.
        key: Option<String>,
        is: ItemIs,
        /// When a timer has to handle the item, unless it changes before.
        due: Option<Timestamp>,
    },
    /// A message from the queue: a message row, a second name for it, and one item less.
    Delivered { item: QueuedId, role: Role, silent: bool, depth: u8 },
    /// Another agent or other skills.
    State,
    /// Files or values changed: a cell for each name.
    Cells {
        space: Space,
        cells: Vec<NewCell>,
        stats: DiffStats,
        /// Bytes of content that were written to files.
        bytes: u64,
    },
}

/// The kinds of items that a thread has, each with a key of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ItemKind {
    /// A message in the queue.
    Queued = 1,
    /// A silent message in the queue. Silent messages have a limit of their own.
    QueuedSilently = 2,
    /// The thread of a subagent.
    Child = 3,
    /// An injection that waits until a run takes it up.
    Injection = 4,
    /// An answer to a question.
    Decision = 5,
    /// A reference to another thread.
    Reference = 6,
    /// An approval that was asked for, answered or not.
    Approval = 7,
    /// A delegation to agents.
    Delegation = 8,
    /// An observer of another thread.
    Observer = 9,
    /// A merge into the thread.
    Merge = 10,
    /// An injection that was taken up.
    InjectionTaken = 11,
    /// An effect that has not ended.
    Effect = 12,
    /// A tool in the queue.
    QueuedTool = 15,
    /// A run that is open.
    Run = 20,
    /// A run that ended.
    RunEnded = 21,
}

impl ItemKind {
    /// All kinds, in the order in which they were added.
    pub const ALL: [ItemKind; 15] = [
        Self::Queued,
        Self::QueuedSilently,
        Self::Child,
        Self::Injection,
        Self::Decision,
        Self::Reference,
        Self::Approval,
        Self::Delegation,
        Self::Observer,
        Self::Merge,
        Self::InjectionTaken,
        Self::Effect,
        Self::QueuedTool,
        Self::Run,
        Self::RunEnded,
    ];

    /// The kind by its code on disk.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// The code on disk.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind of a message in the queue.
    pub fn of_queued(silent: bool) -> Self {
        if silent { Self::QueuedSilently } else { Self::Queued }
    }
}

/// Whether an item exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemIs {
    /// The item exists, as the entry says.
    There,
    /// The item was removed.
    Gone,
    /// The item exists, and replaces the item of this kind with the same key.
    InsteadOf(ItemKind),
}

impl Derived {
    /// An item that exists from now on, without a timer.
    pub(crate) fn there(kind: ItemKind, key: &impl Display) -> Self {
        Self::Item { kind, key: Some(key.to_string()), is: ItemIs::There, due: None }
    }

    /// An item that was removed.
    pub(crate) fn gone(kind: ItemKind, key: &impl Display) -> Self {
        Self::Item { kind, key: Some(key.to_string()), is: ItemIs::Gone, due: None }
    }

    /// Role, silence and depth, if it adds a message to the end of the conversation.
    pub fn message(&self) -> Option<(Role, bool, u8)> {
        match self {
            Self::Message { role, silent, depth } | Self::Delivered { role, silent, depth, .. } => {
                Some((*role, *silent, *depth))
            }
            Self::Nothing
            | Self::Change(_)
            | Self::Relation { .. }
            | Self::Checkpoint { .. }
            | Self::Item { .. }
            | Self::State
            | Self::Cells { .. } => None,
        }
    }

    /// Whether its rows belong to one thread alone, and are deleted with it.
    pub fn is_of_thread(&self) -> bool {
        match self {
            Self::Relation { .. } | Self::Checkpoint { .. } | Self::Item { .. } => true,
            Self::Nothing
            | Self::Message { .. }
            | Self::Change(_)
            | Self::Delivered { .. }
            | Self::State
            | Self::Cells { .. } => false,
        }
    }
}

/// An edit, a deletion or an insertion, with the messages it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The operation on the targets.
    pub op: ChangeOp,
    /// The ordinal of the appended message that anchors it.
    pub root: u64,
    /// The positions of the messages it names. Along a lineage a position names one message.
    pub targets: Vec<Target>,
}

/// A message that a change names, by its position.
pub type Target = Position;

/// The operation of a change on its targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum ChangeOp {
    /// Inserts a message of this role before the target.
    Insert { role: Role },
    /// Replaces the content of the target, its metadata, or both.
    Edit { content: bool, metadata: bool },
    /// Removes the targets from the view.
    Delete,
}

impl ChangeOp {
    const DELETE: u8 = 1;
    const EDIT: u8 = 4;
    const INSERT: u8 = 16;

    /// The code on disk.
    pub fn code(self) -> u8 {
        match self {
            Self::Delete => Self::DELETE,
            Self::Edit { content, metadata } => Self::EDIT + u8::from(content) + 2 * u8::from(metadata),
            Self::Insert { role } => Self::INSERT + role.code(),
        }
    }

    /// The operation by its code on disk.
    pub fn from_code(code: u8) -> Option<Self> {
        match code {
            Self::DELETE => Some(Self::Delete),
            Self::EDIT..8 => {
                Some(Self::Edit { content: (code - Self::EDIT) & 1 != 0, metadata: (code - Self::EDIT) & 2 != 0 })
            }
            Self::INSERT.. => Role::from_code(code - Self::INSERT).map(|role| Self::Insert { role }),
            _ => None,
        }
    }

    /// By how much it changes the number of visible messages, for each target.
    pub fn delta(self) -> i64 {
        match self {
            Self::Insert { .. } => 1,
            Self::Edit { .. } => 0,
            Self::Delete => -1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_operations_survive_their_codes() {
        let edits = [(true, false), (false, true), (true, true)]
            .map(|(content, metadata)| ChangeOp::Edit { content, metadata });
        let inserts = Role::ALL.map(|role| ChangeOp::Insert { role });
        for op in edits.into_iter().chain(inserts).chain([ChangeOp::Delete]) {
            assert_eq!(ChangeOp::from_code(op.code()), Some(op));
        }
    }
}

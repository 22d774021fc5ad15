//! The rows that follow from entries: what stores index.

use crate::{DiffStats, NewCell, Position, QueuedId, RelationKind, Role, Space, ThreadId, Timestamp, Version};

/// The rows that follow from an entry. They can be rebuilt from the log at any time.
#[derive(Debug, Clone, PartialEq)]
pub enum Derived {
    /// No row.
    Nothing,
    /// A message, found by its ordinal.
    Message {
        /// Its role.
        role: Role,
        /// Whether lists hide it.
        silent: bool,
        /// How far below the conversation it hangs.
        depth: u8,
    },
    /// An edit, a deletion or an insertion, found by the ordinal that anchors it.
    Change(Change),
    /// A relation to another thread, seen from both ends.
    Relation {
        /// The thread at the other end, in the role of child.
        child: ThreadId,
        /// What kind of relation.
        kind: RelationKind,
        /// The index of the message where it was made.
        index: Option<u64>,
        /// The position of that message.
        anchor: Option<Position>,
        /// A description.
        comment: Option<String>,
    },
    /// A name for a version.
    Checkpoint {
        /// The name.
        name: String,
        /// The version.
        version: Version,
    },
    /// Something that belongs to the thread and has a key of its own. The newest entry of a key counts.
    Item {
        /// What it is.
        kind: ItemKind,
        /// Its key; none if the place of the entry is the key.
        key: Option<String>,
        /// Whether it is there from now on, or gone.
        is: ItemIs,
        /// When something has to happen with it, unless it changes before.
        due: Option<Timestamp>,
    },
    /// A message that waited in the queue: a message row, another name for it, and one item less.
    Delivered {
        /// The item it was.
        item: QueuedId,
        /// Its role.
        role: Role,
        /// Whether lists hide it.
        silent: bool,
        /// How far below the conversation it hangs.
        depth: u8,
    },
    /// Agent and skills changed.
    State,
    /// Files or values changed: a cell for each name.
    Cells {
        /// Which of them.
        space: Space,
        /// What each name holds now.
        cells: Vec<NewCell>,
        /// How much files changed.
        stats: DiffStats,
        /// Bytes of content that were written.
        bytes: u64,
    },
}

/// What has a key of its own within a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ItemKind {
    /// A message that waits.
    Queued = 1,
    /// A silent message that waits. Silent ones have a bound of their own.
    QueuedSilently = 2,
    /// The thread of a subagent.
    Child = 3,
    /// Something injected that waits until an execution takes it up.
    Injection = 4,
    /// An answer to a question.
    Decision = 5,
    /// What the thread reads of another one.
    Reference = 6,
    /// Something that somebody wants to be allowed.
    Approval = 7,
    /// Something that agents may do without asking.
    Delegation = 8,
    /// What the thread is told of another one.
    Observer = 9,
    /// What became of a merge.
    Merge = 10,
    /// Something injected that was taken up.
    InjectionTaken = 11,
}

impl ItemKind {
    /// All kinds.
    pub const ALL: [ItemKind; 11] = [
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
    ];

    /// The kind by its code on disk.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// The code on disk.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Where a message waits.
    pub fn of_queued(silent: bool) -> Self {
        if silent { Self::QueuedSilently } else { Self::Queued }
    }
}

/// Whether an item is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemIs {
    /// It is, as the entry says.
    There,
    /// It is not.
    Gone,
    /// It is, and the one of this kind with the same key is not any more.
    InsteadOf(ItemKind),
}

impl Derived {
    /// An item that is there from now on, and waits for no time.
    pub(crate) fn there(kind: ItemKind, key: String) -> Self {
        Self::Item { kind, key: Some(key), is: ItemIs::There, due: None }
    }

    /// An item that is gone.
    pub(crate) fn gone(kind: ItemKind, key: String) -> Self {
        Self::Item { kind, key: Some(key), is: ItemIs::Gone, due: None }
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

    /// Whether its rows are those of one thread alone, and go with it.
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

/// What an edit, a deletion or an insertion does, and to what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it does.
    pub op: ChangeOp,
    /// The ordinal of the appended message that anchors it.
    pub root: u64,
    /// The positions of the messages it names. Along a lineage a position names one message.
    pub targets: Vec<Target>,
}

/// A message that a change names, by its position.
pub type Target = Position;

/// What a change does to its targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOp {
    /// Puts a message of this role before the target.
    Insert {
        /// The role of the new message.
        role: Role,
    },
    /// Replaces parts of the target.
    Edit {
        /// Whether the content is new.
        content: bool,
        /// Whether the metadata is new.
        metadata: bool,
    },
    /// Takes the targets out of the view.
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

//! Entries: facts in the past tense. What the log holds, how each kind looks on disk, and what rows
//! are derived from it.
//!
//! Every kind has a code and a format. Old formats are decoded for ever; a new one gets a new number.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    AgentState, BlobId, Child, Content, Event, Execution, ExecutionStatus, FieldChanges, Json, MessageBody, MessageId,
    Position, QueuedId, RelationKind, Role, ThreadId, Timestamp, Uuid, Version,
};

/// A fact about a thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A message was appended.
    MessageAppended(MessageBody),
    /// An event that is not a message was logged.
    EventLogged(Event),
    /// A message was put before another one.
    MessageInserted(Inserted),
    /// A message got new content or metadata.
    MessageEdited(MessageEdited),
    /// Messages were deleted.
    MessagesDeleted(MessagesDeleted),
    /// All messages from an index on were dropped from the view. Opens a segment.
    Truncated(Truncated),
    /// The thread went back to an earlier version. Opens a segment.
    RolledBack(RolledBack),
    /// Fields of the record changed.
    ThreadChanged(ThreadChanged),
    /// A version got a name.
    CheckpointSet(CheckpointSet),
    /// A thread was forked from this one.
    Forked(Forked),
    /// Another thread goes on from this one, or is named in it.
    Related(Related),
    /// A message waits until an execution takes it up.
    MessageQueued(MessageQueued),
    /// A message that waits says something else now.
    QueuedEdited(QueuedEdited),
    /// A message does not wait any more: it was withdrawn.
    QueuedRemoved(QueuedRemoved),
    /// A message that waited joined the conversation.
    MessageDelivered(MessageDelivered),
    /// Somebody began to work on the thread.
    ExecutionBegan(ExecutionBegan),
    /// The work went one step further.
    ExecutionStepped(ExecutionStepped),
    /// The work ended.
    ExecutionEnded(ExecutionEnded),
    /// A skill was activated.
    SkillActivated(SkillActivated),
    /// The thread was assigned to another agent.
    AgentAssigned(AgentAssigned),
    /// A subagent's thread was registered, or what is known of it changed.
    ChildChanged(Child),
    /// A subagent's thread is gone from the registry.
    ChildRemoved(ChildRemoved),
}

/// Body of [`Entry::MessageInserted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inserted {
    /// The message before which it stands.
    pub before: MessageId,
    /// The ordinal of the appended message that anchors it.
    pub root: u64,
    /// The message.
    pub message: MessageBody,
}

/// Body of [`Entry::MessageEdited`]: only what changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageEdited {
    /// The message.
    pub target: MessageId,
    /// The ordinal of the appended message that anchors it.
    pub root: u64,
    /// New content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// New metadata, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

/// Body of [`Entry::MessagesDeleted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessagesDeleted {
    /// The messages.
    pub targets: Vec<MessageId>,
    /// The ordinal of the appended message that anchors them all.
    pub root: u64,
}

/// Body of [`Entry::Truncated`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Truncated {
    /// The index of the first message that was dropped.
    pub from_index: u64,
}

/// Body of [`Entry::RolledBack`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RolledBack {
    /// The version the thread shows again.
    pub to: Version,
    /// Whether this took back an earlier rollback or truncation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
}

/// Body of [`Entry::ThreadChanged`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ThreadChanged {
    /// The fields that changed, with their new values; null where one was cleared.
    pub fields: FieldChanges,
}

/// Body of [`Entry::CheckpointSet`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckpointSet {
    /// The name.
    pub name: String,
    /// The version it names.
    pub version: Version,
}

/// Body of [`Entry::Forked`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Forked {
    /// The new thread.
    pub child: ThreadId,
    /// The index of the last message it shares; none if it shares no message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The position of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Position>,
}

/// Body of [`Entry::Related`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Related {
    /// The other thread.
    pub child: ThreadId,
    /// What kind of relation: a handoff or a mention.
    #[serde(rename = "type")]
    pub kind: RelationKind,
    /// The index of the message where it was made; none if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The position of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Position>,
    /// A description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// Body of [`Entry::MessageQueued`]. The place of this entry names the item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageQueued {
    /// The message.
    pub message: MessageBody,
}

/// Body of [`Entry::QueuedEdited`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueuedEdited {
    /// The item.
    pub item: QueuedId,
    /// The message as it is now, whole.
    pub message: MessageBody,
}

/// Body of [`Entry::QueuedRemoved`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueuedRemoved {
    /// The item.
    pub item: QueuedId,
    /// Whether it was silent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
}

/// Body of [`Entry::MessageDelivered`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageDelivered {
    /// The item: the message keeps its id and its number.
    pub item: QueuedId,
    /// The message. A copy: forks see what was delivered, never the queue.
    pub message: MessageBody,
}

/// Body of [`Entry::ExecutionBegan`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionBegan {
    /// The execution.
    pub execution: Execution,
    /// The execution it took over from, which never ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Uuid>,
}

/// Body of [`Entry::ExecutionStepped`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionStepped {
    /// The execution.
    pub id: Uuid,
    /// From when on others may take over, unless it goes another step.
    pub until: Timestamp,
}

/// Body of [`Entry::ExecutionEnded`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionEnded {
    /// The execution.
    pub id: Uuid,
    /// How it ended.
    pub status: ExecutionStatus,
}

/// Body of [`Entry::SkillActivated`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillActivated {
    /// The skill.
    pub name: String,
    /// Agent and skills from here on, whole: a rollback finds in one entry what holds at a version.
    pub state: AgentState,
}

/// Body of [`Entry::AgentAssigned`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentAssigned {
    /// Agent and skills from here on, whole.
    pub state: AgentState,
}

/// Body of [`Entry::ChildRemoved`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChildRemoved {
    /// The subagent's thread.
    pub reference: ThreadId,
}

/// The kind of an entry, by its code on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "each is the kind of the entry of the same name")]
pub enum Kind {
    MessageAppended = 1,
    EventLogged = 2,
    MessageInserted = 3,
    MessageEdited = 4,
    MessagesDeleted = 5,
    Truncated = 6,
    RolledBack = 7,
    ThreadChanged = 8,
    CheckpointSet = 9,
    Forked = 10,
    Related = 11,
    MessageQueued = 12,
    QueuedEdited = 13,
    QueuedRemoved = 14,
    MessageDelivered = 15,
    ExecutionBegan = 16,
    ExecutionStepped = 17,
    ExecutionEnded = 18,
    SkillActivated = 19,
    AgentAssigned = 20,
    ChildChanged = 21,
    ChildRemoved = 22,
}

/// What bounds an entry when it is seen through a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Messages and events.
    Messages,
    /// Edits, deletions and insertions.
    Changes,
    /// Values, and with them the agent and its skills.
    Values,
    /// What belongs to one thread alone and is never inherited.
    Record,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 22] = [
        Kind::MessageAppended,
        Kind::EventLogged,
        Kind::MessageInserted,
        Kind::MessageEdited,
        Kind::MessagesDeleted,
        Kind::Truncated,
        Kind::RolledBack,
        Kind::ThreadChanged,
        Kind::CheckpointSet,
        Kind::Forked,
        Kind::Related,
        Kind::MessageQueued,
        Kind::QueuedEdited,
        Kind::QueuedRemoved,
        Kind::MessageDelivered,
        Kind::ExecutionBegan,
        Kind::ExecutionStepped,
        Kind::ExecutionEnded,
        Kind::SkillActivated,
        Kind::AgentAssigned,
        Kind::ChildChanged,
        Kind::ChildRemoved,
    ];

    /// The format in which this program writes entries of this kind.
    pub const FORMAT: u8 = 1;

    /// The code on disk.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind by its code on disk.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// The kind as text, on the wire and in exports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MessageAppended => "message_appended",
            Self::EventLogged => "event_logged",
            Self::MessageInserted => "message_inserted",
            Self::MessageEdited => "message_edited",
            Self::MessagesDeleted => "messages_deleted",
            Self::Truncated => "truncated",
            Self::RolledBack => "rolled_back",
            Self::ThreadChanged => "thread_changed",
            Self::CheckpointSet => "checkpoint_set",
            Self::Forked => "forked",
            Self::Related => "related",
            Self::MessageQueued => "message_queued",
            Self::QueuedEdited => "queued_edited",
            Self::QueuedRemoved => "queued_removed",
            Self::MessageDelivered => "message_delivered",
            Self::ExecutionBegan => "execution_began",
            Self::ExecutionStepped => "execution_stepped",
            Self::ExecutionEnded => "execution_ended",
            Self::SkillActivated => "skill_activated",
            Self::AgentAssigned => "agent_assigned",
            Self::ChildChanged => "child_changed",
            Self::ChildRemoved => "child_removed",
        }
    }

    /// The kind by its text.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// What bounds entries of this kind.
    pub fn class(self) -> Class {
        match self {
            Self::MessageAppended | Self::EventLogged | Self::MessageDelivered => Class::Messages,
            Self::MessageInserted | Self::MessageEdited | Self::MessagesDeleted => Class::Changes,
            Self::Truncated
            | Self::RolledBack
            | Self::ThreadChanged
            | Self::CheckpointSet
            | Self::Forked
            | Self::Related
            | Self::MessageQueued
            | Self::QueuedEdited
            | Self::QueuedRemoved
            | Self::ExecutionBegan
            | Self::ExecutionStepped
            | Self::ExecutionEnded
            | Self::ChildChanged
            | Self::ChildRemoved => Class::Record,
            Self::SkillActivated | Self::AgentAssigned => Class::Values,
        }
    }

    /// Whether an entry of this kind can make a decision stale that was taken before it. Appended
    /// conversation cannot, nor can the back-link of a relation: they never conflict with anything.
    pub fn moves_era(self) -> bool {
        match self {
            Self::MessageAppended | Self::EventLogged | Self::Forked | Self::Related => false,
            Self::MessageInserted
            | Self::MessageEdited
            | Self::MessagesDeleted
            | Self::Truncated
            | Self::RolledBack
            | Self::ThreadChanged
            | Self::CheckpointSet
            | Self::MessageQueued
            | Self::QueuedEdited
            | Self::QueuedRemoved
            | Self::MessageDelivered
            | Self::ExecutionBegan
            | Self::ExecutionStepped
            | Self::ExecutionEnded
            | Self::SkillActivated
            | Self::AgentAssigned
            | Self::ChildChanged
            | Self::ChildRemoved => true,
        }
    }
}

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
}

impl ItemKind {
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
}

impl Derived {
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
            | Self::State => None,
        }
    }

    /// Whether its rows are those of one thread alone, and go with it.
    pub fn is_of_thread(&self) -> bool {
        match self {
            Self::Relation { .. } | Self::Checkpoint { .. } | Self::Item { .. } => true,
            Self::Nothing | Self::Message { .. } | Self::Change(_) | Self::Delivered { .. } | Self::State => false,
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

/// Where the body of an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// With the entry.
    Inline(Bytes),
    /// In the blob store.
    Blob(BlobId),
    /// Nowhere any more: it was erased.
    Absent,
}

impl Entry {
    /// The kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::MessageAppended(_) => Kind::MessageAppended,
            Self::EventLogged(_) => Kind::EventLogged,
            Self::MessageInserted(_) => Kind::MessageInserted,
            Self::MessageEdited(_) => Kind::MessageEdited,
            Self::MessagesDeleted(_) => Kind::MessagesDeleted,
            Self::Truncated(_) => Kind::Truncated,
            Self::RolledBack(_) => Kind::RolledBack,
            Self::ThreadChanged(_) => Kind::ThreadChanged,
            Self::CheckpointSet(_) => Kind::CheckpointSet,
            Self::Forked(_) => Kind::Forked,
            Self::Related(_) => Kind::Related,
            Self::MessageQueued(_) => Kind::MessageQueued,
            Self::QueuedEdited(_) => Kind::QueuedEdited,
            Self::QueuedRemoved(_) => Kind::QueuedRemoved,
            Self::MessageDelivered(_) => Kind::MessageDelivered,
            Self::ExecutionBegan(_) => Kind::ExecutionBegan,
            Self::ExecutionStepped(_) => Kind::ExecutionStepped,
            Self::ExecutionEnded(_) => Kind::ExecutionEnded,
            Self::SkillActivated(_) => Kind::SkillActivated,
            Self::AgentAssigned(_) => Kind::AgentAssigned,
            Self::ChildChanged(_) => Kind::ChildChanged,
            Self::ChildRemoved(_) => Kind::ChildRemoved,
        }
    }

    /// The body as it goes to disk.
    pub fn encode(&self) -> Bytes {
        let encoded = match self {
            Self::MessageAppended(body) => serde_json::to_vec(body),
            Self::EventLogged(body) => serde_json::to_vec(body),
            Self::MessageInserted(body) => serde_json::to_vec(body),
            Self::MessageEdited(body) => serde_json::to_vec(body),
            Self::MessagesDeleted(body) => serde_json::to_vec(body),
            Self::Truncated(body) => serde_json::to_vec(body),
            Self::RolledBack(body) => serde_json::to_vec(body),
            Self::ThreadChanged(body) => serde_json::to_vec(body),
            Self::CheckpointSet(body) => serde_json::to_vec(body),
            Self::Forked(body) => serde_json::to_vec(body),
            Self::Related(body) => serde_json::to_vec(body),
            Self::MessageQueued(body) => serde_json::to_vec(body),
            Self::QueuedEdited(body) => serde_json::to_vec(body),
            Self::QueuedRemoved(body) => serde_json::to_vec(body),
            Self::MessageDelivered(body) => serde_json::to_vec(body),
            Self::ExecutionBegan(body) => serde_json::to_vec(body),
            Self::ExecutionStepped(body) => serde_json::to_vec(body),
            Self::ExecutionEnded(body) => serde_json::to_vec(body),
            Self::SkillActivated(body) => serde_json::to_vec(body),
            Self::AgentAssigned(body) => serde_json::to_vec(body),
            Self::ChildChanged(body) => serde_json::to_vec(body),
            Self::ChildRemoved(body) => serde_json::to_vec(body),
        };
        encoded.expect("entry bodies have text keys and plain values").into()
    }

    /// Reads a body from disk.
    ///
    /// # Errors
    /// If the body is damaged, or the format is newer than this program.
    pub fn decode(kind: Kind, format: u8, body: &[u8]) -> Result<Self, String> {
        if format != Kind::FORMAT {
            return Err(format!("a {} entry has format {format}; this program reads {}", kind.as_str(), Kind::FORMAT));
        }
        fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, String> {
            serde_json::from_slice(body).map_err(|error| error.to_string())
        }
        Ok(match kind {
            Kind::MessageAppended => Self::MessageAppended(read(body)?),
            Kind::EventLogged => Self::EventLogged(read(body)?),
            Kind::MessageInserted => Self::MessageInserted(read(body)?),
            Kind::MessageEdited => Self::MessageEdited(read(body)?),
            Kind::MessagesDeleted => Self::MessagesDeleted(read(body)?),
            Kind::Truncated => Self::Truncated(read(body)?),
            Kind::RolledBack => Self::RolledBack(read(body)?),
            Kind::ThreadChanged => Self::ThreadChanged(read(body)?),
            Kind::CheckpointSet => Self::CheckpointSet(read(body)?),
            Kind::Forked => Self::Forked(read(body)?),
            Kind::Related => Self::Related(read(body)?),
            Kind::MessageQueued => Self::MessageQueued(read(body)?),
            Kind::QueuedEdited => Self::QueuedEdited(read(body)?),
            Kind::QueuedRemoved => Self::QueuedRemoved(read(body)?),
            Kind::MessageDelivered => Self::MessageDelivered(read(body)?),
            Kind::ExecutionBegan => Self::ExecutionBegan(read(body)?),
            Kind::ExecutionStepped => Self::ExecutionStepped(read(body)?),
            Kind::ExecutionEnded => Self::ExecutionEnded(read(body)?),
            Kind::SkillActivated => Self::SkillActivated(read(body)?),
            Kind::AgentAssigned => Self::AgentAssigned(read(body)?),
            Kind::ChildChanged => Self::ChildChanged(read(body)?),
            Kind::ChildRemoved => Self::ChildRemoved(read(body)?),
        })
    }

    /// The rows that follow from it.
    pub fn derived(&self) -> Derived {
        match self {
            Self::MessageAppended(body) => Derived::Message { role: body.role, silent: body.silent, depth: body.depth },
            Self::MessageInserted(inserted) => Derived::Change(Change {
                op: ChangeOp::Insert { role: inserted.message.role },
                root: inserted.root,
                targets: vec![inserted.before.position],
            }),
            Self::MessageEdited(edited) => Derived::Change(Change {
                op: ChangeOp::Edit { content: edited.content.is_some(), metadata: edited.metadata.is_some() },
                root: edited.root,
                targets: vec![edited.target.position],
            }),
            Self::MessagesDeleted(deleted) => Derived::Change(Change {
                op: ChangeOp::Delete,
                root: deleted.root,
                targets: deleted.targets.iter().map(|target| target.position).collect(),
            }),
            Self::Forked(forked) => Derived::Relation {
                child: forked.child,
                kind: RelationKind::Fork,
                index: forked.index,
                anchor: forked.anchor,
                comment: None,
            },
            Self::Related(related) => Derived::Relation {
                child: related.child,
                kind: related.kind,
                index: related.index,
                anchor: related.anchor,
                comment: related.comment.clone(),
            },
            Self::CheckpointSet(checkpoint) => {
                Derived::Checkpoint { name: checkpoint.name.clone(), version: checkpoint.version }
            }
            Self::MessageQueued(queued) => {
                let kind = ItemKind::of_queued(queued.message.silent);
                Derived::Item { kind, key: None, is: ItemIs::There }
            }
            Self::QueuedEdited(edited) => {
                let kind = ItemKind::of_queued(edited.message.silent);
                Derived::Item { kind, key: Some(edited.item.to_string()), is: ItemIs::There }
            }
            Self::QueuedRemoved(removed) => {
                let kind = ItemKind::of_queued(removed.silent);
                Derived::Item { kind, key: Some(removed.item.to_string()), is: ItemIs::Gone }
            }
            Self::MessageDelivered(delivered) => Derived::Delivered {
                item: delivered.item,
                role: delivered.message.role,
                silent: delivered.message.silent,
                depth: delivered.message.depth,
            },
            Self::SkillActivated(_) | Self::AgentAssigned(_) => Derived::State,
            Self::ChildChanged(child) => {
                Derived::Item { kind: ItemKind::Child, key: Some(child.reference.to_string()), is: ItemIs::There }
            }
            Self::ChildRemoved(removed) => {
                Derived::Item { kind: ItemKind::Child, key: Some(removed.reference.to_string()), is: ItemIs::Gone }
            }
            Self::EventLogged(_)
            | Self::Truncated(_)
            | Self::RolledBack(_)
            | Self::ThreadChanged(_)
            | Self::ExecutionBegan(_)
            | Self::ExecutionStepped(_)
            | Self::ExecutionEnded(_) => Derived::Nothing,
        }
    }

    /// The blobs it names beside its own body.
    pub fn blobs(&self) -> Vec<BlobId> {
        let message = match self {
            Self::MessageAppended(body) => body,
            Self::MessageInserted(inserted) => &inserted.message,
            Self::MessageQueued(queued) => &queued.message,
            Self::QueuedEdited(edited) => &edited.message,
            Self::MessageDelivered(delivered) => &delivered.message,
            Self::EventLogged(_)
            | Self::MessageEdited(_)
            | Self::MessagesDeleted(_)
            | Self::Truncated(_)
            | Self::RolledBack(_)
            | Self::ThreadChanged(_)
            | Self::CheckpointSet(_)
            | Self::Forked(_)
            | Self::Related(_)
            | Self::QueuedRemoved(_)
            | Self::ExecutionBegan(_)
            | Self::ExecutionStepped(_)
            | Self::ExecutionEnded(_)
            | Self::SkillActivated(_)
            | Self::AgentAssigned(_)
            | Self::ChildChanged(_)
            | Self::ChildRemoved(_) => return Vec::new(),
        };
        message.attachments.iter().map(|attachment| attachment.id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_texts_of_kinds_are_unique_and_found_again() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_code(kind.code()), Some(kind));
            assert_eq!(Kind::from_text(kind.as_str()), Some(kind));
        }
        assert_eq!(Kind::from_code(0), None);
    }

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

//! What each kind of entry says: the bodies of entries.

use serde::{Deserialize, Serialize};

use crate::{
    Account, AgentState, Content, Execution, ExecutionStatus, FieldChanges, InjectionType, Json, Lifecycle,
    MessageBody, MessageId, Position, QueuedId, RelationKind, ThreadId, Timestamp, Urgency, Uuid, Version,
};

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
    /// What kind of relation: a handoff, a mention, a spawn or a reference.
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

/// Body of [`Entry::OwnerChanged`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OwnerChanged {
    /// The account that gave it away.
    pub from: Account,
    /// The account that owns it from here on.
    pub to: Account,
}

/// Body of [`Entry::LifecycleChanged`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LifecycleChanged {
    /// The state before.
    pub from: Lifecycle,
    /// The state from here on.
    pub to: Lifecycle,
    /// Why, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Body of [`Entry::Injected`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Injected {
    /// Its identity.
    pub id: Uuid,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: InjectionType,
    /// What it says: any JSON.
    pub content: Json,
    /// How soon it shall be taken up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub urgency: Urgency,
}

/// Body of [`Entry::InjectionTaken`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InjectionTaken {
    /// Which one.
    pub id: Uuid,
    /// The place of the entry that injected it, which says the rest.
    pub injected: MessageId,
    /// The execution that took it up; none if somebody acknowledged it by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Uuid>,
}

/// Body of [`Entry::Decided`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decided {
    /// The question.
    pub question: String,
    /// The answer that counts from here on.
    pub answer: String,
    /// Why, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

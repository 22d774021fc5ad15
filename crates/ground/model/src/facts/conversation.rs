//! Facts about the conversation: messages and events, edits of messages, and ways back.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::{BlobId, Change, ChangeOp, Content, Derived, Invalid, Json, MessageBody, MessageId, Version};

/// A message was appended.
impl Fact for MessageBody {
    fn derived(&self) -> Derived {
        Derived::Message { role: self.role, silent: self.silent, depth: self.depth }
    }

    fn blobs(&self) -> Vec<BlobId> {
        self.attachments.iter().map(|attachment| attachment.id).collect()
    }
}

/// An event that is not a message was logged. Events are never indexed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The type of the event, by the Threads contract.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// A JSON object that says the rest.
    pub data: Json,
}

/// The types of events beside messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// An agent called a tool.
    ToolUse,
    /// A fragment of an answer of the assistant.
    AssistantText,
    /// The result of a piece of work.
    Result,
}

impl FromStr for EventKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "tool_use" => Ok(Self::ToolUse),
            "assistant_text" => Ok(Self::AssistantText),
            "result" => Ok(Self::Result),
            other => Err(Invalid::body(
                "type",
                format!("'{other}' is not an event type: message, tool_use, assistant_text or result"),
            )),
        }
    }
}

impl Event {
    /// Checks the rules that its type does not already prove.
    ///
    /// # Errors
    /// If the data is not an object.
    pub fn checked(self) -> Result<Self, Invalid> {
        if !self.data.is_object() {
            return Err(Invalid::body("data", "must be a JSON object"));
        }
        Ok(self)
    }
}

impl Fact for Event {}

/// A message was inserted before another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inserted {
    /// The message that follows the new one.
    pub before: MessageId,
    /// The ordinal of the appended message that anchors it.
    pub root: u64,
    /// The message that was inserted.
    pub message: MessageBody,
}

impl Fact for Inserted {
    fn derived(&self) -> Derived {
        let op = ChangeOp::Insert { role: self.message.role };
        Derived::Change(Change { op, root: self.root, targets: vec![self.before.position] })
    }

    fn blobs(&self) -> Vec<BlobId> {
        self.message.blobs()
    }
}

/// A message got new content, new metadata or both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageEdited {
    /// The message that was edited.
    pub target: MessageId,
    /// The ordinal of the appended message that anchors it.
    pub root: u64,
    /// The new content; none if it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// The new metadata, whole; none if it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

impl Fact for MessageEdited {
    fn derived(&self) -> Derived {
        let op = ChangeOp::Edit { content: self.content.is_some(), metadata: self.metadata.is_some() };
        Derived::Change(Change { op, root: self.root, targets: vec![self.target.position] })
    }
}

/// Messages were deleted from the view. The log keeps them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessagesDeleted {
    /// The messages that were deleted.
    pub targets: Vec<MessageId>,
    /// The ordinal of the appended message that anchors them all.
    pub root: u64,
}

impl Fact for MessagesDeleted {
    fn derived(&self) -> Derived {
        let targets = self.targets.iter().map(|target| target.position).collect();
        Derived::Change(Change { op: ChangeOp::Delete, root: self.root, targets })
    }
}

/// All messages from an index on were dropped from the view. Opens a segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Truncated {
    /// The index of the first message that was dropped.
    pub from_index: u64,
}

impl Fact for Truncated {}

/// The thread went back to an earlier version. Opens a segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RolledBack {
    /// The version the thread shows again.
    pub to: Version,
    /// Whether this took back an earlier rollback, truncation or undo.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
    /// Where the walk of undos and redos is that this belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk: Option<Walk>,
}

/// Undos and redos that follow each other, with nothing else written in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Walk {
    /// The version before the first undo: redo leads back to it in the end.
    pub from: Version,
    /// How many entries the same commit wrote after this one.
    pub entries: u64,
}

impl Fact for RolledBack {}

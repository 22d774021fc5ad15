//! Messages: their bodies, roles and attachments.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::json::is_default;
use crate::text::words;
use crate::{
    Actor, BlobId, Code, Content, FilePath, Invalid, Json, MessageId, MessageName, QueuedId, Timestamp, Version,
    strip_nulls,
};

/// The role a message plays in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A message of the user.
    User,
    /// An answer of the assistant.
    Assistant,
    /// Information for the reader, such as a summary.
    Info,
    /// The result of a tool.
    Tool,
    /// An instruction to the model.
    System,
}

words!(Role: User "user", Assistant "assistant", Info "info", Tool "tool", System "system");

impl Role {
    /// The role's code on disk.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The role by its code on disk.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Role {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| {
            let rule = format!("'{text}' is not a role: user, assistant, info, tool or system");
            Invalid::new(Code::InvalidParameter, "role", rule)
        })
    }
}

/// Whether a message is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    /// It is queued or still being written.
    Pending,
    /// The message is complete.
    #[default]
    Completed,
    /// It was given up before it was complete.
    Failed,
}

/// A file that belongs to a message. The blob store holds its bytes, and equal bytes only once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attachment {
    /// The hash of its bytes.
    pub id: BlobId,
    /// The name of the file.
    pub name: String,
    /// Its media type, such as `image/png`.
    pub mime_type: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its path among the files of the thread, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<FilePath>,
}

/// A message as it is handed in and as the log keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageBody {
    /// The role of the message.
    pub role: Role,
    /// The name of the speaker or the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The content: text or typed parts.
    pub content: Content,
    /// A free-form JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::json::Object>"))]
    pub metadata: Option<Json>,
    /// Hidden from lists by default, still part of the conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
    /// Its level below the conversation; 0 is the conversation itself.
    #[serde(default, skip_serializing_if = "is_default")]
    pub depth: u8,
    /// The message above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<MessageId>,
    /// Whether it is complete.
    #[serde(default, skip_serializing_if = "is_default")]
    pub status: MessageStatus,
    /// Files that belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

impl MessageBody {
    /// A message of `role` that says `text`.
    pub fn new(role: Role, text: &str) -> Self {
        Self::with_content(role, Content::text(text))
    }

    /// A message of `role` with `content`.
    pub fn with_content(role: Role, content: Content) -> Self {
        Self {
            role,
            name: None,
            content,
            metadata: None,
            silent: false,
            depth: 0,
            parent_id: None,
            status: MessageStatus::Completed,
            attachments: Vec::new(),
        }
    }

    /// A message of the user.
    pub fn user(text: &str) -> Self {
        Self::new(Role::User, text)
    }

    /// A message of the assistant.
    pub fn assistant(text: &str) -> Self {
        Self::new(Role::Assistant, text)
    }

    /// The same message with free-form `metadata`.
    #[must_use]
    pub fn metadata(mut self, metadata: Json) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// The same message, silent.
    #[must_use]
    pub fn silent(mut self) -> Self {
        self.silent = true;
        self
    }

    /// The same message at `depth`.
    #[must_use]
    pub fn depth(mut self, depth: u8) -> Self {
        self.depth = depth;
        self
    }

    /// Checks the rules that its type does not already prove, and strips null bytes.
    ///
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn checked(mut self) -> Result<Self, Invalid> {
        self.name = self.name.map(strip_nulls);
        self.content = self.content.checked()?;
        if self.metadata.as_ref().is_some_and(|metadata| !metadata.is_object()) {
            return Err(Invalid::body("metadata", "must be a JSON object"));
        }
        Ok(self)
    }
}

/// A message as a thread shows it.
///
/// Its body is the JSON the log holds, passed through unparsed; [`Message::body`] reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its place in the log, the same in every fork.
    pub id: MessageId,
    /// The id it had in the queue, if it was queued.
    pub queued: Option<QueuedId>,
    /// Counts up within a thread; gaps are fine.
    pub number: u64,
    /// The body after all edits, as JSON.
    pub json: Bytes,
    /// The actor that wrote it.
    pub actor: Arc<Actor>,
    /// When it entered the log.
    pub created: Timestamp,
    /// The thread's version at which the message got its present form.
    pub version: Version,
}

/// A message whose body on disk cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("message {id} is damaged: {what}")]
pub struct Damaged {
    /// The message that is damaged.
    pub id: MessageId,
    /// The error of the parser.
    pub what: String,
}

impl Message {
    /// The name that callers see: its id from the queue if it has one.
    pub fn name(&self) -> MessageName {
        self.queued.map_or(MessageName::Place(self.id), MessageName::Queued)
    }

    /// Reads the body.
    ///
    /// # Errors
    /// If the body on disk is damaged.
    pub fn body(&self) -> Result<MessageBody, Damaged> {
        serde_json::from_slice(&self.json).map_err(|error| Damaged { id: self.id, what: error.to_string() })
    }

    /// All text in the message.
    ///
    /// # Errors
    /// If the body on disk is damaged.
    pub fn text(&self) -> Result<String, Damaged> {
        Ok(self.body()?.content.to_text().into_owned())
    }
}

//! Messages: read, edit, delete; the history.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{Content, Json, MessageName, Role, ThreadName, Version};

use crate::ErrorCode;
use crate::call::{Declaration, Needs};
use crate::group::MESSAGES;
use crate::object::{flag, some_thread};
use crate::shape::{shaped, words};

/// Reads a page of messages.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListMessages {
    /// Number of items in a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
    /// The cursor of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Number of messages to skip. It excludes a cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The page around this message, the oldest first. It excludes a cursor, an offset, a falling order and filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub around: Option<MessageName>,
    /// The oldest first, or the newest. Default: asc.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Messages of this role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Messages at most this far below the conversation. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u8>,
    /// Whether silent messages are included.
    #[serde(skip_serializing_if = "std::ops::Not::not", deserialize_with = "flag")]
    pub include_silent: bool,
    /// As the thread was at this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Version>,
    /// A thread of the reader, which mentions this one by reading it. It needs a key that may write.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_thread")]
    pub from: Option<ThreadName>,
    /// Whether to tell how many messages pass the filters. Default: true, unless a role is named without an offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<bool>,
}

/// In which order messages are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The oldest message first.
    #[default]
    Ascending,
    /// The newest message first.
    Descending,
}

words! {
    Order in "order": "asc" = Ascending, "desc" = Descending;
}

impl ListMessages {
    /// Whether the answer tells the total. A total by role takes a look at every message: it is told to those who ask.
    pub fn counts(&self) -> bool {
        self.total.unwrap_or(self.role.is_none() || self.offset.is_some())
    }

    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("messages", "listMessages"), "/v1/threads/{thread}/messages", MESSAGES)
            .about("Lists the messages of a thread, now or as it was at a version.")
            .writes_with("from")
            .gives("A page of messages.")
            .versioned()
            .needs(Needs::Public)
            .fails(&[
                ErrorCode::InvalidCursor,
                ErrorCode::MessageNotFound,
                ErrorCode::VersionInFuture,
                ErrorCode::InvalidBody,
            ]);
}

/// Shows one message by its id.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetMessage {
    /// The id of the message.
    #[serde(deserialize_with = "crate::object::parsed")]
    #[schemars(skip)]
    pub message: MessageName,
}

impl GetMessage {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("message", "getMessage"), "/v1/threads/{thread}/messages/{message}", MESSAGES)
            .about("Shows a message.")
            .gives("The message.")
            .needs(Needs::Public);
}

/// New content or metadata for a message: a logged change, so that earlier versions still show what was.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditMessage {
    /// The id of the message.
    #[serde(deserialize_with = "crate::object::parsed")]
    pub message: MessageName,
    /// The new content; without it, the content stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Fields of the metadata to set; null clears one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

impl EditMessage {
    pub(crate) const DECLARATION: Declaration =
        Declaration::patch(("edit", "editMessage"), "/v1/threads/{thread}/messages/{message}", MESSAGES)
            .about("Gives a message new content, new metadata, or both.")
            .gives("The message as it is now.")
            .versioned()
            .repeats()
            .fails(&[ErrorCode::ThreadClosed])
            .example(r#"{"content":"Hello again","metadata":{"edited":true}}"#);

    /// Replaces the content of a message.
    pub fn content(message: impl Into<MessageName>, content: Content) -> Self {
        Self { message: message.into(), content: Some(content), metadata: None }
    }

    /// Fields to merge into the metadata.
    pub fn metadata(message: impl Into<MessageName>, metadata: Json) -> Self {
        Self { message: message.into(), content: None, metadata: Some(metadata) }
    }
}

/// New content, new metadata, or both.
#[derive(JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
#[allow(dead_code, reason = "its variants are the documentation")]
pub(crate) enum Edit {
    /// The content changes.
    Content {
        /// The new content.
        content: Content,
        /// Fields of the metadata to set; null clears one.
        metadata: Option<threadkeep_model::schema::Object>,
    },
    /// Only the metadata changes.
    Metadata {
        /// Fields of the metadata to set; null clears one.
        metadata: threadkeep_model::schema::Object,
    },
}

shaped! {
    EditMessage as Edit, "EditMessage";
}

/// Takes a message out of the conversation; earlier versions still show it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteMessage {
    /// The id of the message.
    #[serde(deserialize_with = "crate::object::parsed")]
    #[schemars(skip)]
    pub message: MessageName,
}

impl DeleteMessage {
    pub(crate) const DECLARATION: Declaration =
        Declaration::delete(("delete-message", "deleteMessage"), "/v1/threads/{thread}/messages/{message}", MESSAGES)
            .about("Removes a message from the conversation; the history keeps it.")
            .gives("Whether there was one.")
            .never(ErrorCode::MessageNotFound)
            .fails(&[ErrorCode::ThreadClosed]);
}

/// Lists the entries of the log.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GetHistory {
    /// The entries after this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Version>,
    /// Number of items in a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
}

impl GetHistory {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("history", "getHistory"), "/v1/threads/{thread}/history", MESSAGES)
            .about("Lists the entries of the log.")
            .gives("A page of entries.")
            .needs(Needs::Public)
            .fails(&[ErrorCode::VersionInFuture]);
}

/// Shows the conversation as a model is given it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GetModelMessages {
    /// As the thread was at this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Version>,
    /// Tokens of the messages, at most. Default: those of the agent's model where the agent is defined, otherwise 100,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 256, max = 10_000_000))]
    pub context_tokens: Option<u64>,
}

impl GetModelMessages {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("model-messages", "getModelMessages"), "/v1/threads/{thread}/model-messages", MESSAGES)
            .about(
                "Shows the conversation as input for a model: the newest messages that fit, after a summary of those before them. Every tool call has one result.",
            )
            .gives("The messages.")
            .needs(Needs::Public)
            .fails(&[ErrorCode::VersionInFuture]);
}

/// `{"deleted": …}`: whether there was something to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// Whether something was deleted.
    pub deleted: bool,
}

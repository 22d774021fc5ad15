//! What a model is given of a thread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{Covered, MessageId, Role, Uuid, Version};

use crate::ErrorCode;
use crate::Memory;
use crate::call::Declaration;
use crate::group::WORK;

/// Shows what a model would be given of a thread now, or was given at a version or by a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GetContext {
    /// As the thread was at this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Version>,
    /// What the last step of this run gave to its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Uuid>,
}

impl GetContext {
    pub(crate) const DECLARATION: Declaration = Declaration::get(
        ("context", "getContext"),
        "/v1/threads/{thread}/context",
        WORK,
    )
    .about(
        "Shows what a model is given of a thread: messages, what was cut, summary, memories, and tokens of each part.",
    )
    .gives("The context.")
    .fails(&[ErrorCode::VersionInFuture, ErrorCode::RunNotFound]);
}

/// What a model is given of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The version of the thread that is read.
    pub version: Version,
    /// The model, where the thread's agent is defined here or the run tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens that fit, the answer aside.
    pub budget: u64,
    /// Whether tokens are estimates.
    pub estimated: bool,
    /// The summary of the messages that were cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ContextSummary>,
    /// The messages that were cut: they are before the first one that is given. They stay in the thread.
    pub cut: u64,
    /// Whether the next request cuts more, and makes a new summary first.
    pub cuts_next: bool,
    /// Memories that fit the last message of the user, the best first.
    pub memories: Vec<Memory>,
    /// The messages, oldest first.
    pub messages: Vec<ContextMessage>,
    /// Tokens of each part.
    pub tokens: ContextTokens,
}

/// A message that a model is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextMessage {
    /// The message of the thread; absent for one that only answers calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MessageId>,
    /// Its index in the default list; absent for silent messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The role of the speaker, as this model sees it.
    pub role: Role,
    /// Tokens of the message.
    pub tokens: u64,
}

/// A summary of the older part of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextSummary {
    /// The messages that it stands for.
    pub covers: Covered,
    /// The summary itself.
    pub text: String,
    /// The model that wrote it; absent if it was picked from the messages without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The version of the thread that brought it; absent if it is not kept yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Tokens of the text.
    pub tokens: u64,
}

/// Tokens of the parts of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextTokens {
    /// The system prompt.
    pub system: u64,
    /// The tools that the model may call.
    pub tools: u64,
    /// The skills that are active.
    pub skills: u64,
    /// The summary of what was cut.
    pub summary: u64,
    /// The memories.
    pub memories: u64,
    /// The messages.
    pub messages: u64,
    /// All parts together.
    pub total: u64,
}

impl ContextTokens {
    /// The same, with the sum of its parts.
    #[must_use]
    pub fn summed(self) -> Self {
        let Self { system, tools, skills, summary, memories, messages, .. } = self;
        Self { total: system + tools + skills + summary + memories + messages, ..self }
    }
}

//! What requests ask for by whoever works on a thread: executions, subagents. The other bodies are in `request`.

use serde::{Deserialize, Serialize};
use threadkeep_engine as engine;
use threadkeep_model::{Attachment, ExecutionStatus, FilePath, ParentCommunication};

use crate::parse::objects;
use crate::{NewMessage, Thread};

/// Begins an execution.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Begin {
    /// How long it may rest between two steps, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1_000, max = 86_400_000)))]
    pub ttl: Option<u64>,
    /// Takes over from one that is still open.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub take_over: bool,
}

/// Goes a step further.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// How long it may rest until the next one, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1_000, max = 86_400_000)))]
    pub ttl: Option<u64>,
    /// Messages to append first.
    #[serde(skip_serializing_if = "Vec::is_empty", default, deserialize_with = "objects")]
    #[cfg_attr(feature = "schema", schemars(length(max = 1_000)))]
    pub messages: Vec<NewMessage>,
}

/// Ends an execution.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct End {
    /// How it ended.
    pub status: ExecutionStatus,
    /// Messages to append first.
    #[serde(skip_serializing_if = "Vec::is_empty", default, deserialize_with = "objects")]
    #[cfg_attr(feature = "schema", schemars(length(max = 1_000)))]
    pub messages: Vec<NewMessage>,
}

/// A thread for a subagent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewSubagent {
    /// The name of the subagent.
    #[cfg_attr(feature = "schema", schemars(length(max = 4_096), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub name: String,
    /// A title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 4_096)))]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = 4_096)))]
    pub description: String,
    /// The agent that works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Whether it stays after its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumable: Option<bool>,
    /// Whether its parent waits for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocking: Option<bool>,
    /// A name for the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 4_096)))]
    pub thread_name: Option<String>,
    /// Shared by the children that one message made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 4_096)))]
    pub spawn_group_id: Option<String>,
    /// Whether it reports by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_communication: Option<ParentCommunication>,
    /// What it is doing at first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 4_096), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub status: Option<String>,
    /// Its first messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "objects")]
    #[cfg_attr(feature = "schema", schemars(length(max = 1_000)))]
    pub messages: Vec<NewMessage>,
    /// Paths of files of this thread. The new one gets them with the last of its messages, as `/attachments/NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 100)))]
    pub attachments: Vec<FilePath>,
}

/// The thread of a new subagent, and what it was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubagentThread {
    /// The thread.
    #[serde(flatten)]
    pub thread: Thread,
    /// The files it was given, in the order in which they were named, by their paths in that thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

impl From<&engine::SubagentThread> for SubagentThread {
    fn from(made: &engine::SubagentThread) -> Self {
        Self { thread: Thread::from(&made.thread), attachments: made.attachments.clone() }
    }
}

/// Something to tell the parent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotifyParent {
    /// What.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub content: String,
    /// Paths of files of this thread. The parent gets them with the message, as `/attachments/NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 100)))]
    pub attachments: Vec<FilePath>,
}

/// What a thread is doing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetStatus {
    /// In its own words.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub status: String,
}

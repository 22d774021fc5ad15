//! Subagents: threads that work for a thread, and how they speak to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{Attachment, FilePath, ParentCommunication};

use crate::append::NewMessage;
use crate::call::Declaration;
use crate::group::WORK;
use crate::object::objects;
use crate::shape::{paged, reads};
use crate::{ErrorCode, Queued, Thread};

paged! {
    /// Lists the subagents of a thread.
    ListSubagents = Declaration::get(("children", "listSubagents"), "/v1/threads/{thread}/children", WORK)
        .about("Lists the subagents of a thread.")
        .gives("All of them; with `limit`, a page.")
        .fails(&[ErrorCode::InvalidCursor]);
}

reads! {
    /// Shows the thread that a subagent works for.
    GetParent = Declaration::get(("parent", "getParent"), "/v1/threads/{thread}/parent", WORK)
        .about("Shows the thread that a subagent works for.")
        .gives("The parent; null if there is none.");
}

/// A new thread for a subagent of this one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewSubagent")]
pub struct Subagent {
    /// The name of the subagent.
    #[schemars(length(max = 4_096), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub name: String,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4_096))]
    pub title: Option<String>,
    /// The task of the subagent.
    #[serde(default)]
    #[schemars(length(max = 4_096))]
    pub description: String,
    /// The agent that works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Whether it stays after its work, and can be spoken to again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumable: Option<bool>,
    /// Whether its parent waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocking: Option<bool>,
    /// A name for the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4_096))]
    pub thread_name: Option<String>,
    /// Shared by the subagents that one message started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4_096))]
    pub spawn_group_id: Option<String>,
    /// Whether it reports to its parent by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_communication: Option<ParentCommunication>,
    /// The first status of the subagent. Default: `created`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4_096), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub status: Option<String>,
    /// The messages it begins with.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "objects")]
    #[schemars(length(max = 1_000))]
    pub messages: Vec<NewMessage>,
    /// Paths of files of this thread. The new one gets them with the last of its messages, as `/attachments/NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub attachments: Vec<FilePath>,
}

impl Subagent {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("subagent", "createSubagent"), "/v1/threads/{thread}/children", WORK)
            .about("Makes a thread for a subagent.")
            .creates("The new thread, and where the files are that it was given.")
            .versioned()
            .fails(&[
                ErrorCode::ThreadClosed,
                ErrorCode::ThreadTerminated,
                ErrorCode::FileNotFound,
                ErrorCode::IsADirectory,
                ErrorCode::QuotaExceeded,
            ])
            .example(r#"{"name":"critic","description":"Finds what is missing"}"#);
}

/// The thread of a new subagent, and the files it was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentThread {
    /// The thread that was made.
    #[serde(flatten)]
    pub thread: Thread,
    /// The files it was given, in the order in which they were named, by their paths in that thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// Queues a silent message for the thread that this one works for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotifyParent {
    /// The text of the message.
    #[schemars(regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub content: String,
    /// Paths of files of this thread. The parent gets them with the message, as `/attachments/NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub attachments: Vec<FilePath>,
}

impl NotifyParent {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("notify-parent", "notifyParent"), "/v1/threads/{thread}/notify-parent", WORK)
            .about("Puts a message in the queue of the thread that a subagent works for.")
            .gives("Whether there was a parent, and the message that waits there.")
            .fails(&[
                ErrorCode::QueueFull,
                ErrorCode::ThreadClosed,
                ErrorCode::ThreadTerminated,
                ErrorCode::FileNotFound,
                ErrorCode::IsADirectory,
                ErrorCode::NotADirectory,
                ErrorCode::QuotaExceeded,
                ErrorCode::ApprovalRequired,
            ])
            .example(r#"{"content":"The draft is ready."}"#);
}

/// The result of a message to the parent: it waits there, or there is no parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Notified {
    /// Whether there was a parent to tell.
    pub notified: bool,
    /// The message that waits there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<Queued>,
}

/// Sets the status of a subagent, in free words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetStatus {
    /// The status, in free words.
    #[schemars(regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub status: String,
}

impl SetStatus {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("status", "setStatus"), "/v1/threads/{thread}/status", WORK)
            .about("Sets the status of a subagent, in free words.")
            .gives("Whether there was a parent to tell.")
            .repeats()
            .fails(&[ErrorCode::ThreadClosed])
            .example(r#"{"status":"reading the draft"}"#);
}

/// The result of a new status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusSet {
    /// Whether there was a parent to tell; nothing changed if not.
    pub set: bool,
}

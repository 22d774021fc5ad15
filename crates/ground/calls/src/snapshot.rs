//! A thread at a moment, as those who observe it see it.

use serde::Serialize;
use threadkeep_model::Version;

use crate::{Message, Thread};

/// A thread with its last message: the thread's own fields, `lastMessage?` and `pendingVersion?`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot<'a> {
    /// The thread without its messages.
    #[serde(flatten)]
    pub thread: Thread,
    /// The version with what is not durable yet, where there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_version: Option<Version>,
    /// Its last message that is durable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_message: Option<Message<'a>>,
}

//! A thread at a moment, as those who observe it see it.

use serde::Serialize;
use threadkeep_engine::Error;
use threadkeep_model::Version;

use crate::{Message, Thread};

/// A thread with its last message: the thread's own fields, `lastMessage?` and `pendingVersion?`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot<'a> {
    /// The thread.
    #[serde(flatten)]
    pub thread: Thread,
    /// The version with what is not durable yet, where there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_version: Option<Version>,
    /// Its last message that is durable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_message: Option<Message<'a>>,
}

impl<'a> Snapshot<'a> {
    /// `snapshot` as the wire shows it.
    ///
    /// # Errors
    /// If the last message's body on disk is damaged.
    pub fn new(snapshot: &'a threadkeep_engine::Snapshot) -> Result<Self, Error> {
        let thread = Thread { message_count: snapshot.message_count, ..Thread::from(&snapshot.thread) };
        let pending_version = Some(snapshot.version).filter(|version| *version > thread.v);
        let last_message = snapshot.last.as_ref().map(Message::new).transpose()?;
        Ok(Self { thread, pending_version, last_message })
    }
}

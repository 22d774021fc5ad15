//! Entries on the wire: of one thread's history, and of the feed over all threads.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use threadkeep_model::{Account, Actor, MessageId, ThreadId, Timestamp, Version};

/// An entry of a thread's history. `data` is the body as the log keeps it, to the letter.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry<'a> {
    /// The thread whose history it is.
    pub thread_id: ThreadId,
    /// Where it stands.
    pub version: Version,
    /// What kind of fact it is, such as `message_appended`.
    pub kind: Cow<'a, str>,
    /// When.
    pub time: Timestamp,
    /// The account that answers for it; visitors are not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// Who did it.
    pub actor: Actor,
    /// What led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The id of the message that it brought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// What the fact says.
    #[schemars(with = "threadkeep_model::Json")]
    pub data: Cow<'a, RawValue>,
}

/// Something that happened in the store, with its place in the feed.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum FeedEntry<'a> {
    /// A thread got an entry.
    Entry {
        /// Its place in the feed.
        cursor: u64,
        /// The entry.
        #[serde(flatten)]
        entry: HistoryEntry<'a>,
    },
    /// A thread came into being, or was deleted.
    #[serde(rename_all = "camelCase")]
    Thread {
        /// Its place in the feed.
        cursor: u64,
        /// The thread.
        thread_id: ThreadId,
        /// `thread_created` or `thread_deleted`.
        kind: &'static str,
        /// When, where that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        time: Option<Timestamp>,
    },
}

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
    /// Its position in the history of the thread.
    pub version: Version,
    /// The kind of the entry, such as `message_appended`.
    pub kind: Cow<'a, str>,
    /// When the entry was committed.
    pub time: Timestamp,
    /// The account that answers for it; visitors are not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// The actor that wrote it.
    pub actor: Actor,
    /// The cause that its writer named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The id of the message that it brought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// The body of the entry.
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
        /// The entry of the thread.
        #[serde(flatten)]
        entry: HistoryEntry<'a>,
    },
    /// A thread came into being, or was deleted.
    #[serde(rename_all = "camelCase")]
    Thread {
        /// Its place in the feed.
        cursor: u64,
        /// The thread that was created or deleted.
        thread_id: ThreadId,
        /// Either `thread_created` or `thread_deleted`.
        kind: &'static str,
        /// When, where that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        time: Option<Timestamp>,
    },
}

//! Entries on the wire: of one thread's history, and of the feed over all threads.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use threadkeep_engine::Error;
use threadkeep_model::{Account, Actor, MessageId, ThreadId, Timestamp, Version};
use threadkeep_store::StoreError;

/// An entry of a thread's history. `data` is the body as the log keeps it, to the letter.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    #[cfg_attr(feature = "schema", schemars(with = "threadkeep_model::Json"))]
    pub data: Cow<'a, RawValue>,
}

impl<'a> HistoryEntry<'a> {
    /// `entry` as the wire shows it.
    ///
    /// # Errors
    /// If the body on disk is damaged.
    pub fn new(entry: &'a threadkeep_engine::HistoryEntry) -> Result<Self, Error> {
        let data: &RawValue = serde_json::from_slice(&entry.json).map_err(|error| {
            let place = format!("entry {} of segment {}", entry.place.position, entry.place.segment);
            StoreError::corrupt(format!("{place}: {error}"))
        })?;
        Ok(Self {
            thread_id: entry.thread,
            version: entry.version,
            kind: entry.kind.as_str().into(),
            time: entry.time,
            account: Some((*entry.account).clone()),
            actor: (*entry.actor).clone(),
            cause: entry.cause.clone(),
            message_id: entry.kind.brings_message().then_some(entry.place),
            data: Cow::Borrowed(data),
        })
    }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use threadkeep_model::{ActorKind, Kind, Position, SegmentId};

    use super::*;

    fn entry(kind: Kind, json: &'static str) -> threadkeep_engine::HistoryEntry {
        threadkeep_engine::HistoryEntry {
            thread: "T-5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("an id"),
            version: Position(2),
            place: MessageId { segment: SegmentId::from_bits(1), position: Position(2) },
            kind,
            time: Timestamp::from_micros(0),
            account: Arc::new(Account::local()),
            actor: Arc::new(Actor { kind: ActorKind::Agent, name: "helper".into() }),
            cause: None,
            format: 1,
            json: json.into(),
        }
    }

    #[test]
    fn an_entry_looks_like_this() {
        let appended = entry(Kind::MessageAppended, r#"{"role":"user","content":"hi"}"#);
        let envelope = concat!(
            r#""threadId":"T-5928a90d-d53b-488f-a829-4e36442142ee","version":2,"kind":"message_appended","#,
            r#""time":"1970-01-01T00:00:00.000000Z","account":"local","actor":{"type":"agent","name":"helper"},"#,
            r#""messageId":"M-00000000000000012","data":{"role":"user","content":"hi"}}"#
        );
        let shown = HistoryEntry::new(&appended).expect("an entry");
        assert_eq!(serde_json::to_string(&shown).expect("json"), format!("{{{envelope}"));
        let fed = FeedEntry::Entry { cursor: 9, entry: shown };
        assert_eq!(serde_json::to_string(&fed).expect("json"), format!(r#"{{"cursor":9,{envelope}"#));
    }

    #[test]
    fn only_entries_that_bring_a_message_carry_its_id() {
        let truncated = entry(Kind::Truncated, r#"{"fromIndex":3}"#);
        let shown = serde_json::to_string(&HistoryEntry::new(&truncated).expect("an entry")).expect("json");
        assert!(!shown.contains("messageId"), "{shown}");
        assert!(shown.ends_with(r#""data":{"fromIndex":3}}"#), "{shown}");
    }
}

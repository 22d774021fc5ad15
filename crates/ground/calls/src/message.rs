//! A message on the wire: the body as the log keeps it, with its envelope.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use threadkeep_model::{
    Actor, Attachment, Damaged, Json, MessageBody, MessageId, MessageName, MessageStatus, Role, Timestamp, Version,
};

/// A message. Content and metadata are the body's, to the letter: borrowed from it, or owned by one that was read.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message<'a> {
    /// The same in every fork. A message that waited in a queue keeps the name it had there.
    pub id: MessageName,
    /// Counts up within a thread; gaps are fine.
    pub number: u64,
    /// Its index: its place in the default list, counted from 0. Pages of that list tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The role it plays.
    pub role: Role,
    /// The name of the speaker or the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'a, str>>,
    /// The content: a string, or typed parts.
    #[schemars(with = "threadkeep_model::Content")]
    pub content: Cow<'a, RawValue>,
    /// Metadata of the writer: a JSON object.
    #[schemars(with = "threadkeep_model::schema::Object")]
    pub metadata: Cow<'a, RawValue>,
    /// Whether lists hide it.
    pub silent: bool,
    /// How far below the conversation it hangs.
    pub depth: u8,
    /// The message it hangs under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<MessageId>,
    /// Whether it is whole.
    pub status: MessageStatus,
    /// The actor that wrote it.
    pub actor: Actor,
    /// When it entered the log.
    pub created_at: Timestamp,
    /// The thread's version at which it got its present form.
    pub version: Version,
    /// Files that belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// The body as the log keeps it, read as far as the envelope needs it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    role: Role,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: &'a RawValue,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(default)]
    silent: bool,
    #[serde(default)]
    depth: u8,
    #[serde(default)]
    parent_id: Option<MessageId>,
    #[serde(default)]
    status: MessageStatus,
    #[serde(default)]
    attachments: Vec<Attachment>,
}

impl<'a> Message<'a> {
    /// `message` as the wire shows it, where its body is at hand and need not be read again.
    pub fn with_body(message: &'a threadkeep_model::Message, body: &'a MessageBody) -> Self {
        let metadata = body.metadata.as_ref().map_or(no_metadata(), Json::as_raw);
        Self {
            id: message.name(),
            number: message.number,
            index: None,
            role: body.role,
            name: body.name.as_deref().map(Cow::Borrowed),
            content: Cow::Borrowed(body.content.as_json().as_raw()),
            metadata: Cow::Borrowed(metadata),
            silent: body.silent,
            depth: body.depth,
            parent_id: body.parent_id,
            status: body.status,
            actor: (*message.actor).clone(),
            created_at: message.created,
            version: message.version,
            attachments: body.attachments.clone(),
        }
    }

    /// `message` as the wire shows it.
    ///
    /// # Errors
    /// If the body on disk is damaged.
    pub fn new(message: &'a threadkeep_model::Message) -> Result<Self, Damaged> {
        let damaged = |error: serde_json::Error| Damaged { id: message.id, what: error.to_string() };
        let body: Body<'a> = serde_json::from_slice(&message.json).map_err(damaged)?;
        let metadata = body.metadata.unwrap_or(no_metadata());
        Ok(Self {
            id: message.name(),
            number: message.number,
            index: None,
            role: body.role,
            name: body.name,
            content: Cow::Borrowed(body.content),
            metadata: Cow::Borrowed(metadata),
            silent: body.silent,
            depth: body.depth,
            parent_id: body.parent_id,
            status: body.status,
            actor: (*message.actor).clone(),
            created_at: message.created,
            version: message.version,
            attachments: body.attachments,
        })
    }
}

fn no_metadata() -> &'static RawValue {
    serde_json::from_str("{}").expect("an empty object is JSON")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use threadkeep_model::{ActorKind, Position, SegmentId};

    use super::*;

    fn message(json: &'static str) -> threadkeep_model::Message {
        threadkeep_model::Message {
            id: MessageId { segment: SegmentId::from_bits(1), position: Position(26) },
            queued: None,
            number: 26,
            json: json.into(),
            actor: Arc::new(Actor { kind: ActorKind::Human, name: "local".into() }),
            created: Timestamp::from_micros(0),
            version: Position(26),
        }
    }

    #[test]
    fn a_plain_message_looks_like_this() {
        let stored = message(r#"{"role":"user","content":"hi"}"#);
        let shown = serde_json::to_string(&Message::new(&stored).expect("a message")).expect("json");
        assert_eq!(
            shown,
            concat!(
                r#"{"id":"M-00000000000000011a","number":26,"role":"user","content":"hi","metadata":{},"silent":false,"#,
                r#""depth":0,"status":"completed","actor":{"type":"human","name":"local"},"#,
                r#""createdAt":"1970-01-01T00:00:00.000000Z","version":26}"#
            )
        );
        let read: Message<'_> = serde_json::from_str(&shown).expect("a message");
        assert_eq!(read.content.get(), r#""hi""#);
    }

    #[test]
    fn content_and_metadata_pass_through_to_the_letter() {
        let parts =
            r#"[{"text":"a","type":"text"},{"type":"tool_use","id":"1","name":"f","input":{"z":1.0,"a":1e400}}]"#;
        let metadata = r#"{"n": 12345678901234567890123, "b":[ ]}"#;
        let json = format!(r#"{{"role":"tool","name":"é","content":{parts},"metadata":{metadata},"depth":2}}"#);
        let stored = message(json.leak());
        let shown = Message::new(&stored).expect("a message");
        assert_eq!((shown.content.get(), shown.metadata.get()), (parts, metadata));
        let shown = serde_json::to_string(&shown).expect("json");
        assert!(shown.contains(parts) && shown.contains(metadata), "{shown}");
    }

    #[test]
    fn a_damaged_body_is_told_apart_from_an_empty_one() {
        assert!(Message::new(&message(r#"{"role":"user"}"#)).is_err());
        assert!(Message::new(&message("")).is_err());
    }
}

//! What requests ask for: bodies, each field checked, unknown ones refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use threadkeep_model::{
    Attachment, Content, FieldChanges, Invalid, Json, MessageBody, MessageName, MessageStatus, Role, Timestamp, Version,
};

use crate::parse::{object as an_object, objects, wrong};

/// A new thread: fields of its record by their names on the wire, and its first messages.
#[derive(Debug, Clone, Default)]
pub struct CreateThread {
    /// The fields.
    pub fields: FieldChanges,
    /// The messages.
    pub messages: Vec<NewMessage>,
}

impl Serialize for CreateThread {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.fields.0 {
            map.serialize_entry(name, value)?;
        }
        if !self.messages.is_empty() {
            map.serialize_entry("messages", &self.messages)?;
        }
        map.end()
    }
}

impl CreateThread {
    /// Reads it from a body; an empty one is a thread without anything.
    ///
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let mut fields = fields(text)?;
        let messages = match fields.remove("messages") {
            Some(messages) => read::<Messages>("messages", &messages)?.0,
            None => Vec::new(),
        };
        Ok(Self { fields: FieldChanges(fields).checked()?, messages })
    }
}

/// A list of messages, each an object.
#[derive(Deserialize)]
#[serde(transparent)]
struct Messages(#[serde(deserialize_with = "objects")] Vec<NewMessage>);

/// Fields of a record to replace; null clears one.
///
/// # Errors
/// Names the field and the rule it breaks.
pub fn parse_update(text: &str) -> Result<FieldChanges, Invalid> {
    FieldChanges(fields(text)?).checked()
}

fn fields(text: &str) -> Result<BTreeMap<String, Json>, Invalid> {
    if text.trim().is_empty() {
        return Ok(BTreeMap::new());
    }
    let json = Json::parse("body", text)?;
    object(&json)?.read().map_err(|error| Invalid::body("body", error.to_string()))
}

/// Refuses what is no object: what reads structs would take an array for one, field by field.
fn object(json: &Json) -> Result<&Json, Invalid> {
    if json.is_object() { Ok(json) } else { Err(Invalid::body("body", "must be a JSON object")) }
}

fn read<T: serde::de::DeserializeOwned>(field: &str, json: &Json) -> Result<T, Invalid> {
    json.read().map_err(|error| wrong(field, &error))
}

/// A message to add.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewMessage {
    /// The role it plays.
    pub role: Role,
    /// The name of the speaker or the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it says: a string, or typed parts.
    pub content: Content,
    /// Free-form JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<threadkeep_model::schema::Object>"))]
    pub metadata: Option<Json>,
    /// Hidden from lists by default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
    /// How far below the conversation it hangs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub depth: u8,
    /// The message it hangs under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<threadkeep_model::MessageId>,
    /// Whether it is whole.
    #[serde(default, skip_serializing_if = "is_default")]
    pub status: MessageStatus,
    /// Files that belong to it, by what is in the store already.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "objects")]
    pub attachments: Vec<Attachment>,
    /// Where it shall stand; at the end if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "an_object")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub position: Option<Place>,
}

/// Where a message shall stand.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Place {
    /// Before this message.
    pub before: MessageName,
}

/// Whether nothing has to be said about it.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl From<MessageBody> for NewMessage {
    fn from(body: MessageBody) -> Self {
        let MessageBody { role, name, content, metadata, silent, depth, parent_id, status, attachments } = body;
        Self { role, name, content, metadata, silent, depth, parent_id, status, attachments, position: None }
    }
}

impl NewMessage {
    /// The message, and where it shall stand.
    pub fn into_parts(self) -> (MessageBody, Option<Place>) {
        let Self { role, name, content, metadata, silent, depth, parent_id, status, attachments, position } = self;
        (MessageBody { role, name, content, metadata, silent, depth, parent_id, status, attachments }, position)
    }
}

/// One message, or several as one atomic batch.
#[derive(Debug, Clone)]
pub enum NewMessages {
    /// One.
    One(Box<NewMessage>),
    /// `{"messages": […]}`
    Batch(Vec<NewMessage>),
}

impl Serialize for NewMessages {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        match self {
            Self::One(message) => message.serialize(serializer),
            Self::Batch(messages) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("messages", messages)?;
                map.end()
            }
        }
    }
}

impl NewMessages {
    /// Reads it from a body.
    ///
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Batch {
            #[serde(deserialize_with = "objects")]
            messages: Vec<NewMessage>,
        }
        /// Whether there are several. Nothing is copied for it.
        #[derive(Deserialize)]
        struct Looked {
            #[serde(default, deserialize_with = "is_there")]
            messages: bool,
        }
        fn is_there<'de, D: serde::Deserializer<'de>>(field: D) -> Result<bool, D::Error> {
            serde::de::IgnoredAny::deserialize(field).map(|_| true)
        }
        let json = Json::parse("body", text)?;
        object(&json)?;
        if json.read::<Looked>().is_ok_and(|looked| looked.messages) {
            return Ok(Self::Batch(read::<Batch>("messages", &json)?.messages));
        }
        Ok(Self::One(Box::new(read("body", &json)?)))
    }
}

/// New content or metadata for a message.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditMessage {
    /// New content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Fields of the metadata to set; null clears one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

/// An event that is not a message.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewEvent {
    /// `tool_use`, `assistant_text` or `result`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it carries.
    pub data: Json,
}

/// From where on to drop messages.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Truncate {
    /// From this index on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_index: Option<u64>,
    /// From this message on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_message_id: Option<MessageName>,
}

/// Where to fork.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Fork {
    /// After the message with this index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_index: Option<u64>,
    /// After this message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageName>,
    /// As the thread was at this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// A title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A new thread that goes on from a summary.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Handoff {
    /// What it is for.
    #[cfg_attr(feature = "schema", schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub goal: String,
    /// What it should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub summary: Option<String>,
    /// A description of the relation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub comment: Option<String>,
    /// Whose thread it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub agent_id: Option<String>,
}

/// Another thread is named.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mention {
    /// Which one.
    #[cfg_attr(feature = "schema", schemars(with = "threadkeep_model::ThreadName"))]
    pub target: String,
    /// A description of the relation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// Where to go back to.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rollback {
    /// To the version with this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// To just after this step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepName>,
    /// To how it was at this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
    /// To this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// One file only, to what it was at a version.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "an_object")]
    pub artifact_version: Option<crate::ArtifactVersion>,
    /// To before the last rollback or truncation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
}

/// A step: a message of the assistant, by its index or its id.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum StepName {
    /// By its index, counted from 0.
    Index(u64),
    /// By its id.
    Message(MessageName),
}

/// A name for the present version.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetCheckpoint {
    /// The name.
    #[cfg_attr(feature = "schema", schemars(length(max = 255), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub name: String,
}

/// Takes the lease of a thread's writer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TakeWriter {
    /// How long it lasts, in milliseconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 100, max = 86_400_000)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// Who holds it, in words for others.
    #[cfg_attr(feature = "schema", schemars(length(max = 255), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
}

/// Renews the lease of a thread's writer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RenewWriter {
    /// How long it lasts from now on, in milliseconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 100, max = 86_400_000)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// Who holds it; a renewal does not change that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
}

/// Hands the thread to another agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Assign {
    /// The agent.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub agent_id: String,
}

/// Gives the thread to another account.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeOwner {
    /// The account that owns it from now on.
    #[cfg_attr(feature = "schema", schemars(length(max = 255), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub account: String,
}

/// Reads a body of any of these kinds; an empty one is an empty object.
///
/// # Errors
/// Names what is wrong, and where.
pub fn parse_body<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Invalid> {
    let json = Json::parse("body", if text.trim().is_empty() { "{}" } else { text })?;
    read("body", object(&json)?)
}

/// An event for whoever listens, which is not logged.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Emit {
    /// Its name.
    #[cfg_attr(feature = "schema", schemars(length(max = 100), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub event: String,
    /// What it carries.
    pub data: Json,
}

/// What a garbage collection may do.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RunGc {
    /// Give the space back to the file system too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub vacuum: bool,
}

/// What the doctor may do.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RunDoctor {
    /// Build anew from the log what is derived and wrong.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub repair: bool,
}

/// A project to make, or what it says of itself from now on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PutProject {
    /// Its id; it gets one if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 255), regex(pattern = "^[^/\\x00]+$")))]
    pub id: Option<String>,
    /// A name for people.
    #[cfg_attr(feature = "schema", schemars(length(max = 1_024), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub name: String,
    /// The name of an icon.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 1_024)))]
    pub icon_name: Option<String>,
    /// The sandbox that its threads work in.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "an_object")]
    pub sandbox: Option<threadkeep_engine::Sandbox>,
}

/// A body that says nothing: empty, or `{}`.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_no_object_although_its_items_would_fit() {
        assert!(parse_body::<TakeWriter>(r#"{"ttl":1000,"holder":"a"}"#).is_ok());
        let refused = |refused: Invalid| refused.rule.split(" at line").next().unwrap_or_default().to_owned();
        assert_eq!(refused(parse_body::<TakeWriter>(r#"[1000,"a"]"#).expect_err("an array")), "must be a JSON object");
        let said = r#"["user",null,"hi",null,false,0,null,"completed",[],null]"#;
        assert!(NewMessages::parse(said).is_err());
        let batch = format!(r#"{{"messages":[{said}]}}"#);
        assert_eq!(refused(NewMessages::parse(&batch).expect_err("an array")), "is not a JSON object");
        assert!(CreateThread::parse(&batch).is_err() && parse_body::<crate::Step>(&batch).is_err());
        assert!(CreateThread::parse(r#"{"messages":[{"role":"user","content":"hi"}]}"#).is_ok());
        assert!(parse_body::<PutProject>(r#"{"name":"p","sandbox":["s",null]}"#).is_err());
        let placed =
            |position: &str| NewMessages::parse(&format!(r#"{{"role":"user","content":"a","position":{position}}}"#));
        assert!(placed("null").is_ok() && placed(r#"{"before":"M-00000000000000011"}"#).is_ok());
        assert!(placed(r#"["M-00000000000000011"]"#).is_err());
    }

    #[test]
    fn a_field_of_a_message_in_a_list_is_named() {
        let odd = r#"{"messages":[{"role":"user","content":"hi","colour":"red"}]}"#;
        assert_eq!(NewMessages::parse(odd).expect_err("refused").field, "colour");
        assert_eq!(CreateThread::parse(odd).expect_err("refused").field, "colour");
    }
}

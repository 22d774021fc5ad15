//! New messages, with the bytes of their files, and the call that appends them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use threadkeep_model::{
    Attachment, BlobId, Content, Invalid, Json, MessageBody, MessageId, MessageName, MessageStatus, Role,
};

use crate::call::Declaration;
use crate::group::MESSAGES;
use crate::object::{Object, object, objects};
use crate::{ErrorCode, ScheduleEffect, asked};

/// A message to add, with the bytes of new files.
///
/// Written down, it is the message as it will be kept: each file is an attachment, by the hash of its bytes. The bytes
/// themselves are stored by the library, where they are at hand.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// Role, content and metadata of the message.
    pub body: MessageBody,
    /// Files to store with it. They join the attachments of the message.
    pub files: Vec<NewAttachment>,
}

/// A file to store with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAttachment {
    /// The file name of the attachment.
    pub name: String,
    /// The media type of the attachment.
    pub mime_type: String,
    /// The content of the attachment.
    pub bytes: Vec<u8>,
}

impl From<MessageBody> for NewMessage {
    fn from(body: MessageBody) -> Self {
        Self { body, files: Vec::new() }
    }
}

impl NewMessage {
    /// The same message with one more file.
    #[must_use]
    pub fn attach(mut self, name: &str, mime_type: &str, bytes: impl Into<Vec<u8>>) -> Self {
        let (name, mime_type) = (name.to_owned(), mime_type.to_owned());
        self.files.push(NewAttachment { name, mime_type, bytes: bytes.into() });
        self
    }

    /// The message as it will be kept.
    fn kept(&self) -> MessageBody {
        let mut body = self.body.clone();
        body.attachments.extend(self.files.iter().map(NewAttachment::kept));
        body
    }
}

impl NewAttachment {
    /// The file as the message names it.
    pub fn kept(&self) -> Attachment {
        let (name, mime_type) = (self.name.clone(), self.mime_type.clone());
        Attachment { id: BlobId::of(&self.bytes), name, mime_type, size: self.bytes.len() as u64, path: None }
    }
}

impl Serialize for NewMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.files.is_empty() { self.body.serialize(serializer) } else { self.kept().serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for NewMessage {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Object(body) = Object::<MessageBody>::deserialize(from)?;
        Ok(body.into())
    }
}

impl JsonSchema for NewMessage {
    fn schema_name() -> Cow<'static, str> {
        "NewMessage".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        MessageBody::json_schema(generator)
    }
}

/// Appends messages: all of them, in order, or none. A single one may be placed before another.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Append {
    /// The messages, in order.
    pub messages: Vec<NewMessage>,
    /// The message before which a single one is placed; at the end without it.
    pub before: Option<MessageName>,
    /// Whether the answer is a single message, and not a list.
    pub single: bool,
    /// Effects to schedule in the same commit.
    pub effects: Vec<ScheduleEffect>,
}

impl Append {
    pub(crate) const DECLARATION: Declaration = Declaration::post(
        ("append", "appendMessages"),
        "/v1/threads/{thread}/messages",
        MESSAGES,
    )
    .about(
        "Appends a message, or several in one commit. `position` inserts a single one before another, and `effects` \
                 are scheduled in the same commit.",
    )
    .creates("The message; the messages, if there was a list of them.")
    .versioned()
    .fails(&[
        ErrorCode::ThreadClosed,
        ErrorCode::ThreadTerminated,
        ErrorCode::InvalidMessageId,
        ErrorCode::MessageNotFound,
        ErrorCode::EffectNotFound,
        ErrorCode::EffectsFull,
    ])
    .example(r#"{"role":"user","content":"Hello"}"#);

    /// Several messages, in order.
    pub fn batch<T: Into<NewMessage>>(messages: impl IntoIterator<Item = T>) -> Self {
        let messages = messages.into_iter().map(Into::into).collect();
        Self { messages, ..Self::default() }
    }

    /// One message, placed before another.
    pub fn before(message: impl Into<NewMessage>, before: impl Into<MessageName>) -> Self {
        Self { messages: vec![message.into()], before: Some(before.into()), single: true, effects: Vec::new() }
    }

    /// The same, with one more effect, scheduled in the same commit.
    #[must_use]
    pub fn scheduling(mut self, effect: ScheduleEffect) -> Self {
        self.effects.push(effect);
        self
    }
}

impl<T: Into<NewMessage>> From<T> for Append {
    fn from(message: T) -> Self {
        Self { messages: vec![message.into()], single: true, ..Self::default() }
    }
}

/// Where a message is placed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Place {
    /// The message before which it is inserted.
    before: MessageName,
}

/// Either the fields of one message, or `messages`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AppendShape {
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "some_objects")]
    messages: Option<Vec<NewMessage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    silent: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<MessageId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<MessageStatus>,
    #[serde(skip_serializing_if = "Vec::is_empty", default, deserialize_with = "objects")]
    attachments: Vec<Attachment>,
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "object")]
    position: Option<Place>,
    #[serde(skip_serializing_if = "Vec::is_empty", default, deserialize_with = "objects")]
    effects: Vec<ScheduleEffect>,
}

fn some_objects<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<NewMessage>>, D::Error> {
    objects(from).map(Some)
}

impl Serialize for Append {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut shape = AppendShape {
            messages: None,
            role: None,
            name: None,
            content: None,
            metadata: None,
            silent: None,
            depth: None,
            parent_id: None,
            status: None,
            attachments: Vec::new(),
            position: self.before.map(|before| Place { before }),
            effects: self.effects.clone(),
        };
        match &self.messages[..] {
            [message] if self.single => {
                let MessageBody { role, name, content, metadata, silent, depth, parent_id, status, attachments } =
                    message.kept();
                shape.role = Some(role);
                shape.content = Some(content);
                shape.silent = silent.then_some(silent);
                shape.depth = Some(depth).filter(|depth| *depth != 0);
                shape.status = Some(status).filter(|status| *status != MessageStatus::default());
                (shape.name, shape.metadata, shape.parent_id, shape.attachments) =
                    (name, metadata, parent_id, attachments);
            }
            messages => shape.messages = Some(messages.to_vec()),
        }
        shape.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Append {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Object(shape) = Object::<AppendShape>::deserialize(from)?;
        Self::try_from(shape).map_err(|invalid| asked::refuse(&invalid))
    }
}

impl TryFrom<AppendShape> for Append {
    type Error = Invalid;

    fn try_from(shape: AppendShape) -> Result<Self, Invalid> {
        let AppendShape {
            messages,
            role,
            name,
            content,
            metadata,
            silent,
            depth,
            parent_id,
            status,
            attachments,
            position,
            effects,
        } = shape;
        if let Some(messages) = messages {
            if role.is_some() || content.is_some() {
                return Err(Invalid::body("messages", "excludes the fields of a single message"));
            }
            if position.is_some() {
                return Err(Invalid::body("position", "goes with a single message, not with a list"));
            }
            return Ok(Self { effects, ..Self::batch(messages) });
        }
        let missing = |field: &str| Invalid::body(field, format!("missing field `{field}`"));
        let body = MessageBody {
            role: role.ok_or_else(|| missing("role"))?,
            name,
            content: content.ok_or_else(|| missing("content"))?,
            metadata,
            silent: silent.unwrap_or_default(),
            depth: depth.unwrap_or_default(),
            parent_id,
            status: status.unwrap_or_default(),
            attachments,
        };
        let before = position.map(|place| place.before);
        Ok(Self { messages: vec![body.into()], before, single: true, effects })
    }
}

/// Several messages, added as one.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "its fields are the documentation")]
struct Batch {
    /// The messages, in order.
    #[schemars(length(min = 1, max = 1_000))]
    messages: Vec<NewMessage>,
    /// Effects to schedule in the same commit.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    effects: Vec<ScheduleEffect>,
}

/// A message to add, at the end or before another.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "PlacedMessage")]
#[allow(dead_code, reason = "its fields are the documentation")]
struct Placed {
    #[serde(flatten)]
    message: MessageBody,
    /// Where it is placed; at the end by default.
    position: Option<Place>,
    /// Effects to schedule in the same commit.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    effects: Vec<ScheduleEffect>,
}

/// One message, or several.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "its variants are the documentation")]
enum OneOrMore {
    /// One message, as an object.
    One(Placed),
    /// Several messages, as one batch.
    Batch(Batch),
}

impl JsonSchema for Append {
    fn schema_name() -> Cow<'static, str> {
        "NewMessages".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        OneOrMore::json_schema(generator)
    }
}

/// The result of an append: one message, or a list of messages.
#[derive(Debug, Clone)]
pub struct Appended {
    /// The messages that were appended.
    pub messages: Vec<crate::Message<'static>>,
    /// Whether it is told as a single message.
    pub single: bool,
}

impl Serialize for Appended {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Several<'a> {
            messages: &'a [crate::Message<'static>],
        }
        match &self.messages[..] {
            [message] if self.single => message.serialize(serializer),
            messages => Several { messages }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Appended {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Several {
            messages: Vec<crate::Message<'static>>,
        }
        let raw = Box::<serde_json::value::RawValue>::deserialize(from)?;
        let wrong = <D::Error as serde::de::Error>::custom;
        if let Ok(Several { messages }) = serde_json::from_str(raw.get()) {
            return Ok(Self { messages, single: false });
        }
        let message = serde_json::from_str(raw.get()).map_err(wrong)?;
        Ok(Self { messages: vec![message], single: true })
    }
}

impl JsonSchema for Appended {
    fn schema_name() -> Cow<'static, str> {
        "Appended".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        /// The messages that a batch added.
        #[derive(JsonSchema)]
        #[schemars(rename = "AppendedMessages")]
        #[allow(dead_code, reason = "its fields are the documentation")]
        struct AppendedMessages {
            /// The messages that were appended.
            messages: Vec<crate::Message<'static>>,
        }
        /// The two shapes of the answer.
        #[derive(JsonSchema)]
        #[serde(untagged)]
        #[allow(dead_code, reason = "its variants are the documentation")]
        enum Shape {
            /// One message, as an object.
            One(crate::Message<'static>),
            /// The messages of a batch.
            Batch(AppendedMessages),
        }
        Shape::json_schema(generator)
    }
}

//! Messages: append, read, edit, delete; events; the history.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use threadkeep_model::{
    Attachment, BlobId, Content, Event, EventKind, Invalid, Json, MessageBody, MessageId, MessageName, MessageStatus,
    Role, ThreadName, Version,
};

use crate::call::{Declaration, Needs};
use crate::group::MESSAGES;
use crate::object::{Object, flag, object, objects, some_thread};
use crate::shape::{shaped, words};
use crate::{ErrorCode, asked};

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
}

impl Append {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("append", "appendMessages"), "/v1/threads/{thread}/messages", MESSAGES)
            .about("Adds a message, or several as one; a single one may be put before another by `position`.")
            .creates("The message; the messages, if there was a list of them.")
            .versioned()
            .fails(&[ErrorCode::ThreadClosed, ErrorCode::InvalidMessageId, ErrorCode::MessageNotFound])
            .example(r#"{"role":"user","content":"Hello"}"#);

    /// Several messages, in order.
    pub fn batch<T: Into<NewMessage>>(messages: impl IntoIterator<Item = T>) -> Self {
        Self { messages: messages.into_iter().map(Into::into).collect(), before: None, single: false }
    }

    /// One message, placed before another.
    pub fn before(message: impl Into<NewMessage>, before: impl Into<MessageName>) -> Self {
        Self { messages: vec![message.into()], before: Some(before.into()), single: true }
    }
}

impl<T: Into<NewMessage>> From<T> for Append {
    fn from(message: T) -> Self {
        Self { messages: vec![message.into()], before: None, single: true }
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
        } = shape;
        if let Some(messages) = messages {
            if role.is_some() || content.is_some() {
                return Err(Invalid::body("messages", "excludes the fields of a single message"));
            }
            if position.is_some() {
                return Err(Invalid::body("position", "goes with a single message, not with a list"));
            }
            return Ok(Self::batch(messages));
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
        Ok(Self { messages: vec![body.into()], before, single: true })
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

/// Reads a page of messages.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListMessages {
    /// Number of items in a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
    /// The cursor of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Number of messages to skip. It excludes a cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The oldest first, or the newest. Default: asc.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Messages of this role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Messages at most this far below the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u8>,
    /// Whether silent messages are included.
    #[serde(skip_serializing_if = "std::ops::Not::not", deserialize_with = "flag")]
    pub include_silent: bool,
    /// As the thread was at this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Version>,
    /// A thread of the reader, which mentions this one by reading it. It needs a key that may write.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_thread")]
    pub from: Option<ThreadName>,
    /// Whether to tell the total. Default: true, wherever it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<bool>,
}

/// In which order messages are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The oldest message first.
    #[default]
    Ascending,
    /// The newest message first.
    Descending,
}

words! {
    Order in "order": "asc" = Ascending, "desc" = Descending;
}

impl ListMessages {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("messages", "listMessages"), "/v1/threads/{thread}/messages", MESSAGES)
            .about("Lists the messages of a thread, now or as it was at a version.")
            .writes_with("from")
            .gives("A page of messages.")
            .versioned()
            .needs(Needs::Public)
            .fails(&[ErrorCode::InvalidCursor, ErrorCode::VersionInFuture, ErrorCode::InvalidBody]);
}

/// Shows one message by its id.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetMessage {
    /// The id of the message.
    #[serde(deserialize_with = "crate::object::parsed")]
    #[schemars(skip)]
    pub message: MessageName,
}

impl GetMessage {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("message", "getMessage"), "/v1/threads/{thread}/messages/{message}", MESSAGES)
            .about("Shows a message.")
            .gives("The message.")
            .needs(Needs::Public);
}

/// New content or metadata for a message: a logged change, so that earlier versions still show what was.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditMessage {
    /// The id of the message.
    #[serde(deserialize_with = "crate::object::parsed")]
    pub message: MessageName,
    /// The new content; without it, the content stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Fields of the metadata to set; null clears one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

impl EditMessage {
    pub(crate) const DECLARATION: Declaration =
        Declaration::patch(("edit", "editMessage"), "/v1/threads/{thread}/messages/{message}", MESSAGES)
            .about("Gives a message new content, new metadata, or both.")
            .gives("The message as it is now.")
            .versioned()
            .repeats()
            .fails(&[ErrorCode::ThreadClosed])
            .example(r#"{"content":"Hello again","metadata":{"edited":true}}"#);

    /// Replaces the content of a message.
    pub fn content(message: impl Into<MessageName>, content: Content) -> Self {
        Self { message: message.into(), content: Some(content), metadata: None }
    }

    /// Fields to merge into the metadata.
    pub fn metadata(message: impl Into<MessageName>, metadata: Json) -> Self {
        Self { message: message.into(), content: None, metadata: Some(metadata) }
    }
}

/// New content, new metadata, or both.
#[derive(JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
#[allow(dead_code, reason = "its variants are the documentation")]
pub(crate) enum Edit {
    /// The content changes.
    Content {
        /// The new content.
        content: Content,
        /// Fields of the metadata to set; null clears one.
        metadata: Option<threadkeep_model::schema::Object>,
    },
    /// Only the metadata changes.
    Metadata {
        /// Fields of the metadata to set; null clears one.
        metadata: threadkeep_model::schema::Object,
    },
}

shaped! {
    EditMessage as Edit, "EditMessage";
    AppendEvent as EventShape, "NewEvent";
}

/// Takes a message out of the conversation; earlier versions still show it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteMessage {
    /// The id of the message.
    #[serde(deserialize_with = "crate::object::parsed")]
    #[schemars(skip)]
    pub message: MessageName,
}

impl DeleteMessage {
    pub(crate) const DECLARATION: Declaration =
        Declaration::delete(("delete-message", "deleteMessage"), "/v1/threads/{thread}/messages/{message}", MESSAGES)
            .about("Takes a message out of the conversation; the history keeps it.")
            .gives("Whether there was one.")
            .never(ErrorCode::MessageNotFound)
            .fails(&[ErrorCode::ThreadClosed]);
}

/// Lists the entries of the log.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GetHistory {
    /// The entries after this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Version>,
    /// Number of items in a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
}

impl GetHistory {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("history", "getHistory"), "/v1/threads/{thread}/history", MESSAGES)
            .about("Lists the entries of the log, each a fact that holds for good.")
            .gives("A page of entries.")
            .needs(Needs::Public);
}

/// Shows the conversation as a model is given it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GetModelMessages {
    /// As the thread was at this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Version>,
}

impl GetModelMessages {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("model-messages", "getModelMessages"), "/v1/threads/{thread}/model-messages", MESSAGES)
            .about("Shows the conversation as a model is given it: every call of a tool with one result.")
            .gives("The messages.")
            .needs(Needs::Public)
            .fails(&[ErrorCode::VersionInFuture]);
}

/// Logs an event: a message, a use of a tool, a fragment of what the assistant says, a result.
#[derive(Debug, Clone)]
pub enum AppendEvent {
    /// Something a user or an assistant said.
    Message(SaidMessage),
    /// An event that is not a message.
    Event(Event),
}

/// Something a user or an assistant said.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaidMessage {
    /// The role of the speaker.
    pub role: Role,
    /// The content of the message.
    pub content: Content,
}

impl AppendEvent {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("append-event", "appendEvent"), "/v1/threads/{thread}/events", MESSAGES)
            .about("Logs an event: a message, a use of a tool, a fragment of what the assistant says, a result.")
            .creates("Where it was logged.")
            .versioned()
            .fails(&[ErrorCode::ThreadClosed])
            .example(r#"{"type":"tool_use","data":{"name":"search","input":{"q":"Rome"}}}"#);
}

impl From<Event> for AppendEvent {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

/// An event as its kind and its data.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedEvent {
    #[serde(rename = "type")]
    kind: Cow<'static, str>,
    data: Json,
}

impl Serialize for AppendEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shape = match self {
            Self::Message(said) => {
                let data = Json::from_value("data", said).map_err(serde::ser::Error::custom)?;
                TypedEvent { kind: "message".into(), data }
            }
            Self::Event(Event { kind, data }) => {
                let kind = match kind {
                    EventKind::ToolUse => "tool_use",
                    EventKind::AssistantText => "assistant_text",
                    EventKind::Result => "result",
                };
                TypedEvent { kind: kind.into(), data: data.clone() }
            }
        };
        shape.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AppendEvent {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let TypedEvent { kind, data } = TypedEvent::deserialize(from)?;
        let read = || -> Result<Self, Invalid> {
            if kind != "message" {
                return Ok(Self::Event(Event { kind: kind.parse()?, data: data.clone() }));
            }
            let said: SaidMessage = asked::read_object(data.as_str())?;
            match said.role {
                Role::User | Role::Assistant => Ok(Self::Message(said)),
                other @ (Role::Info | Role::Tool | Role::System) => {
                    let rule = format!("'{other}' is not a role of messages here: user or assistant");
                    Err(Invalid::body("role", rule))
                }
            }
        };
        read().map_err(|invalid| asked::refuse(&invalid))
    }
}

/// An event to log.
#[derive(JsonSchema)]
#[serde(tag = "type", content = "data", rename_all = "snake_case", deny_unknown_fields)]
#[allow(dead_code, reason = "its variants are the documentation")]
enum EventShape {
    /// Something a user or an assistant said.
    Message(Said),
    /// A tool was called.
    ToolUse(threadkeep_model::schema::Object),
    /// A fragment of what the assistant said.
    AssistantText(threadkeep_model::schema::Object),
    /// How a piece of work ended.
    Result(threadkeep_model::schema::Object),
}

/// Something a user or an assistant said.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "its fields are the documentation")]
struct Said {
    /// The role of the speaker.
    role: Speaker,
    /// The content of the message.
    content: Content,
}

/// Who speaks in an event.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code, reason = "its variants are the documentation")]
enum Speaker {
    /// A user speaks.
    User,
    /// An assistant speaks.
    Assistant,
}

/// Lists messages and other events.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListEvents {
    /// The events after this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Version>,
    /// Number of items in a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
}

impl ListEvents {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("events", "listEvents"), "/v1/threads/{thread}/events", MESSAGES)
            .about("Lists messages and other events in the order of the log.")
            .gives("A page of events.")
            .needs(Needs::Public);
}

/// `{"version": …}`: where something was logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Logged {
    /// The version of the thread after it.
    pub version: Version,
}

/// `{"deleted": …}`: whether there was something to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// Whether something was deleted.
    pub deleted: bool,
}

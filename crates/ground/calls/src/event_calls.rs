//! Events beside messages: logged and listed.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use threadkeep_model::{Content, Event, EventKind, Invalid, Json, Role, Version};

use crate::call::{Declaration, Needs};
use crate::group::MESSAGES;
use crate::shape::shaped;
use crate::{ErrorCode, asked};

/// Logs an event: a message, a tool call, a fragment of an answer, or a result.
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
            .about("Logs an event: a message, a tool call, a fragment of an answer, or a result.")
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
            .needs(Needs::Public)
            .fails(&[ErrorCode::VersionInFuture]);
}

/// `{"version": …}`: where something was logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Logged {
    /// The version of the thread after it.
    pub version: Version,
}

shaped! {
    AppendEvent as EventShape, "NewEvent";
}

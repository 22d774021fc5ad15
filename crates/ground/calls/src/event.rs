//! Events on the wire, as the Threads contract has them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use threadkeep_model::{Event, EventKind, Timestamp, Version};

use crate::Message;

/// A message or another event: `{type, version, createdAt, data}`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedEvent {
    /// `message`, `tool_use`, `assistant_text` or `result`.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// Its version in the log.
    pub version: Version,
    /// When it was logged.
    pub created_at: Timestamp,
    /// A whole message, or what the event carries.
    #[schemars(with = "threadkeep_model::Json")]
    pub data: Box<RawValue>,
}

impl LoggedEvent {
    /// A message as an event.
    pub fn message(version: Version, message: &Message<'_>) -> Self {
        Self { kind: "message".into(), version, created_at: message.created_at, data: raw(message) }
    }

    /// An event that is not a message.
    pub fn event(version: Version, created: Timestamp, event: &Event) -> Self {
        let kind = match event.kind {
            EventKind::ToolUse => "tool_use",
            EventKind::AssistantText => "assistant_text",
            EventKind::Result => "result",
        };
        Self { kind: kind.into(), version, created_at: created, data: raw(&event.data) }
    }
}

fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("what is told has text keys and plain values")
}

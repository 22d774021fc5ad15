//! Events of the Threads contract that are not messages: logged, never indexed.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Invalid, Json};

/// The kinds of events beside messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A tool was called.
    ToolUse,
    /// A fragment of what the assistant said.
    AssistantText,
    /// How a piece of work ended.
    Result,
}

impl FromStr for EventKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "tool_use" => Ok(Self::ToolUse),
            "assistant_text" => Ok(Self::AssistantText),
            "result" => Ok(Self::Result),
            other => Err(Invalid::body(
                "type",
                format!("'{other}' is not an event type: message, tool_use, assistant_text or result"),
            )),
        }
    }
}

/// An event that is not a message: its kind, and free JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// What kind of event it is.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// What it carries, a JSON object.
    pub data: Json,
}

impl Event {
    /// Checks what its type does not already prove.
    ///
    /// # Errors
    /// If the data is not an object.
    pub fn checked(self) -> Result<Self, Invalid> {
        if !self.data.is_object() {
            return Err(Invalid::body("data", "must be a JSON object"));
        }
        Ok(self)
    }
}

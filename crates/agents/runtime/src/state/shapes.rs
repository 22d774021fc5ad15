//! The shapes of ThreadState: times in microseconds since 1970, one text for a message, its calls beside it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use threadkeep_calls::ToolStatus;
use threadkeep_model::{
    Attachment, Content, FilePath, Invalid, Json, MessageBody, MessageStatus, Part, Role, Timestamp,
};

/// A message, as ThreadState shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Message {
    /// Its id, which a queued message keeps when it is delivered.
    pub id: String,
    /// System, user, assistant or tool. Messages of the role `info` read as system.
    pub role: Role,
    /// The text; none if it has none.
    pub content: Option<String>,
    /// The name of the speaker or the tool.
    pub name: Option<String>,
    /// The call that it answers.
    pub tool_call_id: Option<String>,
    /// The calls that it makes.
    pub tool_calls: Option<Vec<ToolCall>>,
    /// When it was made, in microseconds since 1970.
    pub created_at: i64,
    /// The message that it hangs under.
    pub parent_id: Option<String>,
    /// How far below the conversation it hangs.
    pub depth: u8,
    /// Hidden from lists, still sent to the model.
    pub silent: bool,
    /// Metadata of the writer.
    pub metadata: Map<String, Value>,
    /// `pending` while it is queued or streaming.
    pub status: MessageStatus,
    /// Whether the call that it answers succeeded.
    pub tool_status: Option<ToolStatus>,
    /// Files that belong to it.
    pub attachments: Vec<Attachment>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id, which the result repeats.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as JSON text.
    pub arguments: String,
}

/// A message to inject or to queue.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageInput {
    /// The role of the message.
    pub role: Role,
    /// The text.
    pub content: Option<String>,
    /// The name of the speaker or the tool.
    pub name: Option<String>,
    /// The call that it answers.
    pub tool_call_id: Option<String>,
    /// The calls that it makes.
    pub tool_calls: Vec<ToolCall>,
    /// Whether the call that it answers failed.
    pub tool_status: Option<ToolStatus>,
    /// The message that it hangs under.
    pub parent_id: Option<String>,
    /// How far below the conversation it hangs.
    pub depth: u8,
    /// Hidden from lists, still sent to the model.
    pub silent: bool,
    /// Metadata of the writer.
    pub metadata: Map<String, Value>,
    /// Whether it is whole.
    pub status: MessageStatus,
    /// Files of the thread that belong to it, by their paths.
    pub attachments: Vec<FilePath>,
}

impl MessageInput {
    /// A message of `role` that says `content`.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self {
            role,
            content: Some(content.into()),
            name: None,
            tool_call_id: None,
            tool_calls: Vec::new(),
            tool_status: None,
            parent_id: None,
            depth: 0,
            silent: false,
            metadata: Map::new(),
            status: MessageStatus::Completed,
            attachments: Vec::new(),
        }
    }

    /// A message of the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(Role::User, content)
    }

    /// The body of the message, without its attachments.
    pub(super) fn body(self) -> Result<MessageBody, Invalid> {
        let text = self.content.unwrap_or_default();
        let mut parts = Vec::new();
        if !self.tool_calls.is_empty() {
            if !text.is_empty() {
                parts.push(Part::Text { text: text.clone() });
            }
            for ToolCall { id, name, arguments } in self.tool_calls {
                let text = if arguments.is_empty() { "{}" } else { &arguments };
                let input = serde_json::from_str(text);
                let input = input.map_err(|_| Invalid::body("tool_calls", "the arguments of a call are JSON text"))?;
                parts.push(Part::ToolUse { id, name, input });
            }
        } else if let Some(tool_use_id) = self.tool_call_id {
            let is_error = self.tool_status == Some(ToolStatus::Error);
            parts.push(Part::ToolResult { tool_use_id, content: Value::String(text.clone()), is_error });
        }
        let content = if parts.is_empty() { Content::text(&text) } else { Content::parts(&parts)? };
        let mut body = MessageBody::with_content(self.role, content);
        (body.name, body.silent, body.depth, body.status) = (self.name, self.silent, self.depth, self.status);
        body.parent_id = self.parent_id.map(|id| id.parse()).transpose()?;
        if !self.metadata.is_empty() {
            body.metadata = Some(Json::from_value("metadata", &self.metadata)?);
        }
        Ok(body)
    }
}

impl Message {
    pub(super) fn of(id: String, body: &MessageBody, created: Timestamp) -> Self {
        let (mut texts, mut calls, mut result) = (Vec::new(), Vec::new(), None);
        for part in body.content.to_parts() {
            match part {
                Part::Text { text } => texts.push(text),
                Part::ToolUse { id, name, input } => calls.push(ToolCall { id, name, arguments: input.to_string() }),
                Part::ToolResult { tool_use_id, content, is_error } => {
                    result.get_or_insert((tool_use_id, content, is_error));
                }
                Part::Image { .. } | Part::File { .. } | Part::Thinking { .. } => {}
            }
        }
        let said = match &result {
            Some((_, Value::String(text), _)) => Some(text.clone()),
            Some((_, content, _)) => Some(content.to_string()),
            None => (!texts.is_empty()).then(|| texts.join("\n")),
        };
        let status = |is_error| if is_error { ToolStatus::Error } else { ToolStatus::Success };
        Self {
            id,
            role: if body.role == Role::Info { Role::System } else { body.role },
            content: said,
            name: body.name.clone(),
            tool_status: result.as_ref().map(|(_, _, is_error)| status(*is_error)),
            tool_call_id: result.map(|(id, ..)| id),
            tool_calls: (!calls.is_empty()).then_some(calls),
            created_at: created.as_micros(),
            parent_id: body.parent_id.map(|id| id.to_string()),
            depth: body.depth,
            silent: body.silent,
            metadata: body.metadata.as_ref().and_then(|json| json.to_value().as_object().cloned()).unwrap_or_default(),
            status: body.status,
            attachments: body.attachments.clone(),
        }
    }
}

/// Content with another text. Calls and other parts stay; of a result, its content is replaced.
pub(super) fn with_text(content: &Content, text: &str) -> Result<Content, Invalid> {
    let mut parts = content.to_parts();
    if parts.iter().all(|part| matches!(part, Part::Text { .. })) {
        return Ok(Content::text(text));
    }
    let at = parts.iter().position(|part| matches!(part, Part::Text { .. } | Part::ToolResult { .. }));
    match at.map(|at| &mut parts[at]) {
        Some(Part::ToolResult { content, .. }) => *content = json!(text),
        Some(part) => *part = Part::Text { text: text.to_owned() },
        None => parts.insert(0, Part::Text { text: text.to_owned() }),
    }
    // Several texts are shown as one, so one takes their place.
    let (mut at_part, at) = (0, at.unwrap_or(0));
    parts.retain(|part| {
        at_part += 1;
        at_part - 1 == at || !matches!(part, Part::Text { .. })
    });
    Content::parts(&parts)
}

/// Which messages are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetMessages {
    /// Number of messages: 100 unless given.
    pub limit: usize,
    /// Messages that are passed over.
    pub offset: usize,
    /// Without it: the newest `limit` messages, the oldest of them first.
    pub order: Option<Order>,
    /// Whether silent messages are included.
    pub include_silent: bool,
    /// How deep messages may hang; 0 is the conversation itself.
    pub max_depth: u8,
}

impl Default for GetMessages {
    fn default() -> Self {
        Self { limit: 100, offset: 0, order: None, include_silent: false, max_depth: 0 }
    }
}

/// The order of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The oldest message comes first.
    Ascending,
    /// The newest first.
    Descending,
}

/// A list of messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Messages {
    /// The messages of this page.
    pub messages: Vec<Message>,
    /// Number of messages that the options select, without limit and offset.
    pub total: u64,
    /// Whether there are more after these.
    pub has_more: bool,
}

/// New content or metadata of a message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessageUpdates {
    /// The new text; without it, the text stays.
    pub content: Option<String>,
    /// Fields of the metadata to set; the others stay.
    pub metadata: Map<String, Value>,
}

/// An effect that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduledEffect {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The arguments that its handler gets.
    pub args: Value,
    /// When it is due, in microseconds since 1970.
    pub scheduled_at: i64,
    /// When it was scheduled, in microseconds since 1970.
    pub created_at: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_text_takes_the_place_of_all_texts_and_other_parts_stay() {
        let call = Part::ToolUse { id: "c".into(), name: "t".into(), input: json!({}) };
        let text = |text: &str| Part::Text { text: text.into() };
        let renewed =
            |parts: &[Part]| with_text(&Content::parts(parts).expect("content"), "new").expect("content").to_parts();
        assert_eq!(renewed(&[text("a"), text("b")]), [text("new")]);
        assert_eq!(renewed(&[call.clone(), text("a"), text("b")]), [call.clone(), text("new")]);
        assert_eq!(renewed(std::slice::from_ref(&call)), [text("new"), call]);
        let result =
            |content: &str| Part::ToolResult { tool_use_id: "c".into(), content: content.into(), is_error: false };
        assert_eq!(renewed(&[result("old")]), [result("new")]);
    }
}

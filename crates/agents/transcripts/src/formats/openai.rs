//! Messages of OpenAI's chat API.

use serde_json::{Map, Value, json};

use super::{Lost, active, address, result_text};
use crate::shape::{Message, Part, Role, Session};

pub(super) fn write(session: &Session, lost: &mut Lost) -> String {
    let mut messages = Vec::new();
    for message in active(session, lost) {
        add(&mut messages, message, lost);
    }
    format!("{}\n", json!({ "messages": messages }))
}

fn add(to: &mut Vec<Value>, message: &Message, lost: &mut Lost) {
    let (mut content, mut calls) = (Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            Part::Text(text) => content.push(json!({ "type": "text", "text": text })),
            Part::Thinking(_) => lost.add("parts of reasoning"),
            Part::ToolCall { id, name, input } => {
                // Arguments are JSON in a string.
                let function = json!({ "name": name, "arguments": input.to_string() });
                calls.push(json!({ "id": id, "type": "function", "function": function }));
            }
            Part::ToolResult { call, parts, is_error } => {
                if *is_error {
                    lost.add("marks of failed calls");
                }
                let content = result_text(parts, lost);
                to.push(json!({ "role": "tool", "tool_call_id": call, "content": content }));
            }
            Part::File(file) if file.mime.as_deref().is_some_and(|mime| mime.starts_with("image/")) => {
                content.push(json!({ "type": "image_url", "image_url": { "url": address(file) } }));
            }
            Part::File(_) => lost.add("files that are not images"),
            Part::Raw(_) => lost.add("raw parts"),
        }
    }
    if content.is_empty() && calls.is_empty() {
        return;
    }
    let role = match message.role {
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    };
    let mut fields = Map::new();
    fields.insert("role".to_owned(), role.into());
    let only_text = match content.as_slice() {
        [one] => one.get("text").cloned(),
        [] => Some(Value::Null),
        _ => None,
    };
    fields.insert("content".to_owned(), only_text.unwrap_or(Value::Array(content)));
    if !calls.is_empty() {
        fields.insert("tool_calls".to_owned(), calls.into());
    }
    to.push(Value::Object(fields));
}

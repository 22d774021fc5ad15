//! The neutral shape: one line about the session, then one for each message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::shape::{FileData, Message, OriginKind, Part, Session, Usage};

pub(super) fn write(session: &Session) -> String {
    let origin = session.origin.as_ref().map(|origin| {
        let kind = match origin.kind {
            OriginKind::Subagent => "subagent",
            OriginKind::Fork => "fork",
        };
        json!({ "kind": kind, "session": origin.session, "message": origin.message, "call": origin.call })
    });
    let head = json!({
        "type": "session", "source": session.source.as_str(), "id": session.id, "title": session.title,
        "folder": session.folder, "gitBranch": session.git_branch, "created": session.created, "updated": session.updated,
        "tags": session.tags, "origin": origin, "active": session.active, "aliases": session.aliases,
        "usage": session.usage.map(usage), "raw": session.raw, "records": session.records,
    });
    let mut text = line(head);
    for message in &session.messages {
        text.push_str(&line(written(message)));
    }
    text
}

/// One line, without fields that say nothing.
fn line(mut value: Value) -> String {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::Array(list) => !list.is_empty(),
            Value::Object(map) => !map.is_empty(),
            Value::Bool(true) | Value::Number(_) | Value::String(_) => true,
        });
    }
    format!("{value}\n")
}

fn usage(usage: Usage) -> Value {
    json!({ "input": usage.input, "output": usage.output, "cacheRead": usage.cache_read, "cacheWrite": usage.cache_write })
}

fn written(message: &Message) -> Value {
    let compaction = message.compaction.as_ref().map(|mark| {
        json!({ "summary": mark.summary, "firstKept": mark.first_kept, "tokensBefore": mark.tokens_before, "trigger": mark.trigger })
    });
    let subagents: Vec<Value> =
        message.subagents.iter().map(|it| json!({ "session": it.session, "call": it.call })).collect();
    json!({
        "type": "message", "id": message.id, "parent": message.parent, "role": message.role.as_str(), "time": message.time,
        "model": message.model, "provider": message.provider, "parts": message.parts.iter().map(part).collect::<Vec<_>>(),
        "usage": message.usage.map(usage), "scaffolding": message.scaffolding, "outOfContext": message.out_of_context,
        "compaction": compaction, "subagents": subagents, "raw": message.raw,
    })
}

fn part(it: &Part) -> Value {
    match it {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Thinking(thinking) => json!({
            "type": "thinking", "text": thinking.text, "signature": thinking.signature, "sealed": thinking.sealed,
            "provider": thinking.provider,
        }),
        Part::ToolCall { id, name, input } => json!({ "type": "tool_use", "id": id, "name": name, "input": input }),
        Part::ToolResult { call, parts, is_error } => json!({
            "type": "tool_result", "toolUseId": call, "isError": is_error, "content": parts.iter().map(part).collect::<Vec<_>>(),
        }),
        Part::File(file) => {
            let (name, value) = match &file.data {
                FileData::Bytes(bytes) => ("data", STANDARD.encode(bytes)),
                FileData::Link(link) => ("link", link.clone()),
            };
            json!({ "type": "file", "name": file.name, "mimeType": file.mime, name: value })
        }
        Part::Raw(raw) => json!({ "type": "raw", "raw": raw }),
    }
}

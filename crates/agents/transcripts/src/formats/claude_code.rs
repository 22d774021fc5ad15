//! A session file of Claude Code. The reader of this crate gives the same tree.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use threadkeep_model::BlobId;

use super::Lost;
use crate::shape::{FileData, Message, Part, Role, Session};

pub(super) fn write(session: &Session, lost: &mut Lost) -> String {
    let mut text = String::new();
    let mut line = |value: Value| {
        text.push_str(&value.to_string());
        text.push('\n');
    };
    let id = uuid(session, "");
    let name = |message: &str| uuid(session, alias(session, message));
    for message in &session.messages {
        let parent = message.parent.as_deref().map(name);
        line(record(session, message, &id, parent, lost));
    }
    if let Some(title) = &session.title {
        line(json!({ "type": "custom-title", "customTitle": title, "sessionId": id }));
    }
    if let Some(active) = &session.active {
        line(json!({ "type": "last-prompt", "leafUuid": name(active), "explicit": true, "sessionId": id }));
    }
    lost.many("records that belong to no message", session.records.len());
    text
}

fn alias<'a>(session: &'a Session, name: &'a str) -> &'a str {
    let found = session.aliases.iter().find(|(from, _)| from == name);
    found.map_or(name, |(_, to)| to)
}

/// The name of a message, or of the session, as a UUID. Names that are UUIDs stay.
fn uuid(session: &Session, message: &str) -> String {
    let name = if message.is_empty() { session.id.as_str() } else { message };
    let is_uuid = name.len() == 36
        && name.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    if is_uuid {
        return name.to_owned();
    }
    let hash = BlobId::of(format!("{}\n{}\n{message}", session.source, session.id).as_bytes());
    let mut digits = String::with_capacity(36);
    for (at, byte) in hash.as_bytes().iter().take(16).enumerate() {
        // The version and the variant of a UUID that is made from a name.
        let byte = match at {
            6 => (byte & 0x0f) | 0x80,
            8 => (byte & 0x3f) | 0x80,
            _ => *byte,
        };
        if [4, 6, 8, 10].contains(&at) {
            digits.push('-');
        }
        digits.push_str(&format!("{byte:02x}"));
    }
    digits
}

fn record(session: &Session, message: &Message, id: &str, parent: Option<String>, lost: &mut Lost) -> Value {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    let boundary = message.compaction.as_ref().filter(|mark| !mark.summary);
    let kind = match message.role {
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
        Role::System if message.compaction.as_ref().is_some_and(|mark| mark.summary) => "user",
        Role::System => "system",
    };
    set("type", kind.into());
    set("uuid", uuid(session, &message.id).into());
    match (boundary, parent) {
        (Some(_), parent) => {
            set("parentUuid", Value::Null);
            set("logicalParentUuid", parent.into());
        }
        (None, parent) => {
            set("parentUuid", parent.into());
        }
    }
    set("sessionId", id.into());
    set("isSidechain", false.into());
    set("userType", "external".into());
    set("cwd", session.folder.clone().into());
    set("gitBranch", session.git_branch.clone().into());
    set("timestamp", message.time.map(|time| time.to_string()).into());
    let content: Vec<Value> = message.parts.iter().filter_map(|part| block(part, lost)).collect();
    if message.compaction.as_ref().is_some_and(|mark| mark.summary) {
        set("isCompactSummary", true.into());
    } else if message.scaffolding && kind == "user" {
        set("isMeta", true.into());
    }
    match kind {
        "assistant" => {
            let usage = message.usage.map(|usage| {
                json!({ "input_tokens": usage.input, "output_tokens": usage.output, "cache_read_input_tokens": usage.cache_read, "cache_creation_input_tokens": usage.cache_write })
            });
            let model = if message.scaffolding { Some("<synthetic>".to_owned()) } else { message.model.clone() };
            let name = format!("msg_{}", uuid(session, &message.id));
            set(
                "message",
                json!({ "id": name, "type": "message", "role": "assistant", "model": model, "content": content, "usage": usage }),
            );
        }
        "system" => {
            set("subtype", if boundary.is_some() { "compact_boundary" } else { "informational" }.into());
            let mark = boundary.map(|mark| json!({ "trigger": mark.trigger, "preTokens": mark.tokens_before }));
            set("compactMetadata", mark.into());
            set("content", crate::blocks::text_of(&message.parts).into());
        }
        _ => {
            set("message", json!({ "role": "user", "content": content }));
        }
    }
    lost.many("raw fields of messages", message.raw.len());
    fields.retain(|name, value| !value.is_null() || name == "parentUuid");
    Value::Object(fields)
}

fn block(part: &Part, lost: &mut Lost) -> Option<Value> {
    Some(match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Thinking(thinking) => match (&thinking.sealed, &thinking.provider) {
            (Some(sealed), Some(provider)) if provider == "anthropic" => {
                json!({ "type": "redacted_thinking", "data": sealed })
            }
            (Some(_), _) => {
                lost.add("sealed reasoning of other providers");
                return None;
            }
            (None, provider) => {
                let ours = thinking.signature.clone().filter(|_| provider.as_deref() == Some("anthropic"));
                if thinking.signature.is_some() && ours.is_none() {
                    lost.add("signatures of other providers");
                }
                json!({ "type": "thinking", "thinking": thinking.text, "signature": ours.unwrap_or_default() })
            }
        },
        Part::ToolCall { id, name, input } => json!({ "type": "tool_use", "id": id, "name": name, "input": input }),
        Part::ToolResult { call, parts, is_error } => {
            let content: Vec<Value> = parts.iter().filter_map(|part| block(part, lost)).collect();
            json!({ "type": "tool_result", "tool_use_id": call, "content": content, "is_error": is_error })
        }
        Part::File(file) => match &file.data {
            FileData::Bytes(bytes) => {
                let mime = file.mime.as_deref().unwrap_or("application/octet-stream");
                let kind = if mime.starts_with("image/") { "image" } else { "document" };
                json!({ "type": kind, "title": file.name, "source": { "type": "base64", "media_type": mime, "data": STANDARD.encode(bytes) } })
            }
            FileData::Link(link) => {
                json!({ "type": "image", "title": file.name, "source": { "type": "url", "url": link } })
            }
        },
        Part::Raw(raw) if raw.get("type").is_some() => raw.clone(),
        Part::Raw(_) => {
            lost.add("raw parts");
            return None;
        }
    })
}

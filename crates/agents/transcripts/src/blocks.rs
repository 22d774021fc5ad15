//! Content blocks in the style of Anthropic's API, which Claude Code, Cline, Amp, goose and pi have in common, and the
//! text of messages.

use serde_json::Value;

use crate::fields::{Fields, as_text, file_at, file_of};
use crate::shape::{File, FileData, Part, Role, Session, Thinking};

/// Most characters of a title that is taken from a prompt.
const TITLE_CHARS_MAX: usize = 80;

/// Content: a string, or a list of blocks.
pub(crate) fn parts(content: Value, provider: Option<&str>) -> Vec<Part> {
    match content {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![Part::Text(text)],
        Value::Array(blocks) => {
            let mut parts = Vec::with_capacity(blocks.len());
            blocks.into_iter().for_each(|block| push(&mut parts, block, provider));
            parts
        }
        other => {
            let mut parts = Vec::new();
            push(&mut parts, other, provider);
            parts
        }
    }
}

/// Adds one block. A block of an unknown kind stays as it is; fields without a place follow as a raw part.
fn push(parts: &mut Vec<Part>, block: Value, provider: Option<&str>) {
    let block = match block {
        Value::String(text) => return parts.push(Part::Text(text)),
        Value::Object(block) => Fields(block),
        other => return parts.push(Part::Raw(other)),
    };
    let has = |name: &str| block.peek(name).is_some();
    let source = |name: &str| block.0.get("source").is_some_and(|it| it.get(name).is_some_and(Value::is_string));
    let is_known = match block.peek("type") {
        Some("text") => has("text"),
        Some("thinking") => has("thinking"),
        Some("redacted_thinking" | "redactedThinking") => has("data"),
        Some("tool_use" | "toolCall") => has("id") && has("name"),
        Some("tool_result") => has("tool_use_id"),
        Some("image" | "document") => has("data") || source("data") || source("url"),
        _ => false,
    };
    if !is_known {
        return parts.push(Part::Raw(Value::Object(block.0)));
    }
    let (part, kind, mut rest) = known(block, provider);
    parts.push(part);
    rest.forget(&["cache_control"]);
    if rest.is("complete") {
        rest.forget(&["complete"]);
    }
    let rest = rest.left();
    if !rest.is_empty() {
        let kind = std::iter::once(("type".to_owned(), Value::String(kind)));
        parts.push(Part::Raw(Value::Object(kind.chain(rest).collect())));
    }
}

fn known(mut block: Fields, provider: Option<&str>) -> (Part, String, Fields) {
    let kind = block.text("type").unwrap_or_default();
    let provider = block.text("provider").or_else(|| provider.map(str::to_owned));
    let part = match kind.as_str() {
        "thinking" => {
            let signature = ["signature", "thinkingSignature"].iter().find_map(|name| block.text(name));
            let signature = signature.filter(|signature| !signature.is_empty());
            let provider = provider.filter(|_| signature.is_some());
            let text = block.text("thinking").unwrap_or_default();
            Part::Thinking(Thinking { text, signature, sealed: None, provider })
        }
        "redacted_thinking" | "redactedThinking" => {
            let sealed = block.text("data");
            Part::Thinking(Thinking { text: String::new(), signature: None, sealed, provider })
        }
        "tool_use" | "toolCall" => Part::ToolCall {
            id: block.text("id").unwrap_or_default(),
            name: block.text("name").unwrap_or_default(),
            input: block.value("input").or_else(|| block.value("arguments")).unwrap_or(Value::Null),
        },
        "tool_result" => Part::ToolResult {
            call: block.text("tool_use_id").unwrap_or_default(),
            parts: parts(block.value("content").unwrap_or(Value::Null), None),
            is_error: block.flag("is_error"),
        },
        "image" | "document" => {
            let name = ["title", "name", "sourcePath"].iter().find_map(|name| block.text(name));
            match block.object("source") {
                Some(mut source) => {
                    let mime = ["media_type", "mediaType"].iter().find_map(|name| source.text(name));
                    let is_text = source.text("type").is_some_and(|kind| kind == "text");
                    let part = match (source.text("data"), source.text("url")) {
                        (Some(data), _) if is_text => {
                            Part::File(File { name, mime, data: FileData::Bytes(data.into_bytes()) })
                        }
                        (Some(data), _) => file_of(data, mime, name),
                        (None, url) => file_at(url.unwrap_or_default(), mime, name),
                    };
                    block.put_back("source", source);
                    part
                }
                None => {
                    let data = block.text("data").unwrap_or_default();
                    file_of(data, block.text("mimeType"), name)
                }
            }
        }
        _ => Part::Text(block.text("text").unwrap_or_default()),
    };
    (part, kind, block)
}

/// The text of parts, one a line.
pub(crate) fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Thinking(_) | Part::ToolCall { .. } | Part::ToolResult { .. } | Part::File(_) | Part::Raw(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The value of a result as parts: text, blocks, or other JSON as text.
pub(crate) fn result_parts(value: Value) -> Vec<Part> {
    match value {
        Value::Array(list) if list.iter().all(|it| it.get("type").is_some()) => parts(Value::Array(list), None),
        Value::Null => Vec::new(),
        other => vec![Part::Text(as_text(other))],
    }
}

/// The beginning of the first prompt that a person wrote.
pub(crate) fn first_prompt(session: &Session) -> Option<String> {
    let prompts = session.messages.iter().filter(|message| message.role == Role::User && !message.scaffolding);
    let text = prompts.map(|message| text_of(&message.parts)).find(|text| !text.trim().is_empty())?;
    let line = text.trim().lines().next()?.trim();
    Some(line.chars().take(TITLE_CHARS_MAX).collect())
}

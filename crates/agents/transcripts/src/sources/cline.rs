//! Cline: arrays of messages in the style of Anthropic's API, bare or in the object of its SDK.

use serde_json::Value;

use crate::blocks::{first_prompt, parts, text_of};
use crate::fields::{Fields, Unit, usage};
use crate::lines::value;
use crate::reading::{Reading, Refused, Skipped, Window};
use crate::shape::{Compaction, File, FileData, Message, Part, Role, Session, Source};

/// Reads `api_conversation_history.json`, or a messages file of the SDK. The first has no id: name it with its folder,
/// `TASK/api_conversation_history.json`.
///
/// # Errors
/// If it holds no list of messages.
pub fn read_object(window: &Window<'_>) -> Result<Reading, Refused> {
    let refused = || Refused::new("this is not a list of messages of Cline");
    let (list, mut fields) = match value(window.bytes) {
        Some(Value::Array(list)) => (list, Fields::default()),
        Some(Value::Object(map)) => {
            let mut fields = Fields(map);
            (fields.list("messages").ok_or_else(refused)?, fields)
        }
        _ => return Err(refused()),
    };
    let id = fields.text("sessionId").unwrap_or_else(|| task(window).to_owned());
    let mut session = Session::new(Source::Cline, id);
    session.updated = fields.time("updated_at", Unit::Millis);
    session.tags.extend(fields.text("agent"));
    session.folder = fields.text("cwd");
    session.raw = fields.left();
    let mut skipped = Skipped::default();
    for (at, item) in list.into_iter().enumerate() {
        let Some(item) = Fields::of(item) else {
            skipped.add(format_args!("messages[{at}]"), "not a JSON object");
            continue;
        };
        let message = message((at + 1).to_string(), item);
        session.spans(message.time);
        session.follow(message);
    }
    session.title = first_prompt(&session);
    session.settle();
    Ok(Reading { sessions: vec![session], skipped, ..Reading::default() })
}

fn task<'a>(window: &Window<'a>) -> &'a str {
    let mut pieces = window.name.rsplit(['/', '\\']);
    let file = pieces.next().unwrap_or_default();
    match pieces.next() {
        Some(folder) if file == "api_conversation_history.json" => folder,
        _ => window.stem(),
    }
}

fn message(key: String, mut fields: Fields) -> Message {
    let role = match fields.text("role").as_deref() {
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => Role::User,
    };
    let mut message = Message::new(fields.id("id").unwrap_or(key), role);
    message.time = fields.time("ts", Unit::Millis);
    if let Some(mut model) = fields.object("modelInfo") {
        message.model = model.text("modelId").or_else(|| model.text("id"));
        message.provider = model.text("providerId").or_else(|| model.text("provider"));
        fields.put_back("modelInfo", model);
    }
    if let Some(mut metrics) = fields.object("metrics") {
        let mut tokens = metrics.object("tokens");
        let counts = tokens.as_mut().unwrap_or(&mut metrics);
        message.usage = usage(counts, ["prompt", "completion", "cached", ""])
            .or_else(|| usage(counts, ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"]));
        if let Some(tokens) = tokens {
            metrics.put_back("tokens", tokens);
        }
        fields.put_back("metrics", metrics);
    }
    if let Some(mut metadata) = fields.object("metadata") {
        if metadata.peek("kind") == Some("compaction") {
            metadata.forget(&["kind"]);
            let before = metadata.0.get("usageBefore").and_then(|usage| usage.get("inputTokens")?.as_u64());
            let trigger = metadata.text("reason");
            message.compaction = Some(Compaction { summary: true, first_kept: None, tokens_before: before, trigger });
        }
        fields.put_back("metadata", metadata);
    }
    let provider = message.provider.clone();
    let content = parts(fields.value("content").unwrap_or(Value::Null), provider.as_deref());
    message.parts = content.into_iter().map(file).map(answered).collect();
    message.settle_role();
    let text = text_of(&message.parts);
    message.scaffolding = role == Role::System || is_scaffolding(&text);
    message.raw = fields.left();
    message
}

/// A file of the SDK: its content is text.
fn file(part: Part) -> Part {
    let Part::Raw(raw) = part else { return part };
    let text = |name: &str| raw.get(name).and_then(Value::as_str).map(str::to_owned);
    match (text("type").as_deref(), text("path"), text("content")) {
        (Some("file"), Some(path), Some(content)) => Part::File(File {
            name: Some(path),
            mime: Some("text/plain".to_owned()),
            data: FileData::Bytes(content.into_bytes()),
        }),
        _ => Part::Raw(raw),
    }
}

/// A result whose content is a list of `{query, result, success}`: its text is shown, and the rest is kept.
fn answered(part: Part) -> Part {
    let Part::ToolResult { call, parts, is_error } = part else { return part };
    let each = |part: Part| match part {
        Part::Raw(Value::Object(map)) if !map.contains_key("type") => {
            let mut fields = Fields(map);
            let text = fields.text("result").filter(|text| !text.is_empty()).map(Part::Text);
            let rest = fields.left();
            let rest = (!rest.is_empty()).then_some(Part::Raw(Value::Object(rest)));
            text.into_iter().chain(rest).collect()
        }
        other => vec![other],
    };
    Part::ToolResult { call, parts: parts.into_iter().flat_map(each).collect(), is_error }
}

fn is_scaffolding(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("<environment_details>") && text.ends_with("</environment_details>")
}

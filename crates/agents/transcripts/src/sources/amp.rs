//! Amp: the JSON of `amp threads export`. Messages follow each other.
//!
//! [`from_amp`](crate::from_amp) takes a thread over exactly, with its version; this reader gives it in the neutral shape.

use serde_json::Value;

use crate::blocks::{parts, result_parts};
use crate::fields::{Fields, Unit, as_text, usage};
use crate::lines::value;
use crate::reading::{Reading, Refused, Skipped, Window};
use crate::shape::{Compaction, Message, Origin, OriginKind, Part, Role, Session, Source};

/// Reads a file with one thread, or an array of them.
///
/// # Errors
/// If it holds no thread.
pub fn read_object(window: &Window<'_>) -> Result<Reading, Refused> {
    let list = match value(window.bytes) {
        Some(Value::Array(list)) => list,
        Some(object @ Value::Object(_)) => vec![object],
        _ => return Err(Refused::new("this is neither a thread of Amp nor an array of them")),
    };
    let mut reading = Reading::default();
    for (at, item) in list.into_iter().enumerate() {
        match Fields::of(item).filter(|item| item.0.get("messages").is_some_and(Value::is_array)) {
            Some(item) => {
                let session = thread(window.stem(), item, &mut reading.skipped);
                reading.sessions.push(session);
            }
            None => reading.skipped.add(format_args!("thread {at}"), "not an object with messages"),
        }
    }
    Ok(reading)
}

fn thread(name: &str, mut fields: Fields, skipped: &mut Skipped) -> Session {
    let mut session = Session::new(Source::Amp, fields.text("id").unwrap_or_else(|| name.to_owned()));
    session.created = fields.time("created", Unit::Millis);
    session.title = fields.text("title").filter(|title| !title.is_empty());
    if fields.flag("archived") {
        session.tags.push("archived".to_owned());
    }
    let initial = fields.0.get("env").and_then(|env| env.get("initial"));
    let tree = initial.and_then(|initial| initial.get("trees")?.get(0));
    let uri = tree.and_then(|tree| tree.get("uri")?.as_str());
    session.folder = uri.map(|uri| uri.strip_prefix("file://").unwrap_or(uri).to_owned());
    let branch = tree.and_then(|tree| tree.get("repository")?.get("ref")?.as_str());
    session.git_branch = branch.map(|branch| branch.strip_prefix("refs/heads/").unwrap_or(branch).to_owned());
    let tags = initial.and_then(|initial| initial.get("tags")?.as_array()).into_iter().flatten();
    session.tags.extend(tags.filter_map(|tag| tag.as_str().map(str::to_owned)));
    let list = fields.list("messages").unwrap_or_default();
    let origin = |kind, session| Origin { kind, session, message: None, call: None };
    session.origin = match (fields.text("mainThreadID"), fields.peek("originThreadID")) {
        (Some(main), _) => Some(origin(OriginKind::Subagent, main)),
        (None, Some(from)) => Some(origin(OriginKind::Fork, from.to_owned())),
        (None, None) => None,
    };
    // The fork point is the place of a message in the list, which is the same here.
    if let Some(origin) = session.origin.as_mut().filter(|origin| origin.kind == OriginKind::Fork) {
        let point = fields.0.get("forkPointIndex").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        let shared = point.and_then(|at| list.get(at)).and_then(|message| message.get("messageId"));
        origin.message = shared.map(|id| as_text(id.clone()));
    }
    let mut time = session.created;
    for (at, item) in list.into_iter().enumerate() {
        let Some(item) = Fields::of(item) else {
            skipped.add(format_args!("messages[{at}]"), "not a JSON object");
            continue;
        };
        let mut message = message(at.to_string(), item);
        // Only prompts and replies with usage have a time; the others have that of the one before.
        message.time = message.time.or(time);
        time = message.time;
        session.spans(time);
        session.follow(message);
    }
    session.raw = fields.left();
    session.settle();
    session
}

fn message(key: String, mut fields: Fields) -> Message {
    let role = match fields.text("role").as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => Role::System,
    };
    let mut message = Message::new(fields.id("messageId").unwrap_or(key), role);
    if let Some(mut meta) = fields.object("meta") {
        message.time = meta.time("sentAt", Unit::Millis);
        fields.put_back("meta", meta);
    }
    if let Some(mut counts) = fields.object("usage") {
        message.model = counts.text("model");
        message.time = message.time.or_else(|| counts.time("timestamp", Unit::Millis));
        message.usage =
            usage(&mut counts, ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"]);
        fields.put_back("usage", counts);
    }
    let content = fields.value("content").unwrap_or(Value::Null);
    for part in parts(content, None) {
        match part {
            Part::Raw(raw) => block(&mut message, raw),
            Part::Text(_) | Part::Thinking(_) | Part::ToolCall { .. } | Part::ToolResult { .. } | Part::File(_) => {
                message.parts.push(part);
            }
        }
    }
    message.settle_role();
    message.scaffolding = role == Role::System;
    message.raw = fields.left();
    message
}

/// The blocks that only Amp has.
fn block(message: &mut Message, raw: Value) {
    let text = |name: &str| raw.get(name).and_then(Value::as_str).map(str::to_owned);
    let call = ["toolUseID", "toolUseId"].iter().find_map(|name| text(name));
    match (text("type").as_deref(), call) {
        (Some("tool_result"), Some(call)) => {
            let run = raw.get("run");
            let status = run.and_then(|run| run.get("status")).and_then(Value::as_str).unwrap_or("done");
            let said = run.and_then(|run| ["result", "error", "reason"].iter().find_map(|name| run.get(name)));
            let is_error = !["done", "in-progress", "queued"].contains(&status);
            let mut parts = result_parts(said.cloned().unwrap_or(Value::Null));
            let mut rest = Fields(run.and_then(Value::as_object).cloned().unwrap_or_default());
            rest.forget(&["result", "error", "reason"]);
            // That a call failed is said by the result; any other status says more.
            if ["done", "error"].contains(&status) {
                rest.forget(&["status"]);
            }
            let rest = rest.left();
            if !rest.is_empty() {
                parts.push(Part::Raw(Value::Object(rest)));
            }
            message.parts.push(Part::ToolResult { call, parts, is_error });
        }
        (Some("summary"), _) => {
            let summary = raw.get("summary").and_then(|it| it.get("summary")).and_then(Value::as_str);
            match summary {
                Some(text) => {
                    message.parts.push(Part::Text(text.to_owned()));
                    message.compaction = Some(Compaction { summary: true, ..Compaction::default() });
                }
                None => message.parts.push(Part::Raw(raw)),
            }
        }
        _ => message.parts.push(Part::Raw(raw)),
    }
}

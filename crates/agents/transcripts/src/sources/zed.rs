//! Zed: a database of threads, each JSON, mostly compressed.

use serde_json::{Map, Value};

use crate::blocks::first_prompt;
use crate::database::{Database, bytes, text};
use crate::fields::{Fields, Unit, as_text, file_of, usage};
use crate::lines::value;
use crate::reading::{Reading, Refused, Skipped};
use crate::shape::{Message, Origin, OriginKind, Part, Role, Session, Source, Thinking, Usage};
use crate::unpack;

/// The ids of the threads of a database.
///
/// # Errors
/// If the database is not one of Zed, or is damaged.
pub fn sessions(database: &Database) -> Result<Vec<String>, Refused> {
    if !database.has("threads") {
        return Err(Refused::new("this is not a database of Zed: it lacks the table threads"));
    }
    let mut ids = Vec::new();
    database.rows("SELECT id FROM threads ORDER BY id", &[], |row| {
        ids.push(text(row, 0));
        Ok(())
    })?;
    Ok(ids)
}

/// Reads one thread of a database.
///
/// # Errors
/// If it cannot be read or unpacked, or is not JSON.
pub fn read_session(database: &Database, id: &str) -> Result<Reading, Refused> {
    let mut found = None;
    let columns = database.columns("threads")?;
    let parent = if columns.iter().any(|column| column == "parent_id") { "parent_id" } else { "NULL" };
    let query = format!("SELECT summary, updated_at, data_type, data, {parent} FROM threads WHERE id = ?1");
    database.rows(&query, &[&id], |row| {
        found = Some((text(row, 0), text(row, 1), text(row, 2), bytes(row, 3), text(row, 4)));
        Ok(())
    })?;
    let (summary, updated, kind, data, parent) = found.ok_or_else(|| Refused::new("there is no such thread"))?;
    let data = if kind == "zstd" { unpack::zstd(&data)? } else { data };
    let mut reading = read_object(id, &data)?;
    for session in &mut reading.sessions {
        session.title = session.title.take().or(Some(summary.clone()).filter(|title| !title.is_empty()));
        session.updated = session.updated.or_else(|| updated.parse().ok());
        if session.origin.is_none() && !parent.is_empty() {
            session.origin = Some(subagent(parent.clone()));
        }
    }
    Ok(reading)
}

fn subagent(session: String) -> Origin {
    Origin { kind: OriginKind::Subagent, session, message: None, call: None }
}

/// Reads the JSON of a thread.
///
/// # Errors
/// If it is not an object with messages.
pub fn read_object(id: &str, json: &[u8]) -> Result<Reading, Refused> {
    let fields = value(json).and_then(Fields::of);
    let mut fields = fields.ok_or_else(|| Refused::new("the thread is not a JSON object"))?;
    let list = fields.list("messages").ok_or_else(|| Refused::new("the thread has no messages"))?;
    let mut session = Session::new(Source::Zed, id);
    session.title = fields.text("title").or_else(|| fields.text("summary")).filter(|title| !title.is_empty());
    session.updated = fields.time("updated_at", Unit::Millis);
    let (mut model, mut provider) = (None, None);
    if let Some(mut named) = fields.object("model") {
        (model, provider) = (named.text("model"), named.text("provider"));
        fields.put_back("model", named);
    }
    if let Some(mut context) = fields.object("subagent_context") {
        session.origin = context.text("parent_thread_id").map(subagent);
        fields.put_back("subagent_context", context);
    }
    session.usage = fields.object("cumulative_token_usage").and_then(|mut counts| tokens(&mut counts));
    let mut spent = fields.object("request_token_usage").unwrap_or_default();
    let snapshot = fields.0.get("initial_project_snapshot");
    let tree = snapshot.and_then(|it| it.get("worktree_snapshots")?.get(0));
    session.folder = tree.and_then(|tree| tree.get("worktree_path")?.as_str()).map(str::to_owned);
    let git = tree.and_then(|tree| tree.get("git_state")?.get("current_branch")?.as_str());
    session.git_branch = git.map(str::to_owned);
    let mut skipped = Skipped::default();
    let mut prompt = None;
    for (at, item) in list.into_iter().enumerate() {
        let key = (at + 1).to_string();
        let message = match item {
            Value::Object(map) if map.contains_key("role") => old(key, Fields(map)),
            Value::Object(map) => new(key, map),
            // A mark such as `Resume`.
            other => {
                let mut message = Message::new(key, Role::System);
                message.scaffolding = true;
                message.parts.push(Part::Raw(other));
                Some(message)
            }
        };
        let Some(mut message) = message else {
            skipped.add(format_args!("messages[{at}]"), "not a message");
            continue;
        };
        match message.role {
            Role::User => prompt = Some(message.id.clone()),
            Role::Assistant => {
                (message.model, message.provider) = (model.clone(), provider.clone());
                // Counts are kept by the prompt that a reply answers.
                let spent = prompt.take().and_then(|prompt| spent.object(&prompt));
                message.usage = spent.and_then(|mut counts| tokens(&mut counts));
                for part in &mut message.parts {
                    if let Part::Thinking(thinking) = part
                        && thinking.is_bound()
                    {
                        thinking.provider.clone_from(&provider);
                    }
                }
            }
            Role::System | Role::Tool => {}
        }
        message.into_steps().into_iter().for_each(|step| session.follow(step));
    }
    fields.put_back("request_token_usage", spent);
    session.raw = fields.left();
    session.title = session.title.take().or_else(|| first_prompt(&session));
    session.settle();
    Ok(Reading { sessions: vec![session], skipped, ..Reading::default() })
}

fn tokens(counts: &mut Fields) -> Option<Usage> {
    usage(counts, ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"])
}

/// A message of version 0.3: an object with one field, `User` or `Agent`.
fn new(key: String, mut map: Map<String, Value>) -> Option<Message> {
    if let Some(mut user) = map.remove("User").and_then(Fields::of) {
        let mut message = Message::new(user.id("id").unwrap_or(key), Role::User);
        message.parts = user.list("content").unwrap_or_default().into_iter().map(part).collect();
        message.raw = user.left();
        return Some(message);
    }
    let Some(mut agent) = map.remove("Agent").and_then(Fields::of) else {
        let mut message = Message::new(key, Role::System);
        message.scaffolding = true;
        let compacted = map.get("Compaction").and_then(|it| it.get("summary").unwrap_or(it).as_str());
        if let Some(text) = compacted {
            message.parts.push(Part::Text(text.to_owned()));
            message.compaction = Some(crate::shape::Compaction { summary: true, ..Default::default() });
        } else {
            message.parts.push(Part::Raw(Value::Object(map)));
        }
        return Some(message);
    };
    let mut message = Message::new(key, Role::Assistant);
    message.parts = agent.list("content").unwrap_or_default().into_iter().map(part).collect();
    for (call, result) in agent.object("tool_results").map(|results| results.0).unwrap_or_default() {
        let Some(result) = Fields::of(result) else { continue };
        message.parts.push(tool_result(call, result));
    }
    message.raw = agent.left();
    Some(message)
}

fn tool_result(call: String, mut result: Fields) -> Part {
    let call = result.text("tool_use_id").unwrap_or(call);
    let is_error = result.flag("is_error");
    let mut parts = match result.value("content") {
        Some(Value::Array(list)) => list.into_iter().map(part).collect(),
        Some(Value::String(text)) => vec![Part::Text(text)],
        Some(other) => vec![part(other)],
        None => Vec::new(),
    };
    result.forget(&["tool_name"]);
    let rest = result.left();
    if !rest.is_empty() {
        parts.push(Part::Raw(Value::Object(rest)));
    }
    Part::ToolResult { call, parts, is_error }
}

/// A part: an object with one field, its kind.
fn part(item: Value) -> Part {
    let raw = Part::Raw;
    let Some((kind, inner)) = item.as_object().and_then(|map| map.iter().next()) else { return raw(item) };
    let text = |name: &str| inner.get(name).and_then(Value::as_str).map(str::to_owned);
    let said = inner.as_str().map(str::to_owned);
    match kind.as_str() {
        "Text" | "text" => match said.or_else(|| text("text")) {
            Some(text) => Part::Text(text),
            None => raw(item),
        },
        "Thinking" => match text("text") {
            Some(said) => {
                Part::Thinking(Thinking { text: said, signature: text("signature"), sealed: None, provider: None })
            }
            None => raw(item),
        },
        "RedactedThinking" => Part::Thinking(Thinking { sealed: said, ..Thinking::default() }),
        "ToolUse" => match (text("id"), text("name")) {
            (Some(id), Some(name)) => {
                Part::ToolCall { id, name, input: inner.get("input").cloned().unwrap_or(Value::Null) }
            }
            _ => raw(item),
        },
        "Mention" => match inner.get("uri").cloned().zip(text("content")) {
            Some((uri, content)) => Part::Text(format!("{}\n{content}", as_text(uri))),
            None => raw(item),
        },
        "Image" => match text("source").or(said) {
            Some(data) => file_of(data, Some("image/png".to_owned()), None),
            None => raw(item),
        },
        _ => raw(item),
    }
}

/// A message of version 0.2 and before: a role, segments, calls and results. Results are those of the calls of the
/// message before.
fn old(key: String, mut fields: Fields) -> Option<Message> {
    let role = match fields.text("role")?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => Role::System,
    };
    let mut message = Message::new(fields.id("id").unwrap_or(key), role);
    message.scaffolding = fields.flag("is_hidden") || role == Role::System;
    message.parts.extend(fields.text("text").filter(|text| !text.is_empty()).map(Part::Text));
    for segment in fields.list("segments").unwrap_or_default() {
        let text = |name: &str| segment.get(name).and_then(Value::as_str).map(str::to_owned);
        message.parts.push(match (text("type").as_deref(), text("text")) {
            (Some("text"), Some(text)) => Part::Text(text),
            (Some("thinking"), Some(said)) => {
                Part::Thinking(Thinking { text: said, signature: text("signature"), sealed: None, provider: None })
            }
            _ => Part::Raw(segment),
        });
    }
    for call in fields.list("tool_uses").unwrap_or_default() {
        let text = |name: &str| call.get(name).and_then(Value::as_str).map(str::to_owned);
        message.parts.push(match (text("id"), text("name")) {
            (Some(id), Some(name)) => {
                Part::ToolCall { id, name, input: call.get("input").cloned().unwrap_or(Value::Null) }
            }
            _ => Part::Raw(call),
        });
    }
    for result in fields.list("tool_results").unwrap_or_default() {
        let Some(result) = Fields::of(result) else { continue };
        message.parts.push(tool_result(String::new(), result));
    }
    message.settle_role();
    message.raw = fields.left();
    Some(message)
}

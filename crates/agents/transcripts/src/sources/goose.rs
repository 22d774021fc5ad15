//! goose: the JSON of an export, its database, and the older JSON Lines. Messages follow each other.

use serde_json::Value;

use super::{remember, remembered};
use crate::blocks::{first_prompt, parts};
use crate::database::{Database, text};
use crate::fields::{Fields, Unit, as_text, file_of};
use crate::lines::{records, value};
use crate::reading::{Reading, Refused, Resume, Skipped, Window};
use crate::shape::{Message, Part, Role, Session, Source, Usage};

/// Reads an export: one object with `conversation`.
///
/// # Errors
/// If it is no such object.
pub fn read_object(window: &Window<'_>) -> Result<Reading, Refused> {
    let fields = value(window.bytes).and_then(Fields::of);
    let mut fields = fields.ok_or_else(|| Refused::new("this is not a JSON object"))?;
    // Some versions wrote the conversation as an object around the list.
    let list = match fields.value("conversation") {
        Some(Value::Array(list)) => list,
        Some(Value::Object(inner)) => Fields(inner).list("messages").unwrap_or_default(),
        _ => return Err(Refused::new("the object has no conversation")),
    };
    let id = fields.text("id").unwrap_or_else(|| window.stem().to_owned());
    let mut session = Session::new(Source::Goose, id);
    about(&mut session, fields);
    let mut skipped = Skipped::default();
    for (at, item) in list.into_iter().enumerate() {
        match Fields::of(item) {
            Some(item) => session.follow(message((at + 1).to_string(), item)),
            None => skipped.add(format_args!("conversation[{at}]"), "not a JSON object"),
        }
    }
    Ok(finished(session, skipped, Resume::default(), true))
}

/// Reads the older JSON Lines: one line about the session, then one for each message.
pub fn read(window: &Window<'_>, from: &Resume) -> Reading {
    let mut session = Session::new(Source::Goose, window.stem());
    let mut last: Option<String> = remembered(&from.state);
    let mut skipped = Skipped::default();
    let mut end = records(window, from, &mut skipped, |record| {
        let fields = Fields(record.fields);
        if fields.peek("role").is_some() {
            let mut message = message(record.key, fields);
            message.parent = last.replace(message.id.clone());
            session.messages.push(message);
        } else {
            about(&mut session, fields);
        }
    });
    end.state = remember(&last);
    finished(session, skipped, end, from.offset == 0)
}

/// The ids of the sessions of a database.
///
/// # Errors
/// If the database is not one of goose, or is damaged.
pub fn sessions(database: &Database) -> Result<Vec<String>, Refused> {
    if !database.has("sessions") || !database.has("messages") {
        return Err(Refused::new("this is not a database of goose: it lacks the tables sessions and messages"));
    }
    let mut ids = Vec::new();
    database.rows("SELECT id FROM sessions ORDER BY id", &[], |row| {
        ids.push(text(row, 0));
        Ok(())
    })?;
    Ok(ids)
}

/// Reads one session of a database.
///
/// # Errors
/// If its tables cannot be read. Damage after some rows gives those rows.
pub fn read_session(database: &Database, id: &str) -> Result<Reading, Refused> {
    let mut session = Session::new(Source::Goose, id);
    let mut fields = Fields(database.object("sessions", id)?);
    fields.forget(&["id"]);
    about(&mut session, fields);
    let columns = database.columns("messages")?;
    let has = |name: &str| columns.iter().any(|column| column == name);
    let or_null = |name: &'static str| if has(name) { name } else { "NULL" };
    let (name, meta) = (or_null("message_id"), or_null("metadata_json"));
    let query = format!(
        "SELECT id, {name}, role, content_json, created_timestamp, {meta} FROM messages WHERE session_id = ?1 ORDER BY created_timestamp, id"
    );
    let mut skipped = Skipped::default();
    let read = database.rows(&query, &[&id], |row| {
        let place = text(row, 0);
        let Some(content) = value(text(row, 3).as_bytes()) else {
            skipped.add(format_args!("messages row {place}"), "its content is not JSON");
            return Ok(());
        };
        let mut fields = Fields::default();
        let mut set = |name: &str, value: Value| fields.0.insert(name.to_owned(), value);
        let name = text(row, 1);
        set("id", if name.is_empty() { place.clone() } else { name }.into());
        set("role", text(row, 2).into());
        set("content", content);
        set("created", row.get::<_, i64>(4).unwrap_or_default().into());
        set("metadata", value(text(row, 5).as_bytes()).unwrap_or(Value::Null));
        session.follow(message(place, fields));
        Ok(())
    });
    if let Err(refused) = read {
        skipped.add("messages", refused);
    }
    Ok(finished(session, skipped, Resume::default(), true))
}

fn finished(mut session: Session, skipped: Skipped, resume: Resume, is_first: bool) -> Reading {
    if session.title.is_none() && is_first {
        session.title = first_prompt(&session);
    }
    session.settle();
    let is_empty = session.messages.is_empty() && session.raw.is_empty() && session.folder.is_none();
    Reading { sessions: if is_empty { Vec::new() } else { vec![session] }, skipped, resume }
}

fn about(session: &mut Session, mut fields: Fields) {
    let title = fields.text("name").or_else(|| fields.text("description"));
    session.title = title.filter(|title| !title.is_empty()).or(session.title.take());
    session.folder = fields.text("working_dir").or(session.folder.take());
    let created = fields.time("created_at", Unit::Seconds);
    session.created = created.or(session.created);
    session.updated = fields.time("updated_at", Unit::Seconds).or(session.updated);
    if fields.value("archived_at").is_some() {
        session.tags.push("archived".to_owned());
    }
    let mut count = |names: [&str; 2]| names.iter().find_map(|name| fields.count(name)).unwrap_or_default();
    let input = count(["accumulated_input_tokens", "input_tokens"]);
    let output = count(["accumulated_output_tokens", "output_tokens"]);
    session.usage = Usage { input, output, ..Usage::default() }.if_any().or(session.usage);
    session.raw.extend(fields.left());
}

fn message(key: String, mut fields: Fields) -> Message {
    let role = match fields.text("role").as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => Role::System,
    };
    let mut message = Message::new(fields.id("id").unwrap_or(key), role);
    message.time = fields.time("created", Unit::Seconds);
    for item in fields.list("content").unwrap_or_default() {
        content(&mut message.parts, item);
    }
    if let Some(mut meta) = fields.object("metadata") {
        message.out_of_context = meta.value("agentVisible") == Some(Value::Bool(false));
        message.scaffolding = meta.value("userVisible") == Some(Value::Bool(false));
        if let Some(mut inference) = meta.object("inference") {
            message.model = inference.text("model");
            message.provider = inference.text("provider");
            meta.put_back("inference", inference);
        }
        fields.put_back("metadata", meta);
    }
    for part in &mut message.parts {
        if let Part::Thinking(thinking) = part
            && thinking.is_bound()
        {
            thinking.provider.clone_from(&message.provider);
        }
    }
    message.settle_role();
    message.raw = fields.left();
    message
}

fn content(to: &mut Vec<Part>, item: Value) {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
    let id = item.get("id").and_then(Value::as_str).map(str::to_owned);
    match (kind, id) {
        ("toolRequest" | "frontendToolRequest", Some(id)) => {
            let call = item.get("toolCall");
            let value = call.and_then(|call| call.get("value"));
            let name = value.and_then(|value| value.get("name")).and_then(Value::as_str).map(str::to_owned);
            match (value, name) {
                (Some(value), Some(name)) => {
                    let input = value.get("arguments").cloned().unwrap_or(Value::Null);
                    to.push(Part::ToolCall { id, name, input });
                    if item.get("metadata").is_some() || item.get("_meta").is_some() {
                        let Some(mut rest) = Fields::of(item) else { return };
                        rest.forget(&["toolCall"]);
                        to.push(Part::Raw(Value::Object(rest.left())));
                    }
                }
                _ => to.push(Part::Raw(item)),
            }
        }
        ("toolResponse", Some(call)) => {
            let result = item.get("toolResult").cloned().and_then(Fields::of).unwrap_or_default();
            to.push(response(call, result));
        }
        ("image", _) => match Fields::of(item.clone()) {
            Some(mut image) if image.peek("data").is_some() => {
                let data = image.text("data").unwrap_or_default();
                to.push(file_of(data, image.text("mimeType"), None));
            }
            _ => to.push(Part::Raw(item)),
        },
        _ => to.extend(parts(Value::Array(vec![item]), None)),
    }
}

fn response(call: String, mut result: Fields) -> Part {
    let failed = result.peek("status") == Some("error");
    if failed {
        let parts = vec![Part::Text(as_text(result.value("error").unwrap_or(Value::Null)))];
        return Part::ToolResult { call, parts, is_error: true };
    }
    let (mut said, mut is_error) = (Vec::new(), false);
    match result.value("value") {
        Some(Value::Object(value)) => {
            let mut value = Fields(value);
            said = parts(value.value("content").unwrap_or(Value::Null), None);
            is_error = value.flag("isError");
            let rest = value.left();
            if !rest.is_empty() {
                said.push(Part::Raw(Value::Object(rest)));
            }
        }
        // Before results were objects, they were the list itself.
        Some(other) => said = parts(other, None),
        None => {}
    }
    Part::ToolResult { call, parts: said, is_error }
}

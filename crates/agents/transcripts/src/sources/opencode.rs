//! opencode: the JSON of `opencode export`, the list of its share API, its database, and the older tree of files. All
//! hold sessions, messages and parts.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::database::{Database, text};
use crate::fields::{Fields, Unit, as_text, file_at, usage};
use crate::lines::value;
use crate::reading::{Reading, Refused, Resume, Skipped, Window};
use crate::shape::{Compaction, Message, Origin, OriginKind, Part, Role, Session, Source, Subagent, Thinking, Usage};

/// Reads an export, or the list of a share.
///
/// # Errors
/// If it is neither.
pub fn read_object(window: &Window<'_>) -> Result<Reading, Refused> {
    let refused = || Refused::new("this is neither an export nor a share of opencode");
    let mut skipped = Skipped::default();
    let (info, messages) = match value(window.bytes) {
        Some(Value::Object(map)) => {
            let mut fields = Fields(map);
            let info = fields.object("info").ok_or_else(refused)?;
            (info, fields.list("messages").ok_or_else(refused)?)
        }
        Some(Value::Array(list)) => shared(list).ok_or_else(refused)?,
        _ => return Err(refused()),
    };
    let mut known = Vec::new();
    for (at, item) in messages.into_iter().enumerate() {
        let item = Fields::of(item).and_then(|mut item| Some((item.object("info")?, item.list("parts")?)));
        match item {
            Some(item) => known.push(item),
            None => skipped.add(format_args!("messages[{at}]"), "not a message with info and parts"),
        }
    }
    Ok(assembled(window.stem(), info, known, skipped))
}

/// The flat list of a share, as an export.
fn shared(list: Vec<Value>) -> Option<(Fields, Vec<Value>)> {
    let mut session = None;
    let mut messages: Vec<(String, Map<String, Value>)> = Vec::new();
    let mut parts: HashMap<String, Vec<Value>> = HashMap::new();
    let mut others = Vec::new();
    for item in list {
        let mut item = Fields::of(item)?;
        let (kind, data) = (item.text("type")?, item.object("data"));
        match (kind.as_str(), data) {
            ("session", Some(data)) => session = Some(data),
            ("message", Some(data)) => messages.push((data.peek("id")?.to_owned(), data.0)),
            ("part", Some(data)) => {
                let owner = data.peek("messageID")?.to_owned();
                parts.entry(owner).or_default().push(Value::Object(data.0));
            }
            (_, data) => others.push(json!({ "type": kind, "data": data.map(|data| data.0) })),
        }
    }
    let mut session = session?;
    if !others.is_empty() {
        session.0.insert("shared".to_owned(), others.into());
    }
    messages.sort_by(|one, other| (created(&one.1), &one.0).cmp(&(created(&other.1), &other.0)));
    let whole =
        messages.into_iter().map(|(id, info)| json!({ "info": info, "parts": parts.remove(&id).unwrap_or_default() }));
    Some((session, whole.collect()))
}

fn created(info: &Map<String, Value>) -> i64 {
    info.get("time").and_then(|time| time.get("created")).and_then(Value::as_i64).unwrap_or_default()
}

/// Reads a session of the older tree: the bytes of its own file, of its messages, and of their parts, each with the
/// id that the name of its file gives.
///
/// # Errors
/// If the session's file is not a JSON object.
pub fn read_tree(
    session: (&str, &[u8]),
    messages: &[(&str, &[u8])],
    parts: &[(&str, &[u8])],
) -> Result<Reading, Refused> {
    let info = value(session.1).and_then(Fields::of).ok_or_else(|| Refused::new("the session is not a JSON object"))?;
    let mut skipped = Skipped::default();
    let mut object = |folder: &str, (id, bytes): &(&str, &[u8])| match value(bytes) {
        Some(Value::Object(mut map)) => {
            map.entry("id").or_insert_with(|| (*id).into());
            Some(map)
        }
        _ => {
            skipped.add(format_args!("{folder}/{id}"), "not a JSON object");
            None
        }
    };
    let mut infos: Vec<Map<String, Value>> = messages.iter().filter_map(|file| object("message", file)).collect();
    let id = |map: &Map<String, Value>| map.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    infos.sort_by_key(|map| (created(map), id(map)));
    let mut owned: HashMap<String, Vec<Value>> = HashMap::new();
    let mut sorted = parts.to_vec();
    sorted.sort_by_key(|(id, _)| *id);
    for map in sorted.iter().filter_map(|file| object("part", file)) {
        let owner = map.get("messageID").and_then(Value::as_str).unwrap_or_default().to_owned();
        owned.entry(owner).or_default().push(Value::Object(map));
    }
    let known = infos.into_iter().map(|info| {
        let parts = owned.remove(&id(&info)).unwrap_or_default();
        (Fields(info), parts)
    });
    let known = known.collect();
    Ok(assembled(session.0, info, known, skipped))
}

/// The ids of the sessions of a database.
///
/// # Errors
/// If the database is not one of opencode, or is damaged.
pub fn sessions(database: &Database) -> Result<Vec<String>, Refused> {
    if !["session", "message", "part"].iter().all(|table| database.has(table)) {
        return Err(Refused::new("this is not a database of opencode: it lacks the tables session, message and part"));
    }
    let mut ids = Vec::new();
    database.rows("SELECT id FROM session ORDER BY id", &[], |row| {
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
    let info = columns(database.object("session", id)?);
    let mut skipped = Skipped::default();
    let mut parts: HashMap<String, Vec<Value>> = HashMap::new();
    let query = "SELECT id, message_id, data FROM part WHERE session_id = ?1 ORDER BY id";
    let read = database.rows(query, &[&id], |row| {
        match value(text(row, 2).as_bytes()) {
            Some(Value::Object(mut map)) => {
                map.insert("id".to_owned(), text(row, 0).into());
                parts.entry(text(row, 1)).or_default().push(Value::Object(map));
            }
            _ => skipped.add(format_args!("part {}", text(row, 0)), "its data is not a JSON object"),
        }
        Ok(())
    });
    let mut known = Vec::new();
    let query = "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id";
    let also = database.rows(query, &[&id], |row| {
        let name = text(row, 0);
        match value(text(row, 1).as_bytes()) {
            Some(Value::Object(mut map)) => {
                let parts = parts.remove(&name).unwrap_or_default();
                map.insert("id".to_owned(), name.into());
                known.push((Fields(map), parts));
            }
            _ => skipped.add(format_args!("message {name}"), "its data is not a JSON object"),
        }
        Ok(())
    });
    for refused in [read.err(), also.err()].into_iter().flatten() {
        skipped.add(format_args!("session {id}"), refused);
    }
    let mut second = Vec::new();
    if database.has("session_message") {
        let query = "SELECT id, type, data FROM session_message WHERE session_id = ?1 ORDER BY seq, id";
        let read = database.rows(query, &[&id], |row| {
            let data = value(text(row, 2).as_bytes()).unwrap_or(Value::Null);
            second.push((text(row, 0), text(row, 1), data));
            Ok(())
        });
        if let Err(refused) = read {
            skipped.add("session_message", refused);
        }
    }
    if known.is_empty() {
        known = second.into_iter().map(|(id, kind, data)| second_version(id, &kind, data)).collect();
    }
    Ok(assembled(id, info, known, skipped))
}

/// A row of the second version in the shape of the first.
fn second_version(id: String, kind: &str, data: Value) -> (Fields, Vec<Value>) {
    let mut info = Fields::of(data).unwrap_or_default();
    let mut parts = info.list("content").unwrap_or_default();
    for part in &mut parts {
        if part.get("type").and_then(Value::as_str) == Some("tool")
            && let Value::Object(part) = part
        {
            let (call, name) = (part.remove("id"), part.remove("name"));
            part.extend(call.map(|call| ("callID".to_owned(), call)));
            part.extend(name.map(|name| ("tool".to_owned(), name)));
        }
    }
    parts.extend(info.text("text").map(|text| json!({ "type": "text", "text": text })));
    parts.extend(info.text("summary").map(|text| json!({ "type": "text", "text": text })));
    let role = if ["user", "assistant"].contains(&kind) { kind } else { "system" };
    info.0.insert("role".to_owned(), role.into());
    if role == "system" {
        info.0.insert("kind".to_owned(), kind.into());
    }
    info.0.insert("id".to_owned(), id.into());
    (info, parts)
}

/// The columns of a session under the names of an export.
fn columns(row: Map<String, Value>) -> Fields {
    let mut info = Fields(row);
    let mut time = Map::new();
    for (column, name) in [("time_created", "created"), ("time_updated", "updated"), ("time_archived", "archived")] {
        time.extend(info.value(column).map(|value| (name.to_owned(), value)));
    }
    info.0.insert("time".to_owned(), Value::Object(time));
    for (column, name) in [("parent_id", "parentID"), ("project_id", "projectID")] {
        if let Some(value) = info.value(column) {
            info.0.insert(name.to_owned(), value);
        }
    }
    for column in ["revert", "model", "metadata", "permission"] {
        if let Some(json) = info.peek(column).and_then(|text| value(text.as_bytes())) {
            info.0.insert(column.to_owned(), json);
        }
    }
    info
}

fn assembled(name: &str, mut info: Fields, messages: Vec<(Fields, Vec<Value>)>, skipped: Skipped) -> Reading {
    let id = info.text("id").unwrap_or_else(|| name.to_owned());
    let mut session = Session::new(Source::OpenCode, id);
    // The title of a session that never got one begins like this.
    session.title = info.text("title").filter(|title| !title.starts_with("New session - "));
    session.folder = info.text("directory");
    if let Some(mut time) = info.object("time") {
        session.created = time.time("created", Unit::Millis);
        session.updated = time.time("updated", Unit::Millis);
        if time.value("archived").is_some() {
            session.tags.push("archived".to_owned());
        }
        info.put_back("time", time);
    }
    session.origin =
        info.text("parentID").map(|session| Origin { kind: OriginKind::Subagent, session, message: None, call: None });
    let reverted = info.0.get("revert").and_then(|revert| revert.get("messageID")).and_then(Value::as_str);
    let reverted = reverted.map(str::to_owned);
    session.raw = info.left();
    let mut active = None;
    for (mut info, parts) in messages {
        info.forget(&["sessionID"]);
        let key = (session.messages.len() + 1).to_string();
        let message = message(key, info, parts);
        if reverted.as_deref() == Some(message.id.as_str()) {
            active = Some(session.messages.last().map(|last| last.id.clone()));
        }
        message.into_steps().into_iter().for_each(|step| session.follow(step));
    }
    session.settle();
    if let Some(active) = active {
        session.active = active;
    }
    Reading { sessions: vec![session], skipped, resume: Resume::default() }
}

fn message(key: String, mut info: Fields, list: Vec<Value>) -> Message {
    let role = match info.text("role").as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => Role::System,
    };
    let mut message = Message::new(info.id("id").unwrap_or(key), role);
    message.scaffolding = role == Role::System;
    if let Some(mut time) = info.object("time") {
        message.time = time.time("created", Unit::Millis);
        info.put_back("time", time);
    }
    message.model = info.text("modelID");
    message.provider = info.text("providerID");
    if let Some(mut tokens) = info.object("tokens") {
        let mut cache = tokens.object("cache").unwrap_or_default();
        let reasoning = tokens.count("reasoning").unwrap_or_default();
        let found = usage(&mut tokens, ["input", "output", "", ""]).unwrap_or_default();
        let found = Usage {
            output: found.output.saturating_add(reasoning),
            cache_read: cache.count("read").unwrap_or_default(),
            cache_write: cache.count("write").unwrap_or_default(),
            ..found
        };
        message.usage = found.if_any();
        info.put_back("tokens", tokens);
    }
    if role == Role::Assistant && info.flag("summary") {
        message.compaction = Some(Compaction { summary: true, ..Compaction::default() });
    }
    let mut synthetic = 0;
    for item in list {
        synthetic += usize::from(item.get("synthetic") == Some(&Value::Bool(true)));
        part(&mut message, item);
    }
    message.scaffolding |= synthetic > 0 && synthetic == message.parts.len();
    message.raw = info.left();
    message
}

fn part(message: &mut Message, item: Value) {
    let text = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    match (text("type").as_deref(), text("text"), text("url"), text("callID")) {
        (Some("text"), Some(said), _, _) => {
            message.parts.push(Part::Text(said));
            rest_of(message, item);
        }
        (Some("reasoning"), Some(said), _, _) => {
            let bound = item.get("metadata").filter(|metadata| !metadata.is_null());
            let signature = bound.and_then(|it| it.get("anthropic")?.get("signature")?.as_str()).map(str::to_owned);
            let provider = signature.as_ref().map(|_| "anthropic".to_owned());
            message.parts.push(Part::Thinking(Thinking { text: said, signature, sealed: None, provider }));
        }
        (Some("file"), _, Some(url), _) => {
            message.parts.push(file_at(url, text("mime"), text("filename")));
            rest_of(message, item);
        }
        (Some("tool"), _, _, Some(call)) => tool(message, call, item),
        (Some("compaction"), _, _, _) => {
            let trigger = if item.get("auto") == Some(&Value::Bool(true)) { "auto" } else { "manual" };
            let (first_kept, trigger) = (text("tail_start_id"), Some(trigger.to_owned()));
            message.compaction = Some(Compaction { first_kept, trigger, ..Compaction::default() });
            message.scaffolding = true;
        }
        _ => message.parts.push(Part::Raw(item)),
    }
}

/// Keeps fields of a part without a place.
fn rest_of(message: &mut Message, item: Value) {
    let mut rest = Fields::of(item).unwrap_or_default();
    let kind = rest.text("type");
    rest.forget(&["id", "sessionID", "messageID", "text", "time", "synthetic", "url", "mime", "filename"]);
    let rest = rest.left();
    if !rest.is_empty() {
        let kind = kind.map(|kind| ("type".to_owned(), Value::String(kind)));
        message.parts.push(Part::Raw(Value::Object(kind.into_iter().chain(rest).collect())));
    }
}

/// A call with everything that became of it.
fn tool(message: &mut Message, call: String, item: Value) {
    let mut item = Fields::of(item).unwrap_or_default();
    let name = item.text("tool").unwrap_or_default();
    let mut state = item.object("state").unwrap_or_default();
    let input = state.value("input").unwrap_or(Value::Null);
    message.parts.push(Part::ToolCall { id: call.clone(), name, input });
    let metadata = state.0.get("metadata");
    // A call of the tool `task` names the session of its subagent.
    let spawned = metadata.and_then(|it| ["sessionId", "sessionID"].iter().find_map(|name| it.get(name)?.as_str()));
    let spawned = spawned.map(|session| Subagent { session: session.to_owned(), call: Some(call.clone()) });
    message.subagents.extend(spawned);
    let is_error = state.peek("status") == Some("error");
    let said = if is_error { state.value("error") } else { state.value("output") };
    let Some(said) = said else {
        // The call never ended.
        return message.parts.push(Part::Raw(json!({ "type": "tool", "callID": call, "state": state.left() })));
    };
    state.forget(&["status"]);
    let mut parts = match said {
        Value::Array(list) => list.into_iter().map(|it| Part::Text(as_text(it))).collect(),
        said => vec![Part::Text(as_text(said))],
    };
    for file in state.list("attachments").unwrap_or_default() {
        let text = |name: &str| file.get(name).and_then(Value::as_str).map(str::to_owned);
        parts.push(match text("url") {
            Some(url) => file_at(url, text("mime"), text("filename")),
            None => Part::Raw(file),
        });
    }
    let rest = state.left();
    if !rest.is_empty() {
        parts.push(Part::Raw(Value::Object(rest)));
    }
    message.parts.push(Part::ToolResult { call, parts, is_error });
}

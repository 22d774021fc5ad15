//! LangGraph: the rows of a checkpoint saver, in SQLite or PostgreSQL.
//!
//! Each checkpoint holds the whole list of messages. Lists with the same beginning share its messages, so checkpoints
//! that went different ways become branches. The newest checkpoint is the active one.

#[cfg(feature = "postgres")]
mod postgres;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::blocks::{first_prompt, parts};
use crate::database::{Database, bytes, text};
use crate::fields::{Fields, Unit, file_at, usage};
use crate::lines::value;
use crate::msgpack::{CLASS, decode};
use crate::reading::{Reading, Refused, Skipped};
use crate::shape::{Message, Origin, OriginKind, Part, Role, Session, Source};
#[cfg(feature = "postgres")]
pub use postgres::Saver;

/// Most checkpoints of one thread that are read.
pub const CHECKPOINTS_MAX: usize = 100_000;
/// The channel that holds the conversation.
const MESSAGES: &str = "messages";

/// A thread of a saver, or a subgraph of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The id of the thread.
    pub thread: String,
    /// Empty, or the name of the subgraph.
    pub namespace: String,
}

impl Listed {
    /// The id of its session.
    pub(crate) fn id(&self) -> String {
        let Self { thread, namespace } = self;
        if namespace.is_empty() { thread.clone() } else { format!("{thread}/{namespace}") }
    }
}

/// A value as a saver stores it.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    /// How it is encoded: `msgpack`, `json`, `null` and others.
    pub kind: String,
    /// The encoded value.
    pub bytes: Vec<u8>,
}

/// A row of a saver.
#[derive(Debug, Clone, Default)]
pub struct Checkpoint {
    /// Its id, which sorts by time.
    pub id: String,
    /// The checkpoint.
    pub value: Stored,
    /// What the saver knows about it, as JSON.
    pub metadata: Vec<u8>,
    /// Values of channels that are stored apart, as the saver of PostgreSQL does.
    pub channels: Vec<(String, Stored)>,
    /// Writes to the channel of messages that no later checkpoint holds, in order.
    pub writes: Vec<Stored>,
}

/// The threads of a database of the SQLite saver.
///
/// # Errors
/// If the database is not one, or is damaged.
pub fn sessions(database: &Database) -> Result<Vec<Listed>, Refused> {
    if !database.has("checkpoints") {
        return Err(Refused::new("this is not a database of LangGraph: it lacks the table checkpoints"));
    }
    let mut all = Vec::new();
    let query = "SELECT DISTINCT thread_id, checkpoint_ns FROM checkpoints ORDER BY thread_id, checkpoint_ns";
    database.rows(query, &[], |row| {
        all.push(Listed { thread: text(row, 0), namespace: text(row, 1) });
        Ok(())
    })?;
    Ok(all)
}

/// Reads one thread of the SQLite saver.
///
/// # Errors
/// If its tables cannot be read. Damage after some rows gives those rows.
pub fn read_session(database: &Database, listed: &Listed) -> Result<Reading, Refused> {
    let key: [&dyn rusqlite::ToSql; 2] = [&listed.thread, &listed.namespace];
    let mut parents = HashSet::new();
    let query = "SELECT parent_checkpoint_id FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = ?2";
    database.rows(query, &key, |row| {
        parents.insert(text(row, 0));
        Ok(())
    })?;
    let mut pending: HashMap<String, Vec<Stored>> = HashMap::new();
    let mut reader = Reader::new(listed);
    if database.has("writes") {
        let query = "SELECT checkpoint_id, type, value FROM writes WHERE thread_id = ?1 AND checkpoint_ns = ?2 AND channel = 'messages' ORDER BY checkpoint_id, task_id, idx";
        let read = database.rows(query, &key, |row| {
            let id = text(row, 0);
            if !parents.contains(&id) {
                pending.entry(id).or_default().push(Stored { kind: text(row, 1), bytes: bytes(row, 2) });
            }
            Ok(())
        });
        if let Err(refused) = read {
            reader.skipped.add("writes", refused);
        }
    }
    let query = "SELECT checkpoint_id, type, checkpoint, metadata FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = ?2 ORDER BY checkpoint_id";
    let read = database.rows(query, &key, |row| {
        let id = text(row, 0);
        let writes = pending.remove(&id).unwrap_or_default();
        let value = Stored { kind: text(row, 1), bytes: bytes(row, 2) };
        reader.checkpoint(Checkpoint { id, value, metadata: bytes(row, 3), channels: Vec::new(), writes });
        Ok(())
    });
    if let Err(refused) = read {
        reader.skipped.add("checkpoints", refused);
    }
    Ok(reader.finish())
}

/// Reads one thread from the rows of any saver, ordered by their ids.
pub fn read_rows(listed: &Listed, rows: impl IntoIterator<Item = Checkpoint>) -> Reading {
    let mut reader = Reader::new(listed);
    rows.into_iter().for_each(|row| reader.checkpoint(row));
    reader.finish()
}

struct Reader {
    session: Session,
    skipped: Skipped,
    /// The messages after a message, by their ids at the source. A message without one has an empty id.
    after: HashMap<(Option<usize>, String), Vec<usize>>,
    used: HashSet<String>,
    count: usize,
}

impl Reader {
    fn new(listed: &Listed) -> Self {
        let Listed { thread, namespace } = listed;
        let mut session = Session::new(Source::LangGraph, listed.id());
        if !namespace.is_empty() {
            let kind = OriginKind::Subagent;
            session.origin = Some(Origin { kind, session: thread.clone(), message: None, call: None });
        }
        let (after, used) = (HashMap::new(), HashSet::new());
        Self { session, skipped: Skipped::default(), after, used, count: 0 }
    }

    fn checkpoint(&mut self, row: Checkpoint) {
        self.count += 1;
        let place = format!("checkpoint {}", row.id);
        if self.count > CHECKPOINTS_MAX {
            return self.skipped.add(place, format_args!("a thread is read up to {CHECKPOINTS_MAX} checkpoints"));
        }
        let mut checkpoint = match plain(&row.value) {
            Ok(Value::Object(map)) => Fields(map),
            Ok(_) => return self.skipped.add(place, "not an object"),
            Err(reason) => return self.skipped.add(place, reason),
        };
        let time = checkpoint.time("ts", Unit::Millis);
        self.session.spans(time);
        let mut channels = checkpoint.object("channel_values").unwrap_or_default();
        for (channel, stored) in row.channels {
            match plain(&stored) {
                Ok(value) => {
                    channels.0.insert(channel, value);
                }
                Err(reason) => self.skipped.add(format_args!("{place} channel {channel}"), reason),
            }
        }
        let mut list = match conversation(&mut channels) {
            Some(Value::Array(list)) => list,
            Some(other) => vec![other],
            None => Vec::new(),
        };
        for stored in row.writes {
            match plain(&stored) {
                Ok(Value::Array(more)) => list.extend(more),
                Ok(one) => list.push(one),
                Err(reason) => self.skipped.add(format_args!("{place} write"), reason),
            }
        }
        let mut last = None;
        for (at, item) in list.into_iter().enumerate() {
            match message(item) {
                Ok((id, message)) => last = Some(self.insert(last, id, message, &row.id, at, time)),
                Err(raw) if raw.get("~extension").is_some() => {
                    self.skipped.add(format_args!("{place} messages[{at}]"), "a delta channel or an unknown extension");
                }
                Err(raw) => {
                    let mut kept = Message::new(String::new(), Role::System);
                    kept.scaffolding = true;
                    kept.parts.push(Part::Raw(raw));
                    last = Some(self.insert(last, String::new(), kept, &row.id, at, time));
                }
            }
        }
        if let Some(last) = last {
            self.session.active = Some(self.session.messages[last].id.clone());
        }
        channels.0.retain(|name, _| !name.starts_with("__") && !name.contains(':'));
        let channels = channels.left();
        if !channels.is_empty() {
            self.session.raw.insert("channels".to_owned(), Value::Object(channels));
        }
        if let Some(metadata) = value(&row.metadata) {
            self.session.raw.insert("metadata".to_owned(), metadata);
        }
    }

    /// The place of a message after `parent`: that of the same message in an earlier checkpoint, or a new one.
    fn insert(
        &mut self,
        parent: Option<usize>,
        id: String,
        mut message: Message,
        checkpoint: &str,
        at: usize,
        time: Option<threadkeep_model::Timestamp>,
    ) -> usize {
        let known = self.after.entry((parent, id.clone())).or_default();
        let same = |place: &&usize| {
            let other = &self.session.messages[**place];
            other.parts == message.parts && other.role == message.role && other.raw == message.raw
        };
        if let Some(&place) = known.iter().find(same) {
            return place;
        }
        let place = self.session.messages.len();
        known.push(place);
        message.id = match id.as_str() {
            "" => format!("{checkpoint}#{at}"),
            id if self.used.contains(id) => format!("{id}@{checkpoint}"),
            id => id.to_owned(),
        };
        if self.used.contains(&message.id) {
            message.id = format!("{}#{at}", message.id);
        }
        self.used.insert(message.id.clone());
        message.time = time;
        message.parent = parent.map(|parent| self.session.messages[parent].id.clone());
        self.session.messages.push(message);
        place
    }

    fn finish(mut self) -> Reading {
        self.session.title = first_prompt(&self.session);
        self.session.settle();
        Reading { sessions: vec![self.session], skipped: self.skipped, ..Reading::default() }
    }
}

/// A stored value as JSON.
fn plain(stored: &Stored) -> Result<Value, &'static str> {
    match stored.kind.as_str() {
        "null" | "empty" => Ok(Value::Null),
        "msgpack" => decode(&stored.bytes).ok_or("its MessagePack is damaged"),
        "json" | "" => value(&stored.bytes).map(revived).ok_or("its JSON is damaged"),
        "bytes" | "bytearray" => Ok(Value::String(String::from_utf8_lossy(&stored.bytes).into_owned())),
        "pickle" => Err("pickle can run code, so it is not read"),
        kind if kind.contains('+') => Err("it is encrypted"),
        _ => Err("its encoding is unknown"),
    }
}

/// JSON with its constructors as plain objects, each with the name of its class.
fn revived(value: Value) -> Value {
    match value {
        Value::Array(list) => Value::Array(list.into_iter().map(revived).collect()),
        Value::Object(mut map) => {
            let class = map
                .get("id")
                .and_then(Value::as_array)
                .map(|id| id.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("."));
            if map.contains_key("lc") && map.get("type").and_then(Value::as_str) == Some("constructor") {
                let mut fields = match map.remove("kwargs") {
                    Some(Value::Object(fields)) => fields,
                    _ => Map::new(),
                };
                fields.extend(class.map(|class| (CLASS.to_owned(), class.into())));
                return Value::Object(fields.into_iter().map(|(name, value)| (name, revived(value))).collect());
            }
            Value::Object(map.into_iter().map(|(name, value)| (name, revived(value))).collect())
        }
        other => other,
    }
}

/// The list of messages: the channel of that name, or the only one that holds messages.
fn conversation(channels: &mut Fields) -> Option<Value> {
    if let Some(found) = channels.value(MESSAGES) {
        return Some(found);
    }
    let holds = |value: &Value| value.get(0).is_some_and(|first| kind_of(first).is_some());
    let name = channels.0.iter().find(|(_, value)| holds(value)).map(|(name, _)| name.clone())?;
    channels.value(&name)
}

fn kind_of(value: &Value) -> Option<&'static str> {
    let class = value.get(CLASS).and_then(Value::as_str).and_then(|class| class.rsplit('.').next());
    let kind = value.get("type").or_else(|| value.get("role")).and_then(Value::as_str);
    value.get("content")?;
    match (kind, class) {
        (Some("human" | "HumanMessageChunk" | "user"), _) | (_, Some("HumanMessage" | "HumanMessageChunk")) => {
            Some("user")
        }
        (Some("ai" | "AIMessageChunk" | "assistant"), _) | (_, Some("AIMessage" | "AIMessageChunk")) => {
            Some("assistant")
        }
        (Some("tool" | "function" | "ToolMessageChunk"), _) | (_, Some("ToolMessage" | "FunctionMessage")) => {
            Some("tool")
        }
        (Some("system" | "developer" | "remove" | "chat"), _) | (_, Some("SystemMessage" | "ChatMessage")) => {
            Some("system")
        }
        _ => None,
    }
}

/// A message and its id at the source; else the value itself.
fn message(item: Value) -> Result<(String, Message), Value> {
    let role = match kind_of(&item) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        Some(_) => Role::System,
        None => return Err(item),
    };
    let Value::Object(map) = item else { return Err(item) };
    let mut fields = Fields(map);
    let id = fields.text("id").unwrap_or_default();
    let mut message = Message::new(String::new(), role);
    message.scaffolding = role == Role::System;
    let calls = fields.list("tool_calls").unwrap_or_default();
    let content = parts(fields.value("content").unwrap_or(Value::Null), None).into_iter().map(picture);
    // A call is in the list of calls; in the content it is repeated.
    message.parts = content.filter(|part| calls.is_empty() || !matches!(part, Part::ToolCall { .. })).collect();
    for call in calls {
        let text = |name: &str| call.get(name).and_then(Value::as_str).map(str::to_owned);
        message.parts.push(match (text("id"), text("name")) {
            (Some(id), Some(name)) => {
                Part::ToolCall { id, name, input: call.get("args").cloned().unwrap_or(Value::Null) }
            }
            _ => Part::Raw(call),
        });
    }
    if role == Role::Tool {
        let call = fields.text("tool_call_id").unwrap_or_default();
        let is_error = fields.text("status").as_deref() == Some("error");
        let parts = std::mem::take(&mut message.parts);
        message.parts = vec![Part::ToolResult { call, parts, is_error }];
    }
    if let Some(mut counts) = fields.object("usage_metadata") {
        message.usage = usage(&mut counts, ["input_tokens", "output_tokens", "", ""]);
        if let (Some(usage), Some(mut details)) = (message.usage.as_mut(), counts.object("input_token_details")) {
            usage.cache_read = details.count("cache_read").unwrap_or_default();
            usage.cache_write = details.count("cache_creation").unwrap_or_default();
            usage.input = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
            counts.put_back("input_token_details", details);
        }
        counts.forget(&["total_tokens"]);
        fields.put_back("usage_metadata", counts);
    }
    if let Some(mut answer) = fields.object("response_metadata") {
        message.model = answer.text("model_name").or_else(|| answer.text("model"));
        message.provider = answer.text("model_provider");
        fields.put_back("response_metadata", answer);
    }
    fields.forget(&[CLASS, "type", "role"]);
    let empty = |value: &Value| match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(flag) => !flag,
        _ => false,
    };
    message.raw = fields.left();
    message.raw.retain(|_, value| !empty(value));
    Ok((id, message))
}

/// A picture in the style of OpenAI's API.
fn picture(part: Part) -> Part {
    let Part::Raw(raw) = part else { return part };
    let image = raw.get("image_url");
    let url = image.and_then(|image| image.get("url").unwrap_or(image).as_str()).map(str::to_owned);
    match url {
        Some(url) => file_at(url, None, None),
        None => Part::Raw(raw),
    }
}

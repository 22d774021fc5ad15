//! Gemini CLI: JSON Lines that are a log of a list of messages, or one object with the list.
//!
//! A later line with the same id replaces the message. A rewind, or a new list, leaves the messages that it drops as a
//! dead branch.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{remember, remembered};
use crate::blocks::first_prompt;
use crate::fields::{Fields, Unit, as_text, file_of, usage};
use crate::lines::{Record, records, value};
use crate::reading::{Reading, Refused, Resume, Skipped, Window};
use crate::shape::{File, FileData, Message, Part, Role, Session, Source, Subagent, Thinking};

/// Reads a session in JSON Lines.
pub fn read(window: &Window<'_>, from: &Resume) -> Reading {
    let state: State = remembered(&from.state);
    let id = state.session.clone().unwrap_or_else(|| window.stem().to_owned());
    let mut reader = Reader { state, session: Session::new(Source::GeminiCli, id) };
    let mut skipped = Skipped::default();
    let mut end = records(window, from, &mut skipped, |record| reader.record(record));
    end.state = remember(&reader.state);
    let sessions = reader.finish(from.offset == 0).into_iter().collect();
    Reading { sessions, skipped, resume: end }
}

/// Reads the older form: one object with `messages`.
///
/// # Errors
/// If it is no such object.
pub fn read_object(window: &Window<'_>) -> Result<Reading, Refused> {
    let fields = value(window.bytes).and_then(Fields::of);
    let fields = fields.filter(|fields| fields.0.get("messages").is_some_and(Value::is_array));
    let fields = fields.ok_or_else(|| Refused::new("this is not a JSON object with messages"))?;
    let session = Session::new(Source::GeminiCli, window.stem());
    let mut reader = Reader { state: State::default(), session };
    reader.header(fields);
    Ok(Reading { sessions: reader.finish(true).into_iter().collect(), ..Reading::default() })
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    session: Option<String>,
    /// The list, oldest first: the id of each message, and of the last step that was made of it.
    list: Vec<(String, String)>,
}

struct Reader {
    state: State,
    session: Session,
}

impl Reader {
    fn record(&mut self, record: Record) {
        let mut fields = Fields(record.fields);
        if let Some(set) = fields.object("$set") {
            self.header(set);
        } else if let Some(id) = fields.text("$rewindTo") {
            // The list goes on before the named message; an unknown name empties it.
            let at = self.state.list.iter().position(|(known, _)| *known == id).unwrap_or(0);
            self.state.list.truncate(at);
        } else if fields.peek("sessionId").is_some() && fields.peek("type").is_none() {
            self.header(fields);
        } else if fields.peek("type").is_some() {
            self.message(record.key, fields);
        } else {
            self.session.records.push(Value::Object(fields.0));
        }
    }

    fn header(&mut self, mut fields: Fields) {
        if let Some(id) = fields.text("sessionId") {
            self.session.id.clone_from(&id);
            self.state.session = Some(id);
        }
        let times = [fields.time("startTime", Unit::Millis), fields.time("lastUpdated", Unit::Millis)];
        times.into_iter().for_each(|time| self.session.spans(time));
        self.session.title = fields.text("summary").or(self.session.title.take());
        if let Some(folder) = fields.0.get("directories").and_then(|list| list.get(0)?.as_str()) {
            self.session.folder = Some(folder.to_owned());
        }
        if let Some(list) = fields.list("messages") {
            self.state.list.clear();
            for (at, item) in list.into_iter().enumerate() {
                match item {
                    Value::Object(item) => self.message(format!("0.{}", at + 1), Fields(item)),
                    other => self.session.records.push(other),
                }
            }
        }
        self.session.raw.extend(fields.left());
    }

    fn message(&mut self, key: String, mut fields: Fields) {
        let id = fields.id("id").unwrap_or(key);
        let kind = fields.text("type").unwrap_or_default();
        let role = match kind.as_str() {
            "user" => Role::User,
            "gemini" => Role::Assistant,
            _ => Role::System,
        };
        let mut message = Message::new(id.clone(), role);
        message.time = fields.time("timestamp", Unit::Millis);
        self.session.spans(message.time);
        message.scaffolding = role == Role::System;
        if message.scaffolding {
            fields.0.insert("type".to_owned(), kind.into());
        }
        message.model = fields.text("model");
        message.provider = (role == Role::Assistant).then(|| "google".to_owned());
        for thought in fields.list("thoughts").unwrap_or_default() {
            let text = |name: &str| thought.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            let said: Vec<&str> = [text("subject"), text("description")].into_iter().flatten().collect();
            message.parts.push(match said.is_empty() {
                false => Part::Thinking(Thinking { text: said.join(": "), ..Thinking::default() }),
                true => Part::Raw(thought),
            });
        }
        message.parts.extend(content(fields.value("content")));
        if let Some(mut counts) = fields.object("tokens") {
            let cached = counts.count("cached").unwrap_or_default();
            let thoughts = counts.count("thoughts").unwrap_or_default();
            let found = usage(&mut counts, ["input", "output", "", ""]);
            message.usage = found.map(|mut found| {
                found.input = found.input.saturating_sub(cached);
                found.output = found.output.saturating_add(thoughts);
                found.cache_read = cached;
                found
            });
            counts.forget(&["total"]);
            fields.put_back("tokens", counts);
        }
        let calls = fields.list("toolCalls").unwrap_or_default().into_iter().enumerate();
        let kept: Vec<Value> = calls.filter_map(|(at, it)| call(&mut message, &id, at, it)).collect();
        if !kept.is_empty() {
            fields.0.insert("toolCalls".to_owned(), kept.into());
        }
        message.raw = fields.left();
        self.place(id, message);
    }

    /// Puts a message in the list: in the place of one with the same id, or at the end.
    fn place(&mut self, id: String, message: Message) {
        let at = self.state.list.iter().position(|(known, _)| *known == id).unwrap_or(self.state.list.len());
        let mut parent = at.checked_sub(1).map(|before| self.state.list[before].1.clone());
        let mut last = message.id.clone();
        for mut step in message.into_steps() {
            last.clone_from(&step.id);
            step.parent = parent.replace(step.id.clone());
            self.session.messages.push(step);
        }
        match self.state.list.get_mut(at) {
            Some(place) => place.1 = last,
            None => self.state.list.push((id, last)),
        }
    }

    fn finish(mut self, is_first: bool) -> Option<Session> {
        let session = &mut self.session;
        if session.title.is_none() && is_first {
            session.title = first_prompt(session);
        }
        session.settle();
        session.active = self.state.list.last().map(|(_, last)| last.clone());
        let is_empty = session.messages.is_empty() && session.records.is_empty() && self.state.session.is_none();
        (!is_empty).then_some(self.session)
    }
}

/// A call, and its result if there is one. What has no place is given back.
fn call(message: &mut Message, id: &str, at: usize, call: Value) -> Option<Value> {
    let mut call = match call {
        Value::Object(call) => Fields(call),
        other => return Some(other),
    };
    let name = call.text("id").unwrap_or_else(|| format!("{id}-call-{at}"));
    if let Some(agent) = call.text("agentId") {
        message.subagents.push(Subagent { session: agent, call: Some(name.clone()) });
    }
    let input = call.value("args").unwrap_or(Value::Null);
    message.parts.push(Part::ToolCall { id: name.clone(), name: call.text("name").unwrap_or_default(), input });
    let status = call.text("status").unwrap_or_default();
    let is_error = ["error", "cancelled"].contains(&status.as_str());
    let result = call.value("result").or_else(|| call.value("resultDisplay"));
    if result.is_some() || is_error {
        message.parts.push(Part::ToolResult { call: name.clone(), parts: results(result), is_error });
    }
    call.forget(&["timestamp", "displayName", "description", "renderOutputAsMarkdown"]);
    let mut rest = call.left();
    if rest.is_empty() {
        return None;
    }
    rest.insert("id".to_owned(), name.into());
    Some(Value::Object(rest))
}

/// Content: a string, one part, or a list of parts.
fn content(content: Option<Value>) -> Vec<Part> {
    match content {
        None => Vec::new(),
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![Part::Text(text)],
        Some(Value::Array(parts)) => parts.into_iter().map(part).collect(),
        Some(other) => vec![part(other)],
    }
}

fn part(value: Value) -> Part {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    if let Value::String(text) = value {
        return Part::Text(text);
    }
    if let Some(said) = text(&value, "text") {
        return match value.get("thought") {
            Some(Value::Bool(true)) => Part::Thinking(Thinking {
                text: said,
                signature: text(&value, "thoughtSignature"),
                sealed: None,
                provider: text(&value, "thoughtSignature").map(|_| "google".to_owned()),
            }),
            _ => Part::Text(said),
        };
    }
    if let Some(data) = value.get("inlineData")
        && let Some(bytes) = text(data, "data")
    {
        return file_of(bytes, text(data, "mimeType"), text(data, "displayName"));
    }
    if let Some(data) = value.get("fileData")
        && let Some(link) = text(data, "fileUri")
    {
        return Part::File(File { name: None, mime: text(data, "mimeType"), data: FileData::Link(link) });
    }
    Part::Raw(value)
}

/// The results of a call: the responses of functions, whose `output` or `error` is the text.
fn results(value: Option<Value>) -> Vec<Part> {
    let list = match value {
        None => return Vec::new(),
        Some(Value::Array(list)) => list,
        Some(other) => vec![other],
    };
    let one = |item: Value| {
        let response = item.get("functionResponse").and_then(|it| it.get("response"));
        let said = response.and_then(|it| it.get("output").or_else(|| it.get("error")));
        match said {
            Some(said) => Part::Text(as_text(said.clone())),
            None => part(item),
        }
    };
    list.into_iter().map(one).collect()
}

//! Codex: rollouts in JSON Lines, each line one item.
//!
//! A `response_item` is what the model saw, and becomes a message. An `event_msg` is what the person saw: it gives
//! bounds, usage and results, and messages only in files without items. A rollback makes the turns after it a dead
//! branch.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{remember, remembered};
use crate::blocks::{first_prompt, text_of};
use crate::fields::{Fields, Unit, as_text, file_at};
use crate::lines::{Record, records, value};
use crate::reading::{Reading, Refused, Resume, Skipped, Window};
use crate::shape::{Compaction, Message, Origin, OriginKind, Part, Role, Session, Source, Thinking, Usage};

/// The provider that sealed the reasoning.
const PROVIDER: &str = "openai";

/// Reads a rollout. One in Zstandard must be unpacked first, with [`unpack::zstd`](crate::unpack::zstd).
pub fn read(window: &Window<'_>, from: &Resume) -> Reading {
    let mut reader = Reader::new(remembered(&from.state));
    let mut skipped = Skipped::default();
    let mut end = records(window, from, &mut skipped, |record| reader.record(record));
    let (session, state) = reader.finish(window, from.offset == 0);
    end.state = remember(&state);
    Reading { sessions: session.into_iter().collect(), skipped, resume: end }
}

/// Reads the form of the first versions: one object with `session` and `items`.
///
/// # Errors
/// If it is no such object.
pub fn read_object(window: &Window<'_>) -> Result<Reading, Refused> {
    let fields = value(window.bytes).and_then(Fields::of);
    let mut fields = fields.ok_or_else(|| Refused::new("this is not a JSON object"))?;
    let items = fields.list("items").ok_or_else(|| Refused::new("the object has no items"))?;
    let mut reader = Reader::new(State::default());
    if let Some(session) = fields.object("session") {
        reader.meta(session);
    }
    reader.session.raw.extend(fields.left());
    let mut skipped = Skipped::default();
    for (at, item) in items.into_iter().enumerate() {
        match Fields::of(item) {
            Some(item) => reader.item((at + 1).to_string(), None, item),
            None => skipped.add(format_args!("items[{at}]"), "not a JSON object"),
        }
    }
    let (session, _) = reader.finish(window, true);
    Ok(Reading { sessions: session.into_iter().collect(), skipped, resume: Resume::default() })
}

/// What later lines need of earlier ones.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    session: Option<String>,
    /// The message after which the next one comes.
    last: Option<String>,
    /// For each turn of the person, the message before it.
    turns: Vec<Option<String>>,
    /// Where the context of the next turn began.
    context: Option<Option<String>>,
    model: Option<String>,
    /// The file has items, so its events repeat them.
    has_items: bool,
    /// Calls that an event answered; the item with the same answer says less.
    answered: HashSet<String>,
}

struct Reader {
    state: State,
    session: Session,
    /// Messages of events, for files without items.
    seen: Vec<Message>,
}

impl Reader {
    fn new(state: State) -> Self {
        let session = Session::new(Source::Codex, state.session.clone().unwrap_or_default());
        Self { state, session, seen: Vec::new() }
    }

    fn record(&mut self, record: Record) {
        let mut fields = Fields(record.fields);
        let time = fields.time("timestamp", Unit::Millis);
        let key = fields.id("ordinal").unwrap_or(record.key);
        let Some(payload) = fields.object("payload") else {
            // The first versions wrote bare items, after a bare line about the session.
            return match (fields.peek("type"), fields.peek("id")) {
                (None, Some(_)) => {
                    self.session.spans(time);
                    self.meta(fields);
                }
                (Some(_), _) => self.item(key, time, fields),
                (None, None) => self.session.records.push(Value::Object(fields.0)),
            };
        };
        self.session.spans(time);
        match fields.text("type").as_deref() {
            Some("session_meta") if self.state.session.is_none() => self.meta(payload),
            Some("response_item") => self.item(key, time, payload),
            Some("event_msg") => self.event(key, time, payload),
            Some("compacted") => self.compacted(key, time, payload),
            Some("turn_context") => {
                let model = payload.peek("model").map(str::to_owned);
                self.state.model = model.or(self.state.model.take());
                self.other("turn_context", payload);
            }
            other => self.other(other.unwrap_or_default(), payload),
        }
    }

    fn other(&mut self, kind: &str, payload: Fields) {
        self.session.records.push(json!({ "type": kind, "payload": payload.0 }));
    }

    fn meta(&mut self, mut meta: Fields) {
        let session = &mut self.session;
        if let Some(id) = meta.text("id") {
            session.id.clone_from(&id);
            self.state.session = Some(id);
        }
        let time = meta.time("timestamp", Unit::Millis);
        session.spans(time);
        session.folder = meta.text("cwd");
        if let Some(mut git) = meta.object("git") {
            session.git_branch = git.text("branch");
            meta.put_back("git", git);
        }
        let fork = meta.text("forked_from_id");
        let parent = meta.text("parent_thread_id");
        let base = meta.0.get("history_base").and_then(|base| {
            let message = base.get("end_ordinal_exclusive")?.as_u64()?.checked_sub(1)?.to_string();
            Some((base.get("thread_id")?.as_str()?.to_owned(), message))
        });
        let spawned = meta.0.get("source").and_then(|source| source.get("subagent"));
        let spawned = spawned.and_then(|it| it.get("thread_spawn")?.get("parent_thread_id")?.as_str());
        let parent = parent.or(spawned.map(str::to_owned));
        session.origin = match (parent, base, fork) {
            (Some(session), _, _) => Some(Origin { kind: OriginKind::Subagent, session, message: None, call: None }),
            (None, Some((session, message)), _) => {
                Some(Origin { kind: OriginKind::Fork, session, message: Some(message), call: None })
            }
            (None, None, Some(session)) => Some(Origin { kind: OriginKind::Fork, session, message: None, call: None }),
            (None, None, None) => None,
        };
        session.tags.extend(["agent_role", "agent_type", "agent_nickname"].iter().find_map(|name| meta.text(name)));
        session.raw.extend(meta.left());
    }

    fn item(&mut self, key: String, time: Option<threadkeep_model::Timestamp>, mut item: Fields) {
        let kind = item.text("type");
        let mut message = Message::new(key, Role::Assistant);
        message.time = time;
        match kind.as_deref() {
            Some("message") | None if item.peek("role").is_some() => {
                message.role = match item.text("role").as_deref() {
                    Some("user") => Role::User,
                    Some("assistant") => Role::Assistant,
                    _ => Role::System,
                };
                message.parts = content(item.value("content").unwrap_or(Value::Null));
                self.state.has_items = true;
            }
            Some("reasoning") => {
                let texts = |list: Option<Vec<Value>>| -> Vec<String> {
                    let texts = list.unwrap_or_default().into_iter();
                    texts.filter_map(|it| Some(it.get("text")?.as_str()?.to_owned())).collect()
                };
                let mut text = texts(item.list("summary"));
                text.extend(texts(item.list("content")));
                let sealed = item.text("encrypted_content");
                let provider = sealed.is_some().then(|| PROVIDER.to_owned());
                let thinking = Thinking { text: text.join("\n\n"), signature: None, sealed, provider };
                message.parts.push(Part::Thinking(thinking));
            }
            Some(
                kind @ ("function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call"
                | "tool_search_call"),
            ) => {
                let id = item.text("call_id").or_else(|| item.text("id")).unwrap_or_else(|| message.id.clone());
                let name = item.text("name").unwrap_or_else(|| kind.trim_end_matches("_call").to_owned());
                let input = ["arguments", "input", "action"].iter().find_map(|name| item.value(name));
                let input = match input {
                    // Arguments are JSON in a string, unless the model broke them.
                    Some(Value::String(text)) if kind == "function_call" => {
                        value(text.as_bytes()).unwrap_or(Value::String(text))
                    }
                    other => other.unwrap_or(Value::Null),
                };
                message.parts.push(Part::ToolCall { id, name, input });
            }
            Some("function_call_output" | "custom_tool_call_output" | "tool_search_output") => {
                let call = item.text("call_id").unwrap_or_else(|| message.id.clone());
                if self.state.answered.contains(&call) {
                    return;
                }
                message.role = Role::Tool;
                let (parts, is_error) = output(item.value("output").or_else(|| item.value("tools")));
                message.parts.push(Part::ToolResult { call, parts, is_error });
            }
            Some("compaction" | "compaction_summary") => {
                message.role = Role::System;
                message.scaffolding = true;
                message.compaction = Some(Compaction { summary: true, ..Compaction::default() });
                let sealed = item.text("encrypted_content");
                let provider = Some(PROVIDER.to_owned());
                message.parts.push(Part::Thinking(Thinking { sealed, provider, ..Thinking::default() }));
            }
            _ => {
                message.role = if kind.as_deref() == Some("agent_message") { Role::User } else { Role::System };
                message.scaffolding = true;
                let kind = kind.map(|kind| ("type".to_owned(), Value::String(kind)));
                message.parts.push(Part::Raw(Value::Object(kind.into_iter().chain(item.0).collect())));
                return self.push(message);
            }
        }
        message.raw = item.left();
        self.push(message);
    }

    fn push(&mut self, mut message: Message) {
        match message.role {
            Role::Assistant => {
                message.model.clone_from(&self.state.model);
                message.provider = Some(PROVIDER.to_owned());
                self.state.context = None;
            }
            Role::User if !message.scaffolding && !is_scaffolding(&text_of(&message.parts)) => {
                // The context that the program put before a prompt belongs to its turn; that of the first turn stays.
                let context = self.state.context.take().filter(|_| !self.state.turns.is_empty());
                self.state.turns.push(context.unwrap_or_else(|| self.state.last.clone()));
            }
            Role::User | Role::System => {
                message.scaffolding = true;
                self.state.context.get_or_insert_with(|| self.state.last.clone());
            }
            Role::Tool => {}
        }
        message.parent = self.state.last.replace(message.id.clone());
        self.session.messages.push(message);
    }

    fn compacted(&mut self, key: String, time: Option<threadkeep_model::Timestamp>, mut payload: Fields) {
        let mut message = Message::new(key, Role::System);
        message.time = time;
        message.scaffolding = true;
        message.compaction = Some(Compaction { summary: true, ..Compaction::default() });
        message.parts.extend(payload.text("message").filter(|text| !text.is_empty()).map(Part::Text));
        message.raw = payload.left();
        self.push(message);
        // A compaction is no part of the next turn.
        self.state.context = None;
    }

    fn event(&mut self, key: String, time: Option<threadkeep_model::Timestamp>, mut payload: Fields) {
        let kind = payload.peek("type").unwrap_or_default().to_owned();
        let mut said = |role, name: &str| {
            let mut message = Message::new(key.clone(), role);
            message.time = time;
            match payload.text(name) {
                Some(text) if kind == "agent_reasoning" => {
                    message.parts.push(Part::Thinking(Thinking { text, ..Thinking::default() }));
                }
                Some(text) => message.parts.push(Part::Text(text)),
                None => {}
            }
            let images = payload.list("images").unwrap_or_default().into_iter();
            message.parts.extend(images.filter_map(|it| Some(file_at(it.as_str()?.to_owned(), None, None))));
            message
        };
        match kind.as_str() {
            "user_message" => self.seen.push(said(Role::User, "message")),
            "agent_message" => self.seen.push(said(Role::Assistant, "message")),
            "agent_reasoning" => self.seen.push(said(Role::Assistant, "text")),
            "token_count" => {
                let info = payload.0.get("info");
                let total = info.and_then(|info| info.get("total_token_usage")).and_then(tokens);
                self.session.usage = total.or(self.session.usage);
                let last = info.and_then(|info| info.get("last_token_usage")).and_then(tokens);
                let reply = self.session.messages.iter_mut().rev().find(|it| it.role == Role::Assistant);
                if let Some(reply) = reply
                    && last.is_some()
                {
                    reply.usage = last;
                }
            }
            "thread_rolled_back" => {
                let turns = payload.count("num_turns").unwrap_or_default();
                for _ in 0..turns.min(self.state.turns.len() as u64) {
                    self.state.last = self.state.turns.pop().flatten();
                }
                self.state.context = None;
                self.other("event_msg", payload);
            }
            "exec_command_end" => {
                let Some(call) = payload.text("call_id") else { return self.other("event_msg", payload) };
                let text = payload.text("aggregated_output").or_else(|| payload.text("stdout")).unwrap_or_default();
                let is_error = payload.0.get("exit_code").and_then(Value::as_i64).is_some_and(|code| code != 0);
                let mut message = Message::new(key, Role::Tool);
                message.time = time;
                message.parts.push(Part::ToolResult { call: call.clone(), parts: vec![Part::Text(text)], is_error });
                payload.forget(&["type", "stdout", "formatted_output"]);
                message.raw = payload.left();
                if self.state.answered.insert(call) {
                    self.push(message);
                }
            }
            _ => self.other("event_msg", payload),
        }
    }

    fn finish(mut self, window: &Window<'_>, is_first: bool) -> (Option<Session>, State) {
        if !self.state.has_items {
            for message in std::mem::take(&mut self.seen) {
                self.push(message);
            }
        }
        if self.session.id.is_empty() {
            self.session.id = id_of(window.stem()).to_owned();
        }
        if self.state.session.is_none() && !self.session.messages.is_empty() {
            self.state.session = Some(self.session.id.clone());
        }
        self.session.title = first_prompt(&self.session).filter(|_| is_first);
        self.session.settle();
        self.session.active.clone_from(&self.state.last);
        let is_empty =
            self.session.messages.is_empty() && self.session.records.is_empty() && self.session.raw.is_empty();
        let is_new = is_first && self.state.session.is_some();
        ((!is_empty || is_new).then_some(self.session), self.state)
    }
}

/// The thread's id in the name of a rollout: the 36 characters after the time.
fn id_of(stem: &str) -> &str {
    let after = stem.strip_prefix("rollout-").and_then(|rest| rest.get(20..));
    after.map_or(stem, |id| id.get(..36).unwrap_or(id))
}

fn content(value: Value) -> Vec<Part> {
    let items = match value {
        Value::Array(items) => items,
        Value::Null => return Vec::new(),
        other => return vec![Part::Text(as_text(other))],
    };
    let part = |item: Value| {
        let text = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
        match item.get("type").and_then(Value::as_str) {
            Some("input_text" | "output_text" | "text") if text("text").is_some() => {
                Part::Text(text("text").unwrap_or_default())
            }
            Some("input_image") if text("image_url").is_some() => {
                file_at(text("image_url").unwrap_or_default(), None, None)
            }
            _ => Part::Raw(item),
        }
    };
    items.into_iter().map(part).collect()
}

/// The output of a call: text, items, or an object with `content` and `success`. Text may be JSON with an exit code.
fn output(value: Option<Value>) -> (Vec<Part>, bool) {
    match value {
        Some(Value::Object(mut map)) if map.contains_key("content") => {
            let failed = map.get("success") == Some(&Value::Bool(false));
            (content(map.remove("content").unwrap_or(Value::Null)), failed)
        }
        Some(Value::String(text)) => {
            let code = text.starts_with('{').then(|| serde_json::from_str::<Value>(&text).ok()).flatten();
            let code = code.and_then(|it| it.get("metadata")?.get("exit_code")?.as_i64());
            (vec![Part::Text(text)], code.is_some_and(|code| code != 0))
        }
        other => (content(other.unwrap_or(Value::Null)), false),
    }
}

/// Counts of tokens. Those of the input include the cached ones.
fn tokens(value: &Value) -> Option<Usage> {
    let count = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or_default();
    let cached = count("cached_input_tokens");
    let input = count("input_tokens").saturating_sub(cached);
    Usage { input, output: count("output_tokens"), cache_read: cached, cache_write: 0 }.if_any()
}

/// Text that the program put before a prompt.
fn is_scaffolding(text: &str) -> bool {
    const STARTS: [&str; 7] = [
        "<environment_context>",
        "<user_instructions>",
        "<permissions",
        "<collaboration_mode>",
        "<turn_aborted>",
        "<skill>",
        "# AGENTS.md instructions",
    ];
    let text = text.trim_start();
    STARTS.iter().any(|start| text.starts_with(start))
}

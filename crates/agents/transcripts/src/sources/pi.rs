//! pi: JSON Lines, a tree of entries by `id` and `parentId`.
//!
//! Entries of version 1 have no ids: their line is their id, and each follows the one before. Version 4 writes entries
//! and registers; a register names the leaf.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{remember, remembered};
use crate::blocks::{first_prompt, parts};
use crate::fields::{Fields, Unit, usage};
use crate::lines::{Record, records};
use crate::reading::{Reading, Resume, Skipped, Window};
use crate::shape::{Compaction, Message, Origin, OriginKind, Part, Role, Session, Source};

/// Reads a session of pi.
pub fn read(window: &Window<'_>, from: &Resume) -> Reading {
    let state: State = remembered(&from.state);
    let id = state.session.clone().unwrap_or_else(|| window.stem().to_owned());
    let mut reader = Reader { state, session: Session::new(Source::Pi, id) };
    let mut skipped = Skipped::default();
    let mut end = records(window, from, &mut skipped, |record| reader.record(record));
    let Reader { state, mut session } = reader;
    session.title = session.title.take().or_else(|| (from.offset == 0).then(|| first_prompt(&session)).flatten());
    session.settle();
    session.active = state.leaf.clone().or_else(|| state.last.clone());
    end.state = remember(&state);
    let is_empty = session.messages.is_empty() && session.records.is_empty() && state.session.is_none();
    Reading { sessions: if is_empty { Vec::new() } else { vec![session] }, skipped, resume: end }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    session: Option<String>,
    last: Option<String>,
    /// The leaf that version 4 names.
    leaf: Option<String>,
    model: Option<String>,
    provider: Option<String>,
}

struct Reader {
    state: State,
    session: Session,
}

impl Reader {
    fn record(&mut self, record: Record) {
        let mut fields = Fields(record.fields);
        match fields.peek("kind") {
            Some("header") => return self.header(fields),
            Some("register") => return self.register(fields),
            Some("entry") => fields.forget(&["kind"]),
            Some(_) => return self.session.records.push(Value::Object(fields.0)),
            None => {}
        }
        match fields.text("type").as_deref() {
            Some("session") => self.header(fields),
            Some(kind) => self.entry(kind, record.key, fields),
            None => self.session.records.push(Value::Object(fields.0)),
        }
    }

    fn header(&mut self, mut fields: Fields) {
        let session = &mut self.session;
        if let Some(id) = fields.text("id") {
            session.id.clone_from(&id);
            self.state.session = Some(id);
        }
        session.folder = fields.text("cwd");
        let time = fields.time("timestamp", Unit::Millis).or_else(|| fields.time("createdAt", Unit::Millis));
        session.spans(time);
        self.state.model = fields.text("modelId");
        self.state.provider = fields.text("provider");
        let from = fields.text("parentSession").or_else(|| fields.text("branchedFrom"));
        session.origin = from.map(|path| {
            // The path of the other file ends in its time and its id.
            let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
            let stem = name.strip_suffix(".jsonl").unwrap_or(name);
            let id = stem.split_once('_').map_or(stem, |(_, id)| id);
            Origin { kind: OriginKind::Fork, session: id.to_owned(), message: None, call: None }
        });
        fields.forget(&["v", "kind"]);
        session.raw.extend(fields.left());
    }

    fn register(&mut self, mut fields: Fields) {
        if fields.peek("namespace") == Some("lane.leaf") && fields.peek("key") == Some("main") {
            self.state.leaf = fields.text("value");
            return;
        }
        self.session.records.push(Value::Object(fields.0));
    }

    fn entry(&mut self, kind: &str, key: String, mut fields: Fields) {
        let is_linked = fields.peek("id").is_some();
        let id = fields.text("id").unwrap_or(key);
        let parent = fields.text("parentId");
        let mut message = Message::new(id, Role::System);
        message.parent = if is_linked { parent } else { self.state.last.clone() };
        message.time = fields.time("timestamp", Unit::Millis);
        self.session.spans(message.time);
        message.scaffolding = true;
        match kind {
            "message" => match fields.object("message") {
                Some(said) => self.said(&mut message, said),
                None => message.parts.push(Part::Raw(kept(kind, &mut fields))),
            },
            "compaction" => {
                let kept = fields.text("firstKeptEntryId");
                // Counted from 0 over all lines; ids count from 1.
                let index = fields.count("firstKeptEntryIndex").map(|index| (index.saturating_add(1)).to_string());
                let tokens_before = fields.count("tokensBefore");
                let trigger = None;
                message.compaction =
                    Some(Compaction { summary: true, first_kept: kept.or(index), tokens_before, trigger });
                message.parts.extend(fields.text("summary").map(Part::Text));
            }
            "branch_summary" => message.parts.extend(fields.text("summary").map(Part::Text)),
            "custom_message" => {
                message.role = Role::User;
                message.parts = parts(fields.value("content").unwrap_or(Value::Null), None);
            }
            "model_change" => {
                self.state.model = fields.peek("modelId").map(str::to_owned);
                self.state.provider = fields.peek("provider").map(str::to_owned);
                message.parts.push(Part::Raw(kept(kind, &mut fields)));
            }
            "session_info" => {
                self.session.title = fields.peek("name").map(str::to_owned).or(self.session.title.take());
                message.parts.push(Part::Raw(kept(kind, &mut fields)));
            }
            _ => message.parts.push(Part::Raw(kept(kind, &mut fields))),
        }
        fields.forget(&["seq"]);
        message.raw.extend(fields.left());
        self.state.last = Some(message.id.clone());
        self.session.messages.push(message);
    }

    fn said(&self, message: &mut Message, mut said: Fields) {
        message.time = said.time("timestamp", Unit::Millis).or(message.time);
        message.scaffolding = false;
        let role = said.text("role").unwrap_or_default();
        let content =
            |said: &mut Fields, provider: Option<&str>| parts(said.value("content").unwrap_or(Value::Null), provider);
        match role.as_str() {
            "user" => {
                message.role = Role::User;
                message.parts = content(&mut said, None);
            }
            "assistant" => {
                message.role = Role::Assistant;
                message.model = said.text("model").or_else(|| self.state.model.clone());
                message.provider = said.text("provider").or_else(|| self.state.provider.clone());
                message.parts = content(&mut said, message.provider.as_deref());
                if let Some(mut counts) = said.object("usage") {
                    message.usage = usage(&mut counts, ["input", "output", "cacheRead", "cacheWrite"]);
                    counts.forget(&["totalTokens"]);
                    said.put_back("usage", counts);
                }
            }
            "toolResult" => {
                message.role = Role::Tool;
                let call = said.text("toolCallId").unwrap_or_default();
                let parts = content(&mut said, None);
                message.parts.push(Part::ToolResult { call, parts, is_error: said.flag("isError") });
            }
            "bashExecution" => {
                // The person ran it, not the model: it reads as a prompt with what came out.
                message.role = Role::User;
                let command = said.text("command").unwrap_or_default();
                message.parts.push(Part::Text(format!("$ {command}\n{}", said.text("output").unwrap_or_default())));
                message.out_of_context = said.is("excludeFromContext");
            }
            "compactionSummary" => {
                message.scaffolding = true;
                message.compaction = Some(Compaction { summary: true, ..Compaction::default() });
                message.parts.extend(said.text("summary").map(Part::Text));
            }
            other => {
                message.role = Role::User;
                message.scaffolding = true;
                message.parts.extend(said.text("summary").map(Part::Text));
                message.parts.extend(content(&mut said, None));
                said.0.insert("role".to_owned(), other.into());
            }
        }
        message.raw = said.left();
    }
}

fn kept(kind: &str, fields: &mut Fields) -> Value {
    let kind = std::iter::once(("type".to_owned(), Value::from(kind)));
    Value::Object(kind.chain(std::mem::take(&mut fields.0)).collect())
}

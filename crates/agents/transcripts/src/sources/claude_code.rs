//! Claude Code: JSON Lines, a tree of records by `uuid` and `parentUuid`.
//!
//! One reply is several lines with the same `message.id`, which become one message. Results of parallel calls are
//! siblings in the file; here they follow each other, since they are no branches. Subagents are sessions of their own,
//! also those whose records are in the file of their parent.

use std::collections::{HashMap, HashSet};
use std::mem;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{remember, remembered};
use crate::blocks::{first_prompt, parts, text_of};
use crate::fields::{Fields, Unit, usage};
use crate::lines::{Record, records, value};
use crate::reading::{Reading, Resume, Skipped, Window};
use crate::shape::{Compaction, Message, Origin, OriginKind, Part, Role, Session, Source, Subagent};

/// The provider whose signatures the thinking has.
const PROVIDER: &str = "anthropic";

/// Reads a session, or the file of a subagent. `meta` is the file `agent-ID.meta.json` beside it.
pub fn read(window: &Window<'_>, meta: Option<&[u8]>, from: &Resume) -> Reading {
    let (state, sidechains) = remembered(&from.state);
    let mut reader = Reader { state, sidechains, ..Reader::default() };
    reader.agent = window.stem().strip_prefix("agent-").map(str::to_owned);
    let mut skipped = Skipped::default();
    let end = records(window, from, &mut skipped, |record| reader.record(record));
    reader.finish(window, meta, end, from, skipped)
}

/// What later lines need of earlier ones.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct State {
    /// The session of the file.
    session: Option<String>,
    /// The reply whose results may still come, for each session of the file.
    groups: HashMap<String, Group>,
    /// The strength of the title, so that a weaker one does not replace it.
    title: u8,
    /// A `last-prompt` pinned the leaf.
    pinned: bool,
    /// The last message of the file, for old records without links.
    last: Option<String>,
    /// A record named its parent.
    linked: bool,
}

/// A reply, its calls, and the results that followed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Group {
    reply: String,
    message: Option<String>,
    lines: Vec<String>,
    calls: HashSet<String>,
    chain: Vec<String>,
}

#[derive(Default)]
struct Reader {
    state: State,
    /// Records of subagents within the file, each with the name of its subagent. They are remembered too, but apart from
    /// `state`: reading lines again adds the same.
    sidechains: HashMap<String, String>,
    agent: Option<String>,
    sessions: Vec<Session>,
    /// Where each message is: its session, and its place in it.
    places: HashMap<String, (usize, usize)>,
    aliases: HashMap<String, String>,
    /// For each session, where the reading of its unfinished reply must begin again.
    open: HashMap<usize, (u64, u64, State)>,
    titles: HashMap<usize, (u8, String)>,
    leaf: HashMap<usize, String>,
    prompts: HashMap<String, String>,
}

impl Reader {
    fn record(&mut self, record: Record) {
        let Record { key, offset, line, fields } = record;
        let fields = Fields(fields);
        let kind = fields.peek("type").unwrap_or_default().to_owned();
        let session = fields.peek("sessionId").map(str::to_owned);
        if self.state.session.is_none() {
            self.state.session = session;
        }
        match kind.as_str() {
            "user" | "assistant" | "system" => self.message(&kind, key, offset, line, fields),
            "attachment" | "progress" if fields.peek("uuid").is_some() => {
                self.message(&kind, key, offset, line, fields);
            }
            "summary" => self.titled(1, fields, "summary"),
            "agent-name" => self.titled(2, fields, "agentName"),
            "ai-title" => self.titled(3, fields, "aiTitle"),
            "custom-title" => self.titled(4, fields, "customTitle"),
            "last-prompt" => {
                let at = self.main();
                let pin = fields.is("explicit");
                if let Some(leaf) = fields.peek("leafUuid")
                    && (pin || !self.state.pinned)
                {
                    self.leaf.insert(at, leaf.to_owned());
                    self.state.pinned = pin;
                }
                self.keep(at, fields);
            }
            _ => {
                let at = self.main();
                self.keep(at, fields);
            }
        }
    }

    fn keep(&mut self, at: usize, fields: Fields) {
        self.sessions[at].records.push(Value::Object(fields.0));
    }

    fn titled(&mut self, strength: u8, mut fields: Fields, name: &str) {
        let at = self.main();
        if let Some(title) = fields.text(name).filter(|title| !title.trim().is_empty())
            && strength >= self.state.title
        {
            self.state.title = strength;
            self.titles.insert(at, (strength, title));
        }
        fields.forget(&["type", "sessionId", "leafUuid"]);
        if !fields.0.is_empty() {
            self.keep(at, fields);
        }
    }

    /// The session of the file itself.
    fn main(&mut self) -> usize {
        if self.sessions.is_empty() {
            self.sessions.push(Session::new(Source::ClaudeCode, String::new()));
        }
        0
    }

    fn session_at(&mut self, id: &str) -> usize {
        self.main();
        if let Some(at) = self.sessions.iter().skip(1).position(|session| session.id == id) {
            return at + 1;
        }
        self.sessions.push(Session::new(Source::ClaudeCode, id));
        self.sessions.len() - 1
    }

    /// The session of a record: subagents within the file have their own.
    fn place(&mut self, uuid: &str, fields: &Fields) -> usize {
        if !fields.is("isSidechain") || self.agent.is_some() {
            return self.main();
        }
        let parent = fields.peek("parentUuid");
        let known = parent.and_then(|parent| self.sidechains.get(parent)).cloned();
        let root = known.unwrap_or_else(|| match fields.peek("agentId") {
            Some(agent) => format!("agent-{agent}"),
            None => format!("sidechain-{uuid}"),
        });
        self.sidechains.insert(uuid.to_owned(), root.clone());
        let main = self.state.session.clone().unwrap_or_default();
        let at = self.session_at(&format!("{main}/{root}"));
        if self.sessions[at].origin.is_none() {
            let prompt = fields.0.get("message").and_then(|it| it.get("content")).and_then(Value::as_str);
            let call = prompt.and_then(|prompt| self.prompts.get(prompt)).cloned();
            self.sessions[at].origin = Some(Origin { kind: OriginKind::Subagent, session: main, message: None, call });
        }
        at
    }

    fn message(&mut self, kind: &str, key: String, offset: u64, line: u64, mut fields: Fields) {
        let named = fields.text("uuid");
        let is_named = named.is_some();
        let uuid = named.unwrap_or(key);
        let at = self.place(&uuid, &fields);
        let parent = fields.text("parentUuid").or_else(|| fields.text("logicalParentUuid"));
        self.state.linked |= parent.is_some();
        // Old files have no links, and then each record follows the one before.
        let before = self.state.last.clone().filter(|_| at == 0 && !(is_named && self.state.linked));
        let parent = parent.or(before).map(|parent| self.resolve(parent));
        let time = fields.time("timestamp", Unit::Millis);
        let session = &mut self.sessions[at];
        session.spans(time);
        let (cwd, branch) = (fields.text("cwd"), fields.text("gitBranch").filter(|branch| !branch.is_empty()));
        session.folder = mem::take(&mut session.folder).or(cwd);
        session.git_branch = branch.or(mem::take(&mut session.git_branch));
        let is_meta = fields.is("isMeta") || fields.is("isVisibleInTranscriptOnly");
        let mut message = Message::new(uuid.clone(), Role::User);
        message.time = time;
        message.parent = parent;
        message.scaffolding = is_meta;
        match kind {
            "assistant" => return self.reply(at, message, fields, offset, line),
            "user" => {
                let mut said = said(&mut fields);
                message.parts = parts(said.value("content").unwrap_or(Value::Null), Some(PROVIDER));
                said.forget(&["role"]);
                fields.put_back("message", said);
                message.settle_role();
                if fields.flag("isCompactSummary") {
                    message.compaction = Some(Compaction { summary: true, ..Compaction::default() });
                    message.scaffolding = true;
                }
                if is_markup(&text_of(&message.parts)) {
                    message.scaffolding = true;
                }
                if message.role == Role::Tool {
                    message.parent = self.after_results(at, &message);
                    self.subagent(&mut message, &fields);
                } else {
                    message.parent = message.parent.map(|parent| self.end_of_results(at, parent));
                    self.close(at);
                }
            }
            "system" => {
                let boundary = fields.peek("subtype").is_some_and(|subtype| subtype == "compact_boundary");
                let content = fields.text("content");
                if content.is_none() && !boundary {
                    return self.aside(at, uuid, message.parent, fields);
                }
                message.role = Role::System;
                message.scaffolding = true;
                message.parts.extend(content.map(Part::Text));
                message.parent = message.parent.map(|parent| self.end_of_results(at, parent));
                if boundary {
                    message.compaction = Some(boundary_mark(&mut fields));
                    self.leaf.remove(&at);
                    self.state.pinned = false;
                }
            }
            "attachment" => {
                message.role = Role::System;
                message.scaffolding = true;
                message.parts.extend(fields.value("attachment").map(Part::Raw));
                message.parent = message.parent.map(|parent| self.end_of_results(at, parent));
            }
            _ => return self.aside(at, uuid, message.parent, fields),
        }
        envelope(&mut fields);
        message.raw = fields.left();
        self.push(at, message);
    }

    /// A record that only stands between others: whatever names it as parent means the message before it.
    fn aside(&mut self, at: usize, uuid: String, parent: Option<String>, mut fields: Fields) {
        if let Some(parent) = parent {
            self.alias(at, uuid.clone(), parent);
        }
        fields.0.insert("uuid".to_owned(), uuid.into());
        self.keep(at, fields);
    }

    fn reply(&mut self, at: usize, mut message: Message, mut fields: Fields, offset: u64, line: u64) {
        let mut said = said(&mut fields);
        message.role = Role::Assistant;
        message.provider = Some(PROVIDER.to_owned());
        message.parts = parts(said.value("content").unwrap_or(Value::Null), Some(PROVIDER));
        // A notice of the program in the shape of a reply.
        let model = said.text("model");
        message.scaffolding |= model.as_deref() == Some("<synthetic>");
        message.model = model.filter(|model| model != "<synthetic>");
        if message.scaffolding {
            message.provider = None;
        }
        if let Some(mut counts) = said.object("usage") {
            message.usage = usage(
                &mut counts,
                ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"],
            );
            counts.forget(&["cache_creation", "service_tier"]);
            said.put_back("usage", counts);
        }
        let name = said.text("id");
        said.forget(&["role", "type"]);
        fields.put_back("message", said);
        envelope(&mut fields);
        for part in &message.parts {
            if let Part::ToolCall { id, input, .. } = part
                && let Some(prompt) = input.get("prompt").and_then(Value::as_str)
            {
                self.prompts.insert(prompt.to_owned(), id.clone());
            }
        }
        let calls = message.parts.iter().filter_map(|part| match part {
            Part::ToolCall { id, .. } => Some(id.clone()),
            Part::Text(_) | Part::Thinking(_) | Part::ToolResult { .. } | Part::File(_) | Part::Raw(_) => None,
        });
        let calls: Vec<String> = calls.collect();
        let owner = self.sessions[at].id.clone();
        let group = self.state.groups.get(&owner);
        let same = group.is_some_and(|group| group.message == name && name.is_some());
        if same && let Some(group) = self.state.groups.get_mut(&owner) {
            group.calls.extend(calls);
            group.lines.push(message.id.clone());
            let reply = group.reply.clone();
            self.alias(at, message.id.clone(), reply.clone());
            if let Some(&(session, place)) = self.places.get(&reply) {
                let first = &mut self.sessions[session].messages[place];
                first.parts.append(&mut message.parts);
                // Every line repeats the usage; the last one has the final count.
                first.usage = message.usage.or(first.usage);
                first.raw.extend(fields.left());
            }
            return;
        }
        message.parent = message.parent.take().map(|parent| self.end_of_results(at, parent));
        self.close(at);
        self.open.insert(at, (offset, line, self.state.clone()));
        let lines = vec![message.id.clone()];
        let calls = calls.into_iter().collect();
        let group = Group { reply: message.id.clone(), message: name.clone(), lines, calls, chain: Vec::new() };
        self.state.groups.insert(owner, group);
        message.raw = fields.left();
        message.raw.extend(name.map(|name| ("messageId".to_owned(), name.into())));
        self.push(at, message);
    }

    /// The reply before is finished. When the main session goes on, its subagents are done too.
    fn close(&mut self, at: usize) {
        if at == 0 {
            self.open.clear();
        } else {
            self.open.remove(&at);
        }
    }

    /// Results of a reply's calls follow each other.
    fn after_results(&mut self, at: usize, message: &Message) -> Option<String> {
        let owner = &self.sessions[at].id;
        let parent = message.parent.clone();
        let Some(group) = self.state.groups.get_mut(owner) else { return parent };
        let of_group = parent.as_ref().is_some_and(|parent| *parent == group.reply || group.lines.contains(parent));
        let mut answers = message.parts.iter().filter_map(|part| match part {
            Part::ToolResult { call, .. } => Some(call),
            Part::Text(_) | Part::Thinking(_) | Part::ToolCall { .. } | Part::File(_) | Part::Raw(_) => None,
        });
        // A second answer to the same call is a branch: the call ran again after a rewind.
        if !of_group || !answers.all(|call| group.calls.remove(call)) {
            return parent;
        }
        let before = group.chain.last().cloned().or(parent);
        group.chain.push(message.id.clone());
        before
    }

    /// A message after any of the results comes after all of them.
    fn end_of_results(&self, at: usize, parent: String) -> String {
        let group = self.state.groups.get(&self.sessions[at].id);
        match group {
            Some(group) if group.chain.contains(&parent) => group.chain.last().cloned().unwrap_or(parent),
            _ => parent,
        }
    }

    /// The result of a subagent's call names the subagent.
    fn subagent(&self, message: &mut Message, fields: &Fields) {
        let agent = fields.0.get("toolUseResult").and_then(|result| result.get("agentId")).and_then(Value::as_str);
        let (Some(agent), Some(main)) = (agent, &self.state.session) else { return };
        let call = message.parts.iter().find_map(|part| match part {
            Part::ToolResult { call, .. } => Some(call.clone()),
            Part::Text(_) | Part::Thinking(_) | Part::ToolCall { .. } | Part::File(_) | Part::Raw(_) => None,
        });
        message.subagents.push(Subagent { session: format!("{main}/agent-{agent}"), call });
    }

    fn push(&mut self, at: usize, message: Message) {
        if self.places.contains_key(&message.id) {
            // A file that was resumed repeats its records: the first of them counts.
            return;
        }
        if at == 0 {
            self.state.last = Some(message.id.clone());
        }
        self.places.insert(message.id.clone(), (at, self.sessions[at].messages.len()));
        self.sessions[at].messages.push(message);
    }

    fn alias(&mut self, at: usize, from: String, to: String) {
        self.sessions[at].aliases.push((from.clone(), to.clone()));
        self.aliases.insert(from, to);
    }

    fn resolve(&self, name: String) -> String {
        self.aliases.get(&name).cloned().unwrap_or(name)
    }

    fn finish(
        mut self,
        window: &Window<'_>,
        meta: Option<&[u8]>,
        mut end: Resume,
        from: &Resume,
        skipped: Skipped,
    ) -> Reading {
        let main = self.state.session.clone().unwrap_or_else(|| window.stem().to_owned());
        for (at, session) in self.sessions.iter_mut().enumerate() {
            if at == 0 {
                session.id = main.clone();
                if let Some(agent) = &self.agent {
                    session.id = format!("{main}/agent-{agent}");
                    session.origin = Some(spawned(&main, meta, session));
                }
            }
            session.title = self
                .titles
                .get(&at)
                .map(|(_, title)| title.clone())
                .or_else(|| (from.offset == 0).then(|| first_prompt(session)).flatten());
            let leaf = self.leaf.remove(&at).map(|leaf| self.aliases.get(&leaf).cloned().unwrap_or(leaf));
            session.settle();
            session.active = leaf.or(session.active.take());
        }
        self.sessions
            .retain(|session| !session.messages.is_empty() || !session.records.is_empty() || session.title.is_some());
        end.state = remember(&(&self.state, &self.sidechains));
        // A window that is all one reply must still be passed, or the caller would never get on.
        if let Some((offset, line, state)) = self.open.into_values().min_by_key(|(offset, ..)| *offset)
            && (window.is_last || offset > from.offset)
        {
            end = Resume { offset, line, in_long_line: false, state: remember(&(&state, &self.sidechains)) };
        }
        Reading { sessions: self.sessions, skipped, resume: end }
    }
}

/// What a record says. A few records have a text in the place of the message.
fn said(fields: &mut Fields) -> Fields {
    let message = fields.object("message");
    message.unwrap_or_else(|| {
        let text = fields.text("message").map(|text| ("content".to_owned(), Value::String(text)));
        Fields(text.into_iter().collect())
    })
}

/// Where a subagent in a file of its own came from.
fn spawned(main: &str, meta: Option<&[u8]>, session: &mut Session) -> Origin {
    let mut call = None;
    if let Some(mut meta) = meta.and_then(value).and_then(Fields::of) {
        call = ["toolUseId", "tool_use_id", "toolUseID"].iter().find_map(|name| meta.text(name));
        session.tags.extend(meta.text("agentType"));
        session.raw.extend(meta.left());
    }
    Origin { kind: OriginKind::Subagent, session: main.to_owned(), message: None, call }
}

fn boundary_mark(fields: &mut Fields) -> Compaction {
    let mut mark = Compaction::default();
    if let Some(mut meta) = fields.object("compactMetadata") {
        mark.trigger = meta.text("trigger");
        mark.tokens_before = meta.count("preTokens");
        let kept = meta.0.get("preservedMessages").and_then(|kept| kept.get("uuids")?.get(0)?.as_str());
        mark.first_kept = kept.map(str::to_owned);
        fields.put_back("compactMetadata", meta);
    }
    mark
}

/// Removes what every line repeats.
fn envelope(fields: &mut Fields) {
    fields.forget(&["type", "sessionId", "isSidechain", "userType", "version", "entrypoint", "slug"]);
    if !fields.is("isMeta") {
        fields.forget(&["isMeta"]);
    }
}

/// Text that is only the markup of a slash command, its output, or a reminder.
fn is_markup(text: &str) -> bool {
    const TAGS: [&str; 8] = [
        "command-name",
        "command-message",
        "command-args",
        "local-command-stdout",
        "local-command-stderr",
        "local-command-caveat",
        "system-reminder",
        "bash-input",
    ];
    let mut rest = text.trim();
    let mut found = false;
    while let Some(tagged) = rest.strip_prefix('<') {
        let Some(tag) = TAGS.iter().find(|tag| tagged.starts_with(&format!("{tag}>"))) else { return false };
        let close = format!("</{tag}>");
        let Some(end) = rest.find(&close) else { return false };
        rest = rest[end + close.len()..].trim_start();
        found = true;
    }
    found && rest.is_empty()
}

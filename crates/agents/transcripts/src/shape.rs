//! The neutral shape of a conversation: what every reader gives, whatever agent wrote it.
//!
//! A [`Session`] holds a tree of [`Message`]s. A message is named by (source, session, message), so reading a file
//! again gives the same names. Fields without a place in this shape stay as raw JSON.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use threadkeep_model::{Invalid, Timestamp};

/// The agents whose conversations can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// JSON Lines, with a tree of records and subagents in files of their own.
    ClaudeCode,
    /// Rollouts in JSON Lines.
    Codex,
    /// A database, or the JSON of `opencode export`.
    #[serde(rename = "opencode")]
    OpenCode,
    /// A database, the JSON of an export, or JSON Lines.
    Goose,
    /// JSON Lines, with a tree of entries.
    Pi,
    /// The JSON of `amp threads export`.
    Amp,
    /// JSON Lines, or one JSON object.
    GeminiCli,
    /// JSON arrays in the style of Anthropic's API.
    Cline,
    /// A database of compressed JSON.
    Zed,
    /// The zip archive of an account, or its `conversations.json`.
    #[serde(rename = "chatgpt")]
    ChatGpt,
    /// The database of a checkpoint saver.
    #[serde(rename = "langgraph")]
    LangGraph,
    /// A thread that was written here: it can be exported, and not imported.
    Threadkeep,
}

impl Source {
    /// Every agent that can be read, in the order in which help lists them.
    pub const ALL: [Self; 11] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::OpenCode,
        Self::Goose,
        Self::Pi,
        Self::Amp,
        Self::GeminiCli,
        Self::Cline,
        Self::Zed,
        Self::ChatGpt,
        Self::LangGraph,
    ];

    /// The name on the command line and in keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Goose => "goose",
            Self::Pi => "pi",
            Self::Amp => "amp",
            Self::GeminiCli => "gemini-cli",
            Self::Cline => "cline",
            Self::Zed => "zed",
            Self::ChatGpt => "chatgpt",
            Self::LangGraph => "langgraph",
            Self::Threadkeep => "threadkeep",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Source {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|source| source.as_str() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Invalid::parameter("source", format!("'{text}' is not one of {known}"))
        })
    }
}

/// One conversation of another agent, or a part of it that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// The agent that wrote it.
    pub source: Source,
    /// Its id at the source. Subagents without an id of their own have that of their parent, `/` and a name.
    pub id: String,
    /// The best title of the source.
    pub title: Option<String>,
    /// The working folder.
    pub folder: Option<String>,
    /// The branch of git that was checked out.
    pub git_branch: Option<String>,
    /// When it began.
    pub created: Option<Timestamp>,
    /// When it last changed.
    pub updated: Option<Timestamp>,
    /// Labels of the source, and `archived` or `starred` where it says so.
    pub tags: Vec<String>,
    /// The session that this one was started or copied from.
    pub origin: Option<Origin>,
    /// The messages. A parent comes before its children if this reading holds both.
    pub messages: Vec<Message>,
    /// The message at which the conversation goes on: its branch is the thread.
    pub active: Option<String>,
    /// Further names of messages, each with the id of its message: parents can be named by them.
    pub aliases: Vec<(String, String)>,
    /// Totals, where the source counts them for the whole session.
    pub usage: Option<Usage>,
    /// Fields of the session without a place in this shape.
    pub raw: Map<String, Value>,
    /// Records of the source that belong to no message.
    pub records: Vec<Value>,
}

/// How a session hangs on another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// Whether it works for that session or was copied from it.
    pub kind: OriginKind,
    /// The id of the other session, at the same source.
    pub session: String,
    /// The last message both have, or the message that started the subagent.
    pub message: Option<String>,
    /// The tool call that started the subagent.
    pub call: Option<String>,
}

/// The two relations between sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginKind {
    /// A tool call of the other session started this one.
    Subagent,
    /// The session begins with the messages of the other one.
    Fork,
}

/// Who a message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person, or the program in its place.
    User,
    /// The model.
    Assistant,
    /// The agent's program: instructions, notices, compactions.
    System,
    /// Tools: every part is a result.
    Tool,
}

impl Role {
    /// The word for the role.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
        }
    }
}

/// One message of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its id at the source, or its place where the source gives none. It stays the same when the file grows.
    pub id: String,
    /// The message before it, by id or alias. It may be in a part of the file that was read before.
    pub parent: Option<String>,
    /// Who it is from.
    pub role: Role,
    /// When it was written, by the source's clock.
    pub time: Option<Timestamp>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// The provider of the model.
    pub provider: Option<String>,
    /// What it says, in order.
    pub parts: Vec<Part>,
    /// Tokens that the reply cost.
    pub usage: Option<Usage>,
    /// A program wrote the text, not the person or the model: lists and search can leave it out.
    pub scaffolding: bool,
    /// The model no longer sees it.
    pub out_of_context: bool,
    /// The context was compacted here.
    pub compaction: Option<Compaction>,
    /// Sessions that this message started.
    pub subagents: Vec<Subagent>,
    /// Fields of the message without a place in this shape.
    pub raw: Map<String, Value>,
}

/// A session that a message started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Subagent {
    /// The id of the subagent's session, at the same source.
    pub session: String,
    /// The tool call that started it.
    pub call: Option<String>,
}

/// The mark of a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Compaction {
    /// The message is the summary that replaced the history before it.
    pub summary: bool,
    /// The first message that the model still sees as it was.
    pub first_kept: Option<String>,
    /// Tokens of the context before.
    pub tokens_before: Option<u64>,
    /// What caused it, such as `auto` or `manual`.
    pub trigger: Option<String>,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Text for the reader.
    Text(String),
    /// Reasoning of a model.
    Thinking(Thinking),
    /// A call of a tool.
    ToolCall {
        /// The id that the result repeats.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments.
        input: Value,
    },
    /// The answer to a call.
    ToolResult {
        /// The id of the call.
        call: String,
        /// Text, files and raw parts.
        parts: Vec<Part>,
        /// The tool failed, or was stopped.
        is_error: bool,
    },
    /// A picture or another file.
    File(File),
    /// A part of a kind without a place in this shape.
    Raw(Value),
}

/// Reasoning. A signature or sealed text only means something to the provider that made it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thinking {
    /// The reasoning, or its summary; empty if the provider sealed it.
    pub text: String,
    /// The provider's signature of the text.
    pub signature: Option<String>,
    /// Reasoning that only the provider can read.
    pub sealed: Option<String>,
    /// The provider that made the signature or the sealed text.
    pub provider: Option<String>,
}

impl Thinking {
    /// Whether it holds values that are useless to other providers.
    pub fn is_bound(&self) -> bool {
        self.signature.is_some() || self.sealed.is_some()
    }
}

/// A picture or another file of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name at the source. It may be a path, and must never be used as one.
    pub name: Option<String>,
    /// Its media type.
    pub mime: Option<String>,
    /// Its bytes, or where the source says they are.
    pub data: FileData,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileData {
    /// The bytes, as they were stored.
    Bytes(Vec<u8>),
    /// An address or a pointer, which no reader follows.
    Link(String),
}

/// Tokens, as the source counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens read, without those from a cache.
    pub input: u64,
    /// Tokens written, with those of reasoning.
    pub output: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
    /// Tokens written to a cache.
    pub cache_write: u64,
}

impl Usage {
    /// The usage, unless every count is zero.
    pub fn if_any(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

impl Session {
    /// A session without messages.
    pub fn new(source: Source, id: impl Into<String>) -> Self {
        Self {
            source,
            id: id.into(),
            title: None,
            folder: None,
            git_branch: None,
            created: None,
            updated: None,
            tags: Vec::new(),
            origin: None,
            messages: Vec::new(),
            active: None,
            aliases: Vec::new(),
            usage: None,
            raw: Map::new(),
            records: Vec::new(),
        }
    }

    /// Widens `created` and `updated` to include `time`.
    pub(crate) fn spans(&mut self, time: Option<Timestamp>) {
        let Some(time) = time else { return };
        self.created = Some(self.created.map_or(time, |created| created.min(time)));
        self.updated = Some(self.updated.map_or(time, |updated| updated.max(time)));
    }

    /// Adds a message after the last one.
    pub(crate) fn follow(&mut self, mut message: Message) {
        message.parent = self.messages.last().map(|last| last.id.clone());
        self.messages.push(message);
    }

    /// Orders the messages so that parents come first. A second message of the same id replaces the first in its place;
    /// a link that closes a circle is cut. Without an active message, the last one is.
    pub(crate) fn settle(&mut self) {
        let mut places: HashMap<String, usize> = HashMap::with_capacity(self.messages.len());
        let mut unique: Vec<Option<Message>> = Vec::with_capacity(self.messages.len());
        for message in self.messages.drain(..) {
            match places.get(&message.id) {
                Some(&at) => unique[at] = Some(message),
                None => {
                    places.insert(message.id.clone(), unique.len());
                    unique.push(Some(message));
                }
            }
        }
        let aliases: HashMap<&str, &str> = self.aliases.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        let parents: Vec<Option<usize>> = unique
            .iter()
            .map(|message| {
                let parent = message.as_ref()?.parent.as_deref()?;
                places.get(parent).or_else(|| places.get(*aliases.get(parent)?)).copied()
            })
            .collect();
        let (mut waiting, mut waits) = (Vec::<usize>::new(), HashSet::new());
        for at in 0..unique.len() {
            let mut next = Some(at);
            while let Some(this) = next {
                if unique[this].is_none() {
                    break;
                }
                if !waits.insert(this) {
                    // The chain came back to itself.
                    if let Some(&last) = waiting.last()
                        && let Some(message) = &mut unique[last]
                    {
                        message.parent = None;
                    }
                    break;
                }
                waiting.push(this);
                next = parents[this];
            }
            while let Some(at) = waiting.pop() {
                self.messages.extend(unique[at].take());
            }
            waits.clear();
        }
        if self.active.is_none() {
            self.active = self.messages.last().map(|message| message.id.clone());
        }
    }
}

impl Message {
    /// A message without content.
    pub fn new(id: impl Into<String>, role: Role) -> Self {
        Self {
            id: id.into(),
            parent: None,
            role,
            time: None,
            model: None,
            provider: None,
            parts: Vec::new(),
            usage: None,
            scaffolding: false,
            out_of_context: false,
            compaction: None,
            subagents: Vec::new(),
            raw: Map::new(),
        }
    }

    /// A user message that holds only results is from tools.
    pub(crate) fn settle_role(&mut self) {
        let (mut results, mut others) = (0, 0);
        for part in &self.parts {
            match part {
                Part::ToolResult { .. } => results += 1,
                Part::Raw(_) => {}
                Part::Text(_) | Part::Thinking(_) | Part::ToolCall { .. } | Part::File(_) => others += 1,
            }
        }
        if self.role == Role::User && results > 0 && others == 0 {
            self.role = Role::Tool;
        }
    }

    /// The message as steps: a reply that holds results of its own calls becomes replies and messages of results.
    /// The first keeps the id; the others add `#1`, `#2`.
    pub(crate) fn into_steps(mut self) -> Vec<Self> {
        if self.role != Role::Assistant {
            return vec![self];
        }
        let mut steps: Vec<Self> = Vec::new();
        let mut results: Vec<Part> = Vec::new();
        let parts = std::mem::take(&mut self.parts);
        let (time, id) = (self.time, self.id.clone());
        let (model, provider) = (self.model.clone(), self.provider.clone());
        let fresh = |role, count: usize| {
            let mut step = Self::new(format!("{id}#{count}"), role);
            step.time = time;
            if role == Role::Assistant {
                (step.model, step.provider) = (model.clone(), provider.clone());
            }
            step
        };
        steps.push(self);
        let flush = |steps: &mut Vec<Self>, results: &mut Vec<Part>| {
            if !results.is_empty() {
                let mut step = fresh(Role::Tool, steps.len());
                step.parts = std::mem::take(results);
                steps.push(step);
            }
        };
        for part in parts {
            match part {
                Part::ToolResult { .. } => results.push(part),
                // Calls that follow each other ran side by side: their results come after the last of them.
                Part::ToolCall { .. } if steps.last().is_some_and(|last| last.role != Role::Tool) => {
                    if let Some(last) = steps.last_mut() {
                        last.parts.push(part);
                    }
                }
                Part::Text(_) | Part::Thinking(_) | Part::File(_) | Part::Raw(_) | Part::ToolCall { .. } => {
                    flush(&mut steps, &mut results);
                    if steps.last().is_some_and(|last| last.role == Role::Tool) {
                        steps.push(fresh(Role::Assistant, steps.len()));
                    }
                    if let Some(last) = steps.last_mut() {
                        last.parts.push(part);
                    }
                }
            }
        }
        flush(&mut steps, &mut results);
        steps
    }
}

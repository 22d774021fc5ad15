//! What a definition says: the fields of each kind. Unknown fields are refused.

use std::collections::BTreeMap;
use threadkeep_calls::RequiredVariable;
use threadkeep_model::{EnvType, RunSide};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::place::{Path, Step, in_json, in_toml, line_and_column};
use super::problem::{nearest, suggestion};
use super::{Definition, Kind, Name, Problem, Source};

/// An agent: one or two sides that talk.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Agent {
    /// Its name, if the file repeats it.
    pub name: Option<String>,
    /// With a person, or with a second model.
    #[serde(rename = "type", default)]
    pub kind: AgentKind,
    /// The side that answers.
    pub side_a: Side,
    /// The second side of `dual_ai`.
    pub side_b: Option<Side>,
    /// Turns after which a session ends.
    pub max_session_turns: Option<u32>,
    /// Whether other agents may call it as a tool.
    #[serde(default)]
    pub expose_as_tool: bool,
    /// What it does, for a model that may call it.
    pub tool_description: Option<String>,
    /// What it does, for people.
    pub description: Option<String>,
    /// A picture for people: an emoji or a path.
    pub icon: Option<String>,
    /// Variables with their values, below those of the instance.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Names of its hooks.
    #[serde(default)]
    pub hooks: Vec<String>,
    /// Whether facts of a session are remembered when it is completed.
    #[serde(default)]
    pub remember_sessions: bool,
}

impl Agent {
    /// A side of the agent. One that has a single side has it for both.
    pub fn side(&self, side: RunSide) -> &Side {
        match side {
            RunSide::A => &self.side_a,
            RunSide::B => self.side_b.as_ref().unwrap_or(&self.side_a),
        }
    }

    /// Whether two models talk.
    pub fn is_dual(&self) -> bool {
        match self.kind {
            AgentKind::DualAi => self.side_b.is_some(),
            AgentKind::AiHuman => false,
        }
    }
}

/// Who talks with whom.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// A model with a person.
    #[default]
    AiHuman,
    /// A model with a model.
    DualAi,
}

/// One side of an agent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Side {
    /// The name of its prompt.
    pub prompt: String,
    /// Its name for people.
    pub label: Option<String>,
    /// Whether text without tool calls ends its turn.
    #[serde(default = "yes")]
    pub stop_on_response: bool,
    /// The tool whose call ends its turn.
    pub stop_tool: Option<String>,
    /// The property of that call that is the side's answer.
    pub stop_tool_response_property: Option<String>,
    /// Steps after which it stops.
    pub max_steps: Option<u32>,
    /// The tool that ends the session.
    pub session_stop: Option<SessionTool>,
    /// The tool that fails the session.
    pub session_fail: Option<SessionTool>,
    /// The tool that tells the state of the session.
    pub session_status: Option<SessionTool>,
}

/// A tool that tells something of the session, once its call succeeded.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionTool {
    /// The name of the tool.
    pub name: String,
    /// The property of the call that is the message.
    pub message_property: Option<String>,
    /// The property of the call that lists attachments.
    pub attachments_property: Option<String>,
}

/// What a model is told, and what it may use.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prompt {
    /// Its name, if the file repeats it.
    pub name: Option<String>,
    /// What it does, for a model that may call it as a sub-prompt.
    pub tool_description: Option<String>,
    /// The system prompt, as text or parts.
    pub prompt: PromptText,
    /// The name of its model.
    pub model: String,
    /// Whether a sub-prompt is given the conversation.
    #[serde(default)]
    pub include_chat: bool,
    /// Whether earlier tool calls are given to the model.
    #[serde(default = "yes")]
    pub include_past_tools: bool,
    /// Whether the model may call several tools at once.
    #[serde(default)]
    pub parallel_tool_calls: bool,
    /// Whether the model may, must or must not call tools.
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// The JSON schema of the arguments when it is called as a tool.
    pub required_schema: Option<Map<String, Value>>,
    /// The tools, sub-prompts and agents that the model may call.
    #[serde(default)]
    pub tools: Vec<UsedTool>,
    /// Variables that it needs.
    #[serde(default)]
    pub variables: Vec<Variable>,
    /// Variables with their values, below those of the agent.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Names of its hooks, in place of the agent's.
    pub hooks: Option<Vec<String>>,
    /// How much the model thinks.
    pub reasoning: Option<String>,
    /// How many of the newest messages are given to the model at most.
    pub recent_messages: Option<u32>,
    /// How many of the newest pictures are given to the model.
    #[serde(default = "ten")]
    pub recent_image_threshold: u32,
}

/// A system prompt: one text, or parts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum PromptText {
    /// One text for the whole prompt.
    Text(String),
    /// Parts, joined by blank lines.
    Parts(Vec<PartOfPrompt>),
}

/// A part of a system prompt.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum PartOfPrompt {
    /// Text that stays as it is.
    Text {
        /// The text itself.
        text: String,
    },
    /// The text of another prompt.
    Include {
        /// The name of that prompt.
        name: String,
    },
    /// The value of a variable; never a secret.
    Env {
        /// The name of the variable.
        name: String,
    },
}

/// Whether a model calls tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    /// The model calls tools as it decides.
    #[default]
    Auto,
    /// The model calls no tool.
    None,
    /// At least one in each step.
    Required,
}

/// A tool, a sub-prompt or an agent that a prompt may call.
#[derive(Debug, Clone, PartialEq)]
pub struct UsedTool {
    /// Its name: a tool, a prompt, an agent, `threadkeep/NAME` or `mcp:SERVER/TOOL`.
    pub name: String,
    /// Variables with their values for this tool.
    pub env: BTreeMap<String, String>,
    /// Options for this tool, which its code is given.
    pub options: Map<String, Value>,
    /// How a sub-prompt or a subagent is called.
    pub called: Subagent,
    /// Whether only its name is written. An agent that is written so gets the thread when it is called.
    pub is_plain: bool,
}

impl<'de> Deserialize<'de> for UsedTool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Name(String),
            Whole(Box<Whole>),
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Whole {
            name: String,
            #[serde(default)]
            env: BTreeMap<String, String>,
            #[serde(default)]
            options: Map<String, Value>,
            #[serde(flatten)]
            called: Subagent,
        }
        let no_tool = |_| serde::de::Error::custom("a tool is a name, or an object with `name` and known fields");
        Ok(match Written::deserialize(deserializer).map_err(no_tool)? {
            Written::Name(name) => {
                let (env, options, called) = (BTreeMap::new(), Map::new(), Subagent::default());
                Self { name, env, options, called, is_plain: true }
            }
            Written::Whole(whole) => {
                let Whole { name, env, options, called } = *whole;
                Self { name, env, options, called, is_plain: false }
            }
        })
    }
}

/// How a sub-prompt or a subagent is called, and what comes back.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Subagent {
    /// Whether a sub-prompt's text is part of its result.
    pub include_text_response: bool,
    /// Whether a sub-prompt's tool calls are part of its result.
    pub include_tool_calls: bool,
    /// Whether a sub-prompt's errors are part of its result.
    pub include_errors: bool,
    /// Whether the caller waits for a subagent.
    pub blocking: bool,
    /// Whether a subagent takes messages after it answered.
    pub resumable: Resumable,
    /// Whether a subagent starts with its parent.
    pub immediate: bool,
    /// Whether the parent goes on if a subagent cannot start.
    pub optional: bool,
    /// The property of the call that is the first message.
    pub init_user_message_property: Option<String>,
    /// The property of the call that lists attachments.
    pub init_attachments_property: Option<String>,
}

impl Default for Subagent {
    fn default() -> Self {
        Self {
            include_text_response: true,
            include_tool_calls: false,
            include_errors: false,
            blocking: true,
            resumable: Resumable::No,
            immediate: false,
            optional: false,
            init_user_message_property: None,
            init_attachments_property: None,
        }
    }
}

/// Whether a subagent takes messages after it answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Resumable {
    /// It ends with its answer.
    #[default]
    No,
    /// It stays, and takes messages.
    Yes {
        /// The side that is given the messages.
        receives: Receives,
        /// How many of it a thread may have.
        instances_max: Option<u32>,
        /// How its parent hears of it.
        parent: Parent,
    },
}

impl<'de> Deserialize<'de> for Resumable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Plain(bool),
            Whole(Whole),
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Whole {
            #[serde(default)]
            receives_messages: Receives,
            #[serde(rename = "maxInstances")]
            max_instances: Option<u32>,
            #[serde(rename = "parentCommunication", default)]
            parent_communication: Parent,
        }
        let neither = |_| {
            serde::de::Error::custom(
                "resumable is true, false, or an object with receives_messages, maxInstances, parentCommunication",
            )
        };
        Ok(match Written::deserialize(deserializer).map_err(neither)? {
            Written::Plain(false) => Self::No,
            Written::Plain(true) => {
                Self::Yes { receives: Receives::default(), instances_max: None, parent: Parent::default() }
            }
            Written::Whole(whole) => Self::Yes {
                receives: whole.receives_messages,
                instances_max: whole.max_instances,
                parent: whole.parent_communication,
            },
        })
    }
}

/// The side of a subagent that is given messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receives {
    /// The side that answers first.
    #[default]
    SideA,
    /// The second side of `dual_ai`.
    SideB,
}

/// How a parent hears of its subagent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Parent {
    /// At the end of each session, by itself.
    #[default]
    Implicit,
    /// Only when the subagent tells it.
    Explicit,
}

/// A variable that a definition needs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// The name under which it is set.
    pub name: String,
    /// Whether it is text or secret.
    #[serde(rename = "type", default)]
    pub kind: VariableKind,
    /// Whether nothing works without it.
    #[serde(default)]
    pub required: bool,
    /// Whether it is not taken from the parent of a subagent.
    #[serde(default)]
    pub scoped: bool,
    /// What it is for, for people.
    pub description: Option<String>,
}

impl Variable {
    /// It, as callers are told of it; none if its name is none.
    pub(crate) fn shown(&self) -> Option<RequiredVariable> {
        let kind = match self.kind {
            VariableKind::Text => EnvType::Text,
            VariableKind::Secret => EnvType::Secret,
        };
        Some(RequiredVariable { name: self.name.parse().ok()?, kind, description: self.description.clone() })
    }
}

/// The class of a variable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VariableKind {
    /// Shown to those who may read it.
    Text,
    /// Shown to none, and redacted in all output.
    #[default]
    Secret,
}

/// A model of a provider.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Model {
    /// Its name, if the file repeats it.
    pub name: Option<String>,
    /// The protocol of its provider.
    pub provider: Provider,
    /// The provider's name of it; for `script` the file that is played.
    pub model: String,
    /// Models that are asked when this one fails.
    #[serde(default)]
    pub fallbacks: Vec<String>,
    /// Prices for a million tokens.
    #[serde(default)]
    pub prices: Prices,
    /// What it can do, such as `images` and `thinking`.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Fields that are added to every request.
    #[serde(default)]
    pub provider_options: Map<String, Value>,
    /// Where the provider is, if not at its usual place.
    pub base_url: Option<String>,
    /// The variable that holds the key, if not the usual one.
    pub key: Option<String>,
    /// Tokens that fit into a request and its answer.
    pub context_tokens: Option<u64>,
    /// Tokens of an answer at most.
    pub max_tokens: Option<u64>,
    /// The file with the tokenizer's table, from the folder of definitions on.
    pub tokenizer: Option<String>,
}

impl Model {
    /// The capability to read pictures.
    pub const IMAGES: &str = "images";

    /// Whether it is given pictures: if its capabilities name them, or it lists none.
    pub fn takes_images(&self) -> bool {
        self.capabilities.is_empty() || self.capabilities.iter().any(|one| one == Self::IMAGES)
    }
}

/// A protocol of providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Chat completions, as OpenAI defined them.
    OpenAi,
    /// Messages, as Anthropic defined them.
    Anthropic,
    /// A file that is played.
    Script,
}

/// Prices for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Prices {
    /// Tokens of the request.
    pub input: Price,
    /// Tokens of the answer.
    pub output: Price,
    /// Tokens from the provider's cache.
    pub cache_read: Price,
    /// Tokens that enter the provider's cache.
    pub cache_write: Price,
}

/// A price in millionths of the currency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price(pub u64);

impl<'de> Deserialize<'de> for Price {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let price = f64::deserialize(deserializer)?;
        if !(0.0..=1e9).contains(&price) {
            return Err(serde::de::Error::custom("a price is a number from 0 to 1,000,000,000"));
        }
        // Six places after the point are exact up to a billion.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Ok(Self((price * 1e6).round() as u64))
    }
}

/// A tool that is an HTTP request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpTool {
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// The method: GET unless given.
    pub method: Option<String>,
    /// Where it is sent. Scheme, host and port are literal; the rest may name arguments as `{name}`.
    pub url: String,
    /// Headers; values may name variables as `${env:NAME}`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body; strings in it may name arguments and variables.
    pub body: Option<Value>,
    /// Capabilities that a call needs.
    pub needs: Option<Vec<String>>,
    /// Milliseconds for a call.
    pub timeout_ms: Option<u64>,
    /// Whether a call may be sent twice.
    #[serde(default)]
    pub repeatable: bool,
    /// Whether calls may run side by side.
    #[serde(default)]
    pub parallel: bool,
    /// The skill that must be active.
    pub skill: Option<String>,
    /// Variables that it needs.
    #[serde(default)]
    pub variables: Vec<Variable>,
}

/// A server of the Model Context Protocol: a program, or a URL.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpServer {
    /// The program and its arguments.
    pub command: Option<Vec<String>>,
    /// The URL of a server that speaks streamable HTTP.
    pub url: Option<String>,
    /// Headers of requests to the URL; values may name variables as `${env:NAME}`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Variables of the program's environment; values may name variables as `${env:NAME}`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The tools that may be used; all unless given.
    pub tools: Option<Vec<String>>,
    /// The capabilities that a call of its tools needs; `tool:mcp:SERVER/TOOL` unless given.
    pub needs: Option<Vec<String>>,
    /// Milliseconds for a call.
    pub timeout_ms: Option<u64>,
}

impl McpServer {
    /// Milliseconds for a call, unless the definition names others.
    pub const TIMEOUT_MS: u64 = 60_000;
}

fn yes() -> bool {
    true
}

fn ten() -> u32 {
    10
}

/// Reads a definition in the shape of its kind.
pub(super) fn parse(name: &Name, source: &Source) -> Result<Definition, Problem> {
    match (name.kind, source.ending()) {
        (Kind::Agent, _) => shape(source).map(Box::new).map(Definition::Agent),
        (Kind::Prompt, _) => shape(source).map(Box::new).map(Definition::Prompt),
        (Kind::Model, _) => shape(source).map(Box::new).map(Definition::Model),
        (Kind::Mcp, _) => shape(source).map(Definition::Mcp),
        (Kind::Tool, "toml") => shape(source).map(Box::new).map(Definition::HttpTool),
        (Kind::Tool | Kind::Effect | Kind::Hook | Kind::Endpoint | Kind::Skill | Kind::Vendor, _) => {
            Ok(Definition::Text(source.text.clone()))
        }
    }
}

fn shape<T: for<'de> Deserialize<'de>>(source: &Source) -> Result<T, Problem> {
    let value = value(source)?;
    serde_path_to_error::deserialize(&value).map_err(|error| {
        let step = |segment: &serde_path_to_error::Segment| match segment {
            serde_path_to_error::Segment::Map { key } => Some(Step::Key(key.clone())),
            serde_path_to_error::Segment::Seq { index } => Some(Step::Index(*index)),
            serde_path_to_error::Segment::Enum { .. } | serde_path_to_error::Segment::Unknown => None,
        };
        let path: Path = error.path().iter().filter_map(step).collect();
        let said = error.into_inner().to_string();
        let (path, what) = in_words(path, said);
        problem_at(source, &path, what)
    })
}

/// Fields whose values may be secret.
const HIDDEN: [&str; 2] = ["env", "headers"];

/// A definition as JSON without values that may be secret; none for code and broken files.
pub(super) fn shown(name: &Name, source: &Source) -> Option<Value> {
    match (name.kind, source.ending()) {
        (Kind::Skill, _) => Some(serde_json::json!({ "text": source.text })),
        (_, "toml" | "json") => value(source).ok().map(hidden),
        _ => None,
    }
}

fn hidden(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let field = |(name, value): (String, Value)| match value {
                Value::Object(inside) if HIDDEN.contains(&name.as_str()) => {
                    (name, inside.into_iter().map(|(name, _)| (name, Value::Null)).collect())
                }
                value => (name, hidden(value)),
            };
            Value::Object(fields.into_iter().map(field).collect())
        }
        Value::Array(items) => items.into_iter().map(hidden).collect(),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}

/// The text as JSON, whatever it is written in.
fn value(source: &Source) -> Result<Value, Problem> {
    let at = |offset: usize, what: String| {
        let (line, column) = line_and_column(&source.text, offset);
        Problem { file: source.file.clone(), line, column, what }
    };
    if source.ending() == "toml" {
        toml::from_str(&source.text)
            .map_err(|error| at(error.span().map_or(0, |span| span.start), error.message().to_owned()))
    } else {
        serde_json::from_str(&source.text).map_err(|error| {
            let what = error.to_string();
            let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what).to_owned();
            Problem { file: source.file.clone(), line: error.line(), column: error.column().max(1), what }
        })
    }
}

/// A problem at the value of this path.
pub(super) fn problem_at(source: &Source, path: &[Step], what: String) -> Problem {
    let offset = if source.ending() == "toml" { in_toml(&source.text, path) } else { in_json(&source.text, path) };
    let (line, column) = line_and_column(&source.text, offset);
    Problem { file: source.file.clone(), line, column, what }
}

/// Says an unknown or missing field in our words, and where it is.
fn in_words(mut path: Path, said: String) -> (Path, String) {
    let quoted: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
    let (Some(unknown), known) = (quoted.first(), quoted.get(1..).unwrap_or_default()) else { return (path, said) };
    let what = if said.starts_with("unknown field") {
        let near = suggestion(nearest(unknown, known.iter().copied()));
        format!("unknown field '{unknown}'{near} (known: {})", known.join(", "))
    } else if said.starts_with("unknown variant") {
        let near = suggestion(nearest(unknown, known.iter().copied()));
        return (path, format!("'{unknown}' is not one of {}{near}", known.join(", ")));
    } else if said.starts_with("missing field") {
        return (path, format!("the field '{unknown}' is missing"));
    } else {
        return (path, said);
    };
    if path.last() != Some(&Step::Key((*unknown).to_owned())) {
        path.push(Step::Key((*unknown).to_owned()));
    }
    (path, what)
}

//! The primitives that people and agents share: spawn, lifecycle, inject, decide.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{
    Actor, InjectionType, Invalid, Json, LifecycleAction, ThreadId, Timestamp, Urgency, Uuid, Version,
};

use crate::ErrorCode;
use crate::call::Declaration;
use crate::group::PRIMITIVES;
use crate::object::parsed;
use crate::shape::{Carried, shaped};

/// Moves a thread on in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeLifecycle {
    /// The move to make.
    pub action: LifecycleAction,
    /// Why, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub reason: Option<String>,
}

impl ChangeLifecycle {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("lifecycle", "changeLifecycle"), "/v1/threads/{thread}/lifecycle", PRIMITIVES)
            .about("Changes the lifecycle of a thread: done, cancel, suspend, resume, or archive, which is final.")
            .gives("The thread as it is now.")
            .versioned()
            .fails(&[ErrorCode::InvalidTransition])
            .example(r#"{"action":"suspend","reason":"Waits for the review"}"#);
}

impl From<LifecycleAction> for ChangeLifecycle {
    fn from(action: LifecycleAction) -> Self {
        Self { action, reason: None }
    }
}

/// Puts something before the executor of a thread; the next `begin` or `step` takes it up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inject {
    /// The type of the injection.
    #[serde(rename = "type")]
    pub kind: InjectionType,
    /// The content: any JSON.
    pub content: Json,
    /// How soon it is delivered.
    #[serde(default)]
    pub urgency: Urgency,
}

impl Inject {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("inject", "inject"), "/v1/threads/{thread}/inject", PRIMITIVES)
            .about("Injects context into a thread; the next start or step of a run delivers it.")
            .creates("What was injected.")
            .fails(&[ErrorCode::InjectionsFull, ErrorCode::ThreadClosed, ErrorCode::ThreadTerminated])
            .example(r#"{"type":"constraint","content":"Only the standard library","urgency":"immediate"}"#);

    /// `content`, with the next step.
    pub fn new(kind: InjectionType, content: Json) -> Self {
        Self { kind, content, urgency: Urgency::default() }
    }

    /// The same before everything else that waits.
    #[must_use]
    pub fn immediate(self) -> Self {
        Self { urgency: Urgency::Immediate, ..self }
    }
}

/// The injection that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Injected {
    /// The id of the injection.
    pub injection_id: Uuid,
}

/// Whether an injection was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InjectionState {
    /// No run has received it yet.
    #[default]
    Waiting,
    /// A run received it, or it was acknowledged by hand.
    Taken,
    /// Either, in a question.
    All,
}

/// Something that was injected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Injection {
    /// The id of the injection.
    pub id: Uuid,
    /// The type of the injection.
    #[serde(rename = "type")]
    pub kind: InjectionType,
    /// The content: any JSON.
    pub content: Json,
    /// How soon it is delivered.
    pub urgency: Urgency,
    /// Whether it was taken up: `waiting` or `taken`.
    pub state: InjectionState,
    /// The actor that injected it.
    pub actor: Actor,
    /// When it was injected.
    pub created_at: Timestamp,
    /// The version of the thread after it.
    pub version: Version,
    /// The executor that received it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<Actor>,
    /// When it was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<Timestamp>,
    /// The run that took it up; absent if it was acknowledged by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Uuid>,
}

/// Lists what was injected.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListInjections {
    /// Injections that wait, that were taken up, or all. Default: waiting.
    pub state: InjectionState,
    /// Number of items in a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
    /// The cursor of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl ListInjections {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("injections", "listInjections"), "/v1/threads/{thread}/injections", PRIMITIVES)
            .about("Lists injections: waiting, delivered, or all.")
            .gives("All of them, in the order they were made; with `limit`, a page.")
            .fails(&[ErrorCode::InvalidCursor]);
}

/// Takes up an injection by hand.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Acknowledge {
    /// The id of the injection.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub injection: Uuid,
}

impl Acknowledge {
    pub(crate) const DECLARATION: Declaration = Declaration::post(
        ("ack", "acknowledgeInjection"),
        "/v1/threads/{thread}/injections/{injection}/ack",
        PRIMITIVES,
    )
    .about("Acknowledges an injection by hand. Repeating it changes nothing.")
    .gives("The injection, and who took it up.")
    .repeats()
    .fails(&[ErrorCode::InjectionNotFound]);
}

/// Records the answer to a question. The newest answer counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decide {
    /// The question. Questions are compared without case and extra spaces.
    #[schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub question: String,
    /// The answer, which counts from now on.
    #[schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub answer: String,
    /// Why, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    pub reason: Option<String>,
}

impl Decide {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("decide", "decide"), "/v1/threads/{thread}/decide", PRIMITIVES)
            .about("Records the answer to a question; the newest one counts.")
            .creates("The answer that counts.")
            .fails(&[ErrorCode::DecisionsFull, ErrorCode::ThreadClosed])
            .example(r#"{"question":"Which store?","answer":"SQLite","reason":"One file"}"#);

    /// This answer to this question.
    pub fn new(question: &str, answer: &str) -> Self {
        Self { question: question.to_owned(), answer: answer.to_owned(), reason: None }
    }
}

/// An answer that counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The question, as it was last asked.
    pub question: String,
    /// The answer that was given.
    pub answer: String,
    /// The reason for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The actor that decided.
    pub actor: Actor,
    /// When it was decided.
    pub created_at: Timestamp,
    /// The version of the thread after it.
    pub version: Version,
}

impl Decision {
    /// The text by which questions are compared: lower case, with single spaces.
    pub fn key(&self) -> String {
        self.question.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
    }
}

/// Lists the decisions that count on a thread.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListDecisions {
    /// As the thread was at this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Version>,
    /// Number of items in a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
    /// The cursor of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl ListDecisions {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("decisions", "listDecisions"), "/v1/threads/{thread}/decisions", PRIMITIVES)
            .about("Lists the decisions that count on a thread.")
            .gives("All of them, in the order they were given; with `limit`, a page.")
            .fails(&[ErrorCode::VersionInFuture, ErrorCode::InvalidCursor]);
}

/// A new thread for an intent of its own, with all, some or nothing of what this one holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SpawnShape", into = "SpawnShape")]
pub struct Spawn {
    /// The purpose of the new thread.
    pub intent: String,
    /// The part of the parent that it inherits.
    pub inherit: Inherit,
    /// The agent of the new thread; without it, the same agent.
    pub agent_id: Option<String>,
}

impl Spawn {
    /// Most items of a scope.
    const SCOPE_MAX: usize = 100;

    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("spawn", "spawnThread"), "/v1/threads/{thread}/spawn", PRIMITIVES)
            .about("Makes a thread for a task of its own, which inherits all, some or nothing from this one.")
            .creates("The new thread, and where it came from.")
            .example(
                r#"{"intent":"Fix the flaky test","inherit":"partial","inheritScope":["messages:last=20","skills"]}"#,
            );

    /// For this intent, with nothing of what the thread holds.
    pub fn new(intent: &str) -> Self {
        Self { intent: intent.to_owned(), ..Self::default() }
    }

    /// The same, inheriting this.
    #[must_use]
    pub fn inherit(self, inherit: Inherit) -> Self {
        Self { inherit, ..self }
    }
}

/// The part of its parent that a spawned thread inherits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Inherit {
    /// Messages, files, values, skills and the workspace it began in.
    Full,
    /// The parts in this list.
    Partial(Vec<InheritItem>),
    /// Nothing of the parent.
    #[default]
    None,
}

/// Something that a thread inherits in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InheritItem {
    /// `messages`: the whole conversation.
    Messages,
    /// `messages:last=N`: the end of the conversation, copied.
    LastMessages(u64),
    /// `files` or `files:GLOB`: the files that match.
    Files(String),
    /// `kv` or `kv:PREFIX`: the values whose keys begin with the prefix.
    Values(String),
    /// `env`: the workspace it began in.
    Env,
    /// `skills`: the skills that are active.
    Skills,
}

/// The glob that matches every file.
const ALL_FILES: &str = "**";

impl FromStr for InheritItem {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let refused = |why: &str| {
            let known = "messages, messages:last=N, files:GLOB, kv:PREFIX, env, skills";
            Invalid::body("inheritScope", format!("'{text}' {why}; it is one of {known}"))
        };
        let (name, what) = text.split_once(':').map_or((text, None), |(name, what)| (name, Some(what)));
        match (name, what) {
            ("messages", None) => Ok(Self::Messages),
            ("messages", Some(what)) => {
                let last = what.strip_prefix("last=").and_then(|last| last.parse().ok());
                last.filter(|last| *last > 0)
                    .map(Self::LastMessages)
                    .ok_or_else(|| refused("names no number of messages"))
            }
            ("files", None) => Ok(Self::Files(ALL_FILES.to_owned())),
            ("files", Some("")) => Err(refused("names no files")),
            ("files", Some(glob)) => Ok(Self::Files(glob.to_owned())),
            ("kv", prefix) => Ok(Self::Values(prefix.unwrap_or_default().to_owned())),
            ("env", None) => Ok(Self::Env),
            ("skills", None) => Ok(Self::Skills),
            _ => Err(refused("is not known")),
        }
    }
}

impl std::fmt::Display for InheritItem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Messages => f.write_str("messages"),
            Self::LastMessages(last) => write!(f, "messages:last={last}"),
            Self::Files(glob) => write!(f, "files:{glob}"),
            Self::Values(prefix) => write!(f, "kv:{prefix}"),
            Self::Env => f.write_str("env"),
            Self::Skills => f.write_str("skills"),
        }
    }
}

/// A new thread for an intent of its own.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SpawnShape {
    /// The purpose of the new thread.
    #[schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    intent: String,
    /// How much of the parent it inherits.
    inherit: HowMuch,
    /// The inherited parts: `messages`, `messages:last=N`, `files:GLOB`, `kv:PREFIX`, `env`, `skills`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    inherit_scope: Option<Vec<String>>,
    /// The agent of the new thread; without it, the same agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK))]
    agent_id: Option<String>,
}

/// How much a spawned thread inherits.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Inherit")]
enum HowMuch {
    /// Messages, files, values, skills and the workspace.
    Full,
    /// The parts that the scope names.
    Partial,
    /// Nothing of the parent.
    None,
}

impl TryFrom<SpawnShape> for Spawn {
    type Error = Carried;

    fn try_from(shape: SpawnShape) -> Result<Self, Carried> {
        let SpawnShape { intent, inherit, inherit_scope, agent_id } = shape;
        let scope = inherit_scope.unwrap_or_default();
        if scope.len() > Self::SCOPE_MAX {
            return Err(Invalid::body("inheritScope", format!("names at most {} items", Self::SCOPE_MAX)).into());
        }
        let inherit = match inherit {
            HowMuch::Partial => {
                Inherit::Partial(scope.iter().map(|item| item.parse()).collect::<Result<_, Invalid>>()?)
            }
            HowMuch::Full | HowMuch::None if !scope.is_empty() => {
                return Err(Invalid::body("inheritScope", "goes with inherit partial, and with nothing else").into());
            }
            HowMuch::Full => Inherit::Full,
            HowMuch::None => Inherit::None,
        };
        Ok(Self { intent, inherit, agent_id })
    }
}

impl From<Spawn> for SpawnShape {
    fn from(Spawn { intent, inherit, agent_id }: Spawn) -> Self {
        let (inherit, inherit_scope) = match inherit {
            Inherit::Full => (HowMuch::Full, None),
            Inherit::Partial(items) => (HowMuch::Partial, Some(items.iter().map(ToString::to_string).collect())),
            Inherit::None => (HowMuch::None, None),
        };
        Self { intent, inherit, inherit_scope, agent_id }
    }
}

shaped! {
    Spawn as SpawnShape, "Spawn";
}

/// A thread that was spawned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spawned {
    /// The id of the new thread.
    pub thread_id: ThreadId,
    /// The thread it was spawned from.
    pub parent_id: ThreadId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_compared_without_case_and_extra_spaces() {
        let key = |question: &str| {
            let actor = threadkeep_model::Caller::local().actor;
            let (question, answer, reason) = (question.to_owned(), String::new(), None);
            Decision { question, answer, reason, actor, created_at: Timestamp::default(), version: Version::START }
                .key()
        };
        assert_eq!(key("  Which\n store?\t"), "which store?");
        assert_eq!(key("WELCHE FARBE, ÜBRIGENS?"), key("Welche Farbe, übrigens?"));
        assert_ne!(key("Which store"), key("Which store?"));
    }

    #[test]
    fn a_scope_is_told_as_it_is_read() {
        for text in ["messages", "messages:last=3", "files:**/*.rs", "kv:user/", "env", "skills"] {
            assert_eq!(text.parse::<InheritItem>().expect("an item").to_string(), text);
        }
    }
}

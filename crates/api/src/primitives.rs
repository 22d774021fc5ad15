//! The primitives that people and agents share, on the wire: what requests ask for, and what is answered.

use serde::{Deserialize, Serialize};
use threadkeep_model::{
    Actor, InjectionType, Invalid, Json, LifecycleAction, ThreadId, Timestamp, Urgency, Uuid, Version,
};

/// Moves a thread on in its life.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeLifecycle {
    /// Where to.
    pub action: LifecycleAction,
    /// Why, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub reason: Option<String>,
}

/// Something for whoever works on a thread.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inject {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: InjectionType,
    /// What it says: any JSON.
    pub content: Json,
    /// How soon it shall be taken up.
    #[serde(default)]
    pub urgency: Urgency,
}

/// What was injected just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Injected {
    /// The injection.
    pub injection_id: Uuid,
}

/// Whether an injection was taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InjectionState {
    /// Not yet.
    #[default]
    Waiting,
    /// It was.
    Taken,
    /// Either, in a question.
    All,
}

impl From<InjectionState> for threadkeep_engine::InjectionState {
    fn from(state: InjectionState) -> Self {
        match state {
            InjectionState::Waiting => Self::Waiting,
            InjectionState::Taken => Self::Taken,
            InjectionState::All => Self::All,
        }
    }
}

/// Something that was injected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Injection {
    /// Its identity.
    pub id: Uuid,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: InjectionType,
    /// What it says.
    pub content: Json,
    /// How soon it shall be taken up.
    pub urgency: Urgency,
    /// Whether it was taken up: `waiting` or `taken`.
    pub state: InjectionState,
    /// Who injected it.
    pub actor: Actor,
    /// When.
    pub created_at: Timestamp,
    /// Where it stands in the thread's history.
    pub version: Version,
    /// Who took it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<Actor>,
    /// When it was taken up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<Timestamp>,
    /// The execution that took it up; absent if it was acknowledged by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<Uuid>,
}

impl From<&threadkeep_engine::Injection> for Injection {
    fn from(injection: &threadkeep_engine::Injection) -> Self {
        let threadkeep_engine::Injection { id, kind, content, urgency, actor, created, version, taken } = injection;
        Self {
            id: *id,
            kind: *kind,
            content: content.clone(),
            urgency: *urgency,
            state: if taken.is_some() { InjectionState::Taken } else { InjectionState::Waiting },
            actor: (**actor).clone(),
            created_at: *created,
            version: *version,
            taken_by: taken.as_ref().map(|taken| (*taken.by).clone()),
            taken_at: taken.as_ref().map(|taken| taken.at),
            execution_id: taken.as_ref().and_then(|taken| taken.execution),
        }
    }
}

/// Answers a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decide {
    /// The question. White space and case make no difference between two of them.
    #[cfg_attr(feature = "schema", schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub question: String,
    /// The answer, which counts from now on.
    #[cfg_attr(feature = "schema", schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub answer: String,
    /// Why, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub reason: Option<String>,
}

/// An answer that counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The question, as it was last asked.
    pub question: String,
    /// The answer.
    pub answer: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who decided.
    pub actor: Actor,
    /// When.
    pub created_at: Timestamp,
    /// Where it stands in the thread's history.
    pub version: Version,
}

impl From<&threadkeep_engine::Decision> for Decision {
    fn from(decision: &threadkeep_engine::Decision) -> Self {
        let threadkeep_engine::Decision { question, answer, reason, actor, created, version } = decision.clone();
        Self { question, answer, reason, actor: (*actor).clone(), created_at: created, version }
    }
}

/// A new thread for an intent of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spawn {
    /// What the new thread is for.
    #[cfg_attr(feature = "schema", schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub intent: String,
    /// What it inherits.
    pub inherit: Inherit,
    /// What it inherits in part: `messages`, `messages:last=N`, `files:GLOB`, `kv:PREFIX`, `env`, `skills`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 100)))]
    pub inherit_scope: Option<Vec<String>>,
    /// Whose thread it is; the same agent's if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub agent_id: Option<String>,
}

/// How much a spawned thread inherits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Inherit {
    /// Messages, files, values, skills and the workspace.
    Full,
    /// What the scope names.
    Partial,
    /// Nothing.
    None,
}

impl std::str::FromStr for Inherit {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "full" => Ok(Self::Full),
            "partial" => Ok(Self::Partial),
            "none" => Ok(Self::None),
            _ => Err(Invalid::parameter("inherit", format!("'{text}' is not one of full, partial, none"))),
        }
    }
}

impl Spawn {
    /// Most items of a scope.
    const SCOPE_MAX: usize = 100;

    /// What the new thread inherits.
    ///
    /// # Errors
    /// A scope without `partial`, or an item that is not known.
    pub fn inherits(&self) -> Result<threadkeep_engine::Inherit, Invalid> {
        let scope = self.inherit_scope.as_deref().unwrap_or_default();
        if scope.len() > Self::SCOPE_MAX {
            return Err(Invalid::body("inheritScope", format!("names at most {} items", Self::SCOPE_MAX)));
        }
        match self.inherit {
            Inherit::Partial => {
                let items = scope.iter().map(|item| item.parse()).collect::<Result<_, _>>()?;
                Ok(threadkeep_engine::Inherit::Partial(items))
            }
            Inherit::Full | Inherit::None if !scope.is_empty() => {
                Err(Invalid::body("inheritScope", "goes with inherit partial, and with nothing else"))
            }
            Inherit::Full => Ok(threadkeep_engine::Inherit::Full),
            Inherit::None => Ok(threadkeep_engine::Inherit::None),
        }
    }
}

/// A thread that was spawned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Spawned {
    /// The new thread.
    pub thread_id: ThreadId,
    /// The thread it was spawned from.
    pub parent_id: ThreadId,
}

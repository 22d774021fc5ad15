//! The primitives that people and agents share, on the wire: what requests ask for, and what is answered.

use serde::{Deserialize, Serialize};
use threadkeep_model::{Actor, InjectionType, Json, LifecycleAction, Timestamp, Urgency, Uuid, Version};

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

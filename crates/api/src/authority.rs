//! Who may do what, on the wire: transfers, approvals and delegations.

use serde::{Deserialize, Serialize};
use threadkeep_model::{
    Actor, ApprovalState, Capability, Fallback, Invalid, ThreadId, Timestamp, Uuid, parse_duration,
};

/// Asks for authority, or gives it to agents.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transfer {
    /// Which of the two.
    pub direction: Direction,
    /// What it is about.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = Capability::SCOPE_MAX)))]
    pub scope: Vec<Capability>,
    /// For a delegation, the agent, by its name; every agent if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 255), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub to: Option<String>,
    /// What for, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = threadkeep_model::REASON_BYTES_MAX)))]
    pub reason: Option<String>,
    /// How long to wait for an answer, or how long a delegation holds: an ISO 8601 duration such as `PT30S` or `P1D`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(
            regex(pattern = r"^P([0-9]{1,4}D)?(T([0-9]{1,6}H)?([0-9]{1,6}M)?([0-9]{1,6}S)?)?$"),
            example = &"PT30S"
        )
    )]
    pub timeout: Option<String>,
    /// What happens when nobody answers in time; `block` if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// Whether it can be revoked later; yes if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_revoke: Option<bool>,
}

/// Which way authority goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Somebody asks a human.
    RequestApproval,
    /// A human gives it to agents.
    Delegate,
}

impl TryFrom<Transfer> for threadkeep_engine::Transfer {
    type Error = Invalid;

    fn try_from(asked: Transfer) -> Result<Self, Invalid> {
        let Transfer { direction, scope, to, reason, timeout, fallback, can_revoke } = asked;
        let direction = match direction {
            Direction::RequestApproval => threadkeep_engine::Direction::RequestApproval,
            Direction::Delegate => threadkeep_engine::Direction::Delegate,
        };
        let timeout = timeout.map(|text| parse_duration("timeout", &text)).transpose()?;
        Ok(Self { direction, scope, to, reason, timeout, fallback, can_revoke })
    }
}

/// What a transfer made: one of the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Transferred {
    /// The approval that waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<Uuid>,
    /// The delegation that holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation_id: Option<Uuid>,
}

impl From<&threadkeep_engine::Transferred> for Transferred {
    fn from(made: &threadkeep_engine::Transferred) -> Self {
        match made {
            threadkeep_engine::Transferred::Approval(approval) => {
                Self { approval_id: Some(approval.asked.id), delegation_id: None }
            }
            threadkeep_engine::Transferred::Delegation(delegated) => {
                Self { approval_id: None, delegation_id: Some(delegated.delegation.id) }
            }
        }
    }
}

/// An answer to an approval.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Answer {
    /// Why, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = threadkeep_model::REASON_BYTES_MAX)))]
    pub reason: Option<String>,
}

/// Somebody asked to be allowed something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its identity.
    pub id: Uuid,
    /// The thread it is about.
    pub thread_id: ThreadId,
    /// What was asked for.
    pub scope: Vec<Capability>,
    /// What for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How it stands.
    pub state: ApprovalState,
    /// Who asked.
    pub asked_by: Actor,
    /// When.
    pub asked_at: Timestamp,
    /// When nobody has answered in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at: Option<Timestamp>,
    /// What happens then.
    pub fallback: Fallback,
    /// Whether it can be taken back after it was approved.
    pub can_revoke: bool,
    /// Whether it is pending although nobody answered in time.
    pub overdue: bool,
    /// Whether what asked for it is in view: a rollback undoes it, and an undo brings it back.
    pub holds: bool,
    /// Who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<Actor>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<Timestamp>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_reason: Option<String>,
    /// Whether nobody answered in time, so that the fallback did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

impl From<&threadkeep_engine::Approval> for Approval {
    fn from(approval: &threadkeep_engine::Approval) -> Self {
        let threadkeep_engine::Approval { thread, asked, state, answered, overdue, holds } = approval;
        let answered = answered.as_ref();
        Self {
            id: asked.id,
            thread_id: *thread,
            scope: asked.scope.clone(),
            reason: asked.reason.clone(),
            state: *state,
            asked_by: asked.asked_by.clone(),
            asked_at: asked.asked_at,
            timeout_at: asked.timeout_at,
            fallback: asked.fallback,
            can_revoke: asked.can_revoke,
            overdue: *overdue,
            holds: *holds,
            answered_by: answered.map(|answer| (*answer.by).clone()),
            answered_at: answered.map(|answer| answer.at),
            answer_reason: answered.and_then(|answer| answer.reason.clone()),
            timed_out: answered.is_some_and(|answer| answer.timed_out),
        }
    }
}

/// What agents may do on a thread without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Delegation {
    /// Its identity.
    pub id: Uuid,
    /// The thread.
    pub thread_id: ThreadId,
    /// What they may do.
    pub scope: Vec<Capability>,
    /// The agent, by its name; every agent if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Until when it holds; until it is revoked if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Whether it can be revoked before that.
    pub can_revoke: bool,
    /// Who gave it.
    pub given_by: Actor,
    /// When.
    pub given_at: Timestamp,
    /// Whether it holds.
    pub holds: bool,
}

impl From<&threadkeep_engine::Delegated> for Delegation {
    fn from(delegated: &threadkeep_engine::Delegated) -> Self {
        let threadkeep_engine::Delegated { thread, delegation, by, at, holds } = delegated;
        Self {
            id: delegation.id,
            thread_id: *thread,
            scope: delegation.scope.clone(),
            to: delegation.to.clone(),
            reason: delegation.reason.clone(),
            until: delegation.until,
            can_revoke: delegation.can_revoke,
            given_by: by.clone(),
            given_at: *at,
            holds: *holds,
        }
    }
}

//! Facts about authority: approvals that an agent asks for, and delegations that a human gives.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::text::words;
use crate::{Account, Actor, Capability, Derived, Invalid, ItemIs, ItemKind, Json, Timestamp, Uuid, strip_nulls};

/// The outcome of an approval that was not answered in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// It is denied, and the work continues without it.
    Skip,
    /// It stays pending and is shown as overdue.
    #[default]
    Block,
    /// It is approved if a delegation from a human covers it by then; otherwise it is denied.
    AutoApprove,
}

words!(Fallback: Skip "skip", Block "block", AutoApprove "auto_approve");

/// An agent asked for an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalAsked {
    /// The id of the approval.
    pub id: Uuid,
    /// The capabilities that are asked for.
    pub scope: Vec<Capability>,
    /// The purpose, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When the time to answer is over; none if there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at: Option<Timestamp>,
    /// The outcome if there is no answer by then.
    pub fallback: Fallback,
    /// Whether it can be revoked after it was approved.
    pub can_revoke: bool,
    /// The merge that waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Uuid>,
    /// The one call of a tool that it is about. Without it, the approval holds until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<AskedCall>,
    /// The actor that asks.
    pub asked_by: Actor,
    /// When the approval was requested.
    pub asked_at: Timestamp,
}

/// A call of a tool that needs an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskedCall {
    /// The name of the tool.
    pub tool: String,
    /// Its arguments: a JSON object.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Object"))]
    pub args: Json,
    /// The id of the call that used the approval up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<String>,
}

impl ApprovalAsked {
    /// When the timeout has to be handled; none if the approval only becomes overdue.
    pub fn due(&self) -> Option<Timestamp> {
        match self.fallback {
            Fallback::Skip | Fallback::AutoApprove => self.timeout_at,
            Fallback::Block => None,
        }
    }
}

impl Fact for ApprovalAsked {
    fn derived(&self) -> Derived {
        let (kind, key) = (ItemKind::Approval, Some(self.id.to_string()));
        Derived::Item { kind, key, is: ItemIs::There, due: self.due() }
    }
}

/// The state of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// It has no answer yet.
    Pending,
    /// A human or a delegation approved it.
    Approved,
    /// A human denied it, or it timed out.
    Denied,
    /// It was withdrawn before an answer, or revoked after it was approved.
    Revoked,
}

words!(ApprovalState: Pending "pending", Approved "approved", Denied "denied", Revoked "revoked");

/// An approval was answered, by an actor or by its timeout. The entry says by which actor, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalAnswered {
    /// The whole approval, so that its newest entry says everything about it.
    pub approval: ApprovalAsked,
    /// The state from here on; never pending.
    pub state: ApprovalState,
    /// Whether it timed out, so that the fallback answered it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// The reason, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Fact for ApprovalAnswered {
    fn derived(&self) -> Derived {
        Derived::there(ItemKind::Approval, &self.approval.id)
    }
}

/// A human let agents use capabilities on this thread without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delegation {
    /// The id of the delegation.
    pub id: Uuid,
    /// The capabilities that are delegated.
    pub scope: Vec<Capability>,
    /// The name of the agent; none means every agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The purpose, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it ends; none means when it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Whether it can be revoked before that.
    pub can_revoke: bool,
}

impl Delegation {
    /// Whether the agent called `agent` may use `capability` at `now`.
    pub fn covers(&self, agent: &str, capability: &Capability, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
            && self.to.as_ref().is_none_or(|to| to == agent)
            && self.scope.contains(capability)
    }
}

impl Fact for Delegation {
    fn derived(&self) -> Derived {
        Derived::there(ItemKind::Delegation, &self.id)
    }
}

/// A delegation was revoked: agents have to ask again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DelegationRevoked {
    /// The id of the delegation.
    pub id: Uuid,
    /// The reason, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Fact for DelegationRevoked {
    fn derived(&self) -> Derived {
        Derived::gone(ItemKind::Delegation, &self.id)
    }
}

/// Longest reason, in bytes.
pub const REASON_BYTES_MAX: usize = 4_096;

/// A reason without null bytes; a blank reason becomes none.
///
/// # Errors
/// If it is too long.
pub fn checked_reason(reason: Option<String>) -> Result<Option<String>, Invalid> {
    let reason = reason.map(strip_nulls).filter(|reason| !reason.trim().is_empty());
    if reason.as_ref().is_some_and(|reason| reason.len() > REASON_BYTES_MAX) {
        return Err(Invalid::body("reason", format!("has at most {REASON_BYTES_MAX} bytes")));
    }
    Ok(reason)
}

/// The name of the agent that a delegation is for, checked.
///
/// # Errors
/// If it breaks a rule of an [`identity`](crate::identity).
pub fn checked_agent(name: String) -> Result<String, Invalid> {
    crate::identity("to", name, Account::NAME_BYTES_MAX).map_err(|invalid| Invalid::body("to", invalid.rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delegation_covers_its_agents_its_scope_and_its_time() {
        let at = Timestamp::from_micros;
        let given = |to: Option<&str>, until: Option<i64>| Delegation {
            id: "5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("a uuid"),
            scope: vec![Capability::CodeEdit],
            to: to.map(str::to_owned),
            reason: None,
            until: until.map(at),
            can_revoke: true,
        };
        assert!(given(None, None).covers("coder", &Capability::CodeEdit, at(5)));
        assert!(!given(None, None).covers("coder", &Capability::Deploy, at(5)));
        assert!(given(Some("coder"), Some(6)).covers("coder", &Capability::CodeEdit, at(5)));
        assert!(!given(Some("coder"), Some(5)).covers("coder", &Capability::CodeEdit, at(5)));
        assert!(!given(Some("other"), None).covers("coder", &Capability::CodeEdit, at(5)));
    }
}

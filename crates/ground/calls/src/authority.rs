//! Who may do what: transfers, approvals, delegations.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use threadkeep_model::{
    Actor, ApprovalState, AskedCall, Capability, Fallback, ThreadId, ThreadName, Timestamp, Uuid, parse_duration,
};

use crate::ErrorCode;
use crate::asked::refuse;
use crate::call::{Declaration, Honours};
use crate::group::AUTHORITY;
use crate::object::{parsed, some_thread};
use crate::shape::paged;

/// Requests an approval, or delegates authority to agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transfer {
    /// Whether it asks a human for authority, or gives authority to agents.
    pub direction: Direction,
    /// The capabilities it is about.
    #[schemars(length(min = 1, max = Capability::SCOPE_MAX))]
    pub scope: Vec<Capability>,
    /// For a delegation, the agent, by its name. Default: every agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255), regex(pattern = threadkeep_model::schema::IDENTITY))]
    pub to: Option<String>,
    /// The reason, for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = threadkeep_model::REASON_BYTES_MAX))]
    pub reason: Option<String>,
    /// How long to wait for an answer, or how long a delegation holds: an ISO 8601 duration such as `PT30S` or `P1D`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "iso8601",
        deserialize_with = "duration"
    )]
    #[schemars(
        with = "Option<String>",
        regex(pattern = r"^P([0-9]{1,4}D)?(T([0-9]{1,6}H)?([0-9]{1,6}M)?([0-9]{1,6}S)?)?$"),
        example = &"PT30S"
    )]
    pub timeout: Option<Duration>,
    /// The outcome if the time runs out without an answer. Default: `block`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// Whether it can be revoked later. Default: yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub can_revoke: Option<bool>,
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| parse_duration("timeout", &text)).transpose().map_err(|invalid| refuse(&invalid))
}

fn iso8601<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    const DAY: u64 = 86_400;
    duration
        .map(|duration| {
            let days = duration.as_secs() / DAY;
            // Parts of a second too: they are read as well.
            let rest = (duration - Duration::from_secs(days * DAY)).as_secs_f64();
            match (days, rest) {
                (0, rest) => format!("PT{rest}S"),
                (days, 0.0) => format!("P{days}D"),
                (days, rest) => format!("P{days}DT{rest}S"),
            }
        })
        .serialize(serializer)
}

impl Transfer {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("transfer", "transfer"), "/v1/threads/{thread}/transfer", AUTHORITY)
            .about("Requests an approval, or delegates authority to agents.")
            .creates("The approval that waits, or the delegation that holds.")
            .fails(&[ErrorCode::ThreadClosed])
            .identities(&["to", "scope"])
            .example(
                r#"{"direction":"request_approval","scope":["delete_file"],"reason":"it is old","timeout":"PT30S","fallback":"skip"}"#,
            );

    /// Asks to be allowed `scope`.
    pub fn request_approval(scope: impl IntoIterator<Item = Capability>) -> Self {
        Self::new(Direction::RequestApproval, scope)
    }

    /// Lets agents do `scope` without asking.
    pub fn delegate(scope: impl IntoIterator<Item = Capability>) -> Self {
        Self::new(Direction::Delegate, scope)
    }

    fn new(direction: Direction, scope: impl IntoIterator<Item = Capability>) -> Self {
        let scope = scope.into_iter().collect();
        Self { direction, scope, to: None, reason: None, timeout: None, fallback: None, can_revoke: None }
    }
}

/// The direction of authority: from a human on request, or to agents in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The caller asks a human.
    RequestApproval,
    /// A human gives it to agents.
    Delegate,
}

/// The result of a transfer: an approval or a delegation, as its direction says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Transferred {
    /// The approval that waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<Uuid>,
    /// The delegation that holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation_id: Option<Uuid>,
}

macro_rules! answers {
    ($($(#[$doc:meta])* $name:ident names $field:ident = $declaration:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        #[schemars(rename = "Answer")]
        pub struct $name {
            /// The id of the approval or delegation.
            #[serde(deserialize_with = "parsed")]
            #[schemars(skip)]
            pub $field: Uuid,
            /// The reason, for people to read.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(length(max = threadkeep_model::REASON_BYTES_MAX))]
            pub reason: Option<String>,
        }

        impl $name {
            pub(crate) const DECLARATION: Declaration = $declaration;

            /// This one, without a reason.
            pub fn of($field: Uuid) -> Self {
                Self { $field, reason: None }
            }
        }
    )*};
}

answers! {
    /// Approves a request.
    Approve names approval = Declaration::post(("approve", "approve"), "/v1/approvals/{approval}/approve", AUTHORITY)
        .about("Approves a request.")
        .gives("The approval as it is now.")
        .fails(&[ErrorCode::ApprovalAnswered, ErrorCode::ApprovalUndone])
        .example(r#"{"reason":"go ahead"}"#);
    /// Denies a request.
    Deny names approval = Declaration::post(("deny", "deny"), "/v1/approvals/{approval}/deny", AUTHORITY)
        .about("Denies a request.")
        .gives("The approval as it is now.")
        .fails(&[ErrorCode::ApprovalAnswered, ErrorCode::ApprovalUndone])
        .example(r#"{"reason":"not today"}"#);
    /// Withdraws a pending approval, or revokes an approved one.
    RevokeApproval names approval =
        Declaration::post(("revoke", "revokeApproval"), "/v1/approvals/{approval}/revoke", AUTHORITY)
            .about("Withdraws a pending approval, or revokes an approved one.")
            .gives("The approval as it is now.")
            .fails(&[ErrorCode::ApprovalAnswered, ErrorCode::ApprovalUndone])
            .example(r#"{"reason":"it is done"}"#);
    /// Revokes a delegation; agents have to ask again.
    RevokeDelegation names delegation = Declaration::post(
        ("revoke-delegation", "revokeDelegation"),
        "/v1/delegations/{delegation}/revoke",
        AUTHORITY,
    )
    .about("Revokes a delegation; agents have to ask again.")
    .gives("The delegation that holds no more.")
    // The delegation is gone afterwards, so a repetition could not find its thread.
    .honours(Honours::DELETION)
    .example(r#"{"reason":"it is Monday"}"#);
}

/// Lists approvals of all threads.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListApprovals {
    /// Approvals in this state. Default: pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<ListedState>,
    /// Approvals of this thread.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_thread")]
    pub thread_id: Option<ThreadName>,
    /// Number of items in a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
    /// The cursor of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl ListApprovals {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("approvals", "listApprovals"), "/v1/approvals", AUTHORITY)
            .about("Lists approvals of all threads, oldest first. Default: pending ones.")
            .gives("A page of approvals.")
            .fails(&[ErrorCode::InvalidCursor, ErrorCode::InvalidThreadId, ErrorCode::ThreadNotFound]);
}

/// The state of approvals that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListedState {
    /// Waits for an answer.
    Pending,
    /// Approvals that were approved.
    Approved,
    /// Denied, or not answered in time.
    Denied,
    /// Withdrawn, or taken back.
    Revoked,
    /// Approvals in every state.
    All,
}

impl ListedState {
    /// The state; none for all of them.
    pub fn state(self) -> Option<ApprovalState> {
        match self {
            Self::Pending => Some(ApprovalState::Pending),
            Self::Approved => Some(ApprovalState::Approved),
            Self::Denied => Some(ApprovalState::Denied),
            Self::Revoked => Some(ApprovalState::Revoked),
            Self::All => None,
        }
    }
}

/// Shows one approval by its id.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetApproval {
    /// The id of the approval.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub approval: Uuid,
}

impl GetApproval {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("approval", "getApproval"), "/v1/approvals/{approval}", AUTHORITY)
            .about("Shows an approval.")
            .gives("The approval.");
}

/// A request to be allowed something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// The id of the approval, under which it is answered.
    pub id: Uuid,
    /// The thread it is about.
    pub thread_id: ThreadId,
    /// The capabilities that were asked for.
    pub scope: Vec<Capability>,
    /// Why it was asked for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The state: pending, or the answer.
    pub state: ApprovalState,
    /// The actor that asked.
    pub asked_by: Actor,
    /// When it was asked for.
    pub asked_at: Timestamp,
    /// When it times out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at: Option<Timestamp>,
    /// The outcome if the time runs out.
    pub fallback: Fallback,
    /// Whether it can be taken back after it was approved.
    pub can_revoke: bool,
    /// The one call of a tool that it allows, with its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<AskedCall>,
    /// Whether it is pending past its time-out.
    pub overdue: bool,
    /// Whether the entry that asked for it is in view: a rollback undoes it, and an undo brings it back.
    pub holds: bool,
    /// The actor that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<Actor>,
    /// When it was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<Timestamp>,
    /// Why it was answered so, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_reason: Option<String>,
    /// Whether the time-out answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

paged! {
    /// Lists what agents may do on a thread without asking.
    ListDelegations =
        Declaration::get(("delegations", "listDelegations"), "/v1/threads/{thread}/delegations", AUTHORITY)
            .about("Lists the delegations of a thread: what agents may do without asking.")
            .gives("The delegations that hold; with `limit`, a page of them.")
            .fails(&[ErrorCode::InvalidCursor]);
}

/// A permission for agents to act on a thread without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delegation {
    /// The id of the delegation, under which it is revoked.
    pub id: Uuid,
    /// The thread on which it holds.
    pub thread_id: ThreadId,
    /// The capabilities that it gives.
    pub scope: Vec<Capability>,
    /// The agent, by its name; absent for every agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The reason, for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it expires. Absent if it is valid until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Whether it can be revoked before that.
    pub can_revoke: bool,
    /// The human who gave it.
    pub given_by: Actor,
    /// When it was given.
    pub given_at: Timestamp,
    /// Whether it holds now.
    pub holds: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_told_as_it_is_read() {
        for text in ["PT30S", "P1D", "P2DT5S", "PT0.5S"] {
            let json = format!(r#"{{"direction":"delegate","scope":["deploy"],"timeout":"{text}"}}"#);
            let transfer: Transfer = serde_json::from_str(&json).expect("a transfer");
            assert_eq!(serde_json::to_string(&transfer).expect("json"), json);
        }
    }
}

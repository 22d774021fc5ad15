//! Who may do what on a thread without asking: capabilities, approvals that somebody asked for, and delegations that
//! somebody gave.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Account, Actor, Invalid, Timestamp, Uuid, strip_nulls};

/// Something that an agent may do: one of the standard list, or the use of a tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// Read files.
    Read,
    /// Search code.
    Search,
    /// Analyze code.
    Analyze,
    /// Edit code.
    CodeEdit,
    /// Run tests.
    TestRun,
    /// Delete files.
    DeleteFile,
    /// Execute commands.
    ExecuteCommand,
    /// Approve merges.
    ApproveMerge,
    /// Deploy.
    Deploy,
    /// Use the tool of this name: `tool:NAME`.
    Tool(String),
}

/// Who says yes to a capability where nobody said anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authorisation {
    /// Nobody has to.
    Auto,
    /// A human.
    RequireHuman,
}

impl Capability {
    /// The standard list.
    pub const STANDARD: [Capability; 9] = [
        Self::Read,
        Self::Search,
        Self::Analyze,
        Self::CodeEdit,
        Self::TestRun,
        Self::DeleteFile,
        Self::ExecuteCommand,
        Self::ApproveMerge,
        Self::Deploy,
    ];

    /// Longest name of a tool, in bytes.
    pub const TOOL_BYTES_MAX: usize = 255;

    /// Most capabilities that are asked for or given at once.
    pub const SCOPE_MAX: usize = 100;

    /// What holds where nobody said anything.
    pub fn authorisation(&self) -> Authorisation {
        match self {
            Self::Read | Self::Search | Self::Analyze | Self::TestRun => Authorisation::Auto,
            Self::CodeEdit
            | Self::DeleteFile
            | Self::ExecuteCommand
            | Self::ApproveMerge
            | Self::Deploy
            | Self::Tool(_) => Authorisation::RequireHuman,
        }
    }

    /// `scope` in a fixed order, each capability once.
    ///
    /// # Errors
    /// If it names nothing, or too much.
    pub fn scope(mut scope: Vec<Self>) -> Result<Vec<Self>, Invalid> {
        scope.sort();
        scope.dedup();
        if scope.is_empty() || scope.len() > Self::SCOPE_MAX {
            return Err(Invalid::body("scope", format!("names 1 to {} capabilities", Self::SCOPE_MAX)));
        }
        Ok(scope)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Search => "search",
            Self::Analyze => "analyze",
            Self::CodeEdit => "code_edit",
            Self::TestRun => "test_run",
            Self::DeleteFile => "delete_file",
            Self::ExecuteCommand => "execute_command",
            Self::ApproveMerge => "approve_merge",
            Self::Deploy => "deploy",
            Self::Tool(name) => return write!(f, "tool:{name}"),
        })
    }
}

impl FromStr for Capability {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some(tool) = text.strip_prefix("tool:") {
            let tool = strip_nulls(tool.to_owned());
            if tool.trim().is_empty() || tool.len() > Self::TOOL_BYTES_MAX {
                let rule = format!("the name of a tool has 1 to {} bytes, and is not blank", Self::TOOL_BYTES_MAX);
                return Err(Invalid::body("scope", rule));
            }
            return Ok(Self::Tool(tool));
        }
        Self::STANDARD.into_iter().find(|known| known.to_string() == text).ok_or_else(|| {
            let known = Self::STANDARD.map(|known| known.to_string()).join(", ");
            let shown: String = text.chars().take(64).collect();
            Invalid::body("scope", format!("'{shown}' is none of {known} and tool:NAME"))
        })
    }
}

impl Serialize for Capability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Capability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What happens to an approval that nobody answered in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// It is denied, and work goes on without it.
    Skip,
    /// It stays pending, and says that it is overdue.
    #[default]
    Block,
    /// It is approved if a delegation that a human gave covers it by then; else it is denied.
    AutoApprove,
}

impl Fallback {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Block => "block",
            Self::AutoApprove => "auto_approve",
        }
    }
}

/// Body of [`Entry::ApprovalRequested`](crate::Entry::ApprovalRequested): somebody asks to be allowed something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalAsked {
    /// Its identity.
    pub id: Uuid,
    /// What is asked for.
    pub scope: Vec<Capability>,
    /// What for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When nobody has answered in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at: Option<Timestamp>,
    /// What happens then.
    pub fallback: Fallback,
    /// Whether it can be taken back after it was approved.
    pub can_revoke: bool,
    /// The merge that waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Uuid>,
    /// Who asks.
    pub asked_by: Actor,
    /// When.
    pub asked_at: Timestamp,
}

impl ApprovalAsked {
    /// When its timeout does something: one that blocks is only overdue then.
    pub fn due(&self) -> Option<Timestamp> {
        match self.fallback {
            Fallback::Skip | Fallback::AutoApprove => self.timeout_at,
            Fallback::Block => None,
        }
    }
}

/// How an approval stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Nobody answered yet.
    Pending,
    /// Somebody said yes.
    Approved,
    /// Somebody said no, or nobody said anything in time.
    Denied,
    /// Whoever asked withdrew it, or what was approved was taken back.
    Revoked,
}

impl ApprovalState {
    /// All states.
    pub const ALL: [ApprovalState; 4] = [Self::Pending, Self::Approved, Self::Denied, Self::Revoked];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Revoked => "revoked",
        }
    }
}

/// Body of [`Entry::ApprovalAnswered`](crate::Entry::ApprovalAnswered). Who answered, and when, the entry says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalAnswered {
    /// What was asked, whole: the newest entry of an approval tells all of it.
    pub approval: ApprovalAsked,
    /// How it stands from here on; never pending.
    pub state: ApprovalState,
    /// Whether nobody answered in time, so that the fallback did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Body of [`Entry::Delegated`](crate::Entry::Delegated): a human lets agents do something on this thread without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delegation {
    /// Its identity.
    pub id: Uuid,
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
}

impl Delegation {
    /// Whether it lets the agent called `agent` do this at `now`.
    pub fn covers(&self, agent: &str, capability: &Capability, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
            && self.to.as_ref().is_none_or(|to| to == agent)
            && self.scope.contains(capability)
    }
}

/// Body of [`Entry::DelegationRevoked`](crate::Entry::DelegationRevoked).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DelegationRevoked {
    /// Which one.
    pub id: Uuid,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Longest reason, in bytes.
pub const REASON_BYTES_MAX: usize = 4_096;

/// A reason without null bytes; a blank one is none.
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

/// The name of an agent that something is delegated to, checked.
///
/// # Errors
/// If it is blank or too long.
pub fn checked_agent(name: String) -> Result<String, Invalid> {
    let name = strip_nulls(name);
    if name.trim().is_empty() || name.len() > Account::NAME_BYTES_MAX {
        let rule = format!("the name of an agent has 1 to {} bytes, and is not blank", Account::NAME_BYTES_MAX);
        return Err(Invalid::body("to", rule));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_the_standard_list_and_tools_by_name() {
        let auto: Vec<String> = Capability::STANDARD
            .into_iter()
            .filter(|capability| capability.authorisation() == Authorisation::Auto)
            .map(|capability| capability.to_string())
            .collect();
        assert_eq!(auto, ["read", "search", "analyze", "test_run"]);
        for capability in Capability::STANDARD.into_iter().chain([Capability::Tool("web.fetch".into())]) {
            assert_eq!(capability.to_string().parse(), Ok(capability));
        }
        for wrong in ["", "Read", "write", "tool:", "tool: ", "code-edit"] {
            assert!(wrong.parse::<Capability>().is_err(), "{wrong}");
        }
    }

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

//! Who works on a thread, and with what: the agent it is assigned to, the skills that are active, the execution that
//! is open, and the threads of its subagents.

use serde::{Deserialize, Serialize};

use crate::{Code, Invalid, Json, ThreadId, Timestamp, Uuid, strip_nulls};

/// A skill that was activated on a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Skill {
    /// Its name.
    #[cfg_attr(feature = "schema", schemars(length(max = Skill::NAME_BYTES_MAX), regex(pattern = crate::schema::NOT_BLANK)))]
    pub name: String,
    /// What it was activated with, a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Object>"))]
    pub arguments: Option<Json>,
}

impl Skill {
    /// Longest name, in bytes.
    pub const NAME_BYTES_MAX: usize = 255;
    /// Most skills of a thread.
    pub const COUNT_MAX: usize = 1_000;

    /// Checks what its type does not already prove, and strips null bytes.
    ///
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn checked(self) -> Result<Self, Invalid> {
        let name = named("name", self.name, Self::NAME_BYTES_MAX)?;
        if self.arguments.as_ref().is_some_and(|arguments| !arguments.is_object()) {
            return Err(Invalid::body("arguments", "must be a JSON object"));
        }
        Ok(Self { name, ..self })
    }
}

/// The agent a thread is assigned to and the skills that are active: what a rollback restores and a fork inherits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AgentState {
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The skills, in the order they were activated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
}

/// An execution that is open: somebody works on the thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Execution {
    /// Its identity.
    pub id: Uuid,
    /// Who works.
    pub by: String,
    /// The fence at which it began. A rollback or a truncation raises it: the execution is lost then.
    pub fence: u64,
    /// When it began.
    pub began: Timestamp,
    /// From when on others may take over, unless it goes a step further.
    pub until: Timestamp,
    /// How many steps it went.
    #[serde(default)]
    pub steps: u64,
}

impl Execution {
    /// How long an execution may rest between two steps before others may take over, unless its executor says
    /// otherwise.
    pub const TTL_MICROS: i64 = 600 * 1_000_000;
    /// The shortest such time.
    pub const TTL_MICROS_MIN: i64 = 1_000_000;
    /// The longest such time.
    pub const TTL_MICROS_MAX: i64 = 24 * 3_600 * 1_000_000;
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatus {
    /// The work is done.
    #[default]
    Completed,
    /// Something went wrong.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

impl ExecutionStatus {
    /// All statuses.
    pub const ALL: [Self; 3] = [Self::Completed, Self::Failed, Self::Cancelled];

    /// The status as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl std::str::FromStr for ExecutionStatus {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
            let rule = format!("'{text}' is not how an execution ends: completed, failed or cancelled");
            Invalid::parameter("status", rule)
        })
    }
}

/// The thread of a subagent, as its parent's registry knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Child {
    /// The thread.
    pub reference: ThreadId,
    /// The name of the subagent.
    pub name: String,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// Whether it stays after its work, and can be spoken to again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumable: Option<bool>,
    /// Whether its parent waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocking: Option<bool>,
    /// A name for the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_name: Option<String>,
    /// Shared by the children that one message made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_group_id: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// What it is doing, in its own words.
    pub status: String,
    /// Whether it reports to its parent by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_communication: Option<ParentCommunication>,
}

/// Whether a subagent reports to its parent by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ParentCommunication {
    /// When it ends, by itself.
    Implicit,
    /// Only when it says so.
    Explicit,
}

impl std::str::FromStr for ParentCommunication {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "implicit" => Ok(Self::Implicit),
            "explicit" => Ok(Self::Explicit),
            other => {
                let rule = format!("'{other}' is neither implicit nor explicit");
                Err(Invalid::parameter("parentCommunication", rule))
            }
        }
    }
}

impl Child {
    /// Longest text of any of its fields, in bytes.
    pub const TEXT_BYTES_MAX: usize = 4 << 10;

    /// Checks what its type does not already prove, and strips null bytes.
    ///
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn checked(self) -> Result<Self, Invalid> {
        let max = Self::TEXT_BYTES_MAX;
        let optional = |field: &str, text: Option<String>| text.map(|text| bounded(field, text, max)).transpose();
        Ok(Self {
            name: named("name", self.name, max)?,
            title: optional("title", self.title)?,
            description: bounded("description", self.description, max)?,
            thread_name: optional("threadName", self.thread_name)?,
            spawn_group_id: optional("spawnGroupId", self.spawn_group_id)?,
            status: named("status", self.status, max)?,
            ..self
        })
    }
}

/// A text that is not blank and not too long.
fn named(field: &str, text: String, max: usize) -> Result<String, Invalid> {
    let text = bounded(field, text, max)?;
    if text.trim().is_empty() { Err(Invalid::body(field, "must not be blank")) } else { Ok(text) }
}

fn bounded(field: &str, text: String, max: usize) -> Result<String, Invalid> {
    let text = strip_nulls(text);
    if text.len() > max {
        return Err(Invalid::new(Code::TooLarge, field, format!("has at most {max} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_has_a_name_and_an_object() {
        let skill = |name: &str, arguments: Option<&str>| {
            let arguments = arguments.map(|json| Json::parse("arguments", json).expect("JSON"));
            Skill { name: name.to_owned(), arguments }.checked()
        };
        assert!(skill("pdf", Some("{}")).is_ok());
        assert_eq!(skill(" ", None).expect_err("blank").field, "name");
        assert_eq!(skill("pdf", Some("[1]")).expect_err("an array").field, "arguments");
        assert_eq!(skill(&"x".repeat(256), None).expect_err("long").code, Code::TooLarge);
    }
}

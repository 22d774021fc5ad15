//! Agents at work on a thread: the assigned agent, its skills, and the registry of subagents. Runs are next door.

use serde::{Deserialize, Serialize};

use crate::text::{bounded, from_words, named, words};
use crate::{Invalid, Json, ThreadId, Timestamp};

/// A skill that was activated on a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Skill {
    /// The name of the skill.
    #[cfg_attr(feature = "schema", schemars(length(max = Skill::NAME_BYTES_MAX), regex(pattern = crate::text::NOT_BLANK)))]
    pub name: String,
    /// The arguments of its activation, a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::json::Object>"))]
    pub arguments: Option<Json>,
}

impl Skill {
    /// Longest name, in bytes.
    pub const NAME_BYTES_MAX: usize = 255;
    /// Most skills of a thread.
    pub const COUNT_MAX: usize = 1_000;

    /// Checks the rules that its type does not already prove, and strips null bytes.
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

/// The agent a thread is assigned to and the skills that are active. A rollback restores them and a fork inherits them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AgentState {
    /// The agent that the thread is assigned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The skills, in the order they were activated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
}

/// The thread of a subagent, as its parent's registry knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Child {
    /// The thread of the subagent.
    pub reference: ThreadId,
    /// The name of the subagent.
    pub name: String,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The task of the subagent.
    pub description: String,
    /// Whether the subagent can be resumed after its work.
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
    /// When the thread was registered.
    pub created_at: Timestamp,
    /// Its activity, in its own words.
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
    /// It reports when it ends.
    Implicit,
    /// It reports only when it asks for it.
    Explicit,
}

words!(ParentCommunication: Implicit "implicit", Explicit "explicit");
from_words!(ParentCommunication, "parentCommunication");

impl Child {
    /// Longest text of any of its fields, in bytes.
    pub const TEXT_BYTES_MAX: usize = 4 << 10;

    /// Checks the rules that its type does not already prove, and strips null bytes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

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

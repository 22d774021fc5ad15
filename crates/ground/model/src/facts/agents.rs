//! Facts about agents: skills, assignments, and the registry of subagents. Runs are next door.

use serde::{Deserialize, Serialize};

use crate::fact::{Fact, RecordChange};
use crate::{AgentState, Child, Derived, ItemKind, ThreadId};

/// A skill was activated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillActivated {
    /// The name of the skill.
    pub name: String,
    /// Agent and skills from here on, whole: a rollback finds the state of a version in one entry.
    pub state: AgentState,
}

impl Fact for SkillActivated {
    const RECORD: RecordChange<Self> = Some(|activated, record| Ok(record.with_state(activated.state.clone())));

    fn derived(&self) -> Derived {
        Derived::State
    }
}

/// The thread was assigned to another agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentAssigned {
    /// Agent and skills from here on, whole.
    pub state: AgentState,
}

impl Fact for AgentAssigned {
    const RECORD: RecordChange<Self> = Some(|assigned, record| Ok(record.with_state(assigned.state.clone())));

    fn derived(&self) -> Derived {
        Derived::State
    }
}

/// The thread of a subagent was registered, or its registration changed.
impl Fact for Child {
    fn derived(&self) -> Derived {
        Derived::there(ItemKind::Child, &self.reference)
    }
}

/// The thread of a subagent was removed from the registry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChildRemoved {
    /// The thread of the subagent.
    pub reference: ThreadId,
}

impl Fact for ChildRemoved {
    fn derived(&self) -> Derived {
        Derived::gone(ItemKind::Child, &self.reference)
    }
}

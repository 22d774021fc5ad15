//! Facts about agents: executions, skills, assignments, and the registry of subagents.

use serde::{Deserialize, Serialize};

use crate::fact::{Fact, RecordChange};
use crate::{AgentState, Child, Derived, Execution, ExecutionStatus, ItemKind, Record, ThreadId, Timestamp, Uuid};

/// An execution began: an agent works on the thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionBegan {
    /// The execution as it began, with no steps.
    pub execution: Execution,
    /// The execution it took over from, which never ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Uuid>,
}

impl Fact for ExecutionBegan {
    const RECORD: RecordChange<Self> =
        Some(|began, record| Ok(Record { execution: Some(began.execution.clone()), ..record }));
}

/// An execution made a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionStepped {
    /// The id of the execution.
    pub id: Uuid,
    /// When others may take over, unless it makes another step before.
    pub until: Timestamp,
}

impl Fact for ExecutionStepped {
    const RECORD: RecordChange<Self> = Some(|stepped, record| {
        let stepped = |before: Execution| Execution { until: stepped.until, steps: before.steps + 1, ..before };
        Ok(Record { execution: record.execution.map(stepped), ..record })
    });
}

/// The open execution ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionEnded {
    /// The id of the execution.
    pub id: Uuid,
    /// How the execution ended.
    pub status: ExecutionStatus,
}

impl Fact for ExecutionEnded {
    const RECORD: RecordChange<Self> = Some(|_, record| Ok(Record { execution: None, ..record }));
}

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

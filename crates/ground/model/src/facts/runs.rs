//! Facts about runs: the work of an agent on a thread, from its start to its end.

use serde::{Deserialize, Serialize};

use crate::fact::{Fact, RecordChange};
use crate::json::is_default;
use crate::{Derived, ItemIs, ItemKind, ModelCall, Record, Run, RunOutcome, Timestamp, Uuid, Wait};

/// A run started, or another attempt goes on with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunStarted {
    /// The run as it is now.
    pub run: Run,
    /// The hash of the definitions with which the runtime works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definitions: Option<String>,
}

impl Fact for Box<RunStarted> {
    const RECORD: RecordChange<Self> = Some(|started, record| Ok(Record { run: Some(started.run.clone()), ..record }));

    fn derived(&self) -> Derived {
        let (key, due) = (Some(self.run.id.to_string()), self.run.stop.map(|stop| stop.due));
        Derived::Item { kind: ItemKind::Run, key, is: ItemIs::There, due }
    }
}

/// A run made a step, or went on with one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunStepped {
    /// The run after the step.
    pub run: Run,
    /// Whether it belongs to the step before it, such as the result of a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    /// Number of messages of the executor that follow in the same commit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub messages: u64,
    /// What the model was given, and what that took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelCall>,
}

impl Fact for Box<RunStepped> {
    const RECORD: RecordChange<Self> = Some(|stepped, record| Ok(Record { run: Some(stepped.run.clone()), ..record }));
}

/// Somebody asked to stop the open run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunStopAsked {
    /// The run with the request.
    pub run: Run,
}

impl Fact for Box<RunStopAsked> {
    const RECORD: RecordChange<Self> = Some(|asked, record| Ok(Record { run: Some(asked.run.clone()), ..record }));

    fn derived(&self) -> Derived {
        let (key, due) = (Some(self.run.id.to_string()), self.run.stop.map(|stop| stop.due));
        Derived::Item { kind: ItemKind::Run, key, is: ItemIs::There, due }
    }
}

/// Somebody asked that a side of the open run speak next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunTurnAsked {
    /// The run with the request.
    pub run: Run,
}

impl Fact for Box<RunTurnAsked> {
    const RECORD: RecordChange<Self> = Some(|asked, record| Ok(Record { run: Some(asked.run.clone()), ..record }));
}

/// An answer came for which the run waited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunWoken {
    /// The run, which does not wait for the answer any more.
    pub run: Run,
    /// The answer that came.
    pub wait: Wait,
}

impl Fact for Box<RunWoken> {
    const RECORD: RecordChange<Self> = Some(|woken, record| Ok(Record { run: Some(woken.run.clone()), ..record }));
}

/// The open run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunEnded {
    /// The run as it was at its end.
    pub run: Run,
    /// How it ended.
    pub status: RunOutcome,
    /// The code of the reason, such as `stop_tool` or `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Fact for Box<RunEnded> {
    const RECORD: RecordChange<Self> = Some(|_, record| Ok(Record { run: None, ..record }));

    /// An ended run changes its kind of item, so that a look at open runs reads no ended ones.
    fn derived(&self) -> Derived {
        let (kind, key) = (ItemKind::RunEnded, Some(self.run.id.to_string()));
        Derived::Item { kind, key, is: ItemIs::InsteadOf(ItemKind::Run), due: None }
    }
}

/// An execution began: a run of logs from before there were attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionBegan {
    /// The execution as it began, with no steps.
    pub execution: Run,
    /// The execution it took over from, which never ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Uuid>,
}

impl Fact for Box<ExecutionBegan> {
    const RECORD: RecordChange<Self> =
        Some(|began, record| Ok(Record { run: Some(began.execution.clone()), ..record }));
}

/// An execution made a step, in logs from before there were attempts.
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
        let stepped = |before: Run| Run { until: stepped.until, steps: before.steps + 1, ..before };
        Ok(Record { run: record.run.map(stepped), ..record })
    });
}

/// The open execution ended, in logs from before there were attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionEnded {
    /// The id of the execution.
    pub id: Uuid,
    /// How the execution ended.
    pub status: ExecutionStatus,
}

impl Fact for ExecutionEnded {
    const RECORD: RecordChange<Self> = Some(|_, record| Ok(Record { run: None, ..record }));
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatus {
    /// The work is done.
    Completed,
    /// The work ended with an error.
    Failed,
    /// The execution was cancelled.
    Cancelled,
}

impl From<ExecutionStatus> for RunOutcome {
    fn from(status: ExecutionStatus) -> Self {
        match status {
            ExecutionStatus::Completed => Self::Completed,
            ExecutionStatus::Failed => Self::Failed,
            ExecutionStatus::Cancelled => Self::Stopped,
        }
    }
}

//! The open run of a thread as `ThreadState` shows it, and whose turn it is in one with two sides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{RunSide, Timestamp, Uuid};

use crate::ErrorCode;
use crate::call::Declaration;
use crate::group::RUNS;
use crate::object::parsed;
use crate::shape::reads;

reads! {
    /// Shows the open run of a thread, as `ThreadState` has it.
    GetExecution = Declaration::get(("execution", "getExecution"), "/v1/threads/{thread}/execution", RUNS)
        .about("Shows the open run of a thread: its side, its steps and its prompt.")
        .gives("The run; null at rest.");
}

/// Asks that a side of a run with two speak next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForceTurn {
    /// The id of the run.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub run: Uuid,
    /// The side that speaks next: `a` or `b`.
    pub side: RunSide,
}

impl ForceTurn {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("force-turn", "forceTurn"), "/v1/runs/{run}/force-turn", RUNS)
            .about("Gives the next turn of a `dual_ai` run to a side. The executor takes this up before its next step.")
            .gives("The run. A later request replaces one that was not taken up.")
            .fails(&[ErrorCode::RunOver, ErrorCode::RunHasOneSide])
            .example(r#"{"side":"b"}"#);

    /// Gives the next turn of `run` to `side`.
    pub fn to(run: Uuid, side: RunSide) -> Self {
        Self { run, side }
    }
}

/// The open run of a thread, as `ThreadState` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionState {
    /// The id of the run.
    pub flow_id: Uuid,
    /// The side whose turn it is. An agent of the type `ai_human` has one side, `a`.
    pub current_side: RunSide,
    /// Number of steps: questions to a model.
    pub step_count: u64,
    /// Number of steps of side `a`.
    pub side_a_step_count: u64,
    /// Number of steps of side `b`.
    pub side_b_step_count: u64,
    /// Whether somebody asked to stop it.
    pub stopped: bool,
    /// When somebody asked to stop it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_requested_at: Option<Timestamp>,
    /// The side that was asked to speak next, until the executor takes this up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced_side: Option<RunSide>,
    /// The prompts that work, the outermost first. Empty where the agent is not defined.
    pub prompt_path: Vec<String>,
}

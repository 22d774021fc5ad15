//! The run that is open on a thread, as ThreadState shows it.

use threadkeep_calls::{ForceTurn, StopRun};
use threadkeep_engine::{Engine, Error};
use threadkeep_model::{Run, RunSide, Sides, ThreadId};

use super::ThreadState;
use super::shapes::{GetMessages, Message};
use crate::RuntimeError;

/// Messages of the history.
const HISTORY_MAX: usize = 1_000;

/// A run that is open.
pub struct ExecutionState {
    engine: Engine,
    thread: ThreadId,
    run: Run,
    history: Vec<Message>,
    prompts: Vec<String>,
}

impl ThreadState {
    pub(super) async fn running(&self) -> Result<Option<ExecutionState>, RuntimeError> {
        let Some(run) = self.thread.record.run.clone() else { return Ok(None) };
        let all = GetMessages { limit: HISTORY_MAX, include_silent: true, ..GetMessages::default() };
        let history = self.get_messages(all).await?.messages;
        let (agent, side) = (self.agent_id(), run.sides.unwrap_or_default().turn);
        let prompts = self.on.definitions.prompt_path(agent, side);
        Ok(Some(ExecutionState { engine: self.engine().clone(), thread: self.id(), run, history, prompts }))
    }
}

impl ExecutionState {
    /// The id of the run.
    pub fn flow_id(&self) -> String {
        self.run.id.to_string()
    }

    /// The side whose turn it is.
    pub fn current_side(&self) -> RunSide {
        self.sides().turn
    }

    /// The turns. The only side of an agent makes all steps.
    fn sides(&self) -> Sides {
        self.run.sides.unwrap_or(Sides { steps_a: self.run.steps, ..Sides::default() })
    }

    /// Number of steps: questions to a model.
    pub fn step_count(&self) -> u64 {
        self.run.steps
    }

    /// Number of steps of the first side.
    pub fn side_a_step_count(&self) -> u64 {
        self.sides().steps_a
    }

    /// Number of steps of the second side.
    pub fn side_b_step_count(&self) -> u64 {
        self.sides().steps_b
    }

    /// Whether it was asked to stop.
    pub fn stopped(&self) -> bool {
        self.run.stop.is_some()
    }

    /// The conversation when the state was opened: the newest 1,000 messages, silent ones included.
    pub fn message_history(&self) -> &[Message] {
        &self.history
    }

    /// The prompts that work, the outermost first.
    pub fn prompt_path(&self) -> &[String] {
        &self.prompts
    }

    /// Asks the run to stop after what it does now. Calls that were not begun are dropped.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn stop(&self) -> Result<(), RuntimeError> {
        self.engine.call(self.thread, StopRun { run: self.run.id, now: false }).await?;
        Ok(())
    }

    /// Gives the next turn to a side. The run takes this up before its next step.
    ///
    /// # Errors
    /// If the agent has one side, the run is over, or the store fails.
    pub async fn force_turn(&self, side: RunSide) -> Result<(), RuntimeError> {
        self.engine.call(self.thread, ForceTurn { run: self.run.id, side }).await?;
        Ok(())
    }

    /// Resolves once the run is over or was asked to stop.
    ///
    /// # Errors
    /// If the thread is gone.
    pub async fn aborted(&self) -> Result<(), RuntimeError> {
        let thread = self.engine.thread(self.thread).await?;
        let mut log = self.engine.subscribe(self.thread, thread.head.version).await?;
        loop {
            let run = self.engine.thread(self.thread).await?.record.run;
            if run.is_none_or(|run| run.id != self.run.id || run.stop.is_some()) {
                return Ok(());
            }
            log.next().await?.ok_or(Error::ThreadNotFound { thread: self.thread.into() })?;
        }
    }
}

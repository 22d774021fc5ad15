//! The run that is open on a thread, as ThreadState shows it.

use threadkeep_calls::StopRun;
use threadkeep_engine::{Engine, Error};
use threadkeep_model::{Run, ThreadId};

use super::ThreadState;
use super::shapes::{GetMessages, Message};
use crate::RuntimeError;
use crate::definitions::Name;

/// Messages of the history.
const HISTORY_MAX: usize = 1_000;

/// A side of an agent with two models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunSide {
    /// The first one, whose messages are the assistant's.
    A,
    /// The second one, whose messages are the user's.
    B,
}

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
        let prompts = self.on.prompt.iter().map(Name::text).collect();
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
        RunSide::A
    }

    /// Number of steps: questions to a model.
    pub fn step_count(&self) -> u64 {
        self.run.steps
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

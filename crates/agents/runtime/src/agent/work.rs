//! One attempt at a run: what is done next follows from the log, until the run ends, waits, or is another's.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::json;
use threadkeep_calls::{EndRun, InjectionState, NewMessage, StepRun};
use threadkeep_engine::{Beside, Engine, Error, Owned, Progressed};
use threadkeep_model::{FilePath, MessageBody, Role, RunOutcome, RunSide, Sides, ThreadId, Timestamp, Uuid};
use threadkeep_store::StoreError;
use tokio::task::JoinHandle;

use super::next::{Ending, Next, Progress, next};
use super::reason;
use super::tail::Tail;
use super::title::Made;
use super::watch::{Watch, Why};
use crate::attempt::Attempt;
use crate::definitions::{Agent, Kind, Prompt, Side};
use crate::tools::ATTACHED_MAX;
use crate::{Runtime, RuntimeError};

/// The pause after a commit that may pass a moment later.
const AFTER_FAILURE: Duration = Duration::from_millis(200);
/// How often an attempt begins again after a failure of the store.
const TRIES_MAX: u32 = 5;

/// Whether an attempt goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    /// The run ended, waits for an answer, or is not this attempt's any more.
    Over,
}

/// One attempt at a run.
pub(super) struct Working {
    pub(super) runtime: Runtime,
    /// Acts as the agent, while the lease of this process holds.
    pub(super) engine: Engine,
    pub(super) owned: Owned,
    pub(super) thread: ThreadId,
    pub(super) run: Uuid,
    pub(super) attempt: u64,
    pub(super) began: Timestamp,
    pub(super) steps: u64,
    /// The turns, of an agent with two sides.
    sides: Option<Sides>,
    /// The side that speaks.
    pub(super) speaks: RunSide,
    /// Whether calls of the last step may have begun in an earlier attempt.
    pub(super) resumed: bool,
    /// Whether somebody asked for a stop before this attempt.
    stop: bool,
    /// Whether an injection waits that comes before the next question.
    pub(super) injected: bool,
    /// The part of a model's budget that is used, in percent.
    pub(super) percent: u64,
    /// Whether the thread was handed to another agent by a call of this step.
    pub(super) handed: bool,
    /// Hooks after a commit that were called, each as its moment and what it was about.
    pub(super) told: HashSet<(String, String)>,
    pub(super) on: Attempt,
    pub(super) agent: Option<Agent>,
    pub(super) watch: Watch,
    /// The title that the model makes beside its first answer.
    pub(super) title: Option<JoinHandle<Made>>,
}

impl Working {
    /// An attempt at a run that was just taken.
    ///
    /// # Errors
    /// If the thread cannot be read.
    pub(super) async fn new(
        runtime: &Runtime,
        engine: Engine,
        owned: Owned,
        taken: &Progressed,
    ) -> Result<Self, RuntimeError> {
        let run = &taken.run;
        let (thread, place) = (run.thread_id, (run.id, run.attempt));
        let watch = Watch::new(&engine, (thread, taken.version), place, owned.clone()).await?;
        let on = runtime.attempt(&engine, thread).await?;
        let mut working = Self {
            runtime: runtime.clone(),
            engine,
            owned,
            thread,
            run: run.id,
            attempt: run.attempt,
            began: run.started_at,
            steps: run.step_count,
            sides: run.sides,
            speaks: RunSide::A,
            resumed: run.attempt > 1,
            stop: run.stop_requested_at.is_some(),
            injected: false,
            percent: 100,
            handed: false,
            told: HashSet::new(),
            on,
            agent: None,
            watch,
            title: None,
        };
        working.choose_agent();
        Ok(working)
    }

    /// Takes the agent of the attempt from its definitions. A broken one is told when it is needed.
    fn choose_agent(&mut self) {
        let agent = self.on.agent.as_ref().and_then(|name| self.on.definitions.agent(&name.text(), None).ok());
        self.agent = agent.map(|(_, agent)| agent.clone());
    }

    /// Works until there is nothing more to do.
    pub(super) async fn work(mut self) {
        let mut tries = 0;
        loop {
            let error = match self.go_on().await {
                Ok(()) => return,
                Err(error) => error,
            };
            match &error {
                RuntimeError::Engine(error) if is_over(error) => return,
                RuntimeError::Engine(error) if may_pass(error) && tries < TRIES_MAX => {
                    tracing::warn!(thread = %self.thread, %error, "a run cannot go on at this moment");
                    tries += 1;
                    tokio::time::sleep(AFTER_FAILURE * tries).await;
                }
                _ => {
                    let ending = Ending::failed(reason::STEP_ERROR, error.to_string());
                    if let Err(error) = self.end(ending).await {
                        tracing::warn!(thread = %self.thread, %error, "a run could not be ended");
                    }
                    return;
                }
            }
        }
    }

    async fn go_on(&mut self) -> Result<(), RuntimeError> {
        if std::mem::take(&mut self.stop) {
            self.stopped(String::new()).await?;
            return Ok(());
        }
        Box::pin(self.catch_up()).await?;
        Box::pin(self.booted()).await?;
        Box::pin(self.begin_immediate()).await?;
        loop {
            match self.watch.so_far().await? {
                Some(Why::Over) => return Ok(()),
                Some(Why::Stop) => return self.stopped(String::new()).await.map(drop),
                Some(Why::Injected) => self.injected = true,
                None => {}
            }
            if self.advance().await? == Flow::Over {
                return Ok(());
            }
        }
    }

    async fn advance(&mut self) -> Result<Flow, RuntimeError> {
        let since = self.agent.as_ref().and_then(|agent| agent.max_session_turns).map(|_| self.began);
        let tail = Box::pin(Tail::read(&self.engine, self.thread, self.is_dual(), since)).await?;
        if self.is_dual() {
            // Others may ask for a turn at any time.
            self.sides = self.engine.thread(self.thread).await?.record.run.and_then(|run| run.sides);
        }
        let progress = Progress { steps: self.steps, sides: self.sides, began: self.began };
        let decided = match &self.agent {
            Some(agent) => next(&tail, agent, progress),
            None if self.on.agent.is_some() => {
                let name = self.on.agent.as_ref().map(crate::definitions::Name::text).unwrap_or_default();
                self.on.definitions.agent(&name, None)?;
                Next::End(Ending::tools_done())
            }
            None => Next::End(Ending::tools_done()),
        };
        if decided == Next::Calls {
            self.speak_as(tail.side());
            return Box::pin(self.calls(tail)).await;
        }
        if let Some(queued) = self.engine.queued_tools(self.thread).await?.into_iter().next() {
            return Box::pin(self.queued_tool(queued)).await;
        }
        match decided {
            Next::Calls => Ok(Flow::On),
            Next::Ask(_) if std::mem::take(&mut self.injected) || self.waits_after(&tail).await? => {
                self.deliver().await
            }
            Next::Ask(side) => {
                self.speak_as(side);
                self.take_turn(side).await?;
                Box::pin(self.ask()).await
            }
            Next::End(ending) => {
                if ending.goes_on_with_queue() && !self.engine.queued(self.thread).await?.is_empty() {
                    return self.deliver().await;
                }
                self.end(ending).await
            }
        }
    }

    /// Whether something waits that no step delivered: one without calls delivers nothing.
    async fn waits_after(&self, tail: &Tail) -> Result<bool, RuntimeError> {
        if self.steps == 0 || !tail.calls().is_empty() {
            return Ok(false);
        }
        let waits = !self.engine.queued(self.thread).await?.is_empty();
        Ok(waits || !self.engine.injections(self.thread, InjectionState::Waiting).await?.is_empty())
    }

    /// Whether two models talk.
    pub(super) fn is_dual(&self) -> bool {
        self.agent.as_ref().is_some_and(Agent::is_dual)
    }

    /// Lets a side speak: its prompt is the one that counts.
    pub(super) fn speak_as(&mut self, side: RunSide) {
        self.speaks = side;
        let Some(agent) = &self.agent else { return };
        let package = self.on.agent.as_ref().and_then(|name| name.package.as_deref());
        self.on.prompt = self.on.definitions.find(Kind::Prompt, &agent.side(side).prompt, package).cloned();
    }

    /// Says in the record of the run whose turn it is, if that is another side than after the last step, or was asked for.
    async fn take_turn(&mut self, side: RunSide) -> Result<(), RuntimeError> {
        if self.sides.is_none_or(|sides| sides.turned(side) == sides) {
            return Ok(());
        }
        let mut step = StepRun::of(self.run).attempt(self.attempt);
        (step.continues, step.delivers_nothing) = (true, true);
        self.step(step, Beside { turn: Some(side), ..Beside::default() }).await?;
        Ok(())
    }

    /// The side that speaks.
    pub(super) fn side(&self) -> Option<&Side> {
        self.agent.as_ref().map(|agent| agent.side(self.speaks))
    }

    /// The prompt of the side that speaks; none where no agent works.
    pub(super) fn prompt(&self) -> Result<Option<Prompt>, RuntimeError> {
        let Some(side) = self.side() else { return Ok(None) };
        let package = self.on.agent.as_ref().and_then(|name| name.package.as_deref());
        let (_, prompt) = self.on.definitions.prompt(&side.prompt, package)?;
        Ok(Some(prompt.clone()))
    }

    /// Hands the thread's work to another agent: what follows is its own.
    pub(super) async fn hand_over(&mut self) -> Result<(), RuntimeError> {
        let (context, definitions) = (std::mem::take(&mut self.on.context), self.on.definitions.clone());
        self.on = self.runtime.attempt(&self.engine, self.thread).await?;
        // A run keeps the definitions that it began with.
        (self.on.context, self.on.definitions) = (context, definitions);
        self.choose_agent();
        self.speak_as(RunSide::A);
        Ok(())
    }

    /// The state of the run, as code of tools sees it.
    pub(super) fn execution(&self) -> serde_json::Value {
        let sides = self.sides.unwrap_or(Sides { steps_a: self.steps, ..Sides::default() });
        json!({
            "flowId": self.run, "currentSide": self.speaks.as_str(), "stepCount": self.steps,
            "sideAStepCount": sides.steps_a, "sideBStepCount": sides.steps_b, "stopped": false,
            "promptPath": [self.on.prompt.as_ref().map(crate::definitions::Name::text)],
        })
    }

    /// Delivers what is queued, as a part of the last step.
    pub(super) async fn deliver(&mut self) -> Result<Flow, RuntimeError> {
        let mut step = StepRun::of(self.run).attempt(self.attempt);
        step.continues = true;
        self.step(step, Beside::default()).await?;
        Ok(Flow::On)
    }

    /// Commits a step. While another writer holds the thread, it waits.
    pub(super) async fn step(&mut self, step: StepRun, beside: Beside) -> Result<Progressed, RuntimeError> {
        loop {
            let error = match Box::pin(self.engine.work_step(self.thread, step.clone(), beside.clone())).await {
                Ok(progressed) => {
                    (self.steps, self.sides) = (progressed.run.step_count, progressed.run.sides);
                    return Ok(progressed);
                }
                Err(error) => error,
            };
            self.wait_after(error).await?;
        }
    }

    /// What `work` gives; none if the run is to stop, or is not this attempt's any more. Then the work is dropped.
    pub(super) async fn unless_stopped<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                why = self.watch.next() => match why {
                    Why::Injected => self.injected = true,
                    Why::Stop | Why::Over => return None,
                },
            }
        }
    }

    /// Waits before a commit is tried again.
    ///
    /// # Errors
    /// The error of the commit, if another try does not help.
    async fn wait_after(&mut self, error: Error) -> Result<(), RuntimeError> {
        let is_held = matches!(error, Error::WriterHeld { .. } | Error::Busy);
        if !is_held || self.watch.so_far().await? == Some(Why::Over) {
            return Err(error.into());
        }
        tokio::time::sleep(AFTER_FAILURE).await;
        Ok(())
    }

    /// Ends the run, with the words that explain it.
    pub(super) async fn end(&mut self, ending: Ending) -> Result<Flow, RuntimeError> {
        let said = ending.said.filter(|said| !said.trim().is_empty());
        Box::pin(self.report(said.as_deref())).await?;
        let role = if ending.outcome == RunOutcome::Completed { Role::Assistant } else { Role::Info };
        let mut files = Vec::new();
        for path in ending.files.iter().take(ATTACHED_MAX) {
            // A path that is none, or names nothing, does not keep the run from ending.
            if path.parse::<FilePath>().is_ok() {
                files.extend(self.runtime.attached(&self.on, path).await?);
            }
        }
        let is_said = said.is_some() || !files.is_empty();
        let body = MessageBody::new(role, said.as_deref().unwrap_or_default());
        let messages = is_said.then_some(NewMessage { body, files }).into_iter().collect();
        let flow = self.end_with(ending.outcome, ending.reason, messages).await?;
        if ending.outcome == RunOutcome::Completed {
            self.remember_session();
        }
        Ok(flow)
    }

    pub(super) async fn end_with(
        &mut self,
        status: RunOutcome,
        reason: &str,
        messages: Vec<NewMessage>,
    ) -> Result<Flow, RuntimeError> {
        let end = EndRun { run: self.run, attempt: self.attempt, status, reason: Some(reason.to_owned()), messages };
        let title = Box::pin(self.title_at_end()).await?;
        loop {
            match Box::pin(self.engine.work_end(self.thread, end.clone(), title.titling.clone())).await {
                Ok(_) => {
                    self.title_later(title);
                    return Ok(Flow::Over);
                }
                Err(error) if is_over(&error) => return Ok(Flow::Over),
                Err(error) => self.wait_after(error).await?,
            }
        }
    }
}

/// Whether an error says that the run is not this attempt's any more.
pub(super) fn is_over(error: &Error) -> bool {
    matches!(
        error,
        Error::RunOver { .. }
            | Error::RunNotFound { .. }
            | Error::ThreadNotFound { .. }
            | Error::ThreadTerminated
            | Error::ThreadClosed { .. }
            | Error::ThreadSuspended
            | Error::Store(StoreError::ProcessLost)
    )
}

/// Whether the same may succeed a moment later.
pub(super) fn may_pass(error: &Error) -> bool {
    matches!(
        error,
        Error::Busy
            | Error::WriterHeld { .. }
            | Error::Store(StoreError::Unavailable { .. } | StoreError::DiskFull | StoreError::Frozen { .. })
    )
}

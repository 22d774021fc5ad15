//! Tools that somebody queued: each runs with the authority of the actor who queued it, after the calls of the model.

use serde_json::Value;
use threadkeep_calls::{QueuedTool, StepRun};
use threadkeep_engine::{Beside, Error};
use threadkeep_model::{Caller, Content, MessageBody, Part, Position, Role, Wait};

use super::calls::{broke_off, result_message};
use super::hooked::Settled;
use super::tail::{Called, Marks};
use super::watch::Why;
use super::work::{Flow, Working, is_over, may_pass};
use crate::RuntimeError;
use crate::attempt::{Call, Outcome, ToolResult};
use crate::definitions::Kind;

impl Working {
    /// Carries out a tool that was queued: its call and its result enter the conversation together. An agent of that name
    /// gets the thread.
    pub(super) async fn queued_tool(&mut self, queued: QueuedTool) -> Result<Flow, RuntimeError> {
        let id = queued.id.to_string();
        let called = Called { id: id.clone(), name: queued.tool.clone(), input: queued.args.to_value() };
        let is_agent = self.on.definitions.find(Kind::Tool, &queued.tool, self.on.package()).is_none()
            && self.on.definitions.find(Kind::Agent, &queued.tool, self.on.package()).is_some();
        let mut step = StepRun::of(self.run).attempt(self.attempt);
        (step.continues, step.delivers_nothing) = (true, true);
        if is_agent {
            let beside = Beside { takes: vec![queued.id], agent: Some(queued.tool.clone()), ..Beside::default() };
            self.step(step, beside).await?;
            self.hand_over().await?;
            return Ok(Flow::On);
        }
        let before = Position(queued.id.0.position.0.saturating_sub(1));
        let facts = self.engine.call_facts(self.thread, self.run, before).await?;
        let outcome = match self.run_queued(&queued, &called, broke_off(&facts, &id)).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return Ok(Flow::Over),
            Err(RuntimeError::Engine(Error::ApprovalRequired { approval, .. })) => {
                return self.park(Wait::Approval { approval_id: approval }).await;
            }
            Err(RuntimeError::Engine(error)) if is_over(&error) || may_pass(&error) => return Err(error.into()),
            Err(error) => ToolResult::failure(error.to_string()).into(),
        };
        let outcome = match Box::pin(self.settle(&called, outcome)).await? {
            Settled::Kept(outcome) => outcome,
            Settled::Dropped(Outcome { held, .. }) => {
                self.step(step, Beside { held, takes: vec![queued.id], ..Beside::default() }).await?;
                return Ok(Flow::On);
            }
            Settled::Stopped => return Ok(Flow::On),
        };
        let use_part = Part::ToolUse { id, name: called.name.clone(), input: called.input.clone() };
        let mut body = MessageBody::with_content(Role::Assistant, Content::parts(&[use_part])?);
        // The name tells it from an answer of the model.
        body.name = Some(queued.actor.name.clone());
        let (result, _) = result_message(&called, &outcome.result, Marks { stops: outcome.stop, turn: None })?;
        step.messages = vec![body.into(), result];
        self.step(step, Beside { held: outcome.held, takes: vec![queued.id], ..Beside::default() }).await?;
        Ok(Flow::On)
    }

    /// The outcome of a queued tool; none if the attempt is over.
    async fn run_queued(
        &mut self,
        queued: &QueuedTool,
        called: &Called,
        has_started: bool,
    ) -> Result<Option<Outcome>, RuntimeError> {
        let Value::Object(args) = called.input.clone() else {
            return Ok(Some(ToolResult::failure("the arguments are no JSON object").into()));
        };
        let call = Call { id: called.id.clone(), name: called.name.clone(), args };
        let mut on = self.on.clone();
        let (account, cause) = (self.engine.caller().account.clone(), Some(self.run.to_string()));
        let caller = Caller { account, actor: queued.actor.clone(), cause };
        on.who = self.engine.acting_as(caller).owned(&self.owned);
        on.execution = Some(self.execution());
        let runtime = self.runtime.clone();
        let ready = match runtime.prepared(&on, &call).await? {
            Ok(ready) => ready,
            Err(refused) => return Ok(Some(refused.into())),
        };
        if !ready.declared.repeatable {
            if has_started {
                return Ok(Some(ToolResult::failure(super::calls::BROKE_OFF).into()));
            }
            let begins = [(called.id.clone(), called.name.clone(), called.input.clone())];
            self.engine.begin_calls(self.thread, (self.run, self.attempt), &begins).await?;
        }
        let (cancel, cancelled) = tokio::sync::watch::channel(false);
        let mut working = Box::pin(runtime.carry_out(&on, &ready, &call, &cancelled));
        loop {
            tokio::select! {
                outcome = &mut working => return outcome.map(Some),
                why = self.watch.next() => match why {
                    Why::Over => return Ok(None),
                    Why::Injected => {}
                    Why::Stop => {
                        cancel.send_replace(true);
                        self.stopped(String::new()).await?;
                        return Ok(None);
                    }
                },
            }
        }
    }
}

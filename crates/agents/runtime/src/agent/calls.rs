//! The calls of a step: carried out in their order, neighbours that allow it side by side, each result in a commit with all
//! that its tool held back.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Map, Value};
use threadkeep_calls::{NewMessage, SetStatus, StepRun};
use threadkeep_engine::{Beside, CallFacts, Error};
use threadkeep_model::{ApprovalState, Content, Json, MessageBody, MessageId, Part, Role, RunSide, RunStatus, Wait};
use tokio::sync::watch;
use tokio::time::timeout;

use super::begin::{CREATE_TOOL, MESSAGE_TOOL};
use super::hooked::Settled;
use super::sub_prompt::{Came, SubPrompt};
use super::subagent::{DELETED, Delegated};
use super::tail::{Answered, Called, Marks, Tail, other, spoken_by};
use super::watch::Why;
use super::work::{Flow, Working, is_over, may_pass};
use super::{CALLS_AT_ONCE, CALLS_MAX};
use crate::attempt::{Attempt, Call, Cancel, Outcome, ToolResult};
use crate::definitions::Resumable;
use crate::tools::Ready;
use crate::{Runtime, RuntimeError};

/// The argument of an agent that is called as a tool.
pub(super) const MESSAGE: &str = "message";
/// Time for a tool after somebody asked that the run stop.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// The result of a call that began and did not end.
pub(super) const BROKE_OFF: &str = "The call broke off before it gave a result, because the server ended. It may have taken effect, and was \
                         not made again.";

/// What is known of a call before it is carried out.
enum Prepared<'a> {
    /// It has a result without being carried out.
    Done(Outcome),
    /// It waits for an answer.
    Waits(Wait),
    /// The thread goes to this agent.
    Handed(String),
    /// A model is asked.
    Asks(Box<SubPrompt>),
    Ready(Ready<'a>),
}

impl From<Delegated> for Prepared<'_> {
    fn from(delegated: Delegated) -> Self {
        match delegated {
            Delegated::Done(result) => Self::Done(result.into()),
            Delegated::Waits(wait) => Self::Waits(wait),
            Delegated::Handed(agent) => Self::Handed(agent),
        }
    }
}

impl Working {
    /// Carries out the calls of the last step that have no result.
    pub(super) async fn calls(&mut self, mut tail: Tail) -> Result<Flow, RuntimeError> {
        let mut facts = match tail.version().filter(|_| std::mem::take(&mut self.resumed)) {
            Some(version) => self.engine.call_facts(self.thread, self.run, version).await?,
            None => CallFacts::default(),
        };
        let too_many: HashSet<String> = tail.calls().iter().skip(CALLS_MAX).map(|call| call.id.clone()).collect();
        let parent = tail.message().map(|(id, _)| id);
        let mut open = tail.open();
        open.reverse();
        while !open.is_empty() {
            self.on.execution = Some(self.execution());
            let (runtime, on) = (self.runtime.clone(), self.on.clone());
            let mut batch = Vec::new();
            while batch.len() < CALLS_AT_ONCE
                && let Some(called) = open.last()
            {
                let prepared = Box::pin(self.prepare((&runtime, &on), called, &facts, (&too_many, parent))).await?;
                let is_parallel = matches!(&prepared, Prepared::Ready(ready) if ready.declared.parallel);
                if !batch.is_empty() && !is_parallel {
                    break;
                }
                let Some(called) = open.pop() else { break };
                batch.push((called, prepared));
                if !is_parallel {
                    break;
                }
            }
            Box::pin(self.subagents_made(&facts.hooked)).await?;
            match Box::pin(self.carry_out(&on, &runtime, batch, &mut tail, open.is_empty())).await? {
                Carried::All => {}
                Carried::Over => return Ok(Flow::Over),
                Carried::Stopped => return self.stopped(String::new()).await,
                Carried::Waits(wait) => return self.park(wait).await,
            }
            // The run waited for its first call alone.
            facts.answered.clear();
            facts.woken_by = None;
            if tail.stops() {
                return Ok(Flow::On);
            }
        }
        if std::mem::take(&mut self.handed) {
            self.hand_over().await?;
        }
        Ok(Flow::On)
    }

    /// Finds, checks and permits a call.
    async fn prepare<'a>(
        &self,
        (runtime, on): (&'a Runtime, &'a Attempt),
        called: &Called,
        facts: &CallFacts,
        (too_many, parent): (&HashSet<String>, Option<MessageId>),
    ) -> Result<Prepared<'a>, RuntimeError> {
        let failed = |why: String| Ok(Prepared::Done(ToolResult::failure(why).into()));
        if too_many.contains(&called.id) {
            return failed(format!("one answer makes at most {CALLS_MAX} calls: this one was not made"));
        }
        let call = match self.call_of(called) {
            Ok(call) => call,
            Err(why) => return failed(why),
        };
        if let Some(denied) = denied(facts, &call) {
            return failed(denied);
        }
        let used = self.prompt()?.map(|prompt| prompt.tools).unwrap_or_default();
        let delegated = match self.agent_called(&used, &call.name) {
            Some((agent, used)) => Some(Box::pin(self.delegate(&call, &agent, &used, facts.woken_by)).await),
            None if call.name == CREATE_TOOL => {
                Some(Box::pin(self.create_subagent(&call, &used, facts.woken_by)).await)
            }
            None if call.name == MESSAGE_TOOL => Some(Box::pin(self.message_subagent(&call, facts.woken_by)).await),
            None => None,
        };
        match delegated {
            Some(Ok(delegated)) => return Ok(delegated.into()),
            Some(Err(RuntimeError::Engine(Error::ThreadNotFound { thread }))) if thread != self.thread.into() => {
                return failed(DELETED.to_owned());
            }
            Some(Err(RuntimeError::Engine(error))) if is_over(&error) || may_pass(&error) => return Err(error.into()),
            Some(Err(error)) => return failed(error.to_string()),
            None => {}
        }
        if let Some(asks) = self.prompt_called(&used, &call.name, parent) {
            return Ok(Prepared::Asks(Box::new(asks)));
        }
        match Box::pin(runtime.prepared(on, &call)).await {
            Ok(Ok(ready)) if broke_off(facts, &call.id) && !ready.declared.repeatable => failed(BROKE_OFF.to_owned()),
            Ok(Ok(ready)) => Ok(Prepared::Ready(ready)),
            Ok(Err(refused)) => Ok(Prepared::Done(refused.into())),
            Err(RuntimeError::Engine(Error::ApprovalRequired { approval, .. })) => {
                Ok(Prepared::Waits(Wait::Approval { approval_id: approval }))
            }
            Err(RuntimeError::Engine(error)) if is_over(&error) || may_pass(&error) => Err(error.into()),
            // A tool that is missing or broken is an error for the model to read.
            Err(error) => failed(error.to_string()),
        }
    }

    /// The call, if the prompt has such a tool.
    fn call_of(&self, called: &Called) -> Result<Call, String> {
        let prompt = self.prompt().map_err(|error| error.to_string())?;
        let used = || prompt.iter().flat_map(|prompt| &prompt.tools);
        let mut names: Vec<&str> = used().map(|used| used.name.as_str()).collect();
        if used().any(|used| used.called.resumable != Resumable::No) {
            names.push(MESSAGE_TOOL);
        }
        if !names.contains(&called.name.as_str()) {
            let known = if names.is_empty() { "there are none".to_owned() } else { names.join(", ") };
            return Err(format!("there is no tool '{}'; the tools: {known}", called.name));
        }
        let args = match &called.input {
            Value::Object(args) => args.clone(),
            Value::Null => Map::new(),
            _ => return Err("the arguments are no JSON object".to_owned()),
        };
        Ok(Call { id: called.id.clone(), name: called.name.clone(), args })
    }

    /// Carries a batch of calls out side by side, and stores their results in order.
    async fn carry_out(
        &mut self,
        on: &Attempt,
        runtime: &Runtime,
        batch: Vec<(Called, Prepared<'_>)>,
        tail: &mut Tail,
        is_last: bool,
    ) -> Result<Carried, RuntimeError> {
        let begins = |(called, prepared): &(Called, Prepared<'_>)| match prepared {
            Prepared::Ready(ready) if !ready.declared.repeatable => {
                Some((called.id.clone(), called.name.clone(), called.input.clone()))
            }
            Prepared::Ready(_) | Prepared::Done(_) | Prepared::Waits(_) | Prepared::Handed(_) | Prepared::Asks(_) => {
                None
            }
        };
        let begin: Vec<_> = batch.iter().filter_map(begins).collect();
        if !begin.is_empty() {
            self.engine.begin_calls(self.thread, (self.run, self.attempt), &begin).await?;
        }
        let (cancel, cancelled) = watch::channel(false);
        let (mut waits, mut handed) = (None, None);
        let mut working = Vec::new();
        for (called, prepared) in batch {
            if let Prepared::Waits(wait) = prepared {
                waits = Some(wait);
                break;
            }
            if let Prepared::Handed(agent) = &prepared {
                handed = Some(agent.clone());
            }
            let call = self.call_of(&called).ok();
            let used = self.prompt()?.and_then(|prompt| prompt.tools.into_iter().find(|used| used.name == called.name));
            let on = Attempt { used: used.map(Arc::new), ..on.clone() };
            working.push(carried(runtime, on, called, call, prepared, &cancelled));
        }
        let mut stopped = false;
        let all = join_all(working);
        tokio::pin!(all);
        let results = loop {
            tokio::select! {
                results = &mut all => break results,
                why = self.watch.next() => match why {
                    Why::Over => return Ok(Carried::Over),
                    // It is delivered with the last result.
                    Why::Injected => {}
                    Why::Stop => {
                        cancel.send_replace(true);
                        stopped = true;
                        match timeout(STOP_GRACE, &mut all).await {
                            Ok(results) => break results,
                            Err(_) => return Ok(Carried::Stopped),
                        }
                    }
                },
            }
        };
        let count = results.len();
        for (at, (called, outcome)) in results.into_iter().enumerate() {
            let came = match outcome {
                Ok(came) => came,
                Err(RuntimeError::Engine(Error::ApprovalRequired { approval, .. })) => {
                    // A call of the engine inside a built-in tool asks while it runs. It has not taken effect.
                    waits = Some(Wait::Approval { approval_id: approval });
                    break;
                }
                Err(RuntimeError::Engine(error)) if is_over(&error) || may_pass(&error) => return Err(error.into()),
                Err(error) => ToolResult::failure(error.to_string()).into(),
            };
            let is_last = is_last && waits.is_none() && at + 1 == count && !stopped;
            if Box::pin(self.store(&called, came, tail, (is_last, handed.clone()))).await? == Flow::Over {
                return Ok(Carried::Stopped);
            }
        }
        Ok(match (stopped, waits) {
            (true, _) => Carried::Stopped,
            (false, Some(wait)) => Carried::Waits(wait),
            (false, None) => Carried::All,
        })
    }

    /// Stores the result of a call with all that its tool held back, as hooks left it. The last one delivers what is queued,
    /// unless the run ends with it. The flow is over if the run is to stop before that.
    async fn store(
        &mut self,
        called: &Called,
        Came { outcome, said, model }: Came,
        tail: &mut Tail,
        (is_last, agent): (bool, Option<String>),
    ) -> Result<Flow, RuntimeError> {
        let (outcome, is_dropped) = match self.settle(called, outcome).await? {
            Settled::Kept(outcome) => (outcome, false),
            Settled::Dropped(outcome) => (outcome, true),
            Settled::Stopped => return Ok(Flow::Over),
        };
        if let Some(context) = &outcome.context {
            self.on.context = context.clone();
        }
        self.tell_status(called, &outcome).await?;
        let (turn, words) = self.turn_after(called, &outcome);
        // The words that end a turn say whose turn it is; without any, the result does.
        let marks = Marks { stops: outcome.stop, turn: turn.filter(|_| words.is_none()) };
        let (message, answered) = result_message(called, &outcome.result, marks)?;
        tail.answer(&called.id, answered);
        let ends = match (&self.agent, self.side()) {
            (Some(agent), Some(side)) => super::next::called(tail, agent, side).is_some(),
            _ => false,
        };
        let mut step = StepRun::of(self.run).attempt(self.attempt);
        step.messages.extend(said);
        step.messages.extend(Some(message).filter(|_| !is_dropped));
        step.model = model;
        if let Some(words) = words {
            let mut body = spoken_by(self.speaks, MessageBody::assistant(&words))?;
            Marks { stops: false, turn }.put(&mut body)?;
            step.messages.push(body.into());
        }
        (step.continues, step.delivers_nothing) = (true, !is_last || ends);
        self.handed |= agent.is_some();
        let drops = tail.message().filter(|_| is_dropped).map(|(id, _)| (id, called.id.clone()));
        let beside = Beside { held: outcome.held, agent, drops, turn, ..Beside::default() };
        match self.step(step.clone(), beside).await {
            Ok(_) => Ok(Flow::On),
            Err(RuntimeError::Engine(error)) if is_over(&error) || may_pass(&error) => Err(error.into()),
            // The commit refused what was held back, or the result itself: an error takes its place, alone.
            Err(error) => {
                let failed = ToolResult::failure(error.to_string());
                let (message, answered) = result_message(called, &failed, Marks::default())?;
                tail.answer(&called.id, answered);
                step.messages = vec![message];
                self.step(step, Beside::default()).await?;
                Ok(Flow::On)
            }
        }
    }

    /// Sets the status of the thread, if the tool of its side that tells it succeeded.
    async fn tell_status(&self, called: &Called, outcome: &Outcome) -> Result<(), RuntimeError> {
        let tool = self.side().and_then(|side| side.session_status.as_ref()).filter(|tool| tool.name == called.name);
        let Some(tool) = tool.filter(|_| outcome.result.is_success()) else { return Ok(()) };
        let told = tool.message_property.as_ref().and_then(|name| called.input[name].as_str()).unwrap_or(&called.name);
        if told.trim().is_empty() {
            return Ok(());
        }
        match self.engine.call(self.thread, SetStatus { status: told.to_owned() }).await {
            Ok(_) => Ok(()),
            Err(error) if is_over(&error) || may_pass(&error) => Err(error.into()),
            // A status that the thread does not take does not keep the result from being stored.
            Err(error) => {
                tracing::warn!(thread = %self.thread, %error, "the status of a session was not set");
                Ok(())
            }
        }
    }

    /// The side whose turn it is after a call, if the call gives the turn away, and the words with which it does.
    fn turn_after(&self, called: &Called, outcome: &Outcome) -> (Option<RunSide>, Option<String>) {
        let Some(own) = self.side().filter(|_| self.is_dual()) else { return (None, None) };
        if let Some(forced) = outcome.force_turn.filter(|forced| *forced != self.speaks) {
            return (Some(forced), None);
        }
        if !outcome.result.is_success() || own.stop_tool.as_ref() != Some(&called.name) {
            return (None, None);
        }
        let words = own.stop_tool_response_property.as_ref().and_then(|name| called.input[name].as_str());
        (Some(other(self.speaks)), words.filter(|words| !words.trim().is_empty()).map(str::to_owned))
    }

    /// Waits for an answer without a process. If it came meanwhile, the run goes on.
    pub(super) async fn park(&mut self, wait: Wait) -> Result<Flow, RuntimeError> {
        let mut step = StepRun::of(self.run).attempt(self.attempt);
        (step.continues, step.delivers_nothing, step.waits) = (true, true, vec![wait]);
        let progressed = self.step(step, Beside::default()).await?;
        self.resumed = true;
        Ok(if progressed.run.status == RunStatus::Waiting { Flow::Over } else { Flow::On })
    }
}

/// How a batch ended.
enum Carried {
    All,
    Over,
    Stopped,
    Waits(Wait),
}

async fn carried(
    runtime: &Runtime,
    on: Attempt,
    called: Called,
    call: Option<Call>,
    prepared: Prepared<'_>,
    cancel: &Cancel,
) -> (Called, Result<Came, RuntimeError>) {
    let came = match (prepared, call) {
        (Prepared::Done(outcome), _) => Ok(outcome.into()),
        (Prepared::Handed(agent), _) => Ok(ToolResult::success(format!("The agent {agent} goes on.")).into()),
        (Prepared::Asks(prompt), Some(call)) => Box::pin(prompt.ask(runtime, &on, &call, cancel)).await,
        (Prepared::Ready(ready), Some(call)) => {
            Box::pin(runtime.carry_out(&on, &ready, &call, cancel)).await.map(Came::from)
        }
        (Prepared::Ready(_) | Prepared::Asks(_), None) | (Prepared::Waits(_), _) => {
            Ok(ToolResult::failure("the call was not made").into())
        }
    };
    (called, came)
}

/// Whether a call began and did not end. One that asked for an approval while it ran took no effect then.
pub(super) fn broke_off(facts: &CallFacts, call: &str) -> bool {
    let asked = facts.answered.iter().filter(|approval| approval.call.is_none()).count();
    facts.started.get(call).is_some_and(|times| *times > asked)
}

/// Why a call is not made: somebody denied it.
fn denied(facts: &CallFacts, call: &Call) -> Option<String> {
    let args = Json::parse("args", &Value::Object(call.args.clone()).to_string()).ok()?;
    let about = |approval: &&threadkeep_calls::Approval| {
        let same = approval.call.as_ref().is_none_or(|asked| asked.tool == call.name && asked.args == args);
        same && matches!(approval.state, ApprovalState::Denied | ApprovalState::Revoked)
    };
    let approval = facts.answered.iter().find(about)?;
    let why = approval.answer_reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let by = approval.answered_by.as_ref().map_or("the time limit", |actor| actor.name.as_str());
    Some(format!("The call was not permitted: {by} denied it{why}"))
}

/// The result of a call as a message.
pub(super) fn result_message(
    called: &Called,
    result: &ToolResult,
    marks: Marks,
) -> Result<(NewMessage, Answered), RuntimeError> {
    let text = match (&result.error, &result.result) {
        (Some(error), _) => error.clone(),
        (None, Some(Value::String(text))) => text.clone(),
        (None, Some(value)) => value.to_string(),
        (None, None) => String::new(),
    };
    let is_error = !result.is_success();
    let part = Part::ToolResult { tool_use_id: called.id.clone(), content: text.clone().into(), is_error };
    let mut body = MessageBody::with_content(Role::Tool, Content::parts(&[part])?);
    body.name = Some(called.name.clone());
    marks.put(&mut body)?;
    let message = NewMessage { body, files: result.attachments.clone() };
    Ok((message, Answered { text, is_error, stops: marks.stops }))
}

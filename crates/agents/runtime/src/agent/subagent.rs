//! Agents that an agent calls: one that gets the thread (a handoff), or one that works in a thread of its own, which
//! [`begin`](super::begin) makes.
//!
//! A caller that waits is parked. The end of the subagent's run wakes it, and so does everything that interrupts the subagent.

use serde_json::{Value, json};
use threadkeep_calls::{At, ListThreadRuns, NotifyParent, Run, Terminate};
use threadkeep_engine::{Error, Page};
use threadkeep_model::{Child, Lifecycle, ParentCommunication, Role, RunStatus, ThreadId, ThreadName, Wait};

use super::begin::{ATTACHMENTS, Order, files_in};
use super::calls::MESSAGE;
use super::tail::{Tail, is_of_side_b};
use super::work::Working;
use crate::RuntimeError;
use crate::attempt::{Call, ToolResult};
use crate::definitions::{Agent, AgentKind, Kind, Resumable, UsedTool};

/// The result of a call whose subagent is gone.
pub(super) const DELETED: &str = "the subagent was deleted";
/// Levels of subagents.
const DEPTH_MAX: usize = 8;
/// Subagents of a thread.
const CHILDREN_MAX: usize = 64;

/// What came of the call of an agent.
pub(super) enum Delegated {
    /// The call has its result.
    Done(ToolResult),
    /// The caller waits for the end of the work.
    Waits(Wait),
    /// The thread goes to this agent.
    Handed(String),
}

impl Working {
    /// The agent that a call names, and how it is used; none if it is a tool.
    pub(super) fn agent_called(&self, used: &[UsedTool], name: &str) -> Option<(Agent, UsedTool)> {
        let used = used.iter().find(|used| used.name == name)?;
        let package = self.on.package();
        if self.on.definitions.find(Kind::Tool, name, package).is_some() {
            return None;
        }
        let (_, agent) = self.on.definitions.agent(name, package).ok()?;
        Some((agent.clone(), used.clone()))
    }

    /// Carries out the call of an agent.
    pub(super) async fn delegate(
        &self,
        call: &Call,
        agent: &Agent,
        used: &UsedTool,
        woken_by: Option<ThreadId>,
    ) -> Result<Delegated, RuntimeError> {
        if used.is_plain && agent.kind == AgentKind::AiHuman {
            return Ok(Delegated::Handed(used.name.clone()));
        }
        if let Some(child) = woken_by {
            return self.outcome_of(child, used.called.resumable == Resumable::No, true).await;
        }
        let property = used.called.init_user_message_property.as_deref().unwrap_or(MESSAGE);
        let Some(message) = call.args.get(property).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
        else {
            return failed(&format!("the arguments are wrong: args.{property}: is missing"));
        };
        let files = match files_in(&call.args, used.called.init_attachments_property.as_deref()) {
            Ok(files) => files,
            Err(wrong) => return failed(&wrong),
        };
        let (agent, used, message) = (agent.clone(), used.clone(), message.to_owned());
        self.order(call, &Order { name: used.name.clone(), agent, used, message, files }).await
    }

    /// Carries out the call of `subagent_create`.
    pub(super) async fn create_subagent(
        &self,
        call: &Call,
        tools: &[UsedTool],
        woken_by: Option<ThreadId>,
    ) -> Result<Delegated, RuntimeError> {
        match self.ordered(tools, call) {
            Ok(order) => match woken_by {
                Some(child) => self.outcome_of(child, order.used.called.resumable == Resumable::No, true).await,
                None => self.order(call, &order).await,
            },
            Err(wrong) => failed(&wrong),
        }
    }

    /// Begins a subagent, and waits for it if its caller does.
    async fn order(&self, call: &Call, order: &Order) -> Result<Delegated, RuntimeError> {
        if let Some(refused) = self.refuse_more(&order.used).await? {
            return failed(&refused);
        }
        let begun = self.begin(&call.id, order).await?;
        if !begun.blocks {
            return Ok(Delegated::Done(begun.told()));
        }
        self.outcome_of(begun.child, order.used.called.resumable == Resumable::No, false).await
    }

    /// Speaks to a subagent that stayed.
    pub(super) async fn message_subagent(
        &self,
        call: &Call,
        woken_by: Option<ThreadId>,
    ) -> Result<Delegated, RuntimeError> {
        if let Some(child) = woken_by {
            return self.outcome_of(child, false, true).await;
        }
        let text = |name: &str| call.args.get(name).and_then(Value::as_str).unwrap_or_default();
        let Ok(reference) = text("referenceId").parse::<ThreadName>() else {
            return failed("the arguments are wrong: args.referenceId: is no reference of a subagent");
        };
        let Some(child) = self.engine.child_thread(self.thread, reference).await? else {
            return failed("there is no such subagent");
        };
        let registered = self.engine.children(self.thread).await?.into_iter().find(|it| it.reference == child.id);
        let tools = self.prompt()?.map(|prompt| prompt.tools).unwrap_or_default();
        let used = tools.into_iter().find(|used| registered.as_ref().is_some_and(|it| it.name == used.name));
        let (resumable, blocking) = registered.map_or((None, None), |it| (it.resumable, it.blocking));
        if resumable != Some(true) {
            return failed("the subagent takes no messages: it is not resumable");
        }
        if text(MESSAGE).trim().is_empty() {
            return failed("the arguments are wrong: args.message: is missing");
        }
        let files = match files_in(&call.args, Some(ATTACHMENTS)) {
            Ok(files) => files,
            Err(wrong) => return failed(&wrong),
        };
        let receives = used.map(|used| used.called.resumable).unwrap_or_default();
        self.speak(child.id, &call.id, (text(MESSAGE), &files), &receives).await?;
        if blocking != Some(true) {
            return Ok(Delegated::Done(ToolResult::success(json!({ "referenceId": child.id, "status": "running" }))));
        }
        self.outcome_of(child.id, false, false).await
    }

    /// Number of subagents of an agent that are not terminated. Each may have a name of its own.
    async fn working_as(&self, children: &[Child], agent: &str) -> Result<usize, RuntimeError> {
        let mut count = 0;
        for child in children.iter().filter(|child| child.status != "terminated") {
            match self.engine.thread(child.reference).await {
                Ok(thread) => count += usize::from(thread.record.agent_id.as_deref() == Some(agent)),
                Err(Error::ThreadNotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(count)
    }

    pub(super) async fn refuse_more(&self, used: &UsedTool) -> Result<Option<String>, RuntimeError> {
        let children = self.engine.children(self.thread).await?;
        if children.len() >= CHILDREN_MAX {
            return Ok(Some(format!("a thread has at most {CHILDREN_MAX} subagents")));
        }
        if let Resumable::Yes { instances_max: Some(most), .. } = &used.called.resumable
            && self.working_as(&children, &used.name).await? >= *most as usize
        {
            return Ok(Some(format!("there are {most} subagents '{}' already: send one a message", used.name)));
        }
        let (mut depth, mut above) = (1, self.engine.parent_thread(self.thread).await?);
        while let Some(parent) = above {
            depth += 1;
            if depth > DEPTH_MAX {
                return Ok(Some(format!("subagents call subagents at most {DEPTH_MAX} levels deep")));
            }
            above = self.engine.parent_thread(parent.id).await?;
        }
        Ok(None)
    }

    /// The result of a subagent that has come to its end; else the wait for it. A caller that was `woken` does not wait for
    /// a subagent whose run was stopped, even if something is queued for it again.
    async fn outcome_of(&self, child: ThreadId, ends: bool, woken: bool) -> Result<Delegated, RuntimeError> {
        let wait = Delegated::Waits(Wait::Child { thread_id: child });
        let thread = match self.engine.thread(child).await {
            Ok(thread) => thread,
            Err(Error::ThreadNotFound { .. }) => {
                return Ok(Delegated::Done(ToolResult::failure(DELETED)));
            }
            Err(error) => return Err(error.into()),
        };
        let runs = self.engine.call(child, ListThreadRuns { limit: Some(1), cursor: None }).await?.items;
        let waits = !self.engine.queued(child).await?.is_empty() && thread.record.terminated.is_none();
        let is_done = |run: &Run| run.completed_at.is_some() && (!waits || woken && run.status == RunStatus::Stopped);
        let lifecycle = thread.record.lifecycle;
        let Some(run) = runs.into_iter().next().filter(is_done) else {
            return Ok(match (thread.record.terminated, lifecycle) {
                (Some(_), _) => Delegated::Done(ToolResult::failure("the subagent was terminated")),
                (None, Lifecycle::Active) => wait,
                (None, Lifecycle::Suspended | Lifecycle::Completed | Lifecycle::Cancelled | Lifecycle::Archived) => {
                    let why = format!("the subagent did not begin: its thread is {}", lifecycle.as_str());
                    Delegated::Done(ToolResult::failure(why))
                }
            });
        };
        let said = last_words(self, child, run.status).await?;
        let result = match run.status {
            RunStatus::Completed => ToolResult::success(said),
            RunStatus::Failed | RunStatus::Stopped | RunStatus::Queued | RunStatus::Running | RunStatus::Waiting => {
                let reason = run.reason.unwrap_or_default();
                ToolResult::failure(format!("the subagent did not complete ({reason}): {said}"))
            }
        };
        // Work that a person suspended may go on one day.
        if ends && lifecycle != Lifecycle::Suspended {
            self.engine.call(child, Terminate {}).await?;
        }
        Ok(Delegated::Done(result))
    }

    /// Tells the thread that this one works for what came of a session, if that one does not wait for it.
    pub(super) async fn report(&self, said: Option<&str>) -> Result<(), RuntimeError> {
        let Some(parent) = self.engine.parent_thread(self.thread).await? else { return Ok(()) };
        let children = self.engine.children(parent.id).await?;
        let Some(own) = children.into_iter().find(|child| child.reference == self.thread) else { return Ok(()) };
        let reports = own.parent_communication != Some(ParentCommunication::Explicit) && own.blocking == Some(false);
        if !reports {
            return Ok(());
        }
        let content = match said {
            Some(said) => said.to_owned(),
            None => Tail::read(&self.engine, self.thread, self.is_dual(), None).await?.text(),
        };
        if content.trim().is_empty() {
            return Ok(());
        }
        let at = At::of(self.thread).keyed(self.key("end", "report")?);
        let notify = NotifyParent { content, attachments: Vec::new() };
        match self.engine.call(at, notify).await {
            Ok(_) => Ok(()),
            Err(error) if super::work::may_pass(&error) => Err(error.into()),
            // A parent that takes nothing more does not keep its subagent from ending.
            Err(error) => {
                tracing::warn!(thread = %self.thread, %error, "a subagent could not report");
                Ok(())
            }
        }
    }
}

fn failed(why: &str) -> Result<Delegated, RuntimeError> {
    Ok(Delegated::Done(ToolResult::failure(why)))
}

/// The last thing that an agent said on a thread.
async fn last_words(working: &Working, thread: ThreadId, status: RunStatus) -> Result<String, RuntimeError> {
    let page = Page::first().newest_first().limit(20);
    for message in working.engine.messages(thread, page).await?.items {
        let body = message.body().map_err(Error::from)?;
        let speaks = body.role == Role::Assistant
            || is_of_side_b(&body)
            || (body.role == Role::Info && status == RunStatus::Failed);
        let text = body.content.to_text();
        if speaks && !text.trim().is_empty() {
            return Ok(text.into_owned());
        }
    }
    Ok(String::new())
}

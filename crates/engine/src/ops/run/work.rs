//! Steps and the end of a run, for every executor, and what the runtime commits with them.
//!
//! The caller's `step-run` and the runtime's steps are decided by one function. The runtime adds what belongs to the result
//! of a tool: what the tool held back, the tools that leave the queue, and the agent to which the thread is handed.

use std::collections::{BTreeSet, HashMap, HashSet};

use threadkeep_calls::{At, EndRun, GetApproval, StepRun};
use threadkeep_model::{
    ApprovalState, Entry, Event, EventKind, Executor, FieldChanges, Invalid, Json, Kind, MessageId, ModelCall,
    QueuedId, Run, RunOutcome, RunSide, Thread, ThreadChanged, ThreadId, ToolTaken, Usage, Uuid, Version, Wait,
    checked_reason_code,
};
use threadkeep_store::BoxFuture;

use super::{Progressed, assigned_to, checked_ttl, ended, submitted_draft};
use crate::ground::gate::{Change, open_for, passes};
use crate::ground::open_run::{running, still_open, wakes};
use crate::ground::plan::{Plan, tell_other, write};
use crate::ground::redacted::redacted;
use crate::ground::way_out::WayOut;
use crate::open_calls::Interrupted;
use crate::ops::delete::without_call;
use crate::ops::handoff::title;
use crate::ops::tool::Held;
use crate::{Engine, Error, Result};

/// Entries read at once in the search for what happened to calls.
const READ_AT_ONCE: usize = 500;

/// What the runtime commits with a step, beside its messages.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    /// Calls that a tool held back.
    pub held: Held,
    /// Tools that leave the queue. Those that left it before are passed over.
    pub takes: Vec<QueuedId>,
    /// The agent that the thread is handed to. It has one side.
    pub agent: Option<String>,
    /// The side whose turn it is from now on, of an agent with two.
    pub turn: Option<RunSide>,
    /// A call that leaves the conversation: the message that makes it, and its id.
    pub drops: Option<(MessageId, String)>,
}

/// How a thread without a title gets one when its first run ends.
#[derive(Debug, Clone, Default)]
pub struct Titling {
    /// The text that the title is made from: its first line, cut to the length of a title.
    pub from: String,
    /// What the text took, if a model made it. It counts for the run.
    pub usage: Usage,
}

/// The entry that gives a thread a title.
fn titled(title: &str) -> Entry {
    let fields = FieldChanges([("title".to_owned(), Json::string(title))].into());
    Entry::ThreadChanged(ThreadChanged { fields })
}

/// What happened to the calls of a step, for an executor that goes on with them.
#[derive(Debug, Clone, Default)]
pub struct CallFacts {
    /// How often calls began that may not be made twice, by their ids.
    pub started: HashMap<String, usize>,
    /// Approvals that were answered meanwhile.
    pub answered: Vec<threadkeep_calls::Approval>,
    /// Hooks that were called since, each as its moment and what it was about.
    pub hooked: HashSet<(String, String)>,
    /// The subagent that the first call without a result waited for, once it is done, interrupted or deleted.
    pub woken_by: Option<ThreadId>,
}

impl Engine {
    /// Takes a step of a run of the runtime, with more in the same commit than `step-run` can say.
    ///
    /// # Errors
    /// As `step-run`, and those of the calls that were held back. Nothing is written then.
    pub fn work_step(&self, thread: ThreadId, step: StepRun, beside: Beside) -> BoxFuture<'_, Result<Progressed>> {
        Box::pin(async move {
            let step = match self.guard(WayOut::Call, Some(thread)).await? {
                Some(redactor) => redacted(step, &redactor)?,
                None => step,
            };
            Box::pin(self.take_step(thread, step, beside)).await
        })
    }

    /// Ends a run of the runtime. A thread without a title gets one in the same commit, if `titling` is given.
    ///
    /// # Errors
    /// As `end-run`.
    pub fn work_end(
        &self,
        thread: ThreadId,
        end: EndRun,
        titling: Option<Titling>,
    ) -> BoxFuture<'_, Result<Progressed>> {
        Box::pin(async move {
            let (end, titling) = match self.guard(WayOut::Call, Some(thread)).await? {
                Some(redactor) => {
                    let redact = |it: Titling| Titling { from: redactor.text(&it.from).into_owned(), ..it };
                    (redacted(end, &redactor)?, titling.map(redact))
                }
                None => (end, titling),
            };
            Box::pin(self.take_end(thread, end, titling)).await
        })
    }

    /// Gives a thread the title `better`, if its title is still the one that was made from the text `from`.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn improve_title<'a>(&'a self, thread: ThreadId, from: &'a str, better: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let redactor = self.guard(WayOut::Call, Some(thread)).await?;
            let redact = |text: &str| match &redactor {
                Some(redactor) => title(&redactor.text(text)),
                None => title(text),
            };
            let (made, better) = (redact(from), redact(better));
            self.tell(thread, || async {
                let thread = self.thread(thread).await?;
                let is_made = thread.record.title.as_deref() == Some(made.as_str());
                let entries = (is_made && !better.is_empty()).then(|| titled(&better)).into_iter().collect();
                // A person's title that comes meanwhile is seen when this is decided again.
                Ok(Plan::new(thread, entries).at_version())
            })
            .await?;
            Ok(())
        })
    }

    /// Ends a run. A thread without a title gets one in the same commit, if `titling` is given.
    pub(super) async fn take_end(&self, thread: ThreadId, end: EndRun, titling: Option<Titling>) -> Result<Progressed> {
        let reason = end.reason.map(checked_reason_code).transpose()?;
        let said = self.prepare_bodies(end.messages)?;
        let cut = match end.status {
            RunOutcome::Stopped => Interrupted::Cancel,
            RunOutcome::Completed | RunOutcome::Failed => Interrupted::End,
        };
        self.progress(thread, &said.blobs, || async {
            let thread = self.thread(thread).await?;
            if !said.bodies.is_empty() {
                open_for(&thread, Change::Content)?;
            }
            let mut run = running(&thread, end.run, end.attempt)?.clone();
            if let Some(titling) = &titling {
                run.usage = run.usage.plus(titling.usage);
            }
            let mut entries = Vec::new();
            let mut last = run.clone();
            if !said.bodies.is_empty() {
                // Its last words are a step, so that the stream of the run finds them.
                last = run.stepped(run.until, true, Usage::default(), Vec::new());
                entries.extend(said.as_step(last.clone(), false, None));
            }
            let ended = ended(last, end.status, reason.as_deref());
            if thread.record.lifecycle.is_open() {
                entries.extend(self.closed_calls(&thread, &said.bodies, cut).await?);
                entries.push(ended);
                entries.extend(submitted_draft(&thread)?);
            } else {
                entries.push(ended);
            }
            let untitled = thread.record.title.as_ref().is_none_or(|title| title.trim().is_empty());
            let title = titling.as_ref().map(|it| title(&it.from)).filter(|title| untitled && !title.is_empty());
            entries.extend(title.as_deref().map(titled));
            let plan = Plan::new(thread, entries);
            // A person's title that comes meanwhile is seen when this is decided again.
            let plan = if title.is_some() { plan.at_version() } else { plan };
            Box::pin(self.waking_parent(plan)).await
        })
        .await
    }

    pub(super) async fn take_step(&self, thread: ThreadId, step: StepRun, beside: Beside) -> Result<Progressed> {
        let ttl = checked_ttl(step.ttl)?;
        let model = step.model.map(ModelCall::checked).transpose()?;
        if step.waits.len() > Run::WAITS_MAX {
            return Err(Invalid::body("waits", format!("a run waits for at most {} answers", Run::WAITS_MAX)).into());
        }
        let said = self.prepare_bodies(step.messages)?;
        let held = self.prepare_held(beside.held).await?;
        let blobs: Vec<_> = said.blobs.iter().chain(&held.blobs).cloned().collect();
        self.progress(thread, &blobs, || async {
            let thread = self.thread(thread).await?;
            open_for(&thread, Change::Content)?;
            let run = running(&thread, step.run, step.attempt)?;
            let (id, until) = (run.id, self.shared.now().plus_micros(ttl));
            let usage = model.as_ref().map(|model| model.usage).unwrap_or_default();
            let (waits, children) = Box::pin(self.still_awaited(run.executor, &step.waits)).await?;
            let mut run = run.stepped(until, !step.continues, usage, waits);
            if let Some(model) = model.as_ref().filter(|_| !step.continues) {
                run = run.spoken(model);
            }
            run.sides = match (&beside.agent, beside.turn) {
                (Some(_), _) => None,
                (None, Some(turn)) => Some(run.sides.unwrap_or_default().turned(turn)),
                (None, None) => run.sides,
            };
            let mut entries = said.as_step(run, step.continues, model.clone());
            self.admit_held(&thread, &held).await?;
            entries.extend(held.entries.iter().cloned());
            if !beside.takes.is_empty() {
                let waiting: HashSet<QueuedId> = self.waiting_tools(&thread).await?.iter().map(|it| it.id).collect();
                let taken = beside.takes.iter().filter(|item| waiting.contains(item));
                entries.extend(taken.map(|item| Entry::ToolTaken(ToolTaken { item: *item })));
            }
            entries.extend(beside.agent.as_deref().and_then(|agent| assigned_to(&thread, agent)));
            if let Some((message, call)) = &beside.drops {
                entries.extend(self.call_dropped(&thread, *message, call).await?);
            }
            if !step.delivers_nothing {
                entries.extend(Self::deliver(&self.waiting(&thread).await?));
                let injections = self.waiting_injections(&thread).await?;
                entries.extend(injections.iter().map(|waiting| waiting.taken_by(Some(id))));
            }
            // An answer that comes between the look and the commit would wake no one: the plan holds only at the versions
            // that were read.
            let plan = Plan::new(thread, entries);
            let plan = if step.waits.is_empty() { plan } else { plan.at_version() };
            Ok(children.iter().fold(plan, |plan, child| plan.with(write(child, None, None, Vec::new(), None))))
        })
        .await
    }

    /// The entry that takes a call out of the conversation; none if its message is gone.
    async fn call_dropped(&self, thread: &Thread, message: MessageId, call: &str) -> Result<Option<Entry>> {
        let view = self.view(thread.id, &thread.head, None).await?;
        let located = match self.locate(&view, message).await {
            Ok(located) => located,
            Err(Error::MessageNotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let body = self.assemble(&located.base, located.item()).await?.body()?;
        without_call(message, located.root, &body, call).map(Some)
    }

    /// Those of `waits` that no answer came for yet, and the threads of the subagents that were looked at.
    async fn still_awaited(&self, executor: Executor, waits: &[Wait]) -> Result<(Vec<Wait>, Vec<Thread>)> {
        let (mut open, mut children) = (Vec::new(), Vec::new());
        for wait in waits {
            let is_open = match wait {
                Wait::Approval { approval_id } => {
                    let approval = Box::pin(self.call(At::none(), GetApproval { approval: *approval_id })).await;
                    match approval {
                        Ok(approval) => approval.state == ApprovalState::Pending,
                        Err(Error::ApprovalNotFound { .. }) => true,
                        Err(error) => return Err(error),
                    }
                }
                // A caller may wait for a subagent before that begins.
                Wait::Child { .. } if executor == Executor::Caller => true,
                Wait::Child { thread_id } => match self.thread(*thread_id).await {
                    Ok(child) => {
                        let works = still_open(&child).is_some() || !self.waiting(&child).await?.is_empty();
                        let may_work = passes(child.record.lifecycle, Change::Work).is_ok();
                        let is_open = works && may_work && child.record.terminated.is_none();
                        children.push(child);
                        is_open
                    }
                    Err(Error::ThreadNotFound { .. }) => false,
                    Err(error) => return Err(error),
                },
                Wait::Human => true,
            };
            if is_open {
                open.push(*wait);
            }
        }
        Ok((open, children))
    }

    /// The plan that ends or interrupts the work on a thread, which also wakes a run that waits for that.
    pub(crate) async fn waking_parent(&self, plan: Plan) -> Result<Plan> {
        let wait = Wait::Child { thread_id: plan.thread.id };
        if plan.thread.record.parent_id.is_none() {
            return Ok(plan);
        }
        let Some(parent) = self.parent_thread(plan.thread.id).await? else { return Ok(plan) };
        match wakes(&parent, wait) {
            Some(woken) => Ok(plan.with(tell_other(&parent, &[woken])?)),
            // A parent that begins to wait between the look and the commit would never be woken: the plan holds only at
            // the era that was read.
            None => Ok(plan.with(write(&parent, None, None, Vec::new(), None))),
        }
    }

    /// Logs that calls of tools begin which may not be made twice: (id, name, arguments) of each.
    ///
    /// # Errors
    /// [`Error::RunOver`] if the run is no longer this attempt's.
    pub fn begin_calls<'a>(
        &'a self,
        thread: ThreadId,
        (run, attempt): (Uuid, u64),
        calls: &'a [(String, String, serde_json::Value)],
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let redactor = self.guard(WayOut::Call, Some(thread)).await?;
            let mut entries = Vec::new();
            for (id, name, input) in calls {
                let mut data = serde_json::json!({ "id": id, "name": name, "input": input, "runId": run });
                if let Some(redactor) = &redactor {
                    redactor.value(&mut data);
                }
                let data = Json::from_value("data", &data)?;
                entries.push(Entry::EventLogged(Event { kind: EventKind::ToolUse, data }));
            }
            self.tell(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                running(&thread, run, attempt)?;
                Ok(Plan::new(thread, entries.clone()))
            })
            .await?;
            Ok(())
        })
    }

    /// What happened to the calls of a step that was stored at `since`.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn call_facts(&self, thread: ThreadId, run: Uuid, mut since: Version) -> BoxFuture<'_, Result<CallFacts>> {
        Box::pin(async move {
            let mut facts = CallFacts::default();
            let mut answered = BTreeSet::new();
            loop {
                let some = self.history(thread, since, READ_AT_ONCE).await?;
                let Some(last) = some.last().map(|last| last.version) else { break };
                let tells = |kind| matches!(kind, Kind::EventLogged | Kind::RunWoken | Kind::RunStepped);
                for logged in some.iter().filter(|logged| tells(logged.kind)) {
                    match logged.entry()? {
                        Entry::EventLogged(event) => {
                            let data = event.data.to_value();
                            let is_own = data["runId"].as_str() == Some(&run.to_string());
                            if let Some(id) = data["id"].as_str().filter(|_| is_own) {
                                *facts.started.entry(id.to_owned()).or_default() += 1;
                            }
                            if let (true, Some(hook), Some(about)) =
                                (is_own, data["hook"].as_str(), data["about"].as_str())
                            {
                                facts.hooked.insert((hook.to_owned(), about.to_owned()));
                            }
                        }
                        Entry::RunWoken(woken) if woken.run.id == run => match woken.wait {
                            Wait::Approval { approval_id } => {
                                answered.insert(approval_id);
                            }
                            Wait::Child { thread_id } => facts.woken_by = Some(thread_id),
                            Wait::Human => {}
                        },
                        // The call that waited has its result, or waits again.
                        Entry::RunStepped(stepped) if stepped.messages > 0 || !stepped.run.waits.is_empty() => {
                            facts.woken_by = None;
                        }
                        _ => {}
                    }
                }
                since = last;
            }
            for approval in answered {
                match Box::pin(self.call(At::none(), GetApproval { approval })).await {
                    Ok(approval) => facts.answered.push(approval),
                    Err(Error::ApprovalNotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(facts)
        })
    }
}

//! `start-run`, `step-run`, `end-run`, `stop-run`: the runs of a thread, for any executor, ours or the user's own.
//!
//! One run is open at a time. It receives queued messages when it starts and with every step. Steps and the end name
//! the run and its attempt; every start and every resume raises the attempt, so a late executor is refused. A rollback
//! or a truncation ends the run in its own commit. Next door: reading runs, turns of runs with two sides, and the runtime's
//! way to own one.

mod execution;
mod own;
mod read;
mod work;

pub use own::{Taking, Work};
pub use work::{Beside, CallFacts, Titling};

use std::sync::Arc;

use threadkeep_calls as calls;
use threadkeep_calls::{EndRun, Injection, NewMessage, StartRun, StepRun, StopRun};
use threadkeep_model::{
    Actor, AgentAssigned, AgentState, Damaged, Entry, Executor, FieldChanges, Invalid, Json, Message, MessageBody,
    MessageId, ModelCall, Position, QueuedId, Run, RunEnded, RunOutcome, RunStarted, RunStatus, RunStepped,
    RunStopAsked, StopAsked, Thread, ThreadChanged, ThreadCommitted, ThreadId, Timestamp, Usage, Uuid, Version,
};

use super::text::not_blank;
use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::open_run::still_open;
use crate::ground::plan::Plan;
use crate::messages::shown;
use crate::open_calls::Interrupted;
use crate::{Engine, Error, Result, Show, Shown};

/// The codes of reasons that the engine itself gives.
pub mod reason {
    /// Somebody stopped the run.
    pub const ABORTED: &str = "aborted";
    /// The thread was rolled back or truncated.
    pub const ROLLED_BACK: &str = "rolled_back";
    /// The thread was terminated.
    pub const TERMINATED: &str = "terminated";
    /// Another run took its place.
    pub const TAKEN_OVER: &str = "taken_over";
    /// The thread was suspended.
    pub const SUSPENDED: &str = "suspended";
    /// The thread was completed or cancelled.
    pub const THREAD_CLOSED: &str = "thread_closed";
}

/// The agent of a thread that has none, when the runtime starts a run on it.
pub const DEFAULT_AGENT: &str = "default";

/// The result of a start, a step or an end.
#[derive(Debug, Clone, PartialEq)]
pub struct Progressed {
    /// The run as it is now.
    pub run: calls::Run,
    /// The messages appended to the conversation, in order: those of the executor, a message that closes open calls,
    /// queued messages, the draft.
    pub messages: Vec<Message>,
    /// The injections delivered with it, immediate ones first. They are not part of the conversation.
    pub injections: Vec<Injection>,
    /// The version of the thread afterwards.
    pub version: Version,
    /// Tokens of the conversation that a caller asked for.
    pub(crate) context_tokens: Option<u64>,
}

impl Carry for StartRun {
    type Made = Progressed;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Progressed> {
        let ttl = checked_ttl(self.ttl)?;
        let agent = self.agent_id.clone().map(|agent| not_blank("agentId", agent)).transpose()?;
        let said = engine.prepare_bodies(self.message.clone().into_iter().collect())?;
        let mut made = engine
            .progress(thread, &said.blobs, || async {
                let thread = engine.thread(thread).await?;
                let now = engine.shared.now();
                let Started { run, ends, resumed } = start(&thread, &self, engine.new_run(&thread, &self, ttl), now)?;
                let (id, mut entries) = (run.id, ends);
                if !resumed {
                    entries.extend(assigned(&thread, agent.as_deref(), self.executor));
                }
                let agent_id = record_agent(&thread, &entries);
                if agent_id.as_deref() == Some(DEFAULT_AGENT)
                    && self.executor == Executor::Runtime
                    && let Some(defined) = &engine.defined
                {
                    defined.default_agent().await?;
                }
                let run = Run { agent_id, ..run };
                if run.executor == Executor::Caller {
                    // What does not fit any more is summarized in the same commit, so that every later start is given
                    // the same beginning.
                    entries.extend(engine.needed_summary(&thread, self.context_tokens).await?);
                }
                entries.push(Entry::RunStarted(Box::new(RunStarted { run, definitions: None })));
                entries.extend(engine.taken_up(&thread, id, resumed).await?);
                entries.extend(said.bodies.iter().cloned().map(Entry::MessageAppended));
                if !resumed {
                    entries.extend(submitted_draft(&thread)?);
                }
                Ok(Plan::new(thread, entries))
            })
            .await?;
        made.context_tokens = self.context_tokens;
        Ok(made)
    }

    async fn told(made: Progressed, engine: &Engine) -> Result<Shown> {
        let given = match made.run.executor {
            Executor::Caller => {
                let (thread, tokens) = (made.run.thread_id, made.context_tokens);
                Some(engine.model_messages_within(thread, Some(made.version), tokens).await?)
            }
            Executor::Runtime => None,
        };
        let told = calls::Progressed { messages: given, ..made.shown()? };
        Shown::at(made.version, &told)
    }

    fn new_messages(&mut self) -> Vec<&mut NewMessage> {
        self.message.iter_mut().collect()
    }
}

impl Carry for StepRun {
    type Made = Progressed;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Progressed> {
        Box::pin(engine.take_step(thread, self, Beside::default())).await
    }

    fn new_messages(&mut self) -> Vec<&mut NewMessage> {
        self.messages.iter_mut().collect()
    }

    async fn names(&self, engine: &Engine) -> Result<Option<ThreadId>> {
        engine.thread_of_run(self.run).await.map(Some)
    }
}

impl Carry for EndRun {
    type Made = Progressed;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Progressed> {
        engine.take_end(thread, self, None).await
    }

    fn new_messages(&mut self) -> Vec<&mut NewMessage> {
        self.messages.iter_mut().collect()
    }

    async fn names(&self, engine: &Engine) -> Result<Option<ThreadId>> {
        engine.thread_of_run(self.run).await.map(Some)
    }
}

impl Carry for StopRun {
    type Made = calls::Run;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<calls::Run> {
        engine.stop(thread, self.run, |run| self.now || !run.is_worked_on()).await
    }

    async fn names(&self, engine: &Engine) -> Result<Option<ThreadId>> {
        engine.thread_of_run(self.run).await.map(Some)
    }
}

impl Engine {
    /// Asks the open run to stop, or ends it at once where `at_once` says so. A run that ended is given as it is.
    async fn stop(&self, thread: ThreadId, id: Uuid, at_once: impl Fn(&Run) -> bool + Sync) -> Result<calls::Run> {
        let plan = async |closes_calls: bool| -> Result<Plan> {
            let thread = self.thread(thread).await?;
            let Some(run) = still_open(&thread).filter(|run| run.id == id).cloned() else {
                return Ok(Plan::new(thread, Vec::new()));
            };
            let mut entries = Vec::new();
            if at_once(&run) {
                if closes_calls && thread.record.lifecycle.is_open() {
                    entries.extend(self.closed_calls(&thread, &[], Interrupted::Cancel).await?);
                }
                entries.push(ended(run, RunOutcome::Stopped, Some(reason::ABORTED)));
                return Box::pin(self.waking_parent(Plan::new(thread, entries))).await;
            } else if run.stop.is_none() {
                let at = self.shared.now();
                let stop = Some(StopAsked { at, due: at.plus_micros(Run::STOP_MICROS) });
                entries.push(Entry::RunStopAsked(Box::new(RunStopAsked { run: Run { stop, ..run } })));
            }
            Ok(Plan::new(thread, entries))
        };
        let told = match self.tell(thread, || plan(true)).await {
            // A message that closes calls is conversation, which a lease guards. The calls are closed where a model
            // reads.
            Err(Error::WriterHeld { .. }) => self.tell(thread, || plan(false)).await?,
            told => told?,
        };
        match told.entries.iter().rev().find_map(|entry| run_in(thread, entry, told.place.time)) {
            Some(run) => Ok(run),
            None => self.run_now(&told.thread, id).await,
        }
    }

    /// The entries that give a run what waits: the repair of open calls, queued messages, injections. A resumed run
    /// whose calls are open gets nothing, so that their results come first.
    async fn taken_up(&self, thread: &Thread, run: Uuid, resumed: bool) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let closed = self.closed_calls(thread, &[], Interrupted::Crash).await?;
        if resumed && closed.is_some() {
            return Ok(entries);
        }
        entries.extend(closed);
        entries.extend(Self::deliver(&self.waiting(thread).await?));
        let injections = self.waiting_injections(thread).await?;
        entries.extend(injections.iter().map(|waiting| waiting.taken_by(Some(run))));
        Ok(entries)
    }

    fn new_run(&self, thread: &Thread, asked: &StartRun, ttl: i64) -> Run {
        let now = self.shared.now();
        Run {
            id: Uuid::from_chance(self.shared.world.chance()),
            by: self.caller.actor.name.clone(),
            fence: thread.head.fence,
            began: now,
            until: now.plus_micros(ttl),
            steps: 0,
            attempt: 1,
            executor: asked.executor,
            agent_id: None,
            owner: None,
            waits: Vec::new(),
            stop: None,
            usage: Usage::default(),
            sides: None,
        }
    }

    /// The entry that closes the calls of a thread that are open now, after it said `later`.
    pub(crate) async fn closed_calls(
        &self,
        thread: &Thread,
        later: &[MessageBody],
        cut: Interrupted,
    ) -> Result<Option<Entry>> {
        let view = self.view(thread.id, &thread.head, None).await?;
        self.close_calls(&view, view.tally.messages(), later, cut).await
    }

    /// Commits the decision, and returns its messages and the injections that were taken up.
    async fn progress<F>(
        &self,
        thread: ThreadId,
        blobs: &[(threadkeep_model::BlobId, bytes::Bytes)],
        mut plan: impl FnMut() -> F + Send,
    ) -> Result<Progressed>
    where
        F: Future<Output = Result<Plan>> + Send,
    {
        let told = self
            .tell(thread, || {
                let planned = plan();
                async { Ok(planned.await?.bringing(blobs.iter().cloned())) }
            })
            .await?;
        // The last one counts: a start may end a run that it takes over from.
        let run = told.entries.iter().rev().find_map(|entry| run_in(thread, entry, told.place.time));
        let run = run.ok_or(Error::broken("a step names its run"))?;
        if run.completed_at.is_some() {
            self.shared.live().chunks.forget(run.id);
        }
        let mut injections = Vec::new();
        for entry in &told.entries {
            if let Entry::InjectionTaken(taken) = entry {
                injections.push(self.taken_injection(taken, &told.by, told.place.time).await?);
            }
        }
        let version = Position(told.place.first.0 + (told.entries.len() as u64).saturating_sub(1));
        let messages = told_messages(&told.place, told.entries, &told.by);
        Ok(Progressed { run, messages, injections, version, context_tokens: None })
    }

    fn prepare_bodies(&self, messages: Vec<NewMessage>) -> Result<Said> {
        self.refuse_many(messages.len())?;
        let mut said = Said::default();
        for message in messages {
            let (body, blobs) = self.prepare_one(message)?;
            self.refuse_large(shown(&body).len() as u64)?;
            said.bodies.push(body);
            said.blobs.extend(blobs);
        }
        Ok(said)
    }
}

impl Show for Progressed {
    fn show(&self) -> Result<Shown> {
        Shown::at(self.version, &self.shown()?)
    }
}

impl Progressed {
    /// It, as the wire shows it.
    ///
    /// # Errors
    /// If a body on disk is damaged.
    pub fn shown(&self) -> Result<calls::Progressed<'_>, Damaged> {
        let delivered = self.messages.iter().map(calls::Message::new).collect::<Result<_, _>>()?;
        Ok(calls::Progressed::of_run(self.run.clone(), self.version, delivered, self.injections.clone(), None))
    }
}

/// An executor's messages, checked.
#[derive(Default)]
struct Said {
    bodies: Vec<MessageBody>,
    blobs: Vec<(threadkeep_model::BlobId, bytes::Bytes)>,
}

impl Said {
    /// The entries of a step of `run` that says it.
    fn as_step(&self, run: Run, continues: bool, model: Option<ModelCall>) -> Vec<Entry> {
        let step = RunStepped { run, continues, messages: self.bodies.len() as u64, model };
        let said = self.bodies.iter().cloned().map(Entry::MessageAppended);
        std::iter::once(Entry::RunStepped(Box::new(step))).chain(said).collect()
    }
}

/// The messages among entries that were committed.
fn told_messages(place: &ThreadCommitted, entries: Vec<Entry>, actor: &Arc<Actor>) -> Vec<Message> {
    let mut messages = Vec::new();
    for (entry, position) in entries.into_iter().zip(place.first.0..) {
        let (queued, body) = match entry {
            Entry::MessageAppended(body) => (None, body),
            Entry::MessageDelivered(delivered) => (Some(delivered.item), delivered.message),
            _ => continue,
        };
        messages.push(Message {
            id: MessageId { segment: place.segment, position: Position(position) },
            queued,
            number: queued.map_or(position, |QueuedId(place)| place.position.0),
            json: shown(&body),
            actor: Arc::clone(actor),
            created: place.time,
            version: Position(position),
        });
    }
    messages
}

/// A run that starts or goes on.
struct Started {
    run: Run,
    /// The end of the run before it, if that one never ended.
    ends: Vec<Entry>,
    resumed: bool,
}

/// Decides whether `new` starts on `thread`, or the open run goes on.
fn start(thread: &Thread, asked: &StartRun, new: Run, now: Timestamp) -> Result<Started> {
    open_for(thread, Change::Work)?;
    if thread.record.terminated.is_some() {
        return Err(Error::ThreadTerminated);
    }
    let Some(open) = still_open(thread).cloned() else {
        if asked.resume {
            return Err(Invalid::body("resume", "no run is open on the thread: start one without it").into());
        }
        return Ok(Started { run: new, ends: Vec::new(), resumed: false });
    };
    let stopped = open.stop.is_some_and(|stop| stop.due <= now);
    let may = asked.take_over || stopped || open.lapsed(now);
    if asked.resume && !stopped && open.executor == Executor::Caller && (may || open.status() == RunStatus::Waiting) {
        let (attempt, until, waits) = (open.attempt + 1, new.until, Vec::new());
        return Ok(Started { run: Run { attempt, until, waits, ..open }, ends: Vec::new(), resumed: true });
    }
    if asked.resume || !may {
        return Err(Error::RunOpen { open: Box::new(open) });
    }
    let (status, why) =
        if stopped { (RunOutcome::Stopped, reason::ABORTED) } else { (RunOutcome::Failed, reason::TAKEN_OVER) };
    Ok(Started { run: new, ends: vec![ended(open, status, Some(why))], resumed: false })
}

/// What the status of an open run allows.
trait Allows {
    /// Whether others may take over from a caller that rested for too long.
    fn lapsed(&self, now: Timestamp) -> bool;
    /// Whether an executor is there that a request to stop reaches.
    fn is_worked_on(&self) -> bool;
}

impl Allows for Run {
    fn lapsed(&self, now: Timestamp) -> bool {
        self.executor == Executor::Caller && self.waits.is_empty() && self.until <= now
    }

    fn is_worked_on(&self) -> bool {
        match self.status() {
            RunStatus::Running => true,
            RunStatus::Queued | RunStatus::Waiting | RunStatus::Completed | RunStatus::Failed | RunStatus::Stopped => {
                false
            }
        }
    }
}

/// The entry that assigns the thread to the agent of a new run, if it is another one.
fn assigned(thread: &Thread, agent: Option<&str>, executor: Executor) -> Option<Entry> {
    let present = thread.record.agent_id.as_deref();
    let agent = match (agent, executor) {
        (Some(agent), Executor::Runtime | Executor::Caller) => agent,
        (None, Executor::Runtime) => present.unwrap_or(DEFAULT_AGENT),
        (None, Executor::Caller) => return None,
    };
    assigned_to(thread, agent)
}

/// The entry that assigns the thread to `agent`, if it has another one.
fn assigned_to(thread: &Thread, agent: &str) -> Option<Entry> {
    let state = AgentState { agent_id: Some(agent.to_owned()), ..thread.record.state() };
    (thread.record.agent_id.as_deref() != Some(agent)).then_some(Entry::AgentAssigned(AgentAssigned { state }))
}

/// The agent of a thread after `entries`.
fn record_agent(thread: &Thread, entries: &[Entry]) -> Option<String> {
    let assigned = entries.iter().rev().find_map(|entry| match entry {
        Entry::AgentAssigned(assigned) => Some(assigned.state.agent_id.clone()),
        _ => None,
    });
    assigned.unwrap_or_else(|| thread.record.agent_id.clone())
}

/// The entry that ends `run`.
fn ended(run: Run, status: RunOutcome, reason: Option<&str>) -> Entry {
    Entry::RunEnded(Box::new(RunEnded { run, status, reason: reason.map(str::to_owned) }))
}

/// The entry that ends the open run of a thread because of something else that happens to it.
pub(crate) fn ends_with(thread: &Thread, status: RunOutcome, reason: &str) -> Option<Entry> {
    thread.record.run.clone().map(|run| ended(run, status, Some(reason)))
}

/// The run after an entry of this time that says how it is.
fn run_in(thread: ThreadId, entry: &Entry, time: Timestamp) -> Option<calls::Run> {
    match entry {
        Entry::RunStarted(started) => Some(calls::Run::open(thread, &started.run)),
        Entry::RunStepped(stepped) => Some(calls::Run::open(thread, &stepped.run)),
        Entry::RunStopAsked(asked) => Some(calls::Run::open(thread, &asked.run)),
        Entry::RunTurnAsked(asked) => Some(calls::Run::open(thread, &asked.run)),
        Entry::RunEnded(ended) => Some(calls::Run::ended(thread, ended, time)),
        _ => None,
    }
}

/// How long a caller may rest, in microseconds, from the call's milliseconds.
fn checked_ttl(millis: Option<u64>) -> Result<i64> {
    let micros = |millis: u64| i64::try_from(millis.saturating_mul(1_000)).unwrap_or(i64::MAX);
    let micros = millis.map_or(Run::TTL_MICROS, micros);
    if (Run::TTL_MICROS_MIN..=Run::TTL_MICROS_MAX).contains(&micros) {
        return Ok(micros);
    }
    Err(Invalid::parameter("ttl", "a run may rest for 1 s to 24 h between two steps").into())
}

/// The draft as a message of the user, if it submits itself, and the record without it.
fn submitted_draft(thread: &Thread) -> Result<Vec<Entry>> {
    let record = &thread.record;
    let Some(draft) = record.draft.as_ref().filter(|draft| record.auto_submit_draft && !draft.trim().is_empty()) else {
        return Ok(Vec::new());
    };
    let null = Json::parse("draft", "null")?;
    let cleared = [("draft", null.clone()), ("autoSubmitDraft", null)];
    let fields = FieldChanges(cleared.into_iter().map(|(field, json)| (field.to_owned(), json)).collect());
    Ok(vec![Entry::MessageAppended(MessageBody::user(draft)), Entry::ThreadChanged(ThreadChanged { fields })])
}

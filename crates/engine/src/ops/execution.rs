//! `begin`, `step`, `end`: the executions of a thread, for any executor, ours or the user's own.
//!
//! One execution is open at a time. It receives queued messages when it begins and with every step. It is lost
//! when the thread is rolled back or truncated, and may be taken over when it has rested for too long: nothing it
//! writes afterwards is kept.

use std::sync::Arc;

use threadkeep_calls as calls;
use threadkeep_calls::{Begin, Cancel, End, Injection, NewMessage, Step};
use threadkeep_model::{
    Actor, Damaged, Entry, Execution, ExecutionBegan, ExecutionEnded, ExecutionStatus, ExecutionStepped, FieldChanges,
    Invalid, Json, Message, MessageBody, MessageId, Position, QueuedId, Thread, ThreadChanged, ThreadCommitted,
    ThreadId, Uuid, Version,
};

use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::messages::shown;
use crate::open_calls::Interrupted;
use crate::{Engine, Error, Result, Show, Shown};

/// The result of a begin, a step or an end.
#[derive(Debug, Clone, PartialEq)]
pub struct Progressed {
    /// The id of the thread.
    pub thread: ThreadId,
    /// The id of the execution.
    pub execution: Uuid,
    /// The messages appended to the conversation, in order: those of the executor, a message that closes open calls,
    /// queued messages, the draft.
    pub messages: Vec<Message>,
    /// The injections delivered with it, immediate ones first. They are not part of the conversation.
    pub injections: Vec<Injection>,
    /// The version of the thread afterwards.
    pub version: Version,
}

impl Carry for Begin {
    type Made = Progressed;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Progressed> {
        let ttl = checked_ttl(self.ttl)?;
        engine
            .progress(thread, &[], || async {
                let thread = engine.thread(thread).await?;
                let execution = engine.new_execution(&thread, ttl);
                let (id, began) = (execution.id, begin(&thread, execution, self.take_over)?);
                let mut entries = vec![began];
                entries.extend(engine.closed_calls(&thread, &[], Interrupted::Crash).await?);
                entries.extend(Engine::deliver(&engine.waiting(&thread).await?));
                let injections = engine.waiting_injections(&thread).await?;
                entries.extend(injections.iter().map(|waiting| waiting.taken_by(Some(id))));
                entries.extend(submitted_draft(&thread)?);
                Ok(Plan::new(thread, entries))
            })
            .await
    }

    async fn told(made: Progressed, engine: &Engine) -> Result<Shown> {
        let given = engine.model_messages(made.thread, Some(made.version)).await?;
        let told = calls::Progressed { messages: Some(given), ..made.shown()? };
        Shown::at(made.version, &told)
    }
}

impl Carry for Step {
    type Made = Progressed;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Progressed> {
        let ttl = checked_ttl(self.ttl)?;
        let said = engine.prepare_bodies(self.messages)?;
        engine
            .progress(thread, &said.blobs, || async {
                let thread = engine.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let id = running(&thread, self.execution)?;
                let until = engine.shared.now().plus_micros(ttl);
                let mut entries = vec![Entry::ExecutionStepped(ExecutionStepped { id, until })];
                entries.extend(said.bodies.iter().cloned().map(Entry::MessageAppended));
                entries.extend(Engine::deliver(&engine.waiting(&thread).await?));
                let injections = engine.waiting_injections(&thread).await?;
                entries.extend(injections.iter().map(|waiting| waiting.taken_by(Some(id))));
                Ok(Plan::new(thread, entries))
            })
            .await
    }

    fn new_messages(&mut self) -> Vec<&mut NewMessage> {
        self.messages.iter_mut().collect()
    }
}

impl Carry for End {
    type Made = Progressed;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Progressed> {
        engine.end_execution(thread, Some(self.execution), self.status, self.messages).await
    }

    fn new_messages(&mut self) -> Vec<&mut NewMessage> {
        self.messages.iter_mut().collect()
    }
}

impl Carry for Cancel {
    type Made = Progressed;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Progressed> {
        engine.end_execution(thread, None, ExecutionStatus::Cancelled, Vec::new()).await
    }
}

impl Engine {
    fn new_execution(&self, thread: &Thread, ttl: i64) -> Execution {
        let now = self.shared.now();
        Execution {
            id: Uuid::from_chance(self.shared.world.chance()),
            by: self.caller.actor.name.clone(),
            fence: thread.head.fence,
            began: now,
            until: now.plus_micros(ttl),
            steps: 0,
        }
    }

    async fn end_execution(
        &self,
        thread: ThreadId,
        execution: Option<Uuid>,
        status: ExecutionStatus,
        messages: Vec<NewMessage>,
    ) -> Result<Progressed> {
        let cancels = status == ExecutionStatus::Cancelled;
        let says_nothing = messages.is_empty();
        let said = self.prepare_bodies(messages)?;
        let plan = async |alone: bool| -> Result<Plan> {
            let thread = self.thread(thread).await?;
            if !said.bodies.is_empty() {
                open_for(&thread, Change::Content)?;
            }
            let id = match (execution, still_open(&thread)) {
                (Some(id), _) => running(&thread, id)?,
                (None, Some(open)) => open.id,
                (None, None) => return Err(Error::NothingToCancel),
            };
            let ended = Entry::ExecutionEnded(ExecutionEnded { id, status });
            let mut entries: Vec<Entry> = said.bodies.iter().cloned().map(Entry::MessageAppended).collect();
            if !alone && thread.record.lifecycle.is_open() {
                let cut = if cancels { Interrupted::Cancel } else { Interrupted::End };
                entries.extend(self.closed_calls(&thread, &said.bodies, cut).await?);
                entries.push(ended);
                entries.extend(submitted_draft(&thread)?);
            } else {
                entries.push(ended);
            }
            Ok(Plan::new(thread, entries))
        };
        match self.progress(thread, &said.blobs, || plan(false)).await {
            Err(Error::WriterHeld { .. }) if cancels && says_nothing => self.progress(thread, &[], || plan(true)).await,
            done => done,
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
        mut plan: impl FnMut() -> F,
    ) -> Result<Progressed>
    where
        F: Future<Output = Result<Plan>>,
    {
        let told = self
            .tell(thread, || {
                let planned = plan();
                async { Ok(planned.await?.bringing(blobs.iter().cloned())) }
            })
            .await?;
        let named = |entry: &Entry| match entry {
            Entry::ExecutionBegan(began) => Some(began.execution.id),
            Entry::ExecutionStepped(stepped) => Some(stepped.id),
            Entry::ExecutionEnded(ended) => Some(ended.id),
            _ => None,
        };
        let execution = told.entries.iter().find_map(named).ok_or(Error::broken("a step names its execution"))?;
        let mut injections = Vec::new();
        for entry in &told.entries {
            if let Entry::InjectionTaken(taken) = entry {
                injections.push(self.taken_injection(taken, &told.by, told.place.time).await?);
            }
        }
        let version = Position(told.place.first.0 + (told.entries.len() as u64).saturating_sub(1));
        let messages = told_messages(&told.place, told.entries, &told.by);
        Ok(Progressed { thread, execution, messages, injections, version })
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
        Ok(calls::Progressed {
            execution_id: self.execution,
            version: self.version,
            delivered: self.messages.iter().map(calls::Message::new).collect::<Result<_, _>>()?,
            injections: self.injections.clone(),
            messages: None,
        })
    }
}

/// An executor's messages, checked.
#[derive(Default)]
struct Said {
    bodies: Vec<MessageBody>,
    blobs: Vec<(threadkeep_model::BlobId, bytes::Bytes)>,
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

/// The entry that begins `execution` on `thread`, unless another one is open.
fn begin(thread: &Thread, execution: Execution, take_over: bool) -> Result<Entry> {
    open_for(thread, Change::Work)?;
    if thread.record.terminated.is_some() {
        return Err(Error::ThreadTerminated);
    }
    if let Some(open) = still_open(thread).filter(|open| execution.began < open.until && !take_over) {
        return Err(Error::ExecutionOpen { open: Box::new(open.clone()) });
    }
    let after = thread.record.execution.as_ref().map(|left| left.id);
    Ok(Entry::ExecutionBegan(ExecutionBegan { execution, after }))
}

/// The execution that is open and was not lost to a rollback or a truncation.
fn still_open(thread: &Thread) -> Option<&Execution> {
    thread.record.execution.as_ref().filter(|open| open.fence == thread.head.fence)
}

/// Refuses an execution that is over.
fn running(thread: &Thread, id: Uuid) -> Result<Uuid> {
    match still_open(thread) {
        Some(open) if open.id == id => Ok(id),
        other => Err(Error::ExecutionOver { execution: id, by: other.cloned().map(Box::new) }),
    }
}

/// How long an execution may rest, in microseconds, from the call's milliseconds.
fn checked_ttl(millis: Option<u64>) -> Result<i64> {
    let micros = |millis: u64| i64::try_from(millis.saturating_mul(1_000)).unwrap_or(i64::MAX);
    let micros = millis.map_or(Execution::TTL_MICROS, micros);
    if (Execution::TTL_MICROS_MIN..=Execution::TTL_MICROS_MAX).contains(&micros) {
        return Ok(micros);
    }
    Err(Invalid::parameter("ttl", "an execution may rest for 1 s to 24 h between two steps").into())
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

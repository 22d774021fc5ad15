//! `begin`, `step`, `end`: the executions of a thread, for any executor, ours or the user's own.
//!
//! One execution is open at a time. It takes up what waits in the queue when it begins and with every step. It is lost
//! when the thread is rolled back or truncated, and may be taken over when it has rested for too long: nothing it
//! writes afterwards is kept.

use std::sync::Arc;

use threadkeep_model::{
    Entry, Execution, ExecutionBegan, ExecutionEnded, ExecutionStatus, ExecutionStepped, FieldChanges, Invalid, Json,
    Message, MessageBody, MessageId, Position, QueuedId, Thread, ThreadChanged, ThreadCommitted, ThreadId, Uuid,
    Version,
};

use super::append::NewMessage;
use super::inject::{Injection, Taken, Waiting};
use super::tell_one;
use crate::calls::Interrupted;
use crate::gate::{Change, open_for};
use crate::messages::shown;
use crate::{Engine, Error, Result};

/// Begins an execution.
#[derive(Debug, Clone, Copy, Default)]
pub struct Begin {
    /// How long it may rest between two steps before others may take over, in microseconds; else ten minutes.
    pub ttl_micros: Option<i64>,
    /// Takes over from an execution that is still open.
    pub take_over: bool,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

/// Goes one step further: what the executor has to say, then what waits in the queue.
#[derive(Debug, Clone)]
pub struct Step {
    /// The execution.
    pub execution: Uuid,
    /// Messages to append first.
    pub messages: Vec<NewMessage>,
    /// How long it may rest until the next step, in microseconds; else ten minutes.
    pub ttl_micros: Option<i64>,
}

impl Step {
    /// A step of `execution` that says nothing.
    pub fn of(execution: Uuid) -> Self {
        Self { execution, messages: Vec::new(), ttl_micros: None }
    }

    /// The same step, saying `message`.
    #[must_use]
    pub fn message(mut self, message: impl Into<NewMessage>) -> Self {
        self.messages.push(message.into());
        self
    }
}

/// Ends an execution.
#[derive(Debug, Clone)]
pub struct End {
    /// The execution; none for whichever is open, which only a cancellation may say.
    pub execution: Option<Uuid>,
    /// How it ended.
    pub status: ExecutionStatus,
    /// Messages to append first.
    pub messages: Vec<NewMessage>,
}

impl End {
    /// The end of `execution`.
    pub fn of(execution: Uuid, status: ExecutionStatus) -> Self {
        Self { execution: Some(execution), status, messages: Vec::new() }
    }

    /// Stops whichever execution is open.
    pub fn cancel() -> Self {
        Self { execution: None, status: ExecutionStatus::Cancelled, messages: Vec::new() }
    }
}

/// What a begin, a step or an end did.
#[derive(Debug, Clone, PartialEq)]
pub struct Progressed {
    /// The execution.
    pub execution: Uuid,
    /// What was appended to the conversation, in order: what the executor said, a message that closes open calls, what
    /// waited in the queue, the draft.
    pub messages: Vec<Message>,
    /// What was injected and is taken up with it, immediate ones first. It is not part of the conversation.
    pub injections: Vec<Injection>,
    /// The thread's version.
    pub version: Version,
}

impl Engine {
    /// Begins an execution: calls that were left open are closed, what waits in the queue is delivered, and what was
    /// injected is taken up.
    ///
    /// # Errors
    /// [`Error::ExecutionOpen`] if somebody else works on the thread; [`Error::ThreadClosed`] or
    /// [`Error::ThreadSuspended`] unless it is active; [`Error::ThreadTerminated`]; [`Error::WriterHeld`]; [`Error::VersionConflict`].
    pub async fn begin(&self, thread: ThreadId, begin: Begin) -> Result<Progressed> {
        let ttl = checked_ttl(begin.ttl_micros)?;
        self.progress(thread, begin.expected, || async {
            let thread = self.thread(thread).await?;
            let record = &thread.record;
            open_for(&thread, Change::Work)?;
            if record.terminated {
                return Err(Error::ThreadTerminated);
            }
            let now = self.shared.world.now();
            let left = still_open(&thread);
            if let Some(open) = left.filter(|open| now < open.until && !begin.take_over) {
                return Err(Error::ExecutionOpen { open: Box::new(open.clone()) });
            }
            let execution = Execution {
                id: Uuid::from_chance(self.shared.world.chance()),
                by: self.caller.actor.name.clone(),
                fence: thread.head.fence,
                began: now,
                until: now.plus_micros(ttl),
                steps: 0,
            };
            let id = execution.id;
            let began = ExecutionBegan { execution, after: record.execution.as_ref().map(|left| left.id) };
            let mut entries = vec![Entry::ExecutionBegan(began)];
            entries.extend(self.closed_calls(&thread, &[], Interrupted::Crash).await?);
            entries.extend(Self::deliver(&self.waiting(&thread).await?));
            let injections = self.waiting_injections(&thread).await?;
            entries.extend(injections.iter().map(|waiting| waiting.taken_by(Some(id))));
            entries.extend(submitted_draft(&thread)?);
            Ok(Plan { thread, id, entries, injections })
        })
        .await
    }

    /// Goes one step further: appends what the executor says, then delivers what waits in the queue, and takes up what
    /// was injected.
    ///
    /// # Errors
    /// [`Error::ExecutionOver`] if the execution ended, or was taken over, rolled back or truncated away;
    /// [`Error::ThreadClosed`]; a message that breaks a rule.
    pub async fn step(&self, thread: ThreadId, step: Step) -> Result<Progressed> {
        let ttl = checked_ttl(step.ttl_micros)?;
        let said = self.prepare_bodies(step.messages)?;
        self.progress_with(thread, None, &said.blobs, || async {
            let thread = self.thread(thread).await?;
            open_for(&thread, Change::Content)?;
            let id = running(&thread, step.execution)?;
            let until = self.shared.world.now().plus_micros(ttl);
            let mut entries = vec![Entry::ExecutionStepped(ExecutionStepped { id, until })];
            entries.extend(said.bodies.iter().cloned().map(Entry::MessageAppended));
            entries.extend(Self::deliver(&self.waiting(&thread).await?));
            let injections = self.waiting_injections(&thread).await?;
            entries.extend(injections.iter().map(|waiting| waiting.taken_by(Some(id))));
            Ok(Plan { thread, id, entries, injections })
        })
        .await
    }

    /// Ends an execution. Calls that are left open are closed, and a draft that submits itself is appended.
    ///
    /// Anybody may cancel, also while somebody else is the thread's exclusive writer; calls that are left open then
    /// are closed when the next execution begins.
    ///
    /// # Errors
    /// [`Error::ExecutionOver`] if it is not open (any more); [`Error::ThreadClosed`]; a message that breaks a rule.
    pub async fn end(&self, thread: ThreadId, end: End) -> Result<Progressed> {
        if end.execution.is_none() && end.status != ExecutionStatus::Cancelled {
            return Err(Invalid::parameter("execution", "name the execution; only a cancellation needs none").into());
        }
        let cancels = end.status == ExecutionStatus::Cancelled;
        let says_nothing = end.messages.is_empty();
        let said = self.prepare_bodies(end.messages)?;
        let plan = async |alone: bool| -> Result<Plan> {
            let thread = self.thread(thread).await?;
            if !said.bodies.is_empty() {
                open_for(&thread, Change::Content)?;
            }
            let id = match (end.execution, still_open(&thread)) {
                (Some(id), _) => running(&thread, id)?,
                (None, Some(open)) => open.id,
                (None, None) => return Err(Error::NothingToCancel),
            };
            let ended = Entry::ExecutionEnded(ExecutionEnded { id, status: end.status });
            let mut entries: Vec<Entry> = said.bodies.iter().cloned().map(Entry::MessageAppended).collect();
            if !alone && thread.record.lifecycle.is_open() {
                let cut = if cancels { Interrupted::Cancel } else { Interrupted::End };
                entries.extend(self.closed_calls(&thread, &said.bodies, cut).await?);
                entries.push(ended);
                entries.extend(submitted_draft(&thread)?);
            } else {
                entries.push(ended);
            }
            Ok(Plan { thread, id, entries, injections: Vec::new() })
        };
        match self.progress_with(thread, None, &said.blobs, || plan(false)).await {
            Err(Error::WriterHeld { .. }) if cancels && says_nothing => {
                self.progress_with(thread, None, &[], || plan(true)).await
            }
            done => done,
        }
    }

    /// The entry that closes the calls of a thread that are open now, after it said `later`.
    async fn closed_calls(&self, thread: &Thread, later: &[MessageBody], cut: Interrupted) -> Result<Option<Entry>> {
        let view = self.view(thread.id, &thread.head, None).await?;
        self.close_calls(&view, view.tally.messages(), later, cut).await
    }

    async fn progress<F>(
        &self,
        thread: ThreadId,
        expected: Option<Version>,
        plan: impl FnMut() -> F,
    ) -> Result<Progressed>
    where
        F: Future<Output = Result<Plan>>,
    {
        self.progress_with(thread, expected, &[], plan).await
    }

    /// Commits what `plan` decides, and gives the messages among it.
    async fn progress_with<F>(
        &self,
        thread: ThreadId,
        expected: Option<Version>,
        blobs: &[(threadkeep_model::BlobId, bytes::Bytes)],
        mut plan: impl FnMut() -> F,
    ) -> Result<Progressed>
    where
        F: Future<Output = Result<Plan>>,
    {
        let (committed, (id, entries, waited)) = self
            .settle(thread, || {
                let planned = plan();
                async {
                    let Plan { thread, id, entries, injections } = planned.await?;
                    let (write, _) = tell_one(&thread, expected, &entries)?;
                    let mut commit = self.commit(vec![write]);
                    commit.blobs.extend(blobs.iter().cloned());
                    Ok((commit, (id, entries, injections)))
                }
            })
            .await?;
        let place = committed.threads.first().ok_or(Error::Busy)?;
        let messages = self.told_messages(place, entries);
        let by = Arc::new(self.caller.actor.clone());
        let taken = Taken { execution: Some(id), by, at: place.time };
        let take = |waiting: Waiting| Injection { taken: Some(taken.clone()), ..waiting.injection };
        let injections = waited.into_iter().map(take).collect();
        Ok(Progressed { execution: id, messages, injections, version: place.head.version })
    }

    /// The messages among entries that were just committed.
    fn told_messages(&self, place: &ThreadCommitted, entries: Vec<Entry>) -> Vec<Message> {
        let actor = Arc::new(self.caller.actor.clone());
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
                actor: Arc::clone(&actor),
                created: place.time,
                version: Position(position),
            });
        }
        messages
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

/// What an executor says, checked.
#[derive(Default)]
struct Said {
    bodies: Vec<MessageBody>,
    blobs: Vec<(threadkeep_model::BlobId, bytes::Bytes)>,
}

/// What is told of a thread next.
struct Plan {
    thread: Thread,
    id: Uuid,
    entries: Vec<Entry>,
    injections: Vec<Waiting>,
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

fn checked_ttl(micros: Option<i64>) -> Result<i64> {
    let micros = micros.unwrap_or(Execution::TTL_MICROS);
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

//! The stream of a run: what the log says of it, and between two entries of the log the text as it is made.
//!
//! A reader follows the log of the thread, so it sees the whole run whenever it comes, on any server. Chunks come from
//! memory, where the run is, and from there to other servers by the relay, if there is one. A place in the stream is the version of the last entry and the number of chunks after it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use threadkeep_calls::{DeltaTold, Pipeline, RunEvent, SendDelta, StreamStatus, ToolState};
use threadkeep_model::{
    Entry, Executor, MessageBody, MessageId, Part, Role, RunOutcome, ThreadId, Timestamp, Uuid, Version,
};
use threadkeep_relay::Followed;
use threadkeep_store::BoxFuture;
use threadkeep_vault::Redactor;
use tokio::sync::watch;

use super::relayed::RunNote;
use super::run_chunks::{Chunk, Ring};
use crate::ground::carry::Carry;
use crate::{Engine, Error, HistoryEntry, Result, Subscription, WayOut};

/// Places between two entries of the log, for chunks.
const CHUNKS_MAX: u64 = 1 << 20;

const DEGRADED: &str = "Text of other servers is not shown as it is made. Messages come from the log.";

/// Resolves when the relay fails, or works again; never without one.
async fn turned(relayed: &mut Option<(Followed, watch::Receiver<Option<String>>)>) {
    let changed = match relayed {
        Some((_, trouble)) => trouble.changed().await.is_ok(),
        None => false,
    };
    if !changed {
        std::future::pending().await
    }
}

/// An event of a run, with its place in the stream.
#[derive(Debug, Clone, PartialEq)]
pub struct RunNews {
    /// Its place. A reader that comes back names the last one it has. None if it needs no place of its own.
    pub sequence: Option<u64>,
    /// The event itself.
    pub event: RunEvent,
}

/// The events of a run, from its start or after a place. See [`Engine::run_stream`].
pub struct RunStream {
    run: Uuid,
    log: Subscription,
    redactor: Redactor,
    ring: Arc<Ring>,
    changes: watch::Receiver<u64>,
    /// Chunks of other processes, and why there are none of them at this moment.
    relayed: Option<(Followed, watch::Receiver<Option<String>>)>,
    /// Whether the reader was told that there are none.
    is_degraded: bool,
    ready: VecDeque<RunNews>,
    /// Places up to here were given before.
    after: Place,
    executor: Executor,
    began: Option<Timestamp>,
    attempt: u64,
    /// Steps that the log has so far.
    steps: u64,
    /// Chunks of the present step that were given.
    chunks: u64,
    /// Messages of the executor that follow in the same commit.
    messages: u64,
    /// Names of the tools that were called, by the ids of the calls.
    tools: HashMap<String, String>,
    timed: bool,
    is_over: bool,
}

/// A place in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    version: u64,
    chunks: u64,
}

impl Place {
    fn written(self) -> u64 {
        self.version * CHUNKS_MAX + self.chunks.min(CHUNKS_MAX - 1)
    }

    fn read(sequence: u64) -> Self {
        Self { version: sequence / CHUNKS_MAX, chunks: sequence % CHUNKS_MAX }
    }
}

impl Carry for SendDelta {
    type Made = DeltaTold;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<DeltaTold> {
        let owned = engine.thread(thread).await?;
        let run = crate::ground::open_run::running(&owned, self.run, self.attempt)?;
        let stop_requested = run.stop.is_some();
        let (number, began) = (run.steps + 1, run.began);
        let sequence = engine.stream_text(thread, (self.run, self.attempt, number), began, &self.text).await?;
        Ok(DeltaTold { sequence, stop_requested })
    }

    async fn names(&self, engine: &Engine) -> Result<Option<ThreadId>> {
        engine.thread_of_run(self.run).await.map(Some)
    }
}

impl Engine {
    /// Adds text to a step (run, attempt, number) that is being made, and gives the number of its chunks. For executors
    /// in this process: that the run is still theirs is checked when they store the step.
    ///
    /// # Errors
    /// If the secrets of the thread cannot be read.
    pub fn stream_text<'a>(
        &'a self,
        thread: ThreadId,
        (run, attempt, number): (Uuid, u64, u64),
        began: Timestamp,
        text: &'a str,
    ) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            let ring = self.shared.live().chunks.of(run);
            if ring.begins(attempt, number) {
                let redactor = self.redactor(WayOut::Stream, Some(thread)).await?;
                ring.begin(attempt, number, &redactor);
            }
            let since = self.shared.now().as_micros().saturating_sub(began.as_micros());
            let (chunks, new) = ring.push(attempt, number, text, since as f64 / 1_000.0);
            if let Some(content) = new {
                let note = RunNote::new((run, attempt, number), chunks, content, StreamStatus::Chunk);
                self.shared.live().relay_chunk(note.first_after(ring.step().first_ms));
            }
            Ok(chunks)
        })
    }

    /// A number that tells the places in the streams of this engine from those of other processes.
    pub fn stream_epoch(&self) -> u64 {
        *self.shared.live().chunks.epoch.get_or_init(|| self.shared.world.chance() as u64)
    }

    /// Says that the text of a step so far does not count: the model is asked again.
    pub fn discard_text(&self, (run, attempt, number): (Uuid, u64, u64)) {
        if let Some(chunks) = self.shared.live().chunks.of(run).discard(attempt, number) {
            let note = RunNote::new((run, attempt, number), chunks, String::new(), StreamStatus::Discarded);
            self.shared.live().relay_chunk(note);
        }
    }

    /// The text that readers were shown of a step so far.
    pub fn shown_text(&self, (run, attempt, number): (Uuid, u64, u64)) -> String {
        self.shared.live().chunks.of(run).shown(attempt, number)
    }

    /// The events of a run of this account: from its start, or after the place of an earlier stream of this engine. It
    /// ends when the run has ended.
    ///
    /// # Errors
    /// [`Error::RunNotFound`].
    pub fn run_stream(&self, run: Uuid, after: Option<u64>) -> BoxFuture<'_, Result<RunStream>> {
        Box::pin(async move {
            let thread = self.thread(self.thread_of_run(run).await?).await?;
            let told = self.run_now(&thread, run).await?;
            let start = self.version_before_run(&thread, told.started_at).await?;
            let ring = self.shared.live().chunks.of(run);
            let after = after.map_or(Place { version: 0, chunks: 0 }, Place::read);
            Ok(RunStream {
                run,
                log: self.subscribe(thread.id, start).await?,
                redactor: self.redactor(WayOut::Stream, Some(thread.id)).await?,
                changes: ring.changes(),
                relayed: self.shared.live().follow_run(run, &ring),
                is_degraded: false,
                ring,
                ready: VecDeque::new(),
                after,
                executor: told.executor,
                began: None,
                attempt: 0,
                steps: 0,
                chunks: 0,
                messages: 0,
                tools: HashMap::new(),
                timed: false,
                is_over: false,
            })
        })
    }
}

impl RunStream {
    /// The thread of the run.
    pub fn thread(&self) -> ThreadId {
        self.log.thread()
    }

    /// The next event. None once the run has ended, or its thread is gone. Cancelling it loses nothing.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<RunNews>> {
        loop {
            if let Some(news) = self.ready.pop_front() {
                return Ok(Some(news));
            }
            if self.is_over {
                return Ok(None);
            }
            self.changes.borrow_and_update();
            match self.log.next_so_far().await {
                Ok(Some(entry)) => self.read(&entry)?,
                Ok(None) if self.take_chunks() || self.tell_degraded() => {}
                Ok(None) => tokio::select! {
                    () = self.log.news() => {}
                    // The ring lives as long as this reader.
                    _ = self.changes.changed() => {}
                    () = turned(&mut self.relayed) => {}
                },
                Err(Error::ThreadNotFound { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Tells once that text is not shown as it is made. Says whether it told so.
    fn tell_degraded(&mut self) -> bool {
        let trouble = self.relayed.as_mut().and_then(|(_, trouble)| trouble.borrow_and_update().clone());
        if trouble.is_none() || self.ring.is_here() || std::mem::replace(&mut self.is_degraded, true) {
            return false;
        }
        let (status, message) = ("degraded".to_owned(), DEGRADED.to_owned());
        self.ready.push_back(RunNews { sequence: None, event: RunEvent::Status { status, message } });
        true
    }

    fn give(&mut self, version: Version, event: RunEvent) {
        if version.0 > self.after.version {
            let place = Place { version: version.0, chunks: 0 };
            self.ready.push_back(RunNews { sequence: Some(place.written()), event });
        }
    }

    fn status(&mut self, version: Version, status: &str, message: &str) {
        let (status, message) = (status.to_owned(), self.redactor.text(message).into_owned());
        self.give(version, RunEvent::Status { status, message });
    }

    /// Tells once how long the first piece took.
    fn time(&mut self, first_response_ms: f64) {
        if !std::mem::replace(&mut self.timed, true) && self.after.version == 0 {
            let event = RunEvent::Timing { first_response_ms, pipeline: Pipeline::from(self.executor) };
            self.ready.push_back(RunNews { sequence: None, event });
        }
    }

    /// The chunks of the present step that this reader does not have. Says whether there were any.
    fn take_chunks(&mut self) -> bool {
        let ring = Arc::clone(&self.ring);
        let step = ring.step();
        if (step.attempt, step.number) != (self.attempt, self.steps + 1) {
            return false;
        }
        let mut text = String::new();
        let (from, before) = (self.chunks as usize, self.ready.len());
        if let Some(first_ms) = step.first_ms.filter(|_| step.chunks.len() > from) {
            self.time(first_ms);
        }
        for chunk in step.chunks.iter().skip(from) {
            match chunk {
                Chunk::Text(more) => {
                    self.chunks += 1;
                    text.push_str(more);
                }
                Chunk::Discarded => {
                    // Each has a place of its own, so that a reader can come back between them.
                    let said = std::mem::take(&mut text);
                    self.chunk(said, StreamStatus::Chunk);
                    self.chunks += 1;
                    self.chunk(String::new(), StreamStatus::Discarded);
                }
            }
        }
        self.chunk(text, StreamStatus::Chunk);
        self.ready.len() > before
    }

    fn chunk(&mut self, content: String, stream_status: StreamStatus) {
        if content.is_empty() && stream_status == StreamStatus::Chunk {
            return;
        }
        let place = Place { version: self.log.version().0.max(self.after.version), chunks: self.chunks };
        let (run, step) = (self.run, self.steps + 1);
        let event = RunEvent::Assistant { content, run, step, stream_status, message_id: None };
        self.ready.push_back(RunNews { sequence: Some(place.written()), event });
    }

    /// Takes up an entry of the log.
    fn read(&mut self, entry: &HistoryEntry) -> Result<()> {
        let version = entry.version;
        if version.0 == self.after.version {
            // The reader has these chunks of the step that follows.
            self.chunks = self.after.chunks;
        }
        match entry.entry()? {
            Entry::RunStarted(started) if started.run.id == self.run => {
                (self.executor, self.attempt) = (started.run.executor, started.run.attempt);
                if version.0 > self.after.version {
                    self.chunks = 0;
                }
                let first = self.began.is_none();
                self.began.get_or_insert(started.run.began);
                match (started.run.executor, started.run.owner, first) {
                    (Executor::Runtime, None, _) => self.status(version, "queued", "Waits for a process"),
                    (_, _, true) => self.status(version, "running", "Started"),
                    (Executor::Runtime, _, false) if self.steps == 0 => self.status(version, "running", "Started"),
                    (_, _, false) => self.status(version, "retrying", "Another attempt goes on"),
                }
            }
            Entry::RunStepped(stepped) if stepped.run.id == self.run => {
                if !stepped.continues {
                    self.steps += 1;
                    self.chunks = 0;
                }
                self.messages = stepped.messages;
                let since = entry.time.as_micros().saturating_sub(self.began.unwrap_or(entry.time).as_micros());
                self.time(since as f64 / 1_000.0);
                if !stepped.run.waits.is_empty() {
                    self.status(version, "waiting", "Waits for an answer");
                }
            }
            Entry::MessageAppended(body) if self.messages > 0 => {
                self.messages -= 1;
                self.message(version, entry.place, &body);
            }
            Entry::RunWoken(woken) if woken.run.id == self.run => self.status(version, "queued", "The answer came"),
            Entry::RunStopAsked(asked) if asked.run.id == self.run => self.status(version, "stopping", "Asked to stop"),
            Entry::RunEnded(ended) if ended.run.id == self.run => {
                let why = ended.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
                let (status, said) = match ended.status {
                    RunOutcome::Completed => ("completed", "Completed successfully".to_owned()),
                    RunOutcome::Failed => ("failed", format!("Failed{why}")),
                    RunOutcome::Stopped => ("stopped", format!("Stopped{why}")),
                };
                self.status(version, status, &said);
                self.is_over = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn message(&mut self, version: Version, id: MessageId, body: &MessageBody) {
        // The words of a sub-prompt are no part of the conversation.
        if body.depth > 0 {
            return;
        }
        let (mut text, mut tools) = (String::new(), Vec::new());
        for part in body.content.to_parts() {
            match part {
                Part::Text { text: more } => text.push_str(&more),
                Part::ToolUse { id, name, .. } => {
                    self.tools.insert(id, name.clone());
                    tools.push((name, ToolState::Executing));
                }
                Part::ToolResult { tool_use_id, is_error, .. } => {
                    let name = self.tools.remove(&tool_use_id).unwrap_or(tool_use_id);
                    tools.push((name, if is_error { ToolState::Failed } else { ToolState::Completed }));
                }
                Part::Image { .. } | Part::File { .. } | Part::Thinking { .. } => {}
            }
        }
        match body.role {
            Role::Assistant | Role::User => {
                let (content, run, step) = (self.redactor.text(&text).into_owned(), self.run, self.steps);
                let (stream_status, message_id) = (StreamStatus::Complete, Some(id));
                self.give(version, RunEvent::Assistant { content, run, step, stream_status, message_id });
            }
            Role::Tool | Role::System | Role::Info => {}
        }
        for (name, status) in tools {
            let tool_name = self.redactor.text(&name).into_owned();
            self.give(version, RunEvent::ToolCall { tool_name, status });
        }
    }
}

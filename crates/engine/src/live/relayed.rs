//! Chunks of runs and custom events, to other processes and from them.
//!
//! The keys are `agent_run:{id}:stream` and `thread:{id}:events`. A note about a chunk is the event of the stream of the
//! run, with what another process needs to put it in its place.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use threadkeep_calls::{RunEvent, StreamStatus};
use threadkeep_model::{Actor, Json, ThreadId, Timestamp, Uuid};
use threadkeep_relay::{Followed, Relay, Since};
use tokio::sync::{broadcast, watch};

use super::Live;
use super::emit::EmittedEvent;
use super::run_chunks::{Chunk, Ring};
use crate::Engine;

/// A chunk of a run, as other processes hear of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunNote {
    #[serde(flatten)]
    event: RunEvent,
    attempt: u64,
    /// Its place among the chunks of its step, counted from 1.
    sequence: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_response_ms: Option<f64>,
}

impl RunNote {
    pub(super) fn new(
        (run, attempt, step): (Uuid, u64, u64),
        sequence: u64,
        content: String,
        stream_status: StreamStatus,
    ) -> Self {
        let event = RunEvent::Assistant { content, run, step, stream_status, message_id: None };
        Self { event, attempt, sequence, first_response_ms: None }
    }

    /// The same, with the time to the first chunk of the run.
    pub(super) fn first_after(self, first_response_ms: Option<f64>) -> Self {
        Self { first_response_ms, ..self }
    }

    fn key(run: Uuid) -> String {
        format!("agent_run:{run}:stream")
    }

    /// Puts it in its place. What is no chunk is left out: others may write to the same stream.
    fn adopt(self, ring: &Ring) {
        let RunEvent::Assistant { content, step, stream_status, .. } = self.event else { return };
        let chunk = match stream_status {
            StreamStatus::Chunk => Chunk::Text(content),
            StreamStatus::Discarded => Chunk::Discarded,
            StreamStatus::Complete => return,
        };
        ring.adopt((self.attempt, step), self.sequence, chunk, self.first_response_ms);
    }
}

/// A custom event, as other processes hear of it.
#[derive(Serialize, Deserialize)]
struct EventNote<'a> {
    event: String,
    #[serde(borrow)]
    data: &'a RawValue,
    actor: Actor,
    time: Timestamp,
}

impl Engine {
    /// Carries text of runs as it is made and custom events to and from other processes, for this engine and its clones.
    /// What the relay loses is lost for streams alone: every message is in the log. A second relay is ignored.
    pub fn relay_through(&self, relay: Arc<dyn Relay>) {
        drop(self.shared.live().relay.set(relay));
    }

    /// Why no text of other processes comes at this moment, as it changes; none without a relay.
    pub fn relay_trouble(&self) -> Option<watch::Receiver<Option<String>>> {
        self.shared.live().relay.get().map(|relay| relay.trouble())
    }
}

impl Live {
    pub(super) fn relay_chunk(&self, note: RunNote) {
        if let Some(relay) = self.relay.get()
            && let RunEvent::Assistant { run, .. } = &note.event
            && let Ok(json) = serde_json::to_string(&note)
        {
            relay.send(RunNote::key(*run), json);
        }
    }

    /// Brings the chunks of a run that other processes make into its ring.
    pub(super) fn follow_run(
        &self,
        run: Uuid,
        ring: &Arc<Ring>,
    ) -> Option<(Followed, watch::Receiver<Option<String>>)> {
        let (relay, ring) = (self.relay.get()?, Arc::clone(ring));
        let hear = move |note: &str| {
            if let Ok(note) = serde_json::from_str::<RunNote>(note) {
                note.adopt(&ring);
            }
        };
        Some((relay.follow(RunNote::key(run), Since::Start, Arc::new(hear)), relay.trouble()))
    }

    pub(super) fn relay_event(&self, event: &EmittedEvent) {
        let Some(relay) = self.relay.get() else { return };
        let Ok(data) = serde_json::from_str::<&RawValue>(event.data.as_str()) else { return };
        let EmittedEvent { event: name, actor, time, .. } = event;
        let note = EventNote { event: name.clone(), data, actor: actor.clone(), time: *time };
        if let Ok(json) = serde_json::to_string(&note) {
            relay.send(format!("thread:{}:events", event.thread), json);
        }
    }

    /// Brings the custom events of a thread that other processes emit to its listeners.
    pub(super) fn follow_events(
        &self,
        thread: ThreadId,
        listeners: broadcast::Sender<Arc<EmittedEvent>>,
    ) -> Option<Followed> {
        let hear = move |note: &str| {
            let Ok(EventNote { event, data, actor, time }) = serde_json::from_str::<EventNote<'_>>(note) else {
                return;
            };
            let Ok(data) = Json::parse("data", data.get()) else { return };
            drop(listeners.send(Arc::new(EmittedEvent { thread, event, data, actor, time })));
        };
        let relay = self.relay.get()?;
        Some(relay.follow(format!("thread:{thread}:events"), Since::Now, Arc::new(hear)))
    }
}

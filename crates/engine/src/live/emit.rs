//! Custom events: sent to subscribers of a thread, and not logged.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use threadkeep_calls::ThreadEvent;
use threadkeep_model::{Actor, Code, Invalid, Json, ThreadId, Timestamp, strip_nulls};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::ground::policy::Verb;
use crate::{Engine, Result};

/// Longest name of an event, in bytes.
const NAME_BYTES_MAX: usize = 100;

/// A custom event of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct EmittedEvent {
    /// The thread it was emitted to.
    pub thread: ThreadId,
    /// Its name: 1 to 100 bytes, lower_snake_case recommended.
    pub event: String,
    /// The payload.
    pub data: Json,
    /// The actor that emitted it.
    pub actor: Actor,
    /// When it was emitted.
    pub time: Timestamp,
}

/// An event, or a gap, as a subscriber of custom events receives it.
#[derive(Debug, Clone, PartialEq)]
pub enum Emitted {
    /// An event.
    Event(Arc<EmittedEvent>),
    /// This many events were dropped because the subscriber was slow. They cannot be read later: custom events are
    /// not logged.
    Missed(u64),
}

/// The custom events of a thread, from now on. See [`Engine::emitted`].
pub struct Events {
    receiver: broadcast::Receiver<Arc<EmittedEvent>>,
    /// Keeps the engine in being.
    _engine: Engine,
}

impl Events {
    /// The next event, in the order in which they were emitted. Cancelling it loses nothing.
    pub async fn next(&mut self) -> Emitted {
        match self.receiver.recv().await {
            Ok(event) => Emitted::Event(event),
            Err(RecvError::Lagged(missed)) => Emitted::Missed(missed),
            // The engine is kept in being, and its emitter with it.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Who listens, thread by thread.
#[derive(Default)]
pub(crate) struct Emitter(Mutex<HashMap<ThreadId, broadcast::Sender<Arc<EmittedEvent>>>>);

impl Emitter {
    fn lock(&self) -> MutexGuard<'_, HashMap<ThreadId, broadcast::Sender<Arc<EmittedEvent>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Sends an event to all subscribers of the thread's custom events ([`Engine::emitted`]), and returns their
    /// number. It is not logged and has no version. It reaches subscribers of this engine and its clones; other
    /// processes need a server between them.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`](crate::Error::ThreadNotFound); a name or data that breaks a rule.
    pub async fn emit(&self, thread: ThreadId, event: &str, data: Json) -> Result<usize> {
        let event = strip_nulls(event.to_owned());
        if event.trim().is_empty() || event.len() > NAME_BYTES_MAX {
            let rule = format!("has 1 to {NAME_BYTES_MAX} bytes, and is not blank");
            return Err(Invalid::parameter("event", rule).into());
        }
        let max = self.shared.limits.message_bytes_max;
        if data.as_str().len() > max {
            return Err(Invalid::new(Code::TooLarge, "data", format!("has at most {max} bytes of JSON")).into());
        }
        self.head(thread, Verb::Change).await?;
        Ok(self.tell_listeners(thread, event, data))
    }

    /// Tells subscribers about a commit, as an event with a name of its own.
    pub(crate) fn announce(&self, thread: ThreadId, event: ThreadEvent, data: &serde_json::Value) {
        // Committed data is valid JSON; if it were not, subscribers would get no event rather than a wrong one.
        if let Ok(data) = Json::from_value("data", data) {
            self.tell_listeners(thread, event.as_str().to_owned(), data);
        }
    }

    fn tell_listeners(&self, thread: ThreadId, event: String, data: Json) -> usize {
        let (actor, time) = (self.caller.actor.clone(), self.shared.now());
        let mut listeners = self.shared.live().emitter.lock();
        let Some(sender) = listeners.get(&thread) else { return 0 };
        sender.send(Arc::new(EmittedEvent { thread, event, data, actor, time })).unwrap_or_else(|_| {
            listeners.remove(&thread);
            0
        })
    }

    /// Listens to the custom events of a thread, from now on.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`](crate::Error::ThreadNotFound).
    pub async fn emitted(&self, thread: ThreadId) -> Result<Events> {
        self.head(thread, Verb::Change).await?;
        let live = &self.shared.live();
        let mut listeners = live.emitter.lock();
        // Channels without listeners are removed when a new listener comes.
        listeners.retain(|_, sender| sender.receiver_count() > 0);
        let new = || broadcast::Sender::new(live.settings.emitted_kept_max.max(1));
        let receiver = listeners.entry(thread).or_insert_with(new).subscribe();
        Ok(Events { receiver, _engine: self.clone() })
    }
}

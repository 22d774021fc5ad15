//! Events for subscribers of a thread: custom ones, which are not logged, and those that follow from the log.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use threadkeep_calls::ThreadEvent;
use threadkeep_model::{Actor, Code, Invalid, Json, ThreadId, Timestamp, strip_nulls};
use threadkeep_relay::Followed;
use threadkeep_store::BoxFuture;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::ground::policy::Verb;
use crate::{Engine, HistoryEntry, Result, Subscription, WayOut};

/// Longest name of an event, in bytes.
const NAME_BYTES_MAX: usize = 100;

/// An event of a thread: a custom one, or one of [`ThreadEvent`](threadkeep_calls::ThreadEvent).
#[derive(Debug, Clone, PartialEq)]
pub struct EmittedEvent {
    /// The thread it was emitted to.
    pub thread: ThreadId,
    /// Its name: 1 to 100 bytes, lower_snake_case recommended.
    pub event: String,
    /// The payload; for an event that follows from the log, the body of its entry.
    pub data: Json,
    /// The actor that emitted it.
    pub actor: Actor,
    /// When it was emitted.
    pub time: Timestamp,
}

/// An event, or a gap, as a subscriber receives it.
#[derive(Debug, Clone, PartialEq)]
pub enum Emitted {
    /// An event that was emitted.
    Event(Arc<EmittedEvent>),
    /// This many events were dropped because the subscriber was slow. They cannot be read later: custom events are
    /// not logged.
    Missed(u64),
}

/// The events of a thread, from now on. See [`Engine::emitted`].
pub struct Events {
    receiver: broadcast::Receiver<Arc<EmittedEvent>>,
    /// The log, from which the other events follow; none where only custom events are wanted, or the thread is gone.
    log: Option<Subscription>,
    /// Events that follow from the last entry.
    ready: VecDeque<Arc<EmittedEvent>>,
    /// Keeps the engine in being.
    _engine: Engine,
}

impl Events {
    /// The next event: custom ones in the order in which they were emitted, those of the log in its order. Cancelling
    /// it loses nothing.
    pub async fn next(&mut self) -> Emitted {
        let mut failed = false;
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Emitted::Event(event);
            }
            let logged = async {
                match &mut self.log {
                    Some(log) => {
                        // The store failed a moment ago: it is asked again at the next sign of life.
                        if failed {
                            log.news().await;
                        }
                        log.next().await
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                emitted = self.receiver.recv() => match emitted {
                    Ok(event) => return Emitted::Event(event),
                    Err(RecvError::Lagged(missed)) => return Emitted::Missed(missed),
                    // The engine is kept in being, and its emitter with it.
                    Err(RecvError::Closed) => return std::future::pending().await,
                },
                entry = logged => match entry {
                    Ok(Some(entry)) => self.ready.extend(following(&entry)),
                    Ok(None) => self.log = None,
                    Err(_) => failed = true,
                },
            }
        }
    }
}

/// The events that follow from an entry. A damaged one has none: the doctor reports it.
fn following(entry: &HistoryEntry) -> Vec<Arc<EmittedEvent>> {
    let body = std::str::from_utf8(&entry.json).ok().and_then(|json| Json::parse("data", json).ok());
    let (Ok(events), Some(data)) = (entry.events(), body) else { return Vec::new() };
    let event = |event: ThreadEvent| EmittedEvent {
        thread: entry.thread,
        event: event.as_str().to_owned(),
        data: data.clone(),
        actor: (*entry.actor).clone(),
        time: entry.time,
    };
    events.into_iter().map(|found| Arc::new(event(found))).collect()
}

/// Who listens, thread by thread.
#[derive(Default)]
pub(crate) struct Emitter(Mutex<HashMap<ThreadId, Listeners>>);

/// The listeners of a thread, and what brings them the events of other processes.
type Listeners = (broadcast::Sender<Arc<EmittedEvent>>, Option<Followed>);

impl Emitter {
    fn lock(&self) -> MutexGuard<'_, HashMap<ThreadId, Listeners>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Sends an event to all subscribers of the thread's events ([`Engine::emitted`]), and returns their
    /// number here. It is not logged and has no version. It reaches subscribers of this engine and its clones, and with a
    /// relay ([`Engine::relay_through`]) those of other processes, which are not counted. Secrets in its name and data are replaced by their names.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`](crate::Error::ThreadNotFound); a name or data that breaks a rule.
    pub fn emit<'a>(&'a self, thread: ThreadId, event: &'a str, data: Json) -> BoxFuture<'a, Result<usize>> {
        Box::pin(async move {
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
            let redactor = self.redactor(WayOut::Event, Some(thread)).await?;
            let event = redactor.text(&event).into_owned();
            let data = match redactor.json(data.as_str()) {
                std::borrow::Cow::Borrowed(_) => data,
                std::borrow::Cow::Owned(json) => Json::parse("data", &json)?,
            };
            Ok(self.tell_listeners(thread, event, data))
        })
    }

    fn tell_listeners(&self, thread: ThreadId, event: String, data: Json) -> usize {
        let (actor, time) = (self.caller.actor.clone(), self.shared.now());
        let event = Arc::new(EmittedEvent { thread, event, data, actor, time });
        self.shared.live().relay_event(&event);
        let mut listeners = self.shared.live().emitter.lock();
        let Some((sender, _)) = listeners.get(&thread) else { return 0 };
        sender.send(event).unwrap_or_else(|_| {
            listeners.remove(&thread);
            0
        })
    }

    /// Listens to the events of a thread, from now on: custom ones, and the six of
    /// [`ThreadEvent`](threadkeep_calls::ThreadEvent), whichever process wrote their entries.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`](crate::Error::ThreadNotFound).
    pub fn emitted(&self, thread: ThreadId) -> BoxFuture<'_, Result<Events>> {
        Box::pin(async move {
            let head = self.head(thread, Verb::Change).await?;
            let log = self.subscribe(thread, head.version).await?;
            Ok(Events { log: Some(log), ..self.emitted_alone(thread).await? })
        })
    }

    /// Listens to the custom events of a thread alone, for those who read its log as well.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`](crate::Error::ThreadNotFound).
    pub fn emitted_alone(&self, thread: ThreadId) -> BoxFuture<'_, Result<Events>> {
        Box::pin(async move {
            self.head(thread, Verb::Change).await?;
            let live = &self.shared.live();
            let mut listeners = live.emitter.lock();
            // Channels without listeners are removed when a new listener comes.
            listeners.retain(|_, (sender, _)| sender.receiver_count() > 0);
            let new = || {
                let sender = broadcast::Sender::new(live.settings.emitted_kept_max.max(1));
                let followed = live.follow_events(thread, sender.clone());
                (sender, followed)
            };
            let receiver = listeners.entry(thread).or_insert_with(new).0.subscribe();
            Ok(Events { receiver, log: None, ready: VecDeque::new(), _engine: self.clone() })
        })
    }
}

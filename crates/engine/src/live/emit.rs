//! Custom events: what subscribers of a thread are told, and the log is not.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use threadkeep_model::{
    Actor, Code, Entry, ExecutionStatus, FileChange, Invalid, Json, Lifecycle, ThreadId, Timestamp, strip_nulls,
};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::policy::Verb;
use crate::{Engine, Result};

/// Longest name of an event, in bytes.
const NAME_BYTES_MAX: usize = 100;

/// A custom event of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct EmittedEvent {
    /// The thread.
    pub thread: ThreadId,
    /// Its name: 1 to 100 bytes, lower_snake_case recommended.
    pub event: String,
    /// What it carries.
    pub data: Json,
    /// Who emitted it.
    pub actor: Actor,
    /// When.
    pub time: Timestamp,
}

/// What a subscriber of custom events hears.
#[derive(Debug, Clone, PartialEq)]
pub enum Emitted {
    /// An event.
    Event(Arc<EmittedEvent>),
    /// So many events came and went while the subscriber did not listen. They are nowhere else: custom events are
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
    /// Tells all who listen to the thread's custom events ([`Engine::emitted`]) of one, and says how many they are.
    /// It is not logged and has no version. It reaches subscribers of this engine and its clones; other processes are
    /// reached once a server stands between them.
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

    /// Tells whoever listens of something that was just committed, in the words that have a meaning of their own.
    pub(crate) fn announce(&self, thread: ThreadId, event: ThreadEvent, data: &serde_json::Value) {
        // What was committed is JSON that was checked; whoever listens hears nothing rather than something else.
        if let Ok(data) = Json::from_value("data", data) {
            self.tell_listeners(thread, event.as_str().to_owned(), data);
        }
    }

    fn tell_listeners(&self, thread: ThreadId, event: String, data: Json) -> usize {
        let (actor, time) = (self.caller.actor.clone(), self.shared.world.now());
        let mut listeners = self.shared.live.emitter.lock();
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
        let live = &self.shared.live;
        let mut listeners = live.emitter.lock();
        // Those whom nobody listens to any more go when somebody new comes.
        listeners.retain(|_, sender| sender.receiver_count() > 0);
        let new = || broadcast::Sender::new(live.settings.emitted_kept_max.max(1));
        let receiver = listeners.entry(thread).or_insert_with(new).subscribe();
        Ok(Events { receiver, _engine: self.clone() })
    }
}

/// The events that have a meaning of their own. Custom events may have any other name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThreadEvent {
    /// The thread's lifecycle or its status changed.
    StatusChanged,
    /// A file came into being.
    ArtifactCreated,
    /// A file changed.
    ArtifactUpdated,
    /// Something went wrong.
    ErrorOccurred,
    /// Somebody has to approve something.
    ApprovalRequested,
    /// The work is done.
    Done,
}

impl ThreadEvent {
    /// All of them.
    pub const ALL: [ThreadEvent; 6] = [
        Self::StatusChanged,
        Self::ArtifactCreated,
        Self::ArtifactUpdated,
        Self::ErrorOccurred,
        Self::ApprovalRequested,
        Self::Done,
    ];

    /// The name, as on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StatusChanged => "status_changed",
            Self::ArtifactCreated => "artifact_created",
            Self::ArtifactUpdated => "artifact_updated",
            Self::ErrorOccurred => "error_occurred",
            Self::ApprovalRequested => "approval_requested",
            Self::Done => "done",
        }
    }

    /// The events that an entry of the log stands for.
    pub fn of(entry: &Entry) -> Vec<Self> {
        if let Entry::LifecycleChanged(changed) = entry {
            let done = (changed.to == Lifecycle::Completed).then_some(Self::Done);
            return [Self::StatusChanged].into_iter().chain(done).collect();
        }
        if let Entry::FilesChanged(changed) = entry {
            let is_new =
                |change: &FileChange| matches!(change, FileChange::Write { file, .. } if file.created.is_none());
            let created = changed.changes.iter().any(is_new).then_some(Self::ArtifactCreated);
            let updated = (!changed.changes.iter().all(is_new)).then_some(Self::ArtifactUpdated);
            return created.into_iter().chain(updated).collect();
        }
        if matches!(entry, Entry::ApprovalRequested(_)) {
            return vec![Self::ApprovalRequested];
        }
        if matches!(entry, Entry::ExecutionEnded(ended) if ended.status == ExecutionStatus::Failed) {
            return vec![Self::ErrorOccurred];
        }
        let Entry::ThreadChanged(changed) = entry else { return Vec::new() };
        let mut events = Vec::new();
        if changed.fields.0.contains_key("status") || changed.fields.0.contains_key("lifecycle") {
            events.push(Self::StatusChanged);
        }
        let lifecycle = changed.fields.0.get("lifecycle").and_then(|json| json.read::<Lifecycle>().ok());
        if lifecycle == Some(Lifecycle::Completed) {
            events.push(Self::Done);
        }
        events
    }
}

impl FromStr for ThreadEvent {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|event| event.as_str() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Invalid::parameter("event", format!("'{text}' is not one of {known}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_model::{FieldChanges, LifecycleChanged, MessageBody, ThreadChanged};

    #[test]
    fn an_entry_stands_for_the_events_it_brings_about() {
        let changed = |field: &str, value: &str| {
            let fields = FieldChanges([(field.to_owned(), Json::string(value))].into());
            ThreadEvent::of(&Entry::ThreadChanged(ThreadChanged { fields }))
        };
        assert_eq!(changed("status", "thinking"), [ThreadEvent::StatusChanged]);
        assert_eq!(changed("lifecycle", "suspended"), [ThreadEvent::StatusChanged]);
        assert_eq!(changed("lifecycle", "completed"), [ThreadEvent::StatusChanged, ThreadEvent::Done]);
        assert_eq!(changed("title", "completed"), []);
        let moved = |to: Lifecycle| {
            let changed = LifecycleChanged { from: Lifecycle::Active, to, reason: None };
            ThreadEvent::of(&Entry::LifecycleChanged(changed))
        };
        assert_eq!(moved(Lifecycle::Suspended), [ThreadEvent::StatusChanged]);
        assert_eq!(moved(Lifecycle::Completed), [ThreadEvent::StatusChanged, ThreadEvent::Done]);
        assert_eq!(ThreadEvent::of(&Entry::MessageAppended(MessageBody::user("done"))), []);
    }
}

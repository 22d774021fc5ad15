//! Observers on the wire: what a thread is told of another one.

use serde::{Deserialize, Serialize};
use threadkeep_engine::{Delivery, ThreadEvent};
use threadkeep_model::{Actor, Invalid, Json, ThreadId, Timestamp, Uuid, Version};

use crate::parse::object;

/// Another thread to be told of.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewObserver {
    /// Which one.
    #[cfg_attr(feature = "schema", schemars(with = "threadkeep_model::ThreadName"))]
    pub target: String,
    /// Of what; of everything if nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<ObservedEvent>,
    /// Where that goes; to the thread that observes if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "object")]
    pub deliver: Option<Deliver>,
}

/// What can happen to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ObservedEvent {
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

impl From<ObservedEvent> for ThreadEvent {
    fn from(event: ObservedEvent) -> Self {
        match event {
            ObservedEvent::StatusChanged => Self::StatusChanged,
            ObservedEvent::ArtifactCreated => Self::ArtifactCreated,
            ObservedEvent::ArtifactUpdated => Self::ArtifactUpdated,
            ObservedEvent::ErrorOccurred => Self::ErrorOccurred,
            ObservedEvent::ApprovalRequested => Self::ApprovalRequested,
            ObservedEvent::Done => Self::Done,
        }
    }
}

/// Where events go: one of the two.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Deliver {
    /// To the thread that observes, as a silent message in its queue.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub thread: bool,
    /// To this address, as a signed POST.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 2_048), regex(pattern = "^https?://[^/@?#:]")))]
    pub webhook: Option<String>,
}

impl TryFrom<NewObserver> for threadkeep_engine::Observe {
    type Error = Invalid;

    fn try_from(asked: NewObserver) -> Result<Self, Invalid> {
        let deliver = match asked.deliver {
            None | Some(Deliver { thread: true, webhook: None }) => threadkeep_model::Deliver::Thread,
            Some(Deliver { thread: false, webhook: Some(url) }) => threadkeep_model::Deliver::Webhook(url),
            Some(_) => return Err(Invalid::body("deliver", "is {\"thread\": true} or {\"webhook\": URL}")),
        };
        let events = asked.events.into_iter().map(ThreadEvent::from).collect();
        Ok(Self { target: asked.target.parse()?, events, deliver })
    }
}

/// What a thread is told of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Observer {
    /// Its identity.
    pub id: Uuid,
    /// The thread that is told.
    pub thread_id: ThreadId,
    /// The thread that is observed.
    pub target: ThreadId,
    /// Of what it is told.
    pub events: Vec<String>,
    /// Where that goes.
    pub deliver: Deliver,
    /// With what the posts to a webhook are signed. Shown once, when the observer is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Who asked for it.
    pub created_by: Actor,
    /// When.
    pub created_at: Timestamp,
    /// Whether what asked for it is in view: a rollback undoes it, and an undo brings it back.
    pub holds: bool,
}

impl From<&threadkeep_engine::ThreadObserver> for Observer {
    fn from(observer: &threadkeep_engine::ThreadObserver) -> Self {
        let threadkeep_engine::ThreadObserver { thread, added, by, at, holds } = observer;
        let deliver = match &added.deliver {
            threadkeep_model::Deliver::Thread => Deliver { thread: true, webhook: None },
            threadkeep_model::Deliver::Webhook(url) => Deliver { thread: false, webhook: Some(url.clone()) },
        };
        Self {
            id: added.id,
            thread_id: *thread,
            target: added.target,
            events: added.events.clone(),
            deliver,
            secret: None,
            created_by: (**by).clone(),
            created_at: *at,
            holds: *holds,
        }
    }
}

/// What a webhook is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookEvent {
    /// The same for each try: who has seen it before drops it.
    pub id: String,
    /// What happened.
    pub event: String,
    /// The observer.
    pub observer_id: Uuid,
    /// The thread that observes.
    pub thread_id: ThreadId,
    /// The thread it happened to.
    pub target: ThreadId,
    /// At which version of that thread.
    pub version: Version,
    /// When.
    pub time: Timestamp,
    /// The entry, as the log keeps it.
    pub data: Json,
}

impl From<&Delivery> for WebhookEvent {
    fn from(delivery: &Delivery) -> Self {
        Self {
            id: delivery.id.clone(),
            event: delivery.event.as_str().to_owned(),
            observer_id: delivery.observer,
            thread_id: delivery.thread,
            target: delivery.target,
            version: delivery.version,
            time: delivery.time,
            data: delivery.data.clone(),
        }
    }
}

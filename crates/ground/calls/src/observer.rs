//! Observers: threads and webhooks that get events of another thread.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use threadkeep_model::{
    Actor, Entry, ExecutionStatus, FileChange, Invalid, Json, Kind, Lifecycle, RunOutcome, ThreadId, ThreadName,
    Timestamp, Uuid, Version,
};

use crate::ErrorCode;
use crate::asked::refuse;
use crate::call::Declaration;
use crate::group::REFERENCES;
use crate::object::{Object, parsed, thread};
use crate::shape::paged;

/// The events of a thread that an observer can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ObservedEvent")]
pub enum ThreadEvent {
    /// The thread's lifecycle or its status changed.
    StatusChanged,
    /// A file was created.
    ArtifactCreated,
    /// A file got new content.
    ArtifactUpdated,
    /// A run of the thread failed.
    ErrorOccurred,
    /// An approval was asked for.
    ApprovalRequested,
    /// The work is done.
    Done,
}

impl ThreadEvent {
    /// Every event, in the order of declaration.
    pub const ALL: [ThreadEvent; 6] = [
        Self::StatusChanged,
        Self::ArtifactCreated,
        Self::ArtifactUpdated,
        Self::ErrorOccurred,
        Self::ApprovalRequested,
        Self::Done,
    ];

    /// The name of the event on the wire.
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

    /// Whether an entry of this kind may stand for an event.
    pub fn may_follow(kind: Kind) -> bool {
        matches!(
            kind,
            Kind::LifecycleChanged
                | Kind::FilesChanged
                | Kind::ApprovalRequested
                | Kind::ExecutionEnded
                | Kind::RunEnded
                | Kind::ThreadChanged
        )
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
        let failed = matches!(entry, Entry::ExecutionEnded(ended) if ended.status == ExecutionStatus::Failed)
            || matches!(entry, Entry::RunEnded(ended) if ended.status == RunOutcome::Failed);
        if failed {
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
        let known = || Self::ALL.map(Self::as_str).join(", ");
        let found = Self::ALL.into_iter().find(|event| event.as_str() == text);
        found.ok_or_else(|| Invalid::parameter("events", format!("'{text}' is none of: {}", known())))
    }
}

/// Tells a thread what happens to another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewObserver")]
pub struct Observe {
    /// The thread that is observed. It belongs to the same account.
    #[serde(deserialize_with = "thread")]
    pub target: ThreadName,
    /// Which events. Default: all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<ThreadEvent>,
    /// Where they go. Default: to the thread that observes.
    #[serde(default = "to_thread", skip_serializing_if = "is_thread")]
    pub deliver: Deliver,
}

fn to_thread() -> Deliver {
    Deliver::Thread
}

fn is_thread(deliver: &Deliver) -> bool {
    *deliver == Deliver::Thread
}

impl Observe {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("observe", "observeThread"), "/v1/threads/{thread}/observe", REFERENCES)
            .about("Observes another thread: its events go to this thread or to a webhook.")
            .creates("The observer, with the secret of its webhook.")
            .fails(&[ErrorCode::ThreadClosed])
            .example(
                r#"{"target":"T-5928a90d-d53b-488f-a829-4e36442142ee","events":["done"],"deliver":{"thread":true}}"#,
            );

    /// Every event of `target`, to the thread that observes.
    pub fn of(target: impl Into<ThreadName>) -> Self {
        Self { target: target.into(), events: Vec::new(), deliver: Deliver::Thread }
    }
}

/// Where events go: `{"thread": true}` or `{"webhook": URL}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deliver {
    /// To the thread that observes, as an injection.
    Thread,
    /// To this address, as a signed POST.
    Webhook(String),
}

impl From<Deliver> for threadkeep_model::Deliver {
    fn from(deliver: Deliver) -> Self {
        match deliver {
            Deliver::Thread => Self::Thread,
            Deliver::Webhook(url) => Self::Webhook(url),
        }
    }
}

impl From<threadkeep_model::Deliver> for Deliver {
    fn from(deliver: threadkeep_model::Deliver) -> Self {
        match deliver {
            threadkeep_model::Deliver::Thread => Self::Thread,
            threadkeep_model::Deliver::Webhook(url) => Self::Webhook(url),
        }
    }
}

/// Where events go: one of the two.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Deliver")]
struct DeliverShape {
    /// To the thread that observes, as an injection.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thread: bool,
    /// To this address, as a signed POST.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2_048), regex(pattern = "^https?://[^/@?#:]"))]
    webhook: Option<String>,
}

impl Serialize for Deliver {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shape = match self {
            Self::Thread => DeliverShape { thread: true, webhook: None },
            Self::Webhook(url) => DeliverShape { thread: false, webhook: Some(url.clone()) },
        };
        shape.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Deliver {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Option::<Object<DeliverShape>>::deserialize(from)? {
            None | Some(Object(DeliverShape { thread: true, webhook: None })) => Ok(Self::Thread),
            Some(Object(DeliverShape { thread: false, webhook: Some(url) })) => Ok(Self::Webhook(url)),
            Some(_) => Err(refuse(&Invalid::body("deliver", "is {\"thread\": true} or {\"webhook\": URL}"))),
        }
    }
}

impl JsonSchema for Deliver {
    fn schema_name() -> Cow<'static, str> {
        DeliverShape::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        DeliverShape::json_schema(generator)
    }
}

/// An observer: events of one thread that go to another thread or to a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Observer {
    /// The id of the observer, under which it is removed.
    pub id: Uuid,
    /// The thread that is told.
    pub thread_id: ThreadId,
    /// The thread that is observed.
    pub target: ThreadId,
    /// The events it is told of.
    pub events: Vec<String>,
    /// The destination of the events.
    pub deliver: Deliver,
    /// The secret that signs posts to a webhook. Shown once, when the observer is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Who asked for it.
    pub created_by: Actor,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Whether the entry that asked for it is in view: a rollback undoes it, and an undo brings it back.
    pub holds: bool,
}

paged! {
    /// Lists what a thread is told of others.
    ListObservers = Declaration::get(("observers", "listObservers"), "/v1/threads/{thread}/observers", REFERENCES)
        .about("Lists the threads that a thread observes.")
        .gives("The observers; with `limit`, a page of them.")
        .fails(&[ErrorCode::InvalidCursor]);
}

macro_rules! by_observer {
    ($($(#[$doc:meta])* $name:ident = $declaration:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// The id of the observer.
            #[serde(deserialize_with = "parsed")]
            #[schemars(skip)]
            pub observer: Uuid,
        }

        impl $name {
            pub(crate) const DECLARATION: Declaration = $declaration;
        }
    )*};
}

by_observer! {
    /// Shows what a thread is told of another one.
    GetObserver =
        Declaration::get(("observer", "getObserver"), "/v1/threads/{thread}/observers/{observer}", REFERENCES)
            .about("Shows an observer: the thread it observes, and where its events go.")
            .gives("The observer.");
    /// Stops telling a thread of another one.
    Unobserve =
        Declaration::delete(("unobserve", "unobserveThread"), "/v1/threads/{thread}/observers/{observer}", REFERENCES)
            .about("Stops observing a thread.")
            .gives("Whether there was such an observer.")
            .never(ErrorCode::ObserverNotFound);
}

/// The body of a request to a webhook.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookEvent {
    /// The same for each try: a receiver drops what it has seen before.
    pub id: String,
    /// The name of the event.
    pub event: String,
    /// The id of the observer.
    pub observer_id: Uuid,
    /// The thread that observes.
    pub thread_id: ThreadId,
    /// The thread it happened to.
    pub target: ThreadId,
    /// The version of that thread after it.
    pub version: Version,
    /// When it was committed.
    pub time: Timestamp,
    /// The entry, as the log keeps it.
    pub data: Json,
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

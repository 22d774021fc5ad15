//! Facts about other threads: forks and other relations, references, and observers.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::{Binding, Derived, ItemKind, Position, ReferenceScope, RelationKind, ThreadId, Uuid, Version};

/// A thread was forked from this one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Forked {
    /// The thread that was made by the fork.
    pub child: ThreadId,
    /// The index of the last message it shares; none if it shares no message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The position of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Position>,
}

impl Fact for Forked {
    fn derived(&self) -> Derived {
        let Self { child, index, anchor } = *self;
        Derived::Relation { child, kind: RelationKind::Fork, index, anchor, comment: None }
    }
}

/// This thread was related to another one: by a handoff, a mention, a spawn or a reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Related {
    /// The thread at the other end.
    pub child: ThreadId,
    /// The type of the relation; never a fork.
    #[serde(rename = "type")]
    pub kind: RelationKind,
    /// The index of the last message at that time; none if the thread had no message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The position of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Position>,
    /// A description, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl Fact for Related {
    fn derived(&self) -> Derived {
        let Self { child, kind, index, anchor, .. } = *self;
        Derived::Relation { child, kind, index, anchor, comment: self.comment.clone() }
    }
}

/// This thread refers to another one, to read it. The relation that both threads show is an entry of its own in the
/// same commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Referenced {
    /// The id of the reference.
    pub id: Uuid,
    /// The thread that is read.
    pub target: ThreadId,
    /// The parts of the target that are read.
    pub scope: Vec<ReferenceScope>,
    /// Whether the reference follows its target.
    pub binding: Binding,
    /// The version the target was at, which a frozen reference shows.
    pub snapshot_version: Version,
}

impl Fact for Referenced {
    fn derived(&self) -> Derived {
        Derived::there(ItemKind::Reference, &self.id)
    }
}

/// This thread began to observe another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObserverAdded {
    /// The id of the observer.
    pub id: Uuid,
    /// The thread that is observed.
    pub target: ThreadId,
    /// The events, by their names on the wire.
    pub events: Vec<String>,
    /// Where the events go.
    pub deliver: Deliver,
}

/// Where the events of an observed thread go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Deliver {
    /// To the thread that observes.
    Thread,
    /// As a POST to this address.
    Webhook(String),
}

impl Fact for ObserverAdded {
    fn derived(&self) -> Derived {
        Derived::there(ItemKind::Observer, &self.id)
    }
}

/// This thread stopped observing another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObserverRemoved {
    /// The id of the observer.
    pub id: Uuid,
    /// The reason, if the server removed it by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Fact for ObserverRemoved {
    fn derived(&self) -> Derived {
        Derived::gone(ItemKind::Observer, &self.id)
    }
}

//! Observers: what a thread wants to be told of another one, and how.

use serde::{Deserialize, Serialize};

use crate::{ThreadId, Uuid};

/// Where the events of an observed thread go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Deliver {
    /// To the thread that observes.
    Thread,
    /// To this address.
    Webhook(String),
}

/// Body of [`Entry::Observed`](crate::Entry::Observed).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObserverAdded {
    /// Its identity.
    pub id: Uuid,
    /// The thread that is observed.
    pub target: ThreadId,
    /// The events, by their names on the wire.
    pub events: Vec<String>,
    /// Where they go.
    pub deliver: Deliver,
}

/// Body of [`Entry::ObserverRemoved`](crate::Entry::ObserverRemoved).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObserverRemoved {
    /// Which one.
    pub id: Uuid,
    /// Why the server removed it, where nobody asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

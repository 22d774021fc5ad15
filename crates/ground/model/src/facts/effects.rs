//! Facts about effects: work that was scheduled, that a process took, and that ended.
//!
//! An effect is an item while it has not ended. It stays due at the time for which it was scheduled, also while a process
//! runs it: whoever looks asks whether that process still lives.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::{Actor, Derived, EffectName, EffectOutcome, ItemIs, ItemKind, Json, MessageId, ProcessId, Timestamp, Uuid};

/// An effect was scheduled; or one that came along with a copy was adopted by this store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EffectScheduled {
    /// The id of the effect.
    pub id: Uuid,
    /// The name of its handler.
    pub name: EffectName,
    /// The arguments for the handler: a JSON object.
    pub args: Json,
    /// When it is due, by the clock of the store.
    pub at: Timestamp,
    /// When it was scheduled, by the same clock.
    pub created: Timestamp,
    /// The actor for whom the handler acts.
    pub by: Actor,
    /// The store that runs it. It waits in any other store.
    pub store: Uuid,
}

impl Fact for EffectScheduled {
    fn derived(&self) -> Derived {
        there(self.id, self.at)
    }
}

/// A process took an effect, to run its handler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EffectClaimed {
    /// The id of the effect.
    pub id: Uuid,
    /// The place of the [`EffectScheduled`] entry, which says the rest.
    pub scheduled: MessageId,
    /// When it was due.
    pub at: Timestamp,
    /// Counts the claims. Only the newest one may end the effect.
    pub attempt: u32,
    /// The lease of the process. Once it has ended, any process may take the effect.
    pub by: ProcessId,
    /// When the lease ends unless it is renewed, by the clock of the store.
    pub until: Timestamp,
}

impl Fact for EffectClaimed {
    fn derived(&self) -> Derived {
        there(self.id, self.at)
    }
}

/// An effect ended. It never runs again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EffectEnded {
    /// The id of the effect.
    pub id: Uuid,
    /// Completed, failed or cancelled.
    pub outcome: EffectOutcome,
    /// The number of the claim that ended it; none if it was not claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Why it failed or was cancelled, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Fact for EffectEnded {
    fn derived(&self) -> Derived {
        Derived::gone(ItemKind::Effect, &self.id)
    }
}

fn there(id: Uuid, due: Timestamp) -> Derived {
    Derived::Item { kind: ItemKind::Effect, key: Some(id.to_string()), is: ItemIs::There, due: Some(due) }
}

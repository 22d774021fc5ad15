//! Facts about a thread as a whole: its fields, its lifecycle, its owner and its named versions.

use serde::{Deserialize, Serialize};

use crate::fact::{Fact, RecordChange};
use crate::{Account, Derived, FieldChanges, Lifecycle, Record, Version};

/// Fields of the record changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ThreadChanged {
    /// The fields that changed, with their new values; null where one was cleared.
    pub fields: FieldChanges,
}

impl Fact for ThreadChanged {
    const RECORD: RecordChange<Self> = Some(|changed, record| record.merge(&changed.fields));
}

/// A version got a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckpointSet {
    /// The name, unique within the thread.
    pub name: String,
    /// The version it names.
    pub version: Version,
}

impl Fact for CheckpointSet {
    fn derived(&self) -> Derived {
        Derived::Checkpoint { name: self.name.clone(), version: self.version }
    }
}

/// The thread moved to another state of its lifecycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LifecycleChanged {
    /// The state before the change.
    pub from: Lifecycle,
    /// The state from here on.
    pub to: Lifecycle,
    /// The reason, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Fact for LifecycleChanged {
    const RECORD: RecordChange<Self> = Some(|changed, record| {
        // The main list hides archived threads.
        let archived = record.archived || changed.to == Lifecycle::Archived;
        Ok(Record { lifecycle: changed.to, archived, ..record })
    });
}

/// The thread was given to another account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OwnerChanged {
    /// The account that gave it away.
    pub from: Account,
    /// The account that owns it from here on.
    pub to: Account,
}

impl Fact for OwnerChanged {}

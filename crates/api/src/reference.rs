//! References on the wire: what threads read of each other.

use serde::{Deserialize, Serialize};
use threadkeep_model::{Actor, Binding, ReferenceScope, ThreadId, Timestamp, Uuid, Version};

/// Another thread to read.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewReference {
    /// Which one.
    #[cfg_attr(feature = "schema", schemars(with = "threadkeep_model::ThreadName"))]
    pub target: String,
    /// What of it: `all`, `messages`, `files`, `kv`, or patterns for paths of files; all if nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = ReferenceScope::COUNT_MAX)))]
    pub scope: Vec<ReferenceScope>,
    /// Whether it follows the target; it does not if nothing is said.
    #[serde(default)]
    pub binding: Binding,
}

/// What a thread reads of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// Its identity.
    pub ref_id: Uuid,
    /// The thread that reads.
    pub thread_id: ThreadId,
    /// The thread that is read.
    pub target: ThreadId,
    /// What of it.
    pub scope: Vec<ReferenceScope>,
    /// Whether it follows.
    pub binding: Binding,
    /// The version the target was at: what a frozen one shows.
    pub snapshot_version: Version,
    /// Who made it.
    pub created_by: Actor,
    /// When.
    pub created_at: Timestamp,
    /// Whether what made it is in view: a rollback undoes it, and an undo brings it back.
    pub holds: bool,
}

impl From<&threadkeep_engine::ThreadReference> for Reference {
    fn from(reference: &threadkeep_engine::ThreadReference) -> Self {
        let threadkeep_engine::ThreadReference { thread, referenced, by, at, holds } = reference;
        Self {
            ref_id: referenced.id,
            thread_id: *thread,
            target: referenced.target,
            scope: referenced.scope.clone(),
            binding: referenced.binding,
            snapshot_version: referenced.snapshot_version,
            created_by: (**by).clone(),
            created_at: *at,
            holds: *holds,
        }
    }
}

/// The references of a thread that hold, from both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct References {
    /// What it reads.
    pub outgoing: Vec<Reference>,
    /// What reads it, as far as the caller may see that.
    pub incoming: Vec<Reference>,
}

impl From<&threadkeep_engine::References> for References {
    fn from(references: &threadkeep_engine::References) -> Self {
        Self {
            outgoing: references.outgoing.iter().map(Reference::from).collect(),
            incoming: references.incoming.iter().map(Reference::from).collect(),
        }
    }
}

//! A named version on the wire.

use serde::{Deserialize, Serialize};
use threadkeep_model::{Timestamp, Version};

/// A version with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    /// The name.
    pub name: String,
    /// The version it names.
    pub version: Version,
    /// When it was set.
    pub created_at: Timestamp,
}

impl From<&threadkeep_model::Checkpoint> for Checkpoint {
    fn from(checkpoint: &threadkeep_model::Checkpoint) -> Self {
        Self { name: checkpoint.name.clone(), version: checkpoint.version, created_at: checkpoint.created }
    }
}

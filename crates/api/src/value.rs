//! Values on the wire: JSON under a key.

use serde::{Deserialize, Serialize};
use threadkeep_engine::StoredValue;
use threadkeep_model::{Json, Timestamp, ValueKey, Version};

/// What lies under a key. Where nothing does, the value is null and its version 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Value {
    /// The key.
    pub key: ValueKey,
    /// The JSON, exactly as it was set.
    pub value: Json,
    /// The version of the thread with which it was set: what `If-Match` compares.
    pub version: Version,
    /// When it was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

impl Value {
    /// Nothing under `key`.
    pub fn missing(key: ValueKey) -> Self {
        Self { key, value: Json::null(), version: Version::START, updated_at: None }
    }

    /// Whether nothing lies there.
    pub fn is_missing(&self) -> bool {
        self.version == Version::START
    }
}

impl From<StoredValue> for Value {
    fn from(stored: StoredValue) -> Self {
        let StoredValue { key, value, version, updated } = stored;
        Self { key, value, version, updated_at: Some(updated) }
    }
}

//! The primitives that people and agents share, on the wire: what requests ask for, and what is answered.

use serde::{Deserialize, Serialize};
use threadkeep_model::LifecycleAction;

/// Moves a thread on in its life.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeLifecycle {
    /// Where to.
    pub action: LifecycleAction,
    /// Why, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = 65_536), regex(pattern = threadkeep_model::schema::NOT_BLANK)))]
    pub reason: Option<String>,
}

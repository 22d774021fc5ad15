//! The fact of a merge: the plan, the result, and the conflicts on the way.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::{
    Actor, Derived, ItemKind, MergeConflict, MergePlan, MergeSource, MergeStatus, MergedFile, MergedValue, Uuid,
    ValidationResult,
};

/// Other threads were merged into this one, or were to be. The newest entry of an id counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Merged {
    /// The id of the merge.
    pub id: Uuid,
    /// The state of the merge from here on.
    pub status: MergeStatus,
    /// The threads that were merged, in this order.
    pub sources: Vec<MergeSource>,
    /// The plan of the merge.
    pub plan: MergePlan,
    /// The files that changed, or would have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<MergedFile>,
    /// The values that changed, or would have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<MergedValue>,
    /// The conflicts, resolved or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<MergeConflict>,
    /// The outcome of the validation, if it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<ValidationResult>,
    /// The approval that it waits or waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Uuid>,
    /// The actor that asked for the merge.
    pub by: Actor,
}

impl Fact for Box<Merged> {
    fn derived(&self) -> Derived {
        Derived::there(ItemKind::Merge, &self.id)
    }
}

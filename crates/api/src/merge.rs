//! Merges on the wire: what other threads made comes together in one.

use serde::{Deserialize, Serialize};
use threadkeep_model::{
    Actor, Choice, ConflictStrategy, Invalid, MergeConflict, MergePlan, MergeSource, MergeStatus, MergedFile,
    MergedValue, ThreadName, Timestamp, Uuid, Validation, ValidationResult, Version,
};

/// What to merge into a thread, and how.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Merge {
    /// The threads that are merged, in this order.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 16), with = "Vec<ThreadName>"))]
    pub sources: Vec<String>,
    /// Which files, by patterns for their paths, and which values, by `kv:PREFIX`; everything if nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = Merge::SCOPE_MAX)))]
    pub artifact_scope: Vec<String>,
    /// What to do about each kind of conflict.
    #[serde(default)]
    pub conflict_strategy: ConflictStrategy,
    /// What was chosen for single conflicts: each names a path, a key or a question, and says what to take or what it is
    /// to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = Merge::CHOICES_MAX)))]
    pub choices: Vec<Choice>,
    /// How the result is checked, by a command that whoever runs the server configured.
    #[serde(default)]
    pub validation: Validation,
    /// Whether somebody has to approve it before it happens.
    #[serde(default)]
    pub requires_approval: bool,
    /// Whether to say only what would happen.
    #[serde(default)]
    pub dry_run: bool,
}

impl Merge {
    /// Most items of a scope.
    pub const SCOPE_MAX: usize = 100;
    /// Most choices.
    pub const CHOICES_MAX: usize = 10_000;

    /// The threads that are merged, as they are named.
    ///
    /// # Errors
    /// A name that is none.
    pub fn names(&self) -> Result<Vec<ThreadName>, Invalid> {
        self.sources.iter().map(|source| source.parse()).collect()
    }

    /// How to merge.
    ///
    /// # Errors
    /// Too many items of a scope, or too many choices.
    pub fn plan(self) -> Result<MergePlan, Invalid> {
        let Self { artifact_scope, conflict_strategy, choices, validation, requires_approval, .. } = self;
        for (field, count, max) in
            [("artifactScope", artifact_scope.len(), Self::SCOPE_MAX), ("choices", choices.len(), Self::CHOICES_MAX)]
        {
            if count > max {
                return Err(Invalid::body(field, format!("has at most {max} items")));
            }
        }
        Ok(MergePlan { artifact_scope, conflict_strategy, choices, validation, requires_approval })
    }
}

/// A merge, as far as it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MergeTold {
    /// Its identity; absent for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_id: Option<Uuid>,
    /// How far it came. Nothing changed unless it is `merged`.
    pub status: MergeStatus,
    /// What was merged, at which version, and what both sides were compared with.
    pub sources: Vec<MergeSource>,
    /// The files that changed, or would have.
    pub files: Vec<MergedFile>,
    /// The values that changed, or would have.
    pub values: Vec<MergedValue>,
    /// What both sides changed, and what became of it.
    pub conflicts: Vec<MergeConflict>,
    /// What the check of the result said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<ValidationResult>,
    /// The approval it waits for, or waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<Uuid>,
    /// Who asked for it.
    pub by: Actor,
    /// The version of the thread with which this was recorded; absent for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// When this was recorded; absent for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
}

impl From<&threadkeep_engine::ThreadMerge> for MergeTold {
    fn from(merge: &threadkeep_engine::ThreadMerge) -> Self {
        let threadkeep_engine::ThreadMerge { merged, at, .. } = merge.clone();
        Self {
            merge_id: at.map(|_| merged.id),
            status: merged.status,
            sources: merged.sources,
            files: merged.files,
            values: merged.values,
            conflicts: merged.conflicts,
            validation: merged.validation,
            approval_id: merged.approval,
            by: merged.by,
            version: at.map(|(version, _)| version),
            created_at: at.map(|(_, time)| time),
        }
    }
}

//! Merges: files, values and decisions of other threads come together in one thread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{
    Actor, Choice, ConflictStrategy, Invalid, MergeConflict, MergePlan, MergeSource, MergeStatus, MergedFile,
    MergedValue, ThreadName, Timestamp, Uuid, Validation, ValidationResult, Version,
};

use crate::ErrorCode;
use crate::call::Declaration;
use crate::group::MERGES;
use crate::object::{parsed, threads};
use crate::shape::paged;

/// Merges what other threads made into a thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Merge {
    /// The threads that are merged, in this order.
    #[serde(deserialize_with = "threads")]
    #[schemars(length(min = 1, max = 16))]
    pub sources: Vec<ThreadName>,
    /// Which files, by patterns for their paths, and which values, by `kv:PREFIX`. Default: everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = Merge::SCOPE_MAX))]
    pub artifact_scope: Vec<String>,
    /// The resolution of each kind of conflict.
    #[serde(default)]
    pub conflict_strategy: ConflictStrategy,
    /// Choices for single conflicts. Each names a path, a key or a question, and the side to take or the new content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = Merge::CHOICES_MAX))]
    pub choices: Vec<Choice>,
    /// How the result is checked, by a command in the server's configuration.
    #[serde(default)]
    pub validation: Validation,
    /// Whether it needs an approval before it happens.
    #[serde(default)]
    pub requires_approval: bool,
    /// Only show what would happen.
    #[serde(default)]
    pub dry_run: bool,
}

impl Merge {
    /// Most items of a scope.
    pub const SCOPE_MAX: usize = 100;
    /// Most choices in one merge.
    pub const CHOICES_MAX: usize = 10_000;

    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("merge", "merge"), "/v1/threads/{thread}/merge", MERGES)
            .about("Merges other threads into a thread, in one commit or not at all.")
            .creates(
                "The merge as it was recorded, and its status. One that is conflicted, failed its check or waits for an \
                 approval is recorded too, and changed nothing else.",
            )
            .also(200, "The result of a dry run. Nothing is recorded.")
            .versioned()
            .fails(&[
                ErrorCode::ApprovalRequired,
                ErrorCode::QuotaExceeded,
                ErrorCode::ThreadClosed,
                ErrorCode::ValidationNotConfigured,
            ])
            .example(
                r#"{"sources":["T-5928a90d-d53b-488f-a829-4e36442142ee"],"conflictStrategy":{"file":"three_way"},"choices":[{"path":"/notes.md","take":"theirs"}],"dryRun":true}"#,
            );

    /// Merges one thread, line by line where both sides changed a file.
    pub fn from(source: impl Into<ThreadName>) -> Self {
        Self { sources: vec![source.into()], ..Self::default() }
    }

    /// How to merge.
    ///
    /// # Errors
    /// Too many items of a scope, or too many choices.
    pub fn plan(&self) -> Result<MergePlan, Invalid> {
        let Self { artifact_scope, conflict_strategy, choices, validation, requires_approval, .. } = self.clone();
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

/// A merge and its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MergeTold {
    /// Its identity; absent for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_id: Option<Uuid>,
    /// The state of the merge. Nothing changed unless it is `merged`.
    pub status: MergeStatus,
    /// The merged threads, each with its version and the base of the comparison.
    pub sources: Vec<MergeSource>,
    /// The files that changed, or would have.
    pub files: Vec<MergedFile>,
    /// The values that changed, or would have.
    pub values: Vec<MergedValue>,
    /// The changes that both sides made, and how each was resolved.
    pub conflicts: Vec<MergeConflict>,
    /// The result of the check.
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

paged! {
    /// Lists the merges into a thread.
    ListMerges = Declaration::get(("merges", "listMerges"), "/v1/threads/{thread}/merges", MERGES)
        .about("Lists the merges into a thread, including those that changed nothing.")
        .gives("All of them, in the order in which they were asked for; with `limit`, a page.")
        .fails(&[ErrorCode::InvalidCursor]);
}

/// Shows a merge and its state.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetMerge {
    /// The id of the merge.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub merge: Uuid,
}

impl GetMerge {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("merge-record", "getMerge"), "/v1/threads/{thread}/merges/{merge}", MERGES)
            .about("Shows a merge and its state.")
            .gives("The merge.");
}

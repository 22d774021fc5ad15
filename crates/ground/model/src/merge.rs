//! The vocabulary of merges: plans, changed files and values with their origins, conflicts, and validations.

use serde::{Deserialize, Serialize};

use crate::text::words;
use crate::{BlobId, FilePath, Json, ThreadId, Uuid, ValueKey, Version};

/// The state of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MergeStatus {
    /// A dry run without open conflicts: the merge would succeed.
    Clean,
    /// It has unresolved conflicts. Nothing changed.
    Conflicted,
    /// The validation of the result failed. Nothing changed.
    Failed,
    /// It waits for an approval. Nothing changed yet.
    PendingApproval,
    /// The approval was denied, revoked or timed out. Nothing changed.
    Rejected,
    /// The target holds the result.
    Merged,
}

words!(MergeStatus:
    Clean "clean", Conflicted "conflicted", Failed "failed", PendingApproval "pending_approval", Rejected "rejected",
    Merged "merged"
);

/// A thread that was merged, at one of its versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MergeSource {
    /// The thread that was merged.
    pub thread_id: ThreadId,
    /// Its version that was merged.
    pub version: Version,
    /// The base that both sides were compared with.
    pub base: MergeBase,
}

/// The common base that both sides of a merge are compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase", tag = "type", deny_unknown_fields)]
pub enum MergeBase {
    /// An empty thread: the two share no history.
    Empty,
    /// The version where their histories part.
    History {
        /// Up to this position both see the same files.
        files: Version,
        /// Up to this position both see the same values.
        values: Version,
    },
    /// The version at which one of them was made from the other.
    Birth {
        /// The thread that was made from the other.
        thread_id: ThreadId,
        /// Its version at that time.
        version: Version,
    },
    /// The version that an earlier merge of the two took.
    Merge {
        /// The id of the earlier merge.
        merge_id: Uuid,
        /// The thread that it merged.
        thread_id: ThreadId,
        /// The version that it merged.
        version: Version,
    },
}

/// The plan of a merge.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct MergePlan {
    /// Limits the merge to files by globs and to values by `kv:PREFIX`; empty means everything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifact_scope: Vec<String>,
    /// How each type of conflict is resolved.
    pub conflict_strategy: ConflictStrategy,
    /// Choices for single conflicts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// How the result is validated.
    pub validation: Validation,
    /// Whether the merge needs an approval.
    pub requires_approval: bool,
}

/// How each type of conflict is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ConflictStrategy {
    /// For files that both sides changed.
    pub file: FileStrategy,
    /// For questions that both sides answered differently.
    pub decision: DecisionStrategy,
    /// For values that both sides changed.
    pub state: StateStrategy,
}

/// How a file that both sides changed is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileStrategy {
    /// Text is merged line by line. Lines that both sides changed are a conflict.
    #[default]
    ThreeWay,
    /// The target's file is kept.
    Ours,
    /// The source's file is taken.
    Theirs,
    /// Text is merged line by line. Of lines that both sides changed, both versions are kept.
    Union,
    /// Every such file is a conflict that needs a choice.
    Manual,
}

/// How a question that both sides answered differently is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DecisionStrategy {
    /// It is a conflict that needs a choice.
    #[default]
    Human,
    /// The target's answer is kept.
    Ours,
    /// The source's answer is taken.
    Theirs,
}

/// How a value that both sides changed is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StateStrategy {
    /// It is a conflict that needs a choice.
    #[default]
    Human,
    /// The value that was set last is taken.
    Latest,
    /// The target's value is kept.
    Ours,
    /// The source's value is taken.
    Theirs,
}

/// How the result of a merge is validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// The result is not validated.
    #[default]
    None,
    /// By the compile command in the server's configuration.
    Compile,
    /// By the test command in the server's configuration.
    Test,
}

words!(Validation: None "none", Compile "compile", Test "test");

/// A choice for one conflict: of a file, a value or a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Choice {
    /// The path of the file in conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<FilePath>,
    /// Or the key of the value in conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ValueKey>,
    /// Or the question that has two answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The side to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take: Option<Take>,
    /// Or the text of the file, or the answer to the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Or the new value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
}

/// The side that a choice takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// Takes the side of the target.
    Ours,
    /// Takes the side of the source.
    Theirs,
    /// Both sides, line by line.
    Union,
}

/// A file that a merge changed, and where its content comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MergedFile {
    /// The path in the target.
    pub path: FilePath,
    /// How the merge changed the file.
    pub action: MergeAction,
    /// The source threads it comes from, each with the version that wrote it there.
    pub from: Vec<FileOrigin>,
    /// The hash of its content now; none if it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<BlobId>,
}

/// A version of a file in a source thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileOrigin {
    /// The id of the source.
    pub thread_id: ThreadId,
    /// The version that wrote the file there; none if the file was removed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

/// How a merge changed a file or a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MergeAction {
    /// It is new in the target.
    Added,
    /// The source's version replaced the target's.
    Taken,
    /// Both versions were merged.
    Merged,
    /// It was removed from the target.
    Removed,
}

/// A value that a merge changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MergedValue {
    /// The key of the value.
    pub key: ValueKey,
    /// How the merge changed the value.
    pub action: MergeAction,
    /// The source thread it comes from.
    pub thread_id: ThreadId,
}

/// A conflict: a file, a value or a decision that both sides changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MergeConflict {
    /// The type of the conflict.
    #[serde(rename = "type")]
    pub kind: ConflictType,
    /// For a file: how the two sides conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<FileConflict>,
    /// The source thread that brought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ThreadId>,
    /// The path of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<FilePath>,
    /// The key of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ValueKey>,
    /// The question that was answered twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The common base: a hash, a value or an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Json>,
    /// The same in the target; none if it was removed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<Json>,
    /// The same in the source; none if it was removed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theirs: Option<Json>,
    /// Both texts with conflict markers, unless that is too long. A choice can send it back, edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<String>,
    /// How it was resolved; none if it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Resolved>,
}

impl MergeConflict {
    /// A conflict of `kind` with all other fields empty.
    pub fn of(kind: ConflictType) -> Self {
        Self {
            kind,
            detail: None,
            source: None,
            path: None,
            key: None,
            question: None,
            base: None,
            ours: None,
            theirs: None,
            merged: None,
            resolved: None,
        }
    }
}

/// The type of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConflictType {
    /// Both sides changed a file.
    File,
    /// Both sides answered a question differently.
    Decision,
    /// The result fails its validation.
    CodeDependency,
    /// Both sides changed a value.
    State,
}

/// How the two sides of a file conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileConflict {
    /// Both changed the same lines.
    BothChanged,
    /// Both added it, with different content.
    BothAdded,
    /// The target deleted it, the source changed it.
    DeletedHere,
    /// The target changed it, the source deleted it.
    DeletedThere,
    /// It is a directory on one side and a file on the other.
    TypeChanged,
    /// It is not text, and cannot be merged line by line.
    Binary,
}

/// How a conflict was resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Resolved {
    /// By taking the target's side.
    Ours,
    /// By taking the source's side.
    Theirs,
    /// By keeping both sides.
    Union,
    /// By the content of a choice.
    Content,
}

/// The outcome of a validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidationResult {
    /// The validation that ran.
    pub validation: Validation,
    /// Whether the result passed.
    pub passed: bool,
    /// The exit code of the command; none if it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The end of the command's output.
    pub output: String,
    /// Whether the command ran into its time limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

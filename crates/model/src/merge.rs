//! Merges: what several threads made comes together in one of them. The record of a merge says what was taken from where,
//! what was in conflict, what was chosen, and what a check of the result said.

use serde::{Deserialize, Serialize};

use crate::{Actor, BlobId, FilePath, Json, ThreadId, Uuid, ValueKey, Version};

/// Body of [`Entry::Merged`](crate::Entry::Merged): a merge, as far as it came. The newest entry of an id counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Merged {
    /// The merge.
    pub id: Uuid,
    /// How far it came.
    pub status: MergeStatus,
    /// What was merged, in this order.
    pub sources: Vec<MergeSource>,
    /// How it was to be merged.
    pub plan: MergePlan,
    /// The files that changed, or would have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<MergedFile>,
    /// The values that changed, or would have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<MergedValue>,
    /// What both sides changed, and what became of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<MergeConflict>,
    /// What the check of the result said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<ValidationResult>,
    /// The approval it waits for, or waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Uuid>,
    /// Who asked for it.
    pub by: Actor,
}

/// How far a merge came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MergeStatus {
    /// It would go through: a dry run.
    Clean,
    /// Something is in conflict and nobody chose: nothing changed.
    Conflicted,
    /// The check of the result failed: nothing changed.
    Failed,
    /// It waits for an approval: nothing changed yet.
    PendingApproval,
    /// The approval was denied, taken back or ran out: nothing changed.
    Rejected,
    /// It is done.
    Merged,
}

impl MergeStatus {
    /// As text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Conflicted => "conflicted",
            Self::Failed => "failed",
            Self::PendingApproval => "pending_approval",
            Self::Rejected => "rejected",
            Self::Merged => "merged",
        }
    }
}

/// A thread that was merged, as it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MergeSource {
    /// Which one.
    pub thread_id: ThreadId,
    /// At which version.
    pub version: Version,
    /// What both sides were compared with.
    pub base: MergeBase,
}

/// What two sides of a merge are compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase", tag = "type", deny_unknown_fields)]
pub enum MergeBase {
    /// Nothing: the two share no history.
    Empty,
    /// Where their histories part.
    History {
        /// Up to this position both see the same files.
        files: Version,
        /// Up to this position both see the same values.
        values: Version,
    },
    /// What one had of the other when it came to be.
    Birth {
        /// The one that came of the other.
        thread_id: ThreadId,
        /// As it was at this version.
        version: Version,
    },
    /// What an earlier merge of the two took.
    Merge {
        /// The merge.
        merge_id: Uuid,
        /// The thread that was taken from.
        thread_id: ThreadId,
        /// As it was at this version.
        version: Version,
    },
}

/// How to merge.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct MergePlan {
    /// Which files, by globs, and which values, by `kv:PREFIX`; everything if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifact_scope: Vec<String>,
    /// What to do about each kind of conflict.
    pub conflict_strategy: ConflictStrategy,
    /// What was chosen for single conflicts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// How the result is checked.
    pub validation: Validation,
    /// Whether somebody has to approve it.
    pub requires_approval: bool,
}

/// What to do about each kind of conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ConflictStrategy {
    /// Files that both sides changed.
    pub file: FileStrategy,
    /// The same question with different answers.
    pub decision: DecisionStrategy,
    /// Values that both sides changed.
    pub state: StateStrategy,
}

/// What to do about a file that both sides changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileStrategy {
    /// Text is merged line by line; what is left is a conflict.
    #[default]
    ThreeWay,
    /// The target's.
    Ours,
    /// The source's.
    Theirs,
    /// Text is merged line by line, and where both changed the same lines both are kept.
    Union,
    /// Somebody has to choose, whatever could be merged.
    Manual,
}

/// What to do about a question that both sides answered differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DecisionStrategy {
    /// Somebody has to choose.
    #[default]
    Human,
    /// The target's answer.
    Ours,
    /// The source's answer.
    Theirs,
}

/// What to do about a value that both sides changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StateStrategy {
    /// Somebody has to choose.
    #[default]
    Human,
    /// The one that was set last.
    Latest,
    /// The target's.
    Ours,
    /// The source's.
    Theirs,
}

/// How the result of a merge is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// Not at all.
    #[default]
    None,
    /// By the command for compiling that whoever runs the server configured.
    Compile,
    /// By the command for testing that whoever runs the server configured.
    Test,
}

impl Validation {
    /// As text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Compile => "compile",
            Self::Test => "test",
        }
    }
}

/// What was chosen for one conflict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Choice {
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<FilePath>,
    /// Or the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ValueKey>,
    /// Or the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take: Option<Take>,
    /// Or what it is to be: the text of a file, the answer to a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Or the value it is to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
}

/// Which side to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// The target's.
    Ours,
    /// The source's.
    Theirs,
    /// Both, line by line.
    Union,
}

/// A file that a merge changed, and where what it holds now comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MergedFile {
    /// Where.
    pub path: FilePath,
    /// What happened to it.
    pub action: MergeAction,
    /// The threads it comes from, each with the version that wrote it there; the target is not among them.
    pub from: Vec<FileOrigin>,
    /// The hash of what it holds now; none if it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<BlobId>,
}

/// A version of a file in another thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileOrigin {
    /// The thread.
    pub thread_id: ThreadId,
    /// The version that wrote the file there; none if it was removed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

/// What a merge did to a file or a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MergeAction {
    /// It was not in the target.
    Added,
    /// The source's took the place of the target's.
    Taken,
    /// Both were merged.
    Merged,
    /// It is gone.
    Removed,
}

/// A value that a merge changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MergedValue {
    /// Its key.
    pub key: ValueKey,
    /// What happened to it.
    pub action: MergeAction,
    /// The thread it comes from.
    pub thread_id: ThreadId,
}

/// What both sides changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MergeConflict {
    /// What kind of conflict.
    #[serde(rename = "type")]
    pub kind: ConflictType,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<FileConflict>,
    /// The source it came with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ThreadId>,
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<FilePath>,
    /// The value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ValueKey>,
    /// The question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What was there before: a hash, a value or an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Json>,
    /// What the target says; none if it is gone there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<Json>,
    /// What the source says; none if it is gone there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theirs: Option<Json>,
    /// Both, with markers where they differ, for text that is not too long: a choice may send it back, mended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<String>,
    /// What became of it; none if nobody chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Resolved>,
}

impl MergeConflict {
    /// A conflict of which nothing more is known.
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

/// What kind of conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConflictType {
    /// A file.
    File,
    /// The same question with different answers.
    Decision,
    /// The result does not pass its check.
    CodeDependency,
    /// A value.
    State,
}

/// How two files are in conflict.
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
    /// By taking the target's.
    Ours,
    /// By taking the source's.
    Theirs,
    /// By keeping both.
    Union,
    /// By what somebody sent.
    Content,
}

/// What the check of a merge said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidationResult {
    /// Which check.
    pub validation: Validation,
    /// Whether it passed.
    pub passed: bool,
    /// How the command ended; none if it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What it said, the end of it.
    pub output: String,
    /// Whether it took longer than it may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

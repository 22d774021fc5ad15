//! Relations between threads on the wire: one thread's, and a whole family's.

use serde::{Deserialize, Serialize};
use threadkeep_model::{Child, RelationKind, ThreadId, Timestamp, Uuid, Version};

use crate::call::Declaration;
use crate::group::TREE;
use crate::{ErrorCode, Thread};

/// Shows a thread with all it is related to, directly or not, the nearest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GetFamily {
    /// How many relations away from the thread a thread may be. Without it, any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<usize>,
    /// How many relatives of each thread are followed, the oldest relations first. Without it, all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breadth: Option<usize>,
    /// Number of threads in a page; 200 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: Option<usize>,
    /// The cursor of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl GetFamily {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("tree", "getFamily"), "/v1/threads/{thread}/tree", TREE)
            .about("Shows a thread with all it is related to, directly or not, the nearest first.")
            .gives("A page of the family. Most families are one page.")
            .fails(&[ErrorCode::InvalidCursor]);
}

/// A relation as one of its two threads sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Relationship {
    /// The thread at the other end.
    pub thread_id: ThreadId,
    /// The kind of relation.
    #[serde(rename = "type")]
    pub kind: RelationKind,
    /// The role of the thread that sees it: `parent` or `child`.
    pub role: RelationshipRole,
    /// The index of the message where it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_index: Option<u64>,
    /// When it was made.
    pub created_at: Timestamp,
    /// A comment of the actor that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// The end of a relation at which a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "RelationRole")]
#[serde(rename_all = "snake_case")]
pub enum RelationshipRole {
    /// The relation was made on it.
    Parent,
    /// It is at the other end.
    Child,
}

/// A relation, seen from neither end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Relation {
    /// The thread it was made on.
    pub parent_id: ThreadId,
    /// The thread at the other end.
    pub child_id: ThreadId,
    /// The kind of relation.
    #[serde(rename = "type")]
    pub kind: RelationKind,
    /// The index of the message where it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_index: Option<u64>,
    /// When it was made.
    pub created_at: Timestamp,
    /// A comment of the actor that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl From<&threadkeep_model::Relation> for Relation {
    fn from(relation: &threadkeep_model::Relation) -> Self {
        Self {
            parent_id: relation.parent,
            child_id: relation.child,
            kind: relation.kind,
            message_index: relation.index,
            created_at: relation.created,
            comment: relation.comment.clone(),
        }
    }
}

/// A subagent, and the thread it works for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Subagent")]
pub struct FamilySubagent {
    /// The thread it works for.
    pub parent_id: ThreadId,
    /// The entry of the subagent in the registry of that thread.
    #[serde(flatten)]
    pub child: Child,
}

/// A merge that happened between two threads of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FamilyMerge {
    /// The id of the merge.
    pub merge_id: Uuid,
    /// The thread that was merged.
    pub source_id: ThreadId,
    /// The version of it that was merged.
    pub source_version: Version,
    /// The thread that it was merged into.
    pub target_id: ThreadId,
    /// The version of the target that the merge made.
    pub version: Version,
}

/// The relatives of a thread that are not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MoreRelatives")]
pub struct MoreRelatives {
    /// A thread of this page.
    pub thread_id: ThreadId,
    /// How many of its direct relatives are neither on this page nor on one before it.
    pub count: u64,
}

/// A thread with all it is related to, directly or not: a page of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Family {
    /// The thread that was asked for.
    pub thread_id: ThreadId,
    /// The threads, that one first, then the nearest.
    pub threads: Vec<Thread>,
    /// The relations among them, and with threads of earlier pages.
    pub relations: Vec<Relation>,
    /// The subagents among them, as the registry of the thread they work for knows them.
    pub subagents: Vec<FamilySubagent>,
    /// The merges into threads of this page, from threads of this page and earlier ones.
    #[serde(default)]
    pub merges: Vec<FamilyMerge>,
    /// Whether there are more threads than on this page and those before it.
    pub cut_off: bool,
    /// The threads of this page that have more relatives: later pages show them, unless `depth` or `breadth` leave them
    /// out.
    #[serde(default)]
    pub more: Vec<MoreRelatives>,
    /// Goes on where this page ends; null at the end.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

//! A thread in a list: its record and where it stands, with what is counted; never its messages.

use serde::{Deserialize, Serialize};
use threadkeep_model::{Account, Json, Lifecycle, ShortId, Skill, ThreadId, Timestamp, Version, Visibility};

use crate::{Relationship, Run, Sandbox};

/// A thread in a list. Fields with a default are always present, optional fields only if they are set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSummary {
    /// The full id of the thread.
    pub id: ThreadId,
    /// Its short id: the same identity.
    pub short_id: ShortId,
    /// The account that owns it.
    pub account_id: Account,
    /// The version of the thread.
    pub v: Version,
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// Its name for people, or null.
    pub title: Option<String>,
    /// Whether the main list hides it.
    pub archived: bool,
    /// How many messages it shows.
    pub message_count: u64,
    /// The least number its next message can have.
    pub next_message_id: u64,
    /// When the user last said something, or null.
    pub last_user_interaction_at: Option<Timestamp>,
    /// The state of its lifecycle.
    pub lifecycle: Lifecycle,
    /// Who may read it, apart from its account.
    pub visibility: Visibility,
    /// When it was terminated, or null.
    pub terminated: Option<Timestamp>,
    /// Metadata of the user: a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<threadkeep_model::schema::Object>")]
    pub metadata: Option<Json>,
    /// Text that is not sent yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
    /// Whether the draft is sent by itself.
    pub auto_submit_draft: bool,
    /// The mode the agent works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// A cap for output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The agent it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The task it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The project it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The project's name, where projects are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_name: Option<String>,
    /// The project's icon, where projects are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_name: Option<String>,
    /// The project's sandbox, where projects are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// The user it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The purpose of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The status that its agent gave, in free words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The workspace it began in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<threadkeep_model::schema::Object>")]
    pub env: Option<Json>,
    /// The thread it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_thread_id: Option<ThreadId>,
    /// The index of the last message it shared at the fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork_point_index: Option<u64>,
    /// The main thread, for a subagent's thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main_thread_id: Option<ThreadId>,
    /// The thread it was spawned from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<ThreadId>,
    /// The skills that are active, in the order they were activated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activated_skills: Vec<Skill>,
    /// The run that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// When the user last said something; when the thread was born, if never.
    pub user_last_interacted_at: Timestamp,
    /// The changes that the thread made to its files.
    pub diff_stats: DiffStats,
    /// The relations in which it is the child.
    pub parent_relationships: Vec<Relationship>,
}

/// Counts of the changes that a thread made to its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DiffStats {
    /// Counts of whole files.
    pub files: Changed,
    /// Counts of lines of files.
    pub lines: Changed,
}

/// How many were added, changed and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Changed {
    /// Number of new ones.
    pub added: u64,
    /// Ones that are different now.
    pub changed: u64,
    /// Ones that are gone.
    pub removed: u64,
}

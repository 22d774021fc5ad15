//! A thread in a list: its record and where it stands, with what is counted; never its messages.

use serde::{Deserialize, Serialize};
use threadkeep_engine::Sandbox;
use threadkeep_model::{Account, Json, Lifecycle, ShortId, Skill, ThreadId, Timestamp, Version, Visibility};

use crate::{Execution, Relationship, Thread};

/// A thread in a list. What has a default is always there; what is optional only if it is set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadSummary {
    /// Its identity.
    pub id: ThreadId,
    /// Its short id: the same identity.
    pub short_id: ShortId,
    /// The account that owns it.
    pub account_id: Account,
    /// Its version.
    pub v: Version,
    /// When it came into being.
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
    /// Where it is in its life.
    pub lifecycle: Lifecycle,
    /// Who may read it beside its account.
    pub visibility: Visibility,
    /// Whether it was terminated.
    pub terminated: bool,
    /// Free-form JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<threadkeep_model::schema::Object>"))]
    pub metadata: Option<Json>,
    /// Unsent text.
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
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// What it is doing, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The workspace it began in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<threadkeep_model::schema::Object>"))]
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
    /// The execution that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
    /// When the user last said something; when the thread was born, if never.
    pub user_last_interacted_at: Timestamp,
    /// What it did to its files.
    pub diff_stats: DiffStats,
    /// The relations in which it is the child.
    pub parent_relationships: Vec<Relationship>,
}

/// What a thread did to its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffStats {
    /// Whole files.
    pub files: Changed,
    /// Lines of files.
    pub lines: Changed,
}

/// How many were added, changed and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Changed {
    /// New ones.
    pub added: u64,
    /// Ones that are different now.
    pub changed: u64,
    /// Ones that are gone.
    pub removed: u64,
}

impl From<threadkeep_engine::Changed> for Changed {
    fn from(changed: threadkeep_engine::Changed) -> Self {
        Self { added: changed.added, changed: changed.changed, removed: changed.removed }
    }
}

impl From<&threadkeep_engine::ThreadSummary> for ThreadSummary {
    fn from(row: &threadkeep_engine::ThreadSummary) -> Self {
        let thread = Thread::from(&row.thread);
        let project = row.project.as_ref().map(|project| &project.details);
        let (files, lines) = (row.diff_stats.files.into(), row.diff_stats.lines.into());
        Self {
            id: thread.id,
            short_id: thread.short_id,
            account_id: row.thread.account.clone(),
            v: thread.v,
            created: thread.created,
            updated: thread.updated,
            title: thread.title,
            archived: thread.archived,
            message_count: thread.message_count,
            next_message_id: thread.next_message_id,
            last_user_interaction_at: thread.last_user_interaction_at,
            lifecycle: thread.lifecycle,
            visibility: thread.visibility,
            terminated: thread.terminated,
            metadata: thread.metadata,
            draft: thread.draft,
            auto_submit_draft: thread.auto_submit_draft,
            agent_mode: thread.agent_mode,
            max_tokens: thread.max_tokens,
            agent_id: thread.agent_id,
            task_id: thread.task_id,
            project_id: thread.project_id,
            user_id: thread.user_id,
            intent: thread.intent,
            status: thread.status,
            env: thread.env,
            origin_thread_id: thread.origin_thread_id,
            fork_point_index: thread.fork_point_index,
            main_thread_id: thread.main_thread_id,
            parent_id: thread.parent_id,
            activated_skills: thread.activated_skills,
            execution: thread.execution,
            project_name: project.map(|project| project.name.clone()),
            icon_name: project.and_then(|project| project.icon_name.clone()),
            sandbox: project.and_then(|project| project.sandbox.clone()),
            user_last_interacted_at: row.user_last_interacted(),
            diff_stats: DiffStats { files, lines },
            parent_relationships: row.parent_relationships.iter().map(Relationship::from).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use threadkeep_engine::{Project, ProjectDetails, Relationship, RelationshipRole};
    use threadkeep_model::{Head, Position, Record, RelationKind, SegmentId, Tally};

    use super::*;

    #[test]
    fn a_summary_looks_like_this() {
        let id: ThreadId = "T-5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("an id");
        let tally = Tally { ordinals: 3, ..Tally::default() };
        let updated = Timestamp::from_micros(2_000_000);
        let head = Head { version: Position(4), segment: SegmentId::from_bits(1), era: 1, fence: 0, updated, tally };
        let record = Record { title: Some("Hello".into()), project_id: Some("p".into()), ..Record::default() };
        let created = Timestamp::from_micros(1);
        let thread = threadkeep_model::Thread { id, account: Account::local(), created, head, record };
        let parent = Relationship {
            thread: id,
            kind: RelationKind::Fork,
            role: RelationshipRole::Child,
            message_index: Some(2),
            created,
            comment: None,
        };
        let sandbox = Some(Sandbox { external_id: "s".into(), config: None });
        let details = ProjectDetails { name: "Garden".into(), icon_name: Some("leaf".into()), sandbox };
        let project = Project { id: "p".into(), details, created };
        let row = threadkeep_engine::ThreadSummary {
            thread,
            parent_relationships: vec![parent],
            diff_stats: Default::default(),
            project: Some(project.into()),
        };
        let json = serde_json::to_string(&ThreadSummary::from(&row)).expect("json");
        assert_eq!(
            json,
            concat!(
                r#"{"id":"T-5928a90d-d53b-488f-a829-4e36442142ee","shortId":"4e36442142ee","accountId":"local","v":4,"#,
                r#""created":"1970-01-01T00:00:00.000001Z","updated":"1970-01-01T00:00:02.000000Z","title":"Hello","#,
                r#""archived":false,"messageCount":3,"nextMessageId":5,"lastUserInteractionAt":null,"#,
                r#""lifecycle":"active","visibility":"private","terminated":false,"autoSubmitDraft":false,"#,
                r#""projectId":"p","projectName":"Garden","iconName":"leaf","sandbox":{"externalId":"s"},"#,
                r#""userLastInteractedAt":"1970-01-01T00:00:00.000001Z","#,
                r#""diffStats":{"files":{"added":0,"changed":0,"removed":0},"lines":{"added":0,"changed":0,"removed":0}},"#,
                r#""parentRelationships":[{"threadId":"T-5928a90d-d53b-488f-a829-4e36442142ee","type":"fork","#,
                r#""role":"child","messageIndex":2,"createdAt":"1970-01-01T00:00:00.000001Z"}]}"#
            )
        );
        assert_eq!(serde_json::from_str::<ThreadSummary>(&json).expect("a summary"), ThreadSummary::from(&row));
    }
}

//! A thread on the wire: its record, where it stands, and what a list shows of it.

use serde::{Deserialize, Serialize};
use threadkeep_model::{Account, Json, Lifecycle, ShortId, Skill, ThreadId, Timestamp, Version, Visibility};

use crate::Run;

/// A thread. Fields with a default are always present, optional fields only if they are set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// The full id of the thread.
    pub id: ThreadId,
    /// Its short id: the same identity.
    pub short_id: ShortId,
    /// The account that owns it; visitors are not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<Account>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
}

impl From<&threadkeep_model::Thread> for Thread {
    fn from(thread: &threadkeep_model::Thread) -> Self {
        let head = &thread.head;
        let record = thread.record.clone();
        Self {
            id: thread.id,
            short_id: thread.id.short(),
            account_id: Some(thread.account.clone()),
            v: head.version,
            created: thread.created,
            updated: head.updated,
            title: record.title,
            archived: record.archived,
            message_count: head.tally.messages(),
            next_message_id: head.version.next().0,
            last_user_interaction_at: head.tally.last_user,
            lifecycle: record.lifecycle,
            visibility: record.visibility,
            terminated: record.terminated,
            metadata: record.metadata,
            draft: record.draft,
            auto_submit_draft: record.auto_submit_draft,
            agent_mode: record.agent_mode,
            max_tokens: record.max_tokens,
            agent_id: record.agent_id,
            task_id: record.task_id,
            project_id: record.project_id,
            user_id: record.user_id,
            intent: record.intent,
            status: record.status,
            env: record.env,
            origin_thread_id: record.origin_thread_id,
            fork_point_index: record.fork_point_index,
            main_thread_id: record.main_thread_id,
            parent_id: record.parent_id,
            activated_skills: record.activated_skills,
            run: record.run.as_ref().map(|run| Run::open(thread.id, run)),
        }
    }
}

#[cfg(test)]
mod tests {
    use threadkeep_model::{Head, Position, Record, SegmentId, Tally};

    use super::*;

    #[test]
    fn a_thread_looks_like_this() {
        let tally =
            Tally { ordinals: 3, deleted: 1, last_user: Some(Timestamp::from_micros(1_000_001)), ..Tally::default() };
        let metadata = Json::parse("metadata", r#"{"z":1.0,"a":[]}"#).expect("json");
        let thread = threadkeep_model::Thread {
            id: "T-5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("an id"),
            account: Account::local(),
            created: Timestamp::from_micros(0),
            head: Head {
                version: Position(4),
                segment: SegmentId::from_bits(1),
                era: 1,
                fence: 0,
                updated: Timestamp::from_micros(2_000_000),
                tally,
            },
            record: Record { title: Some("Hello".into()), metadata: Some(metadata), ..Record::default() },
        };
        let json = serde_json::to_string(&Thread::from(&thread)).expect("json");
        assert_eq!(
            json,
            concat!(
                r#"{"id":"T-5928a90d-d53b-488f-a829-4e36442142ee","shortId":"4e36442142ee","accountId":"local","v":4,"#,
                r#""created":"1970-01-01T00:00:00.000000Z","updated":"1970-01-01T00:00:02.000000Z","title":"Hello","#,
                r#""archived":false,"messageCount":2,"nextMessageId":5,"#,
                r#""lastUserInteractionAt":"1970-01-01T00:00:01.000001Z","lifecycle":"active","visibility":"private","#,
                r#""terminated":null,"metadata":{"z":1.0,"a":[]},"autoSubmitDraft":false}"#
            )
        );
        assert_eq!(serde_json::from_str::<Thread>(&json).expect("a thread"), Thread::from(&thread));
    }
}

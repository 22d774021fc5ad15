//! `list`: the threads of an account, the newest first, as summaries.

use std::sync::Arc;

use threadkeep_calls as calls;
use threadkeep_calls::{Changed, DiffStats, Project, Relationship};
use threadkeep_model::{Invalid, Json, Lifecycle, Thread, ThreadId, Timestamp, Value, Visibility};
use threadkeep_store::{Archived, BoxFuture, ListCursor, ListFilter, ListQuery, ListSort, TimeRange, Total};

use crate::ground::cursor::{after, no_cursor, read};
use crate::{Engine, Error, Result, Show, Shown};

/// The filters and the page of a list of threads. A thread must match every filter.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// Archived ones too, or instead of the others.
    pub archived: Archived,
    /// Only of this agent.
    pub agent_id: Option<String>,
    /// Only of this project.
    pub project_id: Option<String>,
    /// Only in this state.
    pub lifecycle: Option<Lifecycle>,
    /// Only private ones, or only public ones.
    pub visibility: Option<Visibility>,
    /// Only those whose metadata contain this object: members by name, every element in some element, scalars equal.
    pub metadata: Option<Json>,
    /// Only those with this tag, in `metadata.tags` or in `env.initial.tags`.
    pub tag: Option<String>,
    /// Only those spawned from this thread.
    pub parent_id: Option<ThreadId>,
    /// Only subagents of this main thread.
    pub main_thread_id: Option<ThreadId>,
    /// Only those born at this moment or later.
    pub created_after: Option<Timestamp>,
    /// Only those born earlier than this moment.
    pub created_before: Option<Timestamp>,
    /// Only those last changed at this moment or later.
    pub updated_after: Option<Timestamp>,
    /// Only those last changed earlier than this moment.
    pub updated_before: Option<Timestamp>,
    /// Only those with this text in their title, without regard to case.
    pub title: Option<String>,
    /// The time to sort by.
    pub sort: ListSort,
    /// Most threads on a page.
    pub limit: Option<usize>,
    /// Goes on where an earlier page ended; everything else has to be asked as before.
    pub cursor: Option<String>,
    /// Skips this many instead, and counts all.
    pub offset: Option<usize>,
    /// Counts all threads that match.
    pub total: bool,
}

/// A thread in a list: its head and record, never its messages.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadSummary {
    /// The thread and its settings.
    pub thread: Thread,
    /// The relations that hold in which it is the child, in the order they were made.
    pub parent_relationships: Vec<Relationship>,
    /// The lines it changed in its files.
    pub diff_stats: DiffStats,
    /// Its project, where the account keeps one of that id.
    pub project: Option<Arc<Project>>,
}

impl ThreadSummary {
    /// When the user last said something; when the thread was born, if never.
    pub fn user_last_interacted(&self) -> Timestamp {
        self.thread.head.tally.last_user.unwrap_or(self.thread.created)
    }
}

/// The lines a thread changed in its files, in the form of the API.
fn diff_stats(stats: threadkeep_model::DiffStats) -> DiffStats {
    let changed = |added, changed, removed| Changed { added, changed, removed };
    DiffStats {
        files: changed(stats.files_added, stats.files_changed, stats.files_removed),
        lines: changed(stats.lines_added, stats.lines_changed, stats.lines_removed),
    }
}

/// Some threads, and how to go on.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadPage {
    /// The threads of this page, in order.
    pub items: Vec<ThreadSummary>,
    /// Goes on where this page ends; none at the end.
    pub next: Option<String>,
    /// How many there are in all, if that was asked. Counting stops at 10,000 threads that have to be looked at.
    pub total: Option<Total>,
}

impl Engine {
    /// The threads of this account that are asked for, the newest first. Threads that are created while pages are read
    /// do not disturb the pages after the first.
    ///
    /// The number of reads does not depend on how many threads there are on the page.
    ///
    /// # Errors
    /// A limit out of range, metadata that are no object, a cursor together with an offset; a cursor that is malformed,
    /// or that another list gave ([`invalid_cursor`](threadkeep_model::Code::InvalidCursor)).
    pub fn list(&self, list: List) -> BoxFuture<'_, Result<ThreadPage>> {
        Box::pin(async move {
            let limit = self.page_limit(list.limit)?;
            if list.cursor.is_some() && list.offset.is_some() {
                return Err(Invalid::parameter("offset", "cannot be combined with a cursor").into());
            }
            let counts = list.total || list.offset.is_some();
            let cursor = list.cursor.clone();
            let mut query = ListQuery {
                account: self.caller.account.clone(),
                skip: list.offset.unwrap_or(0),
                sort: list.sort,
                filter: list.filter()?,
                after: None,
                limit: limit + 1,
            };
            query.after = cursor.map(|cursor| decode(&query, &cursor)).transpose()?;
            let store = &self.shared.stores.store;
            let is_expensive = counts || query.is_expensive();
            let _turn = if is_expensive { Some(self.shared.read_turns.turn(&query.account).await?) } else { None };
            let total = if counts { Some(store.count(query.clone()).await?) } else { None };
            let mut threads = store.list(query.clone()).await?;
            let more = threads.len() > limit;
            threads.truncate(limit);
            let next = threads.last().filter(|_| more).map(|last| encode(&query, query.sort.place(last)));
            Ok(ThreadPage { items: self.summaries(threads).await?, next, total })
        })
    }

    /// The threads of this account whose ids begin with `prefix`, in either spelling, archived ones too; at most
    /// `limit`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn threads_by_prefix<'a>(&'a self, prefix: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<ThreadSummary>>> {
        Box::pin(async move {
            let mut most = limit;
            loop {
                let ids = self.shared.stores.upkeep.threads_by_prefix(prefix.to_owned(), most).await?;
                let mut own = Vec::new();
                for id in &ids {
                    match self.thread(*id).await {
                        Ok(thread) => own.push(thread),
                        Err(Error::ThreadNotFound { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
                // Those of other accounts may have taken the places.
                if own.len() >= limit || ids.len() < most {
                    own.truncate(limit);
                    return self.summaries(own).await;
                }
                most = most.saturating_mul(4);
            }
        })
    }

    async fn summaries(&self, mut threads: Vec<Thread>) -> Result<Vec<ThreadSummary>> {
        let mut above = self.parents_of(&mut threads).await?;
        let ids = threads.iter().filter_map(|thread| thread.record.project_id.as_deref()).collect();
        let projects = self.projects_with(ids).await?;
        let summary = |thread: Thread| {
            let parent_relationships = above.remove(&thread.id).unwrap_or_default();
            let project = thread.record.project_id.as_deref().and_then(|id| projects.get(id)).map(Arc::clone);
            let diff_stats = diff_stats(thread.head.tally.work.stats);
            ThreadSummary { thread, parent_relationships, diff_stats, project }
        };
        Ok(threads.into_iter().map(summary).collect())
    }
}

impl List {
    fn filter(self) -> Result<ListFilter, Invalid> {
        if self.metadata.as_ref().is_some_and(|json| !json.is_object()) {
            return Err(Invalid::parameter("metadata", "must be a JSON object, such as {\"key\":\"value\"}"));
        }
        Ok(ListFilter {
            archived: self.archived,
            agent: self.agent_id,
            project: self.project_id,
            lifecycle: self.lifecycle,
            visibility: self.visibility,
            parent: self.parent_id,
            main: self.main_thread_id,
            tag: self.tag,
            metadata: self.metadata.as_ref().map(Value::of),
            title: self.title,
            created: TimeRange { after: self.created_after, before: self.created_before },
            updated: TimeRange { after: self.updated_after, before: self.updated_before },
        })
    }
}

/// All that has to be asked as before.
fn list_of(query: &ListQuery) -> impl std::fmt::Debug {
    ("threads", query.account.clone(), query.filter.clone(), query.sort)
}

fn encode(query: &ListQuery, place: ListCursor) -> String {
    after(list_of(query), &format!("{:x}.{}", place.time.as_micros(), place.thread))
}

fn decode(query: &ListQuery, cursor: &str) -> Result<ListCursor> {
    let parse = |place: &str| {
        let (time, thread) = place.split_once('.')?;
        let time = Timestamp::from_micros(u64::from_str_radix(time, 16).ok()? as i64);
        Some(ListCursor { time, thread: thread.parse().ok()? })
    };
    Ok(parse(read(list_of(query), cursor)?).ok_or_else(no_cursor)?)
}

impl Show for ThreadPage {
    fn show(&self) -> Result<Shown> {
        let items: Vec<_> = self.items.iter().map(calls::ThreadSummary::from).collect();
        let total_is_exact = self.total.is_none_or(|total| total.is_exact);
        let page = calls::Page::new(items, self.next.clone(), self.total.map(|total| total.count));
        Shown::plain(&calls::Page { total_is_exact, ..page })
    }
}

impl From<&ThreadSummary> for calls::ThreadSummary {
    fn from(row: &ThreadSummary) -> Self {
        let thread = calls::Thread::from(&row.thread);
        let project = row.project.as_deref();
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
            run: thread.run,
            project_name: project.map(|project| project.name.clone()),
            icon_name: project.and_then(|project| project.icon_name.clone()),
            sandbox: project.and_then(|project| project.sandbox.clone()),
            user_last_interacted_at: row.user_last_interacted(),
            diff_stats: row.diff_stats,
            parent_relationships: row.parent_relationships.clone(),
        }
    }
}

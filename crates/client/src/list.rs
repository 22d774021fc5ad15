//! Lists of threads, by any filter.

use threadkeep_calls as api;
use threadkeep_model::{Json, Lifecycle, ThreadName, Timestamp, Visibility};

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::query::Query;

/// Which threads to list: those that are not archived, the newest change first, unless something is said.
#[derive(Debug, Clone, Default)]
pub struct ListThreads {
    /// Whether archived ones.
    pub archived: Archived,
    /// Only those whose id begins so.
    pub id_prefix: Option<String>,
    /// Only those of this agent.
    pub agent_id: Option<String>,
    /// Only those of this project.
    pub project_id: Option<String>,
    /// Only those in this state.
    pub lifecycle: Option<Lifecycle>,
    /// Only those that are private, or public.
    pub visibility: Option<Visibility>,
    /// Only those whose metadata contain this object.
    pub metadata: Option<Json>,
    /// Only those with this tag.
    pub tag: Option<String>,
    /// Only those spawned from this thread.
    pub parent_id: Option<ThreadName>,
    /// Only subagents of this main thread.
    pub main_thread_id: Option<ThreadName>,
    /// Only those made at this time or later.
    pub created_after: Option<Timestamp>,
    /// Only those made earlier.
    pub created_before: Option<Timestamp>,
    /// Only those changed last at this time or later.
    pub updated_after: Option<Timestamp>,
    /// Only those changed last earlier.
    pub updated_before: Option<Timestamp>,
    /// Only those with this text in their title.
    pub title: Option<String>,
    /// What newest means.
    pub sort: Sort,
    /// At most so many; the server's page if nothing is said.
    pub limit: Option<usize>,
    /// Goes on where an earlier list with the same filters ended.
    pub cursor: Option<String>,
    /// Passes over so many, and counts.
    pub offset: Option<usize>,
    /// Counts.
    pub total: bool,
}

/// Whether archived threads are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Archived {
    /// Only those that are not.
    #[default]
    No,
    /// Only those that are.
    Yes,
    /// All.
    Any,
}

/// What newest means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The last change.
    #[default]
    Updated,
    /// The birth.
    Created,
}

impl ListThreads {
    fn query(&self) -> Query {
        let archived = match self.archived {
            Archived::No => None,
            Archived::Yes => Some("true"),
            Archived::Any => Some("any"),
        };
        let sort = match self.sort {
            Sort::Updated => None,
            Sort::Created => Some("created"),
        };
        let visibility = self.visibility.map(|visibility| match visibility {
            Visibility::Private => "private",
            Visibility::Public => "public",
        });
        Query::default()
            .maybe("archived", archived)
            .maybe("idPrefix", self.id_prefix.as_ref())
            .maybe("agentId", self.agent_id.as_ref())
            .maybe("projectId", self.project_id.as_ref())
            .maybe("lifecycle", self.lifecycle.map(Lifecycle::as_str))
            .maybe("visibility", visibility)
            .maybe("metadata", self.metadata.as_ref().map(Json::as_str))
            .maybe("tag", self.tag.as_ref())
            .maybe("parentId", self.parent_id)
            .maybe("mainThreadId", self.main_thread_id)
            .maybe("createdAfter", self.created_after)
            .maybe("createdBefore", self.created_before)
            .maybe("updatedAfter", self.updated_after)
            .maybe("updatedBefore", self.updated_before)
            .maybe("title", self.title.as_ref())
            .maybe("sort", sort)
            .maybe("limit", self.limit)
            .maybe("cursor", self.cursor.as_ref())
            .maybe("offset", self.offset)
            .flag("total", self.total)
    }
}

impl Client {
    /// A page of threads.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn threads(&self, which: &ListThreads) -> Result<api::Page<api::ThreadSummary>, Error> {
        self.ask(Ask::get("/v1/threads".to_owned()).query(which.query())).await
    }
}

//! The list of threads.

use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::model::{Lifecycle, Visibility};
use threadkeep::{Archived, Invalid, Json, List, ListSort, ThreadId, ThreadName, Timestamp};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use crate::access::Access;
use crate::answer::{Answer, Refused, json};
use crate::input::Query;
use crate::routes::page_limit;
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    let list = table::get(
        ("listThreads", "/v1/threads"),
        "Lists the account's threads, by any filter.",
        list,
        Gives::json::<api::Page<api::ThreadSummary>>("A page of threads."),
    );
    let list = list.fails([
        ErrorCode::InvalidThreadId,
        ErrorCode::InvalidCursor,
        ErrorCode::InvalidBody,
        ErrorCode::JsonTooDeep,
        ErrorCode::ThreadNotFound,
    ]);
    Routes::new("Threads", "", [list])
}

/// Which threads to list, as the query says.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Which {
    /// Those whose id begins like this, in either spelling of ids. It goes alone, but for a limit.
    id_prefix: Option<String>,
    /// Which threads, by whether the main list hides them; those it shows if nothing is said.
    #[schemars(extend("enum" = ["false", "true", "any"]))]
    archived: Option<String>,
    /// Those of this agent.
    agent_id: Option<String>,
    /// Those of this project.
    project_id: Option<String>,
    /// Those that are there in their life.
    lifecycle: Option<Lifecycle>,
    /// Those that are private, or public.
    visibility: Option<Visibility>,
    /// Those whose metadata contain this: a JSON object, as text.
    #[schemars(extend("contentMediaType" = "application/json"))]
    metadata: Option<String>,
    /// Those with this tag, in `metadata.tags` or `env.initial.tags`.
    tag: Option<String>,
    /// Those spawned from this thread.
    #[schemars(with = "Option<ThreadName>")]
    parent_id: Option<String>,
    /// Those of subagents of this thread.
    #[schemars(with = "Option<ThreadName>")]
    main_thread_id: Option<String>,
    /// Those made after this time.
    created_after: Option<Timestamp>,
    /// Those made before this time.
    created_before: Option<Timestamp>,
    /// Those changed after this time.
    updated_after: Option<Timestamp>,
    /// Those changed before this time.
    updated_before: Option<Timestamp>,
    /// Those whose title contains this text, in capitals or not.
    title: Option<String>,
    /// By when they last changed, or by when they were made; the newest first.
    #[schemars(extend("enum" = ["updated", "created"]))]
    sort: Option<String>,
    /// How many items at most.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where the page before ended.
    cursor: Option<String>,
    /// How many to pass over; the total is told then. It cannot stand beside a cursor.
    offset: Option<usize>,
    /// Whether to count all of them.
    total: bool,
}

impl Which {
    fn list(self, parent_id: Option<ThreadId>, main_thread_id: Option<ThreadId>) -> Result<List, Invalid> {
        let archived = match self.archived.as_deref() {
            None | Some("false") => Archived::No,
            Some("true") => Archived::Yes,
            Some("any") => Archived::Any,
            Some(other) => return Err(none_of("archived", other, "true, false, any")),
        };
        let sort = match self.sort.as_deref() {
            None | Some("updated") => ListSort::Updated,
            Some("created") => ListSort::Created,
            Some(other) => return Err(none_of("sort", other, "updated, created")),
        };
        Ok(List {
            archived,
            agent_id: self.agent_id,
            project_id: self.project_id,
            lifecycle: self.lifecycle,
            visibility: self.visibility,
            metadata: self.metadata.map(|text| Json::parse("metadata", &text)).transpose()?,
            tag: self.tag,
            parent_id,
            main_thread_id,
            created_after: self.created_after,
            created_before: self.created_before,
            updated_after: self.updated_after,
            updated_before: self.updated_before,
            title: self.title,
            sort,
            limit: self.limit,
            cursor: self.cursor,
            offset: self.offset,
            total: self.total,
        })
    }
}

fn none_of(field: &str, said: &str, known: &str) -> Invalid {
    Invalid::parameter(field, format!("'{said}' is none of: {known}"))
}

/// The full id of a thread that a filter names; one that is not there has no threads under it.
async fn named(access: &Access, name: Option<&str>) -> Result<Option<ThreadId>, Refused> {
    let Some(name) = name else { return Ok(None) };
    match name.parse::<ThreadName>()? {
        ThreadName::Full(id) => Ok(Some(id)),
        short @ ThreadName::Short(_) => Ok(Some(access.engine.thread(short).await?.id)),
    }
}

async fn list(access: Access, Query(which): Query<Which>) -> Answer {
    if let Some(prefix) = which.id_prefix {
        let limit = page_limit(&access.engine, which.limit)?;
        if (Which { id_prefix: None, limit: None, ..which }) != Which::default() {
            return Err(Invalid::parameter("idPrefix", "goes alone, but for a limit").into());
        }
        let found = access.engine.threads_by_prefix(&prefix, limit).await?;
        let items: Vec<_> = found.iter().map(api::ThreadSummary::from).collect();
        return Ok(json(&api::Page { items, next_cursor: None, total: None }));
    }
    let parent = named(&access, which.parent_id.as_deref()).await?;
    let main = named(&access, which.main_thread_id.as_deref()).await?;
    let page = access.engine.list(which.list(parent, main)?).await?;
    let items: Vec<_> = page.items.iter().map(api::ThreadSummary::from).collect();
    Ok(json(&api::Page { items, next_cursor: page.next, total: page.total }))
}

//! Screens of an account: threads, inbox, search, memories, projects, settings; and the assets of the page.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::Deserialize;
use threadkeep::calls::{Asked as Parts, At};
use threadkeep::sandbox::Origin;
use threadkeep::{Scope, Standing, ThreadId};
use threadkeep_calls as api;
use threadkeep_calls::{ErrorCode, Problem, Status};
use threadkeep_transcripts::shape::Source;
use threadkeep_web::{self as web, Filters, Place};

use super::{Asked, Visit, part};
use crate::answer::{Answer, Refused};
use crate::app::App;
use crate::input::Path;

/// Fields of the list of threads that the page takes from its address.
const FILTERS: [&str; 11] = [
    "title",
    "agentId",
    "projectId",
    "archived",
    "lifecycle",
    "visibility",
    "tag",
    "parentId",
    "mainThreadId",
    "sort",
    "cursor",
];
/// Threads that a search shows.
const FOUND_MAX: usize = 30;
/// Memories of a page, and that a search shows.
const MEMORIES: usize = 50;
/// Approvals that were answered and are still shown.
const ANSWERED_MAX: usize = 20;

fn filters(query: Option<String>) -> Filters {
    let query = query.unwrap_or_default();
    let uri = format!("/?{query}").parse::<axum::http::Uri>();
    let pairs = uri.ok().and_then(|uri| axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&uri).ok());
    let pairs = pairs.map(|axum::extract::Query(pairs)| pairs).unwrap_or_default();
    Filters(pairs.into_iter().filter(|(name, text)| FILTERS.contains(&name.as_str()) && !text.is_empty()).collect())
}

async fn listed(visit: &Visit, filters: &Filters) -> Result<api::Page<api::ThreadSummary>, Refused> {
    let asked = Parts { query: filters.query(), ..Parts::default() };
    let mut call: api::ListThreads = asked.read()?;
    call.total = call.cursor.is_none();
    visit.ask(At::none(), call).await
}

pub(super) async fn threads(visit: Visit, RawQuery(query): RawQuery) -> Answer {
    if visit.me.is_none() {
        return Ok(visit.to_sign_in());
    }
    let filters = filters(query);
    let page = listed(&visit, &filters).await?;
    visit.screen(Place::Threads, "Threads", web::threads(&page, &filters, visit.may_write())).await
}

pub(super) async fn thread_rows(visit: Visit, RawQuery(query): RawQuery) -> Answer {
    signed_in(&visit)?;
    let filters = filters(query);
    Ok(part(&web::rows(&listed(&visit, &filters).await?, &filters)))
}

/// Refuses a visitor a part of a page.
fn signed_in(visit: &Visit) -> Result<(), Refused> {
    match visit.me {
        Some(_) => Ok(()),
        None => Err(crate::access::unauthorized()),
    }
}

/// Approvals, each with the title of its thread.
async fn titled(visit: &Visit, found: Vec<api::Approval>) -> Result<Vec<(api::Approval, Option<String>)>, Refused> {
    let mut titled = Vec::with_capacity(found.len());
    for approval in found {
        let title = visit.title(approval.thread_id).await?;
        titled.push((approval, title));
    }
    Ok(titled)
}

impl Visit {
    /// The title of a thread, if the reader may see it.
    pub(super) async fn title(&self, thread: ThreadId) -> Result<Option<String>, Refused> {
        match self.engine().seen(thread, threadkeep::Verb::Read).await {
            Ok((thread, Standing::Owner | Standing::Visitor)) => Ok(thread.record.title),
            Err(threadkeep::Error::ThreadNotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

pub(super) async fn inbox(visit: Visit) -> Answer {
    if visit.me.is_none() {
        return Ok(visit.to_sign_in());
    }
    let waiting = titled(&visit, visit.waiting().await?).await?;
    let all =
        api::ListApprovals { state: Some(api::ListedState::All), limit: Some(500), ..api::ListApprovals::default() };
    let mut answered = visit.ask(At::none(), all).await?.items;
    answered.retain(|approval| approval.answered_at.is_some());
    answered.sort_by_key(|approval| std::cmp::Reverse(approval.answered_at));
    answered.truncate(ANSWERED_MAX);
    let answered = titled(&visit, answered).await?;
    visit.screen(Place::Inbox, "Inbox", web::inbox(&waiting, &answered, visit.may_write())).await
}

pub(super) async fn approvals(visit: Visit) -> Answer {
    signed_in(&visit)?;
    let waiting = titled(&visit, visit.waiting().await?).await?;
    Ok(part(&web::approvals(&waiting, visit.may_write())))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Searching {
    q: String,
    role: String,
}

pub(super) async fn search(visit: Visit, State(app): State<App>, Asked(asked): Asked<Searching>) -> Answer {
    if visit.me.is_none() {
        return Ok(visit.to_sign_in());
    }
    let query = asked.q.trim();
    let role = (!asked.role.is_empty()).then(|| asked.role.parse()).transpose()?;
    let found = if query.is_empty() {
        None
    } else {
        let call = api::SearchThreads {
            role,
            limit: Some(FOUND_MAX),
            context_window: Some(0),
            ..api::SearchThreads::new(query)
        };
        Some(visit.ask(At::none(), call).await?)
    };
    let status = visit.engine().index_status().await?.shown(app.settings.search_index);
    visit.screen(Place::Search, "Search", web::search(query, &asked.role, found.as_ref(), Some(&status))).await
}

/// Which memories to show.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Remembering {
    q: String,
    project: String,
    cursor: Option<String>,
}

pub(super) async fn memories(visit: Visit, Asked(asked): Asked<Remembering>) -> Answer {
    if visit.me.is_none() {
        return Ok(visit.to_sign_in());
    }
    let (query, project) = (asked.q.trim(), asked.project.trim());
    let of_project = (!project.is_empty()).then(|| project.to_owned());
    let (found, next_cursor) = if query.is_empty() {
        let (limit, cursor) = (Some(MEMORIES), asked.cursor);
        let page = match of_project {
            Some(project) => visit.ask(At::none(), api::ListProjectMemories { project, limit, cursor }).await?,
            None => visit.ask(At::none(), api::ListMemories { limit, cursor }).await?,
        };
        (page.items, page.next_cursor)
    } else {
        let call =
            api::SearchMemories { project_id: of_project, limit: Some(MEMORIES), ..api::SearchMemories::new(query) };
        let found = visit.ask(At::none(), call).await?.results;
        (found.into_iter().map(|found| found.memory).collect(), None)
    };
    let projects = visit.ask(At::none(), api::ListProjects::default()).await?.items;
    let shown = web::Memories {
        query,
        project,
        projects: &projects,
        found: &found,
        next_cursor: next_cursor.as_deref(),
        may_write: visit.may_write(),
    };
    visit.screen(Place::Memories, "Memories", web::memories(&shown)).await
}

pub(super) async fn projects(visit: Visit) -> Answer {
    if visit.me.is_none() {
        return Ok(visit.to_sign_in());
    }
    let found = visit.ask(At::none(), api::ListProjects::default()).await?.items;
    visit.screen(Place::Projects, "Projects", web::projects(&found, visit.may_write())).await
}

pub(super) async fn settings(visit: Visit, State(app): State<App>) -> Answer {
    let Some(me) = &visit.me else { return Ok(visit.to_sign_in()) };
    let keys = match me.scope {
        Scope::Admin => Some(visit.ask(At::none(), api::ListKeys::default()).await?.items),
        Scope::Read | Scope::Write => None,
    };
    let sandbox =
        app.sandbox.check(Origin::Request).map_or_else(|refused| refused.to_string(), |()| "ready".to_owned());
    let index = visit.engine().index_status().await?.shown(app.settings.search_index);
    let health = web::Health { sandbox: &sandbox, index: Some(&index) };
    let content = web::settings(me, keys.as_deref(), &health);
    visit.screen(Place::Settings, "Settings", content).await
}

pub(super) async fn import(visit: Visit) -> Answer {
    let Some(me) = &visit.me else { return Ok(visit.to_sign_in()) };
    let agents = Source::ALL.map(Source::as_str);
    visit.screen(Place::Settings, "Import", web::import(&agents, me.scope)).await
}

pub(super) async fn asset(Path((hash, file)): Path<(String, String)>, headers: HeaderMap) -> Answer {
    let found = web::asset(&hash, &file).ok_or_else(|| {
        let problem = Problem::new(Status::NotFound, ErrorCode::RouteNotFound, "there is no such file");
        problem.hint("reload the page")
    })?;
    let mut accepted = headers.get_all(header::ACCEPT_ENCODING).iter();
    let gzip = accepted.any(|value| value.to_str().is_ok_and(crate::input::accepts_gzip));
    let mut response = Response::new(Body::from(if gzip { found.gzip } else { found.plain }));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(found.media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

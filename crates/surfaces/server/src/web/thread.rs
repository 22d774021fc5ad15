//! A thread on the screen: the conversation, its tail, its entries, its family; and the public view of it.

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use serde::Deserialize;
use threadkeep::calls::At;
use threadkeep::model::{Kind, RolledBack, ViewChange};
use threadkeep::{FilePath, MessageName, Position, Scope, Standing, Thread, ThreadId};
use threadkeep_calls as api;
use threadkeep_web::{self as web, Aside, Conversation, Mark, Place, Shows};

use super::beside::observed;
use super::{Asked, Visit, ask, part};
use crate::answer::{Answer, Refused};
use crate::input::Path;

/// Messages of a window.
const WINDOW: usize = 50;
/// Messages that a visitor reads on one page.
const PUBLIC_PAGE: usize = 100;
/// Entries that the tail of a page follows one by one. Further behind, the page reads the end anew.
const TAIL_MAX: usize = 500;
/// Values beside a conversation.
const VALUES_BESIDE: usize = 8;
/// Runs beside a conversation.
const RUNS_BESIDE: usize = 4;
/// Rollbacks that the slider marks: the newest.
const REWINDS_MAX: usize = 20;
/// Threads of a family on the map.
const MAP_MAX: usize = 1_000;

/// What of a thread to show.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Showing {
    m: Option<String>,
    v: Option<u64>,
    view: String,
    preview: String,
    from: Option<u64>,
    after: Option<u64>,
    whole: bool,
}

pub(super) type Messages = api::Page<api::Message<'static>>;

pub(super) fn page(offset: u64, limit: usize, as_of: Option<u64>) -> api::ListMessages {
    api::ListMessages {
        limit: Some(limit),
        offset: Some(offset),
        as_of: as_of.map(Position),
        ..api::ListMessages::default()
    }
}

/// The messages of a window, and the index of the first: around a message, or at the end.
async fn window(visit: &Visit, thread: ThreadId, asked: &Showing) -> Result<(Messages, u64), Refused> {
    let as_of = asked.v.map(Position);
    let call = match asked.m.as_deref().map(str::parse::<MessageName>).transpose()? {
        Some(message) => {
            api::ListMessages { around: Some(message), limit: Some(WINDOW), as_of, ..api::ListMessages::default() }
        }
        None => {
            let order = Some(api::Order::Descending);
            api::ListMessages { order, limit: Some(WINDOW), as_of, ..api::ListMessages::default() }
        }
    };
    let mut found = visit.ask(thread, call).await?;
    if asked.m.is_none() {
        found.items.reverse();
    }
    let first = found.items.first().and_then(|first| first.index).unwrap_or(0);
    Ok((found, first))
}

pub(super) async fn screen(visit: Visit, Path(name): Path<String>, Asked(asked): Asked<Showing>) -> Answer {
    let Some((thread, standing)) = visit.seen(&name).await? else { return Ok(visit.to_sign_in()) };
    if standing == Standing::Visitor || asked.preview == "visitor" {
        return public(&visit, &thread, &asked).await;
    }
    let shown: api::Thread = visit.ask(thread.id, api::GetThread::default()).await?;
    let title = shown.title.clone().unwrap_or_else(|| "Untitled".to_owned());
    if asked.view == "entries" {
        let call = api::GetHistory { after: asked.after.map(Position), limit: Some(WINDOW * 2) };
        let page = visit.ask(thread.id, call).await?;
        return visit.screen(Place::Thread, &title, web::entries(&shown, &page, visit.may_write())).await;
    }
    let (found, first) = window(&visit, thread.id, &asked).await?;
    let checkpoints = visit.ask(thread.id, api::ListCheckpoints::default()).await?.items;
    let marks = marks(&visit, thread.id, &checkpoints).await?;
    let queue = visit.ask(thread.id, api::ListQueue::default()).await?.items;
    let beside = Beside::read(&visit, thread.id, asked.v).await?;
    let short = shown.short_id.to_string();
    let shows = Shows {
        thread: &short,
        as_of: asked.v,
        json: asked.view == "json",
        marked: asked.m.as_deref(),
        whole: asked.whole,
    };
    let view = Conversation {
        thread: &shown,
        messages: &found.items,
        first,
        total: found.total.unwrap_or(0),
        shows,
        checkpoints: &checkpoints,
        marks: &marks,
        queue: &queue,
        works_here: visit.works_here(&shown),
        aside: &beside.aside(&short, asked.v),
        scope: visit.me.as_ref().map_or(Scope::Read, |me| me.scope),
    };
    visit.screen(Place::Thread, &title, web::conversation(&view)).await
}

/// The versions that the slider marks: checkpoints, and those at which the thread went back.
async fn marks(visit: &Visit, thread: ThreadId, named: &[api::Checkpoint]) -> Result<Vec<Mark>, Refused> {
    let mut marks: Vec<Mark> =
        named.iter().map(|named| Mark { version: named.version.0, says: named.name.clone() }).collect();
    for version in visit.engine().rewinds(thread, REWINDS_MAX).await? {
        let one = api::GetHistory { after: Some(Position(version.0.saturating_sub(1))), limit: Some(1) };
        let Some(entry) = visit.ask(thread, one).await?.items.pop() else { continue };
        let says = match serde_json::from_str::<RolledBack>(entry.data.get()) {
            Ok(RolledBack { to, undo: false, .. }) => format!("rolled back to v{to}"),
            Ok(RolledBack { to, undo: true, .. }) => format!("undone to v{to}"),
            Err(_) => "truncated".to_owned(),
        };
        marks.push(Mark { version: version.0, says });
    }
    marks.sort_by_key(|mark| mark.version);
    Ok(marks)
}

/// A thread as a visitor reads it, whole pages without any script.
async fn public(visit: &Visit, thread: &Thread, asked: &Showing) -> Answer {
    let engine = visit.engine().acting_as(threadkeep::Caller::nobody());
    // The owner's preview of a private thread is the owner's read, shown as to a visitor.
    let engine =
        if thread.record.visibility == threadkeep::model::Visibility::Public { &engine } else { visit.engine() };
    let shown: api::Thread = api::Thread::for_visitors(thread);
    let first = match asked.m.as_deref().map(str::parse::<MessageName>).transpose()? {
        Some(message) => {
            let around = api::ListMessages { around: Some(message), limit: Some(1), ..api::ListMessages::default() };
            let found: Messages = ask(engine, thread.id, around).await?;
            found.items.first().and_then(|found| found.index).unwrap_or(0) / PUBLIC_PAGE as u64 * PUBLIC_PAGE as u64
        }
        None => asked.from.unwrap_or(0),
    };
    let found: Messages = ask(engine, thread.id, page(first, PUBLIC_PAGE, asked.v)).await?;
    let short = shown.short_id.to_string();
    let shows = Shows { thread: &short, as_of: asked.v, json: false, marked: asked.m.as_deref(), whole: asked.whole };
    // A visitor with an account may fork it; the preview shows what one without sees.
    let is_preview = asked.preview == "visitor";
    let may_fork = visit.may_write() && !is_preview;
    let content = web::public(&shown, (&found.items, first), found.total.unwrap_or(0), shows, may_fork);
    let title = shown.title.as_deref().unwrap_or("Untitled");
    if !is_preview && visit.me.is_some() {
        return visit.screen(Place::Thread, title, content).await;
    }
    let (theme, lead) = (visit.theme, web::lead(&found.items));
    let frame = web::Frame { me: None, theme, waiting: 0, place: Place::Thread, title, lead: &lead, agents: &[] };
    Ok(super::page(axum::http::StatusCode::OK, web::screen(&frame, &content)))
}

/// Which messages to read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Reading {
    from: u64,
    count: Option<usize>,
    v: Option<u64>,
    after: u64,
    view: String,
}

/// Messages from an index on, as a part of the page.
pub(super) async fn messages(visit: Visit, Path(name): Path<String>, Asked(asked): Asked<Reading>) -> Answer {
    let thread = visit.own(&name).await?.ok_or_else(crate::access::unauthorized)?;
    let limit = asked.count.unwrap_or(WINDOW).clamp(1, 1_000);
    let found = visit.ask(thread.id, page(asked.from, limit, asked.v)).await?;
    let short = thread.id.short().to_string();
    let shows = Shows { thread: &short, as_of: asked.v, json: asked.view == "json", marked: None, whole: false };
    Ok(part(&web::messages(&found.items, asked.from, shows)))
}

/// What an entry changes in the messages that a page shows.
fn change(kind: &str) -> ViewChange {
    let known = Kind::ALL.iter().find(|known| known.as_str() == kind);
    known.map_or(ViewChange::Rewinds, |kind| kind.view_change())
}

/// What happened after a version: the header and the columns of the page anew, and the messages that were added.
pub(super) async fn tail(visit: Visit, Path(name): Path<String>, Asked(asked): Asked<Reading>) -> Answer {
    let thread = visit.own(&name).await?.ok_or_else(crate::access::unauthorized)?;
    let after = Position(asked.after.min(thread.head.version.0));
    let history = api::GetHistory { after: Some(after), limit: Some(TAIL_MAX) };
    let history = visit.ask(thread.id, history).await?;
    let mut appends = 0;
    let mut changed = false;
    for entry in &history.items {
        match change(&entry.kind) {
            ViewChange::Nothing => {}
            ViewChange::Appends => appends += 1,
            ViewChange::Inserts
            | ViewChange::Edits
            | ViewChange::Deletes
            | ViewChange::Truncates
            | ViewChange::Rewinds => {
                changed = true;
            }
        }
    }
    let shown: api::Thread = visit.ask(thread.id, api::GetThread::default()).await?;
    let is_whole = history.next_cursor.is_none();
    // The page follows up to here; what came meanwhile is the next tail.
    let version = history.items.last().map_or(after, |last| last.version);
    let version = if is_whole { version } else { shown.v };
    let limit = if appends == 0 { 1 } else { appends };
    let order = Some(api::Order::Descending);
    let as_of = Some(version);
    let newest = api::ListMessages { order, limit: Some(limit), as_of, ..api::ListMessages::default() };
    let mut newest: Messages = visit.ask(thread.id, newest).await?;
    newest.items.retain(|message| message.version > after);
    newest.items.reverse();
    if changed || !is_whole {
        newest.items.clear();
    }
    let total = newest.total.unwrap_or(0);
    let first = total - newest.items.len() as u64;
    let queue = visit.ask(thread.id, api::ListQueue::default()).await?.items;
    let beside = match history.items.iter().any(|entry| change(&entry.kind) == ViewChange::Nothing) || changed {
        true => Some(Beside::read(&visit, thread.id, None).await?),
        // Messages alone change nothing beside the conversation.
        false => None,
    };
    let short = shown.short_id.to_string();
    let shows = Shows { thread: &short, as_of: None, json: asked.view == "json", marked: None, whole: false };
    let aside = beside.as_ref().map(|beside| beside.aside(&short, None));
    let waiting = (&queue[..], visit.works_here(&shown));
    let mut response =
        part(&web::tail(&shown, waiting, aside.as_ref(), (&newest.items, first), shows, visit.may_write()));
    tell(&mut response, "threadkeep-version", &version.to_string());
    tell(&mut response, "threadkeep-total", &total.to_string());
    tell(&mut response, "threadkeep-view", if changed { "changed" } else { "appended" });
    if let Some(run) = &shown.run {
        tell(&mut response, "threadkeep-running", &run.id.to_string());
    }
    Ok(response)
}

fn tell(response: &mut Response, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

/// More entries, as a part of the page.
pub(super) async fn entries(visit: Visit, Path(name): Path<String>, Asked(asked): Asked<Reading>) -> Answer {
    let thread = visit.own(&name).await?.ok_or_else(crate::access::unauthorized)?;
    let call = api::GetHistory { after: Some(Position(asked.after)), limit: Some(WINDOW * 2) };
    let page = visit.ask(thread.id, call).await?;
    Ok(part(&web::entry_rows(&thread.id.short().to_string(), &page)))
}

pub(super) async fn map(visit: Visit, Path(name): Path<String>) -> Answer {
    let Some(thread) = visit.own(&name).await? else { return Ok(visit.to_sign_in()) };
    let shown: api::Thread = visit.ask(thread.id, api::GetThread::default()).await?;
    let family = visit.ask(thread.id, api::GetFamily { limit: Some(MAP_MAX), ..api::GetFamily::default() }).await?;
    visit.screen(Place::Thread, "Map", web::map(&shown, &family, visit.may_write())).await
}

/// What is beside a conversation.
struct Beside {
    relations: Vec<(api::Relationship, Option<String>)>,
    subagents: Vec<api::Child>,
    files: Vec<api::FileRecord>,
    stats: api::FileStats,
    values: Vec<api::Value>,
    more_values: bool,
    runs: Vec<api::Run>,
    more_runs: bool,
    observers: Vec<(api::Observer, Option<String>)>,
}

impl Beside {
    async fn read(visit: &Visit, thread: ThreadId, as_of: Option<u64>) -> Result<Self, Refused> {
        let (engine, as_of) = (visit.engine(), as_of.map(Position));
        let mut relations = Vec::new();
        for (place, relation) in
            visit.ask(thread, api::ListRelationships::default()).await?.items.into_iter().enumerate()
        {
            // Only the first ones are shown.
            let title = if place < VALUES_BESIDE { visit.title(relation.thread_id).await? } else { None };
            relations.push((relation, title));
        }
        let files = engine.readdir(thread, &FilePath::root(), as_of).await?;
        let values = api::ListValues { limit: Some(VALUES_BESIDE), as_of, ..api::ListValues::default() };
        let values = visit.ask(At::from(thread), values).await?;
        let runs = api::ListThreadRuns { limit: Some(RUNS_BESIDE), ..api::ListThreadRuns::default() };
        let runs = visit.ask(thread, runs).await?;
        Ok(Self {
            relations,
            subagents: visit.ask(thread, api::ListSubagents::default()).await?.items,
            files: files.iter().map(api::FileRecord::from).collect(),
            stats: engine.file_stats(thread, &FilePath::root(), as_of).await?,
            more_values: values.next_cursor.is_some(),
            values: values.items,
            more_runs: runs.next_cursor.is_some(),
            runs: runs.items,
            observers: observed(visit, thread, Some(VALUES_BESIDE)).await?,
        })
    }

    fn aside<'a>(&'a self, thread: &'a str, as_of: Option<u64>) -> Aside<'a> {
        Aside {
            thread,
            as_of,
            relations: &self.relations,
            subagents: &self.subagents,
            files: &self.files,
            stats: self.stats,
            values: &self.values,
            more_values: self.more_values,
            runs: &self.runs,
            more_runs: self.more_runs,
            observers: &self.observers,
        }
    }
}

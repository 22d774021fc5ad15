//! Screens beside a conversation: files, values, merges, observers.

use serde::Deserialize;
use threadkeep::calls::At;
use threadkeep::{Case, Engine, FilePath, FileRecord, Grep, Mode, Position, ThreadId, ThreadName, Version};
use threadkeep_calls as api;
use threadkeep_web::{self as web, FileAt, FileShown, Place, Sides};

use super::{Asked, Visit};
use crate::answer::{Answer, Refused};
use crate::input::Path;

/// Longest file that is shown, in bytes.
const SHOWN_BYTES_MAX: u64 = 512 << 10;
/// Lines that a search in files shows.
const LINES_MAX: usize = 500;
/// Versions of a file that are listed.
const VERSIONS_MAX: usize = 100;
/// Longest side of a conflict that is shown, in bytes.
const SIDE_BYTES_MAX: u64 = 64 << 10;

/// What of the files to show.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Looking {
    v: Option<u64>,
    grep: String,
    diff: Option<u64>,
    prefix: String,
    cursor: Option<String>,
    source: String,
}

async fn record_of(visit: &Visit, thread: ThreadId) -> Result<api::Thread, Refused> {
    visit.ask(thread, api::GetThread::default()).await
}

pub(super) async fn folder(visit: Visit, Path(name): Path<String>, Asked(asked): Asked<Looking>) -> Answer {
    let Some(thread) = visit.own(&name).await? else { return Ok(visit.to_sign_in()) };
    listed(&visit, thread.id, &FilePath::root(), &asked).await
}

async fn listed(visit: &Visit, thread: ThreadId, path: &FilePath, asked: &Looking) -> Answer {
    let shown = record_of(visit, thread).await?;
    let as_of = asked.v.map(Position);
    let at = FileAt { thread: &shown, path: path.as_str(), as_of: asked.v, may_write: visit.may_write() };
    let found = if asked.grep.is_empty() {
        None
    } else {
        let glob = (path != &FilePath::root()).then(|| format!("{}/**", path.as_str()));
        let pattern = asked.grep.clone();
        let grep = Grep { pattern, mode: Mode::Literal, case: Case::Smart, glob, limit: Some(LINES_MAX), as_of };
        Some(visit.engine().grep(thread, grep).await?)
    };
    let entries: Vec<_> =
        visit.engine().readdir(thread, path, as_of).await?.iter().map(api::FileRecord::from).collect();
    let content = web::files(&at, &entries, &asked.grep, found.as_ref());
    visit.screen(Place::Thread, "Files", content).await
}

pub(super) async fn file(
    visit: Visit,
    Path((name, path)): Path<(String, String)>,
    Asked(asked): Asked<Looking>,
) -> Answer {
    let Some(thread) = visit.own(&name).await? else { return Ok(visit.to_sign_in()) };
    let path: FilePath = path.parse()?;
    let as_of = asked.v.map(Position);
    let record = visit.engine().stat(thread.id, &path, as_of).await?;
    let record = record.ok_or_else(|| threadkeep::Error::FileNotFound { path: path.clone() })?;
    if record.is_directory() {
        return listed(&visit, thread.id, &path, &asked).await;
    }
    let shown = record_of(&visit, thread.id).await?;
    let text = text_of(visit.engine(), Some(&record), SHOWN_BYTES_MAX).await?;
    let versions = visit.engine().file_versions(thread.id, &path, None, Some(VERSIONS_MAX)).await?;
    let versions: Vec<_> = versions.iter().map(api::FileVersion::from).collect();
    let difference = match asked.diff {
        Some(since) => Some((since, visit.engine().file_diff(thread.id, &path, Position(since), as_of).await?)),
        None => None,
    };
    let at = FileAt { thread: &shown, path: path.as_str(), as_of: asked.v, may_write: visit.may_write() };
    let told = api::FileRecord::from(&record);
    let content = web::file(
        &at,
        &FileShown {
            record: &told,
            text: text.as_deref(),
            versions: &versions,
            difference: difference.as_ref().map(|(since, text)| (*since, text.as_str())),
        },
    );
    visit.screen(Place::Thread, path.name(), content).await
}

/// The text of a file; none if it is too long, or no text.
pub(super) async fn text_of(engine: &Engine, record: Option<&FileRecord>, max: u64) -> Result<Option<String>, Refused> {
    match record.and_then(FileRecord::file) {
        Some(file) if file.size <= max => {
            let bytes = engine.file_content(file, None).await?;
            Ok(String::from_utf8(bytes.into()).ok().filter(|text| !text.contains('\0')))
        }
        Some(_) | None => Ok(None),
    }
}

pub(super) async fn values(visit: Visit, Path(name): Path<String>, Asked(asked): Asked<Looking>) -> Answer {
    let Some(thread) = visit.own(&name).await? else { return Ok(visit.to_sign_in()) };
    let shown = record_of(&visit, thread.id).await?;
    let call = api::ListValues {
        prefix: asked.prefix.clone(),
        cursor: asked.cursor,
        as_of: asked.v.map(Position),
        limit: None,
    };
    let page = visit.ask(At::from(thread.id), call).await?;
    let content = web::values(&shown, &page, &asked.prefix, asked.v, visit.may_write());
    visit.screen(Place::Thread, "Values", content).await
}

/// The threads near a thread in its family.
pub(super) async fn relatives(visit: &Visit, thread: ThreadId) -> Result<Vec<api::Thread>, Refused> {
    let near = api::GetFamily { limit: Some(50), depth: Some(2), ..api::GetFamily::default() };
    let family = visit.ask(thread, near).await?;
    Ok(family.threads.into_iter().filter(|other| other.id != thread).collect())
}

pub(super) async fn merge(visit: Visit, Path(name): Path<String>, Asked(asked): Asked<Looking>) -> Answer {
    let Some(thread) = visit.own(&name).await? else { return Ok(visit.to_sign_in()) };
    let shown = record_of(&visit, thread.id).await?;
    if asked.source.trim().is_empty() {
        let relatives = relatives(&visit, thread.id).await?;
        return visit.screen(Place::Thread, "Merge", web::choose_source(&shown, &relatives)).await;
    }
    let source = visit.engine().thread(asked.source.trim().parse::<ThreadName>()?).await?;
    let tried = visit.ask(thread.id, api::Merge { dry_run: true, ..api::Merge::from(source.id) }).await?;
    let from = tried.sources.first().map(|merged| merged.version);
    let mut sides = Vec::with_capacity(tried.conflicts.len());
    for conflict in &tried.conflicts {
        sides.push(match &conflict.path {
            Some(path) => Sides {
                ours: side(visit.engine(), thread.id, path, None).await?,
                theirs: side(visit.engine(), source.id, path, from).await?,
            },
            None => Sides::default(),
        });
    }
    let source = record_of(&visit, source.id).await?;
    visit.screen(Place::Thread, "Merge", web::merge(&shown, &source, &tried, &sides)).await
}

pub(super) async fn observers(visit: Visit, Path(name): Path<String>) -> Answer {
    let Some(thread) = visit.own(&name).await? else { return Ok(visit.to_sign_in()) };
    let shown = record_of(&visit, thread.id).await?;
    let found = observed(&visit, thread.id, None).await?;
    visit.screen(Place::Thread, "Observers", web::observers(&shown, &found, visit.may_write())).await
}

/// What a thread observes, the first so many with the title of the other thread.
pub(super) async fn observed(
    visit: &Visit,
    thread: ThreadId,
    titles: Option<usize>,
) -> Result<Vec<(api::Observer, Option<String>)>, Refused> {
    let mut found = Vec::new();
    for (place, observer) in visit.ask(thread, api::ListObservers::default()).await?.items.into_iter().enumerate() {
        let title = match titles.is_none_or(|most| place < most) {
            true => visit.title(observer.target).await?,
            false => None,
        };
        found.push((observer, title));
    }
    Ok(found)
}

/// One side of a conflict over a file, as text.
async fn side(
    engine: &Engine,
    thread: ThreadId,
    path: &FilePath,
    as_of: Option<Version>,
) -> Result<Option<String>, Refused> {
    let record = engine.file(thread, path, as_of).await?;
    text_of(engine, record.as_ref(), SIDE_BYTES_MAX).await
}

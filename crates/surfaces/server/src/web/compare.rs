//! Two threads, compared: their messages by id, their files by hash, their values by text.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use threadkeep::calls::At;
use threadkeep::{FilePath, FileRecord, Files, ThreadId, ThreadName};
use threadkeep_calls as api;
use threadkeep_web::{self as web, Compared, FileDifference, Place, Side};

use super::beside::{relatives, text_of};
use super::thread::{Messages, page};
use super::{Asked, Visit};
use crate::answer::{Answer, Refused};
use crate::input::Path;

/// Messages of each thread that are shown.
const MESSAGES: usize = 30;
/// Files of each thread that are compared.
const FILES_MAX: usize = 5_000;
/// Files that differ and are shown.
const SHOWN_MAX: usize = 100;
/// Longest text that is compared line by line, in bytes.
const TEXT_BYTES_MAX: u64 = 64 << 10;
/// Values of each thread that are compared.
const VALUES_MAX: usize = 1_000;

/// Which thread to compare with.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct With {
    with: String,
}

pub(super) async fn screen(visit: Visit, Path(name): Path<String>, Asked(asked): Asked<With>) -> Answer {
    let Some(thread) = visit.own(&name).await? else { return Ok(visit.to_sign_in()) };
    let own: api::Thread = visit.ask(thread.id, api::GetThread::default()).await?;
    if asked.with.trim().is_empty() {
        let relatives = relatives(&visit, thread.id).await?;
        return visit.screen(Place::Thread, "Compare", web::choose_other(&own, &relatives, visit.may_write())).await;
    }
    let other = visit.engine().thread(asked.with.trim().parse::<ThreadName>()?).await?;
    let other: api::Thread = visit.ask(other.id, api::GetThread::default()).await?;
    let shared = shared(&visit, &own, &other).await?;
    let last: Option<Messages> = match shared.checked_sub(1) {
        Some(last) => Some(visit.ask(own.id, page(last, 1, None)).await?),
        None => None,
    };
    let last_shared = last.and_then(|page| page.items.first().map(|message| message.id.to_string()));
    let ours: Messages = visit.ask(own.id, page(shared, MESSAGES, None)).await?;
    let theirs: Messages = visit.ask(other.id, page(shared, MESSAGES, None)).await?;
    let (ours, theirs) = apart(ours.items, theirs.items);
    let (files, more_files) = files(&visit, own.id, other.id).await?;
    let values = values(&visit, own.id, other.id).await?;
    let compared = Compared {
        sides: (Side { thread: &own, messages: &ours }, Side { thread: &other, messages: &theirs }),
        shared,
        last_shared: last_shared.as_deref(),
        files: &files,
        more_files,
        values: &values,
        may_write: visit.may_write(),
    };
    visit.screen(Place::Thread, "Compare", web::compare(&compared)).await
}

/// Number of messages that both begin with. Forks share the ids of their messages, so the place where they part is found
/// by halving.
async fn shared(visit: &Visit, own: &api::Thread, other: &api::Thread) -> Result<u64, Refused> {
    let (mut same, mut end) = (0, own.message_count.min(other.message_count));
    while same < end {
        let middle = same + (end - same) / 2;
        let ours: Messages = visit.ask(own.id, page(middle, 1, None)).await?;
        let theirs: Messages = visit.ask(other.id, page(middle, 1, None)).await?;
        let ids = (ours.items.first().map(|found| found.id), theirs.items.first().map(|found| found.id));
        if ids.0.is_some() && ids.0 == ids.1 {
            same = middle + 1;
        } else {
            end = middle;
        }
    }
    Ok(same)
}

type Shown = Vec<api::Message<'static>>;

/// The messages that only one of them has: after a deletion, the same message has two places.
fn apart(mut ours: Shown, mut theirs: Shown) -> (Shown, Shown) {
    let known: HashSet<_> = ours.iter().map(|message| message.id).collect();
    let both: HashSet<_> = theirs.iter().map(|message| message.id).filter(|id| known.contains(id)).collect();
    ours.retain(|message| !both.contains(&message.id));
    theirs.retain(|message| !both.contains(&message.id));
    (ours, theirs)
}

/// The files that differ, and whether there may be more of them.
async fn files(visit: &Visit, own: ThreadId, other: ThreadId) -> Result<(Vec<FileDifference>, bool), Refused> {
    let engine = visit.engine();
    let asked = || Files { limit: Some(FILES_MAX), ..Files::default() };
    let (ours, more_ours) = engine.files(own, asked()).await?;
    let (theirs, more_theirs) = engine.files(other, asked()).await?;
    let mut all: BTreeMap<FilePath, (Option<FileRecord>, Option<FileRecord>)> = BTreeMap::new();
    for record in ours.into_iter().filter(|record| !record.is_directory()) {
        let sides = all.entry(record.path.clone()).or_default();
        sides.0 = Some(record);
    }
    for record in theirs.into_iter().filter(|record| !record.is_directory()) {
        let sides = all.entry(record.path.clone()).or_default();
        sides.1 = Some(record);
    }
    let hash = |record: &Option<FileRecord>| record.as_ref().and_then(FileRecord::file).map(|file| file.hash);
    all.retain(|_, (ours, theirs)| hash(ours) != hash(theirs));
    let is_cut = all.len() > SHOWN_MAX || more_ours.is_some() || more_theirs.is_some();
    let mut differences = Vec::new();
    for (path, (ours, theirs)) in all.into_iter().take(SHOWN_MAX) {
        let text = async |record: &Option<FileRecord>| match record {
            Some(_) => text_of(engine, record.as_ref(), TEXT_BYTES_MAX).await,
            None => Ok(Some(String::new())),
        };
        let unified = match (text(&ours).await?, text(&theirs).await?) {
            (Some(old), Some(new)) => Some(web::unified(&old, &new)),
            (Some(_), None) | (None, Some(_) | None) => None,
        };
        let has = (ours.is_some(), theirs.is_some());
        differences.push(FileDifference { path: path.to_string(), has, unified });
    }
    Ok((differences, is_cut))
}

/// The values that differ, by their keys.
async fn values(
    visit: &Visit,
    own: ThreadId,
    other: ThreadId,
) -> Result<Vec<(String, Option<String>, Option<String>)>, Refused> {
    let asked = || api::ListValues { limit: Some(VALUES_MAX), ..api::ListValues::default() };
    let mut all: BTreeMap<String, (Option<String>, Option<String>)> = BTreeMap::new();
    for value in visit.ask(At::from(own), asked()).await?.items {
        all.entry(value.key.as_str().to_owned()).or_default().0 = Some(value.value.as_str().to_owned());
    }
    for value in visit.ask(At::from(other), asked()).await?.items {
        all.entry(value.key.as_str().to_owned()).or_default().1 = Some(value.value.as_str().to_owned());
    }
    let differing = all.into_iter().filter(|(_, (ours, theirs))| ours != theirs);
    Ok(differing.map(|(key, (ours, theirs))| (key, ours, theirs)).collect())
}

//! The source of a stream: one thread's history, or the entries of many threads.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use serde::Serialize;
use threadkeep::model::BlobId;
use threadkeep::{
    Actor, Emitted, EmittedEvent, Engine, Error, Events, FeedCursor, FeedItem, FeedNews, FeedReader, HistoryEntry,
    Json, MessageId, Standing, StoreError, Subscription, ThreadEvent, ThreadId, Timestamp, Verb, Version,
};
use threadkeep_calls as api;

use crate::told::{Seen, Shared, Told};

/// Threads of a project that a stream remembers, so that it can tell when one is deleted.
const MEMBERS_MAX: usize = 100_000;

/// The source of a stream.
pub(crate) enum Following {
    /// One thread.
    Thread(Thread),
    /// Many threads.
    Threads(Threads),
}

impl Following {
    /// Waits for the next event; none once there is nothing to follow. Cancelling it loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<Told>, Error> {
        match self {
            Self::Thread(thread) => match thread.ready.pop_front() {
                Some(told) => Ok(Some(told)),
                None => thread.next().await,
            },
            Self::Threads(threads) => match threads.ready.pop_front() {
                Some(told) => Ok(Some(told)),
                None => threads.next().await,
            },
        }
    }

    /// How often it was told something that it did not know before: by the log, or by an event that is not logged.
    pub(crate) fn reads(&self) -> u64 {
        match self {
            Self::Thread(thread) => thread.history.reads() + thread.heard,
            Self::Threads(threads) => threads.feed.reads(),
        }
    }

    /// Whether the reader may still follow. While the store is unavailable, the answer is yes.
    pub(crate) async fn may_go_on(&self) -> bool {
        match self {
            Self::Thread(thread) => match thread.engine.standing(thread.id, Verb::Stream).await {
                // An owner who became a visitor begins anew.
                Ok(standing) => standing == thread.standing,
                Err(error) => !matches!(error, Error::ThreadNotFound { .. }),
            },
            // Each entry is checked for itself.
            Self::Threads(_) => true,
        }
    }
}

/// JSON in one line. JSON that the log keeps unchanged may hold line breaks between its tokens, where a space
/// means the same.
fn one_line(value: &impl Serialize) -> Result<String, Error> {
    let json = serde_json::to_string(value).map_err(|error| StoreError::corrupt(error.to_string()))?;
    Ok(if json.contains(['\n', '\r']) { json.replace(['\n', '\r'], " ") } else { json })
}

/// An entry as a reader of this standing sees it. Entries of others from before a fork are shown without their
/// names.
pub(crate) fn shown<'a>(
    entry: &'a HistoryEntry,
    standing: Standing,
    engine: &Engine,
) -> Result<Option<api::HistoryEntry<'a>>, Error> {
    entry.seen_by(standing, &engine.caller().account)
}

/// One thread: its history, then live; and, for its owner, events that are not logged.
pub(crate) struct Thread {
    engine: Engine,
    id: ThreadId,
    standing: Standing,
    history: Subscription,
    emitted: Option<Events>,
    /// Events that were not logged, so far.
    heard: u64,
    shared: Arc<Shared>,
    /// The events of the last entry.
    ready: VecDeque<Told>,
}

impl Thread {
    pub(crate) async fn follow(
        engine: &Engine,
        id: ThreadId,
        standing: Standing,
        after: Version,
        shared: Arc<Shared>,
    ) -> Result<Self, Error> {
        let emitted = match standing {
            Standing::Owner => Some(engine.emitted_alone(id).await?),
            Standing::Visitor => None,
        };
        let history = engine.subscribe(id, after).await?;
        Ok(Self { engine: engine.clone(), id, standing, history, emitted, heard: 0, shared, ready: VecDeque::new() })
    }

    async fn next(&mut self) -> Result<Option<Told>, Error> {
        loop {
            let emitted = async {
                match &mut self.emitted {
                    Some(events) => events.next().await,
                    None => std::future::pending().await,
                }
            };
            let entry = tokio::select! {
                biased;
                entry = self.history.next() => match entry? {
                    Some(entry) => entry,
                    None => return Ok(None),
                },
                emitted = emitted => {
                    self.heard += 1;
                    return self::emitted(&emitted).map(Some);
                }
            };
            if let Some(shown) = shown(&entry, self.standing, &self.engine)? {
                let account = self.engine.caller().account.clone();
                let seen = Seen { place: entry.place, thread: self.id, standing: self.standing, account };
                self.ready = happened(&entry, &shown)?;
                let make = || Ok(Told::new(Some(&entry.version.to_string()), entry.kind.as_str(), &one_line(&shown)?));
                return self.shared.event(seen, make).map(Some);
            }
        }
    }
}

/// An event that follows from an entry, as it is sent beside it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Happened<'a> {
    thread_id: ThreadId,
    version: Version,
    kind: &'static str,
    event: &'static str,
    time: Timestamp,
    actor: &'a Actor,
    data: &'a serde_json::value::RawValue,
}

/// The events that an entry stands for. They have no place of their own, and so no id.
fn happened(entry: &HistoryEntry, shown: &api::HistoryEntry<'_>) -> Result<VecDeque<Told>, Error> {
    let told = |event: ThreadEvent| {
        let (kind, time, actor) = (event.as_str(), shown.time, &shown.actor);
        let (thread_id, version, data) = (shown.thread_id, shown.version, &*shown.data);
        let happened = Happened { thread_id, version, kind, event: kind, time, actor, data };
        Ok(Told::new(None, kind, &one_line(&happened)?))
    };
    entry.events()?.into_iter().map(told).collect()
}

/// An event that is not logged, as it is sent: its data is unchanged.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    thread_id: ThreadId,
    kind: &'static str,
    time: Timestamp,
    actor: &'a Actor,
    event: &'a str,
    data: &'a Json,
}

/// An event that is not logged: it has no place, and so no id.
fn emitted(emitted: &Emitted) -> Result<Told, Error> {
    let told = |kind: &str, data: String| Told::new(None, kind, &data);
    match emitted {
        Emitted::Event(event) => {
            let EmittedEvent { thread, event, data, actor, time } = &**event;
            let shown = Shown { thread_id: *thread, kind: "emitted", time: *time, actor, event, data };
            Ok(told("emitted", one_line(&shown)?))
        }
        Emitted::Missed(missed) => {
            Ok(told("missed", one_line(&serde_json::json!({ "kind": "missed", "events": missed }))?))
        }
    }
}

/// Which threads.
pub(crate) enum Which {
    /// These.
    These(HashSet<ThreadId>),
    /// Those of the caller's own that belong to this project.
    Project(String, HashSet<ThreadId>),
}

/// Many threads, from a place in the feed on.
pub(crate) struct Threads {
    engine: Engine,
    which: Which,
    feed: FeedReader,
    /// The item that was taken from the feed and is not sent yet.
    pending: Option<FeedItem>,
    /// The events of the last entry.
    ready: VecDeque<Told>,
}

impl Threads {
    pub(crate) async fn follow(engine: &Engine, which: Which, after: FeedCursor) -> Result<Self, Error> {
        let feed = engine.feed(after).await?;
        Ok(Self { engine: engine.clone(), which, feed, pending: None, ready: VecDeque::new() })
    }

    /// The next event; none once no thread is left that the reader may follow.
    async fn next(&mut self) -> Result<Option<Told>, Error> {
        loop {
            if matches!(&self.which, Which::These(threads) if threads.is_empty()) {
                return Ok(None);
            }
            let item = match self.pending.take() {
                Some(item) => item,
                None => self.feed.next().await?,
            };
            // The future may be dropped at the next await.
            self.pending = Some(item.clone());
            let told = self.tell(&item).await?;
            self.pending = None;
            if told.is_some() {
                return Ok(told);
            }
        }
    }

    async fn tell(&mut self, item: &FeedItem) -> Result<Option<Told>, Error> {
        if !self.is_wanted(item).await? {
            return Ok(None);
        }
        let id = cursor(item.cursor);
        let (kind, data) = match &item.news {
            FeedNews::Entry(entry) => {
                let place = MessageId { segment: entry.segment, position: entry.position };
                let standing = match self.engine.standing(item.thread, Verb::Stream).await {
                    Ok(standing) => standing,
                    Err(Error::ThreadNotFound { .. }) => return self.lost(item).await,
                    Err(error) => return Err(error),
                };
                // The feed may name a large body by its hash; the history has it whole.
                let found = match self.engine.history(item.thread, place.position.previous(), 1).await {
                    Ok(found) => found.into_iter().find(|entry| entry.place == place),
                    Err(Error::ThreadNotFound { .. }) => None,
                    Err(error) => return Err(error),
                };
                let Some(entry) = found else { return Ok(None) };
                let Some(shown) = shown(&entry, standing, &self.engine)? else { return Ok(None) };
                self.ready = happened(&entry, &shown)?;
                (entry.kind.as_str().to_owned(), one_line(&shown)?)
            }
            FeedNews::Began(segment) => match self.engine.seen(item.thread, Verb::Stream).await {
                // Other branches begin with an entry that says so.
                Ok((thread, _)) if thread.created < segment.created => return Ok(None),
                Ok((thread, _)) => {
                    ("thread_created".to_owned(), one_line(&crate::stream::created(thread.id, thread.created))?)
                }
                Err(Error::ThreadNotFound { .. }) => return Ok(None),
                Err(error) => return Err(error),
            },
            FeedNews::Deleted => {
                let told = serde_json::json!({ "threadId": item.thread, "kind": "thread_deleted" });
                self.leave(item.thread);
                ("thread_deleted".to_owned(), one_line(&told)?)
            }
        };
        Ok(Some(Told::new(Some(&id), &kind, &data)))
    }

    /// A thread that was named, and that the reader may no longer follow: it is told once.
    async fn lost(&mut self, item: &FeedItem) -> Result<Option<Told>, Error> {
        // A thread that was deleted is told at its place in the feed.
        if !matches!(self.which, Which::These(_)) || !self.engine.lives(item.thread).await? {
            return Ok(None);
        }
        self.leave(item.thread);
        let told = serde_json::json!({ "threadId": item.thread, "kind": "thread_lost" });
        Ok(Some(Told::new(Some(&cursor(item.cursor)), "thread_lost", &one_line(&told)?)))
    }

    fn leave(&mut self, thread: ThreadId) {
        if let Which::These(threads) = &mut self.which {
            threads.remove(&thread);
        }
    }

    async fn is_wanted(&mut self, item: &FeedItem) -> Result<bool, Error> {
        match &mut self.which {
            Which::These(threads) => Ok(threads.contains(&item.thread)),
            Which::Project(project, members) => match self.engine.thread(item.thread).await {
                Ok(thread) => {
                    let is_member = thread.record.project_id.as_ref() == Some(project);
                    if is_member && members.len() < MEMBERS_MAX {
                        members.insert(thread.id);
                    }
                    Ok(is_member)
                }
                Err(Error::ThreadNotFound { .. }) => {
                    Ok(matches!(item.news, FeedNews::Deleted) && members.remove(&item.thread))
                }
                Err(error) => Err(error),
            },
        }
    }
}

/// A place in the feed, as clients carry it: with a few digits that tell it from an invented number.
pub(crate) fn cursor(at: FeedCursor) -> String {
    format!("f{:x}-{}", at.0, &check(at.0)[..6])
}

/// The place that a cursor names.
pub(crate) fn place(text: &str) -> Option<FeedCursor> {
    let (at, checked) = text.strip_prefix('f')?.split_once('-')?;
    let at = u64::from_str_radix(at, 16).ok()?;
    (cursor(FeedCursor(at)) == text && check(at).starts_with(checked)).then_some(FeedCursor(at))
}

fn check(at: u64) -> String {
    BlobId::of(format!("feed {at}").as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_one_that_was_given() {
        for at in [0, 1, 4_711, u64::MAX] {
            assert_eq!(place(&cursor(FeedCursor(at))), Some(FeedCursor(at)));
        }
        for text in ["", "5", "f5", "f5-", "f5-000000", "F5-abcdef", "f+5-abcdef", "latest"] {
            assert_eq!(place(text), None, "{text}");
        }
    }
}

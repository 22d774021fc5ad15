//! The source of a stream: one thread's history, or the entries of many threads.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use serde::Serialize;
use threadkeep::model::BlobId;
use threadkeep::{
    Account, Actor, Emitted, EmittedEvent, Engine, Error, Events, Fed, FeedCursor, FeedItem, FeedNews, FeedReader,
    HistoryEntry, Json, MessageId, Standing, StoreError, Subscription, ThreadEvent, ThreadId, Timestamp, Verb, Version,
    standing,
};
use threadkeep_calls as api;

use crate::account_feed::Changes;
use crate::followed_run::Run;
use crate::told::{Seen, Shared, Stream, Told};

/// Threads of a project that a stream remembers, so that it can tell when one is deleted.
const MEMBERS_MAX: usize = 100_000;

/// The source of a stream.
pub(crate) enum Following {
    Thread(Box<Thread>),
    Threads(Box<Threads>),
    Changes(Box<Changes>),
    Run(Box<Run>),
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
            Self::Changes(changes) => changes.next().await,
            Self::Run(run) => run.next().await,
        }
    }

    /// How often it was told something that it did not know before: by the log, or by an event that is not logged.
    pub(crate) fn reads(&self) -> u64 {
        match self {
            Self::Thread(thread) => thread.history.reads() + thread.heard,
            Self::Threads(threads) => threads.feed.reads(),
            Self::Changes(changes) => changes.feed.reads(),
            Self::Run(run) => run.reads(),
        }
    }

    /// The account whose threads it follows.
    pub(crate) fn account(&self) -> &Account {
        match self {
            Self::Thread(thread) => &thread.owner,
            Self::Threads(threads) => &threads.engine.caller().account,
            Self::Changes(changes) => changes.account(),
            Self::Run(run) => run.account(),
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
            Self::Threads(_) | Self::Changes(_) => true,
            Self::Run(run) => run.may_go_on().await,
        }
    }
}

/// JSON in one line. JSON that the log keeps unchanged may hold line breaks between its tokens, where a space
/// means the same.
pub(crate) fn one_line(value: &impl Serialize) -> Result<String, Error> {
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
    /// The account that owns the thread.
    owner: Account,
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
        (id, owner): (ThreadId, Account),
        standing: Standing,
        after: Version,
        shared: Arc<Shared>,
    ) -> Result<Self, Error> {
        let emitted = match standing {
            Standing::Owner => Some(engine.emitted_alone(id).await?),
            Standing::Visitor => None,
        };
        let history = engine.subscribe(id, after).await?;
        Ok(Self {
            engine: engine.clone(),
            id,
            owner,
            standing,
            history,
            emitted,
            heard: 0,
            shared,
            ready: VecDeque::new(),
        })
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
                let (thread, standing, of) = (self.id, self.standing, Stream::One);
                let seen = Seen { place: entry.place, thread, standing, account, of };
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

pub(crate) enum Which {
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
    pending: Option<Arc<Fed>>,
    shared: Arc<Shared>,
    /// Stands in its cursors.
    mark: Arc<str>,
    /// The events of the last entry.
    ready: VecDeque<Told>,
}

impl Threads {
    pub(crate) async fn follow(
        engine: &Engine,
        which: Which,
        after: FeedCursor,
        (shared, mark): (Arc<Shared>, Arc<str>),
    ) -> Result<Self, Error> {
        let feed = engine.feed(after).await?;
        Ok(Self { engine: engine.clone(), which, feed, pending: None, shared, mark, ready: VecDeque::new() })
    }

    /// The next event; none once no thread is left that the reader may follow.
    async fn next(&mut self) -> Result<Option<Told>, Error> {
        loop {
            if matches!(&self.which, Which::These(threads) if threads.is_empty()) {
                return Ok(None);
            }
            let fed = match self.pending.take() {
                Some(fed) => fed,
                None => self.feed.next_fed().await?,
            };
            // The future may be dropped at the next await.
            self.pending = Some(Arc::clone(&fed));
            let told = self.tell(&fed).await?;
            self.pending = None;
            if told.is_some() {
                return Ok(told);
            }
        }
    }

    async fn tell(&mut self, fed: &Fed) -> Result<Option<Told>, Error> {
        let Fed { item, thread } = fed;
        let account = &self.engine.caller().account;
        let thread = thread.as_deref().and_then(|thread| {
            let standing = standing(account, &thread.account, thread.record.visibility, Verb::Stream)?;
            Some((thread, standing))
        });
        if !self.which.wants(item, thread) {
            return Ok(None);
        }
        let id = cursor(item.cursor, &self.mark);
        let (kind, data) = match (&item.news, thread) {
            (FeedNews::Entry(stored), Some((_, standing))) => {
                // The thread is as it was when the entry was read. It may have been unpublished since.
                if standing == Standing::Visitor {
                    match self.engine.standing(item.thread, Verb::Stream).await {
                        Ok(_) => {}
                        Err(Error::ThreadNotFound { .. }) => return self.lost(item).await,
                        Err(error) => return Err(error),
                    }
                }
                let place = MessageId { segment: stored.segment, position: stored.position };
                let seen = Seen { place, thread: item.thread, standing, account: account.clone(), of: Stream::Many };
                if !ThreadEvent::may_follow(stored.kind)
                    && let Some(told) = self.shared.known(&seen)
                {
                    return Ok(Some(told));
                }
                let entry = self.engine.fed_entry(item.thread, stored).await?;
                let Some(shown) = shown(&entry, standing, &self.engine)? else { return Ok(None) };
                self.ready = happened(&entry, &shown)?;
                let make = || Ok(Told::new(Some(&id), entry.kind.as_str(), &one_line(&shown)?));
                return self.shared.event(seen, make).map(Some);
            }
            (FeedNews::Began(segment), Some((thread, _))) if thread.created >= segment.created => {
                ("thread_created", one_line(&crate::stream::created(thread.id, thread.created))?)
            }
            (FeedNews::Entry(_), None) => return self.lost(item).await,
            // Other branches begin with an entry that says so.
            (FeedNews::Began(_), _) => return Ok(None),
            (FeedNews::Deleted, _) => {
                let told = serde_json::json!({ "threadId": item.thread, "kind": "thread_deleted" });
                self.leave(item.thread);
                ("thread_deleted", one_line(&told)?)
            }
        };
        Ok(Some(Told::new(Some(&id), kind, &data)))
    }

    /// A thread that was named, and that the reader may no longer follow: it is told once.
    async fn lost(&mut self, item: &FeedItem) -> Result<Option<Told>, Error> {
        // A thread that was deleted is told at its place in the feed.
        if !matches!(self.which, Which::These(_)) || !self.engine.lives(item.thread).await? {
            return Ok(None);
        }
        self.leave(item.thread);
        let told = serde_json::json!({ "threadId": item.thread, "kind": "thread_lost" });
        Ok(Some(Told::new(Some(&cursor(item.cursor, &self.mark)), "thread_lost", &one_line(&told)?)))
    }

    fn leave(&mut self, thread: ThreadId) {
        if let Which::These(threads) = &mut self.which {
            threads.remove(&thread);
        }
    }
}

impl Which {
    /// Whether an item is of these threads, where `thread` is its thread if the reader sees it.
    fn wants(&mut self, item: &FeedItem, thread: Option<(&threadkeep::Thread, Standing)>) -> bool {
        match self {
            Self::These(threads) => threads.contains(&item.thread),
            Self::Project(project, members) => match thread {
                Some((thread, Standing::Owner)) => {
                    let is_member = thread.record.project_id.as_ref() == Some(project);
                    if is_member && members.len() < MEMBERS_MAX {
                        members.insert(thread.id);
                    }
                    is_member
                }
                Some((_, Standing::Visitor)) | None => {
                    matches!(item.news, FeedNews::Deleted) && members.remove(&item.thread)
                }
            },
        }
    }
}

/// A place in the feed, as clients carry it: with a few digits that tell it from an invented number, and from a place in the
/// feed of a cell with another `mark`.
pub(crate) fn cursor(at: FeedCursor, mark: &str) -> String {
    format!("f{:x}-{}", at.0, &check(at.0, mark)[..6])
}

/// The place that a cursor names in the feed of the cell with this `mark`.
pub(crate) fn place(text: &str, mark: &str) -> Option<FeedCursor> {
    let (at, checked) = text.strip_prefix('f')?.split_once('-')?;
    let at = u64::from_str_radix(at, 16).ok()?;
    (cursor(FeedCursor(at), mark) == text && check(at, mark).starts_with(checked)).then_some(FeedCursor(at))
}

fn check(at: u64, mark: &str) -> String {
    let named = if mark.is_empty() { format!("feed {at}") } else { format!("feed {at} of {mark}") };
    BlobId::of(named.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_one_that_was_given() {
        for at in [0, 1, 4_711, u64::MAX] {
            assert_eq!(place(&cursor(FeedCursor(at), ""), ""), Some(FeedCursor(at)));
            assert_eq!(place(&cursor(FeedCursor(at), "b"), "b"), Some(FeedCursor(at)));
            assert_eq!(place(&cursor(FeedCursor(at), ""), "b"), None, "one of another cell");
        }
        for text in ["", "5", "f5", "f5-", "f5-000000", "F5-abcdef", "f+5-abcdef", "latest"] {
            assert_eq!(place(text, ""), None, "{text}");
        }
    }
}

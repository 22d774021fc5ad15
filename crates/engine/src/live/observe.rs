//! Observing threads: snapshots, throttled, each built once for all who look.
//!
//! One task per engine follows the feed for all observed threads, and builds the snapshots. An observer holds a
//! slot for the newest snapshot: a slow observer misses some in between, never the last, and delays no other
//! observer.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use threadkeep_calls as calls;
use threadkeep_model::{Caller, Damaged, Message, MessageBody, Thread, ThreadId, Version};
use threadkeep_store::{BoxFuture, FeedCursor, MessageFilter, Order, Signal, StoreError};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::ground::engine::Shared;
use crate::ground::policy::Verb;
use crate::{Engine, Error, Page, Result};

/// Items of the feed that are read at once.
const READ_AT_ONCE: usize = 256;
/// Most reads in a row before changed threads are shown: a busy store does not keep observers waiting.
const READS_MAX: usize = 16;

/// A thread at a moment: its head and record, and how its conversation ends. The conversation itself is read by
/// pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The thread. Its head is durable; its record has the updates applied of a read-writer that is open in this
    /// engine.
    pub thread: Thread,
    /// The version, with such updates applied. Where it is the head's version, everything is durable.
    pub version: Version,
    /// How many messages it shows, with such updates applied.
    pub message_count: u64,
    /// The last message that is durable, silent ones included.
    pub last: Option<Message>,
    /// The last message that such a read-writer appended and did not flush yet. It has no id.
    pub pending: Option<MessageBody>,
}

/// An item that an observer receives.
#[derive(Debug, Clone)]
pub enum Observed {
    /// The thread as it is now. All observers get the same one.
    Snapshot(Arc<Snapshot>),
    /// The thread changed, and its present state cannot be read: the store is damaged there. Later changes are
    /// reported again.
    Unreadable(Arc<Error>),
    /// The thread was deleted. Nothing comes after it.
    Deleted,
}

/// Observes a thread. See [`Engine::observe`].
pub struct Observer {
    /// Keeps the engine in being, with the task that builds the snapshots.
    engine: Engine,
    thread: ThreadId,
    shown: Option<watch::Receiver<Option<Observed>>>,
}

/// The threads that are observed.
#[derive(Default)]
pub(crate) struct Watch {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Default)]
struct State {
    threads: HashMap<ThreadId, watch::Sender<Option<Observed>>>,
    /// Threads to look at, besides those that the feed names.
    touched: HashSet<ThreadId>,
    runs: bool,
}

impl Snapshot {
    /// The snapshot as the wire shows it.
    ///
    /// # Errors
    /// If the last message's body on disk is damaged.
    pub fn shown(&self) -> Result<calls::Snapshot<'_>, Damaged> {
        let thread = calls::Thread { message_count: self.message_count, ..calls::Thread::from(&self.thread) };
        let pending_version = Some(self.version).filter(|version| *version > thread.v);
        let last_message = self.last.as_ref().map(calls::Message::new).transpose()?;
        Ok(calls::Snapshot { thread, pending_version, last_message })
    }
}

impl Engine {
    /// Observes a thread in snapshots: one now, then one whenever it has changed, at most one in
    /// [`LiveSettings::observe_throttle`](crate::LiveSettings::observe_throttle), and always the last one. Changes by
    /// other processes are seen too, and updates of a read-writer in this engine before they are flushed.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn observe(&self, thread: ThreadId) -> BoxFuture<'_, Result<Observer>> {
        Box::pin(async move {
            self.head(thread, Verb::Change).await?;
            let live = &self.shared.live();
            let mut state = live.watch.lock();
            let (shown, is_new) = match state.threads.get(&thread) {
                Some(sender) => (sender.subscribe(), false),
                None => {
                    let sender = watch::Sender::new(None);
                    let shown = sender.subscribe();
                    state.threads.insert(thread, sender);
                    state.touched.insert(thread);
                    (shown, true)
                }
            };
            let starts = !std::mem::replace(&mut state.runs, true);
            drop(state);
            let mut observer = Observer { engine: self.clone(), thread, shown: Some(shown) };
            if let Some(shown) = &mut observer.shown {
                shown.mark_changed();
            }
            if starts {
                let run = Arc::clone(&live.watch).run(Arc::downgrade(&self.shared));
                if let Err(error) = live.background.spawn(run) {
                    live.watch.lock().runs = false;
                    return Err(error);
                }
            } else if is_new {
                live.watch.news.notify_one();
            }
            Ok(observer)
        })
    }

    /// The thread as it is now, for all who observe it; none if it is deleted.
    async fn seen_now(&self, thread: ThreadId) -> Result<Option<Snapshot>> {
        let Some(found) = self.shared.stores.store.thread(thread.into()).await? else { return Ok(None) };
        let last = self.last_message(&found).await?;
        let writer = self.shared.live().writer(thread);
        let waiting = writer.and_then(|writer| {
            let state = writer.state();
            (state.queue.len() > 0).then(|| state.queue.seen_in_brief())
        });
        Ok(Some(match waiting {
            Some(mut seen) => Snapshot {
                thread: seen.thread,
                version: seen.version,
                message_count: seen.message_count,
                last,
                pending: seen.pending.pop(),
            },
            None => Snapshot {
                version: found.head.version,
                message_count: found.head.tally.messages(),
                thread: found,
                last,
                pending: None,
            },
        }))
    }

    async fn last_message(&self, thread: &Thread) -> Result<Option<Message>> {
        if thread.head.tally.messages() == 0 {
            return Ok(None);
        }
        if thread.head.tally.last_change == threadkeep_model::Position::START {
            let view = self.view(thread.id, &thread.head, None).await?;
            let ordinals = 0..thread.head.tally.ordinals;
            let last = self.appended(&view, ordinals, MessageFilter::ALL, Order::Descending, 1).await?.pop();
            let Some(entry) = last else { return Ok(None) };
            let json = self.body(&entry).await?;
            return Ok(Some(crate::messages::message(&entry, json)?));
        }
        let own = self.acting_as(Caller { account: thread.account.clone(), ..Caller::local() });
        let page = Page::first().newest_first().everything().limit(1).as_of(thread.head.version);
        Ok(own.messages(thread.id, page).await?.items.pop())
    }
}

impl Observer {
    /// Waits for the next item: the thread as it is now, the first time and whenever it has changed since. None after
    /// [`Observed::Deleted`]. Cancelling it loses nothing.
    ///
    /// While the store is unavailable there are no items; none are missed.
    pub async fn next(&mut self) -> Option<Observed> {
        let shown = self.shown.as_mut()?;
        loop {
            if shown.changed().await.is_err() {
                return None;
            }
            if let Some(observed) = shown.borrow_and_update().clone() {
                return Some(observed);
            }
        }
    }

    /// The thread it observes.
    pub fn thread(&self) -> ThreadId {
        self.thread
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let watch = &self.engine.shared.live().watch;
        let mut state = watch.lock();
        self.shown = None;
        if state.threads.get(&self.thread).is_some_and(|sender| sender.receiver_count() == 0) {
            state.threads.remove(&self.thread);
        }
        if state.threads.is_empty() {
            watch.news.notify_one();
        }
    }
}

/// The task that looks after all observers.
struct Looking {
    signal: Signal,
    cursor: Option<FeedCursor>,
    /// Threads that changed since they were last shown.
    dirty: HashSet<ThreadId>,
    shown: HashMap<ThreadId, Instant>,
    failures: u32,
}

impl Watch {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something changed in `thread` that is not in the log yet.
    pub(crate) fn touch(&self, thread: ThreadId) {
        let mut state = self.lock();
        if state.threads.contains_key(&thread) && state.touched.insert(thread) {
            drop(state);
            self.news.notify_one();
        }
    }

    async fn run(self: Arc<Self>, shared: Weak<Shared>) {
        let Some(signal) = shared.upgrade().map(|shared| shared.stores.feed.signals().any()) else { return };
        let mut looking = Looking { signal, cursor: None, dirty: HashSet::new(), shown: HashMap::new(), failures: 0 };
        loop {
            {
                let mut state = self.lock();
                if state.threads.is_empty() {
                    state.touched.clear();
                    state.runs = false;
                    return;
                }
            }
            let Some(shared) = shared.upgrade() else { return };
            let settings = shared.live().settings.clone();
            let engine = Engine {
                shared,
                caller: Arc::new(Caller::local()),
                writes_to: None,
                envelope: None,
                happened: None,
                validator: None,
                defined: None,
                guarded: false,
                owner: None,
                effects: None,
                embedder: None,
            };
            let next = match self.look(&engine, &mut looking).await {
                Ok(next) => {
                    looking.failures = 0;
                    next
                }
                Err(_) => {
                    looking.failures = looking.failures.saturating_add(1);
                    Some(Instant::now() + settings.pause(looking.failures))
                }
            };
            // While nothing happens, the task keeps nothing in being.
            drop(engine);
            tokio::select! {
                () = looking.signal.wait(), if looking.failures == 0 => {}
                () = self.news.notified() => {}
                () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
        }
    }

    /// Reads the feed, and shows every thread whose turn it is. Returns when the next one's turn is.
    async fn look(&self, engine: &Engine, looking: &mut Looking) -> Result<Option<Instant>> {
        let feed = &engine.shared.stores.feed;
        let mut cursor = match looking.cursor {
            Some(cursor) => cursor,
            // Before anything is shown for the first time, so that nothing falls in between.
            None => *looking.cursor.insert(feed.latest().await?),
        };
        let mut next: Option<Instant> = Some(Instant::now());
        for _ in 0..READS_MAX {
            let items = feed.feed(cursor, READ_AT_ONCE).await?;
            let state = self.lock();
            for item in &items {
                if state.threads.contains_key(&item.thread) {
                    looking.dirty.insert(item.thread);
                }
                cursor = item.cursor;
            }
            looking.cursor = Some(cursor);
            if items.len() < READ_AT_ONCE {
                next = None;
                break;
            }
        }
        {
            let mut state = self.lock();
            looking.dirty.extend(state.touched.drain());
            looking.dirty.retain(|thread| state.threads.contains_key(thread));
            for thread in &looking.dirty {
                // An observer that has seen nothing yet does not wait.
                if state.threads.get(thread).is_some_and(|sender| sender.borrow().is_none()) {
                    looking.shown.remove(thread);
                }
            }
            if looking.shown.len() > 2 * state.threads.len() {
                looking.shown.retain(|thread, _| state.threads.contains_key(thread));
            }
        }
        let throttle = engine.shared.live().settings.observe_throttle;
        for thread in looking.dirty.iter().copied().collect::<Vec<_>>() {
            let due = looking.shown.get(&thread).map(|shown| *shown + throttle);
            if let Some(due) = due.filter(|due| *due > Instant::now()) {
                next = Some(next.map_or(due, |next| next.min(due)));
                continue;
            }
            let observed = match engine.seen_now(thread).await {
                Ok(Some(snapshot)) => Observed::Snapshot(Arc::new(snapshot)),
                Ok(None) | Err(Error::ThreadNotFound { .. }) => Observed::Deleted,
                // One thread that is damaged does not keep the others waiting; a store that is away does.
                Err(error @ Error::Store(StoreError::Corrupt { .. })) => Observed::Unreadable(Arc::new(error)),
                Err(error) => return Err(error),
            };
            looking.dirty.remove(&thread);
            if self.show(thread, observed) {
                looking.shown.insert(thread, Instant::now());
            }
        }
        Ok(next)
    }

    /// Hands the item to all observers of the thread. Returns whether it was new.
    fn show(&self, thread: ThreadId, observed: Observed) -> bool {
        let mut state = self.lock();
        if matches!(observed, Observed::Deleted) {
            if let Some(sender) = state.threads.remove(&thread) {
                sender.send_replace(Some(observed));
            }
            return false;
        }
        let Some(sender) = state.threads.get(&thread) else { return false };
        sender.send_if_modified(|shown| {
            let same = match (&*shown, &observed) {
                (Some(Observed::Snapshot(last)), Observed::Snapshot(now)) => last == now,
                _ => false,
            };
            if !same {
                *shown = Some(observed);
            }
            !same
        })
    }
}

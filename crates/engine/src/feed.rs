//! The feed: everything that happens in the store, in the order of commits, and following it live.
//!
//! The followers of one process share one reader: the first that finds nothing new reads for all, and each of the others
//! takes the items that it lacks from memory. A follower that is further behind reads by itself until it has caught up;
//! a few do so at a time, so that they leave connections to others.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use threadkeep_model::{Body, Code, Invalid, Thread, ThreadId};
use threadkeep_store::{BoxFuture, FeedCursor, FeedItem, FeedNews, Signal, StoreError, StoredEntry};
use tokio::sync::{Mutex, Semaphore};

use crate::{Engine, Error, HistoryEntry, Result};

/// Items that are read at once.
const READ_AT_ONCE: usize = 1_000;
/// Followers that catch up at the same time.
const CATCHING_UP_MAX: usize = 4;
/// The newest items that are kept for followers…
const KEPT_MAX: usize = 4_000;
/// …and the bytes of their bodies together.
const KEPT_BYTES_MAX: usize = 8 << 20;

/// Something that happened, with the thread to which it happened.
#[derive(Debug)]
pub struct Fed {
    /// What happened, and where in the feed it is.
    pub item: FeedItem,
    /// The thread as it was shortly after it was read; none if it was deleted.
    pub thread: Option<Arc<Thread>>,
}

impl Fed {
    /// The bytes of its body.
    fn bytes(&self) -> usize {
        match &self.item.news {
            FeedNews::Entry(entry) => match &entry.body {
                Body::Inline(bytes) => bytes.len(),
                Body::Blob(_) | Body::Absent | Body::Damaged => 0,
            },
            FeedNews::Began(_) | FeedNews::Deleted => 0,
        }
    }
}

/// The reader that all followers of an engine share.
pub(crate) struct SharedFeed {
    /// How many reads have begun.
    begun: AtomicU64,
    newest: Mutex<Newest>,
    catching_up: Semaphore,
}

impl Default for SharedFeed {
    fn default() -> Self {
        Self { begun: AtomicU64::new(0), newest: Mutex::default(), catching_up: Semaphore::new(CATCHING_UP_MAX) }
    }
}

/// The newest items: all those after `from`, up to `to`.
#[derive(Default)]
struct Newest {
    from: FeedCursor,
    to: FeedCursor,
    items: VecDeque<Arc<Fed>>,
    bytes: usize,
    /// The number of the last read that came to its end.
    ended: u64,
    /// Why that read failed, if the store was unavailable.
    failed: Option<String>,
}

impl Newest {
    /// Forgets everything, to begin after `at`.
    fn begin(&mut self, at: FeedCursor) {
        (self.from, self.to, self.bytes) = (at, at, 0);
        self.items.clear();
    }

    fn add(&mut self, read: &[Arc<Fed>]) {
        for fed in read {
            self.to = fed.item.cursor;
            self.bytes += fed.bytes();
            self.items.push_back(Arc::clone(fed));
        }
        while self.items.len() > KEPT_MAX || self.bytes > KEPT_BYTES_MAX {
            let Some(oldest) = self.items.pop_front() else { break };
            self.bytes -= oldest.bytes();
            self.from = oldest.item.cursor;
        }
    }

    /// The items after `after`, which is not before `from`.
    fn after(&self, after: FeedCursor) -> VecDeque<Arc<Fed>> {
        let first = self.items.partition_point(|fed| fed.item.cursor <= after);
        self.items.range(first..).cloned().collect()
    }
}

impl Engine {
    /// Items after `after`; none at the end of the feed. Cancelling it loses nothing.
    async fn fed(&self, after: FeedCursor) -> Result<VecDeque<Arc<Fed>>> {
        let shared: &SharedFeed = self.shared.room();
        let asked = shared.begun.load(Ordering::Acquire);
        let mut newest = shared.newest.lock().await;
        if after < newest.from {
            drop(newest);
            // It is never closed.
            let _turn = shared.catching_up.acquire().await;
            return Ok(self.read_feed(after).await?.into());
        }
        if after < newest.to {
            return Ok(newest.after(after));
        }
        // A read that began after this question answers it.
        if newest.ended > asked {
            return match &newest.failed {
                None => Ok(VecDeque::new()),
                Some(what) => Err(StoreError::Unavailable { what: what.clone() }.into()),
            };
        }
        if after > newest.to {
            newest.begin(after);
        }
        let number = shared.begun.fetch_add(1, Ordering::AcqRel) + 1;
        let read = self.read_feed(after).await;
        newest.failed = match &read {
            Ok(read) => {
                newest.add(read);
                None
            }
            Err(Error::Store(StoreError::Unavailable { what })) => Some(what.clone()),
            // The others find out by themselves.
            Err(_) => return Ok(read?.into()),
        };
        newest.ended = number;
        Ok(read?.into())
    }

    async fn read_feed(&self, after: FeedCursor) -> Result<Vec<Arc<Fed>>> {
        let items = self.shared.stores.feed.feed(after, READ_AT_ONCE).await?;
        let named: BTreeSet<ThreadId> = items.iter().map(|item| item.thread).collect();
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.shared.stores.store.threads(named.into_iter().collect()).await?;
        let threads: HashMap<ThreadId, Arc<Thread>> =
            found.into_iter().map(|thread| (thread.id, Arc::new(thread))).collect();
        let fed = |item: FeedItem| Arc::new(Fed { thread: threads.get(&item.thread).cloned(), item });
        Ok(items.into_iter().map(fed).collect())
    }

    /// Follows every entry of every account in the store after `after`: catches up, then live.
    ///
    /// # Errors
    /// A cursor in the future.
    pub fn feed(&self, after: FeedCursor) -> BoxFuture<'_, Result<FeedReader>> {
        Box::pin(async move {
            let signal = self.shared.stores.feed.signals().any();
            if after > self.feed_latest().await? {
                let rule = "lies in the future of this store; begin without one";
                return Err(Invalid::new(Code::InvalidCursor, "cursor", rule).into());
            }
            Ok(FeedReader { engine: self.clone(), after, signal, ready: VecDeque::new(), reads: 0 })
        })
    }

    /// The place of the last entry in the store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn feed_latest(&self) -> BoxFuture<'_, Result<FeedCursor>> {
        Box::pin(async move { Ok(self.shared.stores.feed.latest().await?) })
    }

    /// An entry of the feed, as the history of its thread shows it. The caller checks who may see it.
    ///
    /// # Errors
    /// If a large body cannot be read.
    pub fn fed_entry<'a>(&'a self, thread: ThreadId, entry: &'a StoredEntry) -> BoxFuture<'a, Result<HistoryEntry>> {
        Box::pin(async move { self.historic(thread, entry.clone()).await })
    }
}

/// Follows everything that happens in the store, in the order of commits.
pub struct FeedReader {
    engine: Engine,
    after: FeedCursor,
    signal: Signal,
    ready: VecDeque<Arc<Fed>>,
    reads: u64,
}

impl FeedReader {
    /// Waits for the next entry: each comes once, in order. Cancelling it loses nothing.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn next(&mut self) -> Result<FeedItem> {
        self.next_fed().await.map(|fed| fed.item.clone())
    }

    /// The same with the thread, which costs no read of its own.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn next_fed(&mut self) -> BoxFuture<'_, Result<Arc<Fed>>> {
        Box::pin(async move {
            loop {
                match self.read().await? {
                    Some(fed) => return Ok(fed),
                    None => self.news().await,
                }
            }
        })
    }

    /// The next entry if it is already committed; none at the end of the log.
    ///
    /// # Errors
    /// If the store cannot be read now; nothing is lost by asking again.
    pub fn next_so_far(&mut self) -> BoxFuture<'_, Result<Option<FeedItem>>> {
        Box::pin(async move { Ok(self.read().await?.map(|fed| fed.item.clone())) })
    }

    async fn read(&mut self) -> Result<Option<Arc<Fed>>> {
        if self.ready.is_empty() {
            self.ready = self.engine.fed(self.after).await?;
            self.reads += 1;
        }
        let next = self.ready.pop_front();
        if let Some(fed) = &next {
            self.after = fed.item.cursor;
        }
        Ok(next)
    }

    /// Whether it gave everything that it has read.
    pub fn is_drained(&self) -> bool {
        self.ready.is_empty()
    }

    /// How often it was given items: what it gives was read by then.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// Resolves when there may be more. It is a hint: call [`FeedReader::next_so_far`] to read the entries.
    pub async fn news(&mut self) {
        self.signal.wait().await;
    }

    /// The place of the last item it gave: where to resume.
    pub fn cursor(&self) -> FeedCursor {
        self.after
    }
}

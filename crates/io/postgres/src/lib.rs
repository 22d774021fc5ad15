//! Threads shared by many servers: the PostgreSQL store.
//!
//! Any number of processes may use one database at once, with the same promises as the store in one file. A plain
//! append is one function call (`append.sql`), and all that wait at that moment share it; anything else is a
//! transaction of two round trips that keeps the model's own rules. Who writes holds a lock on each thread it writes
//! to. Only what cannot change is remembered between calls: who wrote entries. `replicas` says which reads may go to a
//! standby.
//!
//! The store has a runtime of its own for its connections, so it can be used from any other; or it is lent one
//! ([`PostgresStore::open_here`]).

mod append;
mod blobs;
mod bound;
mod call;
mod cells;
mod clock;
mod codec;
mod commit;
mod connect;
mod derived;
mod driven;
mod error;
mod feed;
mod fences;
mod filing;
mod fork;
mod import;
mod items;
mod keys;
mod learnt;
mod lease;
mod lists;
mod news;
mod processes;
mod quick;
mod read;
mod rebuild;
mod registry;
mod replicas;
mod roots;
mod schema;
mod shelves;
mod snapshot;
mod statement;
mod tables;
mod terms;
mod tls;
mod upkeep;
mod url;
mod visit;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use threadkeep_model::{
    Account, Checkpoint, Commit, Committed, Head, ItemKind, MessageId, Position, QueuedId, Relation, Segment,
    SegmentId, Thread, ThreadCommit, ThreadId, ThreadName, Visibility,
};
use threadkeep_store::{
    Behind, BoxFuture, CellPage, CellQuery, ChangeQuery, ChangeRow, EntryQuery, Feed, FeedCursor, FeedItem, Item,
    ItemList, ItemQuery, ItemsByKind, KeyQuery, LeftOutQuery, ListQuery, MessageQuery, Related, Remembered, Result,
    Signals, Store, StoreError, StoredEntry, Total,
};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Notify, mpsc, watch};

use crate::append::{Append, Appends};
use crate::bound::Leaves;
pub use crate::clock::Clock;
use crate::clock::StoreTime;
use crate::codec::{Actors, key};
use crate::connect::{Connections, filing_lock, upkeep_lock};
use crate::filing::Filer;
use crate::fork::Fork;
use crate::quick::{Lines, Listed};
use crate::roots::Roots;
pub use crate::url::PostgresUrl;
pub use crate::visit::visit;

/// How often a process that follows threads looks for news, beside being told: the most by which a lost notification
/// delays them.
pub const POLL_MS: u64 = 250;
/// Threads of the store's own runtime.
const WORKERS: usize = 2;
/// How often a read is tried again that met a connection on which the server hung up.
const READ_AGAIN_MAX: usize = 3;
/// News that may wait to be told to other processes.
const NEWS_MAX: usize = 4_096;

/// A store in a PostgreSQL database.
pub struct PostgresStore {
    shared: Arc<Shared>,
    /// There unless it was lent one.
    _runtime: Option<OwnRuntime>,
}

/// A runtime that may be dropped inside another one, where waiting for its end is not allowed.
struct OwnRuntime(Option<Runtime>);

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

struct Shared {
    runtime: Handle,
    connections: Connections,
    actors: Actors,
    appends: Appends,
    lines: Lines,
    listed: Listed,
    roots: Roots,
    signals: Signals,
    clock: Clock,
    /// What time the server has.
    time: StoreTime,
    /// The lock of which every writer has a share.
    upkeep_lock: i64,
    /// The lock of those who write terms of threads that they did not make or change.
    filing_lock: i64,
    filer: Filer,
    news: mpsc::Sender<ThreadId>,
    /// Tells our own notifications from those of others.
    process: u64,
    /// The place in the feed below which the pulse saw everything, and below which it told every thread.
    shown: AtomicI64,
    polled: AtomicI64,
    /// The connection for the pulse and for notifications.
    side: news::Side,
    /// Wakes the pulse: a reader of the feed waits for commits that are under way.
    held_up: Arc<Notify>,
    /// Whether the server answers nothing.
    silent: watch::Sender<bool>,
}

impl PostgresStore {
    /// Opens the store at `url`, and makes its tables if they are not there. Blocks until the server answered.
    ///
    /// # Errors
    /// [`StoreError::Unauthorized`], [`StoreError::NotFound`] and [`StoreError::Forbidden`] if the server refuses the
    /// user, has no such database, or does not let the user make tables; [`StoreError::Unavailable`] if it cannot be
    /// reached; [`StoreError::Newer`] if a newer program made the store; [`StoreError::CannotOpen`] for anything else.
    pub fn open(url: PostgresUrl) -> Result<Self> {
        Self::open_with(url, Clock::Server)
    }

    /// The same, with everything that expires judged by `clock`.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub fn open_with(url: PostgresUrl, clock: Clock) -> Result<Self> {
        let shown = url.to_string();
        let cannot = |what: String| StoreError::CannotOpen { path: shown.clone(), what };
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(WORKERS).thread_name("threadkeep-postgres").enable_all().build();
        let runtime = runtime.map_err(|error| cannot(format!("no runtime can be started: {error}")))?;
        let handle = runtime.handle().clone();
        let runtime = OwnRuntime(Some(runtime));
        // On a thread of its own: the caller may be inside another runtime.
        let opening = std::thread::scope(|scope| scope.spawn(|| handle.block_on(Shared::open(url, clock))).join());
        let shared = opening.map_err(|_| cannot("opening it panicked".into()))??;
        Ok(Self { shared, _runtime: Some(runtime) })
    }

    /// The same, on the runtime in which it is awaited, which needs its I/O and its time enabled. That saves the
    /// switches between that runtime and one of the store's own. The store can be used while the runtime lives.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub async fn open_here(url: PostgresUrl) -> Result<Self> {
        Ok(Self { shared: Shared::open(url, Clock::Server).await?, _runtime: None })
    }

    /// Which server, database and schema; shown without the password.
    pub fn url(&self) -> &PostgresUrl {
        &self.shared.connections.url
    }
}

impl Shared {
    /// Opens the store on the runtime in which it is awaited.
    async fn open(url: PostgresUrl, clock: Clock) -> Result<Arc<Self>> {
        let (upkeep_lock, filing_lock) = (upkeep_lock(&url.schema), filing_lock(&url.schema));
        let (connections, time) = Connections::open(url).await?;
        let (news, heard) = mpsc::channel(NEWS_MAX);
        let (filer, looks) = Filer::new();
        let nanos = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.subsec_nanos());
        let shared = Arc::new(Self {
            runtime: Handle::current(),
            appends: Appends::on(connections.url.lines()),
            actors: Actors::on(&connections.timeline),
            listed: Listed::on(&connections.timeline),
            roots: Roots::on(&connections.timeline),
            connections,
            lines: Lines::default(),
            signals: Signals::default(),
            clock,
            time,
            upkeep_lock,
            filing_lock,
            filer,
            news,
            process: u64::from(std::process::id()) << 32 | u64::from(nanos),
            shown: AtomicI64::new(-1),
            polled: AtomicI64::new(-1),
            side: news::Side::default(),
            held_up: Arc::default(),
            silent: watch::Sender::new(false),
        });
        news::start(&shared, heard);
        tokio::spawn(filing::keep_filing(Arc::downgrade(&shared), looks));
        Ok(shared)
    }
}

impl Shared {
    /// Tells followers of all threads of a commit, and the filer of those that may wait from now on.
    fn tell_all(&self, commit: &Commit, committed: &Committed) {
        fail::fail_point!("postgres-after-commit", |_| std::process::abort());
        for thread in &commit.threads {
            self.tell(thread.thread());
            match thread {
                // A repeated commit wrote nothing.
                ThreadCommit::Create(_) | ThreadCommit::Write(_) if committed.replayed => {}
                ThreadCommit::Create(create) => self.filer.arrived(key(create.thread)),
                ThreadCommit::Write(write) if write.entries.is_empty() => {}
                ThreadCommit::Write(write) => self.changed_at(key(write.thread), commit.time.minute()),
                ThreadCommit::Delete { .. } => {}
            }
        }
    }

    /// A thread changed in this minute, or in a later one, and is listed there.
    fn changed_at(&self, thread: i64, minute: i64) {
        if self.listed.note(thread, minute) {
            self.filer.arrived(thread);
        }
    }
}

/// Runs a read on a connection of the pool; again on another one if the server hung up meanwhile.
macro_rules! reading {
    ($store:expr, |$client:ident, $shared:ident| $read:expr) => {{
        let $shared = Arc::clone(&$store.shared);
        $store.here($crate::bound::Leaves::Nothing, async move {
            let mut again = $crate::READ_AGAIN_MAX;
            loop {
                let $client = $shared.connections.get().await?;
                match $read.await {
                    Err(_) if again > 0 && $client.is_closed() => again -= 1,
                    done => return done,
                }
            }
        })
    }};
}
pub(crate) use reading;

impl Store for PostgresStore {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed>> {
        if Append::is_one(&commit) {
            return self.shared.append(Append(commit));
        }
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            if Fork::of(&commit).is_some() {
                let (quick, fork) = (Arc::clone(&shared), commit.clone());
                let forked = self.here(Leaves::Perhaps, async move { quick.quick_fork(&fork).await });
                if let Some(committed) = forked.await? {
                    shared.tell_all(&commit, &committed);
                    return Ok(committed);
                }
            }
            self.run_write(async move {
                let committed = commit::apply(&shared, &commit).await?;
                shared.tell_all(&commit, &committed);
                Ok(committed)
            })
            .await
        })
    }

    fn remembered(&self, query: KeyQuery) -> BoxFuture<'_, Result<Option<Remembered>>> {
        reading!(self, |client, shared| keys::remembered(&client, &query))
    }

    fn thread(&self, name: ThreadName) -> BoxFuture<'_, Result<Option<Thread>>> {
        reading!(self, |client, shared| shared.roots.thread(&client, name))
    }

    fn threads(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<Thread>>> {
        reading!(self, |client, shared| read::threads(&client, &threads))
    }

    fn owners(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<(ThreadId, Account, Visibility)>>> {
        reading!(self, |client, shared| read::owners(&client, &threads))
    }

    fn head(&self, thread: ThreadId) -> BoxFuture<'_, Result<Option<Head>>> {
        reading!(self, |client, shared| read::head(&client, thread))
    }

    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<Thread>>> {
        if query.is_expensive() {
            return self.run_while_wanted(move |client| {
                let query = query.clone();
                async move { lists::list(&client, query).await }
            });
        }
        reading!(self, |client, shared| lists::list(&client, query.clone()))
    }

    fn count(&self, query: ListQuery) -> BoxFuture<'_, Result<Total>> {
        self.run_while_wanted(move |client| {
            let query = query.clone();
            async move { lists::count(&client, query).await }
        })
    }

    fn chain(&self, segment: SegmentId, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        if let Some(root) = self.shared.roots.chain(segment) {
            return Box::pin(std::future::ready(Ok(root)));
        }
        reading!(self, |client, shared| read::chain(&client, segment, limit))
    }

    fn chains(&self, segments: Vec<SegmentId>, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        reading!(self, |client, shared| read::chains(&client, &segments, limit))
    }

    fn segments(&self, thread: ThreadId, at: Position, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        reading!(self, |client, shared| read::segments(&client, thread, at, limit))
    }

    fn entries(&self, query: EntryQuery) -> BoxFuture<'_, Result<Vec<StoredEntry>>> {
        reading!(self, |client, shared| read::entries(&client, &shared.actors, &query))
    }

    fn messages(&self, query: MessageQuery) -> BoxFuture<'_, Result<Vec<StoredEntry>>> {
        reading!(self, |client, shared| read::messages(&client, &shared.actors, &query))
    }

    fn left_out(&self, query: LeftOutQuery) -> BoxFuture<'_, Result<Vec<u64>>> {
        if self.shared.roots.leave_none_out(&query) {
            return Box::pin(std::future::ready(Ok(Vec::new())));
        }
        reading!(self, |client, shared| read::left_out(&client, &query))
    }

    fn changes(&self, query: ChangeQuery) -> BoxFuture<'_, Result<Vec<ChangeRow>>> {
        reading!(self, |client, shared| read::changes(&client, &query))
    }

    fn relations(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<Vec<Related>>>> {
        reading!(self, |client, shared| read::relations(&client, &threads))
    }

    fn parents(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<(Relation, Head)>>> {
        reading!(self, |client, shared| read::parents(&client, &threads))
    }

    fn checkpoints(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Checkpoint>>> {
        reading!(self, |client, shared| read::checkpoints(&client, thread))
    }

    fn items(&self, query: ItemQuery) -> BoxFuture<'_, Result<Vec<Item>>> {
        reading!(self, |client, shared| items::items(&client, &shared.actors, &query))
    }

    fn items_of(&self, threads: Vec<ThreadId>, kinds: Vec<ItemKind>) -> BoxFuture<'_, Result<Vec<ItemsByKind>>> {
        reading!(self, |client, shared| items::of_kinds(&client, &shared.actors, &threads, &kinds))
    }

    fn count_items(&self, query: ItemQuery) -> BoxFuture<'_, Result<usize>> {
        reading!(self, |client, shared| items::count(&client, &query))
    }

    fn item(&self, kind: ItemKind, key: String) -> BoxFuture<'_, Result<Option<(ThreadId, Item)>>> {
        reading!(self, |client, shared| items::one(&client, &shared.actors, kind, &key))
    }

    fn all_items(&self, list: ItemList) -> BoxFuture<'_, Result<Vec<(ThreadId, Item)>>> {
        reading!(self, |client, shared| items::all(&client, &shared.actors, &list))
    }

    fn cells(&self, query: CellQuery) -> BoxFuture<'_, Result<CellPage>> {
        reading!(self, |client, shared| cells::cells(&client, &query))
    }

    fn delivered(&self, queued: QueuedId) -> BoxFuture<'_, Result<Option<MessageId>>> {
        reading!(self, |client, shared| read::delivered(&client, queued))
    }

    fn subagents(&self, main: ThreadId) -> BoxFuture<'_, Result<Vec<Thread>>> {
        reading!(self, |client, shared| read::subagents(&client, main))
    }
}

impl Feed for PostgresStore {
    fn feed(&self, after: FeedCursor, limit: usize) -> BoxFuture<'_, Result<Vec<FeedItem>>> {
        reading!(self, |client, shared| feed::feed(&client, &shared, after, limit))
    }

    fn latest(&self) -> BoxFuture<'_, Result<FeedCursor>> {
        reading!(self, |client, shared| feed::latest(&client, &shared))
    }

    fn behind(&self, after: FeedCursor, limit: usize) -> BoxFuture<'_, Result<Behind>> {
        reading!(self, |client, shared| feed::behind(&client, after, limit))
    }

    fn signals(&self) -> &Signals {
        &self.shared.signals
    }
}

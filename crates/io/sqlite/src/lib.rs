//! Threads in one file: the SQLite store.
//!
//! One thread writes: it takes all commits waiting at that moment into one transaction and one sync.
//! Readers have connections of their own and are never blocked by it. The write-ahead log is synced before a commit
//! is acknowledged (`synchronous=FULL`), so what was acknowledged survives a power cut. Several processes may use the
//! file at once; each notices the writes of the others within [`FOREIGN_POLL_MS`] milliseconds.

mod aside;
mod blobs;
mod cells;
mod codec;
mod commit;
mod error;
mod fences;
mod filing;
mod gc;
mod items;
mod keys;
mod lease;
mod list_sql;
mod lists;
mod processes;
mod read;
mod registry;
mod relations;
mod schema;
mod shelves;
mod snapshot;
mod tables;
mod terms;
mod upkeep;
mod writer;

use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags};
use threadkeep_model::{
    Account, Checkpoint, Commit, Committed, Head, ItemKind, MessageId, Position, QueuedId, Relation, Segment,
    SegmentId, Thread, ThreadId, ThreadName, Visibility,
};
use threadkeep_store::{
    BoxFuture, CellPage, CellQuery, ChangeQuery, ChangeRow, EntryQuery, Feed, FeedCursor, FeedItem, Item, ItemList,
    ItemQuery, ItemsByKind, KeyQuery, LeftOutQuery, ListQuery, MessageQuery, Related, Remembered, Result, Signals,
    Store, StoreError, StoredEntry, Total, private,
};
use tokio::sync::{mpsc, oneshot};

use crate::codec::Actors;
use crate::error::{CannotOpen, from_sqlite};
use crate::writer::{Job, WAITING_MAX, Writer, checkpoint, wal_path};

/// How often a process that follows threads looks for the writes of other processes.
pub const FOREIGN_POLL_MS: u64 = 25;
const IDLE_POLL_MS: u64 = 250;
/// How long a statement waits for another process to finish writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections kept for reading.
const IDLE_READERS_MAX: usize = 4;
const READER_CACHE_KIB: i64 = 1_024;
const WRITER_CACHE_KIB: i64 = 2_560;
/// Memory for pages while many threads are made at once.
const BULK_CACHE_KIB: i64 = 40 << 10;

/// The error of the system when a disk fails.
#[cfg(unix)]
const EIO: i32 = 5;

/// A store in one file.
pub struct SqliteStore {
    shared: Arc<Shared>,
    jobs: Option<mpsc::Sender<Job>>,
    stop_watching: Option<SyncSender<()>>,
    watcher: Option<JoinHandle<()>>,
    writer: Option<JoinHandle<()>>,
    checkpointer: Option<JoinHandle<()>>,
}

struct Shared {
    path: PathBuf,
    readers: Mutex<Vec<Connection>>,
    actors: Actors,
    signals: Arc<Signals>,
    failed: Arc<AtomicBool>,
    index: shelves::IndexFile,
}

impl SqliteStore {
    /// Opens the store in the file `path`, and makes it if it is not there. Its folder is made too. Only their owner may
    /// use what is made.
    ///
    /// # Errors
    /// [`StoreError::CannotOpen`] if the file is no store, is damaged or cannot be written to,
    /// [`StoreError::Newer`] if a newer program made it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let shown = path.display().to_string();
        let cannot = |what: String| StoreError::CannotOpen { path: shown.clone(), what };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let is_new = !path.exists();
            make_folder(folder, is_new).map_err(|error| cannot(format!("its folder cannot be made: {error}")))?;
        }
        refuse_unusable(&path)?;
        let mut connection = connect_or_make(&path)?;
        schema::migrate(&mut connection, &shown)?;
        prepare_writer(&connection).cannot_open(&shown)?;
        let last_told = tables::last_seq(&connection).map_err(|error| cannot(error.to_string()))?;
        let data_version = connection.query_row("PRAGMA data_version", [], |row| row.get(0)).cannot_open(&shown)?;

        let shared = Arc::new(Shared {
            path: path.clone(),
            readers: Mutex::new(Vec::new()),
            actors: Actors::default(),
            signals: Arc::new(Signals::default()),
            failed: Arc::new(AtomicBool::new(false)),
            index: shelves::IndexFile::default(),
        });
        let told = Arc::new(AtomicI64::new(last_told));
        let log_pages = Arc::new(AtomicI32::new(0));
        let count = Arc::clone(&log_pages);
        let counted = connection.wal_hook(Some(move |_: &mut Wal, pages| {
            count.store(pages, Ordering::Relaxed);
            Ok(())
        }));
        counted.cannot_open(&shown)?;
        let (checkpointer, checkpoints) = sync_channel(1);
        let (jobs, waiting) = mpsc::channel(WAITING_MAX);
        let writer = Writer {
            connection,
            signals: Arc::clone(&shared.signals),
            failed: Arc::clone(&shared.failed),
            checkpointer,
            known: commit::Known::default(),
            data_version,
            log_pages,
            copied_pages: 0,
            told: Arc::clone(&told),
            is_stuck: false,
            has_room: None,
        };
        let side = connect(&path)?;
        let failed = Arc::clone(&shared.failed);
        let (stop_watching, stopped) = sync_channel(0);
        let watched = connect_reader(&path)?;
        let signals = Arc::clone(&shared.signals);
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new()
                .name(format!("threadkeep-{name}"))
                .spawn(work)
                .map_err(|error| cannot(format!("a thread cannot be started: {error}")))
        };
        let copy = move || checkpoints.iter().for_each(|()| checkpoint(&side, &failed));
        let writer = spawn("writer", Box::new(move || writer.run(waiting)))?;
        let checkpointer = spawn("checkpoint", Box::new(copy))?;
        let watcher = spawn("watcher", Box::new(move || watch(&watched, &signals, &told, &stopped)))?;
        Ok(Self {
            shared,
            jobs: Some(jobs),
            stop_watching: Some(stop_watching),
            watcher: Some(watcher),
            writer: Some(writer),
            checkpointer: Some(checkpointer),
        })
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    fn read<'a, T: Send + 'a>(
        &'a self,
        read: impl FnOnce(&Connection, &Actors) -> Result<T>,
    ) -> BoxFuture<'a, Result<T>> {
        // Reads are short, bounded by a page, and mostly served from memory: on the caller's own thread they cost
        // less than a hop to another one.
        Box::pin(ready(self.shared.read(|connection, actors| read(connection, actors))))
    }

    async fn submit(&self, job: Job) -> Result<()> {
        let jobs = self.jobs.as_ref().ok_or_else(stopped)?;
        jobs.send(job).await.map_err(|_| stopped())
    }
}

impl Shared {
    fn read<T>(&self, read: impl FnOnce(&mut Connection, &Actors) -> Result<T>) -> Result<T> {
        let idle = self.readers.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => connect_reader(&self.path)?,
        };
        let result = read(&mut connection, &self.actors);
        let mut idle = self.readers.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if idle.len() < IDLE_READERS_MAX {
            idle.push(connection);
        }
        result
    }
}

fn stopped() -> StoreError {
    StoreError::Unavailable { what: "its writer has stopped".into() }
}

impl Drop for SqliteStore {
    /// Closes one connection after the other: the last one copies the write-ahead log into the file and removes it. It
    /// can do so only alone.
    fn drop(&mut self) {
        self.shared.readers.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
        self.shared.index.close();
        self.stop_watching = None;
        // A thread that panicked has said so already.
        drop(self.watcher.take().map(JoinHandle::join));
        // The writer ends when its last sender is gone, and the checkpointer when the writer is.
        self.jobs = None;
        drop(self.writer.take().map(JoinHandle::join));
        drop(self.checkpointer.take().map(JoinHandle::join));
    }
}

/// Makes a folder and its missing parents so that they survive a power cut, with their content: a name is safe once its
/// folder was synced. SQLite syncs only the folder of its own files. An existing folder without a store may be left
/// over from a program that crashed before the sync.
fn make_folder(folder: &Path, store_is_new: bool) -> std::io::Result<()> {
    let missing = folder.ancestors().take_while(|above| !above.exists()).count();
    private::make_folder(folder)?;
    let made = missing.max(usize::from(store_is_new));
    #[cfg(unix)]
    for name in folder.ancestors().take(made) {
        let Some(above) = name.parent() else { break };
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        // Without the right to read a folder, or a disk that can sync one, the store works as before.
        match std::fs::File::open(above).and_then(|above| above.sync_all()) {
            Err(error) if error.raw_os_error() == Some(EIO) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Connects to a file, which is made for its owner alone if it is not there. SQLite gives the files beside it the same
/// mode; by itself it would make a file that others can read.
fn connect_or_make(path: &Path) -> Result<Connection> {
    // A folder or a file that cannot be opened: SQLite says so in its own words.
    drop(private::file().create(true).truncate(false).open(path));
    connect(path)
}

fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let shown = path.display().to_string();
    let connection = Connection::open_with_flags(path, flags).cannot_open(&shown)?;
    connection.busy_timeout(BUSY_TIMEOUT).cannot_open(&shown)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Statements keep their plan: otherwise SQLite compiles them anew whenever a bound value might suggest another one.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).cannot_open(&shown)?;
    Ok(connection)
}

fn connect_reader(path: &Path) -> Result<Connection> {
    let connection = connect(path)?;
    connection
        .execute_batch(&format!(
            "PRAGMA query_only = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -{READER_CACHE_KIB};"
        ))
        .map_err(from_sqlite)?;
    Ok(connection)
}

fn prepare_writer(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.execute_batch(&format!(
        "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA mmap_size = 0;
         PRAGMA secure_delete = ON; PRAGMA cache_size = -{WRITER_CACHE_KIB}; PRAGMA temp_store = MEMORY;"
    ))
}

/// Refuses a file that SQLite would open and then stumble over.
fn refuse_unusable(path: &Path) -> Result<()> {
    let cannot = |what: String| Err(StoreError::CannotOpen { path: path.display().to_string(), what });
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(()) };
    if metadata.is_dir() {
        return cannot("it is a folder; name a file in it".into());
    }
    if metadata.permissions().readonly() {
        return cannot("the file cannot be written to".into());
    }
    let has_log = std::fs::metadata(wal_path(path)).is_ok_and(|log| log.len() > 0);
    if metadata.len() == 0 || has_log {
        return Ok(());
    }
    let mut header = [0; 100];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut header));
    if read.is_err() || !header.starts_with(b"SQLite format 3\0") {
        return cannot("it is not a Threadkeep store (no SQLite database at all)".into());
    }
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    let pages = u64::from(u32::from_be_bytes([header[28], header[29], header[30], header[31]]));
    if metadata.len() < page * pages {
        let (is, should) = (metadata.len(), page * pages);
        return cannot(format!("the file is cut off: it has {is} of {should} bytes; restore it from a backup"));
    }
    Ok(())
}

/// Looks for writes of other processes while a follower waits, and wakes the followers.
fn watch(connection: &Connection, signals: &Signals, told: &AtomicI64, stop: &std::sync::mpsc::Receiver<()>) {
    let mut interval = Duration::from_millis(IDLE_POLL_MS);
    while stop.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        let watched = signals.is_watched();
        interval = Duration::from_millis(if watched { FOREIGN_POLL_MS } else { IDLE_POLL_MS });
        // If the read fails, the next round tries again.
        let Ok(now) = tables::last_seq(connection) else { continue };
        if told.fetch_max(now, Ordering::AcqRel) < now && watched {
            signals.tell_all();
        }
    }
}

impl Store for SqliteStore {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            self.submit(Job::Commit(commit, reply)).await?;
            answer.await.map_err(|_| stopped())?
        })
    }

    fn remembered(&self, query: KeyQuery) -> BoxFuture<'_, Result<Option<Remembered>>> {
        self.read(|connection, _| keys::remembered(connection, &query))
    }

    fn thread(&self, name: ThreadName) -> BoxFuture<'_, Result<Option<Thread>>> {
        self.read(|connection, _| read::thread(connection, name))
    }

    fn threads(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.read(|connection, _| {
            let found = threads.iter().map(|id| read::thread(connection, (*id).into()));
            found.filter_map(Result::transpose).collect()
        })
    }

    fn owners(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<(ThreadId, Account, Visibility)>>> {
        self.read(|connection, _| read::owners(connection, &threads))
    }

    fn head(&self, thread: ThreadId) -> BoxFuture<'_, Result<Option<Head>>> {
        self.read(|connection, _| read::head(connection, thread))
    }

    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<Thread>>> {
        if query.is_expensive() {
            return self.read_aside(|connection, _| lists::list(connection, query));
        }
        self.read(|connection, _| lists::list(connection, query))
    }

    fn count(&self, query: ListQuery) -> BoxFuture<'_, Result<Total>> {
        self.read_aside(|connection, _| lists::count(connection, query))
    }

    fn chain(&self, segment: SegmentId, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        self.read(|connection, _| read::chain(connection, segment, limit))
    }

    fn chains(&self, segments: Vec<SegmentId>, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        self.read(|connection, _| read::chains(connection, &segments, limit))
    }

    fn segments(&self, thread: ThreadId, at: Position, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        self.read(|connection, _| read::segments(connection, thread, at, limit))
    }

    fn entries(&self, query: EntryQuery) -> BoxFuture<'_, Result<Vec<StoredEntry>>> {
        self.read(|connection, actors| read::entries(connection, actors, &query))
    }

    fn messages(&self, query: MessageQuery) -> BoxFuture<'_, Result<Vec<StoredEntry>>> {
        self.read(|connection, actors| read::messages(connection, actors, &query))
    }

    fn left_out(&self, query: LeftOutQuery) -> BoxFuture<'_, Result<Vec<u64>>> {
        self.read(|connection, _| read::left_out(connection, &query))
    }

    fn changes(&self, query: ChangeQuery) -> BoxFuture<'_, Result<Vec<ChangeRow>>> {
        self.read(|connection, _| read::changes(connection, &query))
    }

    fn relations(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<Vec<Related>>>> {
        self.read(|connection, _| relations::relations(connection, &threads))
    }

    fn parents(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<(Relation, Head)>>> {
        self.read(|connection, _| relations::parents(connection, &threads))
    }

    fn checkpoints(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Checkpoint>>> {
        self.read(|connection, _| read::checkpoints(connection, thread))
    }

    fn items(&self, query: ItemQuery) -> BoxFuture<'_, Result<Vec<Item>>> {
        self.read(|connection, actors| items::items(connection, actors, &query))
    }

    fn items_of(&self, threads: Vec<ThreadId>, kinds: Vec<ItemKind>) -> BoxFuture<'_, Result<Vec<ItemsByKind>>> {
        self.read(|connection, actors| {
            let moment = connection.unchecked_transaction().map_err(from_sqlite)?;
            threads.iter().map(|thread| items::of_kinds(&moment, actors, *thread, &kinds)).collect()
        })
    }

    fn count_items(&self, query: ItemQuery) -> BoxFuture<'_, Result<usize>> {
        self.read(|connection, _| items::count(connection, &query))
    }

    fn item(&self, kind: ItemKind, key: String) -> BoxFuture<'_, Result<Option<(ThreadId, Item)>>> {
        self.read(|connection, actors| items::one(connection, actors, kind, &key))
    }

    fn all_items(&self, list: ItemList) -> BoxFuture<'_, Result<Vec<(ThreadId, Item)>>> {
        self.read(|connection, actors| items::all(connection, actors, &list))
    }

    fn cells(&self, query: CellQuery) -> BoxFuture<'_, Result<CellPage>> {
        self.read(|connection, _| cells::cells(connection, &query))
    }

    fn delivered(&self, queued: QueuedId) -> BoxFuture<'_, Result<Option<MessageId>>> {
        self.read(|connection, _| read::delivered(connection, queued))
    }

    fn subagents(&self, main: ThreadId) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.read(|connection, _| read::subagents(connection, main))
    }
}

impl Feed for SqliteStore {
    fn feed(&self, after: FeedCursor, limit: usize) -> BoxFuture<'_, Result<Vec<FeedItem>>> {
        self.read(|connection, actors| read::feed(connection, actors, after, limit))
    }

    fn latest(&self) -> BoxFuture<'_, Result<FeedCursor>> {
        self.read(|connection, _| Ok(FeedCursor(tables::last_seq(connection)? as u64)))
    }

    fn signals(&self) -> &Signals {
        &self.shared.signals
    }
}

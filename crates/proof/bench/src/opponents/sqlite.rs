//! SQLite by hand: the same tables and indexes an append touches, and nothing around them.
//!
//! One thread writes. A client sends its append through a channel and waits for the reply; the writer takes all that
//! wait into one transaction and one sync. Statements are prepared once. Pragmas, batch size and the care of the
//! write-ahead log are those of our own store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Statement, params};
use tokio::sync::{mpsc, oneshot};

use super::{ByHand, body, now_micros};
use crate::Result;
use crate::bench::{Bench, Keeper, Load, text};
use crate::ours::join;

const WAITING_MAX: usize = 1_024;
const BATCH_MAX: usize = 256;
/// Frames of the write-ahead log from which on it is copied into the file, beside the writer…
const CHECKPOINT_FRAMES: i32 = 1_024;
/// …and by the writer itself, so that it starts over.
const CHECKPOINT_NOW_FRAMES: i32 = 8_192;
/// Messages in one transaction, where a history is built.
const FILL_BATCH: usize = 4_096;

const TABLES: &str = "
CREATE TABLE heads (
    thread INTEGER PRIMARY KEY, version INTEGER NOT NULL, segment INTEGER NOT NULL, era INTEGER NOT NULL,
    fence INTEGER NOT NULL, updated INTEGER NOT NULL, tally BLOB NOT NULL
);
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY, segment INTEGER NOT NULL, position INTEGER NOT NULL, kind INTEGER NOT NULL,
    format INTEGER NOT NULL, time INTEGER NOT NULL, actor INTEGER NOT NULL, cause TEXT, tally BLOB NOT NULL,
    body BLOB, large BLOB
);
CREATE UNIQUE INDEX entries_place ON entries (segment, position);
CREATE TABLE messages (
    segment INTEGER NOT NULL, ordinal INTEGER NOT NULL, seq INTEGER NOT NULL, role INTEGER NOT NULL,
    silent INTEGER NOT NULL, depth INTEGER NOT NULL, PRIMARY KEY (segment, ordinal)
) WITHOUT ROWID;
";

type Reply = oneshot::Sender<Result<i64, String>>;

enum Job {
    Append {
        thread: i64,
        body: Vec<u8>,
        reply: Reply,
    },
    /// A message for each of the threads, so often: how histories are built.
    Fill {
        threads: Vec<i64>,
        messages: usize,
        reply: Reply,
    },
}

/// A file with threads in it. It is closed when it is dropped.
pub(crate) struct Sqlite {
    path: PathBuf,
    reader: Connection,
    threads: Vec<i64>,
    jobs: Option<mpsc::Sender<Job>>,
    workers: Vec<JoinHandle<()>>,
}

impl Sqlite {
    pub(crate) fn with_threads(path: &Path, threads: usize) -> Result<Self> {
        let connection = connect(path)?;
        connection.execute_batch("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL;")?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.execute_batch(TABLES)?;
        // Keys are spread as random ids spread them.
        let threads: Vec<i64> = (1..=threads as u64).map(spread).collect();
        for thread in &threads {
            let segment = spread(*thread as u64);
            let head = "INSERT INTO heads VALUES (?1, 0, ?2, 0, 0, 0, ?3)";
            connection.execute(head, params![thread, segment, Tally::default().encode()])?;
        }
        connection.execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA mmap_size = 0;
             PRAGMA secure_delete = ON; PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY;",
        )?;
        let reader = connect(path)?;
        reader.execute_batch("PRAGMA query_only = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -1024;")?;
        let (jobs, waiting) = mpsc::channel(WAITING_MAX);
        let (checkpointer, asked) = sync_channel(1);
        let side = connect(path)?;
        let copied = Arc::new(AtomicI32::new(0));
        let log = Log { frames: Arc::default(), frames_before: 0, copied: Arc::clone(&copied), checkpointer };
        let workers = vec![
            std::thread::spawn(move || write(connection, waiting, log).expect("the writer does its work")),
            std::thread::spawn(move || asked.iter().for_each(|()| checkpoint(&side, &copied))),
        ];
        Ok(Self { path: path.to_owned(), reader, threads, jobs: Some(jobs), workers })
    }

    fn read(&self, thread: usize, limit: usize, sql: &str) -> Result<usize> {
        let mut head = self.reader.prepare_cached("SELECT version, segment, tally FROM heads WHERE thread = ?1")?;
        let segment: i64 = head.query_row([self.threads[thread]], |row| row.get(1))?;
        let mut statement = self.reader.prepare_cached(sql)?;
        let mut rows = statement.query(params![segment, limit as i64])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let place: (i64, i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            let tally = Tally::decode(row.get_ref(4)?.as_blob()?);
            found.push((place, tally, row.get_ref(5)?.as_blob()?.to_vec()));
        }
        Ok(std::hint::black_box(found).len())
    }
}

impl ByHand for Sqlite {
    fn fill(&self, bench: &Bench, messages: usize) -> Result<()> {
        let jobs = self.jobs.as_ref().expect("it is open").clone();
        let threads = self.threads.clone();
        bench.runtime.block_on(async move {
            let mut left = messages;
            while left > 0 {
                let now = left.min(FILL_BATCH.div_ceil(threads.len()));
                let (reply, answer) = oneshot::channel();
                jobs.send(Job::Fill { threads: threads.clone(), messages: now, reply }).await?;
                answer.await??;
                left -= now;
            }
            Ok::<(), crate::Error>(())
        })?;
        // Copies the write-ahead log into the file, as closing it would.
        Ok(self.reader.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }

    fn read_last(&self, thread: usize, messages: usize) -> Result<usize> {
        self.read(
            thread,
            messages,
            "SELECT e.segment, e.position, e.time, e.actor, e.tally, e.body
             FROM messages m CROSS JOIN entries e ON e.seq = m.seq
             WHERE m.segment = ?1 AND m.ordinal >= 0 AND m.silent = 0 ORDER BY m.ordinal DESC LIMIT ?2",
        )
    }

    fn read_all(&self, thread: usize, messages: usize) -> Result<usize> {
        self.read(
            thread,
            messages,
            "SELECT e.segment, e.position, e.time, e.actor, e.tally, e.body
             FROM messages m CROSS JOIN entries e ON e.seq = m.seq
             WHERE m.segment = ?1 AND m.ordinal >= 0 AND m.silent = 0 ORDER BY m.ordinal LIMIT ?2",
        )
    }

    fn bytes(&self) -> Result<u64> {
        Ok(std::fs::metadata(&self.path)?.len())
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.jobs = None;
        for worker in self.workers.drain(..) {
            drop(worker.join());
        }
    }
}

impl Keeper for Sqlite {
    fn append(&self, bench: &Bench, load: Load) -> Result<()> {
        let clients = (0..load.clients).map(|client| {
            let jobs = self.jobs.as_ref().expect("it is open").clone();
            let thread = self.threads[client % load.threads];
            bench.runtime.spawn(async move {
                for n in 0..load.each {
                    let (reply, answer) = oneshot::channel();
                    jobs.send(Job::Append { thread, body: body(text(client + n)), reply }).await?;
                    answer.await??;
                }
                Result::Ok(())
            })
        });
        join(bench, clients.collect())
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // Cached statements stay compiled when other values are bound to them.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// A number for each number, without order.
fn spread(n: u64) -> i64 {
    (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16) as i64
}

/// The counters of a thread.
#[derive(Clone, Copy, Default)]
struct Tally {
    messages: u32,
    bytes: u64,
    last_user: i64,
}

impl Tally {
    fn encode(self) -> [u8; 20] {
        let mut encoded = [0; 20];
        encoded[..4].copy_from_slice(&self.messages.to_le_bytes());
        encoded[4..12].copy_from_slice(&self.bytes.to_le_bytes());
        encoded[12..].copy_from_slice(&self.last_user.to_le_bytes());
        encoded
    }

    fn decode(bytes: &[u8]) -> Self {
        let eight = |from: usize| bytes[from..from + 8].try_into().expect("eight bytes are eight");
        let messages = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes are four"));
        Self { messages, bytes: u64::from_le_bytes(eight(4)), last_user: i64::from_le_bytes(eight(12)) }
    }
}

struct Statements<'c> {
    begin: Statement<'c>,
    commit: Statement<'c>,
    head: Statement<'c>,
    entry: Statement<'c>,
    message: Statement<'c>,
    update: Statement<'c>,
    seq: i64,
}

fn write(mut connection: Connection, mut jobs: mpsc::Receiver<Job>, mut log: Log) -> rusqlite::Result<()> {
    let frames = Arc::clone(&log.frames);
    connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
        frames.store(pages, Ordering::Relaxed);
        Ok(())
    }))?;
    let connection = &connection;
    let mut statements = Statements {
        begin: connection.prepare("BEGIN IMMEDIATE")?,
        commit: connection.prepare("COMMIT")?,
        head: connection.prepare("SELECT version, segment, tally FROM heads WHERE thread = ?1")?,
        entry: connection.prepare("INSERT INTO entries VALUES (?1, ?2, ?3, 0, 1, ?4, 1, NULL, ?5, ?6, NULL)")?,
        message: connection.prepare("INSERT INTO messages VALUES (?1, ?2, ?3, 0, 0, 0)")?,
        update: connection.prepare("UPDATE heads SET version = ?2, updated = ?3, tally = ?4 WHERE thread = ?1")?,
        seq: connection.query_row("SELECT ifnull(max(seq), 0) FROM entries", [], |row| row.get(0))?,
    };
    let mut waiting = Vec::with_capacity(BATCH_MAX);
    let mut done = Vec::with_capacity(BATCH_MAX);
    while jobs.blocking_recv_many(&mut waiting, BATCH_MAX) > 0 {
        match statements.write_all(&mut waiting, &mut done) {
            Ok(()) => done.drain(..).for_each(|(position, reply): (i64, Reply)| drop(reply.send(Ok(position)))),
            Err(error) => {
                drop(connection.execute_batch("ROLLBACK"));
                done.drain(..).for_each(|(_, reply)| drop(reply.send(Err(error.to_string()))));
            }
        }
        log.keep_short(connection);
    }
    Ok(())
}

impl Statements<'_> {
    /// All that wait, in one transaction and one sync.
    fn write_all(&mut self, waiting: &mut Vec<Job>, done: &mut Vec<(i64, Reply)>) -> rusqlite::Result<()> {
        self.begin.execute([])?;
        for job in waiting.drain(..) {
            match job {
                Job::Append { thread, body, reply } => done.push((self.append(thread, &body)?, reply)),
                Job::Fill { threads, messages, reply } => {
                    for n in 0..messages {
                        let body = body(text(n));
                        for thread in &threads {
                            self.append(*thread, &body)?;
                        }
                    }
                    done.push((0, reply));
                }
            }
        }
        self.commit.execute([])?;
        Ok(())
    }

    fn append(&mut self, thread: i64, body: &[u8]) -> rusqlite::Result<i64> {
        let (position, segment, tally) = self.head.query_row([thread], |row| {
            let tally = Tally::decode(row.get_ref(2)?.as_blob()?);
            Ok((row.get::<_, i64>(0)? + 1, row.get::<_, i64>(1)?, tally))
        })?;
        let time = now_micros();
        let ordinal = tally.messages;
        let bytes = tally.bytes + body.len() as u64;
        let tally = Tally { messages: ordinal + 1, bytes, last_user: time }.encode();
        self.seq += 1;
        self.entry.execute(params![self.seq, segment, position, time, tally, body])?;
        self.message.execute(params![segment, ordinal, self.seq])?;
        self.update.execute(params![thread, position, time, tally])?;
        Ok(position)
    }
}

/// Keeps the write-ahead log from growing without bound.
struct Log {
    /// Frames in it, as of the last commit.
    frames: Arc<AtomicI32>,
    frames_before: i32,
    /// Frames of it that are in the file already.
    copied: Arc<AtomicI32>,
    checkpointer: SyncSender<()>,
}

impl Log {
    fn keep_short(&mut self, connection: &Connection) {
        let frames = self.frames.load(Ordering::Relaxed);
        if frames < self.frames_before {
            // It started over.
            self.copied.store(0, Ordering::Relaxed);
        }
        self.frames_before = frames;
        if frames > CHECKPOINT_NOW_FRAMES {
            checkpoint(connection, &self.copied);
        } else if frames - self.copied.load(Ordering::Relaxed) > CHECKPOINT_FRAMES {
            // If one is under way already, this is not needed.
            let _ = self.checkpointer.try_send(());
        }
    }
}

fn checkpoint(connection: &Connection, copied: &AtomicI32) {
    let frames = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(2));
    copied.store(frames.unwrap_or(0), Ordering::Relaxed);
}

//! The one writer: a thread that takes all commits waiting at that moment into one transaction and one sync.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use threadkeep_model::{Commit, Committed, ThreadCommit, ThreadId};
use threadkeep_store::{Result, Signals, StoreError};
use tokio::sync::{mpsc, oneshot};

use crate::commit::{Failure, Known};
use crate::error::{from_sqlite, is_busy, is_failed_sync};
use crate::tables::last_seq;
use crate::{BULK_CACHE_KIB, BUSY_TIMEOUT, WRITER_CACHE_KIB};

/// Commits that may wait; more wait at the door.
pub(crate) const WAITING_MAX: usize = 1_024;
/// Commits in one transaction.
const BATCH_MAX: usize = 256;
/// Each time the write-ahead log has grown by so many pages, it is copied into the file beside the writer…
const CHECKPOINT_PAGES: i32 = 1_024;
/// …or by so many while many threads are made: most of them write to the same pages, which are then copied once…
const CHECKPOINT_MANY_PAGES: i32 = 4_096;
/// …and from this size on what is left of it by the writer itself, so that it starts over.
const CHECKPOINT_NOW_PAGES: i32 = 8_192;

/// Threads made in one transaction, from which on the writer gets room in memory: each of them writes to pages here and
/// there in the indexes for lists…
const MANY_THREADS: usize = 8;
/// …until so many transactions in a row make fewer.
const FEW_THREADS_FOR: u32 = 64;

/// How long the writer waits for a process that did not let go of the file in time already.
const STUCK_TIMEOUT: Duration = Duration::from_millis(100);

/// Work that writes beside the log, on the connection of the writer; it gets an error if nothing may be written.
pub(crate) type OwnWork = Box<dyn FnOnce(Result<&mut Connection>) + Send>;

/// Work for the writer.
pub(crate) enum Job {
    /// A commit, and who waits for it.
    Commit(Commit, oneshot::Sender<Result<Committed>>),
    /// Something that changes the lease of a thread, alone in its own transaction; an error if nothing may be written.
    Lease(ThreadId, OwnWork),
    /// Something beside the log, such as a blob, alone in its own transaction; an error if nothing may be written. Heads
    /// stay as they are.
    Beside(OwnWork),
    /// Anything else that writes, alone in its own transactions.
    Upkeep(Box<dyn FnOnce(&mut Connection) + Send>),
}

pub(crate) struct Writer {
    pub(crate) connection: Connection,
    pub(crate) signals: Arc<Signals>,
    /// Set once the disk did not confirm a write.
    pub(crate) failed: Arc<AtomicBool>,
    /// Asks for the write-ahead log to be copied into the file.
    pub(crate) checkpointer: SyncSender<()>,
    pub(crate) known: Known,
    pub(crate) data_version: i64,
    /// The pages in the write-ahead log after the last commit.
    pub(crate) log_pages: Arc<AtomicI32>,
    /// The pages in the write-ahead log when it was last asked to be copied.
    pub(crate) copied_pages: i32,
    /// The number of what happened last and was told, here or elsewhere.
    pub(crate) told: Arc<AtomicI64>,
    /// Whether another process held the file for longer than the writer waits. Work that queued meanwhile waited as long
    /// already, so it does not wait for it again.
    pub(crate) is_stuck: bool,
    /// Transactions until it gives its room back; none while it has no more than usual.
    pub(crate) has_room: Option<u32>,
}

impl Writer {
    /// Works until the last sender is gone.
    pub(crate) fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        let mut waiting = Vec::with_capacity(BATCH_MAX);
        while jobs.blocking_recv_many(&mut waiting, BATCH_MAX) > 0 {
            let mut commits = Vec::with_capacity(waiting.len());
            for job in waiting.drain(..) {
                match job {
                    Job::Commit(commit, reply) => commits.push((commit, reply)),
                    Job::Lease(thread, work) => {
                        self.commit_all(std::mem::take(&mut commits));
                        self.do_alone(work);
                        self.known.forget_thread(thread);
                    }
                    Job::Beside(work) => {
                        self.commit_all(std::mem::take(&mut commits));
                        self.do_alone(work);
                    }
                    Job::Upkeep(work) => {
                        self.commit_all(std::mem::take(&mut commits));
                        work(&mut self.connection);
                        self.known.forget();
                    }
                }
            }
            self.commit_all(commits);
            self.checkpoint();
        }
    }

    fn do_alone(&mut self, work: OwnWork) {
        let began = Instant::now();
        work(self.writable().map(|()| &mut self.connection));
        self.is_stuck |= began.elapsed() >= BUSY_TIMEOUT;
    }

    fn commit_all(&mut self, mut commits: Vec<(Commit, oneshot::Sender<Result<Committed>>)>) {
        if commits.is_empty() {
            return;
        }
        self.make_room(commits.iter().map(|(commit, _)| commit));
        match self.transact(&mut commits.iter().map(|(commit, _)| commit)) {
            Ok(results) => {
                self.tell(
                    commits.iter().zip(&results).filter(|(_, result)| result.is_ok()).map(|((commit, _), _)| commit),
                );
                for ((_, reply), result) in commits.into_iter().zip(results) {
                    // If the caller is gone, the commit is still kept.
                    drop(reply.send(result));
                }
            }
            Err(Aborted::Whole(error)) => {
                for (_, reply) in commits {
                    drop(reply.send(Err(copy(&error))));
                }
            }
            // One of them broke halfway: each goes alone, so that it cannot take the others with it.
            Err(Aborted::One(error)) if commits.len() == 1 => {
                if let Some((_, reply)) = commits.pop() {
                    drop(reply.send(Err(error)));
                }
            }
            Err(Aborted::One(_)) => commits.into_iter().for_each(|commit| self.commit_all(vec![commit])),
        }
        self.known.trim();
    }

    /// Gives the writer more memory while many threads are made, and takes it back later. Without it, each page that a
    /// transaction touches is written several times.
    fn make_room<'a>(&mut self, commits: impl Iterator<Item = &'a Commit>) {
        let made = |commit: &Commit| {
            commit.threads.iter().filter(|change| matches!(change, ThreadCommit::Create(_))).take(MANY_THREADS).count()
        };
        let makes_many = commits.map(made).sum::<usize>() >= MANY_THREADS;
        // A cache of another size is no failure of the commit.
        match self.has_room {
            None if makes_many => {
                drop(self.connection.pragma_update(None, "cache_size", -BULK_CACHE_KIB));
                self.has_room = Some(FEW_THREADS_FOR);
            }
            Some(_) if makes_many => self.has_room = Some(FEW_THREADS_FOR),
            Some(0) => {
                drop(self.connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB));
                drop(self.connection.execute_batch("PRAGMA shrink_memory"));
                self.has_room = None;
            }
            Some(left) => self.has_room = Some(left - 1),
            None => {}
        }
    }

    /// Writes all of `commits` in one transaction and one sync; each that is refused leaves no trace.
    fn transact(&mut self, commits: &mut dyn Iterator<Item = &Commit>) -> Result<Vec<Result<Committed>>, Aborted> {
        self.writable().map_err(Aborted::Whole)?;
        self.begin().map_err(|error| {
            self.is_stuck = is_busy(&error);
            Aborted::Whole(from_sqlite(error))
        })?;
        let outcome = self.apply_all(commits);
        fail::fail_point!("sqlite-before-sync", |_| std::process::abort());
        let outcome = outcome.and_then(|results| {
            self.connection.execute_batch("COMMIT").map_err(|error| self.not_committed(error))?;
            Ok(results)
        });
        fail::fail_point!("sqlite-after-sync", |_| std::process::abort());
        if outcome.is_err() {
            self.known.forget();
            if !self.connection.is_autocommit() {
                // If this fails too, the transaction is gone with the connection's next error.
                drop(self.connection.execute_batch("ROLLBACK"));
            }
        }
        outcome
    }

    /// Invariant: after a failed sync nothing more is written, because the state of the file is unknown.
    fn writable(&mut self) -> Result<()> {
        if self.failed.load(Ordering::Acquire) {
            return Err(StoreError::Failed { what: "an earlier write failed".into() });
        }
        if self.is_stuck {
            self.connection.busy_timeout(STUCK_TIMEOUT).map_err(from_sqlite)?;
            let free = self.connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK");
            self.connection.busy_timeout(BUSY_TIMEOUT).map_err(from_sqlite)?;
            free.map_err(from_sqlite)?;
            self.is_stuck = false;
        }
        Ok(())
    }

    fn begin(&mut self) -> rusqlite::Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let version = self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if version != self.data_version {
            self.data_version = version;
            self.known.forget();
            let told = self.told.load(Ordering::Acquire);
            if last_seq(&self.connection).is_ok_and(|last| last > told) {
                self.signals.tell_all();
            }
        }
        Ok(())
    }

    fn apply_all(&mut self, commits: &mut dyn Iterator<Item = &Commit>) -> Result<Vec<Result<Committed>>, Aborted> {
        let mut results = Vec::new();
        for commit in commits {
            results.push(match self.known.apply(&self.connection, commit) {
                Ok(committed) => Ok(committed),
                Err(Failure::Refused(error)) => Err(error),
                Err(Failure::Broken(error @ StoreError::DiskFull)) => return Err(Aborted::Whole(error)),
                Err(Failure::Broken(error)) => return Err(Aborted::One(error)),
            });
            fail::fail_point!("sqlite-after-entries", |_| std::process::abort());
        }
        self.known.flush(&self.connection).map_err(Aborted::Whole)?;
        Ok(results)
    }

    fn not_committed(&self, error: rusqlite::Error) -> Aborted {
        if is_failed_sync(&error) {
            self.failed.store(true, Ordering::Release);
            return Aborted::Whole(StoreError::Failed { what: error.to_string() });
        }
        Aborted::Whole(from_sqlite(error))
    }

    fn tell<'a>(&mut self, commits: impl Iterator<Item = &'a Commit>) {
        if let Some(last) = self.known.last() {
            self.told.store(last, Ordering::Release);
        }
        if !self.signals.is_watched() {
            return;
        }
        for thread in commits.flat_map(|commit| &commit.threads) {
            self.signals.tell(thread_of(thread));
        }
    }

    /// Keeps the write-ahead log from growing without bound. Its file is kept: writing into an old one is cheaper.
    fn checkpoint(&mut self) {
        let pages = self.log_pages.load(Ordering::Relaxed);
        if pages < self.copied_pages {
            // It has started over.
            self.copied_pages = 0;
        }
        let each = if self.has_room.is_some() { CHECKPOINT_MANY_PAGES } else { CHECKPOINT_PAGES };
        if pages >= CHECKPOINT_NOW_PAGES {
            checkpoint(&self.connection, &self.failed);
            self.log_pages.store(0, Ordering::Relaxed);
        } else if pages >= self.copied_pages + each {
            self.copied_pages = pages;
            // If one is under way already, this is not needed.
            let _ = self.checkpointer.try_send(());
        }
    }
}

/// Why a transaction came to nothing.
enum Aborted {
    /// For a reason that concerns every commit in it.
    Whole(StoreError),
    /// Because one commit broke halfway.
    One(StoreError),
}

/// Copies the write-ahead log into the file, as far as readers allow.
pub(crate) fn checkpoint(connection: &Connection, failed: &AtomicBool) {
    let done = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    if done.is_err_and(|error| is_failed_sync(&error)) {
        failed.store(true, Ordering::Release);
    }
}

/// The file of the write-ahead log.
pub(crate) fn wal_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn thread_of(commit: &ThreadCommit) -> ThreadId {
    match commit {
        ThreadCommit::Create(create) => create.thread,
        ThreadCommit::Write(write) => write.thread,
        ThreadCommit::Delete { thread, .. } => *thread,
    }
}

/// The same error for every commit of a batch.
fn copy(error: &StoreError) -> StoreError {
    match error {
        StoreError::DiskFull => StoreError::DiskFull,
        StoreError::Failed { what } => StoreError::Failed { what: what.clone() },
        StoreError::Corrupt { what } => StoreError::Corrupt { what: what.clone() },
        StoreError::Unavailable { what } => StoreError::Unavailable { what: what.clone() },
        other => StoreError::Unavailable { what: other.to_string() },
    }
}

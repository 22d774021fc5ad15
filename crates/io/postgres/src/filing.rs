//! How threads are filed for lists: many at a time, beside the commits that made or changed them.
//!
//! A thread has a term for every three letters of its title, and each is a row. So commits do not write them. Threads that
//! are new, or changed since they were filed, wait (the index `threads_moved`), and lists look at those one by one. Once
//! too many threads of an account wait, a task files the oldest ones. Commits never wait for it, nor it for them: it takes
//! the rows of threads that nobody else holds. What it writes is no entry, so it holds up no reader of the feed either.

use std::sync::{Arc, Weak};

use deadpool_postgres::Object;
use threadkeep_model::Timestamp;
use threadkeep_store::terms::Terms;
use threadkeep_store::{Result, StoreError};
use tokio::sync::mpsc;

use crate::Shared;
use crate::codec::{self, get};
use crate::commit::Transaction;
use crate::error::{from_commit, from_postgres};
use crate::read::rows;
use crate::terms::ListedRows;

/// Threads of an account that may wait, and so many more as come between two looks: a list looks at all of them.
const WAITING_MAX: i64 = 256;
/// Threads that are filed together.
const FILED_AT_ONCE: i64 = 192;
/// One thread in this many has a look at how many wait when it begins to. Which ones, their random ids say.
const LOOKS_EACH: i64 = 32;
/// Looks that may be asked for and not done yet: others come.
const LOOKS_MAX: usize = 16;

/// Asks for looks at how many threads wait.
pub(crate) struct Filer(mpsc::Sender<i64>);

/// The other end of a [`Filer`].
pub(crate) type Looks = mpsc::Receiver<i64>;

impl Filer {
    pub(crate) fn new() -> (Self, Looks) {
        let (ask, looks) = mpsc::channel(LOOKS_MAX);
        (Self(ask), looks)
    }

    /// A thread is new, or changed in another minute: it waits from now on.
    pub(crate) fn arrived(&self, thread: i64) {
        if thread % LOOKS_EACH == 0 {
            let _ = self.0.try_send(thread);
        }
    }
}

/// Files threads as they are too many, until the store is closed.
pub(crate) async fn keep_filing(shared: Weak<Shared>, mut looks: Looks) {
    while let Some(thread) = looks.recv().await {
        let Some(shared) = shared.upgrade() else { return };
        // Where it fails, the threads go on waiting, and the next look tries again.
        drop(tokio::time::timeout(shared.call_timeout(), shared.file_beside(thread)).await);
    }
}

impl Shared {
    /// Files the oldest threads that wait, if too many of those do that are of the same account as `thread`.
    async fn file_beside(self: &Arc<Self>, thread: i64) -> Result<()> {
        let client = self.connections.get().await?;
        let waiting = "FROM threads o JOIN threads t ON t.account = o.account AND t.archived = o.archived
                       WHERE o.id = $1 AND t.minute <> t.filed";
        let count = format!("SELECT count(*) FROM (SELECT 1 {waiting} LIMIT $2) w");
        let found = rows(&client, &count, &[&thread, &(WAITING_MAX + 1)]).await?;
        if found.first().map_or(Ok(0), |row| get::<i64>(row, 0))? <= WAITING_MAX {
            return Ok(());
        }
        let transaction = Transaction::begun(client);
        let client = transaction.client();
        client.batch_execute("BEGIN").await.map_err(from_postgres)?;
        // Invariant: a rebuild makes the terms of all threads, and nobody files beside it.
        let alone = rows(client, "SELECT pg_try_advisory_xact_lock($1)", &[&self.filing_lock]).await?;
        if alone.first().map_or(Ok(false), |row| get(row, 0))? {
            let oldest = format!(
                "SELECT t.id, t.account, t.created, t.minute, t.record {waiting}
                 ORDER BY t.minute LIMIT $2 FOR NO KEY UPDATE OF t SKIP LOCKED"
            );
            file(client, &rows(client, &oldest, &[&thread, &FILED_AT_ONCE]).await?).await?;
        }
        transaction.end("COMMIT").await.map_err(from_commit)
    }
}

/// Files threads, whose rows are locked, under the minutes of their last changes.
async fn file(client: &Object, threads: &[tokio_postgres::Row]) -> Result<()> {
    let (mut listed, mut ids, mut minutes) = (ListedRows::default(), Vec::new(), Vec::new());
    for row in threads {
        let (id, created, minute): (i64, i64, i64) = (get(row, 0)?, get(row, 2)?, get(row, 3)?);
        let (account, created) = (codec::account(get(row, 1)?)?, Timestamp::from_micros(created));
        let damaged = || StoreError::damaged_copy(&format!("the record of thread {id:012x}"));
        // One that cannot be read is for the doctor to tell, and must not keep others from being filed.
        let Ok(record) = codec::record(get(row, 4)?, id, damaged) else { continue };
        listed.push_terms(id, &Terms::of(&account, created, &record), created, minute);
        ids.push(id);
        minutes.push(minute);
    }
    listed.sort_terms();
    rows(client, "SELECT forget_terms($1)", &[&ids]).await?;
    let set = "UPDATE threads t SET filed = u.minute FROM unnest($1::bigint[], $2::bigint[]) AS u(id, minute)
               WHERE t.id = u.id";
    rows(client, set, &[&ids, &minutes]).await?;
    for statement in listed.terms("") {
        rows(client, statement.sql(), statement.params()).await?;
    }
    Ok(())
}

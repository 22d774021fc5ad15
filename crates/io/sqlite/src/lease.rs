//! Exclusive writers: the last lease on each thread, in a table of its own.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use threadkeep_model::{Lease, LeaseToken, ThreadId, Timestamp};
use threadkeep_store::{BoxFuture, LeaseAsk, Leases, Result, StoreError, held};
use tokio::sync::oneshot;

use crate::codec::key;
use crate::error::from_sqlite;
use crate::writer::Job;
use crate::{SqliteStore, read};

/// The last lease on a thread, held or not.
pub(crate) fn last(connection: &Connection, thread: ThreadId) -> Result<Option<Lease>> {
    connection
        .prepare_cached("SELECT token, holder, until FROM leases WHERE thread = ?1")
        .and_then(|mut statement| {
            let read = |row: &rusqlite::Row<'_>| {
                let (token, until): (i64, i64) = (row.get(0)?, row.get(2)?);
                Ok(Lease {
                    token: LeaseToken::from_bits(token as u64),
                    holder: row.get(1)?,
                    until: Timestamp::from_micros(until),
                })
            };
            statement.query_row([key(thread)], read).optional()
        })
        .map_err(from_sqlite)
}

fn put(connection: &Connection, thread: ThreadId, lease: &Lease) -> Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO leases VALUES (?1, ?2, ?3, ?4)")
        .and_then(|mut statement| {
            let Lease { token, holder, until } = lease;
            statement.execute(params![key(thread), token.bits() as i64, holder, until.as_micros()])
        })
        .map(drop)
        .map_err(from_sqlite)
}

fn living(connection: &Connection, thread: ThreadId) -> Result<()> {
    match read::head(connection, thread)? {
        Some(_) => Ok(()),
        None => Err(StoreError::ThreadNotFound { thread }),
    }
}

impl SqliteStore {
    /// Runs `work` in a transaction of its own on the writer's connection.
    fn lease_job<T: Send + 'static>(
        &self,
        thread: ThreadId,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        let in_transaction = move |connection: &mut Connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(from_sqlite)?;
            living(&transaction, thread)?;
            let result = work(&transaction)?;
            transaction.commit().map_err(from_sqlite)?;
            Ok(result)
        };
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let work = move |connection: Result<&mut Connection>| drop(reply.send(connection.and_then(in_transaction)));
            self.submit(Job::Lease(thread, Box::new(work))).await?;
            answer.await.map_err(|_| crate::stopped())?
        })
    }
}

impl Leases for SqliteStore {
    fn take(&self, thread: ThreadId, ask: LeaseAsk) -> BoxFuture<'_, Result<Lease>> {
        self.lease_job(thread, move |connection| {
            let lease = ask.after(thread, last(connection, thread)?.as_ref())?;
            put(connection, thread, &lease)?;
            Ok(lease)
        })
    }

    fn renew(
        &self,
        thread: ThreadId,
        token: LeaseToken,
        ttl_micros: i64,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Lease>> {
        self.lease_job(thread, move |connection| {
            let lease =
                Lease { until: now.plus_micros(ttl_micros), ..held(last(connection, thread)?, thread, token, now)? };
            put(connection, thread, &lease)?;
            Ok(lease)
        })
    }

    fn release(&self, thread: ThreadId, token: LeaseToken, now: Timestamp) -> BoxFuture<'_, Result<bool>> {
        self.lease_job(thread, move |connection| match held(last(connection, thread)?, thread, token, now) {
            Ok(lease) => put(connection, thread, &Lease { until: now, ..lease }).map(|()| true),
            Err(StoreError::WriterLost { .. }) => Ok(false),
            Err(error) => Err(error),
        })
    }

    fn lease(&self, thread: ThreadId, now: Timestamp) -> BoxFuture<'_, Result<Option<Lease>>> {
        self.read(|connection, _| {
            living(connection, thread)?;
            Ok(last(connection, thread)?.filter(|lease| lease.holds(now)))
        })
    }
}

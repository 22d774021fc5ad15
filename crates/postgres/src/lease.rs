//! Exclusive writers: the last lease on each thread is in its head, so that an append checks it for free.

use std::sync::Arc;

use threadkeep_model::{Lease, ThreadId, Timestamp};
use threadkeep_store::{BoxFuture, LeaseAsk, Leases, Result, StoreError, held};

use crate::codec::{LEASE_COLUMNS, get, key, lease, rest};
use crate::commit::Transaction;
use crate::connect::thread_lock;
use crate::error::{from_commit, from_postgres};
use crate::{Clock, PostgresStore, Shared, read};

impl Shared {
    /// Lets `change` look at the last lease on a thread, and say what it is from now on.
    async fn change_lease(
        &self,
        thread: ThreadId,
        now: Timestamp,
        change: impl FnOnce(Option<Lease>, Timestamp) -> Result<Lease>,
    ) -> Result<Lease> {
        let transaction = Transaction::begun(self.connections.get().await?);
        let client = transaction.client();
        client.batch_execute("BEGIN").await.map_err(from_postgres)?;
        let lock = vec![thread_lock(key(thread))];
        read::rows(client, "SELECT lock_all($1, $2)", &[&self.upkeep_lock, &lock]).await?;
        let (last, now) = match self.last_lease(client, thread, now).await {
            Ok(found) => found,
            Err(error) => {
                transaction.end("ROLLBACK").await.map_err(from_postgres)?;
                return Err(error);
            }
        };
        match change(last, now) {
            Ok(lease) => {
                let set = "UPDATE heads SET lease_token = $2, lease_until = $3, lease_holder = $4 WHERE thread = $1";
                let (token, until) = (lease.token as i64, lease.until.as_micros());
                read::rows(client, set, &[&key(thread), &token, &until, &lease.holder]).await?;
                transaction.end("COMMIT").await.map_err(from_commit)?;
                Ok(lease)
            }
            Err(refused) => {
                transaction.end("ROLLBACK").await.map_err(from_postgres)?;
                Err(refused)
            }
        }
    }

    /// The last lease on a living thread, held or not, and the time by which it is judged.
    async fn last_lease(
        &self,
        client: &deadpool_postgres::Object,
        thread: ThreadId,
        now: Timestamp,
    ) -> Result<(Option<Lease>, Timestamp)> {
        let sql = format!(
            "SELECT {LEASE_COLUMNS}, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
             FROM heads h WHERE h.thread = $1 AND h.rest = $2"
        );
        let found = read::rows(client, &sql, &[&key(thread), &rest(thread)]).await?;
        let Some(row) = found.first() else { return Err(StoreError::ThreadNotFound { thread }) };
        let now = match self.clock {
            Clock::Server => Timestamp::from_micros(get(row, 3)?),
            Clock::Caller => now,
        };
        Ok((lease(row, 0)?, now))
    }
}

impl Leases for PostgresStore {
    fn take(&self, thread: ThreadId, ask: LeaseAsk) -> BoxFuture<'_, Result<Lease>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let now = ask.now;
            shared.change_lease(thread, now, |last, now| LeaseAsk { now, ..ask }.after(thread, last.as_ref())).await
        })
    }

    fn renew(&self, thread: ThreadId, token: u64, ttl_micros: i64, now: Timestamp) -> BoxFuture<'_, Result<Lease>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let renew = |last, now: Timestamp| {
                Ok(Lease { until: now.plus_micros(ttl_micros), ..held(last, thread, token, now)? })
            };
            shared.change_lease(thread, now, renew).await
        })
    }

    fn release(&self, thread: ThreadId, token: u64, now: Timestamp) -> BoxFuture<'_, Result<bool>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let release = |last, now| Ok(Lease { until: now, ..held(last, thread, token, now)? });
            match shared.change_lease(thread, now, release).await {
                Ok(_) => Ok(true),
                Err(StoreError::WriterLost { .. }) => Ok(false),
                Err(error) => Err(error),
            }
        })
    }

    fn lease(&self, thread: ThreadId, now: Timestamp) -> BoxFuture<'_, Result<Option<Lease>>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let client = shared.connections.get().await?;
            let (last, now) = shared.last_lease(&client, thread, now).await?;
            Ok(last.filter(|lease| lease.holds(now)))
        })
    }
}

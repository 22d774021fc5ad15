//! Exclusive writers: the last lease on each thread is in its head, so that an append checks it for free.

use std::sync::Arc;

use threadkeep_model::{Lease, LeaseToken, ThreadId, Timestamp};
use threadkeep_store::{BoxFuture, LeaseAsk, Leases, Result, StoreError};
use tokio_postgres::types::ToSql;

use crate::clock::NOW;
use crate::codec::{LEASE_COLUMNS, get, key, lease, rest};
use crate::commit::Transaction;
use crate::connect::thread_lock;
use crate::error::{from_commit, from_postgres};
use crate::{Clock, PostgresStore, Shared, read};

/// A change of the lease on a thread, by the rules of [`LeaseAsk::after`] and [`held`](threadkeep_store::held).
struct Change<'a> {
    /// The token of the lease that must be held; none if no lease may be held.
    token: Option<LeaseToken>,
    /// The new holder, under a new token; none to keep both.
    taken_by: Option<(&'a str, LeaseToken)>,
    ttl_micros: i64,
    now: Timestamp,
}

impl Shared {
    /// Changes the lease on a thread. All statements go out at once: a program that is stopped halfway, as holders of
    /// leases may be, would keep the thread from all others.
    async fn change_lease(&self, thread: ThreadId, change: Change<'_>) -> Result<Lease> {
        let set = format!(
            "UPDATE heads h SET lease_token = coalesce($3, h.lease_token), lease_until = n.now + $4,
                 lease_holder = coalesce($5, h.lease_holder)
             FROM (SELECT coalesce($6, {NOW}) AS now) n
             WHERE h.thread = $1 AND h.rest = $2 AND CASE WHEN $7::bigint IS NULL THEN h.lease_until <= n.now
                 ELSE h.lease_until > n.now AND h.lease_token = $7 END
             RETURNING {LEASE_COLUMNS}"
        );
        let (locks, key, rest) = (vec![thread_lock(key(thread))], key(thread), rest(thread));
        let bits = |token: LeaseToken| token.bits() as i64;
        let (drawn, token) = (change.taken_by.map(|(_, token)| bits(token)), change.token.map(bits));
        let holder = change.taken_by.map(|(holder, _)| holder);
        let now = match self.clock {
            Clock::Server => None,
            Clock::Caller => Some(change.now.as_micros()),
        };
        let client = self.connections.get().await?;
        let prepare = async || -> Result<_, tokio_postgres::Error> {
            Ok((client.prepare_cached("SELECT lock_all($1, $2)").await?, client.prepare_cached(&set).await?))
        };
        let (lock, set) = prepare().await.map_err(from_postgres)?;
        let transaction = Transaction::begun(client);
        let client = transaction.client();
        let (begun, locked, changed, last, ended) = tokio::join!(
            biased;
            async { client.batch_execute("BEGIN").await },
            async { client.execute(&lock, &[&self.upkeep_lock, &locks]).await },
            async {
                let values: [&(dyn ToSql + Sync); 7] =
                    [&key, &rest, &drawn, &change.ttl_micros, &holder, &now, &token];
                client.query_opt(&set, &values).await
            },
            // The lease that caused the refusal. Time only goes on, so a lease that ended there has ended here.
            async { self.last_lease(client, thread, change.now).await },
            async { client.batch_execute("COMMIT").await },
        );
        begun.map_err(from_postgres)?;
        locked.map_err(from_postgres)?;
        let changed = changed.map_err(from_postgres)?;
        ended.map_err(from_commit)?;
        transaction.ended();
        if let Some(row) = changed {
            return lease(&row, 0)?.ok_or_else(|| StoreError::corrupt("a lease has no holder"));
        }
        let (last, now) = last?;
        match (change.token, last) {
            (None, Some(by)) => Err(StoreError::WriterHeld { thread, by }),
            (None, None) => Err(StoreError::corrupt("a lease has no holder")),
            (Some(_), last) => Err(StoreError::WriterLost { thread, to: last.filter(|lease| lease.holds(now)) }),
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
            "SELECT {LEASE_COLUMNS}, {NOW}
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
            let LeaseAsk { token, holder, ttl_micros, now } = ask;
            shared.change_lease(thread, Change { token: None, taken_by: Some((&holder, token)), ttl_micros, now }).await
        })
    }

    fn renew(
        &self,
        thread: ThreadId,
        token: LeaseToken,
        ttl_micros: i64,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Lease>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            shared.change_lease(thread, Change { token: Some(token), taken_by: None, ttl_micros, now }).await
        })
    }

    fn release(&self, thread: ThreadId, token: LeaseToken, now: Timestamp) -> BoxFuture<'_, Result<bool>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let release = Change { token: Some(token), taken_by: None, ttl_micros: 0, now };
            match shared.change_lease(thread, release).await {
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

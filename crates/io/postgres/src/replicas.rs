//! Reads from replicas: standbys that follow the primary and take reads off it, where being a little late is allowed.
//!
//! Two kinds of reads go to a replica. Expensive lists and totals go to one that has replayed all that the primary had
//! written at a moment within the allowed lag. Contents that never change under their name, parts of files and of the
//! search index, go to any replica; what it does not have yet is read from the primary. Everything else, and everything
//! that decides a commit, is read from the primary. So is every read for which no replica is there.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use threadkeep_store::{Result, StoreError};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::connect::Connections;
use crate::read::rows;
use crate::url::PostgresUrl;

/// How long a replica may take to accept a connection and to say how far it is.
const CHECK_MAX: Duration = Duration::from_secs(1);
/// How long a replica that failed is left alone.
const AWAY_PAUSE: Duration = Duration::from_secs(5);
/// Moments of the primary that are remembered.
const MOMENTS_MAX: usize = 8;

/// How far the log of the primary was written at a moment.
#[derive(Debug, Clone, Copy)]
struct Moment {
    written: i64,
    /// Before the primary was asked: all that was committed by then is in what was written.
    asked: Instant,
}

/// The replicas of a store.
pub(crate) struct Replicas {
    each: Vec<Replica>,
    /// How late a list may be.
    lag: Duration,
    moments: Mutex<VecDeque<Moment>>,
    /// Whose turn it is.
    turn: AtomicUsize,
}

struct Replica {
    pool: Pool,
    /// Until when it is left alone.
    away: Mutex<Option<Instant>>,
}

impl Replicas {
    /// The replicas that `url` names, with the same settings for each connection. Nobody connects yet.
    pub(crate) fn of(url: &PostgresUrl, settings: &[(&str, &str)], tls: &MakeRustlsConnect) -> Result<Self> {
        let open = |replica: &PostgresUrl| {
            let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
            let pool = Pool::builder(Manager::from_config(replica.with_settings(settings), tls.clone(), manager))
                .max_size(url.pool())
                .wait_timeout(Some(CHECK_MAX))
                .create_timeout(Some(CHECK_MAX))
                .runtime(Runtime::Tokio1)
                .build()
                .map_err(|error| StoreError::CannotOpen { path: replica.to_string(), what: error.to_string() })?;
            Ok(Replica { pool, away: Mutex::default() })
        };
        let each = url.replicas.iter().map(open).collect::<Result<_>>()?;
        Ok(Self { each, lag: url.read_lag, moments: Mutex::default(), turn: AtomicUsize::new(0) })
    }

    /// A connection to a replica, however far it is; none if no replica answers.
    pub(crate) async fn any(&self) -> Option<Object> {
        for _ in &self.each {
            if let Some((client, _)) = self.next().await {
                return Some(client);
            }
        }
        None
    }

    /// A connection to a replica that is not later than allowed; none if there is none.
    pub(crate) async fn fresh(&self, primary: &Connections) -> Option<Object> {
        if self.each.is_empty() {
            return None;
        }
        let needed = self.needed(primary).await?;
        for _ in &self.each {
            if let Some((client, replayed)) = self.next().await
                && replayed >= needed
            {
                return Some(client);
            }
        }
        None
    }

    /// How far a replica has to be: as far as the primary was at the oldest moment within the lag.
    async fn needed(&self, primary: &Connections) -> Option<i64> {
        let newest = self.moments().back().copied();
        // Asked twice within the lag, so that a replica has time to follow.
        if newest.is_none_or(|newest| newest.asked.elapsed() > self.lag / 2) {
            let asked = Instant::now();
            let client = primary.get().await.ok()?;
            let sql = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint";
            let written = rows(&client, sql, &[]).await.ok()?.first()?.try_get(0).ok()?;
            let mut moments = self.moments();
            moments.push_back(Moment { written, asked });
            if moments.len() > MOMENTS_MAX {
                moments.pop_front();
            }
        }
        let mut moments = self.moments();
        moments.retain(|moment| moment.asked.elapsed() <= self.lag);
        moments.iter().map(|moment| moment.written).min()
    }

    fn moments(&self) -> MutexGuard<'_, VecDeque<Moment>> {
        self.moments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next replica, if it answers, with how far it has replayed the log.
    async fn next(&self) -> Option<(Object, i64)> {
        let replica = self.each.get(self.turn.fetch_add(1, Ordering::Relaxed) % self.each.len().max(1))?;
        if replica.away().is_some_and(|until| Instant::now() < until) {
            return None;
        }
        let asking = async {
            let client = replica.pool.get().await.ok()?;
            // A server that replays nothing is no replica: it may be a primary that was replaced.
            let sql = "SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint WHERE pg_is_in_recovery()";
            let replayed = rows(&client, sql, &[]).await.ok()?.first()?.try_get(0).ok()?;
            Some((client, replayed))
        };
        let asked = tokio::time::timeout(CHECK_MAX, asking).await.ok().flatten();
        if asked.is_none() {
            *replica.away() = Some(Instant::now() + AWAY_PAUSE);
            replica.pool.retain(|_, _| false);
        }
        asked
    }
}

impl Replica {
    fn away(&self) -> MutexGuard<'_, Option<Instant>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! What a process learnt from a server and need not ask again, as long as the history of the server goes on.
//!
//! A standby that takes over from its primary begins a new timeline. Without synchronous replication it may lack the last
//! rows of its primary, and give their numbers to others. So what was learnt before is forgotten, and the feed goes on
//! above all places that its primary can have shown: a follower that saw one of them misses nothing.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio_postgres::Client;

/// The number of the timeline; a server that replays the log of another one has none of its own.
const TIMELINE: &str = "SELECT CASE WHEN pg_is_in_recovery() THEN 0
    ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END";

/// Transactions that a primary can have shown and its standby lacks: the feed leaves room for so many.
const LOST_MAX: i64 = 1 << 20;

/// The timeline of the server to which the newest connection leads.
#[derive(Debug)]
pub(crate) struct Timeline {
    number: AtomicI64,
    upkeep_lock: i64,
}

impl Timeline {
    pub(crate) fn new(upkeep_lock: i64) -> Self {
        Self { number: AtomicI64::new(0), upkeep_lock }
    }

    /// Asks the server for it. Invariant: every connection asks before its first use, so that nothing that was learnt on
    /// another timeline is used on it.
    pub(crate) async fn ask(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        let number: i64 = client.query_one(TIMELINE, &[]).await?.try_get(0)?;
        if number != 0 && number != self.number() {
            self.begin(client, number).await?;
        }
        self.number.store(number, Ordering::Release);
        Ok(())
    }

    /// Raises the feed, if this process is the first one on the new timeline. The first timeline of a store is only noted.
    async fn begin(&self, client: &Client, number: i64) -> Result<(), tokio_postgres::Error> {
        let noted = "SELECT 1 FROM meta WHERE key = 'timeline' AND value = $1";
        if client.query_opt(noted, &[&number]).await?.is_some() {
            return Ok(());
        }
        // Sent together, they are one transaction, beside which nobody writes.
        let raise = format!(
            "SELECT pg_advisory_xact_lock({});
             UPDATE meta SET value = value + {LOST_MAX} WHERE key = 'feed_base'
                 AND EXISTS (SELECT 1 FROM meta WHERE key = 'timeline' AND value <> {number});
             INSERT INTO meta VALUES ('timeline', {number})
                 ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            self.upkeep_lock
        );
        client.batch_execute(&raise).await
    }

    fn number(&self) -> i64 {
        self.number.load(Ordering::Acquire)
    }
}

/// A value that is forgotten when the timeline changes.
#[derive(Debug)]
pub(crate) struct Learnt<T> {
    timeline: Arc<Timeline>,
    /// The timeline on which it was learnt, and the value.
    value: Mutex<(i64, T)>,
}

impl<T: Default> Learnt<T> {
    pub(crate) fn on(timeline: &Arc<Timeline>) -> Self {
        Self { timeline: Arc::clone(timeline), value: Mutex::new((timeline.number(), T::default())) }
    }

    /// Looks at the value, or changes it.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&mut T) -> R) -> R {
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.timeline.number();
        if value.0 != now {
            *value = (now, T::default());
        }
        look(&mut value.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learnt_on_another_timeline_is_forgotten() {
        let timeline = Arc::new(Timeline::new(0));
        let learnt = Learnt::<Vec<i64>>::on(&timeline);
        learnt.with(|value| value.push(7));
        assert_eq!(learnt.with(|value| value.clone()), [7]);
        timeline.number.store(2, Ordering::Release);
        assert!(learnt.with(|value| value.is_empty()));
    }
}

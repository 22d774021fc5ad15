//! Timers: the fallback of approvals that were not answered in time, and the end of runs that did not stop.
//!
//! A timer is no task: it is an item with a time, in the store. The first process to look fires it, by a commit
//! that is decided against the present state, so it fires once with any number of processes, and after any crash.
//! Timers undone by a rollback are skipped, and checked again later: the rollback may be undone.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use threadkeep_model::{ItemKind, Timestamp};
use threadkeep_store::{DueQuery, StoreError};
use tokio::time::Instant;

use crate::ground::engine::Shared;
use crate::{Engine, Error, Result};

/// Items looked at in one read.
const READ_AT_ONCE: usize = 200;
/// How often all due timers are checked again: a skipped one may hold by now. Also the longest sleep.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// The shortest time between two looks, so that a busy store is not asked with every commit.
const REST: Duration = Duration::from_millis(50);
/// The pause after a failure.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

impl Engine {
    /// Fires due timers, now and from now on, until the future is dropped or the engine is gone. A server runs this;
    /// a program that embeds Threadkeep spawns it if timeouts should happen without a read.
    pub async fn run_timers(self) {
        let mut signal = self.shared.stores.feed.signals().any();
        let shared = Arc::downgrade(&self.shared);
        let undone = Arc::clone(&self.shared.live().rewound);
        let (caller, validator) = (Arc::clone(&self.caller), self.validator.clone());
        drop(self);
        let engine = |shared: &Weak<Shared>| {
            let shared = shared.upgrade()?;
            Some(Engine {
                shared,
                caller: Arc::clone(&caller),
                writes_to: None,
                envelope: None,
                happened: None,
                validator: validator.clone(),
                defined: None,
                guarded: false,
                owner: None,
                effects: None,
                embedder: None,
            })
        };
        // Due timers that were skipped because they do not hold.
        let mut passed: HashSet<String> = HashSet::new();
        let mut again = Instant::now() + LOOK_AGAIN;
        loop {
            let Some(engine) = engine(&shared) else { return };
            if Instant::now() >= again {
                passed.clear();
                again = Instant::now() + LOOK_AGAIN;
            }
            let next = match engine.fire_due(&mut passed).await {
                Ok(Some(next)) => time_until(engine.shared.now(), next).min(LOOK_AGAIN),
                Ok(None) => LOOK_AGAIN,
                Err(_) => AFTER_FAILURE,
            };
            drop(engine);
            tokio::time::sleep(REST).await;
            tokio::select! {
                () = tokio::time::sleep(next.saturating_sub(REST)) => {}
                () = tokio::time::sleep_until(again) => {}
                () = signal.wait() => {}
                () = undone.notified() => again = Instant::now(),
            }
        }
    }

    /// Fires due timers that were not skipped before. Returns when the next one is due.
    async fn fire_due(&self, passed: &mut HashSet<String>) -> Result<Option<Timestamp>> {
        let approval = self.fire_kind(Timed::Approval, passed).await?;
        let stop = self.fire_kind(Timed::Stop, passed).await?;
        Ok(approval.into_iter().chain(stop).min())
    }

    async fn fire_kind(&self, timed: Timed, passed: &mut HashSet<String>) -> Result<Option<Timestamp>> {
        let now = self.shared.now();
        let timers = &self.shared.stores.timers;
        let kind = match timed {
            Timed::Approval => ItemKind::Approval,
            Timed::Stop => ItemKind::Run,
        };
        let mut after = None;
        loop {
            let due = timers.due(DueQuery { kind, until: now, after, limit: READ_AT_ONCE }).await?;
            for item in due.iter().filter(|item| !passed.contains(&item.key)).collect::<Vec<_>>() {
                let fired = match timed {
                    Timed::Approval => self.time_out(item.thread, &item.key).await,
                    Timed::Stop => self.end_overdue(item.thread, &item.key).await,
                };
                let fired = match fired {
                    // One thread that is damaged, or too busy, does not keep the others waiting.
                    Err(Error::Busy | Error::Store(StoreError::Corrupt { .. })) => false,
                    fired => fired?,
                };
                if !fired {
                    passed.insert(item.key.clone());
                }
            }
            let Some(last) = due.last().filter(|_| due.len() == READ_AT_ONCE) else { break };
            after = Some((last.due, last.key.clone()));
        }
        Ok(timers.next_due(kind, now).await?)
    }
}

/// What has a time here.
#[derive(Clone, Copy)]
enum Timed {
    /// An approval that times out.
    Approval,
    /// A run that was asked to stop, and has not.
    Stop,
}

pub(crate) fn time_until(now: Timestamp, then: Timestamp) -> Duration {
    Duration::from_micros(u64::try_from(then.as_micros().saturating_sub(now.as_micros())).unwrap_or(0))
}

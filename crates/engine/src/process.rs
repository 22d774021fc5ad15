//! The lease of this process: while it holds, the process owns work that must not be done twice at a time, such as runs
//! and claims of effects.
//!
//! A process has one lease on a store, written only while it owns work. Entries name it ([`Owned::id`]), others ask whether
//! it still holds ([`Engine::living`]), and the store refuses commits under a lease that ended ([`Engine::owned`]). A
//! lease that ended never comes back: a process that was paused for too long gets another one.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use threadkeep_model::{ProcessId, Uuid};
use threadkeep_store::{BoxFuture, Processes};
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use crate::{Engine, Result};

/// How often the lease is renewed: a third of its length, so that one renewal may fail.
const RENEWED_EVERY: Duration = Duration::from_secs(2);
/// The pause after a renewal that failed.
const AFTER_FAILURE: Duration = Duration::from_millis(500);
/// The length of the lease. It counts from before a renewal was asked for, so it never ends later here than in the store.
const TTL: Duration = Duration::from_micros(ProcessId::TTL_MICROS as u64);

/// The lease of this process, while something owns it.
#[derive(Debug, Default)]
pub(crate) struct Lease(Mutex<Weak<Held>>);

/// Work that this process owns: while one of these lives, the lease is renewed. Clones share it.
#[derive(Debug, Clone)]
pub struct Owned(Arc<Held>);

#[derive(Debug)]
struct Held {
    id: ProcessId,
    lost: watch::Sender<bool>,
}

impl Owned {
    /// The lease, as entries name it.
    pub fn id(&self) -> ProcessId {
        self.0.id
    }

    /// Whether the lease has ended. The store may know it sooner.
    pub fn is_lost(&self) -> bool {
        *self.0.lost.borrow()
    }

    /// Returns once the lease has ended: what is done under it from then on is refused.
    pub async fn lost(&self) {
        // It cannot be closed: `self` has the sender.
        drop(self.0.lost.subscribe().wait_for(|lost| *lost).await);
    }
}

impl Engine {
    /// The lease of this process, begun if it has none.
    ///
    /// # Errors
    /// If the store cannot be written to.
    pub fn own(&self) -> BoxFuture<'_, Result<Owned>> {
        Box::pin(async move {
            let mut last = self.shared.room::<Lease>().0.lock().await;
            if let Some(held) = last.upgrade().map(Owned).filter(|owned| !owned.is_lost()) {
                return Ok(held);
            }
            let id = ProcessId(Uuid::from_chance(self.shared.world.chance()));
            let (began, processes) = (Instant::now(), &self.shared.stores.processes);
            processes.begin(id, ProcessId::TTL_MICROS).await?;
            let held = Arc::new(Held { id, lost: watch::Sender::new(false) });
            // On a thread of its own: a busy program does not lose its lease.
            self.shared.live().background.spawn(renew(Arc::downgrade(&held), Arc::clone(processes), began))?;
            *last = Arc::downgrade(&held);
            Ok(Owned(held))
        })
    }

    /// Ends the lease of this process, so that others take over its work at once. For a program that stops.
    ///
    /// # Errors
    /// If the store cannot be written to. The lease ends by itself then.
    pub fn end_lease(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let last = std::mem::take(&mut *self.shared.room::<Lease>().0.lock().await);
            let Some(held) = last.upgrade() else { return Ok(()) };
            held.lost.send_replace(true);
            self.shared.stores.processes.renew(held.id, 0).await?;
            Ok(())
        })
    }

    /// The same engine, whose commits the store refuses once this lease has ended.
    #[must_use]
    pub fn owned(&self, owned: &Owned) -> Self {
        Self { owner: Some(owned.id()), ..self.clone() }
    }

    /// Those of `processes` whose leases hold, by the clock of the store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn living(&self, processes: impl IntoIterator<Item = ProcessId>) -> Result<HashSet<ProcessId>> {
        let asked: HashSet<ProcessId> = processes.into_iter().collect();
        if asked.is_empty() {
            return Ok(asked);
        }
        Ok(self.shared.stores.processes.holding(asked.into_iter().collect()).await?.into_iter().collect())
    }
}

/// Renews a lease until nothing owns it, or it has ended.
async fn renew(held: Weak<Held>, processes: Arc<dyn Processes>, began: Instant) {
    let (mut until, mut pause) = (began + TTL, RENEWED_EVERY);
    loop {
        tokio::time::sleep(pause).await;
        let Some(held) = held.upgrade().filter(|held| !*held.lost.borrow()) else { return };
        let asked = Instant::now();
        let renewed = tokio::time::timeout_at(until.max(asked), processes.renew(held.id, ProcessId::TTL_MICROS)).await;
        match renewed {
            Ok(Ok(true)) => (until, pause) = (asked + TTL, RENEWED_EVERY),
            Ok(Err(_)) if Instant::now() < until => pause = AFTER_FAILURE,
            Ok(Ok(false) | Err(_)) | Err(_) => {
                held.lost.send_replace(true);
                return;
            }
        }
    }
}

//! Leases of processes: one ability of a store.

use threadkeep_model::ProcessId;

use crate::{BoxFuture, Result};

/// Leases of processes that own work. [`Store::commit`](crate::Store::commit) itself checks the lease of the
/// [`owner`](threadkeep_model::Commit::owner), so a process that was paused past its lease and wakes up is refused.
///
/// The store judges them by a clock of its own, never by that of a caller: a shared store by the clock of its server, a
/// file by the clock of the machine that nobody can set. A lease is no part of the log, and no copy has it.
pub trait Processes: Send + Sync {
    /// Begins the lease `process`, drawn for it, which lasts `ttl_micros` from now on.
    fn begin(&self, process: ProcessId, ttl_micros: i64) -> BoxFuture<'_, Result<()>>;

    /// A sign of life: the lease lasts `ttl_micros` from now on; with 0 it ends. False if it has ended already.
    fn renew(&self, process: ProcessId, ttl_micros: i64) -> BoxFuture<'_, Result<bool>>;

    /// Those of `processes` whose leases hold, in no order.
    fn holding(&self, processes: Vec<ProcessId>) -> BoxFuture<'_, Result<Vec<ProcessId>>>;
}

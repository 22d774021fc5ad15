//! Exclusive writers: one ability of a store, and the rules that all stores share.

use threadkeep_model::{Lease, LeaseToken, ThreadId, Timestamp};

use crate::{BoxFuture, Result, StoreError};

/// Exclusive writers, across processes and machines. [`Store::commit`](crate::Store::commit) itself checks that no lease stands against a
/// commit ([`Lease::admit`]), so a holder that was paused past its lease and wakes up is refused.
///
/// A lease is no part of the log: it is not forked, exported or rolled back.
pub trait Leases: Send + Sync {
    /// Makes `ask.holder` the exclusive writer of a living thread.
    ///
    /// # Errors
    /// [`StoreError::WriterHeld`] while another holder has the lease, or the same holder under another token.
    fn take(&self, thread: ThreadId, ask: LeaseAsk) -> BoxFuture<'_, Result<Lease>>;

    /// The holder's sign of life: the lease lasts `ttl_micros` from now on.
    ///
    /// # Errors
    /// [`StoreError::WriterLost`] if it has ended. Others may have written since, so it does not come back.
    fn renew(
        &self,
        thread: ThreadId,
        token: LeaseToken,
        ttl_micros: i64,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Lease>>;

    /// Ends a lease early. Says whether it was still held.
    fn release(&self, thread: ThreadId, token: LeaseToken, now: Timestamp) -> BoxFuture<'_, Result<bool>>;

    /// The lease on a thread, if one is held.
    fn lease(&self, thread: ThreadId, now: Timestamp) -> BoxFuture<'_, Result<Option<Lease>>>;
}

/// Who wants to be a thread's exclusive writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseAsk {
    /// The token of the new lease, drawn for it.
    pub token: LeaseToken,
    /// Who, in words for people.
    pub holder: String,
    /// How long the lease lasts, in microseconds.
    pub ttl_micros: i64,
    /// The time of the caller.
    pub now: Timestamp,
}

impl LeaseAsk {
    /// The lease that follows `last`.
    ///
    /// # Errors
    /// [`StoreError::WriterHeld`] while `last` holds.
    pub fn after(self, thread: ThreadId, last: Option<&Lease>) -> Result<Lease> {
        if let Some(held) = last.filter(|lease| lease.holds(self.now)) {
            return Err(StoreError::WriterHeld { thread, by: held.clone() });
        }
        Ok(Lease { token: self.token, holder: self.holder, until: self.now.plus_micros(self.ttl_micros) })
    }
}

/// The lease under `token`, where `last` is the last one on the thread.
///
/// # Errors
/// [`StoreError::WriterLost`] if it has ended.
pub fn held(last: Option<Lease>, thread: ThreadId, token: LeaseToken, now: Timestamp) -> Result<Lease> {
    match last.filter(|lease| lease.holds(now)) {
        Some(lease) if lease.token == token => Ok(lease),
        other => Err(StoreError::WriterLost { thread, to: other }),
    }
}

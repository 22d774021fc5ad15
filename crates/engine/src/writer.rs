//! The exclusive writer of a thread: a lease that the store checks in every commit.

use std::time::Duration;

use threadkeep_calls::{GetWriter, ReleaseWriter, Released, RenewWriter, TakeWriter, Writer};
use threadkeep_model::{Invalid, Lease, LeaseToken, ThreadId, identity};
use threadkeep_store::{BoxFuture, LeaseAsk};

use crate::ground::carry::Carry;
use crate::ground::policy::Verb;
use crate::{Engine, Result};

impl Carry for GetWriter {
    type Made = Option<Writer>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Option<Writer>> {
        Ok(engine.writer(thread).await?.as_ref().map(Writer::seen))
    }
}

impl Carry for TakeWriter {
    type Made = Lease;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Lease> {
        engine.take_writer(thread, self).await
    }
}

impl Carry for RenewWriter {
    type Made = Lease;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Lease> {
        engine.renew_writer(thread, engine.own_lease(thread)?, self.ttl.map(Duration::from_millis)).await
    }
}

impl Carry for ReleaseWriter {
    type Made = Released;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Released> {
        let released = engine.release_writer(thread, engine.own_lease(thread)?).await?;
        Ok(Released { released })
    }
}

impl Engine {
    /// Makes the caller the exclusive writer of a thread: until the lease ends, changes of its conversation need the
    /// lease's token ([`Engine::writing_under`]). Others can still fork it and change its record.
    ///
    /// ```
    /// # use threadkeep_engine as threadkeep;
    /// # async fn example(keep: threadkeep::Engine, thread: threadkeep_model::ThreadId) -> threadkeep::Result<()> {
    /// let lease = keep.take_writer(thread, threadkeep_calls::TakeWriter::default()).await?;
    /// let writer = keep.writing_under(thread, lease.token);
    /// writer.append(thread, threadkeep_model::MessageBody::user("only I write here")).await?;
    /// keep.renew_writer(thread, lease.token, None).await?; // well before lease.until
    /// keep.release_writer(thread, lease.token).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::WriterHeld`](crate::Error::WriterHeld) says who holds it, and until when.
    pub fn take_writer(&self, thread: ThreadId, take: TakeWriter) -> BoxFuture<'_, Result<Lease>> {
        Box::pin(async move {
            let ttl_micros = micros(take.ttl.map(Duration::from_millis))?;
            let holder = take.holder.unwrap_or_else(|| self.caller.actor.name.clone());
            let holder = identity("holder", holder, Lease::HOLDER_BYTES_MAX)?;
            self.head(thread, Verb::Change).await?;
            let token = LeaseToken::from_chance(self.shared.world.chance() as u64);
            let ask = LeaseAsk { token, holder, ttl_micros, now: self.shared.now() };
            Ok(self.shared.stores.leases.take(thread, ask).await?)
        })
    }

    /// The holder's sign of life: the lease lasts for `ttl` from now on.
    ///
    /// # Errors
    /// [`Error::WriterLost`](crate::Error::WriterLost) if it has ended. It does not come back: others may have
    /// written since.
    pub fn renew_writer(
        &self,
        thread: ThreadId,
        token: LeaseToken,
        ttl: Option<Duration>,
    ) -> BoxFuture<'_, Result<Lease>> {
        Box::pin(async move {
            let ttl_micros = micros(ttl)?;
            self.head(thread, Verb::Change).await?;
            Ok(self.shared.stores.leases.renew(thread, token, ttl_micros, self.shared.now()).await?)
        })
    }

    /// Ends a lease early. Says whether it was still held.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`](crate::Error::ThreadNotFound).
    pub fn release_writer(&self, thread: ThreadId, token: LeaseToken) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move {
            self.head(thread, Verb::Change).await?;
            Ok(self.shared.stores.leases.release(thread, token, self.shared.now()).await?)
        })
    }

    /// The token of the lease that a call is about.
    fn own_lease(&self, thread: ThreadId) -> Result<LeaseToken> {
        let missing = || Invalid::parameter("Threadkeep-Writer", "is missing: send the token of the lease");
        self.lease_on(thread).ok_or_else(|| missing().into())
    }

    /// The lease on a thread, if it has an exclusive writer.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`](crate::Error::ThreadNotFound).
    pub fn writer(&self, thread: ThreadId) -> BoxFuture<'_, Result<Option<Lease>>> {
        Box::pin(async move {
            self.head(thread, Verb::Change).await?;
            Ok(self.shared.stores.leases.lease(thread, self.shared.now()).await?)
        })
    }

    /// The same engine, writing to `thread` under the lease with this token. Once the lease has ended, all it writes
    /// to the thread is refused by the store.
    #[must_use]
    pub fn writing_under(&self, thread: ThreadId, token: LeaseToken) -> Self {
        Self { writes_to: Some((thread, token)), ..self.clone() }
    }
}

fn micros(ttl: Option<Duration>) -> Result<i64> {
    let Some(ttl) = ttl else { return Ok(Lease::TTL_MICROS) };
    let micros = i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX);
    if !(Lease::TTL_MICROS_MIN..=Lease::TTL_MICROS_MAX).contains(&micros) {
        return Err(Invalid::parameter("ttl", "a lease lasts from 100 milliseconds to 24 hours").into());
    }
    Ok(micros)
}

//! The exclusive read-writer of a thread: the handle.

use std::sync::Arc;
use std::time::{Duration, Instant};

use threadkeep_calls::TakeWriter;
use threadkeep_model::{FieldChanges, Lease, Record, ThreadId, Version};
use threadkeep_store::BoxFuture;

use super::queue::LiveThread;
use super::weigh::weigh;
use super::write_behind::{Unflushed, WriteBehind};
use crate::ground::carry::Enter;
use crate::ground::draft::{Draft, Refused, null};
use crate::ground::gate::{Change, passes};
use crate::{Engine, Error, MessagePage, Page, Result};

/// How to hold a thread.
#[derive(Clone, Default)]
pub struct Exclusive {
    /// How long the lease lasts unless it is renewed; none:
    /// [`LiveSettings::lease_ttl`](crate::LiveSettings::lease_ttl).
    pub ttl: Option<Duration>,
    /// Who holds it, in words for others; the caller's name if nothing is said.
    pub holder: Option<String>,
    /// Called with the unflushed updates, and with refused ones that were not taken back, when the handle is dropped
    /// without being disposed. Without it, pending updates are flushed in the background, as far as the program still
    /// runs.
    pub unflushed: Option<Unflushed>,
}

/// The exclusive read-writer of a thread. Updates are applied at once, and kept a moment later.
///
/// While it lives, no other writer changes the conversation, in this or any other process: others get
/// `writer_held`. They can still fork the thread, mention it, and change its record. The lease is renewed in the
/// background. If it is lost, [`ReadWriter::is_lost`] is true, and updates that were not flushed are handed back.
///
/// [`ReadWriter::update`] is no acknowledgement: an update is durable once [`ReadWriter::flush_version`] or
/// [`ReadWriter::dispose`] succeeds.
///
/// ```
/// # use threadkeep_engine as threadkeep;
/// # async fn example(keep: threadkeep::Engine, thread: threadkeep_model::ThreadId) -> threadkeep::Result<()> {
/// use threadkeep_model::MessageBody;
///
/// let writer = keep.exclusive(thread, threadkeep::Exclusive::default()).await?;
/// let version = writer.update(|draft| {
///     draft.append(MessageBody::user("Hello!"));
///     draft.title("Greetings");
/// })?;
/// writer.flush_version(version).await?; // durable now
/// writer.dispose().await?;
/// # Ok(())
/// # }
/// ```
pub struct ReadWriter {
    behind: Arc<WriteBehind>,
    unflushed: Option<Unflushed>,
}

impl Engine {
    /// Opens the exclusive read-writer of a thread.
    ///
    /// # Errors
    /// [`Error::WriterHeld`] while there is one, in this or any other process: it says who holds it, and until when.
    pub fn exclusive(&self, thread: ThreadId, exclusive: Exclusive) -> BoxFuture<'_, Result<ReadWriter>> {
        Box::pin(async move {
            let mut settings = self.shared.live().settings.clone();
            settings.lease_ttl = exclusive.ttl.unwrap_or(settings.lease_ttl);
            let taken = Instant::now();
            let take = TakeWriter { ttl: Some(settings.lease_ttl.as_millis() as u64), holder: exclusive.holder };
            let lease = self.take_writer(thread, take).await?;
            let engine = self.writing_under(thread, lease.token);
            // No handle exists yet that could release the lease, so an error releases it below. If this is dropped, the
            // lease expires by itself.
            let opened = async {
                let found = self.thread(thread).await?;
                let live = &self.shared.live();
                let behind = Arc::new(WriteBehind::new(engine, found, lease.clone(), taken, settings));
                if live.flusher.is_idle() {
                    live.background.spawn(Arc::clone(&live.flusher).run(live.settings.flush_batch_max))?;
                }
                live.background.spawn(Arc::clone(&behind).keep_alive())?;
                live.opened(&behind);
                Ok(ReadWriter { behind, unflushed: exclusive.unflushed })
            };
            match opened.await {
                Ok(writer) => Ok(writer),
                Err(error) => {
                    drop(self.release_writer(thread, lease.token).await);
                    Err(error)
                }
            }
        })
    }
}

impl ReadWriter {
    /// The thread it holds.
    pub fn thread(&self) -> ThreadId {
        self.behind.thread
    }

    /// The lease under which it writes.
    pub fn lease(&self) -> Lease {
        self.behind.state().lease.clone()
    }

    /// The version with all updates applied. It is an estimate that only grows, and never too high: entries of others
    /// (back-links of forks, changes of the record) can only raise it. Refused updates can leave it above the durable
    /// version.
    pub fn version(&self) -> Version {
        self.behind.state().queue.version()
    }

    /// The version that is durable, as far as is known here.
    pub fn durable_version(&self) -> Version {
        self.behind.state().queue.durable().head.version
    }

    /// How many updates are not flushed.
    pub fn pending(&self) -> usize {
        self.behind.state().queue.len()
    }

    /// Whether the lease was lost: nothing more can be written, and unflushed updates are handed back.
    pub fn is_lost(&self) -> bool {
        self.behind.state().lost.is_some()
    }

    /// Resolves once the lease is lost.
    pub async fn lost(&self) {
        self.until(|writer| writer.is_lost()).await;
    }

    /// The thread with all updates applied: its record, its versions, how many messages it shows.
    ///
    /// # Errors
    /// [`Error::WriterDisposed`]; [`Error::WriterLost`].
    pub fn read(&self) -> BoxFuture<'_, Result<LiveThread>> {
        Box::pin(async move {
            self.usable()?;
            // Changes that others made to the record are shown, unless updates wait: those are decided on it when they are
            // flushed.
            if self.pending() == 0 {
                let found = self.behind.engine.thread(self.behind.thread).await?;
                let mut state = self.behind.state();
                if state.queue.len() == 0 {
                    state.queue.found(found);
                }
            }
            Ok(self.behind.state().queue.seen())
        })
    }

    /// A page of the messages that are durable. Those that are not flushed are in [`LiveThread::pending`].
    ///
    /// # Errors
    /// [`Error::WriterDisposed`]; [`Error::WriterLost`]; else as [`Engine::messages`].
    pub fn messages(&self, page: Page) -> BoxFuture<'_, Result<MessagePage>> {
        Box::pin(async move {
            self.usable()?;
            self.behind.engine.messages(self.behind.thread, page).await
        })
    }

    /// Changes the thread by a recipe: all that it records is applied together, or nothing of it. Gives the version
    /// with it, for [`ReadWriter::flush_version`]. Nothing is loaded and nothing is waited for. Fields that have their
    /// value already change nothing, not even the version.
    ///
    /// Whether a message that the recipe names exists is checked when the update is flushed. A refused update is
    /// handed back ([`ReadWriter::take_refused`]), and the updates after it go on.
    ///
    /// # Errors
    /// [`Error::WriterDisposed`]; [`Error::WriterLost`]; [`Error::WriteBehindFull`]: wait for [`ReadWriter::room`];
    /// [`Error::ThreadClosed`]; a value that breaks a rule. Nothing has changed then.
    pub fn update(&self, recipe: impl FnOnce(&mut Draft)) -> Result<Version> {
        self.usable()?;
        let mut draft = Draft::on(Arc::clone(self.behind.state().queue.record()));
        recipe(&mut draft);
        let bytes = weigh(&draft, &self.behind.engine)?;
        let mut state = self.behind.state();
        state.usable()?;
        let settings = &self.behind.settings;
        let (updates, held) = state.queue.weight();
        // A large update that is alone is let in, or it could never be.
        if updates >= settings.pending_updates_max || (updates > 0 && held + bytes > settings.pending_bytes_max) {
            return Err(Error::WriteBehindFull { updates, bytes: held });
        }
        let lifecycle = state.queue.record().lifecycle;
        if draft.is_conversation() {
            passes(lifecycle, Change::Content)?;
        }
        let record = draft.apply(state.queue.record())?;
        if draft.is_empty() {
            return Ok(state.queue.version());
        }
        let version = state.queue.push(draft, record, bytes);
        drop(state);
        let live = &self.behind.engine.shared.live();
        live.flusher.mark(&self.behind, settings.flush_debounce);
        live.watch.touch(self.behind.thread);
        Ok(version)
    }

    /// Replaces the record: fields that are not named are cleared, as far as they can be set directly. Otherwise as
    /// [`ReadWriter::update`].
    ///
    /// # Errors
    /// As [`ReadWriter::update`].
    pub fn write(&self, fields: FieldChanges) -> Result<Version> {
        self.update(|draft| {
            for field in Record::UPDATABLE.iter().filter(|field| !fields.0.contains_key(**field)) {
                draft.set(field, null());
            }
            for (field, value) in fields.0 {
                draft.set(&field, value);
            }
        })
    }

    /// Resolves once there is room for more updates.
    ///
    /// # Errors
    /// [`Error::WriterDisposed`]; [`Error::WriterLost`].
    pub fn room(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let settings = &self.behind.settings;
            let has_room = |writer: &Self| {
                let (updates, bytes) = writer.behind.state().queue.weight();
                updates == 0 || (updates < settings.pending_updates_max && bytes < settings.pending_bytes_max)
            };
            self.until(|writer| writer.usable().is_err() || has_room(writer)).await;
            self.usable()
        })
    }

    /// Flushes now, and waits until every update up to the one that gave `target` is durable, at most for
    /// [`LiveSettings::flush_timeout`](crate::LiveSettings::flush_timeout).
    ///
    /// A target above every version that [`ReadWriter::update`] gave is a version of the thread itself: this waits
    /// for it too, also if another caller commits it.
    ///
    /// # Errors
    /// [`Error::UpdatesRefused`] hands back all updates refused so far; those up to `target` that are not in it are
    /// durable, or were handed back before. [`Error::WriterLost`]. [`Error::FlushTimeout`] names the version that was
    /// reached; the remaining updates are still retried. [`Error::WriterDisposed`].
    pub fn flush_version(&self, target: Version) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { self.flush_version_within(target, self.behind.settings.flush_timeout).await })
    }

    /// The same, with a timeout of its own.
    ///
    /// # Errors
    /// As [`ReadWriter::flush_version`].
    pub fn flush_version_within(&self, target: Version, timeout: Duration) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            if self.behind.state().disposed {
                return Err(Error::WriterDisposed);
            }
            self.behind.engine.shared.live().flusher.mark(&self.behind, Duration::ZERO);
            // In the background, since the caller's runtime may have no timers.
            let behind = Arc::clone(&self.behind);
            let waiting = async move { tokio::time::timeout(timeout, behind.reach(target)).await.is_ok() };
            let reached = self.behind.engine.shared.live().background.spawn(waiting)?.await.unwrap_or(false);
            let refused = self.take_refused();
            if !refused.is_empty() {
                return Err(Error::UpdatesRefused { updates: refused });
            }
            let state = self.behind.state();
            let durable = state.queue.durable().head.version;
            if let Some(to) = state.lost.as_ref().filter(|_| durable < target) {
                return Err(Error::WriterLost { to: to.clone() });
            }
            if reached && state.queue.reached(target) {
                return Ok(());
            }
            Err(Error::FlushTimeout { target, durable, pending: state.queue.len() })
        })
    }

    /// Flushes all pending updates, then carries out `call` at once, under the lease: for changes that a draft cannot
    /// record, such as a rollback. The call is durable when this returns.
    ///
    /// # Errors
    /// As [`ReadWriter::flush_version`]; every error of the call.
    pub async fn call<C: Enter>(&self, call: C) -> Result<C::Made> {
        self.usable()?;
        self.flush_version(self.version()).await?;
        let outcome = self.behind.engine.call(self.behind.thread, call).await;
        if let Ok(found) = self.behind.engine.thread(self.behind.thread).await {
            let mut state = self.behind.state();
            if state.queue.len() == 0 {
                state.queue.found(found);
            }
        }
        outcome
    }

    /// The updates that were refused and not handed back yet, in order, each with the reason.
    pub fn take_refused(&self) -> Vec<Refused> {
        let refused = self.behind.state().queue.take_refused();
        if !refused.is_empty() {
            // There is room again.
            self.behind.tell();
        }
        refused
    }

    /// Resolves once updates were refused, and hands them back; with none once the handle is disposed. An alternative
    /// to asking [`ReadWriter::take_refused`] or waiting for a flush.
    pub fn refused(&self) -> BoxFuture<'_, Vec<Refused>> {
        Box::pin(async move {
            let settled = |writer: &Self| {
                let state = writer.behind.state();
                state.queue.has_refused() || state.disposed
            };
            self.until(settled).await;
            self.take_refused()
        })
    }

    /// Flushes everything, then releases the lease. Disposing a second time does nothing.
    ///
    /// Flushing is retried while the lease holds; if the store is unavailable for longer, the lease is lost.
    ///
    /// # Errors
    /// [`Error::UpdatesRefused`] with all updates that were not kept: all others are durable. The thread is released in
    /// any case.
    pub fn dispose(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            {
                let mut state = self.behind.state();
                if state.disposed {
                    return Ok(());
                }
                state.disposed = true;
            }
            self.behind.tell();
            self.behind.engine.shared.live().flusher.mark(&self.behind, Duration::ZERO);
            self.until(|writer| writer.pending() == 0).await;
            // If the store is away, the lease ends by itself; everything that was to be kept is.
            drop(self.behind.release().await);
            self.behind.engine.shared.live().closed(&self.behind);
            let refused = self.take_refused();
            if refused.is_empty() { Ok(()) } else { Err(Error::UpdatesRefused { updates: refused }) }
        })
    }

    fn usable(&self) -> Result<()> {
        self.behind.state().usable()
    }

    async fn until(&self, holds: impl Fn(&Self) -> bool) {
        let mut progress = self.behind.progress();
        while !holds(self) {
            if progress.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Drop for ReadWriter {
    fn drop(&mut self) {
        let live = &self.behind.engine.shared.live();
        live.closed(&self.behind);
        live.flusher.forget(&self.behind);
        let given_up = {
            let mut state = self.behind.state();
            state.disposed = true;
            match &self.unflushed {
                Some(_) => state.queue.give_up(|| Error::WriterDisposed),
                None => Vec::new(),
            }
        };
        if let Some(unflushed) = self.unflushed.as_ref().filter(|_| !given_up.is_empty()) {
            unflushed(self.behind.thread, given_up);
        }
        if self.behind.is_released() {
            return;
        }
        // If the system has no thread to give, the lease ends by itself.
        drop(live.background.spawn(Arc::clone(&self.behind).wind_down(self.unflushed.take())));
    }
}

impl std::fmt::Debug for ReadWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadWriter").field("thread", &self.behind.thread).finish_non_exhaustive()
    }
}

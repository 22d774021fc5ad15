//! A live thread behind its handle: the queue of updates, the lease, and the way from one to the store.
//!
//! An update is committed once. A commit whose answer was lost is sent again as it was, under the same key, until the
//! store says whether it was kept; only then is anything decided anew. So a store that fails after it kept something
//! doubles nothing, and one that fails before it loses nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use threadkeep_model::{BlobId, Commit, Idempotency, IdempotencyKey, Lease, Thread, ThreadId, Version};
use threadkeep_store::StoreError;
use tokio::sync::watch;

use super::queue::Queue;
use super::settings::LiveSettings;
use crate::ground::draft::{Draft, Refused};
use crate::{Engine, Error, Result};

/// How often a decision that went stale is taken again before the thread has to wait.
const DECIDED_AGAIN_MAX: u32 = 16;

/// How many times a lease is renewed before it would end, by default.
const RENEWALS: u32 = 3;
/// Shortest time between two renewals.
const HEARTBEAT_MIN: Duration = Duration::from_millis(1);

/// Called with the unflushed updates when a handle is dropped without being disposed.
pub type Unflushed = Arc<dyn Fn(ThreadId, Vec<Refused>) + Send + Sync>;

pub(crate) struct WriteBehind {
    /// Writes under the lease.
    pub(crate) engine: Engine,
    pub(crate) thread: ThreadId,
    pub(crate) settings: LiveSettings,
    ttl: Duration,
    state: Mutex<State>,
    /// Moves whenever something is settled, or the lease is lost.
    progress: watch::Sender<u64>,
    flushing: tokio::sync::Mutex<Flushing>,
    released: watch::Sender<bool>,
}

pub(crate) struct State {
    pub(crate) queue: Queue,
    pub(crate) lease: Lease,
    /// When the lease ends at the earliest, by a clock that only goes on.
    held_until: Instant,
    /// The lease of the new holder, as far as it is known, once this one is lost.
    pub(crate) lost: Option<Option<Lease>>,
    pub(crate) disposed: bool,
}

impl State {
    /// Refuses work on a handle that was lost or disposed.
    pub(crate) fn usable(&self) -> Result<()> {
        match &self.lost {
            _ if self.disposed => Err(Error::WriterDisposed),
            Some(to) => Err(Error::WriterLost { to: to.clone() }),
            None => Ok(()),
        }
    }
}

#[derive(Default)]
struct Flushing {
    in_doubt: Option<Attempt>,
    failures: u32,
}

/// A commit of the first updates in the queue, and the thread as it is to be after it.
struct Attempt {
    commit: Commit,
    after: Thread,
    updates: usize,
}

/// The consequence of an error for the updates it concerns.
enum Verdict {
    /// Decided on something that has changed: again.
    Stale,
    /// The store is away: the same again, later.
    Away(Error),
    /// The lease is lost.
    Lost(Option<Lease>),
    /// The thread is gone.
    Gone,
    Refused(Error),
}

impl Verdict {
    fn of(error: Error) -> Self {
        match error {
            Error::Busy => Self::Stale,
            Error::WriterLost { to } => Self::Lost(to),
            Error::ThreadNotFound { .. } => Self::Gone,
            error if is_away(&error) => Self::Away(error),
            error => Self::Refused(error),
        }
    }
}

/// Whether the store could not answer, so that the same may be tried again.
fn is_away(error: &Error) -> bool {
    matches!(
        error,
        Error::Store(
            StoreError::Unavailable { .. }
                | StoreError::Frozen { .. }
                | StoreError::Failed { .. }
                | StoreError::DiskFull
        )
    )
}

impl WriteBehind {
    pub(crate) fn new(engine: Engine, thread: Thread, lease: Lease, taken: Instant, settings: LiveSettings) -> Self {
        let ttl = settings.lease_ttl;
        let state =
            State { queue: Queue::on(thread.clone()), lease, held_until: taken + ttl, lost: None, disposed: false };
        Self {
            engine,
            thread: thread.id,
            settings,
            ttl,
            state: Mutex::new(state),
            progress: watch::Sender::new(0),
            flushing: tokio::sync::Mutex::default(),
            released: watch::Sender::new(false),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves whenever something was settled since, or the lease is lost.
    pub(crate) fn progress(&self) -> watch::Receiver<u64> {
        self.progress.subscribe()
    }

    pub(crate) fn tell(&self) {
        self.progress.send_modify(|count| *count += 1);
        self.engine.shared.live().watch.touch(self.thread);
    }

    /// Commits the updates that are pending at this moment, in order. Returns the pause before the next try, if more
    /// is left.
    pub(crate) async fn flush(&self) -> Option<Duration> {
        let mut turn = self.flushing.lock().await;
        let last = self.state().queue.last();
        let (mut alone, mut stale) = (false, 0);
        loop {
            let (updates, result) = match turn.in_doubt.take() {
                Some(attempt) => (attempt.updates, self.attempt(&mut turn, attempt).await),
                None => {
                    let group = self.state().queue.group(last, alone, self.engine.shared.limits.batch_max);
                    if group.is_empty() {
                        turn.failures = 0;
                        let more = self.state().queue.len() > 0;
                        return more.then_some(self.settings.flush_debounce);
                    }
                    let result = match self.decide(&group).await {
                        Ok(attempt) => self.attempt(&mut turn, attempt).await,
                        Err(error) => Err(error),
                    };
                    (group.len(), result)
                }
            };
            let Err(error) = result else {
                (turn.failures, stale) = (0, 0);
                continue;
            };
            match Verdict::of(error) {
                Verdict::Stale if stale < DECIDED_AGAIN_MAX => stale += 1,
                Verdict::Stale => {
                    self.state().queue.landed();
                    return Some(self.settings.retry);
                }
                Verdict::Away(error) => {
                    if let Some(pause) = self.away(&mut turn, updates, error) {
                        return Some(pause);
                    }
                }
                Verdict::Lost(to) => self.lose(to, || None),
                Verdict::Gone => self.lose(None, || Some(self.not_found())),
                // Who is to blame shows when each goes alone.
                Verdict::Refused(_) if updates > 1 => alone = true,
                Verdict::Refused(error) => {
                    let mut error = Some(error);
                    self.state().queue.refuse(1, || error.take().unwrap_or(Error::Busy));
                    self.tell();
                }
            }
        }
    }

    async fn decide(&self, group: &[Arc<Draft>]) -> Result<Attempt> {
        let drafts: Vec<&Draft> = group.iter().map(|draft| &**draft).collect();
        let (mut commit, after) = self.engine.decide_drafts(self.thread, &drafts).await?;
        self.engine.permit(&commit).await?;
        // Short: the store keeps it for a day.
        let key = IdempotencyKey::new(format!("f-{:x}", self.engine.shared.world.chance() as u64))?;
        let hash = BlobId::of(key.as_str().as_bytes());
        commit.idempotency = Some(Idempotency { key, hash });
        Ok(Attempt { commit, after, updates: group.len() })
    }

    /// Commits an attempt. If the answer is lost, it stays in doubt.
    async fn attempt(&self, turn: &mut Flushing, attempt: Attempt) -> Result<()> {
        match self.engine.shared.apply(attempt.commit.clone()).await {
            Ok(committed) => {
                self.engine.shared.gates.forget(self.thread);
                let mut after = attempt.after;
                if let Some(place) = committed.threads.first() {
                    after.head = place.head;
                }
                // It was kept a while ago, and others may have changed the record since.
                if committed.replayed
                    && let Ok(found) = self.engine.thread(self.thread).await
                {
                    after = found;
                }
                self.state().queue.kept(attempt.updates, after);
                self.tell();
                Ok(())
            }
            Err(error) => {
                let error = Error::from(error);
                if is_away(&error) {
                    turn.in_doubt = Some(attempt);
                }
                Err(error)
            }
        }
    }

    /// The store is away: the pause before the next try, or none if the lease is over and nothing is left to try.
    fn away(&self, turn: &mut Flushing, updates: usize, error: Error) -> Option<Duration> {
        if Instant::now() < self.state().held_until {
            turn.failures = turn.failures.saturating_add(1);
            if turn.in_doubt.is_none() {
                self.state().queue.landed();
            }
            return Some(self.settings.pause(turn.failures));
        }
        let in_doubt = if turn.in_doubt.take().is_some() { updates } else { 0 };
        let mut left = in_doubt;
        self.lose(None, || {
            left = left.checked_sub(1)?;
            Some(again(&error))
        });
        None
    }

    /// The lease is lost: pending updates are refused, with the error from `why` or else with `WriterLost`.
    fn lose(&self, to: Option<Lease>, mut why: impl FnMut() -> Option<Error>) {
        let mut state = self.state();
        let lost = || Error::WriterLost { to: to.clone() };
        let updates = state.queue.len();
        state.queue.refuse(updates, || why().unwrap_or_else(lost));
        state.lost.get_or_insert(to.clone());
        drop(state);
        self.released.send_replace(true);
        self.tell();
    }

    fn not_found(&self) -> Error {
        Error::ThreadNotFound { thread: self.thread.into() }
    }

    /// Signs of life, until the lease is released or lost.
    pub(crate) async fn keep_alive(self: Arc<Self>) {
        let mut released = self.released.subscribe();
        let beat = self.settings.lease_heartbeat.unwrap_or(self.ttl / RENEWALS).max(HEARTBEAT_MIN);
        let (mut pause, mut failures) = (beat, 0);
        loop {
            tokio::select! {
                _ = released.wait_for(|released| *released) => return,
                () = tokio::time::sleep(pause) => {}
            }
            let sent = Instant::now();
            let token = self.state().lease.token;
            match self.engine.renew_writer(self.thread, token, Some(self.ttl)).await {
                Ok(lease) => {
                    let mut state = self.state();
                    (state.lease, state.held_until) = (lease, sent + self.ttl);
                    (pause, failures) = (beat, 0);
                }
                Err(Error::Store(_)) if Instant::now() < self.state().held_until => {
                    failures += 1;
                    pause = self.settings.pause(failures).min(beat);
                }
                Err(error) => return self.lost(error).await,
            }
        }
    }

    /// The lease is over, because of `error`. A commit that is under way, or may have succeeded, is settled first.
    async fn lost(&self, error: Error) {
        let mut turn = self.flushing.lock().await;
        if *self.released.borrow() {
            return;
        }
        if let Some(attempt) = turn.in_doubt.take() {
            let updates = attempt.updates;
            match self.attempt(&mut turn, attempt).await {
                Err(unknown) if is_away(&unknown) => {
                    turn.in_doubt = None;
                    self.state().queue.refuse(updates, || again(&unknown));
                }
                Ok(()) | Err(_) => {}
            }
        }
        match error {
            Error::WriterLost { to } => self.lose(to, || None),
            Error::ThreadNotFound { .. } => self.lose(None, || Some(self.not_found())),
            _ => self.lose(None, || None),
        }
    }

    /// Ends the lease, if it is still held.
    pub(crate) async fn release(&self) -> Result<()> {
        self.released.send_replace(true);
        let (token, lost) = {
            let state = self.state();
            (state.lease.token, state.lost.is_some())
        };
        if lost {
            return Ok(());
        }
        match self.engine.release_writer(self.thread, token).await {
            Ok(_) | Err(Error::ThreadNotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Flushes until nothing waits, then releases: for a handle that was dropped.
    pub(crate) async fn wind_down(self: Arc<Self>, unflushed: Option<Unflushed>) {
        while let Some(pause) = self.flush().await {
            tokio::time::sleep(pause).await;
        }
        let refused = self.state().queue.take_refused();
        if let Some(unflushed) = unflushed.filter(|_| !refused.is_empty()) {
            unflushed(self.thread, refused);
        }
        // If the store is away, the lease ends by itself.
        drop(self.release().await);
    }
}

impl LiveSettings {
    /// The pause before the next try, after this many failures.
    pub(crate) fn pause(&self, failures: u32) -> Duration {
        let doubled = self.retry.saturating_mul(1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
        doubled.min(self.retry_max)
    }
}

/// The same failure of a store, for one more update.
fn again(error: &Error) -> Error {
    match error {
        Error::Store(StoreError::DiskFull) => Error::Store(StoreError::DiskFull),
        Error::Store(StoreError::Failed { what }) => Error::Store(StoreError::Failed { what: what.clone() }),
        other => Error::Store(StoreError::Unavailable { what: other.to_string() }),
    }
}

/// The part that other modules use.
impl WriteBehind {
    pub(crate) fn is_released(&self) -> bool {
        *self.released.borrow()
    }

    /// Resolves once `target` is reached, by notification, and by reading the store now and then.
    pub(crate) async fn reach(self: Arc<Self>, target: Version) {
        let mut progress = self.progress();
        loop {
            {
                let state = self.state();
                if state.queue.reached(target) || state.lost.is_some() {
                    return;
                }
            }
            tokio::select! {
                _ = progress.changed() => {}
                () = tokio::time::sleep(self.settings.flush_poll) => {
                    // Only for targets beyond the updates: a head found between a commit and its answer would count it
                    // twice.
                    let quiet = self.state().queue.len() == 0;
                    if quiet && let Ok(Some(head)) = self.engine.shared.stores.store.head(self.thread).await {
                        let mut state = self.state();
                        if state.queue.len() == 0 {
                            state.queue.found_at(head);
                        }
                    }
                }
            }
        }
    }
}

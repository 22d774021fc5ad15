//! One flusher for all live threads of an engine: a few at a time, the rest wait their turn.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::write_behind::WriteBehind;

/// The threads that are dirty, and when each is to be flushed.
#[derive(Default)]
pub(crate) struct Flusher {
    /// By the address of the thread's queue: after a lost lease a thread can have two.
    dirty: Mutex<HashMap<usize, Due>>,
    news: Notify,
    started: AtomicBool,
}

struct Due {
    at: Instant,
    thread: Arc<WriteBehind>,
}

impl Flusher {
    /// Whether it is not started yet: then the caller starts it.
    pub(crate) fn is_idle(&self) -> bool {
        !self.started.swap(true, Ordering::AcqRel)
    }

    /// `thread` is to be flushed after `pause`, or earlier if that was said before.
    pub(crate) fn mark(&self, thread: &Arc<WriteBehind>, pause: Duration) {
        let at = Instant::now() + pause;
        let mut dirty = self.lock();
        let due = dirty.entry(key(thread)).or_insert_with(|| Due { at, thread: Arc::clone(thread) });
        due.at = due.at.min(at);
        drop(dirty);
        self.news.notify_one();
    }

    /// `thread` is not to be flushed any more.
    pub(crate) fn forget(&self, thread: &Arc<WriteBehind>) {
        self.lock().remove(&key(thread));
    }

    /// Flushes due threads, `at_once_max` at a time, for ever.
    pub(crate) async fn run(self: Arc<Self>, at_once_max: usize) {
        let mut flushing: JoinSet<()> = JoinSet::new();
        loop {
            while flushing.len() < at_once_max.max(1)
                && let Some(thread) = self.take_due()
            {
                let flusher = Arc::clone(&self);
                flushing.spawn(async move {
                    if let Some(pause) = thread.flush().await {
                        flusher.mark(&thread, pause);
                    }
                });
            }
            let next = if flushing.len() < at_once_max.max(1) { self.next_due() } else { None };
            tokio::select! {
                Some(_) = flushing.join_next() => {}
                () = self.news.notified() => {}
                () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
        }
    }

    /// The thread that has waited longest, if its time has come.
    fn take_due(&self) -> Option<Arc<WriteBehind>> {
        let mut dirty = self.lock();
        let now = Instant::now();
        let due = dirty.iter().filter(|(_, due)| due.at <= now);
        let first = due.min_by_key(|(_, due)| due.at).map(|(key, _)| *key)?;
        dirty.remove(&first).map(|due| due.thread)
    }

    fn next_due(&self) -> Option<Instant> {
        self.lock().values().map(|due| due.at).min()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Due>> {
        self.dirty.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(thread: &Arc<WriteBehind>) -> usize {
    Arc::as_ptr(thread).addr()
}

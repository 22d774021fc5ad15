//! Wakes those who wait for news, thread by thread. A signal is a hint to look, never the truth.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use threadkeep_model::ThreadId;
use tokio::sync::watch;

/// Who waits for news, of one thread or of all.
#[derive(Debug, Default)]
pub struct Signals {
    all: watch::Sender<u64>,
    threads: Mutex<HashMap<ThreadId, Weak<watch::Sender<u64>>>>,
}

/// Resolves when there may be news. Take it, read, and then wait: nothing falls in between.
#[derive(Debug)]
pub struct Signal {
    receiver: watch::Receiver<u64>,
    /// Keeps the sender of the thread alive while a task waits.
    _sender: Option<Arc<watch::Sender<u64>>>,
}

impl Signal {
    /// Waits until something was signalled since the last call. Cancelling it loses nothing.
    pub async fn wait(&mut self) {
        if self.receiver.changed().await.is_err() {
            // The store is gone, so there will be no more news.
            std::future::pending::<()>().await;
        }
    }

    /// Whether something was signalled since the last wait. The next wait is for a later signal.
    pub fn take(&mut self) -> bool {
        let told = self.is_told();
        self.receiver.mark_unchanged();
        told
    }

    /// Whether something was signalled since the last wait: then the next one is over at once.
    pub fn is_told(&self) -> bool {
        self.receiver.has_changed().unwrap_or(false)
    }
}

impl Signals {
    /// A signal for news of any thread.
    pub fn any(&self) -> Signal {
        Signal { receiver: self.all.subscribe(), _sender: None }
    }

    /// A signal for news of one thread.
    pub fn of(&self, thread: ThreadId) -> Signal {
        let mut threads = self.lock();
        let known = threads.get(&thread).and_then(Weak::upgrade);
        let sender = known.unwrap_or_else(|| {
            threads.retain(|_, sender| sender.strong_count() > 0);
            let sender = Arc::new(watch::Sender::new(0));
            threads.insert(thread, Arc::downgrade(&sender));
            sender
        });
        Signal { receiver: sender.subscribe(), _sender: Some(sender) }
    }

    /// Whether a task waits for any signal.
    pub fn is_watched(&self) -> bool {
        self.all.receiver_count() > 0 || self.lock().values().any(|sender| sender.strong_count() > 0)
    }

    /// There is news of `thread`.
    pub fn tell(&self, thread: ThreadId) {
        self.all.send_modify(|count| *count += 1);
        if let Some(sender) = self.lock().get(&thread).and_then(Weak::upgrade) {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// There may be news in the feed, of threads that were told before.
    pub fn tell_any(&self) {
        self.all.send_modify(|count| *count += 1);
    }

    /// There may be news of any thread.
    pub fn tell_all(&self) {
        self.all.send_modify(|count| *count += 1);
        for sender in self.lock().values().filter_map(Weak::upgrade) {
            sender.send_modify(|count| *count += 1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ThreadId, Weak<watch::Sender<u64>>>> {
        self.threads.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a signal is there already.
    fn is_told(signal: &mut Signal) -> bool {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::pin!(signal.wait()).poll(&mut context).is_ready()
    }

    #[test]
    fn a_signal_is_for_its_thread_and_comes_once() {
        let (signals, one, other) = (Signals::default(), ThreadId::from_chance(1), ThreadId::from_chance(2));
        let (mut of_one, mut of_other, mut of_any) = (signals.of(one), signals.of(other), signals.any());
        signals.tell(one);
        signals.tell(one);
        assert!(of_one.is_told() && of_any.is_told() && !of_other.is_told());
        assert!(is_told(&mut of_one) && is_told(&mut of_any));
        assert!(!of_one.is_told() && !of_any.is_told());
        assert!(!is_told(&mut of_one) && !is_told(&mut of_any) && !is_told(&mut of_other));
        signals.tell_all();
        assert!(is_told(&mut of_one) && is_told(&mut of_other) && is_told(&mut of_any));
        drop((of_one, of_other));
        assert!(signals.is_watched());
        drop(of_any);
        assert!(!signals.is_watched());
    }
}

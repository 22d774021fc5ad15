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
    /// Keeps the thread's sender alive while somebody waits.
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

    /// Whether anybody waits.
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

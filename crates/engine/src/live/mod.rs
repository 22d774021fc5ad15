//! Live threads: exclusive read-writers that write behind, observers, and custom events.
//!
//! [`weigh`] checks an update, [`queue`] holds it, and [`decide`] turns it into a commit; [`write_behind`] brings
//! it to the store, [`flusher`] says when, and [`read_writer`] is the handle. [`observe`] shows threads in
//! snapshots, [`changes`] and [`rewind`] step by step, [`emit`] sends events that are not logged, [`run_stream`] shows
//! a run with its text as it is made, [`relayed`] carries that text and events to other processes. All of it
//! happens on one [`background`] thread.

mod background;
mod changes;
mod decide;
mod emit;
mod flusher;
mod observe;
mod queue;
mod read_writer;
mod relayed;
mod rewind;
mod run_chunks;
mod run_stream;
mod settings;
mod weigh;
mod write_behind;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use threadkeep_model::ThreadId;
use threadkeep_relay::Relay;

pub use changes::{MessageChange, ThreadChanges, ThreadStep};
pub use emit::{Emitted, EmittedEvent, Events};
pub use observe::{Observed, Observer, Snapshot};
pub use queue::LiveThread;
pub use read_writer::{Exclusive, ReadWriter};
pub use run_stream::{RunNews, RunStream};
pub use settings::LiveSettings;
pub use write_behind::Unflushed;

use crate::ground::engine::Shared;

use self::background::Background;
use self::emit::Emitter;
use self::flusher::Flusher;
use self::observe::Watch;
use self::run_chunks::Chunks;
use self::write_behind::WriteBehind;

/// State shared by an engine's live threads.
#[derive(Default)]
pub(crate) struct Live {
    pub(crate) settings: LiveSettings,
    pub(crate) background: Background,
    flusher: Arc<Flusher>,
    watch: Arc<Watch>,
    emitter: Emitter,
    /// Text of runs as it is made.
    pub(crate) chunks: Chunks,
    /// Carries it to other processes.
    relay: OnceLock<Arc<dyn Relay>>,
    /// Notified when a thread was rolled back here: undone approvals may hold again.
    pub(crate) rewound: Arc<tokio::sync::Notify>,
    writers: Mutex<HashMap<ThreadId, Weak<WriteBehind>>>,
}

impl Shared {
    /// State shared by live threads.
    pub(crate) fn live(&self) -> &Live {
        self.room()
    }
}

impl Live {
    pub(crate) fn new(settings: LiveSettings) -> Self {
        Self { settings, ..Self::default() }
    }

    fn opened(&self, writer: &Arc<WriteBehind>) {
        self.writers().insert(writer.thread, Arc::downgrade(writer));
    }

    fn closed(&self, writer: &Arc<WriteBehind>) {
        let mut writers = self.writers();
        if writers.get(&writer.thread).is_some_and(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(writer))) {
            writers.remove(&writer.thread);
        }
    }

    /// The read-writer of a thread, if one is open here.
    fn writer(&self, thread: ThreadId) -> Option<Arc<WriteBehind>> {
        self.writers().get(&thread).and_then(Weak::upgrade)
    }

    fn writers(&self) -> MutexGuard<'_, HashMap<ThreadId, Weak<WriteBehind>>> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

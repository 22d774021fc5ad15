//! The thread on which live threads are renewed, flushed and watched.
//!
//! It is one thread an engine, with a small runtime of its own, started when it is first needed and gone with the
//! engine. So signs of life and flushes do not wait for the program's own runtime, a handle can be dropped outside of
//! any, and the program may use another one, or none with timers.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use threadkeep_store::StoreError;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::Result;

/// The thread, once it runs.
#[derive(Debug, Default)]
pub(crate) struct Background(Mutex<Option<Running>>);

#[derive(Debug)]
struct Running {
    handle: Handle,
    /// The thread ends when this is dropped.
    _stop: oneshot::Sender<()>,
}

impl Background {
    /// Does `work` in the background. It goes on even if the caller does not wait for it.
    ///
    /// # Errors
    /// If the system has no thread to give.
    pub(crate) fn spawn<F>(&self, work: F) -> Result<JoinHandle<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = match &*running {
            Some(running) => running.handle.clone(),
            None => {
                let started = start().map_err(|error| {
                    let what = format!("a thread for live threads cannot be started: {error}");
                    crate::Error::Store(StoreError::Unavailable { what })
                })?;
                running.insert(started).handle.clone()
            }
        };
        Ok(handle.spawn(work))
    }
}

fn start() -> std::io::Result<Running> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (stop, stopped) = oneshot::channel::<()>();
    let work = move || {
        // Never sent to: it resolves when the engine is gone.
        drop(runtime.block_on(stopped));
        // Waiting for the remaining tasks could take for ever.
        runtime.shutdown_background();
    };
    std::thread::Builder::new().name("threadkeep-live".into()).spawn(work)?;
    Ok(Running { handle, _stop: stop })
}

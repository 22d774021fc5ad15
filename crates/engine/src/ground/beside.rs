//! Work side by side where the program has a runtime for it, and one after the other where it has none: the engine
//! needs none.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use threadkeep_store::{BoxFuture, StoreError};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinHandle;

use crate::{Error, Result};

/// Tasks that begin in order and run side by side; their results are taken in the same order.
///
/// If it is dropped early, tasks that have not begun never run.
pub(crate) struct Queue<T>(VecDeque<Work<T>>);

enum Work<T> {
    /// Under way on the program's runtime.
    Begun(JoinHandle<T>),
    /// There is no runtime: it is done once it is asked for.
    Waiting(BoxFuture<'static, T>),
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: Send + 'static> Queue<T> {
    /// Begins a work, after those that are here.
    pub(crate) fn push(&mut self, work: impl Future<Output = T> + Send + 'static) {
        self.0.push_back(match Handle::try_current() {
            Ok(runtime) => Work::Begun(runtime.spawn(work)),
            Err(_) => Work::Waiting(Box::pin(work)),
        });
    }

    /// The result of the first task; none if there is no task.
    pub(crate) async fn next(&mut self) -> Result<Option<T>> {
        match self.0.pop_front() {
            Some(Work::Begun(work)) => Ok(Some(work.await.map_err(|error| ended(&error))?)),
            Some(Work::Waiting(work)) => Ok(Some(work.await)),
            None => Ok(None),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Drop for Queue<T> {
    fn drop(&mut self) {
        for work in &self.0 {
            if let Work::Begun(work) = work {
                work.abort();
            }
        }
    }
}

/// Most memory-heavy tasks at once, over all callers.
const HEAVY_MAX: usize = 2;
/// Most pictures in memory at once, over all callers: one takes less than 100 MB, and so do all of them.
const PICTURES_MAX: usize = 1;

/// Works that take the processor and much memory for a while. They wait for their turn.
pub(crate) struct Heavy(Arc<Semaphore>);

/// The permit for one heavy task. Read its data into memory only after taking the permit.
pub(crate) struct Turn(OwnedSemaphorePermit);

impl Default for Heavy {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(HEAVY_MAX)))
    }
}

impl Heavy {
    pub(crate) fn pictures() -> Self {
        Self(Arc::new(Semaphore::new(PICTURES_MAX)))
    }

    pub(crate) async fn turn(&self) -> Turn {
        Turn(Arc::clone(&self.0).acquire_owned().await.expect("turns are never closed"))
    }
}

impl Turn {
    /// Does it [`aside`]. The turn ends with the work, also if the caller has stopped waiting.
    pub(crate) async fn work<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let work = move || {
            let done = work();
            drop(self.0);
            done
        };
        aside(work).await
    }

    /// The same on a thread that ends with the work: threads that stay keep freed memory for themselves, each its own.
    pub(crate) async fn work_apart<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let work = move || {
            // If the caller has stopped waiting, the result is not needed.
            drop(reply.send(work()));
            drop(self.0);
        };
        let ended = |what: String| Error::from(StoreError::Unavailable { what });
        let spawned = std::thread::Builder::new().name("threadkeep-picture".to_owned()).spawn(work);
        spawned.map_err(|error| ended(format!("a thread cannot be started: {error}")))?;
        answer.await.map_err(|_| ended("some work ended early".to_owned()))
    }
}

/// Does something that takes the processor for a while, away from the threads that answer others if there are such.
pub(crate) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    match Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.map_err(|error| ended(&error).into()),
        Err(_) => Ok(work()),
    }
}

/// The same for work that reads the store: some stores read while they are asked, on the thread that asks. The work goes
/// on if the caller stops waiting.
pub(crate) async fn read_aside<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T> {
    match Handle::try_current() {
        Ok(runtime) => {
            let here = runtime.clone();
            let work = runtime.spawn_blocking(move || here.block_on(work));
            work.await.map_err(|error| ended(&error).into())
        }
        Err(_) => Ok(work.await),
    }
}

fn ended(error: &tokio::task::JoinError) -> StoreError {
    StoreError::Unavailable { what: format!("some work ended early: {error}") }
}

/// Gives freed memory back to the system. The allocator of glibc keeps most of it otherwise: 400 of the 540 MB that an
/// index of 1.27 million messages took.
pub(crate) fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "a call of the C library")]
    // SAFETY: it takes a number, and may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

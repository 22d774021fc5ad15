//! How long a call waits. Every call ends, also while the server hangs: the caller gets an error, and the connections on
//! which no answer came are closed.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use deadpool_postgres::Object;
use threadkeep_store::{BoxFuture, Result, StoreError};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::error::{IS_NOT_KNOWN, unanswered};
use crate::{PostgresStore, READ_AGAIN_MAX, Shared};

/// What an unanswered call leaves behind.
#[derive(Clone, Copy)]
pub(crate) enum Leaves {
    /// Nothing: it can be repeated.
    Nothing,
    /// A write that the server may still keep.
    Perhaps,
}

impl Shared {
    /// Does `work`, as long as the server may take for a call. While the server is known to hang, it fails at once. The
    /// future works in any runtime: its timer is that of the store's own.
    pub(crate) fn bounded<T, W: Future<Output = Result<T>>>(
        self: &Arc<Self>,
        leaves: Leaves,
        work: W,
    ) -> impl Future<Output = Result<T>> + use<T, W> {
        let _timers = self.runtime.enter();
        let (shared, timed) = (Arc::clone(self), tokio::time::timeout(self.call_timeout(), work));
        async move {
            if *shared.silent.borrow() {
                return Err(unanswered(&shared.connections.url, shared.call_timeout(), ""));
            }
            timed.await.unwrap_or_else(|_| Err(shared.unanswered(leaves)))
        }
    }

    pub(crate) fn call_timeout(&self) -> Duration {
        self.connections.url.call_timeout
    }

    /// The error of a call that was not answered in time.
    pub(crate) fn unanswered(&self, leaves: Leaves) -> StoreError {
        self.connections.close_idle();
        let and = match leaves {
            Leaves::Nothing => "",
            Leaves::Perhaps => IS_NOT_KNOWN,
        };
        unanswered(&self.connections.url, self.call_timeout(), and)
    }

    /// Resolves when the server is known to hang.
    pub(crate) async fn until_silent(&self) {
        // The sender lives as long as `self`.
        drop(self.silent.subscribe().wait_for(|silent| *silent).await);
    }
}

/// Work in a task of any runtime. While the task works, it is in the runtime of the store.
struct Here<T: Send + 'static> {
    runtime: Handle,
    /// None once it is done.
    work: Option<BoxFuture<'static, Result<T>>>,
}

impl<T: Send + 'static> Future for Here<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let Self { runtime, work } = &mut *self;
        let _own = runtime.enter();
        let done = work.as_mut().expect("it is not polled again once it is done").as_mut().poll(context);
        if done.is_ready() {
            *work = None;
        }
        done
    }
}

impl<T: Send + 'static> Drop for Here<T> {
    /// A task that stops waiting leaves a statement under way. The store waits for its end instead, so that the next one to
    /// use the connection need not.
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.runtime.spawn(work);
        }
    }
}

impl PostgresStore {
    /// Does `work` in the task that waits for it, within the time for a call: that saves the switches to a task of the
    /// store and back. This is for single statements: a task that does other things meanwhile would keep the locks of a
    /// transaction.
    pub(crate) fn here<T: Send + 'static>(
        &self,
        leaves: Leaves,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        let work: BoxFuture<'static, _> = Box::pin(self.shared.bounded(leaves, work));
        Box::pin(Here { runtime: self.shared.runtime.clone(), work: Some(work) })
    }

    /// Runs `work` on the store's own runtime, within the time for a call.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        self.run_bounded(Leaves::Nothing, work)
    }

    /// The same for a write that cannot be repeated blindly.
    pub(crate) fn run_write<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        self.run_bounded(Leaves::Perhaps, work)
    }

    /// A read of something that never changes under its name: from a replica if it has it, else from the primary.
    pub(crate) fn run_unchanging<T: Send + 'static, R: Future<Output = Result<Option<T>>> + Send>(
        &self,
        read: impl Fn(Arc<Object>) -> R + Send + Sync + 'static,
    ) -> BoxFuture<'_, Result<Option<T>>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            if let Some(client) = shared.connections.replicas.any().await
                && let Ok(Some(found)) = read(Arc::new(client)).await
            {
                return Ok(Some(found));
            }
            let mut again = READ_AGAIN_MAX;
            loop {
                let client = Arc::new(shared.connections.get().await?);
                match read(Arc::clone(&client)).await {
                    Err(_) if again > 0 && client.is_closed() => again -= 1,
                    done => return done,
                }
            }
        })
    }

    /// An expensive read, from a replica that is not too late, else from the primary. When its caller stops waiting, the
    /// server is told to stop too.
    pub(crate) fn run_while_wanted<T: Send + 'static, R: Future<Output = Result<T>> + Send>(
        &self,
        read: impl Fn(Arc<Object>) -> R + Send + Sync + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        let (caller, mut gone) = oneshot::channel::<()>();
        let shared = Arc::clone(&self.shared);
        let running = self.run(async move {
            let mut again = READ_AGAIN_MAX;
            let mut replica = shared.connections.replicas.fresh(&shared.connections).await;
            loop {
                let of_replica = replica.is_some();
                let client = match replica.take() {
                    Some(client) => Arc::new(client),
                    None => Arc::new(shared.connections.get().await?),
                };
                let token = client.cancel_token();
                let done = tokio::select! {
                    done = read(Arc::clone(&client)) => done,
                    _ = &mut gone => {
                        shared.connections.cancel(&token).await;
                        // The cancellation may come late: no other read may be the one that it ends.
                        if let Some(client) = Arc::into_inner(client) {
                            drop(Object::take(client));
                        }
                        return Err(StoreError::TooExpensive);
                    }
                };
                match done {
                    // A replica ends reads that hold up what it replays: the primary does not.
                    Err(_) if of_replica => {}
                    Err(_) if again > 0 && client.is_closed() => again -= 1,
                    done => return done,
                }
            }
        });
        Box::pin(async move {
            let done = running.await;
            drop(caller);
            done
        })
    }

    fn run_bounded<T: Send + 'static>(
        &self,
        leaves: Leaves,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        let (work, result) = erased(work);
        result.after(self.shared.spawn_bounded(leaves, work))
    }

    /// The same for upkeep, which takes as long as it takes: it ends early only if the server hangs.
    pub(crate) fn run_long<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        let (work, result) = erased(work);
        result.after(self.shared.spawn_long(Leaves::Perhaps, work))
    }
}

impl Shared {
    fn spawn_bounded(self: &Arc<Self>, leaves: Leaves, work: Erased) -> JoinHandle<Result<()>> {
        self.runtime.spawn(self.bounded(leaves, work))
    }

    /// Works on the store's own runtime, until the server is known to hang.
    pub(crate) fn spawn_long(self: &Arc<Self>, leaves: Leaves, work: Erased) -> JoinHandle<Result<()>> {
        let shared = Arc::clone(self);
        self.runtime.spawn(async move {
            tokio::select! {
                done = work => done,
                () = shared.until_silent() => Err(shared.unanswered(leaves)),
            }
        })
    }
}

/// Work of any kind, with its result kept beside it: tasks and timers are compiled once for all of it.
pub(crate) type Erased = BoxFuture<'static, Result<()>>;

/// Where the result of a work will be.
pub(crate) struct Outcome<T>(Arc<Mutex<Option<T>>>);

/// `work`, and where its result will be.
pub(crate) fn erased<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> (Erased, Outcome<T>) {
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let work = async move {
        let done = work.await?;
        *keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        Ok(())
    };
    (Box::pin(work), Outcome(kept))
}

impl<T: Send + 'static> Outcome<T> {
    /// The result, once the work is done.
    pub(crate) fn after(self, running: JoinHandle<Result<()>>) -> BoxFuture<'static, Result<T>> {
        let closed = || StoreError::Unavailable { what: "the store was closed".into() };
        Box::pin(async move {
            running.await.map_err(|_| closed())??;
            self.0.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(closed)
        })
    }
}

//! Work side by side where the program has a runtime for it, and one after the other where it has none: the engine needs none.

use std::future::Future;

use threadkeep_store::StoreError;
use tokio::runtime::Handle;

use crate::Result;

/// Does all of `works`, and gives what they came to, in their order.
pub(crate) async fn all<T, W>(works: Vec<W>) -> Result<Vec<T>>
where
    T: Send + 'static,
    W: Future<Output = T> + Send + 'static,
{
    let mut done = Vec::with_capacity(works.len());
    match Handle::try_current() {
        Ok(runtime) => {
            let running: Vec<_> = works.into_iter().map(|work| runtime.spawn(work)).collect();
            for work in running {
                done.push(work.await.map_err(|error| ended(&error))?);
            }
        }
        Err(_) => {
            for work in works {
                done.push(work.await);
            }
        }
    }
    Ok(done)
}

/// Does something that takes the processor for a while, away from the threads that answer others if there are such.
pub(crate) async fn long<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    match Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.map_err(|error| ended(&error).into()),
        Err(_) => Ok(work()),
    }
}

fn ended(error: &tokio::task::JoinError) -> StoreError {
    StoreError::Unavailable { what: format!("some work ended early: {error}") }
}

//! Expensive reads: on a thread beside those that answer others, until the caller goes or the time is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rusqlite::Connection;
use threadkeep_store::{BoxFuture, EXPENSIVE_MAX, Result, StoreError};
use tokio::runtime::Handle;

use crate::SqliteStore;
use crate::codec::Actors;
use crate::error::from_sqlite;

/// Steps of SQLite between two looks at the caller and at the clock: well below a millisecond.
const STEPS: i32 = 10_000;

/// Says that the caller has stopped waiting, once it is dropped.
#[derive(Default)]
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl SqliteStore {
    /// Reads aside. Without a runtime there is nobody to answer meanwhile, and it reads here.
    pub(crate) fn read_aside<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection, &Actors) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let waiting = Waiting::default();
            let is_gone = Arc::clone(&waiting.0);
            let work = move || {
                shared.read(|connection, actors| limited(connection, is_gone, |connection| read(connection, actors)))
            };
            match Handle::try_current() {
                Ok(runtime) => runtime
                    .spawn_blocking(work)
                    .await
                    .map_err(|error| StoreError::Unavailable { what: format!("a read ended early: {error}") })?,
                Err(_) => work(),
            }
        })
    }
}

fn limited<T>(
    connection: &mut Connection,
    is_gone: Arc<AtomicBool>,
    read: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    let until = Instant::now() + EXPENSIVE_MAX;
    let is_over = move || is_gone.load(Ordering::Relaxed) || Instant::now() >= until;
    connection.progress_handler(STEPS, Some(is_over)).map_err(from_sqlite)?;
    let result = read(connection);
    connection.progress_handler(0, None::<fn() -> bool>).map_err(from_sqlite)?;
    result
}

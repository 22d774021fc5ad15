//! Long reads: on a thread beside those that answer others, until the caller goes or the time is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use threadkeep_store::{BoxFuture, EXPENSIVE_MAX, Result, StoreError};
use tokio::runtime::Handle;

use crate::codec::Actors;
use crate::error::from_sqlite;
use crate::{Shared, SqliteStore};

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
    /// Works aside. The work is told when its caller has gone. Without a runtime there is nobody to answer meanwhile,
    /// and it works here.
    pub(crate) fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared, Arc<AtomicBool>) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let waiting = Waiting::default();
            let is_gone = Arc::clone(&waiting.0);
            let work = move || work(&shared, is_gone);
            match Handle::try_current() {
                Ok(runtime) => runtime
                    .spawn_blocking(work)
                    .await
                    .map_err(|error| StoreError::Unavailable { what: format!("a read ended early: {error}") })?,
                Err(_) => work(),
            }
        })
    }

    /// Reads aside, for as long as an expensive read may take.
    pub(crate) fn read_aside<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection, &Actors) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        self.aside(move |shared, is_gone| {
            shared.read(|connection, actors| {
                while_wanted(connection, Some(EXPENSIVE_MAX), is_gone, |connection| read(connection, actors))
            })
        })
    }

    /// The same for upkeep, which may take longer.
    pub(crate) fn read_long<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        self.aside(move |shared, is_gone| {
            shared.read(|connection, _| while_wanted(connection, None, is_gone, |connection| read(connection)))
        })
    }
}

/// Reads until the caller has gone, or the time is up.
pub(crate) fn while_wanted<T>(
    connection: &mut Connection,
    most: Option<Duration>,
    is_gone: Arc<AtomicBool>,
    read: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    let until = most.map(|most| Instant::now() + most);
    let is_over = move || is_gone.load(Ordering::Relaxed) || until.is_some_and(|until| Instant::now() >= until);
    connection.progress_handler(STEPS, Some(is_over)).map_err(from_sqlite)?;
    let result = read(connection);
    connection.progress_handler(0, None::<fn() -> bool>).map_err(from_sqlite)?;
    result
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc::channel;
    use std::task::{Context, Waker};

    use super::*;

    /// It ends only if it is interrupted.
    const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

    #[test]
    fn a_read_ends_when_its_caller_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(folder.path().join("threads.db")).expect("a store");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
        let _inside = runtime.enter();
        let ((begun, begins), (ended, ends)) = (channel(), channel());
        {
            let mut read = pin!(store.read_aside(move |connection, _| {
                begun.send(()).expect("the test listens");
                let read = connection.query_row(ENDLESS, [], |row| row.get::<_, i64>(0)).map_err(from_sqlite);
                ended.send(read).expect("the test listens");
                Ok(())
            }));
            assert!(read.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            begins.recv().expect("it has begun");
            assert!(ends.try_recv().is_err(), "it runs as long as its caller waits");
        }
        let read = ends.recv().expect("it has ended");
        assert!(matches!(read, Err(StoreError::TooExpensive)), "{read:?}");
        // The connection serves the next reader.
        let next = runtime.block_on(store.read_aside(|connection, _| {
            connection.query_row("SELECT 7", [], |row| row.get::<_, i64>(0)).map_err(from_sqlite)
        }));
        assert_eq!(next.expect("a read"), 7);
    }

    #[test]
    fn a_read_ends_when_its_time_is_up() {
        let mut connection = Connection::open_in_memory().expect("a connection");
        let read = while_wanted(&mut connection, Some(Duration::ZERO), Arc::default(), |connection| {
            connection.query_row(ENDLESS, [], |row| row.get::<_, i64>(0)).map_err(from_sqlite)
        });
        assert!(matches!(read, Err(StoreError::TooExpensive)), "{read:?}");
    }
}

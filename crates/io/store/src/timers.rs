//! Items that wait for a time: what has to happen with them unless they change before.

use threadkeep_model::{ItemKind, ThreadId, Timestamp};

use crate::{BoxFuture, Result};

/// An item of a living thread, and when something has to happen with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// When.
    pub due: Timestamp,
    /// The thread it belongs to.
    pub thread: ThreadId,
    /// What it is.
    pub kind: ItemKind,
    /// Its key.
    pub key: String,
}

/// What is due.
#[derive(Debug, Clone)]
pub struct DueQuery {
    /// Due at this time or before.
    pub until: Timestamp,
    /// Only what comes after this one in the order of [`Timers::due`].
    pub after: Option<(Timestamp, String)>,
    /// At most so many.
    pub limit: usize,
}

/// Items that wait for a time. Whether one still holds is for the reader to check: what a rollback undid stays here.
pub trait Timers: Send + Sync {
    /// What is due, the soonest first, then by key.
    fn due(&self, query: DueQuery) -> BoxFuture<'_, Result<Vec<Due>>>;

    /// When the next item after `after` is due.
    fn next_due(&self, after: Timestamp) -> BoxFuture<'_, Result<Option<Timestamp>>>;
}

//! Items with a due time: an action is due on them unless they change before.

use threadkeep_model::{ItemKind, ThreadId, Timestamp};

use crate::{BoxFuture, Result};

/// An item of a living thread, and when something has to happen with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// The time at which it is due.
    pub due: Timestamp,
    /// The thread it belongs to.
    pub thread: ThreadId,
    /// The kind of the item.
    pub kind: ItemKind,
    /// The key of the item.
    pub key: String,
}

/// Reads items that are due.
#[derive(Debug, Clone)]
pub struct DueQuery {
    /// Only items of this kind.
    pub kind: ItemKind,
    /// Due at this time or before.
    pub until: Timestamp,
    /// Only what comes after this one in the order of [`Timers::due`].
    pub after: Option<(Timestamp, String)>,
    /// At most so many.
    pub limit: usize,
}

/// Items with a due time. The reader checks whether one still holds: items that a rollback undid stay here.
pub trait Timers: Send + Sync {
    /// The time by which everything in this store is due or expires, where the caller's own clock says `own`. A store that
    /// several machines share has a clock of its own: theirs may differ.
    fn now(&self, own: Timestamp) -> Timestamp {
        own
    }

    /// What is due, the soonest first, then by key.
    fn due(&self, query: DueQuery) -> BoxFuture<'_, Result<Vec<Due>>>;

    /// When the next item of this kind after `after` is due.
    fn next_due(&self, kind: ItemKind, after: Timestamp) -> BoxFuture<'_, Result<Option<Timestamp>>>;
}

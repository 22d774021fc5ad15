//! The rows of one thread at one version, while others write.

use threadkeep_model::{Checkpoint, ItemKind, Position, Relation, Thread, ThreadId};
use threadkeep_store::{EntryQuery, Item, Order, StoreError};

use crate::{Engine, Result};

/// How often a thread is read before the doctor gives up on seeing its rows between two writes.
const SETTLED_TRIES: usize = 1_000;

/// The rows of a thread at one version: between two reads of its head nothing was written.
pub(super) struct Settled {
    pub(super) thread: Thread,
    /// Whether the log has an entry after the head.
    pub(super) is_behind: bool,
    pub(super) checkpoints: Vec<Checkpoint>,
    pub(super) items: Vec<(ItemKind, Item)>,
    pub(super) relations: Result<Vec<Relation>, StoreError>,
    /// Whether it was read between two writes; otherwise only rows that bear a version can be compared.
    pub(super) is_whole: bool,
}

/// Reads a thread's rows at one version; none if it was deleted.
pub(super) async fn settled(engine: &Engine, id: ThreadId) -> Result<Option<Settled>> {
    let store = &engine.shared.stores.store;
    let mut tries = 0;
    loop {
        let Some(thread) = store.thread(id.into()).await? else { return Ok(None) };
        let after = EntryQuery {
            segment: thread.head.segment,
            positions: thread.head.version.next()..=Position::END,
            order: Order::Ascending,
            limit: 1,
        };
        let is_behind = !store.entries(after).await?.is_empty();
        let checkpoints = store.checkpoints(id).await?;
        let items = store.items_of(vec![id], ItemKind::ALL.to_vec()).await?.into_iter().flatten().collect();
        let relations = store.relations(vec![id]).await;
        let relations = relations.map(|found| found.into_iter().flatten().map(|(relation, ..)| relation).collect());
        let Some(now) = store.head(id).await? else { return Ok(None) };
        tries += 1;
        let is_whole = now == thread.head;
        if is_whole || tries == SETTLED_TRIES {
            return Ok(Some(Settled { thread, is_behind, checkpoints, items, relations, is_whole }));
        }
    }
}

//! `redo`, and the steps of `undo`.
//!
//! Every rollback, truncation, undo and redo opens a segment. An undo shows the version before the segment that is
//! shown opened, so undos step back through all of them, one at a time. Undos and redos that follow each other are a
//! *walk*: each says where the walk began, and redo leads back there. Any other change of the conversation, of files,
//! values or the agent ends the walk; entries of the record, such as a title or an approval, do not.

use threadkeep_calls::Redo;
use threadkeep_model::{Class, Entry, MessageId, Position, RolledBack, Thread, ThreadId, Version, Walk};
use threadkeep_store::{EntryQuery, Order};

use super::rollback::{Step, Way};
use crate::ground::carry::Carry;
use crate::{Engine, Error, Result};

/// Entries read at once while a change is looked for.
const READ_AT_ONCE: usize = 200;

impl Carry for Redo {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        engine.go(thread, Way::Redo).await
    }
}

impl Engine {
    /// The step that an undo makes.
    pub(super) async fn undone(&self, thread: &Thread) -> Result<Step> {
        let walk = self.walk(thread).await?;
        let (from, shown) = walk.unwrap_or((thread.head.version, thread.head.version));
        // A segment begins with the entry that opened it, unless it is the thread's birth.
        match &self.shared.stores.store.segments(thread.id, shown, 2).await?[..] {
            [opened, _] => Ok(Step { to: opened.first.previous(), undo: true, from: Some(from) }),
            _ => Err(Error::NothingToUndo),
        }
    }

    /// The step that a redo makes: to the version before the next segment that was opened.
    pub(super) async fn redone(&self, thread: &Thread) -> Result<Step> {
        let Some((from, shown)) = self.walk(thread).await?.filter(|(from, shown)| shown < from) else {
            return Err(Error::NothingToRedo);
        };
        let own = self.shared.stores.store.segments(thread.id, Position::END, usize::MAX).await?;
        let next = own.iter().map(|segment| segment.first).filter(|first| *first > shown.next()).min();
        let to = next.map_or(from, Position::previous);
        Ok(Step { to, undo: false, from: Some(from) })
    }

    /// The walk that a thread is on: the version where it began, and the one that is shown.
    async fn walk(&self, thread: &Thread) -> Result<Option<(Version, Version)>> {
        let segment = thread.head.segment;
        let Some(opened) = self.shared.stores.store.segments(thread.id, Position::END, 1).await?.pop() else {
            return Ok(None);
        };
        let Some(first) = self.entry_at(MessageId { segment, position: opened.first }).await? else { return Ok(None) };
        let Entry::RolledBack(RolledBack { to, walk: Some(Walk { from, entries }), .. }) = self.decode(&first).await?
        else {
            return Ok(None);
        };
        let mut next = Position(opened.first.0 + entries + 1);
        while next <= thread.head.version {
            let positions = next..=thread.head.version;
            let query = EntryQuery { segment, positions, order: Order::Ascending, limit: READ_AT_ONCE };
            let found = self.shared.stores.store.entries(query).await?;
            let is_record = |class: Class| match class {
                Class::Record => true,
                Class::Messages | Class::Changes | Class::Files | Class::Values => false,
            };
            if !found.iter().all(|entry| is_record(entry.kind.class())) {
                return Ok(None);
            }
            let Some(last) = found.last() else { break };
            next = last.position.next();
        }
        Ok(Some((from, to)))
    }
}

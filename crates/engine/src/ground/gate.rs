//! The gate: the changes that a thread allows in each state of its life. Every change passes it.
//!
//! Reading, forking, spawning, handing off, mentioning, referencing and editing the record do not pass it: they
//! are allowed in every state.

use threadkeep_model::{ItemKind, Lifecycle, Thread, ThreadId};
use threadkeep_store::ItemQuery;

use crate::ground::cache::Gate;
use crate::{Engine, Error, Result};

/// The condition that a change puts on the thread it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// To say, edit or drop something, to put it in the queue, to change files, values, skills or the agent: the thread
    /// is not closed.
    Content,
    /// To start a run, or to go back to an earlier version: the thread is active.
    Work,
}

/// Refuses `change` if the life of `thread` does not allow it.
pub(crate) fn open_for(thread: &Thread, change: Change) -> Result<()> {
    passes(thread.record.lifecycle, change)
}

/// The same where only the state is known.
pub(crate) fn passes(state: Lifecycle, change: Change) -> Result<()> {
    match (state, change) {
        (Lifecycle::Active, Change::Content | Change::Work) | (Lifecycle::Suspended, Change::Content) => Ok(()),
        (Lifecycle::Suspended, Change::Work) => Err(Error::ThreadSuspended),
        (Lifecycle::Completed | Lifecycle::Cancelled | Lifecycle::Archived, Change::Content | Change::Work) => {
            Err(Error::ThreadClosed { state })
        }
    }
}

impl Engine {
    /// The number of effects of a thread that have not ended, where `more` are to be scheduled on it.
    pub(crate) async fn admit_effects(&self, thread: ThreadId, gate: &Gate, more: usize) -> Result<usize> {
        let open = match gate.effects {
            _ if more == 0 => return Ok(0),
            Some(open) => open,
            None => self.count_effects(thread).await?,
        };
        takes_effects(gate.is_terminated, open, more, self.shared.limits.effects_max)?;
        Ok(open)
    }

    /// The same for a thread that was read.
    pub(crate) async fn admit_more_effects(&self, thread: &Thread, more: usize) -> Result<()> {
        if more > 0 {
            let open = self.count_effects(thread.id).await?;
            takes_effects(thread.record.terminated.is_some(), open, more, self.shared.limits.effects_max)?;
        }
        Ok(())
    }

    /// The number of effects of a thread that have not ended, undone ones included, as far as the limit.
    pub(crate) async fn count_effects(&self, thread: ThreadId) -> Result<usize> {
        let limit = self.shared.limits.effects_max;
        let query = ItemQuery { thread, kind: ItemKind::Effect, key: None, limit };
        Ok(self.shared.stores.store.count_items(query).await?)
    }
}

/// Refuses `more` effects on a thread that was terminated, or has too many that have not ended.
pub(crate) fn takes_effects(is_terminated: bool, open: usize, more: usize, max: usize) -> Result<()> {
    if is_terminated {
        return Err(Error::ThreadTerminated);
    }
    if open + more > max { Err(Error::EffectsFull { max }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_takes_effects_until_it_is_terminated_and_up_to_its_limit() {
        let taken = |is_terminated, open, more| takes_effects(is_terminated, open, more, 10).map_err(|no| no.code());
        assert_eq!(taken(false, 8, 2), Ok(()));
        assert_eq!(taken(false, 8, 3), Err("effects_full"));
        assert_eq!(taken(true, 0, 1), Err("thread_terminated"));
    }
}

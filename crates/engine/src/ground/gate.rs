//! The gate: the changes that a thread allows in each state of its life. Every change passes it.
//!
//! Reading, forking, spawning, handing off, mentioning, referencing and editing the record do not pass it: they
//! are allowed in every state.

use threadkeep_model::{Lifecycle, Thread};

use crate::{Error, Result};

/// The condition that a change puts on the thread it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// To say, edit or drop something, to put it in the queue, to change files, values, skills or the agent: the thread
    /// is not closed.
    Content,
    /// To begin an execution, or to go back to an earlier version: the thread is active.
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

//! The open run of a thread.

use threadkeep_model::{Entry, Run, RunWoken, Thread, Uuid, Wait};

use crate::{Error, Result};

/// The run that is open and was not lost to a rollback or a truncation.
pub(crate) fn still_open(thread: &Thread) -> Option<&Run> {
    thread.record.run.as_ref().filter(|open| open.fence == thread.head.fence)
}

/// The open run, unless another run or another attempt is open.
pub(crate) fn running(thread: &Thread, id: Uuid, attempt: u64) -> Result<&Run> {
    match still_open(thread) {
        // Runs of old logs have no attempt.
        Some(open) if open.id == id && open.attempt.max(1) == attempt => Ok(open),
        other => Err(Error::RunOver { run: id, by: other.cloned().map(Box::new) }),
    }
}

/// The entry that tells the open run of a thread that an answer came, if it waits for that.
pub(crate) fn wakes(thread: &Thread, wait: Wait) -> Option<Entry> {
    let run = still_open(thread).filter(|run| run.waits.contains(&wait))?;
    Some(Entry::RunWoken(Box::new(RunWoken { run: run.woken(wait), wait })))
}

//! `lifecycle`: a thread's work rests, goes on, is done, is given up, or is put away for good.
//!
//! The states and the ways between them are in the model (`Lifecycle::after`). What each state lets happen is in `gate`.

use threadkeep_model::{
    CheckpointSet, Code, Entry, ExecutionEnded, ExecutionStatus, Invalid, Lifecycle, LifecycleAction, LifecycleChanged,
    Thread, ThreadId, Version, strip_nulls,
};

use super::tell_one;
use crate::calls::Interrupted;
use crate::{Engine, Error, Result, ThreadEvent};

/// Longest reason, in bytes.
const REASON_BYTES_MAX: usize = 64 << 10;

/// Moves a thread on in its life.
#[derive(Debug, Clone)]
pub struct ChangeLifecycle {
    /// Where to.
    pub action: LifecycleAction,
    /// Why, in words for people.
    pub reason: Option<String>,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl From<LifecycleAction> for ChangeLifecycle {
    fn from(action: LifecycleAction) -> Self {
        Self { action, reason: None, expected: None }
    }
}

/// How much of an ending is told: a message that closes calls is conversation, which a lease guards.
#[derive(Clone, Copy)]
enum Closing {
    Calls,
    Nothing,
}

impl Engine {
    /// Moves a thread on in its life, and gives it as it is now.
    ///
    /// `suspend` names the version it rests at (`suspended-12`). An execution that is open is ended in the same commit, by
    /// everything but `resume` and `archive`; calls without a result are closed with it. Somebody else's lease does not
    /// keep a thread from being suspended or closed: calls then stay open, and are closed for whoever reads the
    /// conversation for a model.
    ///
    /// Whoever listens to the thread's events hears `status_changed`, and `done` when the work is.
    ///
    /// # Errors
    /// [`Error::InvalidTransition`], with what is allowed; a blank or too long reason; [`Error::VersionConflict`].
    pub async fn lifecycle(&self, thread: ThreadId, change: impl Into<ChangeLifecycle>) -> Result<Thread> {
        let change = change.into();
        let reason = change.reason.map(checked_reason).transpose()?;
        let (action, expected) = (change.action, change.expected);
        let moved = self.move_on(thread, action, reason.clone(), expected, Closing::Calls).await;
        let moved = match moved {
            Err(Error::WriterHeld { .. }) => {
                self.move_on(thread, action, reason.clone(), expected, Closing::Nothing).await?
            }
            moved => moved?,
        };
        let to = moved.record.lifecycle;
        let told = serde_json::json!({ "lifecycle": to.as_str(), "action": action.as_str(), "reason": reason });
        self.announce(thread, ThreadEvent::StatusChanged, &told);
        if to == Lifecycle::Completed {
            self.announce(thread, ThreadEvent::Done, &told);
        }
        Ok(moved)
    }

    async fn move_on(
        &self,
        thread: ThreadId,
        action: LifecycleAction,
        reason: Option<String>,
        expected: Option<Version>,
        closing: Closing,
    ) -> Result<Thread> {
        let (committed, mut after) = self
            .settle(thread, || async {
                let mut thread = self.thread(thread).await?;
                let from = thread.record.lifecycle;
                let to = from.after(action)?;
                let mut entries = self.put_down(&thread, to, closing).await?;
                if to == Lifecycle::Suspended {
                    let version = thread.head.version;
                    entries.push(Entry::CheckpointSet(CheckpointSet { name: format!("suspended-{version}"), version }));
                }
                entries.push(Entry::LifecycleChanged(LifecycleChanged { from, to, reason: reason.clone() }));
                let (write, record) = tell_one(&thread, expected, &entries)?;
                thread.record = record;
                Ok((self.commit(vec![write]), thread))
            })
            .await?;
        if let Some(committed) = committed.threads.first() {
            after.head = committed.head;
        }
        Ok(after)
    }

    /// What ends the work on a thread that goes to `to`: calls without a result, and the execution that is open.
    async fn put_down(&self, thread: &Thread, to: Lifecycle, closing: Closing) -> Result<Vec<Entry>> {
        let open = thread.record.execution.as_ref();
        let (cut, status) = match to {
            Lifecycle::Active | Lifecycle::Archived => return Ok(Vec::new()),
            Lifecycle::Suspended => (Interrupted::Suspend, ExecutionStatus::Cancelled),
            Lifecycle::Completed => (Interrupted::End, ExecutionStatus::Completed),
            Lifecycle::Cancelled => (Interrupted::Cancel, ExecutionStatus::Cancelled),
        };
        let mut entries = Vec::new();
        // A thread that only rests still takes results from whoever works on it without an execution.
        let closes = !to.is_open() || open.is_some();
        if let (Closing::Calls, true) = (closing, closes) {
            let view = self.view(thread.id, &thread.head, None).await?;
            entries.extend(self.close_calls(&view, view.tally.messages(), &[], cut).await?);
        }
        entries.extend(open.map(|open| Entry::ExecutionEnded(ExecutionEnded { id: open.id, status })));
        Ok(entries)
    }
}

fn checked_reason(reason: String) -> Result<String, Invalid> {
    let reason = strip_nulls(reason);
    if reason.trim().is_empty() {
        return Err(Invalid::body("reason", "must not be blank; leave it out instead"));
    }
    if reason.len() > REASON_BYTES_MAX {
        return Err(Invalid::new(Code::TooLarge, "reason", format!("has at most {REASON_BYTES_MAX} bytes")));
    }
    Ok(reason)
}

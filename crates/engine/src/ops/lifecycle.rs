//! `lifecycle`: a thread is suspended, resumed, completed, cancelled or archived.
//!
//! The states and transitions are in the model (`Lifecycle::after`). The changes that each state allows are in
//! `gate`.

use threadkeep_calls::ChangeLifecycle;
use threadkeep_model::{
    CheckpointSet, Entry, ExecutionEnded, ExecutionStatus, Lifecycle, LifecycleAction, LifecycleChanged, Thread,
    ThreadId,
};

use super::text::checked_text;
use crate::ground::carry::Carry;
use crate::ground::plan::Plan;
use crate::open_calls::Interrupted;
use crate::{Engine, Error, Result};

/// Which entries an ending logs: a message that closes calls is conversation, which a lease guards.
#[derive(Clone, Copy)]
enum Closing {
    Calls,
    Nothing,
}

impl Carry for ChangeLifecycle {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        let Self { action, reason } = self;
        let reason = reason.map(|reason| checked_text("reason", reason)).transpose()?;
        match engine.move_on(thread, action, &reason, Closing::Calls).await {
            Err(Error::WriterHeld { .. }) => engine.move_on(thread, action, &reason, Closing::Nothing).await,
            moved => moved,
        }
    }
}

impl Engine {
    async fn move_on(
        &self,
        thread: ThreadId,
        action: LifecycleAction,
        reason: &Option<String>,
        closing: Closing,
    ) -> Result<Thread> {
        let told = self
            .tell(thread, || async {
                let thread = self.thread(thread).await?;
                let from = thread.record.lifecycle;
                let to = from.after(action)?;
                let mut entries = self.put_down(&thread, to, closing).await?;
                if to == Lifecycle::Suspended {
                    let version = thread.head.version;
                    entries.push(Entry::CheckpointSet(CheckpointSet { name: format!("suspended-{version}"), version }));
                }
                entries.push(Entry::LifecycleChanged(LifecycleChanged { from, to, reason: reason.clone() }));
                Ok(Plan::new(thread, entries))
            })
            .await?;
        Ok(told.thread)
    }

    /// The entries that end the work on a thread that goes to `to`: results for open calls, and the end of the open
    /// execution.
    async fn put_down(&self, thread: &Thread, to: Lifecycle, closing: Closing) -> Result<Vec<Entry>> {
        let open = thread.record.execution.as_ref();
        let (cut, status) = match to {
            Lifecycle::Active | Lifecycle::Archived => return Ok(Vec::new()),
            Lifecycle::Suspended => (Interrupted::Suspend, ExecutionStatus::Cancelled),
            Lifecycle::Completed => (Interrupted::End, ExecutionStatus::Completed),
            Lifecycle::Cancelled => (Interrupted::Cancel, ExecutionStatus::Cancelled),
        };
        let mut entries = Vec::new();
        // A suspended thread still takes results from an agent that works on it without an execution.
        let closes = !to.is_open() || open.is_some();
        if let (Closing::Calls, true) = (closing, closes) {
            let view = self.view(thread.id, &thread.head, None).await?;
            entries.extend(self.close_calls(&view, view.tally.messages(), &[], cut).await?);
        }
        entries.extend(open.map(|open| Entry::ExecutionEnded(ExecutionEnded { id: open.id, status })));
        Ok(entries)
    }
}

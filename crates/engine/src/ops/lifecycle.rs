//! `lifecycle`: a thread is suspended, resumed, completed, cancelled or archived.
//!
//! The states and transitions are in the model (`Lifecycle::after`). The changes that each state allows are in
//! `gate`.

use threadkeep_calls::ChangeLifecycle;
use threadkeep_model::{
    CheckpointSet, Entry, Lifecycle, LifecycleAction, LifecycleChanged, RunOutcome, Thread, ThreadId,
};

use super::run::{ends_with, reason};
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
                let plan = Plan::new(thread, entries);
                match to {
                    Lifecycle::Active | Lifecycle::Archived => Ok(plan),
                    Lifecycle::Suspended | Lifecycle::Completed | Lifecycle::Cancelled => {
                        Box::pin(self.waking_parent(plan)).await
                    }
                }
            })
            .await?;
        Ok(told.thread)
    }

    /// The entries that end the work on a thread that goes to `to`: results for open calls, and the end of the open
    /// run. A thread that is closed runs no more effects.
    async fn put_down(&self, thread: &Thread, to: Lifecycle, closing: Closing) -> Result<Vec<Entry>> {
        let (cut, status, why) = match to {
            Lifecycle::Active | Lifecycle::Archived => return Ok(Vec::new()),
            Lifecycle::Suspended => (Interrupted::Suspend, RunOutcome::Stopped, reason::SUSPENDED),
            Lifecycle::Completed => (Interrupted::End, RunOutcome::Completed, reason::THREAD_CLOSED),
            Lifecycle::Cancelled => (Interrupted::Cancel, RunOutcome::Stopped, reason::THREAD_CLOSED),
        };
        let mut entries = Vec::new();
        // A suspended thread still takes results from an agent that works on it without a run.
        let closes = !to.is_open() || thread.record.run.is_some();
        if let (Closing::Calls, true) = (closing, closes) {
            let view = self.view(thread.id, &thread.head, None).await?;
            entries.extend(self.close_calls(&view, view.tally.messages(), &[], cut).await?);
        }
        entries.extend(ends_with(thread, status, why));
        if !to.is_open() {
            entries.extend(self.cancelled_effects(thread.id, "the thread was closed").await?);
        }
        Ok(entries)
    }
}

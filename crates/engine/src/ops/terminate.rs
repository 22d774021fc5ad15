//! `terminate`: the work on a thread ends for good. Its lifecycle stays, and its subagents go on.

use threadkeep_calls::{Queued, QueuedTool, Terminate};
use threadkeep_model::{
    Child, Entry, FieldChanges, Json, QueuedRemoved, RunOutcome, Thread, ThreadChanged, ThreadId, Timestamp, Wait,
};

use super::run::{ends_with, reason};
use crate::ground::carry::Carry;
use crate::ground::open_run::wakes;
use crate::ground::plan::{Plan, tell_other};
use crate::open_calls::Interrupted;
use crate::{Engine, Error, Result};

impl Carry for Terminate {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        match engine.terminate_closing(thread, true).await {
            // A message that closes calls is conversation, which a lease guards. The calls are closed where a model
            // reads.
            Err(Error::WriterHeld { .. }) => engine.terminate_closing(thread, false).await,
            terminated => terminated,
        }
    }
}

impl Engine {
    async fn terminate_closing(&self, thread: ThreadId, closes_calls: bool) -> Result<Thread> {
        let told = self
            .tell(thread, || async {
                let own = self.thread(thread).await?;
                let works = own.record.run.is_some() && closes_calls;
                let closed = if works { self.closed_calls(&own, &[], Interrupted::Cancel).await? } else { None };
                let waiting = (self.waiting(&own).await?, self.waiting_tools(&own).await?);
                let now = self.shared.now();
                let is_new = own.record.terminated.is_none();
                let effects = self.cancelled_effects(thread, "the thread was terminated").await?;
                let plan = decide(own, &waiting, effects, closed, now)?;
                match self.registered_child(thread).await?.filter(|_| is_new) {
                    Some((parent, child)) => {
                        let child = Child { status: "terminated".to_owned(), ..child };
                        let message = self.status_message(&parent, &child).await?;
                        let wait = Wait::Child { thread_id: thread };
                        let told: Vec<Entry> = std::iter::once(Entry::ChildChanged(child))
                            .chain(message)
                            .chain(wakes(&parent, wait))
                            .collect();
                        Ok(plan.with(tell_other(&parent, &told)?))
                    }
                    None => Ok(plan),
                }
            })
            .await?;
        Ok(told.thread)
    }
}

/// The plan for a thread on which messages and tools wait, and whose effects `cancelled` cancels; nothing if it was
/// terminated before.
fn decide(
    thread: Thread,
    (messages, tools): &(Vec<Queued>, Vec<QueuedTool>),
    cancelled: Vec<Entry>,
    closed: Option<Entry>,
    now: Timestamp,
) -> Result<Plan> {
    if thread.record.terminated.is_some() {
        return Ok(Plan::new(thread, Vec::new()));
    }
    let mut entries: Vec<Entry> = closed.into_iter().collect();
    entries.extend(ends_with(&thread, RunOutcome::Stopped, reason::TERMINATED));
    let removed = |queued: &Queued| QueuedRemoved { item: queued.id, silent: queued.queued_message.silent };
    entries.extend(messages.iter().map(removed).map(Entry::QueuedRemoved));
    entries.extend(Engine::take_tools(tools));
    entries.extend(cancelled);
    let fields = FieldChanges([("terminated".to_owned(), Json::from_value("terminated", &now)?)].into());
    entries.push(Entry::ThreadChanged(ThreadChanged { fields }));
    Ok(Plan::new(thread, entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::plan::record_after;
    use crate::ground::plan::testing::{run, thread};

    #[test]
    fn the_run_ends_and_once_more_changes_nothing() {
        let now = Timestamp::from_micros(5);
        let mut working = thread();
        working.record.run = Some(run());
        let plan = decide(working.clone(), &(Vec::new(), Vec::new()), Vec::new(), None, now).expect("a plan");
        let after = record_after(&working, &plan.entries).expect("a record");
        assert_eq!((after.terminated, after.run), (Some(now), None));
        working.record.terminated = Some(now);
        assert!(decide(working, &(Vec::new(), Vec::new()), Vec::new(), None, now).expect("a plan").entries.is_empty());
    }
}

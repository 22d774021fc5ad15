//! `terminate`: the work on a thread ends for good. Its lifecycle stays, and its subagents go on.

use threadkeep_calls::{Queued, Terminate};
use threadkeep_model::{
    Child, Entry, ExecutionEnded, ExecutionStatus, FieldChanges, Json, QueuedRemoved, Thread, ThreadChanged, ThreadId,
    Timestamp,
};

use crate::ground::carry::Carry;
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
                let works = own.record.execution.is_some() && closes_calls;
                let closed = if works { self.closed_calls(&own, &[], Interrupted::Cancel).await? } else { None };
                let (waiting, now) = (self.waiting(&own).await?, self.shared.now());
                let is_new = own.record.terminated.is_none();
                let plan = decide(own, &waiting, closed, now)?;
                match self.registered_child(thread).await?.filter(|_| is_new) {
                    Some((parent, child)) => {
                        let child = Child { status: "terminated".to_owned(), ..child };
                        let message = self.status_message(&parent, &child).await?;
                        let told: Vec<Entry> = std::iter::once(Entry::ChildChanged(child)).chain(message).collect();
                        Ok(plan.with(tell_other(&parent, &told)?))
                    }
                    None => Ok(plan),
                }
            })
            .await?;
        Ok(told.thread)
    }
}

/// The plan for a thread on which `waiting` waits; nothing if it was terminated before.
fn decide(thread: Thread, waiting: &[Queued], closed: Option<Entry>, now: Timestamp) -> Result<Plan> {
    if thread.record.terminated.is_some() {
        return Ok(Plan::new(thread, Vec::new()));
    }
    let mut entries: Vec<Entry> = closed.into_iter().collect();
    let (open, status) = (thread.record.execution.as_ref(), ExecutionStatus::Cancelled);
    entries.extend(open.map(|open| Entry::ExecutionEnded(ExecutionEnded { id: open.id, status })));
    let removed = |queued: &Queued| QueuedRemoved { item: queued.id, silent: queued.queued_message.silent };
    entries.extend(waiting.iter().map(removed).map(Entry::QueuedRemoved));
    let fields = FieldChanges([("terminated".to_owned(), Json::from_value("terminated", &now)?)].into());
    entries.push(Entry::ThreadChanged(ThreadChanged { fields }));
    Ok(Plan::new(thread, entries))
}

#[cfg(test)]
mod tests {
    use threadkeep_model::{Execution, Uuid};

    use super::*;
    use crate::ground::plan::record_after;
    use crate::ground::plan::testing::thread;

    #[test]
    fn the_execution_ends_and_once_more_changes_nothing() {
        let now = Timestamp::from_micros(5);
        let (id, by, fence, steps) = (Uuid::from_chance(1), "ann".to_owned(), 0, 0);
        let mut working = thread();
        working.record.execution = Some(Execution { id, by, fence, began: now, until: now, steps });
        let plan = decide(working.clone(), &[], None, now).expect("a plan");
        let after = record_after(&working, &plan.entries).expect("a record");
        assert_eq!((after.terminated, after.execution), (Some(now), None));
        working.record.terminated = Some(now);
        assert!(decide(working, &[], None, now).expect("a plan").entries.is_empty());
    }
}

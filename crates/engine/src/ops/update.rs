//! `update`: new values for fields of the record.

use threadkeep_calls::Update;
use threadkeep_model::{
    AgentAssigned, AgentState, Entry, FieldChanges, Lifecycle, Record, Thread, ThreadChanged, ThreadId,
};

use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::{Engine, Error, Result};

impl Carry for Update {
    type Made = Thread;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Thread> {
        let asked = self.fields.checked()?;
        let told = engine.tell(thread, || async { decide(engine.thread(thread).await?, &asked) }).await?;
        Ok(told.thread)
    }
}

/// The plan; values that are already there change nothing.
fn decide(thread: Thread, asked: &FieldChanges) -> Result<Plan> {
    let record = merged(&thread, asked)?;
    let entries = if record == thread.record { Vec::new() } else { changes(&thread.record, &record) };
    Ok(Plan::new(thread, entries))
}

/// The record after `asked`. A thread that is archived for good is not brought back, and its agent is content: it does
/// not change once the thread is closed.
pub(crate) fn merged(thread: &Thread, asked: &FieldChanges) -> Result<Record> {
    let record = thread.record.merge(asked)?;
    if record.agent_id != thread.record.agent_id {
        open_for(thread, Change::Content)?;
    }
    if thread.record.archived && !record.archived && record.lifecycle == Lifecycle::Archived {
        return Err(Error::ArchivedForGood);
    }
    Ok(record)
}

/// The entries that turn `before` into `after`. An assigned agent has an entry of its own: a rollback restores
/// it.
pub(crate) fn changes(before: &Record, after: &Record) -> Vec<Entry> {
    let mut fields = before.changes_to(after);
    let assigned = fields.0.remove("agentId").map(|_| {
        let state = AgentState { agent_id: after.agent_id.clone(), ..before.state() };
        Entry::AgentAssigned(AgentAssigned { state })
    });
    let told = (!fields.0.is_empty()).then_some(Entry::ThreadChanged(ThreadChanged { fields }));
    told.into_iter().chain(assigned).collect()
}

#[cfg(test)]
mod tests {
    use threadkeep_model::Json;

    use super::*;
    use crate::ground::plan::testing::thread;

    #[test]
    fn only_what_changes_is_told_and_an_agent_in_its_own_words() {
        let mut titled = thread();
        titled.record.title = Some("Rome".into());
        let fields = |pairs: &[(&str, &str)]| {
            let parsed = |(name, json): &(&str, &str)| ((*name).to_owned(), Json::parse(name, json).expect("json"));
            FieldChanges(pairs.iter().map(parsed).collect())
        };
        assert!(decide(titled.clone(), &fields(&[("title", "\"Rome\"")])).expect("a plan").entries.is_empty());
        let told = decide(titled, &fields(&[("title", "\"Naples\""), ("agentId", "\"a\"")])).expect("a plan").entries;
        assert!(matches!(&told[..], [Entry::ThreadChanged(_), Entry::AgentAssigned(_)]), "{told:?}");
    }

    #[test]
    fn what_is_archived_for_good_stays_so() {
        let mut gone = thread();
        (gone.record.archived, gone.record.lifecycle) = (true, Lifecycle::Archived);
        let asked = FieldChanges([("archived".to_owned(), Json::parse("archived", "false").expect("json"))].into());
        assert!(matches!(decide(gone, &asked), Err(Error::ArchivedForGood)));
    }
}

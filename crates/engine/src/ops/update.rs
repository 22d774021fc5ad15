//! `update`: new values for fields of the record.

use threadkeep_model::{
    AgentAssigned, AgentState, Entry, FieldChanges, Json, Lifecycle, Record, Thread, ThreadChanged, ThreadId, Version,
};

use super::tell_one;
use crate::gate::{Change, open_for};
use crate::{Engine, Error, Result};

/// New values for fields of the record: a shallow merge, arrays and objects replaced whole, null clears.
#[derive(Debug, Clone, Default)]
pub struct Update {
    /// The fields, by their names on the wire.
    pub fields: FieldChanges,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl Update {
    /// Sets nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `name` to `value`; null clears it.
    #[must_use]
    pub fn field(mut self, name: &str, value: Json) -> Self {
        self.fields.0.insert(name.to_owned(), value);
        self
    }

    /// Sets the title.
    #[must_use]
    pub fn title(self, title: &str) -> Self {
        self.field("title", Json::string(title))
    }
}

impl Engine {
    /// Updates the record. Values that are already there change nothing, not even the version.
    ///
    /// # Errors
    /// [`crate::Error::VersionConflict`]; [`crate::Error::ThreadClosed`] where another agent is named; a field that breaks
    /// a rule. Nothing has changed then.
    pub async fn update(&self, thread: ThreadId, update: Update) -> Result<Thread> {
        let asked = update.fields.checked()?;
        let before = self.thread(thread).await?;
        let unchanged = merged(&before, &asked)? == before.record;
        if unchanged && update.expected.is_none_or(|expected| expected == before.head.version) {
            return Ok(before);
        }
        let (committed, mut after) = self
            .settle(thread, || async {
                let mut thread = self.thread(thread).await?;
                let entries = changes(&thread.record, &merged(&thread, &asked)?);
                let (write, record) = tell_one(&thread, update.expected, &entries)?;
                thread.record = record;
                Ok((self.commit(vec![write]), thread))
            })
            .await?;
        if let Some(committed) = committed.threads.first() {
            after.head = committed.head;
        }
        Ok(after)
    }
}

/// The record after `asked`. A thread that is put away for good is not brought back, and who works on a thread is its
/// content: it does not change once that is closed.
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

/// What to tell so that `before` becomes `after`. An assigned agent is told in its own words: a rollback restores it.
pub(crate) fn changes(before: &Record, after: &Record) -> Vec<Entry> {
    let mut fields = before.changes_to(after);
    let assigned = fields.0.remove("agentId").map(|_| {
        let state = AgentState { agent_id: after.agent_id.clone(), ..before.state() };
        Entry::AgentAssigned(AgentAssigned { state })
    });
    // An update that changes nothing still says so where the caller expects a version.
    let told = (!fields.0.is_empty() || assigned.is_none()).then_some(Entry::ThreadChanged(ThreadChanged { fields }));
    told.into_iter().chain(assigned).collect()
}

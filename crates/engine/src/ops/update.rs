//! `update`: new values for fields of the record.

use threadkeep_model::{Entry, FieldChanges, Json, NewEntry, Thread, ThreadChanged, ThreadId, Version};

use super::write;
use crate::{Engine, Result};

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
    /// [`crate::Error::VersionConflict`]; a field that breaks a rule: nothing has changed then.
    pub async fn update(&self, thread: ThreadId, update: Update) -> Result<Thread> {
        let asked = update.fields.checked()?;
        let before = self.thread(thread).await?;
        let unchanged = before.record.merge(&asked)? == before.record;
        if unchanged && update.expected.is_none_or(|expected| expected == before.head.version) {
            return Ok(before);
        }
        let (committed, mut after) = self
            .settle(thread, || async {
                let mut thread = self.thread(thread).await?;
                let record = thread.record.merge(&asked)?;
                let fields = thread.record.changes_to(&record);
                let entry = NewEntry::new(&Entry::ThreadChanged(ThreadChanged { fields }));
                let commit =
                    self.commit(vec![write(&thread, update.expected, None, vec![entry], Some(record.clone()))]);
                thread.record = record;
                Ok((commit, thread))
            })
            .await?;
        if let Some(committed) = committed.threads.first() {
            after.head = committed.head;
        }
        Ok(after)
    }
}

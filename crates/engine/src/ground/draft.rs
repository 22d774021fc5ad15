//! The draft of an update to a live thread: operations, recorded one by one. The conversation is not loaded.

use std::sync::Arc;

use threadkeep_calls::{Append, EditMessage, NewMessage, Update};
use threadkeep_model::{Event, FieldChanges, Json, MessageId, Record};

use crate::{Error, Result};

/// The steps of an update, kept together or not at all.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    steps: Vec<DraftStep>,
    record: Arc<Record>,
}

/// One thing that an update changes.
#[derive(Debug, Clone)]
pub enum DraftStep {
    /// Adds messages at the end.
    Append(Append),
    /// Logs an event that is not a message.
    AppendEvent(Event),
    /// Puts a message before another one.
    Insert {
        /// The message that it precedes.
        before: MessageId,
        /// The message to be inserted.
        message: NewMessage,
    },
    /// New content or metadata for a message.
    EditMessage(EditMessage),
    /// Deletes a message, which has to be there.
    DeleteMessage(MessageId),
    /// New values for fields of the record.
    Update(Update),
}

impl Draft {
    /// Changes nothing yet; `record` is the record as it is before.
    pub(crate) fn on(record: Arc<Record>) -> Self {
        Self { steps: Vec::new(), record }
    }

    /// The record as it is before this update, with all updates before it applied.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Appends a message. It has an id once it is flushed.
    pub fn append(&mut self, message: impl Into<NewMessage>) {
        let message = message.into();
        if let Some(DraftStep::Append(append)) = self.steps.last_mut() {
            append.messages.push(message);
        } else {
            self.steps.push(DraftStep::Append(Append::batch([message])));
        }
    }

    /// Logs an event that is not a message.
    pub fn append_event(&mut self, event: Event) {
        self.steps.push(DraftStep::AppendEvent(event));
    }

    /// Puts a message before another one.
    pub fn insert_before(&mut self, before: MessageId, message: impl Into<NewMessage>) {
        self.steps.push(DraftStep::Insert { before, message: message.into() });
    }

    /// Gives a message new content or metadata.
    pub fn edit(&mut self, edit: EditMessage) {
        self.steps.push(DraftStep::EditMessage(edit));
    }

    /// Deletes a message, which has to be there.
    pub fn delete(&mut self, message: MessageId) {
        self.steps.push(DraftStep::DeleteMessage(message));
    }

    /// Sets a field of the record by its name on the wire; null clears it.
    pub fn set(&mut self, field: &str, value: Json) {
        if let Some(DraftStep::Update(update)) = self.steps.last_mut() {
            update.fields.0.insert(field.to_owned(), value);
        } else {
            self.steps.push(DraftStep::Update(Update::new().field(field, value)));
        }
    }

    /// Sets the title of the thread.
    pub fn title(&mut self, title: &str) {
        self.set("title", Json::string(title));
    }

    /// Clears a field of the record.
    pub fn clear(&mut self, field: &str) {
        self.set(field, null());
    }

    /// Its steps, in order.
    pub fn steps(&self) -> &[DraftStep] {
        &self.steps
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether it does nothing but append, so that it can be kept in one commit with its neighbours.
    pub(crate) fn is_plain(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, DraftStep::Append(_) | DraftStep::AppendEvent(_)))
    }

    /// Whether it changes the conversation.
    pub(crate) fn is_conversation(&self) -> bool {
        self.steps.iter().any(|step| !matches!(step, DraftStep::Update(_)))
    }

    /// How many entries it becomes.
    pub(crate) fn entries(&self) -> usize {
        let entries = |step: &DraftStep| if let DraftStep::Append(append) = step { append.messages.len() } else { 1 };
        self.steps.iter().map(entries).sum()
    }

    /// The fields of the record that it sets.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &FieldChanges> {
        self.steps.iter().filter_map(|step| match step {
            DraftStep::Update(update) => Some(&update.fields),
            _ => None,
        })
    }

    /// The record after it, where `record` is the one before. Fields that have their value already are left out.
    pub(crate) fn apply(&mut self, record: &Record) -> Result<Record> {
        let mut record = record.clone();
        let mut broken = None;
        self.steps.retain(|step| {
            let DraftStep::Update(update) = step else { return true };
            match record.merge(&update.fields) {
                Ok(merged) => {
                    let changes = merged != record;
                    record = merged;
                    changes
                }
                Err(invalid) => {
                    broken.get_or_insert(invalid);
                    true
                }
            }
        });
        broken.map_or(Ok(record), |invalid| Err(invalid.into()))
    }

    /// The messages that it appends.
    pub(crate) fn appended(&self) -> impl Iterator<Item = &NewMessage> {
        self.steps.iter().flat_map(|step| match step {
            DraftStep::Append(append) => &append.messages[..],
            _ => &[],
        })
    }

    /// By how much it changes the number of messages.
    pub(crate) fn delta(&self) -> i64 {
        let delta = |step: &DraftStep| match step {
            DraftStep::Append(append) => append.messages.len() as i64,
            DraftStep::Insert { .. } => 1,
            DraftStep::DeleteMessage(_) => -1,
            DraftStep::AppendEvent(_) | DraftStep::EditMessage(_) | DraftStep::Update(_) => 0,
        };
        self.steps.iter().map(delta).sum()
    }
}

pub(crate) fn null() -> Json {
    Json::parse("field", "null").expect("null is JSON")
}

/// An update that was not kept, and the reason.
#[derive(Debug)]
pub struct Refused {
    /// The update. It can be handed in again: `writer.update(|draft| *draft = refused.draft)`.
    pub draft: Draft,
    /// Why. Where the store itself failed, it is not known whether the update was kept; in all other cases it was not.
    pub error: Error,
}

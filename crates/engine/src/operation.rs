//! The one list of verbs. Every surface prints this list, with the same names, parameters and refusals.

use threadkeep_model::{Checkpoint, Message, Thread, ThreadId, Version};

use crate::{
    Append, AppendEvent, Create, Delete, DeleteMessage, EditMessage, Engine, Fork, Handoff, Insert, Mention,
    Relationship, Result, Rollback, SetCheckpoint, Truncate, Update,
};

/// Something that changes a thread.
#[derive(Debug, Clone)]
pub enum Operation {
    /// A new thread.
    Create(Create),
    /// New values for fields of the record.
    Update(Update),
    /// Deletes the thread.
    Delete(Delete),
    /// Appends messages.
    Append(Append),
    /// Logs an event that is not a message.
    AppendEvent(AppendEvent),
    /// Puts a message before another one.
    Insert(Insert),
    /// New content or metadata for a message.
    EditMessage(EditMessage),
    /// Deletes a message.
    DeleteMessage(DeleteMessage),
    /// Drops all messages from a point on.
    Truncate(Truncate),
    /// A new thread that shares the history up to a point.
    Fork(Fork),
    /// A new thread that goes on from a summary of this one.
    Handoff(Handoff),
    /// Another thread is named in this one.
    Mention(Mention),
    /// Back to an earlier version.
    Rollback(Rollback),
    /// A name for a version.
    SetCheckpoint(SetCheckpoint),
}

/// What an operation gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The thread as it is now, or the new thread.
    Thread(Box<Thread>),
    /// The messages that were appended.
    Messages(Vec<Message>),
    /// The message that was inserted or edited.
    Message(Box<Message>),
    /// The version at which the event was logged.
    Logged(Version),
    /// Whether there was something to delete.
    Deleted(bool),
    /// The checkpoint.
    Checkpoint(Checkpoint),
    /// The relation that holds.
    Relationship(Relationship),
}

impl Operation {
    /// The names of all operations, in the words of the command line.
    pub const NAMES: [&'static str; 14] = [
        "create",
        "update",
        "delete",
        "append",
        "append-event",
        "insert",
        "edit",
        "delete-message",
        "truncate",
        "fork",
        "handoff",
        "mention",
        "rollback",
        "checkpoint",
    ];

    /// The name of this operation.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Create(_) => "create",
            Self::Update(_) => "update",
            Self::Delete(_) => "delete",
            Self::Append(_) => "append",
            Self::AppendEvent(_) => "append-event",
            Self::Insert(_) => "insert",
            Self::EditMessage(_) => "edit",
            Self::DeleteMessage(_) => "delete-message",
            Self::Truncate(_) => "truncate",
            Self::Fork(_) => "fork",
            Self::Handoff(_) => "handoff",
            Self::Mention(_) => "mention",
            Self::Rollback(_) => "rollback",
            Self::SetCheckpoint(_) => "checkpoint",
        }
    }
}

impl Engine {
    /// Carries out `operation` on `thread`; [`Operation::Create`] needs none and ignores it.
    ///
    /// # Errors
    /// Whatever the operation refuses; nothing has changed then.
    pub async fn execute(&self, thread: ThreadId, operation: Operation) -> Result<Outcome> {
        Ok(match operation {
            Operation::Create(create) => Outcome::Thread(Box::new(self.create(create).await?)),
            Operation::Update(update) => Outcome::Thread(Box::new(self.update(thread, update).await?)),
            Operation::Delete(delete) => Outcome::Deleted(self.delete(thread, delete).await?),
            Operation::Append(append) => Outcome::Messages(self.append(thread, append).await?),
            Operation::AppendEvent(event) => Outcome::Logged(self.append_event(thread, event).await?),
            Operation::Insert(insert) => Outcome::Message(Box::new(self.insert(thread, insert).await?)),
            Operation::EditMessage(edit) => Outcome::Message(Box::new(self.edit_message(thread, edit).await?)),
            Operation::DeleteMessage(delete) => Outcome::Deleted(self.delete_message(thread, delete).await?),
            Operation::Truncate(truncate) => Outcome::Thread(Box::new(self.truncate(thread, truncate).await?)),
            Operation::Fork(fork) => Outcome::Thread(Box::new(self.fork(thread, fork).await?)),
            Operation::Handoff(handoff) => Outcome::Thread(Box::new(self.handoff(thread, handoff).await?)),
            Operation::Mention(mention) => Outcome::Relationship(self.mention(thread, mention).await?),
            Operation::Rollback(rollback) => Outcome::Thread(Box::new(self.rollback(thread, rollback).await?)),
            Operation::SetCheckpoint(checkpoint) => Outcome::Checkpoint(self.checkpoint(thread, checkpoint).await?),
        })
    }
}

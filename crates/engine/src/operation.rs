//! The one list of verbs. Every surface prints this list, with the same names, parameters and refusals.

use threadkeep_model::{Checkpoint, Message, Thread, ThreadId, Version};

use crate::{
    Acknowledge, ActivateSkill, Answer, Append, AppendEvent, Approval, Archive, Assign, Begin, ChangeLifecycle,
    ChangeOwner, Create, Decide, Decision, Delete, DeleteFile, DeleteMessage, EditMessage, EditQueued, End, Engine,
    FileRecord, Fork, Handoff, Inject, Injection, Insert, MakeDirectory, Mention, Merge, MoveFile, NotifyParent,
    Observe, Progressed, Queue, Queued, Reference, Relationship, RemoveDirectory, RemoveQueued, Result, Revoked,
    Rollback, SetCheckpoint, SetStatus, SetValue, Spawn, Step, StoredValue, Subagent, SubagentThread, ThreadMerge,
    ThreadObserver, ThreadReference, Transfer, Transferred, Truncate, Unarchive, Unobserve, Update, Verdict,
    WriteFiles,
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
    /// Hides the thread from the main list.
    Archive(Archive),
    /// Brings an archived thread back.
    Unarchive(Unarchive),
    /// Hands the thread to another agent.
    Assign(Assign),
    /// Activates a skill.
    ActivateSkill(ActivateSkill),
    /// A message that waits until an execution takes it up.
    Queue(Queue),
    /// New content or metadata for a message that waits.
    EditQueued(EditQueued),
    /// Withdraws a message that waits.
    RemoveQueued(RemoveQueued),
    /// Begins an execution.
    Begin(Begin),
    /// Goes one step further.
    Step(Step),
    /// Ends an execution.
    End(End),
    /// A new thread for a subagent of this one.
    Subagent(Subagent),
    /// Tells the thread this one works for.
    NotifyParent(NotifyParent),
    /// What this thread is doing, in its own words.
    SetStatus(SetStatus),
    /// Gives the thread to another account.
    ChangeOwner(ChangeOwner),
    /// Writes files.
    WriteFiles(WriteFiles),
    /// Deletes a file.
    DeleteFile(DeleteFile),
    /// Moves a file or a directory.
    MoveFile(MoveFile),
    /// Makes a directory.
    MakeDirectory(MakeDirectory),
    /// Removes an empty directory.
    RemoveDirectory(RemoveDirectory),
    /// Sets a value, or takes it away.
    SetValue(SetValue),
    /// Moves the thread on in its life.
    Lifecycle(ChangeLifecycle),
    /// Something for whoever works on the thread.
    Inject(Inject),
    /// Takes up an injection by hand.
    Acknowledge(Acknowledge),
    /// Answers a question.
    Decide(Decide),
    /// A new thread for an intent of its own.
    Spawn(Spawn),
    /// Asks for authority, or gives it to agents.
    Transfer(Transfer),
    /// Says yes to an approval.
    Approve(Answer),
    /// Says no to an approval.
    Deny(Answer),
    /// Takes an approval or a delegation back.
    Revoke(Answer),
    /// Reads another thread.
    Reference(Reference),
    /// Is told of another thread.
    Observe(Observe),
    /// Is told no more of another thread.
    Unobserve(Unobserve),
    /// Merges what other threads made.
    Merge(Box<Merge>),
}

/// What an operation gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The thread as it is now, or the new thread.
    Thread(Box<Thread>),
    /// The thread of a subagent, with what it was given.
    Subagent(Box<SubagentThread>),
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
    /// The message that waits.
    Queued(Queued),
    /// What the begin, the step or the end did.
    Progressed(Progressed),
    /// The message that waits for the parent; none if there is no parent.
    Notified(Option<Queued>),
    /// Whether there was a parent to tell.
    StatusSet(bool),
    /// The files that were written.
    Files(Vec<FileRecord>),
    /// How many files were moved.
    Moved(usize),
    /// Whether the directory was not there before.
    Made(bool),
    /// The value that was set; none if it was taken away, or was not there.
    Value(Option<StoredValue>),
    /// The injection.
    Injection(Box<Injection>),
    /// The answer that counts.
    Decision(Box<Decision>),
    /// The approval that waits, or the delegation that holds.
    Transferred(Transferred),
    /// The approval that was answered.
    Approval(Box<Approval>),
    /// What was taken back.
    Revoked(Revoked),
    /// The reference.
    Reference(Box<ThreadReference>),
    /// The observer.
    Observer(Box<ThreadObserver>),
    /// How far the merge came.
    Merged(Box<ThreadMerge>),
}

impl Operation {
    /// The names of all operations, in the words of the command line.
    pub const NAMES: [&'static str; 47] = [
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
        "archive",
        "unarchive",
        "assign",
        "skill",
        "queue",
        "edit-queued",
        "remove-queued",
        "begin",
        "step",
        "end",
        "subagent",
        "notify-parent",
        "status",
        "change-owner",
        "write-file",
        "delete-file",
        "move-file",
        "mkdir",
        "rmdir",
        "set-value",
        "lifecycle",
        "inject",
        "ack",
        "decide",
        "spawn",
        "transfer",
        "approve",
        "deny",
        "revoke",
        "reference",
        "observe",
        "unobserve",
        "merge",
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
            Self::Archive(_) => "archive",
            Self::Unarchive(_) => "unarchive",
            Self::Assign(_) => "assign",
            Self::ActivateSkill(_) => "skill",
            Self::Queue(_) => "queue",
            Self::EditQueued(_) => "edit-queued",
            Self::RemoveQueued(_) => "remove-queued",
            Self::Begin(_) => "begin",
            Self::Step(_) => "step",
            Self::End(_) => "end",
            Self::Subagent(_) => "subagent",
            Self::NotifyParent(_) => "notify-parent",
            Self::SetStatus(_) => "status",
            Self::ChangeOwner(_) => "change-owner",
            Self::WriteFiles(_) => "write-file",
            Self::DeleteFile(_) => "delete-file",
            Self::MoveFile(_) => "move-file",
            Self::MakeDirectory(_) => "mkdir",
            Self::RemoveDirectory(_) => "rmdir",
            Self::SetValue(_) => "set-value",
            Self::Lifecycle(_) => "lifecycle",
            Self::Inject(_) => "inject",
            Self::Acknowledge(_) => "ack",
            Self::Decide(_) => "decide",
            Self::Spawn(_) => "spawn",
            Self::Transfer(_) => "transfer",
            Self::Approve(_) => "approve",
            Self::Deny(_) => "deny",
            Self::Revoke(_) => "revoke",
            Self::Reference(_) => "reference",
            Self::Observe(_) => "observe",
            Self::Unobserve(_) => "unobserve",
            Self::Merge(_) => "merge",
        }
    }
}

impl Engine {
    /// Carries out `operation` on `thread`; [`Operation::Create`], and what answers an approval, need none and ignore it.
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
            Operation::Archive(archive) => Outcome::Thread(Box::new(self.archive(thread, archive).await?)),
            Operation::Unarchive(unarchive) => Outcome::Thread(Box::new(self.unarchive(thread, unarchive).await?)),
            Operation::Assign(assign) => Outcome::Thread(Box::new(self.assign(thread, assign).await?)),
            Operation::ActivateSkill(skill) => Outcome::Thread(Box::new(self.activate_skill(thread, skill).await?)),
            Operation::Queue(queue) => Outcome::Queued(self.queue(thread, queue).await?),
            Operation::EditQueued(edit) => Outcome::Queued(self.edit_queued(thread, edit).await?),
            Operation::RemoveQueued(remove) => Outcome::Deleted(self.remove_queued(thread, remove).await?),
            Operation::Begin(begin) => Outcome::Progressed(self.begin(thread, begin).await?),
            Operation::Step(step) => Outcome::Progressed(self.step(thread, step).await?),
            Operation::End(end) => Outcome::Progressed(self.end(thread, end).await?),
            Operation::Subagent(subagent) => Outcome::Subagent(Box::new(self.subagent(thread, subagent).await?)),
            Operation::NotifyParent(notify) => Outcome::Notified(self.notify_parent(thread, notify).await?),
            Operation::SetStatus(set) => Outcome::StatusSet(self.set_status(thread, set).await?),
            Operation::ChangeOwner(change) => Outcome::Thread(Box::new(self.change_owner(thread, change).await?)),
            Operation::WriteFiles(write) => Outcome::Files(self.write_files(thread, write).await?),
            Operation::DeleteFile(delete) => Outcome::Deleted(self.delete_file(thread, delete).await?),
            Operation::MoveFile(moving) => Outcome::Moved(self.move_file(thread, moving).await?),
            Operation::MakeDirectory(make) => Outcome::Made(self.make_directory(thread, make).await?),
            Operation::RemoveDirectory(remove) => Outcome::Deleted(self.remove_directory(thread, remove).await?),
            Operation::SetValue(set) => Outcome::Value(self.set_value(thread, set).await?),
            Operation::Lifecycle(change) => Outcome::Thread(Box::new(self.lifecycle(thread, change).await?)),
            Operation::Inject(inject) => Outcome::Injection(Box::new(self.inject(thread, inject).await?)),
            Operation::Acknowledge(ack) => Outcome::Injection(Box::new(self.acknowledge(thread, ack).await?)),
            Operation::Decide(decide) => Outcome::Decision(Box::new(self.decide(thread, decide).await?)),
            Operation::Spawn(spawn) => Outcome::Thread(Box::new(self.spawn(thread, spawn).await?)),
            Operation::Transfer(transfer) => Outcome::Transferred(self.transfer(thread, transfer).await?),
            Operation::Approve(answer) => Outcome::Approval(Box::new(self.answer(Verdict::Approve, answer).await?)),
            Operation::Deny(answer) => Outcome::Approval(Box::new(self.answer(Verdict::Deny, answer).await?)),
            Operation::Revoke(answer) => Outcome::Revoked(self.revoke(answer).await?),
            Operation::Reference(reference) => Outcome::Reference(Box::new(self.reference(thread, reference).await?)),
            Operation::Observe(observe) => Outcome::Observer(Box::new(self.observe_thread(thread, observe).await?)),
            Operation::Unobserve(unobserve) => Outcome::Deleted(self.unobserve(thread, unobserve).await?),
            Operation::Merge(merge) => Outcome::Merged(Box::new(self.merge(thread, *merge).await?)),
        })
    }
}

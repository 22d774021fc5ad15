//! `queue`, `edit-queued`, `remove-queued`: messages that wait until an execution takes them up.

use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::{
    Actor, Content, Entry, Idempotency, IdempotencyKey, Invalid, ItemKind, Json, MessageBody, MessageDelivered,
    MessageId, MessageQueued, NewEntry, Position, QueuedEdited, QueuedId, QueuedRemoved, Thread, ThreadId, Timestamp,
    Version,
};
use threadkeep_store::{Item, ItemQuery, StoreError};

use super::append::{NewMessage, hash};
use super::attach::Sent;
use super::edit::merge;
use super::write;
use crate::gate::{Change, open_for};
use crate::{Engine, Error, Result};

/// A message that shall wait until an execution takes it up.
#[derive(Debug, Clone)]
pub struct Queue {
    /// The message.
    pub message: NewMessage,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
    /// A retry with the same key returns the first result and adds nothing.
    pub idempotency_key: Option<IdempotencyKey>,
}

impl<T: Into<NewMessage>> From<T> for Queue {
    fn from(message: T) -> Self {
        Self { message: message.into(), expected: None, idempotency_key: None }
    }
}

/// New content or metadata for a message that waits.
#[derive(Debug, Clone)]
pub struct EditQueued {
    /// Which one.
    pub item: QueuedId,
    /// New content.
    pub content: Option<Content>,
    /// Fields of the metadata to set; null clears one.
    pub metadata: Option<Json>,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

/// Withdraws a message that waits.
#[derive(Debug, Clone)]
pub struct RemoveQueued {
    /// Which one.
    pub item: QueuedId,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Queued {
    /// Its name, which it keeps when it is delivered.
    pub id: QueuedId,
    /// Its number, which it keeps too.
    pub number: u64,
    /// The message.
    pub message: MessageBody,
    /// Who queued it.
    pub actor: Arc<Actor>,
    /// When it was queued, or last edited.
    pub created: Timestamp,
}

impl Engine {
    /// Queues a message. The next step or begin of an execution delivers it, in order. It survives a restart.
    ///
    /// # Errors
    /// [`Error::QueueFull`]; [`Error::ThreadClosed`]; [`Error::ThreadTerminated`]; [`Error::VersionConflict`]; a
    /// message that breaks a rule.
    pub async fn queue(&self, thread: ThreadId, queue: impl Into<Queue>) -> Result<Queued> {
        let queue = queue.into();
        let (message, blobs) = self.prepare_one(queue.message)?;
        let queued = Entry::MessageQueued(MessageQueued { message: message.clone() });
        let entry = NewEntry::new(&queued);
        self.refuse_large(entry.bytes)?;
        let hash = || hash(&[Bytes::from_static(b"queue"), queued.encode()]);
        let idempotency = queue.idempotency_key.map(|key| Idempotency { key, hash: hash() });
        let settled = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                let expected = match self.refuse_queueing(&thread, message.silent).await {
                    Ok(()) => queue.expected,
                    // A retry finds its first result even if the queue is full by now: the store looks for that
                    // before it finds that the thread is not at a version it never reaches.
                    Err(Error::QueueFull { .. }) if idempotency.is_some() => Some(Position::END),
                    Err(error) => return Err(error),
                };
                let commit = write(&thread, expected, None, vec![entry.clone()], None);
                let mut commit = self.commit(vec![commit]);
                commit.blobs.extend(blobs.iter().cloned());
                commit.idempotency = idempotency.clone();
                Ok((commit, ()))
            })
            .await;
        let (committed, ()) = match settled {
            Err(Error::VersionConflict { expected: Position::END, .. }) => {
                return Err(self.queue_full(message.silent));
            }
            settled => settled?,
        };
        let place = committed.threads.first().ok_or(Error::Busy)?;
        let id = QueuedId(MessageId { segment: place.segment, position: place.first });
        let actor = Arc::new(self.caller.actor.clone());
        Ok(Queued { id, number: place.first.0, message, actor, created: place.time })
    }

    /// Queues a message with files of another thread, which are there from the same commit on.
    pub(crate) async fn queue_with(&self, thread: ThreadId, message: MessageBody, sent: &[Sent]) -> Result<Queued> {
        let message = message.checked()?;
        let (committed, message) = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                self.refuse_queueing(&thread, message.silent).await?;
                let view = self.view(thread.id, &thread.head, None).await?;
                let received = self.receive(Some(&view), &thread.head.tally, sent).await?;
                let mut message = message.clone();
                received.repoint(&mut message)?;
                message.attachments.extend(received.attachments.iter().cloned());
                let queued = NewEntry::new(&Entry::MessageQueued(MessageQueued { message: message.clone() }));
                self.refuse_large(queued.bytes)?;
                let told = received.told().as_ref().map(NewEntry::new);
                // Invariant: the message is the last entry, which its name is made of.
                let entries = told.into_iter().chain([queued]).collect();
                Ok((self.commit(vec![write(&thread, None, None, entries, None)]), message))
            })
            .await?;
        let place = committed.threads.first().ok_or(Error::Busy)?;
        let position = Position(place.first.0 + place.count.saturating_sub(1));
        let id = QueuedId(MessageId { segment: place.segment, position });
        let actor = Arc::new(self.caller.actor.clone());
        Ok(Queued { id, number: position.0, message, actor, created: place.time })
    }

    /// The messages that wait, in the order in which they will be delivered.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn queued(&self, thread: ThreadId) -> Result<Vec<Queued>> {
        let thread = self.thread(thread).await?;
        self.waiting(&thread).await
    }

    /// Edits a message that waits. Its place in the queue stays.
    ///
    /// # Errors
    /// [`Error::QueuedNotFound`] if it does not wait (any more); [`Error::VersionConflict`].
    pub async fn edit_queued(&self, thread: ThreadId, edit: EditQueued) -> Result<Queued> {
        if edit.content.is_none() && edit.metadata.is_none() {
            return Err(Invalid::body("content", "an edit names new content, new metadata, or both").into());
        }
        let content = edit.content.map(Content::checked).transpose()?;
        if edit.metadata.as_ref().is_some_and(|metadata| !metadata.is_object()) {
            return Err(Invalid::body("metadata", "must be a JSON object").into());
        }
        let (committed, mut after) = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let mut queued = self.find_queued(&thread, edit.item).await?;
                let metadata = match &edit.metadata {
                    Some(changes) => Some(merge(queued.message.metadata.as_ref(), changes)?),
                    None => queued.message.metadata,
                };
                let content = content.clone().unwrap_or(queued.message.content);
                queued.message = MessageBody { content, metadata, ..queued.message };
                let edited = QueuedEdited { item: edit.item, message: queued.message.clone() };
                let entry = NewEntry::new(&Entry::QueuedEdited(edited));
                self.refuse_large(entry.bytes)?;
                Ok((self.commit(vec![write(&thread, edit.expected, None, vec![entry], None)]), queued))
            })
            .await?;
        if let Some(place) = committed.threads.first() {
            (after.created, after.actor) = (place.time, Arc::new(self.caller.actor.clone()));
        }
        Ok(after)
    }

    /// Withdraws a message that waits; false if it does not wait (any more).
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn remove_queued(&self, thread: ThreadId, remove: RemoveQueued) -> Result<bool> {
        let removed = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let silent = self.find_queued(&thread, remove.item).await?.message.silent;
                let entry = NewEntry::new(&Entry::QueuedRemoved(QueuedRemoved { item: remove.item, silent }));
                Ok((self.commit(vec![write(&thread, remove.expected, None, vec![entry], None)]), ()))
            })
            .await;
        match removed {
            Ok(_) => Ok(true),
            Err(Error::QueuedNotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The messages that wait on a thread, in order.
    pub(crate) async fn waiting(&self, thread: &Thread) -> Result<Vec<Queued>> {
        let mut waiting = Vec::new();
        for kind in [ItemKind::Queued, ItemKind::QueuedSilently] {
            let query = ItemQuery { thread: thread.id, kind, key: None, limit: usize::MAX };
            for item in self.shared.stores.store.items(query).await? {
                waiting.push(self.read_queued(&item).await?);
            }
        }
        waiting.sort_by_key(|queued| queued.number);
        Ok(waiting)
    }

    /// What delivers `waiting`: an entry each.
    pub(crate) fn deliver(waiting: &[Queued]) -> Vec<Entry> {
        let delivered = |queued: &Queued| MessageDelivered { item: queued.id, message: queued.message.clone() };
        waiting.iter().map(|queued| Entry::MessageDelivered(delivered(queued))).collect()
    }

    async fn find_queued(&self, thread: &Thread, item: QueuedId) -> Result<Queued> {
        for kind in [ItemKind::Queued, ItemKind::QueuedSilently] {
            let query = ItemQuery { thread: thread.id, kind, key: Some(item.to_string()), limit: 1 };
            if let Some(found) = self.shared.stores.store.items(query).await?.first() {
                return self.read_queued(found).await;
            }
        }
        Err(Error::QueuedNotFound { item })
    }

    async fn read_queued(&self, item: &Item) -> Result<Queued> {
        let message = match self.decode(&item.entry).await? {
            Entry::MessageQueued(queued) => queued.message,
            Entry::QueuedEdited(edited) => edited.message,
            other => {
                let what = format!("item {} is a {} entry", item.key, other.kind().as_str());
                return Err(StoreError::corrupt(what).into());
            }
        };
        Ok(Queued {
            id: QueuedId(item.born),
            number: item.born.position.0,
            message,
            actor: Arc::clone(&item.entry.actor),
            created: item.entry.time,
        })
    }

    /// Refuses to queue on a thread that takes nothing more.
    pub(crate) async fn refuse_queueing(&self, thread: &Thread, silent: bool) -> Result<()> {
        open_for(thread, Change::Content)?;
        if thread.record.terminated {
            return Err(Error::ThreadTerminated);
        }
        let max = self.queue_max(silent);
        let query = ItemQuery { thread: thread.id, kind: ItemKind::of_queued(silent), key: None, limit: max };
        if self.shared.stores.store.items(query).await?.len() >= max {
            return Err(self.queue_full(silent));
        }
        Ok(())
    }

    fn queue_max(&self, silent: bool) -> usize {
        if silent { self.shared.limits.queued_silently_max } else { self.shared.limits.queued_max }
    }

    fn queue_full(&self, silent: bool) -> Error {
        Error::QueueFull { max: self.queue_max(silent), silent }
    }
}

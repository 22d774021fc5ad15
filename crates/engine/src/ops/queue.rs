//! `queue`, `edit-queued`, `remove-queued`: messages that wait until a run takes them up.

use threadkeep_calls::{At, Deleted, EditQueued, ListQueue, NewMessage, Page, Queue, Queued, RemoveQueued};
use threadkeep_model::{
    Content, Entry, Invalid, ItemKind, MessageBody, MessageDelivered, MessageId, MessageQueued, NewEntry, QueuedEdited,
    QueuedId, QueuedRemoved, Role, Thread, ThreadId, Wait,
};
use threadkeep_store::{BoxFuture, Item, ItemQuery, StoreError};

use super::edit::merge;
use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::open_run::wakes;
use crate::ground::plan::{Plan, Told};
use crate::{Engine, Error, Result};

impl Carry for Queue {
    type Made = Queued;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Queued> {
        let (message, blobs) = engine.prepare_one(self.message)?;
        match message.role {
            Role::User | Role::Assistant => {}
            Role::Info | Role::Tool | Role::System => {
                let rule = format!("is user or assistant; a message of the role {} cannot be queued", message.role);
                return Err(Invalid::body("role", rule).into());
            }
        }
        engine.refuse_large(NewEntry::new(&queued_entry(&message)).bytes)?;
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                engine.refuse_queueing(&thread, message.silent).await?;
                let woken = wakes(&thread, Wait::Human).filter(|_| message.role == Role::User && !message.silent);
                let entries = woken.into_iter().chain([queued_entry(&message)]).collect();
                Ok(Plan::new(thread, entries).bringing(blobs.iter().cloned()))
            })
            .await?;
        queued(told)
    }

    fn new_messages(&mut self) -> Vec<&mut NewMessage> {
        vec![&mut self.message]
    }
}

impl Carry for ListQueue {
    type Made = Page<Queued>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Page<Queued>> {
        let queued = engine.queued(thread).await?;
        engine.part(thread, queued, (self.limit, self.cursor), |item| format!("queued {}", item.id))
    }
}

impl Carry for EditQueued {
    type Made = Queued;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Queued> {
        let edit = checked_edit(self)?;
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let queued = engine.find_queued(&thread, edit.item).await?;
                let message = edited(queued.queued_message, &edit)?;
                let entry = Entry::QueuedEdited(QueuedEdited { item: edit.item, message });
                engine.refuse_large(NewEntry::new(&entry).bytes)?;
                Ok(Plan::new(thread, vec![entry]))
            })
            .await?;
        match told.entries.into_iter().next() {
            Some(Entry::QueuedEdited(QueuedEdited { item, message })) => {
                let (number, actor) = (item.0.position.0, (*told.by).clone());
                Ok(Queued { id: item, number, queued_message: message, actor, created_at: told.place.time })
            }
            _ => Err(Error::broken("an edit of a queued message is one entry")),
        }
    }
}

impl Carry for RemoveQueued {
    type Made = Deleted;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Deleted> {
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let removed = match engine.find_queued(&thread, self.item).await {
                    Ok(queued) => Some(QueuedRemoved { item: self.item, silent: queued.queued_message.silent }),
                    Err(Error::QueuedNotFound { .. }) => None,
                    Err(error) => return Err(error),
                };
                Ok(Plan::new(thread, removed.map(Entry::QueuedRemoved).into_iter().collect()))
            })
            .await?;
        Ok(Deleted { deleted: !told.entries.is_empty() })
    }
}

fn queued_entry(message: &MessageBody) -> Entry {
    Entry::MessageQueued(MessageQueued { message: message.clone() })
}

/// The queued message, which is the last of the committed entries.
pub(crate) fn queued(mut told: Told) -> Result<Queued> {
    let position = told.position(told.entries.len().saturating_sub(1));
    match told.entries.pop() {
        Some(Entry::MessageQueued(MessageQueued { message })) => {
            let id = QueuedId(MessageId { segment: told.place.segment, position });
            let (actor, created_at) = ((*told.by).clone(), told.place.time);
            Ok(Queued { id, number: position.0, queued_message: message, actor, created_at })
        }
        _ => Err(Error::broken("a queued message is the last entry")),
    }
}

fn checked_edit(edit: EditQueued) -> Result<EditQueued> {
    if edit.content.is_none() && edit.metadata.is_none() {
        return Err(Invalid::body("content", "an edit names new content, new metadata, or both").into());
    }
    if edit.metadata.as_ref().is_some_and(|metadata| !metadata.is_object()) {
        return Err(Invalid::body("metadata", "must be a JSON object").into());
    }
    Ok(EditQueued { content: edit.content.map(Content::checked).transpose()?, ..edit })
}

fn edited(message: MessageBody, edit: &EditQueued) -> Result<MessageBody> {
    let metadata = match &edit.metadata {
        Some(changes) => Some(merge(message.metadata.as_ref(), changes)?),
        None => message.metadata,
    };
    let content = edit.content.clone().unwrap_or(message.content);
    Ok(MessageBody { content, metadata, ..message })
}

impl Engine {
    /// Takes a message out of the queue; false if it does not wait (any more).
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn remove_queued(&self, at: impl Into<At>, remove: RemoveQueued) -> Result<bool> {
        Ok(self.call(at, remove).await?.deleted)
    }

    /// The messages that wait, in the order in which they will be delivered.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn queued(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Queued>>> {
        Box::pin(async move {
            let thread = self.thread(thread).await?;
            self.waiting(&thread).await
        })
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

    /// The entries that deliver `waiting`, one for each.
    pub(crate) fn deliver(waiting: &[Queued]) -> Vec<Entry> {
        let delivered = |queued: &Queued| MessageDelivered { item: queued.id, message: queued.queued_message.clone() };
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
            queued_message: message,
            actor: (*item.entry.actor).clone(),
            created_at: item.entry.time,
        })
    }

    /// Refuses to queue on a thread that takes nothing more.
    pub(crate) async fn refuse_queueing(&self, thread: &Thread, silent: bool) -> Result<()> {
        self.refuse_queueing_more(thread, silent, 1).await
    }

    /// Refuses to queue so many more messages on a thread.
    pub(crate) async fn refuse_queueing_more(&self, thread: &Thread, silent: bool, more: usize) -> Result<()> {
        open_for(thread, Change::Content)?;
        if thread.record.terminated.is_some() {
            return Err(Error::ThreadTerminated);
        }
        let max = self.queue_max(silent);
        let query = ItemQuery { thread: thread.id, kind: ItemKind::of_queued(silent), key: None, limit: max };
        if self.shared.stores.store.items(query).await?.len() + more > max {
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

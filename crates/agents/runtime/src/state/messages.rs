//! The messages of ThreadState. Queued ones are listed as the newest, and are pending.

use threadkeep_calls::{DeleteMessage, EditMessage, EditQueued, NewMessage, Queue, Queued, RemoveQueued};
use threadkeep_engine::{Error, FileRecord, Page};
use threadkeep_model::{Attachment, FilePath, Json, MessageName, MessageStatus};

use super::ThreadState;
use super::shapes::{GetMessages, Message, MessageInput, MessageUpdates, Messages, Order, with_text};
use crate::RuntimeError;

/// Messages that are read at once.
const READ_AT_ONCE: usize = 1_000;
/// How often a list is read again because a queued message was delivered meanwhile.
const READS_MAX: usize = 5;

impl ThreadState {
    /// The messages of the thread, those that are queued included.
    ///
    /// # Errors
    /// If the thread cannot be read.
    pub async fn get_messages(&self, options: GetMessages) -> Result<Messages, RuntimeError> {
        let shown = |one: &Message| (options.include_silent || !one.silent) && one.depth <= options.max_depth;
        for reads in 1.. {
            let waiting = self.engine().queued(self.id()).await?;
            let mut pending: Vec<Message> = waiting.iter().map(queued).filter(shown).collect();
            let found = self.listed(&options, &mut pending).await?;
            // A message that was delivered meanwhile would be counted twice.
            let ids = |queue: &[Queued]| queue.iter().map(|one| one.id).collect::<Vec<_>>();
            let is_same = waiting.is_empty() || ids(&waiting) == ids(&self.engine().queued(self.id()).await?);
            if is_same || reads == READS_MAX {
                return Ok(found);
            }
        }
        unreachable!("a list is read at most {READS_MAX} times")
    }

    /// The list, with those that wait: one that falls begins with them, one that rises ends with them.
    async fn listed(&self, options: &GetMessages, pending: &mut [Message]) -> Result<Messages, RuntimeError> {
        let GetMessages { limit, offset, order, include_silent, max_depth } = *options;
        let falls = order != Some(Order::Ascending);
        let mut messages = Vec::new();
        let mut skipped = 0;
        if falls {
            pending.reverse();
            skipped = offset.min(pending.len());
            messages.extend(pending.iter().skip(skipped).take(limit).cloned());
        }
        let mut page = Page::first().offset((offset - skipped) as u64);
        let total = loop {
            let mut asked = page.max_depth(max_depth).limit((limit - messages.len()).clamp(1, READ_AT_ONCE));
            asked = if falls { asked.newest_first() } else { asked };
            asked = if include_silent { asked.include_silent() } else { asked };
            let found = self.engine().messages(self.id(), asked).await?;
            let left = limit - messages.len();
            for message in found.items.iter().take(left) {
                messages.push(Message::of(message.name().to_string(), &message.body()?, message.created));
            }
            match found.next {
                Some(cursor) if messages.len() < limit => page = Page::after(cursor),
                Some(_) | None => break found.total,
            }
        };
        if !falls {
            let passed = offset.saturating_sub(total as usize);
            messages.extend(pending.iter().skip(passed).take(limit - messages.len()).cloned());
        }
        if order.is_none() {
            messages.reverse();
        }
        let total = total + pending.len() as u64;
        Ok(Messages { has_more: ((offset + messages.len()) as u64) < total, messages, total })
    }

    /// A message; none if there is none of this id.
    ///
    /// # Errors
    /// If the thread cannot be read.
    pub async fn get_message(&self, id: &str) -> Result<Option<Message>, RuntimeError> {
        let Ok(name) = id.parse::<MessageName>() else { return Ok(None) };
        if let Some(waits) = self.waiting(name).await? {
            return Ok(Some(queued(&waits)));
        }
        let found = match self.engine().message_id(name).await {
            Ok(place) => self.engine().message(self.id(), place, None).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(found) => Ok(Some(Message::of(found.name().to_string(), &found.body()?, found.created))),
            Err(Error::MessageNotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Stores a message at once. It starts no run.
    ///
    /// # Errors
    /// A message that breaks a rule; a file that is not there; a thread that is closed.
    pub async fn inject_message(&self, input: MessageInput) -> Result<Message, RuntimeError> {
        let message = self.new_message(input).await?;
        let stored = self.engine().append(self.id(), message).await?;
        let stored = stored.first().expect("an append stores each of its messages");
        Ok(Message::of(stored.name().to_string(), &stored.body()?, stored.created))
    }

    /// Queues a message of the role user or assistant for the next step of a run. It starts one where the thread rests and
    /// its agent is defined, and keeps its id when it is delivered.
    ///
    /// # Errors
    /// [`QueueFull`](Error::QueueFull); [`ThreadTerminated`](Error::ThreadTerminated); another role.
    pub async fn queue_message(&self, input: MessageInput) -> Result<(), RuntimeError> {
        let message = self.new_message(input).await?;
        self.engine().call(self.id(), Queue { message }).await?;
        Ok(())
    }

    /// Changes the text of a message, and fields of its metadata.
    ///
    /// # Errors
    /// [`MessageNotFound`](Error::MessageNotFound); content that breaks a rule.
    pub async fn update_message(&self, id: &str, updates: MessageUpdates) -> Result<Message, RuntimeError> {
        let name: MessageName = id.parse()?;
        let metadata = (!updates.metadata.is_empty()).then(|| Json::from_value("metadata", &updates.metadata));
        let metadata = metadata.transpose()?;
        if let Some(waits) = self.waiting(name).await? {
            let content = updates.content.as_deref();
            let content = content.map(|text| with_text(&waits.queued_message.content, text)).transpose()?;
            let edit = EditQueued { item: waits.id, content, metadata: metadata.clone() };
            match self.engine().call(self.id(), edit).await {
                Ok(edited) => return Ok(queued(&edited)),
                // It was delivered meanwhile.
                Err(Error::QueuedNotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let place = self.engine().message_id(name).await?;
        let old = self.engine().message(self.id(), place, None).await?.body()?;
        let content = updates.content.map(|text| with_text(&old.content, &text)).transpose()?;
        let edited = self.engine().call(self.id(), EditMessage { message: name, content, metadata }).await?;
        Ok(Message::of(edited.name().to_string(), &edited.body()?, edited.created))
    }

    /// Deletes a message, and with a call its results. A queued one is cancelled. False if there is none.
    ///
    /// # Errors
    /// A thread that is closed.
    pub async fn delete_message(&self, id: &str) -> Result<bool, RuntimeError> {
        let Ok(name) = id.parse::<MessageName>() else { return Ok(false) };
        if let Some(waits) = self.waiting(name).await? {
            let removed = self.engine().call(self.id(), RemoveQueued { item: waits.id }).await?;
            if removed.deleted {
                return Ok(true);
            }
        }
        match self.engine().delete_message(self.id(), DeleteMessage { message: name }).await {
            Ok(deleted) => Ok(deleted),
            Err(Error::MessageNotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn waiting(&self, name: MessageName) -> Result<Option<Queued>, RuntimeError> {
        let MessageName::Queued(id) = name else { return Ok(None) };
        Ok(self.engine().queued(self.id()).await?.into_iter().find(|one| one.id == id))
    }

    async fn new_message(&self, mut input: MessageInput) -> Result<NewMessage, RuntimeError> {
        let mut attachments = Vec::new();
        for path in std::mem::take(&mut input.attachments) {
            attachments.push(self.attached(path).await?);
        }
        let mut body = input.body()?;
        body.attachments = attachments;
        Ok(body.into())
    }

    async fn attached(&self, path: FilePath) -> Result<Attachment, RuntimeError> {
        let found = self.engine().file(self.id(), &path, None).await?;
        let Some(file) = found.as_ref().and_then(FileRecord::file) else {
            return Err(Error::FileNotFound { path }.into());
        };
        let (id, mime_type, size) = (file.hash, file.mime_type.clone(), file.size);
        Ok(Attachment { id, name: path.name().to_owned(), mime_type, size, path: Some(path) })
    }
}

/// A message that waits.
fn queued(of: &Queued) -> Message {
    Message { status: MessageStatus::Pending, ..Message::of(of.id.to_string(), &of.queued_message, of.created_at) }
}

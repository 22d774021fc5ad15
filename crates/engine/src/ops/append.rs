//! `append`, `append-event`, `insert`: what adds to a conversation.

use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::{
    Attachment, BlobId, Code, Derived, Entry, Event, Idempotency, IdempotencyKey, Inserted, Invalid, Message,
    MessageBody, MessageId, NewEntry, Position, ThreadId, Version,
};
use threadkeep_store::{EntryQuery, Order, StoreError};

use super::write;
use crate::gate::{Change, open_for};
use crate::messages::message;
use crate::{Engine, Error, Result};

/// A message to add, with the bytes of its new attachments.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// The message.
    pub body: MessageBody,
    /// Files to store with it. They join the body's own list of attachments.
    pub attachments: Vec<NewAttachment>,
}

/// A file to store with a message.
#[derive(Debug, Clone)]
pub struct NewAttachment {
    /// Its name.
    pub name: String,
    /// Its media type.
    pub mime_type: String,
    /// Its bytes.
    pub bytes: Bytes,
}

impl From<MessageBody> for NewMessage {
    fn from(body: MessageBody) -> Self {
        Self { body, attachments: Vec::new() }
    }
}

impl NewMessage {
    /// The same message with one more file.
    #[must_use]
    pub fn attach(mut self, name: &str, mime_type: &str, bytes: impl Into<Bytes>) -> Self {
        let (name, mime_type) = (name.to_owned(), mime_type.to_owned());
        self.attachments.push(NewAttachment { name, mime_type, bytes: bytes.into() });
        self
    }
}

/// Appends messages: all of them, in order, or none.
#[derive(Debug, Clone, Default)]
pub struct Append {
    /// The messages.
    pub messages: Vec<NewMessage>,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
    /// A retry with the same key returns the first result and adds nothing.
    pub idempotency_key: Option<IdempotencyKey>,
}

impl<T: Into<NewMessage>> From<T> for Append {
    fn from(message: T) -> Self {
        Self::batch([message])
    }
}

impl Append {
    /// Several messages, in order.
    pub fn batch<T: Into<NewMessage>>(messages: impl IntoIterator<Item = T>) -> Self {
        Self { messages: messages.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Only if the thread is at `version`.
    #[must_use]
    pub fn expecting(mut self, version: Version) -> Self {
        self.expected = Some(version);
        self
    }

    /// Under a key for retries.
    #[must_use]
    pub fn keyed(mut self, key: IdempotencyKey) -> Self {
        self.idempotency_key = Some(key);
        self
    }
}

/// Logs an event that is not a message.
#[derive(Debug, Clone)]
pub struct AppendEvent {
    /// The event.
    pub event: Event,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

/// Puts a message before another one. Nothing is renumbered.
#[derive(Debug, Clone)]
pub struct Insert {
    /// The message before which it shall stand.
    pub before: MessageId,
    /// The message.
    pub message: NewMessage,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

/// Messages, checked and encoded.
pub(crate) struct Prepared {
    pub(crate) entries: Vec<NewEntry>,
    pub(crate) blobs: Vec<(BlobId, Bytes)>,
}

impl Engine {
    /// Appends messages. Once this returns, they survive a crash and a power cut.
    ///
    /// # Errors
    /// [`Error::VersionConflict`] if the thread is not at the expected version; [`Error::IdempotencyKeyReused`];
    /// [`Error::ThreadClosed`]; a message that breaks a rule.
    pub async fn append(&self, thread: ThreadId, append: impl Into<Append>) -> Result<Vec<Message>> {
        let append = append.into();
        if append.messages.is_empty() {
            return Err(Invalid::body("messages", "has at least one message").into());
        }
        let Prepared { entries, blobs } = self.prepare(append.messages)?;
        let bodies: Vec<Bytes> = entries.iter().filter_map(inline).collect();
        let idempotency = append.idempotency_key.map(|key| Idempotency { key, hash: hash(&bodies) });
        let committed = self.append_entries(thread, append.expected, entries, blobs, idempotency).await?;
        let Some(place) = committed.threads.first() else { return Err(Error::Busy) };
        if committed.replayed {
            let positions = place.first..=Position(place.first.0 + place.count.saturating_sub(1));
            let query = EntryQuery { segment: place.segment, positions, order: Order::Ascending, limit: usize::MAX };
            let mut messages = Vec::new();
            for entry in self.shared.stores.store.entries(query).await? {
                let json = self.body(&entry).await?;
                messages.push(message(&entry, json)?);
            }
            return Ok(messages);
        }
        let actor = Arc::new(self.caller.actor.clone());
        let appended = (place.first.0..).zip(bodies).map(|(position, json)| Message {
            id: MessageId { segment: place.segment, position: Position(position) },
            queued: None,
            number: position,
            json,
            actor: Arc::clone(&actor),
            created: place.time,
            version: Position(position),
        });
        Ok(appended.collect())
    }

    /// Logs an event, and gives the version at which it stands.
    ///
    /// # Errors
    /// As [`Engine::append`].
    pub async fn append_event(&self, thread: ThreadId, event: AppendEvent) -> Result<Version> {
        let entry = NewEntry::new(&Entry::EventLogged(event.event.checked()?));
        self.refuse_large(entry.bytes)?;
        let committed = self.append_entries(thread, event.expected, vec![entry], Vec::new(), None).await?;
        committed.threads.first().map(|place| place.first).ok_or(Error::Busy)
    }

    /// Puts a message before another one.
    ///
    /// # Errors
    /// [`Error::MessageNotFound`] if the thread does not show the other one; else as [`Engine::append`].
    pub async fn insert(&self, thread: ThreadId, insert: Insert) -> Result<Message> {
        let prepared = self.prepare_one(insert.message)?;
        let (committed, json) = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let view = self.view(thread.id, &thread.head, None).await?;
                let root = self.locate(&view, insert.before).await?.root;
                let message = prepared.0.clone();
                let json = Bytes::from(encode(&message)?);
                let inserted = Entry::MessageInserted(Inserted { before: insert.before, root, message });
                let mut commit =
                    self.commit(vec![write(&thread, insert.expected, None, vec![NewEntry::new(&inserted)], None)]);
                commit.blobs.extend(prepared.1.iter().cloned());
                Ok((commit, json))
            })
            .await?;
        let place = committed.threads.first().ok_or(Error::Busy)?;
        Ok(Message {
            id: MessageId { segment: place.segment, position: place.first },
            queued: None,
            number: place.first.0,
            json,
            actor: Arc::new(self.caller.actor.clone()),
            created: place.time,
            version: place.first,
        })
    }

    /// Checks and encodes messages that will be appended.
    pub(crate) fn prepare(&self, messages: Vec<NewMessage>) -> Result<Prepared> {
        self.refuse_many(messages.len())?;
        let mut prepared = Prepared { entries: Vec::with_capacity(messages.len()), blobs: Vec::new() };
        for message in messages {
            let (body, blobs) = self.prepare_one(message)?;
            let entry = NewEntry::new(&Entry::MessageAppended(body));
            self.refuse_large(entry.bytes)?;
            prepared.blobs.extend(blobs);
            prepared.entries.push(entry);
        }
        Ok(prepared)
    }

    pub(crate) fn prepare_one(&self, message: NewMessage) -> Result<(MessageBody, Vec<(BlobId, Bytes)>)> {
        let max = self.shared.limits.attachment_bytes_max;
        let mut body = message.body.checked()?;
        let mut blobs = Vec::new();
        for file in message.attachments {
            if file.bytes.len() > max {
                return Err(too_large("attachments", format!("an attachment has at most {max} bytes")));
            }
            let id = BlobId::of(&file.bytes);
            let size = file.bytes.len() as u64;
            body.attachments.push(Attachment { id, name: file.name, mime_type: file.mime_type, size, path: None });
            blobs.push((id, file.bytes));
        }
        let size = body.content.as_json().as_str().len() as u64;
        self.refuse_large(size)?;
        Ok((body, blobs))
    }

    /// Refuses more messages than a batch may have.
    pub(crate) fn refuse_many(&self, messages: usize) -> Result<()> {
        let max = self.shared.limits.batch_max;
        if messages > max {
            return Err(too_large("messages", format!("a batch has at most {max} messages")));
        }
        Ok(())
    }

    pub(crate) fn refuse_large(&self, bytes: u64) -> Result<()> {
        let max = self.shared.limits.message_bytes_max;
        if bytes > max as u64 {
            let rule = format!("a message has at most {max} bytes of JSON; this one has {bytes}");
            return Err(too_large("content", rule));
        }
        Ok(())
    }
}

fn too_large(field: &str, rule: String) -> Error {
    Invalid::new(Code::TooLarge, field, rule).into()
}

fn encode(message: &MessageBody) -> Result<Vec<u8>> {
    serde_json::to_vec(message).map_err(|error| StoreError::corrupt(error.to_string()).into())
}

fn inline(entry: &NewEntry) -> Option<Bytes> {
    match (&entry.body, &entry.derived) {
        (threadkeep_model::Body::Inline(bytes), Derived::Message { .. }) => Some(bytes.clone()),
        _ => None,
    }
}

/// What an idempotency key stands for: the same bodies in the same order.
pub(crate) fn hash(bodies: &[Bytes]) -> BlobId {
    let mut all = Vec::new();
    for body in bodies {
        all.extend_from_slice(&(body.len() as u64).to_le_bytes());
        all.extend_from_slice(body);
    }
    BlobId::of(&all)
}

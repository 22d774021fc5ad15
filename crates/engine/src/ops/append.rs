//! `append`, `append-event`: add to a conversation.

use std::sync::Arc;

use bytes::Bytes;
use threadkeep_calls::{Append, AppendEvent, At, Logged, NewMessage, SaidMessage};
use threadkeep_model::{
    BlobId, Code, Derived, Entry, Inserted, Invalid, Message, MessageBody, MessageId, MessageName, NewEntry, Position,
    ThreadId,
};
use threadkeep_store::{EntryQuery, Order};

use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::messages::{message, shown};
use crate::shown::AppendedMessages;
use crate::{Engine, Error, Result};

/// Messages, checked and encoded.
pub(crate) struct Prepared {
    pub(crate) entries: Vec<NewEntry>,
    pub(crate) blobs: Vec<(BlobId, Bytes)>,
    /// The messages to append.
    pub(crate) bodies: Vec<MessageBody>,
}

impl Carry for Append {
    type Made = AppendedMessages;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<AppendedMessages> {
        let Self { messages, before, single, effects } = self;
        engine.refuse_many(effects.len())?;
        let mut scheduled = Vec::with_capacity(effects.len());
        for effect in effects {
            scheduled.push(Entry::EffectScheduled(engine.scheduled(effect).await?));
        }
        match before {
            Some(before) => {
                let messages = vec![engine.insert_before(thread, before, messages, scheduled).await?];
                Ok(AppendedMessages { messages, bodies: Vec::new(), single })
            }
            None => {
                let (messages, bodies) = engine.append_all(thread, messages, scheduled).await?;
                Ok(AppendedMessages { messages, bodies, single })
            }
        }
    }

    fn new_messages(&mut self) -> Vec<&mut NewMessage> {
        self.messages.iter_mut().collect()
    }
}

impl Carry for AppendEvent {
    type Made = Logged;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Logged> {
        let entry = match self {
            Self::Message(SaidMessage { role, content }) => {
                let message = MessageBody::with_content(role, content).into();
                let Prepared { mut entries, .. } = engine.prepare(vec![message])?;
                entries.pop().ok_or(Error::broken("a message is one entry"))?
            }
            Self::Event(event) => NewEntry::new(&Entry::EventLogged(event.checked()?)),
        };
        engine.refuse_large(entry.bytes)?;
        let committed = engine.append_entries(thread, vec![entry], Vec::new()).await?;
        let place = committed.threads.first().ok_or(Error::broken("an append tells its place"))?;
        Ok(Logged { version: place.first })
    }
}

impl Engine {
    /// Appends messages. Once this returns, they survive a crash and a power cut.
    ///
    /// # Errors
    /// [`Error::VersionConflict`] if the thread is not at the expected version; [`Error::IdempotencyKeyReused`];
    /// [`Error::ThreadClosed`]; [`Error::MessageNotFound`] if it names a message to be placed before that the thread
    /// does not show; a message that breaks a rule.
    pub async fn append(&self, at: impl Into<At>, append: impl Into<Append>) -> Result<Vec<Message>> {
        Ok(self.call(at, append.into()).await?.messages)
    }

    /// Appends messages, and gives them with their bodies; without those if the call is a repetition.
    async fn append_all(
        &self,
        thread: ThreadId,
        messages: Vec<NewMessage>,
        scheduled: Vec<Entry>,
    ) -> Result<(Vec<Message>, Vec<MessageBody>)> {
        if messages.is_empty() {
            return Err(Invalid::body("messages", "has at least one message").into());
        }
        let Prepared { mut entries, blobs, bodies } = self.prepare(messages)?;
        entries.extend(scheduled.iter().map(NewEntry::new));
        let stored: Vec<Bytes> = entries.iter().filter_map(inline).collect();
        let committed = self.append_entries(thread, entries, blobs).await?;
        let place = committed.threads.first().ok_or(Error::broken("an append tells its place"))?;
        if committed.replayed {
            let positions = place.first..=Position(place.first.0 + place.count.saturating_sub(1));
            let query = EntryQuery { segment: place.segment, positions, order: Order::Ascending, limit: usize::MAX };
            let mut messages = Vec::new();
            for entry in self.shared.stores.store.entries(query).await? {
                if !entry.kind.brings_message() {
                    continue;
                }
                let json = self.body(&entry).await?;
                messages.push(message(&entry, json)?);
            }
            return Ok((messages, Vec::new()));
        }
        let actor = Arc::new(self.caller.actor.clone());
        let appended = (place.first.0..).zip(stored).map(|(position, json)| Message {
            id: MessageId { segment: place.segment, position: Position(position) },
            queued: None,
            number: position,
            json,
            actor: Arc::clone(&actor),
            created: place.time,
            version: Position(position),
        });
        Ok((appended.collect(), bodies))
    }

    /// Puts a message before another one. Nothing is renumbered.
    async fn insert_before(
        &self,
        thread: ThreadId,
        before: MessageName,
        messages: Vec<NewMessage>,
        scheduled: Vec<Entry>,
    ) -> Result<Message> {
        let one = <[NewMessage; 1]>::try_from(messages);
        let [message] = one.map_err(|_| Invalid::body("position", "goes with a single message, not with a list"))?;
        let (message, blobs) = self.prepare_one(message)?;
        let told = self
            .tell(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                self.admit_more_effects(&thread, scheduled.len()).await?;
                let before = self.message_id(before).await?;
                let view = self.view(thread.id, &thread.head, None).await?;
                let root = self.locate(&view, before).await?.root;
                let inserted = Entry::MessageInserted(Inserted { before, root, message: message.clone() });
                let entries = std::iter::once(inserted).chain(scheduled.iter().cloned()).collect();
                Ok(Plan::new(thread, entries).bringing(blobs.iter().cloned()))
            })
            .await?;
        let Some(Entry::MessageInserted(inserted)) = told.entries.first() else {
            return Err(Error::broken("an insertion begins with its entry"));
        };
        Ok(Message {
            id: MessageId { segment: told.place.segment, position: told.place.first },
            queued: None,
            number: told.place.first.0,
            json: shown(&inserted.message),
            actor: told.by,
            created: told.place.time,
            version: told.place.first,
        })
    }

    /// Checks and encodes messages that will be appended.
    pub(crate) fn prepare(&self, messages: Vec<NewMessage>) -> Result<Prepared> {
        self.refuse_many(messages.len())?;
        self.prepare_all(messages)
    }

    /// The same for as many messages as there are.
    pub(crate) fn prepare_all(&self, messages: Vec<NewMessage>) -> Result<Prepared> {
        let mut prepared =
            Prepared { entries: Vec::with_capacity(messages.len()), blobs: Vec::new(), bodies: Vec::new() };
        for message in messages {
            let (body, blobs) = self.prepare_one(message)?;
            let appended = Entry::MessageAppended(body);
            let entry = NewEntry::new(&appended);
            self.refuse_large(entry.bytes)?;
            prepared.blobs.extend(blobs);
            prepared.entries.push(entry);
            if let Entry::MessageAppended(body) = appended {
                prepared.bodies.push(body);
            }
        }
        Ok(prepared)
    }

    pub(crate) fn prepare_one(&self, message: NewMessage) -> Result<(MessageBody, Vec<(BlobId, Bytes)>)> {
        let max = self.shared.limits.attachment_bytes_max;
        let mut body = message.body.checked()?;
        let mut blobs = Vec::new();
        for file in message.files {
            if file.bytes.len() > max {
                return Err(too_large("attachments", format!("an attachment has at most {max} bytes")));
            }
            let attachment = file.kept();
            blobs.push((attachment.id, file.bytes.into()));
            body.attachments.push(attachment);
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

fn inline(entry: &NewEntry) -> Option<Bytes> {
    match (&entry.body, &entry.derived) {
        (threadkeep_model::Body::Inline(bytes), Derived::Message { .. }) => Some(bytes.clone()),
        _ => None,
    }
}

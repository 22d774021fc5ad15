//! `create`: a new thread, with its first messages if there are any.

use threadkeep_model::{FieldChanges, Json, NewSegment, Record, Tally, Thread, ThreadCommit, ThreadId};

use super::append::NewMessage;
use crate::{Engine, Error, Result};

/// A new thread.
#[derive(Debug, Clone, Default)]
pub struct Create {
    /// Fields of its record, by their names on the wire.
    pub fields: FieldChanges,
    /// Its first messages, in the same commit.
    pub messages: Vec<NewMessage>,
}

impl Create {
    /// A thread without a title.
    pub fn new() -> Self {
        Self::default()
    }

    /// A thread called `title`.
    pub fn titled(title: &str) -> Self {
        Self::new().field("title", Json::string(title))
    }

    /// Sets a field of the record.
    #[must_use]
    pub fn field(mut self, name: &str, value: Json) -> Self {
        self.fields.0.insert(name.to_owned(), value);
        self
    }

    /// Begins with `message`.
    #[must_use]
    pub fn message(mut self, message: impl Into<NewMessage>) -> Self {
        self.messages.push(message.into());
        self
    }
}

impl Engine {
    /// Creates a thread. It is at version 0, or at the version of its last first message.
    ///
    /// # Errors
    /// A field or a message that breaks a rule.
    pub async fn create(&self, create: Create) -> Result<Thread> {
        let record = Record::default().merge(&create.fields.checked()?)?;
        let prepared = self.prepare(create.messages)?;
        // Ids are drawn anew for each try: a short id that is taken is no reason to refuse.
        let (committed, mut thread) = self
            .settle(ThreadId::from_bits(0), || async {
                let id = ThreadId::from_chance(self.shared.world.chance());
                let segment = NewSegment { id: self.new_segment(), link: None, birth: Tally::default() };
                let birth = threadkeep_model::Create {
                    thread: id,
                    account: self.caller.account.clone(),
                    record: record.clone(),
                    segment,
                    entries: prepared.entries.clone(),
                };
                let head = threadkeep_model::born(&birth, self.shared.world.now()).head;
                let mut commit = self.commit(vec![ThreadCommit::Create(birth)]);
                commit.blobs.extend(prepared.blobs.iter().cloned());
                let account = self.caller.account.clone();
                Ok((commit, Thread { id, account, created: head.updated, head, record: record.clone() }))
            })
            .await?;
        let committed = committed.threads.first().ok_or(Error::Busy)?;
        (thread.head, thread.created) = (committed.head, committed.time);
        Ok(thread)
    }
}

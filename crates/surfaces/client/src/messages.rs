//! Threads and their messages, and the messages that a reference shows.

use threadkeep_calls as calls;
use threadkeep_calls::{At, ListMessages, ListValues};
use threadkeep_model::{ThreadName, Uuid, ValueKey, Version};

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::query::{Query, part};

/// A page of messages, and the version that it shows.
#[derive(Debug, Clone)]
pub struct MessagePage {
    /// The messages, how to go on, and how many there are in all where no filter hides some.
    pub page: calls::Page<calls::Message<'static>>,
    /// The version, if the server said so.
    pub version: Option<Version>,
}

impl Client {
    /// Adds a message, and gives it as it is kept.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn append(
        &self,
        at: impl Into<At>,
        message: impl Into<calls::NewMessage>,
    ) -> Result<calls::Message<'static>, Error> {
        let mut appended = self.call(at, calls::Append::from(message)).await?;
        appended.messages.pop().ok_or_else(|| self.not_understood("no message was appended"))
    }

    /// A thread.
    ///
    /// # Errors
    /// `thread_not_found`, also for one that the key may not see.
    pub async fn thread(&self, thread: impl Into<ThreadName>) -> Result<calls::Thread, Error> {
        self.call(thread.into(), calls::GetThread {}).await
    }

    /// A page of a thread's messages, with the version of the thread.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn messages(&self, at: impl Into<At>, which: &ListMessages) -> Result<MessagePage, Error> {
        let (page, version) = self.call_versioned(at.into(), which).await?;
        Ok(MessagePage { page, version })
    }

    /// The messages that a reference shows.
    ///
    /// # Errors
    /// `reference_gone` if there is nothing to read any more.
    pub async fn reference_messages(&self, reference: Uuid, which: &ListMessages) -> Result<MessagePage, Error> {
        let ask = Ask::get(format!("/v1/references/{reference}/messages")).query(Query::of(which)?);
        let answer = self.answer(ask).await?;
        Ok(MessagePage { page: self.read(&answer)?, version: answer.version() })
    }

    /// A page of the values that a reference shows.
    ///
    /// # Errors
    /// `reference_gone` if there is nothing to read any more.
    pub async fn reference_values(
        &self,
        reference: Uuid,
        which: &ListValues,
    ) -> Result<calls::Page<calls::Value>, Error> {
        self.ask(Ask::get(format!("/v1/references/{reference}/kv")).query(Query::of(which)?)).await
    }

    /// The value under a key that a reference shows.
    ///
    /// # Errors
    /// `reference_gone` if there is nothing to read any more.
    pub async fn reference_value(&self, reference: Uuid, key: &ValueKey) -> Result<calls::Value, Error> {
        self.ask(Ask::get(format!("/v1/references/{reference}/kv/{}", part(key.as_str())))).await
    }
}

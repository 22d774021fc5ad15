//! Messages, events and the history.

use serde::{Deserialize, Serialize};
use threadkeep_calls as api;
use threadkeep_model::{MessageBody, MessageName, Role, ThreadName, Version};

use crate::ask::{Ask, fresh_key};
use crate::client::Client;
use crate::error::Error;
use crate::query::{Query, part};
use crate::threads::of;

/// Which messages to read: all of them, the oldest first, unless something is said.
#[derive(Debug, Clone, Default)]
pub struct ListMessages {
    /// At most so many; the server's page if nothing is said.
    pub limit: Option<usize>,
    /// Goes on where an earlier page ended.
    pub cursor: Option<String>,
    /// Passes over so many.
    pub offset: Option<u64>,
    /// In which order.
    pub order: Order,
    /// Only those of this role.
    pub role: Option<Role>,
    /// Only those down to this depth.
    pub max_depth: Option<u8>,
    /// Silent ones too.
    pub include_silent: bool,
    /// As the thread was at this version.
    pub as_of: Option<Version>,
}

/// In which order to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The oldest first.
    #[default]
    OldestFirst,
    /// The newest first.
    NewestFirst,
}

/// A page of messages, and the version that it shows.
#[derive(Debug, Clone)]
pub struct MessagePage {
    /// The messages, how to go on, and how many there are in all where no filter hides some.
    pub page: api::Page<api::Message<'static>>,
    /// The version, if the server said so.
    pub version: Option<Version>,
}

impl ListMessages {
    pub(crate) fn query(&self) -> Query {
        let order = match self.order {
            Order::OldestFirst => None,
            Order::NewestFirst => Some("desc"),
        };
        Query::default()
            .maybe("limit", self.limit)
            .maybe("cursor", self.cursor.as_ref())
            .maybe("offset", self.offset)
            .maybe("order", order)
            .maybe("role", self.role)
            .maybe("maxDepth", self.max_depth)
            .flag("includeSilent", self.include_silent)
            .maybe("asOf", self.as_of)
    }
}

impl Client {
    /// Adds a message, once, however often it has to be sent.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn append(
        &self,
        thread: impl Into<ThreadName>,
        message: impl Into<api::NewMessage>,
    ) -> Result<api::Message<'static>, Error> {
        let message: api::NewMessage = message.into();
        let ask = Ask::post(of(thread, "/messages"), &message)?;
        // What is put before another message has no key on the server.
        if message.position.is_some() {
            return self.ask(ask).await;
        }
        self.with_key()?.ask(ask.repeatable()).await
    }

    /// Adds several messages, all or none, once, however often they have to be sent.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn append_batch(
        &self,
        thread: impl Into<ThreadName>,
        messages: &[api::NewMessage],
    ) -> Result<Vec<api::Message<'static>>, Error> {
        #[derive(Serialize, Deserialize)]
        struct Batch<M> {
            messages: M,
        }
        let ask = Ask::post(of(thread, "/messages"), &Batch { messages })?.repeatable();
        let batch: Batch<Vec<api::Message<'static>>> = self.with_key()?.ask(ask).await?;
        Ok(batch.messages)
    }

    /// The same client with a key, so that what it appends can be sent again.
    pub(crate) fn with_key(&self) -> Result<Self, Error> {
        if self.carried.idempotency_key.is_some() { Ok(self.clone()) } else { Ok(self.keyed(fresh_key()?)) }
    }

    /// Puts a message before another one.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: it could stand there twice.
    pub async fn insert(
        &self,
        thread: impl Into<ThreadName>,
        before: MessageName,
        message: MessageBody,
    ) -> Result<api::Message<'static>, Error> {
        let position = Some(api::Place { before });
        self.append(thread, api::NewMessage { position, ..message.into() }).await
    }

    /// A page of a thread's messages.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn messages(&self, thread: impl Into<ThreadName>, which: &ListMessages) -> Result<MessagePage, Error> {
        let answer = self.answer(Ask::get(of(thread, "/messages")).query(which.query())).await?;
        Ok(MessagePage { page: self.read(&answer)?, version: answer.version() })
    }

    /// One message.
    ///
    /// # Errors
    /// `message_not_found` if the thread does not show it.
    pub async fn message(
        &self,
        thread: impl Into<ThreadName>,
        message: MessageName,
    ) -> Result<api::Message<'static>, Error> {
        self.ask(Ask::get(of(thread, &format!("/messages/{message}")))).await
    }

    /// Gives a message new content or metadata.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn edit_message(
        &self,
        thread: impl Into<ThreadName>,
        message: MessageName,
        edit: &api::EditMessage,
    ) -> Result<api::Message<'static>, Error> {
        self.ask(Ask::patch(of(thread, &format!("/messages/{message}")), edit)?.repeatable()).await
    }

    /// Deletes a message; earlier versions still show it.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn delete_message(
        &self,
        thread: impl Into<ThreadName>,
        message: MessageName,
    ) -> Result<api::Deleted, Error> {
        self.ask(Ask::delete(of(thread, &format!("/messages/{message}")))).await
    }

    /// Logs an event of the four kinds of the Threads contract.
    ///
    /// # Errors
    /// As the server refuses it. Events other than messages are not sent again if the connection breaks.
    pub async fn append_event(
        &self,
        thread: impl Into<ThreadName>,
        event: &api::NewEvent,
    ) -> Result<api::Logged, Error> {
        let ask = Ask::post(of(thread, "/events"), event)?;
        if event.kind == "message" { self.with_key()?.ask(ask.repeatable()).await } else { self.ask(ask).await }
    }

    /// Messages and other events in the order of the log, after a version.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn events(
        &self,
        thread: impl Into<ThreadName>,
        after: Version,
        limit: Option<usize>,
    ) -> Result<api::Page<api::LoggedEvent>, Error> {
        let query = Query::default().with("after", after).maybe("limit", limit);
        self.ask(Ask::get(of(thread, "/events")).query(query)).await
    }

    /// All that was logged to a thread after a version, abandoned branches included.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn history(
        &self,
        thread: impl Into<ThreadName>,
        after: Version,
        limit: Option<usize>,
    ) -> Result<api::Page<api::HistoryEntry<'static>>, Error> {
        let query = Query::default().with("after", after).maybe("limit", limit);
        self.ask(Ask::get(of(thread, "/history")).query(query)).await
    }

    /// The conversation as a model is given it, now or as of a version.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn model_messages(
        &self,
        thread: impl Into<ThreadName>,
        as_of: Option<Version>,
    ) -> Result<Vec<api::ModelMessage>, Error> {
        self.ask(Ask::get(of(thread, "/model-messages")).query(Query::default().maybe("asOf", as_of))).await
    }

    /// Drops all messages from a point on.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn truncate(&self, thread: impl Into<ThreadName>, from: &api::Truncate) -> Result<api::Thread, Error> {
        self.ask(Ask::post(of(thread, "/truncate"), from)?).await
    }
}

/// An id in a path.
pub(crate) fn id(text: impl ToString) -> String {
    part(&text.to_string())
}

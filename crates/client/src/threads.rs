//! Threads as such: create, read, change, delete; events for whoever listens; whether the server is there.

use threadkeep_calls as api;
use threadkeep_model::{FieldChanges, ThreadName};

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::query::part;

/// The path of a thread, and of what belongs to it.
pub(crate) fn of(thread: impl Into<ThreadName>, rest: &str) -> String {
    format!("/v1/threads/{}{rest}", part(&thread.into().to_string()))
}

impl Client {
    /// Makes a thread.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: there could be two.
    pub async fn create(&self, create: &api::CreateThread) -> Result<api::Thread, Error> {
        self.ask(Ask::post("/v1/threads".to_owned(), create)?).await
    }

    /// A thread.
    ///
    /// # Errors
    /// `thread_not_found`, also for one that the key may not see.
    pub async fn thread(&self, thread: impl Into<ThreadName>) -> Result<api::Thread, Error> {
        self.ask(Ask::get(of(thread, ""))).await
    }

    /// Replaces fields of a thread's record; null clears one.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn update(&self, thread: impl Into<ThreadName>, fields: &FieldChanges) -> Result<api::Thread, Error> {
        self.ask(Ask::patch(of(thread, ""), fields)?.repeatable()).await
    }

    /// Deletes a thread for good. One that was not there is no error; neither is one that an earlier attempt of the
    /// same call deleted.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn delete(&self, thread: impl Into<ThreadName>) -> Result<api::Deleted, Error> {
        self.ask(Ask::delete(of(thread, ""))).await
    }

    /// Hides a thread from the main list.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn archive(&self, thread: impl Into<ThreadName>) -> Result<api::Thread, Error> {
        self.ask(Ask::post(of(thread, "/archive"), &api::Nothing {})?.repeatable()).await
    }

    /// Brings a thread back to the main list.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn unarchive(&self, thread: impl Into<ThreadName>) -> Result<api::Thread, Error> {
        self.ask(Ask::post(of(thread, "/unarchive"), &api::Nothing {})?.repeatable()).await
    }

    /// Tells those who listen at this moment. Nothing is logged.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn emit(&self, thread: impl Into<ThreadName>, emit: &api::Emit) -> Result<api::EmitTold, Error> {
        self.ask(Ask::post(of(thread, "/emit"), emit)?).await
    }

    /// Whether the server is there.
    ///
    /// # Errors
    /// If it is not.
    pub async fn is_alive(&self) -> Result<(), Error> {
        self.answer(Ask::get("/healthz".to_owned())).await.map(drop)
    }

    /// Whether the server can read its store, and is not about to stop.
    ///
    /// # Errors
    /// If it cannot, or is.
    pub async fn is_ready(&self) -> Result<(), Error> {
        self.answer(Ask::get("/readyz".to_owned())).await.map(drop)
    }
}

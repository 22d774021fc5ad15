//! Other ways through a history, the family of a thread, and its exclusive writer.

use threadkeep_calls as api;
use threadkeep_model::ThreadName;

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::threads::of;

impl Client {
    /// Makes a thread that shares the history up to a point.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: there could be two.
    pub async fn fork(&self, thread: impl Into<ThreadName>, fork: &api::Fork) -> Result<api::Thread, Error> {
        self.ask(Ask::post(of(thread, "/fork"), fork)?).await
    }

    /// Makes a thread that goes on from a summary.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: there could be two.
    pub async fn handoff(&self, thread: impl Into<ThreadName>, handoff: &api::Handoff) -> Result<api::Thread, Error> {
        self.ask(Ask::post(of(thread, "/handoff"), handoff)?).await
    }

    /// Records that a thread names another one.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn mention(
        &self,
        thread: impl Into<ThreadName>,
        mention: &api::Mention,
    ) -> Result<api::Relationship, Error> {
        self.ask(Ask::post(of(thread, "/mention"), mention)?).await
    }

    /// Goes back to an earlier state; nothing is lost.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn rollback(&self, thread: impl Into<ThreadName>, to: &api::Rollback) -> Result<api::Thread, Error> {
        self.ask(Ask::post(of(thread, "/rollback"), to)?).await
    }

    /// Names the present version.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn checkpoint(
        &self,
        thread: impl Into<ThreadName>,
        set: &api::SetCheckpoint,
    ) -> Result<api::Checkpoint, Error> {
        self.ask(Ask::post(of(thread, "/checkpoint"), set)?).await
    }

    /// The named versions, the oldest first.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn checkpoints(&self, thread: impl Into<ThreadName>) -> Result<Vec<api::Checkpoint>, Error> {
        let page: api::Page<_> = self.ask(Ask::get(of(thread, "/checkpoints"))).await?;
        Ok(page.items)
    }

    /// A thread with all it is related to.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn tree(&self, thread: impl Into<ThreadName>) -> Result<api::Family, Error> {
        self.ask(Ask::get(of(thread, "/tree"))).await
    }

    /// What a thread has to do with others, from its own side.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn relationships(&self, thread: impl Into<ThreadName>) -> Result<Vec<api::Relationship>, Error> {
        let page: api::Page<_> = self.ask(Ask::get(of(thread, "/relationships"))).await?;
        Ok(page.items)
    }

    /// The built-in summary of a thread.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn summary(&self, thread: impl Into<ThreadName>) -> Result<api::Summary, Error> {
        self.ask(Ask::get(of(thread, "/summary"))).await
    }

    /// Who is the thread's exclusive writer, if anybody is.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn writer(&self, thread: impl Into<ThreadName>) -> Result<Option<api::Writer>, Error> {
        self.ask(Ask::get(of(thread, "/writer"))).await
    }

    /// Becomes the thread's exclusive writer.
    ///
    /// # Errors
    /// `writer_held` if somebody else is.
    pub async fn take_writer(
        &self,
        thread: impl Into<ThreadName>,
        take: &api::TakeWriter,
    ) -> Result<api::Writer, Error> {
        self.ask(Ask::post(of(thread, "/writer"), take)?).await
    }

    /// Lets the lease with this token last on.
    ///
    /// # Errors
    /// `writer_lost` if it has ended.
    pub async fn renew_writer(
        &self,
        thread: impl Into<ThreadName>,
        token: u64,
        ttl_ms: Option<u64>,
    ) -> Result<api::Writer, Error> {
        let renew = api::TakeWriter { ttl: ttl_ms, holder: None };
        self.writing_under(token).ask(Ask::put(of(thread, "/writer"), &renew)?).await
    }

    /// Ends the lease with this token. One that had ended is no error.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn release_writer(&self, thread: impl Into<ThreadName>, token: u64) -> Result<api::Released, Error> {
        self.writing_under(token).ask(Ask::delete(of(thread, "/writer"))).await
    }
}

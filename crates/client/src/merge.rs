//! Merges: what other threads made comes together in one of them.

use threadkeep_calls as api;
use threadkeep_model::{ThreadName, Uuid};

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::threads::of;

impl Client {
    /// Merges what other threads made into a thread, and says how far that came: a conflict and a check that fails are no
    /// error. It takes as long as the check takes.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: see [`Client::merges`] for what became of it.
    pub async fn merge(&self, thread: impl Into<ThreadName>, merge: &api::Merge) -> Result<api::MergeTold, Error> {
        self.ask(Ask::post(of(thread, "/merge"), merge)?.unhurried()).await
    }

    /// The merges into a thread, those that changed nothing too.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn merges(&self, thread: impl Into<ThreadName>) -> Result<Vec<api::MergeTold>, Error> {
        let page: api::Page<_> = self.ask(Ask::get(of(thread, "/merges"))).await?;
        Ok(page.items)
    }

    /// A merge by its id.
    ///
    /// # Errors
    /// `merge_not_found`, and as the server refuses it otherwise.
    pub async fn merge_by_id(&self, thread: impl Into<ThreadName>, merge: Uuid) -> Result<api::MergeTold, Error> {
        self.ask(Ask::get(of(thread, &format!("/merges/{merge}")))).await
    }
}

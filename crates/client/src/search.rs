//! Searches: conversations by what they say.

use threadkeep_calls as api;

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;

impl Client {
    /// The account's threads that answer a question, the best first, each opened at its best message.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn search(&self, asked: &api::SearchThreads) -> Result<api::SearchFound, Error> {
        self.ask(Ask::post("/v1/search".to_owned(), asked)?.repeatable()).await
    }

    /// Brings everything into the index that is not in it, and drops what no thread shows any more. It takes as long as
    /// that takes, and can be repeated.
    ///
    /// # Errors
    /// `embedder_failed`, and as the server refuses it otherwise.
    pub async fn backfill(&self, run: &api::RunBackfill) -> Result<api::Backfilled, Error> {
        self.ask(Ask::post("/v1/search/backfill".to_owned(), run)?.repeatable().unhurried()).await
    }

    /// How far the index follows the log, and how large it is for the account.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn search_status(&self) -> Result<api::SearchStatus, Error> {
        self.ask(Ask::get("/v1/search/status".to_owned())).await
    }
}

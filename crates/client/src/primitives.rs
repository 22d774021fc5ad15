//! The primitives that people and agents share.

use threadkeep_calls as api;
use threadkeep_model::{ThreadName, Uuid, Version};

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::query::Query;
use crate::threads::of;

impl Client {
    /// Makes a thread for an intent of its own.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: there could be two.
    pub async fn spawn(&self, thread: impl Into<ThreadName>, spawn: &api::Spawn) -> Result<api::Spawned, Error> {
        self.ask(Ask::post(of(thread, "/spawn"), spawn)?).await
    }

    /// Moves a thread on in its life.
    ///
    /// # Errors
    /// `invalid_transition` if it does not go that way from where it is. If the connection breaks it is not sent again:
    /// a second time would be refused.
    pub async fn lifecycle(
        &self,
        thread: impl Into<ThreadName>,
        change: &api::ChangeLifecycle,
    ) -> Result<api::Thread, Error> {
        self.ask(Ask::post(of(thread, "/lifecycle"), change)?).await
    }

    /// Puts something before whoever works on a thread.
    ///
    /// # Errors
    /// `injections_full`, and as the server refuses it otherwise. If the connection breaks it is not sent again: it could
    /// wait there twice.
    pub async fn inject(&self, thread: impl Into<ThreadName>, inject: &api::Inject) -> Result<api::Injected, Error> {
        self.ask(Ask::post(of(thread, "/inject"), inject)?).await
    }

    /// What was injected.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn injections(
        &self,
        thread: impl Into<ThreadName>,
        state: api::InjectionState,
    ) -> Result<Vec<api::Injection>, Error> {
        let state = match state {
            api::InjectionState::Waiting => "waiting",
            api::InjectionState::Taken => "taken",
            api::InjectionState::All => "all",
        };
        let ask = Ask::get(of(thread, "/injections")).query(Query::default().with("state", state));
        let page: api::Page<_> = self.ask(ask).await?;
        Ok(page.items)
    }

    /// Takes up an injection by hand; once more changes nothing.
    ///
    /// # Errors
    /// `injection_not_found`, and as the server refuses it otherwise.
    pub async fn acknowledge(&self, thread: impl Into<ThreadName>, injection: Uuid) -> Result<api::Injection, Error> {
        let path = of(thread, &format!("/injections/{injection}/ack"));
        self.ask(Ask::post(path, &api::Nothing {})?.repeatable()).await
    }

    /// Records the answer to a question.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn decide(&self, thread: impl Into<ThreadName>, decide: &api::Decide) -> Result<api::Decision, Error> {
        self.ask(Ask::post(of(thread, "/decide"), decide)?).await
    }

    /// The answers that count on a thread, now or as of a version.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn decisions(
        &self,
        thread: impl Into<ThreadName>,
        as_of: Option<Version>,
    ) -> Result<Vec<api::Decision>, Error> {
        let ask = Ask::get(of(thread, "/decisions")).query(Query::default().maybe("asOf", as_of));
        let page: api::Page<_> = self.ask(ask).await?;
        Ok(page.items)
    }
}

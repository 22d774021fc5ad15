//! Who may do what, and what threads read and are told of each other.

use threadkeep_calls as api;
use threadkeep_model::{ThreadName, Uuid};

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::messages::{ListMessages, MessagePage};
use crate::query::Query;
use crate::threads::of;

/// Which approvals to list: those that wait, unless something is said.
#[derive(Debug, Clone, Default)]
pub struct ListApprovals {
    /// How they stand: `pending`, `approved`, `denied`, `revoked` or `all`.
    pub state: Option<String>,
    /// Only those of this thread.
    pub thread: Option<ThreadName>,
    /// At most so many; the server's page if nothing is said.
    pub limit: Option<usize>,
    /// Goes on where an earlier page ended.
    pub cursor: Option<String>,
}

impl Client {
    /// Asks to be allowed something, or lets agents do something without asking.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: there could be two.
    pub async fn transfer(
        &self,
        thread: impl Into<ThreadName>,
        transfer: &api::Transfer,
    ) -> Result<api::Transferred, Error> {
        self.ask(Ask::post(of(thread, "/transfer"), transfer)?).await
    }

    /// Approvals of all threads, in the order in which they were asked.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn approvals(&self, which: &ListApprovals) -> Result<api::Page<api::Approval>, Error> {
        let query = Query::default()
            .maybe("state", which.state.as_ref())
            .maybe("threadId", which.thread)
            .maybe("limit", which.limit)
            .maybe("cursor", which.cursor.as_ref());
        self.ask(Ask::get("/v1/approvals".to_owned()).query(query)).await
    }

    /// One approval.
    ///
    /// # Errors
    /// `approval_not_found`.
    pub async fn approval(&self, id: Uuid) -> Result<api::Approval, Error> {
        self.ask(Ask::get(format!("/v1/approvals/{id}"))).await
    }

    /// Says yes to an approval.
    ///
    /// # Errors
    /// `approval_answered` if somebody was faster.
    pub async fn approve(&self, id: Uuid, answer: &api::Answer) -> Result<api::Approval, Error> {
        // A merge that waits for it is checked first, which takes as long as it takes.
        self.ask(Ask::post(format!("/v1/approvals/{id}/approve"), answer)?.unhurried()).await
    }

    /// Says no to an approval.
    ///
    /// # Errors
    /// `approval_answered` if somebody was faster.
    pub async fn deny(&self, id: Uuid, answer: &api::Answer) -> Result<api::Approval, Error> {
        self.ask(Ask::post(format!("/v1/approvals/{id}/deny"), answer)?).await
    }

    /// Withdraws an approval that waits, or takes back what was approved.
    ///
    /// # Errors
    /// `approval_answered` if there is nothing to take back.
    pub async fn revoke_approval(&self, id: Uuid, answer: &api::Answer) -> Result<api::Approval, Error> {
        self.ask(Ask::post(format!("/v1/approvals/{id}/revoke"), answer)?).await
    }

    /// What agents may do on a thread without asking.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn delegations(&self, thread: impl Into<ThreadName>) -> Result<Vec<api::Delegation>, Error> {
        let page: api::Page<_> = self.ask(Ask::get(of(thread, "/delegations"))).await?;
        Ok(page.items)
    }

    /// Takes a delegation back.
    ///
    /// # Errors
    /// `delegation_not_found`, also if it was revoked before.
    pub async fn revoke_delegation(&self, id: Uuid, answer: &api::Answer) -> Result<api::Delegation, Error> {
        self.ask(Ask::post(format!("/v1/delegations/{id}/revoke"), answer)?).await
    }

    /// Makes a reference to another thread.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: there could be two.
    pub async fn reference(
        &self,
        thread: impl Into<ThreadName>,
        reference: &api::NewReference,
    ) -> Result<api::Reference, Error> {
        self.ask(Ask::post(of(thread, "/reference"), reference)?).await
    }

    /// What a thread reads, and what reads it.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn references(&self, thread: impl Into<ThreadName>) -> Result<api::References, Error> {
        self.ask(Ask::get(of(thread, "/references"))).await
    }

    /// One reference.
    ///
    /// # Errors
    /// `reference_not_found`.
    pub async fn reference_by_id(&self, id: Uuid) -> Result<api::Reference, Error> {
        self.ask(Ask::get(format!("/v1/references/{id}"))).await
    }

    /// The messages that a reference shows.
    ///
    /// # Errors
    /// `reference_gone` if there is nothing to read any more.
    pub async fn reference_messages(&self, id: Uuid, which: &ListMessages) -> Result<MessagePage, Error> {
        let answer = self.answer(Ask::get(format!("/v1/references/{id}/messages")).query(which.query())).await?;
        Ok(MessagePage { page: self.read(&answer)?, version: answer.version() })
    }

    /// Has a thread told of what happens to another one.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: there could be two.
    pub async fn observe(
        &self,
        thread: impl Into<ThreadName>,
        observer: &api::NewObserver,
    ) -> Result<api::Observer, Error> {
        self.ask(Ask::post(of(thread, "/observe"), observer)?).await
    }

    /// What a thread is told of others.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn observers(&self, thread: impl Into<ThreadName>) -> Result<Vec<api::Observer>, Error> {
        let page: api::Page<_> = self.ask(Ask::get(of(thread, "/observers"))).await?;
        Ok(page.items)
    }

    /// What a thread is told of another one.
    ///
    /// # Errors
    /// `observer_not_found`.
    pub async fn observer(&self, thread: impl Into<ThreadName>, id: Uuid) -> Result<api::Observer, Error> {
        self.ask(Ask::get(of(thread, &format!("/observers/{id}")))).await
    }

    /// Has a thread told no more.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn unobserve(&self, thread: impl Into<ThreadName>, id: Uuid) -> Result<api::Deleted, Error> {
        self.ask(Ask::delete(of(thread, &format!("/observers/{id}")))).await
    }
}

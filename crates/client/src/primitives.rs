//! The primitives that people and agents share.

use threadkeep_api as api;
use threadkeep_model::ThreadName;

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::threads::of;

impl Client {
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
}

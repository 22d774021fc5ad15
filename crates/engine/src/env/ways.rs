//! The redactor of each way out.

use threadkeep_model::ThreadId;
use threadkeep_store::BoxFuture;
use threadkeep_vault::Redactor;

use super::keys::Vault;
use super::redact::Whose;
use crate::ground::way_out::WayOut;
use crate::{Engine, Result};

impl Engine {
    /// The redactor for the secrets of the instance alone, where nothing is known of a caller.
    pub fn instance_redactor(&self) -> Redactor {
        Redactor::new([std::sync::Arc::clone(&self.shared.room::<Vault>().config.instance.secrets)])
    }

    /// The redactor of a way out: for the secrets of this thread, the threads it works for, its account and the
    /// instance; without a thread, or with one of another account, for those of the caller's account and the instance.
    /// For the log, webhooks and exports, the account of the thread does not matter.
    ///
    /// # Errors
    /// [`Error::SecretsUnavailable`](crate::Error::SecretsUnavailable): without its secrets, nothing can be redacted.
    pub fn redactor(&self, way: WayOut, thread: Option<ThreadId>) -> BoxFuture<'_, Result<Redactor>> {
        Box::pin(async move {
            let redactor = match way {
                // These are for the operator, or know whose thread it is.
                WayOut::Log | WayOut::Trace | WayOut::Metric | WayOut::Webhook | WayOut::Export => {
                    self.redactor_of(thread, Whose::Anyones).await?
                }
                WayOut::Call
                | WayOut::File
                | WayOut::Event
                | WayOut::Code
                | WayOut::Stream
                | WayOut::Tool
                | WayOut::Problem
                | WayOut::CommandLine
                | WayOut::Mcp => self.redactor_of(thread, Whose::Callers).await?,
            };
            Ok(match way {
                // Who reads the log may not know the names.
                WayOut::Log | WayOut::Trace | WayOut::Metric => redactor.unnamed(),
                WayOut::Call
                | WayOut::File
                | WayOut::Event
                | WayOut::Code
                | WayOut::Stream
                | WayOut::Tool
                | WayOut::Problem
                | WayOut::Webhook
                | WayOut::Export
                | WayOut::CommandLine
                | WayOut::Mcp => redactor,
            })
        })
    }
}

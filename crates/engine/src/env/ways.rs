//! The ways by which text leaves the program, or reaches a thread from something that is no person.

use threadkeep_model::ThreadId;
use threadkeep_vault::Redactor;

use super::keys::Vault;
use super::redact::Whose;
use crate::{Engine, Result};

/// A way out. Each has a redactor; the test `ways_out` walks them all, so a new one needs its case there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayOut {
    /// A call by an agent, the system or sandboxed code: messages, values, keys, names, status.
    Call,
    /// A file or an attachment that an agent, the system or sandboxed code writes. It is refused.
    File,
    /// A custom event of a thread, by any actor.
    Event,
    /// Results, logs and reports of sandboxed code.
    Code,
    /// The server's log.
    Log,
    /// The explanation of an error.
    Problem,
    /// An event that is sent to a webhook.
    Webhook,
    /// An export that a request or a command reads.
    Export,
    /// Spans and events of traces. They hold names of calls and ids, and nothing that a caller wrote.
    Trace,
    /// Metrics. Their labels are those of the table of routes.
    Metric,
    /// The command line: values come by stdin, and errors are problems.
    CommandLine,
}

impl WayOut {
    /// Every way out.
    pub const ALL: [Self; 11] = [
        Self::Call,
        Self::File,
        Self::Event,
        Self::Code,
        Self::Log,
        Self::Problem,
        Self::Webhook,
        Self::Export,
        Self::Trace,
        Self::Metric,
        Self::CommandLine,
    ];
}

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
    pub async fn redactor(&self, way: WayOut, thread: Option<ThreadId>) -> Result<Redactor> {
        let redactor = match way {
            // These are for the operator, or know whose thread it is.
            WayOut::Log | WayOut::Trace | WayOut::Metric | WayOut::Webhook | WayOut::Export => {
                self.redactor_of(thread, Whose::Anyones).await?
            }
            WayOut::Call | WayOut::File | WayOut::Event | WayOut::Code | WayOut::Problem | WayOut::CommandLine => {
                self.redactor_of(thread, Whose::Callers).await?
            }
        };
        Ok(match way {
            // Who reads the log may not know the names.
            WayOut::Log | WayOut::Trace | WayOut::Metric => redactor.unnamed(),
            WayOut::Call
            | WayOut::File
            | WayOut::Event
            | WayOut::Code
            | WayOut::Problem
            | WayOut::Webhook
            | WayOut::Export
            | WayOut::CommandLine => redactor,
        })
    }
}

//! The way over HTTP.

use std::sync::Arc;
use std::time::Duration;

use threadkeep_model::Invalid;
pub(crate) use threadkeep_outgoing::Address;
use threadkeep_outgoing::{Limits, Outgoing, Reach, WrongAddress};

use crate::error::Error;
use crate::transport::{Exchange, Request, Transport};

/// Connections to one server.
pub(crate) struct Http {
    address: Address,
    outgoing: Outgoing,
}

impl Http {
    pub(crate) fn new(address: Address, connect_max: Duration) -> Self {
        // How long an answer may take depends on the question: that is limited where it is asked.
        let limits = Limits { connect: connect_max, answer: Duration::MAX, ..Limits::default() };
        Self { address, outgoing: Outgoing::new(Reach::Anywhere, limits) }
    }
}

impl Transport for Http {
    fn exchange(&self, request: Request) -> Exchange<'_> {
        Box::pin(self.outgoing.send(&self.address, request))
    }

    fn apart(&self) -> Arc<dyn Transport> {
        Arc::new(Self { address: self.address.clone(), outgoing: self.outgoing.apart() })
    }
}

impl From<WrongAddress> for Error {
    fn from(WrongAddress(rule): WrongAddress) -> Self {
        Invalid::parameter("server", rule).into()
    }
}

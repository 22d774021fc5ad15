//! How requests travel.

use std::pin::Pin;
use std::sync::Arc;

pub use threadkeep_outgoing::{Body, BoxError, Failed, Request, Response};

/// A request that is under way.
pub type Exchange<'a> = Pin<Box<dyn Future<Output = Result<Response, Failed>> + Send + 'a>>;

/// Brings requests to a server, and its answers back. The target of a request is a path with a query, and `Host` is
/// among its headers.
pub trait Transport: Send + Sync + 'static {
    /// Sends a request, and returns the answer as soon as its head has arrived.
    fn exchange(&self, request: Request) -> Exchange<'_>;

    /// The same way with connections of its own, for another runtime.
    fn apart(&self) -> Arc<dyn Transport>;
}

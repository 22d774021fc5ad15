//! How requests travel.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A body on its way, chunk by chunk.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;
/// A request: its target is a path with a query, and `Host` is among its headers.
pub type Request = http::Request<Body>;
/// An answer; its body may go on for as long as a stream does.
pub type Response = http::Response<Body>;
/// A request that is under way.
pub type Exchange<'a> = Pin<Box<dyn Future<Output = Result<Response, Failed>> + Send + 'a>>;

/// Brings requests to a server, and its answers back.
pub trait Transport: Send + Sync + 'static {
    /// Sends a request, and gives the answer as soon as its head is there.
    fn exchange(&self, request: Request) -> Exchange<'_>;

    /// The same way with connections of its own, for another runtime.
    fn apart(&self) -> Arc<dyn Transport>;
}

/// There is no answer.
#[derive(Debug, Clone)]
pub struct Failed {
    /// Whether something may have arrived.
    pub was_sent: bool,
    /// What went wrong.
    pub what: String,
}

impl Failed {
    /// Nothing was sent.
    pub fn before(what: impl ToString) -> Self {
        Self { was_sent: false, what: what.to_string() }
    }

    /// Something may have been.
    pub fn after(what: impl ToString) -> Self {
        Self { was_sent: true, what: what.to_string() }
    }
}

/// `body` as bodies are here.
pub(crate) fn boxed<B>(body: B) -> Body
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}

//! The unread rest of a body once a request was answered.
//!
//! A connection with unread bytes cannot be used again, and closing it may even lose the answer. So a body is
//! lent to the handler and comes back when it is dropped; the rest of a small one is read and discarded.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header;
use futures_core::Stream;
use hyper::body::{Body as _, Frame, SizeHint};

/// Most bytes that are read away.
const LEFT_BYTES_MAX: u64 = 256 << 10;
/// How long that may take.
const LEFT_TIME_MAX: Duration = Duration::from_secs(1);

/// Where a body comes back to.
pub(crate) struct Leftover {
    back: Arc<Mutex<Option<Body>>>,
    /// Whether it is worth reading: small, and not waiting for a word from us.
    is_readable: bool,
}

/// Lends the body of a request to its handler.
pub(crate) fn lend(request: Request) -> (Request, Option<Leftover>) {
    if request.body().is_end_stream() {
        return (request, None);
    }
    let is_small = request.body().size_hint().exact().is_none_or(|bytes| bytes <= LEFT_BYTES_MAX);
    let is_readable = is_small && !request.headers().contains_key(header::EXPECT);
    let back: Arc<Mutex<Option<Body>>> = Arc::default();
    let lent = Arc::clone(&back);
    let request = request.map(|body| Body::new(Lent { body: Some(body), back: lent }));
    (request, Some(Leftover { back, is_readable }))
}

impl Leftover {
    /// Reads and discards the rest; false if there is too much of it, so that the connection has to end.
    pub(crate) async fn read_away(self) -> bool {
        let Some(body) = self.back.lock().unwrap_or_else(PoisonError::into_inner).take() else { return true };
        if body.is_end_stream() {
            return true;
        }
        let reading = async {
            let mut chunks = body.into_data_stream();
            let mut bytes = 0;
            loop {
                match poll_fn(|context| Pin::new(&mut chunks).poll_next(context)).await {
                    None => return true,
                    Some(Ok(chunk)) if bytes + chunk.len() as u64 <= LEFT_BYTES_MAX => bytes += chunk.len() as u64,
                    Some(_) => return false,
                }
            }
        };
        self.is_readable && tokio::time::timeout(LEFT_TIME_MAX, reading).await.unwrap_or(false)
    }
}

/// A body that comes back when it is dropped.
struct Lent {
    body: Option<Body>,
    back: Arc<Mutex<Option<Body>>>,
}

impl hyper::body::Body for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(hyper::body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, hyper::body::Body::size_hint)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        *self.back.lock().unwrap_or_else(PoisonError::into_inner) = self.body.take();
    }
}

//! The requests of `object_store` through the one HTTP client.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use http::Uri;
use http_body::{Frame, SizeHint};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use threadkeep_outgoing::{Address, Body, Failed, Outgoing, boxed};

/// Makes clients that send with this one.
#[derive(Debug)]
pub(crate) struct Connector(pub(crate) Outgoing);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Sender(self.0.clone())))
    }
}

#[derive(Debug)]
struct Sender(Outgoing);

#[async_trait]
impl HttpService for Sender {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let to = Address::of(request.uri()).map_err(|wrong| HttpError::new(HttpErrorKind::Unknown, wrong))?;
        let (mut head, body) = request.into_parts();
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        head.uri = path.parse::<Uri>().map_err(|wrong| HttpError::new(HttpErrorKind::Unknown, wrong))?;
        let answer = self.0.send(&to, http::Request::from_parts(head, boxed(body))).await.map_err(failed)?;
        Ok(answer.map(|body| HttpResponseBody::new(Answer(Mutex::new(body)))))
    }
}

/// Whether it may be sent again follows from how far it came.
fn failed(failed: Failed) -> HttpError {
    let kind = match (failed.for_good, failed.was_sent) {
        (true, _) => HttpErrorKind::Unknown,
        (false, false) => HttpErrorKind::Connect,
        (false, true) => HttpErrorKind::Interrupted,
    };
    HttpError::new(kind, failed)
}

/// The body of an answer. It is read by one at a time: the lock only makes it `Sync`, as `object_store` asks.
struct Answer(Mutex<Body>);

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let body = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let broke = |error| HttpError::new_boxed(HttpErrorKind::Interrupted, error);
        Pin::new(body).poll_frame(context).map(|frame| frame.map(|frame| frame.map_err(broke)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).size_hint()
    }
}

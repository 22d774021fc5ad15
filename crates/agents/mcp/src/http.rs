//! A server on the network: requests of the protocol go through `threadkeep-outgoing`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use futures_core::stream::BoxStream;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use http_body_util::BodyExt;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use threadkeep_outgoing::{Address, Body, BoxError, Failed, Outgoing, Request, Response, empty, full, whole};

use crate::lines::MESSAGE_BYTES_MAX;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";
/// Bytes of a refusal that are read.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

type Headers = HashMap<HeaderName, HeaderValue>;
type Wrong = StreamableHttpError<Failed>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Sends the requests of one connection.
#[derive(Clone)]
pub(crate) struct Http(pub(crate) Outgoing);

impl Http {
    async fn send(
        &self,
        (method, uri): (Method, &str),
        session: Option<&str>,
        auth: Option<String>,
        headers: Headers,
        (accept, body): (&'static str, Option<String>),
    ) -> Result<Response, Wrong> {
        let wrong = |what: String| StreamableHttpError::Client(Failed::before(what).for_good());
        let uri: Uri = uri.parse().map_err(|_| wrong("the URL cannot be read".to_owned()))?;
        let to = Address::of(&uri).map_err(|error| wrong(error.to_string()))?;
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let has_body = body.is_some();
        let mut request = Request::new(body.map_or_else(empty, full));
        *request.method_mut() = method;
        *request.uri_mut() = target.parse().map_err(|_| wrong("the URL cannot be sent".to_owned()))?;
        let sent = request.headers_mut();
        for (name, value) in headers {
            sent.extend([(name, value)]);
        }
        sent.insert(ACCEPT, HeaderValue::from_static(accept));
        if has_body {
            sent.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        }
        let plain = |text: &str| HeaderValue::from_str(text).map_err(|error| wrong(error.to_string()));
        if let Some(session) = session {
            sent.insert(SESSION, plain(session)?);
        }
        if let Some(auth) = auth {
            sent.insert(AUTHORIZATION, plain(&format!("Bearer {auth}"))?);
        }
        self.0.send(&to, request).await.map_err(StreamableHttpError::Client)
    }
}

impl StreamableHttpClient for Http {
    type Error = Failed;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Wrong> {
        let body = serde_json::to_string(&message)?;
        let accept = "application/json, text/event-stream";
        let response = self.send((Method::POST, &uri), session.as_deref(), auth, headers, (accept, Some(body))).await?;
        let (head, body) = response.into_parts();
        let status = head.status;
        let text = |name| head.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::UNAUTHORIZED {
            let header = text(WWW_AUTHENTICATE).unwrap_or_default().to_owned();
            return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(header)));
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return refused(&message, status, body).await;
        }
        let given = text(HeaderName::from_static(SESSION)).map(str::to_owned);
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        match text(CONTENT_TYPE) {
            Some(kind) if kind.starts_with(EVENTS) => Ok(StreamableHttpPostResponse::Sse(events(body), given)),
            Some(kind) if kind.starts_with(JSON) => {
                let body = whole(body, MESSAGE_BYTES_MAX).await.map_err(StreamableHttpError::Client)?;
                match serde_json::from_slice(&body) {
                    Ok(told) => Ok(StreamableHttpPostResponse::Json(told, given)),
                    Err(_) if !is_request => Ok(StreamableHttpPostResponse::Accepted),
                    Err(error) => Err(error.into()),
                }
            }
            // A notification has no answer.
            _ if !is_request => Ok(StreamableHttpPostResponse::Accepted),
            kind => Err(StreamableHttpError::UnexpectedContentType(kind.map(str::to_owned))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<(), Wrong> {
        self.send((Method::DELETE, &uri), Some(&session), auth, headers, (JSON, None)).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        auth: Option<String>,
        mut headers: Headers,
    ) -> Result<Events, Wrong> {
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(&last).ok()) {
            headers.insert(HeaderName::from_static("last-event-id"), last);
        }
        let response = self.send((Method::GET, &uri), session.as_deref(), auth, headers, (EVENTS, None)).await?;
        let is_events =
            response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(EVENTS.as_bytes()));
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if status.is_success() && is_events => Ok(events(response.into_body())),
            status => Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!("status {status}")))),
        }
    }
}

/// A refusal of a request. One of `server/discover` says that the server speaks the older revision alone.
async fn refused(
    message: &ClientJsonRpcMessage,
    status: StatusCode,
    body: Body,
) -> Result<StreamableHttpPostResponse, Wrong> {
    let body = whole(body, REFUSAL_BYTES_MAX).await.unwrap_or_default();
    let told = serde_json::from_slice::<ServerJsonRpcMessage>(&body);
    let ClientJsonRpcMessage::Request(request) = message else {
        return Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!("status {status}"))));
    };
    let is_probe = matches!(request.request, ClientRequest::DiscoverRequest(_));
    let error = match told {
        Ok(ServerJsonRpcMessage::Error(error)) => error.error,
        _ if is_probe && status.is_client_error() && status != StatusCode::FORBIDDEN => {
            ErrorData::invalid_request(format!("status {status}"), None)
        }
        _ => {
            return Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!("status {status}"))));
        }
    };
    let told = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
    Ok(StreamableHttpPostResponse::Json(told, None))
}

/// The events of a body, each of bounded size.
fn events(body: Body) -> Events {
    let body = Lines { body: Box::pin(body.into_data_stream()), event: 0 };
    Box::pin(SseStream::from_bytes_stream(body))
}

/// A stream of bytes that fails at an event with more than [`MESSAGE_BYTES_MAX`] bytes.
struct Lines<S> {
    body: Pin<Box<S>>,
    event: usize,
}

impl<S: Stream<Item = Result<Bytes, BoxError>>> Stream for Lines<S> {
    type Item = Result<Bytes, Failed>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.body.as_mut().poll_next(context));
        if let Some(Ok(bytes)) = &next {
            let end = bytes.windows(2).rposition(|pair| pair == b"\n\n");
            self.event = end.map_or(self.event + bytes.len(), |end| bytes.len() - end);
            if self.event > MESSAGE_BYTES_MAX {
                let what = format!("a message has more than {MESSAGE_BYTES_MAX} bytes");
                return Poll::Ready(Some(Err(Failed::after(what).for_good())));
            }
        }
        Poll::Ready(next.map(|next| next.map_err(Failed::after)))
    }
}

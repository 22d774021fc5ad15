//! Streams: a thread's history, then live, over SSE and WebSocket.
//!
//! Only durable positions are ids. A reader that is slow reads the log later and keeps nobody waiting: each stream pulls
//! from the log at the pace of its socket. It is cut only when the socket takes nothing for a while.

use std::convert::Infallible;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ws::{Message as Frame, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;
use threadkeep::{Engine, Error, HistoryEntry, Invalid, Position, Subscription, ThreadId, Version};
use threadkeep_api as api;
use tokio::sync::mpsc;

use crate::access::Access;
use crate::answer::{Answer, Refused};
use crate::app::{App, Settings};
use crate::input::Query;
use crate::routes::named;

/// Events that are made ready before the socket takes them.
const READY_MAX: usize = 16;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/threads/{thread}/stream", get(sse)).route("/threads/{thread}/ws", get(socket))
}

/// From where on to follow.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct After {
    after: Option<String>,
}

impl After {
    /// The version after which to begin: the header of a client that comes back, the parameter, or the first entry.
    fn version(&self, headers: &HeaderMap, latest: Version) -> Result<Version, Refused> {
        let resumed = match headers.get("last-event-id") {
            Some(value) => Some(value.to_str().unwrap_or_default()),
            None => self.after.as_deref(),
        };
        let invalid = |text: &str| {
            let rule = format!("'{text}' is not a place in this stream: a version, or latest");
            Invalid::new(threadkeep::model::Code::InvalidCursor, "after", rule)
        };
        match resumed {
            None => Ok(Position::START),
            Some("latest") => Ok(latest),
            Some(text) => Ok(text.parse::<Position>().map_err(|_| invalid(text))?),
        }
    }
}

async fn sse(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    Query(from): Query<After>,
) -> Answer {
    let thread = named(&access, &name).await?;
    let after = from.version(&headers, thread.head.version)?;
    let subscription = subscribe(&access.engine, thread.id, after).await?;
    let (send, receive) = mpsc::channel::<Bytes>(READY_MAX);
    tokio::spawn(feed(subscription, app.settings.clone(), send));
    let body = Body::from_stream(Chunks(receive));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// A cursor that the thread has not reached is refused, never guessed at.
async fn subscribe(engine: &Engine, thread: ThreadId, after: Version) -> Result<Subscription, Refused> {
    engine.subscribe(thread, after).await.map_err(|error| match error {
        Error::VersionInFuture { .. } => {
            Invalid::new(threadkeep::model::Code::InvalidCursor, "after", error.to_string()).into()
        }
        other => other.into(),
    })
}

/// Writes events until the thread or the reader is gone.
async fn feed(mut subscription: Subscription, settings: Settings, send: mpsc::Sender<Bytes>) {
    loop {
        let next = tokio::select! {
            next = subscription.next() => Some(next),
            () = tokio::time::sleep(settings.heartbeat) => None,
        };
        let (chunk, is_last) = match next {
            None => (Bytes::from_static(b": still here\n\n"), false),
            Some(Ok(Some(entry))) => match event(&entry) {
                Ok(chunk) => (chunk, false),
                Err(error) => (failed(&error), true),
            },
            Some(Ok(None)) => (Bytes::from_static(b"event: deleted\ndata: {}\n\n"), true),
            Some(Err(error)) => (failed(&error), true),
        };
        let sent = tokio::time::timeout(settings.stalled_max, send.send(chunk)).await;
        if is_last || !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}

fn event(entry: &HistoryEntry) -> Result<Bytes, Error> {
    let shown = api::HistoryEntry::new(entry)?;
    let data = serde_json::to_string(&shown).map_err(|error| threadkeep::StoreError::corrupt(error.to_string()))?;
    // What the log keeps to the letter may hold line breaks between its tokens; a line of data may not.
    let data = data.replace(['\n', '\r'], " ");
    Ok(format!("id: {}\nevent: {}\ndata: {data}\n\n", entry.version, entry.kind.as_str()).into())
}

fn failed(error: &Error) -> Bytes {
    let problem = api::Problem::from(error);
    let data = serde_json::to_string(&problem).unwrap_or_else(|_| "{}".to_owned());
    format!("event: error\ndata: {data}\n\n").into()
}

/// What a channel brings, as the body of an answer.
struct Chunks(mpsc::Receiver<Bytes>);

impl futures_core::Stream for Chunks {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|chunk| chunk.map(Ok))
    }
}

async fn socket(
    State(app): State<App>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    Query(from): Query<After>,
    upgrade: WebSocketUpgrade,
) -> Answer {
    let thread = named(&access, &name).await?;
    let after = from.version(&headers, thread.head.version)?;
    let subscription = subscribe(&access.engine, thread.id, after).await?;
    Ok(upgrade.on_upgrade(move |socket| frames(socket, subscription, app.settings)).into_response())
}

/// The same objects, a frame each, until the thread or the reader is gone.
async fn frames(mut socket: WebSocket, mut subscription: Subscription, settings: Settings) {
    loop {
        let frame = tokio::select! {
            next = subscription.next() => match next {
                Ok(Some(entry)) => match api::HistoryEntry::new(&entry).map(|shown| serde_json::to_string(&shown)) {
                    Ok(Ok(text)) => Frame::Text(text.into()),
                    _ => return,
                },
                Ok(None) | Err(_) => return,
            },
            heard = socket.recv() => match heard {
                Some(Ok(Frame::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
            () = tokio::time::sleep(settings.heartbeat) => Frame::Ping(Bytes::new()),
        };
        if !matches!(tokio::time::timeout(settings.stalled_max, socket.send(frame)).await, Ok(Ok(()))) {
            return;
        }
    }
}

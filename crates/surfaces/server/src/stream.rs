//! Streams: the entries of a thread, or of many, then live, over SSE and WebSocket.
//!
//! Only durable places are ids. A slow reader reads the log later and delays no other reader: each stream pulls
//! from the log at the pace of its socket and holds one event at a time. It ends with its key, with the thread, and
//! with the server: a key is checked after each read of the log, before anything of it is sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message as Frame, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::{Error, Invalid, Opened, Position, ThreadId, Verb, Version};
use threadkeep_calls as api;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use crate::access::Reader;
use crate::answer::{Answer, Refused};
use crate::app::App;
use crate::conditions::LastEventId;
use crate::following::{Following, Thread};
use crate::input::{Path, Query};
use crate::metrics::OpenStream;
use crate::table::{self, Gives, Routes};
use crate::told::Told;

/// Events that are ready before the socket takes them. Each may be as large as a message, so there is one.
const READY_MAX: usize = 1;

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Streams",
        "Follow threads live. A client that reconnects misses no event and gets none twice.",
        [
            table::get(
                ("streamThread", "/v1/threads/{thread}/stream"),
                "Follows a thread as server-sent events: its history, then live; it does not end by itself.",
                sse,
                Gives::events(
                    "`id:` is the version, `event:` the kind, `data:` an entry. Events such as `status_changed` come beside their entry, without an id.",
                ),
            ),
            table::get(
                ("openSocket", "/v1/threads/{thread}/ws"),
                "Follows a thread over a WebSocket: an entry a frame.",
                socket,
                Gives::nothing(101, "The socket is open."),
            ),
        ],
    )
}

/// The header that says after which place a stream begins.
const CURSOR: HeaderName = HeaderName::from_static("threadkeep-cursor");

/// From where on to follow, and with what ticket.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct After {
    /// The entries after this version, or `latest` for those to come; from the first one if nothing is said.
    #[schemars(regex(pattern = "^([0-9]{1,18}|latest)$"))]
    after: Option<String>,
    /// A ticket, in place of a key.
    ticket: Option<String>,
}

/// A cursor that this stream never gave.
pub(crate) fn no_cursor(rule: &str) -> Refused {
    Invalid::new(threadkeep::model::Code::InvalidCursor, "after", rule).into()
}

fn version(text: Option<&str>, latest: Version) -> Result<Version, Refused> {
    match text {
        None => Ok(Position::START),
        Some("latest") => Ok(latest),
        Some(text) => {
            text.parse::<Position>().map_err(|_| no_cursor("is not a place in this stream: a version, or latest"))
        }
    }
}

async fn follow(
    app: &App,
    reader: &Reader,
    name: &str,
    came: Option<String>,
    after: After,
) -> Result<(Following, Version), Refused> {
    let (thread, standing) = reader.seen(name, Verb::Stream).await?;
    // A client that comes back has both: the parameter it began with, and the header, which counts.
    let began = version(after.after.as_deref(), thread.head.version)?;
    let after = came.map_or(Ok(began), |came| version(Some(&came), thread.head.version))?;
    let following =
        Thread::follow(&reader.engine, (thread.id, thread.account), standing, after, app.shared.clone()).await;
    // A place that the thread has not reached is refused, never guessed at.
    following.map(|thread| (Following::Thread(Box::new(thread)), after)).map_err(|error| match error {
        Error::VersionInFuture { .. } => no_cursor(&error.to_string()),
        other => other.into(),
    })
}

async fn sse(
    State(app): State<App>,
    reader: Reader,
    Path(name): Path<String>,
    LastEventId(came): LastEventId,
    Query(after): Query<After>,
) -> Answer {
    let (following, after) = follow(&app, &reader, &name, came, after).await?;
    Ok(events(&app, following, &after.to_string(), reader.opened))
}

/// An answer that goes on for as long as there is something to follow, and says in its head after which place it begins:
/// who began with the latest, and is cut off before anything came, goes on from there.
pub(crate) fn events(app: &App, following: Following, after: &str, opened: Option<Opened>) -> Response {
    let (send, receive) = mpsc::channel(READY_MAX);
    tokio::spawn(run(app.clone(), following, opened, send, app.metrics.open_stream()));
    let mut response = Response::new(Body::from_stream(Events(receive)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(after) = HeaderValue::from_str(after) {
        headers.insert(CURSOR, after);
    }
    response
}

/// An item on its way to the client.
enum News {
    Told(Told),
    StillHere,
}

/// Follows until the thread, the key, the reader or the server is gone.
async fn run(app: App, mut following: Following, opened: Option<Opened>, send: mpsc::Sender<News>, open: OpenStream) {
    let _open = open;
    let mut stopping = app.stopping.clone();
    let stopped = async { drop(stopping.wait_for(|stopping| *stopping).await) };
    let mut stopped = std::pin::pin!(stopped);
    let mut revoked = std::pin::pin!(over(opened.as_ref()));
    // The reads of the log after which the key was seen to hold.
    let mut admitted = 0;
    let mut recheck = tokio::time::interval(app.settings.recheck);
    let mut heartbeat = tokio::time::interval(app.settings.heartbeat);
    for ticks in [&mut recheck, &mut heartbeat] {
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.reset();
    }
    let mut waiting: Option<News> = Some(News::StillHere);
    loop {
        tokio::select! {
            biased;
            () = &mut stopped => return,
            () = send.closed() => return,
            () = &mut revoked => return,
            _ = recheck.tick() => {
                // While the store is unavailable, nothing is sent.
                let holds = holds(&app, opened.as_ref()).await.unwrap_or(true);
                // An account that moved is followed in its new cell: the client comes back with its cursor.
                if !holds || !app.residence.is_of(following.account()).await || !following.may_go_on().await {
                    return;
                }
            }
            place = send.reserve(), if waiting.is_some() => match (place, waiting.take()) {
                (Ok(place), Some(news)) => place.send(news),
                _ => return,
            },
            next = following.next(), if waiting.is_none() => {
                // Invariant: a key that was revoked before an entry was committed is not sent that entry, on whichever
                // server it was revoked: it is read after the entry.
                let reads = following.reads();
                let next = match next {
                    Ok(Some(_)) if reads != admitted => match holds(&app, opened.as_ref()).await {
                        Ok(true) => next,
                        Ok(false) => return,
                        Err(error) => Err(error),
                    },
                    next => next,
                };
                admitted = reads;
                match next {
                    Ok(Some(told)) => waiting = Some(News::Told(told)),
                    Ok(None) => return,
                    Err(error) => {
                        let data = serde_json::to_string(&api::Problem::from(&error));
                        let failed = Told::new(None, "error", &data.unwrap_or_else(|_| "{}".to_owned()));
                        drop(send.send(News::Told(failed)).await);
                        return;
                    }
                }
            },
            _ = heartbeat.tick(), if waiting.is_none() => waiting = Some(News::StillHere),
        }
    }
}

/// Resolves once the key is revoked; never without a key.
async fn over(opened: Option<&Opened>) {
    match opened {
        Some(opened) => opened.over().await,
        None => std::future::pending().await,
    }
}

/// Whether the key holds, as the store has it now. Visitors need none.
async fn holds(app: &App, opened: Option<&Opened>) -> Result<bool, Error> {
    match opened {
        Some(opened) => Ok(app.keys.again(&opened.key).await?.is_some()),
        None => Ok(true),
    }
}

/// The items of a channel, as the body of an answer.
struct Events(mpsc::Receiver<News>);

impl futures_core::Stream for Events {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|news| {
            news.map(|news| {
                Ok(match news {
                    News::StillHere => Bytes::from_static(b": still here\n\n"),
                    News::Told(told) => told.frame(),
                })
            })
        })
    }
}

async fn socket(
    State(app): State<App>,
    reader: Reader,
    Path(name): Path<String>,
    LastEventId(came): LastEventId,
    Query(after): Query<After>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer {
    let (following, _) = follow(&app, &reader, &name, came, after).await?;
    over_socket(app, following, reader.opened, upgrade)
}

/// Follows over a WebSocket: an event a frame.
pub(crate) fn over_socket(
    app: App,
    following: Following,
    opened: Option<Opened>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer {
    let upgrade =
        upgrade.map_err(|_| Invalid::parameter("Upgrade", "this path is for WebSockets; use /stream for SSE"))?;
    let (send, receive) = mpsc::channel(READY_MAX);
    let open = app.metrics.open_stream();
    tokio::spawn(run(app, following, opened.clone(), send, open));
    let upgrade = upgrade.max_message_size(FRAME_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| frames(socket, receive, opened)).into_response())
}

/// Largest frame that a client may send: it has nothing to say here.
const FRAME_BYTES_MAX: usize = 4 << 10;

/// The same objects, a frame each.
async fn frames(mut socket: WebSocket, mut news: mpsc::Receiver<News>, opened: Option<Opened>) {
    let mut revoked = std::pin::pin!(over(opened.as_ref()));
    loop {
        let frame = tokio::select! {
            biased;
            () = &mut revoked => {
                drop(socket.send(Frame::Close(None)).await);
                return;
            }
            news = news.recv() => match news {
                Some(News::Told(told)) => match Utf8Bytes::try_from(told.data()) {
                    Ok(text) => Frame::Text(text),
                    Err(_) => return,
                },
                Some(News::StillHere) => Frame::Ping(Bytes::new()),
                None => {
                    // The other end may be gone already.
                    drop(socket.send(Frame::Close(None)).await);
                    return;
                }
            },
            heard = socket.recv() => match heard {
                Some(Ok(Frame::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
        };
        if socket.send(frame).await.is_err() {
            return;
        }
    }
}

/// The threads that a stream names.
pub(crate) fn ids_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// The id of a thread, as streams over many name it.
pub(crate) fn created(thread: ThreadId, time: threadkeep::Timestamp) -> serde_json::Value {
    serde_json::json!({ "threadId": thread, "kind": "thread_created", "time": time })
}

//! Serving: accepts connections until the server is asked to stop; then open ones may end.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt;

use crate::patient::Patient;

/// Most headers of a request that are read at all. Fewer are accepted: see the edge, which says so in words.
const HEADERS_READ_MAX: usize = 256;
/// Most bytes of the head of a request that are read at all.
const HEAD_BYTES_MAX: usize = 128 << 10;

/// How connections are served.
#[derive(Debug, Clone)]
pub struct Connections {
    /// Most at the same time: 10,000. More wait at the door.
    pub at_once_max: usize,
    /// How long a client may take for the head of a request, and be silent between two: 30 s.
    pub head_timeout: Duration,
    /// How long a client may take nothing of its answer: 30 s.
    pub stalled_max: Duration,
    /// How long those that are open may go on once it is to stop: 10 s.
    pub drain: Duration,
}

impl Default for Connections {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { at_once_max: 10_000, head_timeout: seconds(30), stalled_max: seconds(30), drain: seconds(10) }
    }
}

/// Serves `router` on `listener` until `stop` resolves; then requests that are under way may end.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    connections: Connections,
    stop: impl Future<Output = ()>,
) {
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(connections.head_timeout).max_headers(HEADERS_READ_MAX);
    http.max_buf_size(HEAD_BYTES_MAX);
    let open = Arc::new(Semaphore::new(connections.at_once_max));
    let stopping = watch::Sender::new(false);
    let mut stop = pin!(stop);
    loop {
        let place = tokio::select! {
            place = Arc::clone(&open).acquire_owned() => place,
            () = &mut stop => break,
        };
        let Ok(place) = place else { break };
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(_) => {
                    // Out of files, or a client that was gone before it was greeted: others go on.
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        // Small answers are not held back to be joined with others.
        drop(stream.set_nodelay(true));
        let router = router.clone().map_request(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            request.map(axum::body::Body::new)
        });
        let socket = TokioIo::new(Patient::new(stream, connections.stalled_max));
        let connection = http.serve_connection(socket, TowerToHyperService::new(router)).with_upgrades();
        let mut stopped = stopping.subscribe();
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            // A client that breaks off has been answered as far as it listened.
            tokio::select! {
                ended = &mut connection => drop(ended),
                () = async { drop(stopped.wait_for(|stopped| *stopped).await) } => {
                    connection.as_mut().graceful_shutdown();
                    drop(connection.await);
                }
            }
            drop(place);
        });
    }
    drop(listener);
    stopping.send_replace(true);
    let all = u32::try_from(connections.at_once_max).unwrap_or(u32::MAX);
    drop(tokio::time::timeout(connections.drain, open.acquire_many(all)).await);
}

/// Who is at the other end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

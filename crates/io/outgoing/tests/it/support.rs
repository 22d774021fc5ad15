//! Servers that behave as a test wants.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use threadkeep_outgoing::{Address, Body, BoxError, Limits, Outgoing, Reach, Request, Response, boxed, empty, full};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// A server that counts its connections.
pub struct Server {
    pub at: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// One that answers requests by `answer`.
    pub async fn start<A, F>(answer: A) -> Self
    where
        A: Fn(http::Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let answer = answer.clone();
                let service = service_fn(move |request| {
                    let answered = answer(request);
                    async { Ok::<_, Infallible>(answered.await) }
                });
                let serving =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service);
                tokio::spawn(async move { drop(serving.await) });
            }
        });
        Self { at, connections }
    }

    /// One that answers every request with its path.
    pub async fn echo() -> Self {
        Self::start(async |request| http::Response::new(full(request.uri().to_string()))).await
    }

    pub fn address(&self) -> Address {
        address(&format!("http://{}", self.at))
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

pub fn address(url: &str) -> Address {
    Address::parse(url).expect("an address")
}

pub fn get(target: &str) -> Request {
    http::Request::get(target).body(empty()).expect("a request")
}

/// A sender to anywhere with the usual limits.
pub fn outgoing() -> Outgoing {
    Outgoing::new(Reach::Anywhere, Limits::default())
}

/// A sender that waits this long for an answer.
pub fn impatient(limit: Duration) -> Outgoing {
    Outgoing::new(Reach::Anywhere, Limits { connect: limit, answer: limit, ..Limits::default() })
}

/// A body whose pieces the test sends.
pub fn pieces() -> (mpsc::UnboundedSender<&'static str>, Body) {
    struct Pieces(mpsc::UnboundedReceiver<&'static str>);

    impl http_body::Body for Pieces {
        type Data = Bytes;
        type Error = BoxError;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
            self.0
                .poll_recv(context)
                .map(|piece| piece.map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes())))))
        }
    }

    let (send, receive) = mpsc::unbounded_channel();
    (send, boxed(Pieces(receive)))
}

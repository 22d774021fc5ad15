//! HTTP/1.1 over TCP, with connections that are kept for the next request.
//!
//! The pool is our own, on hyper's connections: it always knows whether a request was handed to a socket, on which
//! promises about retries depend.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use http::header::HOST;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

use crate::{Address, Body, BoxError, Failed, Reach, Request, Response, boxed, whole};

/// Unused connections that are kept for one server…
const KEPT_PER_SERVER_MAX: usize = 16;
/// …and for all together.
const KEPT_MAX: usize = 128;
/// How long an unused connection is kept. Many servers close theirs after 30 s, and a request on a connection that is
/// just being closed would be lost.
const KEPT_FOR: Duration = Duration::from_secs(10);
/// How long to wait until a kept connection is ready again.
const READY_MAX: Duration = Duration::from_secs(1);

/// How long requests may take, and how large answers may be. `Duration::MAX` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time to make a connection, with its encryption: 10 s.
    pub connect: Duration,
    /// Time from the call to the head of the answer ([`Outgoing::send`]) or to its end ([`Outgoing::ask`]): 60 s.
    pub answer: Duration,
    /// Size of an answer that is read whole: 64 MiB.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), answer: Duration::from_secs(60), bytes: 64 << 20 }
    }
}

/// Sends requests. Clones share their connections, which belong to the runtime that made them.
#[derive(Debug, Clone)]
pub struct Outgoing {
    reach: Reach,
    limits: Limits,
    kept: Arc<Kept>,
}

/// A request on its way. It is boxed, so that this crate compiles it once for all the crates that send requests.
pub type Sending<'a> = Pin<Box<dyn Future<Output = Result<Response, Failed>> + Send + 'a>>;

impl Outgoing {
    /// A sender without connections yet.
    pub fn new(reach: Reach, limits: Limits) -> Self {
        Self { reach, limits, kept: Arc::default() }
    }

    /// The same reach and limits with connections of its own, for another runtime.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self::new(self.reach, self.limits)
    }

    /// Sends a request to the server at `to`, and returns the answer as soon as its head has arrived. `Host` is added
    /// where it is missing.
    ///
    /// # Errors
    /// If there is no connection or no answer in time. Any status is an answer.
    pub fn send<'a>(&'a self, to: &'a Address, request: Request) -> Sending<'a> {
        Box::pin(self.sent(to, request))
    }

    async fn sent(&self, to: &Address, mut request: Request) -> Result<Response, Failed> {
        let began = Instant::now();
        if !request.headers().contains_key(HOST) {
            let host = HeaderValue::from_str(&to.authority());
            request.headers_mut().insert(HOST, host.map_err(|error| Failed::before(error).for_good())?);
        }
        loop {
            let (mut connection, is_new) = match self.kept(to).await {
                Some(connection) => (connection, false),
                None => (self.connect(to, self.left(began)).await?, true),
            };
            let answer = timeout(self.left(began), connection.sender.try_send_request(request)).await;
            match answer.map_err(|_| self.too_slow())? {
                Ok(response) => return Ok(self.answered(response, connection)),
                Err(mut error) => match error.take_message() {
                    // The server had closed the kept connection: nothing was sent, and another connection is tried.
                    Some(unsent) if !is_new => request = unsent,
                    Some(_) => return Err(Failed::before(why(error.error()))),
                    None => return Err(Failed::after(why(error.error()))),
                },
            }
        }
    }

    /// Sends a request, and reads the whole answer.
    ///
    /// # Errors
    /// As [`send`](Self::send); and if the answer breaks off, takes too long or is too large.
    pub async fn ask(&self, to: &Address, request: Request) -> Result<http::Response<Bytes>, Failed> {
        let began = Instant::now();
        let (head, body) = self.send(to, request).await?.into_parts();
        let body = timeout(self.left(began), whole(body, self.limits.bytes)).await;
        Ok(http::Response::from_parts(head, body.map_err(|_| self.too_slow())??))
    }

    fn left(&self, began: Instant) -> Duration {
        self.limits.answer.saturating_sub(began.elapsed())
    }

    fn too_slow(&self) -> Failed {
        Failed::after(format!("no answer within {:?}", self.limits.answer))
    }

    /// A kept connection that is ready for a request.
    async fn kept(&self, to: &Address) -> Option<Connection> {
        while let Some(mut connection) = self.kept.take(to) {
            if matches!(timeout(READY_MAX, connection.sender.ready()).await, Ok(Ok(()))) {
                return Some(connection);
            }
        }
        None
    }

    async fn connect(&self, to: &Address, left: Duration) -> Result<Connection, Failed> {
        let limit = self.limits.connect.min(left);
        let too_slow = |_| Failed::before(format!("no connection within {limit:?}"));
        let socket = timeout(limit, self.socket(to)).await.map_err(too_slow)??;
        let (sender, driver) = handshake(TokioIo::new(socket)).await.map_err(|error| Failed::before(why(&error)))?;
        // The reader of an answer learns how its connection ended.
        tokio::spawn(async move { drop(driver.await) });
        Ok(Connection { to: to.clone(), sender, used: Instant::now() })
    }

    /// A connection to the first address of the host that may be reached and answers.
    async fn socket(&self, to: &Address) -> Result<Box<dyn Socket>, Failed> {
        let host = to.host();
        let unknown = |error| Failed::before(format!("'{host}' was not found: {error}"));
        let found: Vec<SocketAddr> = lookup_host((host, to.port())).await.map_err(unknown)?.collect();
        let mut failed = Failed::before(format!("'{host}' has no address"));
        for address in found {
            // Invariant: the address that is checked is the one that is connected to. The name is not resolved again.
            if !self.reach.allows(address.ip()) {
                failed = Failed::before(format!(
                    "'{host}' leads to this machine or a private network, which may not be reached"
                ))
                .for_good();
                continue;
            }
            match TcpStream::connect(address).await {
                Ok(stream) => return wrapped(to, stream).await,
                Err(error) => failed = Failed::before(error),
            }
        }
        Err(failed)
    }

    /// The answer, whose connection is kept once it has been read to its end.
    fn answered(&self, response: http::Response<Incoming>, connection: Connection) -> Response {
        response.map(|body| {
            let mut answer = Answer { body, connection: Some(connection), kept: Arc::downgrade(&self.kept) };
            // Many callers do not look for the end of an answer without a body.
            if answer.body.is_end_stream() {
                answer.give_back();
            }
            boxed(answer)
        })
    }
}

/// A TCP stream, encrypted or not.
trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

async fn wrapped(to: &Address, stream: TcpStream) -> Result<Box<dyn Socket>, Failed> {
    // Small requests are not held back to be joined with others.
    drop(stream.set_nodelay(true));
    #[cfg(feature = "tls")]
    if to.encrypted {
        return Ok(Box::new(crate::tls::encrypt(to.host(), stream).await?));
    }
    // Invariant: without the feature there is no encrypted address.
    debug_assert!(!to.encrypted);
    Ok(Box::new(stream))
}

/// The text of an error, with its cause.
fn why(error: &hyper::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// A connection to a server.
#[derive(Debug)]
struct Connection {
    to: Address,
    sender: SendRequest<Body>,
    /// When it was last used.
    used: Instant,
}

/// Connections that wait for the next request, in the order of their last use.
#[derive(Debug, Default)]
struct Kept(Mutex<Vec<Connection>>);

impl Kept {
    /// Those that can still be used.
    fn lock(&self) -> MutexGuard<'_, Vec<Connection>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|connection| connection.used.elapsed() < KEPT_FOR && !connection.sender.is_closed());
        kept
    }

    fn keep(&self, connection: Connection) {
        let mut kept = self.lock();
        let same = kept.iter().filter(|other| other.to.is_same_server(&connection.to)).count();
        if kept.len() < KEPT_MAX && same < KEPT_PER_SERVER_MAX && !connection.sender.is_closed() {
            kept.push(Connection { used: Instant::now(), ..connection });
        }
    }

    /// The connection that was used last: the others get old, and are closed.
    fn take(&self, to: &Address) -> Option<Connection> {
        let mut kept = self.lock();
        let at = kept.iter().rposition(|connection| connection.to.is_same_server(to))?;
        Some(kept.remove(at))
    }
}

/// The body of an answer, with the connection it comes from until it is given back.
struct Answer {
    body: Incoming,
    connection: Option<Connection>,
    kept: Weak<Kept>,
}

impl Answer {
    fn give_back(&mut self) {
        if let Some(connection) = self.connection.take()
            && let Some(kept) = self.kept.upgrade()
        {
            kept.keep(connection);
        }
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) {
            self.give_back();
        }
        polled.map(|frame| frame.map(|frame| frame.map_err(|error| why(&error).into())))
    }

    fn is_end_stream(&self) -> bool {
        // The end is always polled for, which gives the connection back.
        self.connection.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

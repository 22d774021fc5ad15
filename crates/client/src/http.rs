//! HTTP/1.1 over TCP, with connections that are kept for the next request.
//!
//! The pool is our own, on hyper's connections: it always knows whether a request was handed to the socket, on which
//! the promise about retries stands.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use threadkeep_model::Invalid;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::transport::{Body, BoxError, Exchange, Failed, Request, Response, Transport, boxed};

/// Connections that are kept.
const KEPT_MAX: usize = 16;
/// How long a connection is kept unused. Servers close theirs after 30 s: one that is about to be closed could lose a
/// request.
const KEPT_FOR: Duration = Duration::from_secs(10);
/// How long to wait until a kept connection is ready again.
const READY_MAX: Duration = Duration::from_secs(1);

/// Where a server is.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) encrypted: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The path before `/v1`, without a slash at its end.
    pub(crate) path: String,
}

impl Address {
    /// Reads a URL such as `https://keep.example:8473/team`.
    pub(crate) fn parse(url: &str) -> Result<Self, Invalid> {
        let wrong = |rule: &str| Invalid::parameter("server", rule);
        let uri: http::Uri =
            url.parse().map_err(|_| wrong("is not a URL such as http://127.0.0.1:8473 or https://keep.example"))?;
        let encrypted = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("does not begin with http:// or https://")),
        };
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(wrong("holds a name or a password; keys are given apart"));
        }
        if uri.query().is_some() {
            return Err(wrong("has a query; name the server alone"));
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| wrong("names no host"))?.to_owned();
        let port = uri.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        Ok(Self { encrypted, host, port, path: uri.path().trim_end_matches('/').to_owned() })
    }

    /// What `Host` says.
    pub(crate) fn authority(&self) -> String {
        let usual = if self.encrypted { 443 } else { 80 };
        if self.port == usual { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }

    /// The URL, for people.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.encrypted { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority(), self.path)
    }

    /// The host, without the brackets of an IPv6 address.
    pub(crate) fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

/// Connections to one server.
pub(crate) struct Http {
    address: Address,
    connect_max: Duration,
    #[cfg(feature = "tls")]
    tls: Option<crate::tls::Tls>,
    kept: Arc<Kept>,
}

/// Connections that wait for the next request.
#[derive(Default)]
struct Kept(Mutex<Vec<(SendRequest<Body>, Instant)>>);

impl Kept {
    fn lock(&self) -> MutexGuard<'_, Vec<(SendRequest<Body>, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, sender: SendRequest<Body>) {
        let mut kept = self.lock();
        if kept.len() < KEPT_MAX && !sender.is_closed() {
            kept.push((sender, Instant::now()));
        }
    }

    /// The one that was used last: the others get old, and are closed.
    fn take(&self) -> Option<SendRequest<Body>> {
        let mut kept = self.lock();
        kept.retain(|(sender, since)| since.elapsed() < KEPT_FOR && !sender.is_closed());
        kept.pop().map(|(sender, _)| sender)
    }
}

/// What a connection is made of.
pub(crate) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

impl Http {
    pub(crate) fn new(address: Address, connect_max: Duration) -> Result<Self, Invalid> {
        #[cfg(feature = "tls")]
        let tls = if address.encrypted { Some(crate::tls::Tls::new(address.bare_host())?) } else { None };
        #[cfg(not(feature = "tls"))]
        if address.encrypted {
            return Err(Invalid::parameter("server", "is an https:// URL; this program was built without TLS"));
        }
        Ok(Self {
            address,
            connect_max,
            #[cfg(feature = "tls")]
            tls,
            kept: Arc::default(),
        })
    }

    async fn connect(&self) -> Result<SendRequest<Body>, Failed> {
        let connecting = async {
            let stream = TcpStream::connect((self.address.bare_host(), self.address.port)).await?;
            // Small requests are not held back to be joined with others.
            drop(stream.set_nodelay(true));
            #[cfg(feature = "tls")]
            if let Some(tls) = &self.tls {
                return tls.wrap(stream).await;
            }
            Ok::<_, std::io::Error>(Box::new(stream) as Box<dyn Socket>)
        };
        let socket = tokio::time::timeout(self.connect_max, connecting).await;
        let too_slow = |_| Failed::before(format!("no connection within {:?}", self.connect_max));
        let socket = socket.map_err(too_slow)?.map_err(Failed::before)?;
        let (sender, connection) = handshake(TokioIo::new(socket)).await.map_err(Failed::before)?;
        // How a connection ends is told to whoever waits for an answer on it.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    async fn send(&self, mut request: Request) -> Result<Response, Failed> {
        while let Some(mut sender) = self.kept.take() {
            if !matches!(tokio::time::timeout(READY_MAX, sender.ready()).await, Ok(Ok(()))) {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok(self.answered(response, sender)),
                // Closed meanwhile, and it was handed back: nothing was sent.
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(Failed::after(why(&error.into_error()))),
                },
            }
        }
        let mut sender = self.connect().await?;
        match sender.try_send_request(request).await {
            Ok(response) => Ok(self.answered(response, sender)),
            Err(mut error) => Err(match error.take_message() {
                Some(_) => Failed::before(why(&error.into_error())),
                None => Failed::after(why(&error.into_error())),
            }),
        }
    }

    /// The answer, whose connection is kept once it has been read to its end.
    fn answered(&self, response: http::Response<Incoming>, sender: SendRequest<Body>) -> Response {
        let kept = Arc::downgrade(&self.kept);
        response.map(|body| boxed(Answer { body, back: Some((kept, sender)) }))
    }
}

/// What went wrong, with its cause.
fn why(error: &hyper::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// The body of an answer, with the connection it comes from.
struct Answer {
    body: Incoming,
    back: Option<(Weak<Kept>, SendRequest<Body>)>,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None))
            && let Some((kept, sender)) = self.back.take()
            && let Some(kept) = kept.upgrade()
        {
            kept.keep(sender);
        }
        polled.map(|frame| frame.map(|frame| frame.map_err(|error| why(&error).into())))
    }

    fn is_end_stream(&self) -> bool {
        // The end is always polled for, which gives the connection back.
        false
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Transport for Http {
    fn exchange(&self, request: Request) -> Exchange<'_> {
        Box::pin(self.send(request))
    }

    fn apart(&self) -> Arc<dyn Transport> {
        Arc::new(Self {
            address: self.address.clone(),
            connect_max: self.connect_max,
            #[cfg(feature = "tls")]
            tls: self.tls.clone(),
            kept: Arc::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_url_without_secrets() {
        let shown = |url: &str| Address::parse(url).map(|address| (address.url(), address.authority()));
        for (url, authority) in [
            ("http://127.0.0.1:8473", "127.0.0.1:8473"),
            ("https://keep.example", "keep.example"),
            ("http://[::1]:80", "[::1]"),
            ("https://keep.example:8443/team", "keep.example:8443"),
        ] {
            let (shown, said) = shown(url).expect(url);
            assert!(url.starts_with(&shown) && said == authority, "{shown} {said}");
        }
        assert_eq!(Address::parse("https://keep.example/team/").expect("a URL").path, "/team");
        for url in ["", "keep.example", "ftp://x", "http://", "http://ann:secret@x", "http://x?key=secret"] {
            let refused = shown(url).expect_err(url);
            assert!(!refused.to_string().contains("secret"), "{refused}");
        }
    }
}

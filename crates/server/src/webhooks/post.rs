//! One post to an address outside: looked up, judged, connected, sent.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::http::uri::{Scheme, Uri};
use axum::http::{Method, Request, Response, header};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::address::is_public;
use super::{SIGNATURE, WebhookSettings};

/// How often a post follows to another address.
const REDIRECTS_MAX: usize = 3;

/// Why a post was not taken.
#[derive(Debug)]
pub(super) enum Refused {
    /// This server does not send it.
    Here(String),
    /// Nobody took it there, this time.
    There(String),
}

/// A connection, encrypted or not.
trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

/// Sends posts.
pub(super) struct Post {
    settings: WebhookSettings,
    /// Made when it is first needed: the system's certificates are many.
    tls: OnceLock<tokio_rustls::TlsConnector>,
}

impl Post {
    pub(super) fn new(settings: WebhookSettings) -> Self {
        Self { settings, tls: OnceLock::new() }
    }

    /// Sends `body` to `url`, within the time there is.
    pub(super) async fn send(&self, url: &str, body: &str, signature: &str) -> Result<(), Refused> {
        match tokio::time::timeout(self.settings.timeout, self.follow(url, body, signature)).await {
            Ok(sent) => sent,
            Err(_) => Err(Refused::There(format!("no answer within {} s", self.settings.timeout.as_secs_f32()))),
        }
    }

    async fn follow(&self, url: &str, body: &str, signature: &str) -> Result<(), Refused> {
        let mut uri: Uri = url.parse().map_err(|_| Refused::Here("the address is no URL".to_owned()))?;
        for _ in 0..=REDIRECTS_MAX {
            let answer = self.once(&uri, body, signature).await?;
            let status = answer.status();
            if status.is_success() {
                return Ok(());
            }
            // Others than these would make it another request.
            if !matches!(status.as_u16(), 307 | 308) {
                return Err(Refused::There(format!("the answer was {status}")));
            }
            let to = answer.headers().get(header::LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
            uri = next(&uri, to).ok_or_else(|| Refused::There("it leads nowhere".to_owned()))?;
        }
        Err(Refused::There(format!("it leads on and on: at most {REDIRECTS_MAX} times are followed")))
    }

    async fn once(&self, uri: &Uri, body: &str, signature: &str) -> Result<Response<Incoming>, Refused> {
        let wrong = |what: &str| Refused::Here(what.to_owned());
        let encrypted = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(wrong("the address is neither http nor https")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("the address names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("the address holds credentials"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        let stream = self.connect(&host, port).await?;
        let lost = |error: &dyn std::fmt::Display| Refused::There(format!("the connection failed: {error}"));
        let socket: Box<dyn Socket> = if encrypted {
            let name =
                rustls::pki_types::ServerName::try_from(host).map_err(|_| wrong("the host has no valid name"))?;
            Box::new(self.tls.get_or_init(trusted).connect(name, stream).await.map_err(|error| lost(&error))?)
        } else {
            Box::new(stream)
        };
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.map_err(|error| lost(&error))?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(header::HOST, authority.as_str())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, concat!("threadkeep/", env!("CARGO_PKG_VERSION")))
            .header(SIGNATURE, signature)
            .body(Body::from(body.to_owned()))
            .map_err(|error| lost(&error))?;
        // The connection ends with this: what an answer says beside its status is not read.
        let driven = async {
            drop(connection.await);
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            answer = sender.send_request(request) => answer.map_err(|error| lost(&error)),
            never = driven => match never {},
        }
    }

    /// A connection to the first address of `host` that may be reached and answers.
    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, Refused> {
        let unknown = |error: std::io::Error| Refused::There(format!("'{host}' is not found: {error}"));
        let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await.map_err(unknown)?.collect();
        let open: Vec<SocketAddr> =
            found.iter().copied().filter(|address| self.settings.allow_private || is_public(address.ip())).collect();
        if open.is_empty() {
            let what = format!("'{host}' leads to this machine or a private network, which webhooks may not reach");
            return Err(if found.is_empty() {
                Refused::There(format!("'{host}' is not found"))
            } else {
                Refused::Here(what)
            });
        }
        let mut why = String::new();
        for address in open {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => why = error.to_string(),
            }
        }
        Err(Refused::There(format!("'{host}' does not answer: {why}")))
    }
}

/// Encrypts connections, trusted as the system trusts them.
fn trusted() -> tokio_rustls::TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    // Some of a system's certificates may be malformed; the others do.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows the versions that are safe by default")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config).into()
}

/// Where `to` leads from `from`.
fn next(from: &Uri, to: &str) -> Option<Uri> {
    let next: Uri = to.parse().ok()?;
    if next.scheme().is_some() {
        return Some(next);
    }
    // Only paths from the root: everything else would have to be put together, for no use.
    let path = next.path_and_query().filter(|path| path.as_str().starts_with('/') && next.authority().is_none())?;
    Uri::builder()
        .scheme(from.scheme()?.clone())
        .authority(from.authority()?.clone())
        .path_and_query(path.clone())
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_names_an_address_or_a_path() {
        let from: Uri = "http://example.com:81/hook".parse().expect("a uri");
        let to = |to: &str| next(&from, to).map(|uri| uri.to_string());
        assert_eq!(to("/other?x=1").as_deref(), Some("http://example.com:81/other?x=1"));
        assert_eq!(to("https://elsewhere/").as_deref(), Some("https://elsewhere/"));
        assert_eq!((to(""), to("other")), (None, None));
    }
}

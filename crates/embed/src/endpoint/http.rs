//! Requests over HTTP/1.1, encrypted for `https://`, trusted as the system trusts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER};
use ::http::{HeaderValue, Request, Uri};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// What is read of an answer: 64 texts at 4,096 dimensions in twenty letters each are 5 MiB.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Where an endpoint is.
#[derive(Clone, Debug)]
pub(super) struct Address {
    encrypted: bool,
    host: String,
    port: u16,
    authority: String,
    path: String,
}

impl Address {
    /// Reads a URL. What is wrong with it is said without repeating it: it could hold a secret.
    pub(super) fn parse(url: &str) -> Result<Self, &'static str> {
        let uri: Uri = url.parse().map_err(|_| "its address is not a URL such as https://api.example/v1")?;
        let encrypted = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err("its address does not begin with http:// or https://"),
        };
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') || uri.query().is_some() {
            return Err("its address holds more than host and path; the key is given apart");
        }
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err("its address names no host");
        }
        let port = uri.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        let path = match uri.path().trim_end_matches('/') {
            "" => "/v1",
            path => path,
        };
        Ok(Self { encrypted, host, port, authority: authority.to_owned(), path: path.to_owned() })
    }
}

/// What came back.
pub(super) struct Answer {
    pub(super) status: u16,
    /// How long to wait, if it said so in seconds.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Bytes,
}

/// Why there is no answer.
pub(super) struct Broken {
    pub(super) what: String,
    /// Whether it would be the same another time.
    pub(super) for_good: bool,
}

impl Broken {
    fn by(error: impl fmt::Display) -> Self {
        Self { what: error.to_string(), for_good: false }
    }

    /// A certificate that is not trusted stays so.
    fn connecting(error: &std::io::Error) -> Self {
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let for_good = matches!(tls, Some(rustls::Error::InvalidCertificate(_)));
        Self { what: error.to_string(), for_good }
    }
}

/// Brings requests to one endpoint.
pub(super) struct Http {
    address: Address,
    authorization: Option<HeaderValue>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Http {
    pub(super) fn new(address: Address, key: Option<&str>) -> Result<Self, &'static str> {
        let authorization = match key {
            Some(key) => {
                let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
                    .map_err(|_| "its key has characters that no key can have")?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        let tls = if address.encrypted { Some(encryption(&address.host)?) } else { None };
        Ok(Self { address, authorization, tls })
    }

    /// The host and the path, which hold no secret.
    pub(super) fn place(&self) -> String {
        format!("{}{}", self.address.authority, self.address.path)
    }

    /// Sends `body` to `/embeddings`, and reads the whole answer.
    pub(super) async fn post(&self, body: Bytes) -> Result<Answer, Broken> {
        let mut request = Request::post(format!("{}/embeddings", self.address.path))
            .header(HOST, &self.address.authority)
            .header(CONTENT_TYPE, "application/json")
            .header(CONNECTION, "close");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::new(body)).map_err(Broken::by)?;
        let socket = self.connect().await.map_err(|error| Broken::connecting(&error))?;
        let (mut sender, connection) = handshake(TokioIo::new(socket)).await.map_err(Broken::by)?;
        // How it ends is told to whoever waits for the answer.
        tokio::spawn(async move { drop(connection.await) });
        let answer = sender.send_request(request).await.map_err(Broken::by)?;
        let status = answer.status().as_u16();
        let seconds = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(|error| Broken::by(format_args!("the answer broke off: {error}")))?.to_bytes();
        Ok(Answer { status, retry_after: seconds.map(Duration::from_secs), body })
    }

    async fn connect(&self) -> std::io::Result<Box<dyn Socket>> {
        let stream = TcpStream::connect((self.address.host.as_str(), self.address.port)).await?;
        drop(stream.set_nodelay(true));
        Ok(match &self.tls {
            Some((connector, name)) => Box::new(connector.connect(name.clone(), stream).await?),
            None => Box::new(stream),
        })
    }
}

/// What a connection is made of.
trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

fn encryption(host: &str) -> Result<(TlsConnector, ServerName<'static>), &'static str> {
    let mut roots = RootCertStore::empty();
    // Some of a system's certificates may be malformed; the others do.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| "its connection cannot be encrypted")?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(|_| "its host is no name of a server")?;
    Ok((TlsConnector::from(Arc::new(config)), name))
}

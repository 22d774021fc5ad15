//! The client: the server's address, the key, and the headers of each request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use threadkeep_model::{Actor, IdempotencyKey, Invalid, LeaseToken, Version};
use threadkeep_outgoing::Retry;

use crate::error::Error;
use crate::http::{Address, Http};
use crate::transport::Transport;

/// The environment variable with a key.
const KEY_VARIABLE: &str = "THREADKEEP_KEY";

/// A client of one server. Clones share its connections.
#[derive(Clone)]
pub struct Client {
    pub(crate) way: Way,
    pub(crate) settings: Settings,
    pub(crate) carried: Carried,
}

/// The way to a server.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) transport: Arc<dyn Transport>,
    /// The server in words.
    pub(crate) server: Arc<str>,
    /// The path before `/v1`.
    pub(crate) path: Arc<str>,
    pub(crate) host: HeaderValue,
    pub(crate) key: Option<HeaderValue>,
}

/// The headers of requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Carried {
    pub(crate) expected: Option<Version>,
    pub(crate) writer: Option<LeaseToken>,
    pub(crate) idempotency_key: Option<IdempotencyKey>,
    pub(crate) actor: Option<Actor>,
    /// Whether a model reads the answers.
    pub(crate) is_mcp: bool,
}

/// Times and retries, with their defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// When to try again: for 15 s.
    pub retry: Retry,
    /// How long a connection may take: 10 s.
    pub connect_max: Duration,
    /// How long an answer may take: 60 s. Upkeep may take as long as it takes.
    pub answer_max: Duration,
    /// How long a stream may be silent before it is given up and opened again: 45 s, three heartbeats of a server.
    pub silence_max: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            retry: Retry::default(),
            connect_max: Duration::from_secs(10),
            answer_max: Duration::from_secs(60),
            silence_max: Duration::from_secs(45),
        }
    }
}

/// A key that opens a server. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key, as `threadkeep keys create` printed it.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The key in `THREADKEEP_KEY`; none if that is not set, or empty.
    pub fn from_environment() -> Option<Self> {
        std::env::var(KEY_VARIABLE).ok().filter(|key| !key.trim().is_empty()).map(Self)
    }

    fn header(&self) -> Result<HeaderValue, Invalid> {
        let value = HeaderValue::from_str(&format!("Bearer {}", self.0.trim()));
        let mut value = value.map_err(|_| Invalid::parameter("key", "holds characters that no key has"))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.way.server).field("settings", &self.settings).finish()
    }
}

impl Client {
    /// A client of the server at `url`. Nothing is sent yet.
    ///
    /// # Errors
    /// If the URL names no server, or the key cannot be one.
    pub fn connect(url: &str, key: impl Into<Option<Key>>) -> Result<Self, Error> {
        Self::connect_with(url, key, Settings::default())
    }

    /// The same, with other settings.
    ///
    /// # Errors
    /// If the URL names no server, or the key cannot be one.
    pub fn connect_with(url: &str, key: impl Into<Option<Key>>, settings: Settings) -> Result<Self, Error> {
        let address = Address::parse(url)?;
        let host = HeaderValue::from_str(&address.authority());
        let host = host.map_err(|_| Invalid::parameter("server", "names a host that cannot be sent"))?;
        let (server, path) = (address.url().into(), address.path.as_str().into());
        let transport = Arc::new(Http::new(address, settings.connect_max));
        let key = key.into().map(|key| key.header()).transpose()?;
        Ok(Self { way: Way { transport, server, path, host, key }, settings, carried: Carried::default() })
    }

    /// A client whose requests travel over `transport`, to a server that is called `server` in messages.
    ///
    /// # Errors
    /// If the key cannot be one.
    pub fn over(
        transport: Arc<dyn Transport>,
        server: &str,
        key: impl Into<Option<Key>>,
        settings: Settings,
    ) -> Result<Self, Error> {
        let key = key.into().map(|key| key.header()).transpose()?;
        let host = HeaderValue::from_static("localhost");
        let way = Way { transport, server: server.into(), path: "".into(), host, key };
        Ok(Self { way, settings, carried: Carried::default() })
    }

    /// The server, for people.
    pub fn server(&self) -> &str {
        &self.way.server
    }

    /// The times and retries of this client.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How its requests travel.
    pub fn transport(&self) -> Arc<dyn Transport> {
        Arc::clone(&self.way.transport)
    }

    /// The same client with connections of its own, for another runtime.
    #[must_use]
    pub fn apart(&self) -> Self {
        let way = Way { transport: self.way.transport.apart(), ..self.way.clone() };
        Self { way, ..self.clone() }
    }

    /// The same client that tries again in another way.
    #[must_use]
    pub fn retrying(&self, retry: Retry) -> Self {
        Self { settings: Settings { retry, ..self.settings }, ..self.clone() }
    }

    /// The same client, whose writes are refused unless the thread is at this version (`If-Match`).
    #[must_use]
    pub fn expecting(&self, version: impl Into<Option<Version>>) -> Self {
        let mut client = self.clone();
        client.carried.expected = version.into();
        client
    }

    /// The same client, which writes as the exclusive writer that holds the lease with this token.
    #[must_use]
    pub fn writing_under(&self, token: LeaseToken) -> Self {
        let mut client = self.clone();
        client.carried.writer = Some(token);
        client
    }

    /// The same client, whose next change is made once under this key, however often it is sent. Without it each change
    /// draws a key of its own, where that matters.
    #[must_use]
    pub fn keyed(&self, key: impl Into<Option<IdempotencyKey>>) -> Self {
        let mut client = self.clone();
        client.carried.idempotency_key = key.into();
        client
    }

    /// The same client without conditions, for requests that honour none.
    pub(crate) fn bare(&self) -> Self {
        let Carried { actor, is_mcp, .. } = self.carried.clone();
        let carried = Carried { actor, is_mcp, ..Carried::default() };
        Self { carried, ..self.clone() }
    }

    /// The same client, which acts under another name in the log (`Threadkeep-Actor`); for keys with scope `admin`.
    #[must_use]
    pub fn acting_as(&self, actor: Actor) -> Self {
        let mut client = self.clone();
        client.carried.actor = Some(actor);
        client
    }

    /// The same client for the surface that speaks the Model Context Protocol: it acts as an agent, whatever its key says,
    /// and the server takes secrets out of its answers.
    #[must_use]
    pub fn through_mcp(&self) -> Self {
        let mut client = self.clone();
        client.carried.is_mcp = true;
        client
    }
}

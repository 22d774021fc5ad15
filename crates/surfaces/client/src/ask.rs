//! One request and its answer: headers, retries, and problems read from the answer.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, ETAG, HOST, IF_MATCH};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde::de::DeserializeOwned;
use threadkeep_calls::{ACTOR_HEADER, ErrorCode, Problem, SURFACE_HEADER, SURFACE_MCP, Status, actor_header};
use threadkeep_model::{IdempotencyKey, Invalid, Version};
use threadkeep_outgoing::{Pauses, empty, full, retry_after, whole};

use crate::client::Client;
use crate::error::Error;
use crate::query::Query;
use crate::transport::{Body, Failed, Request, Response};

/// Most bytes of an answer that is read whole.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// Whether a request may be sent again when its fate is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Doing it twice is doing it once.
    Freely,
    /// Only if it surely was not done.
    IfNotDone,
}

/// A request that is being put together.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) body: Option<Bytes>,
    pub(crate) repeat: Repeat,
    /// Whether the answer may take as long as it takes.
    pub(crate) unhurried: bool,
    accept: &'static str,
    /// The media type of the body.
    media: Option<String>,
    /// More headers, which go before those that the client carries.
    headers: Vec<(&'static str, String)>,
}

impl Ask {
    pub(crate) fn new(method: Method, path: String, repeat: Repeat) -> Self {
        let accept = "application/json";
        let (query, headers) = (Query::default(), Vec::new());
        Self { method, path, query, body: None, repeat, unhurried: false, accept, media: None, headers }
    }

    pub(crate) fn get(path: String) -> Self {
        Self::new(Method::GET, path, Repeat::Freely)
    }

    /// A deletion that is repeated only if it was not done: another writer may restore the item meanwhile.
    pub(crate) fn delete_once(path: String) -> Self {
        Self::new(Method::DELETE, path, Repeat::IfNotDone)
    }

    /// A write, without a body so far.
    pub(crate) fn act(path: String) -> Self {
        Self::new(Method::POST, path, Repeat::IfNotDone)
    }

    /// A write of content that is this.
    pub(crate) fn put_content(path: String, media: Option<String>) -> Self {
        Self { media, ..Self::new(Method::PUT, path, Repeat::IfNotDone) }
    }

    pub(crate) fn bytes(self, bytes: Bytes) -> Self {
        Self { body: Some(bytes), ..self }
    }

    pub(crate) fn json(self, text: impl Into<Bytes>) -> Self {
        Self { body: Some(text.into()), media: Some("application/json".to_owned()), ..self }
    }

    pub(crate) fn query(mut self, query: Query) -> Self {
        self.query = query;
        self
    }

    /// It may be sent again: doing it twice is doing it once.
    pub(crate) fn repeatable(mut self) -> Self {
        self.repeat = Repeat::Freely;
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn unhurried(mut self) -> Self {
        self.unhurried = true;
        self
    }

    pub(crate) fn accepting(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }
}

pub(crate) struct Answer {
    headers: HeaderMap,
    body: Bytes,
}

/// Why an attempt failed, and the remedy.
struct Attempt {
    error: Error,
    /// Whether it surely was not done.
    not_done: bool,
    again: Again,
}

/// Whether another attempt may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// It would fail in the same way.
    Never,
    /// It may, after the time that the server asked for.
    After(Option<Duration>),
}

impl Again {
    /// The remedy for this refusal.
    pub(crate) fn by(problem: &Problem, asked: Option<Duration>) -> Self {
        let passes = matches!(problem.status, Status::Unavailable | Status::RateLimited);
        if passes { Self::After(asked) } else { Self::Never }
    }
}

impl Answer {
    /// The thread's version that it tells.
    pub(crate) fn version(&self) -> Option<Version> {
        let tag = self.headers.get(ETAG)?.to_str().ok()?;
        tag.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
    }

    /// The media type of the body.
    pub(crate) fn media(&self) -> Option<&str> {
        self.headers.get(CONTENT_TYPE)?.to_str().ok()
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        self.body
    }

    /// The body, as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A request on its way. It is boxed, so that this crate compiles it once for all the crates that use a client.
pub(crate) type Underway<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl Client {
    /// Asks, and reads the answer as a `T`.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, Error> {
        let answer = self.answer(ask).await?;
        self.read(&answer)
    }

    pub(crate) fn read<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, Error> {
        serde_json::from_slice(&answer.body).map_err(|error| self.not_understood(&error.to_string()))
    }

    pub(crate) fn not_understood(&self, what: &str) -> Error {
        Error::NotUnderstood { server: self.way.server.to_string(), what: what.to_owned() }
    }

    /// Asks as often as it is safe and there is time.
    pub(crate) fn answer(&self, ask: Ask) -> Underway<'_, Result<Answer, Error>> {
        Box::pin(self.answered(ask))
    }

    async fn answered(&self, ask: Ask) -> Result<Answer, Error> {
        // A version that is expected is found no more once the write was done: its repetition would be refused, unless
        // a key tells that it is one.
        let carried = &self.carried;
        let is_found = carried.expected.is_none() || carried.idempotency_key.is_some() || ask.method == Method::GET;
        let freely = ask.repeat == Repeat::Freely && is_found;
        let mut pauses = Pauses::new(self.settings.retry);
        loop {
            let attempt = match self.attempt(&ask).await {
                Ok(answer) => return Ok(answer),
                Err(attempt) => attempt,
            };
            let pause = match attempt.again {
                Again::After(asked) if freely || attempt.not_done => pauses.next(asked),
                Again::After(_) | Again::Never => None,
            };
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(attempt.error),
            }
        }
    }

    async fn attempt(&self, ask: &Ask) -> Result<Answer, Attempt> {
        let once = async {
            let response = self.send(ask, ask.body.clone().map_or_else(empty, full)).await?;
            self.taken(response).await
        };
        if ask.unhurried {
            return once.await;
        }
        tokio::time::timeout(self.settings.answer_max, once).await.unwrap_or_else(|_| Err(self.too_slow()))
    }

    fn too_slow(&self) -> Attempt {
        self.failed(Failed::after(format!("no answer within {:?}", self.settings.answer_max)))
    }

    /// Sends it once with `body`, and waits for the head of a good answer.
    async fn send(&self, ask: &Ask, body: Body) -> Result<Response, Attempt> {
        let request = self.request(ask, body);
        let request = request.map_err(|error| Attempt { error, not_done: true, again: Again::Never })?;
        self.exchange(request).await
    }

    fn exchange(&self, request: Request) -> Underway<'_, Result<Response, Attempt>> {
        Box::pin(self.exchanged(request))
    }

    async fn exchanged(&self, request: Request) -> Result<Response, Attempt> {
        let response = self.way.transport.exchange(request).await.map_err(|failed| self.failed(failed))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refused(response).await)
    }

    /// Opens an answer that goes on. It is not tried again here.
    pub(crate) async fn open(&self, ask: &Ask, more: &[(&'static str, String)]) -> Result<Response, (Error, Again)> {
        let mut request = self.request(ask, empty()).map_err(|error| (error, Again::Never))?;
        for (name, value) in more {
            let value = plain(name, value).map_err(|invalid| (invalid.into(), Again::Never))?;
            request.headers_mut().insert(*name, value);
        }
        let opened = tokio::time::timeout(self.settings.answer_max, self.exchange(request)).await;
        opened.unwrap_or_else(|_| Err(self.too_slow())).map_err(|attempt| (attempt.error, attempt.again))
    }

    /// Sends a body as it comes, once.
    pub(crate) async fn pour<T: DeserializeOwned>(&self, ask: Ask, body: Body) -> Result<T, Error> {
        let poured = async {
            let response = self.send(&ask, body).await?;
            self.taken(response).await
        };
        let answer = poured.await.map_err(|attempt| attempt.error)?;
        self.read(&answer)
    }

    fn request(&self, ask: &Ask, body: Body) -> Result<Request, Error> {
        let target = format!("{}{}{}", self.way.path, ask.path, ask.query.as_str());
        let mut request = Request::new(body);
        *request.method_mut() = ask.method.clone();
        *request.uri_mut() = target.parse().map_err(|_| Invalid::parameter("path", "cannot be sent"))?;
        let headers = request.headers_mut();
        headers.insert(HOST, self.way.host.clone());
        headers.insert(ACCEPT, HeaderValue::from_static(ask.accept));
        if let Some(key) = &self.way.key {
            headers.insert(AUTHORIZATION, key.clone());
        }
        if let Some(media) = &ask.media {
            headers.insert(CONTENT_TYPE, plain("Content-Type", media)?);
        }
        let carried = &self.carried;
        if let Some(actor) = &carried.actor {
            headers.insert(ACTOR_HEADER, plain(ACTOR_HEADER, &actor_header(actor))?);
        }
        if carried.is_mcp {
            headers.insert(SURFACE_HEADER, HeaderValue::from_static(SURFACE_MCP));
        }
        if ask.method == Method::GET {
            return Ok(request);
        }
        if let Some(version) = carried.expected {
            headers.insert(IF_MATCH, plain("If-Match", &format!("\"{version}\""))?);
        }
        if let Some(token) = carried.writer {
            headers.insert("threadkeep-writer", plain("Threadkeep-Writer", &token.to_string())?);
        }
        if let Some(key) = &carried.idempotency_key {
            headers.insert("idempotency-key", plain("Idempotency-Key", key.as_str())?);
        }
        for (name, value) in &ask.headers {
            headers.insert(*name, plain(name, value)?);
        }
        Ok(request)
    }

    async fn taken(&self, response: Response) -> Result<Answer, Attempt> {
        let (parts, body) = response.into_parts();
        let body = whole(body, ANSWER_BYTES_MAX).await.map_err(|failed| self.failed(failed))?;
        Ok(Answer { headers: parts.headers, body })
    }

    fn failed(&self, failed: Failed) -> Attempt {
        let Failed { was_sent, for_good, what } = failed;
        let server = self.way.server.to_string();
        let error = match (was_sent, for_good) {
            (false, _) => Error::Unreachable { server, what },
            (true, false) => Error::Broken { server, what },
            (true, true) => Error::NotUnderstood { server, what },
        };
        Attempt { error, not_done: !was_sent, again: if for_good { Again::Never } else { Again::After(None) } }
    }

    async fn refused(&self, response: Response) -> Attempt {
        let status = response.status();
        let asked = retry_after(response.headers());
        let answer = match self.taken(response).await {
            Ok(answer) => answer,
            Err(attempt) => return attempt,
        };
        let not_done = status == StatusCode::TOO_MANY_REQUESTS;
        let problem = serde_json::from_slice::<Problem>(&answer.body).unwrap_or_else(|_| unexplained(status));
        let again = Again::by(&problem, asked);
        Attempt { error: Error::Refused(Box::new(problem)), not_done, again }
    }
}

/// A refusal without a reason, such as a proxy's on the way.
fn unexplained(status: StatusCode) -> Problem {
    let known = Status::from(status.as_u16());
    let code = if known == Status::Unavailable { ErrorCode::Unavailable } else { ErrorCode::NotUnderstood };
    // The received status is kept, since its meaning here is unknown.
    Problem { status: known, ..Problem::new(code.status(), code, format!("the answer was {status}, without a reason")) }
}

fn plain(name: &str, value: &str) -> Result<HeaderValue, Invalid> {
    HeaderValue::from_str(value).map_err(|_| Invalid::parameter(name, "is not plain text"))
}

/// A key that no other request uses.
pub(crate) fn fresh_key() -> Result<IdempotencyKey, Error> {
    let mut chance = [0; 16];
    let cannot = |_| Invalid::parameter("Idempotency-Key", "there is no chance to be had from the system");
    getrandom::fill(&mut chance).map_err(cannot)?;
    Ok(IdempotencyKey::new(format!("{:032x}", u128::from_be_bytes(chance)))?)
}

//! The headers that say on what condition something is done, and from where on.
//!
//! They are taken from a request before its body, and read once the thread is known: a thread that is not there answers
//! the same whatever the headers say.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use threadkeep::{Engine, IdempotencyKey, Invalid, Position, Thread, Version};
use threadkeep_api::{ErrorCode, Problem, Status};

use crate::answer::Refused;

/// The token of a lease.
pub(crate) const WRITER: &str = "threadkeep-writer";
/// The key of a request that may be sent again.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Where a client that comes back to a stream was.
pub(crate) const LAST_EVENT_ID: &str = "last-event-id";

macro_rules! headers {
    ($($name:ident: $header:expr;)*) => {$(
        impl<S: Sync> FromRequestParts<S> for $name {
            type Rejection = Infallible;

            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
                Ok(Self(parts.headers.get($header).cloned()))
            }
        }
    )*};
}

headers! {
    IfMatch: header::IF_MATCH;
    IfNoneMatch: header::IF_NONE_MATCH;
    Retry: IDEMPOTENCY_KEY;
    Lease: WRITER;
    LastEventId: LAST_EVENT_ID;
}

/// `If-Match`: the version that the thread has to be at.
pub(crate) struct IfMatch(Option<HeaderValue>);

impl IfMatch {
    /// The version that is expected.
    ///
    /// # Errors
    /// If it is no version of a thread.
    pub(crate) fn version(&self) -> Result<Option<Version>, Refused> {
        let Some(value) = &self.0 else { return Ok(None) };
        let text = value.to_str().unwrap_or_default().trim();
        if text == "*" {
            return Ok(None);
        }
        let tag = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let version = tag.and_then(|tag| tag.parse::<Position>().ok());
        let rule = "is not a version in quotes, such as \"12\"";
        version.map(Some).ok_or_else(|| Invalid::parameter("If-Match", rule).into())
    }
}

/// `Idempotency-Key`: under which the request may be sent again.
pub(crate) struct Retry(Option<HeaderValue>);

impl Retry {
    /// The key.
    ///
    /// # Errors
    /// If it is empty or too long.
    pub(crate) fn key(&self) -> Result<Option<IdempotencyKey>, Refused> {
        let Some(value) = &self.0 else { return Ok(None) };
        let text = value.to_str().map_err(|_| Invalid::parameter("Idempotency-Key", "is not plain text"))?;
        Ok(Some(IdempotencyKey::new(text)?))
    }
}

/// `Threadkeep-Writer`: the token of the lease under which the caller writes.
pub(crate) struct Lease(Option<HeaderValue>);

impl Lease {
    /// The engine, writing to `thread` under the lease if there is one.
    ///
    /// # Errors
    /// If the token is no number.
    pub(crate) fn engine(&self, engine: &Engine, thread: &Thread) -> Result<Engine, Refused> {
        Ok(match self.token()? {
            Some(token) => engine.writing_under(thread.id, token),
            None => engine.clone(),
        })
    }

    fn token(&self) -> Result<Option<u64>, Refused> {
        let Some(value) = &self.0 else { return Ok(None) };
        let token = value.to_str().ok().and_then(|text| text.trim().parse().ok());
        token.map(Some).ok_or_else(|| Invalid::parameter("Threadkeep-Writer", "is not the token of a lease").into())
    }
}

/// `Threadkeep-Writer`, where there is nothing to do without it.
pub(crate) struct Token(pub(crate) u64);

impl<S: Sync> FromRequestParts<S> for Token {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        let token = Lease(parts.headers.get(WRITER).cloned()).token()?;
        token.map(Self).ok_or_else(|| {
            let detail = "the token of the lease is missing";
            let problem = Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail);
            problem.hint("send it as Threadkeep-Writer: TOKEN").into()
        })
    }
}

/// `Last-Event-ID`: where a client that comes back to a stream was.
pub(crate) struct LastEventId(Option<HeaderValue>);

impl LastEventId {
    /// Where it was by this header; else by the parameter.
    pub(crate) fn or<'a>(&'a self, after: Option<&'a str>) -> Option<&'a str> {
        match &self.0 {
            Some(value) => Some(value.to_str().unwrap_or("?")),
            None => after,
        }
    }
}

/// `If-None-Match`: what the client has already.
pub(crate) struct IfNoneMatch(Option<HeaderValue>);

impl IfNoneMatch {
    /// Whether the client has what this tag names.
    pub(crate) fn is(&self, etag: &str) -> bool {
        let known = self.0.as_ref().and_then(|value| value.to_str().ok()).unwrap_or_default();
        known.split(',').map(str::trim).any(|known| known == "*" || known.trim_start_matches("W/") == etag)
    }
}

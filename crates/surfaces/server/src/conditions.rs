//! The headers for conditions of a request, and for the place to resume from.
//!
//! They are read after the key and before the body: a malformed header is refused, before the thread is looked
//! at.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use threadkeep::calls::At;
use threadkeep::model::LeaseToken;
use threadkeep::{IdempotencyKey, Invalid, Position, ThreadId, Version};

use crate::answer::Refused;

/// The token of a lease.
pub(crate) const WRITER: &str = "threadkeep-writer";
/// The key of a request that may be sent again.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Where a client that comes back to a stream was.
pub(crate) const LAST_EVENT_ID: &str = "last-event-id";

macro_rules! headers {
    ($($name:ident($header:expr): $read:path;)*) => {$(
        impl<S: Sync> FromRequestParts<S> for $name {
            type Rejection = Refused;

            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
                parts.headers.get($header).map($read).transpose().map(Self)
            }
        }
    )*};
}

headers! {
    IfMatch(header::IF_MATCH): version;
    Retry(IDEMPOTENCY_KEY): idempotency_key;
    Lease(WRITER): lease_token;
    LastEventId(LAST_EVENT_ID): text;
    IfNoneMatch(header::IF_NONE_MATCH): text;
}

/// `If-Match`: the version that the thread has to be at.
pub(crate) struct IfMatch(Option<Option<Version>>);

/// The version that a tag names; none for `*`, which any version is.
pub(crate) fn version(value: &HeaderValue) -> Result<Option<Version>, Refused> {
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let tag = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let version = tag.and_then(|tag| tag.parse::<Position>().ok());
    let rule = "is not a version in quotes, such as \"12\"";
    version.map(Some).ok_or_else(|| Invalid::parameter("If-Match", rule).into())
}

/// `Idempotency-Key`: under which the request may be sent again.
pub(crate) struct Retry(pub(crate) Option<IdempotencyKey>);

pub(crate) fn idempotency_key(value: &HeaderValue) -> Result<IdempotencyKey, Refused> {
    let text = value.to_str().map_err(|_| Invalid::parameter("Idempotency-Key", "is not plain text"))?;
    Ok(IdempotencyKey::new(text)?)
}

/// `Threadkeep-Writer`: the token of the lease under which the caller writes.
pub(crate) struct Lease(Option<LeaseToken>);

/// The envelope of a call that has a handler of its own.
pub(crate) struct Conditions {
    expected: IfMatch,
    lease: Lease,
    retry: Retry,
}

impl Conditions {
    /// The envelope, at `thread`.
    pub(crate) fn at(self, thread: ThreadId) -> At {
        let Self { expected, lease, retry } = self;
        At { thread: Some(thread.into()), expected: expected.0.flatten(), lease: lease.0, key: retry.0 }
    }
}

impl<S: Sync> FromRequestParts<S> for Conditions {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let expected = IfMatch::from_request_parts(parts, state).await?;
        let lease = Lease::from_request_parts(parts, state).await?;
        let retry = Retry::from_request_parts(parts, state).await?;
        Ok(Self { expected, lease, retry })
    }
}

pub(crate) fn lease_token(value: &HeaderValue) -> Result<LeaseToken, Refused> {
    Ok(value.to_str().unwrap_or_default().parse::<LeaseToken>()?)
}

fn text(value: &HeaderValue) -> Result<String, Refused> {
    Ok(value.to_str().unwrap_or("?").to_owned())
}

/// `Last-Event-ID`: where a client that comes back to a stream was.
pub(crate) struct LastEventId(pub(crate) Option<String>);

/// `If-None-Match`: the versions that the client has already.
pub(crate) struct IfNoneMatch(Option<String>);

impl IfNoneMatch {
    /// Whether it says that there must be nothing yet, as writes understand it.
    pub(crate) fn is_any(&self) -> bool {
        self.0.as_deref().is_some_and(|known| known.trim() == "*")
    }

    /// Whether the client has the version with this tag.
    pub(crate) fn is(&self, etag: &str) -> bool {
        let mut known = self.0.iter().flat_map(|known| known.split(',')).map(str::trim);
        known.any(|known| known == "*" || known.trim_start_matches("W/") == etag)
    }
}

/// Refuses a header of the envelope that would not be honoured: a condition that is ignored is worse than an error.
pub(crate) fn refuse_others(headers: &HeaderMap, honoured: &[(&str, bool)]) -> Result<(), Refused> {
    for (name, is_honoured) in honoured {
        if !is_honoured && headers.contains_key(*name) {
            let rule = "is not honoured by this route; leave it out";
            return Err(Invalid::parameter(spelled(name), rule).into());
        }
    }
    Ok(())
}

/// The name of a header as people write it, such as `If-Match`.
fn spelled(name: &str) -> String {
    let parts = name.split('-').map(|part| {
        let (first, rest) = part.split_at(part.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    parts.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_is_refused_is_spelled_as_people_write_it() {
        assert_eq!(
            ["if-match", IDEMPOTENCY_KEY, WRITER].map(spelled),
            ["If-Match", "Idempotency-Key", "Threadkeep-Writer"]
        );
    }
}

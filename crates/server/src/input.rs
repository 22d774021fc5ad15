//! What requests bring: bodies, queries, and the headers that say on what condition something is done.

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use threadkeep::{IdempotencyKey, Invalid, Position, Version};
use threadkeep_api::{Problem, Status};

use crate::answer::Refused;

/// The text of a JSON body, at most as large as is allowed.
///
/// # Errors
/// 415 for another media type, 413 for too much, 400 for what is not UTF-8.
pub(crate) async fn text(request: Request, bytes_max: usize) -> Result<String, Refused> {
    let kind = request.headers().get(header::CONTENT_TYPE).map(|kind| kind.to_str().unwrap_or_default().to_owned());
    let bytes = axum::body::to_bytes(request.into_body(), bytes_max).await.map_err(|error| {
        let detail = format!("a body has at most {bytes_max} bytes: {error}");
        Problem::new(Status::TooLarge, "too_large", detail)
    })?;
    let is_json = |kind: &str| {
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        kind == "application/json" || kind.ends_with("+json")
    };
    if !bytes.is_empty() && !kind.as_deref().is_some_and(is_json) {
        let detail = "the body must be JSON; send it with Content-Type: application/json";
        return Err(Problem::new(Status::UnsupportedMediaType, "unsupported_media_type", detail).into());
    }
    String::from_utf8(bytes.into()).map_err(|_| Invalid::body("body", "is not UTF-8 text").into())
}

/// A query whose parameters are all known.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        let query = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        match query {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(error) => {
                let said = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
                Err(Invalid::parameter("query", said).into())
            }
        }
    }
}

/// The version that `If-Match` expects.
///
/// # Errors
/// If it is no version of a thread.
pub(crate) fn expected(headers: &HeaderMap) -> Result<Option<Version>, Refused> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let tag = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let version = tag.and_then(|tag| tag.parse::<Position>().ok());
    let rule = format!("'{text}' is not a version in quotes, such as \"12\"");
    version.map(Some).ok_or_else(|| Invalid::parameter("If-Match", rule).into())
}

/// The key under which a request may be repeated.
///
/// # Errors
/// If it is empty or too long.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Refused> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let text = value.to_str().map_err(|_| Invalid::parameter("Idempotency-Key", "is not plain text"))?;
    Ok(Some(IdempotencyKey::new(text)?))
}

/// The token of the lease under which the caller writes.
///
/// # Errors
/// If it is no number.
pub(crate) fn writer(headers: &HeaderMap) -> Result<Option<u64>, Refused> {
    let Some(value) = headers.get("threadkeep-writer") else { return Ok(None) };
    let token = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    token.map(Some).ok_or_else(|| Invalid::parameter("Threadkeep-Writer", "is not the token of a lease").into())
}

//! What requests bring: paths, bodies, queries, and the headers that say on what condition something is done.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use futures_core::Stream;
use serde::de::DeserializeOwned;
use threadkeep::{IdempotencyKey, Invalid, Position, Version};
use threadkeep_api::{Problem, Status};

use crate::answer::Refused;
use crate::app::Settings;

/// The parts of a path.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(path)) => Ok(Self(path)),
            Err(_) => Err(Invalid::parameter("path", "is not UTF-8 text once its escapes are read").into()),
        }
    }
}

/// The text of a JSON body, at most as large as is allowed.
///
/// # Errors
/// 415 for another media type, 413 for too much, 408 for one that does not go on, 400 for what is not UTF-8.
pub(crate) async fn text(request: Request, settings: &Settings) -> Result<String, Refused> {
    let headers = request.headers();
    let kind = headers.get(header::CONTENT_TYPE).map(|kind| kind.to_str().unwrap_or_default().to_owned());
    if let Some(encoding) = headers.get(header::CONTENT_ENCODING).filter(|value| *value != "identity") {
        let encoding = encoding.to_str().unwrap_or("that");
        let detail = format!("a body in the encoding '{encoding}' is not understood; send it as it is");
        return Err(Problem::new(Status::UnsupportedMediaType, "unsupported_media_type", detail).into());
    }
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let bytes_max = settings.body_bytes_max;
    let too_large = || -> Refused {
        Problem::new(Status::TooLarge, "too_large", format!("a body has at most {bytes_max} bytes")).into()
    };
    if announced.is_some_and(|bytes| bytes > bytes_max) {
        return Err(too_large());
    }
    let mut chunks = Chunks::of(request.into_body(), settings);
    let reading = async {
        let mut bytes: Vec<u8> = Vec::new();
        while let Some(chunk) = chunks.next().await? {
            if bytes.len() + chunk.len() > bytes_max {
                return Err(too_large());
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    };
    let bytes = tokio::time::timeout(settings.body_time_max, reading).await.map_err(|_| too_slow())??;
    let is_json = |kind: &str| {
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        kind == "application/json" || kind.ends_with("+json")
    };
    if !bytes.is_empty() && !kind.as_deref().is_some_and(is_json) {
        let detail = "the body must be JSON; send it with Content-Type: application/json";
        return Err(Problem::new(Status::UnsupportedMediaType, "unsupported_media_type", detail).into());
    }
    String::from_utf8(bytes).map_err(|_| Invalid::body("body", "is not UTF-8 text").into())
}

/// A body, chunk by chunk, as long as it goes on.
pub(crate) struct Chunks {
    body: axum::body::BodyDataStream,
    idle_max: std::time::Duration,
}

impl Chunks {
    pub(crate) fn of(body: Body, settings: &Settings) -> Self {
        Self { body: body.into_data_stream(), idle_max: settings.body_idle_max }
    }

    /// The next chunk; none at the end.
    ///
    /// # Errors
    /// If it is broken off, or nothing comes for too long.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Refused> {
        let next = poll_fn(|context| Pin::new(&mut self.body).poll_next(context));
        match tokio::time::timeout(self.idle_max, next).await {
            Ok(Some(Ok(chunk))) => Ok(Some(chunk)),
            Ok(None) => Ok(None),
            Ok(Some(Err(_))) => Err(Invalid::body("body", "was broken off").into()),
            Err(_) => Err(too_slow()),
        }
    }
}

fn too_slow() -> Refused {
    let detail = "the body did not come in time; send it again, without pauses";
    Problem::new(Status::RequestTimeout, "request_timeout", detail).into()
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
                // Serde names the parameter in quotes, or before a colon.
                let quoted = said.split('`').nth(1);
                let field = quoted.or_else(|| said.split_once(':').map(|(field, _)| field)).unwrap_or("query");
                Err(Invalid::parameter(field, said.clone()).into())
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
    version.map(Some).ok_or_else(|| Invalid::parameter("If-Match", "is not a version in quotes, such as \"12\"").into())
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

//! Parts of requests: paths, bodies, queries. Headers are next door, in `conditions`.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_core::Stream;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use threadkeep::{Engine, FileContent, Invalid, Json};
use threadkeep_calls as api;
use threadkeep_calls::{ErrorCode, Problem, Status, read_object};

use crate::answer::Refused;
use crate::app::{App, Settings};

/// Whether an `Accept-Encoding` of this value accepts gzip.
pub(crate) fn accepts_gzip(accepted: &str) -> bool {
    accepted.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip") || name == "*");
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Ok(1.0), str::parse::<f32>);
        is_named && weight.is_ok_and(|weight| weight > 0.0)
    })
}

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

/// A body of JSON.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refused> {
        Ok(Self(read_object(&text(request, &app.settings).await?)?))
    }
}

/// A body that says nothing: empty, or `{}`.
#[derive(Debug, Clone, Copy, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// A body that is no JSON, chunk by chunk.
pub(crate) struct Lines(pub(crate) Chunks);

impl FromRequest<App> for Lines {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refused> {
        Ok(Self(Chunks::of(request.into_body(), &app.settings)))
    }
}

/// The content of a file, still to be read, and its details.
pub(crate) struct Content {
    /// Its MIME type, if the request names one.
    pub(crate) mime_type: Option<String>,
    pub(crate) metadata: Option<Json>,
    /// A small picture of it.
    pub(crate) thumbnail: Option<Bytes>,
    announced: Option<u64>,
    chunks: Chunks,
}

impl FromRequest<App> for Content {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refused> {
        let headers = request.headers();
        unencoded(headers)?;
        let said = |name: &str| {
            let value = headers.get(name).map(|value| std::str::from_utf8(value.as_bytes()).map(str::to_owned));
            value.transpose().map_err(|_| Invalid::parameter(name, "is not UTF-8 text"))
        };
        let mime_type = said(header::CONTENT_TYPE.as_str())?;
        let metadata = said(api::METADATA_HEADER)?.map(|text| Json::parse("Threadkeep-Metadata", &text)).transpose()?;
        let picture = |text: String| STANDARD.decode(text.trim()).map(Bytes::from);
        let no_picture = |_| Invalid::parameter("Threadkeep-Thumbnail", "is a small picture as base64");
        let thumbnail = said(api::THUMBNAIL_HEADER)?.map(picture).transpose().map_err(no_picture)?;
        let announced = announced(headers);
        Ok(Self { mime_type, metadata, thumbnail, announced, chunks: Chunks::of(request.into_body(), &app.settings) })
    }
}

impl Content {
    /// How many bytes it has, if the request says so.
    pub(crate) fn announced(&self) -> Option<u64> {
        self.announced
    }

    /// All of it, brought to the store as it comes: memory holds a part of it at a time.
    ///
    /// # Errors
    /// 413 for more than a file may have, 408 for one that does not go on.
    pub(crate) async fn upload(mut self, engine: &Engine) -> Result<FileContent, Refused> {
        let bytes_max = engine.limits().file_bytes_max;
        let too_large = || -> Refused {
            Problem::new(Status::TooLarge, ErrorCode::TooLarge, format!("a file has at most {bytes_max} bytes")).into()
        };
        if self.announced.is_some_and(|bytes| bytes > bytes_max as u64) {
            return Err(too_large());
        }
        let (mut upload, mut bytes) = (engine.upload(), 0);
        while let Some(chunk) = self.chunks.next().await? {
            bytes += chunk.len();
            if bytes > bytes_max {
                return Err(too_large());
            }
            upload.write(&chunk).await?;
        }
        Ok(upload.finish().await?)
    }
}

/// How many bytes a body has, if the request says so.
fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok())
}

/// Refuses a body that has to be decoded.
fn unencoded(headers: &HeaderMap) -> Result<(), Refused> {
    let Some(encoding) = headers.get(header::CONTENT_ENCODING).filter(|value| *value != "identity") else {
        return Ok(());
    };
    let encoding = encoding.to_str().unwrap_or("that");
    let detail = format!("a body in the encoding '{encoding}' is not understood; send it as it is");
    Err(Problem::new(Status::UnsupportedMediaType, ErrorCode::UnsupportedMediaType, detail).into())
}

/// The text of a JSON body, at most as large as is allowed.
///
/// # Errors
/// 415 for another media type, 413 for too much, 408 for a body that does not go on, 400 for text that is not
/// UTF-8.
pub(crate) async fn text(request: Request, settings: &Settings) -> Result<String, Refused> {
    let headers = request.headers();
    let kind = headers.get(header::CONTENT_TYPE).map(|kind| kind.to_str().unwrap_or_default().to_owned());
    unencoded(headers)?;
    let announced = announced(headers);
    let bytes_max = settings.body_bytes_max;
    let too_large = || -> Refused {
        Problem::new(Status::TooLarge, ErrorCode::TooLarge, format!("a body has at most {bytes_max} bytes")).into()
    };
    if announced.is_some_and(|bytes| bytes > bytes_max as u64) {
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
    if !bytes.is_empty() && !kind.as_deref().is_some_and(is_json) {
        let detail = "the body must be JSON in UTF-8; send it with Content-Type: application/json";
        return Err(Problem::new(Status::UnsupportedMediaType, ErrorCode::UnsupportedMediaType, detail).into());
    }
    String::from_utf8(bytes).map_err(|_| Invalid::body("body", "is not UTF-8 text").into())
}

/// Whether a media type is JSON, in UTF-8 if it names a charset.
fn is_json(kind: &str) -> bool {
    let mut parts = kind.split(';').map(|part| part.trim().to_ascii_lowercase());
    let is_json = parts.next().is_some_and(|kind| kind == "application/json" || kind.ends_with("+json"));
    is_json
        && parts
            .filter_map(|part| part.strip_prefix("charset=").map(str::to_owned))
            .all(|charset| matches!(charset.trim_matches('"'), "utf-8" | "utf8"))
}

/// A body, chunk by chunk, as long as it goes on.
pub(crate) struct Chunks {
    body: axum::body::BodyDataStream,
    idle_max: std::time::Duration,
}

impl Chunks {
    pub(crate) fn of(body: axum::body::Body, settings: &Settings) -> Self {
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
    Problem::new(Status::RequestTimeout, ErrorCode::RequestTimeout, detail).into()
}

/// A parameter that need not say more than its name: `?stats`, or `?stats=true`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flag(pub(crate) bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match String::deserialize(from)?.as_str() {
            "" | "true" => Ok(Self(true)),
            "false" => Ok(Self(false)),
            other => Err(D::Error::custom(format!("'{other}' is neither true nor false"))),
        }
    }
}

impl schemars::JsonSchema for Flag {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Flag".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": ["", "true", "false"] })
    }
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

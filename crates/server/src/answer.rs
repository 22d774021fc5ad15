//! Answers: JSON with an ETag where a thread is told, and problems as `application/problem+json`.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use threadkeep::model::Damaged;
use threadkeep::{Error, Invalid, Version};
use threadkeep_api::{Problem, Status};

/// Why a request was refused.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Box<Problem>);

/// What a handler gives.
pub(crate) type Answer = Result<Response, Refused>;

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Problem::from(error).into()
    }
}

impl From<Invalid> for Refused {
    fn from(invalid: Invalid) -> Self {
        Problem::from(invalid).into()
    }
}

impl From<Damaged> for Refused {
    fn from(damaged: Damaged) -> Self {
        Error::from(damaged).into()
    }
}

/// `{type, title, status, code, detail, hint?, field?, …}`; the request's id joins on the way out.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    #[serde(flatten)]
    problem: &'a Problem,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self(problem) = self;
        let status = StatusCode::from_u16(problem.status.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let told = Told {
            kind: format!("/docs/errors/{}", problem.code),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            problem: &problem,
        };
        let mut response = json_with(status, &told);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if matches!(problem.status, Status::Unavailable) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// JSON, with 200.
pub(crate) fn json(value: &impl Serialize) -> Response {
    json_with(StatusCode::OK, value)
}

/// JSON, with 201.
pub(crate) fn created(value: &impl Serialize) -> Response {
    json_with(StatusCode::CREATED, value)
}

fn json_with(status: StatusCode, value: &impl Serialize) -> Response {
    let bytes = serde_json::to_vec(value).expect("answers have text keys and plain values");
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The same answer, with the version of the thread it tells.
pub(crate) fn at(version: Version, mut response: Response) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// The header with the id of a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

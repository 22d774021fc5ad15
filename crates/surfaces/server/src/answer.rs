//! Answers: JSON with an ETag if it shows a thread, and problems as `application/problem+json`.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use threadkeep::model::Damaged;
use threadkeep::{Error, Invalid, Redactor, Version};
use threadkeep_calls::{ErrorCode, Problem, Status};

/// Why a request was refused, and how long to wait where waiting helps.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    problem: Box<Problem>,
    wait: Option<Duration>,
}

/// Marks an answer that code of definitions made: the edge leaves its errors as they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnAnswer;

/// The result of a handler.
pub(crate) type Answer = Result<Response, Refused>;

impl Refused {
    pub(crate) fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The same, to be tried again after this time.
    pub(crate) fn after(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// The same without secrets; without its explanation if the secrets are not known.
    pub(crate) fn redacted(mut self, redactor: Option<&Redactor>) -> Self {
        let problem = &mut self.problem;
        match redactor {
            Some(redactor) => {
                let texts = [Some(&mut problem.detail), problem.hint.as_mut(), problem.field.as_mut()];
                for text in texts.into_iter().flatten() {
                    if let Cow::Owned(redacted) = redactor.text(text) {
                        *text = redacted.into();
                    }
                }
                for holder in problem.writer.iter_mut().map(|writer| &mut writer.holder) {
                    *holder = redactor.text(holder).into_owned();
                }
            }
            // The engine wrote this one, about its own key.
            None if problem.code == ErrorCode::SecretsUnavailable.as_str() => {}
            None => {
                problem.detail = "the explanation is left out: the secrets that it may hold cannot be opened".into();
                (problem.hint, problem.field) = (None, None);
            }
        }
        self
    }

    /// The answer to the request with this id.
    pub(crate) fn render(&self, request_id: &str) -> Response {
        let problem = &self.problem;
        let status = StatusCode::from_u16(problem.status.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let told = Told {
            kind: format!("/docs/errors/{}", problem.code),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            problem,
            request_id,
        };
        let mut response = json_with(status, &told);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        let wait = self.wait.or(matches!(problem.status, Status::Unavailable).then_some(Duration::from_secs(1)));
        if let Some(wait) = wait {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
        }
        if matches!(problem.status, Status::Unauthorized) {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self { problem: Box::new(problem), wait: None }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let wait = error.retry_after();
        Self { wait, ..Problem::from(error).into() }
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

/// `{type, title, status, code, detail, hint?, field?, …, requestId}`.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    #[serde(flatten)]
    problem: &'a Problem,
    #[serde(rename = "requestId")]
    request_id: &'a str,
}

impl IntoResponse for Refused {
    /// Carries the problem to the edge, which knows the request's id and writes it down.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() =
            StatusCode::from_u16(self.problem.status.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.extensions_mut().insert(self);
        response
    }
}

pub(crate) fn json(value: &impl Serialize) -> Response {
    json_with(StatusCode::OK, value)
}

pub(crate) fn created(value: &impl Serialize) -> Response {
    json_with(StatusCode::CREATED, value)
}

fn json_with(status: StatusCode, value: &impl Serialize) -> Response {
    with_json(status, serde_json::to_vec(value).expect("answers have text keys and plain values"))
}

/// JSON that is written down already.
pub(crate) fn with_json(status: StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The same answer, with the version of the thread it tells.
pub(crate) fn at_version(version: Version, mut response: Response) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

//! Answers that a model reads: they are without secrets.
//!
//! People may read what people wrote, secrets included. A model may not: its host, its provider and its logs read along.

use std::borrow::Cow;

use axum::body::{Body, to_bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use threadkeep::{Redactor, ThreadId, WayOut};
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::answer::Refused;
use crate::edge::Asked;

/// Most bytes of an answer that is redacted.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Threads in an answer whose secrets are looked for, beside those of the thread that the request names.
const THREADS_MAX: usize = 200;
/// Bytes of the id of a thread.
const ID_BYTES: usize = 38;

/// The same answer without the secrets of every thread that the request or the answer names. Problems are redacted
/// elsewhere, and streams only wake the surface.
pub(crate) async fn redacted(response: Response, asked: &Asked<'_>) -> Response {
    let is_stream = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    if !response.status().is_success() || is_stream {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(mut bytes) = to_bytes(body, ANSWER_BYTES_MAX).await else {
        let detail = format!("the answer is larger than {ANSWER_BYTES_MAX} bytes");
        let problem = Problem::new(Status::TooLarge, ErrorCode::TooLarge, detail);
        return Refused::from(problem.hint("ask for less")).into_response();
    };
    let mut redactors: Vec<Option<Redactor>> = vec![asked.redactor(WayOut::Mcp, parts.status.as_u16()).await];
    let engine = asked.engine();
    for thread in threads(&bytes) {
        redactors.push(engine.redactor(WayOut::Mcp, Some(thread)).await.ok());
    }
    for redactor in redactors {
        let Some(redactor) = redactor else {
            let detail = "the answer may hold secrets that cannot be opened, so it is not given to a model";
            return Refused::from(Problem::new(Status::Unavailable, ErrorCode::SecretsUnavailable, detail))
                .into_response();
        };
        if let Cow::Owned(redacted) = redactor.bytes(&bytes) {
            bytes = redacted.into();
        }
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(bytes))
}

/// The threads whose ids an answer holds.
fn threads(bytes: &[u8]) -> Vec<ThreadId> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = bytes[at..].windows(3).position(|window| window == b"\"T-") {
        at += next + 1;
        let id = bytes.get(at..at + ID_BYTES).and_then(|id| std::str::from_utf8(id).ok()?.parse::<ThreadId>().ok());
        if let Some(id) = id.filter(|id| !found.contains(id)) {
            found.push(id);
        }
        if found.len() == THREADS_MAX {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_in_an_answer_is_found_once() {
        let (a, b) = (ThreadId::from_chance(1), ThreadId::from_chance(2));
        let text = format!("{{\"id\":\"{a}\",\"x\":[\"{b}\",\"{a}\",\"T-what\"],\"T-\":\"T-");
        assert_eq!(threads(text.as_bytes()), [a, b]);
    }
}

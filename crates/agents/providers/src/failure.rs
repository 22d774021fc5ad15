//! Why a model gave no answer.

use std::time::Duration;

use serde_json::Value;
use threadkeep_outgoing::Failed;

use crate::Key;

/// Characters of a provider's own words that are shown.
const SAID_MAX: usize = 500;

/// A request without an answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{model}: {what}{}", .hint.map(|hint| format!(" ({hint})")).unwrap_or_default())]
pub struct Failure {
    /// The definition's name of the model.
    pub model: String,
    /// The kind of problem.
    pub problem: Problem,
    /// What happened, for people. It never holds the key.
    pub what: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
    /// How long the provider asks to wait.
    pub wait: Option<Duration>,
}

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// The key is missing or wrong, or may not use this model.
    Key,
    /// The provider has no such model, or no such path.
    Unknown,
    /// The request does not fit the model.
    TooLong,
    /// The provider refuses the request for another reason.
    Request,
    /// There were too many requests, or the account has no credit left.
    Rate,
    /// The provider is overloaded or failed.
    Provider,
    /// No connection, or it broke.
    Connection,
    /// No answer in time.
    Time,
    /// The answer is not what the protocol says.
    Protocol,
}

impl Problem {
    /// Whether the same request may succeed a moment later.
    pub fn is_passing(self) -> bool {
        match self {
            Self::Rate | Self::Provider | Self::Connection | Self::Time | Self::Protocol => true,
            Self::Key | Self::Unknown | Self::TooLong | Self::Request => false,
        }
    }

    fn hint(self) -> Option<&'static str> {
        match self {
            Self::Key => Some("set the provider's key: threadkeep env set NAME"),
            Self::Unknown => Some("check the model's name and the base URL in its definition"),
            Self::Rate => Some("wait, or define fallbacks"),
            Self::TooLong | Self::Request | Self::Provider | Self::Connection | Self::Time | Self::Protocol => None,
        }
    }
}

impl Failure {
    pub(crate) fn new(problem: Problem, what: impl Into<String>) -> Self {
        Self { model: String::new(), problem, what: what.into(), hint: problem.hint(), wait: None }
    }

    /// The connection failed, or was too slow.
    pub(crate) fn of_connection(failed: &Failed) -> Self {
        Self::new(Problem::Connection, failed.what.clone())
    }

    /// The provider answered with this status and body.
    pub(crate) fn of_status(status: u16, body: &[u8], wait: Option<Duration>) -> Self {
        let said = said(body);
        let is_long = || {
            let said = said.to_lowercase();
            [
                "context length",
                "context_length",
                "prompt is too long",
                "too many tokens",
                "maximum context",
                "context size",
                "context window",
            ]
            .iter()
            .any(|words| said.contains(words))
        };
        let problem = match status {
            401 | 403 => Problem::Key,
            404 => Problem::Unknown,
            413 => Problem::TooLong,
            400..=499 if is_long() => Problem::TooLong,
            408 => Problem::Time,
            402 | 429 => Problem::Rate,
            400..=499 => Problem::Request,
            _ => Problem::Provider,
        };
        let what = if said.is_empty() { format!("status {status}") } else { format!("status {status}: {said}") };
        Self { wait, ..Self::new(problem, what) }
    }

    /// The provider told of an error inside the stream, by a JSON object.
    pub(crate) fn of_event(error: &Value) -> Self {
        let kind = error["type"].as_str().or(error["code"].as_str()).unwrap_or_default();
        let said = error["message"].as_str().or(error.as_str()).unwrap_or("an error without words");
        let problem = match kind {
            "overloaded_error" | "api_error" | "server_error" | "timeout_error" => Problem::Provider,
            "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" => Problem::Rate,
            "authentication_error" | "permission_error" => Problem::Key,
            "not_found_error" => Problem::Unknown,
            "invalid_request_error" => Problem::Request,
            _ => Problem::Provider,
        };
        Self::new(problem, shortened(said))
    }

    /// The same, of this model, without its key.
    #[must_use]
    pub(crate) fn of(mut self, model: &str, key: Option<&Key>) -> Self {
        self.model = model.to_owned();
        if let Some(key) = key.filter(|key| !key.as_str().is_empty()) {
            self.what = self.what.replace(key.as_str(), "[secret]");
        }
        self
    }
}

/// The provider's own words in the body of a refusal.
fn said(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let json: Option<Value> = serde_json::from_str(&text).ok();
    let message = json.as_ref().and_then(|json| {
        let error = &json["error"];
        error["message"].as_str().or(error.as_str()).or(json["message"].as_str()).or(json["detail"].as_str())
    });
    shortened(message.unwrap_or(text.trim()))
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().filter(|c| !c.is_control() || *c == '\n').take(SAID_MAX).collect();
    if short.len() < text.len() && short.chars().count() == SAID_MAX {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_tells_the_kind_of_problem() {
        for (status, body, problem, is_passing) in [
            (401, "{}", Problem::Key, false),
            (404, r#"{"error":{"message":"no model 'x'"}}"#, Problem::Unknown, false),
            (400, r#"{"error":{"message":"This model's maximum context length is 8192"}}"#, Problem::TooLong, false),
            (400, r#"{"error":"bad"}"#, Problem::Request, false),
            (408, "", Problem::Time, true),
            (429, "slow down", Problem::Rate, true),
            (529, "", Problem::Provider, true),
        ] {
            let failure = Failure::of_status(status, body.as_bytes(), None);
            assert_eq!((failure.problem, failure.problem.is_passing()), (problem, is_passing), "{status} {body}");
        }
    }

    #[test]
    fn the_providers_words_are_shown_short_and_without_the_key() {
        let body = r#"{"error":{"message":"Incorrect API key provided: sk-abcdef123456"}}"#;
        let failure = Failure::of_status(401, body.as_bytes(), None).of("big", Some(&Key::new("sk-abcdef123456")));
        assert_eq!(
            failure.to_string(),
            "big: status 401: Incorrect API key provided: [secret] (set the provider's key: threadkeep env set NAME)"
        );
        let long = Failure::of_status(500, "x".repeat(10_000).as_bytes(), None);
        assert!(long.what.chars().count() < 600 && long.what.ends_with('…'));
    }
}

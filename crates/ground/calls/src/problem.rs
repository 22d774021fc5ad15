//! Problems on the wire: status, code and exit code.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use threadkeep_model::{Invalid, Lifecycle, LifecycleAction, Timestamp, Uuid, Version};

use crate::ErrorCode;

/// A problem: `{code, detail, hint?, field?, currentVersion?, approvalId?, holder?, expiresAt?, lifecycle?, allowed?}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// How bad, and whose turn it is. An answer says it beside the problem.
    #[serde(skip_serializing, default)]
    #[schemars(skip)]
    pub status: Status,
    /// The stable code of the error.
    #[schemars(with = "ErrorCode")]
    pub code: Cow<'static, str>,
    /// The error in one sentence.
    pub detail: Box<str>,
    /// The next step for the caller, if the detail does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Box<str>>,
    /// The field of the request that breaks a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Box<str>>,
    /// The present version of the thread, for a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_version: Option<Version>,
    /// The approval that has to be given first, where that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<Box<Uuid>>,
    /// Who is the thread's exclusive writer, where that is the reason.
    #[serde(flatten, default)]
    pub writer: Option<Box<HeldBy>>,
    /// Where the thread is in its life, where that is the reason.
    #[serde(flatten, default)]
    pub life: Option<Box<Life>>,
}

/// Where a thread is in its life, and where it can go from there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Life {
    /// The state of the thread.
    pub lifecycle: Lifecycle,
    /// The actions of `lifecycle` that it allows; none if it is over.
    pub allowed: Vec<LifecycleAction>,
}

/// Who is a thread's exclusive writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldBy {
    /// Who, in words for people.
    pub holder: String,
    /// When the lease ends unless it is renewed.
    pub expires_at: Timestamp,
}

/// The statuses that problems have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "u16")]
pub enum Status {
    /// The request breaks a rule.
    BadRequest,
    /// It is not known who asks.
    Unauthorized,
    /// The key of the caller does not permit that.
    Forbidden,
    /// The named resource does not exist.
    NotFound,
    /// The named resource existed, and does not exist any more.
    Gone,
    /// The path does not take the method.
    MethodNotAllowed,
    /// The path does not answer in words that the request accepts.
    NotAcceptable,
    /// The body did not come in time.
    RequestTimeout,
    /// The body is in words that are not understood here.
    UnsupportedMediaType,
    /// The state of things does not allow it.
    Conflict,
    /// The thread is not at the version that was expected.
    PreconditionFailed,
    /// Larger than a limit.
    TooLarge,
    /// The path and its query are longer than a limit.
    UriTooLong,
    /// The headers are larger than a limit.
    HeadersTooLarge,
    /// There is nothing in the range that was asked for.
    RangeNotSatisfiable,
    /// The caller sends too many requests.
    RateLimited,
    /// Well-formed, but it contradicts an earlier request.
    Unprocessable,
    /// A bug or damage in the server; no input may cause it.
    #[default]
    Internal,
    /// Not at this moment.
    Unavailable,
    /// The disk is full.
    InsufficientStorage,
}

impl From<u16> for Status {
    /// The status of an HTTP answer; one that is not in the table is taken for the nearest that is.
    fn from(http: u16) -> Self {
        match http {
            401 => Self::Unauthorized,
            403 => Self::Forbidden,
            404 => Self::NotFound,
            410 => Self::Gone,
            405 => Self::MethodNotAllowed,
            406 => Self::NotAcceptable,
            408 => Self::RequestTimeout,
            409 => Self::Conflict,
            412 => Self::PreconditionFailed,
            413 => Self::TooLarge,
            414 => Self::UriTooLong,
            415 => Self::UnsupportedMediaType,
            416 => Self::RangeNotSatisfiable,
            422 => Self::Unprocessable,
            429 => Self::RateLimited,
            431 => Self::HeadersTooLarge,
            400..=499 => Self::BadRequest,
            502..=504 => Self::Unavailable,
            507 => Self::InsufficientStorage,
            _ => Self::Internal,
        }
    }
}

impl Status {
    /// The status of an HTTP answer.
    pub fn http(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Gone => 410,
            Self::MethodNotAllowed => 405,
            Self::NotAcceptable => 406,
            Self::RequestTimeout => 408,
            Self::Conflict => 409,
            Self::UnsupportedMediaType => 415,
            Self::PreconditionFailed => 412,
            Self::TooLarge => 413,
            Self::UriTooLong => 414,
            Self::RangeNotSatisfiable => 416,
            Self::RateLimited => 429,
            Self::HeadersTooLarge => 431,
            Self::Unprocessable => 422,
            Self::Internal => 500,
            Self::Unavailable => 503,
            Self::InsufficientStorage => 507,
        }
    }

    /// The exit code of the command line.
    pub fn exit(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::BadRequest
            | Self::TooLarge
            | Self::Unprocessable
            | Self::MethodNotAllowed
            | Self::NotAcceptable
            | Self::RequestTimeout
            | Self::UriTooLong
            | Self::HeadersTooLarge
            | Self::RangeNotSatisfiable
            | Self::UnsupportedMediaType => 2,
            Self::NotFound | Self::Gone => 3,
            Self::Unauthorized | Self::Forbidden => 4,
            Self::Conflict | Self::PreconditionFailed => 5,
            Self::RateLimited | Self::Unavailable | Self::InsufficientStorage => 6,
        }
    }
}

impl Problem {
    /// A problem of a surface's own.
    pub fn new(status: Status, code: ErrorCode, detail: impl Into<String>) -> Self {
        debug_assert!(code.statuses().contains(&status), "{code} does not come with {status:?}");
        Self {
            status,
            code: code.as_str().into(),
            detail: detail.into().into(),
            hint: None,
            field: None,
            current_version: None,
            approval_id: None,
            writer: None,
            life: None,
        }
    }

    /// The same problem with what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into().into());
        self
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        let code = ErrorCode::of_invalid(invalid.code);
        let problem = Self::new(code.status(), code, invalid.to_string());
        Self { field: Some(invalid.field.into()), ..problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_as_it_is_told() {
        for http in [400, 401, 403, 404, 405, 406, 408, 409, 410, 412, 413, 414, 415, 422, 429, 431, 500, 503, 507] {
            assert_eq!(Status::from(http).http(), http);
        }
        assert_eq!([418, 502].map(|http| Status::from(http).http()), [400, 503]);
    }
}

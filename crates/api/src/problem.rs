//! What went wrong, on the wire: the one table from an error to its status, its code and its exit code.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use threadkeep_engine::Error;
use threadkeep_model::{Invalid, Lifecycle, LifecycleAction, Timestamp, Uuid, Version};

use crate::ErrorCode;

/// What went wrong: `{code, detail, hint?, field?, currentVersion?, approvalId?, holder?, expiresAt?, lifecycle?, allowed?}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// How bad, and whose turn it is. An answer says it beside the problem.
    #[serde(skip_serializing, default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub status: Status,
    /// The stable code.
    #[cfg_attr(feature = "schema", schemars(with = "ErrorCode"))]
    pub code: Cow<'static, str>,
    /// What happened, to what, in a sentence.
    pub detail: Box<str>,
    /// What to do next, where there is something better than the detail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Box<str>>,
    /// Which field of the request is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Box<str>>,
    /// Where the thread is, for a conflict.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Life {
    /// Its state.
    pub lifecycle: Lifecycle,
    /// The actions of `lifecycle` that it allows; none if it is over.
    pub allowed: Vec<LifecycleAction>,
}

/// Who is a thread's exclusive writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Whoever asks may not do that.
    Forbidden,
    /// What it names is not there.
    NotFound,
    /// What it names was there, and is not any more.
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
    /// Too often.
    RateLimited,
    /// Well-formed, but it contradicts an earlier request.
    Unprocessable,
    /// Never by input.
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

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let field = if let Error::Invalid(invalid) = error { Some(invalid.field.clone().into()) } else { None };
        let current_version = match error {
            Error::VersionConflict { current, .. }
            | Error::ValueConflict { current, .. }
            | Error::FileExists { current, .. }
            | Error::VersionInFuture { current, .. } => Some(*current),
            _ => None,
        };
        let writer = match error {
            Error::WriterHeld { by } => Some(by),
            Error::WriterLost { to } => to.as_ref(),
            _ => None,
        };
        let approval_id = match error {
            Error::ApprovalRequired { approval, .. } => Some(Box::new(*approval)),
            _ => None,
        };
        let code = ErrorCode::of(error);
        debug_assert_eq!(code.as_str(), error.code(), "the wire and the engine say the same");
        Self {
            status: code.status(),
            code: code.as_str().into(),
            detail: error.to_string().into(),
            hint: error.hint().map(Into::into),
            field,
            current_version,
            approval_id,
            writer: writer.map(|lease| Box::new(HeldBy { holder: lease.holder.clone(), expires_at: lease.until })),
            life: error.lifecycle().map(|lifecycle| Box::new(Life { lifecycle, allowed: lifecycle.allowed() })),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        Self::from(Error::from(invalid))
    }
}

#[cfg(test)]
mod tests {
    use threadkeep_model::{Code, Position};
    use threadkeep_store::StoreError;

    use super::*;

    #[test]
    fn an_error_has_the_status_code_and_exit_code_of_the_table() {
        let invalid = |code| Error::from(Invalid::new(code, "field", "rule"));
        let message = "M-00000000000000011".parse().expect("a message id");
        let thread: threadkeep_model::ThreadName = "4e36442142ee".parse().expect("a short id");
        let id: Uuid = "5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("a uuid");
        for (error, http, code, exit) in [
            (invalid(Code::InvalidThreadId), 400, "invalid_thread_id", 2),
            (invalid(Code::JsonTooDeep), 400, "json_too_deep", 2),
            (invalid(Code::TooLarge), 413, "too_large", 2),
            (Error::ThreadNotFound { thread }, 404, "thread_not_found", 3),
            (Error::MessageNotFound { message }, 404, "message_not_found", 3),
            (Error::WriterLost { to: None }, 409, "writer_lost", 5),
            (Error::WriterDisposed, 409, "writer_disposed", 5),
            (Error::UpdatesRefused { updates: Vec::new() }, 409, "updates_refused", 5),
            (Error::WriteBehindFull { updates: 1, bytes: 1 }, 503, "write_behind_full", 6),
            (Error::FlushTimeout { target: Position(2), durable: Position(1), pending: 1 }, 503, "flush_timeout", 6),
            (Error::ThreadSuspended, 409, "thread_suspended", 5),
            (Error::NothingToUndo, 409, "nothing_to_undo", 5),
            (Error::ReferenceGone { reference: id, what: "x".into() }, 410, "reference_gone", 3),
            (Error::ApprovalRequired { approval: id, capability: "deploy".into() }, 403, "approval_required", 4),
            (Error::CopyDiffers { what: "x".into() }, 409, "copy_differs", 5),
            (Error::IdempotencyKeyReused, 422, "idempotency_key_reused", 2),
            (StoreError::DiskFull.into(), 507, "disk_full", 6),
            (StoreError::Failed { what: "EIO".into() }.into(), 503, "storage_failed", 6),
            (StoreError::corrupt("x").into(), 500, "store_damaged", 1),
        ] {
            let problem = Problem::from(&error);
            let got = (problem.status.http(), problem.code.as_ref(), problem.status.exit());
            assert_eq!(got, (http, code, exit), "{error}");
        }
    }

    #[test]
    fn a_status_is_read_as_it_is_told() {
        for http in [400, 401, 403, 404, 405, 406, 408, 409, 410, 412, 413, 414, 415, 422, 429, 431, 500, 503, 507] {
            assert_eq!(Status::from(http).http(), http);
        }
        assert_eq!([418, 502].map(|http| Status::from(http).http()), [400, 503]);
    }

    #[test]
    fn a_problem_is_read_as_it_is_told() {
        let by = threadkeep_model::Lease { token: 1, holder: "ann".into(), until: Timestamp::from_micros(0) };
        for error in [
            Error::WriterHeld { by },
            Error::ThreadSuspended,
            Error::ArchivedForGood,
            Error::VersionConflict { expected: Position(3), current: Position(7) },
            Error::ApprovalRequired {
                approval: "5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("a uuid"),
                capability: "deploy".into(),
            },
            Error::from(Invalid::new(Code::TooLarge, "field", "rule")),
        ] {
            let problem = Problem::from(&error);
            let mut told = serde_json::to_value(&problem).expect("json");
            told["status"] = problem.status.http().into();
            told["requestId"] = "1".into();
            assert_eq!(serde_json::from_value::<Problem>(told).expect("a problem"), problem);
        }
    }

    #[test]
    fn a_thread_that_is_held_says_by_whom_and_until_when() {
        let by = threadkeep_model::Lease { token: 4242, holder: "ann".into(), until: Timestamp::from_micros(0) };
        let problem = serde_json::to_value(Problem::from(Error::WriterHeld { by })).expect("json");
        assert_eq!((&problem["holder"], &problem["expiresAt"]), (&"ann".into(), &"1970-01-01T00:00:00.000000Z".into()));
        assert!(!problem.to_string().contains("4242"), "the token is the holder's own: {problem}");
    }

    #[test]
    fn a_move_that_leads_nowhere_says_where_the_thread_is_and_what_it_allows() {
        let refused = Lifecycle::Suspended.after(LifecycleAction::Done).expect_err("it rests");
        let problem = serde_json::to_value(Problem::from(Error::from(refused))).expect("json");
        assert_eq!(problem["code"], "invalid_transition");
        assert_eq!(problem["detail"], "the thread is suspended, where 'done' leads nowhere: it allows resume");
        assert_eq!((&problem["lifecycle"], &problem["allowed"]), (&"suspended".into(), &serde_json::json!(["resume"])));
    }

    #[test]
    fn a_conflict_carries_the_current_version_and_nothing_is_printed_that_is_not_there() {
        let problem = Problem::from(Error::VersionConflict { expected: Position(3), current: Position(7) });
        assert_eq!(
            serde_json::to_string(&problem).expect("json"),
            r#"{"code":"version_conflict","detail":"the thread is at version 7, not 3: read it again, then retry","currentVersion":7}"#
        );
    }
}

//! Why a request did not succeed: refused by the server, never arrived, or answered with something else.

use threadkeep_calls::{ErrorCode, Problem, Status};
use threadkeep_model::Invalid;

/// Why a request did not succeed. Neither its text nor its `Debug` holds a key.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server said no, and why.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    /// Nothing was sent: there is no server, or no way to it.
    #[error("the server at {server} cannot be reached: {what}")]
    Unreachable {
        /// Where it was looked for.
        server: String,
        /// The reason, in a few words.
        what: String,
    },
    /// The connection broke after something was sent. A read can be repeated; whether a write was done is not known.
    #[error("the connection to {server} broke: {what}; it is not known whether the request was carried out")]
    Broken {
        /// The address of the server.
        server: String,
        /// The reason, in a few words.
        what: String,
    },
    /// The answer is none that this client understands.
    #[error("the answer of {server} is not that of a Threadkeep server: {what}")]
    NotUnderstood {
        /// The address that answered.
        server: String,
        /// Why it is not understood.
        what: String,
    },
    /// The request is invalid; nothing was sent.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl Error {
    /// The stable code: the server's own, or one of `unreachable`, `fate_unknown`, `not_understood`.
    pub fn code(&self) -> &str {
        match self {
            Self::Refused(problem) => &problem.code,
            Self::Unreachable { .. } => "unreachable",
            Self::Broken { .. } => "fate_unknown",
            Self::NotUnderstood { .. } => "not_understood",
            Self::Invalid(invalid) => invalid.code.as_str(),
        }
    }

    /// Whether the server, or its store, is away for the moment: a repeatable request may succeed later.
    pub fn is_away(&self) -> bool {
        match self {
            Self::Refused(problem) => problem.status == Status::Unavailable && problem.code == "unavailable",
            Self::Unreachable { .. } | Self::Broken { .. } => true,
            Self::NotUnderstood { .. } | Self::Invalid(_) => false,
        }
    }

    /// Whether this is the server's refusal with this code.
    pub fn is_refused_as(&self, code: &str) -> bool {
        matches!(self, Self::Refused(problem) if problem.code == code)
    }
}

impl From<Error> for Problem {
    /// The problem as surfaces show it, with advice.
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        match error {
            Error::Refused(problem) => *problem,
            Error::Unreachable { .. } => Problem::new(Status::Unavailable, ErrorCode::Unreachable, detail)
                .hint("see that the server runs and the address is right, then try again"),
            Error::Broken { .. } => Problem::new(Status::Unavailable, ErrorCode::FateUnknown, detail)
                .hint("see whether it was done before you send it again"),
            Error::NotUnderstood { .. } => Problem::new(Status::Internal, ErrorCode::NotUnderstood, detail)
                .hint("see that the address is a Threadkeep server's, and of the same version"),
            Error::Invalid(invalid) => invalid.into(),
        }
    }
}

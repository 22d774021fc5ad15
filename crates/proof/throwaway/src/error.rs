//! Errors, as sentences for readers of the test output.

use std::fmt;

/// Says what was tried or run, and what came of it.
pub struct Error(String);

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Error {
        Error(message.into())
    }

    /// `what` failed because of `source` and all that is behind it.
    pub(crate) fn because(what: impl fmt::Display, source: &dyn std::error::Error) -> Error {
        let causes = std::iter::successors(source.source(), |cause| cause.source());
        Error(causes.fold(format!("{what}: {source}"), |message, cause| format!("{message}: {cause}")))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The same as [`Display`](fmt::Display): `expect` prints this, and stderr reads better with its lines kept.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

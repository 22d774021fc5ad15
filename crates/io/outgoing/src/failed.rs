//! Why there is no answer.

/// Why there is no answer, and what the caller may conclude from that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Failed {
    /// Whether the server may have received something. If not, the request was surely not carried out.
    pub was_sent: bool,
    /// Whether the same request will fail again, such as by a certificate that is not trusted.
    pub for_good: bool,
    /// A message for people. It contains no header and no query.
    pub what: String,
}

impl Failed {
    /// A failure before anything was sent.
    pub fn before(what: impl ToString) -> Self {
        Self { was_sent: false, for_good: false, what: what.to_string() }
    }

    /// A failure after something may have been sent.
    pub fn after(what: impl ToString) -> Self {
        Self { was_sent: true, for_good: false, what: what.to_string() }
    }

    /// The same failure, which repeating the request does not mend.
    #[must_use]
    pub fn for_good(self) -> Self {
        Self { for_good: true, ..self }
    }
}

//! The exclusive writer of a thread: a lease with an end, and a token that fences off whoever held it before.

use crate::{Class, Expect, Kind, Refusal, ThreadCommit, Timestamp, Write};

/// Who alone may change a thread's conversation, and until when.
///
/// A lease guards conversation; changes of the record and back-links of relationships by others pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Counts up with each lease on the thread and is never given twice: a late write under an older one is refused.
    pub token: u64,
    /// Who holds it, in words for people.
    pub holder: String,
    /// When it ends unless it is renewed.
    pub until: Timestamp,
}

impl Lease {
    /// How long a lease lasts unless its holder asks for something else.
    pub const TTL_MICROS: i64 = 30 * 1_000_000;
    /// The shortest lease.
    pub const TTL_MICROS_MIN: i64 = 100_000;
    /// The longest lease.
    pub const TTL_MICROS_MAX: i64 = 24 * 3_600 * 1_000_000;
    /// Longest name of a holder, in bytes.
    pub const HOLDER_BYTES_MAX: usize = 255;

    /// Whether it still holds.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.until > now
    }

    /// Whether a commit may go ahead on a thread whose last lease is `last`.
    ///
    /// # Errors
    /// [`Refusal::WriterHeld`] if somebody else holds the lease, and the commit is not of a kind that passes;
    /// [`Refusal::WriterLost`] if the commit comes under a lease that ended.
    pub fn admit(last: Option<&Lease>, commit: &ThreadCommit, now: Timestamp) -> Result<(), Refusal> {
        let (expect, guarded) = match commit {
            ThreadCommit::Create(_) => return Ok(()),
            ThreadCommit::Write(write) => (&write.expect, write.is_conversation()),
            ThreadCommit::Delete { expect, .. } => (expect, true),
        };
        let held = last.filter(|lease| lease.holds(now));
        match (expect.lease, held) {
            (Some(token), Some(lease)) if lease.token == token => Ok(()),
            (Some(_), other) => Err(Refusal::WriterLost { to: other.cloned() }),
            (None, Some(lease)) if guarded => Err(Refusal::WriterHeld { by: lease.clone() }),
            (None, _) => Ok(()),
        }
    }
}

impl Write {
    /// Whether it changes what the thread says, or begins to, or whose it is, so that a lease keeps others from it.
    pub fn is_conversation(&self) -> bool {
        let begins = |kind: Kind| matches!(kind, Kind::ExecutionBegan | Kind::OwnerChanged);
        let guarded = |kind: Kind| kind.class() != Class::Record || begins(kind);
        self.branch.is_some() || self.entries.iter().any(|entry| guarded(entry.kind))
    }
}

impl Expect {
    /// The era at which something was decided, and the version its caller expects.
    pub fn at(era: u64, version: Option<crate::Version>) -> Self {
        Self { era: Some(era), version, lease: None }
    }
}

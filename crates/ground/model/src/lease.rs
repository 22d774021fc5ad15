//! The exclusive writer of a thread: a lease with an end, and a token that fences off earlier holders.

use crate::Timestamp;

/// The right to be the only writer of a thread's conversation, until it ends.
///
/// Others may still change the record and relate threads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Counts up with each lease on the thread and is never given twice: a late write under an older one is refused.
    pub token: u64,
    /// The name of its holder, for people.
    pub holder: String,
    /// When it ends unless it is renewed.
    pub until: Timestamp,
}

impl Lease {
    /// How long a lease lasts unless its holder asks for another time.
    pub const TTL_MICROS: i64 = 30 * 1_000_000;
    /// The shortest lease that can be asked for.
    pub const TTL_MICROS_MIN: i64 = 100_000;
    /// The longest lease that can be asked for.
    pub const TTL_MICROS_MAX: i64 = 24 * 3_600 * 1_000_000;
    /// Longest name of a holder, in bytes.
    pub const HOLDER_BYTES_MAX: usize = 255;

    /// Whether it still holds.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.until > now
    }
}

//! The exclusive writer of a thread: a lease with an end, and a token that fences off earlier holders.

use std::fmt;
use std::str::FromStr;

use crate::text::as_text;
use crate::{Invalid, Timestamp};

/// The token of a lease: 63 random bits, which only its holder knows. As text it has 16 hex digits.
///
/// It is a number, so that a comparison takes the same time wherever two of them differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LeaseToken(u64);

impl LeaseToken {
    const MASK: u64 = u64::MAX >> 1;

    /// A token from 64 bits of chance.
    pub fn from_chance(bits: u64) -> Self {
        Self((bits & Self::MASK).max(1))
    }

    /// The token by its bits, as a store kept them.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits & Self::MASK)
    }

    /// The bits of the token.
    pub fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for LeaseToken {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let read = u64::from_str_radix(text, 16).ok().map(Self::from_bits).filter(|token| token.to_string() == text);
        read.ok_or_else(|| Invalid::parameter("Threadkeep-Writer", "is not the token of a lease: 16 hex digits"))
    }
}

impl fmt::Debug for LeaseToken {
    /// Logs and panics do not show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaseToken(…)")
    }
}

as_text!(LeaseToken);

/// The right to be the only writer of a thread's conversation, until it ends.
///
/// Others may still change the record and relate threads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Drawn anew for each lease: a late write under an older one is refused, and no caller can guess it.
    pub token: LeaseToken,
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

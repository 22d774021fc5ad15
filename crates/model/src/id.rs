//! Names of things: threads (two spellings of one identity), segments, messages.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Code, Invalid, Position};

/// The identity of a thread: `T-` and a uuid, kept in lower case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(u128);

/// The short spelling of a thread's identity: the last group of its uuid, 12 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShortId(u64);

/// A thread as somebody named it: by its full or by its short id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThreadName {
    /// `T-5928a90d-d53b-488f-a829-4e36442142ee`
    Full(ThreadId),
    /// `4e36442142ee`
    Short(ShortId),
}

const SHORT_BITS: u32 = 48;
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
const THREAD_ID_RULE: &str = "is not a thread id: T- and a uuid in hex, such as T-5928a90d-d53b-488f-a829-4e36442142ee, \
                              or the 12 lower-case hex digits of its last group";

impl ThreadId {
    /// A random (version 4) id from 128 bits of chance.
    pub fn from_chance(bits: u128) -> Self {
        const VERSION: u128 = 0xF << 76;
        const VARIANT: u128 = 0b11 << 62;
        Self((bits & !VERSION & !VARIANT) | (0x4 << 76) | (0b10 << 62))
    }

    /// The id by the 128 bits of its uuid.
    pub fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// The id by its short id and the rest, as stores keep it.
    pub fn from_parts(short: ShortId, rest: [u8; 10]) -> Self {
        let mut bytes = [0; 16];
        bytes[6..].copy_from_slice(&rest);
        Self((u128::from_be_bytes(bytes) << SHORT_BITS) | u128::from(short.0))
    }

    /// The 80 bits that are not in the short id.
    pub fn rest(self) -> [u8; 10] {
        let mut rest = [0; 10];
        rest.copy_from_slice(&(self.0 >> SHORT_BITS).to_be_bytes()[6..]);
        rest
    }

    /// The 128 bits of the uuid.
    pub fn bits(self) -> u128 {
        self.0
    }

    /// The short spelling.
    pub fn short(self) -> ShortId {
        ShortId((self.0 & ((1 << SHORT_BITS) - 1)) as u64)
    }
}

impl ShortId {
    /// The short id by its 48 bits.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits & ((1 << SHORT_BITS) - 1))
    }

    /// The 48 bits of the short id.
    pub fn bits(self) -> u64 {
        self.0
    }
}

impl ThreadName {
    /// The short id, which both spellings have.
    pub fn short(self) -> ShortId {
        match self {
            Self::Full(id) => id.short(),
            Self::Short(id) => id,
        }
    }

    /// Whether this names `id`.
    pub fn names(self, id: ThreadId) -> bool {
        match self {
            Self::Full(full) => full == id,
            Self::Short(short) => short == id.short(),
        }
    }
}

impl From<ThreadId> for ThreadName {
    fn from(id: ThreadId) -> Self {
        Self::Full(id)
    }
}

fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().count() > 60 {
        shown.push('…');
    }
    shown
}

fn not_a_thread_id(text: &str) -> Invalid {
    Invalid::new(Code::InvalidThreadId, "threadId", format!("'{}' {THREAD_ID_RULE}", shown(text)))
}

impl FromStr for ThreadId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let uuid = text.strip_prefix("T-").ok_or_else(|| not_a_thread_id(text))?;
        let groups: Vec<&str> = uuid.split('-').collect();
        let well_formed = groups.len() == UUID_GROUPS.len()
            && groups
                .iter()
                .zip(UUID_GROUPS)
                .all(|(group, length)| group.len() == length && group.bytes().all(|b| b.is_ascii_hexdigit()));
        if !well_formed {
            return Err(not_a_thread_id(text));
        }
        u128::from_str_radix(&groups.concat(), 16).map(Self).map_err(|_| not_a_thread_id(text))
    }
}

impl FromStr for ShortId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let well_formed = text.len() == 12 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !well_formed {
            return Err(not_a_thread_id(text));
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| not_a_thread_id(text))
    }
}

impl FromStr for ThreadName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.starts_with("T-") { text.parse().map(Self::Full) } else { text.parse().map(Self::Short) }
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = self.0;
        write!(
            f,
            "T-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            (b >> 96) as u32,
            (b >> 80) as u16,
            (b >> 64) as u16,
            (b >> 48) as u16,
            b & ((1 << SHORT_BITS) - 1)
        )
    }
}

impl fmt::Display for ShortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012x}", self.0)
    }
}

impl fmt::Display for ThreadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(id) => id.fmt(f),
            Self::Short(id) => id.fmt(f),
        }
    }
}

/// The identity of a segment: 63 random bits, never zero, the same in every store it is copied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(u64);

impl SegmentId {
    const MASK: u64 = u64::MAX >> 1;

    /// An id from 64 bits of chance.
    pub fn from_chance(bits: u64) -> Self {
        Self((bits & Self::MASK).max(1))
    }

    /// The id by its bits, as a store kept them.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits & Self::MASK)
    }

    /// The bits of the id.
    pub fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for SegmentId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let rule = || Invalid::body("segment", format!("'{}' is not 16 lower-case hex digits", shown(text)));
        if text.len() != 16 {
            return Err(rule());
        }
        u64::from_str_radix(text, 16).map(Self::from_bits).map_err(|_| rule())
    }
}

/// The identity of a message: the place where it first entered the log. The same in every fork.
///
/// As text it is opaque to clients: `M-` and hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The segment that holds the message's first entry.
    pub segment: SegmentId,
    /// The position of that entry.
    pub position: Position,
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "M-{}{:x}", self.segment, self.position.0)
    }
}

impl FromStr for MessageId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let rule = || {
            Invalid::new(
                Code::InvalidMessageId,
                "messageId",
                format!("'{}' is not a message id: M- and hex digits, as messages carry it", shown(text)),
            )
        };
        let digits = text.strip_prefix("M-").ok_or_else(rule)?;
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if digits.len() <= 16 || digits.len() > 32 || !digits.bytes().all(hex) {
            return Err(rule());
        }
        let (segment, position) = digits.split_at(16);
        let position = u64::from_str_radix(position, 16).map_err(|_| rule())?;
        Ok(Self { segment: segment.parse().map_err(|_| rule())?, position: Position(position) })
    }
}

macro_rules! as_text {
    ($($name:ty),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
as_text!(ThreadId, ShortId, SegmentId, MessageId);

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for ShortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_name_the_same_thread() {
        let id: ThreadId = "T-5928A90D-d53b-488f-a829-4e36442142EE".parse().expect("a thread id");
        assert_eq!(id.to_string(), "T-5928a90d-d53b-488f-a829-4e36442142ee");
        let short: ThreadName = "4e36442142ee".parse().expect("a short id");
        assert!(short.names(id));
        assert!(ThreadName::from(id).names(id));
    }

    #[test]
    fn a_malformed_thread_id_names_the_rule() {
        for text in [
            "",
            "T-",
            "t-5928a90d-d53b-488f-a829-4e36442142ee",
            "T-5928a90dd53b488fa8294e36442142ee",
            "T-5928a90d-d53b-488f-a829-4e36442142eg",
            "T-5928a90d-d53b-488f-a829-4e36442142ee ",
            "T-+928a90d-d53b-488f-a829-4e36442142ee",
            "4E36442142EE",
            "4e36442142e",
            "+e36442142ee",
            "Ⅷe36442142e",
        ] {
            let error = text.parse::<ThreadName>().expect_err(text);
            assert_eq!(error.code, Code::InvalidThreadId);
            assert!(error.rule.contains("T- and a uuid"), "{error}");
        }
    }

    #[test]
    fn chance_gives_version_4_uuids() {
        assert_eq!(ThreadId::from_chance(u128::MAX).to_string(), "T-ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(ThreadId::from_chance(0).to_string(), "T-00000000-0000-4000-8000-000000000000");
    }

    #[test]
    fn a_message_id_survives_its_text() {
        let id = MessageId { segment: SegmentId::from_chance(u64::MAX), position: Position(300) };
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["M-", "M-7fffffffffffffff", "x", "M-7fffffffffffffff0000000000000000000", "M-7FFFFFFFFFFFFFFF1"] {
            assert_eq!(text.parse::<MessageId>().expect_err(text).code, Code::InvalidMessageId);
        }
    }
}

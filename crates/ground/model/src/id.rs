//! Ids of threads (two spellings of one identity), segments and messages.

use std::fmt;
use std::str::FromStr;

use crate::text::as_text;
use crate::{Code, Invalid, Position};

/// The identity of a thread: `T-` and a uuid, kept in lower case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(u128);

/// The short spelling of a thread's identity: the last group of its uuid, 12 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShortId(u64);

/// A thread as a caller names it: by its full or by its short id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThreadName {
    /// The full id, such as `T-5928a90d-d53b-488f-a829-4e36442142ee`.
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
    pub const fn from_bits(bits: u128) -> Self {
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

    /// The short spelling of the same identity.
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
        let read = u64::from_str_radix(text, 16).map(Self::from_bits).map_err(|_| rule())?;
        // An id has one spelling: no other digits, and no bits that are left unread.
        if read.to_string() == text { Ok(read) } else { Err(rule()) }
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
        let (segment, position) = digits.split_at_checked(16).ok_or_else(rule)?;
        let position = u64::from_str_radix(position, 16).map_err(|_| rule())?;
        let read = Self { segment: segment.parse().map_err(|_| rule())?, position: Position(position) };
        if read.to_string() == text { Ok(read) } else { Err(rule()) }
    }
}

/// A message that waits or waited in the queue, by the place where it was queued. It keeps this id when it is
/// delivered.
///
/// As text it is `queued-` and a uuid (version 8: the place in its free bits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuedId(pub MessageId);

/// Bits of a uuid of version 8 that are free: 64 above the version and 58 below the variant hold a place, which has 63
/// bits of a segment and fewer than 58 of a position.
const QUEUED_POSITION_BITS: u32 = 58;

impl QueuedId {
    fn to_uuid(self) -> u128 {
        let (segment, position) = (u128::from(self.0.segment.bits()), u128::from(self.0.position.0));
        let free = (segment << QUEUED_POSITION_BITS) | (position & ((1 << QUEUED_POSITION_BITS) - 1));
        // 48 bits, version, 12 bits, variant, 62 bits.
        let (high, middle, low) = (free >> 74, (free >> 62) & 0xFFF, free & ((1 << 62) - 1));
        (high << 80) | (0x8 << 76) | (middle << 64) | (0b10 << 62) | low
    }

    fn from_uuid(uuid: u128) -> Option<Self> {
        let shaped = (uuid >> 76) & 0xF == 0x8 && (uuid >> 62) & 0b11 == 0b10;
        let free = ((uuid >> 80) << 74) | (((uuid >> 64) & 0xFFF) << 62) | (uuid & ((1 << 62) - 1));
        let segment = u64::try_from(free >> QUEUED_POSITION_BITS).ok()?;
        let position = Position((free & ((1 << QUEUED_POSITION_BITS) - 1)) as u64);
        let read = Self(MessageId { segment: SegmentId::from_bits(segment), position });
        // All bits are read, so that an id has one spelling.
        (shaped && read.to_uuid() == uuid).then_some(read)
    }
}

impl fmt::Display for QueuedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "queued-{}", Uuid(self.to_uuid()))
    }
}

impl FromStr for QueuedId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let rule = || {
            let rule = format!("'{}' is not a queued message: queued- and a uuid, as the queue gave it", shown(text));
            Invalid::new(Code::InvalidMessageId, "queuedId", rule)
        };
        let uuid: Uuid = text.strip_prefix("queued-").ok_or_else(rule)?.parse().map_err(|_| rule())?;
        Self::from_uuid(uuid.0).ok_or_else(rule)
    }
}

/// A message as a caller names it: by its place in the log, or by the name it had in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageName {
    /// The id of a message, `M-…`.
    Place(MessageId),
    /// `queued-…`
    Queued(QueuedId),
}

impl From<MessageId> for MessageName {
    fn from(id: MessageId) -> Self {
        Self::Place(id)
    }
}

impl From<QueuedId> for MessageName {
    fn from(id: QueuedId) -> Self {
        Self::Queued(id)
    }
}

impl fmt::Display for MessageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(id) => id.fmt(f),
            Self::Queued(id) => id.fmt(f),
        }
    }
}

impl FromStr for MessageName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.starts_with("queued-") { text.parse().map(Self::Queued) } else { text.parse().map(Self::Place) }
    }
}

/// A uuid: the id of runs, references, effects and other things without an id type of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(u128);

impl Uuid {
    /// A random (version 4) uuid from 128 bits of chance.
    pub fn from_chance(bits: u128) -> Self {
        Self(ThreadId::from_chance(bits).0)
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = ThreadId(self.0).to_string();
        f.write_str(text.strip_prefix("T-").unwrap_or(&text))
    }
}

impl FromStr for Uuid {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let rule = || Invalid::parameter("id", format!("'{}' is not a uuid", shown(text)));
        format!("T-{text}").parse::<ThreadId>().map(|id| Self(id.0)).map_err(|_| rule())
    }
}

as_text!(ThreadId, ShortId, ThreadName, SegmentId, MessageId, MessageName, QueuedId, Uuid);

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
    fn a_queued_id_survives_its_text_and_is_a_uuid() {
        for (segment, position) in [(u64::MAX, 1), (1, (1 << 57) + 5), (0x0123_4567_89ab_cdef, 300)] {
            let place = MessageId { segment: SegmentId::from_chance(segment), position: Position(position) };
            let text = QueuedId(place).to_string();
            assert_eq!(text.parse(), Ok(QueuedId(place)), "{text}");
            assert_eq!(text.parse(), Ok(MessageName::Queued(QueuedId(place))));
            let uuid = text.strip_prefix("queued-").expect("the prefix");
            assert_eq!((uuid.len(), &uuid[14..15]), (36, "8"), "{text}");
        }
        let odd = "queued-ffffffff-ffff-8fff-bc00-000000000001";
        for text in ["queued-", "queued-1", "queued-5928a90d-d53b-488f-a829-4e36442142ee", "x", odd] {
            assert_eq!(text.parse::<QueuedId>().expect_err(text).code, Code::InvalidMessageId);
        }
    }

    #[test]
    fn a_message_id_survives_its_text() {
        let id = MessageId { segment: SegmentId::from_chance(u64::MAX), position: Position(300) };
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in [
            "M-",
            "M-7fffffffffffffff",
            "x",
            "M-7fffffffffffffff0000000000000000000",
            "M-7FFFFFFFFFFFFFFF1",
            "M-ffffffffffffffff12c",
            "M-7fffffffffffffff012c",
            "M-+fffffffffffffff12c",
            "M-7fffffffffffffff+12c",
            "M-é7fffffffffffff12c",
        ] {
            assert_eq!(text.parse::<MessageId>().expect_err(text).code, Code::InvalidMessageId);
        }
    }
}

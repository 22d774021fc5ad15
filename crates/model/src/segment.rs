//! The shape of the log: positions, segments, and the links between them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Class, Invalid, SegmentId, Tally, ThreadId, Timestamp};

/// A place in a thread's log. Positions only rise along a lineage, and 0 is before the first entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub u64);

/// Where a thread's head is: the position of its last entry.
pub type Version = Position;

impl Position {
    /// Before the first entry.
    pub const START: Position = Position(0);
    /// Above every entry: stores keep positions as signed 64-bit numbers.
    pub const END: Position = Position(i64::MAX as u64);

    /// The position after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The position before this one; [`Position::START`] stays.
    #[must_use]
    pub fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Position {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match text.parse() {
            Ok(number) if digits && number <= Self::END.0 => Ok(Self(number)),
            _ => Err(Invalid::parameter("version", format!("'{text}' is not a version: a whole number from 0"))),
        }
    }
}

/// Up to which position each kind of entry is seen, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Messages and events.
    pub messages: Position,
    /// Edits, deletions and insertions of messages.
    pub changes: Position,
    /// Files.
    pub files: Position,
    /// Values.
    pub values: Position,
}

impl Bounds {
    /// Every kind up to `position`.
    pub fn all(position: Position) -> Self {
        Self { messages: position, changes: position, files: position, values: position }
    }

    /// Whether agent and skills of what is seen are not seen with it: in a thread that was spawned with a part of its parent.
    pub fn hides_agents(self) -> bool {
        self.values == Position::START || self.values < self.messages.max(self.files)
    }

    /// For each kind the lower of the two.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        self.zip(other, Position::min)
    }

    /// For each kind the higher of the two.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.zip(other, Position::max)
    }

    fn zip(self, other: Self, pick: impl Fn(Position, Position) -> Position) -> Self {
        Self {
            messages: pick(self.messages, other.messages),
            changes: pick(self.changes, other.changes),
            files: pick(self.files, other.files),
            values: pick(self.values, other.values),
        }
    }

    /// The highest bound of any kind.
    pub fn highest(self) -> Position {
        self.messages.max(self.changes).max(self.files).max(self.values)
    }

    /// The bound for entries of `class`. Record entries are never seen through a link.
    pub fn of(self, class: Class) -> Position {
        match class {
            Class::Messages => self.messages,
            Class::Changes => self.changes,
            Class::Files => self.files,
            Class::Values => self.values,
            Class::Record => Position::START,
        }
    }
}

/// How a segment is joined to the one it grew from. Links never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The segment it grew from.
    pub parent: SegmentId,
    /// What it sees of the parent and of the parent's own lineage.
    pub bounds: Bounds,
}

/// A run of entries written by one thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Random, the same in every store.
    pub id: SegmentId,
    /// The one thread that wrote it, alive or not.
    pub thread: ThreadId,
    /// The position of its first entry, whether or not that entry was written yet.
    pub first: Position,
    /// What it grew from; none for a root.
    pub link: Option<Link>,
    /// The tally with which it began: what it inherited.
    pub birth: Tally,
    /// When it came into being.
    pub created: Timestamp,
}

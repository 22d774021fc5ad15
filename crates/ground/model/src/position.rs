//! Positions in a log, and the bounds up to which entries are seen.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Invalid;

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

/// The bound that applies to an entry when it is seen through a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Messages and other events.
    Messages,
    /// Edits, deletions and insertions.
    Changes,
    /// Files and directories of the tree.
    Files,
    /// Values, and with them the agent and its skills.
    Values,
    /// Facts of one thread alone, which no other thread inherits.
    Record,
}

/// The last position at which entries of each class are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each is the bound of the class of the same name")]
pub struct Bounds {
    pub messages: Position,
    pub changes: Position,
    pub files: Position,
    pub values: Position,
}

impl Bounds {
    /// Every class up to `position`.
    pub fn all(position: Position) -> Self {
        Self { messages: position, changes: position, files: position, values: position }
    }

    /// Whether the agent and skills are hidden although messages or files are seen: a thread that was spawned with a
    /// part of its parent does not inherit them.
    pub fn hides_agents(self) -> bool {
        self.values == Position::START || self.values < self.messages.max(self.files)
    }

    /// For each class the lower of the two.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        self.zip(other, Position::min)
    }

    /// For each class the higher of the two.
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

    /// The highest bound of any class.
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

//! What a reading gives: sessions, what was skipped, and where to go on.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::shape::Session;

/// Most skipped records that are named; the rest are only counted.
pub const SKIPPED_NAMED_MAX: usize = 100;

/// What was read of a source.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// The sessions, each with what was read of it.
    pub sessions: Vec<Session>,
    /// What could not be read.
    pub skipped: Skipped,
    /// Where the next reading of the same file goes on.
    pub resume: Resume,
}

/// Where a reading ended. The caller keeps it, and hands it to the next reading of the file once that has grown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resume {
    /// Bytes of the file that are settled. Messages after it were given too, and will be given again, perhaps longer.
    pub offset: u64,
    /// Lines before the offset.
    pub line: u64,
    /// The offset is within a line that is too long.
    #[serde(default)]
    pub in_long_line: bool,
    /// What the reader must remember of the lines before.
    #[serde(default)]
    pub state: Value,
}

/// A part of a file of lines: its bytes from `resume.offset` on.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// The name of the file, without its folders.
    pub name: &'a str,
    /// The bytes.
    pub bytes: &'a [u8],
    /// The bytes reach the end of the file.
    pub is_last: bool,
}

impl<'a> Window<'a> {
    /// A window that shows a whole file.
    pub fn whole(name: &'a str, bytes: &'a [u8]) -> Self {
        Self { name, bytes, is_last: true }
    }

    /// The name without its last extensions.
    pub(crate) fn stem(&self) -> &'a str {
        let name = self.name.rsplit(['/', '\\']).next().unwrap_or_default();
        name.strip_suffix(".zst").unwrap_or(name).rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}

/// What a reading skipped. Reasons never quote the source: it may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Number of records of this kind.
    pub count: u64,
    /// The first of them.
    pub named: Vec<SkippedRecord>,
}

/// A record that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedRecord {
    /// Where it is: `line 12`, `messages[3]`.
    pub place: String,
    /// Why it was skipped.
    pub reason: String,
}

impl Skipped {
    pub(crate) fn add(&mut self, place: impl fmt::Display, reason: impl fmt::Display) {
        self.count += 1;
        if self.named.len() < SKIPPED_NAMED_MAX {
            self.named.push(SkippedRecord { place: place.to_string(), reason: reason.to_string() });
        }
    }

    /// Adds what another reading skipped.
    pub fn extend(&mut self, other: Self) {
        self.count += other.count;
        let room = SKIPPED_NAMED_MAX.saturating_sub(self.named.len());
        self.named.extend(other.named.into_iter().take(room));
    }
}

/// A file that cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub(crate) String);

impl Refused {
    pub(crate) fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

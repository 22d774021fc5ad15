//! Running counts of the messages, files and values that a lineage shows. Every entry carries the tally after it, so
//! the counts at any version, after a fork or a rollback, are one seek.

use serde::{Deserialize, Serialize};

use crate::json::is_default;
use crate::{ChangeOp, Derived, DiffStats, Position, Role, Space, Timestamp};

/// Counts of the messages, files and values that a lineage shows at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Tally {
    /// Appended messages: the ordinal of the next one.
    pub ordinals: u64,
    /// Messages inserted before another one.
    pub inserted: u64,
    /// Messages that were deleted.
    pub deleted: u64,
    /// The position of the last edit, deletion or insertion; [`Position::START`] if there is none.
    pub last_change: Position,
    /// Messages of the assistant.
    pub steps: u64,
    /// Bytes of message bodies.
    pub bytes: u64,
    /// The time of the last message of the user.
    pub last_user: Option<Timestamp>,
    /// The position of the entry that holds the agent and skills; [`Position::START`] if they are those of the thread's
    /// creation.
    #[serde(skip_serializing_if = "is_default")]
    pub last_state: Position,
    /// Counts of files and values.
    #[serde(skip_serializing_if = "Work::is_none")]
    pub work: Work,
}

/// Counts of the files and values that a lineage shows at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Work {
    /// The position of the last change of files; [`Position::START`] if there is none.
    pub last_files: Position,
    /// The position of the last change of values; [`Position::START`] if there is none.
    pub last_values: Position,
    /// Bytes of content that the thread wrote to files. A rollback does not give them back.
    pub written: u64,
    /// How many files and lines changed.
    pub stats: DiffStats,
}

impl Work {
    /// Whether files and values were never touched.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The position of the last change in `space`.
    pub fn last(&self, space: Space) -> Position {
        match space {
            Space::Files => self.last_files,
            Space::Values => self.last_values,
        }
    }

    /// As numbers, in the order in which they are kept.
    pub fn numbers(&self) -> [u64; 9] {
        let stats = &self.stats;
        [
            self.last_files.0,
            self.last_values.0,
            self.written,
            stats.files_added,
            stats.files_changed,
            stats.files_removed,
            stats.lines_added,
            stats.lines_changed,
            stats.lines_removed,
        ]
    }

    /// Reads the numbers of [`Work::numbers`].
    pub fn from_numbers(numbers: [u64; 9]) -> Self {
        let [
            last_files,
            last_values,
            written,
            files_added,
            files_changed,
            files_removed,
            lines_added,
            lines_changed,
            lines_removed,
        ] = numbers;
        let stats = DiffStats { files_added, files_changed, files_removed, lines_added, lines_changed, lines_removed };
        Self { last_files: Position(last_files), last_values: Position(last_values), written, stats }
    }
}

/// Numbers that a tally is kept as: its own, and those of [`Work`].
const OWN_FIELDS: usize = 8;
const FIELDS: usize = OWN_FIELDS + 9;

impl Tally {
    /// How many messages are visible.
    pub fn messages(&self) -> u64 {
        (self.ordinals + self.inserted).saturating_sub(self.deleted)
    }

    /// Whether the index of a message is its ordinal: nothing was inserted or deleted.
    pub fn is_plain(&self) -> bool {
        self.inserted == 0 && self.deleted == 0
    }

    /// The tally after an entry at `position` that derives `derived` and weighs `bytes`.
    #[must_use]
    pub fn after(mut self, derived: &Derived, position: Position, time: Timestamp, bytes: u64) -> Self {
        match derived {
            Derived::Message { role, .. } | Derived::Delivered { role, .. } => {
                self.ordinals += 1;
                self.count_message(*role, time, bytes);
            }
            Derived::State => self.last_state = position,
            Derived::Change(change) => {
                self.last_change = position;
                match change.op {
                    ChangeOp::Insert { role } => {
                        self.inserted += 1;
                        self.count_message(role, time, bytes);
                    }
                    ChangeOp::Edit { .. } => {}
                    ChangeOp::Delete => self.deleted += change.targets.len() as u64,
                }
            }
            Derived::Cells { space, stats, bytes, .. } => {
                match space {
                    Space::Files => self.work.last_files = position,
                    Space::Values => self.work.last_values = position,
                }
                self.work.stats = self.work.stats.plus(*stats);
                self.work.written += bytes;
            }
            Derived::Relation { .. } | Derived::Checkpoint { .. } | Derived::Item { .. } | Derived::Nothing => {}
        }
        self
    }

    fn count_message(&mut self, role: Role, time: Timestamp, bytes: u64) {
        self.bytes += bytes;
        match role {
            Role::User => self.last_user = Some(time),
            Role::Assistant => self.steps += 1,
            Role::Info | Role::Tool | Role::System => {}
        }
    }

    /// The tally in a few bytes: one variable-length number a field, trailing zeros left out.
    pub fn encode(&self) -> Vec<u8> {
        let last_user = self.last_user.map_or(0, |time| time.as_micros().max(0) as u64 + 1);
        let mut fields = [0u64; FIELDS];
        fields[..OWN_FIELDS].copy_from_slice(&[
            self.ordinals,
            self.inserted,
            self.deleted,
            self.last_change.0,
            self.steps,
            self.bytes,
            last_user,
            self.last_state.0,
        ]);
        fields[OWN_FIELDS..].copy_from_slice(&self.work.numbers());
        let used = fields.iter().rposition(|&field| field != 0).map_or(0, |last| last + 1);
        let mut encoded = Vec::with_capacity(24);
        for &field in &fields[..used] {
            let mut rest = field;
            while rest >= 0x80 {
                encoded.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            encoded.push(rest as u8);
        }
        encoded
    }

    /// Reads the bytes of [`Tally::encode`], also of an older or newer program with fewer or more fields. `None` if
    /// they are damaged.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = [0u64; FIELDS];
        let mut rest = bytes.iter();
        let mut at = 0;
        while !rest.as_slice().is_empty() {
            let mut number = 0u64;
            let mut shift = 0;
            loop {
                let byte = *rest.next()?;
                number |= u64::from(byte & 0x7f).checked_shl(shift)?;
                if byte & 0x80 == 0 {
                    break;
                }
                shift += 7;
            }
            if let Some(field) = fields.get_mut(at) {
                *field = number;
            }
            at += 1;
        }
        let [ordinals, inserted, deleted, last_change, steps, bytes, last_user, last_state, work @ ..] = fields;
        let last_user = last_user.checked_sub(1).map(|micros| Timestamp::from_micros(micros as i64));
        let (last_change, last_state) = (Position(last_change), Position(last_state));
        let work = Work::from_numbers(work);
        Some(Self { ordinals, inserted, deleted, last_change, steps, bytes, last_user, last_state, work })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_survives_its_bytes() {
        let full = Tally {
            ordinals: 1,
            inserted: 200,
            deleted: 3,
            last_change: Position(1 << 40),
            steps: 0,
            bytes: u64::from(u32::MAX),
            last_user: Some(Timestamp::from_micros(1_800_000_000_000_000)),
            last_state: Position(9),
            work: Work::from_numbers([1, 0, 3, 4, 5, 6, 7, 8, 9]),
        };
        for tally in [Tally::default(), full, Tally { ordinals: 5, ..Tally::default() }] {
            assert_eq!(Tally::decode(&tally.encode()), Some(tally));
        }
        assert_eq!(Tally::decode(&[0x80]), None, "a number that does not end is damage");
        assert_eq!(Tally::decode(&[0xff; 12]), None, "a number that does not fit is damage");
    }
}

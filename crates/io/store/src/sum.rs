//! Checksums: a store compares what it reads with what was written.
//!
//! An entry has a checksum of its content, mixed with its place and time, so that a row in the wrong place is noticed
//! too. The mixing is an exclusive or, which a database can do by itself: it is the database that gives the place.
//! A row without a checksum was written by an earlier version, and is read as it is.

use bytes::Bytes;
use threadkeep_model::{
    Account, Actor, BlobId, Body, CellIs, Derived, Kind, MessageId, Position, Role, SegmentId, Timestamp,
};

use crate::{Registered, Result, StoreError, StoredEntry};

/// Bits that are left free below the time: a position and a time never cancel each other out.
const TIME_SHIFT: u32 = 12;

/// The checksum of an entry's content: all but its place, its time and its tally.
pub fn content_sum(kind: Kind, format: u8, by: (&Account, &Actor), cause: Option<&str>, body: &Body) -> i64 {
    let mut hasher = crc32fast::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    let (account, actor) = by;
    let has_cause = u8::from(cause.is_some());
    let (place, bytes): (u8, &[u8]) = match body {
        Body::Inline(bytes) => (0, bytes),
        Body::Blob(id) => (1, id.as_bytes()),
        Body::Absent => (2, &[]),
        // No row has it: an entry that is written without its damaged body stays damaged.
        Body::Damaged => (3, &[]),
    };
    add(&[kind.code(), format, actor.kind.code(), has_cause, place]);
    add(account.as_str().as_bytes());
    add(actor.name.as_bytes());
    add(cause.unwrap_or_default().as_bytes());
    add(bytes);
    i64::from(hasher.finalize())
}

/// The checksum of an entry with this content at its place.
pub fn entry_sum(content: i64, segment: SegmentId, position: Position, time: Timestamp) -> i64 {
    content ^ segment.bits().cast_signed() ^ position.0.cast_signed() ^ (time.as_micros() << TIME_SHIFT)
}

/// The checksum of some bytes at a numbered place, such as a chunk of a blob.
pub fn bytes_sum(bytes: &[u8], place: i64) -> i64 {
    i64::from(crc32fast::hash(bytes)) ^ place
}

/// The place of a chunk of a blob as one number.
pub fn chunk_place(blob: i64, n: i32) -> i64 {
    (blob << 20) | i64::from(n)
}

/// Refuses bytes that are not those that were written.
///
/// # Errors
/// [`StoreError::Corrupt`], which names `what`.
pub fn check_bytes(bytes: &[u8], place: i64, sum: Option<i64>, what: impl FnOnce() -> String) -> Result<()> {
    match sum {
        Some(sum) if sum != bytes_sum(bytes, place) => Err(StoreError::damaged(&what())),
        _ => Ok(()),
    }
}

/// Refuses the whole content of a blob unless it has the hash that is its name.
///
/// # Errors
/// [`StoreError::Corrupt`], which names the blob.
pub fn check_blob(id: BlobId, bytes: Bytes) -> Result<Bytes> {
    if BlobId::of(&bytes) == id { Ok(bytes) } else { Err(StoreError::damaged(&format!("blob {id}"))) }
}

/// Stands between a text and its checksum. No JSON has it, and no text that anybody types.
const SEAL: char = '\u{1f}';

/// A text with its checksum, for a column that holds it: `place` and `name` say where it belongs.
pub fn seal(text: &str, place: i64, name: &str) -> String {
    format!("{text}{SEAL}{:08x}", text_sum(text, place, name))
}

/// Reads what [`seal`] gave.
///
/// # Errors
/// The error that `damaged` gives, if it is another text, or one from another place.
pub fn unseal<'a>(sealed: &'a str, place: i64, name: &str, damaged: impl FnOnce() -> StoreError) -> Result<&'a str> {
    match sealed.rsplit_once(SEAL) {
        // Without a mark it is of an earlier version, unless only the mark is damaged.
        None if sum_at_end(sealed).is_some_and(|(text, sum)| sum == text_sum(text, place, name)) => Err(damaged()),
        None => Ok(sealed),
        Some((text, sum)) if u32::from_str_radix(sum, 16) == Ok(text_sum(text, place, name)) => Ok(text),
        Some(_) => Err(damaged()),
    }
}

/// A text and a checksum after one character that may be anything.
fn sum_at_end(sealed: &str) -> Option<(&str, u32)> {
    let (marked, sum) = sealed.split_at_checked(sealed.len().checked_sub(8)?)?;
    let mut text = marked.chars();
    text.next_back()?;
    Some((text.as_str(), u32::from_str_radix(sum, 16).ok()?))
}

/// The same, in the text's own memory.
fn unseal_owned(mut sealed: String, place: i64, name: &str, damaged: impl FnOnce() -> StoreError) -> Result<String> {
    let length = unseal(&sealed, place, name, damaged)?.len();
    sealed.truncate(length);
    Ok(sealed)
}

/// The place of an entry as one number; two entries of a segment never have the same.
fn number(segment: SegmentId, position: Position) -> i64 {
    segment.bits().cast_signed() ^ position.0.cast_signed()
}

/// A cell as it lies in its row: nothing for what is gone, an empty text for what is in the entry.
pub fn sealed_cell(is: &CellIs, segment: SegmentId, position: Position, name: &str) -> Option<String> {
    match is {
        CellIs::Gone => None,
        CellIs::There(text) => Some(seal(text, number(segment, position), name)),
        CellIs::InEntry => Some(String::new()),
    }
}

/// Reads what [`sealed_cell`] gave.
///
/// # Errors
/// [`StoreError::Corrupt`] if it is not what was written.
pub fn cell_is(sealed: Option<String>, segment: SegmentId, position: Position, name: &str) -> Result<CellIs> {
    let damaged = || StoreError::damaged_copy(&format!("'{name}' of entry {position} of segment {segment}"));
    Ok(match sealed {
        None => CellIs::Gone,
        Some(text) if text.is_empty() => CellIs::InEntry,
        Some(text) => CellIs::There(unseal_owned(text, number(segment, position), name, damaged)?),
    })
}

/// The comment of a relation as it lies in its row.
pub fn sealed_comment(comment: Option<&str>, segment: SegmentId, position: Position) -> Option<String> {
    comment.map(|comment| seal(comment, number(segment, position), ""))
}

/// Reads what [`sealed_comment`] gave.
///
/// # Errors
/// [`StoreError::Corrupt`] if it is not what was written.
pub fn comment_of(sealed: Option<String>, made: MessageId) -> Result<Option<String>> {
    let damaged =
        || StoreError::damaged_copy(&format!("the relation of entry {} of segment {}", made.position, made.segment));
    sealed.map(|text| unseal_owned(text, number(made.segment, made.position), "", damaged)).transpose()
}

impl Registered {
    /// Its JSON as it lies in its row.
    pub fn sealed(&self) -> String {
        seal(&self.json, self.kind.code().into(), &self.name())
    }

    /// The document from its row, compared with its checksum.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if it is not what was written.
    pub fn unsealed(mut self) -> Result<Self> {
        let damaged = || StoreError::damaged(&format!("document {} ({:?})", self.id, self.kind));
        let (sealed, name) = (std::mem::take(&mut self.json), self.name());
        self.json = unseal_owned(sealed, self.kind.code().into(), &name, damaged)?;
        Ok(self)
    }

    /// Who owns it is part of what is compared: a key must not change hands.
    fn name(&self) -> String {
        format!("{} {}", self.account.as_str(), self.id)
    }
}

fn text_sum(text: &str, place: i64, name: &str) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&place.to_le_bytes());
    hasher.update(&(name.len() as u64).to_le_bytes());
    hasher.update(name.as_bytes());
    hasher.update(text.as_bytes());
    hasher.finalize()
}

impl StoredEntry {
    /// The entry, compared with the checksum of its row. If they differ, its body is [`Body::Damaged`].
    #[must_use]
    pub fn checked(mut self, sum: Option<i64>) -> Self {
        let Some(sum) = sum else { return self };
        let by = (&*self.account, &*self.actor);
        let content = content_sum(self.kind, self.format, by, self.cause.as_deref(), &self.body);
        if entry_sum(content, self.segment, self.position, self.time) != sum {
            self.body = Body::Damaged;
        }
        self
    }

    /// What follows from an entry whose body is damaged, as far as its row tells: a message keeps its place in the
    /// conversation, where its damage is reported.
    pub fn derived_if_damaged(&self) -> Option<Derived> {
        let is_message = matches!(self.kind, Kind::MessageAppended | Kind::MessageDelivered);
        (is_message && self.body == Body::Damaged).then_some(Derived::Message {
            role: Role::User,
            silent: false,
            depth: 0,
        })
    }
}

impl StoreError {
    /// Data that is not what was written: what it is, and how to get it back.
    pub fn damaged(what: &str) -> Self {
        Self::corrupt(format!(
            "{what} is not what was written (its checksum differs); everything else can be read; get it back from a \
             backup: threadkeep --data NEW restore FILE"
        ))
    }

    /// A derived copy that is not what was written: what it is, and how to make it anew.
    pub fn damaged_copy(what: &str) -> Self {
        Self::corrupt(format!(
            "{what} is not what was written (its checksum differs); make it anew from the log: threadkeep doctor --repair"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flipped_bit_of_a_sealed_text_is_read_as_another_text() {
        let damaged = || StoreError::damaged("it");
        for text in ["", "{\"title\":\"Grüße\"}", "a comment #1234abcd"] {
            let sealed = seal(text, 7, "name");
            assert_eq!(unseal(&sealed, 7, "name", damaged).ok(), Some(text));
            assert!(unseal(&sealed, 8, "name", damaged).is_err() && unseal(&sealed, 7, "other", damaged).is_err());
            for bit in 0..sealed.len() * 8 {
                let mut bytes = sealed.clone().into_bytes();
                bytes[bit / 8] ^= 1 << (bit % 8);
                // A database refuses what is not text.
                let Ok(flipped) = String::from_utf8(bytes) else { continue };
                let read = unseal(&flipped, 7, "name", damaged);
                assert!(read.is_err() || read.is_ok_and(|read| read == text), "bit {bit} of {sealed:?}");
            }
        }
        assert_eq!(unseal("as written before", 7, "name", damaged).ok(), Some("as written before"));
    }
}

//! The format of exports: JSON Lines, with a version.
//!
//! The first line is the header, `{"threadkeep":"export","version":1}`. Then comes one line an item: `{"segment":…}`,
//! `{"blob":…}`, `{"entry":…}` or `{"thread":…}`. The last line, `{"end":{"items":N}}`, lets a reader notice a file
//! that was cut off. Where data was damaged, `{"lost":…}` names a blob and `"damaged":true` an entry that come without it. Bodies and records stand in it to the letter, so a round trip is exact; where one holds a line
//! break, it stands as a string.

mod held;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use threadkeep_model::{Account, Actor, BlobId, Link, Position, SegmentId, Tally, ThreadId, Timestamp, Version};

pub use held::HeldItems;
pub use read::{ExportEnd, ExportReader, export_end, is_export_end};
pub use write::ExportWriter;

/// The version of the format that this program writes and reads.
pub const EXPORT_VERSION: u64 = 1;
/// Most bytes of one line: room for the largest attachment, as base64.
pub const EXPORT_LINE_BYTES_MAX: usize = 128 << 20;

const FORMAT: &str = "export";

/// The first line. Newer versions may say more in it.
#[derive(Serialize, Deserialize)]
struct Header {
    threadkeep: String,
    version: u64,
}

/// Any line but the first.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line<'a> {
    #[serde(borrow)]
    Segment(SegmentLine<'a>),
    #[serde(borrow)]
    Blob(BlobLine<'a>),
    Lost(LostLine),
    #[serde(borrow)]
    Entry(EntryLine<'a>),
    #[serde(borrow)]
    Thread(ThreadLine<'a>),
    End(EndLine),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SegmentLine<'a> {
    id: SegmentId,
    thread_id: ThreadId,
    first: Position,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link: Option<Link>,
    #[serde(default, skip_serializing_if = "is_default")]
    birth: Tally,
    created: Timestamp,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    origin: Option<OriginLine<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OriginLine<'a> {
    account: Account,
    #[serde(borrow)]
    record: Verbatim<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlobLine<'a> {
    id: BlobId,
    #[serde(borrow)]
    data: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryLine<'a> {
    segment: SegmentId,
    position: Position,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    format: u8,
    time: Timestamp,
    account: Account,
    actor: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    tally: Tally,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    body: Option<Verbatim<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blob: Option<BlobId>,
    #[serde(default, skip_serializing_if = "is_false")]
    damaged: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LostLine {
    id: BlobId,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThreadLine<'a> {
    id: ThreadId,
    account: Account,
    version: Version,
    segment: SegmentId,
    era: u64,
    fence: u64,
    #[serde(borrow)]
    record: Verbatim<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndLine {
    items: u64,
    /// Entries and blobs that come without their data.
    #[serde(default, skip_serializing_if = "is_zero")]
    lost: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_default(tally: &Tally) -> bool {
    *tally == Tally::default()
}

/// A JSON object, to the letter. One that holds a line break stands as a string: a line has none.
enum Verbatim<'a> {
    Raw(&'a RawValue),
    Text(Cow<'a, str>),
}

impl<'a> Verbatim<'a> {
    fn new(text: &'a str) -> Result<Self, serde_json::Error> {
        if text.contains(['\n', '\r']) {
            Ok(Self::Text(text.into()))
        } else {
            serde_json::from_str(text).map(Self::Raw)
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Raw(raw) => raw.get(),
            Self::Text(text) => text,
        }
    }
}

impl Serialize for Verbatim<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Raw(raw) => raw.serialize(serializer),
            Self::Text(text) => text.serialize(serializer),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Verbatim<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'a RawValue>::deserialize(deserializer)?;
        if !raw.get().starts_with('"') {
            return Ok(Self::Raw(raw));
        }
        let text: String = serde_json::from_str(raw.get()).map_err(serde::de::Error::custom)?;
        Ok(Self::Text(text.into()))
    }
}

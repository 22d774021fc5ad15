//! The format of exports: JSON Lines, with a version.
//!
//! The first line is the header, `{"threadkeep":"export","version":1}`. Then comes one line an item: `{"segment":…}`,
//! `{"blob":…}`, `{"entry":…}` or `{"thread":…}`. The last line, `{"end":{"items":N}}`, lets a reader notice a file
//! that was cut off. Bodies and records stand in it to the letter, so a round trip is exact; where one holds a line
//! break, it stands as a string.

use std::borrow::Cow;
use std::io::{self, BufRead, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use threadkeep_engine::ExportItem;
use threadkeep_model::{
    Account, Actor, BlobId, Body, Invalid, Json, Kind, Link, Position, Record, Segment, SegmentId, Tally, ThreadId,
    Timestamp, Version,
};
use threadkeep_store::SegmentRow;

use crate::{Problem, Status, parse};

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

/// Writes an export.
pub struct ExportWriter<W: Write> {
    to: W,
    items: u64,
}

impl<W: Write> ExportWriter<W> {
    /// Begins an export.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(to: W) -> io::Result<Self> {
        let mut writer = Self { to, items: 0 };
        writer.line(&Header { threadkeep: FORMAT.to_owned(), version: EXPORT_VERSION })?;
        Ok(writer)
    }

    /// Writes one item.
    ///
    /// # Errors
    /// If it cannot be written, or is damaged.
    pub fn item(&mut self, item: &ExportItem) -> io::Result<()> {
        match item {
            ExportItem::Segment(SegmentRow { segment, origin }) => {
                let record = origin.as_ref().map(|(_, record)| record.encode()).unwrap_or_default();
                let origin = match origin {
                    Some((account, _)) => {
                        Some(OriginLine { account: account.clone(), record: Verbatim::new(&record)? })
                    }
                    None => None,
                };
                self.line(&Line::Segment(SegmentLine {
                    id: segment.id,
                    thread_id: segment.thread,
                    first: segment.first,
                    link: segment.link,
                    birth: segment.birth,
                    created: segment.created,
                    origin,
                }))?;
            }
            ExportItem::Blob(id, bytes) => {
                self.line(&Line::Blob(BlobLine { id: *id, data: STANDARD.encode(bytes).into() }))?;
            }
            ExportItem::Entry { segment, position, kind, format, time, account, actor, cause, tally, body } => {
                let (body, blob) = match body {
                    Body::Inline(bytes) => {
                        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
                        (Some(Verbatim::new(text)?), None)
                    }
                    Body::Blob(id) => (None, Some(*id)),
                    Body::Absent => (None, None),
                };
                self.line(&Line::Entry(EntryLine {
                    segment: *segment,
                    position: *position,
                    kind: kind.as_str().into(),
                    format: *format,
                    time: *time,
                    account: account.clone(),
                    actor: actor.clone(),
                    cause: cause.clone(),
                    tally: *tally,
                    body,
                    blob,
                }))?;
            }
            ExportItem::Thread { id, account, version, segment, era, fence, record } => {
                let record = record.encode();
                self.line(&Line::Thread(ThreadLine {
                    id: *id,
                    account: account.clone(),
                    version: *version,
                    segment: *segment,
                    era: *era,
                    fence: *fence,
                    record: Verbatim::new(&record)?,
                }))?;
            }
        }
        self.items += 1;
        Ok(())
    }

    /// Ends the export, and gives back what it was written to.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        let items = self.items;
        self.line(&Line::End(EndLine { items }))?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.to, line)?;
        self.to.write_all(b"\n")
    }
}

/// Reads an export, item by item.
pub struct ExportReader<R: BufRead> {
    from: R,
    line: Vec<u8>,
    number: u64,
    items: u64,
    ended: bool,
}

impl<R: BufRead> ExportReader<R> {
    /// Begins to read.
    ///
    /// # Errors
    /// If it is no export, or one of a version that this program does not read.
    pub fn new(from: R) -> Result<Self, Problem> {
        let mut reader = Self { from, line: Vec::new(), number: 0, items: 0, ended: false };
        let foreign = |_| Problem::new(Status::BadRequest, "invalid_export", "this is not a Threadkeep export");
        let header: Header = match reader.read_line()? {
            Some(line) => parse(line).map_err(foreign)?,
            None => return Err(Problem::new(Status::BadRequest, "invalid_export", "the export is empty")),
        };
        if header.threadkeep != FORMAT {
            return Err(foreign(Invalid::body("threadkeep", "is something else")));
        }
        if header.version != EXPORT_VERSION {
            let found = header.version;
            let detail = format!("the export has version {found}; this program reads version {EXPORT_VERSION}");
            let problem = Problem::new(Status::BadRequest, "unknown_export_version", detail);
            return Err(problem.hint("use the program version that wrote it, or a newer one"));
        }
        Ok(reader)
    }

    /// The next item; none once the end was read.
    ///
    /// # Errors
    /// If the line is malformed, or the export ends too early. The message names the line.
    #[expect(clippy::should_implement_trait, reason = "a reader that fails is not to be read on")]
    pub fn next(&mut self) -> Result<Option<ExportItem>, Problem> {
        if self.ended {
            return Ok(None);
        }
        let (number, items) = (self.number + 1, self.items);
        let wrong = |what: String| Problem::new(Status::BadRequest, "invalid_export", format!("line {number}: {what}"));
        let Some(line) = self.read_line()? else {
            let detail = format!("the export is cut off: it ends after {items} items, without its last line");
            return Err(Problem::new(Status::BadRequest, "export_cut_off", detail));
        };
        let line: Line<'_> = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        let item = match line {
            Line::End(end) if end.items == items => None,
            Line::End(end) => {
                return Err(wrong(format!("the export should have {} items, and has {items}", end.items)));
            }
            line => Some(item(line).map_err(|invalid| wrong(invalid.to_string()))?),
        };
        match item {
            Some(item) => {
                self.items += 1;
                Ok(Some(item))
            }
            None => {
                self.ended = true;
                let after = self.read_line()?.is_some();
                if after { Err(wrong("something follows the end".into())) } else { Ok(None) }
            }
        }
    }

    fn read_line(&mut self) -> Result<Option<&str>, Problem> {
        self.number += 1;
        let number = self.number;
        let wrong = |what: String| Problem::new(Status::BadRequest, "invalid_export", format!("line {number}: {what}"));
        self.line.clear();
        let mut bounded = (&mut self.from).take(EXPORT_LINE_BYTES_MAX as u64);
        bounded.read_until(b'\n', &mut self.line).map_err(|error| {
            Problem::new(Status::Unavailable, "cannot_read", format!("the export cannot be read: {error}"))
        })?;
        if self.line.is_empty() {
            return Ok(None);
        }
        if self.line.len() == EXPORT_LINE_BYTES_MAX && !self.line.ends_with(b"\n") {
            return Err(wrong(format!("a line has at most {EXPORT_LINE_BYTES_MAX} bytes")));
        }
        std::str::from_utf8(&self.line).map(Some).map_err(|_| wrong("it is not UTF-8".into()))
    }
}

/// A line as an item, checked.
fn item(line: Line<'_>) -> Result<ExportItem, Invalid> {
    Ok(match line {
        Line::Segment(line) => {
            let bounds = line
                .link
                .iter()
                .flat_map(|Link { bounds, .. }| [bounds.messages, bounds.changes, bounds.files, bounds.values]);
            bounds.chain([line.first]).try_for_each(|position| in_range("first", position.0))?;
            let origin = match line.origin {
                Some(origin) => Some((account(origin.account)?, record(&origin.record)?)),
                None => None,
            };
            let SegmentLine { id, thread_id: thread, first, link, birth, created, .. } = line;
            ExportItem::Segment(SegmentRow { segment: Segment { id, thread, first, link, birth, created }, origin })
        }
        Line::Blob(line) => {
            let bytes = STANDARD.decode(line.data.as_bytes());
            let bytes = bytes.map_err(|error| Invalid::body("data", format!("is not base64: {error}")))?;
            ExportItem::Blob(line.id, Bytes::from(bytes))
        }
        Line::Entry(line) => {
            in_range("position", line.position.0)?;
            let body = match (line.body, line.blob) {
                (Some(body), None) => Body::Inline(Bytes::copy_from_slice(body.text().as_bytes())),
                (None, Some(blob)) => Body::Blob(blob),
                (None, None) => Body::Absent,
                (Some(_), Some(_)) => return Err(Invalid::body("body", "stands beside a blob; there is one of them")),
            };
            let kind = Kind::from_text(&line.kind);
            ExportItem::Entry {
                segment: line.segment,
                position: line.position,
                kind: kind.ok_or_else(|| Invalid::body("kind", format!("there are no '{}' entries", line.kind)))?,
                format: line.format,
                time: line.time,
                account: account(line.account)?,
                actor: Actor::new(line.actor.kind, line.actor.name)?,
                cause: line.cause,
                tally: line.tally,
                body,
            }
        }
        Line::Thread(line) => {
            in_range("version", line.version.0)?;
            in_range("era", line.era)?;
            in_range("fence", line.fence)?;
            let record = record(&line.record)?;
            let ThreadLine { id, version, segment, era, fence, .. } = line;
            ExportItem::Thread { id, account: account(line.account)?, version, segment, era, fence, record }
        }
        Line::End(_) => return Err(Invalid::body("end", "is not an item")),
    })
}

/// Stores keep positions and counters as signed 64-bit numbers.
fn in_range(field: &str, number: u64) -> Result<(), Invalid> {
    if number > Position::END.0 { Err(Invalid::body(field, format!("{number} is too large"))) } else { Ok(()) }
}

fn account(account: Account) -> Result<Account, Invalid> {
    Account::new(account.as_str())
}

fn record(record: &Verbatim<'_>) -> Result<Record, Invalid> {
    let record = Record::decode(record.text())?;
    for (field, json) in [("metadata", &record.metadata), ("env", &record.env)] {
        if let Some(json) = json
            && Json::parse(field, json.as_str())? != *json
        {
            return Err(Invalid::body(field, "holds null bytes"));
        }
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use threadkeep_model::{ActorKind, Bounds, Entry, MessageBody};

    use super::*;

    fn items() -> Vec<ExportItem> {
        let thread: ThreadId = "T-5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("an id");
        let (root, branch) = (SegmentId::from_bits(1), SegmentId::from_bits(2));
        let metadata = Json::parse("metadata", "{\n  \"z\": 1.0,\r\n  \"a\": 1e2\n}").expect("json");
        let record = Record { title: Some("Größe 🦀".into()), metadata: Some(metadata), ..Record::default() };
        let link = Link { parent: root, bounds: Bounds::all(Position(3)) };
        let tally = Tally { ordinals: 1, bytes: 30, last_user: Some(Timestamp::from_micros(-1)), ..Tally::default() };
        let segment =
            |id, first, link, birth| Segment { id, thread, first, link, birth, created: Timestamp::default() };
        let entry = |position, body| ExportItem::Entry {
            segment: root,
            position: Position(position),
            kind: Kind::MessageAppended,
            format: 1,
            time: Timestamp::from_micros(1_800_000_000_123_456),
            account: Account::local(),
            actor: Actor { kind: ActorKind::Human, name: "local".into() },
            cause: (position == 2).then(|| "run 7".to_owned()),
            tally,
            body,
        };
        let large = Bytes::from_static(b"\x00\xff large \n");
        let message = Entry::MessageAppended(MessageBody::user("one\ntwo")).encode();
        let broken = "{\"role\":\"user\",\"content\":[\n{\"type\":\"text\",\"text\":\"\\n\"}]}";
        vec![
            ExportItem::Segment(SegmentRow {
                segment: segment(root, Position(1), None, Tally::default()),
                origin: Some((Account::local(), record.clone())),
            }),
            entry(1, Body::Inline(message)),
            entry(2, Body::Inline(Bytes::from_static(broken.as_bytes()))),
            ExportItem::Blob(BlobId::of(&large), large.clone()),
            entry(3, Body::Blob(BlobId::of(&large))),
            ExportItem::Segment(SegmentRow { segment: segment(branch, Position(4), Some(link), tally), origin: None }),
            ExportItem::Thread {
                id: thread,
                account: Account::local(),
                version: Position(3),
                segment: branch,
                era: 1,
                fence: 2,
                record,
            },
        ]
    }

    fn write(items: &[ExportItem]) -> String {
        let mut writer = ExportWriter::new(Vec::new()).expect("a writer");
        items.iter().for_each(|item| writer.item(item).expect("written"));
        String::from_utf8(writer.finish().expect("written")).expect("text")
    }

    fn read(text: &str) -> Result<Vec<ExportItem>, Problem> {
        let mut reader = ExportReader::new(text.as_bytes())?;
        let mut items = Vec::new();
        while let Some(item) = reader.next()? {
            items.push(item);
        }
        Ok(items)
    }

    #[test]
    fn what_is_written_is_read_back_to_the_letter() {
        let text = write(&items());
        assert_eq!(text.lines().count(), items().len() + 2, "one line an item:\n{text}");
        assert_eq!(read(&text).expect("items"), items());
        assert_eq!(write(&read(&text).expect("items")), text);
    }

    #[test]
    fn an_export_looks_like_this() {
        let text = write(&items()[1..2]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], r#"{"threadkeep":"export","version":1}"#);
        assert_eq!(
            lines[1],
            concat!(
                r#"{"entry":{"segment":"0000000000000001","position":1,"kind":"message_appended","format":1,"#,
                r#""time":"2027-01-15T08:00:00.123456Z","account":"local","actor":{"type":"human","name":"local"},"#,
                r#""tally":{"ordinals":1,"inserted":0,"deleted":0,"lastChange":0,"steps":0,"bytes":30,"#,
                r#""lastUser":"1969-12-31T23:59:59.999999Z"},"body":{"role":"user","content":"one\ntwo"}}}"#
            )
        );
        assert_eq!(lines[2], r#"{"end":{"items":1}}"#);
    }

    #[test]
    fn a_cut_off_export_is_noticed_wherever_it_was_cut() {
        let text = write(&items());
        for cut in 1..text.len() - 1 {
            let Some(part) = text.get(..cut) else { continue };
            read(part).expect_err("a cut-off export");
        }
    }

    #[test]
    fn another_version_is_refused_and_both_are_named() {
        let text = write(&items()).replacen("\"version\":1", "\"version\":7,\"new\":true", 1);
        let problem = read(&text).expect_err("another version");
        assert!(problem.detail.contains("version 7") && problem.detail.contains("version 1"), "{}", problem.detail);
    }

    #[test]
    fn hostile_lines_are_refused_with_their_number() {
        let [header, end] = [r#"{"threadkeep":"export","version":1}"#, r#"{"end":{"items":1}}"#];
        let entry = |rest: &str| {
            format!(
                r#"{{"entry":{{"segment":"0000000000000001","kind":"truncated","format":1,"account":"local","time":"2027-01-15T08:00:00Z","actor":{{"type":"human","name":"x"}},{rest}}}}}"#
            )
        };
        assert!(read(&format!("{header}\n{}\n{end}\n", entry(r#""position":1,"body":{}"#))).is_ok());
        for line in [
            entry(r#""position":9223372036854775808,"body":{}"#),
            entry(r#""position":-1,"body":{}"#),
            entry(r#""position":1,"body":{},"blob":"00""#),
            entry(r#""position":1,"body":{},"colour":"red""#),
            entry(r#""position":1,"body":{},"cause":"\ud800""#),
            entry(r#""position":1,"body":{}"#).replace("truncated", "exploded"),
            entry(r#""position":1,"body":{}"#).replace("\"name\":\"x\"", "\"name\":\" \""),
            r#"{"blob":{"id":"00","data":"AA=="}}"#.to_owned(),
            r#"{"song":{}}"#.to_owned(),
            "[".repeat(100_000),
            String::new(),
        ] {
            let problem = read(&format!("{header}\n{line}\n{end}\n")).expect_err(&line);
            assert!(problem.detail.starts_with("line 2: "), "{}", problem.detail);
        }
        for text in ["", "\n", "hello\n", "{}\n", r#"{"threadkeep":"song","version":1}"#, "SQLite format 3\0"] {
            read(text).expect_err(text);
        }
        let after = format!("{header}\n{{\"end\":{{\"items\":0}}}}\nmore\n");
        assert!(read(&after).expect_err("more").detail.contains("follows the end"));
    }
}

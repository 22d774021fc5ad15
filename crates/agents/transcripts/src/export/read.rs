//! Reading an export: every line is checked before it becomes an item.

use std::io::{BufRead, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use threadkeep_engine::ExportItem;
use threadkeep_model::{Account, Actor, Body, Invalid, Json, Kind, Link, Position, Record, Segment};
use threadkeep_store::SegmentRow;

use super::{EXPORT_LINE_BYTES_MAX, EXPORT_VERSION, FORMAT, Header, Line, SegmentLine, ThreadLine, Verbatim};
use threadkeep_calls::{ErrorCode, Problem, Status, parse};

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
        let foreign = |_| Problem::new(Status::BadRequest, ErrorCode::InvalidExport, "this is not a Threadkeep export");
        let header: Header = match reader.read_line()? {
            Some(line) => parse(line).map_err(foreign)?,
            None => return Err(Problem::new(Status::BadRequest, ErrorCode::InvalidExport, "the export is empty")),
        };
        if header.threadkeep != FORMAT {
            return Err(foreign(Invalid::body("threadkeep", "is something else")));
        }
        if header.version != EXPORT_VERSION {
            let found = header.version;
            let detail = format!("the export has version {found}; this program reads version {EXPORT_VERSION}");
            let problem = Problem::new(Status::BadRequest, ErrorCode::UnknownExportVersion, detail);
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
        let wrong =
            |what: String| Problem::new(Status::BadRequest, ErrorCode::InvalidExport, format!("line {number}: {what}"));
        let Some(line) = self.read_line()? else {
            let last = number - 1;
            let detail = format!("the export is cut off after line {last} ({items} items): its last line is missing");
            return Err(Problem::new(Status::BadRequest, ErrorCode::ExportCutOff, detail));
        };
        let is_whole = line.ends_with('\n');
        let line: Line<'_> = match serde_json::from_str(line) {
            Ok(line) => line,
            Err(error) if error.is_eof() && !is_whole => {
                let detail = format!("the export is cut off in the middle of line {number}: import the whole file");
                return Err(Problem::new(Status::BadRequest, ErrorCode::ExportCutOff, detail));
            }
            Err(error) => return Err(wrong(in_line(&error))),
        };
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
        let wrong =
            |what: String| Problem::new(Status::BadRequest, ErrorCode::InvalidExport, format!("line {number}: {what}"));
        self.line.clear();
        let mut bounded = (&mut self.from).take(EXPORT_LINE_BYTES_MAX as u64);
        bounded.read_until(b'\n', &mut self.line).map_err(|error| {
            Problem::new(Status::Unavailable, ErrorCode::CannotRead, format!("the export cannot be read: {error}"))
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

/// What is wrong with the JSON of one line, and in which column.
fn in_line(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let what = said.split(" at line ").next().unwrap_or_default();
    if error.column() == 0 { what.to_owned() } else { format!("{what}, column {}", error.column()) }
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
        Line::Lost(line) => ExportItem::Lost(line.id),
        Line::Entry(line) => {
            in_range("position", line.position.0)?;
            let body = match (line.body, line.blob) {
                (Some(body), None) => Body::Inline(Bytes::copy_from_slice(body.text().as_bytes())),
                (None, Some(blob)) => Body::Blob(blob),
                (None, None) if line.damaged => Body::Damaged,
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

/// Whether an export that ends with these bytes is whole, as far as they tell: its last line says that it is the last.
pub fn is_export_end(bytes: &[u8]) -> bool {
    export_end(bytes).is_some()
}

/// What the end of an export tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportEnd {
    /// Entries and blobs that come without their data, because it was damaged.
    pub lost: u64,
}

/// The end of an export with these last bytes; none if it is cut off, as far as they tell.
pub fn export_end(bytes: &[u8]) -> Option<ExportEnd> {
    let lines = bytes.strip_suffix(b"\n")?;
    let last = lines.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    match serde_json::from_slice(last) {
        Ok(Line::End(end)) => Some(ExportEnd { lost: end.lost }),
        Ok(_) | Err(_) => None,
    }
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

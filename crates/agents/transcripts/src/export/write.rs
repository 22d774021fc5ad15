//! Writing an export.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use threadkeep_engine::ExportItem;
use threadkeep_model::Body;
use threadkeep_store::SegmentRow;

use super::{
    BlobLine, EXPORT_VERSION, EndLine, EntryLine, FORMAT, Header, Line, LostLine, OriginLine, SegmentLine, ThreadLine,
    Verbatim,
};

/// Writes an export, line by line, and its last line at the end.
pub struct ExportWriter<W: Write> {
    to: W,
    items: u64,
    lost: u64,
}

impl<W: Write> ExportWriter<W> {
    /// Begins an export.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(to: W) -> io::Result<Self> {
        let mut writer = Self { to, items: 0, lost: 0 };
        writer.line(&Header { threadkeep: FORMAT.to_owned(), version: EXPORT_VERSION })?;
        Ok(writer)
    }

    /// Writes one item.
    ///
    /// # Errors
    /// If it cannot be written.
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
            ExportItem::Lost(id) => {
                self.lost += 1;
                self.line(&Line::Lost(LostLine { id: *id }))?;
            }
            ExportItem::Entry { segment, position, kind, format, time, account, actor, cause, tally, body } => {
                let is_damaged = *body == Body::Damaged;
                self.lost += u64::from(is_damaged);
                let (body, blob) = match body {
                    Body::Inline(bytes) => {
                        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
                        (Some(Verbatim::new(text)?), None)
                    }
                    Body::Blob(id) => (None, Some(*id)),
                    Body::Absent | Body::Damaged => (None, None),
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
                    damaged: is_damaged,
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

    /// How many items were written.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// What it is written to.
    pub fn get_ref(&self) -> &W {
        &self.to
    }

    /// What it is written to, so that what was written can be taken out in parts.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.to
    }

    /// Ends the export, and gives back what it was written to.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        let (items, lost) = (self.items, self.lost);
        self.line(&Line::End(EndLine { items, lost }))?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.to, line)?;
        self.to.write_all(b"\n")
    }
}

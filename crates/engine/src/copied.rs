//! How far a move has copied each segment, so that its second pass reads only what came since.

use std::collections::HashMap;

use threadkeep_model::{Bounds, Position, SegmentId, Tally, Version};
use threadkeep_store::SeenSegment;

use crate::{ExportItem, Exporter};

/// How far each segment was copied.
#[derive(Debug, Clone, Default)]
pub(crate) struct Copied(HashMap<SegmentId, Far>);

/// How far a segment was seen, and the last entry of it that was copied.
#[derive(Debug, Clone, Copy)]
struct Far {
    head: Option<Version>,
    bounds: Bounds,
    last: Option<(Position, Tally)>,
}

/// What is left to copy of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    /// Entries from this position on.
    From(Position),
}

impl Copied {
    /// What is left of a segment. The log only grows, so of a segment of the account's own thread the end is left. Of a
    /// segment of another account's thread, more may be seen in any place: then it is copied again, and compared.
    pub(crate) fn left_of(&self, seen: &SeenSegment) -> Left {
        let whole = Left::From(seen.row.segment.first);
        match self.0.get(&seen.row.segment.id) {
            Some(far) if far.head == seen.head && far.bounds == seen.bounds => Left::Nothing,
            Some(Far { head: Some(_), last: Some((position, _)), .. }) if seen.head.is_some() => {
                Left::From(position.next())
            }
            Some(_) | None => whole,
        }
    }

    /// The entry after which the segment that is read goes on; none if it is read from its beginning.
    pub(crate) fn end_of(&self, segment: SegmentId, reading: &Exporter) -> Option<(Position, Tally)> {
        let last = self.0.get(&segment)?.last?;
        let seen = reading.reads()?;
        (self.left_of(seen) == Left::From(last.0.next())).then_some(last)
    }

    /// Takes in that an item was copied.
    pub(crate) fn note(&mut self, item: &ExportItem, reading: &Exporter) {
        match item {
            ExportItem::Segment(row) => {
                if let Some(seen) = reading.reads() {
                    let far =
                        self.0.entry(row.segment.id).or_insert(Far { head: None, bounds: seen.bounds, last: None });
                    (far.head, far.bounds) = (seen.head, seen.bounds);
                }
            }
            ExportItem::Entry { segment, position, tally, .. } => {
                if let Some(far) = self.0.get_mut(segment) {
                    far.last = Some((*position, *tally));
                }
            }
            ExportItem::Blob(..) | ExportItem::Lost(_) | ExportItem::Thread { .. } => {}
        }
    }
}

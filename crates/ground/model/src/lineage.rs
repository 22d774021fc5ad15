//! Lineages: the chain of segments a thread sees, from its newest to the root.
//!
//! Links never change, so a lineage can be cached for ever, and lineages that meet share their tails.

use std::ops::Range;
use std::sync::Arc;

use crate::{Bounds, Position, Segment, SegmentId, Space, Tally};

/// A segment and everything below it.
#[derive(Debug)]
pub struct Lineage {
    /// The segment at the near end.
    pub segment: Segment,
    /// The lineage it grew from; none for a root.
    pub parent: Option<Arc<Lineage>>,
}

/// A segment as seen from the near end of a lineage.
#[derive(Debug, Clone)]
pub struct Span<'a> {
    /// The lineage from this segment down.
    pub lineage: &'a Lineage,
    /// How far each class of entries is seen: the lowest bound on the way here.
    pub bounds: Bounds,
    /// The ordinals of the appended messages that are seen in this segment.
    pub ordinals: Range<u64>,
    /// Whether edits, deletions or insertions may lie in this segment.
    pub may_hold_changes: bool,
    /// The position of the last change at or below this segment, as far as it is known.
    last_change: Position,
}

impl<'a> Span<'a> {
    /// The segment of this span.
    pub fn segment(&self) -> &'a Segment {
        &self.lineage.segment
    }
}

impl Lineage {
    /// The spans that are seen under `bounds`, from the near end. `tally` counts their entries.
    pub fn spans(&self, bounds: Bounds, tally: &Tally) -> impl Iterator<Item = Span<'_>> {
        let first = span(self, bounds, tally.ordinals, tally.last_change);
        std::iter::successors(Some(first), |span_before| {
            let (link, parent) = (span_before.segment().link?, span_before.lineage.parent.as_deref()?);
            let birth = &span_before.segment().birth;
            let below = span_before.last_change.min(birth.last_change);
            Some(span(parent, span_before.bounds.min(link.bounds), span_before.ordinals.start, below))
        })
    }

    /// The segments that may hold cells of `space` which are seen under `bounds`, from the near end, each with the
    /// position up to which they are seen. Positions rise towards the near end: of two cells of a name the higher one
    /// counts.
    pub fn holding(&self, space: Space, bounds: Bounds, tally: &Tally) -> Vec<(SegmentId, Position)> {
        let (mut bounds, mut last) = (bounds, tally.work.last(space));
        let mut found = Vec::new();
        for lineage in self.chain() {
            let seen = bounds.of(space.class()).min(last);
            if seen == Position::START {
                break;
            }
            if seen >= lineage.segment.first {
                found.push((lineage.segment.id, seen));
            }
            let Some(link) = lineage.segment.link else { break };
            bounds = bounds.min(link.bounds);
            last = last.min(lineage.segment.birth.work.last(space));
        }
        found
    }

    /// The chain of segments, from the near end.
    pub fn chain(&self) -> impl Iterator<Item = &Lineage> {
        std::iter::successors(Some(self), |lineage| lineage.parent.as_deref())
    }

    /// The part of the lineage that holds `position` under `bounds`, with the bounds that hold there. A position below
    /// every segment is the root's.
    pub fn at(self: &Arc<Self>, position: Position, bounds: Bounds) -> (Arc<Lineage>, Bounds) {
        let mut lineage = Arc::clone(self);
        let mut bounds = bounds.min(Bounds::all(position));
        // A link may lower the bounds below the first position of its segment, which is not seen either then.
        while lineage.segment.first > bounds.highest() {
            let (Some(link), Some(parent)) = (lineage.segment.link, lineage.parent.clone()) else { break };
            bounds = bounds.min(link.bounds);
            lineage = parent;
        }
        (lineage, bounds)
    }

    /// The part of the lineage that holds the last entry seen under one of `bounds`, with the bounds that hold there.
    pub fn last_seen(self: &Arc<Self>, bounds: Bounds, of: fn(Bounds) -> Position) -> (Arc<Lineage>, Bounds) {
        let (mut lineage, mut bounds) = (Arc::clone(self), bounds);
        while of(bounds) < lineage.segment.first {
            let (Some(link), Some(parent)) = (lineage.segment.link, lineage.parent.clone()) else { break };
            bounds = bounds.min(link.bounds);
            lineage = parent;
        }
        (lineage, bounds)
    }

    /// Whether `segment` is part of this lineage, and how far its entries are seen under `bounds`.
    pub fn bounds_of(&self, segment: SegmentId, bounds: Bounds) -> Option<Bounds> {
        let mut bounds = bounds;
        for lineage in self.chain() {
            if lineage.segment.id == segment {
                return Some(bounds);
            }
            bounds = bounds.min(lineage.segment.link?.bounds);
        }
        None
    }
}

fn span(lineage: &Lineage, bounds: Bounds, end: u64, last_change: Position) -> Span<'_> {
    let start = lineage.segment.birth.ordinals.min(end);
    Span {
        lineage,
        bounds,
        ordinals: start..end,
        may_hold_changes: last_change >= lineage.segment.first && bounds.changes >= lineage.segment.first,
        last_change,
    }
}

impl Drop for Lineage {
    /// Takes the chain apart link by link: a deep one would overflow the stack otherwise.
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut lineage) = next.and_then(Arc::into_inner) {
            next = lineage.parent.take();
        }
    }
}

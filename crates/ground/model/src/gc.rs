//! The rule by which a store tells garbage from history.

use std::collections::{HashMap, HashSet};

use crate::{Bounds, Position, Segment, SegmentId, ThreadId};

/// How far each segment can still be seen, by class. A segment that is missing can be freed whole.
///
/// Segments of living threads are seen to the end, including abandoned branches: reads of old versions and undo need
/// them. Segments of deleted threads are seen as far as the links of others reach.
pub fn reachable(segments: &[Segment], living: &HashSet<ThreadId>) -> HashMap<SegmentId, Bounds> {
    let mut order: Vec<&Segment> = segments.iter().collect();
    // Positions rise along every lineage, so each segment comes before the one it grew from.
    order.sort_by_key(|segment| std::cmp::Reverse(segment.first));
    let mut reach: HashMap<SegmentId, Bounds> = HashMap::new();
    for segment in order {
        if living.contains(&segment.thread) {
            reach.insert(segment.id, Bounds::all(Position::END));
        }
        let (Some(seen), Some(link)) = (reach.get(&segment.id).copied(), segment.link) else { continue };
        let through = link.bounds.min(seen);
        reach.entry(link.parent).and_modify(|bounds| *bounds = bounds.max(through)).or_insert(through);
    }
    reach
}

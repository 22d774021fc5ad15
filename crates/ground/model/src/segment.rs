//! Segments: the runs of entries that a log is made of, and the links between them.

use serde::{Deserialize, Serialize};

use crate::{Bounds, Position, SegmentId, Tally, ThreadId, Timestamp};

/// How a segment is joined to the one it grew from. Links never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The segment it grew from.
    pub parent: SegmentId,
    /// How much it sees of the parent and of the parent's own lineage.
    pub bounds: Bounds,
}

/// A run of entries written by one thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Its random identity, the same in every store.
    pub id: SegmentId,
    /// The one thread that wrote it, alive or not.
    pub thread: ThreadId,
    /// The position of its first entry, whether or not that entry was written yet.
    pub first: Position,
    /// The link to its parent; none for a root.
    pub link: Option<Link>,
    /// The tally that it inherited.
    pub birth: Tally,
    /// When the store opened it.
    pub created: Timestamp,
}

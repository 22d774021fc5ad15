//! A thread as it is now: its head and its record.

use crate::{Account, Record, SegmentId, Tally, ThreadId, Timestamp, Version};

/// The hot part of a thread: all that an append rewrites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The position of the last entry.
    pub version: Version,
    /// The segment the thread writes to.
    pub segment: SegmentId,
    /// Moves with every change that can make an earlier decision stale; appends leave it.
    pub era: u64,
    /// Rises with every rollback and truncation, so that late writers are refused.
    pub fence: u64,
    /// The time of the last entry; never goes back.
    pub updated: Timestamp,
    /// Counts of the messages, files and values that it shows.
    pub tally: Tally,
}

/// A thread as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Thread {
    /// The id of the thread.
    pub id: ThreadId,
    /// The account that owns it.
    pub account: Account,
    /// When it was created.
    pub created: Timestamp,
    /// Its version and its counts.
    pub head: Head,
    /// Title, flags, metadata and the rest of its description.
    pub record: Record,
}

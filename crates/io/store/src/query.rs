//! The queries that a store answers.

use std::ops::{Range, RangeInclusive};

use threadkeep_model::{Account, ItemKind, Position, Role, SegmentId, ThreadId, Timestamp};

/// In which direction to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The oldest entry first.
    #[default]
    Ascending,
    /// The newest entry first.
    Descending,
}

/// Entries of one segment.
#[derive(Debug, Clone)]
pub struct EntryQuery {
    /// The segment to read.
    pub segment: SegmentId,
    /// The positions to read.
    pub positions: RangeInclusive<Position>,
    /// The order of the result.
    pub order: Order,
    /// At most so many.
    pub limit: usize,
}

/// Appended messages of the segments that a lineage has.
#[derive(Debug, Clone)]
pub struct MessageQuery {
    /// The ordinals to read in each segment; the result has the messages of the first span first.
    pub spans: Vec<(SegmentId, Range<u64>)>,
    /// The messages to include.
    pub filter: MessageFilter,
    /// The order of the result within a span.
    pub order: Order,
    /// At most so many.
    pub limit: usize,
}

/// Appended messages of the segments of a lineage that a filter leaves out.
#[derive(Debug, Clone)]
pub struct LeftOutQuery {
    /// The ordinals to look at in each segment. No two spans have an ordinal in common.
    pub spans: Vec<(SegmentId, Range<u64>)>,
    /// Which messages it leaves out.
    pub filter: MessageFilter,
}

/// A filter for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageFilter {
    /// Only of this role.
    pub role: Option<Role>,
    /// Only down to this depth.
    pub max_depth: u8,
    /// Whether silent messages are included.
    pub include_silent: bool,
}

impl MessageFilter {
    /// A filter that every message passes.
    pub const ALL: MessageFilter = MessageFilter { role: None, max_depth: u8::MAX, include_silent: true };

    /// The filter of the default list: no silent messages, and none at a depth. Indexes count what passes it.
    pub const SHOWN: MessageFilter = MessageFilter { role: None, max_depth: 0, include_silent: false };

    /// Whether a message passes.
    pub fn passes(&self, role: Role, silent: bool, depth: u8) -> bool {
        self.role.is_none_or(|wanted| wanted == role) && depth <= self.max_depth && (self.include_silent || !silent)
    }
}

/// Changes in the segments of a lineage.
#[derive(Debug, Clone)]
pub struct ChangeQuery {
    /// The positions of the changes themselves, in each segment.
    pub spans: Vec<(SegmentId, RangeInclusive<Position>)>,
    /// The ordinals that anchor them.
    pub roots: Range<u64>,
}

/// Reads items of one thread.
#[derive(Debug, Clone)]
pub struct ItemQuery {
    /// The thread to read.
    pub thread: ThreadId,
    /// The kind of items.
    pub kind: ItemKind,
    /// Only the one with this key.
    pub key: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// Reads items of one kind over all threads.
#[derive(Debug, Clone)]
pub struct ItemList {
    /// The kind of items.
    pub kind: ItemKind,
    /// Only those in threads of this account.
    pub account: Option<Account>,
    /// Only those made after this one: when that was, and its key.
    pub after: Option<(Timestamp, String)>,
    /// At most so many.
    pub limit: usize,
}

/// The beginning of a thread's id, in either spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdPrefix {
    /// Of a short id: it covers these.
    Short(RangeInclusive<u64>),
    /// Of a full id: its hexadecimal digits so far.
    Full {
        /// The digits, in lower case, without dashes.
        digits: String,
    },
}

impl IdPrefix {
    /// What `text` is the beginning of; none if no id begins so.
    pub fn parse(text: &str) -> Option<Self> {
        const SHORT_DIGITS: usize = 12;
        const DASHES: [usize; 4] = [8, 13, 18, 23];
        let Some(uuid) = text.strip_prefix("T-") else {
            let hex =
                !text.is_empty() && text.len() <= SHORT_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            let first = u64::from_str_radix(text, 16).ok().filter(|_| hex)?;
            let width = 4 * (SHORT_DIGITS - text.len());
            return Some(Self::Short(first << width..=(first << width) + (1 << width) - 1));
        };
        let fits = |(at, byte): (usize, u8)| if DASHES.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
        let digits = uuid.replace('-', "").to_ascii_lowercase();
        uuid.bytes().enumerate().all(fits).then_some(Self::Full { digits })
    }
}

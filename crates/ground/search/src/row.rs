//! What a volume is made of: rows of messages, and the strands that they lie on.

use threadkeep_model::{MessageId, Position, SegmentId, ThreadId, Timestamp};

/// Terms that share the space of their common beginnings.
pub(crate) const TERMS_A_BLOCK: usize = 32;
/// How far a message counts for those around it.
pub(crate) const REACH: usize = 2;

/// A segment as the index knows it: the thread that wrote it, and its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strand {
    /// The id of the segment.
    pub segment: SegmentId,
    /// The thread that wrote it.
    pub thread: ThreadId,
    /// When it was made.
    pub created: Timestamp,
    /// The segment that it grew from.
    pub parent: Option<SegmentId>,
    /// Up to where it sees the messages of what it grew from.
    pub messages: Position,
    /// Up to where it sees the changes to messages of what it grew from.
    pub changes: Position,
}

/// How a text came into the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A message was appended.
    Appended,
    /// Put before another message.
    Inserted,
    /// As the new content of a message.
    Edited,
}

/// A row of a volume: where a message is, and how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) message: MessageId,
    pub(crate) carrier: MessageId,
    /// Bit 0: the assistant speaks. Bit 1: it was inserted.
    pub(crate) form: u8,
    pub(crate) time: i64,
    pub(crate) length: u32,
    pub(crate) head: u32,
}

impl Row {
    /// The order of documents: along the conversation.
    pub(crate) fn order(&self) -> (SegmentId, u64, MessageId) {
        (self.message.segment, self.message.position.0, self.carrier)
    }
}

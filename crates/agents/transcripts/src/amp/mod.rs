//! Threads in Amp's own JSON: what both sides have goes over exactly, what only Amp has is kept under `metadata.amp`,
//! and goes back with an export.
//!
//! Amp's JSON holds a thread as it is, not its history. An import makes a thread with one entry for each message, for
//! each relationship that was made on it, and for each message that waits; an export writes what a thread shows.

mod read;
mod write;

pub use read::from_amp;
pub use write::{AmpSource, to_amp};

/// Where fields are kept that only Amp has: in the metadata of a thread, and of a message.
const KEPT: &str = "amp";
/// The name of a message's number.
const MESSAGE_ID: &str = "messageId";
/// The name of the least number the next message can have.
const NEXT_MESSAGE_ID: &str = "nextMessageId";

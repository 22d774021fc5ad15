//! What a model is given of a thread: the newest messages that fit, and a summary of those before them.
//!
//! [`assemble`] reads a thread backwards, page by page, until the budget is full or a summary begins, so its cost does
//! not grow with the length of the thread. [`window`] decides which messages those are, [`summaries`] keeps and checks
//! summaries, [`shorten`] makes a message fit that is too long by itself, [`attached`] gives the files
//! of messages, and [`notes`] adds the summary and memories.
//!
//! A conversation is cut when it takes 90 % of its budget, down to 60 % of it, and stays as it is until then: between two
//! cuts each request begins like the one before, and providers read that part from their caches.

mod assemble;
mod attached;
mod notes;
mod shorten;
mod summaries;
pub(crate) mod window;

use threadkeep_calls::{ContextSummary, ModelMessage};
use threadkeep_model::{ContextSummarized, Covered, Version};

pub use attached::Picture;

/// The part of a budget that memories may take, in percent.
const MEMORY_PERCENT: u64 = 5;
/// The parts of a budget at which a conversation is cut, and to which, in percent.
const CUT_AT_PERCENT: u64 = 90;
const CUT_TO_PERCENT: u64 = 60;
/// The part of a budget that a summary may take, in percent.
const SUMMARY_PERCENT: u64 = 15;

/// The part of a thread that a model is given.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The version of the thread that was read.
    pub version: Version,
    /// The summary of the messages before those that are given.
    pub summary: Option<ContextSummary>,
    /// The messages, each call with its result, oldest first.
    pub messages: Vec<ModelMessage>,
    /// Tokens of each of them.
    pub tokens: Vec<u64>,
    /// The first and the last message of the thread that is given, and how many were read for it.
    pub given: Option<Covered>,
    /// The messages that would have to be summarized first: they do not fit any more.
    pub cut: Option<Cut>,
}

/// Messages that do not fit any more, and have no summary yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// What the new summary will stand for, the messages of the one before included.
    pub covers: Covered,
    /// What is to be summarized: the summary before, the beginning of the thread where none was, and the newest of the
    /// messages that are cut, oldest first.
    pub before: Option<String>,
    /// The messages that are cut, as far as they were read.
    pub messages: Vec<ModelMessage>,
    /// The summary that is made without a model.
    pub built_in: String,
    /// Tokens that a summary may have.
    pub room: u64,
}

impl Cut {
    /// The entry that keeps the summary that is made without a model.
    fn summarized(self) -> ContextSummarized {
        let Self { covers, built_in: mut text, .. } = self;
        text.truncate(text.floor_char_boundary(ContextSummarized::TEXT_BYTES_MAX));
        ContextSummarized { covers, text, model: None }
    }
}

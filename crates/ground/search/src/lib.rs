//! Finding conversations: messages become terms and vectors, which lie in *volumes*, and a question is ranked over
//! them. Pure: no I/O, no clock, no knowledge of access rights.
//!
//! - [`words`](mod@words): from text to words and terms.
//! - [`Builder`] makes a volume of messages, [`merge`] one of several, [`Volume`] reads it.
//! - A [`Source`] holds the bytes of a volume, which is read in parts.
//! - A [`Shelf`] is the volumes of one account; a [`Question`] is the parsed query; [`Matches`] are the candidates. The
//!   reader, who knows what a thread shows, computes the final scores with them.

mod build;
mod by_direction;
mod by_words;
mod bytes;
mod columns;
mod dense;
mod filter;
mod format;
mod merge;
mod postings;
mod question;
mod rank;
mod row;
mod shelf;
mod source;
mod spans;
mod vectors;
mod volume;
pub mod words;

pub use build::{Builder, Document};
pub use filter::Wants;
pub use format::{is_old, modernize};
pub use merge::merge;
pub use question::{Phrase, Question};
pub use rank::{Matches, Scored, thread_score};
pub use row::{Form, Strand};
pub use shelf::{Place, Shelf};
pub use source::{Source, Unreadable};
pub use spans::{highlights, holds_phrases};
pub use volume::Volume;

/// A volume that cannot be read. It is derived, so it can be made anew.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a volume of the search index is damaged: {0}; make the index anew with `threadkeep index rebuild`")]
pub struct Damaged(pub String);

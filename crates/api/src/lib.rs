//! The wire types of Threadkeep and their conversions, one file a resource: what HTTP, streams and `--json` print.
//!
//! Names are camelCase. What the log keeps as JSON (contents, metadata, bodies) is passed through as text and never
//! read into a tree, so numbers and the order of keys stay exact. [`parse`] is the door for JSON from outside;
//! [`Problem`] is the one table from an error to its status, code and exit code.

mod checkpoint;
mod export;
mod family;
mod history;
mod message;
mod page;
mod parse;
mod problem;
mod report;
mod summary;
mod thread;
mod writer;

pub use checkpoint::Checkpoint;
pub use export::{EXPORT_LINE_BYTES_MAX, EXPORT_VERSION, ExportReader, ExportWriter};
pub use family::{Family, Relation, Relationship};
pub use history::{FeedEntry, HistoryEntry};
pub use message::Message;
pub use page::Page;
pub use parse::parse;
pub use problem::{HeldBy, Problem, Status};
pub use report::{Copied, Deleted, Doctor, Gc, Imported, Logged, Released, Summary};
pub use summary::{Changed, DiffStats, ThreadSummary};
pub use thread::Thread;
pub use writer::Writer;

//! Threads as files: the export format of Threadkeep, and the formats of other agents.
//!
//! A reader turns bytes into what an [`Importer`](threadkeep_engine::Importer) takes, or into the neutral
//! [`shape`]; a writer does the reverse. [`mod@import`] brings sessions in that shape to a store.

mod amp;
mod blocks;
mod database;
mod elements;
mod export;
mod fields;
pub mod formats;
pub mod import;
mod lines;
mod msgpack;
pub mod plan;
mod reading;
pub mod shape;
pub mod sources;
pub mod unpack;

pub use amp::{AmpSource, from_amp, to_amp};
pub use database::{Database, VALUE_BYTES_MAX};
pub use elements::ELEMENT_BYTES_MAX;
pub use export::{
    EXPORT_LINE_BYTES_MAX, EXPORT_VERSION, ExportEnd, ExportReader, ExportWriter, HeldItems, export_end, is_export_end,
};
pub use lines::LINE_BYTES_MAX;
pub use reading::{Reading, Refused, Resume, SKIPPED_NAMED_MAX, Skipped, SkippedRecord, Window};

//! Threads as files: the export format of Threadkeep, and the formats of other agents.
//!
//! A reader turns bytes into what an [`Importer`](threadkeep_engine::Importer) takes, a writer does the reverse. Neither
//! opens a store.

mod amp;
mod export;

pub use amp::{AmpSource, from_amp, to_amp};
pub use export::{
    EXPORT_LINE_BYTES_MAX, EXPORT_VERSION, ExportEnd, ExportReader, ExportWriter, HeldItems, export_end, is_export_end,
};

//! Questions about the files of a thread: the paths that a [`Glob`] matches, the lines that a [`Grep`] finds, the kind
//! of an [`image`] and its thumbnail.
//!
//! Pure functions over paths and bytes: no I/O, no async. Everything here is handed patterns and files of strangers, so
//! each of them has a bound, and none can be made to take more than time in proportion to what is searched.
//!
//! Paths are as a thread keeps them: normalised, with a leading `/`.

mod glob;
mod grep;
pub mod image;

pub use glob::{Glob, GlobError};
pub use grep::{BrokenOff, Case, Grep, GrepError, Match, Mode};

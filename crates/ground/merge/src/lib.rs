//! Three-way merges and line differences of text, with the choices git makes.
//!
//! Pure functions over bytes: no I/O, no async. [`merge`] gives what `git merge-file -p` gives, [`union`] what it gives
//! with `--union`, [`unified`] what `git diff --no-indent-heuristic` prints of a file. People know those answers, and
//! tools read their markers.
//!
//! A merge is only as good as the two comparisons it is made of: where several are equally short, another choice makes
//! another merge. So the comparison decides as git's does (`compare`, `search`). The crate that comes closest,
//! `imara-diff`, chose another one in 7 of 100 comparisons of short texts, and in 25 of 100 of longer ones. The tests
//! hold the answers against the git that is installed.
//!
//! For all texts, time grows at worst with the number of lines times its square root, and memory with the number of
//! lines.
//!
//! ```
//! use threadkeep_merge::{Labels, merge};
//!
//! let labels = Labels { ours: "ours", theirs: "theirs" };
//! let merged = merge(b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n", &labels);
//! assert_eq!(merged.bytes, b"A\nb\nC\n");
//! assert!(merged.is_clean());
//! ```

mod compare;
mod lines;
mod merge;
mod search;
mod unified;

use std::ops::Range;

pub use merge::{Conflict, Labels, Merged, merge, union};
pub use unified::{Names, unified};

/// How much of a file is looked at to tell whether it is binary.
const BINARY_HEAD_BYTES: usize = 8_000;

/// Lines that were replaced: `old` went and `new` came in their place. One of the two may be empty, never both.
///
/// Lines are counted from 0; an empty range says before which line it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The lines of the old text that went.
    pub old: Range<usize>,
    /// The lines of the new text that came.
    pub new: Range<usize>,
}

/// How much two texts differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines that only the new text has, as `git diff --numstat` counts them.
    pub added: usize,
    /// Lines that only the old text has, as `git diff --numstat` counts them.
    pub removed: usize,
    /// Lines that were replaced by others: counted in `added` and in `removed` too.
    pub changed: usize,
}

/// Whether git would take `bytes` for binary: a NUL among the first 8,000. Such files cannot be merged by lines.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(BINARY_HEAD_BYTES)].contains(&0)
}

/// The hunks that lead from `old` to `new`, in order. Empty if and only if the two are equal.
pub fn diff(old: &[u8], new: &[u8]) -> Vec<Hunk> {
    let mut numbering = lines::Numbering::default();
    let (old, new) = (numbering.text(old), numbering.text(new));
    compare::Comparison::new(numbering.distinct()).hunks(&old.numbers, &new.numbers)
}

/// How many lines were added, removed and changed on the way from `old` to `new`.
pub fn line_counts(old: &[u8], new: &[u8]) -> LineCounts {
    diff(old, new).iter().fold(LineCounts::default(), |counts, hunk| LineCounts {
        added: counts.added + hunk.new.len(),
        removed: counts.removed + hunk.old.len(),
        changed: counts.changed + hunk.old.len().min(hunk.new.len()),
    })
}

#[cfg(test)]
mod tests;

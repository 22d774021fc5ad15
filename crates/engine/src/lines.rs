//! Lines of text files: how many there are, and how many of them changed.

use threadkeep_merge::{is_binary, line_counts};
use threadkeep_model::DiffStats;

/// Whether content is text.
pub(crate) fn is_text(content: &[u8]) -> bool {
    !is_binary(content)
}

/// The number of lines; the text after the last line break counts as one.
pub(crate) fn lines_in(content: &[u8]) -> u64 {
    content.split_inclusive(|byte| *byte == b'\n').count() as u64
}

/// How many lines were added, changed and removed from `old` to `new`. A line that was replaced by another one is
/// changed, and neither added nor removed.
pub(crate) fn line_stats(old: &[u8], new: &[u8]) -> DiffStats {
    let counts = line_counts(old, new);
    DiffStats {
        lines_added: (counts.added - counts.changed) as u64,
        lines_changed: counts.changed as u64,
        lines_removed: (counts.removed - counts.changed) as u64,
        ..DiffStats::default()
    }
}

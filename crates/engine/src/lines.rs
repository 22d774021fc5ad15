//! Lines of text files: how many there are, and how many of them changed.

use threadkeep_model::DiffStats;

/// Bytes that are looked at to tell text from other content.
const LOOKED_AT: usize = 8_000;

/// Whether content is text: no null byte at its beginning.
pub(crate) fn is_text(content: &[u8]) -> bool {
    !content[..content.len().min(LOOKED_AT)].contains(&0)
}

/// How many lines there are; what follows the last line break is one too.
pub(crate) fn lines_in(content: &[u8]) -> u64 {
    content.split_inclusive(|byte| *byte == b'\n').count() as u64
}

/// How many lines were added, changed and removed from `old` to `new`: of those that differ, as many count as changed as
/// there are on both sides.
pub(crate) fn line_stats(old: &[u8], new: &[u8]) -> DiffStats {
    let lines = |content| -> Vec<&[u8]> { <[u8]>::split_inclusive(content, |byte| *byte == b'\n').collect() };
    let (old, new) = (lines(old), lines(new));
    let same = |pairs: &mut dyn Iterator<Item = (&&[u8], &&[u8])>| pairs.take_while(|(a, b)| a == b).count();
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
    let (removed, added) = ((old.len() - head - tail) as u64, (new.len() - head - tail) as u64);
    let changed = removed.min(added);
    DiffStats {
        lines_added: added - changed,
        lines_changed: changed,
        lines_removed: removed - changed,
        ..DiffStats::default()
    }
}

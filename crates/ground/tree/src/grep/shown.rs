//! How a line is shown: as characters, and not too many of them.

/// How many characters of a line are shown.
const SHOWN_CHARS_MAX: usize = 500;
/// How many of them stand before the match, if there are more after it than fit.
const SHOWN_CHARS_BEFORE: usize = 100;
/// Bytes that are enough for as many characters as are shown.
const SHOWN_BYTES_MAX: usize = 4 * SHOWN_CHARS_MAX;

/// How many characters `bytes` are, with each piece that is not UTF-8 as one.
pub(super) fn characters(bytes: &[u8]) -> usize {
    bytes.utf8_chunks().map(|chunk| chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty())).sum()
}

/// The line, or as much of it around the byte `at` as is shown.
pub(super) fn around(line: &[u8], at: usize) -> String {
    let mut first = at.saturating_sub(SHOWN_BYTES_MAX);
    while first > 0 && first < at && is_continued(line[first]) {
        first += 1;
    }
    let mut last = line.len().min(at + SHOWN_BYTES_MAX);
    while last < line.len() && last > at && is_continued(line[last]) {
        last -= 1;
    }
    let before = String::from_utf8_lossy(&line[first..at]);
    let after = String::from_utf8_lossy(&line[at..last]);
    let (count_before, count_after) = (before.chars().count(), after.chars().count());
    let shown_before = count_before.min(SHOWN_CHARS_BEFORE.max(SHOWN_CHARS_MAX.saturating_sub(count_after)));
    let shown_after = SHOWN_CHARS_MAX - shown_before;
    before.chars().skip(count_before - shown_before).chain(after.chars().take(shown_after)).collect()
}

/// Whether a byte goes on with a character that began before it.
fn is_continued(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

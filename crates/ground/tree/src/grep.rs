//! Searching the lines of a file.
//!
//! A match lies within a line: no part of a pattern reaches from one line into the next, `^` and `$` are the ends of a
//! line, and a `\r` before the `\n` is part of the end (`^`, `$` and `.` take a `\r` alone for one too). A pattern that
//! asks for a line end is refused; a class that would have one among others, such as `\s` or `[^a]`, does without it.
//!
//! So the file is searched as one piece, which is fast, and a line is looked at only once it is known to match; or, if
//! the pattern asks for some text that it does not begin with, once it is known to have that text. For all patterns,
//! the time grows with the length of the file, but also with the pattern. So patterns have a bound, large patterns see
//! only the beginning of very long lines, and the caller can stop a search.

use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};
use thiserror::Error;

mod pattern;
mod shown;

/// How long a pattern may be.
const PATTERN_BYTES_MAX: usize = 4_096;
/// How large a compiled pattern may become.
const COMPILED_BYTES_MAX: usize = 10 << 20;
/// How many characters a match of a regular expression may consist of, each alternative and repetition counted.
const POSITIONS_MAX: u64 = 1_000;
/// The bound on the cost of one line: bytes times the positions of the pattern. It is some seconds.
const LINE_COST_MAX: u64 = 1 << 28;
/// How much is searched before it is asked whether to go on, if lines are not longer.
const STEP_BYTES: usize = 256 << 10;
/// How much of a file is looked at to tell whether it is binary.
const BINARY_HEAD_BYTES: usize = 8_000;

/// How a pattern is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As a regular expression, in the syntax of the crate `regex`.
    Regex,
    /// As the text itself.
    Literal,
}

/// Whether upper and lower case are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Upper and lower case differ.
    Sensitive,
    /// Upper and lower case of one letter.
    Ignore,
    /// As [`Ignore`](Case::Ignore), unless the pattern has an upper-case letter.
    Smart,
}

/// A compiled search.
///
/// ```
/// use threadkeep_tree::{Case, Grep, Mode};
///
/// let grep = Grep::new(r"fn \w+", Mode::Regex, Case::Sensitive)?;
/// let found = grep.matches(b"// one\npub fn two() {}\n", 10);
/// assert_eq!((found[0].line, found[0].column, found[0].text.as_str()), (2, 5, "pub fn two() {}"));
/// # Ok::<(), threadkeep_tree::GrepError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Grep {
    regex: Regex,
    /// Text that every match has in it, if looking for it first is worth it.
    required: Option<Finder<'static>>,
    /// How much of a line is searched.
    line_bytes_max: usize,
}

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Which line, counted from 1.
    pub line: usize,
    /// At which character of the line the first match begins, counted from 1.
    pub column: usize,
    /// The line without its end; of a line with more than 500 characters, 500 around the match. What is not UTF-8 is
    /// replaced.
    pub text: String,
}

/// Why a pattern cannot be searched for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GrepError {
    /// There is nothing in it.
    #[error("the pattern is empty, and would match every line: write what to look for")]
    Empty,
    /// It is longer than a pattern may be.
    #[error("the pattern has {bytes} bytes, and at most {PATTERN_BYTES_MAX} are allowed: search for less")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// It is not a regular expression.
    #[error("the pattern is not a regular expression at character {at}: {reason}")]
    Syntax {
        /// Which character, counted from 1.
        at: usize,
        /// What is wrong there.
        reason: String,
    },
    /// It asks for a line end.
    #[error("the pattern contains a line end, and a match never goes beyond its line: search for a part of one line")]
    LineEnd,
    /// It compiles to something too large.
    #[error("the pattern becomes too large when compiled: use smaller repetitions or fewer alternatives")]
    TooLarge,
}

/// The caller stopped the search.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the search was broken off")]
pub struct BrokenOff;

impl Grep {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// [`GrepError`], which says what is wrong with the pattern, and where.
    pub fn new(pattern: &str, mode: Mode, case: Case) -> Result<Grep, GrepError> {
        if pattern.is_empty() {
            return Err(GrepError::Empty);
        }
        if pattern.len() > PATTERN_BYTES_MAX {
            return Err(GrepError::TooLong { bytes: pattern.len() });
        }
        let within_lines = pattern::within_lines(pattern, mode, case)?;
        if within_lines.positions > POSITIONS_MAX {
            return Err(GrepError::TooLarge);
        }
        let regex = RegexBuilder::new(&within_lines.regex)
            .size_limit(COMPILED_BYTES_MAX)
            .build()
            .map_err(|_| GrepError::TooLarge)?;
        let required = within_lines.required.map(|text| Finder::new(&text).into_owned());
        let line_bytes_max = usize::try_from(LINE_COST_MAX / within_lines.positions.max(1)).unwrap_or(usize::MAX);
        Ok(Grep { regex, required, line_bytes_max })
    }

    /// The first `limit` lines of a file that match, each once. A binary file, with a NUL among its first 8,000 bytes,
    /// has none.
    pub fn matches(&self, bytes: &[u8], limit: usize) -> Vec<Match> {
        self.matches_while(bytes, limit, || true).unwrap_or_default()
    }

    /// The same, for as long as `goes_on` says so. It is asked again and again.
    ///
    /// # Errors
    /// If it said no.
    pub fn matches_while(
        &self,
        bytes: &[u8],
        limit: usize,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<Vec<Match>, BrokenOff> {
        let mut found = Vec::new();
        let mut lines_before = 0;
        let mut from = 0;
        while found.len() < limit && from < bytes.len() {
            let Some(matched) = self.next(bytes, from, &mut goes_on)? else { break };
            // An empty match behind the last line end is in no line.
            if matched == bytes.len() && bytes.ends_with(b"\n") {
                break;
            }
            // Asked only of files that match: most do not.
            if found.is_empty() && is_binary(bytes) {
                break;
            }
            let (start, end) = line_around(bytes, from, matched);
            lines_before += memchr::memchr_iter(b'\n', &bytes[from..start]).count();
            let line = &bytes[start..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let at = (matched - start).min(line.len());
            found.push(Match {
                line: lines_before + 1,
                column: shown::characters(&line[..at]) + 1,
                text: shown::around(line, at),
            });
            lines_before += 1;
            from = end + 1;
        }
        Ok(found)
    }

    /// Where the first match begins in the lines from `from` on, which is the beginning of a line.
    fn next(
        &self,
        bytes: &[u8],
        mut from: usize,
        goes_on: &mut impl FnMut() -> bool,
    ) -> Result<Option<usize>, BrokenOff> {
        while from < bytes.len() {
            if !goes_on() {
                return Err(BrokenOff);
            }
            let (start, end) = match &self.required {
                Some(required) => {
                    let Some(candidate) = required.find(&bytes[from..]) else { return Ok(None) };
                    line_around(bytes, from, from + candidate)
                }
                None => (from, some_lines(bytes, from)),
            };
            if let Some(matched) = self.first(bytes, start, end) {
                return Ok(Some(matched));
            }
            from = if self.required.is_some() { end + 1 } else { end };
        }
        Ok(None)
    }

    /// Where the first match begins in the lines from `start` to `end`.
    fn first(&self, bytes: &[u8], start: usize, end: usize) -> Option<usize> {
        // Only a single line is longer than a step, and so than this may be.
        let seen = end.min(start.saturating_add(self.line_bytes_max.max(STEP_BYTES)));
        let matched = self.regex.find_at(&bytes[..seen], start)?;
        // A match that ends where a line was cut off may only seem to match.
        let seems = seen < end && matched.end() == seen;
        // An empty match behind a line end is in the next line, which was not seen.
        let is_behind = matched.start() == end && end < bytes.len() && bytes[..end].ends_with(b"\n");
        (!seems && !is_behind).then_some(matched.start())
    }

    /// Whether any line of a file matches: as [`matches`](Self::matches), without looking further.
    pub fn is_match(&self, bytes: &[u8]) -> bool {
        !self.matches(bytes, 1).is_empty()
    }
}

/// Where the line that has `at` in it begins and ends, without its `\n`. `from` is the beginning of a line before it.
fn line_around(bytes: &[u8], from: usize, at: usize) -> (usize, usize) {
    let start = memchr::memrchr(b'\n', &bytes[from..at]).map_or(from, |end| from + end + 1);
    let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end);
    (start, end)
}

/// Where a step from the beginning of a line on ends: behind the last line that fits, or else behind the first.
fn some_lines(bytes: &[u8], from: usize) -> usize {
    let step = from.saturating_add(STEP_BYTES).min(bytes.len());
    if step == bytes.len() {
        return step;
    }
    match memchr::memrchr(b'\n', &bytes[from..step]) {
        Some(end) => from + end + 1,
        None => memchr::memchr(b'\n', &bytes[step..]).map_or(bytes.len(), |end| step + end + 1),
    }
}

fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(BINARY_HEAD_BYTES)]).is_some()
}

#[cfg(test)]
mod tests;

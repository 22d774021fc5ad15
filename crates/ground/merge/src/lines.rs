//! A text as lines, and every distinct line as a number.
//!
//! Lines are compared once, when they get their number; from there on two lines are equal if their numbers are. The
//! numbers of one [`Numbering`] hold for every text it has seen, so that three texts can be compared with each other.

use std::collections::HashMap;
use std::ops::Range;

/// The number of a distinct line.
pub(crate) type Line = u32;

/// A text cut after every `\n`. The last line may be without one, and then differs from the same line with one.
pub(crate) struct Text<'a> {
    bytes: &'a [u8],
    /// Where each line begins, and at the end where the last one ends.
    starts: Vec<usize>,
    /// The number of each line.
    pub(crate) numbers: Vec<Line>,
}

/// Gives equal lines equal numbers.
///
/// The map has the standard library's keyed hash, so that no text can be made to collide.
#[derive(Default)]
pub(crate) struct Numbering<'a> {
    seen: HashMap<&'a [u8], Line>,
}

impl<'a> Numbering<'a> {
    /// Cuts `bytes` into lines and numbers them.
    pub(crate) fn text(&mut self, bytes: &'a [u8]) -> Text<'a> {
        let mut starts = vec![0];
        let mut numbers = Vec::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            starts.push(starts[starts.len() - 1] + line.len());
            let next = Line::try_from(self.seen.len()).expect("a text in memory has fewer than 2^32 distinct lines");
            numbers.push(*self.seen.entry(line).or_insert(next));
        }
        Text { bytes, starts, numbers }
    }

    /// How many distinct lines there are: every number is below it.
    pub(crate) fn distinct(&self) -> usize {
        self.seen.len()
    }
}

impl<'a> Text<'a> {
    /// How many lines there are.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The bytes of `lines`, one after the other.
    pub(crate) fn bytes(&self, lines: Range<usize>) -> &'a [u8] {
        &self.bytes[self.starts[lines.start]..self.starts[lines.end]]
    }

    /// The bytes of one line, with its end.
    pub(crate) fn line(&self, index: usize) -> &'a [u8] {
        self.bytes(index..index + 1)
    }
}

//! Differences as `diff -u` and `git diff` print them, for people and for `patch`.

use std::io::Write;

use crate::Hunk;
use crate::compare::Comparison;
use crate::lines::{Numbering, Text};

/// The names of the two texts in the head of a unified difference. They are written as they are, without line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    /// The name beside `---`.
    pub old: &'a str,
    /// The name beside `+++`.
    pub new: &'a str,
}

/// The way from `old` to `new` as a unified difference with `context` unchanged lines around each change. Empty if the
/// two are equal.
///
/// `patch` makes `new` from `old` with it. It is bytes, as the lines it shows are.
pub fn unified(old: &[u8], new: &[u8], names: &Names<'_>, context: usize) -> Vec<u8> {
    let mut numbering = Numbering::default();
    let (old, new) = (numbering.text(old), numbering.text(new));
    let hunks = Comparison::new(numbering.distinct()).hunks(&old.numbers, &new.numbers);
    let mut written = Vec::new();
    if hunks.is_empty() {
        return written;
    }
    print(&mut written, format_args!("--- {}\n+++ {}\n", names.old, names.new));
    let near = |a: &Hunk, b: &Hunk| b.old.start - a.old.end <= context.saturating_mul(2);
    for shown_together in hunks.chunk_by(near) {
        show(&mut written, &old, &new, shown_together, context);
    }
    written
}

/// Writes hunks that are near each other, under one head.
fn show(written: &mut Vec<u8>, old: &Text<'_>, new: &Text<'_>, hunks: &[Hunk], context: usize) {
    let (first, last) = (&hunks[0], &hunks[hunks.len() - 1]);
    let before = first.old.start.min(context);
    let after = (old.len() - last.old.end).min(context);
    let old_lines = first.old.start - before..last.old.end + after;
    let new_lines = first.new.start - before..last.new.end + after;
    print(written, format_args!("@@ -{} +{} @@\n", place(&old_lines), place(&new_lines)));
    let mut at = old_lines.start;
    for hunk in hunks {
        (at..hunk.old.start).for_each(|index| line(written, b' ', old.line(index)));
        hunk.old.clone().for_each(|index| line(written, b'-', old.line(index)));
        hunk.new.clone().for_each(|index| line(written, b'+', new.line(index)));
        at = hunk.old.end;
    }
    (at..old_lines.end).for_each(|index| line(written, b' ', old.line(index)));
}

/// Lines are counted from 1 here, and an empty range is named by the line before it.
fn place(lines: &std::ops::Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        many => format!("{},{many}", lines.start + 1),
    }
}

fn line(written: &mut Vec<u8>, sign: u8, line: &[u8]) {
    written.push(sign);
    written.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        written.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
}

fn print(written: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    written.write_fmt(text).expect("a vector takes whatever is written to it");
}

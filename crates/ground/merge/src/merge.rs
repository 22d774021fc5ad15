//! The three-way merge: the changes of both sides to the base, combined.
//!
//! Both sides are compared with the base. Changes that do not touch are both taken; changes that touch are a conflict
//! unless both sides made the same one. A conflict is then made as small as it can be: the two sides are compared with
//! each other and what they agree on leaves it. Last, conflicts with next to nothing in between are joined again, as
//! they read better that way.

use std::ops::Range;

use crate::Hunk;
use crate::compare::Comparison;
use crate::lines::{Numbering, Text};

/// Lines between two conflicts that are not worth telling them apart.
const JOINED_LINES_MAX: usize = 3;
/// How many characters a marker has.
const MARKER_LENGTH: usize = 7;

/// The names of the two sides in conflict markers. An empty label leaves the marker bare.
///
/// Labels are written as they are: they should not contain line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Labels<'a> {
    /// The label beside `<<<<<<<`.
    pub ours: &'a str,
    /// The label beside `>>>>>>>`.
    pub theirs: &'a str,
}

/// The outcome of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The merged text; where there is a conflict it has both sides, between markers.
    pub bytes: Vec<u8>,
    /// The conflicts, in order.
    pub conflicts: Vec<Conflict>,
}

impl Merged {
    /// Whether everything could be merged.
    pub fn is_clean(&self) -> bool {
        self.conflicts.is_empty()
    }
}

/// A place where both sides changed the same lines in different ways. Lines are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The lines of our text.
    pub ours: Range<usize>,
    /// The lines of their text.
    pub theirs: Range<usize>,
    /// The lines of the merged text, from the first marker through the last.
    pub merged: Range<usize>,
}

/// Merges what `ours` and `theirs` each did to `base`, as `git merge-file -p ours base theirs` does.
///
/// The texts are taken as text: whether they are is for the caller to ask, with [`is_binary`](crate::is_binary).
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8], labels: &Labels<'_>) -> Merged {
    let mut numbering = Numbering::default();
    let sides = Sides { base: numbering.text(base), ours: numbering.text(ours), theirs: numbering.text(theirs) };
    let regions = regions(&sides, numbering.distinct());
    let mut written = Written { bytes: Vec::with_capacity(ours.len() + theirs.len() / 2), lines: 0 };
    let mut conflicts = Vec::new();
    let mut done = 0;
    for region in &regions {
        match region.verdict {
            Verdict::Ours | Verdict::Same => continue,
            Verdict::Theirs => {
                written.lines_of(&sides.ours, done..region.ours.start);
                written.lines_of(&sides.theirs, region.theirs.clone());
            }
            Verdict::Conflict => {
                written.lines_of(&sides.ours, done..region.ours.start);
                let from = written.lines;
                written.conflict(&sides, region, labels);
                conflicts.push(Conflict {
                    ours: region.ours.clone(),
                    theirs: region.theirs.clone(),
                    merged: from..written.lines,
                });
            }
        }
        done = region.ours.end;
    }
    written.lines_of(&sides.ours, done..sides.ours.len());
    Merged { bytes: written.bytes, conflicts }
}

/// Merges like [`merge`], but keeps both sides of every conflict, ours first and without markers, as
/// `git merge-file -p --union` does. Good for texts that only grow, such as lists and logs.
pub fn union(base: &[u8], ours: &[u8], theirs: &[u8]) -> Vec<u8> {
    let mut numbering = Numbering::default();
    let sides = Sides { base: numbering.text(base), ours: numbering.text(ours), theirs: numbering.text(theirs) };
    let mut written = Written { bytes: Vec::with_capacity(ours.len() + theirs.len() / 2), lines: 0 };
    let mut done = 0;
    for region in regions(&sides, numbering.distinct()) {
        match region.verdict {
            Verdict::Ours | Verdict::Same => continue,
            Verdict::Theirs => written.lines_of(&sides.ours, done..region.ours.start),
            Verdict::Conflict => {
                written.lines_of(&sides.ours, done..region.ours.start);
                written.ended_lines_of(&sides.ours, region.ours.clone(), sides.line_end(&region));
            }
        }
        written.lines_of(&sides.theirs, region.theirs);
        done = region.ours.end;
    }
    written.lines_of(&sides.ours, done..sides.ours.len());
    written.bytes
}

struct Sides<'a> {
    base: Text<'a>,
    ours: Text<'a>,
    theirs: Text<'a>,
}

/// A stretch that at least one side changed. The lines between two of them are the same on both sides.
struct Region {
    verdict: Verdict,
    ours: Range<usize>,
    theirs: Range<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    /// Only we changed it.
    Ours,
    /// Only they changed it.
    Theirs,
    /// Both changed it, and it came out the same.
    Same,
    /// Both sides changed it.
    Conflict,
}

fn regions(sides: &Sides<'_>, distinct: usize) -> Vec<Region> {
    let mut comparison = Comparison::new(distinct);
    let ours = comparison.hunks(&sides.base.numbers, &sides.ours.numbers);
    let theirs = comparison.hunks(&sides.base.numbers, &sides.theirs.numbers);
    let regions = overlay(sides, &ours, &theirs);
    let regions = regions.into_iter().flat_map(|region| refine(sides, region, &mut comparison)).collect();
    join_near_conflicts(sides, regions)
}

/// What is next among the changes of one side, and how its lines are numbered up to there.
struct Ahead<'a> {
    hunks: &'a [Hunk],
    /// Lines of the side less lines of the base, once all hunks are past.
    surplus: isize,
}

impl Ahead<'_> {
    /// Where lines of the base that come before the next hunk are on this side.
    fn untouched(&self, base: &Range<usize>) -> Range<usize> {
        let shift = match self.hunks.first() {
            Some(next) => next.new.start as isize - next.old.start as isize,
            None => self.surplus,
        };
        base.start.wrapping_add_signed(shift)..base.end.wrapping_add_signed(shift)
    }
}

/// Lays the changes of both sides over each other.
fn overlay(sides: &Sides<'_>, ours: &[Hunk], theirs: &[Hunk]) -> Vec<Region> {
    let surplus = |side: &Text<'_>| side.len() as isize - sides.base.len() as isize;
    let mut ours = Ahead { hunks: ours, surplus: surplus(&sides.ours) };
    let mut theirs = Ahead { hunks: theirs, surplus: surplus(&sides.theirs) };
    let mut regions = Vec::new();
    loop {
        let (verdict, our_lines, their_lines) = match (ours.hunks.first(), theirs.hunks.first()) {
            (None, None) => return regions,
            (Some(our), their) if their.is_none_or(|their| our.old.end < their.old.start) => {
                ours.hunks = &ours.hunks[1..];
                (Verdict::Ours, our.new.clone(), theirs.untouched(&our.old))
            }
            (our, Some(their)) if our.is_none_or(|our| their.old.end < our.old.start) => {
                theirs.hunks = &theirs.hunks[1..];
                (Verdict::Theirs, ours.untouched(&their.old), their.new.clone())
            }
            (Some(our), Some(their)) => {
                if our.old.end <= their.old.end {
                    ours.hunks = &ours.hunks[1..];
                }
                if their.old.end <= our.old.end {
                    theirs.hunks = &theirs.hunks[1..];
                }
                let (a, b) = (&sides.ours.numbers[our.new.clone()], &sides.theirs.numbers[their.new.clone()]);
                if our.old == their.old && a == b {
                    continue;
                }
                let base = our.old.start.min(their.old.start)..our.old.end.max(their.old.end);
                (Verdict::Conflict, widened(our, &base), widened(their, &base))
            }
            (Some(_), None) | (None, Some(_)) => unreachable!("a side that is alone never touches the other"),
        };
        add(&mut regions, Region { verdict, ours: our_lines, theirs: their_lines });
    }
}

/// The lines of one side that stand for `base`, which its hunk lies in.
///
/// If an earlier hunk of the side lies in `base` too, the start is too early, perhaps before the text. That does no
/// harm: the region is then part of the last one, whose start holds.
fn widened(hunk: &Hunk, base: &Range<usize>) -> Range<usize> {
    hunk.new.start.saturating_sub(hunk.old.start - base.start)..hunk.new.end + (base.end - hunk.old.end)
}

/// Adds a region. One that touches the last becomes part of it, and of a conflict if the two are not of one side.
fn add(regions: &mut Vec<Region>, region: Region) {
    match regions.last_mut() {
        Some(last) if region.ours.start <= last.ours.end || region.theirs.start <= last.theirs.end => {
            if last.verdict != region.verdict {
                last.verdict = Verdict::Conflict;
            }
            last.ours.end = region.ours.end;
            last.theirs.end = region.theirs.end;
        }
        Some(_) | None => regions.push(region),
    }
}

/// A conflict as the smaller ones that are left when what both sides agree on is taken out; other regions as they are.
fn refine(sides: &Sides<'_>, region: Region, comparison: &mut Comparison) -> Vec<Region> {
    if region.verdict != Verdict::Conflict || region.ours.is_empty() || region.theirs.is_empty() {
        return vec![region];
    }
    let ours = &sides.ours.numbers[region.ours.clone()];
    let theirs = &sides.theirs.numbers[region.theirs.clone()];
    let hunks = comparison.hunks(ours, theirs);
    if hunks.is_empty() {
        return vec![Region { verdict: Verdict::Same, ..region }];
    }
    let shifted = |range: Range<usize>, by: usize| range.start + by..range.end + by;
    let smaller = hunks.into_iter().map(|hunk| Region {
        verdict: Verdict::Conflict,
        ours: shifted(hunk.old, region.ours.start),
        theirs: shifted(hunk.new, region.theirs.start),
    });
    smaller.collect()
}

/// Joins conflicts that follow each other with at most three lines, or nothing but punctuation, between them.
fn join_near_conflicts(sides: &Sides<'_>, regions: Vec<Region>) -> Vec<Region> {
    let mut joined: Vec<Region> = Vec::with_capacity(regions.len());
    for region in regions {
        match joined.last_mut() {
            Some(last)
                if last.verdict == Verdict::Conflict
                    && region.verdict == Verdict::Conflict
                    && reads_as_one(&sides.ours, last.ours.end..region.ours.start) =>
            {
                last.ours.end = region.ours.end;
                last.theirs.end = region.theirs.end;
            }
            Some(_) | None => joined.push(region),
        }
    }
    joined
}

fn reads_as_one(text: &Text<'_>, between: Range<usize>) -> bool {
    between.len() <= JOINED_LINES_MAX || !text.bytes(between).iter().any(u8::is_ascii_alphanumeric)
}

/// How a line that has to be ended is ended.
#[derive(Clone, Copy, PartialEq)]
enum LineEnd {
    Lf,
    CrLf,
}

impl LineEnd {
    fn bytes(self) -> &'static [u8] {
        match self {
            LineEnd::Lf => b"\n",
            LineEnd::CrLf => b"\r\n",
        }
    }

    /// How the line at `index` ends, or the one before it if it is the last and has no end; `None` if that cannot be
    /// told.
    fn of(text: &Text<'_>, index: usize) -> Option<LineEnd> {
        let ended = match index.checked_sub(1) {
            _ if index >= text.len() => return None,
            _ if text.line(index).ends_with(b"\n") => index,
            before => before?,
        };
        Some(if text.line(ended).ends_with(b"\r\n") { LineEnd::CrLf } else { LineEnd::Lf })
    }
}

impl Sides<'_> {
    /// How markers end: as the lines do that all three texts have there, with LF where they are not of one mind.
    fn line_end(&self, region: &Region) -> LineEnd {
        let before = |text, lines: &Range<usize>| LineEnd::of(text, lines.start.saturating_sub(1));
        let is_lf = |end| end == Some(LineEnd::Lf);
        if is_lf(before(&self.ours, &region.ours)) || is_lf(before(&self.theirs, &region.theirs)) {
            return LineEnd::Lf;
        }
        LineEnd::of(&self.base, 0).unwrap_or(LineEnd::Lf)
    }
}

/// The merged text as it grows.
struct Written {
    bytes: Vec<u8>,
    lines: usize,
}

impl Written {
    fn lines_of(&mut self, text: &Text<'_>, lines: Range<usize>) {
        self.lines += lines.len();
        self.bytes.extend_from_slice(text.bytes(lines));
    }

    /// Like [`lines_of`](Self::lines_of), with an end given to a last line that has none.
    fn ended_lines_of(&mut self, text: &Text<'_>, lines: Range<usize>, end: LineEnd) {
        let ended = lines.is_empty() || text.bytes(lines.clone()).ends_with(b"\n");
        self.lines_of(text, lines);
        if !ended {
            self.bytes.extend_from_slice(end.bytes());
        }
    }

    fn conflict(&mut self, sides: &Sides<'_>, region: &Region, labels: &Labels<'_>) {
        let end = sides.line_end(region);
        self.marker(b'<', labels.ours, end);
        self.ended_lines_of(&sides.ours, region.ours.clone(), end);
        self.marker(b'=', "", end);
        self.ended_lines_of(&sides.theirs, region.theirs.clone(), end);
        self.marker(b'>', labels.theirs, end);
    }

    fn marker(&mut self, of: u8, label: &str, end: LineEnd) {
        self.bytes.extend_from_slice(&[of; MARKER_LENGTH]);
        if !label.is_empty() {
            self.bytes.push(b' ');
            self.bytes.extend_from_slice(label.as_bytes());
        }
        self.bytes.extend_from_slice(end.bytes());
        self.lines += 1;
    }
}

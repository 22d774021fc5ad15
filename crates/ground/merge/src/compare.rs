//! From two texts to the hunks between them: leave out what cannot match, search, then slide each hunk to its place.

use std::ops::Range;

use crate::Hunk;
use crate::lines::Line;
use crate::search::{power_near_root, search};

/// A line that is this often on the other side, however long the texts, is too common to say much.
const COMMON_MAX: usize = 1024;
/// How far around a common line to look for company.
const COMPANY_LINES: usize = 100;
/// A common line is left out if fewer than one in this many of the lines around it are common.
const COMPANY_FACTOR: usize = 4;

/// Compares texts whose lines are numbered below a bound; keeps its tables between comparisons.
pub(crate) struct Comparison {
    /// How often each line is in the old text and in the new; all 0 between comparisons.
    times: Vec<[u32; 2]>,
}

impl Comparison {
    /// For lines with numbers below `distinct`.
    pub(crate) fn new(distinct: usize) -> Comparison {
        Comparison { times: vec![[0, 0]; distinct] }
    }

    /// The hunks that lead from `old` to `new`, in order. Between two hunks there is at least one line that both have.
    pub(crate) fn hunks(&mut self, old: &[Line], new: &[Line]) -> Vec<Hunk> {
        let mut changed = [vec![false; old.len()], vec![false; new.len()]];
        self.mark(old, new, &mut changed);
        let [gone, come] = changed;
        let mut gaps = [gaps(&gone), gaps(&come)];
        let [old_gaps, new_gaps] = &mut gaps;
        slide(old, old_gaps, new_gaps);
        slide(new, new_gaps, old_gaps);
        hunks(old_gaps, new_gaps)
    }

    fn mark(&mut self, old: &[Line], new: &[Line], changed: &mut [Vec<bool>; 2]) {
        let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
        let (old_middle, new_middle) = (head..old.len() - tail, head..new.len() - tail);
        let [gone, come] = changed;
        if old_middle.is_empty() || new_middle.is_empty() {
            gone[old_middle].fill(true);
            come[new_middle].fill(true);
            return;
        }
        for line in old {
            self.times[*line as usize][0] += 1;
        }
        for line in new {
            self.times[*line as usize][1] += 1;
        }
        let old_kept = self.worth_searching(old, old_middle, 1, gone);
        let new_kept = self.worth_searching(new, new_middle, 0, come);
        for line in old.iter().chain(new) {
            self.times[*line as usize] = [0, 0];
        }
        let lines = |text: &[Line], kept: &[usize]| kept.iter().map(|index| text[*index]).collect::<Vec<_>>();
        search(
            &lines(old, &old_kept),
            &lines(new, &new_kept),
            |index| gone[old_kept[index]] = true,
            |index| come[new_kept[index]] = true,
        );
    }

    /// The lines of `middle` that the search shall see; the others are marked as changed.
    fn worth_searching(&self, text: &[Line], middle: Range<usize>, other: usize, changed: &mut [bool]) -> Vec<usize> {
        let common = power_near_root(text.len()).min(COMMON_MAX);
        let standing: Vec<Standing> = text[middle.clone()]
            .iter()
            .map(|line| match self.times[*line as usize][other] as usize {
                0 => Standing::Alone,
                times if times < common => Standing::Telling,
                _ => Standing::Common,
            })
            .collect();
        let mut kept = Vec::with_capacity(standing.len());
        for (index, stands) in standing.iter().enumerate() {
            let keep = match stands {
                Standing::Alone => false,
                Standing::Telling => true,
                Standing::Common => !in_lonely_company(&standing, index),
            };
            if keep {
                kept.push(middle.start + index);
            } else {
                changed[middle.start + index] = true;
            }
        }
        kept
    }
}

/// How a line stands to the other text.
#[derive(Clone, Copy, PartialEq)]
enum Standing {
    /// The other text does not have it.
    Alone,
    /// The other text has it, not too often.
    Telling,
    /// The other text has it so often that a match says little.
    Common,
}

/// Whether the common line at `index` is in a run of lines that are mostly alone: matched, it would only break up a
/// replaced block.
fn in_lonely_company(standing: &[Standing], index: usize) -> bool {
    let before = company(standing[index.saturating_sub(COMPANY_LINES)..index].iter().rev());
    let after = company(standing[index + 1..].iter().take(COMPANY_LINES));
    // The line itself is counted on both sides, as git does.
    let (alone, common) = (before.0 + after.0, before.1 + after.1 + 2);
    before.0 > 0 && after.0 > 0 && common * COMPANY_FACTOR < common + alone
}

/// How many lines are alone, and how many common, before the first telling one.
fn company<'a>(lines: impl Iterator<Item = &'a Standing>) -> (usize, usize) {
    lines.take_while(|stands| **stands != Standing::Telling).fold((0, 0), |(alone, common), stands| match stands {
        Standing::Alone => (alone + 1, common),
        Standing::Telling | Standing::Common => (alone, common + 1),
    })
}

/// How many changed lines stand before each kept one, and after the last. Both texts keep the same lines, so that the
/// gaps of one stand against the gaps of the other by index.
fn gaps(changed: &[bool]) -> Vec<usize> {
    let mut gaps = vec![0];
    for changed in changed {
        match changed {
            true => *gaps.last_mut().expect("there is always one") += 1,
            false => gaps.push(0),
        }
    }
    gaps
}

/// Slides each group of changed lines in `text` to its place: down as far as it goes, or to the last place on the way
/// where the other text has a change too. Groups that meet become one.
///
/// A group can slide over a kept line if that line is equal to the one that the group gives up at its other end.
fn slide(text: &[Line], gaps: &mut [usize], other: &[usize]) {
    let mut gap = 0;
    let mut start = 0;
    while gap < gaps.len() {
        if gaps[gap] > 0 {
            let mut group = Group { text, gaps, gap, start };
            group.settle(other);
            (gap, start) = (group.gap, group.start);
        }
        start += gaps[gap] + 1;
        gap += 1;
    }
}

/// A group of changed lines that slides: the gap it is in, and its first line.
struct Group<'a> {
    text: &'a [Line],
    gaps: &'a mut [usize],
    gap: usize,
    start: usize,
}

impl Group<'_> {
    fn settle(&mut self, other: &[usize]) {
        let (highest, beside) = loop {
            let size = self.size();
            while self.up() {}
            let highest = self.gap;
            let mut beside = other[self.gap] > 0;
            while self.down() {
                beside |= other[self.gap] > 0;
            }
            // The lines that joined on the way may let the larger group slide where the smaller one could not.
            if self.size() == size {
                break (highest, beside);
            }
        };
        if beside && self.gap != highest {
            while other[self.gap] == 0 && self.up() {}
        }
    }

    fn size(&self) -> usize {
        self.gaps[self.gap]
    }

    fn up(&mut self) -> bool {
        let can = self.gap > 0 && self.text[self.start - 1] == self.text[self.start + self.size() - 1];
        if can {
            let size = std::mem::take(&mut self.gaps[self.gap]);
            self.gap -= 1;
            self.start -= 1 + self.gaps[self.gap];
            self.gaps[self.gap] += size;
        }
        can
    }

    fn down(&mut self) -> bool {
        let last = self.gap + 1 == self.gaps.len();
        let can = !last && self.text[self.start] == self.text[self.start + self.size()];
        if can {
            let size = std::mem::take(&mut self.gaps[self.gap]);
            self.gap += 1;
            self.start += 1;
            self.gaps[self.gap] += size;
        }
        can
    }
}

fn hunks(old_gaps: &[usize], new_gaps: &[usize]) -> Vec<Hunk> {
    let (mut old, mut new) = (0, 0);
    let mut hunks = Vec::new();
    for (gone, come) in old_gaps.iter().zip(new_gaps) {
        if *gone > 0 || *come > 0 {
            hunks.push(Hunk { old: old..old + gone, new: new..new + come });
        }
        (old, new) = (old + gone + 1, new + come + 1);
    }
    hunks
}

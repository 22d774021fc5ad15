//! The lines of two texts that stay: Myers' search from both ends, with a bound on its cost.
//!
//! The two texts span a grid; a step right leaves out an old line, a step down takes in a new one, and a diagonal step
//! keeps a line that both have. Two waves walk it, one from the beginning and one from the end, each a step further a
//! round; where they meet, the box is cut in two and each half is searched the same way.
//!
//! Where several answers are equally short, the choice is that of git's diff, since a merge depends on it: diagonals
//! are tried from the highest down, and an old line goes before a new one comes. As in git, an expensive search stops
//! at a good place that is perhaps not the best: [`Budget`] says when. So for all texts the time is bounded by the
//! number of lines times its square root. Beyond [`STEPS_MAX`], which texts by people do not come near, the remaining
//! lines are taken as changed.

use std::ops::Range;

use crate::lines::Line;

/// Rounds after which a long enough run of kept lines is taken as a place to cut.
const ROUNDS_BEFORE_SHORTCUT: isize = 256;
/// Rounds that are always allowed, however short the texts.
const ROUNDS_MIN: usize = 256;
/// Kept lines in a row that make a run a good one.
const GOOD_RUN_LINES: isize = 20;
/// How much further than the rounds spent a wave must have come for a shortcut.
const SHORTCUT_FACTOR: isize = 4;
/// Steps after which nothing more is looked for: some seconds.
const STEPS_MAX: u64 = 1 << 30;
/// Where a backward wave stands on a diagonal it has not walked: after every line, and far from overflowing.
const BEYOND_THE_END: isize = isize::MAX / 4;

/// Marks in `gone` the lines of `old`, and in `come` the lines of `new`, that are not kept.
pub(crate) fn search(old: &[Line], new: &[Line], mut gone: impl FnMut(usize), mut come: impl FnMut(usize)) {
    let diagonals = old.len() + new.len() + 3;
    let mut grid = Grid {
        old,
        new,
        forward: Wave::new(diagonals, new.len()),
        backward: Wave::new(diagonals, new.len()),
        rounds_max: power_near_root(diagonals).max(ROUNDS_MIN) as isize,
        steps: 0,
    };
    let mut boxes = vec![(Area { old: 0..old.len(), new: 0..new.len() }, Budget::Bounded)];
    while let Some((area, budget)) = boxes.pop() {
        let area = area.without_equal_ends(old, new);
        if area.old.is_empty() || area.new.is_empty() || grid.steps > STEPS_MAX {
            area.old.for_each(&mut gone);
            area.new.for_each(&mut come);
            continue;
        }
        let cut = grid.cut(&area, budget);
        boxes.push((Area { old: cut.old..area.old.end, new: cut.new..area.new.end }, cut.after));
        boxes.push((Area { old: area.old.start..cut.old, new: area.new.start..cut.new }, cut.before));
    }
}

/// A power of two near the square root of `n`, never below it by more than a rounding.
pub(crate) fn power_near_root(n: usize) -> usize {
    let bits = usize::BITS - n.leading_zeros();
    1 << bits.div_ceil(2)
}

/// The bound on the cost of a search of one box.
#[derive(Clone, Copy, PartialEq)]
enum Budget {
    /// Shortcuts are taken and the rounds are counted.
    Bounded,
    /// The best answer is found. Only given to a box that one wave has crossed already, which is what bounds it.
    Whole,
}

/// Where a box is cut in two, and how each part is searched.
struct Cut {
    old: usize,
    new: usize,
    before: Budget,
    after: Budget,
}

/// A box of the grid.
struct Area {
    old: Range<usize>,
    new: Range<usize>,
}

impl Area {
    fn without_equal_ends(self, old: &[Line], new: &[Line]) -> Area {
        let (a, b) = (&old[self.old.clone()], &new[self.new.clone()]);
        let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(a, b)| a == b).count();
        Area { old: self.old.start + head..self.old.end - tail, new: self.new.start + head..self.new.end - tail }
    }
}

/// How far one of the two walks has come on each diagonal, as an old line. A diagonal is old minus new.
struct Wave {
    reach: Vec<isize>,
    /// Where diagonal 0 is in `reach`.
    zero: isize,
    lowest: isize,
    highest: isize,
}

impl Wave {
    fn new(diagonals: usize, new_lines: usize) -> Wave {
        Wave { reach: vec![0; diagonals], zero: new_lines as isize + 1, lowest: 0, highest: 0 }
    }

    fn start(&mut self, diagonal: isize, at: isize) {
        (self.lowest, self.highest) = (diagonal, diagonal);
        self.set(diagonal, at);
    }

    fn at(&self, diagonal: isize) -> isize {
        self.reach[(diagonal + self.zero) as usize]
    }

    fn set(&mut self, diagonal: isize, at: isize) {
        self.reach[(diagonal + self.zero) as usize] = at;
    }

    /// Takes in one more diagonal on either side; at an edge of the box the wave draws back instead, so that each round
    /// walks every second diagonal. `beyond` stands where the wave has not been.
    fn widen(&mut self, lowest: isize, highest: isize, beyond: isize) {
        if self.lowest > lowest {
            self.lowest -= 1;
            self.set(self.lowest - 1, beyond);
        } else {
            self.lowest += 1;
        }
        if self.highest < highest {
            self.highest += 1;
            self.set(self.highest + 1, beyond);
        } else {
            self.highest -= 1;
        }
    }

    /// The diagonals of this round, the highest first.
    fn diagonals(&self) -> impl Iterator<Item = isize> + use<> {
        let lowest = self.lowest;
        std::iter::successors(Some(self.highest), |diagonal| Some(diagonal - 2)).take_while(move |d| *d >= lowest)
    }

    fn covers(&self, diagonal: isize) -> bool {
        self.lowest <= diagonal && diagonal <= self.highest
    }
}

/// The result of a round of a wave.
enum Round {
    Met { old: isize, new: isize },
    Walked { good_run: bool },
}

/// The edges of a box, as signed numbers.
#[derive(Clone, Copy)]
struct Edges {
    left: isize,
    right: isize,
    top: isize,
    bottom: isize,
}

impl Edges {
    fn first_diagonal(self) -> isize {
        self.left - self.top
    }

    fn last_diagonal(self) -> isize {
        self.right - self.bottom
    }

    /// The waves meet in a forward round if the difference of the two sides is odd, else in a backward one.
    fn meets_forward(self) -> bool {
        (self.first_diagonal() - self.last_diagonal()) % 2 != 0
    }
}

/// The two texts and the two waves over them.
struct Grid<'a> {
    old: &'a [Line],
    new: &'a [Line],
    forward: Wave,
    backward: Wave,
    rounds_max: isize,
    /// Diagonals walked, in all rounds of all boxes.
    steps: u64,
}

impl Grid<'_> {
    fn same(&self, old: isize, new: isize) -> bool {
        self.old[old as usize] == self.new[new as usize]
    }

    /// Finds where to cut a box whose first lines differ and whose last lines differ.
    fn cut(&mut self, area: &Area, budget: Budget) -> Cut {
        let edges = Edges {
            left: area.old.start as isize,
            right: area.old.end as isize,
            top: area.new.start as isize,
            bottom: area.new.end as isize,
        };
        self.forward.start(edges.first_diagonal(), edges.left);
        self.backward.start(edges.last_diagonal(), edges.right);
        let mut rounds = 0;
        loop {
            rounds += 1;
            let mut found_run = false;
            for round in [Self::walk_forward, Self::walk_backward] {
                self.steps += (self.forward.highest - self.forward.lowest) as u64;
                match round(self, edges) {
                    Round::Met { old, new } => return cut_at(old, new, Budget::Whole, Budget::Whole),
                    Round::Walked { good_run } => found_run |= good_run,
                }
            }
            if budget == Budget::Whole {
                continue;
            }
            if found_run && rounds > ROUNDS_BEFORE_SHORTCUT {
                if let Some((old, new)) = self.forward_shortcut(edges, rounds) {
                    return cut_at(old, new, Budget::Whole, Budget::Bounded);
                }
                if let Some((old, new)) = self.backward_shortcut(edges, rounds) {
                    return cut_at(old, new, Budget::Bounded, Budget::Whole);
                }
            }
            if rounds >= self.rounds_max {
                return self.furthest(edges);
            }
        }
    }

    fn walk_forward(&mut self, edges: Edges) -> Round {
        self.forward.widen(edges.left - edges.bottom, edges.right - edges.top, -1);
        let mut good_run = false;
        for diagonal in self.forward.diagonals() {
            let (below, above) = (self.forward.at(diagonal - 1), self.forward.at(diagonal + 1));
            let from = if below >= above { below + 1 } else { above };
            let mut old = from;
            while old < edges.right && old - diagonal < edges.bottom && self.same(old, old - diagonal) {
                old += 1;
            }
            good_run |= old - from > GOOD_RUN_LINES;
            self.forward.set(diagonal, old);
            if edges.meets_forward() && self.backward.covers(diagonal) && self.backward.at(diagonal) <= old {
                return Round::Met { old, new: old - diagonal };
            }
        }
        Round::Walked { good_run }
    }

    fn walk_backward(&mut self, edges: Edges) -> Round {
        self.backward.widen(edges.left - edges.bottom, edges.right - edges.top, BEYOND_THE_END);
        let mut good_run = false;
        for diagonal in self.backward.diagonals() {
            let (below, above) = (self.backward.at(diagonal - 1), self.backward.at(diagonal + 1));
            let from = if below < above { below } else { above - 1 };
            let mut old = from;
            while old > edges.left && old - diagonal > edges.top && self.same(old - 1, old - 1 - diagonal) {
                old -= 1;
            }
            good_run |= from - old > GOOD_RUN_LINES;
            self.backward.set(diagonal, old);
            if !edges.meets_forward() && self.forward.covers(diagonal) && old <= self.forward.at(diagonal) {
                return Round::Met { old, new: old - diagonal };
            }
        }
        Round::Walked { good_run }
    }

    /// The end of a good run that the forward wave has come furthest to, if that is far for the rounds spent.
    fn forward_shortcut(&self, edges: Edges, rounds: isize) -> Option<(isize, isize)> {
        let mut best = SHORTCUT_FACTOR * rounds;
        let mut found = None;
        for diagonal in self.forward.diagonals() {
            let old = self.forward.at(diagonal);
            let new = old - diagonal;
            let progress = (old - edges.left) + (new - edges.top) - (diagonal - edges.first_diagonal()).abs();
            let inside = edges.left + GOOD_RUN_LINES <= old
                && old < edges.right
                && edges.top + GOOD_RUN_LINES <= new
                && new < edges.bottom;
            if progress > best && inside && (1..=GOOD_RUN_LINES).all(|back| self.same(old - back, new - back)) {
                best = progress;
                found = Some((old, new));
            }
        }
        found
    }

    /// The beginning of a good run that the backward wave has come furthest to, if that is far for the rounds spent.
    fn backward_shortcut(&self, edges: Edges, rounds: isize) -> Option<(isize, isize)> {
        let mut best = SHORTCUT_FACTOR * rounds;
        let mut found = None;
        for diagonal in self.backward.diagonals() {
            let old = self.backward.at(diagonal);
            let new = old - diagonal;
            let progress = (edges.right - old) + (edges.bottom - new) - (diagonal - edges.last_diagonal()).abs();
            let inside = edges.left < old
                && old <= edges.right - GOOD_RUN_LINES
                && edges.top < new
                && new <= edges.bottom - GOOD_RUN_LINES;
            if progress > best && inside && (0..GOOD_RUN_LINES).all(|on| self.same(old + on, new + on)) {
                best = progress;
                found = Some((old, new));
            }
        }
        found
    }

    /// Where the wave that has come further stands, once the rounds are used up.
    fn furthest(&self, edges: Edges) -> Cut {
        let mut ahead = (-1, 0, 0);
        for diagonal in self.forward.diagonals() {
            let old = self.forward.at(diagonal).min(edges.right).min(edges.bottom + diagonal);
            let sum = 2 * old - diagonal;
            if sum > ahead.0 {
                ahead = (sum, old, old - diagonal);
            }
        }
        let mut behind = (isize::MAX, 0, 0);
        for diagonal in self.backward.diagonals() {
            let old = self.backward.at(diagonal).max(edges.left).max(edges.top + diagonal);
            let sum = 2 * old - diagonal;
            if sum < behind.0 {
                behind = (sum, old, old - diagonal);
            }
        }
        if edges.right + edges.bottom - behind.0 < ahead.0 - edges.left - edges.top {
            cut_at(ahead.1, ahead.2, Budget::Whole, Budget::Bounded)
        } else {
            cut_at(behind.1, behind.2, Budget::Bounded, Budget::Whole)
        }
    }
}

fn cut_at(old: isize, new: isize, before: Budget, after: Budget) -> Cut {
    Cut { old: old as usize, new: new as usize, before, after }
}

//! What a term counts, and the scores of a term that many documents have.

use crate::row::REACH;
use crate::vectors::with_wide_registers;

/// How much a term counts that only a neighbour has.
pub(crate) const NEIGHBOUR: f32 = 0.3;
/// How soon more of the same term stops to count.
const K1: f32 = 1.2;
/// How much long messages are held back.
const B: f32 = 0.75;

/// More of the same counts less and less, and less in long texts.
#[inline(always)]
pub(crate) fn saturated(count: f32, length: f32) -> f32 {
    count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length))
}

/// A term that many documents have: how often each has it, and what it counts for its neighbours.
#[derive(Clone, Copy)]
pub(crate) struct Dense<'a> {
    pub(crate) strand: &'a [u32],
    pub(crate) around: &'a [u32],
    pub(crate) alone: &'a [f32],
    pub(crate) heads: &'a [f32],
    pub(crate) rarity: f32,
    pub(crate) mean: f32,
}

impl Dense<'_> {
    pub(crate) fn add_to(self, scores: &mut [f32]) {
        let count = scores.len();
        let middle = REACH..count.saturating_sub(REACH).max(REACH);
        if !middle.is_empty() {
            with_wide_registers(self, &mut scores[middle.clone()]);
        }
        for at in (0..REACH.min(count)).chain(middle.end..count) {
            let head =
                |near: usize| if self.strand.get(near) == Some(&self.strand[at]) { self.heads[near] } else { 0.0 };
            let before = |apart: usize| at.checked_sub(apart).map_or(0.0, head);
            let count = before(2) + before(1) + self.alone[at] + head(at + 1) + head(at + 2);
            scores[at] += self.rarity * saturated(count, self.around[at] as f32 / self.mean);
        }
    }

    /// Adds to the scores of the documents that have enough others before and after them.
    #[inline(always)]
    pub(crate) fn add_to_middle(self, into: &mut [f32]) {
        // Slices of one length, so that the loop has no checks.
        let length = into.len();
        let (s, h) = (|by: usize| &self.strand[by..by + length], |by: usize| &self.heads[by..by + length]);
        let (s0, s1, s2, s3, s4) = (s(0), s(1), s(2), s(3), s(4));
        let (h0, h1, h3, h4) = (h(0), h(1), h(3), h(4));
        let (own, around) = (&self.alone[REACH..REACH + length], &self.around[REACH..REACH + length]);
        for at in 0..length {
            let head = |strand: u32, head: f32| if strand == s2[at] { head } else { 0.0 };
            let before = head(s0[at], h0[at]) + head(s1[at], h1[at]);
            let count = before + own[at] + head(s3[at], h3[at]) + head(s4[at], h4[at]);
            into[at] += self.rarity * saturated(count, around[at] as f32 / self.mean);
        }
    }
}

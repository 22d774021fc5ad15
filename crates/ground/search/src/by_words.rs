//! Candidates by their words: every document that has a term of the question, with the neighbours that it has in its own
//! volume.

use crate::columns::Columns;
use crate::dense::{Dense, NEIGHBOUR, saturated};
use crate::postings::Posting;
use crate::row::REACH;
use crate::shelf::Place;
use crate::volume::Volume;

/// A term that more than one document in this many has is looked up document by document, not posting by posting.
const DENSE: usize = 8;
/// How many times as many as are wanted are collected before the worst of them go.
const SLACK: usize = 4;

/// The scores of the documents of one volume after the other, in the same memory.
#[derive(Default)]
pub(crate) struct Scores {
    scores: Vec<f32>,
    /// Whether a document was looked at because of a term of its own.
    has_own: Vec<bool>,
    /// How often each document has a term, its neighbours counted, while the term is looked at.
    counts: Vec<f32>,
    touched: Vec<u32>,
    /// The same without its neighbours, and what it counts for them.
    alone: Vec<f32>,
    heads: Vec<f32>,
}

impl Scores {
    /// Calls `each` with every document of `volume` that has a term, and its score. Terms come with their rarity and
    /// their postings; `mean` is the length of a document that is neither long nor short.
    pub(crate) fn of(
        &mut self,
        volume: &Volume,
        terms: &[(f32, &[Posting])],
        mean: f32,
        mut each: impl FnMut(u32, f32),
    ) {
        let terms: Vec<(f32, &[Posting])> =
            terms.iter().copied().filter(|(_, postings)| !postings.is_empty()).collect();
        let count = volume.len();
        for floats in [&mut self.scores, &mut self.counts] {
            floats.resize(count.max(floats.len()), 0.0);
        }
        self.has_own.resize(count.max(self.has_own.len()), false);
        for (rarity, postings) in &terms {
            if postings.len() > count / DENSE {
                self.add_dense(volume, *rarity, postings, mean);
            } else {
                self.add_sparse(volume, *rarity, postings, mean);
            }
        }
        match terms[..] {
            [] => return,
            [(_, postings)] => postings.iter().for_each(|posting| each(posting.doc, self.scores[posting.doc as usize])),
            [..] => {
                for posting in terms.iter().flat_map(|(_, postings)| *postings) {
                    if !std::mem::replace(&mut self.has_own[posting.doc as usize], true) {
                        each(posting.doc, self.scores[posting.doc as usize]);
                    }
                }
                self.has_own[..count].fill(false);
            }
        }
        self.scores[..count].fill(0.0);
    }

    /// Adds a term that few documents have.
    fn add_sparse(&mut self, volume: &Volume, rarity: f32, postings: &[Posting], mean: f32) {
        let columns = &volume.columns;
        for posting in postings {
            let doc = posting.doc as usize;
            let mut add = |doc: usize, count: f32| {
                if self.counts[doc] == 0.0 {
                    self.touched.push(doc as u32);
                }
                self.counts[doc] += count;
            };
            add(doc, posting.count as f32);
            if posting.head > 0 {
                let (begin, end) = (doc.saturating_sub(REACH), (doc + REACH + 1).min(volume.len()));
                for near in (begin..end).filter(|near| *near != doc && columns.strand[*near] == columns.strand[doc]) {
                    add(near, NEIGHBOUR * posting.head as f32);
                }
            }
        }
        for doc in self.touched.drain(..) {
            let doc = doc as usize;
            let count = std::mem::take(&mut self.counts[doc]);
            self.scores[doc] += rarity * saturated(count, columns.around[doc] as f32 / mean);
        }
    }

    /// Adds a term that many documents have: all of them one after the other, which processors do several at a time. The
    /// numbers are added in the same order, so that the sums are the same to the last bit.
    fn add_dense(&mut self, volume: &Volume, rarity: f32, postings: &[Posting], mean: f32) {
        let count = volume.len();
        for floats in [&mut self.alone, &mut self.heads] {
            floats.clear();
            floats.resize(count, 0.0);
        }
        for posting in postings {
            self.alone[posting.doc as usize] = posting.count as f32;
            self.heads[posting.doc as usize] = NEIGHBOUR * posting.head as f32;
        }
        let Columns { strand, around, .. } = &volume.columns;
        let dense = Dense { strand, around, alone: &self.alone, heads: &self.heads, rarity, mean };
        dense.add_to(&mut self.scores[..count]);
    }
}

/// The best of many.
pub(crate) struct Best {
    count: usize,
    found: Vec<(f32, Place)>,
    /// How many there were.
    total: usize,
    /// What is less is not among the best.
    least: f32,
}

impl Best {
    pub(crate) fn new(count: usize) -> Self {
        Self { count, found: Vec::new(), total: 0, least: 0.0 }
    }

    pub(crate) fn add(&mut self, score: f32, place: Place) {
        self.total += 1;
        if score < self.least {
            return;
        }
        self.found.push((score, place));
        if self.found.len() > self.count.saturating_mul(SLACK) {
            self.keep_best();
        }
    }

    fn keep_best(&mut self) {
        if self.found.len() <= self.count {
            return;
        }
        let order = |one: &(f32, Place), other: &(f32, Place)| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1));
        self.found.select_nth_unstable_by(self.count, order);
        self.found.truncate(self.count);
        self.least = self.found.iter().fold(f32::MAX, |least, (score, _)| least.min(*score));
    }

    /// The best, and whether that is all of them.
    pub(crate) fn finish(mut self) -> (Vec<(f32, Place)>, bool) {
        self.keep_best();
        (self.found, self.total <= self.count)
    }
}

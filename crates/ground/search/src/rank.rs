//! Ranking: the messages that answer a question, the best first.
//!
//! The words of a question are often spread over neighbouring messages, so a term that a neighbour has counts too, less
//! than one of the message itself (BM25F over two fields, of which the second is never stored). Directions of vectors
//! are compared the same way, those of the neighbours added to the message's own.
//!
//! First every document of the shelf is looked at as far as its own volume shows its neighbours; that finds candidates.
//! The reader knows what a thread shows, finds the true neighbours, and asks for the exact score.

use std::collections::HashSet;
use std::sync::Arc;

use ::bytes::Bytes;

use crate::Question;
use crate::by_direction::{Alike, Excerpt, cosine, is_comparable, nearest, window};
use crate::by_words::{Best, Scores};
use crate::dense::{NEIGHBOUR, saturated};
use crate::filter::{Filter, Wants};
use crate::postings::Posting;
use crate::shelf::{Place, Shelf};
use crate::source::Unreadable;
use crate::vectors::near_weight;
use crate::volume::{Term, Volume};

/// The share of the words in a score; the rest is the vectors'.
const WORDS: f32 = 0.55;
/// Most terms of a question that count: the rarest.
const TERMS_MAX: usize = 64;
/// How alike a message without any of the words has to be to count.
const ALIKE_MIN: f32 = 0.45;
/// Documents up to which there is time to compare twice as many vectors.
const FEW_DOCUMENTS: usize = 16_384;
/// By how much that may differ where the neighbours lie in other volumes.
const ALIKE_SLACK: f32 = 0.02;

/// A document and how well it answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// The place of the document.
    pub place: Place,
    /// How well its words answer: 1 is the best.
    pub keyword: f32,
    /// How well its direction answers: 1 is the best.
    pub vector: f32,
    /// Both together, from 0 to 1.
    pub score: f32,
}

/// A term of the question, and who has it.
struct Asked {
    rarity: f32,
    /// Postings for each volume.
    postings: Vec<Vec<Posting>>,
}

/// The candidates of a question on a shelf.
pub struct Matches {
    shelf: Arc<Shelf>,
    question: Arc<Question>,
    terms: Vec<Asked>,
    /// The mean length of a document with its neighbours' heads.
    mean: f32,
    best: f32,
    cosines: (f32, f32),
    candidates: Vec<Scored>,
    complete: bool,
    /// The vectors of the candidates and their neighbours, for each volume.
    excerpts: Vec<Excerpt>,
}

impl Matches {
    /// Looks for `question` among what is wanted. It reads the postings of the question's terms and the vectors of the
    /// candidates; that blocks the thread if a volume is not in memory.
    ///
    /// # Errors
    /// If a volume cannot be read.
    pub fn find(shelf: Arc<Shelf>, question: Arc<Question>, wants: &Wants) -> Result<Self, Unreadable> {
        let terms = asked(&shelf, &question)?;
        // Of what a document has by itself, so that it does not matter in which volumes its neighbours lie.
        let words: u64 = shelf.volumes.iter().map(|volume| volume.columns.words).sum();
        let documents = shelf.len();
        let mut matches = Self {
            shelf: Arc::clone(&shelf),
            question: Arc::clone(&question),
            terms,
            mean: (words as f32 / documents.max(1) as f32).max(1.0),
            best: 0.0,
            cosines: (0.0, 0.0),
            candidates: Vec::new(),
            complete: true,
            excerpts: shelf.volumes.iter().map(|_| Excerpt::default()).collect(),
        };
        let required = matches.with_all(&question)?;
        let filters: Vec<Filter<'_>> = shelf.volumes.iter().map(|volume| Filter::new(volume, wants)).collect();
        let (mut best, mut scores) = (Best::new(wants.candidates), Scores::default());
        for (at, volume) in shelf.volumes.iter().enumerate() {
            let terms: Vec<(f32, &[Posting])> =
                matches.terms.iter().map(|term| (term.rarity, &term.postings[at][..])).collect();
            scores.of(volume, &terms, matches.mean, |doc, score| {
                let has_phrases = required.as_ref().is_none_or(|all| all[at].contains(&doc));
                if has_phrases && filters[at].passes(doc) {
                    best.add(score, Place { volume: at as u32, doc });
                }
            });
        }
        let (found, complete) = best.finish();
        matches.complete = complete;
        let mut places: Vec<(Place, f32)> = found.into_iter().map(|(score, place)| (place, score)).collect();
        if required.is_none()
            && let Some((model, asked)) = matches.vector()
        {
            let count = if documents <= FEW_DOCUMENTS { wants.candidates } else { wants.candidates / 2 };
            let near = nearest(&filters, model, asked, count);
            places.extend(near.into_iter().map(|place| (place, 0.0)));
        }
        // Of a document that both found, what its words say counts: the higher score comes first.
        places.sort_unstable_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
        places.dedup_by_key(|(place, _)| *place);
        matches.rank(&places)?;
        Ok(matches)
    }

    /// The candidates, the best first, by what their own volumes know.
    pub fn candidates(&self) -> &[Scored] {
        &self.candidates
    }

    /// Whether every document that has a word of the question is a candidate.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether [`Matches::exact`] needs no more of the volumes than is in memory, so that it does not block its thread.
    pub fn has(&self, places: impl IntoIterator<Item = Place>) -> bool {
        let in_memory = |place: Place| {
            let volume = self.shelf.volume(place);
            volume.is_in_memory() || self.excerpts[place.volume as usize].vector(place.doc).is_some()
        };
        self.vector().is_none() || places.into_iter().all(in_memory)
    }

    /// How well a document answers, with these documents before and after it, the nearest first; none if it does not
    /// answer at all: no word of it is asked for, and its direction is another one.
    ///
    /// # Errors
    /// If a volume cannot be read.
    pub fn exact(&self, place: Place, before: &[Place], after: &[Place]) -> Result<Option<Scored>, Unreadable> {
        let (words, own) = self.words(place, before, after);
        let cosine = self.cosine(place, before, after)?;
        if !own && cosine.is_none_or(|cosine| cosine < ALIKE_MIN) {
            return Ok(None);
        }
        Ok(Some(self.scored(place, words, cosine)))
    }

    fn vector(&self) -> Option<(&str, &[f32])> {
        self.question.vector.as_ref().map(|(model, vector)| (model.as_str(), vector.as_slice()))
    }

    fn scored(&self, place: Place, words: f32, cosine: Option<f32>) -> Scored {
        let keyword = if self.best > 0.0 { (words / self.best).min(1.0) } else { 0.0 };
        let (low, high) = self.cosines;
        let vector = match cosine {
            Some(cosine) if high > low => ((cosine - low) / (high - low)).clamp(0.0, 1.0),
            Some(_) | None => 0.0,
        };
        let score = if self.vector().is_none() { keyword } else { WORDS * keyword + (1.0 - WORDS) * vector };
        Scored { place, keyword, vector, score }
    }

    /// The score of a document by its words and those of its neighbours, and whether it has one of its own.
    fn words(&self, place: Place, before: &[Place], after: &[Place]) -> (f32, bool) {
        let volume = self.shelf.volume(place);
        let near = || before.iter().chain(after);
        let head_length = |place: &Place| self.shelf.volume(*place).columns.head[place.doc as usize];
        let length = volume.columns.length[place.doc as usize] + near().map(head_length).sum::<u32>();
        let (mut score, mut own) = (0.0, false);
        for term in &self.terms {
            let of = |place: &Place| {
                let postings = &term.postings[place.volume as usize];
                postings.binary_search_by_key(&place.doc, |posting| posting.doc).ok().map(|at| postings[at])
            };
            let here = of(&place);
            own |= here.is_some();
            let there: u32 = near().filter_map(of).map(|posting| posting.head).sum();
            let count = here.map_or(0, |posting| posting.count) as f32 + NEIGHBOUR * there as f32;
            score += term.rarity * saturated(count, length as f32 / self.mean);
        }
        (score, own)
    }

    /// The same with the neighbours in its own volume, and without the other answer.
    fn words_here(&self, volume: &Volume, place: Place) -> f32 {
        let (window, length) = (window(volume, place.doc), volume.columns.around[place.doc as usize]);
        let mut score = 0.0;
        for term in &self.terms {
            let postings = &term.postings[place.volume as usize];
            let begin = postings.partition_point(|posting| posting.doc < window.start);
            let (mut own, mut there) = (0, 0);
            for posting in postings[begin..].iter().take_while(|posting| posting.doc < window.end) {
                if posting.doc == place.doc { own = posting.count } else { there += posting.head }
            }
            let count = own as f32 + NEIGHBOUR * there as f32;
            score += term.rarity * saturated(count, length as f32 / self.mean);
        }
        score
    }

    /// The cosine of a question and a document, the directions of whose neighbours are added to its own.
    fn cosine(&self, place: Place, before: &[Place], after: &[Place]) -> Result<Option<f32>, Unreadable> {
        let Some((model, asked)) = self.vector() else { return Ok(None) };
        if !is_comparable(self.shelf.volume(place), model, asked) {
            return Ok(None);
        }
        let distances = [0].into_iter().chain(1..=before.len()).chain(1..=after.len());
        let mut parts = Vec::with_capacity(1 + before.len() + after.len());
        for (near, distance) in [place].iter().chain(before).chain(after).zip(distances) {
            let volume = self.shelf.volume(*near);
            if !is_comparable(volume, model, asked) {
                continue;
            }
            // Most were read with the candidates.
            parts.push((
                near_weight(distance),
                match self.excerpts[near.volume as usize].vector(near.doc) {
                    Some(vector) => Bytes::copy_from_slice(vector),
                    None => volume.vectors(std::slice::from_ref(&(near.doc..near.doc + 1)))?.pop().unwrap_or_default(),
                },
            ));
        }
        Ok(cosine(asked, parts.iter().map(|(weight, vector)| (*weight, &vector[..]))))
    }

    /// Volume by volume the documents that have every term of the phrases; none if no phrase is asked for.
    fn with_all(&self, question: &Question) -> Result<Option<Vec<HashSet<u32>>>, Unreadable> {
        if question.phrases.is_empty() {
            return Ok(None);
        }
        let mut all = Vec::new();
        for volume in &self.shelf.volumes {
            let mut common: Option<HashSet<u32>> = None;
            for name in &question.required {
                let term = volume.term(name)?;
                let postings = volume.postings(term.as_ref().as_slice())?;
                let having = postings.into_iter().flatten().map(|posting| posting.doc);
                common = Some(match common {
                    Some(common) => having.filter(|doc| common.contains(doc)).collect(),
                    None => having.collect(),
                });
            }
            all.push(common.unwrap_or_default());
        }
        Ok(Some(all))
    }

    /// Scores the candidates, which are in the order of their places, and puts the best first.
    fn rank(&mut self, places: &[(Place, f32)]) -> Result<(), Unreadable> {
        let mut raw = Vec::with_capacity(places.len());
        let mut alike = Alike::new(self.vector().map_or(&[], |(_, asked)| asked));
        for of_one in places.chunk_by(|(one, _), (other, _)| one.volume == other.volume) {
            let volume = self.shelf.volume(of_one[0].0);
            let docs = || of_one.iter().map(|(place, _)| place.doc);
            let mut cosines = vec![None; of_one.len()];
            if self.vector().is_some_and(|(model, asked)| is_comparable(volume, model, asked)) {
                let excerpt = Excerpt::read(volume, docs())?;
                cosines.clear();
                alike.cosines(volume, &excerpt, docs(), |cosine| cosines.push(cosine));
                self.excerpts[of_one[0].0.volume as usize] = excerpt;
            }
            for ((place, words), cosine) in of_one.iter().zip(cosines) {
                let has_words = *words > 0.0;
                let words = if has_words { *words } else { self.words_here(self.shelf.volume(*place), *place) };
                raw.push((*place, words, cosine, has_words));
            }
        }
        self.best = raw.iter().fold(0.0, |best, (_, words, ..)| best.max(*words));
        let cosines = || raw.iter().filter_map(|(_, _, cosine, _)| *cosine);
        self.cosines = (cosines().fold(f32::MAX, f32::min), cosines().fold(f32::MIN, f32::max));
        let promising = |cosine: &Option<f32>| cosine.is_some_and(|cosine| cosine >= ALIKE_MIN - ALIKE_SLACK);
        raw.retain(|(_, _, cosine, has_words)| *has_words || promising(cosine));
        let mut candidates: Vec<Scored> =
            raw.iter().map(|(place, words, cosine, _)| self.scored(*place, *words, *cosine)).collect();
        candidates.sort_by(|one, other| {
            let message = |scored: &Scored| (self.shelf.message(scored.place), self.shelf.carrier(scored.place));
            other.score.total_cmp(&one.score).then_with(|| message(one).cmp(&message(other)))
        });
        self.candidates = candidates;
        Ok(())
    }
}

/// The score of a thread by the scores of its messages, the best first.
pub fn thread_score(scores: impl IntoIterator<Item = f32>) -> f32 {
    const SHARES: [f32; 3] = [1.0, 0.5, 0.25];
    let whole: f32 = SHARES.iter().sum();
    scores.into_iter().zip(SHARES).map(|(score, share)| score * share).sum::<f32>() / whole
}

/// The terms of a question that count, and who has them.
fn asked(shelf: &Shelf, question: &Question) -> Result<Vec<Asked>, Unreadable> {
    let documents = shelf.len() as f32;
    let mut found: Vec<(usize, &String, Vec<Option<Term>>)> = Vec::new();
    for name in &question.terms {
        let of_volumes = shelf.volumes.iter().map(|volume| volume.term(name)).collect::<Result<Vec<_>, _>>()?;
        let having = of_volumes.iter().flatten().map(|term| term.documents).sum();
        if having > 0 {
            found.push((having, name, of_volumes));
        }
    }
    found.sort_unstable_by_key(|(having, name, _)| (*having, *name));
    found.truncate(TERMS_MAX);
    let rarity = |having: f32| (1.0 + (documents - having + 0.5) / (having + 0.5)).ln();
    let mut terms: Vec<Asked> =
        found.iter().map(|(having, ..)| Asked { rarity: rarity(*having as f32), postings: Vec::new() }).collect();
    for (at, volume) in shelf.volumes.iter().enumerate() {
        // Those of all terms at once: a store answers few questions sooner than many.
        let of_volume: Vec<&Term> = found.iter().filter_map(|(_, _, of_volumes)| of_volumes[at].as_ref()).collect();
        let mut postings = volume.postings(&of_volume)?.into_iter();
        for ((_, _, of_volumes), term) in found.iter().zip(&mut terms) {
            let of_term = of_volumes[at].as_ref().and_then(|_| postings.next());
            term.postings.push(of_term.unwrap_or_default());
        }
    }
    Ok(terms)
}

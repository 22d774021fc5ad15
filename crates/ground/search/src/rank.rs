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

use threadkeep_model::{SegmentId, Timestamp};

use crate::postings::Posting;
use crate::shelf::{Place, Shelf};
use crate::vectors::{distances, product, sketch};
use crate::volume::{REACH, Volume, near_weight};
use crate::{Damaged, Question};

/// How much a term counts that only a neighbour has.
const NEIGHBOUR: f32 = 0.3;
/// How soon more of the same term stops to count.
const K1: f32 = 1.2;
/// How much long messages are held back.
const B: f32 = 0.75;
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

/// The filters for documents.
#[derive(Debug, Clone, Default)]
pub struct Wants {
    /// Only of this role.
    pub role: Option<threadkeep_model::Role>,
    /// Only from this moment on.
    pub after: Option<Timestamp>,
    /// Only before this moment.
    pub before: Option<Timestamp>,
    /// Only those whose text is in one of these segments.
    pub segments: Option<HashSet<SegmentId>>,
    /// How many candidates to find by words, and as many by vectors.
    pub candidates: usize,
}

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
}

impl Matches {
    /// Looks for `question` among what is wanted.
    ///
    /// # Errors
    /// If a volume is damaged.
    pub fn find(shelf: Arc<Shelf>, question: Arc<Question>, wants: &Wants) -> Result<Self, Damaged> {
        let terms = asked(&shelf, &question)?;
        // Of what a document has by itself, so that it does not matter in which volumes its neighbours lie.
        let words: u64 = shelf.volumes.iter().map(|volume| volume.words).sum();
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
        };
        let required = matches.with_all(&question)?;
        let filters: Vec<Filter<'_>> = shelf.volumes.iter().map(|volume| Filter::new(volume, wants)).collect();
        let mut found: Vec<(f32, Place)> = Vec::new();
        for (at, volume) in shelf.volumes.iter().enumerate() {
            let (scores, own) = matches.by_words(at, volume);
            let wanted = own.into_iter().filter(|doc| filters[at].passes(*doc));
            let places = wanted.map(|doc| (scores[doc as usize], Place { volume: at as u32, doc }));
            found.extend(places.filter(|(_, place)| required.as_ref().is_none_or(|all| all[at].contains(&place.doc))));
        }
        matches.complete = keep_best(&mut found, wants.candidates);
        let mut places: Vec<(Place, f32)> = found.into_iter().map(|(score, place)| (place, score)).collect();
        if required.is_none() {
            let count = if documents <= FEW_DOCUMENTS { wants.candidates } else { wants.candidates / 2 };
            let near = matches.by_direction(&filters, count);
            places.extend(near.into_iter().map(|place| (place, 0.0)));
            // Of a document that both found, what its words say counts: the higher score comes first.
            places.sort_unstable_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
            places.dedup_by_key(|(place, _)| *place);
        }
        matches.rank(places);
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

    /// How well a document answers, with these documents before and after it, the nearest first; none if it does not
    /// answer at all: no word of it is asked for, and its direction is another one.
    pub fn exact(&self, place: Place, before: &[Place], after: &[Place]) -> Option<Scored> {
        let (words, own) = self.words(place, before, after);
        let cosine = self.cosine(place, before, after);
        if !own && cosine.is_none_or(|cosine| cosine < ALIKE_MIN) {
            return None;
        }
        Some(self.scored(place, words, cosine))
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
        let head_length = |place: &Place| self.shelf.volume(*place).head[place.doc as usize];
        let length = volume.length[place.doc as usize] + near().map(head_length).sum::<u32>();
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

    /// The cosine of a question and a document, the directions of whose neighbours are added to its own.
    fn cosine(&self, place: Place, before: &[Place], after: &[Place]) -> Option<f32> {
        let (model, asked) = self.vector()?;
        let mut sum = vec![0f32; asked.len()];
        let mut add = |place: &Place, weight: f32| {
            let volume = self.shelf.volume(*place);
            if volume.model != model || volume.dimensions != asked.len() {
                return false;
            }
            let weight = weight * volume.inverse[place.doc as usize];
            for (sum, byte) in sum.iter_mut().zip(volume.vector(place.doc)) {
                *sum += weight * f32::from(*byte as i8);
            }
            true
        };
        if !add(&place, 1.0) {
            return None;
        }
        for near in [before, after] {
            for (distance, near) in near.iter().enumerate() {
                add(near, near_weight(distance + 1));
            }
        }
        let (mut dot, mut square) = (0f32, 0f32);
        for (sum, asked) in sum.iter().zip(asked) {
            dot += sum * asked;
            square += sum * sum;
        }
        (square > 0.0).then(|| dot / square.sqrt())
    }

    /// The score by words of every document of a volume, with the neighbours that it has there, and which documents
    /// have a word of their own.
    fn by_words(&self, at: usize, volume: &Volume) -> (Vec<f32>, Vec<u32>) {
        if self.terms.iter().all(|term| term.postings[at].is_empty()) {
            return (Vec::new(), Vec::new());
        }
        let mut has_own = vec![false; volume.len()];
        let mut scores = vec![0f32; volume.len()];
        let mut counts = vec![0f32; volume.len()];
        let mut touched: Vec<u32> = Vec::new();
        for term in &self.terms {
            for posting in &term.postings[at] {
                let doc = posting.doc as usize;
                let mut add = |doc: usize, count: f32| {
                    if counts[doc] == 0.0 {
                        touched.push(doc as u32);
                    }
                    counts[doc] += count;
                };
                add(doc, posting.count as f32);
                has_own[doc] = true;
                if posting.head > 0 {
                    let (begin, end) = (doc.saturating_sub(REACH), (doc + REACH + 1).min(volume.len()));
                    for near in (begin..end).filter(|near| *near != doc && volume.strand[*near] == volume.strand[doc]) {
                        add(near, NEIGHBOUR * posting.head as f32);
                    }
                }
            }
            for doc in touched.drain(..) {
                let doc = doc as usize;
                scores[doc] += term.rarity * saturated(counts[doc], volume.around[doc] as f32 / self.mean);
                counts[doc] = 0.0;
            }
        }
        let own = has_own.into_iter().enumerate().filter(|(_, own)| *own).map(|(doc, _)| doc as u32);
        (scores, own.collect())
    }

    /// The documents whose signs are most like those of the question.
    fn by_direction(&self, filters: &[Filter<'_>], count: usize) -> Vec<Place> {
        let Some((model, asked)) = self.vector() else { return Vec::new() };
        let mut signs = Vec::new();
        sketch(asked.iter().map(|value| *value > 0.0), &mut signs);
        let mut histogram = vec![0usize; asked.len() + 1];
        let mut apart: Vec<Vec<u32>> = Vec::with_capacity(filters.len());
        for Filter { volume, .. } in filters {
            let comparable = volume.model == model && volume.dimensions == asked.len() && !asked.is_empty();
            let sketches = if comparable { volume.sketches.as_slice() } else { &[] };
            apart.push(distances(&signs, sketches));
        }
        for (filter, apart) in filters.iter().zip(&apart) {
            if filter.everything {
                apart.iter().for_each(|distance| histogram[*distance as usize] += 1);
                continue;
            }
            for (doc, distance) in apart.iter().enumerate() {
                histogram[*distance as usize] += usize::from(filter.passes(doc as u32));
            }
        }
        let mut room = count;
        let limit = histogram.iter().position(|here| {
            let full = *here >= room;
            room = room.saturating_sub(*here);
            full
        });
        let limit = limit.unwrap_or(asked.len()) as u32;
        let mut near = Vec::new();
        for (at, (filter, apart)) in filters.iter().zip(&apart).enumerate() {
            let here = apart.iter().enumerate().filter(|(_, distance)| **distance <= limit);
            let wanted = here.map(|(doc, _)| doc as u32).filter(|doc| filter.passes(*doc));
            near.extend(wanted.map(|doc| Place { volume: at as u32, doc }));
        }
        near.truncate(count * 2);
        near
    }

    /// Volume by volume the documents that have every term of the phrases; none if no phrase is asked for.
    fn with_all(&self, question: &Question) -> Result<Option<Vec<HashSet<u32>>>, Damaged> {
        if question.phrases.is_empty() {
            return Ok(None);
        }
        let mut all = Vec::new();
        for volume in &self.shelf.volumes {
            let mut common: Option<HashSet<u32>> = None;
            for name in &question.required {
                let postings = match volume.term(name)? {
                    Some(term) => volume.postings(&term)?,
                    None => Vec::new(),
                };
                let having = postings.into_iter().map(|posting| posting.doc);
                common = Some(match common {
                    Some(common) => having.filter(|doc| common.contains(doc)).collect(),
                    None => having.collect(),
                });
            }
            all.push(common.unwrap_or_default());
        }
        Ok(Some(all))
    }

    /// Scores the candidates and puts them in their order.
    fn rank(&mut self, places: Vec<(Place, f32)>) {
        let mut raw = Vec::with_capacity(places.len());
        let mut alike = Alike::new(self);
        for (place, words) in places {
            let has_words = words > 0.0;
            let words = if has_words {
                words
            } else {
                let (before, after) = here(self.shelf.volume(place), place);
                self.words(place, &before, &after).0
            };
            raw.push((place, words, alike.cosine(place), has_words));
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
    }
}

/// Cosines of the question and documents with the neighbours that they have in their volumes. Most are neighbours of
/// each other, so each product is kept.
struct Alike<'a> {
    matches: &'a Matches,
    /// The question, as coarse as documents are, and what makes a unit of it.
    asked: Vec<i16>,
    unit: f32,
    /// Volume by volume; not a number where it was not asked for yet.
    products: Vec<Vec<f32>>,
}

impl<'a> Alike<'a> {
    fn new(matches: &'a Matches) -> Self {
        let asked = matches.vector().map_or(&[][..], |(_, asked)| asked);
        let largest = asked.iter().fold(f32::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
        let step = 127.0 / largest;
        let asked = asked.iter().map(|value| (value * step).round() as i16).collect();
        let products = matches.shelf.volumes.iter().map(|_| Vec::new()).collect();
        Self { matches, asked, unit: 1.0 / step, products }
    }

    fn cosine(&mut self, place: Place) -> Option<f32> {
        let (model, asked) = self.matches.vector()?;
        let volume = self.matches.shelf.volume(place);
        if volume.model != model || volume.dimensions != asked.len() {
            return None;
        }
        let at = place.doc as usize;
        let (begin, end) = (at.saturating_sub(REACH), (at + REACH + 1).min(volume.len()));
        let products = &mut self.products[place.volume as usize];
        products.resize(volume.len(), f32::NAN);
        let mut sum = 0.0;
        for near in (begin..end).filter(|near| volume.strand[*near] == volume.strand[at]) {
            if products[near].is_nan() {
                let dot = product(&self.asked, volume.vector(near as u32));
                products[near] = dot as f32 * self.unit * volume.inverse[near];
            }
            sum += near_weight(near.abs_diff(at)) * products[near];
        }
        Some(sum * volume.smoothed[at])
    }
}

/// The score of a thread by the scores of its messages, the best first.
pub fn thread_score(scores: impl IntoIterator<Item = f32>) -> f32 {
    const SHARES: [f32; 3] = [1.0, 0.5, 0.25];
    let whole: f32 = SHARES.iter().sum();
    scores.into_iter().zip(SHARES).map(|(score, share)| score * share).sum::<f32>() / whole
}

/// The neighbours of a document in its own volume, the nearest first.
fn here(volume: &Volume, place: Place) -> (Vec<Place>, Vec<Place>) {
    let same = |doc: &u32| volume.strand.get(*doc as usize) == volume.strand.get(place.doc as usize);
    let (doc, reach) = (place.doc, REACH as u32);
    let at = |doc: u32| Place { doc, ..place };
    let before = (doc.saturating_sub(reach)..doc).rev().filter(same).map(at).collect();
    let after = (doc + 1..=doc.saturating_add(reach)).filter(same).map(at).collect();
    (before, after)
}

/// More of the same counts less and less, and less in long texts.
fn saturated(count: f32, length: f32) -> f32 {
    count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length))
}

/// The terms of a question that count, and who has them.
fn asked(shelf: &Shelf, question: &Question) -> Result<Vec<Asked>, Damaged> {
    let documents = shelf.len() as f32;
    let mut found = Vec::new();
    for name in &question.terms {
        let mut having = 0;
        for volume in &shelf.volumes {
            having += volume.term(name)?.map_or(0, |term| term.documents);
        }
        if having > 0 {
            found.push((having, name));
        }
    }
    found.sort_unstable();
    found.truncate(TERMS_MAX);
    let mut terms = Vec::new();
    for (having, name) in found {
        let having = having as f32;
        let mut postings = Vec::new();
        for volume in &shelf.volumes {
            postings.push(match volume.term(name)? {
                Some(term) => volume.postings(&term)?,
                None => Vec::new(),
            });
        }
        terms.push(Asked { rarity: (1.0 + (documents - having + 0.5) / (having + 0.5)).ln(), postings });
    }
    Ok(terms)
}

/// Keeps the best `count`; says whether that is all of them.
fn keep_best(found: &mut Vec<(f32, Place)>, count: usize) -> bool {
    if found.len() <= count {
        return true;
    }
    found.select_nth_unstable_by(count, |one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    found.truncate(count);
    false
}

/// The filters for documents of one volume.
struct Filter<'a> {
    volume: &'a Volume,
    wants: &'a Wants,
    /// Whether all of them are.
    everything: bool,
    /// Strand by strand, if segments are asked for.
    strands: Option<Vec<bool>>,
}

impl<'a> Filter<'a> {
    fn new(volume: &'a Volume, wants: &'a Wants) -> Self {
        let strands = wants
            .segments
            .as_ref()
            .map(|segments| volume.strands().iter().map(|strand| segments.contains(&strand.segment)).collect());
        let Wants { role, after, before, .. } = wants;
        let everything = strands.is_none() && role.is_none() && after.is_none() && before.is_none();
        Self { volume, wants, everything, strands }
    }

    #[inline]
    fn passes(&self, doc: u32) -> bool {
        if self.everything {
            return true;
        }
        let at = doc as usize;
        let strand = || self.volume.carriers.get(&doc).map_or(self.volume.strand[at], |(strand, _)| *strand);
        self.strands.as_ref().is_none_or(|strands| strands[strand() as usize])
            && self.wants.role.is_none_or(|role| self.volume.role(doc) == role)
            && self.wants.after.is_none_or(|after| self.volume.time[at] >= after.as_micros())
            && self.wants.before.is_none_or(|before| self.volume.time[at] < before.as_micros())
    }
}

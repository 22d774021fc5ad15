//! Candidates by the direction of their vectors: first all documents by the signs alone, then the nearest of them by all
//! bytes, with the neighbours that they have in their own volume.

use std::ops::Range;

use ::bytes::Bytes;

use crate::filter::Filter;
use crate::row::REACH;
use crate::shelf::Place;
use crate::source::Unreadable;
use crate::vectors::{distances, inverse, near_weight, product, sketch};
use crate::volume::Volume;

/// Documents that are compared before it is looked at which of them are near.
const AT_ONCE: usize = 1_024;
/// Documents among them that are looked at together.
const A_BLOCK: usize = 16;

/// Whether the vectors of a volume can be compared with one of `model`.
pub(crate) fn is_comparable(volume: &Volume, model: &str, asked: &[f32]) -> bool {
    volume.model() == model && volume.dimensions() == asked.len() && !asked.is_empty()
}

/// At least `count` documents whose signs are most like those of the question, if there are as many, and at most twice as
/// many.
pub(crate) fn nearest(filters: &[Filter<'_>], model: &str, asked: &[f32], count: usize) -> Vec<Place> {
    let mut signs = Vec::new();
    sketch(asked.iter().map(|value| *value > 0.0), &mut signs);
    let mut histogram = vec![0usize; asked.len() + 1];
    // What is farther is not among the nearest.
    let mut limit = asked.len() as u32;
    let mut near: Vec<(u32, Place)> = Vec::new();
    let mut apart = Vec::new();
    for (at, filter) in filters.iter().enumerate() {
        if !is_comparable(filter.volume, model, asked) {
            continue;
        }
        for (chunk, others) in filter.volume.signs().chunks(AT_ONCE * signs.len() * 8).enumerate() {
            distances(&signs, others, &mut apart);
            let before = near.len();
            for (block, apart) in apart.chunks(A_BLOCK).enumerate() {
                // Few blocks have one that is near: the others are passed over at once.
                if !apart.iter().fold(false, |any, distance| any | (*distance as i32 <= limit as i32)) {
                    continue;
                }
                for (doc, distance) in apart.iter().enumerate() {
                    let doc = (chunk * AT_ONCE + block * A_BLOCK + doc) as u32;
                    if *distance <= limit && filter.passes(doc) {
                        near.push((*distance, Place { volume: at as u32, doc }));
                        histogram[*distance as usize] += 1;
                    }
                }
            }
            if near.len() > before {
                limit = farthest(&histogram, count);
            }
        }
    }
    near.retain(|(distance, _)| *distance <= limit);
    near.truncate(count * 2);
    near.into_iter().map(|(_, place)| place).collect()
}

/// The distance up to which there are `count`.
fn farthest(histogram: &[usize], count: usize) -> u32 {
    let mut room = count;
    let limit = histogram.iter().position(|here| {
        let full = *here >= room;
        room = room.saturating_sub(*here);
        full
    });
    limit.unwrap_or(histogram.len() - 1) as u32
}

/// The vectors of some documents of a volume.
#[derive(Default)]
pub(crate) struct Excerpt {
    /// Runs of neighbours in their order, each with the vectors of all of it.
    runs: Vec<(Range<u32>, Bytes)>,
    dimensions: usize,
}

impl Excerpt {
    /// Reads the vectors of `docs`, which are in their order, and of their neighbours.
    pub(crate) fn read(volume: &Volume, docs: impl Iterator<Item = u32>) -> Result<Self, Unreadable> {
        let mut runs: Vec<Range<u32>> = Vec::new();
        for doc in docs {
            let window = window(volume, doc);
            match runs.last_mut() {
                Some(last) if window.start <= last.end => last.end = last.end.max(window.end),
                Some(_) | None => runs.push(window),
            }
        }
        let vectors = volume.vectors(&runs)?;
        Ok(Self { runs: runs.into_iter().zip(vectors).collect(), dimensions: volume.dimensions() })
    }

    /// The vector of a document, if it was read.
    pub(crate) fn vector(&self, doc: u32) -> Option<&[u8]> {
        let at = self.runs.partition_point(|(run, _)| run.end <= doc);
        let (run, vectors) = self.runs.get(at).filter(|(run, _)| run.contains(&doc))?;
        let begin = (doc - run.start) as usize * self.dimensions;
        vectors.get(begin..begin + self.dimensions)
    }
}

/// A document and its neighbours in its volume.
pub(crate) fn window(volume: &Volume, doc: u32) -> Range<u32> {
    let (strand, at) = (&volume.columns.strand, doc as usize);
    let mut begin = at;
    while begin > 0 && at - begin < REACH && strand[begin - 1] == strand[at] {
        begin -= 1;
    }
    let mut end = at + 1;
    while end < strand.len() && end - at <= REACH && strand[end] == strand[at] {
        end += 1;
    }
    begin as u32..end as u32
}

/// Cosines of the question and documents with the neighbours that they have in their volumes.
pub(crate) struct Alike {
    /// The question, as coarse as documents are, and what makes a unit of it.
    asked: Vec<i16>,
    unit: f32,
    /// The products with the run of neighbours that was looked at last.
    run: Range<u32>,
    products: Vec<f32>,
}

impl Alike {
    pub(crate) fn new(asked: &[f32]) -> Self {
        let largest = asked.iter().fold(f32::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
        let step = 127.0 / largest;
        let asked = asked.iter().map(|value| (value * step).round() as i16).collect();
        Self { asked, unit: 1.0 / step, run: 0..0, products: Vec::new() }
    }

    /// The cosines of `docs`, which are in their order and were read into `excerpt`.
    pub(crate) fn cosines(
        &mut self,
        volume: &Volume,
        excerpt: &Excerpt,
        docs: impl Iterator<Item = u32>,
        mut each: impl FnMut(Option<f32>),
    ) {
        let mut runs = excerpt.runs.iter();
        self.run = 0..0;
        for doc in docs {
            while self.run.end <= doc {
                let Some((run, vectors)) = runs.next() else { break };
                self.run = run.clone();
                self.products.clear();
                for vector in vectors.chunks_exact(excerpt.dimensions.max(1)) {
                    self.products.push(product(&self.asked, vector) as f32 * self.unit * inverse(vector));
                }
            }
            each(self.cosine(volume, doc));
        }
    }

    fn cosine(&self, volume: &Volume, doc: u32) -> Option<f32> {
        let mut sum = 0.0;
        for near in window(volume, doc) {
            let product = self.products.get(near.checked_sub(self.run.start)? as usize)?;
            sum += near_weight(near.abs_diff(doc) as usize) * product;
        }
        Some(sum * volume.smoothed(doc))
    }
}

/// The cosine of a question and the sum of some vectors, each with its weight.
pub(crate) fn cosine<'a>(asked: &[f32], parts: impl IntoIterator<Item = (f32, &'a [u8])>) -> Option<f32> {
    let mut sum = vec![0f32; asked.len()];
    for (weight, vector) in parts {
        let weight = weight * inverse(vector);
        for (sum, byte) in sum.iter_mut().zip(vector) {
            *sum += weight * f32::from(*byte as i8);
        }
    }
    let (mut dot, mut square) = (0f32, 0f32);
    for (sum, asked) in sum.iter().zip(asked) {
        dot += sum * asked;
        square += sum * sum;
    }
    (square > 0.0).then(|| dot / square.sqrt())
}

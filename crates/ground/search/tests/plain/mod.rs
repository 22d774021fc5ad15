//! The candidates of a question, found the plain way: by a look at every message, term by term.

use std::collections::{BTreeMap, BTreeSet};

use threadkeep_model::MessageId;
use threadkeep_search::Wants;
use threadkeep_search::words::{each_word, stem, stemmer};

use crate::corpus::{DAY, Said};

/// A message with its terms: how often it has each, and how often for its neighbours.
struct Doc<'a> {
    said: &'a Said,
    pile: usize,
    at: usize,
    terms: BTreeMap<String, (u32, u32)>,
    length: u32,
    head: u32,
}

fn doc(said: &Said, pile: usize, at: usize) -> Doc<'_> {
    let (stemmer, mut terms, mut length, mut head) = (stemmer(), BTreeMap::new(), 0, 0);
    for (text, is_text) in [("Ann", false), ("Ann", false), (DAY, false), (said.text.as_str(), true)] {
        each_word(text, |folded, _, _| {
            let counts: &mut (u32, u32) = terms.entry(stem(&stemmer, folded)).or_default();
            counts.0 += 1;
            counts.1 += u32::from(is_text);
            length += 1;
            head += u32::from(is_text);
        });
    }
    Doc { said, pile, at, terms, length, head }
}

fn saturated(count: f32, length: f32) -> f32 {
    count * (1.2 + 1.0) / (count + 1.2 * (1.0 - 0.75 + 0.75 * length))
}

fn weight(distance: usize) -> f32 {
    [1.0, 0.5, 0.25][distance]
}

fn product(one: &[u8], other: &[u8]) -> f32 {
    one.iter().zip(other).map(|(one, other)| i32::from(*one as i8) * i32::from(*other as i8)).sum::<i32>() as f32
}

fn over(square: f32) -> f32 {
    if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 }
}

fn inverse(doc: &Doc<'_>) -> f32 {
    over(product(&doc.said.vector, &doc.said.vector))
}

/// The documents around one in its own volume, with itself, in their order.
fn window<'a>(docs: &'a [Doc<'a>], of: &'a Doc<'a>) -> impl Iterator<Item = &'a Doc<'a>> + Clone {
    let same = |doc: &&Doc<'_>| doc.pile == of.pile && doc.said.message.segment == of.said.message.segment;
    docs.iter().filter(move |doc| same(doc) && doc.at.abs_diff(of.at) <= 2)
}

fn cosine(docs: &[Doc<'_>], of: &Doc<'_>, asked: &[f32]) -> f32 {
    let length = asked.iter().map(|value| value * value).sum::<f32>().sqrt();
    let asked: Vec<f32> = asked.iter().map(|value| value / length).collect();
    let step = 127.0 / asked.iter().fold(f32::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
    let coarse: Vec<i32> = asked.iter().map(|value| (value * step).round() as i32).collect();
    let (mut sum, mut square) = (0.0, 0.0);
    let near: Vec<&Doc<'_>> = window(docs, of).collect();
    let share = |doc: &Doc<'_>| weight(doc.at.abs_diff(of.at)) * inverse(doc);
    for (at, one) in near.iter().enumerate() {
        let dot: i32 = coarse.iter().zip(&one.said.vector).map(|(asked, byte)| asked * i32::from(*byte as i8)).sum();
        sum += weight(one.at.abs_diff(of.at)) * (dot as f32 * (1.0 / step) * inverse(one));
        square += share(one) * share(one) * product(&one.said.vector, &one.said.vector);
        for other in &near[at + 1..] {
            square += 2.0 * share(one) * share(other) * product(&one.said.vector, &other.said.vector);
        }
    }
    sum * over(square)
}

fn passes(said: &Said, wants: &Wants) -> bool {
    wants.role.is_none_or(|role| said.role == role)
        && wants.after.is_none_or(|after| said.time >= after)
        && wants.before.is_none_or(|before| said.time < before)
        && wants.segments.as_ref().is_none_or(|segments| segments.contains(&said.carrier.segment))
}

/// The candidates with their scores, the best first, and whether all that have a word are among them.
pub fn candidates(
    piles: &[Vec<Said>],
    question: &str,
    direction: Option<&[f32]>,
    wants: &Wants,
) -> (Vec<(MessageId, u32)>, bool) {
    let mut docs: Vec<Doc<'_>> = Vec::new();
    for (pile, said) in piles.iter().enumerate() {
        let mut said: Vec<&Said> = said.iter().collect();
        said.sort_by_key(|said| (said.message.segment, said.message.position, said.carrier));
        docs.extend(said.into_iter().enumerate().map(|(at, said)| doc(said, pile, at)));
    }
    let stemmer = stemmer();
    let mut asked: BTreeSet<String> = BTreeSet::new();
    each_word(question, |folded, _, _| {
        asked.insert(stem(&stemmer, folded));
    });
    let having = |term: &String| docs.iter().filter(|doc| doc.terms.contains_key(term)).count();
    let mut terms: Vec<(usize, String)> = asked.into_iter().map(|term| (having(&term), term)).collect();
    terms.retain(|(having, _)| *having > 0);
    terms.sort();
    let words: u64 = docs.iter().map(|doc| u64::from(doc.length + 4 * doc.head)).sum();
    let mean = (words as f32 / docs.len() as f32).max(1.0);
    // Neighbours count one by one for those that have a word, and together for the others.
    let score = |of: &Doc<'_>, together: bool| {
        let heads: u32 = window(&docs, of).filter(|near| near.at != of.at).map(|near| near.head).sum();
        let mut score = 0.0;
        for (having, term) in &terms {
            let (mut count, mut there) = (0.0, 0);
            for near in window(&docs, of) {
                let (own, head) = near.terms.get(term).copied().unwrap_or_default();
                if near.at == of.at {
                    count += own as f32;
                } else if together {
                    there += head;
                } else {
                    count += 0.3 * head as f32;
                }
            }
            let having = *having as f32;
            let rarity = (1.0 + (docs.len() as f32 - having + 0.5) / (having + 0.5)).ln();
            score += rarity * saturated(count + 0.3 * there as f32, (of.length + heads) as f32 / mean);
        }
        score
    };
    let mut by_words: Vec<(f32, usize)> = Vec::new();
    for (at, doc) in docs.iter().enumerate() {
        if passes(doc.said, wants) && terms.iter().any(|(_, term)| doc.terms.contains_key(term)) {
            by_words.push((score(doc, false), at));
        }
    }
    by_words.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let complete = by_words.len() <= wants.candidates;
    by_words.truncate(wants.candidates);
    let mut found: BTreeMap<usize, f32> = by_words.into_iter().map(|(score, at)| (at, score)).collect();
    if let Some(direction) = direction {
        let apart = |doc: &Doc<'_>| {
            doc.said
                .vector
                .iter()
                .zip(direction)
                .filter(|(byte, asked)| ((**byte as i8) > 0) != (**asked > 0.0))
                .count()
        };
        let wanted = docs.iter().enumerate().filter(|(_, doc)| passes(doc.said, wants));
        let near: Vec<(usize, usize)> = wanted.map(|(at, doc)| (apart(doc), at)).collect();
        let mut distances: Vec<usize> = near.iter().map(|(apart, _)| *apart).collect();
        distances.sort_unstable();
        let limit = distances.get(wants.candidates - 1).copied().unwrap_or(usize::MAX);
        let nearest = near.into_iter().filter(|(apart, _)| *apart <= limit).take(wants.candidates * 2);
        for (_, at) in nearest {
            found.entry(at).or_insert(0.0);
        }
    }
    let raw: Vec<(&Doc<'_>, f32, Option<f32>, bool)> = found
        .into_iter()
        .map(|(at, words)| {
            let (doc, has_words) = (&docs[at], words > 0.0);
            let words = if has_words { words } else { score(doc, true) };
            (doc, words, direction.map(|direction| cosine(&docs, doc, direction)), has_words)
        })
        .collect();
    let best = raw.iter().fold(0f32, |best, (_, words, ..)| best.max(*words));
    let cosines = || raw.iter().filter_map(|(_, _, cosine, _)| *cosine);
    let (low, high) = (cosines().fold(f32::MAX, f32::min), cosines().fold(f32::MIN, f32::max));
    let mut scored: Vec<(f32, MessageId, MessageId)> = Vec::new();
    for (doc, words, cosine, has_words) in &raw {
        if !has_words && cosine.is_none_or(|cosine| cosine < 0.45 - 0.02) {
            continue;
        }
        let keyword = if best > 0.0 { (words / best).min(1.0) } else { 0.0 };
        let alike = cosine.filter(|_| high > low).map_or(0.0, |cosine| ((cosine - low) / (high - low)).clamp(0.0, 1.0));
        let score = if direction.is_none() { keyword } else { 0.55 * keyword + (1.0 - 0.55) * alike };
        scored.push((score, doc.said.message, doc.said.carrier));
    }
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then((one.1, one.2).cmp(&(other.1, other.2))));
    (scored.into_iter().map(|(score, message, _)| (message, score.to_bits())).collect(), complete)
}

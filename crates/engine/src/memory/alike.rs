//! How alike a question and a memory are, word by word, for the built-in vectors.
//!
//! A vector of a whole text is the middle of its words, and drifts away from each of them. So every word of the question
//! is compared with the word of the memory that is most alike to it, and the other way round. Words to which few memories
//! have anything alike count more.

use std::collections::HashMap;

use threadkeep_embed::{Batch, Static, Vector};
use threadkeep_search::words::{is_stop, stem, stemmer, words};

/// Words of a memory that are compared.
const MEMORY_WORDS_MAX: usize = 128;
/// Words of a question that are compared.
const QUESTION_WORDS_MAX: usize = 32;
/// The share of a memory's own words in what makes it alike to a question.
const OWN_SHARE: f32 = 0.3;

/// A word: its stem, by which it equals others, and its vector, by which it is alike.
struct Meant {
    stem: String,
    vector: Vector,
}

/// The words of memories.
pub(super) struct Vocabulary {
    words: Vec<Meant>,
    /// The places of the words of each memory.
    memories: Vec<Vec<u32>>,
}

impl Vocabulary {
    /// The words of these texts.
    pub(super) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let (mut batch, mut known) = (Static::new().batch(), HashMap::new());
        let mut vocabulary = Self { words: Vec::new(), memories: Vec::new() };
        for text in texts {
            let mut places = Vec::new();
            for (stem, word) in telling(text, MEMORY_WORDS_MAX) {
                let next = vocabulary.words.len() as u32;
                let place = *known.entry(stem.clone()).or_insert(next);
                if place == next {
                    vocabulary.words.push(Meant { stem, vector: batch.vector(word) });
                }
                if !places.contains(&place) {
                    places.push(place);
                }
            }
            vocabulary.memories.push(places);
        }
        vocabulary
    }

    /// How alike each memory is to a question, from 0 to 1, in the order of the memories; none for a question without
    /// words.
    pub(super) fn alike(&self, question: &str) -> Option<Vec<f32>> {
        let mut batch = Static::new().batch();
        let asked: Vec<Vec<f32>> = telling(question, QUESTION_WORDS_MAX)
            .into_iter()
            .map(|(stem, word)| self.likeness(&mut batch, &stem, word))
            .collect();
        if asked.is_empty() {
            return None;
        }
        let best =
            |likeness: &[f32], memory: &[u32]| memory.iter().map(|place| likeness[*place as usize]).fold(0.0, f32::max);
        // Invariant: weights are above 0, because no word is more alike to a memory than 1.
        let weight = |likeness: &Vec<f32>| {
            let all: f32 = self.memories.iter().map(|memory| best(likeness, memory)).sum();
            ((self.memories.len() as f32 + 1.0) / (all + 0.5)).ln()
        };
        let weights: Vec<f32> = asked.iter().map(weight).collect();
        let whole: f32 = weights.iter().sum();
        let alike = |memory: &Vec<u32>| {
            if memory.is_empty() {
                return 0.0;
            }
            let of_question = asked.iter().zip(&weights).map(|(likeness, weight)| weight * best(likeness, memory));
            let of_memory =
                memory.iter().map(|place| asked.iter().map(|likeness| likeness[*place as usize]).fold(0.0, f32::max));
            let own = of_memory.sum::<f32>() / memory.len() as f32;
            (1.0 - OWN_SHARE) * of_question.sum::<f32>() / whole + OWN_SHARE * own
        };
        Some(self.memories.iter().map(alike).collect())
    }

    /// How alike each known word is to a word.
    fn likeness(&self, batch: &mut Batch, stem: &str, word: &str) -> Vec<f32> {
        let vector = batch.vector(word);
        let to = |known: &Meant| match known.stem == stem {
            true => 1.0,
            false => vector.cosine(&known.vector).clamp(0.0, 1.0),
        };
        self.words.iter().map(to).collect()
    }
}

/// The first words of a text that say what it is about, each once, with their stems; all of them if none does.
fn telling(text: &str, most: usize) -> Vec<(String, &str)> {
    let (stemmer, all) = (stemmer(), words(text));
    let some = |stops: bool| {
        let mut found: Vec<(String, &str)> = Vec::new();
        for word in all.iter().filter(|word| !word.derived && (stops || !is_stop(&word.folded))) {
            let stem = stem(&stemmer, &word.folded);
            if found.len() < most && !found.iter().any(|(known, _)| *known == stem) {
                found.push((stem, &text[word.span.clone()]));
            }
        }
        found
    };
    let telling = some(false);
    if telling.is_empty() { some(true) } else { telling }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_found_by_words_that_mean_the_same_and_by_its_own() {
        let memories = ["Drives a red Toyota.", "Has two cats.", "Lives in Lisbon, order 8841-X."];
        let vocabulary = Vocabulary::of(memories.into_iter());
        let best = |question: &str| {
            let alike = vocabulary.alike(question).expect("words");
            assert!(alike.iter().all(|alike| (0.0..=1.0).contains(alike)), "{alike:?}");
            (0..alike.len()).max_by(|one, other| alike[*one].total_cmp(&alike[*other])).expect("memories")
        };
        assert_eq!(best("Which car do I own?"), 0);
        assert_eq!(best("What pets are there?"), 1);
        assert_eq!(best("Where is 8841-X?"), 2);
        assert_eq!(vocabulary.alike("?!"), None);
    }

    #[test]
    fn texts_without_words_are_alike_to_nothing() {
        let vocabulary = Vocabulary::of(["…", "Has two cats."].into_iter());
        assert_eq!(vocabulary.alike("cats").expect("words")[0], 0.0);
    }
}

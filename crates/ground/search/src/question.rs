//! What is asked. Quotation marks ask for a phrase; nothing else means anything but itself.

use std::collections::BTreeSet;

use crate::words::{Word, is_stop, stem, stemmer, words};

/// Words that have to stand one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase(pub(crate) Vec<String>);

/// A query, split into its words and phrases.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Question {
    /// The terms that count.
    pub(crate) terms: Vec<String>,
    /// The terms that a message must have, because a phrase has them.
    pub(crate) required: Vec<String>,
    pub(crate) phrases: Vec<Phrase>,
    /// The direction in which it points, and by which model.
    pub(crate) vector: Option<(String, Vec<f32>)>,
}

impl Question {
    /// Parses the query `text`.
    pub fn new(text: &str) -> Self {
        let (stemmer, mut phrases, mut required) = (stemmer(), Vec::new(), BTreeSet::new());
        for quoted in quoted(text) {
            let phrase: Vec<Word> = words(quoted).into_iter().filter(|word| !word.derived).collect();
            if !phrase.is_empty() {
                required.extend(phrase.iter().map(|word| stem(&stemmer, &word.folded)));
                phrases.push(Phrase(phrase.into_iter().map(|word| word.folded).collect()));
            }
        }
        let all = words(text);
        let telling: BTreeSet<String> =
            all.iter().filter(|word| !is_stop(&word.folded)).map(|word| stem(&stemmer, &word.folded)).collect();
        let terms = if telling.is_empty() {
            all.iter().map(|word| stem(&stemmer, &word.folded)).collect::<BTreeSet<_>>()
        } else {
            telling
        };
        let terms = terms.union(&required).cloned().collect();
        Self { terms, required: required.into_iter().collect(), phrases, vector: None }
    }

    /// The same question, also asked by what it means: its vector, made by `model`.
    #[must_use]
    pub fn pointing(mut self, model: &str, vector: &[f32]) -> Self {
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length > 0.0 && length.is_finite() {
            self.vector = Some((model.to_owned(), vector.iter().map(|value| value / length).collect()));
        }
        self
    }

    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.vector.is_none()
    }

    /// Whether it asks for words that stand one after the other.
    pub fn has_phrases(&self) -> bool {
        !self.phrases.is_empty()
    }
}

/// The texts between pairs of quotation marks. A mark without a partner is text.
fn quoted(text: &str) -> Vec<&str> {
    let marks: Vec<usize> = text.match_indices('"').map(|(at, _)| at).collect();
    marks.chunks_exact(2).map(|pair| &text[pair[0] + 1..pair[1]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_say_nothing_are_dropped_unless_nothing_is_left() {
        assert_eq!(Question::new("What is the retry limit?").terms, ["limit", "retri"]);
        assert_eq!(Question::new("to be or not to be").terms, ["be", "not", "or", "to"]);
    }

    #[test]
    fn quotes_ask_for_phrases_and_nothing_else_is_syntax() {
        let asked = Question::new("\"not found\" error AND NEAR( x* \"");
        assert_eq!(asked.phrases, [Phrase(vec!["not".to_owned(), "found".to_owned()])]);
        assert_eq!(asked.required, ["found", "not"]);
        assert_eq!(asked.terms, ["error", "found", "near", "not", "x"]);
        for text in ["\"", "\"\"", "*", "😀", "\0", "\u{202e}"] {
            assert!(Question::new(text).is_empty(), "{text:?}");
        }
    }
}

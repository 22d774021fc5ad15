//! Where a text says what was asked.

use std::collections::HashSet;
use std::ops::Range;

use crate::Question;
use crate::words::{Word, each_word, stem, stemmer, words};

/// Most places that are marked in one text.
const SPANS_MAX: usize = 100;

/// The bytes of `text` that say what was asked: its words, and its phrases as a whole.
pub fn highlights(question: &Question, text: &str) -> Vec<Range<usize>> {
    let stemmer = stemmer();
    let asked: HashSet<&str> = question.terms.iter().map(String::as_str).collect();
    // A stem begins as its word does, so few words of a text have to be stemmed.
    let begins: HashSet<char> = asked.iter().filter_map(|term| term.chars().next()).collect();
    let mut spans: Vec<Range<usize>> = Vec::new();
    each_word(text, |folded, span, _| {
        if spans.len() < SPANS_MAX
            && folded.chars().next().is_some_and(|first| begins.contains(&first))
            && asked.contains(stem(&stemmer, folded).as_str())
        {
            spans.push(span);
        }
    });
    if question.has_phrases() {
        let found = words(text);
        let standing: Vec<&Word> = found.iter().filter(|word| !word.derived).collect();
        for phrase in &question.phrases {
            spans.extend(occurrences(&phrase.0, &standing).take(SPANS_MAX));
        }
    }
    joined(spans)
}

/// Whether `text` has every phrase that is asked for.
pub fn holds_phrases(question: &Question, text: &str) -> bool {
    if question.phrases.is_empty() {
        return true;
    }
    let found = words(text);
    let standing: Vec<&Word> = found.iter().filter(|word| !word.derived).collect();
    question.phrases.iter().all(|phrase| occurrences(&phrase.0, &standing).next().is_some())
}

fn occurrences<'a>(phrase: &'a [String], standing: &'a [&'a Word]) -> impl Iterator<Item = Range<usize>> + 'a {
    standing
        .windows(phrase.len().max(1))
        .filter(move |run| run.iter().zip(phrase).all(|(word, asked)| word.folded == *asked))
        .map(|run| run[0].span.start..run[run.len() - 1].span.end)
}

/// Sorted, those that touch or overlap as one.
fn joined(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_by_key(|span| (span.start, span.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    joined.truncate(SPANS_MAX);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(question: &str, text: &str) -> Vec<String> {
        highlights(&Question::new(question), text).into_iter().map(|span| text[span].to_owned()).collect()
    }

    #[test]
    fn words_are_marked_in_every_form_and_phrases_as_a_whole() {
        assert_eq!(
            marked("retrying uploads", "We Retry each upload; RETRIES are free"),
            ["Retry", "upload", "RETRIES"]
        );
        assert_eq!(marked("\"not found\"", "Not found! It was found, not lost"), ["Not found", "found", "not"]);
        assert_eq!(marked("config", "see parseConfig"), ["Config"]);
    }

    #[test]
    fn a_phrase_is_words_one_after_the_other() {
        let holds = |question: &str, text: &str| holds_phrases(&Question::new(question), text);
        assert!(holds("\"rate limit\"", "the Rate-Limit was hit"));
        assert!(!holds("\"rate limit\"", "limit the rate"));
        assert!(!holds("\"rate limit\"", "rate limits"));
        assert!(holds("\"a b\" \"c\"", "c a b"));
        assert!(holds("a b", "nothing of it"));
    }
}

//! From text to words, and from words to the terms of the index.
//!
//! A word is a run of letters and digits. Compared are its lower-case letters without accents, stemmed as English. A
//! name such as `parseConfig` or `parse_config` counts as a whole and by its parts. Chinese, Japanese and Korean are
//! written without spaces: each character is a word, and so is each pair.

use std::ops::Range;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Words longer than this are no words: encoded data, mostly.
const WORD_BYTES_MAX: usize = 64;

/// Words that say nothing about what a question is after.
const STOP: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "before", "being", "between", "both", "but", "by", "can", "could", "d", "did", "do", "does", "doing",
    "don", "down", "during", "each", "few", "for", "from", "further", "had", "has", "have", "having", "he", "her",
    "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "ll", "m", "me", "more",
    "most", "my", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "ours", "out",
    "over", "own", "re", "s", "same", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their",
    "theirs", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "under", "until",
    "up", "ve", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "why", "will",
    "with", "would", "you", "your", "yours",
];

/// Whether a folded word says nothing about what a question is after.
pub fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// A word in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// It in lower case, without accents.
    pub folded: String,
    /// Its bytes in the text.
    pub span: Range<usize>,
    /// Whether it is a part of the word before that is no part, or that word itself joined: it stands nowhere by
    /// itself.
    pub derived: bool,
}

/// A byte between words.
const GAP: u8 = 0;
/// A small letter or a digit of ASCII.
const PLAIN: u8 = 1;
const CAPITAL: u8 = 2;
const UNDERSCORE: u8 = 4;
/// Part of a character beyond ASCII.
const BEYOND: u8 = 8;

/// The class of each byte: most texts are ASCII, and are read byte by byte.
const CLASSES: [u8; 256] = {
    let mut classes = [BEYOND; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' | b'0'..=b'9' => PLAIN,
            b'A'..=b'Z' => CAPITAL,
            b'_' => UNDERSCORE,
            _ => GAP,
        };
        byte += 1;
    }
    classes
};

/// Calls `found` with every word of `text`: folded, its bytes, and whether it is derived from the words around it.
///
/// The text of the word is lent: most words have been seen before, and need no place of their own.
pub fn each_word(text: &str, mut found: impl FnMut(&str, Range<usize>, bool)) {
    let (mut folded, mut joined) = (String::new(), String::new());
    let mut at = 0;
    while at < text.len() {
        let (begin, mut classes) = (at, GAP);
        for byte in &text.as_bytes()[begin..] {
            let class = CLASSES[usize::from(*byte)];
            if class == GAP {
                break;
            }
            classes |= class;
            at += 1;
        }
        let run = &text[begin..at];
        if classes == PLAIN {
            if run.len() <= WORD_BYTES_MAX {
                found(run, begin..at, false);
            }
        } else if classes != GAP {
            each_name(run, begin, &mut folded, &mut joined, &mut found);
        }
        // The gap.
        at += 1;
    }
}

/// The same for a text without gaps of ASCII, which lies at `offset`.
fn each_name(
    text: &str,
    offset: usize,
    folded: &mut String,
    joined: &mut String,
    found: &mut impl FnMut(&str, Range<usize>, bool),
) {
    let mut at = 0;
    while let Some(begin) = text[at..].find(|c: char| is_word(c) || c == '_').map(|begin| at + begin) {
        let end = text[begin..].find(|c: char| !is_word(c) && c != '_').map_or(text.len(), |end| begin + end);
        let name = &text[begin..end];
        at = end;
        let begin = offset + begin;
        if name.chars().any(is_unspaced) {
            unspaced(name, begin, folded, found);
            continue;
        }
        let mut pieces = 0;
        for piece in runs(name) {
            fold(&name[piece.clone()], folded);
            if folded.is_empty() || folded.len() > WORD_BYTES_MAX {
                continue;
            }
            pieces += 1;
            found(folded, begin + piece.start..begin + piece.end, false);
            let humps = humps(&name[piece.clone()]);
            if humps.len() > 1 {
                for hump in humps {
                    let span = piece.start + hump.start..piece.start + hump.end;
                    fold(&name[span.clone()], folded);
                    found(folded, begin + span.start..begin + span.end, true);
                }
            }
        }
        if pieces > 1 {
            joined.clear();
            for piece in runs(name) {
                fold(&name[piece], folded);
                joined.push_str(folded);
            }
            if joined.len() <= WORD_BYTES_MAX {
                found(joined, begin..offset + end, true);
            }
        }
    }
}

/// The words of `text`.
pub fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    each_word(text, |folded, span, derived| words.push(Word { folded: folded.to_owned(), span, derived }));
    words
}

/// The stem under which a folded word is in the index.
pub fn stem(stemmer: &Stemmer, folded: &str) -> String {
    if folded.bytes().all(|byte| byte.is_ascii_lowercase()) {
        stemmer.stem(folded).into_owned()
    } else {
        folded.to_owned()
    }
}

/// A stemmer for English words.
pub fn stemmer() -> Stemmer {
    Stemmer::create(Algorithm::English)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || (!c.is_ascii() && is_combining_mark(c))
}

/// Characters of scripts that put no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF
        | 0x20000..=0x3134F | 0x0E00..=0x0EFF | 0x1780..=0x17FF)
}

/// The parts of a name that stand between underscores.
fn runs(name: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    name.split('_').filter_map(move |piece| {
        let begin = at;
        at += piece.len() + 1;
        (!piece.is_empty()).then_some(begin..begin + piece.len())
    })
}

/// The parts of a word in camel case: `parseHTTPConfig` is `parse`, `HTTP`, `Config`.
fn humps(word: &str) -> Vec<Range<usize>> {
    if !word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
        || !word.bytes().any(|byte| byte.is_ascii_lowercase())
    {
        return Vec::new();
    }
    let (bytes, mut parts, mut begin) = (word.as_bytes(), Vec::new(), 0);
    for at in 1..bytes.len() {
        let (before, here) = (bytes[at - 1], bytes[at]);
        let next_is_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        let begins = here.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || (before.is_ascii_uppercase() && next_is_lower));
        if begins {
            parts.push(begin..at);
            begin = at;
        }
    }
    parts.push(begin..bytes.len());
    parts
}

/// Characters of unspaced scripts one by one and in pairs; the text between them as words.
fn unspaced(name: &str, offset: usize, folded: &mut String, found: &mut impl FnMut(&str, Range<usize>, bool)) {
    let mut before: Option<usize> = None;
    let mut chars = name.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if is_unspaced(c) {
            let end = at + c.len_utf8();
            fold(&name[at..end], folded);
            found(folded, offset + at..offset + end, false);
            if let Some(begin) = before {
                fold(&name[begin..end], folded);
                found(folded, offset + begin..offset + end, true);
            }
            before = Some(at);
            continue;
        }
        before = None;
        let mut end = at + c.len_utf8();
        while let Some((next, c)) = chars.peek().copied().filter(|(_, c)| !is_unspaced(*c) && *c != '_') {
            end = next + c.len_utf8();
            chars.next();
        }
        fold(&name[at..end], folded);
        if c != '_' && !folded.is_empty() && folded.len() <= WORD_BYTES_MAX {
            found(folded, offset + at..offset + end, false);
        }
    }
}

/// Lower case, without accents.
fn fold(word: &str, into: &mut String) {
    into.clear();
    if word.is_ascii() {
        into.push_str(word);
        into.make_ascii_lowercase();
    } else {
        into.extend(word.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.folded).collect()
    }

    #[test]
    fn stop_words_are_sorted_so_that_they_can_be_found() {
        assert!(STOP.is_sorted());
        assert!(is_stop("the") && !is_stop("thread"));
    }

    #[test]
    fn names_count_as_a_whole_and_by_their_parts() {
        assert_eq!(folded("parseHTTPConfig2 now"), ["parsehttpconfig2", "parse", "http", "config2", "now"]);
        assert_eq!(folded("max_retry_count"), ["max", "retry", "count", "maxretrycount"]);
        assert_eq!(folded("__init__"), ["init"]);
        assert_eq!(folded("NATO iOS"), ["nato", "ios", "i", "os"]);
    }

    #[test]
    fn accents_case_and_signs_do_not_matter() {
        assert_eq!(folded("Crème-brûlée, ÉCOLE!"), ["creme", "brulee", "ecole"]);
        assert_eq!(folded("don't"), ["don", "t"]);
    }

    #[test]
    fn scripts_without_spaces_are_found_by_character_and_by_pair() {
        assert_eq!(folded("日本語abc"), ["日", "本", "日本", "語", "本語", "abc"]);
    }

    #[test]
    fn spans_are_where_the_words_stand() {
        let text = "Où est «maFonction»?";
        for word in words(text) {
            let mut here = String::new();
            fold(&text[word.span.clone()], &mut here);
            assert_eq!(here, word.folded);
        }
    }

    #[test]
    fn reading_byte_by_byte_finds_the_same_words() {
        let long = format!("{} {}", "x".repeat(64), "x".repeat(65));
        let texts = [
            "The cat's parseHTTPConfig2, max_retry",
            "Où est «maFonction»? x\u{a0}y",
            "日本 abc語_d e",
            "_ a_ _B",
            &long,
        ];
        for text in texts {
            let (mut slow, mut folded, mut joined) = (Vec::new(), String::new(), String::new());
            each_name(text, 0, &mut folded, &mut joined, &mut |folded, span, derived| {
                slow.push(Word { folded: folded.to_owned(), span, derived });
            });
            assert_eq!(words(text), slow);
        }
    }

    #[test]
    fn no_text_is_too_odd() {
        for text in
            ["", "\0\0", "_", "___a", "\u{202e}abc\u{202c}", "😀😀", "\u{301}", "ﬁ", "İ", &"x".repeat(10_000), "ſ_ſ"]
        {
            for word in words(text) {
                assert!(text.get(word.span.clone()).is_some(), "{text:?}: {word:?}");
            }
        }
    }
}

//! The built-in summary of a conversation: goals, decisions, files and open questions. It picks sentences and
//! writes none, so it needs no model and gives the same text for the same thread.

use std::collections::{BTreeMap, HashSet};

use threadkeep_model::Role;

/// Sentences and files under one heading.
const PICKED_MAX: usize = 8;
/// Longest sentence that is picked, in characters.
const SENTENCE_CHARS_MAX: usize = 300;
/// Words by which a decision is known.
const DECISION_WORDS: [&str; 14] = [
    "decided",
    "decision:",
    "agreed",
    "we will ",
    "we'll ",
    "let's use",
    "let us use",
    "going with",
    "go with",
    "chose ",
    "instead of",
    "must not",
    "from now on",
    "settled on",
];

/// The summary of a conversation, oldest message first, that goes on from an earlier summary.
pub(crate) fn summarize(before: Option<&str>, said: &[(Role, String)]) -> String {
    let told: Vec<(Role, String)> =
        said.iter().filter(|(role, _)| matches!(role, Role::User | Role::Assistant)).cloned().collect();
    let before = before.map(Before::read).unwrap_or_default();
    let goal = || told.iter().find(|(role, _)| *role == Role::User).and_then(|(_, text)| sentences(text).next());
    let decided = told.iter().flat_map(|(_, text)| sentences(text)).filter(|sentence| is_decision(sentence));
    let decisions = newest(before.decisions.into_iter().chain(decided));
    let state = told.iter().rev().find(|(role, _)| *role == Role::Assistant);
    let state = state.and_then(|(_, text)| sentences(text).last());
    let texts = before.files.iter().map(String::as_str).chain(told.iter().map(|(_, text)| text.as_str()));
    let mut parts = Vec::new();
    parts.extend(before.other.map(|text| format!("Earlier: {text}")));
    parts.extend(before.goal.or_else(goal).map(|goal| format!("Goal: {goal}")));
    parts.extend(list("Decisions:", &decisions));
    parts.extend(list("Files:", &files(texts)));
    parts.extend(list("Open questions:", &open_questions(&told)));
    parts.extend(state.map(|state| format!("Last said: {state}")));
    if parts.is_empty() {
        return "Nothing was said yet.".into();
    }
    parts.join("\n\n")
}

/// An earlier summary, taken apart. One that a model wrote is kept whole.
#[derive(Default)]
struct Before {
    other: Option<String>,
    goal: Option<String>,
    decisions: Vec<String>,
    files: Vec<String>,
}

impl Before {
    fn read(text: &str) -> Self {
        let mut before = Self::default();
        let mut other = Vec::new();
        for part in text.split("\n\n") {
            let items = |heading: &str| {
                let lines = part.strip_prefix(heading)?.lines().filter_map(|line| line.strip_prefix("- "));
                Some(lines.map(str::to_owned).collect())
            };
            if let Some(goal) = part.strip_prefix("Goal: ") {
                before.goal = Some(goal.to_owned());
            } else if let Some(decisions) = items("Decisions:") {
                before.decisions = decisions;
            } else if let Some(files) = items("Files:") {
                before.files = files;
            } else if let Some(earlier) = part.strip_prefix("Earlier: ") {
                other.push(earlier);
            } else if !part.starts_with("Open questions:") && !part.starts_with("Last said: ") {
                other.push(part);
            }
        }
        before.other = (!other.is_empty()).then(|| other.join("\n\n"));
        before
    }
}

fn list(heading: &str, items: &[String]) -> Option<String> {
    (!items.is_empty()).then(|| format!("{heading}\n- {}", items.join("\n- ")))
}

/// The sentences of a text, one line each, without those of code blocks.
fn sentences(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut in_code = false;
    let lines = text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    });
    lines.flat_map(|line| {
        let mut rest = line.trim().trim_start_matches(['-', '*', '#', '>', ' ']);
        let mut found = Vec::new();
        while !rest.is_empty() {
            let end = rest
                .char_indices()
                .find(|(at, character)| {
                    let after = &rest[at + character.len_utf8()..];
                    matches!(character, '.' | '?' | '!') && (after.is_empty() || after.starts_with(' '))
                })
                .map_or(rest.len(), |(at, character)| at + character.len_utf8());
            let (sentence, after) = rest.split_at(end);
            if sentence.chars().any(char::is_alphanumeric) {
                found.push(shortened(sentence.trim()));
            }
            rest = after.trim_start();
        }
        found
    })
}

fn shortened(sentence: &str) -> String {
    match sentence.char_indices().nth(SENTENCE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &sentence[..at]),
        None => sentence.to_owned(),
    }
}

fn is_decision(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    !sentence.ends_with('?') && DECISION_WORDS.iter().any(|word| lower.contains(word))
}

/// The last few, oldest first, each once.
fn newest(sentences: impl Iterator<Item = String>) -> Vec<String> {
    let all: Vec<String> = sentences.collect();
    let mut seen = HashSet::new();
    let mut last: Vec<String> = all.into_iter().rev().filter(|one| seen.insert(one.clone())).take(PICKED_MAX).collect();
    last.reverse();
    last
}

/// The files that are named most often; those named first come first among equals.
fn files<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut at = 0;
    for text in texts {
        let is_around = |c: char| !(c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-'));
        for word in text.split(is_around).map(|word| word.trim_matches(['.', '-', '/'])).filter(|word| is_file(word)) {
            at += 1;
            counts.entry(word).or_insert((0, at)).0 += 1;
        }
    }
    let mut named: Vec<_> = counts.into_iter().collect();
    named.sort_by_key(|(_, (count, first))| (std::cmp::Reverse(*count), *first));
    named.into_iter().take(PICKED_MAX).map(|(file, _)| file.to_owned()).collect()
}

/// Whether a word looks like a file: it has an ending of one to five letters or digits, and a name of more than digits.
fn is_file(word: &str) -> bool {
    let Some((name, ending)) = word.rsplit_once('.') else { return false };
    let last = name.rsplit('/').next().unwrap_or(name);
    (1..=5).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
        && last.chars().any(char::is_alphabetic)
        && (last.len() > 1 || name.contains('/'))
}

/// Unanswered questions: those of the user without a reply, and those the assistant asked last.
fn open_questions(told: &[(Role, String)]) -> Vec<String> {
    let Some((last, _)) = told.last() else { return Vec::new() };
    let turn = told.iter().rev().take_while(|(role, _)| role == last).collect::<Vec<_>>();
    newest(turn.into_iter().rev().flat_map(|(_, text)| sentences(text)).filter(|sentence| sentence.ends_with('?')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_split_outside_of_code() {
        let text = "# Plan\nUse v1.2 of it. Really? Yes!\n```rust\nlet a = b.c;\n```\n- then ship.";
        assert_eq!(sentences(text).collect::<Vec<_>>(), ["Plan", "Use v1.2 of it.", "Really?", "Yes!", "then ship."]);
    }

    #[test]
    fn files_are_known_by_their_look() {
        let text =
            "See src/main.rs, `Cargo.toml` and ./a/b.c; not 1.5, e.g. this, v2.0 or example... src/main.rs again";
        assert_eq!(files([text].into_iter()), ["src/main.rs", "Cargo.toml", "a/b.c"]);
    }

    #[test]
    fn long_sentences_are_cut() {
        let long = "ä".repeat(400);
        assert_eq!(sentences(&long).next().map(|sentence| sentence.chars().count()), Some(SENTENCE_CHARS_MAX + 1));
    }

    #[test]
    fn questions_are_open_while_nobody_answered() {
        let told =
            |turns: &[(Role, &str)]| turns.iter().map(|(role, text)| (*role, (*text).to_owned())).collect::<Vec<_>>();
        let open = |turns: &[(Role, &str)]| open_questions(&told(turns));
        assert_eq!(open(&[(Role::User, "Which one? This?")]), ["Which one?", "This?"]);
        assert!(open(&[(Role::User, "Which one?"), (Role::Assistant, "That one.")]).is_empty());
        assert_eq!(open(&[(Role::User, "Do it."), (Role::Assistant, "In Rust? Or not.")]), ["In Rust?"]);
    }
}

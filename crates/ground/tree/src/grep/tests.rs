//! What is found, and where.

use std::time::{Duration, Instant};

use super::*;

fn found(pattern: &str, text: &str) -> Vec<(usize, usize, String)> {
    let grep = Grep::new(pattern, Mode::Regex, Case::Sensitive).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    grep.matches(text.as_bytes(), 100).into_iter().map(|found| (found.line, found.column, found.text)).collect()
}

fn lines(pattern: &str, text: &str) -> Vec<usize> {
    found(pattern, text).into_iter().map(|(line, _, _)| line).collect()
}

fn refused(pattern: &str) -> GrepError {
    Grep::new(pattern, Mode::Regex, Case::Smart).expect_err(pattern)
}

#[test]
fn each_matching_line_is_found_once_with_its_first_match() {
    let text = "one\ntwo two\n\nthree two";
    assert_eq!(found("two", text), [(2, 1, "two two".to_owned()), (4, 7, "three two".to_owned())]);
}

#[test]
fn columns_are_characters() {
    assert_eq!(found("x", "äö🙂x\n"), [(1, 4, "äö🙂x".to_owned())]);
}

#[test]
fn what_is_not_utf8_is_shown_as_well_as_it_can_be() {
    let grep = Grep::new("x", Mode::Literal, Case::Sensitive).expect("a pattern");
    let found = grep.matches(b"\xff\xfe x\n", 10);
    assert_eq!(found, [Match { line: 1, column: 4, text: "\u{fffd}\u{fffd} x".to_owned() }]);
}

#[test]
fn the_ends_of_a_line_are_the_ends_of_what_is_seen() {
    let text = "ab\r\nb\na b\nb";
    assert_eq!(lines("^b", text), [2, 4]);
    assert_eq!(lines("b$", text), [1, 2, 3, 4]);
    assert_eq!(lines("^b$", text), [2, 4]);
    assert_eq!(lines(r"\Ab\z", text), [2, 4]);
    assert_eq!(lines("(?-m)^b$", text), [2, 4]);
    assert_eq!(found("ab", text)[0].2, "ab");
    assert_eq!(lines("^$", "a\n\nb\n\r\n"), [2, 4]);
}

#[test]
fn empty_matches_are_in_every_line_and_no_more() {
    assert_eq!(lines("x*", "a\nb\n"), [1, 2]);
    assert_eq!(lines("$", "a\nb"), [1, 2]);
    assert_eq!(lines("^", ""), [0; 0]);
    assert_eq!(lines("^", "\n"), [1]);
}

#[test]
fn no_match_goes_beyond_its_line() {
    let text = "a\nb\na b\n";
    for pattern in [r"a\sb", "a[^x]b", r"a\Wb", "(?s)a.b", r"a(?s:.)+b", r"a[\x00-\x20]b", r"(?-u:a[^x]b)"] {
        assert_eq!(lines(pattern, text), [3], "{pattern}");
    }
    for pattern in ["a\nb", r"a\nb", r"[\n]", r"a\x0Ab", r"(?x)a\nb"] {
        assert_eq!(refused(pattern), GrepError::LineEnd, "{pattern}");
    }
    assert_eq!(Grep::new("a\nb", Mode::Literal, Case::Sensitive).expect_err("two lines"), GrepError::LineEnd);
}

#[test]
fn case_matters_as_asked() {
    let lines = |pattern: &str, mode, case| {
        let grep = Grep::new(pattern, mode, case).expect("a pattern");
        grep.matches("straße\nSTRASSE\nStraße\nÄ\nä\n".as_bytes(), 9).iter().map(|m| m.line).collect::<Vec<_>>()
    };
    assert_eq!(lines("stra", Mode::Literal, Case::Sensitive), [1]);
    assert_eq!(lines("stra", Mode::Literal, Case::Ignore), [1, 2, 3]);
    assert_eq!(lines("stra", Mode::Literal, Case::Smart), [1, 2, 3]);
    assert_eq!(lines("Stra", Mode::Literal, Case::Smart), [3]);
    assert_eq!(lines("ä", Mode::Regex, Case::Smart), [4, 5]);
    assert_eq!(lines(r"\Stra", Mode::Regex, Case::Smart), [1, 2, 3]);
    assert_eq!(lines(r"[S]tra", Mode::Regex, Case::Smart), [3]);
}

#[test]
fn a_literal_is_taken_to_the_letter() {
    let grep = Grep::new("a.b*(", Mode::Literal, Case::Sensitive).expect("a pattern");
    assert!(grep.is_match(b"x a.b*( y"));
    assert!(!grep.is_match(b"aXbb("));
}

#[test]
fn binary_files_have_no_matches() {
    let grep = Grep::new("a", Mode::Literal, Case::Sensitive).expect("a pattern");
    assert!(!grep.is_match(b"a\0a"));
    let late = [vec![b'a'; 8_000], vec![0]].concat();
    assert!(grep.is_match(&late));
}

#[test]
fn the_limit_is_kept() {
    let grep = Grep::new("a", Mode::Literal, Case::Sensitive).expect("a pattern");
    assert_eq!(grep.matches(b"a\na\na\n", 2).len(), 2);
    assert!(grep.matches(b"a\n", 0).is_empty());
}

#[test]
fn a_long_line_is_cut_around_the_match() {
    let shown = |before: usize, after: usize| {
        let line = format!("{}X{}", "ä".repeat(before), "b".repeat(after));
        found("X", &line).remove(0)
    };
    assert_eq!(shown(200, 200).2.chars().count(), 401);
    let (_, column, text) = shown(1_000, 1_000_000);
    assert_eq!((column, text.chars().count()), (1_001, 500));
    assert_eq!(text.chars().position(|c| c == 'X'), Some(100));
    let (_, _, text) = shown(10_000, 9);
    assert_eq!((text.chars().count(), text.chars().position(|c| c == 'X')), (500, Some(490)));
    assert!(!text.contains('\u{fffd}'));
}

#[test]
fn what_is_not_a_pattern_is_refused_with_its_place() {
    assert_eq!(refused(""), GrepError::Empty);
    assert_eq!(refused("ab(c"), GrepError::Syntax { at: 3, reason: "unclosed group".to_owned() });
    assert_eq!(refused(&"a".repeat(5_000)), GrepError::TooLong { bytes: 5_000 });
    assert_eq!(refused(r"(\w{500}){500}"), GrepError::TooLarge);
    assert!(matches!(refused(&"(".repeat(1_000)), GrepError::Syntax { .. }));
}

#[test]
fn hostile_patterns_take_time_in_proportion_to_the_file() {
    let text = "a\n".repeat(500_000) + "z\n";
    let long = "a".repeat(1_000_000);
    for pattern in ["a[^x]*z", "(a*)*$", "(a|aa)+$z", "(?s)a.*z", r"(\w+\s?)*!", "(x+x+)+y"] {
        for text in [&text, &long] {
            let start = Instant::now();
            drop(found(pattern, text));
            // No measure of speed: a square would take days.
            assert!(start.elapsed() < Duration::from_secs(60), "{pattern} took {:?}", start.elapsed());
        }
    }
}

#[test]
fn a_file_has_the_matches_that_its_lines_have() {
    let words = ["foo", "bar", "Foo", " ", " ", "ab", "é", "x1", "", "foofoo", "\r"];
    let patterns = ["foo", r"\w+foo", "[A-Z]oo$", "^.foo", "bar|foo", r"\bfoo\b", "(foo)+$", r"\s*foo\s+bar", "x*"];
    let compiled = patterns.map(|pattern| {
        let grep = Grep::new(pattern, Mode::Regex, Case::Sensitive).expect("a pattern");
        (grep, Regex::new(&format!("(?mR:{pattern})")).expect("a pattern"))
    });
    let mut state = 1_u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for round in 0..2_000 {
        let mut line = || (0..below(6)).map(|_| words[below(words.len())]).collect::<String>();
        let text = (0..round % 8).map(|_| line()).collect::<Vec<_>>().join("\n") + ["", "\n"][round / 8 % 2];
        for (grep, regex) in &compiled {
            let columns = text.lines().enumerate().filter_map(|(index, line)| {
                let first = regex.find(line.as_bytes())?;
                Some((index + 1, line[..first.start()].chars().count() + 1))
            });
            let found = grep.matches(text.as_bytes(), 100).into_iter().map(|found| (found.line, found.column));
            assert_eq!(found.collect::<Vec<_>>(), columns.collect::<Vec<_>>(), "round {round}, {regex} in {text:?}");
        }
    }
}

#[test]
fn repetitions_that_a_search_would_have_to_follow_all_at_once_are_refused() {
    for pattern in ["a{1001}", "a{100000}", "((a{100}){100}){100}", "(?:a{1,100}){1,30}x", ".{0,600}.{0,600}x"] {
        assert_eq!(refused(pattern), GrepError::TooLarge, "{pattern}");
    }
    let text = "a".repeat(2_000);
    assert_eq!(lines("a{1000}", &text), [1]);
    assert_eq!(lines(&"a".repeat(2_000), &text), [1], "a text is no repetition");
}

#[test]
fn a_large_file_is_searched_in_steps_that_nobody_sees() {
    let long = format!("{}x", "b".repeat(STEP_BYTES));
    let text = format!("{}{long}\n\n{}x\r\n{}", "a\n".repeat(STEP_BYTES), "a\n".repeat(STEP_BYTES), "c\n".repeat(3));
    let at = STEP_BYTES + 1;
    assert_eq!(lines("x$", &text), [at, at + 2 + STEP_BYTES]);
    assert_eq!(lines("^$", &text), [at + 1]);
    assert_eq!(lines("^c", &text).len(), 3);
    assert_eq!(lines(r"\rx", &text), [0; 0]);
    let found = found("b{3}x", &text);
    assert_eq!((found[0].0, found[0].1), (at, STEP_BYTES - 2));
}

#[test]
fn of_a_very_long_line_a_large_pattern_sees_the_beginning() {
    let far = usize::try_from(LINE_COST_MAX / 500).expect("a size") + 10;
    let text = format!("{}y\nbb\n", "b".repeat(far));
    assert_eq!(lines("y", &text), [1], "a small one sees all of it");
    assert_eq!(lines("c{0,499}y", &text), [0; 0]);
    assert_eq!(lines("c{0,498}b$", &text), [2], "and no end where there is none");
}

#[test]
fn a_search_can_be_broken_off() {
    let grep = Grep::new("x", Mode::Regex, Case::Sensitive).expect("a pattern");
    let text = b"a\n".repeat(STEP_BYTES);
    let mut left = 1;
    let broken_off = grep.matches_while(&text, 10, || {
        left -= 1;
        left >= 0
    });
    assert_eq!(broken_off, Err(BrokenOff));
}

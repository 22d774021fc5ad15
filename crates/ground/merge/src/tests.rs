//! The small rules, each with its data.

use super::*;

const LABELS: Labels<'_> = Labels { ours: "A", theirs: "B" };

fn merged(base: &str, ours: &str, theirs: &str) -> String {
    let merged = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), &LABELS);
    String::from_utf8(merged.bytes).expect("text of texts")
}

#[test]
fn changes_apart_are_both_taken() {
    assert_eq!(merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n"), "A\nb\nC\n");
}

#[test]
fn changes_that_touch_are_a_conflict() {
    assert_eq!(merged("a\nb\n", "A\nb\n", "a\nB\n"), "<<<<<<< A\nA\nb\n=======\na\nB\n>>>>>>> B\n");
}

#[test]
fn the_same_change_on_both_sides_is_no_conflict() {
    assert_eq!(merged("a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n"), "a\nX\nc\n");
}

#[test]
fn what_both_sides_agree_on_leaves_a_conflict() {
    assert_eq!(merged("", "x\n1\ny\n", "x\n2\ny\n"), "x\n<<<<<<< A\n1\n=======\n2\n>>>>>>> B\ny\n");
}

#[test]
fn a_last_line_without_end_gets_one_before_a_marker() {
    assert_eq!(merged("a", "b", "c"), "<<<<<<< A\nb\n=======\nc\n>>>>>>> B\n");
}

#[test]
fn markers_end_as_the_lines_around_them_do() {
    let text = merged("a\r\n", "b\r\n", "c\r\n");
    assert_eq!(text, "<<<<<<< A\r\nb\r\n=======\r\nc\r\n>>>>>>> B\r\n");
}

#[test]
fn a_marker_without_label_is_bare() {
    let labels = Labels { ours: "", theirs: "" };
    let merged = merge(b"a\n", b"b\n", b"c\n", &labels);
    assert_eq!(merged.bytes, b"<<<<<<<\nb\n=======\nc\n>>>>>>>\n");
    assert_eq!(merged.conflicts, [Conflict { ours: 0..1, theirs: 0..1, merged: 0..5 }]);
}

#[test]
fn a_union_keeps_both_sides() {
    assert_eq!(union(b"1\n", b"1\n2\n", b"1\n3\n"), b"1\n2\n3\n");
}

#[test]
fn binary_is_a_nul_near_the_beginning() {
    assert!(!is_binary(b""));
    assert!(is_binary(b"a\0b"));
    let at = |index: usize| {
        let mut bytes = vec![b'a'; 9_000];
        bytes[index] = 0;
        bytes
    };
    assert!(is_binary(&at(7_999)));
    assert!(!is_binary(&at(8_000)));
}

#[test]
fn counts_say_what_came_went_and_changed() {
    assert_eq!(line_counts(b"a\nb\n", b"a\nb\n"), LineCounts::default());
    assert_eq!(line_counts(b"", b"a\nb"), LineCounts { added: 2, removed: 0, changed: 0 });
    assert_eq!(line_counts(b"a\nb\nc\n", b"a\nX\nY\nc\n"), LineCounts { added: 2, removed: 1, changed: 1 });
}

#[test]
fn hunks_are_placed_where_people_expect_them() {
    // The second of two equal lines is the new one.
    assert_eq!(diff(b"a\nb\n", b"a\na\nb\n"), [Hunk { old: 1..1, new: 1..2 }]);
    assert_eq!(diff(b"a\n", b"a"), [Hunk { old: 0..1, new: 0..1 }]);
}

//! Texts that are made to cost much do not.

use std::time::{Duration, Instant};

use threadkeep_merge::{Labels, Names, diff, merge, unified, union};

const LABELS: Labels<'_> = Labels { ours: "ours", theirs: "theirs" };
/// No measure of speed: far above what any of these takes on a busy machine, and far below what a square would take.
const PATIENCE: Duration = Duration::from_secs(120);

fn text(count: usize, line: impl Fn(usize) -> String) -> Vec<u8> {
    (0..count).map(|index| line(index) + "\n").collect::<String>().into_bytes()
}

fn everything_within_patience(base: &[u8], ours: &[u8], theirs: &[u8]) {
    let start = Instant::now();
    diff(base, ours);
    unified(ours, theirs, &Names { old: "a", new: "b" }, 3);
    merge(base, ours, theirs, &LABELS);
    union(base, ours, theirs);
    assert!(start.elapsed() < PATIENCE, "took {:?}", start.elapsed());
}

#[test]
fn lines_that_are_all_different() {
    let of = |side: &str| text(100_000, |index| format!("{side} {index}"));
    everything_within_patience(&of("a"), &of("b"), &of("c"));
}

#[test]
fn lines_that_are_all_the_same() {
    let of = |count| text(count, |_| "x".to_owned());
    everything_within_patience(&of(100_000), &of(99_000), &of(101_000));
    everything_within_patience(&of(100_000), &of(1), &of(200_000));
}

#[test]
fn lines_that_all_moved() {
    let of = |step: usize| text(100_000, |index| format!("{}", index * step % 100_003));
    everything_within_patience(&of(1), &of(50_021), &of(33_343));
    everything_within_patience(&of(1), &text(100_000, |index| format!("{}", 99_999 - index)), &of(2));
}

#[test]
fn lines_of_few_kinds_in_every_order() {
    let of = |seed: u64| {
        let mut chance = crate::generate::Chance(seed);
        let lines = (0..100_000).map(|_| format!("{}\n", chance.below(3))).collect::<String>();
        lines.into_bytes()
    };
    everything_within_patience(&of(1), &of(2), &of(3));
}

#[test]
fn every_second_line_changed() {
    let of = |side: &str, odd: usize| {
        text(100_000, |index| if index % 2 == odd { format!("{side} {index}") } else { "same".to_owned() })
    };
    everything_within_patience(&of("a", 0), &of("b", 0), &of("c", 0));
    everything_within_patience(&of("a", 0), &of("b", 1), &of("c", 0));
}

#[test]
fn one_line_of_fifty_megabytes() {
    let of = |byte: u8| vec![byte; 50_000_000];
    everything_within_patience(&of(b'a'), &of(b'b'), &of(b'c'));
}

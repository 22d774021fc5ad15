//! The answers of this crate against those of git.

mod generate;
mod git;
mod hostile;

use std::path::Path;

use generate::triple;
use threadkeep_merge::{Labels, Names, merge, unified, union};

const TRIPLES: u64 = 1_000;
const LABELS: Labels<'_> = Labels { ours: "ours", theirs: "theirs" };

/// Compares a merge with git's, and says whether it was clean.
fn same_as_git(folder: &Path, seed: u64, texts: &[Vec<u8>; 3]) -> bool {
    let (conflicts, bytes) = git::merge_file(folder, texts, &[]);
    let merged = merge(&texts[0], &texts[1], &texts[2], &LABELS);
    assert_eq!(merged.conflicts.len().min(127), conflicts as usize, "seed {seed}");
    assert!(merged.bytes == bytes, "{}", told(seed, texts, &bytes, &merged.bytes));
    merged.is_clean()
}

fn told(seed: u64, texts: &[Vec<u8>; 3], expected: &[u8], found: &[u8]) -> String {
    let [base, ours, theirs] = texts.each_ref().map(|text| String::from_utf8_lossy(text));
    let (expected, found) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(found));
    format!("seed {seed}\nbase {base:?}\nours {ours:?}\ntheirs {theirs:?}\n--- git\n{expected}\n--- found\n{found}")
}

#[test]
fn a_merge_is_gits_merge() {
    let folder = tempfile::tempdir().expect("a folder");
    let clean = (0..TRIPLES).filter(|seed| same_as_git(folder.path(), *seed, &triple(*seed, 60))).count() as u64;
    assert!((100..TRIPLES - 100).contains(&clean), "{clean} of {TRIPLES} are clean: too few of one kind");
}

#[test]
fn a_merge_of_long_texts_is_gits_merge() {
    let folder = tempfile::tempdir().expect("a folder");
    for seed in 0..60 {
        same_as_git(folder.path(), seed, &triple(seed, 5_000));
        same_as_git(folder.path(), seed, &generate::rewritten(seed, 4_000));
    }
}

/// Texts that have little in common are where the search takes its shortcuts.
#[test]
fn a_merge_of_unlike_texts_is_gits_merge() {
    let folder = tempfile::tempdir().expect("a folder");
    for (seed, kinds) in [2, 3, 10, 100, 1_000, 10_000].into_iter().enumerate() {
        let mut chance = generate::Chance(seed as u64);
        let mut text = || (0..20_000).map(|_| format!("{}\n", chance.below(kinds))).collect::<String>().into_bytes();
        same_as_git(folder.path(), seed as u64, &[text(), text(), text()]);
    }
    for seed in 0..6 {
        same_as_git(folder.path(), seed, &generate::runs(seed, 50_000));
    }
}

#[test]
fn the_lines_of_a_conflict_are_where_its_markers_are() {
    for seed in 0..TRIPLES {
        let texts = triple(seed, 60);
        let merged = merge(&texts[0], &texts[1], &texts[2], &LABELS);
        let lines = |text: &[u8]| text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
        let (all, ours, theirs) = (lines(&merged.bytes), lines(&texts[1]), lines(&texts[2]));
        for conflict in &merged.conflicts {
            let shown = &all[conflict.merged.clone()];
            assert_eq!(shown.len(), conflict.ours.len() + conflict.theirs.len() + 3, "seed {seed}");
            assert!(shown[0].starts_with(b"<<<<<<< ours"), "seed {seed}");
            assert!(shown[shown.len() - 1].starts_with(b">>>>>>> theirs"), "seed {seed}");
            let start = |line: &Vec<u8>| String::from_utf8_lossy(line).trim_end().to_owned();
            let sides = ours[conflict.ours.clone()].iter().map(start).chain(["=======".to_owned()]);
            let sides = sides.chain(theirs[conflict.theirs.clone()].iter().map(start)).collect::<Vec<_>>();
            assert_eq!(shown[1..shown.len() - 1].iter().map(start).collect::<Vec<_>>(), sides, "seed {seed}");
        }
    }
}

#[test]
fn a_union_is_gits_union() {
    let folder = tempfile::tempdir().expect("a folder");
    for seed in 0..TRIPLES / 4 {
        let texts = triple(seed, 60);
        let (_, bytes) = git::merge_file(folder.path(), &texts, &["--union"]);
        let found = union(&texts[0], &texts[1], &texts[2]);
        assert_eq!(found, bytes, "{}", told(seed, &texts, &bytes, &found));
    }
}

#[test]
fn a_unified_difference_is_gits_and_patch_takes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = Names { old: "old", new: "new" };
    for seed in 0..TRIPLES / 4 {
        let [old, new, _] = triple(seed, 60);
        let context = seed as usize % 5;
        let found = unified(&old, &new, &names, context);
        let expected = git::diff(folder.path(), &old, &new, context);
        let body = found.strip_prefix(b"--- old\n+++ new\n".as_slice()).unwrap_or(&found);
        assert_eq!(String::from_utf8_lossy(body), String::from_utf8_lossy(&expected), "seed {seed}");
        if context == 3 && old != new {
            assert_eq!(patched(folder.path(), &old, &found), new, "seed {seed}");
        }
    }
}

/// What git makes of `old` with a difference.
fn patched(folder: &Path, old: &[u8], difference: &[u8]) -> Vec<u8> {
    let write =
        |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect("a folder can be written to");
    write("old", old);
    write("difference", difference);
    git::apply(folder, "old", "difference");
    std::fs::read(folder.join("old")).unwrap_or_default()
}

//! Everything that is measured can be measured. Nothing is timed here: that is what a full run is for.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use serde_json::Value;

fn run(args: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_threadkeep-bench"));
    command.args(args).env("THREADKEEP_BENCH_DIR", folder.path());
    let output = command.output().expect("the program runs");
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder is there").collect();
    assert!(left.is_empty(), "files were left behind: {left:?}");
    output
}

#[test]
fn a_quick_run_gives_every_row_with_finite_numbers() {
    let output = run(&["engine", "--quick", "--json", "--rounds", "2"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).expect("text").lines() {
        let line: Value = serde_json::from_str(line).expect("a JSON object");
        *lines.entry(line["row"].as_str().expect("a row has a name").to_owned()).or_default() += 1;
        assert!(line["ours"].as_f64().is_some_and(f64::is_finite), "{line}");
        for other in ["sqlite", "jsonl", "ratio"] {
            assert!(line[other].is_null() || line[other].as_f64().is_some_and(f64::is_finite), "{line}");
        }
        assert_eq!(line["aim"].is_null(), line["met"].is_null(), "{line}");
        assert_eq!(line["quick"], true, "{line}");
    }
    let expected = [
        ("append-1", 3),
        ("append-64", 7),
        ("append-history", 10),
        ("at-rest", 1),
        ("chain", 4),
        ("fork", 24),
        ("list", 2),
        ("memory", 2),
        ("read", 4),
    ];
    assert_eq!(lines, expected.map(|(row, lines)| (row.to_owned(), lines)).into());
}

#[test]
fn a_single_row_can_be_asked_for_as_a_table() {
    let output = run(&["engine", "--quick", "--rounds", "1", "--rows", "at-rest"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("--quick") && text.contains("bytes a message"), "{text}");
    assert!(!text.contains("append-64"), "{text}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    for (args, reason) in [
        (["engine", "--store", "postgres://here"], "use sqlite:FOLDER"),
        (["engine", "--rows", "unknown"], "there is no row 'unknown'"),
    ] {
        let output = run(&args);
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{args:?}");
    }
}

//! Deleting: what goes along is said, a person is asked, a script has to mean it.

use crate::support::{Keep, Terminal, run};

/// Deletes without the flag that the helper adds.
fn delete(keep: &Keep, thread: &str, more: &[&str]) -> std::process::Command {
    let mut command = keep.command(&["thread"]);
    command.args(["rm", thread]).args(more);
    command
}

#[test]
pub fn deleting_says_what_goes_along_and_names_the_way_that_can_be_undone() {
    let keep = Keep::new();
    let thread = keep.create("Main");
    keep.ok(&["subagents", "start", &thread, "helper", "--title", "Below"]);
    keep.create("Other");
    let before = keep.everything();
    let words = [
        "deleting cannot be undone, and needs --yes",
        "\"Main\"",
        "1 thread of a subagent",
        "\"Below\"",
        "--yes",
        "thread archive",
    ];
    run(delete(&keep, &thread, &[]), b"").refused(2, &words);
    run(delete(&keep, &thread, &["--json"]), b"").refused(2, &words[..1]);
    assert_eq!(keep.everything(), before);
    // The hint works when it is pasted.
    let ran = run(delete(&keep, &thread, &["--yes"]), b"");
    assert!(ran.stderr.contains("and 1 thread of a subagent"), "{ran:?}");
    ran.ok();
    assert_eq!(keep.json(&["ls"]).as_array().map(Vec::len), Some(1));
}

#[test]
pub fn a_person_is_asked_and_only_yes_deletes() {
    let keep = Keep::new();
    let thread = keep.create("Main");
    for (answer, code) in [("\n", 1), ("n\n", 1), ("yes\n", 0)] {
        let ran = Terminal::new(80, 24).run(delete(&keep, &thread, &[]), answer);
        assert_eq!(ran.code, Some(code), "{answer:?}: {}", ran.stdout);
        assert!(ran.stdout.contains("Delete? [y/N]") && ran.stdout.contains("thread archive"), "{}", ran.stdout);
    }
    assert_eq!(keep.ok(&["ls", "--json"]), "[]");
}

#[test]
pub fn both_archives_are_told_apart() {
    let keep = Keep::new();
    let help = |args: &[&str]| keep.ok(args);
    assert!(help(&["thread", "archive", "--help"]).contains("lifecycle"));
    assert!(help(&["thread", "unarchive", "--help"]).contains("for good"));
    assert!(help(&["thread", "lifecycle", "--help"]).contains("thread archive"));
    assert!(help(&["thread", "rm", "--help"]).contains("thread archive"));
    let thread = keep.create("Main");
    let hint = ["thread done", "thread archive"];
    keep.run(&["thread", "lifecycle", &thread, "archive"]).refused(5, &hint);
    keep.ok(&["thread", "done", &thread]);
    keep.ok(&["thread", "lifecycle", &thread, "archive"]);
    keep.run(&["thread", "unarchive", &thread]).refused(5, &["which is final"]);
}

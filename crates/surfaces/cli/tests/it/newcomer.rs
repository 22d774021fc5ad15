//! A newcomer from git, gh and shells, in a hurry: each answer names what was wrong, and nothing that was not meant.

use crate::support::{Keep, Terminal, run};

/// A store with a thread, and files that commands trip over.
fn keep() -> (Keep, String) {
    let keep = Keep::new();
    keep.create("Release notes");
    let thread = keep.create("Budget plan");
    keep.say(&thread, "one");
    std::fs::create_dir(keep.at("folder")).expect("a folder");
    std::fs::write(keep.at("file.txt"), "x\n").expect("a file");
    (keep, thread)
}

#[test]
pub fn every_noun_shows_examples_that_fit() {
    let (keep, _) = keep();
    for noun in
        ["thread", "run", "queue", "approvals", "subagents", "files", "kv", "messages", "code", "effects", "store"]
    {
        for columns in ["60", "100"] {
            let mut command = keep.command(&[noun, "-h"]);
            command.env("COLUMNS", columns);
            let help = run(command, b"").ok();
            assert!(help.contains(&format!("Examples:\n  threadkeep {noun} ")), "{help}");
        }
    }
    let help = keep.ok(&["--help"]);
    let filled: Vec<&str> = help.lines().skip_while(|line| !line.starts_with("Which threads")).take(3).collect();
    assert!(filled.iter().take(2).all(|line| line.len() > 80), "sentences are filled: {filled:?}");
    let alone = keep.run(&["approvals", "help"]).ok();
    assert!(alone.contains("approvals request"), "{alone}");
}

#[test]
#[cfg(unix)]
pub fn a_secret_that_is_not_typed_is_not_set_and_a_terminal_without_a_name_has_no_pager() {
    let (keep, thread) = keep();
    let set = Terminal::new(80, 24).run(keep.command(&["env", "set", "TOKEN"]), "\n");
    assert_eq!(set.code, Some(2), "{set:?}");
    keep.run(&["env", "get", "TOKEN"]).refused(3, &["there is no variable TOKEN"]);
    let mut show = keep.command(&["show", &thread]);
    show.env_remove("TERM").env("PAGER", "false");
    let shown = Terminal::new(80, 24).run(show, "").ok();
    assert!(shown.contains("one") && !shown.contains('\u{1b}'), "{shown}");
}

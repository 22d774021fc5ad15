//! A newcomer from git, gh and shells, in a hurry: each answer names what was wrong, and nothing that was not meant.

use std::process::Stdio;

use crate::support::{Keep, Terminal, run, threadkeep, wait};

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
pub fn words_of_other_programs_lead_to_the_command_that_does_the_same() {
    let (keep, thread) = keep();
    for (args, hint) in [
        (&["log", &thread][..], "threadkeep thread history or threadkeep show"),
        (&["cat", &thread], "threadkeep show"),
        (&["branch"], "threadkeep fork or threadkeep tree"),
        (&["clone"], "threadkeep fork or threadkeep store copy"),
        (&["commit"], "threadkeep say"),
        (&["version"], "threadkeep --version"),
        (&["lst"], "threadkeep ls"),
        (&["messages", "list"], "threadkeep show"),
        (&["thread", "list"], "threadkeep ls"),
        (&["thread", "fork"], "threadkeep fork"),
        (&["thread", "rename"], "threadkeep thread update"),
        (&["keys", "delete"], "threadkeep keys revoke"),
        (&["tools", "run"], "threadkeep tools invoke"),
        (&["memory", "forget"], "threadkeep memory rm"),
        (&["serve", "--port", "80"], "--listen"),
        (&["show", &thread, "-n", "3"], "--limit"),
        (&["thread", "rm", &thread, "--force"], "--yes"),
    ] {
        keep.run(args).refused(2, &[&format!("hint: {hint}; see threadkeep")]);
    }
    for (args, wrong) in
        [(&["approvals", "request", &thread, "--scope", "x"][..], "--store"), (&["help", "run", "frob"], "x")]
    {
        let error = keep.run(args).refused(2, &["hint: threadkeep"]);
        assert!(!error.contains(&format!("hint: {wrong}")), "{error}");
    }
    keep.run(&["help", "run", "frob"]).refused(2, &["threadkeep run has no command 'frob'"]);
}

#[test]
pub fn a_wrong_argument_is_called_as_it_is_typed() {
    let (keep, thread) = keep();
    for (args, words) in [
        (&["search", ""][..], "WORDS: is empty"),
        (&["search", "x", "--context", "9999"], "--context: shows 0 to 50"),
        (&["merge", &thread, &thread], "SOURCE: must not name the target"),
        (&["thread", "emit", &thread, "e", "{"], "JSON: is not well-formed"),
        (&["thread", "observe", &thread, "Release notes", "--webhook", "x"], "--webhook: begins with https://"),
        (&["files", "find", &thread, "["], "GLOB: the `[`"),
        (&["files", "grep", &thread, ""], "PATTERN: the pattern is empty"),
        (&["kv", "set", &thread, "k", "hello"], "JSON: is not well-formed"),
        (&["kv", "set", &thread, "k", "hello"], "hint: a text has quotation marks: '\"hello\"'"),
        (&["code", "run", "file.txt", "--memory", "1"], "--memory: is not between"),
        (&["code", "run", "file.txt", "--memory", "1"], "hint: threadkeep code run -h"),
        (&["say", &thread, ""], "TEXT: is empty"),
        (&["say", &thread, "x", "--attach", "folder"], "cannot read folder: it is a folder; name a file"),
        (&["ls", "--archived", "maybe"], "hint: --archived=true|false|any"),
        (&["ls", "--json=yes"], "takes --json without a value: 'yes'"),
        (&["rollback", &thread, "--step", "-1"], "--step: '-1' begins with a dash"),
        (&["rollback"], "needs THREAD and one of --at-version VERSION, --timestamp"),
        (&["thread", "update", &thread], "hint: threadkeep thread update THREAD --title TITLE"),
        (&["export", &thread, "--format", "html"], "'html' is not one of claude-code, openai, markdown"),
        (&["import", "claude"], "did you mean claude-code?"),
        (&["import", "file.txt"], "file.txt: this is not a Threadkeep export"),
        (&["import", "claude-code", "file.txt"], "file.txt:1: not JSON"),
        (&["show", "@lats"], "'@lats' is neither @last nor @last~N"),
        (&["--objects", "file:file.txt", "ls"], "--objects: names a file"),
    ] {
        keep.run(args).refused(2, &[words, "hint: "]);
    }
    let mut odd = keep.command(&["say"]);
    #[cfg(unix)]
    odd.arg(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff"));
    #[cfg(unix)]
    run(odd, b"").refused(2, &["threadkeep say: '\u{fffd}' is not UTF-8 text"]);
}

#[test]
pub fn what_is_not_found_leads_to_the_list_of_what_there_is() {
    let (keep, thread) = keep();
    let none = "00000000-0000-8000-8000-000000000000";
    let queued = format!("queued-{none}");
    for (args, list) in [
        (&["run", "step", &thread, none, "x"][..], "run list "),
        (&["run", "ack", &thread, none], "run injections "),
        (&["queue", "edit", &thread, &queued, "x"], "queue list "),
        (&["memory", "show", none], "memory list"),
        (&["tools", "invoke", &thread, "nope"], "tools list"),
        (&["agents", "show", "nope"], "agents list"),
        (&["env", "get", "NOPE"], "env list"),
        (&["show", &thread, "--message", "M-0123456789abcdef1"], "show "),
        (&["show", &thread, "--message", "99"], "there is no message '99'"),
    ] {
        keep.run(args).refused(3, &["hint: threadkeep --store ", list]);
    }
    keep.run(&["run", "step", &thread, "@last", "x"]).refused(5, &["no open run", "run start "]);
    let near = keep.run(&["show", "Budgett"]).refused(3, &["did you mean", "  Budget plan\n"]);
    assert_eq!(near.matches("T-").count(), 1, "{near}");
    let long = keep.run(&["show", &"x".repeat(3_000)]).refused(3, &["xxx…'"]);
    assert!(long.len() < 300, "{long}");
    // A message is named in either case.
    let message = keep.say(&thread, "two");
    keep.ok(&["show", &thread, "--message", &message.to_lowercase()]);
}

#[test]
pub fn a_place_that_cannot_be_is_refused_by_the_flag_that_names_it() {
    let (keep, _) = keep();
    let at = |args: &[&str]| {
        let mut command = threadkeep();
        command.current_dir(keep.folder()).args(args);
        run(command, b"")
    };
    let store = keep.store().display().to_string();
    let error = at(&["--data", "file.txt", "ls"]).refused(6, &["cannot open the store file.txt/threadkeep.db"]);
    assert!(!error.contains("new \"My first thread\""), "a thread cannot be made there: {error}");
    at(&["--server", "http://127.0.0.1:1", "--data", "x", "ls"]).refused(2, &["--server: goes without --data"]);
    at(&["store", "copy", "--from", &store, "--to", "mysql://x"]).refused(2, &["--to: there is no store 'mysql://'"]);
    let error =
        at(&["store", "copy", "--from", "none.db", "--to", "b.db"]).refused(3, &["there is no store at none.db"]);
    assert!(!error.contains("threadkeep --store"), "{error}");
    at(&["--config", "folder", "ls"]).refused(2, &["cannot read folder: it is a folder"]);
    at(&["agents", "check", "file.txt"]).refused(2, &["a folder in its path is a file", "agents check -h"]);
    at(&["agents", "new", "no name"]).refused(2, &["hint: threadkeep agents new -h"]);
    let read = |to: &str| keep.run(&["store", "export", "-o", to]);
    read("folder").refused(2, &["cannot write folder: it is a folder", "hint: name a file in it"]);
    read("none/x").refused(2, &["cannot write none/x: its folder does not exist"]);
}

#[test]
pub fn a_thread_that_is_named_twice_is_followed_once() {
    let (keep, thread) = keep();
    let tail = keep.start(&["tail", &thread, &thread, "-n", "5"]);
    assert!(tail.next_line().expect("a line").ends_with("user: one"));
    keep.say(&thread, "two");
    assert!(tail.next_line().expect("a line").ends_with("user: two"));
    keep.say(&thread, "three");
    assert!(tail.next_line().expect("a line").ends_with("user: three"));
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
#[cfg(target_os = "linux")]
pub fn help_that_cannot_be_written_is_told() {
    for args in [&["--help"][..], &["--version"], &["say", "-h"]] {
        let mut command = threadkeep();
        command.args(args).stdout(std::fs::File::options().write(true).open("/dev/full").expect("a full disk"));
        let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
        assert_eq!(wait(&mut child).code(), Some(6), "{args:?}");
    }
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

//! What a new user gets wrong, and what is answered: what was wrong, where, and what works instead.

use std::process::Stdio;

use crate::support::{Keep, Ran, run, serve, threadkeep};

fn in_folder(folder: &std::path::Path, args: &[&str], environment: &[(&str, &str)]) -> Ran {
    let mut command = threadkeep();
    command.current_dir(folder).args(args).envs(environment.iter().copied());
    run(command, b"")
}

#[test]
pub fn wrong_arguments_are_named_with_the_command_and_with_one_that_works() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    for (args, words) in [
        (&["fork", &thread, "--att", "2"][..], &["threadkeep fork has no option '--att'", "threadkeep fork -h"][..]),
        (&["ls", "--stor", "x"], &["no option '--stor'", "hint: --store"]),
        (&["ls", "--titel", "x"], &["no option '--titel'", "hint: --title"]),
        (&["show"], &["threadkeep show needs THREAD", "hint: threadkeep show @last"]),
        (&["kv", "set", &thread], &["threadkeep kv set needs KEY and JSON", "threadkeep kv set -h"]),
        (&["ls", "foo"], &["threadkeep ls takes no further argument: 'foo'"]),
        (&["frobnicate"], &["threadkeep has no command 'frobnicate'", "hint: threadkeep -h"]),
        (&["aprove", "x"], &["no command 'aprove'", "hint: threadkeep approvals approve"]),
        (&["run", "begin", &thread], &["threadkeep run has no command 'begin'", "threadkeep run start"]),
        (&["shwo", &thread], &["no command 'shwo'", "hint: threadkeep show"]),
        (&["serve", "--log", "x"], &["--log of threadkeep serve", "'x'", "json, off", "hint: --log json"]),
        (&["say", &thread, "x", "--role", "king"], &["--role: 'king' is not a role: user"]),
        (&["ls", "--limit"], &["--limit of threadkeep ls needs a value"]),
        (&["ls", "--limit", "many"], &["--limit of threadkeep ls", "'many'"]),
        (&["ls", "--created-after", "yesterday"], &["--created-after: 'yesterday'", "2026-01-31"]),
        (&["ls", "--lifecycle", "activ"], &["--lifecycle", "'activ'", "hint: --lifecycle active"]),
        (&["completions", "foo"], &["'foo'", "bash", "zsh"]),
        (&["keys", "create"], &["threadkeep keys create needs --account NAME"]),
        (&["queue", "frob", &thread], &["threadkeep queue has no command 'frob'", "threadkeep queue -h"]),
        (&["queue", "ad", &thread, "x"], &["threadkeep queue has no command 'ad'", "hint: threadkeep queue add"]),
        (
            &["queue", "rm", &thread, "x"],
            &["no command 'rm'", "hint: threadkeep queue remove; see threadkeep queue -h"],
        ),
        (&["kv", "remove", &thread, "x"], &["no command 'remove'", "hint: threadkeep kv rm; see threadkeep kv -h"]),
        (&["approvals", "frob", "x"], &["threadkeep approvals has no command 'frob'"]),
        (&["kv", "4e36"], &["threadkeep kv has no command '4e36'", "hint: threadkeep kv list 4e36"]),
        (&["@last"], &["threadkeep has no command '@last'", "hint: threadkeep show @last"]),
        (
            &["show", &thread, "--at-version", "-1"],
            &["--at-version: '-1' is a negative number", "hint: --at-version 1"],
        ),
        (&["fork", &thread, "--message-index", "x"], &["--message-index", "'x' is not a whole number from 0"]),
        (&["ls", "--limit", "99999999999999999999999"], &["--limit of threadkeep ls", "is too large"]),
        (&["keys", "create", "--account", "ann", "--scope", "all"], &["--scope: 'all' is not a scope: read, write or"]),
        (&["run", "step", &thread, "nonsense", "x"], &["RUN: 'nonsense' is not the id of a run", "run step -h"]),
        (&["call", "frobnicate"], &["there is no call 'frobnicate'", "hint: threadkeep call -h"]),
        (&["call", "getThread", "{}"], &["THREAD: is missing: it goes before the JSON", "threadkeep call -h"]),
        (&["call", "appendd"], &["there is no call 'appendd'; did you mean append?"]),
    ] {
        let error = keep.run(args).refused(2, words);
        assert_eq!(error.lines().count(), 2, "an error and a hint: {error}");
        // For programs, the same sentence.
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let told: serde_json::Value = serde_json::from_str(&keep.run(&args).refused(2, &[])).expect("JSON");
        assert!(error.contains(told["detail"].as_str().expect("a detail")), "{error} {told}");
        assert!(error.contains(told["hint"].as_str().expect("a hint")), "{error} {told}");
    }
    keep.run(&["fork", &thread, "--at", "2"]).refused(2, &["no option '--at'", "hint: --at-version"]);
    let error = keep.run(&["fork", &thread, "--att", "2"]).refused(2, &[]);
    assert!(!error.contains("--data"), "a flag of all commands is not meant: {error}");
}

#[test]
pub fn a_setting_that_is_wrong_is_named_with_its_value_and_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    for command in [&["ls"][..], &["config"], &["serve"]] {
        let wrong = in_folder(folder.path(), command, &[("THREADKEEP_PAGE", "abc")]);
        wrong.refused(
            2,
            &["THREADKEEP_PAGE=abc", "not a number above 0", "hint: THREADKEEP_PAGE=50; see threadkeep config -h"],
        );
        std::fs::write(folder.path().join("threadkeep.toml"), "page = \"x\"\n").expect("a file");
        in_folder(folder.path(), command, &[]).refused(2, &["page = x in threadkeep.toml", "hint: page = 50; see"]);
        std::fs::remove_file(folder.path().join("threadkeep.toml")).expect("a file");
    }
    in_folder(folder.path(), &["config", "--page", "x"], &[]).refused(2, &["--page: 'x'", "threadkeep config -h"]);
    let log = in_folder(folder.path(), &["ls"], &[("THREADKEEP_LOG", "loud")]);
    log.refused(2, &["THREADKEEP_LOG=loud", "json, off", "hint: THREADKEEP_LOG=json"]);
    let store = in_folder(folder.path(), &["ls"], &[("THREADKEEP_STORE", "redis://ann:secret@x")]);
    let error = store.refused(2, &["THREADKEEP_STORE: there is no store 'redis://'", "sqlite:PATH"]);
    assert!(!error.contains("secret"), "{error}");
    std::fs::write(folder.path().join("odd.toml"), "pag = 5\n").expect("a file");
    let odd = in_folder(folder.path(), &["--config", "odd.toml", "ls"], &[]);
    odd.refused(2, &["odd.toml: there is no setting 'pag'; did you mean page", "threadkeep config lists the settings"]);
}

#[test]
pub fn lists_without_a_store_are_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    for command in [&["ls"][..], &["search", "x"], &["approvals", "list"], &["keys", "list"], &["projects", "list"]] {
        let args: Vec<&str> = command.iter().copied().chain(["--json"]).collect();
        let ran = in_folder(folder.path(), &args, &[]);
        assert!(ran.stderr.contains("there is no store at ./threadkeep-data"), "{ran:?}");
        assert_eq!(ran.ok(), "[]", "{command:?}");
        assert!(in_folder(folder.path(), command, &[]).stderr.contains("hint: threadkeep new \"My first thread\""));
    }
    assert!(!folder.path().join("threadkeep-data").exists(), "reading makes nothing");
}

#[test]
pub fn lines_are_all_stored_although_the_reader_of_their_ids_has_gone() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    let lines: String = (0..5_000).map(|number| format!("{number}\n")).collect();
    std::fs::write(keep.at("lines"), lines).expect("a file");
    let mut shell = keep.command(&["say", &thread, "--lines"]);
    shell.stdin(std::fs::File::open(keep.at("lines")).expect("a file"));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    shell.stdout(writer).stderr(Stdio::piped());
    let mut child = shell.spawn().expect("it starts");
    // Its own end of the pipe is the last one.
    drop(shell);
    drop(reader);
    assert_eq!(crate::support::wait(&mut child).code(), Some(0));
    assert_eq!(keep.version(&thread), 5_000);
}

#[test]
pub fn a_reader_that_has_gone_does_not_hide_that_the_store_is_damaged() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "a");
    let connection = rusqlite::Connection::open(keep.store()).expect("a store");
    connection.execute_batch("UPDATE entries SET body = x'7b' WHERE position = 1").expect("damaged");
    let found = keep.run(&["store", "doctor"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.stderr.contains("hint: restore a backup"), "{found:?}");
    let mut command = keep.command(&["store", "doctor"]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut child = command.stdout(writer).stderr(Stdio::null()).spawn().expect("it starts");
    assert_eq!(crate::support::wait(&mut child).code(), Some(1));
}

#[test]
pub fn an_import_says_what_is_new_and_where_an_export_was_cut() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "a");
    let export = keep.everything() + "\n";
    let other = Keep::new();
    assert_eq!(other.run_with(&["import", "-"], export.as_bytes()).ok(), "imported 1 thread");
    assert_eq!(other.run_with(&["import", "-"], export.as_bytes()).ok(), "imported 0 threads; 1 was here already");
    let third = keep.at("third.db");
    let import = |text: &str| {
        let mut command = threadkeep();
        command.arg("--store").arg(&third).args(["import", "-"]);
        run(command, text.as_bytes())
    };
    let lines: Vec<&str> = export.lines().collect();
    import(&format!("{}\n{}", lines[0], &lines[1][..40])).refused(2, &["cut off in the middle of line 2"]);
    import(&format!("{}\n{}\n", lines[0], lines[1])).refused(2, &["cut off after line 2", "its last line is missing"]);
    let broken = format!("{}\n{}\n", lines[0], &lines[1][..40]);
    let error = import(&broken).refused(2, &["line 2: "]);
    assert!(!error.contains("at line 1"), "{error}");
}

#[test]
pub fn a_search_right_after_a_write_finds_it_on_a_server() {
    let keep = Keep::served();
    let thread = keep.create("Work");
    for number in 0..5 {
        keep.say(&thread, &format!("marmalade{number}"));
        let found = keep.json(&["search", &format!("marmalade{number}")]);
        assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    }
}

#[test]
pub fn a_search_on_a_server_whose_index_is_behind_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let mut command = threadkeep();
    command.args(["serve", "--json", "--listen", "127.0.0.1:0", "--search-index", "off", "--data"]).arg(&data);
    let server = crate::support::Running::start(command);
    server.next_json();
    let data = data.display().to_string();
    let at = |args: &[&str]| {
        let args: Vec<&str> = ["--data", &data].into_iter().chain(args.iter().copied()).collect();
        in_folder(folder.path(), &args, &[])
    };
    let thread = at(&["new", "Work"]).ok();
    at(&["say", &thread, "marmalade"]).ok();
    let found = at(&["search", "marmalade"]);
    assert!(found.stderr.contains("the search index is") && found.stderr.contains("behind"), "{found:?}");
    assert!(found.stderr.contains("index status"), "{found:?}");
}

#[test]
pub fn a_port_that_is_taken_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    // The usual port may be taken already: then the next one is.
    let first = std::net::TcpListener::bind("127.0.0.1:8473");
    let mut command = threadkeep();
    command.args(["serve", "--data"]).arg(folder.path().join("data"));
    let server = crate::support::Running::start(command);
    let told = server.next_error().expect("a line");
    assert!(told.starts_with("port 8473 is taken: listening on "), "{told}");
    drop(first);
}

#[test]
pub fn tail_says_that_it_is_connected_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let (mut server, ready) = serve(&data, "127.0.0.1:0");
    let address = ready["url"].as_str().expect("an address").trim_start_matches("http://").to_owned();
    let command = |args: &[&str]| {
        let mut command = threadkeep();
        command.arg("--data").arg(&data).args(args);
        command
    };
    let thread = run(command(&["new", "Work"]), b"").ok();
    run(command(&["say", &thread, "before"]), b"").ok();
    let tail = crate::support::Running::start(command(&["tail", &thread]));
    assert!(tail.next_line().expect("a line").contains("before"));
    server.kill();
    assert!(tail.next_error().expect("a line").contains("the server is away"));
    let _again = serve(&data, &address);
    assert_eq!(tail.next_error().as_deref(), Some("connected again"));
}

#[test]
pub fn a_shell_completes_threads_by_their_ids_and_shows_their_titles() {
    let keep = Keep::new();
    let (one, two) = (keep.create("Release notes"), keep.create("Budget"));
    let (one, two) = (&one[26..], &two[26..]);
    let script = keep.ok(&["completions", "bash"]);
    std::fs::write(keep.at("completions"), script).expect("a file");
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_threadkeep")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let complete = |words: &[&str]| {
        let line: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let ask = format!(
            "source ./completions; COMP_WORDS=({}); COMP_CWORD={}; _threadkeep_with_ids threadkeep \"${{COMP_WORDS[COMP_CWORD]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            line.join(" "),
            words.len() - 1
        );
        let mut shell = std::process::Command::new("bash");
        shell.args(["--norc", "-c", &ask]).current_dir(keep.folder()).env("PATH", &path);
        shell.env("THREADKEEP_STORE", keep.store());
        run(shell, b"").ok()
    };
    let offered = complete(&["threadkeep", "show", ""]);
    assert_eq!(offered, format!("{two}  Budget\n{one}  Release notes"));
    assert_eq!(complete(&["threadkeep", "show", &one[..6]]), one);
    assert!(complete(&["threadkeep", "thread", "arch"]).contains("archive"));
    assert!(complete(&["threadkeep", "show", "--at"]).contains("--at-version"));
    for (shell, words) in [("zsh", "_threadkeep_ids"), ("fish", "threadkeep complete threads")] {
        assert!(keep.ok(&["completions", shell]).contains(words), "{shell}");
    }
}

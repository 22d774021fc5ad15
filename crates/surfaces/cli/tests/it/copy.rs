//! Copies of whole stores: equal, resumed after `kill -9`, verified, and refused with a reason.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use threadkeep::{Append, Create, MessageBody};

use crate::support::{Keep, Ran, Running, eventually, run, threadkeep, wait};
use crate::transfer::varied;

/// A copy from one store to another, both by their URLs, in the folder of `keep`.
fn command(keep: &Keep, from: &str, to: &str, more: &[&str]) -> Command {
    let mut command = threadkeep();
    command.current_dir(keep.folder()).args(["copy", "--from", from, "--to", to]).args(more);
    command
}

fn copy(keep: &Keep, from: &str, to: &str, more: &[&str]) -> Ran {
    run(command(keep, from, to, more), b"")
}

/// The output of a command on another store in the folder.
#[track_caller]
fn on(keep: &Keep, store: &str, args: &[&str]) -> String {
    let mut command = threadkeep();
    command.current_dir(keep.folder()).args(["--store", store]).args(args);
    run(command, b"").ok()
}

#[test]
fn a_copy_is_what_was_copied_and_can_be_repeated() {
    let (keep, thread, _) = varied();
    let said = copy(&keep, "keep.db", "sqlite:made/here/copy.db", &[]).ok();
    let (counts, hash) = said.split_once("; hash ").expect("a hash");
    assert!(counts.starts_with("copied and verified 2 threads, ") && counts.ends_with(" blobs"), "{said}");
    assert_eq!(hash.len(), 64, "{said}");
    let target = "made/here/copy.db";
    assert_eq!(on(&keep, target, &["export"]), keep.everything());
    on(&keep, target, &["doctor"]);
    // The second time there is nothing to do but to look.
    let again = copy(&keep, "keep.db", target, &[]).ok();
    assert_eq!(again, said.replace("copied and verified", "verified what was there already:"));
    // A copied thread goes on like one that was written there.
    on(&keep, target, &["say", &thread, "more"]);
    on(&keep, target, &["gc"]);
    on(&keep, target, &["doctor"]);
}

#[test]
fn the_json_of_a_copy_has_its_shape() {
    let (keep, ..) = varied();
    let ran = copy(&keep, "keep.db", "copy.db", &["--json"]).ok();
    let report: Value = serde_json::from_str(&ran).expect("JSON");
    let keys: Vec<&String> = report.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["threads", "segments", "entries", "blobs", "deleted", "alreadyThere", "hash"]);
    let export = keep.everything();
    for (key, line) in [
        ("threads", "{\"thread\":"),
        ("segments", "{\"segment\":{"),
        ("entries", "{\"entry\":"),
        ("blobs", "{\"blob\":{"),
    ] {
        assert_eq!(report[key], export.lines().filter(|found| found.starts_with(line)).count(), "{key}: {report}");
    }
    assert_eq!(report["alreadyThere"], 0);
    assert_eq!(report["hash"].as_str().map(str::len), Some(64));
    let again: Value = serde_json::from_str(&copy(&keep, "keep.db", "copy.db", &["--json"]).ok()).expect("JSON");
    assert_eq!((&again["alreadyThere"], &again["hash"]), (&report["entries"], &report["hash"]));
}

#[test]
fn a_store_moves_to_a_server_and_back() {
    let (keep, ..) = varied();
    let server = threadkeep_throwaway::schema();
    let there = copy(&keep, "keep.db", &server.url(), &[]).ok();
    assert_eq!(on(&keep, &server.url(), &["export"]), keep.everything());
    let back = copy(&keep, &server.url(), "back.db", &[]).ok();
    assert_eq!(there, back, "the hash does not depend on the store");
    assert_eq!(on(&keep, "back.db", &["export"]), keep.everything());
    let same = copy(&keep, &server.url(), &server.url(), &[]);
    same.refused(2, &["name another one"]);
}

/// How many entries a store has so far, also while it is being made.
fn entries(store: &Path) -> u64 {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let count = rusqlite::Connection::open_with_flags(store, flags)
        .and_then(|file| file.query_row("SELECT count(*) FROM entries", [], |row| row.get::<_, i64>(0)));
    count.map_or(0, |count| count as u64)
}

/// A store with one long thread, which takes a copy many steps.
fn long(keep: &Keep) -> u64 {
    const MESSAGES: u64 = 12_000;
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let engine = threadkeep::open(&keep.store().display().to_string()).expect("a store");
        let thread = engine.create(Create::titled("Long")).await.expect("a thread").id;
        for start in (0..MESSAGES).step_by(1_000) {
            let messages = (start..start + 1_000).map(|number| MessageBody::user(&format!("message {number}")));
            engine.append(thread, Append::batch(messages)).await.expect("an append");
        }
    });
    MESSAGES
}

#[test]
fn a_copy_that_was_killed_goes_on_where_it_stopped() {
    let keep = Keep::new();
    let messages = long(&keep);
    let target: PathBuf = keep.at("copy.db");
    // Broken off again and again: in its first step, and once each run got further.
    let signals = [(1, "-KILL"), (2_000, "-KILL"), (4_000, "-INT")];
    for (there, signal) in signals {
        let mut running = Running::start(command(&keep, "keep.db", "copy.db", &["--json"]));
        eventually("a part of it is there", || entries(&target) >= there);
        let killed = Command::new("kill").args([signal, &running.child.id().to_string()]).status();
        assert!(killed.expect("kill runs").success());
        wait(&mut running.child);
    }
    let before = entries(&target);
    assert!(before >= 4_000);
    let report: Value = serde_json::from_str(&copy(&keep, "keep.db", "copy.db", &["--json"]).ok()).expect("JSON");
    assert_eq!((&report["entries"], &report["alreadyThere"]), (&messages.into(), &before.into()));
    assert_eq!(on(&keep, "copy.db", &["export"]), keep.everything());
    on(&keep, "copy.db", &["doctor"]);
    on(&keep, "copy.db", &["gc"]);
}

#[test]
fn a_thread_that_went_on_in_the_target_is_refused_by_its_name() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "one");
    copy(&keep, "keep.db", "copy.db", &[]).ok();
    on(&keep, "copy.db", &["say", &thread, "its own way"]);
    let before = on(&keep, "copy.db", &["export"]);
    let says = [&thread, "version 2 there, and at 1 in the source", "hint: copy into an empty store"];
    copy(&keep, "keep.db", "copy.db", &[]).refused(5, &says);
    assert_eq!(on(&keep, "copy.db", &["export"]), before);
    let error = copy(&keep, "keep.db", "copy.db", &["--json"]).refused(5, &[]);
    let error: Value = serde_json::from_str(&error).expect("JSON");
    assert_eq!(error["code"], "copy_differs");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("an empty store")), "{error}");
}

#[test]
fn a_copy_that_was_changed_behind_its_back_is_noticed() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.run_with(&["say", &thread, "-"], "large ".repeat(10_000).as_bytes()).ok();
    copy(&keep, "keep.db", "copy.db", &[]).ok();
    let file = rusqlite::Connection::open(keep.at("copy.db")).expect("the file");
    let sql = "UPDATE blob_chunks SET bytes = CAST(replace(bytes, 'large', 'LARGE') AS BLOB)";
    assert_eq!(file.execute(sql, []).expect("SQL"), 1);
    drop(file);
    copy(&keep, "keep.db", "copy.db", &[]).refused(5, &["is not what was written", "hint: copy into an empty store"]);
}

#[test]
fn arguments_that_make_no_sense_are_refused_and_nothing_is_made() {
    let keep = Keep::new();
    keep.create("Work");
    std::fs::write(keep.at("notes.txt"), "not a store").expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink(keep.store(), keep.at("link.db")).expect("a link");
    let here: Vec<_> = files(&keep);
    let absolute = keep.store().display().to_string();
    for (from, to, more, code, exit, says) in [
        ("missing.db", "new.db", &[][..], "store_not_found", 3, "there is no store at missing.db"),
        ("keep.db", "keep.db", &[], "invalid_parameter", 2, "name another one"),
        ("keep.db", "sqlite:./keep.db", &[], "invalid_parameter", 2, "name another one"),
        ("keep.db", &absolute, &[], "invalid_parameter", 2, "name another one"),
        #[cfg(unix)]
        ("keep.db", "link.db", &[], "invalid_parameter", 2, "name another one"),
        ("keep.db", "memory:", &[], "invalid_parameter", 2, "gone when it ends"),
        ("memory:", "new.db", &[], "invalid_parameter", 2, "gone when it ends"),
        ("keep.db", "ftp://x/y", &[], "invalid_parameter", 2, "there is no store 'ftp://'"),
        ("keep.db", "", &[], "invalid_parameter", 2, "names no file"),
        ("keep.db", "new.db", &["--store", "keep.db"], "invalid_parameter", 2, "--from and --to"),
        ("keep.db", "new.db", &["--data", "."], "invalid_parameter", 2, "--from and --to"),
        ("keep.db", "notes.txt", &[], "cannot_open_store", 6, "notes.txt"),
    ] {
        copy(&keep, from, to, more).refused(exit, &[says]);
        let more: Vec<&str> = more.iter().copied().chain(["--json"]).collect();
        let error = copy(&keep, from, to, &more).refused(exit, &[]);
        let error: Value = serde_json::from_str(&error).expect("JSON");
        assert_eq!(error["code"], code, "{error}");
        assert_eq!(files(&keep), here, "{from} to {to}");
    }
    for half in [["--from", "keep.db"], ["--to", "new.db"]] {
        let mut command = threadkeep();
        command.current_dir(keep.folder()).arg("copy").args(half);
        run(command, b"").refused(2, &["threadkeep store copy needs --"]);
    }
    // The environment is for other commands.
    let mut command = command(&keep, "keep.db", "new.db", &[]);
    command.env("THREADKEEP_STORE", "elsewhere.db").env("THREADKEEP_DATA", "elsewhere");
    run(command, b"").ok();
    assert!(!keep.at("elsewhere.db").exists() && !keep.at("elsewhere").exists());
}

/// The names of what lies in the folder, but for what belongs to an open store.
fn files(keep: &Keep) -> Vec<String> {
    let names = std::fs::read_dir(keep.folder()).expect("a folder").map(|file| file.expect("a file").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm")).collect();
    names.sort();
    names
}

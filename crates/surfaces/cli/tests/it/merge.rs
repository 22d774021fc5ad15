//! Checks of merges, told with the real binary: where their commands come from, and what they are not told.

use std::process::Command;

use serde_json::Value;

use crate::support::{Keep, Ran, Running, eventually, run, threadkeep};

/// A thread, and a fork of it with a file more.
fn pair(keep: &Keep) -> (String, String) {
    let target = keep.create("Work");
    let source = keep.ok(&["fork", &target]);
    keep.run_with(&["write-file", &source, "/new.txt"], b"n\n").ok();
    (target, source)
}

fn checked(keep: &Keep, target: &str, source: &str, variables: &[(&str, &str)]) -> Ran {
    let mut command = keep.command(&["merge", target, source, "--validation", "test"]);
    command.envs(variables.iter().copied());
    run(command, b"")
}

#[test]
fn without_a_server_merges_are_checked_as_the_environment_or_the_file_says() {
    let keep = Keep::new();
    let (target, source) = pair(&keep);
    checked(&keep, &target, &source, &[]).refused(5, &["--merge-test"]);
    let fails = checked(&keep, &target, &source, &[("THREADKEEP_MERGE_TEST", "cat new.txt; exit 7")]);
    assert_eq!(fails.code, Some(5), "{fails:?}");
    assert!(fails.stdout.starts_with("failed  ") && fails.stdout.contains("  nothing changed\n"), "{fails:?}");
    assert!(fails.stdout.ends_with("  test  failed with exit code 7\n    n\n"), "{fails:?}");
    let slow = [("THREADKEEP_MERGE_TEST", "sleep 600"), ("THREADKEEP_MERGE_TIMEOUT", "200ms")];
    let slow = checked(&keep, &target, &source, &slow);
    assert!(slow.code == Some(5) && slow.stdout.ends_with("  test  took too long\n"), "{slow:?}");
    checked(&keep, &target, &source, &[("THREADKEEP_MERGE_TIMEOUT", "soon")]).refused(2, &["soon"]);
    std::fs::write(keep.at("threadkeep.toml"), "merge-test = \"printf '\\\\033[31mred'\"").expect("a file");
    let done = checked(&keep, &target, &source, &[]).ok();
    assert!(done.ends_with("  test  passed\n    \\u{1b}[31mred"), "what it says does not steer the terminal: {done}");
}

#[test]
fn a_check_ends_with_the_command_that_asked_for_it() {
    let keep = Keep::new();
    let (target, source) = pair(&keep);
    let pid = keep.at("pid");
    let mut command = keep.command(&["merge", &target, &source, "--validation", "test"]);
    command.env("THREADKEEP_MERGE_TEST", format!("echo $$ $PWD > {0}.new; mv {0}.new {0}; sleep 600", pid.display()));
    let merge = Running::start(command);
    eventually("it runs", || pid.exists());
    merge.signal("INT");
    assert_eq!(merge.end().0.code(), Some(130));
    let told = std::fs::read_to_string(pid).expect("a process");
    let (pid, folder) = told.trim().split_once(' ').expect("both");
    assert!(!std::path::Path::new(folder).exists(), "{folder} is gone");
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    eventually("it is ended", || state().is_empty() || state().contains(") Z "));
    assert_eq!(keep.json(&["merges", &target]).as_array().map(Vec::len), Some(0));
}

#[test]
fn the_commands_of_a_server_see_none_of_its_secrets() {
    const SECRET: &str = "a-secret-of-more-than-thirty-two-bytes";
    let keep = Keep::new();
    let (target, source) = pair(&keep);
    let data = keep.at("data");
    let mut command: Command = threadkeep();
    command.args([
        "serve",
        "--json",
        "--listen",
        "127.0.0.1:0",
        "--merge-test",
        "env; cat /proc/self/environ",
        "--store",
    ]);
    command.arg(keep.store()).arg("--data").arg(&data);
    let server = Running::start({
        command.env("THREADKEEP_JWT_SECRET", SECRET).env("PGPASSWORD", SECRET).env("THREADKEEP_KEY", SECRET);
        command
    });
    let ready = server.next_json();
    let key = ready["apiKey"].as_str().expect("a key");
    let mut merge = threadkeep();
    merge.args(["merge", &target, &source, "--validation", "test", "--json", "--server"]);
    merge.arg(ready["url"].as_str().expect("an address")).env("THREADKEEP_KEY", key);
    let done: Value = serde_json::from_str(&run(merge, b"").ok()).expect("JSON");
    assert_eq!(done["status"], "merged");
    let output = done["validation"]["output"].as_str().expect("an output");
    assert!(output.contains("HOME=") && !output.contains(SECRET) && !output.contains(key), "{output}");
    assert!(!output.contains("THREADKEEP"), "{output}");
}

//! The primitives that people and agents share, told with the real binary.

use crate::support::Keep;

#[test]
pub fn a_thread_rests_goes_on_and_is_done() {
    let keep = Keep::new();
    let thread = keep.ok(&["create", "Work", "--message", "Build it"]);
    keep.ok(&["suspend", &thread, "--reason", "waits for the review"]);
    keep.run(&["begin", &thread]).refused(5, &["suspended", "resume it first"]);
    let error = keep.run(&["done", &thread, "--json"]).refused(5, &["it allows resume"]);
    assert!(error.contains(r#""allowed":["resume"]"#), "{error}");
    assert_eq!(keep.json(&["resume", &thread])["lifecycle"], "active");
    assert_eq!(keep.json(&["done", &thread])["lifecycle"], "completed");
    keep.run(&["say", &thread, "late"]).refused(5, &["completed", "fork it to go on"]);
    let history = keep.ok(&["history", &thread]);
    assert!(history.contains("from active to suspended: waits for the review"), "{history}");
    assert_eq!(keep.json(&["lifecycle", &thread, "archive"])["archived"], true);
    keep.run(&["unarchive", &thread]).refused(5, &["final"]);
    keep.run(&["lifecycle", &thread, "pause"]).refused(2, &["done, archive, cancel, suspend, resume"]);
    assert_eq!(keep.json(&["doctor"])["healthy"], true);
}

#[test]
pub fn what_is_injected_reaches_whoever_works_and_decisions_are_kept() {
    let keep = Keep::new();
    let thread = keep.ok(&["create", "Work", "--message", "Build it"]);
    let first = keep.ok(&["inject", &thread, "Only the standard library", "--type", "constraint"]);
    let second = keep.json(&["inject", &thread, "--content", r#"{"budget":100}"#, "--urgency", "immediate"]);
    assert!(keep.ok(&["injections", &thread]).contains("constraint: \"Only the standard library\""));
    let begun = keep.json(&["begin", &thread]);
    assert_eq!(
        (&begun["injections"][0]["id"], &begun["injections"][1]["id"]),
        (&second["injectionId"], &first.clone().into())
    );
    assert_eq!(keep.json(&["injections", &thread]).as_array().map(Vec::len), Some(0));
    let third = keep.ok(&["inject", &thread, "Good so far", "--type", "feedback"]);
    assert!(keep.ok(&["ack", &thread, &third]).ends_with("(taken by local)"));
    assert_eq!(keep.json(&["injections", &thread, "--state", "taken"]).as_array().map(Vec::len), Some(3));
    keep.run(&["inject", &thread, "x", "--type", "wish"]).refused(2, &["data, constraint, feedback, priority"]);
    keep.run(&["inject", &thread]).refused(2, &[]);

    keep.ok(&["decide", &thread, "Which store?", "SQLite", "--reason", "one file"]);
    assert_eq!(keep.ok(&["decisions", &thread]), "version 9  Which store?  SQLite  (one file)");
    keep.ok(&["decide", &thread, "which store?", "PostgreSQL"]);
    assert_eq!(keep.json(&["decisions", &thread])[0]["answer"], "PostgreSQL");
    assert_eq!(keep.json(&["decisions", &thread, "--as-of", "9"])[0]["answer"], "SQLite");
    assert_eq!(keep.json(&["doctor"])["healthy"], true);
}

#[test]
pub fn a_thread_is_spawned_and_goes_back_to_a_step() {
    let keep = Keep::new();
    let thread = keep.ok(&["create", "Work", "--message", "Build it"]);
    keep.ok(&["say", &thread, "--role", "assistant", "I did."]);
    keep.say(&thread, "Really?");
    let child = keep.ok(&["spawn", &thread, "Fix the flaky test", "--inherit", "full"]);
    assert_eq!(keep.message_ids(&child), keep.message_ids(&thread));
    let scope = ["--inherit", "partial", "--inherit-scope", "messages:last=1", "--inherit-scope", "skills"];
    let args: Vec<&str> = ["spawn", &thread, "Ask"].into_iter().chain(scope).collect();
    let spawned = keep.json(&args);
    let part = spawned["threadId"].as_str().expect("an id");
    assert_eq!(keep.message_ids(part).len(), 1);
    let tree = keep.ok(&["tree", part]);
    assert!(tree.contains("spawn after message 2: ") && tree.contains("Fix the flaky test"), "{tree}");
    keep.run(&["spawn", &thread, "x"]).refused(2, &["--inherit"]);
    let odd = ["spawn", &thread, "x", "--inherit", "partial", "--inherit-scope", "memory"];
    keep.run(&odd).refused(2, &["messages:last=N, files:GLOB, kv:PREFIX, env, skills"]);

    keep.ok(&["rollback", &thread, "--step", "1"]);
    assert_eq!(keep.message_ids(&thread).len(), 2);
    keep.ok(&["rollback", &thread, "--undo"]);
    let step = keep.message_ids(&thread)[1].clone();
    keep.ok(&["rollback", &thread, "--step", &step]);
    assert_eq!(keep.message_ids(&thread).len(), 2);
    keep.run(&["rollback", &thread, "--step", "0"]).refused(2, &["a step is a message of the assistant"]);
    assert_eq!(keep.json(&["doctor"])["healthy"], true);
}

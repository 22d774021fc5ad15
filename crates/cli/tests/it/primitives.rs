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

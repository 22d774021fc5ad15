//! The primitives that people and agents share, told with the real binary.

use crate::support::Keep;

#[test]
fn a_thread_rests_goes_on_and_is_done() {
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

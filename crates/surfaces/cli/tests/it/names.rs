//! How people name threads, messages, approvals, runs and keys.

use crate::support::Keep;

#[test]
pub fn a_thread_is_named_by_any_unique_prefix_its_title_or_its_place() {
    let keep = Keep::new();
    let old = keep.create("Release notes");
    let new = keep.create("Budget");
    let id = |name: &str| keep.json(&["show", name])["thread"]["id"].as_str().expect("an id").to_owned();
    for name in [&old[..], &old[2..9], &old[..10], &old[26..].to_uppercase(), "Release notes", "release NOTES"] {
        let name = if name == &old[2..9] { &old[26..32] } else { name };
        assert_eq!(id(name), old, "{name}");
    }
    assert_eq!((id("@last"), id("@last~1")), (new.clone(), old.clone()));
    keep.say(&old, "hello");
    assert_eq!((id("@last"), id("@last~1")), (old.clone(), new));
    keep.run(&["show", "@last~2"]).refused(3, &["there are fewer than 3 threads"]);
    keep.run(&["show", "@lastly"]).refused(2, &["@last~N"]);
    // What is not found offers what is near.
    keep.run(&["show", "Relase notes"]).refused(3, &["did you mean", &old, "Release notes"]);
    keep.run(&["show", "notes"]).refused(3, &["did you mean", &old]);
    let twin = keep.create("Budget");
    keep.run(&["show", "budget"]).refused(2, &["several threads have the title", &twin]);
    keep.run(&["show", ""]).refused(2, &["T- and a uuid in hex"]);
}

#[test]
pub fn messages_approvals_runs_and_keys_are_named_by_the_beginning_of_their_ids() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "a");
    keep.say(&thread, "b");
    keep.ok(&["messages", "edit", "Work", "@last", "B"]);
    keep.ok(&["messages", "edit", "Work", "@last~1", "A"]);
    let shown = keep.ok(&["show", &thread]);
    assert!(shown.contains("  A\n") && shown.ends_with("  B"), "{shown}");

    let run = keep.ok(&["run", "start", &thread]);
    keep.ok(&["run", "step", &thread, &run[..6], "on it", "--role", "assistant"]);
    keep.ok(&["run", "end", &thread, "@last"]);
    keep.run(&["run", "end", &thread, "@last"]).refused(5, &["there is no open run"]);

    let asked = keep.ok(&["approvals", "request", &thread, "delete_file", "--agent"]);
    assert!(keep.ok(&["approvals", "approve", &asked[..8]]).contains("approved"));
    assert!(keep.ok(&["approvals", "list", &asked.to_uppercase()[..8]]).contains("approved"));
    keep.run(&["approvals", "deny", "zz"]).refused(3, &["there is no approval 'zz'"]);

    keep.ok(&["keys", "create", "--account", "ann"]);
    let key = keep.json(&["keys", "list"])[0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(keep.ok(&["keys", "revoke", &key[..6]]), format!("revoked {key}"));
}

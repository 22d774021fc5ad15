//! What `--json` prints, and what help says.

use serde_json::{Value, json};

use crate::support::{Keep, run, threadkeep};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
pub fn the_json_of_every_command_has_its_shape() {
    let keep = Keep::new();
    let created = keep.json(&["create", "A", "--message", "one", "--message", "two"]);
    let thread = created["id"].as_str().expect("an id").to_owned();
    assert_eq!((&created["v"], &created["messageCount"]), (&2.into(), &2.into()));
    for key in ["id", "shortId", "accountId", "v", "created", "updated", "title", "archived", "messageCount"] {
        assert!(created.get(key).is_some(), "{key}: {created}");
    }
    assert_eq!(created["shortId"], thread[26..]);

    let said = keep.json(&["say", &thread, "three"]);
    assert_eq!(
        keys(&said),
        ["id", "number", "role", "content", "metadata", "silent", "depth", "status", "actor", "createdAt", "version"]
    );
    assert_eq!((&said["number"], &said["metadata"]), (&3.into(), &json!({})));
    let message = said["id"].as_str().expect("an id");
    assert_eq!(keep.json(&["insert", &thread, "x", "--before", message])["version"], 4);
    assert_eq!(keep.json(&["edit", &thread, message, "drei"])["content"], "drei");
    assert_eq!(keep.json(&["delete-message", &thread, message]), json!({"deleted": true}));
    assert_eq!(keep.json(&["append-event", &thread, "tool_use", "{}"]), json!({"version": 7}));
    assert_eq!(keep.json(&["update", &thread, "--title", "B"])["title"], "B");
    assert_eq!(keys(&keep.json(&["checkpoint", &thread, "c"])), ["name", "version", "createdAt"]);
    assert_eq!(keep.json(&["checkpoints", &thread]).as_array().map(Vec::len), Some(1));
    assert_eq!(keep.json(&["rollback", &thread, "--to-version", "2"])["messageCount"], 2);
    assert_eq!(keep.json(&["truncate", &thread, "--from-index", "1"])["messageCount"], 1);
    let fork = keep.json(&["fork", &thread]);
    assert_eq!((&fork["originThreadId"], &fork["forkPointIndex"]), (&thread.as_str().into(), &0.into()));
    let shown = keep.json(&["show", &thread]);
    assert_eq!(
        (keys(&shown), keys(&shown["messages"])),
        (vec!["thread", "messages"], vec!["items", "nextCursor", "total"])
    );
    let history = keep.json(&["history", &thread]);
    let kinds: Vec<&str> =
        history.as_array().expect("entries").iter().map(|e| e["kind"].as_str().expect("kind")).collect();
    assert_eq!(
        kinds,
        [
            "message_appended",
            "message_appended",
            "message_appended",
            "message_inserted",
            "message_edited",
            "messages_deleted",
            "event_logged",
            "thread_changed",
            "checkpoint_set",
            "rolled_back",
            "truncated",
            "forked"
        ]
    );
    assert_eq!(keys(&history[0]), ["threadId", "version", "kind", "time", "account", "actor", "messageId", "data"]);
    assert_eq!(history[0]["data"], json!({"role": "user", "content": "one"}));
    assert_eq!(keys(&keep.json(&["tree", &thread])), ["threadId", "threads", "relations", "subagents", "cutOff"]);
    assert_eq!(keep.json(&["list"]).as_array().map(Vec::len), Some(2));
    assert_eq!(keep.ok(&["list", "--archived", "--json"]), "[]");
    assert_eq!(keys(&keep.json(&["gc"])), ["segments", "entries", "blobs", "bytes"]);
    let doctor = keep.json(&["doctor"]);
    assert_eq!(keys(&doctor), ["healthy", "repaired", "threads", "entries", "blobs", "derived", "damage"]);
    assert_eq!(doctor["healthy"], true);
    assert_eq!(keep.json(&["delete", &thread]), json!({"deleted": true}));
}

#[test]
pub fn an_error_is_one_line_of_json_on_stderr() {
    let keep = Keep::new();
    let thread = keep.create("A");
    for (args, code, expected) in [
        (&["show", "zzz"][..], 2, "invalid_thread_id"),
        (&["show", "T-00000000-0000-4000-8000-000000000000"], 3, "thread_not_found"),
        (&["edit", &thread, "M-1", "x"], 2, "invalid_message_id"),
        (&["say", &thread, "x", "--role", "king"], 2, "invalid_parameter"),
        (&["say", &thread, "x", "--expected-version", "-1"], 2, "invalid_parameter"),
        (&["list", "--cursor", "x"], 2, "invalid_cursor"),
        (&["list", "--limit", "0"], 2, "invalid_parameter"),
        (&["list", "--metadata", "[1]"], 2, "invalid_parameter"),
        (&["list", "--metadata", "{"], 2, "invalid_body"),
        (&["list", "--lifecycle", "sleeping"], 2, "invalid_parameter"),
        (&["list", "--created-after", "yesterday"], 2, "invalid_parameter"),
        (&["list", "--parent-id", "zzz"], 2, "invalid_thread_id"),
        (&["rollback", &thread, "--undo"], 5, "nothing_to_undo"),
        (&["bogus"], 2, "invalid_parameter"),
        (&["say"], 2, "invalid_parameter"),
        (&["import", "missing.jsonl"], 3, "cannot_read"),
    ] {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let error = keep.run(&args).refused(code, &[]);
        assert_eq!(error.lines().count(), 1, "{error}");
        let error: Value = serde_json::from_str(&error).expect("JSON");
        assert_eq!(error["code"], expected, "{error}");
        assert!(error["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{error}");
    }
}

#[test]
pub fn json_lines_stay_one_line_each_whatever_was_stored() {
    let keep = Keep::new();
    let thread = keep.create("A");
    let parts = "[\n  {\"type\": \"text\",\r\n   \"text\": \"x\"}\n]";
    keep.run_with(&["say", &thread, "--content", "-"], parts.as_bytes()).ok();
    for args in [
        &["tail", &thread, "--no-follow"][..],
        &["show", &thread],
        &["history", &thread],
        &["tail", "--no-follow", "--after", "1"],
    ] {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let printed = keep.ok(&args);
        assert_eq!(printed.lines().count(), 1, "{printed}");
        serde_json::from_str::<Value>(&printed).expect("JSON");
    }
    let before = keep.everything();
    let other = Keep::new();
    other.run_with(&["import", "-"], format!("{before}\n").as_bytes()).ok();
    assert_eq!(other.everything(), before, "the round trip keeps every letter");
}

#[test]
pub fn help_explains_every_command() {
    let help = |args: &[&str]| {
        let mut command = threadkeep();
        command.args(args);
        run(command, b"").ok()
    };
    let all = help(&["--help"]);
    let reads =
        ["list", "show", "tail", "watch", "history", "tree", "relationships", "summary", "writer", "export", "copy"];
    for command in threadkeep::Operation::NAMES.iter().chain(&reads) {
        assert!(all.contains(&format!("\n  {command} ")), "{command}: {all}");
        assert!(help(&[command, "--help"]).contains("Usage: threadkeep"), "{command}");
    }
    assert!(help(&["--version"]).starts_with("threadkeep "));
    run(threadkeep(), b"").refused(2, &["Usage: threadkeep"]);
}

#[test]
pub fn what_was_said_cannot_steer_the_terminal() {
    let keep = Keep::new();
    let thread = keep.create("\u{1b}]0;title\u{7}");
    keep.say(&thread, "\u{1b}[2Jgone\rback");
    for args in [
        &["show", &thread][..],
        &["list"],
        &["tail", &thread, "--no-follow"],
        &["tree", &thread],
        &["history", &thread],
    ] {
        let printed = keep.ok(args);
        assert!(!printed.contains(['\u{1b}', '\u{7}', '\r']), "{printed:?}");
    }
    assert!(keep.ok(&["show", &thread]).contains("\\u{1b}[2Jgone\\rback"));
}

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
    assert_eq!(
        keys(&keep.json(&["tree", &thread])),
        ["threadId", "threads", "relations", "subagents", "merges", "cutOff", "more", "nextCursor"]
    );
    assert_eq!(keep.json(&["list"]).as_array().map(Vec::len), Some(2));
    assert_eq!(keep.ok(&["list", "--archived", "--json"]), "[]");
    assert_eq!(keys(&keep.json(&["gc"])), ["segments", "entries", "blobs", "bytes"]);
    let doctor = keep.json(&["doctor"]);
    assert_eq!(keys(&doctor), ["healthy", "repaired", "threads", "entries", "blobs", "changed", "derived", "damage"]);
    assert_eq!(doctor["healthy"], true);
    assert_eq!(keep.json(&["delete", &thread]), json!({"deleted": true}));
}

#[test]
pub fn any_call_is_carried_out_by_its_name() {
    let keep = Keep::new();
    let call = |args: &[&str]| keep.json(&[&["call"], args].concat());
    let thread = call(&["create", r#"{"title":"A"}"#])["id"].as_str().expect("an id").to_owned();
    let prefix = &thread[26..32];
    let fields = r#"{"question":"Which store?","answer":"SQLite"}"#;
    let decided = call(&["decide", prefix, fields, "--expected-version", "0", "--idempotency-key", "once"]);
    assert_eq!(decided["version"], 1);
    let again = call(&["decide", prefix, fields, "--expected-version", "0", "--idempotency-key", "once"]);
    assert_eq!(again, decided, "a repetition gives the first answer");
    let from_stdin = keep.run_with(&["call", "set-value", prefix, "-"], br#"{"valueKey":"k","value":[1.0]}"#).ok();
    assert!(from_stdin.contains(r#""value":[1.0]"#), "{from_stdin}");
    assert_eq!(call(&["value", prefix, r#"{"valueKey":"k"}"#])["version"], 2);
    assert_eq!(call(&["list", r#"{"limit":5}"#])["items"][0]["id"], thread.as_str());
    assert_eq!(call(&["list"])["items"].as_array().map(Vec::len), Some(1));
    keep.run(&["call", "decide", prefix, fields, "--expected-version", "0"]).refused(5, &["version 2"]);
    keep.run(&["call", "decide", prefix, "{}"]).refused(2, &["question"]);
    keep.run(&["call", "decide"]).refused(2, &["thread"]);
    keep.run(&["call", "frobnicate"]).refused(2, &["frobnicate"]);
    keep.run(&["call", "get", prefix, "--idempotency-key", "once"]).refused(2, &["--idempotency-key"]);
    assert_eq!(call(&["delete", &thread]), json!({"deleted": true}));
    assert_eq!(call(&["delete", &thread]), json!({"deleted": false}), "one that is not there is no error");
}

#[test]
pub fn an_error_is_one_line_of_json_on_stderr() {
    let keep = Keep::new();
    let thread = keep.create("A");
    for (args, code, expected) in [
        (&["show", "zzz"][..], 3, "thread_not_found"),
        (&["show", "T-00000000-0000-4000-8000-000000000000"], 3, "thread_not_found"),
        (&["edit", &thread, "M-x", "x"], 2, "invalid_message_id"),
        (&["edit", &thread, "M-1", "x"], 3, "message_not_found"),
        (&["say", &thread, "x", "--role", "king"], 2, "invalid_parameter"),
        (&["say", &thread, "x", "--expected-version", "-1"], 2, "invalid_parameter"),
        (&["list", "--cursor", "x"], 2, "invalid_cursor"),
        (&["list", "--limit", "0"], 2, "invalid_parameter"),
        (&["list", "--metadata", "[1]"], 2, "invalid_parameter"),
        (&["list", "--metadata", "{"], 2, "invalid_body"),
        (&["list", "--lifecycle", "sleeping"], 2, "invalid_parameter"),
        (&["list", "--created-after", "yesterday"], 2, "invalid_parameter"),
        (&["list", "--parent-id", "zzz"], 3, "thread_not_found"),
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

/// The commands that change something.
const CHANGES: [&str; 47] = [
    "create",
    "update",
    "delete",
    "append",
    "append-event",
    "insert",
    "edit",
    "delete-message",
    "truncate",
    "fork",
    "handoff",
    "mention",
    "rollback",
    "checkpoint",
    "archive",
    "unarchive",
    "assign",
    "skill",
    "queue",
    "edit-queued",
    "remove-queued",
    "begin",
    "step",
    "end",
    "subagent",
    "notify-parent",
    "status",
    "change-owner",
    "write-file",
    "delete-file",
    "move-file",
    "mkdir",
    "rmdir",
    "set-value",
    "lifecycle",
    "inject",
    "ack",
    "decide",
    "spawn",
    "transfer",
    "approve",
    "deny",
    "revoke",
    "reference",
    "observe",
    "unobserve",
    "merge",
];

#[test]
pub fn help_explains_every_command() {
    let help = |args: &[&str]| {
        let mut command = threadkeep();
        command.args(args);
        run(command, b"").ok()
    };
    let (all, short) = (help(&["--help"]), help(&["-h"]));
    let daily = ["new", "ls", "show", "say", "tail", "search", "fork", "merge", "run", "files", "kv", "serve"];
    for command in daily {
        assert!(all.contains(&format!("  {command} ")) && short.contains(&format!("  {command} ")), "{command}: {all}");
    }
    assert!(short.lines().count() <= 26 && all.contains("Options of every command:"), "{all}");
    // Older names are explained as the commands they mean.
    let reads =
        ["list", "show", "tail", "watch", "history", "tree", "relationships", "summary", "writer", "export", "copy"];
    for command in CHANGES.iter().chain(&reads) {
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

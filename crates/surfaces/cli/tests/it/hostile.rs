//! Hostile input: a clear error with the right exit code, and nothing changed.

use crate::support::Keep;

const MESSAGE_BYTES_MAX: &str = "8388608";

fn thread_with_messages(keep: &Keep) -> String {
    let thread = keep.create("Work");
    for text in ["a", "b", "c"] {
        keep.say(&thread, text);
    }
    thread
}

#[test]
pub fn ids_that_are_malformed_or_unknown_are_told_apart() {
    let keep = Keep::new();
    let thread = thread_with_messages(&keep);
    let before = keep.everything();
    let commands: [&[&str]; 13] = [
        &["show", "ID"],
        &["say", "ID", "x"],
        &["append-event", "ID", "result", "{}"],
        &["update", "ID", "--title", "x"],
        &["fork", "ID"],
        &["rollback", "ID", "--undo"],
        &["truncate", "ID", "--from-index", "0"],
        &["checkpoint", "ID", "x"],
        &["checkpoints", "ID"],
        &["writer", "ID"],
        &["tail", "ID"],
        &["history", "ID"],
        &["export", "ID"],
    ];
    for command in commands {
        let with = |id: &str| -> Vec<String> {
            command.iter().map(|word| if *word == "ID" { id.to_owned() } else { (*word).to_owned() }).collect()
        };
        for id in ["", "T-", "T-x", "T-5928a90d-d53b-488f-a829-4e36442142eé"] {
            let args = with(id);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            keep.run(&args).refused(2, &["T- and a uuid in hex"]);
        }
        // Anything else may be a title.
        let titles = ["x", "../etc/passwd", "'; --", "4E36442142EE"];
        for id in titles.into_iter().chain(["T-00000000-0000-4000-8000-000000000000", "000000000000"]) {
            let args = with(id);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            keep.run(&args).refused(3, &["there is no thread", "hint: threadkeep --"]);
        }
    }
    keep.run(&["rm", "T-x"]).refused(2, &["T- and a uuid in hex"]);
    assert_eq!(keep.json(&["rm", "T-00000000-0000-4000-8000-000000000000"])["deleted"], false);
    let unknown = "M-00000000000000011";
    for (message, code, words) in
        [("M-1", 3, "there is no message 'M-1'"), ("x", 2, "is not a message id"), (unknown, 3, "shows no message")]
    {
        keep.run(&["edit", &thread, message, "x"]).refused(code, &[words]);
        keep.run(&["insert", &thread, "x", "--before", message]).refused(code, &[words]);
        keep.run(&["fork", &thread, "--message-id", message]).refused(code, &[words]);
        keep.run(&["truncate", &thread, "--from-message-id", message]).refused(code, &[words]);
    }
    assert_eq!(keep.json(&["delete-message", &thread, unknown])["deleted"], false);
    let message = keep.message_ids(&thread)[0].clone();
    let blob = "0".repeat(64);
    keep.run(&["show", &thread, "--message", &message, "--attachment", &blob]).refused(3, &["no attachment"]);
    keep.run(&["show", &thread, "--message", &message, "--attachment", "x"]).refused(2, &["BLAKE3"]);
    assert_eq!(keep.everything(), before);
}

#[test]
pub fn versions_in_the_future_and_points_out_of_range_are_refused() {
    let keep = Keep::new();
    let thread = thread_with_messages(&keep);
    let deleted = keep.message_ids(&thread)[1].clone();
    keep.ok(&["delete-message", &thread, &deleted]);
    let before = keep.everything();
    for args in [
        &["show", &thread, "--as-of", "99"][..],
        &["fork", &thread, "--version", "99"],
        &["rollback", &thread, "--to-version", "99"],
        &["tail", &thread, "--after", "99"],
        &["history", &thread, "--after", "99"],
    ] {
        keep.run(args).refused(2, &["the thread is at version 4; version 99 lies in the future"]);
    }
    for args in [
        &["fork", &thread, "--message-index", "2"][..],
        &["fork", &thread, "--message-index", "18446744073709551615"],
        &["truncate", &thread, "--from-index", "2"],
    ] {
        keep.run(args).refused(2, &["the thread shows 2 messages"]);
    }
    for args in [
        &["fork", &thread, "--message-id", &deleted][..],
        &["truncate", &thread, "--from-message-id", &deleted],
        &["insert", &thread, "x", "--before", &deleted],
        &["edit", &thread, &deleted, "x"],
    ] {
        keep.run(args).refused(3, &["shows no message"]);
    }
    for number in ["-1", "1.5", "x", "9223372036854775808", "18446744073709551616", " 1", "+1", ""] {
        keep.run(&["show", &thread, &format!("--as-of={number}")]).refused(2, &["is not a version"]);
    }
    keep.run(&["fork", &thread, "--message-index", "-1"]).refused(2, &[]);
    keep.run(&["rollback", &thread, "--timestamp", "1999-01-01T00:00:00Z"]).refused(2, &["did not exist yet"]);
    keep.run(&["rollback", &thread, "--timestamp", "yesterday"]).refused(2, &["RFC 3339"]);
    keep.run(&["rollback", &thread, "--checkpoint", "x"]).refused(3, &["no checkpoint 'x'"]);
    keep.run(&["rollback", &thread, "--undo"]).refused(5, &["nothing to undo"]);
    keep.run(&["rollback", &thread]).refused(2, &[]);
    keep.run(&["checkpoint", &thread, " "]).refused(2, &["not blank"]);
    keep.run(&["show", &thread, "--cursor", "x"]).refused(2, &["is not a cursor"]);
    keep.run(&["show", &thread, "--limit", "1001"]).refused(2, &["1 to 1000"]);
    assert_eq!(keep.everything(), before);
}

#[test]
pub fn json_that_is_too_deep_or_malformed_is_refused() {
    let keep = Keep::new();
    let thread = thread_with_messages(&keep);
    let message = keep.message_ids(&thread)[0].clone();
    let before = keep.everything();
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let parts = format!("[{{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"x\",\"input\":{deep}}}]");
    for args in [
        &["create", "x", "--metadata", &deep][..],
        &["update", &thread, "--metadata", &deep],
        &["update", &thread, "--set", &format!("env={deep}")],
        &["say", &thread, "x", "--metadata", &deep],
        &["say", &thread, "--content", &parts],
        &["edit", &thread, &message, "--metadata", &deep],
        &["append-event", &thread, "result", &deep],
    ] {
        keep.run(args).refused(2, &["JSON may nest at most 128 deep"]);
    }
    keep.run_with(&["say", &thread, "--content", "-"], parts.as_bytes()).refused(2, &["at most 128 deep"]);
    for json in [r#"{"a":"\ud800"}"#, r#"{"a":1,"a":2}"#, r#"{"a":"#, "{} {}", "{'a':1}", "NaN", ""] {
        keep.run(&["say", &thread, "x", "--metadata", json]).refused(2, &["metadata: "]);
        keep.run(&["append-event", &thread, "result", json]).refused(2, &["JSON: "]);
    }
    for json in ["3", "[]", "\"x\"", "null"] {
        keep.run(&["say", &thread, "x", "--metadata", json]).refused(2, &["metadata: must be a JSON object"]);
    }
    for json in ["3", "{}", r#"[{"type":"song"}]"#, r#"[{"type":"text","text":"\udc00"}]"#, r#"[{"type":"text"}]"#] {
        keep.run(&["say", &thread, "--content", json]).refused(2, &["content"]);
    }
    keep.run(&["say", &thread, "x", "--role", "king"]).refused(2, &["'king' is not a role"]);
    keep.run(&["append-event", &thread, "message", "{}"]).refused(2, &["is not an event type"]);
    keep.run(&["say", &thread]).refused(2, &["TEXT: is empty"]);
    keep.run(&["say", &thread, "x", "--idempotency-key", &"k".repeat(256)]).refused(2, &["1 to 255 bytes"]);
    keep.run(&["say", &thread, "x", "--actor", " "]).refused(2, &["must not be blank"]);
    keep.run(&["say", &thread, "x", "--attach", "missing.png"]).refused(3, &["cannot read missing.png"]);
    assert_eq!(keep.everything(), before);
}

#[test]
pub fn null_bytes_are_stripped() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.run_with(&["say", &thread, "-"], b"a\0b\n").ok();
    keep.run_with(&["say", &thread, "--lines"], b"c\0d\n").ok();
    keep.ok(&["say", &thread, "x", "--metadata", r#"{"k\u0000":"v\u0000"}"#]);
    assert_eq!(keep.conversation(&thread), "user: ab | user: cd | user: x");
    let metadata = &keep.json(&["show", &thread])["messages"]["items"][2]["metadata"];
    assert_eq!(*metadata, serde_json::json!({"k":"v"}));
}

#[test]
pub fn a_message_of_50_mb_is_refused_and_the_limit_is_named() {
    let keep = Keep::new();
    let thread = thread_with_messages(&keep);
    let before = keep.everything();
    let mut huge = vec![b'x'; 50 << 20];
    keep.run_with(&["say", &thread, "-"], &huge).refused(2, &[MESSAGE_BYTES_MAX]);
    keep.run_with(&["edit", &thread, &keep.message_ids(&thread)[0], "-"], &huge).refused(2, &[MESSAGE_BYTES_MAX]);
    keep.run_with(&["append-event", &thread, "result", "-"], &huge).refused(2, &[MESSAGE_BYTES_MAX]);
    keep.run_with(&["say", &thread, "--lines"], &huge)
        .refused(2, &["line 1: ", MESSAGE_BYTES_MAX, "0 lines were kept"]);
    // Escapes count: a text that fits may be too large as JSON.
    huge.truncate(8 << 20);
    huge.fill(b'"');
    keep.run_with(&["say", &thread, "-"], &huge).refused(2, &[MESSAGE_BYTES_MAX]);
    std::fs::write(keep.at("huge.bin"), vec![0; (64 << 20) + 1]).expect("a file");
    keep.run(&["say", &thread, "x", "--attach", "huge.bin"]).refused(2, &["67108864"]);
    assert_eq!(keep.everything(), before);
}

#[test]
pub fn lines_before_one_that_is_refused_are_kept_and_counted() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    let ran = keep.run_with(&["say", &thread, "--lines"], b"a\nb\n\xff\xfe\nc\n");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 2);
    assert!(ran.stderr.contains("line 3: content: the line is not UTF-8 text; 2 lines were kept"), "{ran:?}");
    assert_eq!(keep.conversation(&thread), "user: a | user: b");
    // As text this line fits; as JSON it does not. It comes in one batch with the others.
    let quotes = "\"".repeat(5 << 20);
    let ran = keep.run_with(&["say", &thread, "--lines"], format!("c\nd\n{quotes}\ne\n").as_bytes());
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(2), 2), "{}", ran.stderr);
    assert!(ran.stderr.contains(MESSAGE_BYTES_MAX) && ran.stderr.contains("2 lines were kept"), "{}", ran.stderr);
    assert_eq!(keep.conversation(&thread), "user: a | user: b | user: c | user: d");
    keep.run_with(&["say", "000000000000", "--lines"], b"a\n").refused(3, &["there is no thread"]);
}

#[test]
pub fn an_export_with_hostile_bodies_is_refused() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    keep.say(&thread, "MARK");
    let export = keep.everything();
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    for (from, to) in [
        ("\"content\":\"MARK\"", format!("\"content\":{deep}")),
        ("\"content\":\"MARK\"", format!("\"content\":\"MARK\",\"metadata\":{{\"a\":{deep}}}")),
        ("\"content\":\"MARK\"", "\"content\":3".to_owned()),
        ("\"content\":\"MARK\"", "\"content\":\"\\ud800\"".to_owned()),
        ("\"content\":\"MARK\"", "\"content\":\"MARK\",\"colour\":1".to_owned()),
        ("\"ordinals\":1", "\"ordinals\":0".to_owned()),
        ("\"ordinals\":1", "\"ordinals\":7".to_owned()),
        ("\"position\":1", "\"position\":5".to_owned()),
        ("\"record\":{\"title\":\"Work\"}", format!("\"record\":{{\"metadata\":{{\"a\":{deep}}}}}")),
        ("\"format\":1", "\"format\":9".to_owned()),
        ("\"first\":1", "\"first\":0".to_owned()),
    ] {
        let hostile = export.replace(from, &to);
        assert_ne!(hostile, export, "{from}");
        let other = Keep::new();
        let ran = other.run_with(&["import", "-"], format!("{hostile}\n").as_bytes());
        assert!(matches!(ran.code, Some(2 | 5)), "{to:.60}: {ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{ran:?}");
        assert_eq!(other.ok(&["list", "--json"]), "[]", "{to:.60}");
    }
}

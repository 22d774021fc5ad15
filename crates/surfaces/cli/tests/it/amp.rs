//! Threads in Amp's own JSON: in, out, and what only Amp has.

use serde_json::{Value, json};

use crate::support::Keep;

const ID: &str = "T-5928a90d-d53b-488f-a829-4e36442142ee";
const CHILD: &str = "T-6928a90d-d53b-488f-a829-4e36442142ef";

/// A thread that uses every field of Amp's schema, and some more.
fn full() -> Value {
    json!({
        "v": 17,
        "id": ID,
        "created": 1_769_212_917_123_i64,
        "messages": [
            {"role": "user", "messageId": 0, "content": [{"type": "text", "text": "Fix the lexer"}],
             "meta": {"sentAt": 1_769_212_917_500_i64}, "userState": {"openFiles": ["a.rs"]}},
            {"role": "assistant", "messageId": 1, "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a.rs", "n": 1.0}, "complete": true}],
             "state": {"type": "complete", "stopReason": "tool_use"}, "usage": {"inputTokens": 9}},
            {"role": "user", "messageId": 2, "content": [
                {"type": "tool_result", "toolUseID": "toolu_1", "run": {"status": "done", "result": {"lines": 3}}}]},
            {"role": "info", "messageId": 5, "content": "context was summarised"}
        ],
        "title": "Lexer",
        "archived": false,
        "draft": "and then",
        "autoSubmitDraft": true,
        "agentMode": "smart",
        "maxTokens": 4096,
        "nextMessageId": 7,
        "activatedSkills": [{"name": "pdf", "arguments": {"pages": [1, 2]}}, {"name": "web"}],
        "relationships": [
            {"threadID": CHILD, "type": "fork", "role": "parent", "messageIndex": 2, "createdAt": 1_769_212_918_000_i64},
            {"threadID": "T-00000000-0000-4000-8000-000000000000", "type": "mention", "role": "child"}
        ],
        "originThreadID": "T-00000000-0000-4000-8000-000000000001",
        "forkPointIndex": 3,
        "mainThreadID": "T-00000000-0000-4000-8000-000000000002",
        "env": {"initial": {"trees": [{"uri": "file:///x"}], "tags": ["model:gpt-5"], "platform": {"os": "linux"}}},
        "queuedMessages": [
            {"id": "queued-5928a90d-d53b-488f-a829-4e36442142aa",
             "queuedMessage": {"role": "user", "messageId": 6, "content": [{"type": "text", "text": "hurry"}]}}
        ],
        "~debug": {"lastInferenceUsage": {"x": 1}},
        "creatorUserID": "user_1"
    })
}

fn imported(thread: &Value) -> Keep {
    let keep = Keep::new();
    keep.run_with(&["import", "--format", "amp", "-"], thread.to_string().as_bytes()).ok();
    keep
}

fn exported(keep: &Keep, thread: &str) -> Value {
    serde_json::from_str(&keep.ok(&["export", thread, "--format", "amp"])).expect("JSON")
}

#[test]
pub fn a_thread_of_amp_comes_in_and_goes_out_exactly() {
    let keep = imported(&full());
    assert_eq!(exported(&keep, ID), full());
    let shown = keep.json(&["show", ID, "--all"]);
    let thread = &shown["thread"];
    assert_eq!((&thread["v"], &thread["created"]), (&17.into(), &"2026-01-24T00:01:57.123000Z".into()));
    assert_eq!(
        (&thread["title"], &thread["agentMode"], &thread["maxTokens"]),
        (&"Lexer".into(), &"smart".into(), &4096.into())
    );
    assert_eq!(thread["activatedSkills"], full()["activatedSkills"]);
    assert_eq!(thread["env"], full()["env"]);
    assert_eq!((&thread["draft"], &thread["autoSubmitDraft"]), (&"and then".into(), &true.into()));
    assert_eq!(thread["forkPointIndex"], 3);
    // Fields that only Amp has are kept under metadata.amp.
    assert_eq!(thread["metadata"]["amp"]["creatorUserID"], "user_1");
    assert_eq!(thread["metadata"]["amp"]["~debug"], full()["~debug"]);
    let messages = shown["messages"]["items"].as_array().expect("messages");
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().expect("a role")).collect();
    assert_eq!(roles, ["user", "assistant", "user", "info"]);
    assert_eq!(messages[0]["createdAt"], "2026-01-24T00:01:57.500000Z");
    assert_eq!(messages[0]["metadata"]["amp"]["userState"], json!({"openFiles": ["a.rs"]}));
    assert_eq!(messages[1]["content"][1]["type"], "tool_use");
    assert_eq!(messages[2]["content"][0]["toolUseId"], "toolu_1");
    let given = keep.json(&["model-messages", ID]);
    assert_eq!(given[2]["content"][0]["content"], r#"{"lines":3}"#, "{given}");
    assert_eq!(keep.json(&["queue", ID])[0]["queuedMessage"]["content"][0]["text"], "hurry");
    assert_eq!(keep.json(&["doctor"])["healthy"], true);
}

#[test]
pub fn an_import_can_be_repeated_and_a_thread_that_went_on_is_not_overwritten() {
    let keep = imported(&full());
    let before = keep.everything();
    keep.run_with(&["import", "--format", "amp", "-"], full().to_string().as_bytes()).ok();
    assert_eq!(keep.everything(), before, "the same once more changes nothing");
    let mut other = full();
    other["title"] = "Another state of it".into();
    keep.run_with(&["import", "--format", "amp", "-"], other.to_string().as_bytes()).refused(5, &["is here already"]);
    keep.say(ID, "on we go");
    keep.run_with(&["import", "--format", "amp", "-"], full().to_string().as_bytes()).refused(5, &[ID]);
}

#[test]
pub fn what_happens_here_goes_on_counting_where_amp_stopped() {
    let keep = imported(&full());
    keep.say(ID, "one more");
    let run = keep.ok(&["begin", ID]);
    keep.ok(&["end", ID, &run]);
    let out = exported(&keep, ID);
    assert!(out["v"].as_u64().expect("a version") > 17, "{}", out["v"]);
    let numbers: Vec<u64> = out["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|m| m["messageId"].as_u64().expect("a number"))
        .collect();
    let mut unique = numbers.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!((numbers.len(), unique.len()), (7, 7), "{numbers:?}");
    assert!(out["nextMessageId"].as_u64().expect("a number") > *unique.last().expect("a last one"));
    assert_eq!(out.get("queuedMessages"), None, "it was delivered");
    assert_eq!(out.get("draft"), None, "it was submitted");
    let edited = keep.message_ids(ID)[1].clone();
    keep.ok(&["edit", ID, &edited, "other words"]);
    assert_eq!(exported(&keep, ID)["messages"][1]["content"], "other words");
}

#[test]
pub fn the_least_thread_and_one_whose_version_lags_behind_its_messages_round_trip_too() {
    for thread in [
        json!({"v": 0, "id": ID, "created": 0, "messages": []}),
        json!({"v": 1, "id": ID, "created": 5, "messages": [
            {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": ""}]}),
        json!({"v": 9, "id": ID, "created": 5, "title": null, "relationships": [], "queuedMessages": [],
               "activatedSkills": [], "draft": [{"type": "text", "text": "parts"}],
               "messages": [{"role": "user", "content": [{"type": "image", "source": {"data": "x"}}], "messageId": 3}]}),
    ] {
        let keep = imported(&thread);
        assert_eq!(exported(&keep, ID), thread);
        assert_eq!(keep.json(&["doctor"])["healthy"], true);
        keep.say(ID, "more");
    }
}

#[test]
pub fn relations_hold_between_threads_that_came_together() {
    let child = json!({"v": 3, "id": CHILD, "created": 1_769_212_918_000_i64, "originThreadID": ID, "forkPointIndex": 2,
        "messages": [{"role": "user", "content": "a"}],
        "relationships": [{"threadID": ID, "type": "fork", "role": "child", "messageIndex": 2}]});
    let keep = imported(&json!([full(), child]));
    let related = keep.json(&["relationships", CHILD]);
    assert_eq!((&related[0]["threadId"], &related[0]["role"]), (&ID.into(), &"child".into()));
    assert_eq!(related[0]["messageIndex"], 2);
    assert!(keep.ok(&["tree", CHILD]).contains("fork after message 2"));
    assert_eq!(exported(&keep, CHILD), child);
    let all: Value = serde_json::from_str(&keep.ok(&["export", "--format", "amp"])).expect("JSON");
    assert_eq!(all.as_array().map(Vec::len), Some(2));
    let lines = format!("{}\n{child}\n", full());
    let other = Keep::new();
    assert_eq!(
        other.run_with(&["import", "--format", "amp", "-", "--json"], lines.as_bytes()).ok(),
        r#"{"threads":2,"known":0}"#
    );
}

#[test]
pub fn a_thread_made_here_goes_to_amp_with_what_amp_knows() {
    let keep = Keep::new();
    let thread = keep.ok(&["create", "Here", "--message", "hi"]);
    keep.ok(&["say", &thread, "hello", "--role", "assistant"]);
    keep.ok(&["queue", &thread, "wait"]);
    let fork = keep.ok(&["fork", &thread, "--message-index", "0"]);
    let out = exported(&keep, &thread);
    assert_eq!((&out["id"], &out["title"], &out["v"]), (&thread.as_str().into(), &"Here".into(), &4.into()));
    assert_eq!(out["messages"][1], json!({"role": "assistant", "content": "hello", "messageId": 2}));
    assert_eq!(out["relationships"][0]["threadID"], fork.as_str());
    assert!(out["queuedMessages"][0]["id"].as_str().is_some_and(|id| id.starts_with("queued-")), "{out}");
    let keep = imported(&out);
    assert_eq!(exported(&keep, &thread), out);
}

#[test]
pub fn what_is_no_thread_of_amp_is_refused_and_names_the_field() {
    let keep = Keep::new();
    for (text, field) in [
        ("", "file"),
        ("{", "file"),
        ("3", "thread"),
        ("[3]", "thread"),
        ("{}", "id"),
        (r#"{"id":"x","created":1}"#, "threadId"),
        (r#"{"id":"T-5928a90d-d53b-488f-a829-4e36442142ee"}"#, "created"),
        (r#"{"id":"T-5928a90d-d53b-488f-a829-4e36442142ee","created":"now"}"#, "created"),
        (r#"{"id":"T-5928a90d-d53b-488f-a829-4e36442142ee","created":1,"v":-1}"#, "v"),
        (r#"{"id":"T-5928a90d-d53b-488f-a829-4e36442142ee","created":1,"v":99999999999999999999}"#, "v"),
        (r#"{"id":"T-5928a90d-d53b-488f-a829-4e36442142ee","created":1,"messages":{}}"#, "messages"),
        (
            r#"{"id":"T-5928a90d-d53b-488f-a829-4e36442142ee","created":1,"messages":[{"role":"king","content":"x"}]}"#,
            "messages[0].role",
        ),
        (
            r#"{"id":"T-5928a90d-d53b-488f-a829-4e36442142ee","created":1,"messages":[{"role":"user","content":3}]}"#,
            "messages[0].content",
        ),
        (
            r#"{"id":"T-5928a90d-d53b-488f-a829-4e36442142ee","created":1,"relationships":[{"threadID":"x"}]}"#,
            "relationships[0]",
        ),
    ] {
        let error = keep.run_with(&["import", "--format", "amp", "-", "--json"], text.as_bytes()).refused(2, &[]);
        assert!(error.contains(&format!(r#""field":"{field}"#)), "{text}: {error}");
    }
    let deep = format!(r#"{{"id":"{ID}","created":1,"x":{}{}}}"#, "[".repeat(500), "]".repeat(500));
    keep.run_with(&["import", "--format", "amp", "-"], deep.as_bytes()).refused(2, &[]);
    let nulls = format!(r#"{{"id":"{ID}","created":1,"title":"a\u0000b","x\u0000":"\u0000"}}"#);
    keep.run_with(&["import", "--format", "amp", "-"], nulls.as_bytes()).ok();
    assert_eq!(keep.json(&["show", ID])["thread"]["title"], "ab");
}

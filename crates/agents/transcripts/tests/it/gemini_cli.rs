use threadkeep_transcripts::sources::gemini_cli::{read, read_object};
use threadkeep_transcripts::{Resume, Window};

use crate::show::{check, check_growing};

/// The older form.
pub const OBJECT: &[u8] =
    br#"{"sessionId":"S","startTime":"2026-01-01T10:00:00Z","messages":[{"id":"u1","timestamp":"2026-01-01T10:00:00Z","type":"user","content":"Hi"},{"id":"e","type":"error","content":"No"}]}"#;

/// Every message type, a replaced message, calls with results, a rewind, and a new list.
pub const SESSION: &str = r#"{"sessionId":"S","projectHash":"h","startTime":"2026-01-01T10:00:00Z","lastUpdated":"2026-01-01T10:00:00Z","directories":["/repo"]}
{"id":"u1","timestamp":"2026-01-01T10:00:01Z","type":"user","content":[{"text":"Read it"},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}
{"id":"g1","timestamp":"2026-01-01T10:00:02Z","type":"gemini","content":"","model":"gemini-x"}
{"id":"g1","timestamp":"2026-01-01T10:00:02Z","type":"gemini","content":"I read","model":"gemini-x","thoughts":[{"subject":"Plan","description":"read","timestamp":"x"}],"tokens":{"input":10,"output":2,"cached":4,"thoughts":1,"tool":0,"total":13},"toolCalls":[{"id":"c1","name":"read_file","args":{"path":"a"},"status":"success","result":[{"functionResponse":{"id":"c1","name":"read_file","response":{"output":"text"}}}]},{"id":"c2","name":"task","args":{},"status":"error","agentId":"A","resultDisplay":"no"}]}
{"id":"i1","timestamp":"2026-01-01T10:00:03Z","type":"info","content":"Note"}
{"id":"u2","timestamp":"2026-01-01T10:00:04Z","type":"user","content":"Wrong"}
{"$rewindTo":"u2"}
{"id":"u3","timestamp":"2026-01-01T10:00:05Z","type":"user","content":"Right"}
{"$set":{"summary":"Reading","lastUpdated":"2026-01-01T10:00:06Z"}}
{"x":1}
"#;

#[test]
fn a_session_with_a_rewind() {
    check(
        &read(&Window::whole("S.jsonl", SESSION.as_bytes()), &Resume::default()),
        r#"
        = gemini-cli S "Reading" in /repo
        u1 user: "Read it" | file - image/png 2 bytes
        g1 < u1 assistant started A gemini-x 6/3/4/0: thinks "Plan: read" | "I read" | calls read_file c1 {"path":"a"} | calls task c2 {} +tokens
        g1#1 < g1 tool: answers c1 ["text"] | failed c2 ["no"]
        i1 < g1#1 system scaffolding: "Note" +type
        u2 < i1 user: "Wrong"
        u3 < i1 user: "Right"
        records: 1
        active: u3
        "#,
    );
}

#[test]
fn a_growing_session_reads_the_same_as_a_whole_one() {
    check_growing("S.jsonl", SESSION, read);
}

#[test]
fn a_new_list_leaves_the_old_one_as_a_branch() {
    let text = r#"{"sessionId":"S"}
{"id":"u1","type":"user","content":"a"}
{"id":"u2","type":"user","content":"b"}
{"$set":{"messages":[{"id":"u1","type":"user","content":"a"},{"id":"k","type":"user","content":"summary"}]}}
{"$rewindTo":"unknown"}
{"id":"u9","type":"user","content":"c"}
"#;
    check(
        &read(&Window::whole("S.jsonl", text.as_bytes()), &Resume::default()),
        r#"
        = gemini-cli S "a"
        u1 user: "a"
        u2 < u1 user: "b"
        k < u1 user: "summary"
        u9 user: "c"
        active: u9
        "#,
    );
}

#[test]
fn the_older_form_is_one_object() {
    check(
        &read_object(&Window::whole("session-x.json", OBJECT)).expect("an object with messages"),
        r#"
        = gemini-cli S "Hi"
        u1 user: "Hi"
        e < u1 system scaffolding: "No" +type
        active: e
        "#,
    );
    assert!(read_object(&Window::whole("x.json", b"{}")).is_err());
}

use threadkeep_transcripts::Window;
use threadkeep_transcripts::sources::cline::read_object;

use crate::show::check;

/// A messages file of the SDK with every kind of block.
pub const SDK: &str = r#"{"version":1,"updated_at":"2026-01-01T11:00:00Z","agent":"main","sessionId":"S","system_prompt":"Be kind","messages":[
{"id":"m1","role":"user","ts":1767261600000,"content":[{"type":"text","text":"Fix it"},{"type":"file","path":"src/a.rs","content":"fn a() {}"}]},
{"id":"m2","role":"assistant","ts":1767261601000,"content":[{"type":"thinking","thinking":"Hm","signature":"sig"},{"type":"text","text":"Ok"},{"type":"tool_use","id":"c1","name":"read","input":{"path":"a"}},{"type":"tool_use","id":"c2","name":"read","input":{"path":"b"}}],"metrics":{"inputTokens":5,"outputTokens":6,"cacheReadTokens":1,"cacheWriteTokens":2,"cost":0.1},"modelInfo":{"id":"m","provider":"anthropic"}},
{"id":"m3","role":"user","ts":1767261602000,"content":[{"type":"tool_result","tool_use_id":"c1","name":"read","content":"text"},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"no"}],"is_error":true}]},
{"id":"m4","role":"user","ts":1767261603000,"content":"Go on","metadata":{"kind":"compaction","reason":"manual","displayRole":"system","usageBefore":{"inputTokens":700}}},
null]}"#;

#[test]
fn a_file_of_the_sdk() {
    check(
        &read_object(&Window::whole("S.messages.json", SDK.as_bytes())).expect("a list of messages"),
        r#"
        = cline S "Fix it" [main]
        m1 user: "Fix it" | file src/a.rs text/plain 9 bytes
        m2 < m1 assistant m 5/6/1/2: thinks "Hm" bound to anthropic | "Ok" | calls read c1 {"path":"a"} | calls read c2 {"path":"b"} +metrics
        m3 < m2 tool: answers c1 ["text"] | raw {"type":"tool_result","name":"read"} | failed c2 ["no"]
        m4 < m3 user summary before 700: "Go on" +metadata
        active: m4
        skipped messages[4]: not a JSON object
        "#,
    );
}

#[test]
fn a_task_is_named_by_its_folder() {
    let text = br#"[{"role":"user","content":[{"type":"text","text":"<task>Fix</task>"}]},{"role":"assistant","content":"Ok"},{"role":"user","content":"<environment_details>x</environment_details>"}]"#;
    check(
        &read_object(&Window::whole("1767261600000/api_conversation_history.json", text)).expect("a list"),
        r#"
        = cline 1767261600000 "<task>Fix</task>"
        1 user: "<task>Fix</task>"
        2 < 1 assistant: "Ok"
        3 < 2 user scaffolding: "<environment_details>x</environment_details>"
        active: 3
        "#,
    );
}

#[test]
fn results_of_several_queries_show_their_text() {
    let text = br#"{"sessionId":"S","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"query":"a.rs","result":"fn main() {}","success":true},{"type":"text","text":"and more"}]}]}]}"#;
    check(
        &read_object(&Window::whole("x.json", text)).expect("messages"),
        r#"
        = cline S
        1 tool: answers c1 ["fn main() {}" | raw {"query":"a.rs","success":true} | "and more"]
        active: 1
        "#,
    );
}

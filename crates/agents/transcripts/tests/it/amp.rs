use threadkeep_transcripts::Window;
use threadkeep_transcripts::sources::amp::read_object;

use crate::show::check;

/// Every kind of block, a cancelled call, and a summary.
pub const THREAD: &str = r#"{"v":9,"id":"T-1","created":1767261600000,"title":"Fixing","archived":true,"originThreadID":"T-0","forkPointIndex":0,"env":{"initial":{"trees":[{"displayName":"repo","uri":"file:///repo","repository":{"type":"git","url":"u","ref":"refs/heads/main","sha":"s"}}],"tags":["model:m"]}},"messages":[
{"role":"user","messageId":0,"content":[{"type":"text","text":"Fix"},{"type":"image","source":{"data":"aGk=","mediaType":"image/png"},"sourcePath":"/a.png"}],"meta":{"sentAt":1767261601000}},
{"role":"assistant","messageId":1,"content":[{"type":"thinking","thinking":"Hm","signature":"sig","provider":"anthropic"},{"type":"text","text":"Ok"},{"type":"tool_use","id":"c1","name":"Bash","input":{"cmd":"ls"},"complete":true},{"type":"tool_use","id":"c2","name":"Bash","input":{},"complete":false}],"state":{"type":"complete","stopReason":"tool_use"},"usage":{"model":"m","inputTokens":1,"outputTokens":2,"cacheReadInputTokens":3,"cacheCreationInputTokens":4,"totalInputTokens":8}},
{"role":"user","messageId":2,"content":[{"type":"tool_result","toolUseID":"c1","run":{"status":"done","result":{"output":"a.rs"}}},{"type":"tool_result","toolUseID":"c2","run":{"status":"cancelled","reason":"stop"}}]},
{"role":"info","messageId":3,"content":[{"type":"summary","summary":{"type":"message","summary":"So far"}}]},
1]}"#;

#[test]
fn a_thread_with_every_kind_of_block() {
    check(
        &read_object(&Window::whole("T-1.json", THREAD.as_bytes())).expect("a thread"),
        r#"
        = amp T-1 "Fixing" in /repo on main [archived, model:m] fork of T-0 at 0
        0 user: "Fix" | file /a.png image/png 2 bytes
        1 < 0 assistant m 1/2/3/4: thinks "Hm" bound to anthropic | "Ok" | calls Bash c1 {"cmd":"ls"} | calls Bash c2 {} | raw {"type":"tool_use","complete":false} +state,usage
        2 < 1 tool: answers c1 ["{\"output\":\"a.rs\"}"] | failed c2 ["stop" | raw {"status":"cancelled"}]
        3 < 2 system scaffolding summary: "So far"
        active: 3
        skipped messages[4]: not a JSON object
        "#,
    );
}

#[test]
fn a_file_may_hold_several_threads() {
    let text = br#"[{"id":"T-1","created":1,"messages":[]},{"id":"T-2"}]"#;
    check(
        &read_object(&Window::whole("all.json", text)).expect("threads"),
        "= amp T-1\nactive: none\nskipped thread 1: not an object with messages",
    );
    assert!(read_object(&Window::whole("all.json", b"7")).is_err());
}

use threadkeep_transcripts::sources::claude_code::read;
use threadkeep_transcripts::{Reading, Resume, Window};

use crate::show::{check, check_growing};

/// Every record type once, a broken line, a rewind, parallel calls, a compaction, and a subagent within the file.
pub const SESSION: &str = r#"{"type":"summary","summary":"Old title","leafUuid":"a3"}
{"type":"file-history-snapshot","messageId":"u1","snapshot":{},"isSnapshotUpdate":false}
{"type":"user","uuid":"u0","parentUuid":null,"sessionId":"S","timestamp":"2026-01-01T10:00:00Z","cwd":"/repo","gitBranch":"main","version":"2.1","isSidechain":false,"userType":"external","isMeta":true,"message":{"role":"user","content":"<local-command-caveat>x</local-command-caveat>"}}
{"type":"user","uuid":"u1","parentUuid":"u0","sessionId":"S","timestamp":"2026-01-01T10:00:01Z","cwd":"/repo","gitBranch":"main","message":{"role":"user","content":[{"type":"text","text":"Fix the parser"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}}
{"type":"attachment","uuid":"t1","parentUuid":"u1","sessionId":"S","attachment":{"type":"todo"}}
{"type":"assistant","uuid":"a1","parentUuid":"t1","sessionId":"S","timestamp":"2026-01-01T10:00:02Z","requestId":"r1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"thinking","thinking":"Hm","signature":"sig"}],"usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","sessionId":"S","timestamp":"2026-01-01T10:00:03Z","requestId":"r1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"c1","name":"Read","input":{"path":"a"}}],"usage":{"input_tokens":1,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}}}
{"type":"progress","uuid":"p1","parentUuid":"a2","sessionId":"S","data":{}}
{"type":"assistant","uuid":"a3","parentUuid":"a2","sessionId":"S","timestamp":"2026-01-01T10:00:04Z","requestId":"r1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"c2","name":"Task","input":{"prompt":"Look around"}}],"usage":{"input_tokens":1,"output_tokens":9,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}}}
{"type":"user","uuid":"s1","parentUuid":null,"sessionId":"S","isSidechain":true,"timestamp":"2026-01-01T10:00:05Z","message":{"role":"user","content":"Look around"}}
{"type":"assistant","uuid":"s2","parentUuid":"s1","sessionId":"S","isSidechain":true,"timestamp":"2026-01-01T10:00:06Z","message":{"id":"m2","role":"assistant","model":"claude-y","content":[{"type":"text","text":"Nothing here"}]}}
{"type":"user","uuid":"r1","parentUuid":"a2","sessionId":"S","timestamp":"2026-01-01T10:00:07Z","toolUseResult":{"file":"a"},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"text of a"}]}}
{"type":"user","uuid":"r2","parentUuid":"a3","sessionId":"S","timestamp":"2026-01-01T10:00:08Z","toolUseResult":{"agentId":"77"},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","is_error":true,"content":[{"type":"text","text":"no"}]}]}}
{"type":"assistant","uuid":"a4","parentUuid":"r1","sess
{"type":"assistant","uuid":"a4","parentUuid":"r1","sessionId":"S","timestamp":"2026-01-01T10:00:09Z","message":{"id":"m3","role":"assistant","model":"claude-x","content":[{"type":"text","text":"Done"}]}}
{"type":"system","uuid":"y1","parentUuid":"a4","sessionId":"S","subtype":"turn_duration","durationMs":5}
{"type":"user","uuid":"u2","parentUuid":"y1","sessionId":"S","timestamp":"2026-01-01T10:00:10Z","message":{"role":"user","content":"Now the lexer"}}
{"type":"assistant","uuid":"a5","parentUuid":"u2","sessionId":"S","timestamp":"2026-01-01T10:00:11Z","message":{"id":"m4","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]},"isApiErrorMessage":true}
{"type":"user","uuid":"u3","parentUuid":"y1","sessionId":"S","timestamp":"2026-01-01T10:00:12Z","message":{"role":"user","content":"Now the printer"}}
{"type":"system","uuid":"k1","parentUuid":null,"logicalParentUuid":"u3","sessionId":"S","timestamp":"2026-01-01T10:00:13Z","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":900,"preservedMessages":{"anchorUuid":"u3","uuids":["u3"]}}}
{"type":"user","uuid":"k2","parentUuid":"k1","sessionId":"S","timestamp":"2026-01-01T10:00:14Z","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"role":"user","content":"So far: parser"}}
{"type":"user","uuid":"k3","parentUuid":"k2","sessionId":"S","timestamp":"2026-01-01T10:00:15Z","message":{"role":"user","content":"<command-name>/cost</command-name>\n<command-args></command-args>"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"S"}
{"type":"ai-title","aiTitle":"Parser work","sessionId":"S"}
{"type":"brand-new-type","x":1}
"#;

fn whole(name: &str, text: &str) -> Reading {
    read(&Window::whole(name, text.as_bytes()), None, &Resume::default())
}

#[test]
fn a_session_with_every_record_type() {
    check(
        &whole("S.jsonl", SESSION),
        r#"
        = claude-code S "Parser work" in /repo on main
        u0 user scaffolding: "<local-command-caveat>x</local-command-caveat>" +isMeta
        u1 < u0 user: "Fix the parser" | file - image/png 2 bytes
        t1 < u1 system scaffolding: raw {"type":"todo"}
        a1 < t1 assistant claude-x 1/9/3/4: thinks "Hm" bound to anthropic | calls Read c1 {"path":"a"} | calls Task c2 {"prompt":"Look around"} +messageId,requestId
        r1 < a1 tool: answers c1 ["text of a"] +toolUseResult
        r2 < r1 tool started S/agent-77: failed c2 ["no"] +toolUseResult
        a4 < r2 assistant claude-x: "Done" +messageId
        u2 < a4 user: "Now the lexer"
        a5 < u2 assistant scaffolding: "API Error" +isApiErrorMessage,messageId
        u3 < a4 user: "Now the printer"
        k1 < u3 system scaffolding compaction kept u3 before 900: "Conversation compacted" +compactMetadata,subtype
        k2 < k1 user scaffolding summary: "So far: parser" +isVisibleInTranscriptOnly
        k3 < k2 user scaffolding: "<command-name>/cost</command-name>\n<command-args></command-args>"
        records: 5
        active: k3
        = claude-code S/sidechain-s1 "Look around" subagent of S by c2
        s1 user: "Look around"
        s2 < s1 assistant claude-y: "Nothing here" +messageId
        active: s2
        skipped line 14: not JSON
        "#,
    );
}

#[test]
fn a_growing_session_reads_the_same_as_a_whole_one() {
    check_growing("S.jsonl", SESSION, |window, from| read(window, None, from));
}

#[test]
fn the_file_of_a_subagent_names_its_session_and_its_call() {
    let text = r#"{"type":"user","uuid":"s1","parentUuid":null,"sessionId":"S","isSidechain":true,"agentId":"77","message":{"role":"user","content":"Look"}}"#;
    let window = Window::whole("agent-77.jsonl", text.as_bytes());
    let meta = br#"{"agentType":"explore","toolUseId":"c2","color":"red"}"#;
    check(
        &read(&window, Some(meta), &Resume::default()),
        r#"
        = claude-code S/agent-77 "Look" [explore] subagent of S by c2
        s1 user: "Look" +agentId
        active: s1
        "#,
    );
}

#[test]
fn a_pinned_leaf_wins_over_the_newest_record() {
    let text = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"S","message":{"content":"a"}}
{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"S","message":{"content":"b"}}
{"type":"last-prompt","lastPrompt":"a","leafUuid":"u1","explicit":true}
{"type":"last-prompt","lastPrompt":"b","leafUuid":"u2"}
{"type":"user","uuid":"u3","parentUuid":"u1","sessionId":"S","message":{"content":"c"}}
"#;
    assert_eq!(whole("S.jsonl", text).sessions[0].active.as_deref(), Some("u1"));
}

#[test]
fn records_without_ids_follow_each_other() {
    let text = "{\"type\":\"user\",\"message\":{\"content\":\"a\"}}\n{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"b\"}]}}\n";
    check(
        &whole("old.jsonl", text),
        r#"
        = claude-code old "a"
        1 user: "a"
        2 < 1 assistant: "b"
        active: 2
        "#,
    );
}

#[test]
fn a_circle_of_parents_is_cut() {
    let text = r#"{"type":"user","uuid":"u1","parentUuid":"u2","sessionId":"S","message":{"content":"a"}}
{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"S","message":{"content":"b"}}
"#;
    check(
        &whole("S.jsonl", text),
        r#"
        = claude-code S "a"
        u2 user: "b"
        u1 < u2 user: "a"
        active: u1
        "#,
    );
}

#[test]
fn a_text_in_the_place_of_a_message_is_the_message() {
    let text = br#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"S","message":"What now?"}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"S","message":"Stop."}
"#;
    check(
        &read(&Window::whole("S.jsonl", text), None, &Resume::default()),
        r#"
        = claude-code S "What now?"
        u1 user: "What now?"
        a1 < u1 assistant: "Stop."
        active: a1
        "#,
    );
}

use threadkeep_transcripts::sources::pi::read;
use threadkeep_transcripts::{Resume, Window};

use crate::show::{check, check_growing};

/// Version 4: entries, registers and usage.
pub const WRITES: &str = r#"{"v":4,"kind":"header","id":"S","storageVersion":1,"createdAt":"2026-01-01T10:00:00.000Z","cwd":"/repo"}
[{"kind":"entry","seq":1,"timestamp":"2026-01-01T10:00:01.000Z","id":"a","parentId":null,"type":"message","message":{"role":"user","content":"Hi"}},{"kind":"register","op":"set","namespace":"lane.leaf","key":"main","value":"a"}]
{"kind":"entry","seq":2,"timestamp":"2026-01-01T10:00:02.000Z","id":"b","parentId":"a","type":"message","message":{"role":"user","content":"No"}}
{"kind":"usage","input":1}
"#;

/// Every entry type, a branch and a compaction.
pub const SESSION: &str = r#"{"type":"session","version":3,"id":"S","timestamp":"2026-01-01T10:00:00.000Z","cwd":"/repo","parentSession":"/home/a/2026_P.jsonl"}
{"type":"model_change","id":"e1","parentId":null,"timestamp":"2026-01-01T10:00:01.000Z","provider":"anthropic","modelId":"claude-x"}
{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-01-01T10:00:02.000Z","message":{"role":"user","content":[{"type":"text","text":"Fix it"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"timestamp":1767261602000}}
{"type":"message","id":"e3","parentId":"e2","timestamp":"2026-01-01T10:00:03.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","thinkingSignature":"sig"},{"type":"text","text":"Let me"},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a"}},{"type":"toolCall","id":"c2","name":"bash","arguments":{"command":"ls"}}],"api":"anthropic-messages","provider":"anthropic","model":"claude-x","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"total":0.1}},"stopReason":"toolUse","timestamp":1767261603000}}
{"type":"message","id":"e4","parentId":"e3","timestamp":"2026-01-01T10:00:04.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"text"}],"isError":false}}
{"type":"message","id":"e5","parentId":"e4","timestamp":"2026-01-01T10:00:05.000Z","message":{"role":"toolResult","toolCallId":"c2","toolName":"bash","content":[],"isError":true}}
{"type":"thinking_level_change","id":"e6","parentId":"e5","timestamp":"2026-01-01T10:00:06.000Z","thinkingLevel":"high"}
{"type":"message","id":"e7","parentId":"e6","timestamp":"2026-01-01T10:00:07.000Z","message":{"role":"bashExecution","command":"pwd","output":"/repo","exitCode":0,"cancelled":false,"truncated":false,"excludeFromContext":true}}
{"type":"branch_summary","id":"e8","parentId":"e2","timestamp":"2026-01-01T10:00:08.000Z","fromId":"e7","summary":"Tried reading"}
{"type":"custom_message","id":"e9","parentId":"e8","timestamp":"2026-01-01T10:00:09.000Z","customType":"todo","content":"Do it","display":true}
{"type":"custom","id":"f1","parentId":"e9","timestamp":"2026-01-01T10:00:10.000Z","customType":"x","data":{"a":1}}
{"type":"compaction","id":"f2","parentId":"f1","timestamp":"2026-01-01T10:00:11.000Z","summary":"So far","firstKeptEntryId":"e9","tokensBefore":500}
{"type":"label","id":"f3","parentId":"f2","timestamp":"2026-01-01T10:00:12.000Z","targetId":"e2","label":"start"}
{"type":"session_info","id":"f4","parentId":"f3","timestamp":"2026-01-01T10:00:13.000Z","name":"Fixing"}
"#;

#[test]
fn a_tree_with_every_entry_type() {
    check(
        &read(&Window::whole("S.jsonl", SESSION.as_bytes()), &Resume::default()),
        r#"
        = pi S "Fixing" in /repo fork of P
        e1 system scaffolding: raw {"type":"model_change","provider":"anthropic","modelId":"claude-x"}
        e2 < e1 user: "Fix it" | file - image/png 2 bytes
        e3 < e2 assistant claude-x 1/2/3/4: thinks "Hm" bound to anthropic | "Let me" | calls read c1 {"path":"a"} | calls bash c2 {"command":"ls"} +api,stopReason,usage
        e4 < e3 tool: answers c1 ["text"] +toolName
        e5 < e4 tool: failed c2 [] +toolName
        e6 < e5 system scaffolding: raw {"type":"thinking_level_change","thinkingLevel":"high"}
        e7 < e6 user out-of-context: "$ pwd\n/repo" +cancelled,excludeFromContext,exitCode,truncated
        e8 < e2 system scaffolding: "Tried reading" +fromId
        e9 < e8 user scaffolding: "Do it" +customType,display
        f1 < e9 system scaffolding: raw {"type":"custom","customType":"x","data":{"a":1}}
        f2 < f1 system scaffolding summary kept e9 before 500: "So far"
        f3 < f2 system scaffolding: raw {"type":"label","targetId":"e2","label":"start"}
        f4 < f3 system scaffolding: raw {"type":"session_info","name":"Fixing"}
        active: f4
        "#,
    );
}

#[test]
fn a_growing_session_reads_the_same_as_a_whole_one() {
    check_growing("S.jsonl", SESSION, read);
}

#[test]
fn version_1_has_lines_for_ids() {
    let text = r#"{"type":"session","id":"S","timestamp":"2026-01-01T10:00:00.000Z","cwd":"/repo","provider":"p","modelId":"m"}
{"type":"message","timestamp":"2026-01-01T10:00:01.000Z","message":{"role":"user","content":"Hi"}}
{"type":"message","timestamp":"2026-01-01T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Hello"}]}}
{"type":"compaction","timestamp":"2026-01-01T10:00:03.000Z","summary":"So far","firstKeptEntryIndex":2,"tokensBefore":9}
"#;
    check(
        &read(&Window::whole("S.jsonl", text.as_bytes()), &Resume::default()),
        r#"
        = pi S "Hi" in /repo
        2 user: "Hi"
        3 < 2 assistant m: "Hello"
        4 < 3 system scaffolding summary kept 3 before 9: "So far"
        active: 4
        "#,
    );
    check_growing("S.jsonl", text, read);
}

#[test]
fn version_4_names_its_leaf_in_a_register() {
    check(
        &read(&Window::whole("S.jsonl", WRITES.as_bytes()), &Resume::default()),
        r#"
        = pi S "Hi" in /repo
        a user: "Hi"
        b < a user: "No"
        records: 1
        active: a
        "#,
    );
}

use threadkeep_transcripts::sources::codex::{read, read_object};
use threadkeep_transcripts::{Resume, Window, unpack};

use crate::show::{check, check_growing};

/// The form of the first versions.
pub const OBJECT: &[u8] = br#"{"session":{"id":"O","timestamp":"2025-04-01T10:00:00Z"},"items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]},7]}"#;

/// Every kind of item and the events that matter, a rollback, a compaction, a broken line, and a welded one.
pub const ROLLOUT: &str = r##"{"timestamp":"2026-01-01T10:00:00.000Z","type":"session_meta","payload":{"id":"T","timestamp":"2026-01-01T10:00:00.000Z","cwd":"/repo","originator":"cli","cli_version":"1","source":"cli","model_provider":"openai","git":{"branch":"main","commit_hash":"abc"}}}
{"timestamp":"2026-01-01T10:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]}}
{"timestamp":"2026-01-01T10:00:02.000Z","type":"turn_context","payload":{"cwd":"/repo","model":"gpt-x"}}
{"timestamp":"2026-01-01T10:00:03.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Fix it"},{"type":"input_image","image_url":"data:image/png;base64,aGk="}]}}
{"timestamp":"2026-01-01T10:00:03.000Z","type":"event_msg","payload":{"type":"user_message","message":"Fix it"}}
{"timestamp":"2026-01-01T10:00:04.000Z","type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"Plan"}],"encrypted_content":"sealed"}}
{"timestamp":"2026-01-01T10:00:05.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"cmd\":\"ls\"}","call_id":"c1"}}{"timestamp":"2026-01-01T10:00:05.000Z","type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"c2","status":"completed"}}
{"timestamp":"2026-01-01T10:00:06.000Z","type":"event_msg","payload":{"type":"exec_command_end","call_id":"c1","aggregated_output":"a.rs","exit_code":1}}
{"timestamp":"2026-01-01T10:00:06.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"a.rs"}}
{"timestamp":"2026-01-01T10:00:07.000Z","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c2","output":"{\"output\":\"ok\",\"metadata\":{\"exit_code\":0}}"}}
{"timestamp":"2026-01-01T10:00:08.000Z","type":"response_item","payload":{"type":"web_search_call","id":"w1","action":{"type":"search","query":"q"},"status":"completed"}}
{"timestamp":"2026-01-01T10:00:08.000Z","type":"response_item","payload":{"type":"local_shell_call","call_id":"c3","action":{"type":"exec","command":["ls"]},"status":"completed"}}
not json
{"timestamp":"2026-01-01T10:00:09.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done"}]}}
{"timestamp":"2026-01-01T10:00:09.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":7},"last_token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2}}}}
{"timestamp":"2026-01-01T10:00:10.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Wrong turn"}]}}
{"timestamp":"2026-01-01T10:00:11.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Oh"}]}}
{"timestamp":"2026-01-01T10:00:12.000Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}
{"timestamp":"2026-01-01T10:00:13.000Z","type":"compacted","payload":{"message":"So far: fixed","replacement_history":[]}}
{"timestamp":"2026-01-01T10:00:14.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Right turn"}]}}
{"timestamp":"2026-01-01T10:00:15.000Z","type":"response_item","payload":{"type":"ghost_snapshot","ghost_commit":{}}}
{"timestamp":"2026-01-01T10:00:16.000Z","type":"world_state","payload":{"a":1}}
"##;

const NAME: &str = "rollout-2026-01-01T10-00-00-00000000-0000-0000-0000-000000000001.jsonl";

#[test]
fn a_rollout_with_every_kind_of_item() {
    check(
        &read(&Window::whole(NAME, ROLLOUT.as_bytes()), &Resume::default()),
        r#"
        = codex T "Fix it" in /repo on main tokens 60/7
        2 user scaffolding: "<environment_context>x</environment_context>"
        4 < 2 user: "Fix it" | file - image/png 2 bytes
        6 < 4 assistant gpt-x: thinks "Plan" bound to openai
        7 < 6 assistant gpt-x: calls shell c1 {"cmd":"ls"}
        7.2 < 7 assistant gpt-x: calls apply_patch c2 "*** Begin" +status
        8 < 7.2 tool: failed c1 ["a.rs"] +exit_code
        10 < 8 tool: answers c2 ["{\"output\":\"ok\",\"metadata\":{\"exit_code\":0}}"]
        11 < 10 assistant gpt-x: calls web_search w1 {"type":"search","query":"q"} +status
        12 < 11 assistant gpt-x: calls local_shell c3 {"type":"exec","command":["ls"]} +status
        14 < 12 assistant gpt-x 6/2/4/0: "Done"
        16 < 14 user: "Wrong turn"
        17 < 16 assistant gpt-x: "Oh"
        19 < 14 system scaffolding summary: "So far: fixed" +replacement_history
        20 < 19 user: "Right turn"
        21 < 20 system scaffolding: raw {"type":"ghost_snapshot","ghost_commit":{}}
        records: 3
        active: 21
        skipped line 13: not JSON
        "#,
    );
}

#[test]
fn a_growing_rollout_reads_the_same_as_a_whole_one() {
    // Usage is told after the reply, so a reader that ended between the two gives the reply without it.
    let without_usage: Vec<&str> = ROLLOUT.lines().filter(|line| !line.contains("token_count")).collect();
    check_growing(NAME, &without_usage.join("\n"), read);
}

#[test]
fn old_files_without_items_are_read_from_their_events() {
    let text = r#"{"timestamp":"2026-01-01T10:00:00Z","type":"event_msg","payload":{"type":"user_message","message":"Hi"}}
{"timestamp":"2026-01-01T10:00:01Z","type":"event_msg","payload":{"type":"agent_reasoning","text":"Hm"}}
{"timestamp":"2026-01-01T10:00:02Z","type":"event_msg","payload":{"type":"agent_message","message":"Hello"}}
"#;
    check(
        &read(&Window::whole(NAME, text.as_bytes()), &Resume::default()),
        r#"
        = codex 00000000-0000-0000-0000-000000000001 "Hi"
        1 user: "Hi"
        2 < 1 assistant: thinks "Hm"
        3 < 2 assistant: "Hello"
        active: 3
        "#,
    );
}

#[test]
fn the_first_versions_wrote_bare_items_or_one_object() {
    let lines = r#"{"id":"B","timestamp":"2025-05-01T10:00:00Z","instructions":null,"git":{"branch":"dev"}}
{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}
{"record_type":"state"}
"#;
    let expected = r#"
        = codex B "Hi" on dev
        2 user: "Hi"
        records: 1
        active: 2
        "#;
    check(&read(&Window::whole("x.jsonl", lines.as_bytes()), &Resume::default()), expected);
    check(
        &read_object(&Window::whole("x.json", OBJECT)).expect("an object of the first version"),
        r#"
        = codex O "Hi"
        1 user: "Hi"
        active: 1
        skipped items[1]: not a JSON object
        "#,
    );
}

#[test]
fn forks_and_subagents_name_their_session() {
    let meta = |more: &str| {
        format!(r#"{{"timestamp":"2026-01-01T10:00:00Z","type":"session_meta","payload":{{"id":"C",{more}}}}}"#)
    };
    let cases = [
        (r#""history_base":{"thread_id":"P","end_ordinal_exclusive":7}"#, "= codex C fork of P at 6\nactive: none"),
        (r#""forked_from_id":"P""#, "= codex C fork of P\nactive: none"),
        (r#""parent_thread_id":"P","agent_role":"explorer""#, "= codex C [explorer] subagent of P\nactive: none"),
        (r#""source":{"subagent":{"thread_spawn":{"parent_thread_id":"P"}}}"#, "= codex C subagent of P\nactive: none"),
    ];
    for (more, expected) in cases {
        let text = meta(more);
        check(&read(&Window::whole(NAME, text.as_bytes()), &Resume::default()), expected);
    }
}

#[test]
fn damaged_compressed_data_is_refused() {
    assert!(unpack::zstd(b"not zstd at all").is_err());
    // A frame with the text `hello`.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x29, 0x00, 0x00, b'h', b'e', b'l', b'l', b'o'];
    assert_eq!(unpack::zstd(&frame), Ok(b"hello".to_vec()));
    assert!(unpack::zstd(&frame[..frame.len() - 1]).is_err());
    // A frame whose blocks repeat one byte: 128 KiB from four bytes each.
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    for _ in 0..2_000 {
        bomb.extend([0x02, 0x00, 0x10, b'x']);
    }
    bomb.extend([0x03, 0x00, 0x10, b'x']);
    let refused = unpack::zstd(&bomb).expect_err("a bomb");
    assert!(refused.to_string().contains("holds more than"), "{refused}");
}

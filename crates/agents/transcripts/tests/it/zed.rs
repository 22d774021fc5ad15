use rusqlite::Connection;
use threadkeep_transcripts::Database;
use threadkeep_transcripts::sources::zed::{read_object, read_session, sessions};

use crate::show::check;

/// A thread of version 0.3 with every kind of part.
pub const THREAD: &str = r#"{"version":"0.3.0","title":"Fixing","updated_at":"2026-01-01T11:00:00Z","model":{"provider":"anthropic","model":"m"},"subagent_context":{"parent_thread_id":"P","depth":1},"cumulative_token_usage":{"input_tokens":9,"output_tokens":8},"request_token_usage":{"u1":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3}},"initial_project_snapshot":{"worktree_snapshots":[{"worktree_path":"/repo","git_state":{"current_branch":"main"}}]},"messages":[
{"User":{"id":"u1","content":[{"Text":"Fix"},{"Mention":{"uri":"file:///repo/a.rs","content":"fn a() {}"}},{"Image":{"source":"aGk=","size":null}}]}},
{"Agent":{"content":[{"Thinking":{"text":"Hm","signature":"sig"}},{"RedactedThinking":"xx"},{"Text":"Ok"},{"ToolUse":{"id":"c1","name":"read","raw_input":"{}","input":{},"is_input_complete":true}},{"ToolUse":{"id":"c2","name":"grep","raw_input":"{}","input":{},"is_input_complete":true}}],"tool_results":{"c1":{"tool_use_id":"c1","tool_name":"read","is_error":false,"content":{"Text":"text"},"output":null},"c2":{"tool_use_id":"c2","tool_name":"grep","is_error":true,"content":"no","output":null}}}},
"Resume",
{"Compaction":{"summary":"So far"}}]}"#;

const EXPECTED: &str = r#"
        = zed T "Fixing" in /repo on main subagent of P tokens 9/8
        u1 user: "Fix" | "file:///repo/a.rs\nfn a() {}" | file - image/png 2 bytes
        2 < u1 assistant m 1/2/3/0: thinks "Hm" bound to anthropic | thinks "" bound to anthropic | "Ok" | calls read c1 {} | calls grep c2 {}
        2#1 < 2 tool: answers c1 ["text"] | failed c2 ["no"]
        3 < 2#1 system scaffolding: raw "Resume"
        4 < 3 system scaffolding summary: "So far"
        active: 4"#;

#[test]
fn a_thread_with_every_kind_of_part() {
    check(&read_object("T", THREAD.as_bytes()).expect("a thread"), EXPECTED);
    assert!(read_object("T", b"[]").is_err());
}

#[test]
fn older_threads_have_roles_and_segments() {
    let text = br#"{"version":"0.2.0","summary":"Old","updated_at":"2025-01-01T00:00:00Z","messages":[{"id":0,"role":"user","segments":[{"type":"text","text":"Hi"}],"tool_uses":[],"tool_results":[],"context":""},{"id":1,"role":"assistant","segments":[{"type":"thinking","text":"Hm","signature":null}],"tool_uses":[{"id":"c1","name":"read","input":{}}],"tool_results":[]},{"id":2,"role":"user","segments":[],"tool_uses":[],"tool_results":[{"tool_use_id":"c1","is_error":false,"content":"text"}],"is_hidden":true}]}"#;
    check(
        &read_object("T", text).expect("a thread"),
        r#"
        = zed T "Old"
        0 user: "Hi" +context
        1 < 0 assistant: thinks "Hm" | calls read c1 {}
        2 < 1 tool scaffolding: answers c1 ["text"]
        active: 2
        "#,
    );
}

/// A database with the thread, plain and compressed in a raw block.
pub fn database(path: &std::path::Path) {
    let connection = Connection::open(path).expect("a new file");
    connection
        .execute_batch("CREATE TABLE threads (id TEXT PRIMARY KEY, parent_id TEXT, summary TEXT NOT NULL, updated_at TEXT NOT NULL, data_type TEXT NOT NULL, data BLOB NOT NULL)")
        .expect("the table");
    let length = THREAD.len() as u32;
    let mut packed = vec![0x28, 0xb5, 0x2f, 0xfd, 0x80 | 0x20];
    packed.extend(length.to_le_bytes());
    packed.extend(&((length << 3) | 1).to_le_bytes()[..3]);
    packed.extend(THREAD.as_bytes());
    for (id, kind, data) in [("T", "zstd", packed.as_slice()), ("U", "json", THREAD.as_bytes()), ("V", "zstd", b"x")] {
        connection
            .execute("INSERT INTO threads VALUES (?1, NULL, 's', '2026-01-01T00:00:00Z', ?2, ?3)", (id, kind, data))
            .expect("a row");
    }
}

#[test]
fn a_database_holds_threads_plain_and_compressed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("threads.db");
    database(&path);
    let opened = Database::open(&path).expect("a database");
    assert_eq!(sessions(&opened), Ok(vec!["T".to_owned(), "U".to_owned(), "V".to_owned()]));
    check(&read_session(&opened, "T").expect("a thread"), EXPECTED);
    check(&read_session(&opened, "U").expect("a thread"), &EXPECTED.replace("zed T", "zed U"));
    assert!(read_session(&opened, "V").is_err());
}

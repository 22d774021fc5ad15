use rusqlite::Connection;
use threadkeep_transcripts::sources::goose::{read, read_object, read_session, sessions};
use threadkeep_transcripts::{Database, Resume, Window};

use crate::show::{check, check_growing};

/// Every kind of content, and a message that was compacted away.
pub const EXPORT: &str = r#"{"id":"S","working_dir":"/repo","name":"Fixing","user_set_name":true,"session_type":"user","created_at":"2026-01-01T10:00:00Z","updated_at":"2026-01-01T11:00:00Z","extension_data":{},"accumulated_input_tokens":30,"accumulated_output_tokens":4,"message_count":3,"conversation":[
{"id":"m1","role":"user","created":1767261600,"content":[{"type":"text","text":"Fix"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"metadata":{"userVisible":true,"agentVisible":false}},
{"id":"m2","role":"assistant","created":1767261601,"content":[{"type":"thinking","thinking":"Hm","signature":"sig"},{"type":"redactedThinking","data":"xx"},{"type":"text","text":"Ok"},{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"ls"}}}},{"type":"toolRequest","id":"c2","toolCall":{"status":"error","error":"bad"}}],"metadata":{"userVisible":true,"agentVisible":true,"inference":{"model":"m","provider":"anthropic"}}},
{"role":"user","created":1767261602,"content":[{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"a.rs"}],"isError":false,"structuredContent":{"n":1}}}},{"type":"toolResponse","id":"c2","toolResult":{"status":"error","error":"denied"}}],"metadata":{"userVisible":true,"agentVisible":true}},
{"id":"m4","role":"assistant","created":1767261603,"content":[{"type":"systemNotification","notificationType":"x","msg":"compacted"},{"type":"toolConfirmationRequest","id":"q"}],"metadata":{"userVisible":false,"agentVisible":true}},
7]}"#;

const MESSAGES: &str = r#"
        m1 user out-of-context: "Fix" | file - image/png 2 bytes
        m2 < m1 assistant m: thinks "Hm" bound to anthropic | thinks "" bound to anthropic | "Ok" | calls shell c1 {"command":"ls"} | raw {"type":"toolRequest","id":"c2","toolCall":{"status":"error","error":"bad"}}
        3 < m2 tool: answers c1 ["a.rs" | raw {"structuredContent":{"n":1}}] | failed c2 ["denied"]
        m4 < 3 assistant scaffolding: raw {"type":"systemNotification","notificationType":"x","msg":"compacted"} | raw {"type":"toolConfirmationRequest","id":"q"}
        active: m4"#;

#[test]
fn an_export_with_every_kind_of_content() {
    let reading = read_object(&Window::whole("S.json", EXPORT.as_bytes())).expect("an export");
    let head = r#"= goose S "Fixing" in /repo tokens 30/4"#;
    check(&reading, &format!("{head}{MESSAGES}\nskipped conversation[4]: not a JSON object"));
    assert!(read_object(&Window::whole("S.json", b"{\"id\":\"S\"}")).is_err());
}

/// The export as a database.
pub fn database(path: &std::path::Path) {
    let connection = Connection::open(path).expect("a new file");
    connection
        .execute_batch(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, working_dir TEXT, created_at TIMESTAMP, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER);
             CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT);
             INSERT INTO sessions VALUES ('S', 'Fixing', '/repo', '2026-01-01 10:00:00', 30, 4);",
        )
        .expect("the tables");
    let export: serde_json::Value = serde_json::from_str(EXPORT).expect("JSON");
    for message in export["conversation"].as_array().expect("a list").iter().filter(|it| it.is_object()) {
        connection
            .execute(
                "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json) VALUES (?1, 'S', ?2, ?3, ?4, ?5)",
                (message["id"].as_str(), message["role"].as_str(), message["content"].to_string(), message["created"].as_i64(), message["metadata"].to_string()),
            )
            .expect("a row");
    }
}

#[test]
fn a_database_gives_the_same_messages() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sessions #1?.db");
    database(&path);
    let before = std::fs::read(&path).expect("the file");
    let opened = Database::open(&path).expect("a database");
    assert_eq!(sessions(&opened), Ok(vec!["S".to_owned()]));
    let reading = read_session(&opened, "S").expect("the session");
    check(&reading, &format!("= goose S \"Fixing\" in /repo tokens 30/4{MESSAGES}"));
    assert_eq!(reading.sessions[0].created.map(|it| it.to_string()).as_deref(), Some("2026-01-01T10:00:00.000000Z"));
    assert_eq!(std::fs::read(&path).expect("the file"), before);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1, "no file is made beside it");
}

/// The older form.
pub const LINES: &str = r#"{"working_dir":"/repo","description":"Old one","message_count":2,"total_tokens":5}
{"role":"user","created":1767261600,"content":[{"type":"text","text":"Hi"}]}
{"role":"assistant","created":1767261601,"content":[{"type":"text","text":"Hello"}]}
"#;

#[test]
fn older_sessions_are_json_lines() {
    check(
        &read(&Window::whole("20260101_100000.jsonl", LINES.as_bytes()), &Resume::default()),
        r#"
        = goose 20260101_100000 "Old one" in /repo
        2 user: "Hi"
        3 < 2 assistant: "Hello"
        active: 3
        "#,
    );
    check_growing("20260101_100000.jsonl", LINES, read);
}

use rusqlite::Connection;
use serde_json::Value;
use threadkeep_transcripts::sources::opencode::{read_object, read_session, read_tree, sessions};
use threadkeep_transcripts::{Database, Window};

use crate::show::check;

/// Every kind of part, a reverted message, a compaction and a subagent.
pub const EXPORT: &str = r#"{"info":{"id":"ses_1","slug":"s","projectID":"p","directory":"/repo","parentID":"ses_0","title":"Fixing","version":"1","time":{"created":1767261600000,"updated":1767261700000,"archived":1767261800000},"revert":{"messageID":"msg_4"}},
"messages":[
{"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1767261600000},"agent":"build"},"parts":[{"id":"prt_1","type":"text","text":"Fix"},{"id":"prt_2","type":"file","mime":"image/png","filename":"a.png","url":"data:image/png;base64,aGk="},{"id":"prt_2b","type":"file","mime":"text/plain","url":"file:///etc/passwd"}]},
{"info":{"id":"msg_2","sessionID":"ses_1","role":"assistant","parentID":"msg_1","modelID":"m","providerID":"anthropic","time":{"created":1767261601000,"completed":1767261602000},"cost":0.5,"tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}},"finish":"stop"},"parts":[{"id":"prt_3","type":"step-start","snapshot":"x"},{"id":"prt_4","type":"reasoning","text":"Hm","metadata":{"anthropic":{"signature":"sig"}}},{"id":"prt_5","type":"tool","callID":"c1","tool":"read","state":{"status":"completed","input":{"path":"a"},"output":"text","title":"a","metadata":{"n":1},"attachments":[{"mime":"image/png","url":"data:image/png;base64,aGk="}]}},{"id":"prt_6","type":"tool","callID":"c2","tool":"task","state":{"status":"error","input":{},"error":"no","metadata":{"sessionId":"ses_2"}}},{"id":"prt_7","type":"step-finish","reason":"tool-calls"},{"id":"prt_8","type":"text","text":"Done"},{"id":"prt_9","type":"tool","callID":"c3","tool":"bash","state":{"status":"pending","input":{},"raw":""}},{"id":"prt_a","type":"patch","hash":"h","files":[]}]},
{"info":{"id":"msg_3","sessionID":"ses_1","role":"user","time":{"created":1767261603000}},"parts":[{"id":"prt_b","type":"compaction","auto":true,"tail_start_id":"msg_1"}]},
{"info":{"id":"msg_3b","sessionID":"ses_1","role":"assistant","summary":true,"time":{"created":1767261604000}},"parts":[{"id":"prt_c","type":"text","text":"So far"}]},
{"info":{"id":"msg_4","sessionID":"ses_1","role":"user","time":{"created":1767261605000}},"parts":[{"id":"prt_d","type":"text","text":"Reminder","synthetic":true}]},
{"parts":[]}
]}"#;

const EXPECTED: &str = r#"
        = opencode ses_1 "Fixing" in /repo [archived] subagent of ses_0
        msg_1 user: "Fix" | file a.png image/png 2 bytes | file - text/plain at file:///etc/passwd +agent
        msg_2 < msg_1 assistant started ses_2 m 1/5/4/5: raw {"id":"prt_3","type":"step-start","snapshot":"x"} | thinks "Hm" bound to anthropic | calls read c1 {"path":"a"} | calls task c2 {} +cost,finish,parentID,time
        msg_2#1 < msg_2 tool: answers c1 ["text" | file - image/png 2 bytes | raw {"title":"a","metadata":{"n":1}}] | failed c2 ["no" | raw {"metadata":{"sessionId":"ses_2"}}]
        msg_2#2 < msg_2#1 assistant m: raw {"id":"prt_7","type":"step-finish","reason":"tool-calls"} | "Done" | calls bash c3 {} | raw {"type":"tool","callID":"c3","state":{"status":"pending","raw":""}} | raw {"id":"prt_a","type":"patch","hash":"h","files":[]}
        msg_3 < msg_2#2 user scaffolding compaction kept msg_1:
        msg_3b < msg_3 assistant summary: "So far"
        msg_4 < msg_3b user scaffolding: "Reminder"
        active: msg_3b"#;

#[test]
fn an_export_with_every_kind_of_part() {
    let reading = read_object(&Window::whole("x.json", EXPORT.as_bytes())).expect("an export");
    check(&reading, &format!("{EXPECTED}\nskipped messages[5]: not a message with info and parts"));
    assert!(read_object(&Window::whole("x.json", b"{}")).is_err());
}

fn rows() -> (Value, Vec<(Value, Vec<Value>)>) {
    let export: Value = serde_json::from_str(EXPORT).expect("JSON");
    let messages = export["messages"].as_array().expect("a list").iter().filter(|it| it["info"].is_object());
    let messages = messages.map(|it| (it["info"].clone(), it["parts"].as_array().expect("a list").clone()));
    (export["info"].clone(), messages.collect())
}

#[test]
fn a_share_is_a_flat_list() {
    let (info, messages) = rows();
    let mut list = vec![serde_json::json!({ "type": "session", "data": info })];
    for (info, parts) in messages.into_iter().rev() {
        for mut part in parts {
            part["messageID"] = info["id"].clone();
            list.push(serde_json::json!({ "type": "part", "data": part }));
        }
        list.push(serde_json::json!({ "type": "message", "data": info }));
    }
    let bytes = serde_json::to_vec(&list).expect("JSON");
    let mut reading = read_object(&Window::whole("x.json", &bytes)).expect("a share");
    for part in reading.sessions.iter_mut().flat_map(|it| &mut it.messages).flat_map(|it| &mut it.parts) {
        if let threadkeep_transcripts::shape::Part::Raw(Value::Object(raw)) = part {
            raw.remove("messageID");
        }
    }
    check(&reading, EXPECTED);
}

#[test]
fn the_older_tree_of_files_gives_the_same() {
    let (info, messages) = rows();
    let session = serde_json::to_vec(&info).expect("JSON");
    let mut infos = Vec::new();
    let mut parts = Vec::new();
    for (info, list) in messages {
        let id = info["id"].as_str().expect("an id").to_owned();
        for mut part in list {
            part["messageID"] = id.clone().into();
            parts.push((part["id"].as_str().expect("an id").to_owned(), serde_json::to_vec(&part).expect("JSON")));
        }
        infos.push((id, serde_json::to_vec(&info).expect("JSON")));
    }
    infos.reverse();
    let files = |list: &[(String, Vec<u8>)]| list.iter().map(|(id, it)| (id.clone(), it.clone())).collect::<Vec<_>>();
    let (infos, parts) = (files(&infos), files(&parts));
    let infos: Vec<(&str, &[u8])> = infos.iter().map(|(id, it)| (id.as_str(), it.as_slice())).collect();
    let parts: Vec<(&str, &[u8])> = parts.iter().map(|(id, it)| (id.as_str(), it.as_slice())).collect();
    let mut reading = read_tree(("ses_1", &session), &infos, &parts).expect("a tree");
    for part in reading.sessions.iter_mut().flat_map(|it| &mut it.messages).flat_map(|it| &mut it.parts) {
        if let threadkeep_transcripts::shape::Part::Raw(Value::Object(raw)) = part {
            raw.remove("messageID");
        }
    }
    check(&reading, EXPECTED);
}

/// The export as a database.
pub fn database(path: &std::path::Path) {
    let connection = Connection::open(path).expect("a new file");
    connection
        .execute_batch(
            "CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT, time_created INTEGER, time_updated INTEGER, time_archived INTEGER, revert TEXT);
             CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
             CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
             CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, data TEXT);
             INSERT INTO session VALUES ('ses_1', 'p', 'ses_0', '/repo', 'Fixing', 1767261600000, 1767261700000, 1, '{\"messageID\":\"msg_4\"}');
             INSERT INTO session VALUES ('ses_9', 'p', NULL, '/repo', 'New session - 1', 1767261600000, 1767261700000, NULL, NULL);
             INSERT INTO session_message VALUES ('a', 'ses_9', 'user', 1, '{\"text\":\"Hi\"}');
             INSERT INTO session_message VALUES ('b', 'ses_9', 'assistant', 2, '{\"content\":[{\"type\":\"text\",\"text\":\"Hello\"},{\"type\":\"tool\",\"id\":\"c\",\"name\":\"read\",\"state\":{\"status\":\"completed\",\"input\":{},\"output\":\"x\"}}]}');
             INSERT INTO session_message VALUES ('c', 'ses_9', 'compaction', 3, '{\"summary\":\"So far\"}');",
        )
        .expect("the tables");
    for (mut info, parts) in rows().1 {
        let id = info["id"].as_str().expect("an id").to_owned();
        let time = info["time"]["created"].as_i64();
        for mut part in parts {
            let name = part["id"].as_str().expect("an id").to_owned();
            part.as_object_mut().expect("an object").shift_remove("id");
            let row = (&name, &id, part.to_string());
            connection.execute("INSERT INTO part VALUES (?1, ?2, 'ses_1', ?3)", row).expect("a row");
        }
        info.as_object_mut().expect("an object").remove("id");
        let row = (&id, time, info.to_string());
        connection.execute("INSERT INTO message VALUES (?1, 'ses_1', ?2, ?2, ?3)", row).expect("a row");
    }
}

#[test]
fn a_database_gives_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("opencode.db");
    database(&path);
    let opened = Database::open(&path).expect("a database");
    assert_eq!(sessions(&opened), Ok(vec!["ses_1".to_owned(), "ses_9".to_owned()]));
    let mut reading = read_session(&opened, "ses_1").expect("the session");
    for part in reading.sessions.iter_mut().flat_map(|it| &mut it.messages).flat_map(|it| &mut it.parts) {
        if let threadkeep_transcripts::shape::Part::Raw(Value::Object(raw)) = part
            && let Some(id) = raw.shift_remove("id")
        {
            raw.shift_insert(0, "id".to_owned(), id);
        }
    }
    check(&reading, EXPECTED);
    check(
        &read_session(&opened, "ses_9").expect("the session"),
        r#"
        = opencode ses_9 in /repo
        a user: "Hi"
        b < a assistant: "Hello" | calls read c {}
        b#1 < b tool: answers c ["x"]
        c < b#1 system scaffolding: "So far" +kind
        active: c
        "#,
    );
}

#[test]
fn a_view_in_place_of_a_table_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("evil.db");
    let connection = Connection::open(&path).expect("a new file");
    connection
        .execute_batch(
            "CREATE TABLE message (id TEXT); CREATE TABLE part (id TEXT);
             CREATE VIEW session AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n;",
        )
        .expect("the tables");
    drop(connection);
    let opened = Database::open(&path).expect("a database");
    assert!(sessions(&opened).expect_err("a view").to_string().contains("lacks the tables"));
    assert!(Database::open(&folder.path().join("missing.db")).is_err());
}

use rusqlite::Connection;
use serde_json::{Value, json};
use threadkeep_transcripts::Database;
use threadkeep_transcripts::sources::langgraph::{Checkpoint, Listed, Stored, read_rows, read_session, sessions};

use crate::show::check;

/// MessagePack of a value. An object with `~class` becomes an extension, as the saver writes its messages.
pub fn pack(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, value);
    out
}

fn write(out: &mut Vec<u8>, value: &Value) {
    let sized = |out: &mut Vec<u8>, head: u8, length: usize| {
        out.push(head);
        out.extend(u32::try_from(length).expect("it fits").to_be_bytes());
    };
    match value {
        Value::Null => out.push(0xc0),
        Value::Bool(flag) => out.push(if *flag { 0xc3 } else { 0xc2 }),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => {
                out.push(0xd3);
                out.extend(whole.to_be_bytes());
            }
            None => {
                out.push(0xcb);
                out.extend(number.as_f64().expect("a number").to_be_bytes());
            }
        },
        Value::String(text) => {
            sized(out, 0xdb, text.len());
            out.extend(text.as_bytes());
        }
        Value::Array(list) => {
            sized(out, 0xdd, list.len());
            list.iter().for_each(|item| write(out, item));
        }
        Value::Object(map) => match map.get("~class").and_then(Value::as_str) {
            Some(class) => {
                let (module, name) = class.rsplit_once('.').expect("a path");
                let mut fields = map.clone();
                fields.remove("~class");
                let inner = pack(&json!([module, name, fields, "model_validate_json"]));
                sized(out, 0xc9, inner.len());
                out.push(5);
                out.extend(inner);
            }
            None => {
                sized(out, 0xdf, map.len());
                for (name, value) in map {
                    write(out, &Value::String(name.clone()));
                    write(out, value);
                }
            }
        },
    }
}

pub fn human(id: &str, text: &str) -> Value {
    json!({ "~class": "langchain_core.messages.human.HumanMessage", "type": "human", "id": id, "content": text, "additional_kwargs": {}, "response_metadata": {} })
}

fn checkpoint(messages: Value) -> Value {
    json!({ "v": 4, "id": "x", "ts": "2026-01-01T10:00:00+00:00", "channel_values": { "messages": messages, "branch:to:model": null, "todo": ["a"] }, "channel_versions": {}, "versions_seen": {} })
}

/// A thread with a fork, an edited message, a pending write, a subgraph, and rows that cannot be read.
pub fn database(path: &std::path::Path) {
    let connection = Connection::open(path).expect("a new file");
    connection
        .execute_batch(
            "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB);
             CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT, idx INTEGER, channel TEXT, type TEXT, value BLOB);",
        )
        .expect("the tables");
    let put = |ns: &str, id: &str, parent: Option<&str>, kind: &str, bytes: Vec<u8>| {
        connection
            .execute(
                "INSERT INTO checkpoints VALUES ('T', ?1, ?2, ?3, ?4, ?5, '{\"source\":\"loop\",\"step\":1}')",
                (ns, id, parent, kind, bytes),
            )
            .expect("a row");
    };
    let ai = json!({ "~class": "langchain_core.messages.ai.AIMessage", "type": "ai", "id": "m2", "content": [{ "type": "text", "text": "Ok" }, { "type": "image_url", "image_url": { "url": "data:image/png;base64,aGk=" } }, { "type": "tool_use", "id": "c1", "name": "f", "input": {} }],
        "tool_calls": [{ "id": "c1", "name": "f", "args": { "a": 1 } }, { "id": "c2", "name": "g", "args": {} }], "usage_metadata": { "input_tokens": 9, "output_tokens": 2, "total_tokens": 11, "input_token_details": { "cache_read": 4 } }, "response_metadata": { "model_name": "m" } });
    let tool = json!({ "~class": "langchain_core.messages.tool.ToolMessage", "type": "tool", "id": "m3", "content": "no", "tool_call_id": "c1", "status": "error" });
    put("", "1", None, "msgpack", pack(&checkpoint(json!([human("m1", "Hi")]))));
    put("", "2", Some("1"), "msgpack", pack(&checkpoint(json!([human("m1", "Hi"), ai]))));
    put("", "3", Some("2"), "msgpack", pack(&checkpoint(json!([human("m1", "Hi"), ai, tool]))));
    put("", "4", Some("1"), "msgpack", pack(&checkpoint(json!([human("m1", "Hi"), human("m4", "Other way")]))));
    put("", "5", Some("4"), "json", serde_json::to_vec(&checkpoint(json!([{ "lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "HumanMessage"], "kwargs": { "content": "Hi, edited", "id": "m1", "type": "human" } }, 7]))).expect("JSON"));
    put("", "6", Some("5"), "pickle", b"x".to_vec());
    put("", "7", Some("5"), "msgpack+aes", b"x".to_vec());
    put("sub:1", "1", None, "msgpack", pack(&checkpoint(json!([human("s1", "Inside")]))));
    let write = pack(&json!([human("m5", "Pending")]));
    connection
        .execute("INSERT INTO writes VALUES ('T', '', '3', 't', 0, 'messages', 'msgpack', ?1)", [write])
        .expect("a row");
}

#[test]
fn checkpoints_become_a_tree() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("checkpoints.db");
    database(&path);
    let opened = Database::open(&path).expect("a database");
    let listed = |namespace: &str| Listed { thread: "T".to_owned(), namespace: namespace.to_owned() };
    assert_eq!(sessions(&opened), Ok(vec![listed(""), listed("sub:1")]));
    check(
        &read_session(&opened, &listed("")).expect("the thread"),
        r#"
        = langgraph T "Hi"
        m1 user: "Hi"
        m2 < m1 assistant m 5/2/4/0: "Ok" | file - image/png 2 bytes | calls f c1 {"a":1} | calls g c2 {}
        m3 < m2 tool: failed c1 ["no"]
        m5 < m3 user: "Pending"
        m4 < m1 user: "Other way"
        m1@5 user: "Hi, edited"
        5#1 < m1@5 system scaffolding: raw 7
        active: 5#1
        skipped checkpoint 6: pickle can run code, so it is not read
        skipped checkpoint 7: it is encrypted
        "#,
    );
    check(
        &read_session(&opened, &listed("sub:1")).expect("the subgraph"),
        r#"
        = langgraph T/sub:1 "Inside" subagent of T
        s1 user: "Inside"
        active: s1
        "#,
    );
}

#[test]
fn rows_of_postgresql_have_their_channels_apart() {
    let listed = Listed { thread: "T".to_owned(), namespace: String::new() };
    let value =
        br#"{"v":4,"ts":"2026-01-01T10:00:00+00:00","channel_values":{"step":1},"channel_versions":{"messages":"1"}}"#;
    let row = Checkpoint {
        id: "1".to_owned(),
        value: Stored { kind: "json".to_owned(), bytes: value.to_vec() },
        channels: vec![(
            "messages".to_owned(),
            Stored { kind: "msgpack".to_owned(), bytes: pack(&json!([human("m1", "Hi")])) },
        )],
        ..Checkpoint::default()
    };
    check(&read_rows(&listed, [row]), "= langgraph T \"Hi\"\nm1 user: \"Hi\"\nactive: m1");
}

//! Conversations of other agents: in by `import`, found again, followed live, and out by `export`.

use serde_json::json;

use crate::support::{Keep, Running, eventually, served};

fn line(id: &str, parent: Option<&str>, role: &str, text: &str) -> String {
    let message = json!({ "id": format!("m-{id}"), "role": role, "model": "claude-x", "content": [{ "type": "text", "text": text }] });
    let record = json!({
        "type": role, "uuid": format!("uuid-{id}"), "parentUuid": parent.map(|id| format!("uuid-{id}")), "sessionId": "S",
        "timestamp": format!("2026-01-01T10:00:0{}Z", id.len()), "cwd": "/repo", "message": message,
    });
    format!("{record}\n")
}

/// A store, and a home with a session of Claude Code: one branch was left.
fn home() -> Keep {
    let keep = Keep::new();
    let text = line("1", None, "user", "Why does the parser loop?")
        + &line("22", Some("1"), "assistant", "An old answer.")
        + &line("333", Some("1"), "assistant", "It never consumes the token.");
    write(&keep, &(text + "broken\n"));
    keep
}

fn write(keep: &Keep, text: &str) {
    let folder = keep.at("home/.claude/projects/-repo");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("S.jsonl"), text).expect("a file");
}

fn ran(keep: &Keep, args: &[&str]) -> crate::support::Ran {
    let mut command = keep.command(args);
    command.env("HOME", keep.at("home")).env_remove("CLAUDE_CONFIG_DIR").env_remove("XDG_DATA_HOME");
    crate::support::run(command, b"")
}

#[test]
fn a_session_is_imported_once_and_found() {
    let keep = home();
    ran(&keep, &["import", "auto"]).refused(2, &["--yes", "claude-code", "1 file"]);
    let dry = ran(&keep, &["import", "claude-code", "--dry-run"]).ok();
    assert_eq!(dry, "would import 1 thread, 1 branch, 3 messages; 1 skipped");
    let first = ran(&keep, &["import", "auto", "--yes"]);
    assert!(first.stderr.contains("S.jsonl:4: not JSON"), "{first:?}");
    assert_eq!(first.ok(), "imported 1 thread, 1 branch, 3 messages; 1 skipped");
    let found = keep.ok(&["search", "\"consumes the token\"", "--limit", "1"]);
    assert!(found.contains("It never consumes the token."), "{found}");
    let again = ran(&keep, &["import", "claude-code"]).ok();
    assert_eq!(again, "imported 0 threads, 0 branches, 0 messages; 1 unchanged files");
    let shown = keep.ok(&["show", "Why does the parser loop?"]);
    assert!(shown.contains("2026-01-01 10:00:01Z") && !shown.contains("An old answer"), "{shown}");
    ran(&keep, &["import", "claude-code", "--since", "soon"]).refused(2, &["7d for a week ago"]);
    ran(&keep, &["import", "langgraph"]).refused(2, &["no default place"]);
    ran(&keep, &["import", "pi"]).refused(3, &["no conversations"]);
}

#[test]
fn the_same_while_a_server_runs_on_the_folder() {
    served(a_session_is_imported_once_and_found);
}

#[test]
fn a_session_goes_out_as_it_came_in() {
    let keep = home();
    ran(&keep, &["import", "claude-code"]).ok();
    let thread = "Why does the parser loop?";
    let out = keep.run(&["export", thread, "--format", "claude-code", "-o", "out.jsonl"]);
    out.ok();
    let other = Keep::new();
    std::fs::copy(keep.at("out.jsonl"), other.at("in.jsonl")).expect("a copy");
    assert_eq!(other.ok(&["import", "claude-code", "in.jsonl"]), "imported 1 thread, 1 branch, 3 messages");
    assert_eq!(other.conversation(thread), keep.conversation(thread));
    let markdown = keep.run(&["export", thread, "--format", "markdown"]);
    assert!(markdown.stderr.contains("markdown cannot hold 1 messages on other branches"), "{markdown:?}");
    assert!(markdown.ok().contains("It never consumes the token."));
    for format in ["openai", "atif", "jsonl", "amp"] {
        assert!(keep.ok(&["export", thread, "--format", format]).contains("consumes the token"), "{format}");
    }
}

#[test]
fn calls_results_and_reasoning_go_out_and_come_back() {
    let keep = Keep::new();
    let said = |id: &str, parent: &str, role: &str, content: serde_json::Value| {
        let message = json!({ "id": format!("m-{id}"), "role": role, "content": content });
        let record = json!({
            "type": role, "uuid": format!("uuid-{id}"), "parentUuid": format!("uuid-{parent}"), "sessionId": "S",
            "timestamp": "2026-01-01T10:00:05Z", "message": message,
        });
        format!("{record}\n")
    };
    let reply = json!([
        { "type": "thinking", "thinking": "Hm", "signature": "sig" },
        { "type": "tool_use", "id": "c1", "name": "read", "input": { "path": "a.rs" } },
        { "type": "tool_use", "id": "c2", "name": "read", "input": { "path": "b.rs" } },
    ]);
    let result = |call: &str, text: &str, is_error: bool| json!([{ "type": "tool_result", "tool_use_id": call, "content": text, "is_error": is_error }]);
    let text = line("1", None, "user", "Why does the parser loop?")
        + &said("2", "1", "assistant", reply)
        + &said("3", "2", "user", result("c1", "fn main() {}", false))
        + &said("4", "2", "user", result("c2", "no such file", true))
        + &said("5", "4", "assistant", json!([{ "type": "text", "text": "It never consumes the token." }]));
    std::fs::write(keep.at("S.jsonl"), text).expect("a file");
    assert_eq!(keep.ok(&["import", "claude-code", "S.jsonl"]), "imported 1 thread, 0 branches, 5 messages");
    let contents = |keep: &Keep| -> Vec<serde_json::Value> {
        let shown = keep.json(&["show", "Why does the parser loop?", "--all"]);
        shown["messages"]["items"].as_array().expect("messages").iter().map(|it| it["content"].clone()).collect()
    };
    for (format, name) in [("claude-code", "out.jsonl"), ("amp", "T-out.json")] {
        keep.run(&["export", "Why does the parser loop?", "--format", format, "-o", name]).ok();
        let other = Keep::new();
        std::fs::copy(keep.at(name), other.at(name)).expect("a copy");
        assert_eq!(other.ok(&["import", format, name]), "imported 1 thread, 0 branches, 5 messages", "{format}");
        assert_eq!(contents(&other), contents(&keep), "{format}");
    }
}

#[test]
fn a_session_that_is_being_written_appears() {
    let keep = home();
    let mut command = keep.command(&["import", "claude-code", "--watch", "--json"]);
    command.env("HOME", keep.at("home")).env_remove("CLAUDE_CONFIG_DIR");
    let mut watching = Running::start(command);
    assert_eq!(watching.next_json()["threads"], 1);
    let path = keep.at("home/.claude/projects/-repo/S.jsonl");
    let text = std::fs::read_to_string(&path).expect("the file");
    write(&keep, &(text + &line("4444", Some("333"), "user", "Then fix it.")));
    assert_eq!(watching.next_json()["messages"], 1);
    eventually("the message appears", || keep.ok(&["show", "Why does the parser loop?"]).contains("Then fix it."));
    watching.kill();
}

#[test]
fn a_place_that_cannot_be_read_is_an_error() {
    let keep = Keep::new();
    std::fs::write(keep.at("a.jsonl"), "not a session\n").expect("a file");
    keep.run(&["import", "claude-code", "a.jsonl"]).refused(2, &["a.jsonl:1: not JSON"]);
    std::fs::write(keep.at("b.jsonl"), "{\"type\":\"unknown\"}\n").expect("a file");
    keep.run(&["import", "claude-code", "b.jsonl"]).refused(3, &["no conversations were found in b.jsonl"]);
    std::fs::write(keep.at("a.zip"), "not an archive").expect("a file");
    keep.run(&["import", "chatgpt", "a.zip"]).refused(2, &["a.zip"]);
    let url = "postgres://ann:secret@127.0.0.1:1/none";
    let refused = keep.run(&["import", "langgraph", url]);
    assert!(!refused.stderr.contains("secret"), "{refused:?}");
    refused.refused(6, &["postgres://ann@127.0.0.1:1/none", "cannot be reached"]);
    keep.run(&["import", "codex", url]).refused(2, &["codex keeps no conversations on a PostgreSQL server"]);
}

#[test]
fn checkpoints_of_a_saver_on_postgresql_are_imported() {
    let (keep, schema) = (Keep::new(), threadkeep_throwaway::schema());
    let sql = |statements: &str| threadkeep_throwaway::sql(&schema.url(), statements);
    threadkeep_throwaway::sql(threadkeep_throwaway::postgres(), &format!("CREATE SCHEMA {}", schema.name()));
    sql("CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT,
             type TEXT, checkpoint JSONB, metadata JSONB);
         CREATE TABLE checkpoint_blobs (thread_id TEXT, checkpoint_ns TEXT, channel TEXT, version TEXT, type TEXT, blob BYTEA);
         CREATE TABLE checkpoint_writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT, idx INTEGER,
             channel TEXT, type TEXT, blob BYTEA);");
    let put = |id: u32, messages: serde_json::Value| {
        let versions = json!({ "channel_versions": { "messages": id.to_string() }, "ts": "2026-01-01T10:00:00Z" });
        sql(&format!(
            "INSERT INTO checkpoints VALUES ('T', '', '{id}', NULL, NULL, '{versions}', '{{}}');
             INSERT INTO checkpoint_blobs VALUES ('T', '', 'messages', '{id}', 'json', convert_to('{messages}', 'UTF8'))"
        ));
    };
    let first = json!({ "type": "human", "id": "m1", "content": "Why does the parser loop?" });
    put(1, json!([first]));
    let url = schema.url();
    let import = ["import", "langgraph", url.as_str()];
    assert_eq!(keep.ok(&import), "imported 1 thread, 0 branches, 1 message");
    assert_eq!(keep.ok(&import), "imported 0 threads, 0 branches, 0 messages; 1 already there");
    let mut watching = Running::start(keep.command(&["import", "langgraph", &url, "--watch", "--json"]));
    assert_eq!(watching.next_json()["known"], 1);
    put(2, json!([first, { "type": "ai", "id": "m2", "content": "It never consumes the token." }]));
    assert_eq!(watching.next_json()["messages"], 1);
    assert!(keep.ok(&["show", "Why does the parser loop?"]).contains("It never consumes the token."));
    watching.kill();
}

#[test]
fn an_import_that_is_killed_goes_on() {
    let keep = Keep::new();
    let folder = keep.at("sessions");
    std::fs::create_dir_all(&folder).expect("a folder");
    for session in 0..300 {
        let id = |at: usize| format!("{session:03}-{at:02}");
        let mut text = String::new();
        for at in 0..20 {
            let parent = (at > 0).then(|| id(at - 1));
            text += &line(&id(at), parent.as_deref(), "user", &format!("message {at} of {session}"))
                .replace("\"S\"", &format!("\"S{session}\""));
        }
        std::fs::write(folder.join(format!("s{session}.jsonl")), text).expect("a file");
    }
    for delay in [0, 20, 40, 60, 90] {
        let mut child = keep.command(&["import", "claude-code", "sessions"]).spawn().expect("a process");
        // The moment at which it dies does not matter: every one must end the same.
        std::thread::sleep(std::time::Duration::from_millis(delay));
        child.kill().expect("a kill");
        child.wait().expect("an end");
    }
    keep.ok(&["import", "claude-code", "sessions"]);
    let again = keep.json(&["import", "claude-code", "sessions"]);
    assert_eq!((again["unchanged"].as_u64(), again["messages"].as_u64()), (Some(300), Some(0)), "{again}");
    let listed = keep.json(&["ls", "--limit", "1000"]);
    let threads = listed.as_array().expect("threads");
    let counts: Vec<u64> = threads.iter().filter_map(|it| it["messageCount"].as_u64()).collect();
    assert_eq!(counts, vec![20; 300]);
    keep.ok(&["doctor"]);
}

//! `mcp` on stdio, and its entry in the settings of hosts. The official clients tell longer stories.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Keep, Ran, run};

/// Sends these requests, and gives the answers by their ids. Nothing but the protocol is on stdout.
fn ask(keep: &Keep, requests: &[Value]) -> BTreeMap<u64, Value> {
    let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let told = run(keep.command(&["mcp"]), lines.as_bytes()).ok();
    let told = told.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    told.filter_map(|line| Some((line["id"].as_u64()?, line))).collect()
}

fn opening(name: &str) -> [Value; 2] {
    let client = json!({ "name": name, "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ]
}

fn call(id: u64, name: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": arguments } })
}

#[test]
fn an_agent_acts_by_the_name_of_its_program_on_the_bare_store_and_by_a_server() {
    for keep in [Keep::new(), Keep::served()] {
        let thread = keep.run(&["new", "Tools"]).ok();
        let append = json!({ "thread": thread, "role": "assistant", "content": "Hello!" });
        let [first, second] = opening("my host");
        let told = ask(&keep, &[first, second, call(2, "append", &append)]);
        assert_eq!(told[&1]["result"]["protocolVersion"], "2025-11-25");
        assert_eq!(told[&2]["result"]["isError"], false, "{}", told[&2]);
        let actor = &told[&2]["result"]["structuredContent"]["actor"];
        assert_eq!((&actor["type"], &actor["name"]), (&json!("agent"), &json!("my host")), "{}", told[&2]);
        let file = json!({ "thread": thread, "path": "a.txt", "content": "x" });
        let [first, second] = opening("");
        let told = ask(&keep, &[first, second, call(2, "write_file", &file)]);
        let text = told[&2]["result"]["content"][0]["text"].as_str().expect("a text");
        assert!(text.starts_with("approval_required: ") && text.contains("approvals approve"), "{text}");
    }
}

#[test]
fn an_entry_is_written_into_the_settings_of_a_host_once() {
    let keep = Keep::new();
    let home = keep.at("home");
    std::fs::create_dir(&home).expect("a folder");
    let install = |client: &str, more: &[&str]| -> Ran {
        let mut command = keep.command(&["mcp", "install", "--client", client]);
        command.args(more).env("HOME", &home);
        run(command, b"")
    };
    for (client, path) in [
        ("claude-code", ".claude.json"),
        ("codex", ".codex/config.toml"),
        ("cursor", ".cursor/mcp.json"),
        ("zed", ".config/zed/settings.json"),
    ] {
        let path = home.join(path);
        let asked = install(client, &[]);
        assert_eq!(asked.code, Some(2), "outside a terminal it is not asked: {asked:?}");
        assert!(!path.exists());
        let shown = install(client, &["--yes"]).ok();
        let written = std::fs::read_to_string(&path).expect("settings");
        for text in [&shown, &written] {
            assert!(text.contains("threadkeep") && text.contains("keep.db") && text.contains("mcp"), "{text}");
        }
        assert!(install(client, &["--yes"]).stderr.contains("already"));
        assert_eq!(std::fs::read_to_string(&path).expect("settings"), written);
    }
    assert!(!keep.store().exists(), "no store was begun");
    let settings = home.join(".cursor/mcp.json");
    let now = || std::fs::read_to_string(&settings).expect("settings");
    std::fs::write(&settings, "// mine\n{}").expect("it is written");
    install("cursor", &["--yes"]).ok();
    assert!(now().starts_with("// mine\n{") && now().contains("keep.db"), "comments stay: {}", now());
    for other in [r#"{"mcpServers": {"threadkeep": {"command": "mine"}}}"#, "{ broken"] {
        std::fs::write(&settings, other).expect("it is written");
        let refused = install("cursor", &["--yes"]);
        assert!(refused.code == Some(2) && refused.stderr.contains("is not changed"), "{refused:?}");
        assert_eq!(now(), other);
    }
}

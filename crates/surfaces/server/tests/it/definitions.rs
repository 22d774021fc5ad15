//! The folder of definitions: shown, checked, and read again.

use serde_json::{Value, json};

use crate::support::{Server, write};

const MODEL: &str = "provider = \"openai\"\nmodel = \"small\"\n";
const PROMPT: &str = "prompt = \"Help.\"\nmodel = \"small\"\n[env]\nCITY = \"Rome\"\n";
const AGENT: &str = "[sideA]\nprompt = \"helper\"\n";

/// A server with an agent.
fn server() -> Server {
    let server = Server::start();
    for (path, text) in [("models/small", MODEL), ("prompts/helper", PROMPT), ("agents/helper", AGENT)] {
        write(server.definitions(), &format!("{path}.toml"), text);
    }
    // Without this the server may have read the folder between two of the files.
    server.admin().post("/v1/definitions/reload", json!({})).ok(200);
    server
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().expect("items").iter();
    items
        .map(|item| format!("{}/{}", item["kind"].as_str().unwrap_or("?"), item["name"].as_str().unwrap_or("?")))
        .collect()
}

#[test]
fn definitions_are_listed_and_shown_without_the_values_of_variables() {
    let server = server();
    let reader = server.keyed("ann", "read").0;
    let list = reader.get("/v1/definitions").ok(200);
    assert_eq!(names(&list), ["agents/helper", "prompts/helper", "models/small", "skills/review"]);
    assert_eq!(list["problems"], json!([]));
    let prompt = reader.get("/v1/definitions/prompts/helper").ok(200);
    assert_eq!(prompt["file"], "prompts/helper.toml");
    assert_eq!(prompt["definition"], json!({ "prompt": "Help.", "model": "small", "env": { "CITY": null } }));
    let refused = reader.get("/v1/definitions/agents/helpe").refused(404, "definition_not_found");
    assert_eq!(refused["detail"], "there is no agent 'helpe'; did you mean 'helper'?");
    reader.get("/v1/definitions/robots/helper").refused(404, "definition_not_found");
}

#[test]
fn a_reload_tells_every_mistake_with_its_place() {
    let server = server();
    let admin = server.admin();
    let before = admin.get("/v1/definitions").ok(200);
    write(server.definitions(), "agents/odd.toml", "\n[sideA]\nprompt = \"helpr\"\n");
    let after = admin.post("/v1/definitions/reload", json!({})).ok(200);
    assert_ne!(before["hash"], after["hash"]);
    let mistake = json!({ "file": "agents/odd.toml", "line": 3, "column": 1,
        "rule": "there is no prompt 'helpr'; did you mean 'helper'?" });
    assert_eq!(after["problems"], json!([mistake]));
    assert_eq!(admin.get("/v1/definitions/agents/odd").ok(200)["problems"], json!([mistake]));
    assert_eq!(admin.get("/v1/definitions/agents/helper").ok(200).get("problems"), None);
}

#[test]
fn a_changed_file_is_read_without_being_asked_for() {
    let server = server();
    let admin = server.admin();
    assert_eq!(names(&admin.get("/v1/definitions").ok(200)).len(), 4);
    write(server.definitions(), "skills/polish.md", "# Polish\n");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    // A file that is still being written is read as it is, and once more when it changes.
    let read = || admin.get("/v1/definitions/skills/polish").json()["definition"] == json!({ "text": "# Polish\n" });
    while !read() {
        assert!(std::time::Instant::now() < deadline, "the file is never seen");
        std::thread::yield_now();
    }
}

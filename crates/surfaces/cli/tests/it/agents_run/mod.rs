//! Agents that run, by the real binary: a model that plays a script, tools in workers and over HTTP, and servers that die.

mod default;
mod dual;
mod given;
mod hooks;
#[cfg(feature = "failpoints")]
mod killed;
#[cfg(feature = "failpoints")]
mod moved;
mod provider;
#[cfg(feature = "failpoints")]
mod two_servers;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::serve::Serving;
use crate::support::{Ran, eventually, run, threadkeep};

/// The files of an agent `helper` whose model plays `answers`.
pub(crate) fn files(folder: &TempDir, answers: &Value, tools: &[(&str, &str)]) {
    let write = |path: &str, text: &str| {
        let path = folder.path().join("definitions").join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    let names: Vec<&str> = tools.iter().map(|(path, _)| path.rsplit_once('.').expect("an ending").0).collect();
    write("agents/helper.toml", "[sideA]\nprompt = \"helper\"\n");
    write("prompts/helper.toml", &format!("prompt = \"Help.\"\nmodel = \"play\"\ntools = {names:?}\n"));
    write("models/play.toml", "provider = \"script\"\nmodel = \"scripts/play.json\"\n");
    write("scripts/play.json", &json!({ "answers": answers }).to_string());
    for (path, text) in tools {
        write(&format!("tools/{path}"), text);
    }
}

pub(crate) fn thread(serving: &Serving) -> String {
    let made = serving.ok("POST", "/v1/threads", &json!({ "title": "T", "agentId": "helper" }));
    made["id"].as_str().expect("an id").to_owned()
}

/// The newest run of a thread.
pub(crate) fn newest(serving: &Serving, thread: &str) -> Value {
    serving.ok("GET", &format!("/v1/threads/{thread}/runs"), &Value::Null)["items"][0].clone()
}

#[track_caller]
pub(crate) fn until(serving: &Serving, thread: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let mut found = Value::Null;
    eventually("the run is as expected", || {
        found = newest(serving, thread);
        is_so(&found)
    });
    found
}

fn command(folder: &TempDir, args: &[&str], stdin: &str) -> Ran {
    let mut command = threadkeep();
    command.arg("--data").arg(folder.path()).args(args);
    run(command, stdin.as_bytes())
}

const SHOUT: &str = "import { defineTool, z } from \"threadkeep\";\n\
    export default defineTool({ description: \"Shouts\", args: z.object({ text: z.string() }),\n\
    execute: async (state, args) => args.text.toUpperCase() });\n";

#[test]
fn a_queued_message_has_the_agent_work_and_its_stream_tells_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let answers = json!([
        { "calls": [{ "name": "shout", "arguments": { "text": "one" } }, { "name": "shout", "arguments": { "text": "two" } }] },
        { "text": "It is {{result}}." },
    ]);
    files(&folder, &answers, &[("shout.js", SHOUT)]);
    let serving = Serving::start(folder.path());
    let thread = thread(&serving);
    serving.ok("POST", &format!("/v1/threads/{thread}/queue"), &json!({ "role": "user", "content": "go" }));
    let ended = until(&serving, &thread, |run| run["completedAt"].is_string());
    assert_eq!((&ended["status"], &ended["reason"]), (&json!("completed"), &json!("stop_on_response")), "{ended}");
    let messages = serving.ok("GET", &format!("/v1/threads/{thread}/messages"), &Value::Null);
    let messages = messages["items"].as_array().expect("messages");
    assert_eq!(messages.last().expect("an answer")["content"], "It is TWO.");
    assert_eq!(messages.len(), 5);
    let told = serving.ok("GET", &format!("/v1/runs/{}", ended["id"].as_str().expect("an id")), &Value::Null);
    assert_eq!(told["steps"][0]["model"]["model"], "play", "{told}");
}

#[test]
fn ask_prints_the_answer_with_a_server_and_without_one() {
    let folder = tempfile::tempdir().expect("a folder");
    command(&folder, &["agents", "new", "helper"], "").ok();
    command(&folder, &["new", "First"], "").ok();
    let asked = command(&folder, &["ask", "First", "--agent", "helper", "one two three"], "").ok();
    assert!(asked.starts_with("You wrote 3 words."), "{asked}");
    command(&folder, &["ask", "First", " "], "").refused(2, &["empty"]);
    command(&folder, &["ask", "First", "--agent", "nobody", "x"], "").refused(3, &["'nobody' is not defined here"]);
    let serving = Serving::start(folder.path());
    let asked = command(&folder, &["ask", "First", "four words are here"], "").ok();
    assert!(asked.starts_with("You wrote 4 words."), "{asked}");
    drop(serving);
}

#[test]
fn chat_shows_the_answer_and_asks_for_approvals() {
    let folder = tempfile::tempdir().expect("a folder");
    let deploy = SHOUT.replace("description: \"Shouts\",", "description: \"Deploys\", needs: [\"deploy\"],");
    let answers = json!([
        { "calls": [{ "name": "release", "arguments": { "text": "now" } }] },
        { "text": "Done: {{result}}." },
        { "calls": [{ "name": "release", "arguments": { "text": "again" } }] },
        { "text": "Then not." },
    ]);
    files(&folder, &answers, &[("release.js", &deploy)]);
    let said = command(&folder, &["chat", "--agent", "helper"], "go\ny\nonce more\nn\n").ok();
    assert!(said.contains("Allow release {\"text\":\"now\"} (deploy)?"), "{said}");
    assert!(said.contains("Done: NOW.") && said.contains("· release failed") && said.contains("Then not."), "{said}");
}

#[test]
fn the_demo_plays_a_run_of_an_agent() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = command(&folder, &["demo", "--agent"], "").ok();
    assert!(said.contains("tool       count_words is done") && said.contains("You wrote 7 words."), "{said}");
    assert!(said.contains("run        completed"), "{said}");
}

#[test]
fn a_failure_of_the_model_is_told_and_fails_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    files(&folder, &json!([{ "fails": 400 }]), &[]);
    command(&folder, &["new", "First"], "").ok();
    let asked = command(&folder, &["ask", "First", "--agent", "helper", "x"], "");
    assert_eq!(asked.code, Some(1), "{asked:?}");
    assert!(asked.stderr.contains("step_error") && asked.stderr.contains("the script fails here"), "{asked:?}");
}

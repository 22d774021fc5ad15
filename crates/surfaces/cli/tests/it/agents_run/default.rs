//! The agent `default`: where it comes from, which model it asks, and what is said where there is none.

use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use super::provider::{answering, provider, stream};
use super::{command, newest, until};
use crate::serve::Serving;
use crate::support::{DEADLINE, Ran, eventually, run, threadkeep};

fn answer(text: &str) -> (&'static str, String) {
    stream(&[json!({ "choices": [{ "delta": { "content": text }, "finish_reason": "stop" }] })])
}

/// A model server on this machine that lists its models at `path`, and the models that it was asked for.
fn models_at(listener: TcpListener, path: &'static str, list: Value) -> Receiver<String> {
    let (send, asked) = channel();
    answering(listener, move |request| match request.body["model"].as_str() {
        Some(model) if request.path == "/v1/chat/completions" => {
            drop(send.send(model.to_owned()));
            answer("Found.")
        }
        None if request.path == path => ("200 OK\r\nContent-Type: application/json", list.to_string()),
        Some(_) | None => ("404 Not Found", "{}".to_owned()),
    });
    asked
}

fn listening() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port().to_string();
    (listener, port)
}

fn ollama() -> Value {
    json!({ "models": [{ "name": "nomic-embed-text:latest" }, { "name": "tiny:latest" }] })
}

/// Starts a run on a thread without an agent, and gives the thread.
fn started(serving: &Serving) -> String {
    let made = serving.ok("POST", "/v1/threads", &json!({ "title": "T" }));
    let thread = made["id"].as_str().expect("an id").to_owned();
    let message = json!({ "role": "user", "content": "go" });
    serving.ok("POST", &format!("/v1/threads/{thread}/runs"), &json!({ "message": message }));
    thread
}

fn answered(serving: &Serving, thread: &str) -> String {
    let ended = until(serving, thread, |run| run["completedAt"].is_string());
    assert_eq!((&ended["status"], &ended["agentId"]), (&json!("completed"), &json!("default")), "{ended}");
    let messages = serving.ok("GET", &format!("/v1/threads/{thread}/messages"), &Value::Null);
    let last = messages["items"].as_array().expect("messages").last().expect("one").clone();
    last["content"].as_str().expect("text").to_owned()
}

#[test]
fn a_run_without_an_agent_asks_the_model_of_ollama_or_llama_cpp_on_this_machine() {
    let llama = json!({ "data": [{ "id": "tiny:latest" }] });
    for (flag, path, list) in [("--ollama-port", "/api/tags", ollama()), ("--llama-cpp-port", "/v1/models", llama)] {
        let (listener, port) = listening();
        let asked = models_at(listener, path, list);
        let folder = tempfile::tempdir().expect("a folder");
        let serving = Serving::start_with(folder.path(), &[flag, &port]);
        // Where a thread has no agent, a queued message waits for its executor.
        let untouched = serving.thread();
        let say = json!({ "role": "user", "content": "go" });
        serving.ok("POST", &format!("/v1/threads/{untouched}/queue"), &say);
        let thread = started(&serving);
        assert_eq!(answered(&serving, &thread), "Found.", "{flag}");
        assert_eq!(asked.recv_timeout(DEADLINE).expect("a request"), "tiny:latest", "{flag}");
        // Now the thread has the agent, and the queue starts a run.
        serving.ok("POST", &format!("/v1/threads/{thread}/queue"), &say);
        eventually("the queue starts a run", || {
            let path = format!("/v1/threads/{thread}/runs");
            serving.ok("GET", &path, &Value::Null)["items"].as_array().is_some_and(|runs| runs.len() == 2)
        });
        answered(&serving, &thread);
        assert_eq!(newest(&serving, &untouched), Value::Null, "{flag}");
        let listed = serving.ok("GET", "/v1/definitions", &Value::Null);
        let file = listed["items"].as_array().expect("items").iter().find(|item| item["kind"] == "models");
        assert_eq!(file.expect("a model")["file"], "(built in) models/default.json", "{listed}");
    }
}

#[test]
fn without_a_model_the_refusal_says_what_to_do_and_a_server_that_comes_later_is_found() {
    let (listener, port) = listening();
    let folder = tempfile::tempdir().expect("a folder");
    let serving = Serving::start_with(folder.path(), &["--ollama-port", &port]);
    let thread = serving.thread();
    let path = format!("/v1/threads/{thread}/runs");
    let start = json!({ "message": { "role": "user", "content": "go" } }).to_string();
    // The port is open, and nothing answers there.
    let (status, refused) = serving.ask("POST", &path, serving.key(), &start).expect("an answer");
    assert_eq!((status, &refused["code"]), (409, &json!("no_model")), "{refused}");
    let hint = refused["hint"].as_str().expect("a hint");
    for way in ["Ollama", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "threadkeep agents new default"] {
        assert!(hint.contains(way), "{hint}");
    }
    let found = serving.ok("GET", &format!("/v1/threads/{thread}"), &Value::Null);
    assert_eq!(found["agentId"], Value::Null, "nothing changed: {found}");
    let asked = models_at(listener, "/api/tags", ollama());
    eventually("the model is found", || {
        serving.ask("POST", &path, serving.key(), &start).is_some_and(|(status, _)| status == 201)
    });
    assert_eq!(answered(&serving, &thread), "Found.");
    assert_eq!(asked.recv_timeout(DEADLINE).expect("a request"), "tiny:latest");
}

#[test]
fn ask_and_chat_find_the_model_of_this_machine_or_say_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    command(&folder, &["new", "First"], "").ok();
    command(&folder, &["ask", "First", "go"], "").refused(5, &["no model", "threadkeep agents new default"]);
    command(&folder, &["chat"], "go\n").refused(5, &["no model", "threadkeep agents new default"]);
    let listed: Value = serde_json::from_str(&command(&folder, &["ls", "--json"], "").ok()).expect("JSON");
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "chat made no thread: {listed}");
    let (listener, port) = listening();
    let _asked = models_at(listener, "/api/tags", ollama());
    let local = |args: &[&str], stdin: &str| -> Ran {
        let mut command = threadkeep();
        command.arg("--data").arg(folder.path()).args(args).env("THREADKEEP_OLLAMA_PORT", &port);
        run(command, stdin.as_bytes())
    };
    assert_eq!(local(&["ask", "First", "go"], "").ok(), "Found.");
    assert!(local(&["chat"], "go\n").ok().contains("Found."));
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join("definitions").join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

#[test]
fn definitions_of_the_folder_come_before_everything_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let play = |name: &str| {
        write(
            folder.path(),
            &format!("scripts/{name}.json"),
            &json!({ "repeat": true, "answers": [{ "text": name }] }).to_string(),
        );
    };
    play("of-the-model");
    write(folder.path(), "models/default.toml", "provider = \"script\"\nmodel = \"scripts/of-the-model.json\"\n");
    let serving = Serving::start_in(folder.path(), &[], &[("THREADKEEP_ENV_OPENAI_API_KEY", "sk-of-nobody-at-all")]);
    let thread = started(&serving);
    assert_eq!(answered(&serving, &thread), "of-the-model");
    drop(serving);
    play("of-the-agent");
    write(folder.path(), "models/own.toml", "provider = \"script\"\nmodel = \"scripts/of-the-agent.json\"\n");
    write(folder.path(), "prompts/own.toml", "prompt = \"Help.\"\nmodel = \"own\"\n");
    write(folder.path(), "agents/default.toml", "[sideA]\nprompt = \"own\"\n");
    let serving = Serving::start(folder.path());
    let thread = started(&serving);
    assert_eq!(answered(&serving, &thread), "of-the-agent");
}

#[test]
fn a_key_of_the_instance_has_its_provider_asked() {
    for (key, url) in
        [("OPENAI_API_KEY", "OPENAI_BASE_URL"), ("THREADKEEP_ENV_OPENAI_API_KEY", "THREADKEEP_ENV_OPENAI_BASE_URL")]
    {
        let (address, asked) = provider(vec![answer("By key.")]);
        let folder = tempfile::tempdir().expect("a folder");
        let address = format!("http://{address}/v1");
        let serving = Serving::start_in(folder.path(), &[], &[(key, "sk-of-the-instance"), (url, &address)]);
        let thread = started(&serving);
        assert_eq!(answered(&serving, &thread), "By key.");
        let asked = asked.recv_timeout(DEADLINE).expect("a request");
        assert_eq!((asked.key.as_str(), &asked.body["model"]), ("Bearer sk-of-the-instance", &json!("gpt-5-mini")));
    }
}

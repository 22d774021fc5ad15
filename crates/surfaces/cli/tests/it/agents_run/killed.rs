//! A server that dies at any commit of a turn: another one goes on, nothing is orphaned, and nothing is done twice.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::hooks::{Hook, hooks};
use super::{files, thread, until};
use crate::serve::Serving;
use crate::support::wait;

/// More commits than a turn has: the last servers do not die.
const COMMITS: usize = 14;
/// The same for a turn whose hooks write, too.
const COMMITS_WITH_HOOKS: usize = 20;

/// A server that counts requests by their keys.
pub(super) struct Counting {
    pub(super) address: String,
    seen: Arc<Mutex<HashMap<String, usize>>>,
}

impl Counting {
    /// How often the calls of a turn were carried out.
    pub(super) fn counts(&self) -> Vec<usize> {
        let seen = self.seen.lock().expect("no panic");
        ["a", "b"].map(|call| seen.get(call).copied().unwrap_or_default()).to_vec()
    }

    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let seen: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
        let counts = Arc::clone(&seen);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                if let Some(key) = answered(socket) {
                    *counts.lock().expect("no panic").entry(key).or_default() += 1;
                }
            }
        });
        Self { address, seen }
    }
}

fn answered(socket: TcpStream) -> Option<String> {
    let mut reader = BufReader::new(socket.try_clone().ok()?);
    let (mut key, mut length, mut line) = (None, 0, String::new());
    while reader.read_line(&mut line).ok()? > 2 {
        let (name, value) = line.trim_end().split_once(':').unwrap_or((&line, ""));
        match name.to_ascii_lowercase().as_str() {
            "idempotency-key" => key = Some(value.trim().to_owned()),
            "content-length" => length = value.trim().parse().unwrap_or(0),
            _ => {}
        }
        line.clear();
    }
    reader.take(length).read_to_end(&mut Vec::new()).ok()?;
    let mut socket = socket;
    socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nsent").ok()?;
    key
}

/// An agent whose turn calls a tool at this address twice.
pub(super) fn two_tools(folder: &TempDir, address: &str, repeatable: bool) {
    let tool = format!(
        "description = \"Sends\"\nmethod = \"POST\"\nurl = \"http://{address}/send\"\nneeds = []\nrepeatable = {repeatable}\n",
    );
    let answers = json!([
        { "calls": [{ "name": "send", "id": "a" }, { "name": "send", "id": "b" }] },
        { "text": "Sent." },
    ]);
    files(folder, &answers, &[("send.toml", &tool)]);
}

/// The conversation after a turn whose server dies after `commit` commits, and how often each call was carried out.
fn dies_after(commit: usize, repeatable: bool) -> (Vec<Value>, Vec<usize>) {
    let (messages, counts, _) = dies_with_hooks(commit, repeatable, &[]);
    (messages, counts)
}

/// The same with hooks, and the values of the thread.
fn dies_with_hooks(commit: usize, repeatable: bool, all: &[Hook<'_>]) -> (Vec<Value>, Vec<usize>, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let counting = Counting::start();
    two_tools(&folder, &counting.address, repeatable);
    let commits = if all.is_empty() { COMMITS } else { COMMITS_WITH_HOOKS };
    if !all.is_empty() {
        hooks(&folder, all);
    }
    let first = Serving::start(folder.path());
    let thread = thread(&first);
    drop(first);
    let point = format!("sqlite-after-sync={commit}*off->return");
    let mut dying = Serving::start_in(folder.path(), &[], &[("FAILPOINTS", &point)]);
    let say = json!({ "role": "user", "content": "go" });
    let path = format!("/v1/threads/{thread}/queue");
    let queued = dying.ask("POST", &path, dying.key(), &say.to_string());
    if queued.is_some() && commit + 1 < commits {
        // It dies, or is done with fewer commits.
        let ended = |serving: &Serving| {
            let path = format!("/v1/threads/{thread}/runs");
            match serving.ask("GET", &path, serving.key(), "") {
                Some((_, runs)) => runs["items"][0]["completedAt"].is_string(),
                None => true,
            }
        };
        crate::support::eventually("it dies, or the run ends", || ended(&dying));
    }
    drop(dying.running.child.kill());
    wait(&mut dying.running.child);
    let second = Serving::start(folder.path());
    // The queue first: a message that is not there any more has a run.
    let is_queued = second.ok("GET", &path, &Value::Null)["items"].as_array().is_some_and(|items| !items.is_empty());
    let waiting = second.ok("GET", &format!("/v1/threads/{thread}/runs"), &Value::Null);
    if waiting["items"] == json!([]) && !is_queued {
        second.ok("POST", &path, &say);
    }
    let ended = until(&second, &thread, |run| run["completedAt"].is_string());
    assert_eq!(ended["status"], "completed", "after {commit}: {ended}");
    let messages = second.ok("GET", &format!("/v1/threads/{thread}/messages?limit=100"), &Value::Null);
    let messages = messages["items"].as_array().expect("messages").clone();
    let values = second.ok("GET", &format!("/v1/threads/{thread}/kv?limit=100"), &Value::Null);
    (messages, counting.counts(), values)
}

/// Roles and what was said: `user go`, `assistant [a b]`, `tool a sent`.
fn shown(messages: &[Value]) -> Vec<String> {
    let part = |part: &Value| match part["type"].as_str() {
        Some("tool_use") => part["id"].as_str().unwrap_or_default().to_owned(),
        Some("tool_result") => {
            format!(
                "{} {}",
                part["toolUseId"].as_str().unwrap_or_default(),
                part["content"].as_str().unwrap_or_default()
            )
        }
        _ => part["text"].as_str().unwrap_or_default().to_owned(),
    };
    let content = |content: &Value| match content {
        Value::Array(parts) => parts.iter().map(part).collect::<Vec<_>>().join(" "),
        text => text.as_str().unwrap_or_default().to_owned(),
    };
    messages
        .iter()
        .map(|said| format!("{} {}", said["role"].as_str().unwrap_or_default(), content(&said["content"])))
        .collect()
}

#[test]
fn a_server_that_dies_at_any_commit_of_a_turn_leaves_nothing_undone_and_nothing_done_twice() {
    for repeatable in [false, true] {
        let deaths: Vec<_> =
            (0..COMMITS).map(|commit| (commit, std::thread::spawn(move || dies_after(commit, repeatable)))).collect();
        for (commit, death) in deaths {
            let (messages, counts) = death.join().expect("a turn");
            whole_turn(&messages, &counts, repeatable, &format!("after {commit}"));
        }
    }
}

/// The turn is whole: no call without its result, nothing done twice that may not be.
pub(super) fn whole_turn(messages: &[Value], counts: &[usize], repeatable: bool, when: &str) {
    let whole = ["user go", "assistant a b", "tool a sent", "tool b sent", "assistant Sent."];
    let shown = shown(messages);
    if repeatable {
        assert_eq!(shown, whole, "{when}");
        return;
    }
    assert!(counts.iter().all(|count| *count <= 1), "{when}: {counts:?} {shown:?}");
    assert_eq!(shown.len(), whole.len(), "{when}: {shown:?}");
    for (said, expected) in shown.iter().zip(whole) {
        let broke_off = said.starts_with("tool ") && said.contains("broke off");
        assert!(said == expected || broke_off, "{when}: {shown:?}");
    }
}

#[test]
fn a_server_that_dies_at_any_commit_keeps_what_hooks_changed_and_calls_those_that_it_did_not_come_to() {
    let all = [
        ("loud", "before_create_message", "(state, message) => ({ ...message, metadata: { loud: true } })"),
        (
            "named",
            "after_tool_call_success",
            "(state, call, result) => ({ ...result, result: `it was ${result.result}` })",
        ),
        ("seen", "after_create_message", "(state, message) => state.setValue(message.id, true)"),
    ];
    let deaths: Vec<_> = (0..COMMITS_WITH_HOOKS)
        .map(|commit| (commit, std::thread::spawn(move || dies_with_hooks(commit, true, &all))))
        .collect();
    for (commit, death) in deaths {
        let (messages, _, values) = death.join().expect("a turn");
        let whole = ["user go", "assistant a b", "tool a it was sent", "tool b it was sent", "assistant Sent."];
        assert_eq!(shown(&messages), whole, "after {commit}");
        for said in messages.iter().filter(|said| said["role"] == "assistant") {
            assert_eq!(said["metadata"]["loud"], true, "after {commit}: {said}");
            let id = said["id"].as_str().expect("an id");
            assert!(values.to_string().contains(id), "after {commit}: {id} in {values}");
        }
    }
}

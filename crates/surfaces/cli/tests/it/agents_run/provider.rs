//! An agent whose model is a real HTTP server on this machine that speaks chat completions, and fails at first.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use super::{SHOUT, files, thread, until};
use crate::serve::Serving;
use crate::support::DEADLINE;

/// What a provider was asked: the path, the key, and the JSON.
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) key: String,
    pub(super) body: Value,
}

/// A provider that gives these answers, one for each request: the head and the body.
pub(super) fn provider(answers: Vec<(&'static str, String)>) -> (String, Receiver<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (send, asked) = channel();
    std::thread::spawn(move || {
        for (head, body) in answers {
            let Ok((socket, _)) = listener.accept() else { return };
            let Some(read) = read(&socket) else { return };
            drop(send.send(read));
            let mut socket = socket;
            let length = body.len();
            let answer = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
            // In two pieces, in the middle of whatever is there.
            let (first, second) = answer.as_bytes().split_at(answer.len() - length / 2);
            drop(socket.write_all(first).and_then(|()| socket.flush()).and_then(|()| socket.write_all(second)));
        }
    });
    (address, asked)
}

/// A server that answers each request, by its path and its JSON, with the head and the body that `answer` gives. It
/// answers several at once.
pub(super) fn answering(
    listener: TcpListener,
    answer: impl Fn(&Asked) -> (&'static str, String) + Send + Sync + 'static,
) {
    let answer = std::sync::Arc::new(answer);
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let answer = std::sync::Arc::clone(&answer);
            std::thread::spawn(move || {
                let Some(asked) = read(&socket) else { return };
                let (head, body) = answer(&asked);
                let length = body.len();
                let whole = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
                drop(socket.write_all(whole.as_bytes()));
            });
        }
    });
}

fn read(socket: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(socket.try_clone().ok()?);
    let (mut key, mut length, mut line) = (String::new(), 0, String::new());
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    line.clear();
    while reader.read_line(&mut line).ok()? > 2 {
        let (name, value) = line.trim_end().split_once(':').unwrap_or((&line, ""));
        match name.to_ascii_lowercase().as_str() {
            "authorization" => key = value.trim().to_owned(),
            "content-length" => length = value.trim().parse().unwrap_or(0),
            _ => {}
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = if length == 0 { Value::Null } else { serde_json::from_slice(&body).ok()? };
    Some(Asked { path, key, body })
}

pub(super) fn stream(chunks: &[Value]) -> (&'static str, String) {
    let mut body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    body.push_str("data: [DONE]\n\n");
    ("200 OK\r\nContent-Type: text/event-stream", body)
}

#[test]
fn an_agent_asks_a_provider_again_that_was_busy_and_sends_it_the_key_that_its_model_names() {
    let call = json!({ "index": 0, "id": "call_1", "type": "function",
        "function": { "name": "shout", "arguments": "{\"text\":\"é hello\"}" } });
    let (address, asked) = provider(vec![
        ("429 Too Many Requests\r\nRetry-After: 0", "{}".to_owned()),
        stream(&[
            json!({ "choices": [{ "delta": { "tool_calls": [call] } }] }),
            json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }], "usage": { "prompt_tokens": 9, "completion_tokens": 3 } }),
        ]),
        stream(&[
            json!({ "choices": [{ "delta": { "content": "It is " } }] }),
            json!({ "choices": [{ "delta": { "content": "loud." }, "finish_reason": "stop" }] }),
        ]),
    ]);
    let folder = tempfile::tempdir().expect("a folder");
    files(&folder, &json!([]), &[("shout.js", SHOUT)]);
    let model =
        format!("provider = \"openai\"\nmodel = \"m\"\nbaseUrl = \"http://{address}/v1\"\nkey = \"MODEL_KEY\"\n");
    std::fs::write(folder.path().join("definitions/models/play.toml"), model).expect("a file");
    let serving = Serving::start_in(folder.path(), &[], &[("THREADKEEP_ENV_MODEL_KEY", "sk-of-the-instance")]);
    let thread = thread(&serving);
    serving.ok("POST", &format!("/v1/threads/{thread}/queue"), &json!({ "role": "user", "content": "go" }));
    let ended = until(&serving, &thread, |run| run["completedAt"].is_string());
    assert_eq!((&ended["status"], &ended["usage"]["inputTokens"]), (&json!("completed"), &json!(9)), "{ended}");
    let asked: Vec<Asked> = (0..3).map(|_| asked.recv_timeout(DEADLINE).expect("a request")).collect();
    assert!(asked.iter().all(|asked| asked.key == "Bearer sk-of-the-instance"));
    let last = asked[2].body["messages"].as_array().expect("messages");
    assert_eq!(last.last().expect("a result")["content"], "É HELLO", "{last:?}");
    let messages = serving.ok("GET", &format!("/v1/threads/{thread}/messages"), &Value::Null);
    assert_eq!(messages["items"].as_array().expect("messages").last().expect("one")["content"], "It is loud.");
}

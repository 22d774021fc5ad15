//! `serve` and `keys`, with the real binary.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{DEADLINE, Keep, Ran, Running, eventually, run, threadkeep, wait};

/// A server that is ready.
pub struct Serving {
    pub running: Running,
    pub address: String,
    ready: Value,
}

impl Serving {
    pub fn start(folder: &Path) -> Self {
        Self::start_with(folder, &[])
    }

    /// One that is started with these arguments, too.
    pub fn start_with(folder: &Path, more: &[&str]) -> Self {
        Self::start_in(folder, more, &[])
    }

    /// One that is started in this environment, too.
    pub fn start_in(folder: &Path, more: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = threadkeep();
        command.args(["serve", "--json", "--listen", "127.0.0.1:0", "--data"]).arg(folder).args(more);
        command.envs(variables.iter().copied());
        let running = Running::start(command);
        let ready = running.next_json();
        let url = ready["url"].as_str().expect("a url");
        let address = url.strip_prefix("http://").expect("http").to_owned();
        Self { running, address, ready }
    }

    pub fn key(&self) -> &str {
        self.ready["apiKey"].as_str().expect("a key")
    }

    pub fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(&self.address).expect("a connection");
        socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        socket
    }

    pub fn head(&self, method: &str, path: &str, key: &str, length: usize) -> String {
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n",
            self.address
        )
    }

    /// The status and what was said, unless the server is gone.
    pub fn ask(&self, method: &str, path: &str, key: &str, body: &str) -> Option<(u16, Value)> {
        let mut socket = TcpStream::connect(&self.address).ok()?;
        socket.set_read_timeout(Some(DEADLINE)).ok()?;
        socket.write_all(self.head(method, path, key, body.len()).as_bytes()).ok()?;
        socket.write_all(body.as_bytes()).ok()?;
        answer(socket)
    }

    pub fn ok(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, said) = self.ask(method, path, self.key(), &body).expect("an answer");
        assert!(status < 300, "{method} {path}: {status} {said}");
        said
    }

    pub fn thread(&self) -> String {
        self.ok("POST", "/v1/threads", &json!({}))["id"].as_str().expect("an id").to_owned()
    }

    /// An open stream, after its head.
    fn stream(&self, thread: &str, key: &str) -> BufReader<TcpStream> {
        let mut socket = self.connect();
        let path = format!("/v1/threads/{thread}/stream");
        socket.write_all(self.head("GET", &path, key, 0).as_bytes()).expect("it is sent");
        let mut stream = BufReader::new(socket);
        let mut line = String::new();
        stream.read_line(&mut line).expect("a head");
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        stream
    }

    /// The messages of a thread, page by page.
    pub fn messages(&self, thread: &str) -> Vec<String> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/v1/threads/{thread}/messages?limit=1000{cursor}");
            let page = self.ok("GET", &path, &Value::Null);
            let items = page["items"].as_array().expect("items").iter();
            all.extend(items.map(|item| item["content"].as_str().expect("text").to_owned()));
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return all,
            }
        }
    }
}

pub fn answer(mut socket: TcpStream) -> Option<(u16, Value)> {
    let mut said = String::new();
    socket.read_to_string(&mut said).ok()?;
    let (head, body) = said.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, serde_json::from_str(body).ok()?))
}

#[test]
fn a_server_says_where_it_is_and_leaves_no_key_behind() {
    let keep = Keep::new();
    let folder = keep.at("data");
    let mut serving = Serving::start(&folder);
    let ready = serving.ready.clone();
    assert_eq!((&ready["event"], &ready["pid"]), (&"ready".into(), &serving.running.child.id().into()));
    assert_eq!(ready["dataDir"], folder.canonicalize().expect("a folder").display().to_string());
    assert!(ready["version"].is_string());
    let file = folder.join("server.json");
    let found: Value = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    assert_eq!((&found["url"], &found["apiKey"]), (&ready["url"], &ready["apiKey"]));
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).expect("a file").permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    let thread = serving.thread();
    let secret = json!({ "role": "user", "content": "said-in-private" });
    serving.ok("POST", &format!("/v1/threads/{thread}/messages"), &secret);
    serving.ok("GET", "/v1/threads?limit=7", &Value::Null);
    serving.running.signal("TERM");
    assert!(wait(&mut serving.running.child).success());
    assert!(!file.exists());
    let key = serving.key().to_owned();
    let (status, log) = serving.running.end();
    assert!(status.success());
    assert!(log.lines().count() >= 3, "{log}");
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).expect("each line is JSON");
        assert!(line["requestId"].is_string() && line["status"].is_number(), "{line}");
    }
    assert!(!log.contains(&key) && !log.contains("said-in-private") && !log.contains("limit=7"), "{log}");
}

#[test]
fn people_are_told_the_address_a_key_the_folder_and_how_to_stop() {
    let keep = Keep::new();
    let mut command = threadkeep();
    command.current_dir(keep.folder()).args(["serve", "--listen", "127.0.0.1:0"]);
    let mut running = Running::start(command);
    let lines: Vec<String> = std::iter::from_fn(|| running.next_line()).take(6).collect();
    running.signal("INT");
    assert!(wait(&mut running.child).success());
    let said = lines.join("\n") + &running.rest().join("\n");
    assert!(said.lines().count() < 12, "{said}");
    for word in ["http://127.0.0.1:", "tk_local_", "threadkeep-data", "Ctrl-C"] {
        assert!(said.contains(word), "'{word}' is not said: {said}");
    }
}

#[test]
fn a_second_server_is_told_who_holds_the_folder() {
    let keep = Keep::new();
    let folder = keep.at("data");
    let serving = Serving::start(&folder);
    let second = || -> Ran {
        let mut command = threadkeep();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&folder);
        run(command, b"")
    };
    let pid = serving.running.child.id().to_string();
    second().refused(5, &["is held by", &pid, &serving.address, "since", "--data"]);
    assert_eq!(serving.ask("GET", "/healthz", "", "").expect("an answer").0, 200, "the first one goes on");
}

#[test]
fn a_server_without_keys_is_not_opened_to_others() {
    let keep = Keep::new();
    let folder = keep.at("data");
    let serve = || {
        let mut command = threadkeep();
        command.args(["serve", "--listen", "0.0.0.0:0", "--json", "--data"]).arg(&folder);
        command
    };
    run(serve(), b"").refused(4, &["no key", "keys create"]);
    let create = |args: &[&str]| {
        let mut command = threadkeep();
        command.args(["keys", "create", "--json", "--data"]).arg(&folder).args(args);
        serde_json::from_str::<Value>(&run(command, b"").ok()).expect("JSON")
    };
    let made = create(&["--account", "ann", "--scope", "read"]);
    let running = Running::start(serve());
    let ready = running.next_json();
    assert_eq!(ready["apiKey"], Value::Null);
    let port = ready["url"].as_str().and_then(|url| url.rsplit(':').next()).expect("a port").to_owned();
    let serving = Serving { running, address: format!("127.0.0.1:{port}"), ready };
    let key = made["key"].as_str().expect("a key");
    assert_eq!(serving.ask("GET", "/v1/threads", key, "").expect("an answer").0, 200);
    assert_eq!(serving.ask("POST", "/v1/threads", key, "{}").expect("an answer").0, 403);
}

#[test]
fn keys_are_made_listed_and_revoked_while_a_server_runs() {
    let keep = Keep::new();
    let folder = keep.at("data");
    let serving = Serving::start(&folder);
    let keys = |args: &[&str]| {
        let mut command = threadkeep();
        command.arg("keys").args(args).arg("--data").arg(&folder);
        run(command, b"")
    };
    let made = keys(&["create", "--account", "ann", "--agent", "--name", "nightly", "--json"]).ok();
    let made: Value = serde_json::from_str(&made).expect("JSON");
    let (id, key) = (made["id"].as_str().expect("an id"), made["key"].as_str().expect("a key"));
    assert_eq!((&made["account"], &made["type"], &made["scope"]), (&"ann".into(), &"agent".into(), &"write".into()));
    let (status, thread) = serving.ask("POST", "/v1/threads", key, "{}").expect("an answer");
    assert_eq!((status, &thread["accountId"]), (201, &"ann".into()));
    let listed = keys(&["list"]).ok();
    assert!(listed.contains(id) && listed.contains("nightly") && !listed.contains(key), "{listed}");
    let mut stream = serving.stream(thread["id"].as_str().expect("an id"), key);
    keys(&["revoke", id]).ok();
    keys(&["revoke", id]).refused(3, &["no such key"]);
    eventually("the key opens nothing", || {
        serving.ask("GET", "/v1/threads", key, "").is_some_and(|(status, _)| status == 401)
    });
    // It ends by itself; otherwise this waits until the deadline, and fails.
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("the stream ends");
    keys(&["create", "--account", " "]).refused(2, &["blank"]);
    keys(&["create", "--account", "ann", "--scope", "boss"]).refused(2, &["scope"]);
}

#[test]
fn a_server_that_is_told_to_stop_ends_streams_and_finishes_requests() {
    let keep = Keep::new();
    let mut serving = Serving::start(&keep.at("data"));
    let thread = serving.thread();
    let mut stream = serving.stream(&thread, serving.key());
    let body = json!({ "role": "user", "content": "under way" }).to_string();
    let mut socket = serving.connect();
    let path = format!("/v1/threads/{thread}/messages");
    socket.write_all(serving.head("POST", &path, serving.key(), body.len()).as_bytes()).expect("it is sent");
    socket.write_all(&body.as_bytes()[..5]).expect("it is sent");
    // The request sent before on another connection was read: then this one is under way, too.
    serving.ok("GET", "/v1/threads", &Value::Null);
    serving.running.signal("TERM");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("the stream ends");
    socket.write_all(&body.as_bytes()[5..]).expect("it is sent");
    assert_eq!(answer(socket).expect("an answer").0, 201);
    assert!(wait(&mut serving.running.child).success());
    let again = Serving::start(&keep.at("data"));
    assert_eq!(again.messages(&thread), ["under way"]);
}

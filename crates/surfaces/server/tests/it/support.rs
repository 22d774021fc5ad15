//! One helper that knows HTTP: a server in a folder of its own, and a client that speaks to it over a socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use threadkeep::{Engine, Limits, PostgresStore, Stores, SystemWorld, Timestamp, World};
use threadkeep_server::{Connections, JwtSettings, Settings, Start};
use tokio::sync::oneshot;

/// How long anything may take before a test gives up on it.
const DEADLINE: Duration = Duration::from_secs(60);

/// A server on a port of its own, and the folder of its store.
pub struct Server {
    folder: Arc<tempfile::TempDir>,
    definitions: tempfile::TempDir,
    address: String,
    key: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start() -> Self {
        Self::start_with(settings())
    }

    pub fn start_with(settings: Settings) -> Self {
        Self::on(Arc::new(tempfile::tempdir().expect("a folder")), None, settings, Connections::default())
    }

    /// One on the store at `url`.
    pub fn on_store(url: &str) -> Self {
        Self::on_store_with(url, settings())
    }

    pub fn on_store_with(url: &str, settings: Settings) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        Self::on(folder, Some(url.to_owned()), settings, Connections::default())
    }

    /// A server that cuts connections whose reader takes nothing for this long.
    pub fn impatient(stalled_max: Duration) -> Self {
        let connections = Connections { stalled_max, ..Connections::default() };
        Self::on(Arc::new(tempfile::tempdir().expect("a folder")), None, settings(), connections)
    }

    /// One that takes tokens.
    pub fn with_tokens(jwt: JwtSettings) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        Self::taking(jwt, folder, None, settings(), Connections::default(), Limits::default())
    }

    /// One whose engine has these limits.
    pub fn with_limits(limits: Limits) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        Self::taking(JwtSettings::default(), folder, None, settings(), Connections::default(), limits)
    }

    fn on(folder: Arc<tempfile::TempDir>, url: Option<String>, settings: Settings, connections: Connections) -> Self {
        Self::taking(JwtSettings::default(), folder, url, settings, connections, Limits::default())
    }

    fn taking(
        jwt: JwtSettings,
        folder: Arc<tempfile::TempDir>,
        url: Option<String>,
        mut settings: Settings,
        connections: Connections,
        limits: Limits,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let path = folder.path().to_owned();
        let definitions = tempfile::tempdir().expect("a folder");
        write(definitions.path(), "skills/review.md", "# Review\n");
        settings.definitions = Some(definitions.path().to_owned());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let engine = open(&url.unwrap_or_else(|| store(&path))).with_limits(limits);
                let mut start = Start::new(engine, path);
                (start.settings, start.listen) = (settings, Some(([127, 0, 0, 1], 0).into()));
                (start.connections, start.jwt) = (connections, jwt);
                let started = start.begin().await.expect("a server");
                let key = started.local_key().expect("a local key").to_owned();
                ready.send((started.url().to_owned(), key)).expect("the test waits");
                started.run(async { drop(stopped.await) }).await;
            });
        });
        let (url, key) = is_ready.recv_timeout(DEADLINE).expect("a server that starts");
        let address = url.strip_prefix("http://").expect("a url").to_owned();
        Self { folder, definitions, address, key, stop: Some(stop), thread: Some(thread) }
    }

    /// Stops it, and waits until it is gone.
    pub fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }

    /// A new server on the same data.
    pub fn restarted(mut self) -> Self {
        self.stop();
        Self::on(Arc::clone(&self.folder), None, settings(), Connections::default())
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of its definitions, which has one skill.
    pub fn definitions(&self) -> &Path {
        self.definitions.path()
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// A client with the local key.
    pub fn admin(&self) -> Client {
        self.with_key(&self.key)
    }

    pub fn with_key(&self, key: &str) -> Client {
        Client { address: self.address.clone(), key: Some(key.to_owned()) }
    }

    pub fn anonymous(&self) -> Client {
        Client { address: self.address.clone(), key: None }
    }

    /// A client with a new key, and the id of that key.
    #[track_caller]
    pub fn keyed(&self, account: &str, scope: &str) -> (Client, String) {
        let made = self.admin().post("/v1/keys", json!({ "account": account, "scope": scope })).ok(201);
        (self.with_key(made["key"].as_str().expect("a key")), made["id"].as_str().expect("an id").to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The engine on the store at `url`. With `#ahead=HOURS` behind a PostgreSQL URL, the clock of its machine is that much ahead.
fn open(url: &str) -> Engine {
    let Some((url, hours)) = url.split_once("#ahead=") else { return threadkeep::open(url).expect("a store") };
    let store = PostgresStore::open(url.parse().expect("a url")).expect("a store");
    let world = Ahead(hours.parse::<i64>().expect("hours") * 3_600_000_000);
    Engine::new(Stores::of(store), Arc::new(world), Limits::default())
}

/// A machine whose clock is ahead by so many microseconds.
struct Ahead(i64);

impl World for Ahead {
    fn now(&self) -> Timestamp {
        SystemWorld.now().plus_micros(self.0)
    }

    fn chance(&self) -> u128 {
        SystemWorld.chance()
    }
}

/// Writes a file, with the folders above it.
pub fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

pub fn store(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("threadkeep.db").display())
}

/// Quick to notice changes, and silent.
pub fn settings() -> Settings {
    Settings {
        recheck: Duration::from_millis(50),
        heartbeat: Duration::from_millis(100),
        log: false,
        ..Settings::default()
    }
}

/// A client with a key, or without one.
#[derive(Clone)]
pub struct Client {
    address: String,
    pub key: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub status: u16,
    pub headers: String,
    pub body: String,
}

impl Reply {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    /// The body, if it has this status.
    #[track_caller]
    pub fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }

    /// A problem with this status and code.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        let problem = self.ok(status);
        assert_eq!(problem["code"], code, "{self:?}");
        assert_eq!(problem["status"], status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        assert_eq!(problem["requestId"].as_str(), self.header("x-request-id"), "{self:?}");
        problem
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

impl Client {
    #[track_caller]
    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, "", None)
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: Value) -> Reply {
        self.send("POST", path, "", Some(&body.to_string()))
    }

    #[track_caller]
    pub fn patch(&self, path: &str, body: Value) -> Reply {
        self.send("PATCH", path, "", Some(&body.to_string()))
    }

    #[track_caller]
    pub fn put(&self, path: &str, body: Value) -> Reply {
        self.send("PUT", path, "", Some(&body.to_string()))
    }

    #[track_caller]
    pub fn delete(&self, path: &str) -> Reply {
        self.send("DELETE", path, "", None)
    }

    /// A request with `headers`, each a line of its own.
    #[track_caller]
    pub fn send(&self, method: &str, path: &str, headers: &str, body: Option<&str>) -> Reply {
        let request = self.request(method, path, &format!("Connection: close\r\n{headers}"), body);
        raw(&self.address, request.as_bytes())
    }

    fn request(&self, method: &str, path: &str, headers: &str, body: Option<&str>) -> String {
        let key = self.key.as_ref().map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
        let length = body.map(|body| format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
        let (address, length) = (&self.address, length.unwrap_or_default());
        format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\n{key}{headers}{length}\r\n{}", body.unwrap_or_default())
    }

    /// A thread with these messages of the user, by its id.
    #[track_caller]
    pub fn thread(&self, texts: &[&str]) -> String {
        let messages: Vec<_> = texts.iter().map(|text| json!({ "role": "user", "content": text })).collect();
        let made = self.post("/v1/threads", json!({ "title": "T", "messages": messages })).ok(201);
        made["id"].as_str().expect("an id").to_owned()
    }

    #[track_caller]
    pub fn say(&self, thread: &str, text: &str) -> Value {
        let path = format!("/v1/threads/{thread}/messages");
        self.post(&path, json!({ "role": "user", "content": text })).ok(201)
    }

    /// The messages that the thread shows, joined by spaces.
    #[track_caller]
    pub fn shows(&self, thread: &str) -> String {
        let page = self.get(&format!("/v1/threads/{thread}/messages?limit=1000&includeSilent=true")).ok(200);
        let items = page["items"].as_array().expect("items").iter();
        items.map(|item| item["content"].as_str().unwrap_or("…").to_owned()).collect::<Vec<_>>().join(" ")
    }

    /// Opens a WebSocket.
    #[track_caller]
    pub fn socket(&self, path: &str) -> Socket {
        let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        let mut socket = connect(&self.address);
        socket.write_all(self.request("GET", path, upgrade, None).as_bytes()).expect("it is sent");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte).expect("a head");
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        Socket(socket)
    }

    /// The head of the answer that a stream begins with.
    #[track_caller]
    pub fn stream_head(&self, path: &str) -> String {
        self.stream(path, "").head
    }

    #[track_caller]
    pub fn stream(&self, path: &str, headers: &str) -> Stream {
        self.try_stream(path, headers).unwrap_or_else(|head| panic!("{head}"))
    }

    /// Opens a stream, if the server does; else the head of its answer.
    pub fn try_stream(&self, path: &str, headers: &str) -> Result<Stream, String> {
        Stream::open(&self.address, &self.request("GET", path, headers, None))
    }
}

/// Sends bytes as they are, and reads until the other end closes.
#[track_caller]
pub fn raw(address: &str, request: &[u8]) -> Reply {
    let mut socket = connect(address);
    // A server that refuses early may not read everything.
    drop(socket.write_all(request));
    let mut bytes = Vec::new();
    let mut buffer = [0; 8_192];
    while let Ok(count @ 1..) = socket.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { unchunked(body) } else { body.to_owned() };
    Reply { status, headers: head.replace("\r\n", "\n"), body }
}

fn unchunked(mut text: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        whole.push_str(&rest[..size]);
        text = rest[size..].trim_start_matches("\r\n");
    }
    whole
}

pub fn connect(address: &str) -> TcpStream {
    let socket = TcpStream::connect(address).expect("a connection");
    socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    socket.set_write_timeout(Some(DEADLINE)).expect("a timeout");
    socket
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub id: Option<String>,
    pub kind: String,
    pub data: Value,
}

/// A stream of events that is open.
pub struct Stream {
    /// After which place it begins, as its head says.
    pub cursor: Option<String>,
    head: String,
    from: BufReader<TcpStream>,
    /// The part of the present chunk that was read.
    text: String,
}

impl Stream {
    fn open(address: &str, request: &str) -> Result<Self, String> {
        let mut socket = connect(address);
        socket.write_all(request.as_bytes()).expect("it is sent");
        let mut from = BufReader::new(socket);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(from.read_line(&mut head).expect("a head"), 0, "{head}");
        }
        if head.split(' ').nth(1) != Some("200") {
            return Err(head);
        }
        let cursor = head.lines().find_map(|line| line.strip_prefix("threadkeep-cursor: ")).map(str::to_owned);
        Ok(Self { cursor, head, from, text: String::new() })
    }

    /// The next event; comments are passed over. None once the stream ends.
    #[track_caller]
    pub fn next(&mut self) -> Option<Event> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| {
                    let mut found = block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                    found.next().map(str::to_owned)
                };
                if let Some(kind) = field("event") {
                    let data = serde_json::from_str(&field("data").expect("data")).expect("JSON");
                    return Some(Event { id: field("id"), kind, data });
                }
                assert!(block.starts_with(':') && field("id").is_none(), "a comment has no id: {block}");
            }
            let mut size = String::new();
            if self.from.read_line(&mut size).expect("a chunk in time") == 0 {
                return None;
            }
            let size = usize::from_str_radix(size.trim(), 16).expect("a size");
            let mut chunk = vec![0; size + 2];
            self.from.read_exact(&mut chunk).expect("a whole chunk");
            if size == 0 {
                return None;
            }
            self.text.push_str(std::str::from_utf8(&chunk[..size]).expect("text"));
        }
    }

    /// The next `count` events.
    #[track_caller]
    pub fn take(&mut self, count: usize) -> Vec<Event> {
        (0..count).map(|_| self.next().expect("an event")).collect()
    }

    /// Everything until it ends.
    pub fn rest(mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

/// A WebSocket of a client.
pub struct Socket(TcpStream);

impl Socket {
    /// The next object.
    #[track_caller]
    pub fn frame(&mut self) -> Value {
        loop {
            let mut header = [0; 2];
            self.0.read_exact(&mut header).expect("a frame");
            let length = match header[1] {
                126 => {
                    let mut length = [0; 2];
                    self.0.read_exact(&mut length).expect("a length");
                    usize::from(u16::from_be_bytes(length))
                }
                short => usize::from(short),
            };
            let mut payload = vec![0; length];
            self.0.read_exact(&mut payload).expect("a payload");
            if header[0] == 0x81 {
                return serde_json::from_slice(&payload).expect("JSON");
            }
        }
    }
}

//! Writers and followers on several servers, while faults come and go: each writer repeats a request under its key until
//! it is acknowledged, each follower goes on after the last version it saw, wherever a server answers. At the end, all that
//! was acknowledged is there once and in order, and every follower saw exactly that.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::killed;
use crate::serve::Serving;
use crate::support::eventually;

/// The last message of each thread.
const LAST: &str = "that is all";
/// How long one request may be without an answer. Every call ends within 10 s, and a loaded machine is slow.
const ANSWER_MAX: Duration = Duration::from_secs(40);
/// How long a writer tries one message, across all faults.
const TRIED_MAX: Duration = Duration::from_secs(240);
/// How long one waits before it asks again where nobody answered.
const AGAIN_PAUSE: Duration = Duration::from_millis(50);

/// A server as clients know it.
#[derive(Clone)]
struct Reached {
    address: String,
    key: String,
}

/// The servers, each at its place. A server that is started again has another address.
pub struct Servers(Vec<Mutex<Reached>>);

impl Servers {
    pub fn new<'a>(servers: impl IntoIterator<Item = &'a Serving>) -> Self {
        Self(servers.into_iter().map(|serving| Mutex::new(reached(serving))).collect())
    }

    /// The server at a place is now this one.
    pub fn replace(&self, at: usize, serving: &Serving) {
        *self.0[at].lock().unwrap_or_else(PoisonError::into_inner) = reached(serving);
    }

    /// The server that one asks who has tried `turn` times.
    fn at(&self, turn: usize) -> Reached {
        self.0[turn % self.0.len()].lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn reached(serving: &Serving) -> Reached {
    Reached { address: serving.address.clone(), key: serving.key().to_owned() }
}

impl Reached {
    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Option<BufReader<TcpStream>> {
        let mut socket = TcpStream::connect(&self.address).ok()?;
        socket.set_read_timeout(Some(ANSWER_MAX)).ok()?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {}\r\n{headers}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            self.key,
            body.len()
        );
        socket.write_all(head.as_bytes()).ok()?;
        Some(BufReader::new(socket))
    }
}

/// The load: its threads, and how far it is.
pub struct Load<'a> {
    servers: &'a Servers,
    pub threads: Vec<String>,
    over: AtomicBool,
    /// Messages that were acknowledged, by writer.
    told: Vec<AtomicUsize>,
    /// Requests that were sent again.
    again: AtomicU64,
    /// Streams that were opened again.
    reopened: AtomicU64,
}

/// The result of a writer.
pub struct Written {
    thread: usize,
    name: String,
    acknowledged: usize,
}

/// The result of a follower: the messages it saw.
pub struct Followed {
    thread: usize,
    seen: Seen,
}

/// Messages in their order, told apart from any others by their number and a hash.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    count: usize,
    hash: u64,
}

impl Seen {
    fn push(&mut self, text: &str) {
        let mut hasher = DefaultHasher::new();
        (self.hash, text).hash(&mut hasher);
        *self = Self { count: self.count + 1, hash: hasher.finish() };
    }

    fn of(texts: &[String]) -> Self {
        let mut seen = Self::default();
        texts.iter().for_each(|text| seen.push(text));
        seen
    }
}

impl<'a> Load<'a> {
    /// On these threads, for so many writers.
    pub fn new(servers: &'a Servers, threads: Vec<String>, writers: usize) -> Self {
        let told = std::iter::repeat_with(AtomicUsize::default).take(writers).collect();
        let (over, again, reopened) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        Self { servers, threads, over, told, again, reopened }
    }

    /// Starts all writers.
    pub fn write<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> Vec<ScopedJoinHandle<'scope, Written>> {
        (0..self.told.len()).map(|number| scope.spawn(move || self.writer(number))).collect()
    }

    /// Starts so many followers.
    pub fn follow<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        followers: usize,
    ) -> Vec<ScopedJoinHandle<'scope, Followed>> {
        (0..followers).map(|number| scope.spawn(move || self.follower(number))).collect()
    }

    /// Waits until every writer has `more` messages acknowledged than now.
    pub fn gets_on(&self, more: usize) {
        let count = || self.told.iter().map(|told| told.load(Ordering::Acquire)).collect::<Vec<_>>();
        let before = count();
        eventually("every writer gets on", || count().iter().zip(&before).all(|(now, before)| *now >= before + more));
    }

    /// Tells all to end.
    pub fn is_enough(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// Ends the load, and compares what writers were told, what is kept and what followers saw. `serving` answers.
    pub fn end(
        &self,
        serving: &Serving,
        writers: Vec<ScopedJoinHandle<'_, Written>>,
        followers: Vec<ScopedJoinHandle<'_, Followed>>,
    ) {
        self.is_enough();
        let written: Vec<Written> = writers.into_iter().map(|writer| writer.join().expect("it went well")).collect();
        for thread in &self.threads {
            self.append(usize::MAX / 2, thread, LAST, &format!("last of {thread}"));
        }
        let kept: Vec<Vec<String>> = self.threads.iter().map(|thread| serving.messages(thread)).collect();
        for writer in &written {
            let prefix = format!("{} ", writer.name);
            let its: Vec<&String> = kept[writer.thread].iter().filter(|text| text.starts_with(&prefix)).collect();
            let told: Vec<String> = (0..writer.acknowledged).map(|n| format!("{} {n}", writer.name)).collect();
            assert_eq!(its, told.iter().collect::<Vec<_>>(), "what was acknowledged is there once and in order");
        }
        let told: usize = written.iter().map(|writer| writer.acknowledged).sum();
        let there: usize = kept.iter().map(Vec::len).sum();
        assert_eq!(there, told + self.threads.len(), "nothing else is there");
        let count = followers.len();
        for follower in followers {
            let Followed { thread, seen } = follower.join().expect("it went well");
            assert_eq!(seen, Seen::of(&kept[thread]), "a follower sees every message once and in order");
        }
        let (again, reopened) = (self.again.load(Ordering::Relaxed), self.reopened.load(Ordering::Relaxed));
        eprintln!("{told} messages, {again} requests again, {count} followers, {reopened} streams opened again");
    }

    fn writer(&self, number: usize) -> Written {
        let (thread, name) = (number % self.threads.len(), format!("w{number}"));
        let mut next = 0;
        while !self.is_over() {
            let text = format!("{name} {next}");
            self.append(number, &self.threads[thread], &text, &text);
            next += 1;
            self.told[number].store(next, Ordering::Release);
        }
        Written { thread, name, acknowledged: next }
    }

    /// Appends a message.
    fn append(&self, first: usize, thread: &str, text: &str, key: &str) {
        let body = json!({ "role": "user", "content": text });
        let said = self.insist(first, ("POST", &format!("/v1/threads/{thread}/messages")), key, &body);
        assert_eq!(said["content"], text);
    }

    /// Sends a request again and again under the same key, until a server acknowledges it. `first` says which one is asked
    /// first.
    pub fn insist(&self, first: usize, (method, path): (&str, &str), key: &str, body: &Value) -> Value {
        let (headers, body) = (format!("Idempotency-Key: {key}\r\n"), body.to_string());
        let began = Instant::now();
        for turn in first.. {
            let sent = self.servers.at(turn).send(method, path, &headers, &body);
            match sent.and_then(|mut socket| killed::answer(&mut socket)) {
                Some((200 | 201, said)) => return said,
                // Away, or told to come back.
                None | Some((503, _)) => {}
                Some(other) => panic!("{key}: {other:?}"),
            }
            assert!(began.elapsed() < TRIED_MAX, "'{key}' is never acknowledged");
            self.again.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(AGAIN_PAUSE);
        }
        unreachable!("there is always another turn")
    }

    /// Sends a request once. It may be lost.
    pub fn try_once(&self, first: usize, (method, path): (&str, &str), body: &Value) {
        let sent = self.servers.at(first).send(method, path, "", &body.to_string());
        drop(sent.and_then(|mut socket| killed::answer(&mut socket)));
    }

    /// Whether the load shall end.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    fn follower(&self, number: usize) -> Followed {
        let thread = number % self.threads.len();
        let path = format!("/v1/threads/{}/stream", self.threads[thread]);
        let (mut version, mut seen) = (0, Seen::default());
        for turn in number.. {
            let after = format!("Last-Event-ID: {version}\r\n");
            if let Some(stream) = self.servers.at(turn).send("GET", &path, &after, "")
                && read_on(stream, &mut version, &mut seen)
            {
                break;
            }
            self.reopened.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(AGAIN_PAUSE);
        }
        Followed { thread, seen }
    }
}

/// Reads a stream until it breaks off; true at the last message. Every version comes once and in order.
fn read_on(mut stream: BufReader<TcpStream>, version: &mut u64, seen: &mut Seen) -> bool {
    let mut line = String::new();
    loop {
        line.clear();
        // A line without its end was cut off.
        if stream.read_line(&mut line).is_err() || !line.ends_with('\n') {
            return false;
        }
        let Some(data) = line.trim_end().strip_prefix("data: ") else { continue };
        let event: Value = serde_json::from_str(data).expect("JSON");
        let Some(at) = event["version"].as_u64() else { continue };
        if event["kind"] != "message_appended" {
            continue;
        }
        assert_eq!(at, *version + 1, "versions come in order: {event}");
        *version = at;
        let text = event["data"]["content"].as_str().expect("text");
        seen.push(text);
        if text == LAST {
            return true;
        }
    }
}

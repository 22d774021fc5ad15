//! Power cuts: unsynced data is lost, or is there in part. Acknowledged data is there, once.
//!
//! The real binary works with `recorder.c` preloaded, which writes down every write, every sync and every answer in
//! order. Then the folder is made again as a cut at some step would leave it, and opened. A cut is chosen by seed:
//! `THREADKEEP_TEST_CUTS=5000` tries more of them, `THREADKEEP_TEST_SEED` others.

mod journal;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use threadkeep::{Engine, List, Page, ThreadId};

use self::journal::{Disk, Journal, Leaves, Step};
use crate::support::{Chance, DEADLINE, Keep, Running, threadkeep, wait};

const CUTS: u64 = 40;
const SEED: u64 = 20_261_115;
/// Clients that append at the same time.
const CLIENTS: usize = 6;
/// Appends of each in one life of the server.
const APPENDS: usize = 60;
/// After one cut in so many the server is started again, too.
const SERVED_EVERY: usize = 10;
/// How often the server is started: it is stopped, and killed.
const LIVES: usize = 3;

/// A number from the environment, for a longer search by hand.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// A place whose writes are recorded.
struct Recorded {
    keep: Keep,
    library: PathBuf,
    journal: PathBuf,
    root: PathBuf,
}

impl Recorded {
    fn new() -> Self {
        let keep = Keep::new();
        let (source, library) = (keep.at("recorder.c"), keep.at("recorder.so"));
        std::fs::write(&source, include_str!("recorder.c")).expect("a file");
        let built = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).output();
        let built = built.expect("there is a C compiler, as for the rest of the build");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let (journal, root) = (keep.at("journal"), keep.at("root").canonicalize());
        let root = root.unwrap_or_else(|_| {
            std::fs::create_dir(keep.at("root")).expect("a folder");
            keep.at("root").canonicalize().expect("a folder")
        });
        Self { keep, library, journal, root }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = threadkeep();
        command.current_dir(&self.root).args(args).args(["--data", "data"]);
        command.env("LD_PRELOAD", &self.library).env("TEST_POWER_ROOT", &self.root);
        command.env("TEST_POWER_JOURNAL", &self.journal);
        command
    }

    fn read(&self) -> Journal {
        Journal::read(&self.journal, std::fs::metadata(&self.root).expect("a folder").ino())
    }

    /// All that was written went past the recorder: with everything applied, the folder is what it is.
    fn is_complete(&self, journal: &Journal) {
        let mut disk = Disk::default();
        journal.steps.iter().for_each(|step| disk.make(step));
        let again = self.keep.at("again");
        disk.leave(&again, Leaves::Everything, &mut Chance(0));
        assert_eq!(contents(&self.root), contents(&again));
    }
}

/// Names and sizes and hashes of all files below a folder, without shared memory.
fn contents(folder: &Path) -> BTreeMap<String, (usize, String)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        if path.is_dir() {
            found.extend(contents(&path).into_iter().map(|(below, about)| (format!("{name}/{below}"), about)));
        } else if !name.ends_with("-shm") {
            let bytes = std::fs::read(&path).expect("a file");
            found.insert(name, (bytes.len(), threadkeep::model::BlobId::of(&bytes).to_string()));
        }
    }
    found
}

/// The mark at the beginning of a text, by which it is recognised: `<client-number>`.
fn mark(text: &str) -> Option<&str> {
    let rest = &text[text.find('<')? + 1..];
    rest.split_once('>').map(|(mark, _)| mark)
}

/// Cuts the power at steps chosen by seed, each time leaving something else, and checks what is there afterwards.
fn cut_power(recorded: &Recorded, is_acknowledged: fn(&str) -> bool) {
    let journal = recorded.read();
    recorded.is_complete(&journal);
    let seed = number("THREADKEEP_TEST_SEED", SEED);
    let mut chance = Chance(seed);
    let steps = journal.steps.len() as u64;
    let mut cuts: Vec<usize> =
        (0..number("THREADKEEP_TEST_CUTS", CUTS)).map(|_| chance.below(steps + 1) as usize).collect();
    // Right after answers it hurts most.
    let answers = journal.steps.iter().enumerate().filter(|(_, step)| matches!(step, Step::Said(_)));
    let answers: Vec<usize> = answers.map(|(at, _)| at + 1).collect();
    let some = cuts.len() / 2;
    for cut in &mut cuts[..some] {
        *cut = answers[chance.below(answers.len() as u64) as usize];
    }
    cuts.push(steps as usize);
    cuts.sort_unstable();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (mut disk, mut done, mut acknowledged) = (Disk::default(), 0, BTreeMap::new());
    let (mut checked, mut most) = (0, 0);
    for (n, cut) in cuts.into_iter().enumerate() {
        for step in &journal.steps[done..cut] {
            disk.make(step);
            if let Step::Said(bytes) = step
                && let Some(mark) = std::str::from_utf8(bytes).ok().filter(|said| is_acknowledged(said)).and_then(mark)
            {
                *acknowledged.entry(mark.to_owned()).or_insert(0) += 1;
            }
        }
        done = cut;
        for leaves in [Leaves::Nothing, Leaves::Something] {
            let context = format!("seed {seed}, cut {n} at step {cut} of {steps}, leaving {leaves:?}");
            let left = recorded.keep.at(&format!("cut-{n}-{leaves:?}"));
            disk.leave(&left, leaves, &mut Chance(seed ^ cut as u64));
            let kept = runtime.block_on(open(&left.join("data"), &context));
            let lost: Vec<_> = acknowledged.keys().filter(|mark| kept.get(*mark) != Some(&1)).collect();
            assert!(lost.is_empty(), "{context}: acknowledged, and not there once: {lost:?}");
            let doubled: Vec<_> = kept.iter().filter(|(_, times)| **times != 1).collect();
            assert!(doubled.is_empty(), "{context}: {doubled:?}");
            most = most.max(acknowledged.len());
            checked += 1;
            if n % SERVED_EVERY == 0 {
                serve_again(&left, &context);
            }
            std::fs::remove_dir_all(&left).expect("a folder");
        }
    }
    assert!(checked > 0 && most > 0, "something was acknowledged");
}

/// The server starts on the data that is left, in any state of its own files, and takes new threads.
fn serve_again(left: &Path, context: &str) {
    let mut command = threadkeep();
    command.current_dir(left).args(["serve", "--json", "--listen", "127.0.0.1:0", "--data", "data"]);
    let running = Running::start(command);
    let ready = running.next_json();
    let address = ready["url"].as_str().and_then(|url| url.strip_prefix("http://")).expect(context);
    let mut connection = Connection::open(address, ready["apiKey"].as_str().expect(context));
    connection.post("/v1/threads", &json!({ "title": "After the cut" }));
}

/// The marks of all messages in a folder, and how often each is there. The doctor finds nothing.
async fn open(folder: &Path, context: &str) -> BTreeMap<String, usize> {
    let mut kept = BTreeMap::new();
    let file = folder.join("threadkeep.db");
    if !file.exists() {
        return kept;
    }
    let engine = threadkeep::open(&format!("sqlite:{}", file.display()));
    let engine = engine.unwrap_or_else(|error| panic!("{context}: {error}"));
    let report =
        engine.doctor(std::sync::Arc::new(|_, _, _| {})).await.unwrap_or_else(|error| panic!("{context}: {error}"));
    assert!(report.derived.is_empty() && report.damage.is_empty(), "{context}: {report:?}");
    for thread in threads(&engine).await {
        let mut page = Page::first();
        loop {
            let found = engine.messages(thread, page.limit(1_000)).await.expect("messages");
            for message in &found.items {
                *kept.entry(mark(&message.text().expect("text")).expect("a mark").to_owned()).or_insert(0) += 1;
            }
            match found.next {
                Some(next) => page = Page::after(next),
                None => break,
            }
        }
    }
    kept
}

async fn threads(engine: &Engine) -> Vec<ThreadId> {
    engine.list(List::default()).await.expect("a list").items.into_iter().map(|summary| summary.thread.id).collect()
}

/// One connection to a server that is kept.
struct Connection {
    socket: BufReader<TcpStream>,
    key: String,
}

impl Connection {
    fn open(address: &str, key: &str) -> Self {
        let socket = TcpStream::connect(address).expect("a connection");
        socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        Self { socket: BufReader::new(socket), key: key.to_owned() }
    }

    fn post(&mut self, path: &str, body: &serde_json::Value) -> serde_json::Value {
        let (key, body) = (&self.key, body.to_string());
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.socket.get_mut().write_all(request.as_bytes()).expect("it is sent");
        let (mut line, mut length, mut head) = (String::new(), 0, String::new());
        while line != "\r\n" {
            line.clear();
            assert!(self.socket.read_line(&mut line).expect("an answer") > 0, "{head}");
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
            head.push_str(&line);
        }
        let mut said = vec![0; length];
        self.socket.read_exact(&mut said).expect("a body");
        assert!(head.starts_with("HTTP/1.1 201"), "{head}{}", String::from_utf8_lossy(&said));
        serde_json::from_slice(&said).expect("JSON")
    }
}

#[test]
fn what_a_server_acknowledged_survives_a_power_cut() {
    let recorded = Recorded::new();
    for life in 0..LIVES {
        let mut running = Running::start(recorded.command(&["serve", "--json", "--listen", "127.0.0.1:0"]));
        let ready = running.next_json();
        let address = ready["url"].as_str().and_then(|url| url.strip_prefix("http://")).expect("an address").to_owned();
        let key = ready["apiKey"].as_str().expect("a key").to_owned();
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (address, key) = (&address, &key);
                scope.spawn(move || {
                    let mut connection = Connection::open(address, key);
                    let thread = connection.post("/v1/threads", &json!({ "title": client.to_string() }));
                    let path = format!("/v1/threads/{}/messages", thread["id"].as_str().expect("an id"));
                    for n in 0..APPENDS {
                        // Some are so large that they fill pages of their own.
                        let rest = "x".repeat(if n % 7 == 0 { 20_000 } else { 100 + n });
                        let text = format!("<{life}-{client}-{n}>{rest}");
                        connection.post(&path, &json!({ "role": "user", "content": text }));
                    }
                });
            }
        });
        match life % 2 {
            0 => {
                running.signal("TERM");
                assert!(wait(&mut running.child).success());
            }
            _ => running.kill(),
        }
    }
    cut_power(&recorded, |said| said.contains("\"content\":\"<"));
}

#[test]
fn what_the_command_line_acknowledged_survives_a_power_cut() {
    let recorded = Recorded::new();
    let made = recorded.command(&["create", "Work"]).output().expect("it runs");
    let thread = String::from_utf8(made.stdout).expect("text").trim().to_owned();
    for life in 0..LIVES {
        let mut writer = Running::start(recorded.command(&["say", &thread, "--lines"]));
        for n in 0..APPENDS {
            writer.tell(&format!("<{life}-{n}>"));
            assert!(writer.next_line().is_some_and(|line| line.contains(&format!("<{life}-{n}>"))));
        }
        match life % 2 {
            0 => assert!(writer.end().0.success()),
            _ => writer.kill(),
        }
    }
    cut_power(&recorded, |said| said.contains("\"content\":\"<"));
}

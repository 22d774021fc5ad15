//! The real binary on a PostgreSQL server: the same stories, many processes at once, a server that crashes under them,
//! and servers that refuse.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;
use threadkeep_throwaway::{Cluster, Schema, schema, sql};

use crate::support::{Keep, Ran, Running, eventually, run, threadkeep};
use crate::writer;

/// A store in a schema of its own.
fn keep() -> (Keep, Schema) {
    let schema = schema();
    let keep = Keep::on(&schema.url());
    keep.create("The first thread makes the tables");
    (keep, schema)
}

fn content(line: &str) -> String {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    message["content"].as_str().expect("text").to_owned()
}

/// Everything that was logged to a thread, by content; versions have no gap.
fn logged(keep: &Keep, thread: &str) -> Vec<String> {
    let printed = keep.ok(&["tail", thread, "--no-follow", "--json", "--from-start"]);
    let mut contents = Vec::new();
    for line in printed.lines() {
        let entry: Value = serde_json::from_str(line).expect("JSON");
        contents.push(entry["data"]["content"].as_str().expect("text").to_owned());
        assert_eq!(entry["version"], contents.len(), "versions have no gap");
    }
    contents
}

/// The messages of the writer with this name, in the order of the thread.
fn said_by(name: &str, contents: &[String]) -> Vec<String> {
    let prefix = format!("{name} ");
    contents.iter().filter(|content| content.starts_with(&prefix)).cloned().collect()
}

fn numbered(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{name} {number}")).collect()
}

#[test]
fn the_first_five_minutes_on_a_server() {
    let schema = schema();
    let keep = Keep::on(&schema.url());
    assert_eq!(keep.json(&["ls"]), Value::Array(vec![]), "a server is a store from the first command on");
    let thread = keep.ok(&["new", "My first thread", "--message", "Hello!"]);
    let short = &thread[26..];
    let tail = keep.start(&["tail", &thread, "--json", "--from-start"]);
    assert_eq!(tail.next_json()["data"]["content"], "Hello!");
    keep.ok(&["say", &short[..6], "What shall we build?", "--role", "assistant"]);
    keep.run_with(&["say", short, "-"], "x".repeat(100_000).as_bytes()).ok();
    let fork = keep.ok(&["fork", short, "--message-index", "1"]);
    keep.say(&fork, "Something else.");
    assert_eq!(keep.conversation(&fork), "user: Hello! | assistant: What shall we build? | user: Something else.");
    assert!(keep.ok(&["show", &fork]).contains("\n  Something else."));
    assert!(keep.ok(&["ls"]).contains(short));
    keep.ok(&["rollback", short, "--to-version", "1"]);
    assert_eq!(keep.conversation(short), "user: Hello!");
    keep.ok(&["rollback", short, "--undo"]);
    let history = keep.json(&["history", short]);
    let kinds: Vec<&str> = history.as_array().expect("entries").iter().filter_map(|e| e["kind"].as_str()).collect();
    let expected = ["message_appended", "message_appended", "message_appended", "forked", "rolled_back", "rolled_back"];
    assert_eq!(kinds, expected);
    for kind in &expected[1..] {
        assert_eq!(tail.next_json()["kind"], *kind);
    }
    tail.signal("INT");
    let (status, stderr) = tail.end();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    assert!(keep.ok(&["tree", short]).contains("fork after message 1"));
    assert_eq!(
        keep.ok(&["tail", "--no-follow", "--json", "--from-start"]).lines().count(),
        9,
        "two births, seven entries"
    );

    let exported = keep.everything();
    let elsewhere = Keep::new();
    elsewhere.run_with(&["import", "-"], format!("{exported}\n").as_bytes()).ok();
    assert_eq!(elsewhere.everything(), exported, "to a file");
    let (back, _schema) = self::keep();
    back.run_with(&["import", "-"], format!("{}\n", elsewhere.everything()).as_bytes()).ok();
    assert_eq!(back.conversation(&fork), keep.conversation(&fork), "and to another server");

    keep.ok(&["rm", short]);
    assert_eq!(keep.json(&["gc"])["blobs"], 1);
    assert!(keep.ok(&["doctor"]).ends_with("healthy"));
    assert_eq!(keep.conversation(&fork), "user: Hello! | assistant: What shall we build? | user: Something else.");
}

#[test]
fn a_lease_by_hand() {
    writer::a_lease_keeps_others_out_of_the_conversation(&keep().0);
}

#[test]
fn a_lease_for_as_long_as_a_program_runs() {
    let (keep, _schema) = keep();
    writer::an_exclusive_say_holds_the_lease_until_it_ends(&keep);
    writer::an_exclusive_say_that_is_interrupted_lets_go_of_the_lease(&keep);
}

#[test]
fn a_program_that_was_paused_past_its_lease_is_refused() {
    const AT_ONCE: usize = 4;
    const ROUNDS: usize = 5;
    let (keep, _schema) = keep();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| writer::a_holder_that_was_paused_for_too_long_is_refused(&keep, ROUNDS));
        }
    });
}

#[test]
fn sixteen_processes_on_four_threads_lose_and_double_nothing() {
    const WRITERS: usize = 16;
    const LINES: usize = 100;
    let (keep, _schema) = keep();
    let threads: Vec<String> = (0..4).map(|number| keep.create(&format!("Shared {number}"))).collect();
    let names: Vec<String> = (0..WRITERS).map(|number| format!("w{number}")).collect();
    std::thread::scope(|scope| {
        for (name, thread) in names.iter().zip(threads.iter().cycle()) {
            let mut running = keep.start(&["say", thread, "--lines"]);
            let mut stdin = running.stdin.take().expect("stdin");
            scope.spawn(move || {
                for line in numbered(name, LINES) {
                    stdin.write_all(format!("{line}\n").as_bytes()).expect("it reads");
                }
            });
            scope.spawn(move || {
                let acknowledged: Vec<String> = running.rest().iter().map(|line| content(line)).collect();
                assert_eq!(acknowledged, numbered(name, LINES), "acknowledged in order");
                let (status, stderr) = running.end();
                assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
            });
        }
    });
    for (at, thread) in threads.iter().enumerate() {
        let contents = logged(&keep, thread);
        let here = names.iter().skip(at).step_by(threads.len());
        assert_eq!(contents.len(), here.clone().count() * LINES);
        for name in here {
            assert_eq!(said_by(name, &contents), numbered(name, LINES));
        }
    }
    keep.ok(&["doctor"]);
}

/// A program that is given the next line for each one that it acknowledges, until it shall end.
struct Load {
    name: String,
    running: Running,
    sent: usize,
}

/// The result of a load.
struct Said {
    name: String,
    sent: usize,
    acknowledged: Vec<String>,
}

impl Load {
    const WINDOW: usize = 4;

    fn send(&mut self) {
        self.running.tell(&format!("{} {}", self.name, self.sent));
        self.sent += 1;
    }

    /// Sends until `over`; `told` counts what was acknowledged.
    fn run(mut self, over: &AtomicBool, told: &AtomicUsize) -> Said {
        let mut acknowledged = Vec::new();
        (0..Self::WINDOW).for_each(|_| self.send());
        while !over.load(Ordering::Acquire) {
            acknowledged.push(self.running.next_line().expect("it goes on"));
            told.fetch_add(1, Ordering::AcqRel);
            self.send();
        }
        drop(self.running.stdin.take());
        acknowledged.extend(self.running.rest());
        let (status, stderr) = self.running.end();
        assert_eq!(status.code(), Some(0), "{stderr}");
        assert!(!stderr.is_empty(), "it was told that the store is away");
        only_away(&stderr);
        let acknowledged = acknowledged.iter().map(|line| content(line)).collect();
        Said { name: self.name, sent: self.sent, acknowledged }
    }
}

/// Nothing was said but that the store was away.
#[track_caller]
fn only_away(stderr: &str) {
    for line in stderr.lines() {
        assert!(["the store is away: trying again for up to 60s", "connected again"].contains(&line), "{stderr}");
    }
}

#[test]
fn a_server_that_crashes_under_load_ten_times_costs_no_line_and_no_process() {
    const CRASHES: usize = 10;
    /// Lines that every writer gets through between two crashes.
    const LINES_BETWEEN: usize = 5;
    let cluster = Cluster::start().expect("a server");
    let keep = Keep::on(&cluster.url());
    let threads = ["One", "Two"].map(|title| keep.create(title));
    let follow = keep.start(&["tail", &threads[0], "--json", "--from-start"]);
    let follow_all = keep.start(&["tail", "--json", "--from-start"]);
    // Both followers are there before the first crash.
    let created: Vec<Value> = threads.iter().map(|_| follow_all.next_json()["kind"].clone()).collect();
    assert_eq!(created, ["thread_created"; 2]);
    let mut first = None;
    let over = AtomicBool::new(false);
    let told: [AtomicUsize; 4] = Default::default();
    let done: Vec<(usize, Said)> = std::thread::scope(|scope| {
        let start = |(at, told)| {
            let thread: &String = &threads[at % 2];
            let running = keep.start(&["say", thread, "--lines"]);
            let load = Load { name: format!("w{at}"), running, sent: 0 };
            let over = &over;
            (at % 2, scope.spawn(move || load.run(over, told)))
        };
        let writers: Vec<_> = told.iter().enumerate().map(start).collect();
        let get_on = || {
            let before = told.each_ref().map(|told| told.load(Ordering::Acquire));
            eventually("every writer gets on", || {
                assert!(!writers.iter().any(|(_, writer)| writer.is_finished()), "a writer ended");
                told.iter().zip(before).all(|(told, before)| told.load(Ordering::Acquire) >= before + LINES_BETWEEN)
            });
        };
        get_on();
        first = Some(follow.next_json());
        for _ in 0..CRASHES {
            get_on();
            cluster.crash().expect("it crashes");
            cluster.restart().expect("it starts again");
        }
        get_on();
        over.store(true, Ordering::Release);
        writers.into_iter().map(|(thread, writer)| (thread, writer.join().expect("it went well"))).collect()
    });

    let contents = threads.each_ref().map(|thread| logged(&keep, thread));
    for (thread, Said { name, sent, acknowledged }) in &done {
        assert_eq!(*acknowledged, numbered(name, *sent), "all that was sent is acknowledged, in order");
        assert_eq!(said_by(name, &contents[*thread]), *acknowledged, "and there, once, in the same order");
    }
    let sent: usize = done.iter().map(|(_, said)| said.sent).sum();
    assert_eq!(contents.iter().map(Vec::len).sum::<usize>(), sent, "and nothing else is");

    let text = |entry: &Value| entry["data"]["content"].as_str().expect("text").to_owned();
    let later = contents[0].iter().skip(1).map(|_| follow.next_json());
    let followed: Vec<String> = first.into_iter().chain(later).map(|entry| text(&entry)).collect();
    assert_eq!(followed, contents[0], "every entry once, in order");
    let mut seen: HashMap<String, Vec<String>> = HashMap::new();
    for _ in 0..sent {
        let entry = follow_all.next_json();
        let thread = entry["threadId"].as_str().expect("a thread").to_owned();
        seen.entry(thread).or_default().push(text(&entry));
    }
    for (thread, contents) in threads.iter().zip(&contents) {
        assert_eq!(&seen[thread], contents, "every entry once, in order");
    }
    for follow in [follow, follow_all] {
        follow.signal("INT");
        assert_eq!(follow.next_line(), None);
        let (status, stderr) = follow.end();
        assert_eq!(status.code(), Some(0), "{stderr}");
        only_away(&stderr);
    }
    keep.ok(&["doctor"]);
}

#[test]
fn whoever_shall_not_wait_for_a_server_that_is_gone_is_told_at_once() {
    let cluster = Cluster::start().expect("a server");
    let keep = Keep::on(&cluster.url());
    let thread = keep.create("Work");
    let mut writer = keep.start(&["say", &thread, "--lines", "--retry-for", "0", "--json"]);
    writer.tell("kept");
    writer.next_json();
    let follow = keep.start(&["tail", &thread, "--json", "--retry-for", "10ms"]);
    assert_eq!(follow.next_json()["data"]["content"], "kept");
    cluster.crash().expect("it crashes");
    writer.tell("refused");
    assert_eq!(writer.next_line(), None);
    let (status, stderr) = writer.end();
    assert_eq!(status.code(), Some(6), "{stderr}");
    let error: Value = serde_json::from_str(&stderr).expect("one line of JSON");
    assert_eq!(error["code"], "unavailable");
    let detail = error["detail"].as_str().expect("a sentence");
    assert!(detail.starts_with("line 2: ") && detail.ends_with("; 1 line was kept"), "{detail}");
    assert_eq!(follow.next_line(), None);
    let (status, stderr) = follow.end();
    assert_eq!(status.code(), Some(6), "{stderr}");
    assert!(stderr.starts_with("the store is away: trying again for up to 10ms\n{"), "{stderr}");
    // Nothing that begins now waits.
    for args in [&["say", &thread, "x"][..], &["tail", &thread], &["show", &thread], &["fork", &thread]] {
        keep.run(args).refused(6, &["cannot be reached", "is the server running"]);
    }
}

/// Refused with this code and exit code on every kind of command, and the password is never shown.
#[track_caller]
fn refused(url: &str, password: &str, code: &str, exit: i32, words: &[&str]) {
    for args in [&["list"][..], &["create", "x"], &["doctor"], &["say", "4e36", "x"]] {
        let with = |more: &[&str]| -> Ran {
            let mut command = threadkeep();
            command.args(["--store", url]).args(args).args(more);
            run(command, b"")
        };
        let told = with(&[]).refused(exit, words);
        let error = with(&["--json"]).refused(exit, &[]);
        assert!(!told.contains(password) && !error.contains(password), "{told}{error}");
        let error: Value = serde_json::from_str(&error).expect("one line of JSON");
        assert_eq!(error["code"], code, "{error}");
        assert!(!told.contains("THREADKEEP_KEY"), "a store takes no key: {told}");
    }
}

#[test]
fn servers_that_refuse_say_why_and_no_password_is_ever_shown() {
    let cluster = Cluster::start().expect("a server");
    let url = cluster.url();
    let keep = Keep::on(&url);
    let authority = url.strip_prefix("postgres://threadkeep:").and_then(|rest| rest.strip_suffix("/postgres"));
    let (password, host) = authority.and_then(|rest| rest.split_once('@')).expect("a password and a host");
    let secret = "Geh3im%40nis";

    let wrong = format!("postgres://threadkeep:{secret}@{host}/postgres");
    let says =
        ["does not let user 'threadkeep' in", host, "hint: check the user and the password of the store", "PGPASSWORD"];
    refused(&wrong, "Geh3im", "unauthorized", 4, &says);
    refused(
        &format!("postgres://threadkeep@{host}/postgres"),
        password,
        "unauthorized",
        4,
        &["asks for a password", "PGPASSWORD"],
    );
    let nowhere = format!("postgres://threadkeep:{password}@{host}/nowhere");
    refused(&nowhere, password, "store_not_found", 3, &["no database 'nowhere'"]);
    sql(&url, "CREATE ROLE guest LOGIN PASSWORD 'Geh3im@nis'");
    let guest = format!("postgres://guest:{secret}@{host}/postgres");
    let run_this = "CREATE SCHEMA threadkeep AUTHORIZATION guest";
    refused(&guest, "Geh3im", "forbidden", 4, &["user 'guest' may not make", run_this]);
    sql(&url, run_this);
    let guests = Keep::on(&guest);
    let thread = guests.create("It works as it was said");
    let version =
        |value: &str| sql(&url, &format!("UPDATE threadkeep.meta SET value = {value} WHERE key = 'schema_version'"));
    let known = sql(&url, "SELECT value FROM threadkeep.meta WHERE key = 'schema_version'");
    version("99");
    refused(&url, password, "store_is_newer", 6, &["version 99", "hint: use the program version"]);
    version(known[0][0].as_deref().expect("a version"));
    let malformed = format!("postgres://guest:Geh3im@nis@{host}/postgres");
    refused(&malformed, "nis", "invalid_parameter", 2, &["%40"]);

    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    let away = format!("postgres://threadkeep:{secret}@{closed}/postgres");
    refused(&away, "Geh3im", "unavailable", 6, &["cannot be reached", "is the server running"]);
    let old = format!("postgres://threadkeep:{secret}@{}/postgres", server_of_version("14.11"));
    refused(&old, "Geh3im", "cannot_open_store", 6, &["PostgreSQL 14.11", "version 15 or later is needed"]);

    // Hints work when they are pasted, where the password is in the environment.
    let hint = keep.run(&["show", "0000"]).refused(3, &["hint: PGPASSWORD=$PGPASSWORD threadkeep --store postgres://"]);
    let noted = guests.run(&["create", "Noted"]);
    for said in [&hint, &noted.stderr] {
        assert!(!said.contains(password) && !said.contains("Geh3im"), "{said}");
    }
    let hint = hint.lines().find_map(|line| line.strip_prefix("hint: ")).expect("a hint").to_owned();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_threadkeep")).parent().expect("a folder");
    let mut shell = Command::new("sh");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    shell.env("PATH", path).env("PGPASSWORD", password).args(["-c", &hint]);
    assert!(run(shell, b"").ok().contains(&thread[26..]));
}

/// A server that accepts every key, says its version, and knows nothing else.
fn server_of_version(version: &'static str) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.expect("a client");
            let packet = |client: &mut std::net::TcpStream| -> Vec<u8> {
                let mut length = [0; 4];
                client.read_exact(&mut length).expect("a length");
                let mut body = vec![0; u32::from_be_bytes(length) as usize - length.len()];
                client.read_exact(&mut body).expect("a packet");
                body
            };
            const ENCRYPT: u32 = 80_877_103;
            if packet(&mut client) == ENCRYPT.to_be_bytes() {
                client.write_all(b"N").expect("it listens");
                packet(&mut client);
            }
            let message = |kind: u8, body: &[u8]| [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat();
            let greeting = [
                message(b'R', &0u32.to_be_bytes()),
                message(b'S', format!("server_version\0{version}\0").as_bytes()),
                message(b'K', &[0; 8]),
                message(b'Z', b"I"),
            ];
            client.write_all(&greeting.concat()).expect("it listens");
            // Until it hangs up.
            drop(client.read_to_end(&mut Vec::new()));
        }
    });
    address
}

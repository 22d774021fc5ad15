//! Several servers on one database, with a Redis between them and an object store beside them.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use threadkeep_throwaway::{RedisServer, schema};

use crate::serve::Serving;
use crate::support::{Keep, eventually, run, threadkeep};

/// The events of a stream, as they come.
struct Events(BufReader<TcpStream>);

impl Events {
    fn open(serving: &Serving, path: &str) -> Self {
        let mut socket = serving.connect();
        socket.write_all(serving.head("GET", path, serving.key(), 0).as_bytes()).expect("it is sent");
        let mut events = Self(BufReader::new(socket));
        let head = events.line().expect("a head");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        events
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).expect("a line in time");
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// The data of the next event; none at the end.
    fn next(&mut self) -> Option<Value> {
        loop {
            let line = self.line()?;
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).expect("JSON"));
            }
        }
    }

    /// The next event of a run, in short.
    fn told(&mut self) -> String {
        let event = self.next().expect("an event");
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        match text("type").as_str() {
            "assistant" => format!("{} {}", text("stream_status"), text("content")),
            "status" => text("status"),
            other => other.to_owned(),
        }
    }
}

/// A server on a database that others share, with its own data folder.
fn server(folder: &Path, store: &str, streams: &str) -> Serving {
    Serving::start_with(folder, &["--store", store, "--streams", streams])
}

#[test]
fn a_run_on_one_server_is_followed_on_another_and_redis_may_go_at_any_time() {
    let (keep, schema) = (Keep::new(), schema());
    let mut redis = RedisServer::start().expect("Redis");
    let one = server(&keep.at("one"), &schema.url(), &redis.url());
    let two = server(&keep.at("two"), &schema.url(), &redis.url());
    let thread = one.thread();
    let start = json!({ "executor": "caller", "message": { "role": "user", "content": "Please look." } });
    let run = one.ok("POST", &format!("/v1/threads/{thread}/runs"), &start);
    let run = run["id"].as_str().expect("an id");
    let delta = |text: &str| one.ok("POST", &format!("/v1/runs/{run}/delta"), &json!({ "text": text }));
    let mut events = Events::open(&two, &format!("/v1/runs/{run}/stream"));
    assert_eq!(events.told(), "running");
    delta("Su");
    assert_eq!((events.told(), events.told()), ("timing".to_owned(), "chunk Su".to_owned()));
    delta("nny.");
    assert_eq!(events.told(), "chunk nny.");
    // A reader that comes late has the text of the present step.
    let mut late = Events::open(&two, &format!("/v1/runs/{run}/stream"));
    assert_eq!((late.told(), late.told()), ("running".to_owned(), "timing".to_owned()));
    assert!(late.told().starts_with("chunk Su"));
    let ttl = redis.ask(&format!("TTL agent_run:{run}:stream")).expect("an answer");
    assert!(ttl.trim().trim_start_matches(':').parse::<u64>().is_ok_and(|ttl| ttl > 3_000), "{ttl}");

    let step = |content: &str| {
        let body = json!({ "messages": [{ "role": "assistant", "content": content }] });
        one.ok("POST", &format!("/v1/runs/{run}/step"), &body)
    };
    step("Sunny.");
    assert_eq!(events.told(), "complete Sunny.");
    redis.ask("FLUSHALL").expect("an answer");
    delta("And ");
    assert_eq!(events.told(), "chunk And ");
    redis.stop();
    delta("lost");
    assert_eq!(events.told(), "degraded");
    step("And warm.");
    assert_eq!(events.told(), "complete And warm.");
    redis.restart().expect("Redis");
    // Text that was made while Redis was away is in the message. New text is shown again, once both have found Redis.
    eventually("the servers find Redis again", || {
        let logged = |serving: &Serving| -> Vec<String> {
            std::iter::from_fn(|| serving.running.said()).filter(|line| line.contains(r#""event":"streams""#)).collect()
        };
        let lines = logged(&two);
        lines.iter().any(|line| line.contains(r#""error":null"#))
    });
    one.ok("POST", &format!("/v1/runs/{run}/end"), &json!({ "status": "completed" }));
    let mut told = events.told();
    while told.starts_with("chunk") {
        told = events.told();
    }
    assert_eq!(told, "completed");
    assert_eq!(events.next(), None, "the stream ends with the run");
}

#[test]
fn custom_events_reach_the_followers_of_other_servers() {
    let (keep, schema, redis) = (Keep::new(), schema(), RedisServer::start().expect("Redis"));
    let one = server(&keep.at("one"), &schema.url(), &redis.url());
    let two = server(&keep.at("two"), &schema.url(), &redis.url());
    let thread = one.thread();
    let mut events = Events::open(&two, &format!("/v1/threads/{thread}/stream"));
    // Those that are emitted before the follower is there are not kept for it.
    let (heard, emitting) = std::sync::mpsc::channel::<()>();
    let emitter = std::thread::spawn(move || {
        let emit = json!({ "event": "progress", "data": { "done": 3 } });
        loop {
            one.ok("POST", &format!("/v1/threads/{thread}/emit"), &emit);
            match emitting.recv_timeout(std::time::Duration::from_millis(50)) {
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    let event = events.next();
    drop(heard);
    emitter.join().expect("no panic");
    assert_eq!(event.expect("an event")["data"], json!({ "done": 3 }));
}

#[test]
fn a_server_starts_and_works_without_its_redis() {
    let (keep, mut redis) = (Keep::new(), RedisServer::start().expect("Redis"));
    redis.stop();
    let serving = Serving::start_with(&keep.at("data"), &["--streams", &redis.url()]);
    let thread = serving.thread();
    let message = json!({ "role": "user", "content": "Hello!" });
    serving.ok("POST", &format!("/v1/threads/{thread}/messages"), &message);
    let mut events = Events::open(&serving, &format!("/v1/threads/{thread}/stream"));
    assert_eq!(events.next().expect("an entry")["data"]["content"], "Hello!");
}

#[test]
fn a_wrong_address_of_a_redis_is_refused_without_its_password() {
    let keep = Keep::new();
    let mut command = threadkeep();
    command.args(["serve", "--data"]).arg(keep.at("data")).args(["--streams", "http://ann:hush@x"]);
    let said = run(command, b"").refused(2, &["streams", "redis://"]);
    assert!(!said.contains("hush"), "{said}");
    let shown = keep.ok(&["config", "--streams", "redis://ann:hush@redis.example"]);
    assert!(shown.contains("redis://redis.example") && !shown.contains("hush"), "{shown}");
}

/// The files of all objects.
fn objects(folder: &Path) -> Vec<PathBuf> {
    let below = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).into_iter().flatten().map(|file| file.expect("a file").path()).collect()
    };
    below(folder).iter().flat_map(|folder| below(folder)).collect()
}

#[test]
fn large_files_are_objects_wherever_they_are_read_copied_or_backed_up() {
    let keep = Keep::new();
    let (folder, url) = (keep.at("objects"), format!("file:{}", keep.at("objects").display()));
    let with = |args: &[&str]| {
        let mut command = keep.command(args);
        command.env("THREADKEEP_OBJECTS", &url);
        run(command, b"")
    };
    let thread = keep.create("Files");
    let large: Vec<u8> = (0..3_000_000_u32).map(|n| (n / 7 % 251) as u8).collect();
    std::fs::write(keep.at("large.bin"), &large).expect("a file");
    std::fs::write(keep.at("small.txt"), "small").expect("a file");
    let large_at = keep.at("large.bin").display().to_string();
    with(&["files", "write", &thread, "/large.bin", &large_at]).ok();
    with(&["files", "write", &thread, "/small.txt", &keep.at("small.txt").display().to_string()]).ok();
    assert_eq!(objects(&folder).len(), 1, "the small one is in the store");
    assert!(std::fs::metadata(keep.store()).expect("a store").len() < 2_000_000, "the large one is not");
    with(&["files", "read", &thread, "/large.bin", "--output", &keep.at("back.bin").display().to_string()]).ok();
    assert_eq!(std::fs::read(keep.at("back.bin")).expect("a file"), large);
    assert!(with(&["store", "doctor"]).ok().ends_with("healthy"));
    // An attachment comes with its message, and is uploaded before it.
    std::fs::write(keep.at("photo.bin"), &large[1..2_000_000]).expect("a file");
    with(&["say", &thread, "Look.", "--attach", &keep.at("photo.bin").display().to_string()]).ok();
    assert_eq!(objects(&folder).len(), 2);
    assert!(with(&["store", "doctor"]).ok().ends_with("healthy"));
    // A fork shares it.
    with(&["fork", &thread, "--at-version", "2"]).ok();

    // Without its object store, the store says which setting is missing.
    let refused = keep.run(&["files", "read", &thread, "/large.bin"]);
    refused.refused(6, &["no object store is named", "--objects"]);

    // A backup holds it, and a copy has it where it is told to.
    with(&["store", "backup", &keep.at("backup.db").display().to_string()]).ok();
    let backup = Keep::on(&format!("sqlite:{}", keep.at("backup.db").display()));
    backup.ok(&["files", "read", &thread, "/large.bin", "--output", &backup.at("back.bin").display().to_string()]);
    assert_eq!(std::fs::read(backup.at("back.bin")).expect("a file"), large);
    let copy_to = |name: &str, objects: &[&str]| {
        let mut command = threadkeep();
        command.args(["store", "copy", "--from"]).arg(keep.store()).args(["--from-objects", &url, "--to"]);
        command.arg(keep.at(name)).args(objects);
        run(command, b"").ok();
    };
    let elsewhere = format!("file:{}", keep.at("elsewhere").display());
    copy_to("copy.db", &["--to-objects", &elsewhere]);
    assert_eq!(objects(&keep.at("elsewhere")).len(), 2);
    copy_to("whole.db", &[]);
    assert!(std::fs::metadata(keep.at("whole.db")).expect("a store").len() > 3_000_000);

    // Damage is found by the doctor, and garbage by gc.
    let object = objects(&folder).pop().expect("an object");
    std::fs::rename(&object, keep.at("aside")).expect("a file");
    let sick = with(&["store", "doctor"]);
    assert!(sick.code == Some(1) && sick.stdout.contains("is missing in file:"), "{sick:?}");
    std::fs::rename(keep.at("aside"), &object).expect("a file");
    for id in keep.json(&["ls"]).as_array().expect("threads") {
        keep.ok(&["rm", id["id"].as_str().expect("an id")]);
    }
    with(&["store", "gc"]).ok();
    assert_eq!(objects(&folder), Vec::<PathBuf>::new());
}

#[test]
fn servers_share_an_object_store_and_one_that_is_not_there_is_told_at_the_start() {
    let (keep, schema) = (Keep::new(), schema());
    let url = format!("file:{}", keep.at("objects").display());
    let serve = |name: &str| Serving::start_with(&keep.at(name), &["--store", &schema.url(), "--objects", &url]);
    let (one, two) = (serve("one"), serve("two"));
    let thread = one.thread();
    let path = format!("/v1/threads/{thread}/files/large.txt");
    let large = "threadkeep ".repeat(300_000);
    one.ok("PUT", &path, &Value::String(large));
    let stat = two.ok("GET", &format!("{path}?stat"), &Value::Null);
    assert_eq!(stat["size"], 3_300_002, "{stat}");
    assert_eq!(objects(&keep.at("objects")).len(), 1);

    let mut command = threadkeep();
    command
        .args(["serve", "--data"])
        .arg(keep.at("three"))
        .args(["--objects", "s3://keep?endpoint=http://127.0.0.1:9"]);
    command.env("AWS_ACCESS_KEY_ID", "ann").env("AWS_SECRET_ACCESS_KEY", "hush");
    run(command, b"").refused(6, &["the object store s3://keep?endpoint=http://127.0.0.1:9"]);
    let said = keep.run(&["ls", "--objects", "https://ann:hush@bucket"]).refused(2, &["objects", "s3://bucket/prefix"]);
    assert!(!said.contains("hush"), "{said}");
}

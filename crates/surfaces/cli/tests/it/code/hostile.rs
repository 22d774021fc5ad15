//! Hostile scripts, forty at once, while the server answers.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use threadkeep_calls::CodeStatus;

use super::Story;
use super::scripts::{ENDING, ENDLESS};
use crate::serve::answer;
use crate::support::{DEADLINE, eventually};

/// Runs at the same time.
const AT_ONCE: usize = 40;
/// How much more memory the server may hold afterwards.
const MEMORY_KB_MORE: u64 = 50 << 10;

/// The children of a process.
pub(super) fn children(of: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).map(|tasks| tasks.flatten().collect::<Vec<_>>());
    let listed = tasks
        .unwrap_or_default()
        .into_iter()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    listed.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

fn resident_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).expect("a size")
}

/// The answer to a request; each has a connection of its own.
fn post(address: &str, key: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut socket = TcpStream::connect(address).expect("the server listens");
    socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body.as_bytes())).expect("it is sent");
    answer(socket).unwrap_or_else(|| panic!("no answer to {body}"))
}

#[test]
fn hostile_scripts_end_as_they_must_and_hurt_nothing() {
    let story = Story::new();
    let server = story.serving.running.child.id();
    // The first run starts threads and workers that stay.
    assert_eq!(story.run(&json!({ "source": "export default 1" }))["status"], "success");
    eventually("two workers wait", || children(server).len() == 2);
    let before = resident_kb(server);

    let endless = ENDLESS.iter().map(|(source, ends)| (*source, *ends, 500));
    // Those that end by themselves have all the time they need while forty others run.
    let ending = ENDING.iter().map(|(source, ends)| (*source, *ends, 50_000));
    let all: Vec<(&str, &[CodeStatus], u64)> = ending.chain(endless).collect();
    assert!(all.len() >= 160, "{}", all.len());
    let (address, key, path) = (story.serving.address.clone(), story.serving.key().to_owned(), story.path("/code"));
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let alive = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((source, ends, timeout)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let body = json!({ "source": source, "timeoutMs": timeout, "memoryLimitBytes": 32 << 20 });
                    let (http, outcome) = post(&address, &key, &path, &body);
                    let status: Option<CodeStatus> = serde_json::from_value(outcome["status"].clone()).ok();
                    if http != 200 || !status.is_some_and(|status| ends.contains(&status)) {
                        let told =
                            format!("{source}\n  gave {http} {} {}, not {ends:?}", outcome["status"], outcome["error"]);
                        wrong.lock().expect("no panic").push(told);
                    }
                }
                alive.fetch_add(1, Ordering::Relaxed);
            });
        }
        // The server answers all the while.
        while alive.load(Ordering::Relaxed) < AT_ONCE {
            assert_eq!(story.serving.ok("GET", "/healthz", &Value::Null)["status"], "ok");
            story.serving.ok("POST", &story.path("/messages"), &json!({ "role": "user", "content": "still here" }));
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));

    // The next run works, and only the workers that wait are left.
    assert_eq!(story.run(&json!({ "source": "export default 1" }))["status"], "success");
    eventually("only two workers are left", || children(server).len() == 2);
    eventually("the memory of the server is back", || resident_kb(server) < before + MEMORY_KB_MORE);
    let left = children(server);
    story.serving.running.signal("KILL");
    // They die with the server, also if it is killed.
    let exists =
        |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    eventually("no process is left", || !left.iter().any(exists));
}

#[test]
fn the_memory_of_large_reports_goes_back() {
    let story = Story::new();
    let server = story.serving.running.child.id();
    assert_eq!(story.run(&json!({ "source": "export default 1" }))["status"], "success");
    let before = resident_kb(server);
    let (address, key, path) = (story.serving.address.clone(), story.serving.key().to_owned(), story.path("/code"));
    // Small values, each with a place of its own, between those of the other runs.
    let body = json!({ "source": "for (let i = 0; i < 30_000; i++) report({ a: 'x'.repeat(40), b: i })" });
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| assert_eq!(post(&address, &key, &path, &body).0, 200));
        }
    });
    eventually("the memory of the server is back", || resident_kb(server) < before + MEMORY_KB_MORE);
}

#[test]
fn host_calls_are_bounded() {
    let story = Story::new();
    let flood = |body: &str| {
        let source =
            format!("import {{ emit }} from 'threadkeep'; const say = () => emit({{ event: 'e', data: 1 }}); {body}");
        story.run(&json!({ "source": source, "grants": ["emit"], "timeoutMs": 50_000 }))
    };
    let open = flood("export default () => Promise.all(Array.from({ length: 65 }, say)).catch((error) => error.name)");
    assert_eq!(open["result"], "LimitError", "{open}");
    let large =
        flood("export default () => emit({ event: 'e', data: 'x'.repeat(17 << 20) }).catch((error) => error.name)");
    assert_eq!(large["result"], "SerializationError", "{large}");
    let many = flood(
        "export default async () => { let made = 0; for (let i = 0; i < 2000; i++) { await say(); made++ } return made }",
    );
    assert_eq!(many["result"], 2000, "{many}");
}

//! Timeouts of approvals by the real binary: each fires once, however often servers are killed, and however many there
//! are. Observers are told once, too.

use std::collections::HashMap;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use threadkeep_throwaway::schema;

use crate::killed::answer;
use crate::serve::Serving;
use crate::support::{Keep, eventually, run, threadkeep, wait};

/// Approvals that time out.
const APPROVALS: usize = 1_000;
/// How long it is spread over which they do.
const SPREAD: Duration = Duration::from_secs(5);
/// Those who ask at the same time, each on a thread of its own.
const ASKERS: usize = 8;
/// How long asking may take before the first one times out.
const BEFORE: Duration = Duration::from_secs(10);

/// Asks for all approvals, and gives the threads on which it did.
fn ask(serving: &Serving, first: Instant) -> Vec<String> {
    let threads: Vec<String> = (0..ASKERS).map(|_| serving.thread()).collect();
    let (address, key) = (&serving.address, serving.key());
    std::thread::scope(|scope| {
        for (number, thread) in threads.iter().enumerate() {
            scope.spawn(move || {
                let mut socket = BufReader::new(TcpStream::connect(address).expect("a connection"));
                for n in (number..APPROVALS).step_by(ASKERS) {
                    let due = first + SPREAD.mul_f64(n as f64 / APPROVALS as f64);
                    let left = due.saturating_duration_since(Instant::now()).as_millis();
                    let timeout = format!("PT{}.{:03}S", left / 1_000, left % 1_000);
                    let body = json!({ "direction": "request_approval", "scope": ["deploy"], "timeout": timeout,
                        "fallback": "skip" })
                    .to_string();
                    let request = format!(
                        "POST /v1/threads/{thread}/transfer HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
                         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    socket.get_mut().write_all(request.as_bytes()).expect("it is sent");
                    let (status, said) = answer(&mut socket).expect("an answer");
                    assert_eq!(status, 201, "{said}");
                }
            });
        }
    });
    threads
}

/// The entries of one kind in a thread's history, which fires nothing.
fn entries(serving: &Serving, thread: &str, kind: &str) -> Vec<Value> {
    let (mut all, mut after) = (Vec::new(), 0);
    loop {
        let page = serving.ok("GET", &format!("/v1/threads/{thread}/history?limit=1000&after={after}"), &Value::Null);
        let items = page["items"].as_array().expect("items");
        let Some(last) = items.last() else { return all };
        after = last["version"].as_u64().expect("a version");
        all.extend(items.iter().filter(|entry| entry["kind"] == kind).cloned());
    }
}

fn answered(serving: &Serving, threads: &[String]) -> Vec<Value> {
    threads.iter().flat_map(|thread| entries(serving, thread, "approval_answered")).collect()
}

/// All of them timed out, each once, and none too early.
fn check(answers: &[Value]) {
    let mut times: HashMap<&str, usize> = HashMap::new();
    for answer in answers {
        let data = &answer["data"];
        assert_eq!((&data["state"], &data["timedOut"]), (&json!("denied"), &json!(true)), "{answer}");
        let due = data["approval"]["timeoutAt"].as_str().expect("a time");
        assert!(answer["time"].as_str().expect("a time") >= due, "too early: {answer}");
        *times.entry(data["approval"]["id"].as_str().expect("an id")).or_default() += 1;
    }
    assert_eq!(times.len(), APPROVALS);
    assert!(times.values().all(|times| *times == 1), "each once");
}

#[test]
fn a_thousand_timeouts_fire_once_each_although_the_server_is_killed_twice() {
    let keep = Keep::new();
    let folder = keep.at("data");
    let mut serving = Serving::start(&folder);
    let first = Instant::now() + BEFORE;
    let threads = ask(&serving, first);
    for part in [0.3, 0.6] {
        // The moment of death is left to time: while timeouts fire.
        std::thread::sleep((first + SPREAD.mul_f64(part)).saturating_duration_since(Instant::now()));
        serving.running.kill();
        serving = Serving::start(&folder);
    }
    eventually("all of them fired", || answered(&serving, &threads).len() >= APPROVALS);
    check(&answered(&serving, &threads));
    serving.running.signal("TERM");
    assert!(wait(&mut serving.running.child).success());
    let mut doctor = threadkeep();
    doctor.args(["doctor", "--data"]).arg(&folder);
    run(doctor, b"").ok();
}

#[test]
fn two_servers_on_one_database_fire_each_timeout_once() {
    let (schema, keep) = (schema(), Keep::new());
    let start = |name: &str| Serving::start_with(Path::new(&keep.at(name)), &["--store", &schema.url()]);
    let (mut one, two) = (start("one"), start("two"));
    let first = Instant::now() + BEFORE;
    let threads = ask(&one, first);
    std::thread::sleep((first + SPREAD.mul_f64(0.5)).saturating_duration_since(Instant::now()));
    one.running.kill();
    eventually("all of them fired", || answered(&two, &threads).len() >= APPROVALS);
    check(&answered(&two, &threads));
}

#[test]
fn an_agent_asks_a_human_answers_and_without_a_server_a_timeout_fires_when_somebody_looks() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    let agent = ["--actor", "coder", "--agent"];
    let ask = |more: &[&str]| {
        let args: Vec<&str> = [&["transfer", &thread, "--request-approval", "delete_file"][..], more, &agent].concat();
        keep.ok(&args)
    };
    let first = ask(&["--reason", "it is old"]);
    let listed = keep.ok(&["approvals"]);
    assert!(listed.contains(&first) && listed.contains("coder") && listed.contains("it is old"), "{listed}");
    let refused: Vec<&str> = [&["approve", &first][..], &agent].concat();
    keep.run(&refused).refused(4, &["cannot answer what it asked for"]);
    assert!(keep.ok(&["approve", &first, "--reason", "go ahead"]).contains("approved"));
    keep.run(&["deny", &first]).refused(5, &["approved", "local"]);
    let second = ask(&["--timeout", "0s", "--fallback", "skip"]);
    assert_eq!(keep.json(&["approvals"]), json!([]), "it fired before anything was shown");
    let shown = keep.json(&["approvals", &second]);
    assert_eq!(
        (&shown["state"], &shown["timedOut"], &shown["answeredBy"]["type"]),
        (&json!("denied"), &json!(true), &json!("system"))
    );
    let history = keep.ok(&["history", &thread]);
    assert!(history.contains("approval_requested") && history.contains("denied (timed out)"), "{history}");
    keep.run(&["transfer", &thread, "--request-approval", "sleep"]).refused(2, &["is none of"]);
    keep.run(&["transfer", &thread, "--delegate", "deploy", "--timeout", "P1M"]).refused(2, &["ISO 8601"]);
}

#[test]
fn an_observing_thread_is_told_once_of_each_event_although_the_server_is_killed() {
    const EVENTS: usize = 60;
    let keep = Keep::new();
    let folder = keep.at("data");
    let mut serving = Serving::start(&folder);
    let (thread, target) = (serving.thread(), serving.thread());
    serving.ok("POST", &format!("/v1/threads/{thread}/observe"), &json!({ "target": target }));
    let ask = json!({ "direction": "request_approval", "scope": ["deploy"] });
    for n in 0..EVENTS {
        serving.ok("POST", &format!("/v1/threads/{target}/transfer"), &ask);
        if n % 20 == 10 {
            // While some are told and some are not.
            serving.running.kill();
            serving = Serving::start(&folder);
        }
    }
    let told = || entries(&serving, &thread, "injected");
    eventually("all of them are told", || told().len() >= EVENTS);
    let observed = |entry: &Value| entry["data"]["content"]["version"].as_u64();
    let versions: Vec<u64> = told().iter().map(|entry| observed(entry).expect("a version")).collect();
    assert_eq!(versions, (1..=EVENTS as u64).collect::<Vec<_>>(), "each once, in order");
}

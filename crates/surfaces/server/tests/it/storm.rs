//! Two servers on one PostgreSQL, with clocks an hour apart, while connections are cut, the server hangs and crashes:
//! nothing is lost, doubled, reordered or skipped, and every request is answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use threadkeep_throwaway::{Cluster, sql};

use crate::support::{Client, Event, Server};

const THREADS: usize = 3;
const WRITERS: usize = 4;
/// Streams of each kind on each server.
const STREAMS: usize = 125;
/// How long a call waits for PostgreSQL here; a server in use waits 10 s.
const CALL_SECONDS: u64 = 3;
/// The longest that a request may take.
const ANSWERED_WITHIN: Duration = Duration::from_secs(CALL_SECONDS + 2);
const LAST: &str = "the last one";

/// The store on a server of its own.
struct Storm {
    cluster: Cluster,
    servers: [Server; 2],
    is_over: AtomicBool,
}

impl Storm {
    fn begin() -> Self {
        let cluster = Cluster::start().expect("a server");
        let url = format!(
            "{}?schema=storm&application_name=storm&max_connections=16&call_timeout={CALL_SECONDS}",
            cluster.url()
        );
        let servers = [Server::on_store(&url), Server::on_store(&format!("{url}#ahead=1"))];
        Self { cluster, servers, is_over: AtomicBool::new(false) }
    }

    /// Clients of the same account, one for each server.
    fn clients(&self) -> [Client; 2] {
        let (ann, _) = self.servers[0].keyed("ann", "write");
        let key = ann.key.clone().expect("a key");
        [ann, self.servers[1].with_key(&key)]
    }

    /// Everything that goes wrong, one after the other.
    fn rage(&self) {
        let pause = || std::thread::sleep(Duration::from_millis(700));
        pause();
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'storm'";
        sql(&self.cluster.url(), cut);
        pause();
        let hung = self.cluster.hang().expect("a server that hangs");
        for server in &self.servers {
            let asked = Instant::now();
            let ready = server.admin().get("/readyz");
            ready.refused(503, "unavailable");
            assert!(ready.header("retry-after").is_some(), "{ready:?}");
            assert!(asked.elapsed() < Duration::from_secs(2), "readiness is answered while the store hangs");
        }
        std::thread::sleep(Duration::from_secs(CALL_SECONDS + 1));
        drop(hung);
        pause();
        self.cluster.crash().expect("a crash");
        self.cluster.restart().expect("a start");
        pause();
    }
}

/// Writes until the storm is over; each message is repeated under its key until it is acknowledged. Gives the number.
fn write(client: &Client, thread: &str, name: &str, is_over: &AtomicBool) -> usize {
    let path = format!("/v1/threads/{thread}/messages");
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        let body = json!({ "role": "user", "content": format!("{name} {number}") }).to_string();
        let key = format!("Idempotency-Key: {name}-{number}\r\n");
        loop {
            let asked = Instant::now();
            let reply = client.send("POST", &path, &key, Some(&body));
            assert!(asked.elapsed() < ANSWERED_WITHIN, "{:?} for {reply:?}", asked.elapsed());
            match reply.status {
                201 => break,
                503 => assert!(reply.header("retry-after").is_some(), "{reply:?}"),
                _ => panic!("{reply:?}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        number += 1;
        std::thread::sleep(Duration::from_millis(10));
    }
    number
}

/// Follows until the last message of each of `threads` came; comes back after its cursor whenever it is cut off.
fn follow(client: &Client, path: &str, threads: usize) -> Vec<Event> {
    let (mut events, mut last) = (Vec::<Event>::new(), 0);
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < Duration::from_secs(60), "{path} does not show the last message");
        let cursor = events.last().and_then(|event| event.id.as_ref());
        let header = cursor.map(|cursor| format!("Last-Event-ID: {cursor}\r\n")).unwrap_or_default();
        let Ok(mut stream) = client.try_stream(path, &header) else {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        while let Some(event) = stream.next() {
            if event.id.is_none() {
                continue;
            }
            last += usize::from(event.data["data"]["content"] == LAST);
            events.push(event);
            if last == threads {
                return events;
            }
        }
    }
}

/// The versions and contents of the messages of a thread, as a stream told them.
fn told(events: &[Event], thread: &str) -> Vec<(u64, String)> {
    let of_thread = events.iter().filter(|event| event.kind == "message_appended" && event.data["threadId"] == thread);
    let told = |event: &Event| {
        let content = event.data["data"]["content"].as_str().expect("a text").to_owned();
        (event.data["version"].as_u64().expect("a version"), content)
    };
    of_thread.map(told).collect()
}

#[test]
fn two_servers_keep_every_promise_in_a_storm() {
    let storm = Storm::begin();
    let clients = storm.clients();
    let threads: Vec<String> = (0..THREADS).map(|_| clients[0].thread(&[])).collect();
    let approval =
        json!({ "direction": "request_approval", "scope": ["deploy"], "timeout": "PT10M", "fallback": "skip" });
    let asked = clients[0].post(&format!("/v1/threads/{}/transfer", threads[0]), approval).ok(201);
    let approval = format!("/v1/approvals/{}", asked["approvalId"].as_str().expect("an id"));
    let all = format!("/v1/stream?threads={}", threads.join(","));
    let (written, followed) = std::thread::scope(|scope| {
        let following: Vec<_> = clients
            .iter()
            .flat_map(|client| (0..STREAMS).map(move |n| (client, n)))
            .flat_map(|(client, n)| {
                let one = format!("/v1/threads/{}/stream", threads[n % THREADS]);
                [(client, one, 1), (client, all.clone(), THREADS)]
            })
            .map(|(client, path, count)| scope.spawn(move || follow(client, &path, count)))
            .collect();
        let writing: Vec<_> = (0..WRITERS)
            .map(|n| {
                let (client, thread, is_over) = (&clients[n % 2], &threads[n % THREADS], &storm.is_over);
                scope.spawn(move || write(client, thread, &format!("w{n}"), is_over))
            })
            .collect();
        let raged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| storm.rage()));
        storm.is_over.store(true, Ordering::Relaxed);
        let written: Vec<usize> = writing.into_iter().map(|writer| writer.join().expect("a writer")).collect();
        for thread in &threads {
            clients[1].say(thread, LAST);
        }
        let followed: Vec<_> = following.into_iter().map(|follower| follower.join().expect("a follower")).collect();
        raged.expect("a storm");
        (written, followed)
    });
    for (n, thread) in threads.iter().enumerate() {
        let path = format!("/v1/threads/{thread}/stream");
        let whole = told(&follow(&clients[1], &path, 1), thread);
        assert!(whole.is_sorted_by(|earlier, later| earlier.0 < later.0), "versions rise");
        for (writer, count) in written.iter().enumerate().filter(|(writer, _)| writer % THREADS == n) {
            let own = |content: &&String| content.starts_with(&format!("w{writer} "));
            let own: Vec<_> = whole.iter().map(|(_, content)| content).filter(own).cloned().collect();
            let expected: Vec<_> = (0..*count).map(|number| format!("w{writer} {number}")).collect();
            assert_eq!(own, expected, "each acknowledged message once and in order");
        }
        for events in &followed {
            let told = told(events, thread);
            assert!(told.is_empty() || told == whole, "a stream tells all, once and in order");
        }
    }
    for client in &clients {
        assert_eq!(client.get(&approval).ok(200)["state"], "pending", "no clock ended it early");
    }
}

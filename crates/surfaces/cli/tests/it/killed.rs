//! A server that is killed under load, again and again: acknowledged messages are there once, and a client that
//! got no answer asks again under the same key and doubles nothing.
//!
//! `THREADKEEP_TEST_ROUNDS=500` kills it more often.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::serve::Serving;
use crate::support::{Chance, DEADLINE, Keep, eventually, run, threadkeep, wait};

const ROUNDS: u64 = 10;
const SEED: u64 = 20_261_115;
/// Clients that append at the same time. Each writes to a thread of its own and, in turn, to one that all share.
const CLIENTS: usize = 8;
/// Longest time between the first acknowledgement and the end, in microseconds.
const DELAY_MICROS_MAX: u64 = 60_000;

/// A client, which remembers what it is still to be told.
struct Client {
    number: usize,
    threads: [String; 2],
    next: u64,
    /// How many of its appends were kept before it heard of it.
    unheard: u64,
    acknowledged: Vec<String>,
}

impl Client {
    fn text(&self) -> String {
        format!("{}-{}", self.number, self.next)
    }

    /// Appends so often, or until the server is gone. The first append may be one that was sent before.
    fn work(&mut self, times: usize, address: &str, key: &str, acknowledged: &AtomicU64) {
        let Ok(socket) = TcpStream::connect(address) else { return };
        socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        let mut socket = BufReader::new(socket);
        for _ in 0..times {
            let (text, thread) = (self.text(), &self.threads[self.next as usize % 2]);
            let body = json!({ "role": "user", "content": text }).to_string();
            let request = format!(
                "POST /v1/threads/{thread}/messages HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
                 Idempotency-Key: {text}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            if socket.get_mut().write_all(request.as_bytes()).is_err() {
                return;
            }
            let Some((status, said)) = answer(&mut socket) else { return };
            assert_eq!((status, &said["content"]), (201, &json!(text)), "{said}");
            self.acknowledged.push(text);
            self.next += 1;
            acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The next answer on a connection that is kept; none if the server is gone.
pub fn answer(socket: &mut BufReader<TcpStream>) -> Option<(u16, Value)> {
    let (mut line, mut head, mut length) = (String::new(), String::new(), 0);
    while line != "\r\n" {
        line.clear();
        if socket.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).ok()?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Some((status, serde_json::from_slice(&body).expect("JSON")))
}

#[test]
fn a_server_killed_under_load_keeps_what_it_acknowledged_and_a_retry_doubles_nothing() {
    let rounds = std::env::var("THREADKEEP_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let keep = Keep::new();
    let folder = keep.at("data");
    let mut chance = Chance(SEED);
    let mut serving = Serving::start(&folder);
    let shared = serving.thread();
    let mut clients: Vec<Client> = (0..CLIENTS)
        .map(|number| {
            let threads = [serving.thread(), shared.clone()];
            Client { number, threads, next: 0, unheard: 0, acknowledged: Vec::new() }
        })
        .collect();
    for round in 0..rounds {
        let delay = chance.below(DELAY_MICROS_MAX);
        let (address, key) = (serving.address.clone(), serving.key().to_owned());
        let acknowledged = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for client in &mut clients {
                let (address, key, acknowledged) = (&address, &key, &acknowledged);
                scope.spawn(move || client.work(usize::MAX, address, key, acknowledged));
            }
            eventually("something is acknowledged", || acknowledged.load(Ordering::Relaxed) > 0);
            // The moment of death is the one thing here that is left to time.
            std::thread::sleep(Duration::from_micros(delay));
            serving.running.kill();
        });
        serving = Serving::start(&folder);
        let context = format!("seed {SEED}, round {round}, killed after {delay} µs");
        let together = serving.messages(&shared);
        for client in &mut clients {
            let own = serving.messages(&client.threads[0]);
            let of_client = |text: &&String| text.starts_with(&format!("{}-", client.number));
            for (kept, parity) in
                [(own.iter().collect(), 0), (together.iter().filter(of_client).collect::<Vec<_>>(), 1)]
            {
                let told: Vec<&String> = client.acknowledged.iter().skip(parity).step_by(2).collect();
                // The request under way may have been kept, though its client got no answer.
                let under_way = client.text();
                let unheard = kept.len() == told.len() + 1 && **kept[told.len()] == *under_way;
                assert!(kept.len() == told.len() || unheard, "{context}: {kept:?}, and told {told:?}");
                assert_eq!(kept[..told.len()], told[..], "{context}: each once, in order");
                client.unheard += u64::from(unheard);
            }
        }
    }
    // Clients that got no answer ask again, after the last end too.
    let acknowledged = AtomicU64::new(0);
    clients.iter_mut().for_each(|client| client.work(1, &serving.address, serving.key(), &acknowledged));
    assert_eq!(acknowledged.load(Ordering::Relaxed), CLIENTS as u64);
    let told: usize = clients.iter().map(|client| client.acknowledged.len()).sum();
    let own: usize = clients.iter().map(|client| serving.messages(&client.threads[0]).len()).sum();
    assert_eq!(own + serving.messages(&shared).len(), told, "nothing is there twice");
    let unheard: u64 = clients.iter().map(|client| client.unheard).sum();
    eprintln!("{rounds} ends, {told} appends, {unheard} of them kept before anybody heard of it");
    serving.running.signal("TERM");
    assert!(wait(&mut serving.running.child).success());
    let mut command = threadkeep();
    command.args(["doctor", "--data"]).arg(&folder);
    run(command, b"").ok();
}

//! The relay over a real Redis: notes reach other processes, and what Redis loses is only lost for the relay.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use threadkeep_relay::{Followed, Hear, Redis, Relay, Since};
use threadkeep_throwaway::RedisServer;
use tokio::runtime::Runtime;

/// How long anything may take before a test gives up on it.
const DEADLINE: Duration = Duration::from_secs(30);
const KEY: &str = "agent_run:1:stream";

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

fn relay(runtime: &Runtime, server: &RedisServer) -> Arc<Redis> {
    let _here = runtime.enter();
    Redis::start(server.url().parse().expect("a url"), Duration::from_secs(3_600))
}

fn heard(relay: &Redis, key: &str, since: Since) -> (Followed, Receiver<String>) {
    let (send, notes) = channel();
    let send = Mutex::new(send);
    let hear: Hear = Arc::new(move |note| drop(send.lock().expect("no panic").send(note.to_owned())));
    (relay.follow(key.to_owned(), since, hear), notes)
}

fn next(notes: &Receiver<String>) -> String {
    notes.recv_timeout(DEADLINE).expect("a note in time")
}

/// Sends until a note arrives: notes sent while nobody follows yet, or while Redis is away, are lost.
fn send_until_heard(relay: &Redis, key: &str, note: &str, notes: &Receiver<String>) {
    let began = Instant::now();
    loop {
        relay.send(key.to_owned(), note.to_owned());
        match notes.recv_timeout(Duration::from_millis(100)) {
            Ok(heard) if heard == note => return,
            Ok(_) | Err(_) => assert!(began.elapsed() < DEADLINE, "'{note}' was not heard in time"),
        }
    }
}

#[test]
fn notes_reach_other_processes_in_order_and_from_the_start() {
    let (server, runtime) = (RedisServer::start().expect("Redis"), runtime());
    let (one, other) = (relay(&runtime, &server), relay(&runtime, &server));
    let (_own, own) = heard(&one, KEY, Since::Start);
    let (_early, early) = heard(&other, KEY, Since::Start);
    for n in 0..500 {
        one.send(KEY.to_owned(), format!("note {n}"));
    }
    for n in 0..500 {
        assert_eq!(next(&early), format!("note {n}"));
    }
    let late = relay(&runtime, &server);
    let (_late, notes) = heard(&late, KEY, Since::Start);
    assert_eq!((next(&notes), next(&notes)), ("note 0".to_owned(), "note 1".to_owned()));
    let ttl = server.ask(&format!("TTL {KEY}")).expect("an answer");
    let seconds: u64 = ttl.trim().trim_start_matches(':').parse().expect(&ttl);
    assert!((3_500..=3_600).contains(&seconds), "{ttl}");
    // What a process sent itself it does not hear.
    other.send(KEY.to_owned(), "from the other".to_owned());
    assert_eq!(next(&own), "from the other");
}

#[test]
fn a_follower_from_now_on_hears_nothing_of_before_and_nothing_once_it_is_dropped() {
    let (server, runtime) = (RedisServer::start().expect("Redis"), runtime());
    let (one, other) = (relay(&runtime, &server), relay(&runtime, &server));
    let (_all, all) = heard(&other, "a", Since::Start);
    one.send("a".to_owned(), "before".to_owned());
    assert_eq!(next(&all), "before");
    let fresh = relay(&runtime, &server);
    let (followed, notes) = heard(&fresh, "a", Since::Now);
    send_until_heard(&one, "a", "after", &notes);
    drop(followed);
    let (_again, again) = heard(&fresh, "b", Since::Now);
    one.send("a".to_owned(), "later".to_owned());
    send_until_heard(&one, "b", "there", &again);
    assert!(notes.try_iter().all(|note| note == "after"), "it was told more");
}

#[test]
fn a_flush_and_a_restart_lose_notes_and_end_nothing() {
    let (mut server, runtime) = (RedisServer::start().expect("Redis"), runtime());
    let (one, other) = (relay(&runtime, &server), relay(&runtime, &server));
    let (_followed, notes) = heard(&other, KEY, Since::Start);
    send_until_heard(&one, KEY, "a", &notes);
    server.ask("FLUSHALL").expect("an answer");
    send_until_heard(&one, KEY, "b", &notes);
    server.stop();
    let mut trouble = other.trouble();
    let changed = |trouble: &mut tokio::sync::watch::Receiver<Option<String>>, is: bool| {
        let until = trouble.wait_for(|trouble| trouble.is_some() == is);
        let said = runtime.block_on(async { tokio::time::timeout(DEADLINE, until).await });
        said.expect("in time").expect("the relay lives").clone()
    };
    one.send(KEY.to_owned(), "lost".to_owned());
    let said = changed(&mut trouble, true).expect("trouble");
    assert!(said.starts_with("redis://127.0.0.1") && !said.contains('@'), "{said}");
    server.restart().expect("Redis");
    changed(&mut trouble, false);
    send_until_heard(&one, KEY, "c", &notes);
}

#[test]
fn notes_go_over_encrypted_connections_to_a_server_that_is_trusted() {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let server = RedisServer::start_encrypted(&made.cert.pem(), &made.signing_key.serialize_pem()).expect("Redis");
    let runtime = runtime();
    let start = |url: String| {
        let _here = runtime.enter();
        Redis::start(url.parse().expect("a url"), Duration::from_secs(3_600))
    };
    let trusting = || start(format!("{}?ca={}", server.tls_url(), server.certificate().display()));
    let (one, other) = (trusting(), trusting());
    let (_followed, notes) = heard(&other, KEY, Since::Start);
    send_until_heard(&one, KEY, "in private", &notes);
    // The authorities of the system do not know it.
    let stranger = start(server.tls_url());
    let mut trouble = stranger.trouble();
    let told = trouble.wait_for(Option::is_some);
    let said = runtime.block_on(async { tokio::time::timeout(DEADLINE, told).await });
    let said = said.expect("in time").expect("the relay lives").clone().expect("trouble");
    assert!(said.starts_with("rediss://127.0.0.1") && said.contains("certificate"), "{said}");
}

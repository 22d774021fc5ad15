//! `search` and `index`, with the real binary: on the bare store, by a server, and after it was killed.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::serve::Serving;
use crate::support::{Chance, Keep, eventually, run, threadkeep};

const ROUNDS: u64 = 8;
const SEED: u64 = 20_261_116;
/// Messages that are written at once before the server dies.
const AT_ONCE: usize = 400;
/// Longest time between the first message and the end, in microseconds.
const DELAY_MICROS_MAX: u64 = 900_000;

/// Texts of the messages that were found.
fn hits(found: &Value) -> Vec<String> {
    let results = found.as_array().expect("an array").iter();
    let matched = results.flat_map(|result| result["messages"].as_array().expect("messages"));
    let matched = matched.filter(|message| message["match"] == true);
    matched.map(|message| message["text"].as_str().expect("text").to_owned()).collect()
}

#[test]
fn a_search_on_the_bare_store_finds_what_was_just_said_and_says_how_to_open_it() {
    let keep = Keep::new();
    let thread = keep.create("Garden");
    keep.say(&thread, "What grows in the shade?");
    let hit = keep.say(&thread, "Ferns and hostas grow there, \u{1b}[31mdo they?");
    keep.say(&thread, "And the slugs?");
    keep.ok(&["create", "Elsewhere", "--message", "nothing of the kind", "--agent-id", "writer"]);
    let ran = keep.run(&["search", "hosta", "--context", "1"]);
    let shown = ran.ok();
    let lines: Vec<&str> = shown.lines().collect();
    assert!(
        lines[0].starts_with("Garden  ") && lines[0].contains(thread.rsplit('-').next().expect("short")),
        "{shown}"
    );
    assert_eq!(lines[1], "    user: What grows in the shade?");
    assert_eq!(lines[2], "  > user: Ferns and hostas grow there, \\u{1b}[31mdo they?", "nothing steers the terminal");
    assert_eq!(lines[3], "    user: And the slugs?");
    let open = lines[4].trim();
    assert!(open.starts_with("threadkeep --store ") && open.ends_with(&format!("--message {hit}")), "{open}");
    assert!(!shown.contains("\u{1b}["), "no colour in a pipe: {shown}");
    let words: Vec<&str> = open.split(' ').skip(3).collect();
    assert!(keep.ok(&words).contains("Ferns and hostas"), "what is printed opens it");
    assert_eq!(hits(&keep.json(&["search", "hostas"])), ["Ferns and hostas grow there, \u{1b}[31mdo they?"]);
    keep.say(&thread, "a hedgehog");
    assert_eq!(hits(&keep.json(&["search", "hedgehogs"])), ["a hedgehog"], "the index follows by itself");
    assert_eq!(keep.json(&["search", "xylophone"]), json!([]));
    assert_eq!(keep.ok(&["search", "xylophone"]), "");
    let writer = ["search", "kind", "--agent-id", "writer", "--after", "2000-01-01", "--role", "user", "--limit", "3"];
    assert_eq!(hits(&keep.json(&writer)), ["nothing of the kind"]);
    assert_eq!(keep.json(&["search", "shade", "--thread", &thread[..10], "--before", "2000-01-01"]), json!([]));
    keep.ok(&["rollback", &thread, "--to-version", "3"]);
    assert_eq!(keep.json(&["search", "hedgehog"]), json!([]));
    assert_eq!(hits(&keep.json(&["search", "hedgehog", "--superseded"])), ["a hedgehog"]);
    assert!(keep.ok(&["search", "hedgehog", "--superseded"]).contains("does not show it any more"));
    let status = keep.json(&["index", "status"]);
    assert_eq!((&status["caughtUp"], &status["following"]), (&json!(true), &json!(false)));
    assert_eq!(keep.json(&["index", "backfill"]), json!({ "embedded": 0, "cleaned": 0 }));
    assert_eq!(keep.json(&["index", "rebuild"])["embedded"], status["messages"]);
    keep.run(&["search", " "]).refused(2, &["WORDS: is empty"]);
    keep.run(&["search"]).refused(2, &["WORDS"]);
    keep.run(&["search", "x", "--limit", "0"]).refused(2, &["limit"]);
    keep.run(&["search", "x", "--metadata", "[1]"]).refused(2, &["metadata"]);
}

#[test]
fn an_index_that_cannot_be_read_says_how_it_is_made_anew() {
    let keep = Keep::new();
    let data = keep.at("data");
    let on = |args: &[&str]| {
        let mut command = threadkeep();
        command.current_dir(keep.folder()).arg("--data").arg(&data).args(args);
        run(command, b"")
    };
    on(&["create", "Reeds", "--message", "a bittern"]).ok();
    std::fs::write(data.join("threadkeep-search.db"), "no database at all").expect("damage");
    let refused = on(&["search", "bittern"]);
    assert!(!refused.stderr.contains("index backfill"), "{refused:?}");
    refused.refused(6, &["threadkeep-search.db", "hint: threadkeep", "index rebuild"]);
    on(&["index", "rebuild"]).ok();
    assert!(on(&["search", "bittern"]).ok().contains("a bittern"));
}

#[test]
fn commands_ask_the_server_that_runs_on_the_folder() {
    let keep = Keep::served();
    let thread = keep.create("Harbour");
    keep.say(&thread, "The ferry leaves at nine.");
    eventually("the index follows", || keep.json(&["index", "status"])["caughtUp"] == true);
    assert_eq!(keep.json(&["index", "status"])["following"], true);
    assert_eq!(hits(&keep.json(&["search", "ferries"])), ["The ferry leaves at nine."]);
    assert_eq!(keep.json(&["index", "backfill", "--agent-id", "nobody"]), json!({ "embedded": 0, "cleaned": 0 }));
    assert_eq!(keep.json(&["index", "rebuild"])["embedded"], 1, "beside the server");
    eventually("it is found again", || hits(&keep.json(&["search", "ferry"])).len() == 1);
}

#[test]
fn a_server_killed_while_it_indexes_loses_and_doubles_nothing_in_the_index() {
    let keep = Keep::new();
    let folder = keep.at("data");
    let mut chance = Chance(SEED);
    let mut serving = Serving::start(&folder);
    let thread = serving.thread();
    let path = format!("/v1/threads/{thread}/messages");
    for round in 0..ROUNDS {
        let texts: Vec<Value> =
            (0..AT_ONCE).map(|n| json!({ "role": "user", "content": format!("cormorant {round} {n}") })).collect();
        serving.ok("POST", &path, &json!({ "messages": texts }));
        // The moment of death is the one thing here that is left to time.
        std::thread::sleep(Duration::from_micros(chance.below(DELAY_MICROS_MAX)));
        serving.running.kill();
        serving = Serving::start(&folder);
    }
    let status = || serving.ok("GET", "/v1/search/status", &Value::Null);
    eventually("the index follows", || status()["caughtUp"] == true);
    let status = status();
    let all = ROUNDS as usize * AT_ONCE;
    assert_eq!((&status["messages"], &status["embedded"]), (&json!(all), &json!(all)), "seed {SEED}: {status}");
    let last = serving.ok("POST", "/v1/search", &json!({ "query": format!("\"cormorant 7 {}\"", AT_ONCE - 1) }));
    assert_eq!(last["results"][0]["messages"].as_array().map(Vec::len), Some(4), "{last}");
    serving.running.signal("TERM");
    let mut command = threadkeep();
    command.args(["doctor", "--data"]).arg(&folder);
    run(command, b"").ok();
}

#[test]
fn an_older_backup_that_is_put_back_is_searched_as_it_is() {
    let keep = Keep::new();
    let data = keep.at("data");
    let on = |args: &[&str]| {
        let mut command = threadkeep();
        command.current_dir(keep.folder()).arg("--data").arg(&data).args(args);
        run(command, b"").ok()
    };
    let thread = on(&["create", "Logbook", "--message", "an early albatross"]);
    on(&["backup", "old.db"]);
    on(&["say", &thread, "a late albatross"]);
    assert_eq!(hits(&serde_json::from_str(&on(&["search", "late", "--json"])).expect("json")), ["a late albatross"]);
    assert!(data.join("threadkeep-search.db").exists());
    std::fs::remove_file(data.join("threadkeep.db")).expect("removed");
    std::fs::copy(keep.at("old.db"), data.join("threadkeep.db")).expect("put back");
    let found = |query: &str| hits(&serde_json::from_str(&on(&["search", query, "--json"])).expect("json"));
    assert_eq!(found("albatross"), ["an early albatross"]);
    on(&["say", &thread, "an albatross of today"]);
    assert_eq!(found("today"), ["an albatross of today"]);
    assert_eq!(found("late"), Vec::<String>::new());
    on(&["doctor"]);
    // Other work on the store leaves the index behind, which does no harm.
    on(&["gc"]);
    on(&["export", "-o", "all.jsonl"]);
    let mut command = threadkeep();
    command.current_dir(keep.folder()).args(["--data", "other", "import", "all.jsonl"]);
    run(command, b"").ok();
    let mut command = threadkeep();
    command.current_dir(keep.folder()).args(["--data", "other", "search", "today", "--json"]);
    let there = run(command, b"").ok();
    assert_eq!(hits(&serde_json::from_str(&there).expect("json")), ["an albatross of today"]);
}

#[test]
fn settings_of_the_embedder_are_refused_with_what_is_missing() {
    let keep = Keep::new();
    keep.ok(&["create", "T", "--message", "a"]);
    let config = |args: &[&str]| {
        let mut command = threadkeep();
        command.current_dir(keep.folder()).arg("config").args(args);
        run(command, b"")
    };
    config(&["--embedder", "endpoint"]).refused(2, &["embedder-url", "is missing"]);
    config(&["--embedder", "endpoint", "--embedder-url", "http://localhost/v1"]).refused(2, &["embedder-model"]);
    config(&["--embedder", "transformer"]).refused(2, &["embedder-folder"]);
    config(&["--embedder-folder", "x"]).refused(2, &["embedder-folder", "transformer"]);
    config(&["--embedder", "magic"]).refused(2, &["magic"]);
    let mut command = keep.command(&["search", "a"]);
    command.env("THREADKEEP_EMBEDDER", "endpoint");
    run(command, b"").refused(2, &["embedder-url"]);
    let mut command = keep.command(&["config"]);
    command.env("THREADKEEP_EMBEDDER_KEY", "sk-very-secret");
    let shown = run(command, b"").ok();
    assert!(shown.contains("(secret)") && !shown.contains("sk-very-secret"), "{shown}");
}

/// An endpoint that answers requests for embeddings with the same vector for every text, unless it refuses to,
/// and counts them.
struct Endpoint {
    asked: AtomicU64,
    refuses: AtomicBool,
}

impl Endpoint {
    const fn new(refuses: bool) -> Self {
        Self { asked: AtomicU64::new(0), refuses: AtomicBool::new(refuses) }
    }
}

/// Lets it answer, and says where.
fn start(endpoint: &'static Endpoint) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            serve_embeddings(socket, endpoint);
        }
    });
    url
}

fn serve_embeddings(mut socket: TcpStream, endpoint: &Endpoint) {
    let mut read = Vec::new();
    let mut buffer = [0; 4_096];
    let body = loop {
        let Ok(count @ 1..) = socket.read(&mut buffer) else { return };
        read.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&read).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.to_ascii_lowercase();
        let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.trim().parse().ok());
        if length.is_some_and(|length: usize| body.len() >= length) {
            assert!(head.contains("Bearer sk-very-secret") || head.contains("bearer sk-very-secret"), "{head}");
            break body.to_owned();
        }
    };
    let body: Value = serde_json::from_str(&body).expect("json");
    let count = body["input"].as_array().map_or(1, Vec::len);
    let data: Vec<Value> =
        (0..count).map(|index| json!({ "index": index, "embedding": [0.6, 0.8, 0.0, 0.0] })).collect();
    let answer = json!({ "data": data, "model": "m" }).to_string();
    endpoint.asked.fetch_add(1, Ordering::Relaxed);
    let status = if endpoint.refuses.load(Ordering::Relaxed) { "403 Forbidden" } else { "200 OK" };
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n", answer.len());
    // The client may be gone.
    drop(socket.write_all(format!("{head}Connection: close\r\n\r\n{answer}").as_bytes()));
}

#[test]
fn vectors_of_an_endpoint_are_made_when_it_is_set_and_never_mixed_with_others() {
    static ENDPOINT: Endpoint = Endpoint::new(false);
    let url = start(&ENDPOINT);
    let keep = Keep::new();
    keep.ok(&["create", "T", "--message", "a kingfisher"]);
    assert_eq!(keep.json(&["search", "kingfisher"]).as_array().map(Vec::len), Some(1));
    let with_endpoint = |args: &[&str]| {
        let mut command = keep.command(args);
        command.env("THREADKEEP_EMBEDDER", "endpoint").env("THREADKEEP_EMBEDDER_URL", &url);
        command.env("THREADKEEP_EMBEDDER_MODEL", "m").env("THREADKEEP_EMBEDDER_KEY", "sk-very-secret");
        serde_json::from_str::<Value>(&run(command, b"").ok()).expect("json")
    };
    let status = with_endpoint(&["index", "status", "--json"]);
    assert_eq!((&status["messages"], &status["embedded"], &status["dimensions"]), (&json!(1), &json!(0), &json!(4)));
    assert!(!status.to_string().contains("very-secret"));
    assert_eq!(hits(&with_endpoint(&["search", "kingfisher", "--json"])), ["a kingfisher"], "words answer until then");
    with_endpoint(&["index", "backfill", "--json"]);
    assert_eq!(with_endpoint(&["index", "status", "--json"])["embedded"], 1);
    assert!(ENDPOINT.asked.load(Ordering::Relaxed) >= 2);
    assert_eq!(keep.json(&["index", "status"])["embedded"], 0, "they are not the built-in one's");
}

#[test]
fn an_endpoint_behind_tls_is_asked_if_its_certificate_is_trusted() {
    static ENDPOINT: Endpoint = Endpoint::new(false);
    let url = start(&ENDPOINT);
    let plain = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/v1")).expect("an address");
    let (address, pem) = crate::tls::terminator(plain.parse().expect("an address"));
    let keep = Keep::new();
    std::fs::write(keep.at("trusted.pem"), pem).expect("a file");
    keep.ok(&["create", "T", "--message", "a kingfisher"]);
    let embedded = |trusting: bool| {
        let mut command = keep.command(&["index", "backfill", "--json"]);
        command.env("THREADKEEP_EMBEDDER", "endpoint").env("THREADKEEP_EMBEDDER_DIMENSIONS", "4");
        command.env("THREADKEEP_EMBEDDER_URL", format!("https://localhost:{}/v1", address.port()));
        command.env("THREADKEEP_EMBEDDER_MODEL", "m").env("THREADKEEP_EMBEDDER_KEY", "sk-very-secret");
        command.env_remove("SSL_CERT_DIR").env_remove("SSL_CERT_FILE");
        if trusting {
            command.env("SSL_CERT_FILE", keep.at("trusted.pem"));
        }
        run(command, b"")
    };
    embedded(true).ok();
    assert_eq!(ENDPOINT.asked.load(Ordering::Relaxed), 1);
    keep.ok(&["create", "T", "--message", "a dipper"]);
    embedded(false).refused(6, &["certificate"]);
    assert_eq!(ENDPOINT.asked.load(Ordering::Relaxed), 1, "nothing is said to somebody else");
}

#[test]
fn a_server_says_why_vectors_are_not_made_and_goes_on_once_they_can_be() {
    static ENDPOINT: Endpoint = Endpoint::new(true);
    let url = start(&ENDPOINT);
    let keep = Keep::new();
    let key = keep.at("key");
    std::fs::write(&key, "sk-very-secret").expect("a file");
    let serving = Serving::start_with(
        &keep.at("data"),
        &[
            &["--embedder", "endpoint", "--embedder-model", "m", "--embedder-dimensions", "4"][..],
            &["--embedder-url", &url, "--embedder-key-file", key.to_str().expect("a path")],
        ]
        .concat(),
    );
    let thread = serving.thread();
    let said = json!({ "messages": [{ "role": "user", "content": "a heron" }] });
    serving.ok("POST", &format!("/v1/threads/{thread}/messages"), &said);
    let next_told = || loop {
        let line = serving.running.next_error().expect("it runs");
        let line: Value = serde_json::from_str(&line).expect("JSON");
        if line["event"] == "index" {
            break line["error"].clone();
        }
    };
    let trouble = next_told();
    assert!(trouble.as_str().is_some_and(|why| why.contains("403") && !why.contains("secret")), "{trouble}");
    let found = || serving.ok("POST", "/v1/search", &json!({ "query": "herons" }))["results"].clone();
    assert_eq!(hits(&found()), ["a heron"], "words are found meanwhile");
    ENDPOINT.refuses.store(false, Ordering::Relaxed);
    assert_eq!(next_told(), Value::Null);
    assert_eq!(serving.ok("GET", "/v1/search/status", &Value::Null)["embedded"], 1);
    assert_eq!(hits(&found()), ["a heron"]);
}

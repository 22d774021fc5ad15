//! Searches over HTTP: results for each caller, how soon they come, and hostile questions.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use threadkeep_server::Settings;

use crate::support::{Client, Server, settings};

/// How long the index may take to catch up before a test gives up on it.
const DEADLINE: Duration = Duration::from_secs(60);

/// Waits until the server says that everything is in the index.
#[track_caller]
fn caught_up(client: &Client) -> Value {
    let begun = Instant::now();
    loop {
        let status = client.get("/v1/search/status").ok(200);
        if status["caughtUp"] == true {
            return status;
        }
        assert!(begun.elapsed() < DEADLINE, "{status}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The results of a search: each thread with the text of its hit.
#[track_caller]
fn found(client: &Client, body: Value) -> Vec<(String, String)> {
    let found = client.post("/v1/search", body).ok(200);
    assert!(found["tookMs"].as_f64().is_some_and(|took| took >= 0.0), "{found}");
    let results = found["results"].as_array().expect("results").iter();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let told = results.map(|result| {
        let messages = result["messages"].as_array().expect("messages");
        let hit: Vec<_> = messages.iter().filter(|message| message["match"] == true).collect();
        assert_eq!(hit.len(), 1, "{result}");
        assert_eq!((&hit[0]["messageId"], &hit[0]["timestamp"]), (&result["messageId"], &result["timestamp"]));
        (text(&result["threadId"]), text(&hit[0]["text"]))
    });
    told.collect()
}

#[track_caller]
fn asked(client: &Client, query: &str) -> Vec<(String, String)> {
    found(client, json!({ "query": query }))
}

#[test]
fn what_is_said_is_found_by_itself_with_what_stands_around_it() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann", "write");
    let thread = ann.thread(&["We sail on Friday.", "Größe 🦀: the lobster has claws", "Bring rope."]);
    ann.thread(&["nothing of the kind"]);
    let status = caught_up(&ann);
    assert_eq!((&status["following"], &status["messages"], &status["embedded"]), (&json!(true), &json!(4), &json!(4)));
    let answer = ann.post("/v1/search", json!({ "query": "lobsters", "contextWindow": 1 })).ok(200);
    let result = &answer["results"][0];
    assert_eq!((&result["threadId"], &result["threadTitle"]), (&json!(thread), &json!("T")));
    assert_eq!((&result["alsoIn"], &result["superseded"]), (&json!(0), &json!(false)));
    assert!(result["score"].as_f64().is_some_and(|score| score > 0.0 && score <= 1.0), "{result}");
    assert_eq!(result["why"]["keyword"], 1.0);
    assert!(result["why"]["vector"].is_number());
    let messages = result["messages"].as_array().expect("messages");
    assert_eq!(messages.iter().map(|message| &message["match"]).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(messages[1]["role"], "user");
    let text: Vec<u16> = messages[1]["text"].as_str().expect("text").encode_utf16().collect();
    let highlights = messages[1]["highlights"].as_array().expect("highlights");
    let marked = highlights.iter().map(|range| {
        let at = |end: usize| usize::try_from(range[end].as_u64().expect("a number")).expect("small");
        String::from_utf16(&text[at(0)..at(1)]).expect("whole characters")
    });
    assert_eq!(marked.collect::<Vec<_>>(), ["lobster"], "as JavaScript counts");
    assert!(messages[0].get("highlights").is_none());
    assert_eq!(asked(&ann, "xylophone zeppelins"), []);
    ann.say(&thread, "A heron came by.");
    caught_up(&ann);
    assert_eq!(asked(&ann, "heron"), [(thread.clone(), "A heron came by.".to_owned())]);
    ann.delete(&format!("/v1/threads/{thread}")).ok(200);
    assert_eq!(asked(&ann, "heron"), [], "at once");
}

#[test]
fn nobody_finds_what_belongs_to_others() {
    let server = Server::start();
    let ((ann, _), (bob, _), (reader, _)) =
        (server.keyed("ann", "write"), server.keyed("bob", "write"), server.keyed("ann", "read"));
    let secret = ann.thread(&["the code word is pelican"]);
    let own = bob.thread(&["no bird here"]);
    ann.patch(&format!("/v1/threads/{secret}"), json!({ "visibility": "public" })).ok(200);
    caught_up(&ann);
    assert_eq!(asked(&ann, "pelican").len(), 1);
    assert_eq!(asked(&reader, "pelican").len(), 1, "a key that reads may search");
    assert_eq!(asked(&bob, "pelican"), [], "also when it is public");
    assert_eq!(asked(&server.admin(), "pelican"), [], "the operator's own account is another one");
    let within = json!({ "query": "pelican", "threadId": secret });
    bob.post("/v1/search", within).refused(404, "thread_not_found");
    server.anonymous().post("/v1/search", json!({ "query": "pelican" })).refused(401, "unauthorized");
    server.anonymous().get("/v1/search/status").refused(401, "unauthorized");
    reader.post("/v1/search/backfill", json!({})).refused(403, "forbidden");
    assert_eq!(bob.get("/v1/search/status").ok(200)["messages"], 1, "sizes are the account's own");
    assert_eq!(asked(&bob, "bird"), [(own, "no bird here".to_owned())]);
    let fork = bob.post(&format!("/v1/threads/{secret}/fork"), json!({})).ok(201)["id"].clone();
    caught_up(&bob);
    assert_eq!(json!(asked(&bob, "pelican")), json!([[fork, "the code word is pelican"]]), "a fork is theirs");
}

#[test]
fn every_filter_holds_and_unknown_fields_are_refused() {
    let server = Server::start();
    let ann = server.keyed("ann", "write").0;
    ann.post("/v1/projects", json!({ "id": "web", "name": "Web" })).ok(201);
    let make = |body: Value| ann.post("/v1/threads", body).ok(201)["id"].as_str().expect("an id").to_owned();
    let message = |role: &str| json!([{ "role": role, "content": "an otter swims" }]);
    let wanted = make(json!({
        "agentId": "writer", "projectId": "web", "metadata": { "tags": ["river"], "team": { "name": "red" } },
        "messages": message("assistant"),
    }));
    let other = make(json!({ "messages": message("user") }));
    caught_up(&ann);
    let with = |field: &str, value: Value| {
        let mut body = json!({ "query": "otter" });
        body[field] = value;
        body
    };
    for (field, value) in [
        ("agentId", json!("writer")),
        ("projectId", json!("web")),
        ("threadId", json!(wanted)),
        ("metadata", json!({ "team": { "name": "red" } })),
        ("tag", json!("river")),
        ("role", json!("assistant")),
    ] {
        let threads: Vec<_> = found(&ann, with(field, value)).into_iter().map(|(thread, _)| thread).collect();
        assert_eq!(threads, std::slice::from_ref(&wanted), "{field}");
    }
    assert_eq!(asked(&ann, "otter").len(), 2);
    assert_eq!(found(&ann, with("limit", json!(1))).len(), 1);
    assert_eq!(found(&ann, with("after", json!("2100-01-01T00:00:00Z"))), []);
    assert_eq!(found(&ann, with("before", json!("2000-01-01T00:00:00Z"))), []);
    assert_eq!(found(&ann, with("before", json!("2100-01-01T00:00:00Z"))).len(), 2);
    let short = wanted.rsplit('-').next().expect("its end");
    assert_eq!(found(&ann, with("threadId", json!(short))).len(), 1, "by its short id");
    ann.post(&format!("/v1/threads/{other}/truncate"), json!({ "fromIndex": 0 })).ok(200);
    caught_up(&ann);
    assert_eq!(asked(&ann, "otter").len(), 1, "what was cut off is not found");
    assert_eq!(found(&ann, with("includeSuperseded", json!(true))).len(), 2);
    for (field, value) in [
        ("colour", json!(1)),
        ("metadata", json!([1])),
        ("role", json!("king")),
        ("after", json!("yesterday")),
        ("limit", json!(-1)),
        ("query", json!(7)),
        ("agentId", json!({})),
    ] {
        ann.post("/v1/search", with(field, value)).refused(400, "invalid_body");
    }
    for (field, value) in
        [("limit", json!(0)), ("limit", json!(101)), ("contextWindow", json!(51)), ("query", json!(" "))]
    {
        ann.post("/v1/search", with(field, value)).refused(400, "invalid_parameter");
    }
    ann.post("/v1/search", json!({})).refused(400, "invalid_body");
    ann.post("/v1/search", with("threadId", json!("4e36"))).refused(400, "invalid_thread_id");
    ann.post("/v1/search", json!({ "query": "x".repeat(300_000) })).refused(400, "invalid_parameter");
    ann.post("/v1/search/backfill", json!({ "agentID": "x" })).refused(400, "invalid_body");
}

#[test]
fn no_question_is_syntax_and_none_breaks_anything() {
    let server = Server::start();
    let ann = server.keyed("ann", "write").0;
    let thread = ann.thread(&["cats AND dogs NEAR( the \"old mill\" * 100% 😀"]);
    caught_up(&ann);
    let long = "mill ".repeat(10_000);
    for query in [
        "\"",
        "*",
        "AND",
        "NEAR(",
        "\"\"",
        "\" \"",
        "'; DROP TABLE volumes; --",
        "\u{202e}\u{200f}mill",
        "😀",
        "%",
        "_",
        "\\",
        "a\u{0}b",
        "mill\u{0}",
        "(((((",
        "col:mill",
        "-mill",
        "mill^9",
        "{\"query\":1}",
        "\u{feff}",
        "é\u{301}\u{301}",
        &long,
    ] {
        ann.post("/v1/search", json!({ "query": query })).ok(200);
    }
    assert_eq!(asked(&ann, "\"old mill\"").len(), 1);
    assert_eq!(asked(&ann, "\"mill old\"").len(), 0);
    assert_eq!(asked(&ann, "mill\u{0}")[0].0, thread, "null bytes are stripped, as everywhere");
    assert_eq!(asked(&ann, &long).len(), 1);
}

#[test]
fn without_the_follower_a_backfill_brings_everything_in_and_a_restart_goes_on() {
    let server = Server::start_with(Settings { search_index: false, ..settings() });
    let (ann, _) = server.keyed("ann", "write");
    let agent = json!({ "agentId": "a1", "messages": [{ "role": "user", "content": "a walrus" }] });
    ann.post("/v1/threads", agent).ok(201);
    ann.thread(&["two walruses", "three"]);
    let status = ann.get("/v1/search/status").ok(200);
    assert_eq!(
        (&status["caughtUp"], &status["following"], &status["messages"]),
        (&json!(false), &json!(false), &json!(0))
    );
    assert!(status["behind"].as_u64().is_some_and(|behind| behind >= 3), "{status}");
    assert_eq!(asked(&ann, "walrus"), []);
    let done = ann.post("/v1/search/backfill", json!({ "agentId": "a1" })).ok(200);
    assert_eq!(done, json!({ "embedded": 1, "cleaned": 0 }));
    assert_eq!(ann.post("/v1/search/backfill", json!({})).ok(200), json!({ "embedded": 0, "cleaned": 0 }));
    assert_eq!(asked(&ann, "walrus").len(), 2);
    assert_eq!(ann.get("/v1/search/status").ok(200)["caughtUp"], true);
    let metrics = server.anonymous().get("/metrics").body;
    for line in ["threadkeep_search_index_behind_entries 0", "threadkeep_search_index_messages 3"] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    let thread = ann.thread(&["a narwhal"]);
    let key = ann.key.clone().expect("a key");
    let server = server.restarted();
    let ann = server.with_key(&key);
    caught_up(&ann);
    assert_eq!(asked(&ann, "narwhal"), [(thread, "a narwhal".to_owned())], "what was missing came in");
    assert_eq!(ann.get("/v1/search/status").ok(200)["messages"], 4, "and nothing twice");
}

#[test]
fn two_servers_on_one_store_share_the_index_and_neither_doubles_the_others_work() {
    let schema = threadkeep_throwaway::schema();
    let (one, two) = (Server::on_store(&schema.url()), Server::on_store(&schema.url()));
    let (ann, _) = one.keyed("ann", "write");
    let elsewhere = two.with_key(ann.key.as_deref().expect("a key"));
    let threads: Vec<String> =
        [&ann, &elsewhere, &ann, &elsewhere].iter().map(|client| client.thread(&["a"])).collect();
    // Both write at the same time, so that both followers have something to do at every moment.
    std::thread::scope(|scope| {
        for (at, thread) in threads.iter().enumerate() {
            let client = if at % 2 == 0 { &ann } else { &elsewhere };
            scope.spawn(move || (0..50).for_each(|n| drop(client.say(thread, &format!("puffin {at} {n}")))));
        }
    });
    for client in [&ann, &elsewhere] {
        let status = caught_up(client);
        assert_eq!((&status["messages"], &status["embedded"]), (&json!(204), &json!(204)), "each once");
        assert_eq!(found(client, json!({ "query": "puffin", "limit": 10 })).len(), 4);
    }
}

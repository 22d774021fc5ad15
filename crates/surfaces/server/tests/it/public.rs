//! Public threads: every caller reads and forks them, only their owner changes them.

use serde_json::json;

use crate::support::{Client, Server};

fn publish(owner: &Client, thread: &str, visibility: &str) {
    owner.patch(&format!("/v1/threads/{thread}"), json!({ "visibility": visibility })).ok(200);
}

#[test]
fn a_public_thread_shows_the_conversation_and_nothing_of_its_owner() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann-the-owner", "write");
    let made = ann.post(
        "/v1/threads",
        json!({
            "title": "Open", "draft": "unsent-draft", "env": { "initial": { "tags": ["private-env"] } },
            "projectId": "private-project", "userId": "private-user", "metadata": { "topic": "kept" },
            "messages": [{ "role": "user", "content": "hello" }],
        }),
    );
    let thread = made.ok(201)["id"].as_str().expect("an id").to_owned();
    let fork = ann.post(&format!("/v1/threads/{thread}/fork"), json!({})).ok(201)["id"].clone();
    ann.post(&format!("/v1/threads/{thread}/runs"), json!({ "executor": "caller" })).ok(201);
    ann.post(&format!("/v1/threads/{thread}/queue"), json!({ "role": "user", "content": "queued-text" })).ok(201);
    publish(&ann, &thread, "public");
    let (bob, _) = server.keyed("bob", "write");
    for visitor in [&bob, &server.anonymous()] {
        let shown = visitor.get(&format!("/v1/threads/{thread}")).ok(200);
        assert_eq!((&shown["title"], &shown["metadata"]["topic"]), (&"Open".into(), &"kept".into()));
        assert_eq!(visitor.shows(&thread), "hello");
        let mut said = shown.to_string();
        for rest in ["messages", "history", "events", "model-messages"] {
            said.push_str(&visitor.get(&format!("/v1/threads/{thread}/{rest}")).ok(200).to_string());
        }
        let first = visitor.get(&format!("/v1/threads/{thread}/messages")).ok(200)["items"][0]["id"].clone();
        let one = format!("/v1/threads/{thread}/messages/{}", first.as_str().expect("an id"));
        said.push_str(&visitor.get(&one).ok(200).to_string());
        let mut stream = visitor.stream(&format!("/v1/threads/{thread}/stream"), "");
        let event = stream.next().expect("an event");
        said.push_str(&format!("{event:?}"));
        assert_eq!(event.data["data"]["content"], "hello");
        let private = ["unsent-draft", "private-env", "private-project", "private-user", "queued-text", "\"run\""];
        for word in private.iter().chain(&["ann-the-owner", fork.as_str().expect("an id")]) {
            assert!(!said.contains(word), "'{word}' is told: {said}");
        }
    }
    for rest in ["queue", "tree", "relationships", "children", "checkpoints", "writer", "summary"] {
        bob.get(&format!("/v1/threads/{thread}/{rest}")).refused(404, "thread_not_found");
        server.anonymous().get(&format!("/v1/threads/{thread}/{rest}")).refused(401, "unauthorized");
    }
    bob.patch(&format!("/v1/threads/{thread}"), json!({ "title": "mine" })).refused(404, "thread_not_found");
}

#[test]
fn a_fork_of_a_public_thread_belongs_to_whoever_made_it() {
    let server = Server::start();
    let ((ann, _), (bob, _)) = (server.keyed("ann", "write"), server.keyed("bob", "write"));
    let thread = ann.thread(&["a", "b"]);
    let fork_path = format!("/v1/threads/{thread}/fork");
    bob.post(&fork_path, json!({})).refused(404, "thread_not_found");
    publish(&ann, &thread, "public");
    server.anonymous().post(&fork_path, json!({})).refused(401, "unauthorized");
    let before = ann.get(&format!("/v1/threads/{thread}")).ok(200);
    let fork = bob.post(&fork_path, json!({ "messageIndex": 0 })).ok(201);
    let fork = fork["id"].as_str().expect("an id");
    assert_eq!(ann.get(&format!("/v1/threads/{thread}")).ok(200), before, "its parent is told nothing");
    ann.get(&format!("/v1/threads/{fork}")).refused(404, "thread_not_found");
    assert_eq!(server.admin().post("/v1/admin/doctor", json!({})).ok(200)["healthy"], true);
    let related = bob.get(&format!("/v1/threads/{fork}/relationships")).ok(200);
    assert_eq!(related["items"][0]["threadId"], thread.as_str());
    let history = bob.get(&format!("/v1/threads/{fork}/history")).ok(200).to_string();
    assert!(!history.contains("ann"), "who said it is told to nobody else: {history}");
    publish(&ann, &thread, "private");
    assert_eq!(bob.shows(fork), "a", "what was forked stays");
    bob.say(fork, "mine");
    ann.delete(&format!("/v1/threads/{thread}")).ok(200);
    server.admin().post("/v1/admin/gc", json!({})).ok(200);
    assert_eq!(bob.shows(fork), "a mine");
}

#[test]
fn streams_of_visitors_end_when_a_thread_is_taken_back_or_deleted() {
    let server = Server::start();
    let (ann, _) = server.keyed("ann", "write");
    let thread = ann.thread(&["a"]);
    publish(&ann, &thread, "public");
    let path = format!("/v1/threads/{thread}/stream");
    let mut stream = server.anonymous().stream(&path, "");
    assert_eq!(stream.next().expect("an event").kind, "message_appended");
    publish(&ann, &thread, "private");
    assert_eq!(stream.next(), None);
    server.anonymous().get(&path).refused(401, "unauthorized");
    let mut own = ann.stream(&format!("{path}?after=latest"), "");
    ann.delete(&format!("/v1/threads/{thread}")).ok(200);
    assert_eq!(own.next(), None);
}

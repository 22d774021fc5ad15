//! Runs over HTTP: the caller's own executor, its stream, its stop, and what visitors do not see.

use serde_json::{Value, json};

use crate::support::{Client, Event, Server, Stream};

fn open(client: &Client, run: &str, last: Option<&str>) -> Stream {
    let last = last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
    client.stream(&format!("/v1/runs/{run}/stream"), &last)
}

fn kinds(events: &[Event]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = |Event { kind, data: event, .. }: &Event| match kind.as_str() {
        "assistant" => format!("{} {}", text(&event["stream_status"]), text(&event["content"])),
        "status" => text(&event["status"]),
        "tool_call" => format!("{} {}", text(&event["tool_name"]), text(&event["status"])),
        other => other.to_owned(),
    };
    events.iter().map(kind).collect()
}

#[test]
fn a_caller_runs_and_everyone_reads_the_same_stream() {
    let server = Server::start();
    let ann = server.keyed("ann", "write").0;
    let thread = ann.thread(&["Is it sunny?"]);
    let start = json!({ "executor": "caller", "message": { "role": "user", "content": "Please look." } });
    let run = ann.post(&format!("/v1/threads/{thread}/runs"), start).ok(201);
    assert_eq!((&run["status"], &run["threadId"], &run["attempt"]), (&json!("running"), &json!(thread), &json!(1)));
    assert_eq!(run["messages"].as_array().map(Vec::len), Some(2), "{run}");
    let id = run["id"].as_str().expect("an id");
    let mut early = open(&ann, id, None);
    assert_eq!(early.next().expect("an event").data["status"], "running");
    ann.post(&format!("/v1/runs/{id}/delta"), json!({ "text": "Su" })).ok(200);
    let timing = early.next().expect("timing").data;
    assert!(timing["first_response_ms"].is_number() && timing["pipeline"] == "caller", "{timing}");
    let Event { id: place, data: chunk, .. } = early.next().expect("a chunk");
    assert_eq!((&chunk["content"], &chunk["step"]), (&json!("Su"), &json!(1)));
    drop(early);
    ann.post(&format!("/v1/runs/{id}/delta"), json!({ "text": "nny." })).ok(200);
    let mut back = open(&ann, id, place.as_deref());
    assert_eq!(back.next().expect("a chunk").data["content"], "nny.");
    ann.post(&format!("/v1/runs/{id}/step"), json!({ "messages": [{ "role": "assistant", "content": "Sunny." }] }))
        .ok(200);
    let end = json!({ "status": "completed", "reason": "stop_on_response" });
    let ended = ann.post(&format!("/v1/runs/{id}/end"), end).ok(200);
    assert_eq!((&ended["status"], &ended["reason"]), (&json!("completed"), &json!("stop_on_response")));
    assert_eq!(kinds(&back.rest()), ["complete Sunny.", "completed"]);
    let whole = ["running", "timing", "complete Sunny.", "completed"];
    assert_eq!(kinds(&open(&ann, id, None).rest()), whole);
    assert_eq!(kinds(&open(&ann, id, Some("1.1")).rest()), whole, "an id of another server");
    ann.get(&format!("/v1/runs/{id}/stream?after=nonsense")).refused(400, "invalid_cursor");
    let told = ann.get(&format!("/v1/runs/{id}")).ok(200);
    assert_eq!(told["steps"].as_array().map(Vec::len), Some(1));
    let listed = ann.get("/v1/runs?status=completed").ok(200);
    assert_eq!(listed["items"][0]["id"], run["id"]);
    assert_eq!(ann.get(&format!("/v1/threads/{thread}/runs")).ok(200)["total"], 1);
    ann.post(&format!("/v1/runs/{id}/step"), json!({})).refused(409, "run_over");
    ann.post(&format!("/v1/threads/{thread}/executions"), json!({})).refused(404, "route_not_found");
}

#[test]
fn a_socket_tells_the_same_events_as_the_stream() {
    let server = Server::start();
    let (ann, bob) = (server.keyed("ann", "write").0, server.keyed("bob", "write").0);
    let thread = ann.thread(&["Is it sunny?"]);
    let run = ann.post(&format!("/v1/threads/{thread}/runs"), json!({ "executor": "caller" })).ok(201);
    let id = run["id"].as_str().expect("an id");
    let mut socket = ann.socket(&format!("/v1/runs/{id}/ws"));
    assert_eq!(socket.frame()["status"], "running");
    ann.post(&format!("/v1/runs/{id}/delta"), json!({ "text": "Su" })).ok(200);
    assert_eq!(socket.frame()["type"], "timing");
    assert_eq!(socket.frame()["content"], "Su");
    let said = json!({ "messages": [{ "role": "assistant", "content": "Sunny." }] });
    ann.post(&format!("/v1/runs/{id}/step"), said).ok(200);
    let whole = socket.frame();
    assert_eq!((&whole["stream_status"], &whole["content"]), (&json!("complete"), &json!("Sunny.")));
    let last = ann.get(&format!("/v1/threads/{thread}/messages")).ok(200)["items"][1]["id"].clone();
    assert_eq!(whole["message_id"], last);
    ann.post(&format!("/v1/runs/{id}/end"), json!({})).ok(200);
    assert_eq!(socket.frame()["status"], "completed");
    bob.get(&format!("/v1/runs/{id}/ws")).refused(404, "run_not_found");
    server.anonymous().get(&format!("/v1/runs/{id}/ws")).refused(401, "unauthorized");
    ann.get(&format!("/v1/runs/{id}/ws")).refused(400, "invalid_parameter");
    let ticket = ann.post("/v1/tickets", json!({ "path": format!("/v1/runs/{id}/ws") })).ok(201);
    assert!(ticket["ticket"].is_string(), "{ticket}");
}

#[test]
fn closing_every_connection_stops_nothing_and_stop_does() {
    let server = Server::start();
    let ann = server.keyed("ann", "write").0;
    let thread = ann.thread(&["Go."]);
    let run = ann.post(&format!("/v1/threads/{thread}/runs"), json!({ "executor": "caller" })).ok(201);
    let id = run["id"].as_str().expect("an id");
    for _ in 0..3 {
        drop(open(&ann, id, None).next());
    }
    assert_eq!(ann.get(&format!("/v1/runs/{id}")).ok(200)["status"], "running");
    assert!(ann.post(&format!("/v1/runs/{id}/stop"), json!({})).ok(200)["stopRequestedAt"].is_string());
    let told = ann.post(&format!("/v1/runs/{id}/delta"), json!({ "text": "x" })).ok(200);
    assert_eq!(told["stopRequested"], true);
    let events = open(&ann, id, None).rest();
    assert_eq!(kinds(&events).last().map(String::as_str), Some("stopped"), "the server ends it: {events:?}");
    assert_eq!(ann.get(&format!("/v1/runs/{id}")).ok(200)["reason"], "aborted");
}

#[test]
fn visitors_of_a_public_thread_see_no_runs() {
    let server = Server::start();
    let (ann, bob) = (server.keyed("ann", "write").0, server.keyed("bob", "write").0);
    let thread = ann.thread(&["Go."]);
    ann.patch(&format!("/v1/threads/{thread}"), json!({ "visibility": "public" })).ok(200);
    let run = ann.post(&format!("/v1/threads/{thread}/runs"), json!({ "executor": "caller" })).ok(201);
    let id = run["id"].as_str().expect("an id");
    for path in [format!("/v1/runs/{id}"), format!("/v1/runs/{id}/stream")] {
        bob.get(&path).refused(404, "run_not_found");
    }
    bob.get(&format!("/v1/threads/{thread}/runs")).refused(404, "thread_not_found");
    assert_eq!(bob.get("/v1/runs").ok(200)["items"], json!([]));
    bob.post(&format!("/v1/runs/{id}/stop"), json!({})).refused(404, "run_not_found");
    let seen = bob.get(&format!("/v1/threads/{thread}")).ok(200);
    assert!(seen.get("run").is_none(), "{seen}");
}

#[test]
fn a_run_of_a_caller_and_model_messages_are_given_what_fits() {
    let server = Server::start();
    let (ann, bob) = (server.keyed("ann", "write").0, server.keyed("bob", "write").0);
    let thread = ann.thread(&["Plan the trip to Rome."]);
    let said: Vec<Value> =
        (0..200).map(|n| json!({ "role": "user", "content": format!("Message {n} has a few words in it.") })).collect();
    ann.post(&format!("/v1/threads/{thread}/messages"), json!({ "messages": said })).ok(201);
    ann.patch(&format!("/v1/threads/{thread}"), json!({ "visibility": "public" })).ok(200);
    let start = json!({ "executor": "caller", "contextTokens": 1_000 });
    let run = ann.post(&format!("/v1/threads/{thread}/runs"), start).ok(201);
    let given = run["messages"].as_array().expect("messages");
    assert!((5..120).contains(&given.len()), "{}", given.len());
    let summary = given[0]["content"].as_str().expect("a summary");
    assert!(given[0].get("id").is_none() && summary.contains("Goal: Plan the trip to Rome."), "{summary}");
    let path = format!("/v1/threads/{thread}/model-messages?contextTokens=1000");
    assert_eq!(ann.get(&path).ok(200), run["messages"], "the same is read again");
    let whole = ann.get(&format!("/v1/threads/{thread}/model-messages?contextTokens=100000")).ok(200);
    assert_eq!(whole[0]["content"], given[0]["content"], "a summary serves later requests too");
    let seen = bob.get(&path).ok(200);
    assert!(seen.as_array().expect("messages").iter().all(|message| message["id"].is_string()), "no summary: {seen}");
    let small = format!("/v1/threads/{thread}/model-messages?contextTokens=5");
    ann.get(&small).refused(400, "invalid_parameter");
}

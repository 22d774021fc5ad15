//! Streams: each entry once, in order, through every kind of interruption.

use serde_json::{Value, json};

use crate::support::{Event, Server};

fn texts(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.data["data"]["content"].as_str().unwrap_or(&event.kind)).collect()
}

#[test]
fn a_stream_begins_with_the_first_entry_and_goes_on_live() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["a", "b"]);
    let mut stream = ann.stream(&format!("/v1/threads/{thread}/stream"), "");
    assert_eq!(texts(&stream.take(2)), ["a", "b"]);
    ann.say(&thread, "c");
    let live = stream.next().expect("an event");
    assert_eq!((live.id.as_deref(), live.kind.as_str()), (Some("3"), "message_appended"));
    assert_eq!(live.data["version"], 3);
    let history = ann.get(&format!("/v1/threads/{thread}/history")).ok(200);
    assert_eq!(history["items"][2], live.data, "the same object as in the history");
    ann.post(&format!("/v1/threads/{thread}/emit"), json!({ "event": "hello", "data": { "x": 1 } })).ok(200);
    let emitted = stream.next().expect("an event");
    assert_eq!((emitted.id, &emitted.data["event"]), (None, &json!("hello")));
}

#[test]
fn a_stream_resumes_exactly_after_disconnects_and_a_restart() {
    let mut server = Server::start();
    let (ann, _) = server.keyed("ann", "write");
    let key = ann.key.expect("a key");
    let thread = server.with_key(&key).thread(&[]);
    let path = format!("/v1/threads/{thread}/stream");
    let (mut said, mut seen) = (Vec::new(), Vec::new());
    let mut last = String::from("0");
    for round in 0..6 {
        let client = server.with_key(&key);
        let resume = format!("Last-Event-ID: {last}\r\n");
        let mut stream = client.stream(&path, if round == 0 { "" } else { &resume });
        for number in 0..7 {
            let text = format!("{round}.{number}");
            client.say(&thread, &text);
            said.push(text);
        }
        // It breaks off in the middle, after another number of events each time.
        for event in stream.take(3 + round) {
            last = event.id.clone().expect("a place");
            seen.push(event);
        }
        drop(stream);
        if round % 2 == 1 {
            server = server.restarted();
        }
    }
    let mut stream = server.with_key(&key).stream(&format!("{path}?after={last}"), "");
    seen.extend(stream.take(said.len() - seen.len()));
    assert_eq!(texts(&seen), said);
    server.with_key(&key).say(&thread, "end");
    assert_eq!(texts(&stream.take(1)), ["end"]);
}

#[test]
fn cursors_that_are_foreign_malformed_or_in_the_future_are_refused() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["a"]);
    let path = format!("/v1/threads/{thread}/stream");
    for cursor in ["2", "99999999999", "-1", "x", "1.0", "", "%00", "18446744073709551616", "f1-80cd28"] {
        ann.get(&format!("{path}?after={cursor}")).refused(400, "invalid_cursor");
    }
    for cursor in ["7", "latest2", "\u{1F600}"] {
        ann.send("GET", &path, &format!("Last-Event-ID: {cursor}\r\n"), None).refused(400, "invalid_cursor");
    }
    for cursor in ["1", "f1", "f1-000000", "fffff-000000"] {
        ann.get(&format!("/v1/stream?threads={thread}&after={cursor}")).refused(400, "invalid_cursor");
    }
    ann.get(&format!("{path}?before=1")).refused(400, "invalid_parameter");
    let mut latest = ann.stream(&format!("{path}?after=latest"), "");
    ann.say(&thread, "b");
    assert_eq!(texts(&latest.take(1)), ["b"]);
}

#[test]
fn one_stream_follows_many_threads_and_resumes() {
    let server = Server::start();
    let ((ann, _), (bob, _)) = (server.keyed("ann", "write"), server.keyed("bob", "write"));
    let (first, other, second) = (ann.thread(&["a"]), ann.thread(&["not this one"]), ann.thread(&["b"]));
    let path = format!("/v1/stream?threads={first},{second}");
    let mut stream = ann.stream(&path, "");
    let begun = stream.take(4);
    assert_eq!(texts(&begun), ["thread_created", "a", "thread_created", "b"]);
    drop(stream);
    ann.say(&other, "not this one");
    bob.thread(&["nor this one"]);
    ann.say(&second, "c");
    let cursor = begun[2].id.as_deref().expect("a cursor");
    let mut stream = ann.stream(&path, &format!("Last-Event-ID: {cursor}\r\n"));
    assert_eq!(texts(&stream.take(2)), ["b", "c"]);
    ann.delete(&format!("/v1/threads/{first}")).ok(200);
    assert_eq!(stream.next().expect("an event").kind, "thread_deleted");
    bob.get(&path).refused(404, "thread_not_found");
    ann.get("/v1/stream").refused(400, "invalid_parameter");
}

#[test]
fn one_stream_follows_a_project() {
    let server = Server::start();
    let ((ann, _), (bob, _)) = (server.keyed("ann", "write"), server.keyed("bob", "write"));
    let mut stream = ann.stream("/v1/stream?projectId=p&after=latest", "");
    let make = |client: &crate::support::Client, project: &str, text: &str| {
        let messages = json!([{ "role": "user", "content": text }]);
        client.post("/v1/threads", json!({ "projectId": project, "messages": messages })).ok(201)
    };
    make(&bob, "p", "another account's");
    make(&ann, "q", "another project's");
    make(&ann, "p", "ours");
    assert_eq!(texts(&stream.take(2)), ["thread_created", "ours"]);
}

#[test]
fn a_reader_that_takes_nothing_holds_nobody_up() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&[]);
    let slow = ann.stream(&format!("/v1/threads/{thread}/stream"), "");
    let large = "x".repeat(200_000);
    for _ in 0..40 {
        ann.say(&thread, &large);
    }
    let mut quick = ann.stream(&format!("/v1/threads/{thread}/stream"), "");
    assert_eq!(quick.take(40).len(), 40);
    let mut slow = slow;
    assert_eq!(slow.take(40).last().and_then(|event| event.id.clone()).as_deref(), Some("40"), "it catches up");
}

#[test]
fn a_reader_that_takes_nothing_for_too_long_is_cut() {
    let server = Server::impatient(std::time::Duration::from_millis(200));
    let ann = server.admin();
    let thread = ann.thread(&[]);
    let _stalled = ann.stream(&format!("/v1/threads/{thread}/stream"), "");
    let large = "x".repeat(4 << 20);
    for _ in 0..8 {
        ann.say(&thread, &large);
    }
    let is_open = || ann.get("/metrics").body.contains("threadkeep_open_streams 1");
    assert!((0..1_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        !is_open()
    }));
    let mut resumed = ann.stream(&format!("/v1/threads/{thread}/stream?after=7"), "");
    assert_eq!(resumed.next().expect("an event").id.as_deref(), Some("8"), "nothing is lost");
}

#[test]
fn streams_end_when_the_server_stops() {
    let mut server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["a"]);
    let mut stream = ann.stream(&format!("/v1/threads/{thread}/stream"), "");
    stream.next().expect("an event");
    server.stop();
    assert_eq!(stream.next(), None);
    assert!(!server.folder().join("server.json").exists());
}

#[test]
fn a_websocket_carries_the_same_objects() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["a"]);
    let mut socket = ann.socket(&format!("/v1/threads/{thread}/ws"));
    let history = || ann.get(&format!("/v1/threads/{thread}/history")).ok(200)["items"].clone();
    assert_eq!(socket.frame(), history()[0]);
    ann.say(&thread, "b");
    assert_eq!(socket.frame(), history()[1]);
    ann.get(&format!("/v1/threads/{thread}/ws")).refused(400, "invalid_parameter");
}

#[test]
fn who_began_with_the_latest_and_was_cut_off_before_anything_came_misses_nothing() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["before"]);
    for path in [format!("/v1/threads/{thread}/stream"), format!("/v1/stream?threads={thread}")] {
        let mark = if path.contains('?') { '&' } else { '?' };
        let began = ann.stream(&format!("{path}{mark}after=latest"), "").cursor.expect("it says where it begins");
        ann.say(&thread, "meanwhile");
        let mut again = ann.stream(&path, &format!("Last-Event-ID: {began}\r\n"));
        assert_eq!(texts(&again.take(1)), ["meanwhile"]);
    }
}

#[test]
fn the_six_events_come_by_name_beside_their_entries() {
    let server = Server::start();
    let ann = server.admin();
    let thread = ann.thread(&["a"]);
    let at = format!("/v1/threads/{thread}");
    for content in [1, 2] {
        ann.put(&format!("{at}/files/f"), json!(content));
    }
    ann.post(&format!("{at}/transfer"), json!({ "direction": "request_approval", "scope": ["deploy"] })).ok(201);
    let run = ann.post(&format!("{at}/runs"), json!({ "executor": "caller" })).ok(201)["id"].clone();
    let run = run.as_str().expect("an id");
    ann.post(&format!("/v1/runs/{run}/end"), json!({ "status": "failed" })).ok(200);
    ann.post(&format!("{at}/lifecycle"), json!({ "action": "done" })).ok(200);
    let six =
        ["artifact_created", "artifact_updated", "approval_requested", "error_occurred", "status_changed", "done"];
    for path in [format!("{at}/stream"), format!("/v1/stream?threads={thread}")] {
        let mut stream = ann.stream(&path, "");
        let (mut before, mut events) = (Value::Null, Vec::new());
        while events.len() < six.len() {
            let event = stream.next().expect("an event");
            let data = event.data;
            if event.id.is_some() {
                before = data;
                continue;
            }
            assert_eq!((&data["version"], &data["data"]), (&before["version"], &before["data"]), "beside its entry");
            assert_eq!((&data["event"], &data["threadId"]), (&json!(event.kind), &json!(thread)));
            events.push(event.kind);
        }
        assert_eq!(events, six, "{path}");
    }
}

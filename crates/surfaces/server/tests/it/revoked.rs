//! A revocation is the end: once it is answered, nothing that its key opened delivers anything more. No stream here
//! looks at its key by the clock, so only signals and checks before sending can end it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use threadkeep_server::Settings;

use crate::support::{Client, Server, Stream, connect, settings};

const NEVER: Duration = Duration::from_secs(3_600);

fn without_clocks() -> Settings {
    Settings { recheck: NEVER, heartbeat: NEVER, ..settings() }
}

/// The head of an answer.
fn head(socket: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    String::from_utf8(head).expect("text")
}

fn websocket(server: &Server, client: &Client, thread: &str) -> TcpStream {
    let mut socket = connect(server.address());
    let request = format!(
        "GET /v1/threads/{thread}/ws?after=latest HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.address(),
        client.key.as_deref().expect("a key")
    );
    socket.write_all(request.as_bytes()).expect("it is sent");
    assert!(head(&mut socket).starts_with("HTTP/1.1 101"));
    socket
}

fn revoke(server: &Server, key: &str) {
    assert_eq!(server.admin().delete(&format!("/v1/keys/{key}")).ok(200)["revoked"], true);
}

#[test]
fn streams_tickets_links_and_sessions_end_with_their_key() {
    let server = Server::start_with(without_clocks());
    let ((ann, id), (writer, _)) = (server.keyed("ann", "read"), server.keyed("ann", "write"));
    let thread = writer.thread(&["before"]);
    let path = format!("/v1/threads/{thread}/stream");
    let draw = || ann.post("/v1/tickets", json!({ "path": path })).ok(201)["ticket"].as_str().expect("one").to_owned();
    let link = || {
        let drawn = ann.post("/v1/sign-in", json!({})).ok(201);
        drawn["url"].as_str().expect("a link").split_once("/sign-in").expect("a path").1.to_owned()
    };
    let browser = server.anonymous();
    let signed_in = browser.get(&format!("/sign-in{}", link()));
    let cookie = signed_in.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned();
    let cookie = format!("Cookie: {cookie}\r\n");
    let (ticket, unused) = (draw(), link());
    let mut streams: Vec<Stream> = vec![
        ann.stream(&path, ""),
        ann.stream(&format!("/v1/stream?threads={thread}"), ""),
        browser.stream(&format!("{path}?ticket={}", draw()), ""),
        browser.stream(&path, &cookie),
    ];
    for stream in &mut streams {
        while stream.next().expect("an event").kind != "message_appended" {}
    }
    let mut socket = websocket(&server, &ann, &thread);
    revoke(&server, &id);
    writer.say(&thread, "after");
    for stream in streams {
        assert_eq!(stream.rest(), [], "nothing more comes");
    }
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).expect("an end");
    let is_quiet = rest.chunks(2).all(|frame| frame == [0x89, 0] || frame == [0x88, 0]);
    assert!(is_quiet, "a sign of life, a frame that closes the socket, and nothing else: {rest:?}");
    browser.get(&format!("{path}?ticket={ticket}")).refused(401, "unauthorized");
    browser.get(&format!("/sign-in{unused}")).refused(401, "unauthorized");
    browser.send("GET", &path, &cookie, None).refused(401, "unauthorized");
    ann.get("/v1/threads").refused(401, "unauthorized");
}

#[test]
fn a_request_that_is_under_way_ends_with_its_key() {
    let server = Server::start_with(without_clocks());
    let ((ann, id), (writer, _)) = (server.keyed("ann", "write"), server.keyed("ann", "write"));
    let thread = writer.thread(&[]);
    let file = format!("/v1/threads/{thread}/files/half.txt");
    let mut upload = connect(server.address());
    let key = ann.key.as_deref().expect("a key");
    let request = |method: &str, path: &str, more: &str| {
        let address = server.address();
        format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n{more}\r\n")
    };
    upload.write_all(request("PUT", &file, "Content-Length: 10\r\n").as_bytes()).expect("it is sent");
    upload.write_all(b"half,").expect("it is sent");
    let large = format!("/v1/threads/{thread}/files/large.bin");
    let bytes = "x".repeat(32 << 20);
    assert_eq!(writer.send("PUT", &large, "", Some(&bytes)).status, 201);
    let mut download = connect(server.address());
    download.write_all(request("GET", &large, "").as_bytes()).expect("it is sent");
    assert!(head(&mut download).starts_with("HTTP/1.1 200"));
    revoke(&server, &id);
    assert!(head(&mut upload).starts_with("HTTP/1.1 401"));
    let mut rest = Vec::new();
    // It is cut off, which may be an error.
    drop(download.read_to_end(&mut rest));
    assert!(rest.len() < bytes.len(), "{} bytes came", rest.len());
    writer.get(&file).refused(404, "file_not_found");
}

#[test]
fn a_key_can_revoke_itself() {
    let server = Server::start();
    let (admin, id) = server.keyed("ann", "admin");
    assert_eq!(admin.delete(&format!("/v1/keys/{id}")).ok(200)["revoked"], true);
    admin.get("/v1/keys").refused(401, "unauthorized");
}

#[test]
fn a_key_that_another_server_revoked_gets_nothing_that_came_later() {
    let schema = threadkeep_throwaway::schema();
    let one = Server::on_store_with(&schema.url(), without_clocks());
    let two = Server::on_store_with(&schema.url(), without_clocks());
    let ((ann, id), (writer, _)) = (one.keyed("ann", "read"), one.keyed("ann", "write"));
    let elsewhere = two.with_key(ann.key.as_deref().expect("a key"));
    let thread = writer.thread(&["before"]);
    let mut streams = [
        elsewhere.stream(&format!("/v1/threads/{thread}/stream"), ""),
        elsewhere.stream(&format!("/v1/stream?threads={thread}"), ""),
    ];
    for stream in &mut streams {
        while stream.next().expect("an event").kind != "message_appended" {}
    }
    revoke(&one, &id);
    elsewhere.get("/v1/threads").refused(401, "unauthorized");
    writer.say(&thread, "after");
    for stream in streams {
        assert_eq!(stream.rest(), []);
    }
}

#[test]
fn a_stream_loses_threads_that_are_taken_back_or_change_hands() {
    let server = Server::start_with(without_clocks());
    let ((ann, _), (bob, _)) = (server.keyed("ann", "write"), server.keyed("bob", "write"));
    let (first, second) = (ann.thread(&["a"]), ann.thread(&["b"]));
    let show = |thread: &str, visibility: &str| {
        ann.patch(&format!("/v1/threads/{thread}"), json!({ "visibility": visibility })).ok(200);
    };
    for thread in [&first, &second] {
        show(thread, "public");
    }
    let mut stream = bob.stream(&format!("/v1/stream?threads={first},{second}&after=latest"), "");
    show(&first, "private");
    let lost = stream.next().expect("an event");
    assert_eq!((lost.kind.as_str(), &lost.data["threadId"]), ("thread_lost", &first.clone().into()));
    ann.say(&first, "private");
    ann.say(&second, "public");
    assert_eq!(stream.next().expect("an event").data["data"]["content"], "public");
    show(&second, "private");
    assert_eq!(stream.next().expect("an event").kind, "thread_lost");
    assert_eq!(stream.next(), None, "no thread is left");
    // An owner who gave a thread away follows it no more, and of a public one sees what visitors see.
    show(&second, "public");
    let paths = [&first, &second].map(|thread| format!("/v1/threads/{thread}/stream?after=latest"));
    let own = paths.map(|path| ann.stream(&path, ""));
    let mut many = ann.stream(&format!("/v1/stream?threads={first}&after=latest"), "");
    for thread in [&first, &second] {
        let given = json!({ "account": "bob" });
        server.keyed("ann", "admin").0.put(&format!("/v1/threads/{thread}/owner"), given).ok(200);
        bob.say(thread, "bob's own");
    }
    for stream in own {
        assert!(!format!("{:?}", stream.rest()).contains("bob's own"));
    }
    assert_eq!(many.next().expect("an event").kind, "thread_lost");
    assert_eq!(many.next(), None);
}

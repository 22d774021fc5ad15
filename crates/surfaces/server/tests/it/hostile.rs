//! Malformed and hostile requests: each is refused in words, and the server stays up and small.

use std::io::{Read, Write};

use crate::support::{Server, connect, raw};

/// Refuses each of these with one of the statuses, and with a problem where there is a body at all.
fn check(server: &Server, requests: &[(&str, Vec<u8>, &[u16])]) {
    for (name, request, statuses) in requests {
        let reply = raw(server.address(), request);
        assert!(statuses.contains(&reply.status), "{name}: {reply:?}");
        if !reply.body.is_empty() && reply.status >= 400 {
            let problem = reply.json();
            assert!(problem["code"].is_string() && problem["requestId"].is_string(), "{name}: {reply:?}");
            assert!(!reply.body.contains("panick"), "{name}: {reply:?}");
        }
        server.anonymous().get("/healthz").ok(200);
    }
}

fn get(server: &Server, path: &str, headers: &str) -> Vec<u8> {
    with(server, "GET", path, headers, b"")
}

fn with(server: &Server, method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let (address, key) = (server.address(), server.admin().key.expect("a key"));
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n{headers}"
    );
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    [head.as_bytes(), length.as_bytes(), b"\r\n", body].concat()
}

fn json(server: &Server, path: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    with(server, "POST", path, "Content-Type: application/json\r\n", body.as_ref())
}

#[test]
fn odd_paths_and_parameters_are_refused_in_words() {
    let server = Server::start();
    let thread = server.admin().thread(&["a"]);
    let path = |rest: &str| format!("/v1/threads/{thread}{rest}");
    let get = |path: &str| get(&server, path, "");
    check(
        &server,
        &[
            ("dots", get("/v1/../v1/threads/.."), &[400, 404]),
            ("many dots", get("/../../../../etc/passwd"), &[404]),
            ("escaped dots", get("/v1/threads/%2e%2e%2f%2e%2e"), &[400]),
            ("escaped slash", get("/v1/threads/a%2fb"), &[400]),
            ("escaped null", get("/v1/threads/%00"), &[400]),
            ("not UTF-8", get("/v1/threads/%ff%fe"), &[400]),
            ("half an escape", get("/v1/threads/%"), &[400]),
            ("a wrong escape", get("/v1/threads/%zz"), &[400]),
            ("no thread", get("/v1/threads/"), &[404]),
            ("two slashes", get("/v1//threads"), &[404]),
            ("an end with a slash", get("/v1/threads/"), &[404]),
            ("a long id", get(&format!("/v1/threads/{}", "a".repeat(4_000))), &[400]),
            ("a long path", get(&format!("/v1/threads/{}", "a".repeat(20_000))), &[414]),
            ("a long query", get(&format!("/v1/threads?x={}", "a".repeat(20_000))), &[414]),
            ("SQL", get("/v1/threads/'%20OR%201=1--"), &[400]),
            ("an unknown parameter", get("/v1/threads?colour=red"), &[400]),
            ("a parameter twice", get("/v1/threads?limit=1&limit=2"), &[400]),
            ("no number", get("/v1/threads?limit=ten"), &[400]),
            ("nothing", get("/v1/threads?limit=0"), &[400]),
            ("less than nothing", get("/v1/threads?limit=-1"), &[400]),
            ("too many", get("/v1/threads?limit=1001"), &[400]),
            ("a huge number", get("/v1/threads?limit=99999999999999999999"), &[400]),
            ("a made-up cursor", get("/v1/threads?cursor=AAAA"), &[400]),
            ("a null cursor", get("/v1/threads?cursor=%00"), &[400]),
            ("a foreign cursor", get(&path("/messages?cursor=t0-00000000000000000000000000000000")), &[400]),
            ("a wrong order", get(&path("/messages?order=up")), &[400]),
            ("a wrong role", get(&path("/messages?role=boss")), &[400]),
            ("a version in the future", get(&path("/messages?asOf=99")), &[400]),
            ("a wrong version", get(&path("/messages?asOf=x")), &[400]),
            ("a wrong message", get(&path("/messages/1")), &[400]),
            ("an absolute path elsewhere", get("http://evil.example/v1/threads"), &[403]),
            ("a star", get("*"), &[400, 404]),
        ],
    );
}

#[test]
fn odd_bodies_are_refused_in_words() {
    let server = Server::start();
    let thread = server.admin().thread(&["a"]);
    let path = format!("/v1/threads/{thread}/messages");
    let post = |body: &[u8]| json(&server, &path, body);
    let deep = format!(r#"{{"role":"user","content":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let many: Vec<String> = (0..1_001).map(|_| r#"{"role":"user","content":"x"}"#.to_owned()).collect();
    let large = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(9 << 20));
    let huge = "Content-Type: application/json\r\nContent-Length: 99999999999\r\n";
    let encoded = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    let both = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n";
    check(
        &server,
        &[
            ("no body", post(b""), &[400]),
            ("no JSON", post(b"hello"), &[400]),
            ("half of it", post(br#"{"role":"user""#), &[400]),
            ("two of them", post(br#"{"role":"user","content":"a"}{}"#), &[400]),
            ("an array", post(b"[]"), &[400]),
            ("a string", post(br#""x""#), &[400]),
            ("null", post(b"null"), &[400]),
            ("a key twice", post(br#"{"role":"user","content":"a","content":"b"}"#), &[400]),
            ("an unknown field", post(br#"{"role":"user","content":"a","colour":"red"}"#), &[400]),
            ("an unknown role", post(br#"{"role":"boss","content":"a"}"#), &[400]),
            ("a wrong type", post(br#"{"role":"user","content":7}"#), &[400]),
            ("a lone surrogate", post(br#"{"role":"user","content":"\ud800"}"#), &[400]),
            ("too deep", post(deep.as_bytes()), &[400]),
            ("not UTF-8", post(b"{\"role\":\"user\",\"content\":\"\xff\"}"), &[400]),
            ("a byte order mark", post(b"\xef\xbb\xbf{\"role\":\"user\",\"content\":\"a\"}"), &[400]),
            ("too many messages", post(format!(r#"{{"messages":[{}]}}"#, many.join(",")).as_bytes()), &[400, 413]),
            ("too large a message", post(large.as_bytes()), &[413]),
            ("too large a body", with(&server, "POST", &path, huge, b""), &[413]),
            ("another type", with(&server, "POST", &path, "Content-Type: text/plain\r\n", b"{}"), &[415]),
            ("no type", with(&server, "POST", &path, "", b"{}"), &[415]),
            ("an encoding", with(&server, "POST", &path, encoded, b"{}"), &[415]),
            ("two lengths", with(&server, "POST", &path, "Content-Length: 7\r\n", b"{}"), &[400]),
            ("a negative length", with(&server, "POST", &path, "Content-Length: -1\r\n", b""), &[400]),
            ("chunked with a length", with(&server, "POST", &path, both, b""), &[400]),
            ("wrong chunks", with(&server, "POST", &path, "Transfer-Encoding: chunked\r\n\r\nzz\r\n", b""), &[400]),
        ],
    );
    assert_eq!(server.admin().shows(&thread), "a");
    server.admin().post("/v1/threads", serde_json::json!({ "title": "a\u{0}b" })).ok(201);
}

#[test]
fn odd_headers_and_methods_are_refused_in_words() {
    let server = Server::start();
    let thread = server.admin().thread(&["a"]);
    let path = format!("/v1/threads/{thread}");
    let get = |headers: &str| get(&server, "/v1/threads", headers);
    let patch =
        |headers: &str| with(&server, "PATCH", &path, &format!("Content-Type: application/json\r\n{headers}"), b"{}");
    let address = server.address();
    let key = server.admin().key.expect("a key");
    let bare = |request: &str| request.replace("{key}", &key).into_bytes();
    check(
        &server,
        &[
            ("a method nobody knows", with(&server, "FROB", &path, "", b""), &[405]),
            ("a method that is not for it", with(&server, "PUT", &path, "", b""), &[405]),
            ("TRACE", with(&server, "TRACE", &path, "", b""), &[405]),
            ("CONNECT", with(&server, "CONNECT", "evil.example:443", "", b""), &[400, 403, 404, 405]),
            ("nothing that is accepted", get("Accept: text/html\r\n"), &[406]),
            ("a page of somebody else", get("Origin: http://evil.example\r\n"), &[403]),
            ("a page from nowhere", get("Origin: null\r\n"), &[403]),
            ("two hosts", get(&format!("Host: {address}\r\n")), &[400]),
            ("another host", bare("GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"), &[403]),
            ("no host", bare("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"), &[400]),
            ("an empty host", bare("GET /healthz HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n"), &[400, 403]),
            ("many headers", get(&(0..150).map(|n| format!("X-{n}: 1\r\n")).collect::<String>()), &[431]),
            ("very many headers", get(&(0..5_000).map(|n| format!("X-{n}: 1\r\n")).collect::<String>()), &[431]),
            ("a large header", get(&format!("X-Large: {}\r\n", "x".repeat(60_000))), &[431]),
            ("a very large header", get(&format!("X-Large: {}\r\n", "x".repeat(600_000))), &[431]),
            ("a null in a header", get("X-Odd: a\0b\r\n"), &[400]),
            ("a folded header", get("X-Odd: a\r\n b\r\n"), &[400]),
            ("a wrong version", patch("If-Match: 1\r\n"), &[400]),
            ("a list of versions", patch("If-Match: \"1\", \"2\"\r\n"), &[400]),
            ("another version", patch("If-Match: \"99\"\r\n"), &[412]),
            ("no token", patch("Threadkeep-Writer: x\r\n"), &[400]),
            ("no protocol", bare("GET /healthz\r\n\r\n"), &[400]),
            ("another protocol", bare("GET /healthz HTTP/9.9\r\n\r\n"), &[400]),
            ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(), &[400]),
            ("a preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), &[0, 400]),
        ],
    );
    let key = format!("Idempotency-Key: {}\r\n", "k".repeat(256));
    let body = r#"{"role":"user","content":"x"}"#;
    server.admin().send("POST", &format!("{path}/messages"), &key, Some(body)).refused(400, "invalid_parameter");
}

#[test]
fn a_connection_goes_on_after_a_request_that_was_refused_unread() {
    let server = Server::start();
    let mut socket = connect(server.address());
    let mut answers = String::new();
    let body = format!(r#"{{"title":"{}"}}"#, "x".repeat(50_000));
    for path in ["/v1/threads", "/v1/nowhere", "/healthz", "/v1/threads", "/v1/threads/x/archive"] {
        let (address, length) = (server.address(), body.len());
        let head = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n");
        socket.write_all(head.as_bytes()).expect("it is sent");
        socket.write_all(body.as_bytes()).expect("it is sent");
        let mut answer = String::new();
        while !answer.ends_with("\"}") {
            let mut byte = [0];
            socket.read_exact(&mut byte).expect("an answer");
            answer.push(char::from(byte[0]));
        }
        answers.push_str(&answer[9..13]);
    }
    assert_eq!(answers, "401 404 405 401 401 ");
}

#[test]
fn slow_and_broken_off_requests_hold_nobody_up() {
    let server = Server::start_with(threadkeep_server::Settings {
        body_idle_max: std::time::Duration::from_millis(100),
        ..crate::support::settings()
    });
    let thread = server.admin().thread(&["a"]);
    let path = format!("/v1/threads/{thread}/messages");
    let mut open = Vec::new();
    for number in 0..200 {
        let mut socket = connect(server.address());
        socket.write_all(&b"POST /v1/threads HTTP/1.1\r\nHost: lo"[..number % 30]).expect("it is sent");
        open.push(socket);
    }
    let slow = with(&server, "POST", &path, "Content-Type: application/json\r\nContent-Length: 100\r\n", b"");
    let mut socket = connect(server.address());
    socket.write_all(&slow).expect("it is sent");
    socket.write_all(b"{\"role\"").expect("it is sent");
    let mut said = String::new();
    socket.read_to_string(&mut said).expect("an answer");
    assert!(said.starts_with("HTTP/1.1 408"), "{said}");
    let mut broken = connect(server.address());
    broken.write_all(&slow).expect("it is sent");
    drop(broken);
    assert_eq!(server.admin().shows(&thread), "a");
    drop(open);
    server.anonymous().get("/healthz").ok(200);
}

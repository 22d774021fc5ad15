//! Webhooks: signed, tried again, and never to private addresses unless that is allowed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use ring::hmac;
use serde_json::{Value, json};
use threadkeep_server::{Settings, WebhookSettings};

use crate::support::{Server, settings};

/// Something that takes posts.
struct Receiver {
    listener: TcpListener,
}

/// A post that came.
struct Post {
    path: String,
    signature: String,
    body: String,
}

impl Receiver {
    fn new() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").expect("a port") }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.listener.local_addr().expect("an address"))
    }

    /// The next post, which is answered like this.
    fn next(&self, answer: &str) -> Post {
        let (socket, _) = self.listener.accept().expect("a connection");
        socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        let mut socket = BufReader::new(socket);
        let (mut head, mut line) = (Vec::new(), String::new());
        while line != "\r\n" {
            line.clear();
            assert!(socket.read_line(&mut line).expect("a head") > 0);
            head.push(line.trim_end().to_owned());
        }
        let value = |name: &str| {
            let found = head.iter().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")));
            found.and_then(|line| line.split_once(": ")).map(|(_, value)| value.to_owned()).unwrap_or_default()
        };
        let mut body = vec![0; value("content-length").parse().expect("a length")];
        socket.read_exact(&mut body).expect("a body");
        // It takes one post a connection, and says so: the next one must not be sent on a connection that is closing.
        write!(socket.get_mut(), "HTTP/1.1 {answer}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            .expect("an answer");
        let path = head[0].split(' ').nth(1).expect("a path").to_owned();
        Post { path, signature: value("threadkeep-signature"), body: String::from_utf8(body).expect("text") }
    }
}

fn server(allow_private: bool) -> Server {
    let webhooks = WebhookSettings { allow_private, pause: Duration::from_millis(10), ..WebhookSettings::default() };
    Server::start_with(Settings { webhooks, ..settings() })
}

/// A webhook to `url`, and something that happens: the observing thread, and the secret.
fn observed(server: &Server, url: &str) -> (String, String) {
    let client = server.admin();
    let (thread, target) = (client.thread(&[]), client.thread(&["a"]));
    let new = json!({ "target": target, "events": ["approval_requested"], "deliver": { "webhook": url } });
    let made = client.post(&format!("/v1/threads/{thread}/observe"), new).ok(201);
    let secret = made["secret"].as_str().expect("a secret").to_owned();
    let shown = client.get(&format!("/v1/threads/{thread}/observers")).ok(200)["items"][0].clone();
    assert_eq!((&shown["id"], shown.get("secret")), (&made["id"], None), "it is shown once");
    let ask = json!({ "direction": "request_approval", "scope": ["deploy"] });
    client.post(&format!("/v1/threads/{target}/transfer"), ask).ok(201);
    (thread, secret)
}

#[test]
fn a_post_is_signed_and_tried_again_until_it_is_taken() {
    let (server, receiver) = (server(true), Receiver::new());
    let (thread, secret) = observed(&server, &receiver.url("/hook?x=1"));
    let first = receiver.next("500 Internal Server Error");
    let second = receiver.next("204 No Content");
    assert_eq!((first.path.as_str(), &first.body), ("/hook?x=1", &second.body), "the same again");
    let event: Value = serde_json::from_str(&second.body).expect("json");
    assert_eq!((&event["event"], &event["threadId"]), (&json!("approval_requested"), &json!(thread)));
    assert_eq!(event["data"]["scope"], json!(["deploy"]));
    let (time, signed) = second.signature.split_once(",v1=").expect("a signature");
    let time = time.strip_prefix("t=").expect("a time");
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{time}.{}", second.body).as_bytes());
    let expected: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(signed, expected);
}

#[test]
fn a_post_follows_to_another_address_where_it_may() {
    let (server, receiver) = (server(true), Receiver::new());
    observed(&server, &receiver.url("/first"));
    receiver.next("307 Temporary Redirect\r\nLocation: /second");
    assert_eq!(receiver.next("200 OK").path, "/second");
}

#[test]
fn a_private_address_is_not_reached_and_the_thread_is_told() {
    let (server, receiver) = (server(false), Receiver::new());
    let (thread, _) = observed(&server, &receiver.url("/hook"));
    let mut stream = server.admin().stream(&format!("/v1/threads/{thread}/stream?after=1"), "");
    let told = stream.next().expect("an event");
    assert_eq!(told.kind, "event_logged");
    assert!(told.data.to_string().contains("webhook_failed") && told.data.to_string().contains("private network"));
    receiver.listener.set_nonblocking(true).expect("a mode");
    assert!(receiver.listener.accept().is_err(), "nobody came");
}

#[test]
fn what_is_no_address_of_a_webhook_is_refused() {
    let server = server(true);
    let client = server.admin();
    let (thread, target) = (client.thread(&[]), client.thread(&[]));
    for deliver in [
        json!({ "webhook": "ftp://example.com" }),
        json!({ "webhook": "http://user:secret@example.com/" }),
        json!({ "thread": true, "webhook": "https://example.com" }),
        json!({}),
        json!([true]),
    ] {
        let new = json!({ "target": target, "deliver": deliver });
        client.post(&format!("/v1/threads/{thread}/observe"), new).refused(400, "invalid_body");
    }
}

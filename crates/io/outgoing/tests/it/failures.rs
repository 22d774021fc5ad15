//! Whether a request that failed was sent, and for how long to wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use threadkeep_outgoing::{Limits, Outgoing, Reach, full};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use crate::support::{Server, address, get, impatient, outgoing, pieces};

const SHORT: Duration = Duration::from_millis(50);

/// How a server treats the second request of a connection.
#[derive(Clone, Copy)]
enum Second {
    /// It has closed the connection after the first answer.
    Closed,
    /// It reads the request, and then closes the connection.
    Read,
}

/// A server that answers one request of each connection; its URL, and how often each path arrived.
async fn answers_once(second: Second) -> (String, Arc<Mutex<HashMap<String, u32>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let arrived = Arc::new(Mutex::new(HashMap::new()));
    let counting = Arc::clone(&arrived);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let counting = Arc::clone(&counting);
            tokio::spawn(async move {
                let mut socket = BufReader::new(socket);
                for number in 0..2 {
                    let (mut head, mut line) = (String::new(), String::new());
                    while line != "\r\n" {
                        line.clear();
                        if socket.read_line(&mut line).await.unwrap_or(0) == 0 {
                            return;
                        }
                        head.push_str(&line);
                    }
                    let path = head.split(' ').nth(1).expect("a path").to_owned();
                    *counting.lock().expect("not poisoned").entry(path).or_default() += 1;
                    if number == 0 {
                        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                        drop(socket.get_mut().write_all(answer).await);
                        match second {
                            Second::Closed => return,
                            Second::Read => {}
                        }
                    }
                }
            });
        }
    });
    (url, arrived)
}

#[tokio::test]
async fn a_server_that_is_not_there_was_sent_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let failed = outgoing().send(&address(&url), get("/")).await.expect_err("the port is closed");
    assert!(!failed.was_sent && !failed.for_good, "{failed:?}");
    let failed = outgoing().send(&address("http://no-such-host.invalid"), get("/")).await.expect_err("no such host");
    assert!(!failed.was_sent && !failed.for_good && failed.what.contains("no-such-host.invalid"), "{failed:?}");
}

#[tokio::test]
async fn a_request_on_a_connection_that_is_closed_meanwhile_arrives_once_or_is_told_as_perhaps_sent() {
    let (url, arrived) = answers_once(Second::Closed).await;
    let (outgoing, to) = (outgoing(), address(&url));
    let mut answered = 0;
    for round in 0..200 {
        let path = format!("/{round}");
        let result = outgoing.ask(&to, get(&path)).await;
        let times = arrived.lock().expect("not poisoned").get(&path).copied().unwrap_or(0);
        match result {
            Ok(_) => {
                answered += 1;
                assert_eq!(times, 1, "{path}");
            }
            Err(failed) => assert!(failed.was_sent && !failed.for_good && times <= 1, "{failed:?}, {times} times"),
        }
    }
    assert!(answered >= 100, "at least the first request of each connection: {answered}");
}

#[tokio::test]
async fn a_request_that_was_read_and_not_answered_was_sent_and_is_not_sent_again() {
    let (url, arrived) = answers_once(Second::Read).await;
    let (outgoing, to) = (outgoing(), address(&url));
    outgoing.ask(&to, get("/first")).await.expect("an answer");
    let failed = outgoing.ask(&to, get("/second")).await.expect_err("the connection was closed");
    assert!(failed.was_sent && !failed.for_good, "{failed:?}");
    assert_eq!(arrived.lock().expect("not poisoned")["/second"], 1);
}

#[tokio::test]
async fn an_answer_has_a_time_limit_for_its_head_and_for_its_end() {
    let never = Server::start(async |_| std::future::pending().await).await;
    let failed = impatient(SHORT).send(&never.address(), get("/")).await.expect_err("no answer");
    assert!(failed.was_sent && failed.what == "no answer within 50ms", "{failed:?}");

    let stuck = Server::start(async |_| {
        let (send, body) = pieces();
        send.send("head").expect("a receiver");
        // The body never ends.
        std::mem::forget(send);
        http::Response::new(body)
    })
    .await;
    let failed = impatient(SHORT).ask(&stuck.address(), get("/")).await.expect_err("no end");
    assert!(failed.was_sent && failed.what == "no answer within 50ms", "{failed:?}");
}

#[tokio::test]
async fn a_connection_has_a_time_limit_and_nothing_was_sent() {
    // It takes connections, and says nothing to a TLS client.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let to = address(&format!("https://{}", listener.local_addr().expect("an address")));
    let failed = impatient(SHORT).send(&to, get("/")).await.expect_err("no connection");
    assert!(!failed.was_sent, "{failed:?}");
}

#[tokio::test]
async fn an_answer_is_read_up_to_the_limit_of_its_size() {
    let server = Server::start(async |request: http::Request<_>| {
        let bytes = request.uri().path()[1..].parse().expect("a number");
        http::Response::new(full(vec![b'x'; bytes]))
    })
    .await;
    let outgoing = Outgoing::new(Reach::Anywhere, Limits { bytes: 1_000, ..Limits::default() });
    assert_eq!(outgoing.ask(&server.address(), get("/1000")).await.expect("an answer").body().len(), 1_000);
    for target in ["/1001", "/5000000"] {
        let failed = outgoing.ask(&server.address(), get(target)).await.expect_err("too large");
        assert!(failed.was_sent && failed.for_good, "{failed:?}");
        assert_eq!(failed.what, "the answer is larger than 1000 bytes");
    }
}

#[tokio::test]
async fn a_failure_tells_no_secret() {
    let (url, _) = answers_once(Second::Read).await;
    let (outgoing, to) = (outgoing(), address(&url));
    outgoing.ask(&to, get("/")).await.expect("an answer");
    let mut request = get("/?key=secret");
    request.headers_mut().insert("authorization", "Bearer secret".parse().expect("a header"));
    let failed = outgoing.ask(&to, request).await.expect_err("the connection was closed");
    assert!(!format!("{failed} {failed:?} {outgoing:?}").contains("secret"), "{failed:?}");
}

//! Bodies that come and go piece by piece.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::BodyExt;
use threadkeep_outgoing::{full, piece};
use tokio::sync::mpsc;

use crate::support::{Server, get, outgoing, pieces};

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_answer_is_read_while_the_server_still_sends_it() {
    let (send, body) = pieces();
    let body = Arc::new(Mutex::new(Some(body)));
    let server = Server::start(move |_| {
        let body = body.lock().expect("not poisoned").take().expect("one request");
        async { http::Response::new(body) }
    })
    .await;
    let mut body = outgoing().send(&server.address(), get("/")).await.expect("an answer").into_body();
    for said in ["data: 1\n\n", "data: 2\n\n"] {
        send.send(said).expect("it is read");
        assert_eq!(piece(&mut body, LONG).await.expect("a piece").as_deref(), Some(said.as_bytes()));
    }
    let failed = piece(&mut body, Duration::from_millis(20)).await.expect_err("silence");
    assert!(failed.was_sent && failed.what == "nothing came for 20ms", "{failed:?}");
    send.send("data: 3\n\n").expect("it is read");
    drop(send);
    assert!(piece(&mut body, LONG).await.expect("nothing was lost by waiting").is_some());
    assert_eq!(piece(&mut body, LONG).await.expect("the end"), None);
}

#[tokio::test]
async fn a_body_is_sent_while_it_is_still_being_made() {
    let (told, mut arrived) = mpsc::unbounded_channel();
    let server = Server::start(move |request: http::Request<hyper::body::Incoming>| {
        let told = told.clone();
        async move {
            let (mut body, mut bytes) = (request.into_body(), 0);
            while let Some(frame) = body.frame().await {
                let data = frame.expect("a frame").into_data().expect("bytes");
                bytes += data.len();
                told.send(data).expect("the test waits");
            }
            http::Response::new(full(bytes.to_string()))
        }
    })
    .await;
    let (send, body) = pieces();
    let request = http::Request::post("/").body(body).expect("a request");
    let asking = tokio::spawn(async move { outgoing().ask(&server.address(), request).await });
    for said in ["first", "second"] {
        send.send(said).expect("it is sent");
        assert_eq!(arrived.recv().await.as_deref(), Some(said.as_bytes()));
    }
    drop(send);
    assert_eq!(asking.await.expect("no panic").expect("an answer").body(), "11");
}

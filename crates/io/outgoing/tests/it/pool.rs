//! Which connections are used again.

use threadkeep_outgoing::{Outgoing, empty, full, whole};
use tokio::sync::mpsc;

use crate::support::{Server, get, outgoing};

async fn ask(outgoing: &Outgoing, server: &Server, target: &str) {
    let answer = outgoing.ask(&server.address(), get(target)).await.expect("an answer");
    assert_eq!(answer.body(), target);
}

#[tokio::test]
async fn a_connection_is_used_again_for_the_same_server() {
    let (outgoing, first, second) = (outgoing(), Server::echo().await, Server::echo().await);
    for round in 0..5 {
        ask(&outgoing, &first, &format!("/{round}?a=b")).await;
        ask(&outgoing.clone(), &second, "/").await;
    }
    assert_eq!((first.connections(), second.connections()), (1, 1));
    ask(&outgoing.apart(), &first, "/apart").await;
    assert_eq!(first.connections(), 2, "connections of its own");
}

#[tokio::test]
async fn requests_at_the_same_time_have_connections_of_their_own() {
    let (outgoing, server) = (outgoing(), Server::echo().await);
    let (address, mut open) = (server.address(), Vec::new());
    for _ in 0..3 {
        open.push(outgoing.send(&address, get("/")).await.expect("an answer"));
    }
    assert_eq!(server.connections(), 3);
    for answer in open {
        assert_eq!(whole(answer.into_body(), 100).await.expect("a body"), "/");
    }
    ask(&outgoing, &server, "/again").await;
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn an_answer_that_is_not_read_takes_its_connection_along_unless_it_is_empty() {
    let (outgoing, server) = (outgoing(), Server::echo().await);
    drop(outgoing.send(&server.address(), get("/unread")).await.expect("an answer"));
    ask(&outgoing, &server, "/").await;
    assert_eq!(server.connections(), 2);

    let silent = Server::start(async |_| http::Response::new(empty())).await;
    for _ in 0..3 {
        drop(outgoing.send(&silent.address(), get("/")).await.expect("an answer"));
    }
    assert_eq!(silent.connections(), 1);
}

#[tokio::test]
async fn an_answer_says_where_it_redirects_and_is_not_followed() {
    let (told, mut asked) = mpsc::unbounded_channel();
    let server = Server::start(move |request: http::Request<_>| {
        let host = request.headers()["host"].to_str().expect("text").to_owned();
        told.send((request.uri().to_string(), host)).expect("the test waits");
        async { http::Response::builder().status(307).header("location", "/on").body(full("")).expect("an answer") }
    })
    .await;
    let answer = outgoing().ask(&server.address(), get("/from")).await.expect("an answer");
    assert_eq!((answer.status().as_u16(), answer.headers()["location"].as_bytes()), (307, b"/on".as_slice()));
    assert_eq!(asked.recv().await, Some(("/from".to_owned(), server.at.to_string())));
    assert!(asked.try_recv().is_err(), "it was asked once");
}

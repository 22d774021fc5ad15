//! Errors are typed, and hold no key.

use threadkeep_client::calls::{Create, ListThreads, Problem, Status, TakeWriter};
use threadkeep_client::model::{MessageBody, Position, ThreadId};
use threadkeep_client::{At, Client, Error, Key, Retry};

use crate::support::{Server, run};

#[track_caller]
fn problem(error: Error) -> Problem {
    match error {
        Error::Refused(problem) => *problem,
        other => panic!("not refused: {other}"),
    }
}

#[test]
fn what_a_server_refuses_is_told_with_its_status_code_and_fields() {
    let server = Server::start();
    run(async {
        let client = server.client();
        let unknown = problem(client.thread(ThreadId::from_bits(1)).await.expect_err("nothing is there"));
        assert_eq!((unknown.status, unknown.code.as_ref()), (Status::NotFound, "thread_not_found"));
        assert!(unknown.detail.contains("there is no thread T-"), "{unknown:?}");

        let thread = client.call(At::none(), Create::new()).await.expect("a thread");
        client.append(thread.id, MessageBody::user("a")).await.expect("a message");
        let late = client.expecting(Position(7)).append(thread.id, MessageBody::user("b")).await;
        let late = problem(late.expect_err("a conflict"));
        assert_eq!((late.status, late.current_version), (Status::PreconditionFailed, Some(Position(1))));

        let take = TakeWriter { holder: Some("bob".into()), ttl: None };
        client.call(thread.id, take).await.expect("a lease");
        let held = problem(client.append(thread.id, MessageBody::user("c")).await.expect_err("it is held"));
        assert_eq!((held.status, held.code.as_ref()), (Status::Conflict, "writer_held"));
        assert_eq!(held.writer.map(|by| by.holder), Some("bob".to_owned()));
        assert!(held.hint.is_some_and(|hint| hint.contains("fork")));
    });
}

#[test]
fn a_key_is_refused_what_it_may_not_do_and_never_shown() {
    let server = Server::start();
    run(async {
        let wrong = Client::connect(&server.url(), Key::new("tk_secret_guess")).expect("a client");
        let refused = wrong.call(At::none(), ListThreads::default()).await.expect_err("it is no key");
        assert_eq!(refused.code(), "unauthorized");
        let reading = Client::connect(&server.url(), server.made_key("read").await).expect("a client");
        let refused = reading.call(At::none(), Create::new()).await.expect_err("it only reads");
        assert_eq!((refused.code(), refused.is_away()), ("forbidden", false));
        for shown in [format!("{wrong:?}"), format!("{:?}", server.key()), format!("{refused:?} {refused}")] {
            assert!(!shown.contains("guess") && !shown.contains(server.secret()), "{shown}");
        }
    });
}

#[test]
fn who_acts_is_said_by_admin_keys_alone() {
    let server = Server::start();
    run(async {
        let actor =
            serde_json::from_value(serde_json::json!({ "type": "agent", "name": "Größe 1" })).expect("an actor");
        let thread = server.client().call(At::none(), Create::new()).await.expect("a thread");
        let acting = server.client().acting_as(actor);
        let said = acting.append(thread.id, MessageBody::user("a")).await.expect("a message");
        assert_eq!(
            serde_json::to_value(&said.actor).expect("json"),
            serde_json::json!({"type": "agent", "name": "Größe 1"})
        );
        let writing = Client::connect(&server.url(), server.made_key("write").await).expect("a client");
        let refused =
            problem(writing.acting_as(said.actor).call(At::none(), Create::new()).await.expect_err("refused"));
        assert_eq!((refused.status, refused.code.as_ref()), (Status::Forbidden, "forbidden"));
        assert!(refused.hint.is_some_and(|hint| hint.contains("admin")), "it says what helps");
    });
}

#[test]
fn a_server_that_is_not_there_or_is_something_else_is_told_apart() {
    run(async {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let url = format!("http://{}", closed.expect("a free port"));
        let client = Client::connect(&url, None).expect("a client").retrying(Retry::never());
        let error = client.is_alive().await.expect_err("nobody is there");
        assert!(matches!(error, Error::Unreachable { .. }) && error.to_string().contains(&url), "{error}");
        assert!(error.is_away());

        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        std::thread::spawn(move || {
            for mut socket in listener.incoming().flatten() {
                use std::io::{Read, Write};
                drop(socket.read(&mut [0; 4_096]));
                drop(socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"));
            }
        });
        let client = Client::connect(&url, None).expect("a client").retrying(Retry::never());
        let error = client.thread(ThreadId::from_bits(1)).await.expect_err("it is something else");
        assert!(matches!(error, Error::NotUnderstood { .. }), "{error}");
    });
}

#[test]
fn a_server_that_does_not_speak_tls_is_told_at_once_and_not_asked_again() {
    run(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("https://{}", listener.local_addr().expect("an address"));
        let serving = tokio::spawn(async move {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let mut asked = 0;
            // It ends when the test is over.
            while let Ok((mut socket, _)) = listener.accept().await {
                asked += 1;
                let mut hello = [0; 4_096];
                if socket.read(&mut hello).await.is_ok_and(|bytes| hello[..bytes] == *b"done") {
                    break;
                }
                drop(socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await);
            }
            asked
        });
        // The usual settings would ask again for 15 s.
        let client = Client::connect(&url, None).expect("a client");
        let error = client.is_alive().await.expect_err("it cannot be encrypted");
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");
        let mut stream = client.stream_of_project("work", threadkeep_client::After::Start);
        let error = stream.next().await.expect_err("it cannot be encrypted");
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");
        let address = url.trim_start_matches("https://");
        let mut last = tokio::net::TcpStream::connect(address).await.expect("a connection");
        tokio::io::AsyncWriteExt::write_all(&mut last, b"done").await.expect("a word");
        assert_eq!(serving.await.expect("no panic"), 3, "once by each, and the end of the test");
    });
}

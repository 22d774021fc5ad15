//! Streams give each entry once, in order, through every failure of their connections.

use std::time::Duration;

use threadkeep_client::calls::{Create, CreateKey, Delete, Emit, RevokeKey};
use threadkeep_client::model::{MessageBody, ThreadId};
use threadkeep_client::{After, At, Client, Error, News, Retry, Settings, Stream};

use crate::support::{Proxy, Server, run};

fn settings() -> Settings {
    let retry = Retry {
        give_up_after: Duration::from_secs(50),
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(50),
    };
    Settings { retry, ..Settings::default() }
}

async fn say(client: &Client, thread: ThreadId, text: &str) {
    client.append(thread, MessageBody::user(text)).await.expect("a message");
}

/// The next entry: its version, and its text.
async fn next(stream: &mut Stream) -> (u64, String) {
    loop {
        match stream.next().await.expect("it goes on") {
            Some(News::Entry(entry)) => {
                let data: serde_json::Value = serde_json::from_str(entry.data.get()).expect("JSON");
                return (entry.version.0, data["content"].as_str().unwrap_or_default().to_owned());
            }
            Some(_) => {}
            None => panic!("it ended"),
        }
    }
}

#[test]
fn a_stream_goes_on_across_cut_connections_and_a_restart_on_the_same_port() {
    let server = Server::start();
    run(async move {
        let key = server.made_key("admin").await;
        let writing = Client::connect_with(&server.url(), key.clone(), settings()).expect("a client");
        let thread = writing.call(At::none(), Create::new()).await.expect("a thread").id;
        let proxy = Proxy::before(&server, 5);
        let mut stream = proxy.client(key, settings()).stream(thread, After::Start).await.expect("a stream");
        let writer = tokio::spawn(async move {
            for number in 1..=300 {
                say(&writing, thread, &number.to_string()).await;
            }
        });
        let mut server = Some(server);
        for number in 1..=300 {
            assert_eq!(next(&mut stream).await, (number, number.to_string()));
            match number {
                20 => proxy.be_flaky(true),
                60 => proxy.be_flaky(false),
                80 | 120 | 200 => proxy.cut(),
                150 => {
                    server = server.map(|server| std::thread::spawn(|| server.restarted()).join().expect("a server"))
                }
                _ => {}
            }
        }
        writer.await.expect("no panic");
    });
}

#[test]
fn a_silent_connection_is_given_up() {
    let server = Server::with_heartbeat(Duration::from_millis(50));
    let proxy = Proxy::before(&server, 9);
    run(async {
        let client = server.client();
        let thread = client.call(At::none(), Create::new()).await.expect("a thread").id;
        let settings = Settings { silence_max: Duration::from_millis(200), ..settings() };
        let mut stream = proxy.client(server.key(), settings).stream(thread, After::Start).await.expect("a stream");
        say(&client, thread, "a").await;
        assert_eq!(next(&mut stream).await.1, "a");
        proxy.be_silent(true);
        say(&client, thread, "b").await;
        let waiting = tokio::time::timeout(Duration::from_millis(600), next(&mut stream)).await;
        assert!(waiting.is_err(), "nothing comes through");
        proxy.be_silent(false);
        assert_eq!(next(&mut stream).await, (2, "b".to_owned()));
    });
}

#[test]
fn a_stream_ends_with_its_thread_and_with_its_key() {
    let server = Server::start();
    run(async {
        let client = server.client();
        let thread = client.call(At::none(), Create::new()).await.expect("a thread").id;
        say(&client, thread, "a").await;
        let mut stream = client.stream(thread, After::Latest).await.expect("a stream");
        say(&client, thread, "b").await;
        assert_eq!(next(&mut stream).await, (2, "b".to_owned()));
        assert_eq!(stream.cursor(), Some("2"));
        client.call(thread, Delete {}).await.expect("a deletion");
        assert!(stream.next().await.expect("it ends").is_none());

        let unknown = client.stream(ThreadId::from_bits(1), After::Start).await.expect("a stream").next().await;
        assert!(unknown.expect_err("it never was there").is_refused_as("thread_not_found"));

        let new = serde_json::json!({ "account": "local", "scope": "read" });
        let made =
            client.call(At::none(), serde_json::from_value::<CreateKey>(new).expect("a key")).await.expect("a key");
        let reading = Client::connect(&server.url(), threadkeep_client::Key::new(made.key)).expect("a client");
        let thread = client.call(At::none(), Create::new()).await.expect("a thread").id;
        say(&client, thread, "a").await;
        let mut stream = reading.stream(thread, After::Start).await.expect("a stream");
        assert_eq!(next(&mut stream).await.1, "a");
        client.call(At::none(), RevokeKey { key: made.about.id }).await.expect("revoked");
        let ended = stream.next().await.expect_err("the key is gone");
        assert!(matches!(&ended, Error::Refused(_)) && ended.code() == "unauthorized", "{ended}");
    });
}

#[test]
fn a_stream_over_many_threads_resumes_by_its_cursor() {
    let server = Server::start();
    let proxy = Proxy::before(&server, 13);
    run(async {
        let client = server.client();
        let mut threads = Vec::new();
        for _ in 0..3 {
            threads.push(client.call(At::none(), Create::new()).await.expect("a thread").id);
        }
        let follow = proxy.client(server.key(), settings());
        let mut stream = follow.stream_of_threads(&threads[..2], After::Start);
        let mut created = Vec::new();
        for _ in 0..2 {
            match stream.next().await.expect("it goes on") {
                Some(News::Created { thread_id, .. }) => created.push(thread_id),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(created, threads[..2]);
        for number in 0..60 {
            say(&client, threads[number % 3], &number.to_string()).await;
        }
        for number in (0..60).filter(|number| number % 3 != 2) {
            assert_eq!(next(&mut stream).await.1, number.to_string());
            if number % 20 == 0 {
                proxy.cut();
            }
        }
        // Another one goes on from its place.
        let cursor = stream.cursor().expect("a place").to_owned();
        drop(stream);
        say(&client, threads[0], "later").await;
        client.call(threads[1], Delete {}).await.expect("a deletion");
        let mut stream = follow.stream_of_threads(&threads[..1], After::Cursor(cursor));
        assert_eq!(next(&mut stream).await.1, "later");
        let made_up = follow.stream_of_threads(&threads[..1], After::Cursor("f5-000000".into())).next().await;
        assert_eq!(made_up.expect_err("it is none").code(), "invalid_cursor");
    });
}

#[test]
fn whoever_follows_hears_what_is_emitted() {
    let server = Server::start();
    run(async {
        let client = server.client();
        let thread = client.call(At::none(), Create::new()).await.expect("a thread").id;
        let mut stream = client.stream(thread, After::Start).await.expect("a stream");
        say(&client, thread, "a").await;
        next(&mut stream).await;
        let emit: Emit = serde_json::from_str(r#"{"event":"progress","data":{"n":1.0}}"#).expect("an event");
        while client.call(thread, emit.clone()).await.expect("told").listeners == 0 {}
        match stream.next().await.expect("it goes on") {
            Some(News::Emitted(told)) => {
                assert_eq!((told.event.as_str(), told.data.get()), ("progress", r#"{"n":1.0}"#))
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(stream.cursor(), Some("1"), "it has no place");
    });
}

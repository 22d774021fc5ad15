//! A repeated request takes effect once; a request that cannot be repeated is not.

use std::collections::HashSet;
use std::time::Duration;

use threadkeep_client::calls::{
    Append, Create, CreateProject, Decide, ListMessages, ListProjects, ListThreads, Update,
};
use threadkeep_client::model::MessageBody;
use threadkeep_client::{At, Error, Retry, Settings};

use crate::support::{Proxy, Server, run};

/// Patient and quick, for tests.
fn settings() -> Settings {
    let retry = Retry {
        give_up_after: Duration::from_secs(50),
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(5),
    };
    Settings { retry, ..Settings::default() }
}

#[test]
fn each_append_is_there_once_though_connections_are_cut_at_random_points() {
    const WRITERS: usize = 4;
    const MESSAGES: usize = 40;
    let server = Server::start();
    let proxy = Proxy::before(&server, 7);
    run(async {
        let direct = server.client();
        let thread = direct.call(At::none(), Create::new()).await.expect("a thread").id;
        proxy.be_flaky(true);
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            // Each with connections of its own, which are cut at other places.
            let client = proxy.client(server.key(), settings());
            writers.push(tokio::spawn(async move {
                for number in 0..MESSAGES {
                    let said = MessageBody::user(&format!("{writer} {number}"));
                    if number % 4 == 3 {
                        client.call(thread, Append::batch([said])).await.expect("kept in the end");
                    } else {
                        client.append(thread, said).await.expect("kept in the end");
                    }
                }
            }));
        }
        for writer in writers {
            writer.await.expect("no panic");
        }
        assert!(proxy.cuts() > 50, "the proxy cut {} connections", proxy.cuts());
        let which = ListMessages { limit: Some(1_000), ..Default::default() };
        let shown = direct.messages(thread, &which).await.expect("messages").page.items;
        let texts: Vec<String> = shown.iter().map(|message| message.content.get().to_owned()).collect();
        assert_eq!(texts.len(), WRITERS * MESSAGES, "each once");
        assert_eq!(texts.iter().collect::<HashSet<_>>().len(), texts.len(), "and no other");
        for writer in 0..WRITERS {
            let own: Vec<_> = texts.iter().filter(|text| text.starts_with(&format!("\"{writer} "))).collect();
            let numbers: Vec<String> = (0..MESSAGES).map(|number| format!("\"{writer} {number}\"")).collect();
            assert_eq!(own, numbers.iter().collect::<Vec<_>>(), "in order");
        }
    });
}

#[test]
fn reads_and_what_can_be_repeated_come_through() {
    let server = Server::start();
    let proxy = Proxy::before(&server, 11);
    run(async {
        let thread = server.client().call(At::none(), Create::new()).await.expect("a thread").id;
        let client = proxy.client(server.key(), settings());
        proxy.be_flaky(true);
        for round in 0..30 {
            let update = Update::new().title(&format!("{round}"));
            assert_eq!(client.call(thread, update).await.expect("a change").title, Some(round.to_string()));
            assert_eq!(client.thread(thread).await.expect("a thread").title, Some(round.to_string()));
        }
        assert!(proxy.cuts() > 10);
    });
}

#[test]
fn every_change_of_a_thread_is_made_once_though_connections_are_cut() {
    const ROUNDS: u64 = 30;
    let server = Server::start();
    let proxy = Proxy::before(&server, 5);
    run(async {
        let client = proxy.client(server.key(), settings());
        proxy.be_flaky(true);
        for round in 0..ROUNDS {
            let thread = client.call(At::none(), Create::new()).await.expect("a thread");
            // A version that is expected is gone once the change was made: the key tells that it is a repetition.
            let at = At::of(thread.id).expecting(thread.v);
            client.call(at, Decide::new("Which round?", &round.to_string())).await.expect("a decision");
        }
        assert!(proxy.cuts() > 10);
        let which = ListThreads { total: true, ..Default::default() };
        assert_eq!(server.client().call(At::none(), which).await.expect("threads").total, Some(ROUNDS));
    });
}

#[test]
fn what_cannot_be_repeated_is_sent_once_and_its_fate_is_told_as_unknown() {
    const TRIES: usize = 60;
    let server = Server::start();
    let proxy = Proxy::before(&server, 3);
    run(async {
        let client = proxy.client(server.key(), settings());
        proxy.be_flaky(true);
        // A project whose id is made by the server: no key tells a repetition.
        let project = CreateProject { id: None, name: "P".into(), icon_name: None, sandbox: None };
        let (mut made, mut unknown) = (0, 0);
        for _ in 0..TRIES {
            match client.call(At::none(), project.clone()).await {
                Ok(_) => made += 1,
                Err(error @ Error::Broken { .. }) => {
                    assert!(error.to_string().contains("not known"), "{error}");
                    unknown += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        let which = ListProjects { limit: Some(1_000), cursor: None };
        let there = server.client().call(At::none(), which).await.expect("projects").items.len();
        assert!(made <= there && there <= made + unknown, "{made} were made, {unknown} unknown, {there} are there");
        assert!(unknown > 0 && made > 0, "{made} and {unknown}");
    });
}

#[test]
fn a_server_that_asks_to_wait_is_waited_for_and_bounded_in_time() {
    let server = Server::start();
    run(async {
        // Wrong keys are answered with 429 in the end, which asks for a second.
        let wrong = threadkeep_client::Client::connect(&server.url(), threadkeep_client::Key::new("tk_no_key"));
        let wrong = wrong.expect("a client").retrying(Retry::never());
        let patient = Retry { give_up_after: Duration::from_secs(10), ..Retry::default() };
        // On a machine that is busy, the next try may already be allowed again: then it was not asked to wait.
        let waited = async || {
            while !wrong
                .call(At::none(), ListThreads::default())
                .await
                .expect_err("it is no key")
                .is_refused_as("rate_limited")
            {}
            let began = std::time::Instant::now();
            let patient = wrong.clone().retrying(patient);
            let refused = patient.call(At::none(), ListThreads::default()).await.expect_err("it is no key");
            assert!(refused.is_refused_as("unauthorized"), "{refused}");
            began.elapsed() >= Duration::from_millis(900)
        };
        for _ in 0..20 {
            if waited().await {
                return;
            }
        }
        panic!("it never waited");
    });
}

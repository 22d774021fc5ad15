//! Expensive reads take turns, and no other call waits for them.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use threadkeep::{
    Account, Caller, Create, Engine, Limits, List, MessageBody, Selection, SqliteStore, Stores, SystemWorld,
};
use threadkeep_store::{ListQuery, Store};
use tokio::sync::{Semaphore, mpsc};

use crate::reads::{Counting, Gate};

fn total() -> List {
    List { total: true, ..List::default() }
}

fn engine_with_gate(stores: Stores) -> (Engine, mpsc::UnboundedReceiver<String>, Arc<Semaphore>) {
    let (come, coming) = mpsc::unbounded_channel();
    let open = Arc::new(Semaphore::new(0));
    let gate = Some(Gate { come, open: Arc::clone(&open) });
    let store = Arc::new(Counting { inner: Arc::clone(&stores.store), reads: Arc::default(), gate });
    (Engine::new(Stores { store, ..stores }, Arc::new(SystemWorld), Limits::default()), coming, open)
}

#[test]
fn a_total_that_hangs_delays_no_append_no_list_and_no_other_account() {
    crate::run(async {
        let (engine, mut coming, open) = engine_with_gate(Stores::of(threadkeep::MemoryStore::new()));
        let of = |name: &str| {
            let account = Account::new(name).expect("an account");
            engine.acting_as(Caller { account, ..Caller::local() })
        };
        let engines = ["a", "b", "c"].map(of);
        let thread = engines[0].create(Create::titled("T")).await.expect("a thread").id;
        let asked = |engine: &Engine| {
            let engine = engine.clone();
            tokio::spawn(async move { engine.list(total()).await })
        };
        let first = asked(&engines[0]);
        assert_eq!(coming.recv().await.as_deref(), Some("a"));
        let second = asked(&engines[0]);
        let other = asked(&engines[1]);
        assert_eq!(coming.recv().await.as_deref(), Some("b"), "the second of an account waits, another one does not");
        let third = asked(&engines[2]);
        engines[0].append(thread, MessageBody::user("meanwhile")).await.expect("an append");
        assert_eq!(engines[0].list(List::default()).await.expect("a list").items.len(), 1);
        assert!(coming.try_recv().is_err(), "two are read at once, and no more");
        // A caller that goes leaves its turn to the next.
        first.abort();
        let mut next = [coming.recv().await.expect("one of them"), String::new()];
        other.abort();
        next[1] = coming.recv().await.expect("the other one");
        next.sort();
        assert_eq!(next, ["a", "c"]);
        open.add_permits(2);
        assert_eq!(second.await.expect("a task").expect("a list").total.map(|total| total.count), Some(1));
        assert_eq!(third.await.expect("a task").expect("a list").total.map(|total| total.count), Some(0));
    });
}

#[test]
fn a_read_that_finds_many_waiting_is_refused_and_told_when_to_come_again() {
    crate::run(async {
        let (engine, mut coming, open) = engine_with_gate(Stores::of(threadkeep::MemoryStore::new()));
        let asked = || {
            let engine = engine.clone();
            tokio::spawn(async move { engine.list(total()).await })
        };
        let first = asked();
        assert!(coming.recv().await.is_some(), "one is read");
        // Each is polled once: it waits, or it is refused.
        let mut waiting: Vec<_> = (0..8).map(|_| Box::pin(engine.list(total()))).collect();
        for read in &mut waiting {
            assert!(is_pending(read.as_mut()), "eight of an account may wait");
        }
        let refused = engine.list(total()).await.expect_err("too many wait");
        assert_eq!(refused.code(), "busy");
        assert!(refused.to_string().contains("try again in 10 s"), "{refused}");
        assert_eq!(refused.retry_after().map(|wait| wait.as_secs()), Some(10));
        let account = Account::new("another").expect("an account");
        let other = engine.acting_as(Caller { account, ..Caller::local() });
        let other = tokio::spawn(async move { other.list(total()).await });
        assert_eq!(coming.recv().await.as_deref(), Some("another"), "another account has its own turns");
        // One that goes makes room for another.
        drop(waiting.pop());
        let mut next = Box::pin(engine.list(total()));
        assert!(is_pending(next.as_mut()));
        open.add_permits(2 + waiting.len() + 1);
        for read in waiting.into_iter().chain([next]) {
            read.await.expect("a list");
        }
        first.await.expect("a task").expect("a list");
        other.await.expect("a task").expect("a list");
    });
}

#[test]
fn an_account_has_two_exports_at_once_and_lists_do_not_wait_for_them() {
    crate::run(async {
        let keep = crate::Keep::sqlite();
        keep.thread(&["a"]).await;
        let held = [
            keep.engine.exporter(Selection::Store).await.expect("an export"),
            keep.engine.exporter(Selection::All).await.expect("an export"),
        ];
        let refused = keep.engine.exporter(Selection::All).await.map(drop).expect_err("a third one");
        assert_eq!(refused.code(), "busy");
        assert_eq!(keep.engine.list(total()).await.expect("a list").total.map(|total| total.count), Some(1));
        drop(held);
        keep.engine.exporter(Selection::All).await.expect("an export");
    });
}

/// Asks once, without waiting.
fn is_pending<T>(mut future: std::pin::Pin<&mut impl Future<Output = T>>) -> bool {
    matches!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
}

#[test]
fn an_expensive_read_of_a_file_leaves_the_thread_that_asks_to_others() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = SqliteStore::open(folder.path().join("threads.db")).expect("a store");
    // One thread for everything, which is never given back while a read runs on it. All others are taken.
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().expect("a runtime");
    runtime.block_on(async {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let taken = tokio::task::spawn_blocking(move || released.recv());
        let account = Account::new("a").expect("an account");
        let plain = ListQuery::of(account, 10);
        let mut far = plain.clone();
        far.skip = 90_000;
        let mut short = plain.clone();
        short.filter.title = Some("q".into());
        let mut counted = pin!(store.count(plain.clone()));
        let (mut far, mut short) = (pin!(store.list(far)), pin!(store.list(short)));
        assert!(is_pending(counted.as_mut()) && is_pending(far.as_mut()) && is_pending(short.as_mut()));
        assert!(store.list(plain).await.expect("a list").is_empty(), "a plain list is read at once");
        release.send(()).expect("it waits");
        taken.await.expect("a task").expect("a signal");
        assert_eq!(counted.await.expect("a total").count, 0);
        assert!(far.await.expect("a page").is_empty() && short.await.expect("a page").is_empty());
    });
}

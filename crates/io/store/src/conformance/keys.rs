//! Idempotency keys: what is found under one, and what a repeated request gives.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use threadkeep_model::{
    Account, BlobId, Bounds, Commit, Committed, Create, Entry, Forked, Idempotency, IdempotencyKey, Link, NewEntry,
    NewSegment, Position, Record, Tally, ThreadCommit, ThreadId,
};

use super::hands::{Hands, said};
use crate::{KeyQuery, ListQuery, Remembered, StoreError};

/// Where a commit wrote: everything that is told of it but the heads, which move on.
fn places(committed: &Committed) -> Vec<impl PartialEq + std::fmt::Debug> {
    committed.threads.iter().map(|told| (told.thread, told.segment, told.first, told.count, told.time)).collect()
}

fn key(name: &str) -> IdempotencyKey {
    IdempotencyKey::new(name).expect("a key")
}

fn keyed(commit: Commit, name: &str, request: &str) -> Commit {
    Commit { idempotency: Some(Idempotency { key: key(name), hash: BlobId::of(request.as_bytes()) }), ..commit }
}

/// A request to create a thread, as a caller repeats it: each time with ids of its own.
fn creation(hands: &Hands, name: &str, request: &str) -> Commit {
    let segment = NewSegment { id: hands.segment_id(), link: None, birth: Tally::default() };
    let (account, entries) = (Account::local(), vec![said(request)]);
    let create =
        Create { thread: hands.thread_id(), account, record: Record::default(), segment, entries, created: None };
    keyed(hands.commit(vec![ThreadCommit::Create(create)]), name, request)
}

/// A request to fork, which tells the parent of the child where `told` says so.
async fn fork(hands: &Hands, parent: ThreadId, told: bool, name: &str) -> Commit {
    let (child, head) = (hands.thread_id(), hands.head(parent).await);
    let link = Some(Link { parent: head.segment, bounds: Bounds::all(Position(1)) });
    let segment = NewSegment { id: hands.segment_id(), link, birth: head.tally };
    let record = Record { origin_thread_id: Some(parent), ..Record::default() };
    let entry = NewEntry::new(&Entry::Forked(Forked { child, index: Some(0), anchor: Some(Position(1)) }));
    let entries = vec![said("a first message"), said("a second one")];
    let create = Create { thread: child, account: Account::local(), record, segment, entries, created: None };
    let write = hands.write(parent, if told { vec![entry] } else { Vec::new() });
    keyed(hands.commit(vec![write, ThreadCommit::Create(create)]), name, "fork")
}

async fn find(hands: &Hands, account: &str, thread: ThreadId, name: &str) -> Option<Remembered> {
    let account = Account::new(account).expect("an account");
    let query = KeyQuery { account, thread, key: key(name), now: hands.now() };
    hands.stores.store.remembered(query).await.expect("a look-up")
}

async fn threads(hands: &Hands) -> usize {
    hands.stores.store.list(ListQuery::of(Account::local(), 99)).await.expect("a list").len()
}

pub async fn a_key_is_looked_up_without_a_commit(hands: Hands) {
    let thread = hands.thread(&["before"]).await;
    assert_eq!(find(&hands, "local", thread, "k").await, None);
    let first = hands.done(hands.keyed(thread, "once", "k")).await;
    hands.say(thread, "later").await;
    let head = hands.head(thread).await;
    let found = find(&hands, "local", thread, "k").await.expect("the first result");
    assert_eq!((found.hash, found.committed.replayed), (BlobId::of(b"once"), true));
    assert_eq!(places(&found.committed), places(&first));
    assert_eq!(found.committed.threads[0].head, head, "with the head as it was found");
    assert_eq!(hands.head(thread).await, head, "nothing was committed");
    assert_eq!(hands.done(hands.keyed(thread, "once", "k")).await, found.committed);
}

pub async fn a_key_is_found_by_its_own_account_thread_and_day_alone(hands: Hands) {
    let (thread, other) = (hands.thread(&[]).await, hands.thread(&[]).await);
    hands.done(hands.keyed(thread, "once", "k")).await;
    assert_eq!(find(&hands, "local", thread, "another").await, None);
    assert_eq!(find(&hands, "somebody", thread, "k").await, None);
    assert_eq!(find(&hands, "local", other, "k").await, None);
    assert_eq!(find(&hands, "local", KeyQuery::NEW, "k").await, None);
    assert!(find(&hands, "local", thread, "k").await.is_some());
    hands.pass(IdempotencyKey::KEPT_MICROS);
    assert_eq!(find(&hands, "local", thread, "k").await, None);
    hands.gc().await;
    hands.done(hands.keyed(thread, "another request", "k")).await;
    hands.delete(thread).await;
    assert_eq!(find(&hands, "local", thread, "k").await, None, "the keys of a thread go with it");
}

pub async fn a_repeated_creation_gives_the_first_thread_and_makes_none(hands: Hands) {
    let first = hands.done(creation(&hands, "k", "a")).await;
    let made = first.threads[0].thread;
    hands.say(made, "later").await;
    let again = hands.done(creation(&hands, "k", "a")).await;
    assert!(again.replayed && !first.replayed);
    assert_eq!((places(&again), threads(&hands).await), (places(&first), 1));
    assert_eq!(again.threads[0].head, hands.head(made).await);
    assert_eq!(find(&hands, "local", KeyQuery::NEW, "k").await.expect("a result").committed, again);
    assert_eq!(find(&hands, "local", made, "k").await, None, "the key does not lie under the thread it made");
    assert!(matches!(hands.try_commit(creation(&hands, "k", "b")).await, Err(StoreError::IdempotencyKeyReused)));
    assert!(!hands.done(creation(&hands, "another", "a")).await.replayed);
    hands.pass(IdempotencyKey::KEPT_MICROS);
    assert!(!hands.done(creation(&hands, "k", "b")).await.replayed);
    assert_eq!(threads(&hands).await, 3);
}

pub async fn creations_at_once_under_one_key_make_one_thread(hands: Hands) {
    let commits: Vec<_> = (0..8).map(|_| creation(&hands, "k", "a")).collect();
    let tasks = tokio::task::LocalSet::new();
    let committed = tasks.run_until(async {
        let commit = |commit| {
            let store = hands.stores.store.clone();
            tokio::task::spawn_local(async move { store.commit(commit).await.expect("a commit that holds") })
        };
        let running: Vec<_> = commits.into_iter().map(commit).collect();
        let mut committed = Vec::new();
        for task in running {
            committed.push(task.await.expect("a task that ends"));
        }
        committed
    });
    let committed = committed.await;
    let replayed = committed.iter().filter(|committed| committed.replayed).count();
    let mut made: Vec<_> = committed.iter().map(|committed| committed.threads[0].thread).collect();
    made.dedup();
    assert_eq!((made.len(), replayed, threads(&hands).await), (1, 7, 1));
}

pub async fn a_repeated_fork_gives_the_thread_that_was_made(hands: Hands) {
    let parent = hands.thread(&["a"]).await;
    let first = hands.done(fork(&hands, parent, true, "k").await).await;
    let head = hands.head(parent).await;
    let again = hands.done(fork(&hands, parent, true, "k").await).await;
    assert!(again.replayed);
    assert_eq!(places(&again), places(&first), "the place in the parent, then the child");
    assert_eq!((again.threads[0].thread, again.threads[1].count), (parent, 2));
    assert_eq!((hands.head(parent).await, threads(&hands).await), (head, 2));
    assert_eq!(find(&hands, "local", parent, "k").await.expect("a result").committed, again);
}

pub async fn a_fork_that_writes_nothing_to_its_parent_is_repeated_too(hands: Hands) {
    let parent = hands.thread(&["a"]).await;
    let first = hands.done(fork(&hands, parent, false, "k").await).await;
    let again = hands.done(fork(&hands, parent, false, "k").await).await;
    assert!(again.replayed);
    assert_eq!((places(&again), threads(&hands).await), (places(&first), 2));
    assert_eq!((again.threads[0].count, hands.texts(parent).await), (0, vec!["a".to_owned()]));
}

pub async fn a_key_does_not_bring_back_a_thread_that_was_deleted(hands: Hands) {
    let made = hands.done(creation(&hands, "k", "a")).await.threads[0].thread;
    hands.delete(made).await;
    hands.gc().await;
    let again = hands.try_commit(creation(&hands, "k", "a")).await;
    assert!(matches!(again, Err(StoreError::ThreadNotFound { thread }) if thread == made), "{again:?}");
    let query = KeyQuery { account: Account::local(), thread: KeyQuery::NEW, key: key("k"), now: hands.now() };
    let found = hands.stores.store.remembered(query).await;
    assert!(matches!(found, Err(StoreError::ThreadNotFound { thread }) if thread == made), "{found:?}");
    assert_eq!(threads(&hands).await, 0);
}

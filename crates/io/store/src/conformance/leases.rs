//! Promises of leases, and of commits beside them.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use threadkeep_model::{
    Bounds, Commit, Expect, FieldChanges, Lease, LeaseToken, Position, ThreadChanged, ThreadCommit, ThreadId,
};

use super::Hands;
use super::hands::{deleted, said};
use crate::{LeaseAsk, Result, StoreError};

const SECOND: i64 = 1_000_000;

async fn take(hands: &Hands, thread: ThreadId, holder: &str) -> Result<Lease> {
    let ask = LeaseAsk { token: hands.token(), holder: holder.to_owned(), ttl_micros: 100 * SECOND, now: hands.now() };
    hands.stores.leases.take(thread, ask).await
}

/// A message under a lease, or without one.
fn say(hands: &Hands, thread: ThreadId, text: &str, lease: Option<LeaseToken>) -> Commit {
    hands.commit(vec![hands.write_expecting(thread, Expect { lease, ..Expect::default() }, vec![said(text)])])
}

fn is_held_by(result: Result<impl Sized>, holder: &str) -> bool {
    matches!(result, Err(StoreError::WriterHeld { by, .. }) if by.holder == holder)
}

/// Whether a lease was lost, and to whom.
fn is_lost_to(result: Result<impl Sized>, holder: Option<&str>) -> bool {
    matches!(result, Err(StoreError::WriterLost { to, .. }) if to.as_ref().map(|to| &to.holder[..]) == holder)
}

pub async fn a_lease_is_taken_read_renewed_and_released(hands: Hands) {
    let (leases, thread) = (&hands.stores.leases, hands.thread(&[]).await);
    assert_eq!(leases.lease(thread, hands.now()).await.expect("a read"), None);
    let lease = take(&hands, thread, "ann").await.expect("a lease");
    assert_eq!(leases.lease(thread, hands.now()).await.expect("a read"), Some(lease.clone()));
    hands.done(say(&hands, thread, "a", Some(lease.token))).await;
    let now = hands.now();
    let renewed = leases.renew(thread, lease.token, 200 * SECOND, now).await.expect("a renewal");
    assert_eq!(renewed, Lease { until: now.plus_micros(200 * SECOND), ..lease.clone() });
    assert_eq!(leases.lease(thread, hands.now()).await.expect("a read"), Some(renewed));
    assert!(leases.release(thread, lease.token, hands.now()).await.expect("a release"));
    assert!(!leases.release(thread, lease.token, hands.now()).await.expect("a release"), "it is over already");
    assert_eq!(leases.lease(thread, hands.now()).await.expect("a read"), None);
    hands.say(thread, "b").await;
    assert_eq!(hands.texts(thread).await, ["a", "b"]);
}

pub async fn a_second_holder_is_refused_and_told_who_and_until_when(hands: Hands) {
    let thread = hands.thread(&[]).await;
    let lease = take(&hands, thread, "ann").await.expect("a lease");
    for holder in ["bob", "ann"] {
        match take(&hands, thread, holder).await {
            Err(StoreError::WriterHeld { thread: held, by }) => assert_eq!((held, by), (thread, lease.clone())),
            other => panic!("{other:?}"),
        }
    }
}

pub async fn changes_of_the_conversation_need_the_token_and_others_pass(hands: Hands) {
    let thread = hands.thread(&["a", "b"]).await;
    let before = hands.head(thread).await;
    let lease = take(&hands, thread, "ann").await.expect("a lease");
    assert!(is_held_by(hands.try_commit(say(&hands, thread, "c", None)).await, "ann"));
    let delete = hands.write(thread, vec![deleted(before.segment, 1, 0)]);
    assert!(is_held_by(hands.try_commit(hands.commit(vec![delete])).await, "ann"));
    let branch = hands.branch(thread, before.segment, Position(1));
    assert!(is_held_by(hands.try_commit(hands.commit(vec![branch])).await, "ann"));
    let remove = ThreadCommit::Delete { thread, expect: Expect::default() };
    assert!(is_held_by(hands.try_commit(hands.commit(vec![remove])).await, "ann"));
    assert_eq!(hands.head(thread).await, before, "nothing was written");
    // The record and back-links pass.
    let fork = hands.fork(thread, Bounds::all(Position(1))).await;
    let changed = threadkeep_model::Entry::ThreadChanged(ThreadChanged { fields: FieldChanges::default() });
    hands.done(hands.commit(vec![hands.write(thread, vec![threadkeep_model::NewEntry::new(&changed)])])).await;
    hands.say(fork, "the fork is free").await;
    // The holder may do everything.
    hands.done(say(&hands, thread, "c", Some(lease.token))).await;
    let expect = Expect { lease: Some(lease.token), ..Expect::default() };
    hands.done(hands.commit(vec![ThreadCommit::Delete { thread, expect }])).await;
}

pub async fn a_lease_ends_with_its_time_and_is_not_renewed_then(hands: Hands) {
    let (leases, thread) = (&hands.stores.leases, hands.thread(&[]).await);
    let lease = take(&hands, thread, "ann").await.expect("a lease");
    hands.pass(100 * SECOND);
    assert_eq!(leases.lease(thread, hands.now()).await.expect("a read"), None);
    assert!(is_lost_to(hands.try_commit(say(&hands, thread, "late", Some(lease.token))).await, None));
    assert!(is_lost_to(leases.renew(thread, lease.token, SECOND, hands.now()).await, None));
    assert!(!leases.release(thread, lease.token, hands.now()).await.expect("a release"));
    hands.say(thread, "free").await;
    assert_eq!(hands.texts(thread).await, ["free"]);
}

pub async fn a_late_write_under_an_older_token_is_refused(hands: Hands) {
    let (leases, thread) = (&hands.stores.leases, hands.thread(&[]).await);
    let paused = take(&hands, thread, "ann").await.expect("a lease");
    hands.pass(100 * SECOND);
    let next = take(&hands, thread, "bob").await.expect("a lease");
    assert_ne!(next.token, paused.token);
    assert!(is_lost_to(hands.try_commit(say(&hands, thread, "late", Some(paused.token))).await, Some("bob")));
    assert!(is_lost_to(leases.renew(thread, paused.token, SECOND, hands.now()).await, Some("bob")));
    assert!(!leases.release(thread, paused.token, hands.now()).await.expect("a release"));
    hands.done(say(&hands, thread, "mine", Some(next.token))).await;
    assert_eq!(hands.texts(thread).await, ["mine"]);
}

pub async fn a_token_is_never_given_twice(hands: Hands) {
    let (leases, thread) = (&hands.stores.leases, hands.thread(&[]).await);
    let mut given = Vec::new();
    for _ in 0..3 {
        let lease = take(&hands, thread, "ann").await.expect("a lease");
        assert!(!given.contains(&lease.token));
        given.push(lease.token);
        assert!(leases.release(thread, lease.token, hands.now()).await.expect("a release"));
    }
    for token in given {
        assert!(is_lost_to(hands.try_commit(say(&hands, thread, "late", Some(token))).await, None));
    }
}

pub async fn a_lease_belongs_to_one_living_thread(hands: Hands) {
    let (one, other) = (hands.thread(&[]).await, hands.thread(&[]).await);
    let lease = take(&hands, one, "ann").await.expect("a lease");
    hands.say(other, "free").await;
    assert!(is_lost_to(hands.try_commit(say(&hands, other, "with another's token", Some(lease.token))).await, None));
    // In a commit over both, one that is refused refuses all.
    let both = hands.commit(vec![hands.write(other, vec![said("x")]), hands.write(one, vec![said("x")])]);
    assert!(is_held_by(hands.try_commit(both).await, "ann"));
    assert_eq!(hands.texts(other).await, ["free"]);
    hands.delete(other).await;
    for unknown in [other, hands.thread_id()] {
        assert!(matches!(take(&hands, unknown, "ann").await, Err(StoreError::ThreadNotFound { .. })));
        let read = hands.stores.leases.lease(unknown, hands.now()).await;
        assert!(matches!(read, Err(StoreError::ThreadNotFound { .. })));
    }
}

pub async fn one_of_many_takes_the_lease(hands: Hands) {
    let thread = hands.thread(&[]).await;
    let asks: Vec<_> = (0..8).map(|n| (n, hands.now(), hands.token())).collect();
    let asking = asks.into_iter().map(|(n, now, token)| {
        let leases = std::sync::Arc::clone(&hands.stores.leases);
        let ask = LeaseAsk { token, holder: format!("holder {n}"), ttl_micros: 100 * SECOND, now };
        tokio::spawn(async move { leases.take(thread, ask).await })
    });
    let mut taken = Vec::new();
    for asked in asking.collect::<Vec<_>>() {
        match asked.await.expect("a task") {
            Ok(lease) => taken.push(lease),
            Err(StoreError::WriterHeld { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(taken.len(), 1);
    assert_eq!(hands.stores.leases.lease(thread, hands.now()).await.expect("a read"), taken.pop());
}

//! Promises of leases of processes, and of commits under them. Stores judge them by clocks of their own, so a case ends a
//! lease by giving it no time.
#![expect(missing_docs, reason = "each case is named by the behaviour it shows")]

use threadkeep_model::{Commit, ProcessId, ThreadId, Uuid};

use super::Hands;
use super::hands::said;
use crate::StoreError;

const LONG: i64 = ProcessId::TTL_MICROS_MAX;

fn process(hands: &Hands) -> ProcessId {
    ProcessId(Uuid::from_chance(u128::from(hands.draw()) << 64))
}

async fn begun(hands: &Hands, ttl_micros: i64) -> ProcessId {
    let process = process(hands);
    hands.stores.processes.begin(process, ttl_micros).await.expect("a lease");
    process
}

async fn renewed(hands: &Hands, process: ProcessId, ttl_micros: i64) -> bool {
    hands.stores.processes.renew(process, ttl_micros).await.expect("a renewal")
}

async fn holds(hands: &Hands, process: ProcessId) -> bool {
    hands.stores.processes.holding(vec![process]).await.expect("a read") == [process]
}

fn say(hands: &Hands, thread: ThreadId, text: &str, owner: ProcessId) -> Commit {
    Commit { owner: Some(owner), ..hands.commit(vec![hands.write(thread, vec![said(text)])]) }
}

pub async fn a_lease_of_a_process_holds_until_it_ends_and_never_comes_back(hands: Hands) {
    let unknown = process(&hands);
    assert!(!holds(&hands, unknown).await);
    assert!(!renewed(&hands, unknown, LONG).await, "only a lease that was begun is renewed");
    let one = begun(&hands, LONG).await;
    assert!(holds(&hands, one).await);
    assert!(renewed(&hands, one, LONG).await && holds(&hands, one).await);
    assert!(renewed(&hands, one, 0).await, "its owner ends it");
    assert!(!holds(&hands, one).await);
    assert!(!renewed(&hands, one, LONG).await, "it does not come back");
    let other = begun(&hands, 0).await;
    assert!(!holds(&hands, other).await && !renewed(&hands, other, LONG).await);
    // One that ends later than any lease can was written by another clock.
    let ahead = begun(&hands, 30 * 24 * 3_600 * 1_000_000).await;
    assert!(!holds(&hands, ahead).await);
}

pub async fn a_commit_of_a_process_whose_lease_ended_leaves_no_trace(hands: Hands) {
    let (thread, owner) = (hands.thread(&[]).await, begun(&hands, LONG).await);
    hands.done(say(&hands, thread, "in time", owner)).await;
    assert!(renewed(&hands, owner, 0).await);
    let before = hands.head(thread).await;
    for owner in [owner, process(&hands)] {
        let late = hands.try_commit(say(&hands, thread, "late", owner)).await;
        assert!(matches!(late, Err(StoreError::ProcessLost)), "{late:?}");
    }
    assert_eq!(hands.head(thread).await, before);
    hands.say(thread, "of another").await;
    assert_eq!(hands.texts(thread).await, ["in time", "of another"]);
}

pub async fn leases_of_processes_do_not_touch_each_other(hands: Hands) {
    let thread = hands.thread(&[]).await;
    let (one, two, three) = (begun(&hands, LONG).await, begun(&hands, LONG).await, begun(&hands, LONG).await);
    assert!(renewed(&hands, two, 0).await);
    let mut holding = hands.stores.processes.holding(vec![one, two, three]).await.expect("a read");
    holding.sort();
    assert_eq!(holding, [one, three]);
    hands.done(say(&hands, thread, "one", one)).await;
    hands.done(say(&hands, thread, "three", three)).await;
    assert!(hands.stores.processes.holding(Vec::new()).await.expect("a read").is_empty());
}

//! Machines whose clocks differ, on one PostgreSQL store: what is due or expires goes by the clock of the store.

use std::sync::Arc;
use std::time::Duration;

use threadkeep::{
    Append, ApprovalState, At, Capability, Create, Engine, Fallback, IdempotencyKey, Limits, MessageBody,
    PostgresStore, Stores, SystemWorld, Timestamp, Transfer, World,
};

const HOUR_MICROS: i64 = 3_600_000_000;

/// A machine whose clock is ahead by so many microseconds.
struct Ahead(i64);

impl World for Ahead {
    fn now(&self) -> Timestamp {
        SystemWorld.now().plus_micros(self.0)
    }

    fn chance(&self) -> u128 {
        SystemWorld.chance()
    }
}

/// The store as a machine opens it whose clock is ahead by so many hours.
fn ahead(schema: &threadkeep_throwaway::Schema, hours: i64) -> Engine {
    let store = PostgresStore::open(schema.url().parse().expect("a url")).expect("a store");
    Engine::new(Stores::of(store), Arc::new(Ahead(hours * HOUR_MICROS)), Limits::default())
}

#[test]
fn a_machine_ahead_of_time_does_not_end_an_approval() {
    crate::run(async {
        let schema = threadkeep_throwaway::schema();
        let (here, there) = (ahead(&schema, 0), ahead(&schema, 1));
        let thread = here.create(Create::titled("Clocks")).await.expect("a thread").id;
        let ask = Transfer::request_approval([Capability::Deploy]);
        let timeout = Some(Duration::from_secs(600));
        let ask = Transfer { timeout, fallback: Some(Fallback::Skip), ..ask };
        let asked = here.transfer(thread, ask.clone()).await.expect("a transfer").approval_id.expect("an approval");
        let timers = tokio::spawn(there.clone().run_timers());
        // Its timers have looked once they have fired what is due.
        let soon = Transfer { timeout: Some(Duration::from_millis(1)), ..ask.clone() };
        let due = here.transfer(thread, soon).await.expect("a transfer").approval_id.expect("an approval");
        let fired = async {
            let mut events = there.subscribe(thread, threadkeep::Position(0)).await.expect("a subscription");
            while events.next().await.expect("an entry").expect("a thread").kind.as_str() != "approval_answered" {}
        };
        tokio::time::timeout(Duration::from_secs(20), fired).await.expect("what is due fires");
        timers.abort();
        assert_ne!(there.approval(due).await.expect("an approval").state, ApprovalState::Pending);
        for engine in [&there, &here] {
            assert_eq!(engine.approval(asked).await.expect("an approval").state, ApprovalState::Pending);
        }
    });
}

#[test]
fn a_machine_ahead_of_time_does_not_forget_an_idempotency_key() {
    crate::run(async {
        let schema = threadkeep_throwaway::schema();
        let (here, there) = (ahead(&schema, 0), ahead(&schema, 25));
        let thread = here.create(Create::titled("Clocks")).await.expect("a thread").id;
        let at = At::of(thread).keyed(IdempotencyKey::new("once").expect("a key"));
        let append = || Append::from(MessageBody::user("once"));
        let first = here.call(at.clone(), append()).await.expect("an append");
        there.gc(false, Arc::new(|_: &str, _: u64, _: Option<u64>| {})).await.expect("gc");
        let again = there.call(at, append()).await.expect("the same append");
        assert_eq!(format!("{:?}", first.messages), format!("{:?}", again.messages));
        let shown = here.thread(thread).await.expect("a thread");
        assert_eq!(shown.head.tally.messages(), 1, "it was not doubled");
        let ahead = shown.head.updated.as_micros() - SystemWorld.now().as_micros();
        assert!(ahead < HOUR_MICROS, "entries carry the time of the store");
    });
}

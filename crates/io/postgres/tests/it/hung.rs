//! A server that hangs, and a process that stops in the middle of a commit: nothing waits for ever.

use std::sync::Arc;

use threadkeep_model::{ItemKind, LeaseToken};
use threadkeep_postgres::PostgresStore;
use threadkeep_store::{
    BoxFuture, Feed, FeedCursor, GcOptions, LeaseAsk, Leases, Result, Store, StoreError, Timers, Upkeep,
};

use crate::keep::{Keep, WAITED_MAX, block_on, changed, commit, create, now, say, until};

/// The result of `work`, which has to end.
async fn ended<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(WAITED_MAX, work).await {
        Ok(done) => done,
        Err(_) => panic!("{what} does not end"),
    }
}

#[test]
fn every_call_ends_while_the_server_hangs_and_works_again_when_it_goes_on() {
    let keep = Keep::apart();
    block_on(async {
        let store = Arc::new(keep.try_open("&call_timeout=2").expect("a store"));
        let thread = create(&store).await;
        say(&store, thread, "before").await.expect("an append");
        let _watched = store.signals().any();
        let calls = || -> Vec<(&str, BoxFuture<'_, Result<()>>)> {
            vec![
                ("a read", Box::pin(async { store.head(thread).await.map(drop) })),
                ("an append", Box::pin(async { say(&store, thread, "hung").await.map(drop) })),
                ("a commit", Box::pin(async { store.commit(commit(vec![changed(thread)])).await.map(drop) })),
                ("the feed", Box::pin(async { store.feed(FeedCursor(0), 9).await.map(drop) })),
                (
                    "a lease",
                    Box::pin(async {
                        store
                            .take(
                                thread,
                                LeaseAsk {
                                    token: LeaseToken::from_chance(7),
                                    holder: "ann".to_owned(),
                                    ttl_micros: 1,
                                    now: now(),
                                },
                            )
                            .await
                            .map(drop)
                    }),
                ),
                ("a timer", Box::pin(async { store.next_due(ItemKind::Approval, now()).await.map(drop) })),
                (
                    "gc",
                    Box::pin(async {
                        store
                            .gc(GcOptions { vacuum: false, now: now() }, Arc::new(|_: &str, _: u64, _: Option<u64>| {}))
                            .await
                            .map(drop)
                    }),
                ),
            ]
        };
        let hung = keep.cluster().hang().expect("a server that hangs");
        // More than there are connections, all at the same time, and then those that find all connections gone.
        for _ in 0..2 {
            let waiting: Vec<_> = (0..5).flat_map(|_| calls()).collect();
            let ends = waiting.into_iter().map(|(what, call)| async move { (what, ended(what, call).await) });
            for (what, end) in futures_util::future::join_all(ends).await {
                assert!(matches!(end, Err(StoreError::Unavailable { .. })), "{what}: {end:?}");
            }
        }
        let refused = ended(
            "opening",
            tokio::task::spawn_blocking({
                let url = keep.url("&connect_timeout=1");
                move || PostgresStore::open(url.parse().expect("a url")).map(drop)
            }),
        );
        assert!(matches!(refused.await.expect("a task"), Err(StoreError::Unavailable { .. })));
        drop(hung);
        for n in 0..calls().len() {
            let works = async || calls().swap_remove(n).1.await.is_ok();
            until("every call works again", works).await;
        }
        let items = store.feed(FeedCursor(0), 1_000).await.expect("a read");
        let version = store.head(thread).await.expect("a read").expect("a thread").version.0;
        assert_eq!(items.len() as u64, 1 + version, "the birth and every entry, none of them twice");
    });
}

#[test]
fn others_write_on_after_a_process_that_stops_in_the_middle_of_a_commit() {
    let keep = Keep::apart();
    let store = keep.try_open("&call_timeout=4").expect("a store");
    let thread = block_on(create(&store));
    // A process that does nothing unless it is let, on a runtime of its own.
    let stopped = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let url = format!("{}&call_timeout=4", keep.url("")).replace("application_name=", "application_name=stopped_");
    let its = stopped.block_on(PostgresStore::open_here(url.parse().expect("a url"))).expect("a store");
    stopped.spawn(async move { its.commit(commit(vec![changed(thread)])).await.map(drop) });
    let looked = format!(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'stopped_{}' AND state = 'idle in transaction'",
        keep.schema.name()
    );
    let steps = (0..10_000).find(|_| {
        stopped.block_on(tokio::task::yield_now());
        !keep.sql(&looked).is_empty()
    });
    assert!(steps.is_some(), "it stops between its checks and its writes");
    block_on(async {
        say(&store, thread, "after it").await.expect("an append waits for the stopped one, and then goes on");
        let head = store.head(thread).await.expect("a read").expect("a thread");
        assert_eq!(head.version.0, 1, "nothing of the stopped commit was kept");
    });
    stopped.shutdown_background();
}

//! What only a server can show: several start at once, it hangs up, it is full, it was moved, its clock counts.

use std::sync::Arc;

use threadkeep_model::{Caller, Commit, Expect, Timestamp};
use threadkeep_postgres::PostgresStore;
use threadkeep_store::{Feed, FeedCursor, LeaseAsk, Leases, Store, StoreError, Upkeep};

use crate::keep::{Keep, block_on, changed, commit, create, now, said, say, until};

#[test]
fn any_number_may_start_at_once() {
    let keep = Keep::new();
    let url = keep.url("");
    std::thread::scope(|scope| {
        let starting: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| PostgresStore::open(url.parse().expect("a url")).expect("a store")))
            .collect();
        let stores: Vec<_> = starting.into_iter().map(|start| start.join().expect("no panic")).collect();
        block_on(async {
            let thread = create(&stores[0]).await;
            for store in &stores {
                say(store, thread, "hello").await.expect("an append");
            }
        });
    });
    assert_eq!(keep.sql("SELECT value FROM meta WHERE key = 'schema_version'"), [[Some("18".to_owned())]]);
}

#[test]
fn a_store_of_a_newer_program_is_refused_with_both_versions() {
    let keep = Keep::new();
    drop(keep.open());
    keep.sql("UPDATE meta SET value = 99 WHERE key = 'schema_version'");
    match keep.try_open("") {
        Err(StoreError::Newer { found, known, path }) => {
            assert_eq!((found, known), (99, 18));
            assert!(path.contains(keep.schema.name()) && !path.contains("password"), "{path}");
        }
        other => panic!("{:?}", other.map(drop)),
    }
}

#[test]
fn a_store_can_be_opened_refused_and_closed_inside_a_runtime() {
    let keep = Keep::new();
    block_on(async {
        let refused = PostgresStore::open("postgres://ann:secret@127.0.0.1:1/work".parse().expect("a url"));
        match refused.map(drop) {
            Err(StoreError::Unavailable { what }) => {
                assert!(what.contains("postgres://ann@127.0.0.1:1/work cannot be reached"), "{what}");
            }
            other => panic!("{other:?}"),
        }
        drop(keep.open());
    });
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("postgres://ann@{}/work?connect_timeout=1", silent.local_addr().expect("an address"));
    match PostgresStore::open(url.parse().expect("a url")).map(drop) {
        Err(StoreError::Unavailable { what }) => assert!(what.contains("did not answer in time"), "{what}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lent_runtime_serves_as_well() {
    let keep = Keep::new();
    block_on(async {
        let url = || keep.url("").parse().expect("a url");
        let (here, there) = (PostgresStore::open_here(url()).await, PostgresStore::open_here(url()).await);
        let (here, there) = (here.expect("a store"), there.expect("a store"));
        let thread = create(&here).await;
        let mut signal = there.signals().of(thread);
        for n in 0..10 {
            say(&here, thread, &n.to_string()).await.expect("an append");
        }
        signal.wait().await;
        assert_eq!(there.head(thread).await.expect("a read").expect("a thread").version.0, 10);
        drop((here, there, signal));
        let name = keep.schema.name();
        let open =
            format!("SELECT 1 FROM pg_stat_activity WHERE application_name = '{name}' AND pid <> pg_backend_pid()");
        until("all connections are closed", async || keep.sql(&open).is_empty()).await;
    });
}

#[test]
fn a_schema_that_holds_something_else_is_refused() {
    let keep = Keep::new();
    keep.sql(&format!("CREATE SCHEMA {0}; CREATE TABLE {0}.invoices (id integer)", keep.schema.name()));
    let refused = keep.try_open("").map(drop).expect_err("somebody else's tables").to_string();
    assert!(refused.contains("'invoices'") && refused.contains("?schema="), "{refused}");
}

#[test]
fn after_the_server_hung_up_everything_goes_on() {
    let keep = Keep::new();
    block_on(async {
        let store = keep.open();
        let thread = create(&store).await;
        for round in 0..5 {
            say(&store, thread, &round.to_string()).await.expect("an append");
            keep.hang_up();
            // A connection that is already dead may be met once for each that was open; then there are new ones.
            until("reads go on", async || store.head(thread).await.is_ok()).await;
            until("commits go on", async || store.commit(commit(vec![changed(thread)])).await.is_ok()).await;
        }
        let head = store.head(thread).await.expect("a read").expect("a thread");
        assert_eq!((head.version.0, head.tally.messages()), (10, 5));
    });
}

#[test]
fn a_commit_that_is_cut_off_says_that_its_outcome_is_not_known() {
    let keep = Keep::apart();
    block_on(async {
        let store = keep.open();
        let thread = create(&store).await;
        let holder = keep.session().await;
        let hold = format!("BEGIN; SELECT * FROM heads WHERE thread = {} FOR UPDATE", thread.short().bits());
        holder.batch_execute(&hold).await.expect("a lock");
        let waiting = tokio::spawn({
            let store = Arc::clone(&store);
            async move { say(&store, thread, "cut off").await }
        });
        keep.until_one_waits(&holder).await;
        keep.hang_up();
        let refused = waiting.await.expect("a task").expect_err("it was cut off").to_string();
        assert!(refused.contains("not known") && refused.contains("idempotency key"), "{refused}");
        holder.batch_execute("ROLLBACK").await.expect("an end");
        assert_eq!(store.head(thread).await.expect("a read").expect("a thread").version.0, 0);
    });
}

#[test]
fn a_pool_that_is_used_up_is_a_clear_error() {
    let keep = Keep::new();
    block_on(async {
        let store = Arc::new(keep.try_open("&max_connections=1").expect("a store"));
        let thread = create(&store).await;
        let holder = keep.session().await;
        // The lock that writers of the thread wait for.
        let hold = format!("SELECT pg_advisory_lock({})", (0x5448_u64 << 48) | thread.short().bits());
        holder.batch_execute(&hold).await.expect("a lock");
        let waiting = tokio::spawn({
            let store = Arc::clone(&store);
            async move { store.commit(commit(vec![changed(thread)])).await }
        });
        keep.until_one_waits(&holder).await;
        let refused = store.head(thread).await.expect_err("no connection is free").to_string();
        assert!(refused.contains("all 1 connections") && refused.contains("max_connections"), "{refused}");
        holder.batch_execute("SELECT pg_advisory_unlock_all()").await.expect("an end");
        waiting.await.expect("a task").expect("the commit went on");
        assert_eq!(store.head(thread).await.expect("a read").expect("a thread").version.0, 1);
    });
}

#[test]
fn a_store_that_was_moved_to_a_younger_server_goes_on_with_its_feed() {
    let keep = Keep::new();
    block_on(async {
        let store = keep.open();
        let thread = create(&store).await;
        say(&store, thread, "before").await.expect("an append");
        drop(store);
        // As if the server it comes from had counted much further.
        for table in ["entries", "segments"] {
            keep.sql(&format!("UPDATE {table} SET feed = feed + (1::bigint << 50)"));
        }
        let store = keep.open();
        let before = store.feed(FeedCursor(0), 100).await.expect("a read");
        assert_eq!(before.len(), 2);
        say(&store, thread, "after").await.expect("an append");
        let after = store.feed(before[1].cursor, 100).await.expect("a read");
        assert_eq!(after.len(), 1);
        assert_eq!(store.latest().await.expect("a read"), after[0].cursor);
    });
}

#[test]
fn leases_go_by_the_clock_of_the_server() {
    let keep = Keep::new();
    block_on(async {
        let (ann, bob) = (keep.open(), keep.open());
        let thread = create(&ann).await;
        let ask = |holder: &str, ttl_micros, now| {
            let token =
                threadkeep_model::LeaseToken::from_chance(holder.len() as u64 + u64::from(holder.as_bytes()[0]));
            LeaseAsk { token, holder: holder.to_owned(), ttl_micros, now }
        };
        // Clocks that are a year off make no difference.
        let year = 365 * 86_400 * 1_000_000;
        let hour = 3_600 * 1_000_000;
        let lease = ann.take(thread, ask("ann", hour, now().plus_micros(year))).await.expect("a lease");
        assert!(lease.until < now().plus_micros(2 * hour));
        let refused = bob.take(thread, ask("bob", hour, now().plus_micros(year))).await;
        assert!(matches!(refused, Err(StoreError::WriterHeld { .. })));
        let lease = ann.renew(thread, lease.token, 100_000, now().plus_micros(-year)).await.expect("a renewal");
        let has_ended = async || bob.lease(thread, Timestamp::from_micros(0)).await.expect("a read").is_none();
        until("the lease has ended", has_ended).await;
        let expect = Expect { lease: Some(lease.token), ..Expect::default() };
        let late = || commit(vec![said(thread, "late", expect)]);
        let late_commit = || Commit { time: Timestamp::from_micros(0), ..late() };
        assert!(matches!(ann.commit(late_commit()).await, Err(StoreError::WriterLost { to: None, .. })));
        let next = bob.take(thread, ask("bob", hour, now())).await.expect("a lease");
        assert_ne!(next.token, lease.token);
        match ann.commit(late()).await {
            Err(StoreError::WriterLost { to: Some(to), .. }) => assert_eq!(to.holder, "bob"),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_cause_with_a_null_byte_is_kept_without_it() {
    let keep = Keep::new();
    block_on(async {
        let store = keep.open();
        let thread = create(&store).await;
        for threads in [vec![said(thread, "a", Expect::default())], vec![changed(thread)]] {
            let caller = Caller { cause: Some("run\0 1".into()), ..Caller::local() };
            store.commit(Commit { caller, ..commit(threads) }).await.expect("a commit");
        }
        assert_eq!(keep.sql("SELECT DISTINCT cause FROM entries"), [[Some("run 1".to_owned())]]);
    });
}

#[test]
fn damaged_rows_of_lists_are_found_and_rebuilt() {
    let keep = Keep::new();
    let store = keep.open();
    block_on(async {
        let rebuild = async || store.rebuild(Arc::new(|_: &str, _: u64, _: Option<u64>| {})).await.expect("a rebuild");
        let thread = create(&store).await;
        say(&store, thread, "hello").await.expect("an append");
        rebuild().await;
        for damage in [
            "DELETE FROM terms",
            "INSERT INTO terms VALUES (7, 7, 7)",
            "UPDATE thread_terms SET by_change = '{}'",
            "UPDATE threads SET lifecycle = 3",
            "UPDATE threads SET minute = minute - 9",
            "UPDATE threads SET filed = filed - 1440",
            "UPDATE threads SET filed = '-9223372036854775808'",
        ] {
            assert_eq!(store.check_lists(9).await.expect("a check"), Vec::<String>::new());
            keep.sql(damage);
            assert!(!store.check_lists(9).await.expect("a check").is_empty(), "{damage} is not noticed");
            rebuild().await;
        }
        assert_eq!(store.check_lists(9).await.expect("a check"), Vec::<String>::new());
    });
}

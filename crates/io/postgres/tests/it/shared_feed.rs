//! The feed and its signals, with several processes on one database.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use threadkeep_model::{Expect, ThreadId};
use threadkeep_postgres::PostgresStore;
use threadkeep_store::{Feed, FeedCursor, FeedItem, FeedNews, Store};

use crate::keep::{Keep, block_on, changed, commit, create, said, say, until};

/// The positions told of a thread, in the order in which they are told.
fn told(items: &[FeedItem], thread: ThreadId) -> Vec<u64> {
    let of_thread = items.iter().filter(|item| item.thread == thread);
    let position = |item: &FeedItem| match &item.news {
        FeedNews::Entry(entry) => Some(entry.position.0),
        FeedNews::Began(_) | FeedNews::Deleted => None,
    };
    of_thread.filter_map(position).collect()
}

async fn read_on(store: &PostgresStore, items: &mut Vec<FeedItem>) {
    let after = items.last().map_or(FeedCursor(0), |item| item.cursor);
    items.extend(store.feed(after, 7).await.expect("a read"));
}

/// A commit that stops halfway: it has its number, and is not through. Other commits go on.
struct Halfway {
    holder: tokio_postgres::Client,
    late: tokio::task::JoinHandle<()>,
}

impl Halfway {
    async fn begin(keep: &Keep, store: &Arc<PostgresStore>, thread: ThreadId) -> Self {
        // The head of the thread is held, so that a commit to it stops.
        let holder = keep.session().await;
        let hold = format!("BEGIN; SELECT * FROM heads WHERE thread = {} FOR UPDATE", thread.short().bits());
        holder.batch_execute(&hold).await.expect("a lock");
        let store = Arc::clone(store);
        let late = tokio::spawn(async move { drop(say(&store, thread, "late").await.expect("the late commit holds")) });
        keep.until_one_waits(&holder).await;
        Self { holder, late }
    }

    async fn end(self) {
        self.holder.batch_execute("ROLLBACK").await.expect("an end");
        self.late.await.expect("a task");
    }
}

#[test]
fn a_transaction_of_another_program_or_database_does_not_hold_up_the_feed() {
    let keep = Keep::apart();
    block_on(async {
        let store = keep.open();
        let thread = create(&store).await;
        let mut items = Vec::new();
        keep.sql("CREATE DATABASE other");
        let other = keep.cluster().url().replace("/postgres", "/other");
        let (there, connection) = tokio_postgres::connect(&other, tokio_postgres::NoTls).await.expect("a connection");
        tokio::spawn(connection);
        for (n, open) in [keep.session().await, there].into_iter().enumerate() {
            open.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.expect("a transaction");
            say(&store, thread, "a").await.expect("an append does not wait");
            read_on(&store, &mut items).await;
            assert_eq!(told(&items, thread).len(), n + 1);
            open.batch_execute("COMMIT").await.expect("an end");
        }
    });
}

#[test]
fn readers_of_a_feed_that_is_held_up_leave_the_connections_to_others() {
    let keep = Keep::apart();
    block_on(async {
        let store = Arc::new(keep.try_open("&max_connections=2").expect("a store"));
        let (slow, quick) = (create(&store).await, create(&store).await);
        let after = store.latest().await.expect("a place");
        let halfway = Halfway::begin(&keep, &Arc::new(keep.try_open("").expect("a store")), slow).await;
        say(&store, quick, "held up").await.expect("others go on");
        let readers = (0..60).map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.feed(after, 9).await })
        });
        for reader in readers.collect::<Vec<_>>() {
            assert_eq!(reader.await.expect("a task").expect("a connection is free"), []);
        }
        let behind = store.behind(after, 9).await.expect("a count");
        assert_eq!(behind.items, 1, "what the feed cannot show yet is counted");
        // The reader who found nothing is told when there is something.
        let mut signal = store.signals().any();
        halfway.end().await;
        let mut items = Vec::new();
        while told(&items, quick).is_empty() {
            items = store.feed(after, 9).await.expect("a read");
            assert!(!told(&items, quick).is_empty() || is_told(&mut signal).await, "it is told");
        }
        assert_eq!((told(&items, slow), told(&items, quick)), (vec![1], vec![1]));
    });
}

#[test]
fn a_commit_that_comes_late_is_not_skipped() {
    let keep = Keep::apart();
    block_on(async {
        let store = keep.open();
        let (slow, quick) = (create(&store).await, create(&store).await);
        let mut items = Vec::new();
        read_on(&store, &mut items).await;
        let halfway = Halfway::begin(&keep, &store, slow).await;
        for n in 0..5 {
            say(&store, quick, &n.to_string()).await.expect("others go on");
        }
        read_on(&store, &mut items).await;
        assert_eq!(told(&items, quick), [0; 0], "they come after the late one");
        halfway.end().await;
        let are_shown = async || {
            read_on(&store, &mut items).await;
            told(&items, quick).len() == 5
        };
        until("the feed shows all of them", are_shown).await;
        let entries: Vec<_> = items.iter().filter(|item| matches!(item.news, FeedNews::Entry(_))).collect();
        assert_eq!(entries.first().map(|item| item.thread), Some(slow), "first by number, though last to commit");
        assert_eq!((told(&items, slow), told(&items, quick)), (vec![1], vec![1, 2, 3, 4, 5]));
    });
}

#[test]
fn each_thread_is_told_in_its_own_order_however_many_write() {
    const WRITERS: usize = 8;
    const EACH: usize = 25;
    let keep = Keep::new();
    block_on(async {
        let stores = [keep.open(), keep.open()];
        let mut threads = Vec::new();
        for _ in 0..4 {
            threads.push(create(&stores[0]).await);
        }
        let writers: Vec<_> = (0..2 * WRITERS)
            .map(|writer| {
                let (store, threads) = (Arc::clone(&stores[writer % 2]), threads.clone());
                tokio::spawn(async move {
                    for n in 0..EACH {
                        let one = threads[(writer + n) % threads.len()];
                        let other = threads[(writer * 7 + n * 3 + 1) % threads.len()];
                        // Plain appends, commits over two threads, and changes of the record: all three paths.
                        let threads = match n % 5 {
                            0 if one != other => {
                                vec![said(one, "both", Expect::default()), said(other, "both", Expect::default())]
                            }
                            1 => vec![changed(one)],
                            _ => vec![said(one, "one", Expect::default())],
                        };
                        store.commit(commit(threads)).await.expect("a commit");
                    }
                })
            })
            .collect();
        let mut items = Vec::new();
        let mut running = writers.into_iter();
        let mut writer = running.next();
        while let Some(task) = &writer {
            read_on(&stores[0], &mut items).await;
            if task.is_finished() {
                writer.expect("a writer").await.expect("a writer that did not panic");
                writer = running.next();
            }
        }
        let mut versions = HashMap::new();
        for thread in &threads {
            versions.insert(*thread, stores[1].head(*thread).await.expect("a read").expect("a thread").version.0);
        }
        let total: u64 = versions.values().sum();
        let are_shown = async || {
            read_on(&stores[0], &mut items).await;
            items.len() >= total as usize + threads.len()
        };
        until("the feed shows all of them", are_shown).await;
        for thread in &threads {
            assert_eq!(told(&items, *thread), (1..=versions[thread]).collect::<Vec<_>>());
        }
        assert!(items.is_sorted_by(|earlier, later| earlier.cursor < later.cursor));
    });
}

/// Waits for a signal, but not for ever.
async fn is_told(signal: &mut threadkeep_store::Signal) -> bool {
    tokio::time::timeout(Duration::from_secs(20), signal.wait()).await.is_ok()
}

#[test]
fn followers_in_another_process_are_told() {
    let keep = Keep::new();
    block_on(async {
        let (here, there) = (keep.open(), keep.open());
        let thread = create(&here).await;
        let mut signal = there.signals().of(thread);
        for n in 0..20 {
            say(&here, thread, &n.to_string()).await.expect("an append");
            let is_there = async || there.head(thread).await.expect("a read").expect("a thread").version.0 > n;
            until("the append is there", is_there).await;
            assert!(is_told(&mut signal).await, "append {n}");
        }
    });
}

#[test]
fn a_lost_notification_only_delays() {
    let keep = Keep::new();
    block_on(async {
        let (here, there) = (keep.open(), keep.open());
        let thread = create(&here).await;
        let mut signal = there.signals().of(thread);
        assert!(is_told(&mut signal).await, "it listens");
        // Whatever the poll saw so far is told, before all connections go, the one that listens among them.
        let is_quiet = async || tokio::time::timeout(Duration::from_secs(1), signal.wait()).await.is_err();
        until("there is no more news", is_quiet).await;
        keep.hang_up();
        until("appends go on", async || say(&here, thread, "nobody hears of this").await.is_ok()).await;
        assert!(is_told(&mut signal).await);
    });
}

#[test]
fn one_connection_listens_however_many_follow() {
    let keep = Keep::new();
    block_on(async {
        let store = keep.open();
        let thread = create(&store).await;
        let listening = || {
            let name = keep.schema.name();
            let sql =
                format!("SELECT 1 FROM pg_stat_activity WHERE application_name = '{name}' AND query LIKE 'LISTEN%'");
            keep.sql(&sql).len()
        };
        assert_eq!(listening(), 0, "nobody follows");
        let mut signals: Vec<_> = (0..50).map(|_| store.signals().of(thread)).collect();
        signals.extend((0..50).map(|_| store.signals().any()));
        for signal in &mut signals {
            assert!(is_told(signal).await, "it hears of the thread");
        }
        // The poll may tell all of them before the connection listens.
        until("a connection listens", async || listening() > 0).await;
        assert_eq!(listening(), 1);
    });
}

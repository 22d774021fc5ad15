//! How many rows the server looks at. It keeps statistics of its tables, and one thread may have most of the rows in one.
//! From that the server must not conclude anything about other threads.

use std::sync::Arc;

use threadkeep_model::{
    Account, Bounds, Commit, Create, Entry, Expect, Forked, ItemKind, Json, Link, MessageBody, MessageQueued, NewEntry,
    NewSegment, Position, Record, SegmentId, Space, Tally, Thread, ThreadCommit, ThreadId, Timestamp, ValueChange,
    ValuesChanged, Write,
};
use threadkeep_postgres::{Clock, PostgresStore};
use threadkeep_store::{CellNames, CellQuery, ItemQuery, ListQuery, ListSort, Store, Upkeep};

use crate::keep::{Keep, block_on, commit, create, said, until};

const FORKS: u64 = 3_000;
const VALUES: usize = 2_000;
const ITEMS: usize = 500;
/// Rows that a read of a small thread looks at, those that a store looks at when it is opened included.
const LOOKED_MAX: i64 = 20;

fn id(n: u64) -> ThreadId {
    ThreadId::from_chance(u128::from(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) << 64 | u128::from(n))
}

/// A fork of a thread with its first segment, and the entry that tells of it.
fn fork(parent: SegmentId, n: u64) -> (ThreadCommit, NewEntry) {
    let told = Entry::Forked(Forked { child: id(n), index: None, anchor: None });
    let link = Some(Link { parent, bounds: Bounds::all(Position(1)) });
    let segment = NewSegment { id: SegmentId::from_chance(n), link, birth: Tally::default() };
    let (account, record, entries) = (Account::local(), Record::default(), Vec::new());
    let create = Create { thread: id(n), account, record, segment, entries, created: None };
    (ThreadCommit::Create(create), NewEntry::new(&told))
}

fn write(thread: ThreadId, entries: Vec<NewEntry>) -> ThreadCommit {
    ThreadCommit::Write(Write { thread, expect: Expect::default(), branch: None, entries, record: None, owner: None })
}

/// A thread with many forks, values and items. The server has statistics of all tables.
async fn uneven(keep: &Keep) -> (ThreadId, SegmentId) {
    let store = keep.open();
    let parent = create(&store).await;
    let segment = store.head(parent).await.expect("a read").expect("a head").segment;
    for part in 0..FORKS / 500 {
        let (mut threads, told): (Vec<_>, Vec<_>) = (1..=500).map(|n| fork(segment, part * 500 + n)).unzip();
        threads.push(write(parent, told));
        store.commit(commit(threads)).await.expect("forks");
    }
    let value = Json::parse("value", "1").expect("json");
    let change = |n| ValueChange { key: format!("key {n}").parse().expect("a key"), value: Some(value.clone()) };
    let values = Entry::ValuesChanged(ValuesChanged { changes: (0..VALUES).map(change).collect() });
    store.commit(commit(vec![write(parent, vec![NewEntry::new(&values)])])).await.expect("values");
    let queued = Entry::MessageQueued(MessageQueued { message: MessageBody::user("later") });
    store.commit(commit(vec![write(parent, vec![NewEntry::new(&queued); ITEMS])])).await.expect("items");
    drop(store);
    keep.sql("ANALYZE");
    (parent, segment)
}

impl Keep {
    /// How many rows of a table the server has found by its indexes so far.
    async fn looked_at(&self, table: &str) -> i64 {
        let name = self.schema.name();
        // What a connection looked at is known for certain once it is closed.
        let connected =
            format!("SELECT 1 FROM pg_stat_activity WHERE application_name = '{name}' AND pid <> pg_backend_pid()");
        until("all connections are closed", async || self.sql(&connected).is_empty()).await;
        let looked = format!(
            "SELECT idx_tup_fetch FROM pg_stat_user_tables WHERE relname = '{table}' AND schemaname = '{name}'"
        );
        let found = self.sql(&looked).into_iter().flatten().flatten().next();
        found.expect("a row").parse().expect("a number")
    }

    /// Fails if the server looks at many rows of a table for what `read` does.
    async fn looks_at_few(&self, table: &str, read: impl AsyncFnOnce(&Arc<PostgresStore>)) {
        let before = self.looked_at(table).await;
        let store = self.open();
        read(&store).await;
        drop(store);
        let looked = self.looked_at(table).await - before;
        assert!(looked <= LOOKED_MAX, "the server looked at {looked} rows of {table}");
    }
}

#[test]
fn a_thread_is_read_without_a_look_at_others_however_much_one_of_them_has() {
    let keep = Keep::new();
    block_on(async {
        let (parent, segment) = uneven(&keep).await;
        keep.looks_at_few("threads", async |store| {
            let related = store.relations(vec![id(7), id(FORKS)]).await.expect("a read");
            assert!(related.iter().all(|relations| relations.len() == 1), "{related:?}");
        })
        .await;
        let cells = |segment, names, limit| CellQuery {
            space: Space::Values,
            spans: vec![(segment, Position::END)],
            names,
            limit,
        };
        for names in [
            CellNames::Between(String::new(), None),
            CellNames::These(vec!["key 7".into(), "key 8".into()]),
            CellNames::VersionsOf("key 7".into()),
        ] {
            keep.looks_at_few("cells", async |store| {
                let found = store.cells(cells(SegmentId::from_chance(7), names.clone(), 100)).await.expect("a read");
                assert!(found.cells.is_empty());
            })
            .await;
        }
        keep.looks_at_few("items", async |store| {
            let found = store.items_of(vec![id(7), id(8)], ItemKind::ALL.to_vec()).await.expect("a read");
            assert!(found.iter().all(Vec::is_empty));
        })
        .await;

        let query = ItemQuery { thread: id(7), kind: ItemKind::Queued, key: None, limit: 100 };
        keep.looks_at_few("items", async |store| {
            assert!(store.items(query.clone()).await.expect("a read").is_empty());
            assert_eq!(store.count_items(query).await.expect("a count"), 0);
        })
        .await;

        // The one that has much is read as a whole.
        let store = keep.open();
        assert_eq!(store.relations(vec![parent]).await.expect("a read")[0].len() as u64, FORKS);
        let all = cells(segment, CellNames::Between(String::new(), None), VALUES);
        assert_eq!(store.cells(all).await.expect("a read").cells.len(), VALUES);
        assert_eq!(store.items_of(vec![parent], vec![ItemKind::Queued]).await.expect("a read")[0].len(), ITEMS);
        assert_eq!(store.snapshot(None).await.expect("a snapshot").size().segments, FORKS + 1);
    });
}

/// Threads that are born in one minute, 10 ms apart.
const CROWD: u64 = 3_000;
const MINUTE: i64 = 29_000_000;
const PAGE: usize = 20;

impl Keep {
    /// A process that takes its time from the commits.
    fn open_timed(&self) -> Arc<PostgresStore> {
        Arc::new(PostgresStore::open_with(self.url("").parse().expect("a url"), Clock::Caller).expect("a store"))
    }
}

fn born(n: u64) -> ThreadCommit {
    let segment = NewSegment { id: SegmentId::from_chance(n + 1), link: None, birth: Tally::default() };
    let (account, record, entries) = (Account::local(), Record::default(), Vec::new());
    ThreadCommit::Create(Create { thread: id(n), account, record, segment, entries, created: None })
}

fn at(n: u64, threads: Vec<ThreadCommit>) -> Commit {
    Commit { time: Timestamp::from_micros(MINUTE * 60_000_000 + n as i64 * 10_000), ..commit(threads) }
}

async fn page(store: &PostgresStore, after: Option<&Thread>) -> Vec<Thread> {
    let after = after.map(|last| ListSort::Updated.place(last));
    store.list(ListQuery { after, ..ListQuery::of(Account::local(), PAGE) }).await.expect("a page")
}

#[test]
fn a_list_does_not_look_at_all_threads_of_the_minute_where_a_page_begins() {
    let keep = Keep::new();
    block_on(async {
        let store = keep.open_timed();
        for n in 0..CROWD {
            store.commit(at(n, vec![born(n)])).await.expect("a thread");
        }
        // Some change again in the minute, each in the process that made it or in another one.
        let other = keep.open_timed();
        let again = [(7, &store), (CROWD - 9, &other), (7, &other), (8, &other), (8, &store)];
        for ((n, by), step) in again.into_iter().zip(1..) {
            by.commit(at(CROWD + step, vec![said(id(n), "again", Expect::default())])).await.expect("an append");
        }
        drop((store, other));
        keep.sql("ANALYZE");

        let (threads, heads) = (keep.looked_at("threads").await, keep.looked_at("heads").await);
        let store = keep.open_timed();
        let first = page(&store, None).await;
        let second = page(&store, first.last()).await;
        drop(store);
        let changed = [8, 7, CROWD - 9];
        let rest = (0..CROWD).rev().filter(|n| !changed.contains(n));
        let expected: Vec<ThreadId> = changed.into_iter().chain(rest).take(2 * PAGE).map(id).collect();
        assert_eq!(first.iter().chain(&second).map(|thread| thread.id).collect::<Vec<_>>(), expected);
        // The threads of both pages, read for their places and once more as a whole, and those that changed.
        let most = 4 * PAGE as i64 + LOOKED_MAX;
        for (table, before) in [("threads", threads), ("heads", heads)] {
            let looked = keep.looked_at(table).await - before;
            assert!(looked <= most, "the server looked at {looked} rows of {table}");
        }

        let store = keep.open_timed();
        assert_eq!(store.check_lists(9).await.expect("a check"), Vec::<String>::new());
        keep.sql(&format!("UPDATE threads SET moment = moment + 1 WHERE id = {}", id(9).short().bits()));
        assert_eq!(store.check_lists(9).await.expect("a check").len(), 1, "a wrong moment is found");
    });
}

//! What only a file can show: it opens again, it is shared between processes, it is refused when it is not a store,
//! and a failed sync is never acknowledged.

use std::path::{Path, PathBuf};

use threadkeep_model::{
    Account, Caller, Commit, Create, Entry, Expect, MessageBody, NewEntry, NewSegment, Position, Record, SegmentId,
    Tally, ThreadCommit, ThreadId, Timestamp, Write,
};
use threadkeep_sqlite::SqliteStore;
use threadkeep_store::{EntryQuery, Feed, FeedCursor, Order, Store, StoreError};

use crate::sync::Syncs;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(future)
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("threads.db")
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(self.file()).expect("a store")
    }
}

fn commit(threads: Vec<ThreadCommit>) -> Commit {
    let time = Timestamp::from_micros(1_700_000_000_000_000);
    Commit { caller: Caller::local(), time, threads, blobs: Vec::new(), idempotency: None, owner: None }
}

fn thread(n: u64) -> ThreadId {
    ThreadId::from_chance(u128::from(n) << 64 | u128::from(n))
}

async fn create(store: &SqliteStore, n: u64) -> ThreadId {
    let segment = NewSegment { id: SegmentId::from_chance(n), link: None, birth: Tally::default() };
    let create = Create {
        thread: thread(n),
        account: Account::local(),
        record: Record::default(),
        segment,
        entries: Vec::new(),
        created: None,
    };
    store.commit(commit(vec![ThreadCommit::Create(create)])).await.expect("a new thread");
    thread(n)
}

async fn say(store: &SqliteStore, thread: ThreadId, text: &str) -> Result<Position, StoreError> {
    let entries = vec![NewEntry::new(&Entry::MessageAppended(MessageBody::user(text)))];
    let write = Write { thread, expect: Expect::default(), branch: None, entries, record: None, owner: None };
    Ok(store.commit(commit(vec![ThreadCommit::Write(write)])).await?.threads[0].first)
}

async fn texts(store: &SqliteStore, thread: ThreadId) -> Vec<String> {
    let found = store.thread(thread.into()).await.expect("a read").expect("a thread");
    let positions = Position::START..=Position::END;
    let query = EntryQuery { segment: found.head.segment, positions, order: Order::Ascending, limit: usize::MAX };
    let entries = store.entries(query).await.expect("a read");
    let text = |entry: &threadkeep_store::StoredEntry| {
        let body = entry.inline().expect("a small body");
        match Entry::decode(entry.kind, entry.format, body).expect("an entry") {
            Entry::MessageAppended(body) => body.content.to_text().into_owned(),
            other => panic!("{other:?} is no message"),
        }
    };
    entries.iter().map(text).collect()
}

#[test]
fn what_was_acknowledged_is_there_when_the_file_is_opened_again() {
    let folder = Folder::new();
    let id = block_on(async {
        let store = folder.open();
        let id = create(&store, 1).await;
        say(&store, id, "a").await.expect("an append");
        id
    });
    assert_eq!(block_on(texts(&folder.open(), id)), ["a"]);
}

#[test]
fn two_stores_on_one_file_see_each_other_and_keep_one_order() {
    let folder = Folder::new();
    let (one, other) = (folder.open(), folder.open());
    block_on(async {
        let id = create(&one, 1).await;
        for n in 0..20 {
            let store = if n % 3 == 0 { &one } else { &other };
            assert_eq!(say(store, id, &n.to_string()).await.expect("an append"), Position(n + 1));
        }
        let expected: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        assert_eq!(texts(&one, id).await, expected);
        assert_eq!(texts(&other, id).await, expected);
        let feeds = (one.feed(FeedCursor(0), 99).await, other.feed(FeedCursor(0), 99).await);
        assert_eq!(feeds.0.expect("a feed"), feeds.1.expect("a feed"));
    });
}

#[test]
fn a_follower_is_woken_by_the_writes_of_another_process() {
    let folder = Folder::new();
    let (one, other) = (folder.open(), folder.open());
    block_on(async {
        let id = create(&one, 1).await;
        let mut signal = one.signals().of(id);
        say(&other, id, "from elsewhere").await.expect("an append");
        let woken = tokio::time::timeout(std::time::Duration::from_secs(20), signal.wait()).await;
        woken.expect("a signal for a foreign write");
        assert_eq!(texts(&one, id).await, ["from elsewhere"]);
    });
}

fn refusal(path: &Path) -> String {
    match SqliteStore::open(path) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_file_that_is_no_store_is_refused_and_left_alone() {
    let folder = Folder::new();
    let path = folder.file();
    for (content, word) in [
        (
            &b"just some text, long enough to have a whole header of one hundred bytes, and then \
         some more of it to be sure"[..],
            "not a Threadkeep store",
        ),
        (b"short", "not a Threadkeep store"),
    ] {
        std::fs::write(&path, content).expect("a file");
        assert!(refusal(&path).contains(word), "{}", refusal(&path));
        assert_eq!(std::fs::read(&path).expect("a file"), content);
    }
    std::fs::remove_file(&path).expect("removed");
    let foreign = rusqlite::Connection::open(&path).expect("a database");
    foreign.execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1);").expect("a table");
    drop(foreign);
    assert!(refusal(&path).contains("not a Threadkeep store"), "{}", refusal(&path));
    assert!(refusal(folder.0.path()).contains("is a folder"), "{}", refusal(folder.0.path()));
}

#[test]
fn a_cut_off_file_is_refused() {
    let folder = Folder::new();
    block_on(async {
        let store = folder.open();
        let id = create(&store, 1).await;
        for _ in 0..50 {
            say(&store, id, &"x".repeat(1_000)).await.expect("an append");
        }
    });
    let log = PathBuf::from(format!("{}-wal", folder.file().display()));
    assert!(!log.exists(), "a store that is closed is one file");
    let whole = std::fs::read(folder.file()).expect("a file");
    std::fs::write(folder.file(), &whole[..whole.len() / 2]).expect("a cut");
    assert!(refusal(&folder.file()).contains("cut off"), "{}", refusal(&folder.file()));
}

#[test]
fn a_store_of_a_newer_program_is_refused_with_both_versions() {
    let folder = Folder::new();
    drop(folder.open());
    let raw = rusqlite::Connection::open(folder.file()).expect("the file");
    raw.pragma_update(None, "user_version", 99).expect("a newer version");
    drop(raw);
    match SqliteStore::open(folder.file()) {
        Err(StoreError::Newer { found, known, .. }) => assert_eq!((found, known), (99, 20)),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[test]
fn a_failed_sync_is_never_acknowledged_and_stops_all_writes() {
    let folder = Folder::new();
    let id = block_on(async {
        let store = folder.open();
        let id = create(&store, 1).await;
        say(&store, id, "kept").await.expect("an append");
        let syncs = Syncs::of(folder.0.path());
        syncs.fail(true);
        let refused = say(&store, id, "not acknowledged").await;
        assert!(matches!(refused, Err(StoreError::Failed { .. })), "{refused:?}");
        syncs.fail(false);
        let after = say(&store, id, "too late").await;
        assert!(matches!(after, Err(StoreError::Failed { .. })), "syncs work again, but what came before is unknown");
        id
    });
    let store = folder.open();
    block_on(async {
        let kept = texts(&store, id).await;
        assert_eq!(kept[0], "kept");
        assert!(!kept.contains(&"too late".to_owned()), "{kept:?}");
        say(&store, id, "again").await.expect("a store that was opened again can be written");
    });
}

#[test]
fn one_sync_serves_all_commits_that_wait() {
    let folder = Folder::new();
    let store = folder.open();
    block_on(async {
        let id = create(&store, 1).await;
        say(&store, id, "warm").await.expect("an append");
        let syncs = Syncs::of(folder.0.path());
        let mut waiting: Vec<_> = (0..64).map(|_| Box::pin(say(&store, id, "one of many"))).collect();
        // All are submitted before the first is awaited to its end.
        std::future::poll_fn(|context| {
            waiting.retain_mut(|append| append.as_mut().poll(context).is_pending());
            if waiting.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
        let syncs = syncs.count();
        assert!(syncs <= 16, "64 appends took {syncs} syncs");
        assert_eq!(texts(&store, id).await.len(), 65);
    });
}

#[test]
fn what_was_freed_is_gone_from_the_disk() {
    use threadkeep_store::{GcOptions, Upkeep};
    let folder = Folder::new();
    let store = folder.open();
    let secret = "the-secret-word ".repeat(40);
    block_on(async {
        let (gone, kept) = (create(&store, 1).await, create(&store, 2).await);
        say(&store, kept, "kept").await.expect("an append");
        for _ in 0..200 {
            say(&store, gone, &secret).await.expect("an append");
        }
        let on_disk = || {
            let read = |path: PathBuf| std::fs::read(path).unwrap_or_default();
            let wal = PathBuf::from(format!("{}-wal", folder.file().display()));
            [read(folder.file()), read(wal)].concat()
        };
        let holds = |bytes: &[u8]| bytes.windows(15).any(|window| window == b"the-secret-word");
        assert!(holds(&on_disk()));
        let delete = ThreadCommit::Delete { thread: gone, expect: Expect::default() };
        store.commit(commit(vec![delete])).await.expect("a deletion");
        let now = Timestamp::from_micros(1_700_000_000_000_000);
        let quiet = std::sync::Arc::new(|_: &str, _: u64, _: Option<u64>| {});
        let freed = store.gc(GcOptions { vacuum: true, now }, quiet).await.expect("gc");
        assert_eq!((freed.segments, freed.entries), (1, 200));
        assert!(freed.bytes > 100_000, "{freed:?}");
        assert!(!holds(&on_disk()), "neither the file nor its log holds what was freed");
        assert_eq!(texts(&store, kept).await, ["kept"]);
    });
}

#[test]
fn damaged_rows_of_lists_are_found_and_rebuilt() {
    use threadkeep_store::{ListFilter, ListQuery, Upkeep};
    for damage in [
        "DELETE FROM terms WHERE term % 2 = 0",
        "INSERT INTO terms VALUES (7, 7, 7)",
        "UPDATE threads SET lifecycle = 3",
        "UPDATE threads SET minute = minute - 9",
        "UPDATE threads SET filed = filed - 1440",
        "UPDATE threads SET letters = 0",
    ] {
        let folder = Folder::new();
        block_on(async {
            let store = folder.open();
            let record = Record { title: Some("Release notes".into()), ..Record::default() };
            let segment = NewSegment { id: SegmentId::from_chance(1), link: None, birth: Tally::default() };
            let entries = Vec::new();
            let create =
                Create { thread: thread(1), account: Account::local(), record, segment, entries, created: None };
            store.commit(commit(vec![ThreadCommit::Create(create)])).await.expect("a thread");
            assert!(store.check_lists(9).await.expect("a check").is_empty());
            let quiet = std::sync::Arc::new(|_: &str, _: u64, _: Option<u64>| {});
            // A rebuild files all threads.
            store.rebuild(quiet).await.expect("a rebuild");
            let raw = rusqlite::Connection::open(folder.file()).expect("the file");
            raw.execute_batch(damage).expect("damage");
            drop(raw);
            assert!(!store.check_lists(9).await.expect("a check").is_empty(), "{damage} is not noticed");
            let quiet = std::sync::Arc::new(|_: &str, _: u64, _: Option<u64>| {});
            store.rebuild(quiet).await.expect("a rebuild");
            assert_eq!(store.check_lists(9).await.expect("a check"), Vec::<String>::new(), "{damage} is repaired");
            let filter = ListFilter { title: Some("notes".into()), ..ListFilter::default() };
            let query = ListQuery { filter, ..ListQuery::of(Account::local(), 9) };
            assert_eq!(store.list(query).await.expect("a list").len(), 1);
        });
    }
}

#[test]
fn threads_wait_until_many_are_filed_together_and_lists_have_all_of_them() {
    use threadkeep_store::{ListFilter, ListQuery, Upkeep};
    const THREADS: u128 = 2_000;
    let folder = Folder::new();
    let at_rest = |sql: &str| -> i64 {
        let raw = rusqlite::Connection::open(folder.file()).expect("the file");
        raw.query_row(sql, [], |row| row.get(0)).expect("a number")
    };
    const WAITING: &str = "SELECT count(*) FROM threads WHERE minute <> filed";
    block_on(async {
        let store = folder.open();
        for n in 0..THREADS {
            let record = Record { title: Some(format!("Release notes {n}")), ..Record::default() };
            let segment = NewSegment { id: SegmentId::from_chance(n as u64 + 1), link: None, birth: Tally::default() };
            let id = ThreadId::from_chance((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
            let create =
                Create { thread: id, account: Account::local(), record, segment, entries: Vec::new(), created: None };
            store.commit(commit(vec![ThreadCommit::Create(create)])).await.expect("a thread");
            if n == 99 {
                assert_eq!((at_rest(WAITING), at_rest("SELECT count(*) FROM terms")), (100, 0));
            }
        }
        // 768 may wait, and those that come between two looks; 512 are filed at once.
        let waiting = at_rest(WAITING);
        assert!((256..1_024).contains(&waiting), "{waiting} threads wait");
        assert_eq!(store.check_lists(9).await.expect("a check"), Vec::<String>::new());
        for (title, threads) in [("notes", 2_000), ("notes 1999", 1), ("notes 3", 111), ("no such", 0)] {
            let filter = ListFilter { title: Some(title.into()), ..ListFilter::default() };
            let query = ListQuery { filter, ..ListQuery::of(Account::local(), 4_000) };
            assert_eq!(store.list(query.clone()).await.expect("a list").len(), threads, "{title}");
            assert_eq!(store.count(query).await.expect("a total").count, threads as u64, "{title}");
        }
    });
}

/// A process that was stopped in the middle of a commit holds the file. Work that queues behind the first write that
/// found it held does not wait for it once more each.
#[test]
fn work_that_queues_while_another_process_holds_the_file_ends_together() {
    use std::time::Duration;

    use threadkeep_model::LeaseToken;
    use threadkeep_store::{LeaseAsk, Leases};
    let folder = Folder::new();
    block_on(async {
        let store = folder.open();
        let thread = create(&store, 1).await;
        let stopped = rusqlite::Connection::open(folder.file()).expect("the file");
        stopped.execute_batch("BEGIN IMMEDIATE").expect("the lock");
        let take = |holder: &str| {
            let token = LeaseToken::from_chance(7);
            let now = Timestamp::from_micros(1);
            store.take(thread, LeaseAsk { token, holder: holder.to_owned(), ttl_micros: 1_000_000, now })
        };
        let is_away = |error: StoreError| matches!(error, StoreError::Unavailable { .. });
        let all = async {
            let (a, b, c, d) =
                tokio::join!(say(&store, thread, "a"), take("ann"), take("bob"), say(&store, thread, "d"));
            assert!(a.is_err_and(is_away) && b.is_err_and(is_away) && c.is_err_and(is_away) && d.is_err_and(is_away));
            for _ in 0..4 {
                assert!(take("cyd").await.is_err_and(is_away));
            }
        };
        // Each on its own would wait for 10 s.
        tokio::time::timeout(Duration::from_secs(30), all).await.expect("they end together");
        stopped.execute_batch("ROLLBACK").expect("it goes on");
        take("ann").await.expect("the file is free");
        say(&store, thread, "b").await.expect("the file is free");
    });
}

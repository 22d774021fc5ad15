//! The pages that writes touch, counted in the write-ahead log.

use std::path::PathBuf;

use rusqlite::Connection;
use threadkeep_model::{
    Account, Bounds, Caller, Commit, Create, Entry, Expect, Forked, Head, Lifecycle, Link, MessageBody, NewEntry,
    NewSegment, Position, Record, Segment, SegmentId, Tally, Thread, ThreadCommit, ThreadId, Timestamp, Visibility,
    Write,
};
use threadkeep_sqlite::SqliteStore;
use threadkeep_store::{ImportBatch, ListFilter, ListQuery, ListSort, SegmentRow, Store, TimeRange, Upkeep};

const FRAME_BYTES: u64 = 24 + 8_192;
const MINUTE_MICROS: i64 = 60_000_000;

/// A store whose threads were all filed, in as many minutes.
struct Pages {
    store: SqliteStore,
    /// Its snapshot keeps the write-ahead log from starting over.
    _reader: Connection,
    log: PathBuf,
    _folder: tempfile::TempDir,
}

fn bits(n: u64) -> u64 {
    let bits = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (bits ^ (bits >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn thread(n: u64) -> ThreadId {
    ThreadId::from_chance(u128::from(bits(n)) << 64 | u128::from(bits(!n)))
}

fn segment(n: u64) -> SegmentId {
    SegmentId::from_chance(bits(n ^ 0x5555_5555))
}

/// A title of letters that few others have.
fn title(n: u64) -> String {
    (0..24).map(|at| char::from(b'a' + (bits(n * 32 + at) >> 40) as u8 % 26)).collect()
}

fn commit(threads: Vec<ThreadCommit>, minute: i64) -> Commit {
    let time = Timestamp::from_micros(minute * MINUTE_MICROS);
    Commit { caller: Caller::local(), time, threads, blobs: Vec::new(), idempotency: None, owner: None }
}

fn write(thread: ThreadId, entry: &Entry) -> ThreadCommit {
    let entries = vec![NewEntry::new(entry)];
    ThreadCommit::Write(Write { thread, expect: Expect::default(), branch: None, entries, record: None, owner: None })
}

impl Pages {
    async fn with(threads: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("threads.db");
        let store = SqliteStore::open(&path).expect("a store");
        let mut batch = ImportBatch { finished: true, ..ImportBatch::default() };
        for n in 0..threads {
            let (id, segment, created) = (thread(n), segment(n), Timestamp::from_micros(n as i64 * MINUTE_MICROS));
            let record = Record { title: Some(title(n)), ..Record::default() };
            let (birth, version) = (Tally::default(), Position::START);
            let born = Segment { id: segment, thread: id, first: Position(1), link: None, birth, created };
            batch.segments.push(SegmentRow { segment: born, origin: Some((Account::local(), record.clone())) });
            let head = Head { version, segment, era: 0, fence: 0, updated: created, tally: birth };
            batch.threads.push(Thread { id, account: Account::local(), created, head, record });
        }
        store.import(batch).await.expect("an import");
        let reader = Connection::open(&path).expect("a connection");
        reader.execute_batch("BEGIN; SELECT count(*) FROM threads").expect("a snapshot");
        let log = folder.path().join("threads.db-wal");
        Self { store, _reader: reader, log, _folder: folder }
    }

    /// The pages that a commit writes.
    async fn of(&self, commit: Commit) -> u64 {
        let frames = || std::fs::metadata(&self.log).expect("a log").len() / FRAME_BYTES;
        let before = frames();
        self.store.commit(commit).await.expect("a commit");
        frames() - before
    }
}

/// A fork of thread `parent`, as child number `n`, in a minute.
fn fork(parent: u64, n: u64, minute: i64) -> Commit {
    let child = thread(n);
    let link = Some(Link { parent: segment(parent), bounds: Bounds::all(Position(1)) });
    let record = Record {
        title: Some(format!("Forked: {}", title(parent))),
        agent_id: Some("writer".into()),
        ..Record::default()
    };
    let told = Entry::Forked(Forked { child, index: None, anchor: None });
    let segment = NewSegment { id: segment(n), link, birth: Tally::default() };
    let account = Account::local();
    let create = Create { thread: child, account, record, segment, entries: Vec::new(), created: None };
    commit(vec![write(thread(parent), &told), ThreadCommit::Create(create)], minute)
}

#[tokio::test]
async fn a_fork_writes_twelve_pages_and_no_index_of_one_column() {
    let pages = Pages::with(6_000).await;
    let mut written = Vec::new();
    for n in 0..60 {
        written.push(pages.of(fork(7, 100_000 + n, 1_000_000)).await);
    }
    written.sort_unstable();
    // Entry, its place, relation and its child, two heads, thread, segment with its thread and its number, the list of
    // all and the shelf. Most split a page, which takes three more.
    assert!(written[15] <= 12, "{written:?}");
}

#[tokio::test]
async fn a_thread_that_changes_from_minute_to_minute_leaves_the_indexes_of_one_column_once() {
    let pages = Pages::with(6_000).await;
    let said = Entry::MessageAppended(MessageBody::user("x"));
    let mut again = Vec::new();
    for minute in 0..20 {
        again.push(pages.of(commit(vec![write(thread(7), &said)], 1_000_000 + minute)).await);
    }
    again.sort_unstable();
    // Entry, its place, message, head, thread, the list of all and the shelf.
    assert!(again[10] <= 7, "{again:?}");
}

#[tokio::test]
async fn threads_that_move_on_wait_until_there_are_many_and_are_listed_meanwhile() {
    const MOVED: u64 = 4_000;
    let pages = Pages::with(MOVED).await;
    let said = Entry::MessageAppended(MessageBody::user("x"));
    let file = Connection::open(pages.log.with_extension("db")).expect("a connection");
    let waiting = || {
        let count = "SELECT count(*) FROM threads INDEXED BY threads_moved WHERE account = 'local' AND minute <> filed";
        file.query_row(count, [], |row| row.get::<_, i64>(0)).expect("a count")
    };
    let mut most = 0;
    for from in (0..MOVED).step_by(50) {
        let writes = (from..from + 50).map(|n| write(thread(n), &said)).collect();
        pages.store.commit(commit(writes, 1_000_000 + from as i64)).await.expect("a commit");
        most = most.max(waiting());
    }
    // 2,048 may wait, and those that come between two looks.
    assert!((2_000..2_900).contains(&most) && waiting() < most, "{most}, then {}", waiting());
    for n in [0, MOVED / 2, MOVED - 1] {
        let filter = ListFilter { title: Some(title(n)), ..ListFilter::default() };
        let found = pages.store.list(ListQuery { filter, ..ListQuery::of(Account::local(), 9) }).await.expect("a list");
        assert_eq!(found.iter().map(|thread| thread.id).collect::<Vec<_>>(), [thread(n)]);
    }
    assert_eq!(pages.store.check_lists(9).await.expect("a check"), Vec::<String>::new());
}

#[tokio::test]
async fn lists_hold_the_threads_that_are_filed_those_that_moved_on_and_new_ones() {
    let pages = Pages::with(300).await;
    let store = &pages.store;
    let text = |what: &str, n: u64| Some(format!("{what}{}", n % 3));
    let mut ids = Vec::new();
    for n in 0..400 {
        let record = Record {
            title: Some(title(n)),
            agent_id: text("agent", n).filter(|_| n % 2 == 0),
            project_id: text("project", n),
            parent_id: (n % 5 == 0).then(|| thread(1)),
            main_thread_id: (n % 7 == 0).then(|| thread(2)),
            lifecycle: if n % 4 == 0 { Lifecycle::Completed } else { Lifecycle::Active },
            visibility: if n % 6 == 0 { Visibility::Public } else { Visibility::Private },
            ..Record::default()
        };
        let minute = 1_000 + (n * 37 % 50) as i64;
        if n < 300 {
            // Every third one stays where it was filed.
            let minute = if n % 3 == 0 { n as i64 } else { minute };
            let (expect, record) = (Expect::default(), Some(record));
            let change = Write { thread: thread(n), expect, branch: None, entries: Vec::new(), record, owner: None };
            store.commit(commit(vec![ThreadCommit::Write(change)], minute)).await.expect("a change");
        } else {
            let segment = NewSegment { id: segment(n), link: None, birth: Tally::default() };
            let (thread, account) = (thread(n), Account::local());
            let create = Create { thread, account, record, segment, entries: Vec::new(), created: None };
            store.commit(commit(vec![ThreadCommit::Create(create)], minute)).await.expect("a thread");
        }
        ids.push(thread(n));
    }
    let mut threads = Vec::new();
    for id in ids {
        threads.push(store.thread(id.into()).await.expect("a read").expect("a thread"));
    }
    let all = ListFilter::default;
    let at = |minute: i64| Some(Timestamp::from_micros(minute * MINUTE_MICROS));
    for filter in [
        all(),
        ListFilter { agent: Some("agent0".into()), ..all() },
        ListFilter { project: Some("project1".into()), ..all() },
        ListFilter { parent: Some(thread(1)), ..all() },
        ListFilter { main: Some(thread(2)), ..all() },
        ListFilter { lifecycle: Some(Lifecycle::Active), ..all() },
        ListFilter { lifecycle: Some(Lifecycle::Completed), agent: Some("agent2".into()), ..all() },
        ListFilter { visibility: Some(Visibility::Public), ..all() },
        ListFilter { visibility: Some(Visibility::Private), title: Some("a".into()), ..all() },
        ListFilter { created: TimeRange { after: at(20), before: at(1_020) }, ..all() },
        ListFilter { updated: TimeRange { after: at(20), before: at(1_020) }, agent: Some("agent0".into()), ..all() },
    ] {
        for (sort, skip) in
            [ListSort::Updated, ListSort::Created].into_iter().flat_map(|sort| [(sort, 0), (sort, 9), (sort, 230)])
        {
            let mut expected: Vec<&Thread> = threads.iter().filter(|thread| filter.matches(thread)).collect();
            expected.sort_by_key(|thread| std::cmp::Reverse(sort.place(thread).order()));
            let total = expected.len() as u64;
            let expected: Vec<ThreadId> = expected.iter().skip(skip).take(25).map(|thread| thread.id).collect();
            let query = ListQuery { filter: filter.clone(), sort, skip, ..ListQuery::of(Account::local(), 25) };
            let found = store.list(query.clone()).await.expect("a list");
            let found: Vec<ThreadId> = found.iter().map(|thread| thread.id).collect();
            assert_eq!(found, expected, "{query:?}");
            assert_eq!(store.count(query).await.expect("a total").count, total);
        }
    }
    assert_eq!(store.check_lists(9).await.expect("a check"), Vec::<String>::new());
}

#[tokio::test]
async fn of_a_crowded_minute_a_list_sorts_only_threads_that_wait_and_those_that_changed_since() {
    const CROWD: u64 = 2_500;
    let pages = Pages::with(10).await;
    let said = Entry::MessageAppended(MessageBody::user("x"));
    let mut step = 0;
    let mut at = |threads| {
        step += 1;
        let time = Timestamp::from_micros(1_000_000 * MINUTE_MICROS + step * 1_000);
        Commit { time, ..commit(threads, 0) }
    };
    for n in 100..100 + CROWD {
        let (segment, account) = (NewSegment { id: segment(n), link: None, birth: Tally::default() }, Account::local());
        let (record, entries) = (Record::default(), Vec::new());
        let create = Create { thread: thread(n), account, record, segment, entries, created: None };
        for change in [ThreadCommit::Create(create), write(thread(n), &said)] {
            pages.store.commit(at(vec![change])).await.expect("a commit");
        }
    }
    let unplaced = "SELECT count(*) FROM threads INDEXED BY threads_recent WHERE minute = 1000000 AND moment IS NULL";
    let file = Connection::open(pages.log.with_extension("db")).expect("a connection");
    let count = || file.query_row(unplaced, [], |row| row.get::<_, i64>(0)).expect("a count");
    // 768 may wait, and those that come between two looks.
    assert!(count() < 900, "{} without a place", count());
    // One that was filed changes again.
    pages.store.commit(at(vec![write(thread(107), &said)])).await.expect("a commit");
    let listed = pages.store.list(ListQuery::of(Account::local(), 3)).await.expect("a list");
    let expected = [107, 99 + CROWD, 98 + CROWD].map(thread);
    assert_eq!(listed.iter().map(|thread| thread.id).collect::<Vec<_>>(), expected);
}

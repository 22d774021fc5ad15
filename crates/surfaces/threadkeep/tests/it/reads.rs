//! How many reads of the store a list or a page takes: as many for one thread as for fifty, whatever they are related to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use threadkeep::model::{
    Account, Checkpoint, Commit, Committed, Head, ItemKind, Relation, Segment, SegmentId, ThreadName, Visibility,
};
use threadkeep::{
    Clock, Engine, FamilyPage, Fork, Limits, List, MemoryStore, MessageBody, MessageId, Page, Position, PostgresStore,
    QueuedId, SqliteStore, Stores, SystemWorld, Thread, ThreadId,
};
use threadkeep_store::{
    BoxFuture, CellPage, CellQuery, ChangeQuery, ChangeRow, EntryQuery, Item, ItemList, ItemQuery, ItemsByKind,
    KeyQuery, LeftOutQuery, ListQuery, MessageQuery, Related, Remembered, Result, Store, StoredEntry, Total,
};

/// Counts what is asked of a store.
pub(crate) struct Counting {
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) reads: Arc<AtomicU64>,
    /// Where totals wait, if they do: each says that it has come, and takes a permit.
    pub(crate) gate: Option<Gate>,
}

pub(crate) struct Gate {
    pub(crate) come: tokio::sync::mpsc::UnboundedSender<String>,
    pub(crate) open: Arc<tokio::sync::Semaphore>,
}

impl Counting {
    fn ask(&self) -> &dyn Store {
        self.reads.fetch_add(1, Ordering::Relaxed);
        &*self.inner
    }
}

impl Store for Counting {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed>> {
        self.ask().commit(commit)
    }
    fn remembered(&self, query: KeyQuery) -> BoxFuture<'_, Result<Option<Remembered>>> {
        self.ask().remembered(query)
    }
    fn thread(&self, name: ThreadName) -> BoxFuture<'_, Result<Option<Thread>>> {
        self.ask().thread(name)
    }
    fn threads(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.ask().threads(threads)
    }
    fn owners(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<(ThreadId, Account, Visibility)>>> {
        self.ask().owners(threads)
    }
    fn head(&self, thread: ThreadId) -> BoxFuture<'_, Result<Option<Head>>> {
        self.ask().head(thread)
    }
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.ask().list(query)
    }
    fn count(&self, query: ListQuery) -> BoxFuture<'_, Result<Total>> {
        let account = query.account.as_str().to_owned();
        let counted = self.ask().count(query);
        let Some(gate) = &self.gate else { return counted };
        Box::pin(async move {
            gate.come.send(account).expect("the test listens");
            gate.open.acquire().await.expect("an open gate").forget();
            counted.await
        })
    }
    fn chain(&self, segment: SegmentId, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        self.ask().chain(segment, limit)
    }
    fn chains(&self, segments: Vec<SegmentId>, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        self.ask().chains(segments, limit)
    }
    fn segments(&self, thread: ThreadId, at: Position, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        self.ask().segments(thread, at, limit)
    }
    fn entries(&self, query: EntryQuery) -> BoxFuture<'_, Result<Vec<StoredEntry>>> {
        self.ask().entries(query)
    }
    fn left_out(&self, query: LeftOutQuery) -> BoxFuture<'_, Result<Vec<u64>>> {
        self.ask().left_out(query)
    }
    fn messages(&self, query: MessageQuery) -> BoxFuture<'_, Result<Vec<StoredEntry>>> {
        self.ask().messages(query)
    }
    fn changes(&self, query: ChangeQuery) -> BoxFuture<'_, Result<Vec<ChangeRow>>> {
        self.ask().changes(query)
    }
    fn relations(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<Vec<Related>>>> {
        self.ask().relations(threads)
    }
    fn parents(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<(Relation, Head)>>> {
        self.ask().parents(threads)
    }
    fn checkpoints(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Checkpoint>>> {
        self.ask().checkpoints(thread)
    }
    fn cells(&self, query: CellQuery) -> BoxFuture<'_, Result<CellPage>> {
        self.ask().cells(query)
    }
    fn items(&self, query: ItemQuery) -> BoxFuture<'_, Result<Vec<Item>>> {
        self.ask().items(query)
    }
    fn items_of(&self, threads: Vec<ThreadId>, kinds: Vec<ItemKind>) -> BoxFuture<'_, Result<Vec<ItemsByKind>>> {
        self.ask().items_of(threads, kinds)
    }
    fn count_items(&self, query: ItemQuery) -> BoxFuture<'_, Result<usize>> {
        self.ask().count_items(query)
    }
    fn item(&self, kind: ItemKind, key: String) -> BoxFuture<'_, Result<Option<(ThreadId, Item)>>> {
        self.ask().item(kind, key)
    }
    fn all_items(&self, list: ItemList) -> BoxFuture<'_, Result<Vec<(ThreadId, Item)>>> {
        self.ask().all_items(list)
    }
    fn delivered(&self, queued: QueuedId) -> BoxFuture<'_, Result<Option<MessageId>>> {
        self.ask().delivered(queued)
    }
    fn subagents(&self, main: ThreadId) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.ask().subagents(main)
    }
}

/// The reads of the first page of the family of a thread with so many forks, and the page.
async fn reads_of_family(forks: u64, limit: usize) -> (u64, usize, Vec<u64>) {
    let (stores, reads) = (Stores::of(MemoryStore::new()), Arc::new(AtomicU64::new(0)));
    let counting = Arc::new(Counting { inner: Arc::clone(&stores.store), reads: Arc::clone(&reads), gate: None });
    let engine = Engine::new(Stores { store: counting, ..stores }, Arc::new(SystemWorld), Limits::default());
    let create = threadkeep::Create::titled("root").message(MessageBody::user("a"));
    let root = engine.create(create).await.expect("a thread").id;
    for _ in 0..forks {
        engine.fork(root, Fork::default()).await.expect("a fork");
    }
    reads.store(0, Ordering::Relaxed);
    let page = FamilyPage { limit: Some(limit), ..FamilyPage::default() };
    let family = engine.family_page(root, page).await.expect("a page");
    let more = family.more.iter().map(|(_, more)| *more).collect();
    (reads.load(Ordering::Relaxed), family.threads.len(), more)
}

#[test]
fn the_first_page_of_a_family_takes_as_many_reads_whatever_its_size() {
    crate::run(async {
        let (few, shown, more) = reads_of_family(30, 20).await;
        assert_eq!((shown, more), (20, vec![11]));
        assert_eq!(reads_of_family(300, 20).await, (few, 20, vec![281]));
        assert!(few <= 10, "{few} reads for 20 threads");
    });
}

#[test]
fn a_family_on_one_page_takes_as_many_reads_whatever_its_size() {
    crate::run(async {
        let (few, shown, more) = reads_of_family(1, 50).await;
        assert_eq!((shown, more), (2, vec![]));
        assert_eq!(reads_of_family(30, 50).await, (few, 31, vec![]));
        assert!(few <= 10, "{few} reads for 2 threads");
    });
}

#[test]
fn a_list_of_fifty_takes_as_many_reads_as_a_list_of_two() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let schema = threadkeep_throwaway::schema();
    let url = schema.url().parse().expect("a url");
    crate::run(async {
        for stores in [
            Stores::of(MemoryStore::new()),
            Stores::of(SqliteStore::open(folder.path().join("threads.db")).expect("a store")),
            Stores::of(PostgresStore::open_with(url, Clock::Caller).expect("a store")),
        ] {
            let reads = Arc::new(AtomicU64::new(0));
            let counting =
                Arc::new(Counting { inner: Arc::clone(&stores.store), reads: Arc::clone(&reads), gate: None });
            let stores = Stores { store: counting, ..stores };
            let fresh = || Engine::new(stores.clone(), Arc::new(SystemWorld), Limits::default());
            let engine = fresh();
            // Each is the fork of another thread, so that there are as many lineages to look at as there are threads.
            for n in 0..60 {
                let create = threadkeep::Create::titled(&format!("Thread {n}")).message(MessageBody::user("a"));
                let thread = engine.create(create).await.expect("a thread").id;
                engine.fork(thread, Fork::default()).await.expect("a fork");
            }
            let mut taken = Vec::new();
            for limit in [2, 50, 100] {
                // One that remembers nothing.
                let engine = fresh();
                reads.store(0, Ordering::Relaxed);
                let list = List { limit: Some(limit), title: Some("thread".into()), total: true, ..List::default() };
                let page = engine.list(list).await.expect("a list");
                assert_eq!(page.items.len(), limit);
                assert!(page.items.iter().any(|row| !row.parent_relationships.is_empty()));
                taken.push(reads.load(Ordering::Relaxed));
            }
            assert_eq!(
                taken,
                [5, 5, 5],
                "threads, their number, their parents, the lineages of those, and whose they are"
            );
        }
    });
}

#[test]
fn a_page_takes_as_many_reads_over_a_short_chain_of_forks_as_over_a_long_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let schema = threadkeep_throwaway::schema();
    let url = schema.url().parse().expect("a url");
    crate::run(async {
        for stores in [
            Stores::of(MemoryStore::new()),
            Stores::of(SqliteStore::open(folder.path().join("threads.db")).expect("a store")),
            Stores::of(PostgresStore::open_with(url, Clock::Caller).expect("a store")),
        ] {
            let reads = Arc::new(AtomicU64::new(0));
            let counting =
                Arc::new(Counting { inner: Arc::clone(&stores.store), reads: Arc::clone(&reads), gate: None });
            let stores = Stores { store: counting, ..stores };
            let fresh = || Engine::new(stores.clone(), Arc::new(SystemWorld), Limits::default());
            let engine = fresh();
            let create = threadkeep::Create::titled("root").message(MessageBody::user("a"));
            let mut thread = engine.create(create).await.expect("a thread").id;
            let mut links = 1;
            let mut taken = Vec::new();
            for length in [4, 60] {
                while links < length {
                    thread = engine.fork(thread, Fork::default()).await.expect("a fork").id;
                    engine.append(thread, MessageBody::user("b")).await.expect("a message");
                    links += 1;
                }
                for page in [Page::first(), Page::first().newest_first()] {
                    // One that remembers nothing.
                    let engine = fresh();
                    for _ in ["cold", "warm"] {
                        reads.store(0, Ordering::Relaxed);
                        let found = engine.messages(thread, page.clone()).await.expect("a page");
                        assert_eq!((found.items.len(), found.total), (length.min(50), length as u64));
                        taken.push(reads.load(Ordering::Relaxed));
                    }
                }
            }
            let cold_and_warm: [u64; 2] = [5, 2];
            let expected = [cold_and_warm; 4].concat();
            assert_eq!(taken, expected, "head and messages; at first owner, lineage, and messages left out");
        }
    });
}

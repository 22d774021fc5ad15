//! Upkeep grows in proportion to the store, holds a page at a time, and lets others through.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use threadkeep::model::{BlobId, SegmentId};
use threadkeep::{
    Account, Append, Create, Delete, Engine, Fork, GcReport, Limits, MessageBody, Progress, Selection, SqliteStore,
    StoreError, Stores, SystemWorld, Thread, ThreadId,
};
use threadkeep_store::{
    BoxFuture, GcOptions, ImportBatch, SeenSegment, SegmentRow, Snapshot, SnapshotSize, Tombstone, Upkeep,
};

use crate::copy::quiet;
use crate::reads::Counting;

/// The largest page or batch of each kind that was given or taken, and how many there were.
#[derive(Default)]
struct Pages {
    largest: Mutex<BTreeMap<&'static str, usize>>,
    count: AtomicU64,
}

impl Pages {
    fn note(&self, what: &'static str, rows: usize) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut largest = self.largest.lock().expect("pages");
        let most = largest.entry(what).or_default();
        *most = rows.max(*most);
    }

    fn noted<T>(&self, what: &'static str, page: Result<Vec<T>, StoreError>) -> Result<Vec<T>, StoreError> {
        if let Ok(page) = &page {
            self.note(what, page.len());
        }
        page
    }
}

/// Notes the sizes of pages and batches.
struct Noting {
    inner: Arc<dyn Upkeep>,
    pages: Arc<Pages>,
}

struct NotingSnapshot {
    inner: Box<dyn Snapshot>,
    pages: Arc<Pages>,
}

impl Snapshot for NotingSnapshot {
    fn size(&self) -> SnapshotSize {
        self.inner.size()
    }
    fn segments(&mut self, limit: usize) -> BoxFuture<'_, Result<Vec<SeenSegment>, StoreError>> {
        Box::pin(async move { self.pages.noted("segments", self.inner.segments(limit).await) })
    }
    fn threads(&mut self, limit: usize) -> BoxFuture<'_, Result<Vec<Thread>, StoreError>> {
        Box::pin(async move { self.pages.noted("threads", self.inner.threads(limit).await) })
    }
    fn tombstones(
        &mut self,
        after: Option<ThreadId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Tombstone>, StoreError>> {
        Box::pin(async move { self.pages.noted("tombstones", self.inner.tombstones(after, limit).await) })
    }
    fn rewind(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.rewind()
    }
    fn new_blobs(&mut self, blobs: Vec<BlobId>) -> BoxFuture<'_, Result<Vec<BlobId>, StoreError>> {
        self.inner.new_blobs(blobs)
    }
}

impl Upkeep for Noting {
    fn gc(&self, options: GcOptions, progress: Progress) -> BoxFuture<'_, Result<GcReport, StoreError>> {
        self.inner.gc(options, progress)
    }
    fn compact(&self, progress: Progress) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.inner.compact(progress)
    }

    fn rebuild(&self, progress: Progress) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.rebuild(progress)
    }
    fn threads_by_prefix(&self, prefix: String, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>, StoreError>> {
        self.inner.threads_by_prefix(prefix, limit)
    }
    fn all_threads(&self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Thread>, StoreError>> {
        Box::pin(async move { self.pages.noted("all threads", self.inner.all_threads(after, limit).await) })
    }
    fn all_segments(
        &self,
        after: Option<SegmentId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SegmentRow>, StoreError>> {
        Box::pin(async move { self.pages.noted("all segments", self.inner.all_segments(after, limit).await) })
    }
    fn segment_rows(&self, segments: Vec<SegmentId>) -> BoxFuture<'_, Result<Vec<SegmentRow>, StoreError>> {
        Box::pin(async move { self.pages.noted("segment rows", self.inner.segment_rows(segments).await) })
    }
    fn snapshot(&self, account: Option<Account>) -> BoxFuture<'_, Result<Box<dyn Snapshot>, StoreError>> {
        Box::pin(async move {
            let inner = self.inner.snapshot(account).await?;
            Ok(Box::new(NotingSnapshot { inner, pages: Arc::clone(&self.pages) }) as Box<dyn Snapshot>)
        })
    }
    fn all_blobs(&self, after: Option<BlobId>, limit: usize) -> BoxFuture<'_, Result<Vec<BlobId>, StoreError>> {
        Box::pin(async move { self.pages.noted("all blobs", self.inner.all_blobs(after, limit).await) })
    }
    fn all_tombstones(
        &self,
        after: Option<ThreadId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Tombstone>, StoreError>> {
        Box::pin(async move { self.pages.noted("all tombstones", self.inner.all_tombstones(after, limit).await) })
    }
    fn check_lists(&self, limit: usize) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        self.inner.check_lists(limit)
    }
    fn import(&self, batch: ImportBatch) -> BoxFuture<'_, Result<(), StoreError>> {
        let rows = batch.segments.len() + batch.entries.len() + batch.threads.len() + batch.tombstones.len();
        self.pages.note("import", rows);
        self.inner.import(batch)
    }
}

/// An engine on a new file, with its counts.
struct Noted {
    engine: Engine,
    pages: Arc<Pages>,
    reads: Arc<AtomicU64>,
    folder: tempfile::TempDir,
}

impl Noted {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let stores = Stores::of(SqliteStore::open(folder.path().join("threads.db")).expect("a store"));
        let (pages, reads) = (Arc::<Pages>::default(), Arc::<AtomicU64>::default());
        let upkeep = Arc::new(Noting { inner: Arc::clone(&stores.upkeep), pages: Arc::clone(&pages) });
        let store = Arc::new(Counting { inner: Arc::clone(&stores.store), reads: Arc::clone(&reads), gate: None });
        let stores = Stores { store, upkeep, ..stores };
        Self { engine: Engine::new(stores, Arc::new(SystemWorld), Limits::default()), pages, reads, folder }
    }

    /// Threads of which some are forks, and some are deleted although a fork sees them.
    async fn filled(threads: usize) -> Self {
        let noted = Self::new();
        for n in 0..threads {
            let create = Create::titled(&format!("Thread {n}")).message(MessageBody::user("a"));
            let thread = noted.engine.create(create).await.expect("a thread").id;
            if n % 5 == 0 {
                noted.engine.fork(thread, Fork::default()).await.expect("a fork");
            }
            if n % 10 == 0 {
                noted.engine.delete(thread, Delete::default()).await.expect("a deletion");
            }
        }
        noted
    }

    /// Does something, and says how many reads and pages it took, and how large the largest page was.
    async fn cost(&self, work: impl Future<Output = ()>) -> (u64, usize) {
        self.reads.store(0, Ordering::Relaxed);
        self.pages.count.store(0, Ordering::Relaxed);
        self.pages.largest.lock().expect("pages").clear();
        work.await;
        let asked = self.reads.load(Ordering::Relaxed) + self.pages.count.load(Ordering::Relaxed);
        let largest = self.pages.largest.lock().expect("pages");
        (asked, largest.values().copied().max().unwrap_or(0))
    }
}

#[test]
fn upkeep_asks_in_proportion_and_holds_a_page_whatever_the_size() {
    crate::run(async {
        const SMALL: usize = 300;
        const TIMES: usize = 5;
        let mut costs: BTreeMap<&str, Vec<(u64, usize)>> = BTreeMap::new();
        for threads in [SMALL, SMALL * TIMES] {
            let (from, to) = (Noted::filled(threads).await, Noted::new());
            let exported = from.engine.export(Selection::Store, |_| Ok::<_, threadkeep::Error>(()));
            costs.entry("export").or_default().push(from.cost(async { exported.await.expect("an export") }).await);
            let copied = async { drop(from.engine.copy_to(&to.engine, quiet()).await.expect("a copy")) };
            costs.entry("copy, target").or_default().push(to.cost(copied).await);
            let again = async { drop(from.engine.copy_to(&to.engine, quiet()).await.expect("a copy")) };
            costs.entry("copy, source").or_default().push(from.cost(again).await);
            let examined = async { assert!(from.engine.doctor(quiet()).await.expect("a report").is_healthy()) };
            costs.entry("doctor").or_default().push(from.cost(examined).await);
            let freed = async { assert!(from.engine.gc(true, quiet()).await.expect("gc").entries > 0) };
            costs.entry("gc").or_default().push(from.cost(freed).await);
        }
        for (what, cost) in costs {
            let [(small, _), (large, page)] = cost[..] else { panic!("two sizes") };
            // Some pages are full, and some are not.
            assert!(large * 20 <= small * TIMES as u64 * 21, "{what}: {small} reads became {large}");
            assert!(page <= 1_000, "{what}: a page of {page}");
        }
    });
}

#[test]
fn an_export_of_one_thread_does_not_look_at_the_others() {
    crate::run(async {
        let mut costs = Vec::new();
        for others in [10, 200] {
            let noted = Noted::filled(others).await;
            let thread = noted.engine.create(Create::titled("T")).await.expect("a thread").id;
            let exported = noted.engine.export(Selection::Thread(thread), |_| Ok::<_, threadkeep::Error>(()));
            costs.push(noted.cost(async { exported.await.expect("an export") }).await);
        }
        assert_eq!(costs[0], costs[1]);
    });
}

#[test]
fn others_have_their_turn_between_two_pages_of_upkeep() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let noted = Noted::filled(30).await;
        let long = noted.engine.create(Create::titled("Long")).await.expect("a thread").id;
        for _ in 0..4 {
            let said = (0..800).map(|n| MessageBody::user(&format!("message {n}")));
            noted.engine.append(long, Append::batch(said)).await.expect("an append");
        }
        let (engine, to) = (noted.engine.clone(), Noted::new());
        for upkeep in ["export", "copy", "doctor"] {
            let (turns, is_over) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
            let other = tokio::spawn({
                let (turns, is_over) = (Arc::clone(&turns), Arc::clone(&is_over));
                async move {
                    while !is_over.load(Ordering::Relaxed) {
                        turns.fetch_add(1, Ordering::Relaxed);
                        tokio::task::yield_now().await;
                    }
                }
            });
            match upkeep {
                "export" => {
                    engine.export(Selection::Store, |_| Ok::<_, threadkeep::Error>(())).await.expect("an export");
                }
                "copy" => drop(engine.copy_to(&to.engine, quiet()).await.expect("a copy")),
                _ => assert!(engine.doctor(quiet()).await.expect("a report").is_healthy()),
            }
            is_over.store(true, Ordering::Relaxed);
            other.await.expect("a task");
            // 3,200 messages and 36 threads: pages of 500 messages, or a thread at a time.
            assert!(turns.load(Ordering::Relaxed) >= 10, "{upkeep}: {turns:?}");
        }
    });
}

/// The number of rows of a table, read beside the store.
fn rows(path: &Path, table: &str) -> i64 {
    let connection = rusqlite::Connection::open(path).expect("the file");
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("a count")
}

#[test]
fn gc_frees_a_long_thread_in_many_short_transactions() {
    crate::run(async {
        let noted = Noted::new();
        let path = noted.folder.path().join("threads.db");
        let long = noted.engine.create(Create::titled("Long")).await.expect("a thread").id;
        for _ in 0..3 {
            let said = (0..1_000).map(|n| MessageBody::user(&format!("message {n}")));
            noted.engine.append(long, Append::batch(said)).await.expect("an append");
        }
        noted.engine.delete(long, Delete::default()).await.expect("a deletion");
        let steps = Arc::new(Mutex::new(vec![(rows(&path, "entries"), rows(&path, "messages"))]));
        let seen = Arc::clone(&steps);
        let progress: Progress = Arc::new(move |what, _, _| {
            if what == "segments" {
                seen.lock().expect("steps").push((rows(&path, "entries"), rows(&path, "messages")));
            }
        });
        noted.engine.gc(false, progress).await.expect("gc");
        let steps = steps.lock().expect("steps");
        assert_eq!((steps[0], steps[steps.len() - 1]), ((3_000, 3_000), (0, 0)));
        for step in steps.windows(2) {
            let [before, after] = step else { panic!("two of them") };
            let freed = (before.0 - after.0) + (before.1 - after.1);
            assert!(freed <= 600, "{freed} rows in one transaction: {steps:?}");
        }
    });
}

#[test]
fn a_vacuum_gives_back_the_space_of_messages_and_of_their_index() {
    crate::run(async {
        let noted = Noted::new();
        let kept = noted.engine.create(Create::titled("Kept").message(MessageBody::user("kept words"))).await;
        let kept = kept.expect("a thread").id;
        let mut deleted = Vec::new();
        for n in 0..40 {
            let text = |m: usize| MessageBody::user(&format!("words of {n} and {m} ").repeat(40));
            let create = (0..40).fold(Create::titled("Deleted"), |create, m| create.message(text(m)));
            deleted.push(noted.engine.create(create).await.expect("a thread").id);
        }
        noted.engine.backfill(None, quiet()).await.expect("an index");
        let files = ["threads.db", "threads-search.db"].map(|name| noted.folder.path().join(name));
        let bytes = || files.iter().map(|file| std::fs::metadata(file).expect("a file").len()).collect::<Vec<_>>();
        noted.engine.gc(true, quiet()).await.expect("gc");
        let before = bytes();
        for thread in deleted {
            noted.engine.delete(thread, Delete::default()).await.expect("a deletion");
        }
        let report = noted.engine.gc(true, quiet()).await.expect("gc");
        let after = bytes();
        for (file, (before, after)) in files.iter().zip(before.iter().zip(&after)) {
            assert!(after * 3 < *before, "{}: {before} bytes became {after}", file.display());
            assert_eq!(free_pages(file), 0, "{}", file.display());
        }
        assert_eq!(report.bytes, before.iter().sum::<u64>() - after.iter().sum::<u64>(), "it says what it gave back");
        assert_eq!(noted.engine.messages(kept, threadkeep::Page::first()).await.expect("a page").items.len(), 1);
    });
}

fn free_pages(path: &Path) -> i64 {
    let connection = rusqlite::Connection::open(path).expect("the file");
    connection.pragma_query_value(None, "freelist_count", |row| row.get(0)).expect("a number")
}

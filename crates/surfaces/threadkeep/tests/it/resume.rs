//! A copy that is broken off goes on where it stopped, whatever happened meanwhile.

use std::collections::HashSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use threadkeep::{
    CopyReport, Create, Delete, Engine, ExportItem, Fork, GcReport, Limits, MemoryStore, MessageBody, Position,
    Progress, RollbackTo, Selection, SqliteStore, StoreError, Stores, SystemWorld, Thread, ThreadId, Timestamp, World,
};
use threadkeep_postgres::PostgresStore;
use threadkeep_store::{BoxFuture, GcOptions, ImportBatch, SegmentRow, Upkeep};
use tokio::runtime::Handle;

use crate::copy::{copied, equal, exported, furnished, is_empty, quiet};
use crate::{Keep, on_every_store};

on_every_store!(
    a_copy_that_was_broken_off_goes_on_where_it_stopped,
    a_copy_goes_on_although_the_source_changed_since_it_was_broken_off,
    what_gc_freed_since_it_was_broken_off_is_sent_again,
    gc_waits_however_long_a_copy_only_looks_at_what_is_there,
);

/// A store to copy to, that can fail.
struct Target {
    stores: Stores,
    _folder: Option<tempfile::TempDir>,
    _schema: Option<threadkeep_throwaway::Schema>,
}

impl Target {
    fn memory() -> Self {
        Self { stores: Stores::of(MemoryStore::new()), _folder: None, _schema: None }
    }

    fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = SqliteStore::open(folder.path().join("target.db")).expect("a store in a file");
        Self { stores: Stores::of(store), _folder: Some(folder), _schema: None }
    }

    fn postgres() -> Self {
        let schema = threadkeep_throwaway::schema();
        let store = PostgresStore::open(schema.url().parse().expect("a URL")).expect("a store on a server");
        Self { stores: Stores::of(store), _folder: None, _schema: Some(schema) }
    }

    /// An engine that knows nothing of the ones before it, as after a restart.
    fn engine(&self) -> Engine {
        self.engine_in(Arc::new(SystemWorld))
    }

    fn engine_in(&self, world: Arc<dyn World>) -> Engine {
        Engine::new(self.stores.clone(), world, Limits::default())
    }

    /// Copies `from` to it, which breaks after so many steps; says whether it was finished before. Every other time
    /// the step that breaks was kept, and nobody heard of it.
    async fn broken_off(&self, from: &Engine, steps: u64, world: Arc<dyn World>) -> bool {
        let upkeep = Breaking { inner: Arc::clone(&self.stores.upkeep), steps, taken: AtomicU64::new(0) };
        let stores = Stores { upkeep: Arc::new(upkeep), ..self.stores.clone() };
        match from.copy_to(&Engine::new(stores, world, Limits::default()), quiet()).await {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.code(), "unavailable", "{error}");
                false
            }
        }
    }
}

/// Takes in so many steps of an import, and then no more.
struct Breaking {
    inner: Arc<dyn Upkeep>,
    steps: u64,
    taken: AtomicU64,
}

impl Upkeep for Breaking {
    fn check_lists(&self, limit: usize) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        self.inner.check_lists(limit)
    }

    fn import(&self, batch: ImportBatch) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let taken = self.taken.fetch_add(1, Ordering::Relaxed);
            if taken < self.steps {
                return self.inner.import(batch).await;
            }
            if taken == self.steps && self.steps % 2 == 1 {
                self.inner.import(batch).await?;
            }
            Err(StoreError::Unavailable { what: "it is gone".into() })
        })
    }

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
        self.inner.all_threads(after, limit)
    }

    fn all_segments(
        &self,
        after: Option<threadkeep::model::SegmentId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SegmentRow>, StoreError>> {
        self.inner.all_segments(after, limit)
    }

    fn segment_rows(
        &self,
        segments: Vec<threadkeep::model::SegmentId>,
    ) -> BoxFuture<'_, Result<Vec<SegmentRow>, StoreError>> {
        self.inner.segment_rows(segments)
    }

    fn snapshot(
        &self,
        account: Option<threadkeep::Account>,
    ) -> BoxFuture<'_, Result<Box<dyn threadkeep_store::Snapshot>, StoreError>> {
        self.inner.snapshot(account)
    }

    fn all_tombstones(
        &self,
        after: Option<ThreadId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<threadkeep_store::Tombstone>, StoreError>> {
        self.inner.all_tombstones(after, limit)
    }

    fn all_blobs(
        &self,
        after: Option<threadkeep::model::BlobId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<threadkeep::model::BlobId>, StoreError>> {
        self.inner.all_blobs(after, limit)
    }
}

async fn a_copy_that_was_broken_off_goes_on_where_it_stopped(keep: Keep) {
    furnished(&keep.engine).await;
    let whole = copied(&keep.engine, &Keep::memory().engine).await;
    for target in [Target::memory, Target::sqlite, Target::postgres] {
        let mut there = Vec::new();
        for steps in 0.. {
            let target = target();
            if target.broken_off(&keep.engine, steps, Arc::new(SystemWorld)).await {
                break;
            }
            let report = copied(&keep.engine, &target.engine()).await;
            assert_eq!(CopyReport { already_there: 0, was_finished: false, ..report }, whole);
            equal(&keep.engine, &target.engine()).await;
            there.push(report.already_there);
        }
        assert!(there.is_sorted(), "the later it was broken off, the less is left to do: {there:?}");
        let in_the_middle = there.iter().filter(|entries| (1..whole.entries).contains(entries));
        assert!(in_the_middle.count() >= 3, "{there:?}");
    }
}

/// The same, but nobody fails: whoever waits for it loses interest.
#[test]
fn a_copy_that_was_dropped_goes_on_where_it_stopped() {
    crate::run(async {
        let keep = Keep::memory();
        furnished(&keep.engine).await;
        for waits in 0.. {
            // A source in memory never lets a copy wait, so these are the steps of the target.
            let target = Target::sqlite();
            let dropped = {
                let engine = target.engine();
                let mut copy = pin!(keep.engine.copy_to(&engine, quiet()));
                let mut waited = 0;
                poll_fn(|context| match copy.as_mut().poll(context) {
                    Poll::Ready(copied) => Poll::Ready(copied.is_err()),
                    Poll::Pending if waited == waits => Poll::Ready(true),
                    Poll::Pending => {
                        waited += 1;
                        Poll::Pending
                    }
                })
                .await
            };
            let report = copied(&keep.engine, &target.engine()).await;
            equal(&keep.engine, &target.engine()).await;
            if !dropped {
                assert!(waits > 3 && report.was_finished);
                break;
            }
        }
    });
}

async fn a_copy_goes_on_although_the_source_changed_since_it_was_broken_off(keep: Keep) {
    let threads = furnished(&keep.engine).await;
    for (nth, target) in [Target::sqlite(), Target::postgres()].into_iter().enumerate() {
        assert!(!target.broken_off(&keep.engine, 2 + nth as u64, Arc::new(SystemWorld)).await);
        assert!(is_empty(&target.engine()).await, "no thread is there before all the rest is");
        let long = threads[threads.len() - 2];
        keep.engine.append(long, MessageBody::user("more")).await.expect("an append");
        keep.engine.rollback(long, RollbackTo::Version(Position(10))).await.expect("a rollback");
        keep.engine.fork(long, Fork::at_index(3)).await.expect("a fork");
        keep.engine.delete(threads[nth], Delete::default()).await.expect("a deletion");
        keep.engine.gc(false, quiet()).await.expect("gc");
        assert!(copied(&keep.engine, &target.engine()).await.already_there > 0);
        equal(&keep.engine, &target.engine()).await;
        // What the source has no more, and the target got before, is garbage there.
        target.engine().gc(true, quiet()).await.expect("gc");
        equal(&keep.engine, &target.engine()).await;
    }
}

/// More threads than appear at once.
#[test]
fn a_copy_that_was_broken_off_while_threads_appeared_goes_on() {
    crate::run(async {
        let keep = Keep::memory();
        for _ in 0..1_100 {
            keep.engine.create(Create::new()).await.expect("a thread");
        }
        let mut appeared = HashSet::new();
        for steps in 0.. {
            let target = Target::sqlite();
            if target.broken_off(&keep.engine, steps, Arc::new(SystemWorld)).await {
                break;
            }
            let items = exported(&target.engine(), Selection::Store).await;
            appeared.insert(items.iter().filter(|item| matches!(item, ExportItem::Thread { .. })).count());
            assert_eq!(copied(&keep.engine, &target.engine()).await.threads, 1_100);
            equal(&keep.engine, &target.engine()).await;
        }
        assert!(appeared.iter().any(|count| (1..1_100).contains(count)), "{appeared:?}");
    });
}

/// A clock that is set by hand, and goes on by `tick` with every look at it, in microseconds.
#[derive(Default)]
struct ByHand {
    now: AtomicI64,
    tick: AtomicI64,
}

impl World for ByHand {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.now.fetch_add(self.tick.load(Ordering::Relaxed), Ordering::Relaxed))
    }

    fn chance(&self) -> u128 {
        SystemWorld.chance()
    }
}

/// A copy that was broken off so long ago that the target has forgotten it.
async fn forgotten(keep: &Keep, target: &Target) -> Arc<ByHand> {
    const ELEVEN_MINUTES: i64 = 11 * 60 * 1_000_000;
    furnished(&keep.engine).await;
    let world = Arc::new(ByHand::default());
    assert!(!target.broken_off(&keep.engine, 4, world.clone()).await);
    let waits = target.engine_in(world.clone()).gc(false, quiet()).await.expect_err("an import is under way");
    assert_eq!(waits.code(), "unavailable");
    world.now.fetch_add(ELEVEN_MINUTES, Ordering::Relaxed);
    world
}

async fn what_gc_freed_since_it_was_broken_off_is_sent_again(keep: Keep) {
    let target = Target::sqlite();
    let engine = target.engine_in(forgotten(&keep, &target).await);
    assert!(engine.gc(false, quiet()).await.expect("gc").entries > 0, "what it brought is garbage");
    assert_eq!(copied(&keep.engine, &engine).await.already_there, 0);
    equal(&keep.engine, &engine).await;
    assert_eq!(engine.gc(false, quiet()).await.expect("gc"), GcReport::default());
}

async fn gc_waits_however_long_a_copy_only_looks_at_what_is_there(keep: Keep) {
    let target = Target::sqlite();
    let world = forgotten(&keep, &target).await;
    // A second an entry: more than twenty minutes until something is written.
    world.tick.store(1_000_000, Ordering::Relaxed);
    let engine = target.engine_in(world);
    let answers = Arc::new(Mutex::new(Vec::new()));
    let (runtime, collected, heard) = (Handle::current(), engine.clone(), Arc::clone(&answers));
    let progress: Progress = Arc::new(move |what, done, _| {
        if what == "entries" && [1, 700, 1_400].contains(&done) {
            let gc = || runtime.block_on(collected.gc(false, quiet())).map_err(|error| error.code());
            let answer = std::thread::scope(|scope| scope.spawn(gc).join()).expect("an answer");
            heard.lock().expect("answers").push(answer);
        }
    });
    let report = keep.engine.copy_to(&engine, progress).await.expect("a copy");
    assert!(report.already_there > 1_400, "{report:?}");
    let answers = answers.lock().expect("answers");
    assert!(answers.len() >= 3 && answers.iter().all(|answer| *answer == Err("unavailable")), "{answers:?}");
}

//! How the index comes into memory: once for all who ask at the same moment, and aside from the threads that answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bytes::Bytes;
use threadkeep::{
    Account, Clock, Create, Engine, Limits, MemoryStore, MessageBody, PostgresStore, Search, SqliteStore, Stores,
    SystemWorld,
};
use threadkeep_store::{BoxFuture, Reshelving, Result, Shelves, VolumeRow};
use tokio::sync::watch;

const SEARCHES: u64 = 16;
/// When a test gives up.
const GIVES_UP: Duration = Duration::from_secs(20);

/// Shelves that count, and read a volume only when they are let.
struct Watched {
    inner: Arc<dyn Shelves>,
    /// How often the list of volumes was asked for.
    lists: watch::Sender<u64>,
    loads: AtomicU64,
    before: Before,
}

/// When a volume is read.
enum Before {
    /// Once the list was asked for so many times.
    Lists(u64),
    /// Once this is open. Until then the thread that asks is blocked, as it is by a slow disk.
    Gate(Arc<Gate>),
}

#[derive(Default)]
struct Gate {
    /// Whether a reader waits, and whether it may go on.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    /// Blocks the thread until the gate is open; false if it never was.
    fn pass(&self) -> bool {
        let mut state = self.state.lock().expect("a gate");
        state.0 = true;
        self.changed.notify_all();
        let (state, _) = self.changed.wait_timeout_while(state, GIVES_UP, |(_, open)| !*open).expect("a gate");
        state.1
    }

    /// Blocks the thread until a reader waits.
    fn is_reached(&self) -> bool {
        let state = self.state.lock().expect("a gate");
        let (state, _) = self.changed.wait_timeout_while(state, GIVES_UP, |(waits, _)| !*waits).expect("a gate");
        state.0
    }

    fn open(&self) {
        self.state.lock().expect("a gate").1 = true;
        self.changed.notify_all();
    }
}

impl Watched {
    fn new(inner: &Arc<dyn Shelves>, before: Before) -> Arc<Self> {
        let lists = watch::Sender::new(0);
        Arc::new(Self { inner: Arc::clone(inner), lists, loads: AtomicU64::new(0), before })
    }
}

impl Shelves for Watched {
    fn volumes(&self, account: Option<Account>) -> BoxFuture<'_, Result<Vec<VolumeRow>>> {
        self.lists.send_modify(|lists| *lists += 1);
        self.inner.volumes(account)
    }

    fn volume(&self, id: u64) -> BoxFuture<'_, Result<Option<Bytes>>> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        match &self.before {
            Before::Lists(count) => Box::pin(async move {
                let mut lists = self.lists.subscribe();
                lists.wait_for(|lists| lists >= count).await.expect("the sender is here");
                self.inner.volume(id).await
            }),
            Before::Gate(gate) => {
                assert!(gate.pass(), "a call waits for the load of the index");
                self.inner.volume(id)
            }
        }
    }

    fn edition(&self) -> BoxFuture<'_, Result<(u64, String)>> {
        self.inner.edition()
    }

    fn reshelve(&self, change: Reshelving) -> BoxFuture<'_, Result<bool>> {
        self.inner.reshelve(change)
    }

    fn clear(&self) -> BoxFuture<'_, Result<()>> {
        self.inner.clear()
    }

    fn sweep(&self) -> BoxFuture<'_, Result<u64>> {
        self.inner.sweep()
    }
}

fn engine(stores: &Stores) -> Engine {
    Engine::new(stores.clone(), Arc::new(SystemWorld), Limits::default())
}

/// Some threads with their index, in two volumes.
async fn fill(stores: &Stores) {
    let engine = engine(stores);
    for n in 0..2 {
        let create = Create::titled(&format!("Trip {n}")).message(MessageBody::user("a train to Lisbon"));
        engine.create(create).await.expect("a thread");
        engine.backfill(None, Arc::new(|_, _, _| {})).await.expect("a backfill");
    }
    assert_eq!(engine.index_status().await.expect("a status").volumes, 2);
}

#[test]
fn searches_at_once_load_the_index_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let schema = threadkeep_throwaway::schema();
    let url = schema.url().parse().expect("a url");
    crate::run(async {
        for stores in [
            Stores::of(MemoryStore::new()),
            Stores::of(SqliteStore::open(folder.path().join("threads.db")).expect("a store")),
            Stores::of(PostgresStore::open_with(url, Clock::Caller).expect("a store")),
        ] {
            fill(&stores).await;
            let shelves = Watched::new(&stores.shelves, Before::Lists(SEARCHES));
            let fresh = engine(&Stores { shelves: shelves.clone(), ..stores });
            let searches: Vec<_> = (0..SEARCHES)
                .map(|_| {
                    let engine = fresh.clone();
                    tokio::spawn(async move { engine.search(Search::new("train")).await.expect("an answer").len() })
                })
                .collect();
            for search in searches {
                assert_eq!(search.await.expect("a search"), 2);
            }
            assert_eq!(shelves.loads.load(Ordering::SeqCst), 2, "each volume is read once for all of them");
        }
    });
}

#[test]
fn a_search_that_ends_early_leaves_its_load_to_the_others() {
    crate::run(async {
        let stores = Stores::of(MemoryStore::new());
        fill(&stores).await;
        let gate = Arc::new(Gate::default());
        let shelves = Watched::new(&stores.shelves, Before::Gate(Arc::clone(&gate)));
        let fresh = engine(&Stores { shelves: shelves.clone(), ..stores });
        let engine = fresh.clone();
        let first = tokio::spawn(async move { engine.search(Search::new("train")).await.map(|hits| hits.len()) });
        assert!(gate.is_reached());
        first.abort();
        assert!(first.await.is_err_and(|error| error.is_cancelled()));
        gate.open();
        assert_eq!(fresh.search(Search::new("train")).await.expect("an answer").len(), 2);
        assert_eq!(shelves.loads.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn a_blocked_load_delays_no_other_call() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build();
    runtime.expect("a runtime").block_on(async {
        let stores = Stores::of(MemoryStore::new());
        fill(&stores).await;
        let gate = Arc::new(Gate::default());
        let shelves = Watched::new(&stores.shelves, Before::Gate(Arc::clone(&gate)));
        let engine = engine(&Stores { shelves, ..stores });
        let searching = engine.clone();
        let search =
            tokio::spawn(async move { searching.search(Search::new("train")).await.expect("an answer").len() });
        assert!(gate.is_reached());
        // The only thread that answers is free for it.
        let append = tokio::spawn(async move {
            let thread = engine.create(Create::titled("Another")).await.expect("a thread").id;
            engine.append(thread, MessageBody::user("hello")).await.expect("a message");
        });
        append.await.expect("an append");
        gate.open();
        assert_eq!(search.await.expect("a search"), 2);
    });
}

//! How the index comes into memory: once for all who ask at the same moment, aside from the threads that answer, and no
//! more of it than questions need.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bytes::Bytes;
use threadkeep::{
    Account, Append, Clock, Create, Engine, Limits, MemoryStore, MessageBody, PostgresStore, Search, SqliteStore,
    Stores, SystemWorld,
};
use threadkeep_store::{BoxFuture, NewVolume, Reshelving, Result, Shelves, VolumeRow};
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
    /// Bytes that were read, of whole volumes and in parts.
    bytes: AtomicU64,
    /// How often parts were read.
    reads: AtomicU64,
    before: Before,
}

/// When a volume is read.
enum Before {
    /// At once.
    Nothing,
    /// At once; but before parts are read for this time, another volume takes its place.
    Replaced(u64),
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
        let (loads, bytes, reads) = Default::default();
        Arc::new(Self { inner: Arc::clone(inner), lists, loads, bytes, reads, before })
    }

    async fn load(&self, id: u64) -> Result<Option<Bytes>> {
        let content = self.inner.volume(id).await?;
        self.bytes.fetch_add(content.as_ref().map_or(0, |content| content.len() as u64), Ordering::SeqCst);
        Ok(content)
    }

    /// Puts a volume with the same content in the place of one.
    async fn replace(&self, id: u64) -> Result<()> {
        let rows = self.inner.volumes(None).await?;
        let VolumeRow { account, documents, text_bytes, model, .. } =
            rows.into_iter().find(|row| row.id == id).expect("a volume");
        let content = self.inner.volume(id).await?.expect("a volume");
        let (edition, note) = self.inner.edition().await?;
        let add = vec![NewVolume { account, documents, text_bytes, model, content }];
        assert!(self.inner.reshelve(Reshelving { edition, note, add, remove: vec![id] }).await?);
        Ok(())
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
            Before::Nothing | Before::Replaced(_) => Box::pin(self.load(id)),
            Before::Lists(count) => Box::pin(async move {
                let mut lists = self.lists.subscribe();
                lists.wait_for(|lists| lists >= count).await.expect("the sender is here");
                self.load(id).await
            }),
            Before::Gate(gate) => {
                assert!(gate.pass(), "a call waits for the load of the index");
                Box::pin(self.load(id))
            }
        }
    }

    fn parts(&self, id: u64, ranges: Vec<Range<usize>>) -> BoxFuture<'_, Result<Option<Vec<Bytes>>>> {
        let read = self.reads.fetch_add(1, Ordering::SeqCst) + 1;
        self.bytes.fetch_add(ranges.iter().map(|range| range.len() as u64).sum(), Ordering::SeqCst);
        Box::pin(async move {
            if matches!(self.before, Before::Replaced(at) if at == read) {
                self.replace(id).await?;
            }
            self.inner.parts(id, ranges).await
        })
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

/// Messages of which most are in one volume, with more than are looked through at once.
const MANY: usize = 25_000;
/// Messages of a thread.
const A_THREAD: usize = 1_000;

/// Many threads with their index.
async fn fill_large(stores: &Stores) {
    let engine = engine(stores);
    for first in (0..MANY).step_by(A_THREAD) {
        let said = (first..first + A_THREAD).map(|n| {
            let rare = if n % 5_000 == 11 { "lisbon" } else { "porto" };
            MessageBody::user(&format!("word{} {rare} word{}", n % 97, n % 1_013))
        });
        let thread = engine.create(Create::titled("Trips")).await.expect("a thread").id;
        engine.append(thread, Append::batch(said)).await.expect("messages");
    }
    engine.backfill(None, Arc::new(|_, _, _| {})).await.expect("a backfill");
    let rows = stores.shelves.volumes(None).await.expect("volumes");
    assert!(rows.iter().any(|row| row.documents > 16_384), "{rows:?}");
}

#[test]
fn a_search_of_a_large_index_reads_what_it_needs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let schema = threadkeep_throwaway::schema();
    let url = schema.url().parse().expect("a url");
    crate::run(async {
        let mut answers = Vec::new();
        for stores in [
            Stores::of(MemoryStore::new()),
            Stores::of(SqliteStore::open(folder.path().join("threads.db")).expect("a store")),
            Stores::of(PostgresStore::open_with(url, Clock::Caller).expect("a store")),
        ] {
            fill_large(&stores).await;
            let total: u64 = stores.shelves.volumes(None).await.expect("volumes").iter().map(|row| row.bytes).sum();
            let shelves = Watched::new(&stores.shelves, Before::Nothing);
            let fresh = engine(&Stores { shelves: shelves.clone(), ..stores.clone() });
            let found = fresh.search(Search::new("lisbon")).await.expect("an answer");
            let read = shelves.bytes.swap(0, Ordering::SeqCst);
            assert!(read * 2 < total, "{read} of {total} bytes for a rare word");
            fresh.search(Search { limit: Some(1), ..Search::new("lisbon") }).await.expect("an answer");
            let again = shelves.bytes.load(Ordering::SeqCst);
            assert!(again * 4 < total, "{again} of {total} bytes for the next search");
            // A volume may be merged into another one before a search reads its header, its sections, the postings of a
            // term, or the vectors of the candidates.
            for at in 1..=4 {
                let shelves = Watched::new(&stores.shelves, Before::Replaced(at));
                let fresh = engine(&Stores { shelves: shelves.clone(), ..stores.clone() });
                let again = fresh.search(Search::new("lisbon")).await.expect("an answer");
                assert_eq!(again, found);
                assert!(shelves.reads.load(Ordering::SeqCst) > at, "it was read again");
            }
            let places = found.into_iter().map(|hit| (hit.messages.len(), hit.score.to_bits()));
            answers.push(places.collect::<Vec<_>>());
        }
        assert!(answers[0].len() == 5 && answers.iter().all(|places| *places == answers[0]), "{answers:?}");
    });
}

/// The bytes of a volume as the first version of the format had them.
fn in_first_format(volume: &[u8]) -> Vec<u8> {
    let number = |at: usize| {
        let bytes = volume[6 + at * 8..][..8].try_into().expect("eight bytes");
        u64::from_le_bytes(bytes) as usize
    };
    let [documents, text_bytes, columns, terms, postings, model, dimensions] = std::array::from_fn(number);
    let put = |into: &mut Vec<u8>, mut number: usize| {
        while number >= 0x80 {
            into.push(number as u8 | 0x80);
            number >>= 7;
        }
        into.push(number as u8);
    };
    let mut rest = &volume[6 + 7 * 8..];
    let mut take = |length: usize| {
        let (taken, others) = rest.split_at(length);
        rest = others;
        taken
    };
    let (columns, terms, postings, model) = (take(columns), take(terms), take(postings), take(model));
    // The section of terms begins with the number of its blocks and the place of each: numbers that end with a low byte.
    let ends: Vec<usize> = (0..terms.len()).filter(|at| terms[*at] < 0x80).collect();
    let blocks = (0..=ends[0]).rev().fold(0, |blocks, at| blocks << 7 | usize::from(terms[at] & 0x7f));
    let (blocks, terms) = terms.split_at(ends[blocks] + 1);
    let mut old = b"TKvol\x01".to_vec();
    put(&mut old, documents);
    put(&mut old, text_bytes);
    old.extend_from_slice(columns);
    old.extend_from_slice(blocks);
    put(&mut old, terms.len());
    put(&mut old, postings.len());
    old.extend_from_slice(terms);
    old.extend_from_slice(postings);
    put(&mut old, model.len());
    old.extend_from_slice(model);
    put(&mut old, dimensions);
    old.extend_from_slice(&volume[volume.len() - documents * dimensions..]);
    old
}

/// Makes an index file as earlier versions of the program had it.
fn make_old(index: &std::path::Path) {
    let connection = rusqlite::Connection::open(index).expect("the index");
    let mut volumes = connection.prepare("SELECT id, bytes FROM volumes").expect("volumes");
    let volumes = volumes.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("volumes");
    for (id, bytes) in volumes.collect::<rusqlite::Result<Vec<(i64, i64)>>>().expect("volumes") {
        let range = [id, id + (bytes + 4_055) / 4_056];
        let mut rows = connection.prepare("SELECT content FROM contents WHERE id >= ?1 AND id < ?2").expect("rows");
        let rows = rows.query_map(range, |row| row.get::<_, Vec<u8>>(0)).expect("rows");
        let content = rows.collect::<rusqlite::Result<Vec<_>>>().expect("rows").concat();
        let old = in_first_format(&content);
        connection.execute("DELETE FROM contents WHERE id >= ?1 AND id < ?2", range).expect("rows");
        let bytes = old.len() as i64;
        connection.execute("INSERT INTO contents VALUES (?1, ?2)", rusqlite::params![id, old]).expect("a row");
        connection.execute("UPDATE volumes SET bytes = ?2 WHERE id = ?1", [id, bytes]).expect("a row");
    }
    connection.pragma_update(None, "user_version", 1).expect("a version");
}

#[test]
fn an_index_of_an_earlier_version_is_read_and_renewed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [data, index] = ["threads.db", "threads-search.db"].map(|name| folder.path().join(name));
    let open = || Stores::of(SqliteStore::open(&data).expect("a store"));
    crate::run(async {
        let search = || Search { limit: Some(20), ..Search::new("word7 lisbon word12") };
        let expected = {
            let stores = open();
            fill_large(&stores).await;
            engine(&stores).search(search()).await.expect("an answer")
        };
        assert!(!expected.is_empty());
        make_old(&index);
        let stores = open();
        let large = async || {
            let rows = stores.shelves.volumes(None).await.expect("volumes");
            let row = rows.into_iter().max_by_key(|row| row.documents).expect("a volume");
            let header = stores.shelves.parts(row.id, vec![0..6, 0..1]).await.expect("parts").expect("a volume");
            (row, header[0].clone())
        };
        assert_eq!(large().await.1[..], *b"TKvol\x01");
        assert_eq!(engine(&stores).search(search()).await.expect("an answer"), expected);
        let done = engine(&stores).backfill(None, Arc::new(|_, _, _| {})).await.expect("a backfill");
        assert_eq!(done.embedded, 0, "nothing is indexed again");
        let (row, header) = large().await;
        assert!(row.documents > 16_384 && header[..] == *b"TKvol\x02");
        assert_eq!(engine(&stores).search(search()).await.expect("an answer"), expected);
        assert!(engine(&stores).doctor(Arc::new(|_, _, _| {})).await.expect("a doctor").is_healthy());
    });
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

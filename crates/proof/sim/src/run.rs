//! A random history on a real store, compared with the model after every step.

use std::path::PathBuf;
use std::sync::Arc;

use threadkeep::{
    Clock, Engine, Error, Limits, MessageId, Position, PostgresStore, Progress, SqliteStore, StoreError, Stores,
    Subscription, ThreadId,
};
use threadkeep_model::Kind;
use threadkeep_store::MemoryStore;

use crate::model::{Item, Model};
use crate::{Chance, Faults, Faulty, SimWorld};

/// The store of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// The store in memory.
    Memory,
    /// A file, closed and opened again, and copied as a crash would leave it.
    Sqlite,
    /// A schema on a throwaway server, closed and opened again, and cut off from the server.
    Postgres,
}

/// The settings of a run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Everything random follows from it.
    pub seed: u64,
    /// How many operations it runs.
    pub steps: usize,
    /// The store to run on.
    pub on: Where,
    /// One in this many commits fails; 0 for never.
    pub faults: u64,
}

/// Runs `plan`.
///
/// # Panics
/// If the store shows anything else than the model; the message names the seed and the step.
pub fn simulate(plan: Plan) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let mut run = Run::new(plan);
        for step in 0..plan.steps {
            run.step = step;
            run.take_step().await;
        }
        run.end().await;
    });
}

pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) step: usize,
    pub(crate) chance: Chance,
    pub(crate) engine: Engine,
    pub(crate) model: Model,
    world: Arc<SimWorld>,
    faults: Faults,
    folder: tempfile::TempDir,
    place: Place,
    pub(crate) readings: Vec<Reading>,
    pub(crate) followers: Vec<Follower>,
    pub(crate) made: u64,
}

/// Where the store lies.
enum Place {
    Memory,
    /// The file in use; another one after a crash.
    File(PathBuf),
    Schema(threadkeep_throwaway::Schema),
}

/// A reader that reads page by page while others write.
pub(crate) struct Reading {
    pub(crate) thread: ThreadId,
    pub(crate) cursor: String,
    pub(crate) left: Vec<(MessageId, String)>,
}

/// A follower of a thread.
pub(crate) struct Follower {
    pub(crate) thread: ThreadId,
    pub(crate) subscription: Subscription,
    pub(crate) seen: u64,
}

fn quiet() -> Progress {
    Arc::new(|_, _, _| {})
}

impl Run {
    pub(crate) fn new(plan: Plan) -> Self {
        let world = Arc::new(SimWorld::new(plan.seed));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = match plan.on {
            Where::Memory => Place::Memory,
            Where::Sqlite => Place::File(folder.path().join("0.db")),
            Where::Postgres => Place::Schema(threadkeep_throwaway::schema()),
        };
        let faults = Faults::one_in(plan.faults, plan.seed);
        let engine = place.open(&faults, &world);
        let chance = Chance::new(plan.seed);
        Self {
            plan,
            step: 0,
            chance,
            engine,
            model: Model::default(),
            world,
            faults,
            folder,
            place,
            readings: Vec::new(),
            followers: Vec::new(),
            made: 0,
        }
    }

    pub(crate) fn context(&self) -> String {
        format!("seed {}, step {}, {:?}", self.plan.seed, self.step, self.plan.on)
    }

    pub(crate) fn words(&mut self) -> String {
        self.made += 1;
        // Some bodies are large enough for the blob store.
        let size = if self.chance.one_in(12) { 60 } else { 1 };
        format!("{} ", self.made).repeat(size)
    }

    pub(crate) async fn take_step(&mut self) {
        if self.model.threads.is_empty() {
            return self.create().await;
        }
        let at = self.chance.below(self.model.threads.len() as u64) as usize;
        let thread = self.model.threads[at].id;
        match self.chance.below(128) {
            0..=4 => self.create().await,
            5..=18 => self.append(thread).await,
            19..=22 => self.queue(thread).await,
            23..=25 => self.begin(thread).await,
            26..=27 => self.assign(thread).await,
            28..=30 => self.skill(thread).await,
            31..=33 => self.event(thread).await,
            34..=41 => self.edit(thread).await,
            42..=47 => self.delete_message(thread).await,
            48..=55 => self.insert(thread).await,
            56..=60 => self.truncate(thread).await,
            61..=68 => self.fork(thread).await,
            69..=70 | 118..=119 => self.spawn(thread).await,
            71..=77 => self.rollback(thread).await,
            78..=80 => self.checkpoint(thread).await,
            81..=83 => self.update(thread).await,
            84..=85 => self.delete(thread).await,
            86..=88 => self.gc().await,
            89..=91 => self.begin_reading(thread).await,
            92..=94 => self.follow(thread).await,
            95..=96 => self.reopen(),
            97 => self.crash(),
            98..=99 => self.doctor().await,
            100..=107 => self.write_file(thread).await,
            108..=109 => self.delete_file(thread).await,
            110..=111 => self.move_file(thread).await,
            112..=113 => self.restore_file(thread).await,
            120..=127 => self.merge(thread).await,
            _ => self.set_value(thread).await,
        }
        self.read_on().await;
        if self.model.threads.iter().any(|known| known.id == thread) {
            self.compare(thread).await;
        }
        if self.chance.one_in(4) {
            self.compare_lists().await;
        }
    }

    /// The outcome of an operation. If the answer was lost, the store tells whether it was carried out: the thread
    /// has new entries, or there is a thread that the model does not know.
    pub(crate) async fn settled<T>(&self, thread: Option<ThreadId>, result: Result<T, Error>) -> Settled<T> {
        match result {
            Ok(value) => Settled::Done(value),
            Err(Error::Store(StoreError::Unavailable { what })) if what.contains("it failed") => {
                let happened = match thread {
                    Some(thread) => {
                        let known = self.model.threads.iter().find(|known| known.id == thread);
                        let known = known.expect("a living thread").version;
                        match self.engine.thread(thread).await {
                            Ok(now) => now.head.version.0 != known,
                            Err(_) => true,
                        }
                    }
                    None => self.unknown().await.is_some(),
                };
                assert_eq!(happened, what.contains("after"), "{}: {what}", self.context());
                if happened { Settled::Lost } else { Settled::Refused }
            }
            Err(other) => panic!("{}: {other}", self.context()),
        }
    }

    /// The same for an operation that writes nothing where nothing is new.
    pub(crate) async fn settled_or_same<T>(&self, thread: ThreadId, result: Result<T, Error>) -> bool {
        match result {
            Ok(_) => true,
            Err(_) => self.settled(Some(thread), result).await.happened(),
        }
    }

    /// A thread that the model does not know.
    pub(crate) async fn unknown(&self) -> Option<threadkeep::Thread> {
        let all =
            self.engine.list(threadkeep::List { limit: Some(1_000), ..Default::default() }).await.expect("a list");
        let mut threads = all.items.into_iter().map(|row| row.thread);
        threads.find(|thread| !self.model.threads.iter().any(|known| known.id == thread.id))
    }

    /// The entries of a thread after `version`: the place, kind and time of each.
    pub(crate) async fn after(&self, thread: ThreadId, version: u64) -> Vec<(MessageId, Kind, threadkeep::Timestamp)> {
        let entries = self.engine.history(thread, Position(version), 1_000).await.expect("history");
        entries.into_iter().map(|entry| (entry.place, entry.kind, entry.time)).collect()
    }

    /// Copies entries after the model's version from the log, for entries that leave the view alone.
    pub(crate) async fn log_rest(&mut self, thread: ThreadId) {
        let version = self.model.thread(thread).version;
        for (place, kind, time) in self.after(thread, version).await {
            let known = self.model.thread(thread);
            known.log(kind, time);
            assert_eq!(known.version, place.position.0, "versions have no gap");
        }
    }

    /// Takes over entries that left the view as it is now, and the last one, which hid something more, if there is one.
    pub(crate) async fn log_two(&mut self, thread: ThreadId, hidden: Option<Vec<Item>>) {
        let version = self.model.thread(thread).version;
        let mut told = self.after(thread, version).await;
        // The run that worked on what is gone ends with it.
        let ended = told.pop_if(|(_, kind, _)| *kind == Kind::RunEnded);
        // If no link leads to the thread's birth, its agent is logged again.
        let again = told.iter().filter(|(_, kind, _)| *kind == Kind::AgentAssigned).count();
        assert_eq!(told.len(), 1 + again + usize::from(hidden.is_some()), "{}", self.context());
        let hides = hidden.as_ref().and_then(|_| told.pop());
        let known = self.model.thread(thread);
        told.into_iter().for_each(|(_, kind, time)| known.log(kind, time));
        if let Some((hidden, (_, kind, time))) = hidden.zip(hides) {
            known.now.view = hidden;
            known.log(kind, time);
        }
        if let Some((_, kind, time)) = ended {
            known.log(kind, time);
        }
    }

    async fn gc(&mut self) {
        let vacuum = self.chance.one_in(2);
        self.engine.gc(vacuum, quiet()).await.expect("gc");
        for thread in self.model.threads.iter().map(|known| known.id).collect::<Vec<_>>() {
            self.compare(thread).await;
        }
    }

    fn reopen(&mut self) {
        if self.plan.on != Where::Memory {
            self.followers.clear();
            // The old one goes first: a file is closed by its last user.
            self.engine = Place::Memory.open(&self.faults, &self.world);
            self.engine = self.place.open(&self.faults, &self.world);
        }
    }

    /// Goes on with the data that a crash would leave at this moment: a copy of the files, or a server that hung up.
    fn crash(&mut self) {
        match &mut self.place {
            Place::Memory => return,
            Place::File(file) => {
                let copy = self.folder.path().join(format!("{}.db", self.step + 1));
                for suffix in ["", "-wal"] {
                    let name = |path: &PathBuf| PathBuf::from(format!("{}{suffix}", path.display()));
                    if name(file).exists() {
                        std::fs::copy(name(file), name(&copy)).expect("a copy");
                    }
                }
                *file = copy;
            }
            Place::Schema(schema) => {
                let hang_up = format!(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{}'",
                    schema.name()
                );
                threadkeep_throwaway::sql(&schema.url(), &hang_up);
            }
        }
        self.followers.clear();
        self.engine = self.place.open(&self.faults, &self.world);
    }

    async fn doctor(&mut self) {
        let report = self.engine.doctor(quiet()).await.expect("a look");
        assert!(report.is_healthy(), "{}: {report:?}", self.context());
    }

    /// At the end every follower has seen every entry once, and the doctor finds nothing.
    async fn end(&mut self) {
        let context = self.context();
        for mut follower in std::mem::take(&mut self.followers) {
            let known = self.model.thread(follower.thread).clone();
            let missed = known.history.iter().filter(|(version, _)| *version > follower.seen);
            for (version, kind) in missed {
                let entry = follower.subscription.next().await.expect("a read").expect("an entry");
                assert_eq!((entry.version.0, entry.kind), (*version, *kind), "{context}: a follower");
            }
        }
        for thread in self.model.threads.iter().map(|known| known.id).collect::<Vec<_>>() {
            self.compare(thread).await;
        }
        for thread in self.model.deleted.clone() {
            assert!(matches!(self.engine.thread(thread).await, Err(Error::ThreadNotFound { .. })), "{context}");
        }
        self.doctor().await;
        self.engine.repair(quiet()).await.expect("a repair");
        self.doctor().await;
    }
}

/// The outcome of an operation.
pub(crate) enum Settled<T> {
    Done(T),
    /// It was carried out, but the answer was lost.
    Lost,
    /// It was not carried out.
    Refused,
}

impl<T> Settled<T> {
    pub(crate) fn happened(self) -> bool {
        match self {
            Self::Done(_) | Self::Lost => true,
            Self::Refused => false,
        }
    }
}

impl Place {
    fn open(&self, faults: &Faults, world: &Arc<SimWorld>) -> Engine {
        let stores = match self {
            Self::Memory => Stores::of(MemoryStore::new()),
            Self::File(file) => Stores::of(SqliteStore::open(file).expect("a store that opens")),
            Self::Schema(schema) => {
                let url = format!("{}&application_name={}", schema.url(), schema.name()).parse().expect("a url");
                Stores::of(PostgresStore::open_with(url, Clock::Caller).expect("a store that opens"))
            }
        };
        let limits = Limits { inline_bytes_max: 100, ..Limits::default() };
        Engine::new(Faulty::wrap(stores, faults.clone()), Arc::clone(world) as Arc<dyn threadkeep::World>, limits)
    }
}

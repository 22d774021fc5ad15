//! Shared by all rows: sizes, a place for stores, a runtime, and the way loads are described.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::Result;
use crate::meter::{Spent, typical_micros};
use crate::report::Unit;
use crate::server::Server;

/// Says which store to measure, as `--store` does.
pub(crate) const STORE_VARIABLE: &str = "THREADKEEP_BENCH_STORE";
/// Bytes of text in a message.
pub(crate) const TEXT_BYTES: usize = 1_024;
/// Clients that wait at the same time, where there are many.
pub(crate) const CLIENTS: usize = 64;
/// Slices of a round. Rows that are measured beside each other take turns at every slice, so that other load on
/// the machine meets all of them.
pub(crate) const SLICES: usize = 4;
const WORKERS: usize = 2;

/// How much of everything is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// Appends of a single client in a round.
    pub(crate) appends_alone: usize,
    /// Appends of each of many clients in a round.
    pub(crate) appends_each: usize,
    /// The same where each is a sync of its own.
    pub(crate) appends_each_synced: usize,
    pub(crate) histories: [usize; 3],
    /// Messages of a thread that fills what a model is given, and of one that is much longer.
    pub(crate) conversations: [usize; 2],
    /// Forks of one thread in a round.
    pub(crate) forks: usize,
    /// Messages of the thread that is read.
    pub(crate) messages: usize,
    /// Reads in a round.
    pub(crate) reads: usize,
    /// Links of a chain of forks.
    pub(crate) chain: usize,
    /// Threads in a list.
    pub(crate) threads: usize,
    /// Messages whose bytes at rest are counted.
    pub(crate) at_rest: usize,
}

impl Sizes {
    pub(crate) fn of(quick: bool) -> Self {
        if quick {
            return Self {
                appends_alone: 20,
                appends_each: 10,
                appends_each_synced: 1,
                histories: [10, 100, 1_000],
                conversations: [100, 1_000],
                forks: 20,
                messages: 100,
                reads: 20,
                chain: 50,
                threads: 300,
                at_rest: 2_000,
            };
        }
        Self {
            appends_alone: 200,
            appends_each: 150,
            appends_each_synced: 8,
            histories: [10, 1_000, 100_000],
            conversations: [10_000, 1_000_000],
            forks: 200,
            messages: 10_000,
            reads: 200,
            chain: 1_000,
            threads: 10_000,
            at_rest: 100_000,
        }
    }
}

/// Appends to do: client `n` writes to thread `n` modulo `threads`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) clients: usize,
    pub(crate) threads: usize,
    /// Appends of each client, one after the other.
    pub(crate) each: usize,
}

impl Load {
    /// One of the slices of this load.
    pub(crate) fn slice(self) -> Self {
        Self { each: self.each.div_ceil(SLICES), ..self }
    }
}

/// A system that keeps threads.
pub(crate) trait Keeper {
    /// Does the appends of `load`; returns once all of them are durable.
    fn append(&self, bench: &Bench, load: Load) -> Result<()>;

    /// Measures the cost of the load's operations.
    fn measure(&self, bench: &Bench, load: Load) -> Result<Spent> {
        Spent::on(load.clients * load.each, || self.append(bench, load))
    }
}

/// State shared by all rows.
pub(crate) struct Bench {
    pub(crate) runtime: Runtime,
    pub(crate) sizes: Sizes,
    pub(crate) quick: bool,
    pub(crate) rounds: usize,
    home: Home,
}

/// Where stores are made.
enum Home {
    Folder(TempDir),
    Server(Arc<Server>),
}

impl Bench {
    /// Files are made in a folder in `parent`, or where `THREADKEEP_BENCH_DIR` says, and removed in the end.
    pub(crate) fn on_files(parent: Option<&Path>, quick: bool, rounds: usize) -> Result<Self> {
        let parent = match parent {
            Some(parent) => parent.to_owned(),
            None => std::env::var_os("THREADKEEP_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from),
        };
        let unusable =
            |error: std::io::Error| format!("{} cannot be used as a folder for stores: {error}", parent.display());
        std::fs::create_dir_all(&parent).map_err(unusable)?;
        let folder = tempfile::Builder::new().prefix("threadkeep-bench-").tempdir_in(&parent).map_err(unusable)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_time().build()?;
        Ok(Self { runtime, sizes: Sizes::of(quick), quick, rounds, home: Home::Folder(folder) })
    }

    /// Tables are made in one schema of the server at `url`, and dropped in the end.
    pub(crate) fn on_server(url: &str, quick: bool, rounds: usize) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
        let server = Arc::new(Server::reach(url, runtime.handle())?);
        Ok(Self { runtime, sizes: Sizes::of(quick), quick, rounds, home: Home::Server(server) })
    }

    pub(crate) fn is_on_server(&self) -> bool {
        matches!(self.home, Home::Server(_))
    }

    /// The store that the opponents written by hand use.
    pub(crate) fn by_hand_on(&self) -> &'static str {
        match self.home {
            Home::Folder(_) => "sqlite",
            Home::Server(_) => "postgres",
        }
    }

    /// A new place for the stores of one row, one at a time; its content is removed when it is dropped.
    pub(crate) fn room(&self) -> Result<Room> {
        match &self.home {
            Home::Folder(folder) => Ok(Room::Folder(tempfile::tempdir_in(folder)?)),
            Home::Server(server) => Ok(Room::Schema(Arc::clone(server))),
        }
    }

    /// Where stores are, and how long it takes until something is kept there.
    pub(crate) fn about(&self) -> Result<String> {
        let folder = match &self.home {
            Home::Folder(folder) => folder,
            Home::Server(server) => return server.about(),
        };
        let mut file = tempfile::tempfile_in(folder)?;
        let sync = typical_micros(50, || {
            file.write_all(&[1; 8_192])?;
            Ok(file.sync_data()?)
        })?;
        Ok(format!("in {}, where 8 KiB and a sync take {}", folder.path().display(), Unit::Micros.show(sync)))
    }
}

/// A place for the stores of one row.
pub(crate) enum Room {
    Folder(TempDir),
    /// There is one schema, for all of them.
    Schema(Arc<Server>),
}

impl Room {
    /// Where a store of this name goes. On a server all names are the same store.
    pub(crate) fn place(&self, name: &str) -> Place {
        match self {
            Self::Folder(folder) => Place::File(folder.path().join(name)),
            Self::Schema(server) => Place::Schema(Arc::clone(server)),
        }
    }

    /// As `--store` takes it. It may hold a password.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Folder(folder) => format!("sqlite:{}", folder.path().display()),
            Self::Schema(server) => server.url().to_owned(),
        }
    }

    /// Lets a server do its pending work now. A file is settled once it is closed.
    pub(crate) fn settle(&self) -> Result<()> {
        match self {
            Self::Folder(_) => Ok(()),
            Self::Schema(server) => server.settle(),
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        match self {
            Self::Folder(_) => {}
            Self::Schema(server) => server.clear(),
        }
    }
}

/// Where one store is.
#[derive(Clone)]
pub(crate) enum Place {
    File(PathBuf),
    Schema(Arc<Server>),
}

impl Place {
    /// The size of our own store there.
    pub(crate) fn bytes(&self) -> Result<u64> {
        match self {
            Self::File(path) => Ok(std::fs::metadata(path)?.len()),
            Self::Schema(server) => server.bytes("NOT LIKE 'by\\_hand\\_%'"),
        }
    }
}

/// The text of message `n`: [`TEXT_BYTES`] of words, made in advance, so that making it adds to no measurement.
pub(crate) fn text(n: usize) -> &'static str {
    static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| (0..256).map(words).collect());
    &TEXTS[n % TEXTS.len()]
}

fn words(seed: u64) -> String {
    let mut text = String::with_capacity(TEXT_BYTES + 16);
    let mut state = seed;
    while text.len() < TEXT_BYTES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let letters = (0..8).map(|n| b"etaoinshrdlucmfw"[(state >> (20 + 4 * n)) as usize & 15]);
        text.extend(letters.map(char::from));
        text.push(' ');
    }
    text.truncate(TEXT_BYTES);
    text
}

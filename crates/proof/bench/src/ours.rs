//! Threadkeep, as a program that embeds it would use it.

use std::sync::Arc;

use threadkeep::model::{Commit, Expect, NewEntry, ThreadCommit, Write};
use threadkeep::{
    Append, Caller, Create, Engine, Entry, Limits, MessageBody, Page, PostgresStore, SqliteStore, Stores, SystemWorld,
    ThreadId, World,
};

use crate::Result;
use crate::bench::{Bench, Keeper, Load, Place, text};

/// Messages in one append, where a history is built.
const BATCH: usize = 1_000;
/// Commits that wait at the same time, where interleaved histories are built.
const WAITING: usize = 64;

/// An open store and threads in it. It is closed when it is dropped.
pub(crate) struct Ours {
    pub(crate) engine: Engine,
    pub(crate) threads: Vec<ThreadId>,
    stores: Stores,
    world: Arc<dyn World>,
}

impl Ours {
    pub(crate) fn open(place: &Place) -> Result<Self> {
        Self::open_in(place, Arc::new(SystemWorld))
    }

    pub(crate) fn open_in(place: &Place, world: Arc<dyn World>) -> Result<Self> {
        let stores = match place {
            Place::File(path) => Stores::of(SqliteStore::open(path)?),
            Place::Schema(server) => {
                let url = server.url().parse()?;
                Stores::of(server.wait(async { Ok(PostgresStore::open_here(url).await?) })?)
            }
        };
        let engine = Engine::new(stores.clone(), Arc::clone(&world), Limits::default());
        Ok(Self { engine, threads: Vec::new(), stores, world })
    }

    /// A store with this many new threads.
    pub(crate) fn with_threads(bench: &Bench, place: &Place, threads: usize) -> Result<Self> {
        let mut ours = Self::open(place)?;
        for n in 0..threads {
            let thread = bench.runtime.block_on(ours.engine.create(Create::titled(&format!("Thread {n}"))))?;
            ours.threads.push(thread.id);
        }
        Ok(ours)
    }

    /// The store at `place`, which has the thread `thread`.
    pub(crate) fn reopen(place: &Place, thread: ThreadId) -> Result<Self> {
        let mut ours = Self::open(place)?;
        ours.threads.push(thread);
        Ok(ours)
    }

    pub(crate) fn stores(&self) -> &Stores {
        &self.stores
    }

    /// An engine on the same open store that remembers nothing yet.
    pub(crate) fn fresh_engine(&self) -> Engine {
        Engine::new(self.stores.clone(), Arc::clone(&self.world), Limits::default())
    }

    /// Appends this many messages to `thread`, in batches.
    pub(crate) fn fill(&self, bench: &Bench, thread: ThreadId, messages: usize) -> Result<()> {
        let numbers: Vec<usize> = (0..messages).collect();
        for batch in numbers.chunks(BATCH) {
            let append = Append::batch(batch.iter().map(|n| MessageBody::user(text(*n))));
            bench.runtime.block_on(self.engine.append(thread, append))?;
        }
        Ok(())
    }

    /// Appends this many messages to each thread, one after the other: on disk every message has one of each other
    /// thread for neighbours. A commit holds one message a thread, so that it does not take minutes.
    pub(crate) fn fill_interleaved(&self, bench: &Bench, messages: usize) -> Result<()> {
        let clients = (0..WAITING).map(|client| {
            let (store, world) = (Arc::clone(&self.stores.store), Arc::clone(&self.world));
            let threads = self.threads.clone();
            bench.runtime.spawn(async move {
                for n in (client..messages).step_by(WAITING) {
                    let write = |thread: &ThreadId| {
                        let entries = vec![NewEntry::new(&Entry::MessageAppended(MessageBody::user(text(n))))];
                        let (thread, expect) = (*thread, Expect::default());
                        ThreadCommit::Write(Write { thread, expect, branch: None, entries, record: None, owner: None })
                    };
                    let threads = threads.iter().map(write).collect();
                    let (caller, time) = (Caller::local(), world.now());
                    store
                        .commit(Commit { caller, time, threads, blobs: Vec::new(), idempotency: None, owner: None })
                        .await?;
                }
                Result::Ok(())
            })
        });
        join(bench, clients.collect())
    }

    /// The newest messages of `thread`.
    pub(crate) fn read_last(&self, bench: &Bench, thread: ThreadId, messages: usize) -> Result<()> {
        read_last(bench, &self.engine, thread, messages)
    }

    /// All messages of `thread`, page by page.
    pub(crate) fn read_all(&self, bench: &Bench, thread: ThreadId, messages: usize) -> Result<()> {
        let limit = self.engine.limits().page_max;
        let mut read = 0;
        let mut page = Page::first();
        loop {
            let found = bench.runtime.block_on(self.engine.messages(thread, page.limit(limit)))?;
            read += found.items.len();
            match found.next {
                Some(cursor) => page = Page::after(cursor),
                None => return expect_count(read, messages),
            }
        }
    }
}

/// The newest messages of `thread`, through `engine`.
pub(crate) fn read_last(bench: &Bench, engine: &Engine, thread: ThreadId, messages: usize) -> Result<()> {
    let page = Page::first().newest_first().limit(messages);
    let found = bench.runtime.block_on(engine.messages(thread, page))?;
    expect_count(found.items.len(), messages)
}

/// Refuses to time a read that read something else.
pub(crate) fn expect_count(found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(format!("{found} messages were read, not {expected}").into()) }
}

/// Waits for all clients.
pub(crate) fn join(bench: &Bench, clients: Vec<tokio::task::JoinHandle<Result<()>>>) -> Result<()> {
    bench.runtime.block_on(async {
        for client in clients {
            client.await??;
        }
        Ok(())
    })
}

impl Keeper for Ours {
    fn append(&self, bench: &Bench, load: Load) -> Result<()> {
        let clients = (0..load.clients).map(|client| {
            let engine = self.engine.clone();
            let thread = self.threads[client % load.threads];
            bench.runtime.spawn(async move {
                for n in 0..load.each {
                    engine.append(thread, MessageBody::user(text(client + n))).await?;
                }
                Result::Ok(())
            })
        });
        join(bench, clients.collect())
    }
}

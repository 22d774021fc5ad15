//! The front door: reads, and the one path by which anything changes.

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::{
    Account, BlobId, Body, Caller, Commit, Committed, Expect, Head, Invalid, Kind, NewEntry, SegmentId, Thread,
    ThreadCommit, ThreadId, ThreadName, Timestamp,
};
use threadkeep_store::{BoxFuture, StoreError, StoredEntry, Stores};
use tokio::sync::Mutex;

use crate::ground::beside::Heavy;
use crate::ground::cache::{Ends, Gate, Gates, Lineages, Shapes};
use crate::ground::carry::Envelope;
use crate::ground::defined::{Defined, KnowEffects};
use crate::ground::gate::{Change, passes};
use crate::ground::policy::{Standing, Verb, standing};
use crate::ground::turns::Turns;
use crate::ground::validate::Validate;
use crate::{Error, Result, World};

/// How often an append that went stale is tried again.
const TRIED_AGAIN_MAX: usize = 16;
/// Locks among which threads are shared out.
const TURNS: usize = 64;

/// The operations on threads: create, read, append, fork, roll back, follow.
///
/// An engine acts for one caller; [`Engine::acting_as`] gives one for another. Clones are cheap and share everything.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
    pub(crate) caller: Arc<Caller>,
    /// The thread whose exclusive writer it is, and the token of the lease.
    pub(crate) writes_to: Option<(ThreadId, threadkeep_model::LeaseToken)>,
    /// Fields of the call beside its parameters.
    pub(crate) envelope: Option<Arc<Envelope>>,
    /// When its changes happened, if that was earlier: it tells again what another program wrote.
    pub(crate) happened: Option<Timestamp>,
    /// Checks the results of merges.
    pub(crate) validator: Option<Arc<dyn Validate>>,
    /// What is defined beside the engine.
    pub(crate) defined: Option<Arc<dyn Defined>>,
    /// Whether secrets are kept out of its calls, whoever acts.
    pub(crate) guarded: bool,
    /// The process that owns the work: its commits hold only while its lease does.
    pub(crate) owner: Option<threadkeep_model::ProcessId>,
    /// Knows which effects have handlers, where that is known.
    pub(crate) effects: Option<Arc<dyn KnowEffects>>,
    /// Makes vectors, if not the built-in embedder.
    pub(crate) embedder: Option<Arc<dyn threadkeep_embed::Embedder>>,
}

pub(crate) struct Shared {
    pub(crate) stores: Stores,
    pub(crate) world: Arc<dyn World>,
    pub(crate) limits: Limits,
    pub(crate) lineages: Lineages,
    pub(crate) shapes: Shapes,
    pub(crate) ends: Ends,
    pub(crate) gates: Gates,
    /// Works that take much memory.
    pub(crate) heavy: Heavy,
    pub(crate) read_turns: Turns,
    pub(crate) export_turns: Turns,
    pub(crate) pictures: Heavy,
    /// State of the rooms above, shared by all clones of an engine.
    rooms: Rooms,
    /// Operations whose first decision went stale take turns, so that they do not overtake each other for ever.
    turns: [Mutex<()>; TURNS],
}

/// The state of each room, by its type: the ground floor knows none of them.
pub(crate) type Rooms = Vec<Box<dyn Any + Send + Sync>>;

impl Shared {
    /// The time by which everything is judged that is due or expires, and which entries carry: that of the store, where it
    /// has a clock of its own.
    pub(crate) fn now(&self) -> Timestamp {
        self.stores.timers.now(self.world.now())
    }

    /// The state of the room of this type.
    pub(crate) fn room<T: Any>(&self) -> &T {
        let room = self.rooms.iter().find_map(|room| room.downcast_ref());
        room.expect("every room is opened with the engine")
    }
}

/// The sizes the engine accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Items in a page, unless the caller says otherwise.
    pub page: usize,
    /// Most items in a page.
    pub page_max: usize,
    /// Bytes of bodies after which a page ends early, so that many large messages make many pages.
    pub page_bytes_max: usize,
    /// Most messages in one append.
    pub batch_max: usize,
    /// Most bytes of one message, as JSON.
    pub message_bytes_max: usize,
    /// Most bytes of one attachment.
    pub attachment_bytes_max: usize,
    /// Bodies above this size go to the blob store.
    pub inline_bytes_max: usize,
    /// Most messages that wait in the queue of a thread, silent ones aside.
    pub queued_max: usize,
    /// Most silent messages that wait in the queue of a thread.
    pub queued_silently_max: usize,
    /// Most bytes of one file.
    pub file_bytes_max: usize,
    /// Most bytes that one thread may write to files, every version counted.
    pub files_bytes_max: u64,
    /// Most injections that wait on a thread.
    pub injections_max: usize,
    /// Most decisions that a thread records.
    pub decisions_max: usize,
    /// Most effects of a thread that have not ended.
    pub effects_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            page: 50,
            page_max: 1_000,
            page_bytes_max: 32 << 20,
            batch_max: 1_000,
            message_bytes_max: 8 << 20,
            attachment_bytes_max: 64 << 20,
            inline_bytes_max: 16 << 10,
            queued_max: 5,
            queued_silently_max: 1_000,
            file_bytes_max: 1 << 30,
            files_bytes_max: 64 << 30,
            injections_max: 1_000,
            decisions_max: 10_000,
            effects_max: 10_000,
        }
    }
}

impl Engine {
    /// An engine on `stores`, acting for account `local`, with its rooms.
    pub(crate) fn with_rooms(stores: Stores, world: Arc<dyn World>, limits: Limits, rooms: Rooms) -> Self {
        let shared = Shared {
            stores,
            world,
            limits,
            lineages: Lineages::default(),
            shapes: Shapes::default(),
            ends: Ends::default(),
            gates: Gates::default(),
            heavy: Heavy::default(),
            read_turns: Turns::of_reads(),
            export_turns: Turns::of_exports(),
            pictures: Heavy::pictures(),
            rooms,
            turns: std::array::from_fn(|_| Mutex::new(())),
        };
        Self {
            shared: Arc::new(shared),
            caller: Arc::new(Caller::local()),
            writes_to: None,
            envelope: None,
            happened: None,
            validator: None,
            defined: None,
            guarded: false,
            owner: None,
            effects: None,
            embedder: None,
        }
    }

    /// The same engine, acting for `caller`.
    #[must_use]
    pub fn acting_as(&self, caller: Caller) -> Self {
        Self { caller: Arc::new(caller), ..self.aside() }
    }

    /// The caller it acts for.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The time by which everything is judged that is due or expires. On a store that several machines share it is the
    /// store's, whatever the clock of this machine says.
    pub fn now(&self) -> Timestamp {
        self.shared.now()
    }

    /// The sizes it accepts.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// The thread of this account that `name` names; [`Engine::seen`] also shows public threads of others.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`] if there is none, or it belongs to another account.
    pub async fn thread(&self, name: impl Into<ThreadName>) -> Result<Thread> {
        self.seen(name, Verb::Change).await.map(|(thread, _)| thread)
    }

    /// The head of a thread, if the caller has this access to it. Its owner and visibility are cached as long as its
    /// era did not move.
    pub(crate) async fn head(&self, thread: ThreadId, verb: Verb) -> Result<Head> {
        self.head_and_standing(thread, verb).await.map(|(head, _)| head)
    }

    pub(crate) async fn head_and_standing(&self, thread: ThreadId, verb: Verb) -> Result<(Head, Standing)> {
        let Some(head) = self.shared.stores.store.head(thread).await? else {
            return Err(Error::ThreadNotFound { thread: thread.into() });
        };
        // Invariant: a gate that is older than the head says nothing about who may see the thread now.
        let gate = match self.shared.gates.get(thread).filter(|gate| gate.era == head.era) {
            Some(gate) => gate,
            None => self.read_gate(thread).await?,
        };
        Ok((head, self.admitted(thread, &gate, verb)?))
    }

    /// The caller's relation to a thread, for this access. It is cheap if the thread is cached.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`] if there is none, or the caller may not know that it exists.
    pub fn standing(&self, thread: ThreadId, verb: Verb) -> BoxFuture<'_, Result<Standing>> {
        Box::pin(async move { self.head_and_standing(thread, verb).await.map(|(_, standing)| standing) })
    }

    /// A thread of any account by its name, with its owner; none if there is none. For code that the operator defines, not
    /// for requests: permissions are not checked.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn owner_of(&self, name: impl Into<ThreadName>) -> Result<Option<(ThreadId, Account)>> {
        let found = self.shared.stores.store.thread(name.into()).await?;
        Ok(found.map(|thread| (thread.id, thread.account)))
    }

    /// Whether a thread lives, of any account. For followers of the feed, not for requests: permissions are not checked.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn lives(&self, thread: ThreadId) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move { Ok(self.shared.stores.store.head(thread).await?.is_some()) })
    }

    /// Whether there is any thread, of any account. For upkeep, not for requests: permissions are not checked.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn has_threads(&self) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move { Ok(!self.shared.stores.upkeep.all_threads(None, 1).await?.is_empty()) })
    }

    /// The body of an entry.
    pub(crate) async fn body(&self, entry: &StoredEntry) -> Result<Bytes> {
        let place = || format!("entry {} of segment {}", entry.position, entry.segment);
        match &entry.body {
            Body::Inline(bytes) => Ok(bytes.clone()),
            Body::Blob(id) => match self.shared.stores.blobs.blob(*id).await? {
                Some(bytes) => Ok(bytes),
                None => Err(StoreError::corrupt(format!("{} names blob {id}, which is missing", place())).into()),
            },
            Body::Absent => Err(StoreError::corrupt(format!("{} has no body any more", place())).into()),
            Body::Damaged => {
                let whose = self.shared.stores.store.chain(entry.segment, 1).await?;
                let place = match whose.first() {
                    Some(segment) => format!("entry {} of thread {}", entry.position, segment.thread),
                    None => place(),
                };
                Err(StoreError::damaged(&place).into())
            }
        }
    }

    pub(crate) fn new_segment(&self) -> SegmentId {
        SegmentId::from_chance(self.shared.world.chance() as u64)
    }

    /// A commit for this caller, now, as the envelope of its call says. Large bodies are moved out of their entries.
    pub(crate) fn commit(&self, threads: Vec<ThreadCommit>) -> Commit {
        let mut commit = Commit {
            caller: (*self.caller).clone(),
            time: self.shared.now(),
            threads,
            blobs: Vec::new(),
            idempotency: self.idempotency().cloned(),
            owner: self.owner,
        };
        let inline_max = self.shared.limits.inline_bytes_max;
        for thread in &mut commit.threads {
            let (expect, entries): (_, &mut [NewEntry]) = match thread {
                ThreadCommit::Create(create) => (None, &mut create.entries),
                ThreadCommit::Write(write) => (Some((write.thread, &mut write.expect)), &mut write.entries),
                ThreadCommit::Delete { thread, expect } => (Some((*thread, expect)), &mut []),
            };
            if let Some((thread, expect)) = expect {
                // Invariant: the store checks the expected version and the lease, inside the commit.
                expect.version = self.expects_of(thread).or(expect.version);
                expect.lease = self.lease_on(thread);
            }
            if self.happened.is_some() {
                entries.iter_mut().for_each(|entry| entry.time = entry.time.or(self.happened));
            }
            commit.blobs.extend(entries.iter_mut().filter_map(|entry| entry.spill(inline_max)));
        }
        commit
    }

    /// The turn of an operation whose first decision went stale.
    pub(crate) async fn turn(&self, thread: ThreadId) -> tokio::sync::MutexGuard<'_, ()> {
        self.shared.turns[thread.bits() as usize % TURNS].lock().await
    }

    /// How many items a page has.
    pub(crate) fn page_limit(&self, asked: Option<usize>) -> Result<usize> {
        let limits = &self.shared.limits;
        let limit = asked.unwrap_or(limits.page);
        if limit == 0 || limit > limits.page_max {
            let rule = format!("a page has 1 to {} items", limits.page_max);
            return Err(Invalid::parameter("limit", rule).into());
        }
        Ok(limit)
    }

    /// The facts of a thread that an append needs, from memory if cached: the store checks that they are not stale.
    pub(crate) async fn gate(&self, thread: ThreadId) -> Result<Arc<Gate>> {
        let gate = match self.shared.gates.get(thread) {
            Some(gate) => gate,
            None => self.read_gate(thread).await?,
        };
        self.admitted(thread, &gate, Verb::Change)?;
        Ok(gate)
    }

    /// The gate of a thread as it is now, without a check of permissions.
    async fn read_gate(&self, thread: ThreadId) -> Result<Arc<Gate>> {
        let Some(found) = self.shared.stores.store.thread(thread.into()).await? else {
            return Err(Error::ThreadNotFound { thread: thread.into() });
        };
        let Thread { account, head, record, .. } = found;
        let (lifecycle, visibility) = (record.lifecycle, record.visibility);
        let is_terminated = record.terminated.is_some();
        let gate = Gate { account, era: head.era, lifecycle, visibility, is_terminated, effects: None };
        self.shared.gates.put(thread, gate.clone());
        Ok(Arc::new(gate))
    }

    fn admitted(&self, thread: ThreadId, gate: &Gate, verb: Verb) -> Result<Standing> {
        let standing = standing(&self.caller.account, &gate.account, gate.visibility, verb);
        standing.ok_or(Error::ThreadNotFound { thread: thread.into() })
    }

    /// Commits entries that conflict with nothing but a change of the thread's record.
    pub(crate) async fn append_entries(
        &self,
        thread: ThreadId,
        entries: Vec<NewEntry>,
        blobs: Vec<(BlobId, Bytes)>,
    ) -> Result<Committed> {
        let effects = entries.iter().filter(|entry| entry.kind == Kind::EffectScheduled).count();
        for _ in 0..TRIED_AGAIN_MAX {
            let gate = self.gate(thread).await?;
            let admitted = async {
                passes(gate.lifecycle, Change::Content)?;
                self.admit_effects(thread, &gate, effects).await
            };
            let open = match admitted.await {
                Ok(open) => open,
                Err(refused) => return self.repeated(thread).await?.ok_or(refused),
            };
            let write = threadkeep_model::Write {
                thread,
                expect: Expect::at(gate.era, None),
                branch: None,
                entries: entries.clone(),
                record: None,
                owner: None,
            };
            let mut commit = self.commit(vec![ThreadCommit::Write(write)]);
            commit.blobs.extend(blobs.iter().cloned());
            self.permit(&commit).await?;
            match self.shared.apply(commit).await {
                Err(StoreError::EraMoved { .. }) => self.shared.gates.forget(thread),
                Err(error) => {
                    self.shared.gates.forget(thread);
                    return Err(error.into());
                }
                Ok(committed) => {
                    // What was counted holds at the era of this commit, and saves the next one a read.
                    let place = committed.threads.first().filter(|_| effects > 0 && !committed.replayed);
                    if let Some(place) = place {
                        let gate = Gate { era: place.head.era, effects: Some(open + effects), ..(*gate).clone() };
                        self.shared.gates.put(thread, gate);
                    }
                    return Ok(committed);
                }
            }
        }
        Err(Error::Busy)
    }
}

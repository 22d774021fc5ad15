//! Plain appends, all that wait at that moment together.
//!
//! A message or an event by itself goes the quick way (next door, in `quick`). What that does not do, because a check
//! fails, the thread is held by somebody else, or there is more to the append, is done by the function `append`
//! (`append.sql`), which says precisely why it refuses.
//!
//! A call is under way for a thread at most once in this process; what comes meanwhile waits, and goes along with the
//! next call. So many writers share one transaction and one sync, and appends to one thread keep their order. Threads
//! that another process holds are left out of a call; their commits then go apart, thread by thread, and wait.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use threadkeep_model::{
    Body, Commit, Committed, Derived, Kind, Refusal, ThreadCommit, ThreadCommitted, Timestamp, Write,
};
use threadkeep_store::{BoxFuture, Result, StoreError};
use tokio::sync::oneshot;
use tokio_postgres::Row;

use crate::codec::{HEAD_WIDTH, get, head, key, lease, position, rest, segment_id};
use crate::connect::thread_lock;
use crate::error::{from_commit, is_taken_back};
use crate::quick::{Line, written_at};
use crate::tables::message_columns;
use crate::{Clock, Shared};

/// Commits in one call.
const COMMITS_MAX: usize = 128;
/// Entries of one commit; more are written faster as a whole.
const ENTRIES_MAX: usize = 16;
/// Bytes of bodies in one call, beside the last commit.
const BYTES_MAX: usize = 1 << 20;

/// What an append waits for.
type Reply = oneshot::Sender<Result<Committed>>;

/// Appends that wait or are under way.
pub(crate) struct Appends {
    /// Calls that may be under way at the same time.
    calls_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: usize,
    waiting: VecDeque<(Append, Reply)>,
    /// The threads of calls under way.
    busy: HashSet<i64>,
}

/// A commit that is a plain append ([`Append::is_one`]).
pub(crate) struct Append(pub(crate) Commit);

impl Append {
    /// Whether a commit is no more than an append.
    pub(crate) fn is_one(commit: &Commit) -> bool {
        match &commit.threads[..] {
            [ThreadCommit::Write(Write { branch: None, record: None, entries, .. })] => {
                commit.blobs.is_empty()
                    && (1..=ENTRIES_MAX).contains(&entries.len())
                    && entries.iter().all(|entry| {
                        matches!(entry.kind, Kind::MessageAppended | Kind::EventLogged)
                            && matches!(entry.derived, Derived::Nothing | Derived::Message { .. })
                            && matches!(&entry.body, Body::Inline(bytes) if bytes.len() as u64 == entry.bytes)
                            && entry.blobs.is_empty()
                    })
            }
            _ => false,
        }
    }

    pub(crate) fn write(&self) -> &Write {
        match &self.0.threads[0] {
            ThreadCommit::Write(write) => write,
            ThreadCommit::Create(_) | ThreadCommit::Delete { .. } => unreachable!("an append is a write"),
        }
    }

    /// Whether one statement does it.
    pub(crate) fn is_quick(&self) -> bool {
        self.0.idempotency.is_none() && self.write().entries.len() == 1
    }

    pub(crate) fn thread(&self) -> i64 {
        key(self.write().thread)
    }

    fn bytes(&self) -> usize {
        self.write().entries.iter().map(|entry| entry.bytes as usize).sum()
    }
}

impl Appends {
    /// None yet, in at most `calls_max` calls at a time.
    pub(crate) fn in_calls(calls_max: usize) -> Self {
        Self { calls_max, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether a call for this thread alone may begin at once; then it has begun.
    fn begin_alone(&self, thread: i64) -> bool {
        let mut state = self.lock();
        let may = state.calls < self.calls_max && state.waiting.is_empty() && !state.busy.contains(&thread);
        if may {
            state.calls += 1;
            state.busy.insert(thread);
        }
        may
    }

    /// Takes commits for a call, if one may begin.
    fn begin(&self) -> Vec<(Append, Reply)> {
        let mut state = self.lock();
        let mut taken = Vec::new();
        if state.calls >= self.calls_max {
            return taken;
        }
        let State { waiting, busy, .. } = &mut *state;
        let mut left = VecDeque::with_capacity(waiting.len());
        let mut bytes = 0;
        // Commits to one thread stay together and in order: either all of them that fit go now, or none.
        let mut here = HashSet::new();
        for (append, reply) in waiting.drain(..) {
            let thread = append.thread();
            let is_free = here.contains(&thread) || !busy.contains(&thread);
            if is_free && taken.len() < COMMITS_MAX && bytes < BYTES_MAX {
                bytes += append.bytes();
                here.insert(thread);
                taken.push((append, reply));
            } else {
                // What comes after it must not overtake it.
                if is_free {
                    bytes = BYTES_MAX;
                }
                left.push_back((append, reply));
            }
        }
        *waiting = left;
        busy.extend(&here);
        if !taken.is_empty() {
            state.calls += 1;
        }
        taken
    }
}

impl Shared {
    /// Appends, as soon as the thread's turn comes.
    pub(crate) fn append(self: &Arc<Self>, append: Append) -> BoxFuture<'static, Result<Committed>> {
        let (reply, answer) = oneshot::channel();
        let thread = append.thread();
        if self.appends.begin_alone(thread) {
            let underway = Underway { shared: Arc::clone(self), threads: HashSet::from([thread]) };
            match self.lines.ready_for(self, &append) {
                // Whoever waits for it does the work itself, which saves two switches between threads.
                Some((line, actor)) => return Box::pin(append_on(line, append, actor, underway)),
                None => drop(self.runtime.spawn(call_all(vec![(append, reply)], underway))),
            }
        } else {
            self.appends.lock().waiting.push_back((append, reply));
            self.begin_calls();
        }
        Box::pin(async { answer.await.map_err(|_| closed())? })
    }

    fn begin_calls(self: &Arc<Self>) {
        loop {
            let taken = self.appends.begin();
            if taken.is_empty() {
                return;
            }
            let threads = taken.iter().map(|(append, _)| append.thread()).collect();
            let underway = Underway { shared: Arc::clone(self), threads };
            self.runtime.spawn(call_all(taken, underway));
        }
    }

    /// Appends what can be done quickly, and gives back the rest.
    async fn quick_and_answer(&self, appends: Vec<(Append, Reply)>) -> Vec<(Append, Reply)> {
        let written = match &appends[..] {
            [] => return appends,
            several => self.quick(&several.iter().map(|(append, _)| append).collect::<Vec<_>>()).await,
        };
        let mut left_out = Vec::new();
        match written {
            Ok(rows) => {
                for ((append, reply), row) in appends.into_iter().zip(rows) {
                    match row {
                        Some(row) => self.answer(&append, reply, written_at(&row, append.write())),
                        None => left_out.push((append, reply)),
                    }
                }
            }
            // Nothing was kept; each is tried again, so that one that broke it cannot take the others with it.
            Err(Lost::During(error)) if is_taken_back(&error) => left_out = appends,
            Err(lost) => {
                let error = Failure(lost.into_error());
                for (_, reply) in appends {
                    drop(reply.send(Err(error.copied())));
                }
            }
        }
        left_out
    }

    /// Calls, answers all that were answered, and gives back those that were left out.
    async fn call_and_answer(&self, appends: Vec<(Append, Reply)>, waits: bool) -> Vec<(Append, Reply)> {
        let called = self.call(&appends.iter().map(|(append, _)| append).collect::<Vec<_>>(), waits).await;
        let mut left_out = Vec::new();
        match called {
            Called::Answers(answers) => {
                for ((append, reply), answer) in appends.into_iter().zip(answers) {
                    match answer {
                        Some(result) => self.answer(&append, reply, result),
                        None => left_out.push((append, reply)),
                    }
                }
            }
            // One of them broke it: each goes alone, so that it cannot take the others with it.
            Called::TakenBack(_) if appends.len() > 1 => {
                for one in appends {
                    left_out.extend(Box::pin(self.call_and_answer(vec![one], waits)).await);
                }
            }
            Called::TakenBack(error) | Called::Failed(error) => {
                for (_, reply) in appends {
                    drop(reply.send(Err(error.copied())));
                }
            }
        }
        left_out
    }

    fn answer(&self, append: &Append, reply: Reply, result: Result<Committed>) {
        if result.is_ok() {
            self.tell(append.write().thread);
        }
        // Whoever asked may have gone; the commit holds all the same.
        drop(reply.send(result));
    }

    async fn call(&self, appends: &[&Append], waits: bool) -> Called {
        match self.try_call(appends, waits).await {
            Ok(rows) => Called::Answers(rows.iter().zip(appends).map(|(row, append)| answered(row, append)).collect()),
            Err(Lost::During(error)) if is_taken_back(&error) => Called::TakenBack(Failure(from_commit(error))),
            Err(lost) => Called::Failed(Failure(lost.into_error())),
        }
    }

    async fn try_call(&self, appends: &[&Append], waits: bool) -> Result<Vec<Row>, Lost> {
        let client = self.connections.get().await.map_err(Lost::Before)?;
        let mut columns = Columns::default();
        for append in appends {
            let actor = match self.actors.known(&append.0.caller) {
                Some(actor) => actor,
                None => self.actors.id(&client, &append.0.caller).await.map_err(Lost::Before)?,
            };
            columns.push(append, actor);
        }
        let statement = client.prepare_cached(CALL).await.map_err(Lost::During)?;
        let lease_now = match self.clock {
            Clock::Server => None,
            Clock::Caller => appends.first().map(|append| append.0.time.as_micros()),
        };
        let c = &columns;
        let rows = client
            .query(
                &statement,
                &[
                    &waits,
                    &lease_now,
                    &self.upkeep_lock,
                    &c.lock,
                    &c.thread,
                    &c.rest,
                    &c.era,
                    &c.version,
                    &c.lease,
                    &c.time,
                    &c.actor,
                    &c.cause,
                    &c.account,
                    &c.key,
                    &c.hash,
                    &c.count,
                    &c.kind,
                    &c.format,
                    &c.body,
                    &c.role,
                    &c.silent,
                    &c.depth,
                ],
            )
            .await;
        rows.map_err(Lost::During)
    }
}

const CALL: &str = "
    SELECT status, at_segment, at_first, at_count, at_time, (head).version, (head).segment, (head).era, (head).fence,
        (head).updated, (head).ordinals, (head).inserted, (head).deleted, (head).last_change, (head).steps, (head).bytes,
        (head).last_user, (head).lease_token, (head).lease_until, (head).lease_holder
    FROM append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)";

/// A call that is under way: when it ends, however it ends, the next one begins.
struct Underway {
    shared: Arc<Shared>,
    threads: HashSet<i64>,
}

impl Drop for Underway {
    fn drop(&mut self) {
        {
            let mut state = self.shared.appends.lock();
            state.calls -= 1;
            state.busy.retain(|thread| !self.threads.contains(thread));
        }
        self.shared.begin_calls();
    }
}

/// One call for all of `taken`. Those whose thread somebody else holds do not hold up the others: they wait for it in
/// calls of their own.
async fn call_all(taken: Vec<(Append, Reply)>, mut underway: Underway) {
    let shared = Arc::clone(&underway.shared);
    let (quick, more): (Vec<_>, Vec<_>) = taken.into_iter().partition(|(append, _)| append.is_quick());
    let mut left_out = shared.quick_and_answer(quick).await;
    if !more.is_empty() {
        left_out.extend(shared.call_and_answer(more, false).await);
    }
    let mut apart: HashMap<i64, Vec<(Append, Reply)>> = HashMap::new();
    for (append, reply) in left_out {
        underway.threads.remove(&append.thread());
        apart.entry(append.thread()).or_default().push((append, reply));
    }
    for (thread, waiting) in apart {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            for (_, reply) in shared.call_and_answer(waiting, true).await {
                drop(reply.send(Err(StoreError::corrupt("an append was not answered"))));
            }
            shared.appends.lock().busy.remove(&thread);
            shared.begin_calls();
        });
    }
}

/// One append on a connection that is ready for it, by whoever waits for it. Should they stop waiting, the server still
/// does it or not, and followers find out by themselves.
async fn append_on(line: Line, append: Append, actor: i64, underway: Underway) -> Result<Committed> {
    let shared = Arc::clone(&underway.shared);
    let row = line.one(&shared, &append, actor).await.map_err(from_commit)?;
    shared.lines.put(line);
    if let Some(row) = row {
        shared.tell(append.write().thread);
        return written_at(&row, append.write());
    }
    let (reply, answer) = oneshot::channel();
    let call = async move { drop((underway.shared.call_and_answer(vec![(append, reply)], true).await, underway)) };
    shared.runtime.spawn(call);
    answer.await.map_err(|_| closed())?
}

fn closed() -> StoreError {
    StoreError::Unavailable { what: "the store was closed".into() }
}

/// What came of a call: an answer for each append, none where somebody else holds its thread.
enum Called {
    Answers(Vec<Option<Result<Committed>>>),
    /// The server refused all of it, and nothing was kept.
    TakenBack(Failure),
    /// It failed, and whether anything was kept is in the words of the error.
    Failed(Failure),
}

/// Where a call was lost.
pub(crate) enum Lost {
    Before(StoreError),
    During(tokio_postgres::Error),
}

impl Lost {
    fn into_error(self) -> StoreError {
        match self {
            Self::Before(error) => error,
            Self::During(error) => from_commit(error),
        }
    }
}

/// An error that concerns several.
struct Failure(StoreError);

impl Failure {
    fn copied(&self) -> StoreError {
        match &self.0 {
            StoreError::DiskFull => StoreError::DiskFull,
            StoreError::Corrupt { what } => StoreError::Corrupt { what: what.clone() },
            StoreError::Unavailable { what } => StoreError::Unavailable { what: what.clone() },
            other => StoreError::Unavailable { what: other.to_string() },
        }
    }
}

/// The body of an entry that has it with itself.
pub(crate) fn inline(body: &Body) -> &[u8] {
    match body {
        Body::Inline(bytes) => bytes,
        Body::Blob(_) | Body::Absent => &[],
    }
}

/// The values of a call, column by column.
#[derive(Default)]
struct Columns<'a> {
    lock: Vec<i64>,
    thread: Vec<i64>,
    rest: Vec<Vec<u8>>,
    era: Vec<Option<i64>>,
    version: Vec<Option<i64>>,
    lease: Vec<Option<i64>>,
    time: Vec<i64>,
    actor: Vec<i64>,
    cause: Vec<Option<String>>,
    account: Vec<&'a str>,
    key: Vec<Option<&'a str>>,
    hash: Vec<Option<&'a [u8]>>,
    count: Vec<i32>,
    kind: Vec<i16>,
    format: Vec<i16>,
    body: Vec<&'a [u8]>,
    role: Vec<Option<i16>>,
    silent: Vec<Option<bool>>,
    depth: Vec<Option<i16>>,
}

impl<'a> Columns<'a> {
    fn push(&mut self, append: &'a Append, actor: i64) {
        let (commit, write) = (&append.0, append.write());
        self.lock.push(thread_lock(key(write.thread)));
        self.thread.push(key(write.thread));
        self.rest.push(rest(write.thread));
        self.era.push(write.expect.era.map(|era| era as i64));
        self.version.push(write.expect.version.map(|version| version.0 as i64));
        self.lease.push(write.expect.lease.map(|token| token as i64));
        self.time.push(commit.time.as_micros());
        self.actor.push(actor);
        self.cause.push(commit.caller.cause.clone().map(threadkeep_model::strip_nulls));
        self.account.push(commit.caller.account.as_str());
        self.key.push(commit.idempotency.as_ref().map(|idempotency| idempotency.key.as_str()));
        self.hash.push(commit.idempotency.as_ref().map(|idempotency| &idempotency.hash.as_bytes()[..]));
        self.count.push(write.entries.len() as i32);
        for entry in &write.entries {
            self.kind.push(i16::from(entry.kind.code()));
            self.format.push(i16::from(Kind::FORMAT));
            self.body.push(inline(&entry.body));
            let (role, depth, silent) = message_columns(&entry.derived);
            self.role.push(role);
            self.silent.push(silent);
            self.depth.push(depth);
        }
    }
}

/// What the function says of one append; none if somebody else holds its thread.
fn answered(row: &Row, append: &Append) -> Option<Result<Committed>> {
    let status = match get::<i16>(row, 0) {
        Ok(2) => return None,
        Ok(status) => status,
        Err(error) => return Some(Err(error)),
    };
    Some(answer(row, status, append.write()))
}

fn answer(row: &Row, status: i16, write: &Write) -> Result<Committed> {
    let (thread, expect) = (write.thread, &write.expect);
    let refused = |refusal: Refusal| Err(StoreError::refused(thread, expect, refusal));
    let last_lease = || lease(row, 5 + HEAD_WIDTH);
    match status {
        0 | 1 => {
            let committed = ThreadCommitted {
                thread,
                segment: segment_id(get(row, 1)?),
                first: position(get(row, 2)?),
                count: get::<i64>(row, 3)? as u64,
                time: Timestamp::from_micros(get(row, 4)?),
                head: head(row, 5)?,
            };
            Ok(Committed { threads: vec![committed], replayed: status == 1 })
        }
        3 => Err(StoreError::ThreadNotFound { thread }),
        4 => refused(Refusal::VersionConflict { current: head(row, 5)?.version }),
        5 => refused(Refusal::EraMoved),
        6 => match last_lease()? {
            Some(by) => refused(Refusal::WriterHeld { by }),
            None => Err(StoreError::corrupt("a lease has no holder")),
        },
        7 => refused(Refusal::WriterLost { to: last_lease()? }),
        8 => Err(StoreError::IdempotencyKeyReused),
        other => Err(StoreError::corrupt(format!("an append was answered with {other}"))),
    }
}

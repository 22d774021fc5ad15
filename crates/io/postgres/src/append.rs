//! Plain appends, all that wait at that moment together.
//!
//! A single message or event goes the quick way (`quick`). The function `append` (`append.sql`) does the rest: appends
//! with a failed check, on a thread that another process holds, or with several messages or a key. It says precisely
//! why it refuses.
//!
//! This process has at most one call under way for a thread. Later appends wait, and go together with the next call. So
//! many writers share one transaction and one sync, and appends to one thread keep their order. Threads that another
//! process holds are left out of a call; their commits then go separately, thread by thread, and wait.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use threadkeep_model::{Body, Commit, Committed, Derived, Kind, ThreadCommit, Write};
use threadkeep_store::{BoxFuture, Result, StoreError};
use tokio::sync::oneshot;

use crate::Shared;
use crate::bound::Leaves;
use crate::call::{Called, Failure, Lost};
use crate::codec::key;
use crate::error::{from_commit, is_taken_back};
use crate::quick::{Line, written_at};

/// Calls of appends under way at the same time. One hides the time of the network and of the sync of the other. With more,
/// each has fewer appends, and what a transaction costs is most of the cost of an append: 8 of them took twice the CPU for
/// 8 and for 64 writers.
const CALLS_MAX: usize = 2;
/// Commits in one call.
const COMMITS_MAX: usize = 128;
/// Entries of one commit; more are written faster as a whole.
const ENTRIES_MAX: usize = 16;
/// Bytes of bodies in one call, beside the last commit.
const BYTES_MAX: usize = 1 << 20;

/// The channel on which an append gets its result.
type Reply = oneshot::Sender<Result<Committed>>;

/// Appends that wait or are under way, and quick forks, which use the same lines.
pub(crate) struct Appends {
    /// Lines: [`CALLS_MAX`] are for appends, the rest for forks.
    lines: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: usize,
    forks: usize,
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
                    && commit.owner.is_none()
                    && (1..=ENTRIES_MAX).contains(&entries.len())
                    && entries.iter().all(|entry| {
                        matches!(entry.kind, Kind::MessageAppended | Kind::EventLogged)
                            && matches!(entry.derived, Derived::Nothing | Derived::Message { .. })
                            && matches!(&entry.body, Body::Inline(bytes) if bytes.len() as u64 == entry.bytes)
                            && entry.blobs.is_empty()
                            && entry.time.is_none()
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
    /// None yet.
    pub(crate) fn on(lines: usize) -> Self {
        Self { lines, state: Mutex::default() }
    }

    fn calls_max(&self) -> usize {
        self.lines.min(CALLS_MAX)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether a call for this thread alone may begin at once; then it has begun. Beside another call there are other
    /// writers, and it is better to go together.
    fn begin_alone(&self, thread: i64) -> bool {
        let mut state = self.lock();
        let may = state.calls == 0 && state.waiting.is_empty() && !state.busy.contains(&thread);
        if may {
            state.calls += 1;
            state.busy.insert(thread);
        }
        may
    }

    /// Whether a fork of this thread may begin at once; then it has begun. Appends to it that wait go first.
    fn begin_fork(&self, thread: i64) -> bool {
        let mut state = self.lock();
        let is_free =
            !state.busy.contains(&thread) && state.waiting.iter().all(|(append, _)| append.thread() != thread);
        let may = is_free && state.forks < self.lines.saturating_sub(CALLS_MAX);
        if may {
            state.forks += 1;
            state.busy.insert(thread);
        }
        may
    }

    /// Whether a call may begin for commits that wait; then it has begun.
    fn begin(&self) -> bool {
        let mut state = self.lock();
        let may = state.calls < self.calls_max()
            && state.waiting.iter().any(|(append, _)| !state.busy.contains(&append.thread()));
        state.calls += usize::from(may);
        may
    }

    /// Takes commits for a call that has begun. Their threads are busy from now on.
    fn take(&self) -> Vec<(Append, Reply)> {
        let mut state = self.lock();
        let mut taken = Vec::new();
        let State { waiting, busy, .. } = &mut *state;
        let mut left = VecDeque::with_capacity(waiting.len());
        let mut bytes = 0;
        // Commits to one thread stay together and in order: either all of them that fit go now, or none.
        let mut here = HashSet::new();
        // Who gave up waiting was told that nothing is known; it is not written late.
        for (append, reply) in waiting.drain(..).filter(|(_, reply)| !reply.is_closed()) {
            let thread = append.thread();
            let is_free = here.contains(&thread) || !busy.contains(&thread);
            if is_free && taken.len() < COMMITS_MAX && bytes < BYTES_MAX {
                bytes += append.bytes();
                here.insert(thread);
                taken.push((append, reply));
            } else {
                // Later appends must not overtake it.
                if is_free {
                    bytes = BYTES_MAX;
                }
                left.push_back((append, reply));
            }
        }
        *waiting = left;
        busy.extend(&here);
        taken
    }
}

impl Shared {
    /// Appends, as soon as the thread's turn comes.
    pub(crate) fn append(self: &Arc<Self>, append: Append) -> BoxFuture<'static, Result<Committed>> {
        let (reply, answer) = oneshot::channel();
        if let Some(underway) = self.begin_alone(append.thread()) {
            match self.lines.ready_for(self, &append) {
                // The waiting task does the work itself, which saves two switches between threads.
                Some((line, actor)) => {
                    return Box::pin(self.bounded(Leaves::Perhaps, append_on(line, append, actor, underway)));
                }
                None => drop(self.runtime.spawn(call_all(vec![(append, reply)], underway))),
            }
        } else {
            self.appends.lock().waiting.push_back((append, reply));
            self.begin_calls();
        }
        Box::pin(self.bounded(Leaves::Perhaps, async { answer.await.map_err(|_| closed())? }))
    }

    /// A call for this thread alone, if one may begin at once.
    fn begin_alone(self: &Arc<Self>, thread: i64) -> Option<Underway> {
        self.appends.begin_alone(thread).then(|| self.underway(What::Appends, HashSet::from([thread])))
    }

    /// A quick fork of this thread, if one may begin at once.
    pub(crate) fn begin_fork(self: &Arc<Self>, thread: i64) -> Option<Underway> {
        self.appends.begin_fork(thread).then(|| self.underway(What::Fork, HashSet::from([thread])))
    }

    fn underway(self: &Arc<Self>, what: What, threads: HashSet<i64>) -> Underway {
        Underway { shared: Arc::clone(self), what, threads }
    }

    fn begin_calls(self: &Arc<Self>) {
        // Not until none may begin: a runtime that is shut down drops each task at once.
        for _ in 0..CALLS_MAX {
            if !self.appends.begin() {
                return;
            }
            self.runtime.spawn(call_those_that_wait(self.underway(What::Reserved, HashSet::new())));
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
        // If the caller is gone, the commit is still kept.
        drop(reply.send(result));
    }
}

/// A call or a fork that is under way: when it ends, however it ends, the next call begins.
pub(crate) struct Underway {
    shared: Arc<Shared>,
    what: What,
    threads: HashSet<i64>,
}

enum What {
    /// A call that has not taken its appends yet.
    Reserved,
    Appends,
    Fork,
}

impl Drop for Underway {
    fn drop(&mut self) {
        {
            let mut state = self.shared.appends.lock();
            match self.what {
                What::Reserved | What::Appends => state.calls -= 1,
                What::Fork => state.forks -= 1,
            }
            state.busy.retain(|thread| !self.threads.contains(thread));
        }
        match self.what {
            What::Reserved => {}
            What::Appends | What::Fork => self.shared.begin_calls(),
        }
    }
}

/// The next call. Writers whom the last one answered all come back at this moment: they go together.
async fn call_those_that_wait(mut underway: Underway) {
    tokio::task::yield_now().await;
    let shared = Arc::clone(&underway.shared);
    let taken = shared.appends.take();
    if taken.is_empty() {
        drop(underway);
        // Some may have come while this call kept its place.
        return shared.begin_calls();
    }
    underway.what = What::Appends;
    underway.threads.extend(taken.iter().map(|(append, _)| append.thread()));
    call_all(taken, underway).await;
}

/// One call for all of `taken`. Threads that another process holds do not delay the others: their appends wait in calls
/// of their own.
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

/// One append on a ready connection, by the task that waits for it. If the task stops waiting, the server still
/// finishes the append or not, and followers find out by themselves.
async fn append_on(mut line: Line, append: Append, actor: i64, underway: Underway) -> Result<Committed> {
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

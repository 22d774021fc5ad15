//! From a decision to a commit: a plan is decided, committed, decided again if it went stale, and answered from
//! the entries that the commit wrote, also when the call is repeated under its key.

use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::{
    Actor, BlobId, Commit, Committed, Entry, Expect, NewEntry, NewSegment, Position, Record, Thread, ThreadCommit,
    ThreadCommitted, ThreadId, Version, Write,
};
use threadkeep_store::{BoxFuture, EntryQuery, KeyQuery, Order, StoreError};

use crate::{Engine, Error, Result};

/// How often a decision that went stale is taken again.
const DECIDED_AGAIN_MAX: usize = 16;

/// Makes the decision of a verb, as often as it goes stale.
type Deciding<'a> = Box<dyn FnMut() -> BoxFuture<'a, Result<Plan>> + Send + 'a>;

/// A verb's decision about a thread, made purely from its reads.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The thread, as it was read.
    pub(crate) thread: Thread,
    /// The entries it gets.
    pub(crate) entries: Vec<Entry>,
    /// A segment that it writes to from now on.
    pub(crate) branch: Option<NewSegment>,
    /// Whether it holds only at the version it was decided at, because its entries leave the era alone.
    pub(crate) at_version: bool,
    /// Commits to other threads, made in the same store commit.
    pub(crate) others: Vec<ThreadCommit>,
    /// Large values that the entries name.
    pub(crate) blobs: Vec<(BlobId, Bytes)>,
}

impl Plan {
    /// These entries for `thread`.
    pub(crate) fn new(thread: Thread, entries: Vec<Entry>) -> Self {
        Self { thread, entries, branch: None, at_version: false, others: Vec::new(), blobs: Vec::new() }
    }

    /// The same on a new segment.
    pub(crate) fn on(self, branch: NewSegment) -> Self {
        Self { branch: Some(branch), ..self }
    }

    /// The same, which holds only at the version it was decided at.
    pub(crate) fn at_version(self) -> Self {
        Self { at_version: true, ..self }
    }

    /// The same, with this in the same commit.
    pub(crate) fn with(mut self, other: ThreadCommit) -> Self {
        self.others.push(other);
        self
    }

    /// The same, with these large values.
    pub(crate) fn bringing(mut self, blobs: impl IntoIterator<Item = (BlobId, Bytes)>) -> Self {
        self.blobs.extend(blobs);
        self
    }

    fn changes_nothing(&self) -> bool {
        self.entries.is_empty() && self.branch.is_none() && self.others.is_empty()
    }
}

/// The entries that a verb committed to a thread.
#[derive(Debug)]
pub(crate) struct Told {
    /// The thread after it; of a repeated call, as it is now.
    pub(crate) thread: Thread,
    /// Where the entries lie.
    pub(crate) place: ThreadCommitted,
    pub(crate) entries: Vec<Entry>,
    /// The actor of the entries.
    pub(crate) by: Arc<Actor>,
    /// The threads that were created with it.
    pub(crate) made: Vec<Thread>,
    /// Whether an earlier call under the same key committed them.
    pub(crate) repeated: bool,
}

impl Told {
    /// The position of the entry with this number.
    pub(crate) fn position(&self, number: usize) -> Position {
        Position(self.place.first.0 + number as u64)
    }

    /// The thread that was created with it.
    pub(crate) fn only_made(self) -> Result<Thread> {
        self.made.into_iter().next().ok_or(Error::broken("a commit that creates a thread gives it"))
    }
}

/// A write to `thread` that was decided at its present era.
pub(crate) fn write(
    thread: &Thread,
    expected: Option<Version>,
    branch: Option<NewSegment>,
    entries: Vec<NewEntry>,
    record: Option<Record>,
) -> ThreadCommit {
    let expect = Expect::at(thread.head.era, expected);
    ThreadCommit::Write(Write { thread: thread.id, expect, branch, entries, record, owner: None })
}

/// A write of `entries` to a thread that is not the call's own, with the record that follows from them.
pub(crate) fn tell_other(thread: &Thread, entries: &[Entry]) -> Result<ThreadCommit> {
    let record = record_after(thread, entries)?;
    let changed = Some(record).filter(|record| *record != thread.record);
    Ok(write(thread, None, None, entries.iter().map(NewEntry::new).collect(), changed))
}

/// The record of `thread` after `entries`.
pub(crate) fn record_after(thread: &Thread, entries: &[Entry]) -> Result<Record> {
    Ok(entries.iter().try_fold(thread.record.clone(), Record::after)?)
}

/// A commit that was kept, with the data of its decision; without it if the call is a repetition.
pub(crate) struct Settled<T> {
    pub(crate) committed: Committed,
    pub(crate) kept: Option<T>,
}

impl<T> Settled<T> {
    /// Where the first thread of the commit is.
    pub(crate) fn place(&self) -> Result<&ThreadCommitted> {
        self.committed.threads.first().ok_or(Error::broken("a commit tells where its first thread is"))
    }
}

impl Engine {
    /// Decides about `thread`, commits, and returns the committed entries. A stale decision is made again.
    pub(crate) async fn tell<'a, F>(
        &'a self,
        thread: ThreadId,
        mut decide: impl FnMut() -> F + Send + 'a,
    ) -> Result<Told>
    where
        F: Future<Output = Result<Plan>> + Send + 'a,
    {
        self.tell_decided(thread, Box::new(move || Box::pin(decide()))).await
    }

    /// The same for every verb: so it is compiled once.
    fn tell_decided<'a>(&'a self, thread: ThreadId, decide: Deciding<'a>) -> BoxFuture<'a, Result<Told>> {
        Box::pin(self.tell_as_decided(thread, decide))
    }

    async fn tell_as_decided(&self, thread: ThreadId, mut decide: Deciding<'_>) -> Result<Told> {
        let settled = self
            .settle(thread, || {
                let decided = decide();
                async {
                    let plan = decided.await?;
                    if plan.changes_nothing() && self.carries_nothing() {
                        // Nothing has to be kept, neither entries nor a key, and no version has to be checked.
                        return Ok((None, (plan.thread, Vec::new(), Vec::new())));
                    }
                    let (commit, after, births) = self.commit_of(&plan)?;
                    Ok((Some(commit), (after, plan.entries, births)))
                }
            })
            .await?;
        let Settled { committed, kept } = settled;
        let mut places = committed.threads.into_iter();
        let place = places.next().ok_or(Error::broken("a commit tells where its first thread is"))?;
        tracing::Span::current().record("version", place.head.version.0);
        let Some((mut after, entries, births)) = kept else {
            let (entries, by) = self.entries_at(&place).await?;
            let mut made = Vec::new();
            for place in places {
                made.push(self.thread(place.thread).await?);
            }
            let after = if made.is_empty() {
                self.thread(place.thread).await?
            } else {
                // The answer is the new thread. Where a visitor made it, the first one is not the caller's.
                let found = self.shared.stores.store.thread(place.thread.into()).await?;
                found.ok_or(Error::ThreadNotFound { thread: place.thread.into() })?
            };
            return Ok(Told { thread: after, place, entries, by, made, repeated: true });
        };
        after.head = place.head;
        let made = births.into_iter().map(|mut child: Thread| {
            if let Some(place) = places.find(|place| place.thread == child.id) {
                (child.head, child.created) = (place.head, place.time);
            }
            child
        });
        let (made, by) = (made.collect(), Arc::new(self.caller.actor.clone()));
        Ok(Told { thread: after, place, entries, by, made, repeated: false })
    }

    /// The commit of a plan, the thread with its record after it, and the threads that it creates.
    fn commit_of(&self, plan: &Plan) -> Result<(Commit, Thread, Vec<Thread>)> {
        let record = record_after(&plan.thread, &plan.entries)?;
        let changed = Some(&record).filter(|record| **record != plan.thread.record).cloned();
        let entries = plan.entries.iter().map(NewEntry::new).collect();
        let decided_at = plan.at_version.then_some(plan.thread.head.version);
        let mut threads = vec![write(&plan.thread, decided_at, plan.branch.clone(), entries, changed)];
        threads.extend(plan.others.iter().cloned());
        let births = plan.others.iter().filter_map(|other| match other {
            ThreadCommit::Create(birth) => {
                let head = threadkeep_model::born(birth, self.shared.now()).head;
                let (id, account, record) = (birth.thread, birth.account.clone(), birth.record.clone());
                Some(Thread { id, account, created: head.updated, head, record })
            }
            ThreadCommit::Write(_) | ThreadCommit::Delete { .. } => None,
        });
        let births = births.collect();
        let mut commit = self.commit(threads);
        // Times never go back along a lineage, even if the clock does.
        commit.time = commit.time.max(plan.thread.head.updated);
        commit.blobs.extend(plan.blobs.iter().cloned());
        Ok((commit, Thread { record, ..plan.thread.clone() }, births))
    }

    /// Decides, commits, and decides again if the decision went stale. Without a commit there is nothing to keep: the
    /// answer is then made from the decision's reads.
    ///
    /// If the decision refuses because the call was carried out before under the same key, the first result counts.
    pub(crate) async fn settle<T, F>(&self, thread: ThreadId, mut decide: impl FnMut() -> F) -> Result<Settled<T>>
    where
        F: Future<Output = Result<(Option<Commit>, T)>>,
    {
        let mut turn = None;
        for _ in 0..DECIDED_AGAIN_MAX {
            let permitted = async {
                let (commit, kept) = decide().await?;
                if let Some(commit) = &commit {
                    self.permit(commit).await?;
                }
                Ok((commit, kept))
            };
            let (commit, kept) = match permitted.await {
                Ok(decided) => decided,
                Err(refused) => {
                    return match self.repeated(thread).await? {
                        Some(committed) => Ok(Settled { committed, kept: None }),
                        None => Err(refused),
                    };
                }
            };
            let Some(commit) = commit else {
                let committed = self.unchanged(thread).await?;
                return Ok(Settled { committed, kept: Some(kept) });
            };
            let touched: Vec<ThreadId> = commit.threads.iter().map(ThreadCommit::thread).collect();
            let forget = || touched.iter().for_each(|thread| self.shared.gates.forget(*thread));
            match self.shared.apply(commit).await {
                Ok(committed) => {
                    forget();
                    // Invariant: a repeated call writes nothing, and its answer comes from the first commit.
                    let kept = Some(kept).filter(|_| !committed.replayed);
                    return Ok(Settled { committed, kept });
                }
                Err(error) if self.went_stale(&error) => {
                    forget();
                    if turn.is_none() {
                        turn = Some(self.turn(thread).await);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Busy)
    }

    /// Whether a commit failed because another commit was faster, and not because of the caller's own conditions.
    fn went_stale(&self, error: &StoreError) -> bool {
        match error {
            StoreError::EraMoved { .. } | StoreError::SegmentTaken | StoreError::ThreadTaken { .. } => true,
            StoreError::VersionConflict { .. } => self.expects().is_none(),
            _ => false,
        }
    }

    /// The result of `checks`, which come before the decision. If they refuse because the call was carried out before
    /// under the same key, they give nothing: the first result counts, and the commit finds it.
    pub(crate) async fn unless_repeated<T: Default>(
        &self,
        thread: ThreadId,
        checks: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        match checks.await {
            Ok(checked) => Ok(checked),
            Err(refused) => self.repeated(thread).await?.map(|_| T::default()).ok_or(refused),
        }
    }

    /// The result stored under the call's key, if it was carried out before.
    pub(crate) async fn repeated(&self, thread: ThreadId) -> Result<Option<Committed>> {
        let Some(idempotency) = self.idempotency() else { return Ok(None) };
        let (account, key) = (self.caller.account.clone(), idempotency.key.clone());
        let query = KeyQuery { account, thread, key, now: self.shared.now() };
        match self.shared.stores.store.remembered(query).await {
            Ok(Some(remembered)) => Ok(Some(remembered.answer(&idempotency.hash)?)),
            Ok(None) | Err(StoreError::ThreadNotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Where a thread is, as if something had been committed to it.
    async fn unchanged(&self, thread: ThreadId) -> Result<Committed> {
        let gone = || Error::ThreadNotFound { thread: thread.into() };
        let head = self.shared.stores.store.head(thread).await?.ok_or_else(gone)?;
        let (first, time) = (head.version.next(), head.updated);
        let place = ThreadCommitted { thread, segment: head.segment, first, count: 0, time, head };
        Ok(Committed { threads: vec![place], replayed: false })
    }

    /// The entries that a commit wrote to a thread, and their actor.
    async fn entries_at(&self, place: &ThreadCommitted) -> Result<(Vec<Entry>, Arc<Actor>)> {
        let positions = place.first..=Position(place.first.0 + place.count.saturating_sub(1));
        let query = EntryQuery { segment: place.segment, positions, order: Order::Ascending, limit: usize::MAX };
        let (mut entries, mut by) = (Vec::new(), Arc::new(self.caller.actor.clone()));
        if place.count > 0 {
            for stored in self.shared.stores.store.entries(query).await? {
                entries.push(self.decode(&stored).await?);
                by = Arc::clone(&stored.actor);
            }
        }
        Ok((entries, by))
    }
}

/// Threads and actors for tests of decisions, which need no store.
#[cfg(test)]
pub(crate) mod testing {
    use threadkeep_model::{
        Account, Actor, ActorKind, Executor, Head, Position, Record, Run, SegmentId, Tally, Thread, ThreadId,
        Timestamp, Usage, Uuid,
    };

    fn with_id(id: u128) -> Thread {
        let (segment, tally, updated) = (SegmentId::from_bits(1), Tally::default(), Timestamp::from_micros(0));
        let head = Head { version: Position(3), segment, era: 1, fence: 0, updated, tally };
        let (account, record) = (Account::local(), Record::default());
        Thread { id: ThreadId::from_bits(id), account, created: updated, head, record }
    }

    /// A thread at version 3.
    pub(crate) fn thread() -> Thread {
        with_id(7)
    }

    pub(crate) fn other() -> Thread {
        with_id(8)
    }

    /// An open run of a caller on the thread, at its first attempt.
    pub(crate) fn run() -> Run {
        let now = Timestamp::from_micros(5);
        Run {
            id: Uuid::from_chance(1),
            by: "ann".to_owned(),
            fence: 0,
            began: now,
            until: now.plus_micros(1_000),
            steps: 0,
            attempt: 1,
            executor: Executor::Caller,
            agent_id: None,
            owner: None,
            waits: Vec::new(),
            stop: None,
            usage: Usage::default(),
            sides: None,
        }
    }

    pub(crate) fn human() -> Actor {
        Actor { kind: ActorKind::Human, name: "ann".into() }
    }

    pub(crate) fn agent() -> Actor {
        Actor { kind: ActorKind::Agent, name: "helper".into() }
    }
}

//! The store in memory: the reference for what a store promises. It forgets everything when it is dropped.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use threadkeep_model::{
    Account, Advanced, BlobId, Body, ChangeOp, Checkpoint, Commit, Committed, Create, Derived, Expect, Head, Kind,
    Position, Record, Relation, Role, Segment, SegmentId, Thread, ThreadCommit, ThreadCommitted, ThreadId, ThreadName,
    Timestamp, Write, advance, born, reachable,
};

use crate::{
    Blobs, BoxFuture, ChangeQuery, ChangeRow, EntryQuery, Feed, FeedCursor, FeedItem, FeedNews, GcOptions, GcReport,
    ImportBatch, ImportedEntry, ListQuery, MessageQuery, Order, Progress, Result, SegmentRow, Signals, Store,
    StoreError, StoredEntry, Upkeep,
};

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
    signals: Signals,
}

#[derive(Debug, Default)]
struct State {
    /// Living threads by their short ids.
    threads: BTreeMap<u64, Thread>,
    /// Deleted threads by their short ids.
    tombstones: HashMap<u64, ThreadId>,
    segments: BTreeMap<SegmentId, SegmentState>,
    relations: Vec<Relation>,
    checkpoints: HashMap<ThreadId, Vec<Checkpoint>>,
    idempotency: HashMap<(ThreadId, Account, String), Remembered>,
    blobs: BTreeMap<BlobId, Bytes>,
    feed: BTreeMap<u64, (ThreadId, News)>,
    last: u64,
    /// Until when nothing is freed, because an import is under way.
    import_until: Timestamp,
}

#[derive(Debug)]
struct SegmentState {
    row: SegmentRow,
    entries: BTreeMap<Position, (StoredEntry, Derived, Vec<BlobId>)>,
    messages: BTreeMap<u64, (Position, Role, bool, u8)>,
    changes: BTreeMap<(u64, Position, Position), ChangeOp>,
}

#[derive(Debug)]
enum News {
    Began(SegmentId),
    Entry(SegmentId, Position),
    Deleted,
}

#[derive(Debug)]
struct Remembered {
    hash: BlobId,
    segment: SegmentId,
    first: Position,
    count: u64,
    time: Timestamp,
}

/// What a commit does to one thread, decided before anything is written.
enum Step<'a> {
    Create(&'a Create, Advanced),
    Write(&'a Write, Advanced),
    Delete(ThreadId),
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn read<'a, T: Send + 'a>(&'a self, read: impl FnOnce(&State) -> T) -> BoxFuture<'a, T> {
        Box::pin(ready(read(&self.lock())))
    }
}

impl State {
    fn living(&self, id: ThreadId) -> Result<&Thread> {
        let thread = self.threads.get(&id.short().bits()).filter(|thread| thread.id == id);
        thread.ok_or(StoreError::ThreadNotFound { thread: id })
    }

    fn expect(&self, id: ThreadId, expect: &Expect) -> Result<Head> {
        let head = self.living(id)?.head;
        expect.check(&head).map_err(|refusal| StoreError::refused(id, expect, refusal))?;
        Ok(head)
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The result of an earlier commit under the same key, if there is one.
    fn replay(&self, commit: &Commit) -> Result<Option<Committed>> {
        let (Some(idempotency), Some(ThreadCommit::Write(write))) = (&commit.idempotency, commit.threads.first())
        else {
            return Ok(None);
        };
        let head = self.living(write.thread)?.head;
        let key = (write.thread, commit.caller.account.clone(), idempotency.key.as_str().to_owned());
        let Some(first) = self.idempotency.get(&key).filter(|first| !is_expired(first.time, commit.time)) else {
            return Ok(None);
        };
        if first.hash != idempotency.hash {
            return Err(StoreError::IdempotencyKeyReused);
        }
        let threads = vec![ThreadCommitted {
            thread: write.thread,
            segment: first.segment,
            first: first.first,
            count: first.count,
            time: first.time,
            head,
        }];
        Ok(Some(Committed { threads, replayed: true }))
    }

    fn plan<'a>(&self, commit: &'a Commit) -> Result<Vec<Step<'a>>> {
        let steps = commit.threads.iter().map(|thread| match thread {
            ThreadCommit::Create(create) => {
                let short = create.thread.short().bits();
                if self.threads.contains_key(&short) || self.tombstones.contains_key(&short) {
                    return Err(StoreError::ThreadTaken { thread: create.thread });
                }
                Ok(Step::Create(create, born(create, commit.time)))
            }
            ThreadCommit::Write(write) => {
                let head = self.living(write.thread)?.head;
                let advanced = advance(&head, write, commit.time)
                    .map_err(|refusal| StoreError::refused(write.thread, &write.expect, refusal))?;
                Ok(Step::Write(write, advanced))
            }
            ThreadCommit::Delete { thread, expect } => {
                self.expect(*thread, expect)?;
                Ok(Step::Delete(*thread))
            }
        });
        let steps = steps.collect::<Result<Vec<_>>>()?;
        for step in &steps {
            let (Step::Create(_, advanced) | Step::Write(_, advanced)) = step else { continue };
            if advanced.opened.as_ref().is_some_and(|opened| self.segments.contains_key(&opened.id)) {
                return Err(StoreError::SegmentTaken);
            }
        }
        let brought: HashSet<BlobId> = commit.blobs.iter().map(|(id, _)| *id).collect();
        for step in &steps {
            let entries = match step {
                Step::Create(create, _) => &create.entries,
                Step::Write(write, _) => &write.entries,
                Step::Delete(_) => continue,
            };
            let mut named = entries.iter().flat_map(|entry| &entry.blobs);
            if let Some(blob) = named.find(|blob| !brought.contains(blob) && !self.blobs.contains_key(blob)) {
                return Err(StoreError::BlobMissing { blob: *blob });
            }
        }
        Ok(steps)
    }

    fn apply(&mut self, commit: &Commit) -> Result<Committed> {
        if let Some(first) = self.replay(commit)? {
            return Ok(first);
        }
        let steps = self.plan(commit)?;
        for (id, bytes) in &commit.blobs {
            self.blobs.insert(*id, bytes.clone());
        }
        let mut threads = Vec::new();
        for step in steps {
            match step {
                Step::Create(create, advanced) => {
                    let thread = Thread {
                        id: create.thread,
                        account: create.account.clone(),
                        created: advanced.head.updated,
                        head: advanced.head,
                        record: create.record.clone(),
                    };
                    let origin = Some((create.account.clone(), create.record.clone()));
                    self.write(commit, create.thread, &advanced, origin, &create.entries);
                    self.threads.insert(create.thread.short().bits(), thread);
                    threads.push(advanced.committed(create.thread));
                }
                Step::Write(write, advanced) => {
                    self.write(commit, write.thread, &advanced, None, &write.entries);
                    if let Some(thread) = self.threads.get_mut(&write.thread.short().bits()) {
                        thread.head = advanced.head;
                        if let Some(record) = &write.record {
                            thread.record = record.clone();
                        }
                    }
                    threads.push(advanced.committed(write.thread));
                }
                Step::Delete(thread) => self.delete(thread),
            }
        }
        if let (Some(idempotency), Some(first)) = (&commit.idempotency, threads.first()) {
            let key = (first.thread, commit.caller.account.clone(), idempotency.key.as_str().to_owned());
            let remembered = Remembered {
                hash: idempotency.hash,
                segment: first.segment,
                first: first.first,
                count: first.count,
                time: first.time,
            };
            self.idempotency.insert(key, remembered);
        }
        Ok(Committed { threads, replayed: false })
    }

    fn write(
        &mut self,
        commit: &Commit,
        thread: ThreadId,
        advanced: &Advanced,
        origin: Option<(Account, Record)>,
        entries: &[threadkeep_model::NewEntry],
    ) {
        if let Some(segment) = &advanced.opened {
            self.open(SegmentRow { segment: segment.clone(), origin });
        }
        let account = Arc::new(commit.caller.account.clone());
        let actor = Arc::new(commit.caller.actor.clone());
        for (entry, (position, _, tally)) in entries.iter().zip(&advanced.places) {
            let stored = StoredEntry {
                segment: advanced.head.segment,
                position: *position,
                kind: entry.kind,
                format: Kind::FORMAT,
                time: advanced.head.updated,
                account: Arc::clone(&account),
                actor: Arc::clone(&actor),
                cause: commit.caller.cause.clone(),
                tally: *tally,
                body: entry.body.clone(),
            };
            self.insert(thread, stored, entry.derived.clone(), entry.blobs.clone());
        }
    }

    fn open(&mut self, row: SegmentRow) {
        let at = self.next();
        self.feed.insert(at, (row.segment.thread, News::Began(row.segment.id)));
        let state = SegmentState { row, entries: BTreeMap::new(), messages: BTreeMap::new(), changes: BTreeMap::new() };
        self.segments.insert(state.row.segment.id, state);
    }

    /// Puts an entry in its place, with the rows that follow from it.
    fn insert(&mut self, thread: ThreadId, entry: StoredEntry, derived: Derived, blobs: Vec<BlobId>) {
        let at = self.next();
        self.feed.insert(at, (thread, News::Entry(entry.segment, entry.position)));
        self.derive(thread, &entry, &derived);
        if let Some(segment) = self.segments.get_mut(&entry.segment) {
            segment.entries.insert(entry.position, (entry, derived, blobs));
        }
    }

    fn derive(&mut self, thread: ThreadId, entry: &StoredEntry, derived: &Derived) {
        let Some(segment) = self.segments.get_mut(&entry.segment) else { return };
        match derived {
            Derived::Nothing => {}
            Derived::Message { role, silent, depth } => {
                segment.messages.insert(entry.tally.ordinals - 1, (entry.position, *role, *silent, *depth));
            }
            Derived::Change(change) => {
                for target in &change.targets {
                    segment.changes.insert((change.root, entry.position, *target), change.op);
                }
            }
            Derived::Relation { child, kind, index, anchor, comment } => self.relations.push(Relation {
                parent: thread,
                child: *child,
                kind: *kind,
                made: threadkeep_model::MessageId { segment: entry.segment, position: entry.position },
                index: *index,
                anchor: *anchor,
                created: entry.time,
                comment: comment.clone(),
            }),
            Derived::Checkpoint { name, version } => {
                let checkpoints = self.checkpoints.entry(thread).or_default();
                checkpoints.retain(|checkpoint| checkpoint.name != *name);
                checkpoints.push(Checkpoint { name: name.clone(), version: *version, created: entry.time });
            }
        }
    }

    fn delete(&mut self, thread: ThreadId) {
        self.threads.remove(&thread.short().bits());
        self.tombstones.insert(thread.short().bits(), thread);
        self.relations.retain(|relation| relation.parent != thread && relation.child != thread);
        self.checkpoints.remove(&thread);
        self.idempotency.retain(|(owner, ..), _| *owner != thread);
        let at = self.next();
        self.feed.insert(at, (thread, News::Deleted));
    }

    fn gc(&mut self, now: Timestamp) -> Result<GcReport> {
        if self.import_until > now {
            return Err(StoreError::import_under_way());
        }
        let segments: Vec<Segment> = self.segments.values().map(|state| state.row.segment.clone()).collect();
        let living: HashSet<ThreadId> = self.threads.values().map(|thread| thread.id).collect();
        let reach = reachable(&segments, &living);
        let mut report = GcReport::default();
        for segment in segments.iter().filter(|segment| !living.contains(&segment.thread)) {
            let Some(bounds) = reach.get(&segment.id) else {
                let freed = self.segments.remove(&segment.id);
                report.segments += 1;
                report.entries += freed.map_or(0, |state| state.entries.len() as u64);
                continue;
            };
            let Some(state) = self.segments.get_mut(&segment.id) else { continue };
            let before = state.entries.len();
            state.entries.retain(|position, (entry, ..)| *position <= bounds.of(entry.kind.class()));
            let SegmentState { entries, messages, changes, .. } = state;
            messages.retain(|_, (position, ..)| entries.contains_key(position));
            changes.retain(|(_, position, _), _| entries.contains_key(position));
            report.entries += (before - entries.len()) as u64;
        }
        let Self { segments, feed, .. } = self;
        feed.retain(|_, (_, news)| match news {
            News::Began(segment) => segments.contains_key(segment),
            News::Entry(segment, position) => {
                segments.get(segment).is_some_and(|state| state.entries.contains_key(position))
            }
            News::Deleted => true,
        });
        let entries = self.segments.values().flat_map(|state| state.entries.values());
        let named: HashSet<BlobId> = entries.flat_map(|(.., blobs)| blobs.iter().copied()).collect();
        let before = self.blobs.len();
        self.blobs.retain(|blob, _| named.contains(blob));
        report.blobs = (before - self.blobs.len()) as u64;
        self.idempotency.retain(|_, remembered| !is_expired(remembered.time, now));
        Ok(report)
    }

    fn import(&mut self, batch: ImportBatch) -> Result<()> {
        self.check_import(&batch)?;
        self.import_until = batch.kept_until();
        for (blob, bytes) in batch.blobs {
            self.blobs.insert(blob, bytes);
        }
        for row in batch.segments {
            if !self.segments.contains_key(&row.segment.id) {
                self.open(row);
            }
        }
        for imported in batch.entries {
            let Some(state) = self.segments.get(&imported.entry.segment) else { continue };
            if !state.entries.contains_key(&imported.entry.position) {
                let thread = state.row.segment.thread;
                self.insert(thread, imported.entry, imported.derived, imported.blobs);
            }
        }
        for thread in batch.threads {
            self.threads.entry(thread.id.short().bits()).or_insert(thread);
        }
        Ok(())
    }

    /// Refuses an import that does not fit what is here, before anything of it is taken in.
    fn check_import(&self, batch: &ImportBatch) -> Result<()> {
        let clash = |what: String| Err(StoreError::Import { what });
        for row in &batch.segments {
            if self.segments.get(&row.segment.id).is_some_and(|state| state.row != *row) {
                return clash(format!("segment {} is here already, and differs", row.segment.id));
            }
        }
        for ImportedEntry { entry, .. } in &batch.entries {
            match self.segments.get(&entry.segment) {
                Some(state) => {
                    if state.entries.get(&entry.position).is_some_and(|(here, ..)| here.body != entry.body) {
                        let place = format!("entry {} of segment {}", entry.position, entry.segment);
                        return clash(format!("{place} is here already, and differs"));
                    }
                }
                None if batch.segments.iter().any(|row| row.segment.id == entry.segment) => {}
                None => return clash(format!("segment {} is missing", entry.segment)),
            }
        }
        for thread in &batch.threads {
            let short = thread.id.short().bits();
            if self.tombstones.contains_key(&short) {
                return clash(format!("thread {} was deleted here, and stays deleted", thread.id));
            }
            let here = self.threads.get(&short);
            let newest = self.segments.get(&thread.head.segment);
            let goes_on = newest.is_some_and(|state| state.entries.keys().any(|at| *at > thread.head.version));
            if here.is_none() && goes_on {
                return clash(format!("thread {} goes on here after version {}", thread.id, thread.head.version));
            }
            if here.is_some_and(|here| here.id != thread.id || here.head.version != thread.head.version) {
                return clash(format!("thread {} is here already, and differs", thread.id));
            }
        }
        Ok(())
    }

    fn rebuild(&mut self) {
        self.relations.clear();
        self.checkpoints.clear();
        let mut entries = Vec::new();
        for state in self.segments.values_mut() {
            state.messages.clear();
            state.changes.clear();
            let thread = state.row.segment.thread;
            entries.extend(state.entries.values().map(|(entry, derived, _)| (thread, entry.clone(), derived.clone())));
        }
        // Within a thread positions rise, whatever the branch.
        entries.sort_by_key(|(thread, entry, _)| (*thread, entry.position));
        for (thread, entry, derived) in entries {
            self.derive(thread, &entry, &derived);
        }
        let Self { threads, relations, checkpoints, .. } = self;
        let lives = |id: &ThreadId| threads.get(&id.short().bits()).is_some_and(|thread| thread.id == *id);
        relations.retain(|relation| lives(&relation.parent) && lives(&relation.child));
        checkpoints.retain(|thread, _| lives(thread));
    }
}

fn is_expired(time: Timestamp, now: Timestamp) -> bool {
    time.plus_micros(threadkeep_model::IdempotencyKey::KEPT_MICROS) < now
}

fn in_order<T>(rows: impl DoubleEndedIterator<Item = T>, order: Order, limit: usize) -> Vec<T> {
    match order {
        Order::Ascending => rows.take(limit).collect(),
        Order::Descending => rows.rev().take(limit).collect(),
    }
}

impl Store for MemoryStore {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed>> {
        let committed = self.lock().apply(&commit);
        if committed.is_ok() {
            for thread in &commit.threads {
                self.signals.tell(match thread {
                    ThreadCommit::Create(create) => create.thread,
                    ThreadCommit::Write(write) => write.thread,
                    ThreadCommit::Delete { thread, .. } => *thread,
                });
            }
        }
        Box::pin(ready(committed))
    }

    fn thread(&self, name: ThreadName) -> BoxFuture<'_, Result<Option<Thread>>> {
        self.read(|state| {
            let thread = state.threads.get(&name.short().bits());
            Ok(thread.filter(|thread| name.names(thread.id)).cloned())
        })
    }

    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.read(|state| {
            let mut threads: Vec<&Thread> = state
                .threads
                .values()
                .filter(|thread| thread.account == query.account && thread.record.archived == query.archived)
                .filter(|thread| query.agent.is_none() || thread.record.agent_id == query.agent)
                .filter(|thread| {
                    let place = (thread.head.updated, thread.id.short());
                    query.after.is_none_or(|after| place < (after.updated, after.thread.short()))
                })
                .collect();
            threads.sort_by_key(|thread| std::cmp::Reverse((thread.head.updated, thread.id.short())));
            Ok(threads.into_iter().take(query.limit).cloned().collect())
        })
    }

    fn chain(&self, segment: SegmentId, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        self.read(|state| {
            let find = |id: &SegmentId| state.segments.get(id).map(|state| &state.row.segment);
            let chain = std::iter::successors(find(&segment), |segment| find(&segment.link?.parent));
            Ok(chain.take(limit).cloned().collect())
        })
    }

    fn segments(&self, thread: ThreadId, at: Position, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        self.read(|state| {
            let own = state.segments.values().map(|state| &state.row);
            let mut own: Vec<&SegmentRow> =
                own.filter(|row| row.segment.thread == thread && row.segment.first <= at).collect();
            own.sort_by_key(|row| std::cmp::Reverse(row.order()));
            Ok(own.into_iter().take(limit).map(|row| row.segment.clone()).collect())
        })
    }

    fn entries(&self, query: EntryQuery) -> BoxFuture<'_, Result<Vec<StoredEntry>>> {
        self.read(|state| {
            let Some(segment) = state.segments.get(&query.segment) else { return Ok(Vec::new()) };
            if query.positions.start() > query.positions.end() {
                return Ok(Vec::new());
            }
            let entries = segment.entries.range(query.positions).map(|(_, (entry, ..))| entry.clone());
            Ok(in_order(entries, query.order, query.limit))
        })
    }

    fn messages(&self, query: MessageQuery) -> BoxFuture<'_, Result<Vec<StoredEntry>>> {
        self.read(|state| {
            let Some(segment) = state.segments.get(&query.segment) else { return Ok(Vec::new()) };
            if query.ordinals.is_empty() {
                return Ok(Vec::new());
            }
            let rows = segment.messages.range(query.ordinals).filter_map(|(_, (position, role, silent, depth))| {
                let entry = segment.entries.get(position).map(|(entry, ..)| entry)?;
                query.filter.passes(*role, *silent, *depth).then(|| entry.clone())
            });
            Ok(in_order(rows, query.order, query.limit))
        })
    }

    fn changes(&self, query: ChangeQuery) -> BoxFuture<'_, Result<Vec<ChangeRow>>> {
        self.read(|state| {
            let Some(segment) = state.segments.get(&query.segment) else { return Ok(Vec::new()) };
            if query.roots.is_empty() {
                return Ok(Vec::new());
            }
            let range = (query.roots.start, Position::START, Position::START)
                ..(query.roots.end, Position::START, Position::START);
            let rows = segment.changes.range(range).filter(|((_, position, _), _)| query.positions.contains(position));
            let rows = rows.map(|((root, position, target), op)| ChangeRow {
                segment: query.segment,
                position: *position,
                root: *root,
                op: *op,
                target: *target,
            });
            Ok(rows.collect())
        })
    }

    fn relations(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Relation>>> {
        self.read(|state| {
            let own = |relation: &&Relation| relation.parent == thread || relation.child == thread;
            let mut relations: Vec<Relation> = state.relations.iter().filter(own).cloned().collect();
            relations.sort_by_key(|relation| (relation.created, relation.made));
            Ok(relations)
        })
    }

    fn checkpoints(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Checkpoint>>> {
        self.read(|state| Ok(state.checkpoints.get(&thread).cloned().unwrap_or_default()))
    }
}

impl Blobs for MemoryStore {
    fn blob(&self, blob: BlobId) -> BoxFuture<'_, Result<Option<Bytes>>> {
        self.read(|state| Ok(state.blobs.get(&blob).cloned()))
    }
}

impl Feed for MemoryStore {
    fn feed(&self, after: FeedCursor, limit: usize) -> BoxFuture<'_, Result<Vec<FeedItem>>> {
        self.read(|state| {
            let rows = state.feed.range(after.0 + 1..).take(limit).filter_map(|(at, (thread, news))| {
                let news = match news {
                    News::Began(id) => FeedNews::Began(Box::new(state.segments.get(id)?.row.segment.clone())),
                    News::Entry(id, position) => {
                        FeedNews::Entry(Box::new(state.segments.get(id)?.entries.get(position)?.0.clone()))
                    }
                    News::Deleted => FeedNews::Deleted,
                };
                Some(FeedItem { cursor: FeedCursor(*at), thread: *thread, news })
            });
            Ok(rows.collect())
        })
    }

    fn latest(&self) -> BoxFuture<'_, Result<FeedCursor>> {
        self.read(|state| Ok(FeedCursor(state.last)))
    }

    fn signals(&self) -> &Signals {
        &self.signals
    }
}

impl Upkeep for MemoryStore {
    fn gc(&self, options: GcOptions, _progress: Progress) -> BoxFuture<'_, Result<GcReport>> {
        Box::pin(ready(self.lock().gc(options.now)))
    }

    fn rebuild(&self, _progress: Progress) -> BoxFuture<'_, Result<()>> {
        self.lock().rebuild();
        Box::pin(ready(Ok(())))
    }

    fn threads_by_prefix(&self, prefix: String, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>>> {
        self.read(|state| {
            let ids = state.threads.values().map(|thread| thread.id);
            let fits =
                |id: &ThreadId| id.to_string().starts_with(&prefix) || id.short().to_string().starts_with(&prefix);
            Ok(ids.filter(fits).take(limit).collect())
        })
    }

    fn all_threads(&self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.read(|state| {
            let from = after.map_or(0, |thread| thread.short().bits() + 1);
            Ok(state.threads.range(from..).map(|(_, thread)| thread.clone()).take(limit).collect())
        })
    }

    fn all_segments(&self, after: Option<SegmentId>, limit: usize) -> BoxFuture<'_, Result<Vec<SegmentRow>>> {
        self.read(|state| {
            let rows = state.segments.iter().filter(|(id, _)| after.is_none_or(|after| **id > after));
            Ok(rows.take(limit).map(|(_, state)| state.row.clone()).collect())
        })
    }

    fn all_blobs(&self, after: Option<BlobId>, limit: usize) -> BoxFuture<'_, Result<Vec<BlobId>>> {
        self.read(|state| {
            let ids = state.blobs.keys().filter(|id| after.is_none_or(|after| **id > after));
            Ok(ids.take(limit).copied().collect())
        })
    }

    fn import(&self, batch: ImportBatch) -> BoxFuture<'_, Result<()>> {
        let imported = self.lock().import(batch);
        self.signals.tell_all();
        Box::pin(ready(imported))
    }
}

impl StoredEntry {
    /// The body, if it lies with the entry.
    pub fn inline(&self) -> Option<&Bytes> {
        match &self.body {
            Body::Inline(bytes) => Some(bytes),
            Body::Blob(_) | Body::Absent => None,
        }
    }
}

//! The data of the store in memory, and how a commit changes it: all checks first, then the rows.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use threadkeep_model::{
    Account, Advanced, BlobId, CellIs, ChangeOp, Checkpoint, Commit, Committed, Create, Derived, Expect, Head,
    IdempotencyKey, ItemIs, ItemKind, Kind, Lease, MessageId, Position, ProcessId, QueuedId, Record, Relation, Role,
    SegmentId, Space, Thread, ThreadCommit, ThreadId, Timestamp, Write, advance, born,
};

use super::uploads::{Content, Uploads};
use crate::{
    Item, KeyQuery, KeyRow, LeaseAsk, Registered, RegistryKind, Remembered, Result, SegmentRow, StoreError,
    StoredEntry, Tombstone, held,
};

#[derive(Debug, Default)]
pub(super) struct State {
    /// Living threads by their short ids.
    pub(super) threads: BTreeMap<u64, Thread>,
    /// Deleted threads by their short ids.
    pub(super) tombstones: BTreeMap<u64, Tombstone>,
    pub(super) segments: BTreeMap<SegmentId, SegmentState>,
    pub(super) relations: Vec<Relation>,
    pub(super) checkpoints: HashMap<ThreadId, Vec<Checkpoint>>,
    /// Items by thread, kind and key.
    pub(super) items: BTreeMap<(ThreadId, ItemKind, String), ItemRow>,
    /// Messages that waited in a queue: where each lies now.
    pub(super) aliases: BTreeMap<MessageId, MessageId>,
    /// When the lease of each process ends.
    pub(super) processes: HashMap<ProcessId, Instant>,
    /// The last lease on each thread, held or not.
    pub(super) leases: HashMap<ThreadId, Lease>,
    pub(super) idempotency: HashMap<(ThreadId, Account, IdempotencyKey), KeyRow>,
    pub(super) blobs: BTreeMap<BlobId, Content>,
    pub(super) uploads: Uploads,
    pub(super) feed: BTreeMap<u64, (ThreadId, News)>,
    pub(super) last: u64,
    /// Documents beside threads, by kind and id.
    pub(super) registry: BTreeMap<(RegistryKind, String), Registered>,
    /// The notes of frozen accounts.
    pub(super) frozen: BTreeMap<Account, String>,
    /// The volumes of the search index.
    pub(super) index: super::shelves::Index,
    /// Until when nothing is freed, because an import is under way.
    pub(super) import_until: Timestamp,
}

#[derive(Debug)]
pub(super) struct SegmentState {
    pub(super) row: SegmentRow,
    pub(super) entries: BTreeMap<Position, (StoredEntry, Derived, Vec<BlobId>)>,
    pub(super) messages: BTreeMap<u64, (Position, Role, bool, u8)>,
    pub(super) changes: BTreeMap<(u64, Position, Position), ChangeOp>,
    pub(super) cells: BTreeMap<(Space, String, Position), (Timestamp, CellIs)>,
}

/// An item: where and when it was born, its newest entry, and when it is due.
#[derive(Debug)]
pub(super) struct ItemRow {
    pub(super) born: MessageId,
    pub(super) made: Timestamp,
    pub(super) newest: MessageId,
    pub(super) due: Option<Timestamp>,
}

#[derive(Debug)]
pub(super) enum News {
    Began(SegmentId),
    Entry(SegmentId, Position),
    Deleted,
}

/// The change of one thread by a commit, decided before the first write.
enum Step<'a> {
    Create(&'a Create, Advanced),
    Write(&'a Write, Advanced),
    Delete(ThreadId),
}

impl State {
    pub(super) fn living(&self, id: ThreadId) -> Result<&Thread> {
        let thread = self.threads.get(&id.short().bits()).filter(|thread| thread.id == id);
        thread.ok_or(StoreError::ThreadNotFound { thread: id })
    }

    pub(super) fn item(&self, key: &str, row: &ItemRow) -> Option<Item> {
        let (entry, ..) = self.segments.get(&row.newest.segment)?.entries.get(&row.newest.position)?;
        Some(Item { key: key.to_owned(), born: row.born, made: row.made, due: row.due, entry: entry.clone() })
    }

    fn expect(&self, id: ThreadId, expect: &Expect) -> Result<Head> {
        let head = self.living(id)?.head;
        expect.check(&head).map_err(|refusal| StoreError::refused(id, expect, refusal))?;
        Ok(head)
    }

    /// Refuses what the thread's exclusive writer keeps out.
    fn admit(&self, commit: &ThreadCommit, now: Timestamp) -> Result<()> {
        let (thread, expect) = match commit {
            ThreadCommit::Create(_) => return Ok(()),
            ThreadCommit::Write(write) => (write.thread, &write.expect),
            ThreadCommit::Delete { thread, expect } => (*thread, expect),
        };
        self.living(thread)?;
        Lease::admit(self.leases.get(&thread), commit, now)
            .map_err(|refusal| StoreError::refused(thread, expect, refusal))
    }

    pub(super) fn take_lease(&mut self, thread: ThreadId, ask: LeaseAsk) -> Result<Lease> {
        self.living(thread)?;
        let lease = ask.after(thread, self.leases.get(&thread))?;
        self.leases.insert(thread, lease.clone());
        Ok(lease)
    }

    /// Lets the lease under `token` end at another time.
    pub(super) fn set_lease(
        &mut self,
        thread: ThreadId,
        token: threadkeep_model::LeaseToken,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Lease> {
        self.living(thread)?;
        let lease = Lease { until, ..held(self.leases.get(&thread).cloned(), thread, token, now)? };
        self.leases.insert(thread, lease.clone());
        Ok(lease)
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The result that a key stands for.
    pub(super) fn remembered(&self, query: KeyQuery) -> Result<Option<Remembered>> {
        let since = query.since();
        let row = self.idempotency.get(&(query.thread, query.account, query.key));
        let row = row.filter(|row| row.first.time >= since);
        row.map(|row| row.remembered(|thread| Ok(self.living(thread)?.head))).transpose()
    }

    /// The result of an earlier commit under the same key, if there is one.
    fn replay(&self, commit: &Commit) -> Result<Option<Committed>> {
        let (Some(idempotency), Some(query)) = (&commit.idempotency, KeyQuery::of(commit)) else { return Ok(None) };
        self.remembered(query)?.map(|earlier| earlier.answer(&idempotency.hash)).transpose()
    }

    fn plan<'a>(&self, commit: &'a Commit) -> Result<Vec<Step<'a>>> {
        if commit.owner.is_some_and(|owner| !self.owns(owner)) {
            return Err(StoreError::ProcessLost);
        }
        for thread in &commit.threads {
            self.fence_thread(thread)?;
            self.admit(thread, commit.time)?;
        }
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

    pub(super) fn apply(&mut self, commit: &Commit) -> Result<Committed> {
        if let Some(first) = self.replay(commit)? {
            return Ok(first);
        }
        let steps = self.plan(commit)?;
        for (id, bytes) in &commit.blobs {
            self.blobs.insert(*id, Content::Here(bytes.clone()));
        }
        let mut threads = Vec::new();
        for step in steps {
            match step {
                Step::Create(create, advanced) => {
                    let thread = Thread {
                        id: create.thread,
                        account: create.account.clone(),
                        created: advanced.created(),
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
                        if let Some(owner) = &write.owner {
                            thread.account = owner.clone();
                        }
                        if let Some(record) = &write.record {
                            thread.record = record.clone();
                        }
                    }
                    threads.push(advanced.committed(write.thread));
                }
                Step::Delete(thread) => self.delete(Tombstone { thread, time: commit.time }),
            }
        }
        if let (Some(KeyQuery { account, thread, key, .. }), Some(row)) =
            (KeyQuery::of(commit), KeyRow::of(commit, &threads))
        {
            self.idempotency.insert((thread, account, key), row);
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
        for (entry, at) in entries.iter().zip(&advanced.places) {
            let stored = StoredEntry {
                segment: advanced.head.segment,
                position: at.position,
                kind: entry.kind,
                format: Kind::FORMAT,
                time: at.time,
                account: Arc::clone(&account),
                actor: Arc::clone(&actor),
                cause: commit.caller.cause.clone(),
                tally: at.tally,
                body: entry.body.clone(),
            };
            self.insert(thread, stored, entry.derived.clone(), entry.blobs.clone());
        }
    }

    pub(super) fn open(&mut self, row: SegmentRow) {
        let at = self.next();
        self.feed.insert(at, (row.segment.thread, News::Began(row.segment.id)));
        let state = SegmentState {
            row,
            entries: BTreeMap::new(),
            messages: BTreeMap::new(),
            changes: BTreeMap::new(),
            cells: BTreeMap::new(),
        };
        self.segments.insert(state.row.segment.id, state);
    }

    /// Puts an entry in its place, with the rows that follow from it.
    pub(super) fn insert(&mut self, thread: ThreadId, entry: StoredEntry, derived: Derived, blobs: Vec<BlobId>) {
        let at = self.next();
        self.feed.insert(at, (thread, News::Entry(entry.segment, entry.position)));
        self.derive(thread, &entry, &derived);
        if let Some(segment) = self.segments.get_mut(&entry.segment) {
            segment.entries.insert(entry.position, (entry, derived, blobs));
        }
    }

    pub(super) fn derive(&mut self, thread: ThreadId, entry: &StoredEntry, derived: &Derived) {
        let Some(segment) = self.segments.get_mut(&entry.segment) else { return };
        let place = MessageId { segment: entry.segment, position: entry.position };
        if let Some((role, silent, depth)) = derived.message() {
            segment.messages.insert(entry.tally.ordinals.saturating_sub(1), (entry.position, role, silent, depth));
        }
        match derived {
            Derived::Nothing | Derived::Message { .. } | Derived::State => {}
            Derived::Delivered { item, .. } => {
                for kind in [ItemKind::Queued, ItemKind::QueuedSilently] {
                    self.items.remove(&(thread, kind, item.to_string()));
                }
                self.aliases.insert(item.0, place);
            }
            Derived::Item { kind, key, is, due } => {
                let key = key.clone().unwrap_or_else(|| QueuedId(place).to_string());
                if let ItemIs::InsteadOf(before) = is {
                    self.items.remove(&(thread, *before, key.clone()));
                }
                let slot = self.items.entry((thread, *kind, key));
                match is {
                    ItemIs::There | ItemIs::InsteadOf(_) => {
                        let new = ItemRow { born: place, made: entry.time, newest: place, due: None };
                        let row = slot.or_insert(new);
                        (row.newest, row.due) = (place, *due);
                    }
                    ItemIs::Gone => {
                        if let std::collections::btree_map::Entry::Occupied(item) = slot {
                            item.remove();
                        }
                    }
                }
            }
            Derived::Change(change) => {
                for target in &change.targets {
                    segment.changes.insert((change.root, entry.position, *target), change.op);
                }
            }
            Derived::Cells { space, cells, .. } => {
                for cell in cells {
                    let key = (*space, cell.name.clone(), entry.position);
                    segment.cells.insert(key, (entry.time, cell.is.clone()));
                }
            }
            Derived::Relation { child, kind, index, anchor, comment } => {
                self.relations.retain(|relation| relation.parent != thread || relation.made != place);
                self.relations.push(Relation {
                    parent: thread,
                    child: *child,
                    kind: *kind,
                    made: place,
                    index: *index,
                    anchor: *anchor,
                    created: entry.time,
                    comment: comment.clone(),
                })
            }
            Derived::Checkpoint { name, version } => {
                let checkpoints = self.checkpoints.entry(thread).or_default();
                checkpoints.retain(|checkpoint| checkpoint.name != *name);
                checkpoints.push(Checkpoint { name: name.clone(), version: *version, created: entry.time });
            }
        }
    }

    pub(super) fn delete(&mut self, tombstone: Tombstone) {
        let thread = tombstone.thread;
        self.take_out(thread);
        self.tombstones.insert(thread.short().bits(), tombstone);
        let at = self.next();
        self.feed.insert(at, (thread, News::Deleted));
    }

    /// Takes a thread out of everything but the log.
    pub(super) fn take_out(&mut self, thread: ThreadId) {
        self.threads.remove(&thread.short().bits());
        self.relations.retain(|relation| relation.parent != thread && relation.child != thread);
        self.checkpoints.remove(&thread);
        self.items.retain(|(owner, ..), _| *owner != thread);
        self.leases.remove(&thread);
        self.idempotency.retain(|(owner, ..), _| *owner != thread);
    }
}

//! The store in memory: the reference for what a store promises. It forgets everything when it is dropped.
//!
//! Its data and the rules of commits are in [`state`], gc, rebuild and import in [`upkeep`].

mod fences;
mod processes;
mod registry;
mod shelves;
mod state;
mod upkeep;
mod uploads;

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use threadkeep_model::{
    Account, BlobId, CellIs, Checkpoint, Commit, Committed, Head, ItemKind, Lease, LeaseToken, MessageId, Position,
    QueuedId, Relation, Segment, SegmentId, Thread, ThreadCommit, ThreadId, ThreadName, Timestamp, Visibility,
};

use self::state::{News, State};
use crate::{
    Blobs, BoxFuture, Cell, CellPage, CellQuery, ChangeQuery, ChangeRow, Due, DueQuery, EntryQuery, Feed, FeedCursor,
    FeedItem, FeedNews, GcOptions, GcReport, HeldSnapshot, ImportBatch, Item, ItemList, ItemQuery, ItemsByKind,
    KeyQuery, LeaseAsk, Leases, LeftOutQuery, ListQuery, MessageQuery, Order, Progress, Related, Remembered, Result,
    SegmentRow, Signals, Snapshot, Store, StoreError, StoredEntry, Timers, Tombstone, Total, Upkeep, UploadId,
};

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
    signals: Signals,
}

impl MemoryStore {
    /// A store without threads.
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

    fn remembered(&self, query: KeyQuery) -> BoxFuture<'_, Result<Option<Remembered>>> {
        self.read(|state| state.remembered(query))
    }

    fn thread(&self, name: ThreadName) -> BoxFuture<'_, Result<Option<Thread>>> {
        self.read(|state| {
            let thread = state.threads.get(&name.short().bits());
            Ok(thread.filter(|thread| name.names(thread.id)).cloned())
        })
    }

    fn threads(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.read(|state| {
            let found = threads.iter().filter_map(|id| state.threads.get(&id.short().bits()));
            Ok(found.filter(|found| threads.contains(&found.id)).cloned().collect())
        })
    }

    fn owners(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<(ThreadId, Account, Visibility)>>> {
        self.read(|state| {
            let found = threads.into_iter().filter_map(|id| Some((id, state.threads.get(&id.short().bits())?)));
            let found = found.filter(|(id, found)| found.id == *id);
            Ok(found.map(|(id, found)| (id, found.account.clone(), found.record.visibility)).collect())
        })
    }

    fn head(&self, thread: ThreadId) -> BoxFuture<'_, Result<Option<Head>>> {
        self.read(|state| {
            let found = state.threads.get(&thread.short().bits());
            Ok(found.filter(|found| found.id == thread).map(|found| found.head))
        })
    }

    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.read(|state| {
            let place = |thread: &Thread| query.sort.place(thread).order();
            let after = query.after.map(|after| after.order());
            let mut threads: Vec<&Thread> = state
                .threads
                .values()
                .filter(|thread| thread.account == query.account && query.filter.matches(thread))
                .filter(|thread| after.is_none_or(|after| place(thread) < after))
                .collect();
            threads.sort_by_key(|thread| std::cmp::Reverse(place(thread)));
            Ok(threads.into_iter().skip(query.skip).take(query.limit).cloned().collect())
        })
    }

    fn count(&self, query: ListQuery) -> BoxFuture<'_, Result<Total>> {
        self.read(|state| {
            let mine = state.threads.values().filter(|thread| thread.account == query.account);
            let matching = mine.filter(|thread| query.filter.matches(thread));
            Ok(Total::of(matching.take(query.total_max() + 1).count() as u64, &query))
        })
    }

    fn chain(&self, segment: SegmentId, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        self.read(|state| {
            let find = |id: &SegmentId| state.segments.get(id).map(|state| &state.row.segment);
            let chain = std::iter::successors(find(&segment), |segment| find(&segment.link?.parent));
            Ok(chain.take(limit).cloned().collect())
        })
    }

    fn chains(&self, segments: Vec<SegmentId>, limit: usize) -> BoxFuture<'_, Result<Vec<Segment>>> {
        self.read(|state| {
            let mut found: BTreeMap<SegmentId, Segment> = BTreeMap::new();
            let mut next = segments;
            while let Some(id) = next.pop() {
                if found.len() < limit
                    && !found.contains_key(&id)
                    && let Some(state) = state.segments.get(&id)
                {
                    next.extend(state.row.segment.link.map(|link| link.parent));
                    found.insert(id, state.row.segment.clone());
                }
            }
            Ok(found.into_values().collect())
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
            let mut found = Vec::new();
            for (segment, ordinals) in query.spans {
                let Some(segment) = state.segments.get(&segment).filter(|_| !ordinals.is_empty()) else { continue };
                let rows = segment.messages.range(ordinals).filter_map(|(_, (position, role, silent, depth))| {
                    let entry = segment.entries.get(position).map(|(entry, ..)| entry)?;
                    query.filter.passes(*role, *silent, *depth).then(|| entry.clone())
                });
                found.extend(in_order(rows, query.order, query.limit - found.len()));
            }
            Ok(found)
        })
    }

    fn left_out(&self, query: LeftOutQuery) -> BoxFuture<'_, Result<Vec<u64>>> {
        self.read(|state| {
            let mut left_out = Vec::new();
            for (segment, ordinals) in query.spans {
                let Some(segment) = state.segments.get(&segment).filter(|_| !ordinals.is_empty()) else { continue };
                let rows = segment.messages.range(ordinals);
                let rows = rows.filter(|(_, (_, role, silent, depth))| !query.filter.passes(*role, *silent, *depth));
                left_out.extend(rows.map(|(ordinal, _)| *ordinal));
            }
            left_out.sort_unstable();
            Ok(left_out)
        })
    }

    fn changes(&self, query: ChangeQuery) -> BoxFuture<'_, Result<Vec<ChangeRow>>> {
        self.read(|state| {
            let mut found = Vec::new();
            if query.roots.is_empty() {
                return Ok(found);
            }
            let roots = |root| (root, Position::START, Position::START);
            for (id, positions) in query.spans {
                let Some(segment) = state.segments.get(&id) else { continue };
                let rows = segment.changes.range(roots(query.roots.start)..roots(query.roots.end));
                let rows = rows.filter(|((_, position, _), _)| positions.contains(position));
                found.extend(rows.map(|((root, position, target), op)| ChangeRow {
                    segment: id,
                    position: *position,
                    root: *root,
                    op: *op,
                    target: *target,
                }));
            }
            found.sort_by_key(|change| (change.root, change.position, change.target));
            Ok(found)
        })
    }

    fn relations(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<Vec<Related>>>> {
        self.read(|state| {
            let of = |thread: ThreadId| {
                let own = |relation: &&Relation| relation.parent == thread || relation.child == thread;
                let with_owner = |relation: &Relation| {
                    let other = if relation.parent == thread { relation.child } else { relation.parent };
                    let other = state.living(other).ok()?;
                    Some((relation.clone(), other.account.clone(), other.record.visibility))
                };
                let mut relations: Vec<_> = state.relations.iter().filter(own).filter_map(with_owner).collect();
                relations.sort_by_key(|(relation, ..)| (relation.created, relation.made));
                relations
            };
            Ok(threads.into_iter().map(of).collect())
        })
    }

    fn parents(&self, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<(Relation, Head)>>> {
        self.read(|state| {
            let above = state.relations.iter().filter(|relation| threads.contains(&relation.child));
            let with_head =
                |relation: &Relation| state.living(relation.parent).ok().map(|parent| (relation.clone(), parent.head));
            let mut above: Vec<_> = above.filter_map(with_head).collect();
            above.sort_by_key(|(relation, _)| (relation.created, relation.made));
            Ok(above)
        })
    }

    fn checkpoints(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Checkpoint>>> {
        self.read(|state| Ok(state.checkpoints.get(&thread).cloned().unwrap_or_default()))
    }

    fn items(&self, query: ItemQuery) -> BoxFuture<'_, Result<Vec<Item>>> {
        self.read(|state| {
            let own = state.items.iter().filter(|((thread, kind, key), _)| {
                *thread == query.thread && *kind == query.kind && query.key.as_ref().is_none_or(|wanted| wanted == key)
            });
            let mut items: Vec<Item> = own.filter_map(|((.., key), row)| state.item(key, row)).collect();
            items.sort_by_key(|item| item.born.position);
            items.truncate(query.limit);
            Ok(items)
        })
    }

    fn items_of(&self, threads: Vec<ThreadId>, kinds: Vec<ItemKind>) -> BoxFuture<'_, Result<Vec<ItemsByKind>>> {
        self.read(|state| {
            let of = |of: ThreadId| {
                let own = state.items.iter().filter(|((thread, kind, _), _)| *thread == of && kinds.contains(kind));
                let mut items: Vec<(ItemKind, Item)> =
                    own.filter_map(|((_, kind, key), row)| Some((*kind, state.item(key, row)?))).collect();
                items.sort_by_key(|(_, item)| item.born.position);
                items
            };
            Ok(threads.into_iter().map(of).collect())
        })
    }

    fn count_items(&self, query: ItemQuery) -> BoxFuture<'_, Result<usize>> {
        Box::pin(async move { Ok(self.items(query).await?.len()) })
    }

    fn cells(&self, query: CellQuery) -> BoxFuture<'_, Result<CellPage>> {
        self.read(|state| {
            let cell = |segment, (name, position): (&String, &Position), (time, is): &(Timestamp, CellIs)| Cell {
                segment,
                position: *position,
                time: *time,
                name: name.clone(),
                is: is.clone(),
            };
            let newest = |segment, until, from: &str, to: Option<&str>, limit| {
                let Some(state) = state.segments.get(&segment) else { return Ok(Vec::new()) };
                let mut found: Vec<Cell> = Vec::new();
                for ((space, name, position), held) in
                    state.cells.range((query.space, from.to_owned(), Position::START)..)
                {
                    if *space != query.space || to.is_some_and(|to| name.as_str() >= to) {
                        break;
                    }
                    if *position > until {
                        continue;
                    }
                    if found.last().is_some_and(|last| last.name == *name) {
                        found.pop();
                    }
                    if found.len() == limit {
                        break;
                    }
                    found.push(cell(segment, (name, position), held));
                }
                Ok(found)
            };
            let versions = |segment, until, name: &str, limit| {
                let Some(state) = state.segments.get(&segment) else { return Ok(Vec::new()) };
                let range = (query.space, name.to_owned(), Position::START)..=(query.space, name.to_owned(), until);
                let found = state.cells.range(range).rev().take(limit);
                Ok(found.map(|((_, name, position), held)| cell(segment, (name, position), held)).collect())
            };
            query.answer(newest, versions)
        })
    }

    fn item(&self, kind: ItemKind, key: String) -> BoxFuture<'_, Result<Option<(ThreadId, Item)>>> {
        self.read(|state| {
            let lives = |thread: &ThreadId| state.living(*thread).is_ok();
            let of_key = |own: &ItemKind, name: &String| *own == kind && *name == key;
            let mut own = state.items.iter().filter(|((thread, own, name), _)| of_key(own, name) && lives(thread));
            Ok(own.find_map(|((thread, ..), row)| Some((*thread, state.item(&key, row)?))))
        })
    }

    fn all_items(&self, list: ItemList) -> BoxFuture<'_, Result<Vec<(ThreadId, Item)>>> {
        self.read(|state| {
            let of_kind = state.items.iter().filter(|((_, kind, _), _)| *kind == list.kind);
            let of_account = of_kind.filter(|((thread, ..), _)| {
                let owner = state.living(*thread).ok().map(|thread| &thread.account);
                owner.is_some_and(|owner| list.account.as_ref().is_none_or(|account| account == owner))
            });
            let mut items: Vec<(ThreadId, Item)> =
                of_account.filter_map(|((thread, _, key), row)| Some((*thread, state.item(key, row)?))).collect();
            items.sort_by(|(_, one), (_, other)| (one.made, &one.key).cmp(&(other.made, &other.key)));
            items.retain(|(_, item)| {
                list.after.as_ref().is_none_or(|(made, key)| (item.made, &item.key) > (*made, key))
            });
            items.truncate(list.limit);
            Ok(items)
        })
    }

    fn delivered(&self, queued: QueuedId) -> BoxFuture<'_, Result<Option<MessageId>>> {
        self.read(|state| Ok(state.aliases.get(&queued.0).copied()))
    }

    fn subagents(&self, main: ThreadId) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.read(|state| {
            let own = state.threads.values().filter(|thread| thread.record.main_thread_id == Some(main));
            let mut threads: Vec<Thread> = own.cloned().collect();
            threads.sort_by_key(|thread| (thread.created, thread.id.short()));
            Ok(threads)
        })
    }
}

impl Timers for MemoryStore {
    fn due(&self, query: DueQuery) -> BoxFuture<'_, Result<Vec<Due>>> {
        self.read(|state| {
            let of_kind = state.items.iter().filter(|((_, kind, _), _)| *kind == query.kind);
            let waiting = of_kind.filter_map(|((thread, kind, key), row)| {
                let due = row.due.filter(|due| *due <= query.until && state.living(*thread).is_ok())?;
                Some(Due { due, thread: *thread, kind: *kind, key: key.clone() })
            });
            let after = |due: &Due| query.after.as_ref().is_none_or(|(at, key)| (due.due, &due.key) > (*at, key));
            let mut found: Vec<Due> = waiting.filter(after).collect();
            found.sort_by(|one, other| (one.due, &one.key).cmp(&(other.due, &other.key)));
            found.truncate(query.limit);
            Ok(found)
        })
    }

    fn next_due(&self, kind: ItemKind, after: Timestamp) -> BoxFuture<'_, Result<Option<Timestamp>>> {
        self.read(|state| {
            let of_kind = state.items.iter().filter(|((_, own, _), _)| *own == kind);
            let living = of_kind.filter(|((thread, ..), _)| state.living(*thread).is_ok());
            Ok(living.filter_map(|(_, row)| row.due).filter(|due| *due > after).min())
        })
    }
}

impl Blobs for MemoryStore {
    fn blob(&self, blob: BlobId) -> BoxFuture<'_, Result<Option<Bytes>>> {
        self.read(|state| state.blobs.get(&blob).map(|found| found.bytes(blob).cloned()).transpose())
    }

    fn blobs(&self, blobs: Vec<BlobId>) -> BoxFuture<'_, Result<Vec<Option<Bytes>>>> {
        let found =
            |state: &State, blob: &BlobId| state.blobs.get(blob).map(|found| found.bytes(*blob).cloned()).transpose();
        self.read(|state| blobs.iter().map(|blob| found(state, blob)).collect())
    }

    fn blob_part(&self, blob: BlobId, range: std::ops::Range<u64>) -> BoxFuture<'_, Result<Option<Bytes>>> {
        self.read(|state| {
            let part = |bytes: &Bytes| {
                let end = range.end.min(bytes.len() as u64);
                bytes.slice(range.start.min(end) as usize..end as usize)
            };
            state.blobs.get(&blob).map(|found| found.bytes(blob).map(part)).transpose()
        })
    }

    fn begin_upload(&self, now: Timestamp) -> BoxFuture<'_, Result<UploadId>> {
        Box::pin(ready(Ok(self.lock().uploads.begin(now))))
    }

    fn add_to_upload(&self, upload: UploadId, at: u64, bytes: Bytes) -> BoxFuture<'_, Result<()>> {
        Box::pin(ready(self.lock().uploads.add(upload, at, &bytes)))
    }

    fn finish_upload(&self, upload: UploadId, blob: BlobId, size: u64) -> BoxFuture<'_, Result<()>> {
        Box::pin(ready(self.lock().finish_upload(upload, blob, size)))
    }

    fn finish_elsewhere(&self, upload: UploadId, blob: BlobId, size: u64) -> BoxFuture<'_, Result<bool>> {
        Box::pin(ready(self.lock().finish_elsewhere(upload, blob, size)))
    }

    fn objects_in_use(&self, objects: Vec<UploadId>) -> BoxFuture<'_, Result<Vec<UploadId>>> {
        self.read(|state| Ok(objects.iter().copied().filter(|object| state.uses_object(*object)).collect()))
    }

    fn end_upload(&self, upload: UploadId) -> BoxFuture<'_, Result<()>> {
        self.lock().uploads.end(upload);
        Box::pin(ready(Ok(())))
    }
}

impl Leases for MemoryStore {
    fn take(&self, thread: ThreadId, ask: LeaseAsk) -> BoxFuture<'_, Result<Lease>> {
        Box::pin(ready(self.lock().take_lease(thread, ask)))
    }

    fn renew(
        &self,
        thread: ThreadId,
        token: LeaseToken,
        ttl_micros: i64,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Lease>> {
        Box::pin(ready(self.lock().set_lease(thread, token, now, now.plus_micros(ttl_micros))))
    }

    fn release(&self, thread: ThreadId, token: LeaseToken, now: Timestamp) -> BoxFuture<'_, Result<bool>> {
        let released = match self.lock().set_lease(thread, token, now, now) {
            Ok(_) => Ok(true),
            Err(StoreError::WriterLost { .. }) => Ok(false),
            Err(error) => Err(error),
        };
        Box::pin(ready(released))
    }

    fn lease(&self, thread: ThreadId, now: Timestamp) -> BoxFuture<'_, Result<Option<Lease>>> {
        self.read(|state| {
            state.living(thread)?;
            Ok(state.leases.get(&thread).filter(|lease| lease.holds(now)).cloned())
        })
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

    fn compact(&self, _progress: Progress) -> BoxFuture<'_, Result<u64>> {
        Box::pin(ready(Ok(0)))
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

    fn segment_rows(&self, segments: Vec<SegmentId>) -> BoxFuture<'_, Result<Vec<SegmentRow>>> {
        self.read(|state| {
            let found = segments.iter().filter_map(|id| state.segments.get(id));
            Ok(found.map(|state| state.row.clone()).collect())
        })
    }

    fn snapshot(&self, account: Option<Account>) -> BoxFuture<'_, Result<Box<dyn Snapshot>>> {
        self.read(|state| {
            let threads = state.threads.values();
            let threads = threads.filter(|thread| account.as_ref().is_none_or(|account| thread.account == *account));
            let rows = state.segments.values().map(|state| state.row.clone()).collect();
            let entries = state.segments.values().map(|state| state.entries.len() as u64).sum();
            let held = HeldSnapshot::new(threads.cloned().collect(), rows, entries);
            Ok(Box::new(held.with_deleted(state.tombstones.values().copied().collect())) as Box<dyn Snapshot>)
        })
    }

    fn all_blobs(&self, after: Option<BlobId>, limit: usize) -> BoxFuture<'_, Result<Vec<BlobId>>> {
        self.read(|state| {
            let ids = state.blobs.keys().filter(|id| after.is_none_or(|after| **id > after));
            Ok(ids.take(limit).copied().collect())
        })
    }

    fn all_tombstones(&self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Tombstone>>> {
        self.read(|state| {
            let from = after.map_or(0, |thread| thread.short().bits() + 1);
            Ok(state.tombstones.range(from..).map(|(_, tombstone)| *tombstone).take(limit).collect())
        })
    }

    fn check_lists(&self, _limit: usize) -> BoxFuture<'_, Result<Vec<String>>> {
        // Lists are read from the threads themselves.
        Box::pin(ready(Ok(Vec::new())))
    }

    fn import(&self, batch: ImportBatch) -> BoxFuture<'_, Result<()>> {
        let imported = self.lock().import(batch);
        self.signals.tell_all();
        Box::pin(ready(imported))
    }
}

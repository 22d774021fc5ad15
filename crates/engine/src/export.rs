//! Export and import: the log as it is, so that sharing is kept and a round trip is exact.
//!
//! An export is a list of items: segments with the entries that are seen in them, the blobs these name, and the
//! threads. Everything derived is left out; it follows from the rest.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::{
    Account, Actor, BlobId, Body, Bounds, Entry, Head, Kind, Position, Record, SegmentId, Tally, Thread, ThreadId,
    Timestamp, Version, reachable,
};
use threadkeep_store::{EntryQuery, ImportBatch, ImportedEntry, Order, SegmentRow, StoreError, StoredEntry};

use crate::incoming::Incoming;
use crate::{Engine, Error, Result};

/// Rows read or written at once.
const MOVED_AT_ONCE: usize = 500;
/// How often threads are read again that others wrote to while an export began.
const READ_AGAIN_MAX: usize = 16;
/// Bytes of blobs written at once.
const BLOB_BYTES_AT_ONCE: usize = 4 << 20;

/// What to export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// One thread, with all that its lineage shares with others.
    Thread(ThreadId),
    /// Every thread of the account, each shared segment once.
    All,
}

/// One item of an export.
#[derive(Debug, Clone, PartialEq)]
pub enum ExportItem {
    /// A segment.
    Segment(SegmentRow),
    /// A large value that entries name.
    Blob(BlobId, Bytes),
    /// An entry of a segment that came before.
    Entry {
        /// The segment.
        segment: SegmentId,
        /// The position.
        position: Position,
        /// The kind.
        kind: Kind,
        /// The format of the body.
        format: u8,
        /// When.
        time: Timestamp,
        /// The account that answers for it.
        account: Account,
        /// Who did it.
        actor: Actor,
        /// What led to it.
        cause: Option<String>,
        /// The tally after it.
        tally: Tally,
        /// The body, with the entry or by its blob.
        body: Body,
    },
    /// A thread, after all its segments.
    Thread {
        /// Its identity.
        id: ThreadId,
        /// Its owner.
        account: Account,
        /// Where it stands.
        version: Version,
        /// The segment it writes to.
        segment: SegmentId,
        /// Its era.
        era: u64,
        /// Its fence.
        fence: u64,
        /// Its record.
        record: Record,
    },
}

/// What an export consists of.
struct Selected {
    threads: Vec<Thread>,
    rows: BTreeMap<SegmentId, SegmentRow>,
    reach: HashMap<SegmentId, Bounds>,
}

impl Engine {
    /// Gives every item of an export to `sink`, in an order in which it can be imported.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; whatever `sink` refuses.
    pub async fn export<E: From<Error>>(
        &self,
        selection: Selection,
        mut sink: impl FnMut(ExportItem) -> Result<(), E>,
    ) -> Result<(), E> {
        let Selected { threads, rows, reach } = self.snapshot(selection).await?;
        let heads: HashMap<ThreadId, Version> = threads.iter().map(|thread| (thread.id, thread.head.version)).collect();
        let mut order: Vec<&SegmentRow> = rows.values().filter(|row| reach.contains_key(&row.segment.id)).collect();
        order.sort_by_key(|row| (row.order(), row.segment.id));
        let mut sent = HashSet::new();
        for row in order {
            sink(ExportItem::Segment(row.clone()))?;
            let bounds = reach.get(&row.segment.id).copied().unwrap_or(Bounds::all(Position::START));
            let head = heads.get(&row.segment.thread);
            let mut from = row.segment.first;
            loop {
                let some = self.some_entries(row.segment.id, from).await?;
                let Some(last) = some.last() else { break };
                from = last.position.next();
                for entry in some {
                    let seen = head.copied().unwrap_or_else(|| bounds.of(entry.kind.class()));
                    if entry.position <= seen {
                        self.export_entry(entry, &mut sent, &mut sink).await?;
                    }
                }
            }
        }
        for thread in threads {
            let Head { version, segment, era, fence, .. } = thread.head;
            let Thread { id, account, record, .. } = thread;
            sink(ExportItem::Thread { id, account, version, segment, era, fence, record })?;
        }
        Ok(())
    }

    /// Threads and segments that fit each other, although others write meanwhile: each thread as it was when it was
    /// read, and none read before something that another one sees of it.
    async fn snapshot(&self, selection: Selection) -> Result<Selected> {
        let mut threads = self.selected(selection).await?;
        for _ in 0..READ_AGAIN_MAX {
            let heads: HashMap<ThreadId, Head> = threads.iter().map(|thread| (thread.id, thread.head)).collect();
            let living: HashSet<ThreadId> = heads.keys().copied().collect();
            let mut rows = self.segments_of(selection, &threads).await?;
            let owners: HashMap<SegmentId, ThreadId> =
                rows.values().map(|row| (row.segment.id, row.segment.thread)).collect();
            rows.retain(|id, row| {
                let head = heads.get(&row.segment.thread);
                head.is_none_or(|head| *id == head.segment || row.segment.first <= head.version)
            });
            let segments: Vec<_> = rows.values().map(|row| row.segment.clone()).collect();
            let reach = reachable(&segments, &living);
            let links = segments.iter().filter(|segment| reach.contains_key(&segment.id)).filter_map(|seen| seen.link);
            let behind: HashSet<ThreadId> = links
                .filter_map(|link| owners.get(&link.parent).map(|owner| (*owner, link.bounds.highest())))
                .filter(|(owner, seen)| heads.get(owner).is_some_and(|head| *seen > head.version))
                .map(|(owner, _)| owner)
                .collect();
            if behind.is_empty() {
                return Ok(Selected { threads, rows, reach });
            }
            for thread in threads.iter_mut().filter(|thread| behind.contains(&thread.id)) {
                *thread = self.thread(thread.id).await?;
            }
        }
        Err(Error::Busy)
    }

    async fn selected(&self, selection: Selection) -> Result<Vec<Thread>> {
        let mut threads = Vec::new();
        match selection {
            Selection::Thread(id) => threads.push(self.thread(id).await?),
            Selection::All => {
                let mut after = None;
                loop {
                    let some = self.shared.stores.upkeep.all_threads(after, MOVED_AT_ONCE).await?;
                    let Some(last) = some.last() else { break };
                    after = Some(last.id);
                    threads.extend(some.into_iter().filter(|thread| thread.account == self.caller.account));
                }
            }
        }
        Ok(threads)
    }

    /// The segments of `threads` and all they grew from.
    async fn segments_of(&self, selection: Selection, threads: &[Thread]) -> Result<BTreeMap<SegmentId, SegmentRow>> {
        let mut wanted = HashSet::new();
        if let Selection::Thread(_) = selection {
            for thread in threads {
                for own in self.shared.stores.store.segments(thread.id, Position::END, usize::MAX).await? {
                    let lineage = self.lineage(own.id).await?;
                    wanted.extend(lineage.chain().map(|link| link.segment.id));
                }
            }
        }
        let mut rows = BTreeMap::new();
        let mut after = None;
        loop {
            let some = self.shared.stores.upkeep.all_segments(after, MOVED_AT_ONCE).await?;
            let Some(last) = some.last() else { return Ok(rows) };
            after = Some(last.segment.id);
            let wanted = some.into_iter().filter(|row| selection == Selection::All || wanted.contains(&row.segment.id));
            rows.extend(wanted.map(|row| (row.segment.id, row)));
        }
    }

    async fn some_entries(&self, segment: SegmentId, from: Position) -> Result<Vec<StoredEntry>> {
        let positions = from..=Position::END;
        let query = EntryQuery { segment, positions, order: Order::Ascending, limit: MOVED_AT_ONCE };
        Ok(self.shared.stores.store.entries(query).await?)
    }

    async fn export_entry<E: From<Error>>(
        &self,
        entry: StoredEntry,
        sent: &mut HashSet<BlobId>,
        sink: &mut impl FnMut(ExportItem) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut named = Vec::from_iter(entry.large());
        named.extend(self.decode(&entry).await?.blobs());
        for id in named {
            if sent.insert(id) {
                let bytes = self.shared.stores.blobs.blob(id).await.map_err(Error::from)?;
                let missing = || StoreError::corrupt(format!("blob {id} is missing"));
                sink(ExportItem::Blob(id, bytes.ok_or_else(missing).map_err(Error::from)?))?;
            }
        }
        let StoredEntry { segment, position, kind, format, time, account, actor, cause, tally, body } = entry;
        let (account, actor) = ((*account).clone(), (*actor).clone());
        sink(ExportItem::Entry { segment, position, kind, format, time, account, actor, cause, tally, body })
    }

    /// Takes in what another store exported.
    pub fn importer(&self) -> Importer {
        Importer {
            engine: self.clone(),
            batch: ImportBatch::default(),
            blob_bytes: 0,
            bodies: HashMap::new(),
            actors: HashMap::new(),
            incoming: Incoming::default(),
            imported: 0,
        }
    }
}

/// Takes in the items of an export, in batches. A thread appears with the batch that brings it.
pub struct Importer {
    engine: Engine,
    batch: ImportBatch,
    blob_bytes: usize,
    /// The bodies among the blobs of this batch: what follows from them is needed with their entries.
    bodies: HashMap<BlobId, Bytes>,
    actors: HashMap<(Account, Actor), (Arc<Account>, Arc<Actor>)>,
    incoming: Incoming,
    imported: u64,
}

impl Importer {
    /// Takes in one item.
    ///
    /// # Errors
    /// [`StoreError::Import`] if it does not fit what is here; what came before stays, and can be imported again.
    pub async fn push(&mut self, item: ExportItem) -> Result<()> {
        match item {
            ExportItem::Segment(row) => self.push_segment(row).await?,
            ExportItem::Blob(id, bytes) => {
                if BlobId::of(&bytes) != id {
                    return Err(clash(format!("blob {id} does not have the content its hash says")));
                }
                self.blob_bytes += bytes.len();
                self.bodies.insert(id, bytes.clone());
                self.batch.blobs.push((id, bytes));
            }
            ExportItem::Entry { segment, position, kind, format, time, account, actor, cause, tally, body } => {
                let (account, actor) = self
                    .actors
                    .entry((account.clone(), actor.clone()))
                    .or_insert_with(|| (Arc::new(account), Arc::new(actor)))
                    .clone();
                let entry = StoredEntry { segment, position, kind, format, time, account, actor, cause, tally, body };
                self.push_entry(entry).await?;
            }
            ExportItem::Thread { id, account, version, segment, era, fence, record } => {
                // The head follows from what came before; other threads may come in the same batch.
                if !self.batch.segments.is_empty() || !self.batch.entries.is_empty() {
                    self.flush(false).await?;
                }
                self.incoming.thread(id).map_err(clash)?;
                let thread = self.thread(id, account, version, segment, (era, fence), record).await?;
                self.batch.threads.push(thread);
                self.imported += 1;
            }
        }
        let rows = self.batch.segments.len() + self.batch.entries.len() + self.batch.threads.len();
        if rows >= MOVED_AT_ONCE || self.blob_bytes >= BLOB_BYTES_AT_ONCE {
            self.flush(false).await?;
        }
        Ok(())
    }

    /// Ends the import, and says how many threads it brought.
    ///
    /// # Errors
    /// As [`Importer::push`].
    pub async fn finish(mut self) -> Result<u64> {
        self.flush(true).await?;
        Ok(self.imported)
    }

    async fn push_segment(&mut self, row: SegmentRow) -> Result<()> {
        // What it grew from comes before it or is here, so that no lineage runs in a circle.
        if let Some(link) = row.segment.link
            && !self.incoming.brought(link.parent)
            && self.engine.shared.stores.store.chain(link.parent, 1).await?.is_empty()
        {
            return Err(clash(format!("segment {} grew from {}, which is missing", row.segment.id, link.parent)));
        }
        self.incoming.segment(&row).map_err(clash)?;
        self.batch.segments.push(row);
        Ok(())
    }

    async fn push_entry(&mut self, entry: StoredEntry) -> Result<()> {
        let place = format!("entry {} of segment {}", entry.position, entry.segment);
        let body = match &entry.body {
            Body::Inline(bytes) => bytes.clone(),
            Body::Blob(id) => match self.bodies.get(id) {
                Some(bytes) => bytes.clone(),
                None => match self.engine.shared.stores.blobs.blob(*id).await? {
                    Some(bytes) => bytes,
                    None => return Err(clash(format!("{place} names blob {id}, which is missing"))),
                },
            },
            Body::Absent => return Err(clash(format!("{place} has no body"))),
        };
        let decoded = Entry::decode(entry.kind, entry.format, &body)
            .map_err(|what| clash(format!("{place} cannot be read: {what}")))?;
        self.incoming.entry(&entry, &decoded, body.len()).map_err(clash)?;
        let mut blobs = decoded.blobs();
        blobs.extend(entry.large());
        self.batch.entries.push(ImportedEntry { derived: decoded.derived(), blobs, entry });
        Ok(())
    }

    /// A thread with its head, which follows from the last entry of its newest segment.
    async fn thread(
        &self,
        id: ThreadId,
        account: Account,
        version: Version,
        segment: SegmentId,
        (era, fence): (u64, u64),
        record: Record,
    ) -> Result<Thread> {
        let lineage =
            self.engine.lineage(segment).await.map_err(|_| {
                clash(format!("thread {id} builds on segment {segment}, and its lineage is not complete"))
            })?;
        let newest = &lineage.segment;
        if newest.thread != id {
            return Err(clash(format!("segment {segment} does not belong to thread {id}")));
        }
        let last = self.engine.entry_before(newest, version).await?;
        let told = last.as_ref().map_or(newest.first.previous(), |entry| entry.position);
        if told != version {
            return Err(clash(format!("thread {id} is at version {version}, but its entries end at {told}")));
        }
        let updated = last.as_ref().map_or(newest.created, |entry| entry.time);
        let tally = last.as_ref().map_or(newest.birth, |entry| entry.tally);
        let own = self.engine.shared.stores.store.segments(id, Position::END, usize::MAX).await?;
        let created = own.last().map_or(newest.created, |first| first.created);
        let head = Head { version, segment, era, fence, updated, tally };
        Ok(Thread { id, account, created, head, record })
    }

    async fn flush(&mut self, finished: bool) -> Result<()> {
        let mut batch = std::mem::take(&mut self.batch);
        batch.finished = finished;
        batch.now = self.engine.shared.world.now();
        self.bodies.clear();
        self.blob_bytes = 0;
        Ok(self.engine.shared.stores.upkeep.import(batch).await?)
    }
}

fn clash(what: String) -> Error {
    StoreError::Import { what }.into()
}

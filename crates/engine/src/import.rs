//! Import: takes in the export of another store, in batches, and only data that could have been written here.
//!
//! Whether an item may come in is decided next door, in `incoming`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::{
    Account, Actor, BlobId, Body, Derived, Entry, Head, Position, Record, SegmentId, Tally, Thread, ThreadId,
    Timestamp, Version,
};
use threadkeep_store::{BoxFuture, ImportBatch, ImportedEntry, SegmentRow, StoreError, StoredEntry, Tombstone};

use crate::export::{ExportItem, MOVED_AT_ONCE};
use crate::incoming::Incoming;
use crate::{Engine, Error, Result};

/// Batches in which the threads of a large import appear, and the most threads of one.
const THREAD_BATCHES: u64 = 10;
const THREADS_AT_ONCE_MAX: usize = 20_000;
/// Bytes of blobs written at once.
const BLOB_BYTES_AT_ONCE: usize = 4 << 20;

impl Engine {
    /// Takes in the export of another store.
    pub fn importer(&self) -> Importer {
        Importer {
            engine: self.clone(),
            batch: ImportBatch::default(),
            blob_bytes: 0,
            bodies: HashMap::new(),
            actors: HashMap::new(),
            incoming: Incoming::default(),
            imported: 0,
            known: 0,
            lost: HashSet::new(),
            threads_at_once: MOVED_AT_ONCE,
            held_until: None,
        }
    }
}

/// An entry that may come in.
enum Checked {
    Read(Box<Entry>),
    /// Its body is damaged, and this follows from its row.
    Damaged(Derived),
}

/// Takes in the items of an export, in batches. A thread appears with the batch that brings it.
pub struct Importer {
    engine: Engine,
    pub(crate) batch: ImportBatch,
    blob_bytes: usize,
    /// The bodies among the blobs of this batch: their entries cannot be decoded and checked without them.
    bodies: HashMap<BlobId, Bytes>,
    actors: HashMap<(Account, Actor), (Arc<Account>, Arc<Actor>)>,
    incoming: Incoming,
    imported: u64,
    known: u64,
    /// Blobs that could not be read where they come from. Entries that name them come without them.
    lost: HashSet<BlobId>,
    /// Threads that appear at once.
    threads_at_once: usize,
    /// Until when the store frees nothing, once it was asked to.
    held_until: Option<Timestamp>,
}

impl Importer {
    /// Takes in one item.
    ///
    /// # Errors
    /// [`StoreError::Import`] if it does not fit the store; earlier items stay, and can be imported again.
    /// [`Error::NotAllowed`] for an agent.
    pub fn push(&mut self, item: ExportItem) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            if self.engine.is_agent() {
                // An import brings whole logs, with the approvals and delegations in them.
                return Err(Error::NotAllowed { what: "an agent cannot import threads: a human has to".to_owned() });
            }
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
                ExportItem::Lost(id) => drop(self.lost.insert(id)),
                ExportItem::Entry { segment, position, kind, format, time, account, actor, cause, tally, body } => {
                    let (account, actor) = self
                        .actors
                        .entry((account.clone(), actor.clone()))
                        .or_insert_with(|| (Arc::new(account), Arc::new(actor)))
                        .clone();
                    let entry =
                        StoredEntry { segment, position, kind, format, time, account, actor, cause, tally, body };
                    self.push_entry(entry).await?;
                }
                ExportItem::Thread { id, account, version, segment, era, fence, record } => {
                    // The head follows from earlier items; other threads may come in the same batch.
                    if !self.batch.segments.is_empty() || !self.batch.entries.is_empty() {
                        self.flush(false).await?;
                    }
                    self.incoming.thread(id).map_err(clash)?;
                    let thread = self.thread(id, account, version, segment, (era, fence), record).await?;
                    self.batch.threads.push(thread);
                    self.imported += 1;
                    self.known += u64::from(self.engine.shared.stores.store.head(id).await?.is_some());
                }
            }
            let rows = self.batch.segments.len() + self.batch.entries.len();
            let is_full = rows >= MOVED_AT_ONCE || self.batch.threads.len() >= self.threads_at_once;
            if is_full || self.blob_bytes >= BLOB_BYTES_AT_ONCE {
                self.flush(false).await?;
            }
            Ok(())
        })
    }

    /// Says that so many threads come, and that no one else writes meanwhile: they may appear in large batches.
    ///
    /// Each batch writes most pages of the indexes for lists, so the number of batches must not grow with the store.
    pub fn expect(&mut self, threads: u64) {
        let tenth = usize::try_from(threads / THREAD_BATCHES).unwrap_or(THREADS_AT_ONCE_MAX);
        self.threads_at_once = tenth.clamp(MOVED_AT_ONCE, THREADS_AT_ONCE_MAX);
    }

    /// Takes in that a thread was deleted elsewhere: its id stays refused here too.
    ///
    /// # Errors
    /// [`StoreError::Import`] if it lives here.
    pub fn push_deleted(&mut self, tombstone: Tombstone) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.batch.tombstones.push(tombstone);
            if self.batch.tombstones.len() >= MOVED_AT_ONCE { self.flush(false).await } else { Ok(()) }
        })
    }

    /// Threads so far that were in this store before the import, and are left as they are.
    pub fn known(&self) -> u64 {
        self.known
    }

    /// Ends the import, and says how many threads it held.
    ///
    /// # Errors
    /// As [`Importer::push`].
    pub fn finish(mut self) -> BoxFuture<'static, Result<u64>> {
        Box::pin(async move {
            self.flush(true).await?;
            Ok(self.imported)
        })
    }

    async fn push_segment(&mut self, row: SegmentRow) -> Result<()> {
        // The segment it grew from comes before it or is in the store, so no lineage is a cycle.
        if let Some(link) = row.segment.link
            && !self.batch.segments.iter().any(|brought| brought.segment.id == link.parent)
            && self.engine.shared.stores.store.chain(link.parent, 1).await?.is_empty()
        {
            return Err(clash(format!("segment {} grew from {}, which is missing", row.segment.id, link.parent)));
        }
        self.incoming.segment(&row).map_err(clash)?;
        self.batch.segments.push(row);
        Ok(())
    }

    async fn push_entry(&mut self, entry: StoredEntry) -> Result<()> {
        let (derived, blobs) = match self.check_entry(&entry, &[]).await? {
            Checked::Read(decoded) => {
                let named = decoded.blobs().into_iter().chain(entry.large());
                (decoded.derived(), named.filter(|blob| !self.lost.contains(blob)).collect())
            }
            Checked::Damaged(derived) => (derived, Vec::new()),
        };
        self.batch.entries.push(ImportedEntry { derived, blobs, entry });
        Ok(())
    }

    /// Skips an entry that the store has already, with its blobs `brought`: later items are checked as if it had been
    /// pushed.
    pub(crate) async fn pass(&mut self, entry: &StoredEntry, brought: &[(BlobId, Bytes)]) -> Result<()> {
        self.check_entry(entry, brought).await?;
        self.hold().await
    }

    /// Goes on with the segment that came last after an entry of it that the store has, with the tally after it.
    pub(crate) fn resume(&mut self, after: Position, tally: Tally) {
        self.incoming.resume(after, tally);
    }

    /// Writes what came so far.
    pub(crate) async fn write(&mut self) -> Result<()> {
        self.flush(false).await
    }

    /// Sees to it that the store frees nothing, however long nothing is written.
    pub(crate) async fn hold(&mut self) -> Result<()> {
        let soon = self.engine.shared.now().plus_micros(ImportBatch::KEPT_MICROS / 2);
        if self.held_until.is_none_or(|until| until < soon) { self.flush(false).await } else { Ok(()) }
    }

    /// An entry, decoded, if it may come in here. A body that is a blob is among `brought`, in this batch, or here.
    async fn check_entry(&mut self, entry: &StoredEntry, brought: &[(BlobId, Bytes)]) -> Result<Checked> {
        let place = format!("entry {} of segment {}", entry.position, entry.segment);
        let body = match &entry.body {
            Body::Inline(bytes) => bytes.clone(),
            Body::Blob(id) => {
                let missing = || clash(format!("{place} names blob {id}, which is missing"));
                match brought.iter().find(|(other, _)| other == id) {
                    Some((_, bytes)) => bytes.clone(),
                    None => self.blob(*id).await?.ok_or_else(missing)?,
                }
            }
            Body::Damaged => return Ok(Checked::Damaged(self.incoming.damaged(entry).map_err(clash)?)),
            Body::Absent => return Err(clash(format!("{place} has no body"))),
        };
        let decoded = Entry::decode(entry.kind, entry.format, &body)
            .map_err(|what| clash(format!("{place} cannot be read: {what}")))?;
        self.incoming.entry(entry, &decoded, body.len()).map_err(clash)?;
        Ok(Checked::Read(Box::new(decoded)))
    }

    /// A blob of this batch, or one that is here.
    async fn blob(&self, id: BlobId) -> Result<Option<Bytes>> {
        match self.bodies.get(&id) {
            Some(bytes) => Ok(Some(bytes.clone())),
            None => Ok(self.engine.shared.stores.blobs.blob(id).await?),
        }
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
        batch.now = self.engine.shared.now();
        self.held_until = Some(batch.kept_until());
        self.bodies.clear();
        self.blob_bytes = 0;
        Ok(self.engine.shared.take_in(batch).await?)
    }
}

fn clash(what: String) -> Error {
    StoreError::Import { what }.into()
}

//! Export: the log as it is, so that sharing is kept and a round trip is exact. Import is next door, in `import`.
//!
//! An export is a list of items: segments with the entries that are seen in them, the blobs these name, and the
//! threads. Everything derived is left out; it follows from the rest. So does the order: two stores that hold the same
//! threads export the same items in the same order.

use std::collections::{HashMap, HashSet, VecDeque};

use bytes::Bytes;
use threadkeep_model::{
    Account, Actor, BlobId, Body, Head, Kind, Position, Record, SegmentId, Tally, Thread, ThreadId, Timestamp, Version,
    reachable,
};
use threadkeep_store::{
    BoxFuture, EntryQuery, HeldSnapshot, Order, SeenSegment, SegmentRow, Snapshot, SnapshotSize, StoreError,
    StoredEntry, Tombstone,
};

use crate::copied::{Copied, Left};
use crate::ground::turns::ReadTurn;
use crate::{Engine, Error, Redactor, Result, WayOut};

/// Rows read or written at once.
pub(crate) const MOVED_AT_ONCE: usize = 500;
/// How often threads are read again that others wrote to while an export began.
const READ_AGAIN_MAX: usize = 16;

/// The threads to export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// One thread, with all that its lineage shares with others.
    Thread(ThreadId),
    /// Every thread of the account, each shared segment once.
    All,
    /// These threads, of any account. For upkeep, not for requests: permissions are not checked.
    Threads(Vec<ThreadId>),
    /// Every thread of every account. For upkeep, not for requests: permissions are not checked.
    Store,
}

/// One item of an export.
#[derive(Debug, Clone, PartialEq)]
pub enum ExportItem {
    /// A segment of the log.
    Segment(SegmentRow),
    /// A large value that entries name.
    Blob(BlobId, Bytes),
    /// A large value that entries name, and that cannot be read.
    Lost(BlobId),
    /// An entry of the segment that came last.
    Entry {
        /// The segment that holds it.
        segment: SegmentId,
        /// Its position in the segment.
        position: Position,
        /// The kind of the entry.
        kind: Kind,
        /// The format of the body.
        format: u8,
        /// When it was committed.
        time: Timestamp,
        /// The account that answers for it.
        account: Account,
        /// The actor of the entry.
        actor: Actor,
        /// The cause that its writer named, such as a run.
        cause: Option<String>,
        /// The tally after it.
        tally: Tally,
        /// The body, with the entry or by its blob.
        body: Body,
    },
    /// A thread, after all its segments.
    Thread {
        /// The id of the thread.
        id: ThreadId,
        /// The account that owns it.
        account: Account,
        /// Its version in the log.
        version: Version,
        /// The segment it writes to.
        segment: SegmentId,
        /// Counts changes that can make an earlier decision stale.
        era: u64,
        /// Counts rollbacks and truncations.
        fence: u64,
        /// Title, owner and the other fields of the thread.
        record: Record,
    },
}

impl From<StoredEntry> for ExportItem {
    fn from(entry: StoredEntry) -> Self {
        let StoredEntry { segment, position, kind, format, time, account, actor, cause, tally, body } = entry;
        let (account, actor) = ((*account).clone(), (*actor).clone());
        Self::Entry { segment, position, kind, format, time, account, actor, cause, tally, body }
    }
}

impl From<Thread> for ExportItem {
    fn from(thread: Thread) -> Self {
        let Head { version, segment, era, fence, .. } = thread.head;
        let Thread { id, account, record, .. } = thread;
        Self::Thread { id, account, version, segment, era, fence, record }
    }
}

/// Gives the items of an export one by one, so that they need not all be in memory.
pub struct Exporter {
    engine: Engine,
    snapshot: Box<dyn Snapshot>,
    /// Segments of the page that was read last.
    segments: VecDeque<SeenSegment>,
    /// The segment that is being read, and from where on; none after its last page.
    reading: Option<(SeenSegment, Option<Position>)>,
    page: VecDeque<StoredEntry>,
    ready: VecDeque<ExportItem>,
    /// Whether secrets are left out; and those of the thread whose segment is being read.
    redacts: bool,
    redactor: Redactor,
    /// The redactor of the account whose thread came last.
    of_account: Option<(Account, Redactor)>,
    threads: VecDeque<Thread>,
    damage: Damage,
    /// What was copied before, and is left out.
    copied: Copied,
    /// Whether the store that is read is not that of the snapshot.
    is_of_other: bool,
    /// One of the expensive reads of its account.
    _turn: Option<ReadTurn>,
}

/// What an export does with data that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Damage {
    /// It ends with an error.
    Refused,
    /// It goes on without that data, and lists what is missing.
    Left(Lost),
}

/// Data that an export left out because it is damaged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lost {
    /// How many entries and records.
    pub count: u64,
    /// The first of them, one sentence each.
    pub what: Vec<String>,
}

/// Damaged data that is listed one by one.
const LOST_LISTED_MAX: usize = 100;

impl Lost {
    fn add(&mut self, what: &impl ToString) {
        self.count += 1;
        if self.what.len() < LOST_LISTED_MAX {
            self.what.push(what.to_string());
        }
    }
}

impl Damage {
    /// Notes an error that tells of damage; any other one is returned, and so is damage that is refused.
    fn met(&mut self, error: Error) -> Result<()> {
        match self {
            Self::Left(lost) if error.is_damage() => {
                lost.add(&error);
                Ok(())
            }
            Self::Left(_) | Self::Refused => Err(error),
        }
    }
}

impl Exporter {
    /// The size of the export. It may show fewer entries.
    pub fn size(&self) -> SnapshotSize {
        self.snapshot.size()
    }

    /// Goes on where data is damaged: the entry comes without its body, and [`Exporter::lost`] lists it.
    #[must_use]
    pub fn leaving_damage(mut self) -> Self {
        self.damage = Damage::Left(Lost::default());
        self
    }

    /// The damaged data so far.
    pub fn lost(&self) -> Lost {
        match &self.damage {
            Damage::Left(lost) => lost.clone(),
            Damage::Refused => Lost::default(),
        }
    }

    /// Some deleted threads of that moment after `after`; none at the end.
    pub(crate) async fn tombstones(&mut self, after: Option<ThreadId>) -> Result<Vec<Tombstone>> {
        Ok(self.snapshot.tombstones(after, MOVED_AT_ONCE).await?)
    }

    /// The next page of threads; none at the end. The export itself gives them after everything else.
    pub(crate) async fn page_of_threads(&mut self) -> Result<Vec<Thread>> {
        let page = self.snapshot.threads(MOVED_AT_ONCE).await?;
        if !self.is_of_other || page.is_empty() {
            return Ok(page);
        }
        let ids: Vec<ThreadId> = page.iter().map(|thread| thread.id).collect();
        let mut theirs = self.engine.shared.stores.store.threads(ids).await?;
        theirs.sort_by_key(|thread| thread.id.short());
        match page.iter().find(|thread| !theirs.iter().any(|found| found.id == thread.id)) {
            Some(gone) => Err(Error::ThreadNotFound { thread: gone.id.into() }),
            None => Ok(theirs),
        }
    }

    async fn page_of_segments(&mut self) -> Result<Vec<SeenSegment>> {
        let mut page = self.snapshot.segments(MOVED_AT_ONCE).await?;
        if self.is_of_other {
            let ids = page.iter().map(|seen| seen.row.segment.id).collect();
            let theirs = self.engine.shared.stores.upkeep.segment_rows(ids).await?;
            let mut theirs: HashMap<SegmentId, SegmentRow> =
                theirs.into_iter().map(|row| (row.segment.id, row)).collect();
            for seen in &mut page {
                let id = seen.row.segment.id;
                let missing = || StoreError::corrupt(format!("segment {id} is missing"));
                seen.row = theirs.remove(&id).ok_or_else(missing)?;
                seen.damage = None;
            }
        }
        Ok(page)
    }

    /// Begins again, and reads the same items from the store of `other`. Those that it lacks are errors.
    pub(crate) async fn read_from(&mut self, other: &Engine) -> Result<()> {
        self.engine = other.clone();
        self.is_of_other = true;
        if let Damage::Left(lost) = &mut self.damage {
            *lost = Lost::default();
        }
        self.rewind().await
    }

    /// Begins again with the first item.
    pub(crate) async fn rewind(&mut self) -> Result<()> {
        self.segments.clear();
        self.reading = None;
        self.page.clear();
        self.ready.clear();
        self.threads.clear();
        Ok(self.snapshot.rewind().await?)
    }

    /// The same with secrets, for a copy to another store. Otherwise each is replaced by as many asterisks as it has bytes.
    /// Blobs that held one have other hashes then, and the entries name those.
    #[must_use]
    pub(crate) fn with_secrets(self) -> Self {
        Self { redacts: false, ..self }
    }

    /// The same without the entries that were copied before.
    #[must_use]
    pub(crate) fn after(self, copied: Copied) -> Self {
        Self { copied, ..self }
    }

    /// The segment whose entries are read.
    pub(crate) fn reads(&self) -> Option<&SeenSegment> {
        self.reading.as_ref().map(|(seen, _)| seen)
    }

    /// The next item, in an order in which they can be imported: the segment that another grew from comes before it,
    /// a blob before the first entry that names it, and threads come last.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<ExportItem>> {
        if let Some(item) = self.next_of_log().await? {
            return Ok(Some(item));
        }
        if self.threads.is_empty() {
            self.threads = self.page_of_threads().await?.into();
            tokio::task::yield_now().await;
        }
        let Some(mut thread) = self.threads.pop_front() else { return Ok(None) };
        if self.redacts {
            let redactor = self.redactor_of(&thread).await?;
            thread.record = redacted_record(thread.record, &redactor);
        }
        Ok(Some(thread.into()))
    }

    /// The redactor for the record of a thread. Most threads have no secrets of their own, and no thread above them.
    async fn redactor_of(&mut self, thread: &Thread) -> Result<Redactor> {
        if !thread.record.variables.is_empty() || thread.record.main_thread_id.is_some() {
            return self.engine.redactor(WayOut::Export, Some(thread.id)).await;
        }
        match &self.of_account {
            Some((account, redactor)) if *account == thread.account => Ok(redactor.clone()),
            _ => {
                let redactor = self.engine.account_redactor(&thread.account).await?;
                self.of_account = Some((thread.account.clone(), redactor.clone()));
                Ok(redactor)
            }
        }
    }

    /// The same without the threads.
    pub(crate) async fn next_of_log(&mut self) -> Result<Option<ExportItem>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(Some(item));
            }
            if let Some(entry) = self.page.pop_front() {
                self.prepare(entry).await?;
            } else if let Some((seen, from)) = &mut self.reading {
                let Some(at) = *from else {
                    self.reading = None;
                    continue;
                };
                let some = self.engine.some_entries(seen.row.segment.id, at).await?;
                *from = some.last().filter(|_| some.len() == MOVED_AT_ONCE).map(|last| last.position.next());
                self.page.extend(some.into_iter().filter(|entry| seen.shows(entry)));
                // Some stores read at once: others have their turn between two pages.
                tokio::task::yield_now().await;
            } else if let Some(mut seen) = self.next_segment().await? {
                let Left::From(first) = self.copied.left_of(&seen) else { continue };
                if let Some(damage) = seen.damage.take() {
                    self.damage.met(damage.into())?;
                }
                if self.redacts {
                    self.redactor = self.engine.redactor(WayOut::Export, Some(seen.row.segment.thread)).await?;
                }
                let item = ExportItem::Segment(seen.row.clone());
                self.reading = Some((seen, Some(first)));
                return Ok(Some(item));
            } else {
                return Ok(None);
            }
        }
    }

    async fn next_segment(&mut self) -> Result<Option<SeenSegment>> {
        if self.segments.is_empty() {
            self.segments = self.page_of_segments().await?.into();
        }
        Ok(self.segments.pop_front())
    }

    /// Makes an entry ready, after the blobs that it is the first to name.
    async fn prepare(&mut self, mut entry: StoredEntry) -> Result<()> {
        let large = entry.large();
        let named = match self.engine.decode(&entry).await {
            Ok(decoded) if !self.redactor.is_empty() => return self.prepare_redacted(entry, decoded.blobs()).await,
            Ok(decoded) => large.into_iter().chain(decoded.blobs()).collect(),
            Err(error) => {
                self.damage.met(error)?;
                entry.body = Body::Damaged;
                Vec::new()
            }
        };
        if !named.is_empty() {
            for id in self.snapshot.new_blobs(named).await? {
                let item = match bytes_of(&self.engine, id).await {
                    Ok(bytes) => ExportItem::Blob(id, bytes),
                    Err(error) => {
                        self.damage.met(error)?;
                        ExportItem::Lost(id)
                    }
                };
                self.ready.push_back(item);
            }
        }
        self.ready.push_back(entry.into());
        Ok(())
    }

    /// The same, without secrets.
    async fn prepare_redacted(&mut self, mut entry: StoredEntry, blobs: Vec<BlobId>) -> Result<()> {
        let json = self.engine.body(&entry).await?;
        let json = String::from_utf8_lossy(&json);
        // As long as before: the tally counts its bytes.
        let mut body = self.redactor.json_masked(&json).into_owned();
        for id in blobs {
            let bytes = match bytes_of(&self.engine, id).await {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.damage.met(error)?;
                    self.ready.push_back(ExportItem::Lost(id));
                    continue;
                }
            };
            let bytes = match self.redactor.masked(&bytes) {
                std::borrow::Cow::Borrowed(_) => bytes,
                std::borrow::Cow::Owned(masked) => masked.into(),
            };
            let now = BlobId::of(&bytes);
            body = body.replace(&id.to_string(), &now.to_string());
            self.send_blob(now, bytes).await?;
        }
        let body = Bytes::from(body);
        entry.body = match entry.large() {
            Some(_) => {
                let id = BlobId::of(&body);
                self.send_blob(id, body).await?;
                Body::Blob(id)
            }
            None => Body::Inline(body),
        };
        self.ready.push_back(entry.into());
        Ok(())
    }

    async fn send_blob(&mut self, id: BlobId, bytes: Bytes) -> Result<()> {
        if !self.snapshot.new_blobs(vec![id]).await?.is_empty() {
            self.ready.push_back(ExportItem::Blob(id, bytes));
        }
        Ok(())
    }
}

/// A record without secrets, if it is a record still.
fn redacted_record(record: Record, redactor: &Redactor) -> Record {
    Record::decode(&redactor.json_masked(&record.encode())).unwrap_or(record)
}

async fn bytes_of(engine: &Engine, blob: BlobId) -> Result<Bytes> {
    let bytes = engine.shared.stores.blobs.blob(blob).await?;
    bytes.ok_or_else(|| StoreError::corrupt(format!("blob {blob} is missing")).into())
}

impl Engine {
    /// Gives every item of an export to `sink`, in an order in which it can be imported. Secrets are left out.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; every error of `sink`.
    pub async fn export<E: From<Error>>(
        &self,
        selection: Selection,
        mut sink: impl FnMut(ExportItem) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut exporter = self.exporter(selection).await?;
        while let Some(item) = exporter.next().await? {
            sink(item)?;
        }
        Ok(())
    }

    /// Begins an export without secrets. Its content is fixed now: later writes are not in it.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn exporter(&self, selection: Selection) -> BoxFuture<'_, Result<Exporter>> {
        Box::pin(async move {
            let upkeep = &self.shared.stores.upkeep;
            let (snapshot, turn) = match &selection {
                Selection::Thread(_) | Selection::Threads(_) => {
                    (Box::new(self.some_threads(&selection).await?) as Box<dyn Snapshot>, None)
                }
                Selection::All => {
                    let turn = self.shared.export_turns.turn(&self.caller.account).await?;
                    (upkeep.snapshot(Some(self.caller.account.clone())).await?, Some(turn))
                }
                Selection::Store => {
                    let turn = self.shared.export_turns.turn(&self.caller.account).await?;
                    (upkeep.snapshot(None).await?, Some(turn))
                }
            };
            Ok(Exporter {
                engine: self.clone(),
                snapshot,
                segments: VecDeque::new(),
                reading: None,
                page: VecDeque::new(),
                ready: VecDeque::new(),
                redacts: true,
                redactor: Redactor::default(),
                of_account: None,
                threads: VecDeque::new(),
                damage: Damage::Refused,
                copied: Copied::default(),
                is_of_other: false,
                _turn: turn,
            })
        })
    }

    /// Some threads and their segments that fit each other, although others write meanwhile: each thread as it was when it
    /// was read, and none read before something that another one sees of it.
    async fn some_threads(&self, selection: &Selection) -> Result<HeldSnapshot> {
        let mut threads = Vec::new();
        match selection {
            Selection::Thread(id) => threads.push(self.found(selection, *id).await?),
            Selection::Threads(ids) => {
                for id in ids {
                    threads.push(self.found(selection, *id).await?);
                }
            }
            Selection::All | Selection::Store => {}
        }
        for _ in 0..READ_AGAIN_MAX {
            let heads: HashMap<ThreadId, Head> = threads.iter().map(|thread| (thread.id, thread.head)).collect();
            let living: HashSet<ThreadId> = heads.keys().copied().collect();
            let mut rows = self.segments_of(&living).await?;
            let owners: HashMap<SegmentId, ThreadId> =
                rows.iter().map(|row| (row.segment.id, row.segment.thread)).collect();
            rows.retain(|row| {
                let head = heads.get(&row.segment.thread);
                head.is_none_or(|head| row.segment.id == head.segment || row.segment.first <= head.version)
            });
            let segments: Vec<_> = rows.iter().map(|row| row.segment.clone()).collect();
            let reach = reachable(&segments, &living);
            let links = segments.iter().filter(|segment| reach.contains_key(&segment.id)).filter_map(|seen| seen.link);
            let behind: HashSet<ThreadId> = links
                .filter_map(|link| owners.get(&link.parent).map(|owner| (*owner, link.bounds.highest())))
                .filter(|(owner, seen)| heads.get(owner).is_some_and(|head| *seen > head.version))
                .map(|(owner, _)| owner)
                .collect();
            if behind.is_empty() {
                // An upper bound without a count of its own: each thread counts its entries in its version.
                let entries = threads.iter().map(|thread| thread.head.version.0).sum();
                return Ok(HeldSnapshot::new(threads, rows, entries));
            }
            for thread in threads.iter_mut().filter(|thread| behind.contains(&thread.id)) {
                *thread = self.found(selection, thread.id).await?;
            }
        }
        Err(Error::Busy)
    }

    /// A selected thread as it is now.
    async fn found(&self, selection: &Selection, id: ThreadId) -> Result<Thread> {
        match selection {
            Selection::Thread(_) | Selection::All => self.thread(id).await,
            Selection::Threads(_) | Selection::Store => {
                let found = self.shared.stores.store.thread(id.into()).await?;
                found.ok_or(Error::ThreadNotFound { thread: id.into() })
            }
        }
    }

    /// The segments of `threads` and all that they grew from.
    async fn segments_of(&self, threads: &HashSet<ThreadId>) -> Result<Vec<SegmentRow>> {
        let store = &self.shared.stores.store;
        let mut own = Vec::new();
        for thread in threads {
            own.extend(store.segments(*thread, Position::END, usize::MAX).await?.into_iter().map(|own| own.id));
        }
        let chains = store.chains(own, usize::MAX).await?;
        let mut rows = Vec::with_capacity(chains.len());
        for some in chains.chunks(MOVED_AT_ONCE) {
            let ids = some.iter().map(|segment| segment.id).collect();
            rows.extend(self.shared.stores.upkeep.segment_rows(ids).await?);
        }
        Ok(rows)
    }

    /// Some entries of a segment from `from` on, oldest first; none after the last.
    pub(crate) async fn some_entries(&self, segment: SegmentId, from: Position) -> Result<Vec<StoredEntry>> {
        let positions = from..=Position::END;
        let query = EntryQuery { segment, positions, order: Order::Ascending, limit: MOVED_AT_ONCE };
        Ok(self.shared.stores.store.entries(query).await?)
    }
}

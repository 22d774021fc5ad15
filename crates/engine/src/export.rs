//! Export: the log as it is, so that sharing is kept and a round trip is exact. Import is next door, in `import`.
//!
//! An export is a list of items: segments with the entries that are seen in them, the blobs these name, and the
//! threads. Everything derived is left out; it follows from the rest. So does the order: two stores that hold the same
//! threads export the same items in the same order.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use bytes::Bytes;
use threadkeep_model::{
    Account, Actor, BlobId, Body, Bounds, Head, Kind, Position, Record, SegmentId, Tally, Thread, ThreadId, Timestamp,
    Version, reachable,
};
use threadkeep_store::{EntryQuery, Order, SegmentRow, StoreError, StoredEntry};

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
    /// A segment.
    Segment(SegmentRow),
    /// A large value that entries name.
    Blob(BlobId, Bytes),
    /// An entry of a segment that came before.
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
        /// Its era.
        era: u64,
        /// Its fence.
        fence: u64,
        /// Its record.
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

/// The segments, blobs and threads of one export.
struct Selected {
    threads: Vec<Thread>,
    rows: BTreeMap<SegmentId, SegmentRow>,
    reach: HashMap<SegmentId, Bounds>,
}

/// A segment to export, and how far it is seen.
struct Part {
    row: SegmentRow,
    /// The head of its thread, if that is exported too: everything up to there is.
    head: Option<Version>,
    /// How much of the segment other segments see.
    bounds: Bounds,
}

impl Part {
    fn shows(&self, entry: &StoredEntry) -> bool {
        entry.position <= self.head.unwrap_or_else(|| self.bounds.of(entry.kind.class()))
    }
}

/// Gives the items of an export one by one, so that they need not all be in memory.
pub struct Exporter {
    engine: Engine,
    parts: std::vec::IntoIter<Part>,
    /// The segment that is being read, and from where on.
    reading: Option<(Part, Position)>,
    page: VecDeque<StoredEntry>,
    ready: VecDeque<ExportItem>,
    sent: HashSet<BlobId>,
    threads: std::vec::IntoIter<Thread>,
    /// Whether secrets are left out; and those of the thread whose segment is being read.
    redacts: bool,
    redactor: Redactor,
}

impl Exporter {
    /// The threads that are still to come, which they do after everything else.
    pub(crate) fn threads(&self) -> &[Thread] {
        self.threads.as_slice()
    }

    /// The same without secrets, for those who read it: each is replaced by as many asterisks as it has bytes. Blobs that
    /// held one have other hashes then, and the entries name those.
    #[must_use]
    pub fn redacting(self) -> Self {
        Self { redacts: true, ..self }
    }

    /// The next item, in an order in which they can be imported: the segment that another grew from comes before it,
    /// a blob before the first entry that names it, and threads come last.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<ExportItem>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(Some(item));
            }
            if let Some(entry) = self.page.pop_front() {
                self.prepare(entry).await?;
            } else if let Some((part, from)) = &mut self.reading {
                let some = self.engine.some_entries(part.row.segment.id, *from).await?;
                match some.last() {
                    Some(last) => *from = last.position.next(),
                    None => {
                        self.reading = None;
                        continue;
                    }
                }
                self.page.extend(some.into_iter().filter(|entry| part.shows(entry)));
            } else if let Some(part) = self.parts.next() {
                let item = ExportItem::Segment(part.row.clone());
                let first = part.row.segment.first;
                if self.redacts {
                    self.redactor = self.engine.redactor(WayOut::Export, Some(part.row.segment.thread)).await?;
                }
                self.reading = Some((part, first));
                return Ok(Some(item));
            } else {
                let Some(mut thread) = self.threads.next() else { return Ok(None) };
                if self.redacts {
                    let redactor = self.engine.redactor(WayOut::Export, Some(thread.id)).await?;
                    thread.record = redacted_record(thread.record, &redactor);
                }
                return Ok(Some(thread.into()));
            }
        }
    }

    /// Makes an entry ready, after the blobs that it is the first to name.
    async fn prepare(&mut self, entry: StoredEntry) -> Result<()> {
        if !self.redactor.is_empty() {
            return self.prepare_redacted(entry).await;
        }
        let mut named = Vec::from_iter(entry.large());
        named.extend(self.engine.decode(&entry).await?.blobs());
        for id in named {
            if self.sent.insert(id) {
                let bytes = self.engine.shared.stores.blobs.blob(id).await?;
                let bytes = bytes.ok_or_else(|| StoreError::corrupt(format!("blob {id} is missing")))?;
                self.ready.push_back(ExportItem::Blob(id, bytes));
            }
        }
        self.ready.push_back(entry.into());
        Ok(())
    }

    /// The same, without secrets.
    async fn prepare_redacted(&mut self, mut entry: StoredEntry) -> Result<()> {
        let json = self.engine.body(&entry).await?;
        let json = String::from_utf8_lossy(&json);
        // As long as before: the tally counts its bytes.
        let mut body = self.redactor.json_masked(&json).into_owned();
        for id in self.engine.decode(&entry).await?.blobs() {
            let bytes = self.engine.shared.stores.blobs.blob(id).await?;
            let bytes = bytes.ok_or_else(|| StoreError::corrupt(format!("blob {id} is missing")))?;
            let bytes = match self.redactor.masked(&bytes) {
                std::borrow::Cow::Borrowed(_) => bytes,
                std::borrow::Cow::Owned(masked) => masked.into(),
            };
            let now = BlobId::of(&bytes);
            body = body.replace(&id.to_string(), &now.to_string());
            self.send_blob(now, bytes);
        }
        let body = Bytes::from(body);
        entry.body = match entry.large() {
            Some(_) => {
                let id = BlobId::of(&body);
                self.send_blob(id, body);
                Body::Blob(id)
            }
            None => Body::Inline(body),
        };
        self.ready.push_back(entry.into());
        Ok(())
    }

    fn send_blob(&mut self, id: BlobId, bytes: Bytes) {
        if self.sent.insert(id) {
            self.ready.push_back(ExportItem::Blob(id, bytes));
        }
    }
}

/// A record without secrets, if it is a record still.
fn redacted_record(record: Record, redactor: &Redactor) -> Record {
    Record::decode(&redactor.json_masked(&record.encode())).unwrap_or(record)
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
        let mut exporter = self.exporter(selection).await?.redacting();
        while let Some(item) = exporter.next().await? {
            sink(item)?;
        }
        Ok(())
    }

    /// Begins an export. Its content is fixed now: later writes are not in it.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn exporter(&self, selection: Selection) -> Result<Exporter> {
        let Selected { threads, rows, reach } = self.snapshot(&selection).await?;
        let heads: HashMap<ThreadId, Version> = threads.iter().map(|thread| (thread.id, thread.head.version)).collect();
        let seen = rows.into_values().filter_map(|row| {
            let bounds = reach.get(&row.segment.id).copied()?;
            Some(Part { head: heads.get(&row.segment.thread).copied(), bounds, row })
        });
        let mut parts: Vec<Part> = seen.collect();
        parts.sort_by_key(|part| (part.row.order(), part.row.segment.id));
        Ok(Exporter {
            engine: self.clone(),
            parts: parts.into_iter(),
            reading: None,
            page: VecDeque::new(),
            ready: VecDeque::new(),
            sent: HashSet::new(),
            threads: threads.into_iter(),
            redacts: false,
            redactor: Redactor::default(),
        })
    }

    /// Threads and segments that fit each other, although others write meanwhile: each thread as it was when it was
    /// read, and none read before something that another one sees of it.
    async fn snapshot(&self, selection: &Selection) -> Result<Selected> {
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
            let mut again = Vec::with_capacity(threads.len());
            for thread in threads {
                if !behind.contains(&thread.id) {
                    again.push(thread);
                    continue;
                }
                match (self.found(selection, thread.id).await, selection) {
                    (Ok(thread), _) => again.push(thread),
                    // Deleted meanwhile: it is none of all threads any more.
                    (Err(Error::ThreadNotFound { .. }), Selection::All | Selection::Store) => {}
                    (Err(error), _) => return Err(error),
                }
            }
            threads = again;
        }
        Err(Error::Busy)
    }

    /// The selected threads, in one order on every store.
    async fn selected(&self, selection: &Selection) -> Result<Vec<Thread>> {
        let mut threads = Vec::new();
        match selection {
            Selection::Thread(id) => threads.push(self.found(selection, *id).await?),
            Selection::Threads(ids) => {
                for id in ids {
                    threads.push(self.found(selection, *id).await?);
                }
            }
            Selection::All | Selection::Store => {
                // All in one read: a commit to several threads is exported for all of them, or for none.
                let all = self.shared.stores.upkeep.all_threads(None, usize::MAX).await?;
                let whole_store = *selection == Selection::Store;
                threads.extend(all.into_iter().filter(|thread| whole_store || thread.account == self.caller.account));
            }
        }
        threads.sort_by_key(|thread| (thread.id.short(), thread.id));
        threads.dedup_by_key(|thread| thread.id);
        Ok(threads)
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

    /// The segments of `threads` and all they grew from; where that is most of the store, all there are.
    async fn segments_of(&self, selection: &Selection, threads: &[Thread]) -> Result<BTreeMap<SegmentId, SegmentRow>> {
        let wanted = match selection {
            Selection::Thread(_) => {
                let mut wanted = HashSet::new();
                for thread in threads {
                    for own in self.shared.stores.store.segments(thread.id, Position::END, usize::MAX).await? {
                        let lineage = self.lineage(own.id).await?;
                        wanted.extend(lineage.chain().map(|link| link.segment.id));
                    }
                }
                Some(wanted)
            }
            Selection::All | Selection::Threads(_) | Selection::Store => None,
        };
        let mut rows = BTreeMap::new();
        let mut after = None;
        loop {
            let some = self.shared.stores.upkeep.all_segments(after, MOVED_AT_ONCE).await?;
            let Some(last) = some.last() else { return Ok(rows) };
            after = Some(last.segment.id);
            let is_wanted = |row: &SegmentRow| wanted.as_ref().is_none_or(|wanted| wanted.contains(&row.segment.id));
            rows.extend(some.into_iter().filter(is_wanted).map(|row| (row.segment.id, row)));
        }
    }

    /// Some entries of a segment from `from` on, oldest first; none after the last.
    pub(crate) async fn some_entries(&self, segment: SegmentId, from: Position) -> Result<Vec<StoredEntry>> {
        let positions = from..=Position::END;
        let query = EntryQuery { segment, positions, order: Order::Ascending, limit: MOVED_AT_ONCE };
        Ok(self.shared.stores.store.entries(query).await?)
    }
}

//! Export: the log as it is, so that sharing is kept and a round trip is exact. Import is next door, in `import`.
//!
//! An export is a list of items: segments with the entries that are seen in them, the blobs these name, and the
//! threads. Everything derived is left out; it follows from the rest.

use std::collections::{BTreeMap, HashMap, HashSet};

use bytes::Bytes;
use threadkeep_model::{
    Account, Actor, BlobId, Body, Bounds, Head, Kind, Position, Record, SegmentId, Tally, Thread, ThreadId, Timestamp,
    Version, reachable,
};
use threadkeep_store::{EntryQuery, Order, SegmentRow, StoreError, StoredEntry};

use crate::{Engine, Error, Result};

/// Rows read or written at once.
pub(crate) const MOVED_AT_ONCE: usize = 500;
/// How often threads are read again that others wrote to while an export began.
const READ_AGAIN_MAX: usize = 16;

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
}

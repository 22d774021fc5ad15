//! Copy: a whole store to another one, every thread of every account, sharing kept, and compared at the end.
//!
//! A copy is an export that is imported as it is read. Items that the target has already are compared and
//! skipped, so an interrupted copy goes on where it stopped. Threads appear at the end. Then everything is read
//! back, and must have the same hash as the source. Documents beside threads, such as keys and projects, are
//! copied too; a document that the target has under the same id stays as it is there.

use std::collections::{HashMap, HashSet, VecDeque};

use bytes::Bytes;
use threadkeep_model::{BlobId, Position, SegmentId, Thread, ThreadId};
use threadkeep_store::{Progress, RegistryKind, RegistryQuery, SegmentRow, StoreError, StoredEntry, Tombstone};

use crate::digest::Digest;
use crate::export::MOVED_AT_ONCE;
use crate::{ContentHash, Engine, Error, ExportItem, Importer, Result, Selection};

/// The number of items in a copy, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyReport {
    /// Threads, of all accounts.
    pub threads: u64,
    /// Segments, those included that only the forks of deleted threads see.
    pub segments: u64,
    /// Entries of all segments together.
    pub entries: u64,
    /// Values that are stored apart from their entries.
    pub blobs: u64,
    /// Deleted threads, whose ids stay refused.
    pub deleted: u64,
    /// How many of the entries the target had already.
    pub already_there: u64,
    /// Whether the copy was finished before: nothing was added, and everything verified.
    pub was_finished: bool,
    /// The hash of everything, which both stores have.
    pub hash: ContentHash,
}

impl Engine {
    /// Copies the whole store to `target`: every thread of every account, each shared segment once.
    ///
    /// Threads that change meanwhile are copied as they were when the copy began. On the target they appear once
    /// everything else is there, and must not be written to before this returns. A copy that was interrupted or
    /// dropped goes on where it stopped when it is begun again; a finished one is only verified.
    ///
    /// # Errors
    /// [`Error::CopyDiffers`] if the target holds something else, or gives back other data than it was given.
    pub async fn copy_to(&self, target: &Engine, progress: Progress) -> Result<CopyReport> {
        // Before the threads: one that is deleted meanwhile is copied as a thread, and not as deleted as well.
        let deleted = self.tombstones().await?;
        let mut source = self.exporter(Selection::Store).await?;
        let ids: Vec<ThreadId> = source.threads().iter().map(|thread| thread.id).collect();
        let mut copy = Copying::begin(target, source.threads()).await.map_err(of_target)?;
        let mut hash = Digest::new();
        while let Some(item) = source.next().await? {
            hash.item(&item);
            copy.take(item).await.map_err(of_target)?;
            progress("entries", copy.counts.entries, None);
        }
        let mut gone = HashSet::new();
        for tombstone in deleted {
            hash.deleted(&tombstone);
            gone.insert(tombstone.thread);
            copy.take_deleted(tombstone).await.map_err(of_target)?;
        }
        let (counts, was_finished) = copy.finish().await.map_err(of_target)?;
        let hash = hash.end();
        let copied = target.hash_of(ids, &gone, counts.entries, &progress).await.map_err(of_target)?;
        if copied != hash {
            let what = format!("what it holds has the hash {copied}, and not {hash}");
            return Err(Error::CopyDiffers { what });
        }
        self.copy_registry(target).await?;
        let Counts { threads, segments, entries, blobs, deleted, already_there } = counts;
        Ok(CopyReport { threads, segments, entries, blobs, deleted, already_there, was_finished, hash })
    }

    /// Copies keys, projects and secrets. Documents that the target has already stay: a key revoked there does not
    /// come back.
    async fn copy_registry(&self, target: &Engine) -> Result<()> {
        let (from, to) = (&self.shared.stores.registry, &target.shared.stores.registry);
        for kind in RegistryKind::COPIED {
            let mut after = None;
            loop {
                let query = RegistryQuery { kind, account: None, after: after.take(), limit: MOVED_AT_ONCE };
                let some = from.registry(query).await?;
                let Some(last) = some.last() else { break };
                after = Some(last.id.clone());
                let ids = some.iter().map(|document| document.id.clone()).collect();
                let there: HashSet<String> =
                    to.registered(kind, ids).await?.into_iter().map(|document| document.id).collect();
                for document in some.into_iter().filter(|document| !there.contains(&document.id)) {
                    to.register(document).await?;
                }
            }
        }
        Ok(())
    }

    /// All threads that were deleted, in the order of their ids.
    async fn tombstones(&self) -> Result<Vec<Tombstone>> {
        let mut all: Vec<Tombstone> = Vec::new();
        loop {
            let after = all.last().map(|tombstone| tombstone.thread);
            let some = self.shared.stores.upkeep.all_tombstones(after, MOVED_AT_ONCE).await?;
            if some.is_empty() {
                return Ok(all);
            }
            all.extend(some);
        }
    }

    /// The hash of these threads and of those that are `gone`, read anew.
    async fn hash_of(
        &self,
        threads: Vec<ThreadId>,
        gone: &HashSet<ThreadId>,
        total: u64,
        progress: &Progress,
    ) -> Result<ContentHash> {
        let mut exporter = self.exporter(Selection::Threads(threads)).await?;
        let (mut hash, mut entries) = (Digest::new(), 0);
        while let Some(item) = exporter.next().await? {
            hash.item(&item);
            entries += u64::from(matches!(item, ExportItem::Entry { .. }));
            progress("entries verified", entries, Some(total));
        }
        for tombstone in self.tombstones().await?.iter().filter(|tombstone| gone.contains(&tombstone.thread)) {
            hash.deleted(tombstone);
        }
        Ok(hash.end())
    }
}

/// An error of the target, reported as one of the copy. Errors of the source do not pass through here.
fn of_target(error: Error) -> Error {
    let differs = |what: String| Error::CopyDiffers { what };
    match error {
        Error::Store(StoreError::Import { what }) => differs(format!("it says that {what}")),
        Error::Store(StoreError::Corrupt { what }) => differs(format!("it is damaged, {what}")),
        Error::ThreadNotFound { thread } => differs(format!("thread {thread} is gone")),
        other => other,
    }
}

#[derive(Debug, Default)]
struct Counts {
    threads: u64,
    segments: u64,
    entries: u64,
    blobs: u64,
    deleted: u64,
    already_there: u64,
}

/// A copy under way, from the target's side.
struct Copying {
    target: Engine,
    importer: Importer,
    /// Whether there may be something on the target already.
    may_resume: bool,
    /// Threads that live on the target, as they are in the source.
    living: HashSet<ThreadId>,
    /// Threads that are still to appear.
    threads: Vec<ExportItem>,
    /// The segment whose entries come, as far as the target has them.
    there: Option<There>,
    /// Blobs whose entry comes next.
    blobs: Vec<(BlobId, Bytes)>,
    counts: Counts,
}

impl Copying {
    /// Begins, unless one of `threads` lives on the target and differs: then nothing has been written.
    async fn begin(target: &Engine, threads: &[Thread]) -> Result<Self> {
        let living = living(target, threads).await?;
        let mut importer = target.importer();
        // Invariant: segments and blobs found there from here on are not freed before their thread exists.
        importer.hold().await?;
        let may_resume = !target.shared.stores.upkeep.all_segments(None, 1).await?.is_empty();
        Ok(Self {
            target: target.clone(),
            importer,
            may_resume,
            living,
            threads: Vec::new(),
            there: None,
            blobs: Vec::new(),
            counts: Counts::default(),
        })
    }

    async fn take(&mut self, item: ExportItem) -> Result<()> {
        match item {
            ExportItem::Segment(row) => {
                self.counts.segments += 1;
                self.there = self.may_resume.then(|| There::new(&row));
                self.importer.push(ExportItem::Segment(row)).await
            }
            ExportItem::Blob(id, bytes) => {
                self.counts.blobs += 1;
                self.blobs.push((id, bytes));
                Ok(())
            }
            ExportItem::Entry { position, .. } => {
                self.counts.entries += 1;
                let blobs = std::mem::take(&mut self.blobs);
                if let Some(there) = &mut self.there
                    && let Some(entry) = there.entry(&self.target, position).await?
                {
                    if ExportItem::from(entry.clone()) != item {
                        let what = format!("entry {position} of thread {} is there already, and differs", there.thread);
                        return Err(Error::CopyDiffers { what });
                    }
                    self.counts.already_there += 1;
                    // Its blobs are there too: they came before it.
                    return self.importer.pass(&entry, &blobs).await;
                }
                for (id, bytes) in blobs {
                    self.importer.push(ExportItem::Blob(id, bytes)).await?;
                }
                self.importer.push(item).await
            }
            ExportItem::Thread { id, .. } => {
                self.counts.threads += 1;
                if !self.living.contains(&id) {
                    self.threads.push(item);
                }
                Ok(())
            }
        }
    }

    async fn take_deleted(&mut self, tombstone: Tombstone) -> Result<()> {
        self.counts.deleted += 1;
        self.importer.push_deleted(tombstone).await
    }

    /// Lets the threads appear; returns the counts of the copy, and whether the target had all of it before.
    async fn finish(mut self) -> Result<(Counts, bool)> {
        let was_finished = self.threads.is_empty() && self.counts.already_there == self.counts.entries;
        for thread in self.threads {
            self.importer.push(thread).await?;
        }
        self.importer.finish().await?;
        Ok((self.counts, was_finished))
    }
}

/// The threads among `threads` that live on the target.
async fn living(target: &Engine, threads: &[Thread]) -> Result<HashSet<ThreadId>> {
    let source: HashMap<ThreadId, &Thread> = threads.iter().map(|thread| (thread.id, thread)).collect();
    let (mut living, mut after) = (HashSet::new(), None);
    loop {
        let some = target.shared.stores.upkeep.all_threads(after, MOVED_AT_ONCE).await?;
        let Some(last) = some.last() else { return Ok(living) };
        after = Some(last.id);
        for there in some {
            let Some(thread) = source.get(&there.id).copied() else { continue };
            let (id, version, in_source) = (there.id, there.head.version, thread.head.version);
            if version != in_source {
                let what = format!("thread {id} is at version {version} there, and at {in_source} in the source");
                return Err(Error::CopyDiffers { what });
            }
            if ExportItem::from(there) != ExportItem::from(thread.clone()) {
                return Err(Error::CopyDiffers { what: format!("thread {id} is there already, and differs") });
            }
            living.insert(id);
        }
    }
}

/// The target's copy of one segment, read in step with the source. It may have gaps, where an import took only
/// the part that some fork sees, and more than the source still shows.
struct There {
    segment: SegmentId,
    thread: ThreadId,
    page: VecDeque<StoredEntry>,
    /// Whether there may be more after the page.
    may_go_on: bool,
}

impl There {
    fn new(row: &SegmentRow) -> Self {
        let (segment, thread) = (row.segment.id, row.segment.thread);
        Self { segment, thread, page: VecDeque::new(), may_go_on: true }
    }

    /// The entry at `position`, if the target has it. Positions are asked for in their order.
    async fn entry(&mut self, target: &Engine, position: Position) -> Result<Option<StoredEntry>> {
        loop {
            while self.page.front().is_some_and(|entry| entry.position < position) {
                self.page.pop_front();
            }
            match self.page.front() {
                Some(entry) if entry.position == position => return Ok(self.page.pop_front()),
                Some(_) => return Ok(None),
                None if self.may_go_on => {
                    self.page = target.some_entries(self.segment, position).await?.into();
                    self.may_go_on = !self.page.is_empty();
                }
                None => return Ok(None),
            }
        }
    }
}

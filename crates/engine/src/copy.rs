//! Copy: a whole store to another one, every thread of every account, sharing kept, and compared at the end.
//!
//! A copy is an export that is imported as it is read. Items that the target has already are compared and
//! skipped, so an interrupted copy goes on where it stopped. Threads appear at the end. Then everything is read
//! back, and must have the same hash as the source. Documents beside threads, such as keys and projects, are
//! copied too; a document that the target has under the same id stays as it is there.

use std::collections::{HashSet, VecDeque};

use bytes::Bytes;
use threadkeep_model::{BlobId, Position, SegmentId, Thread, ThreadId};
use threadkeep_store::{
    BoxFuture, Progress, RegistryKind, RegistryQuery, SegmentRow, StoreError, StoredEntry, Tombstone,
};

use crate::digest::Digest;
use crate::export::MOVED_AT_ONCE;
use crate::{ContentHash, Engine, Error, ExportItem, Exporter, Importer, Lost, Result, Selection};

/// The number of items in a copy, by kind.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Data of the source that is damaged and could not be copied.
    pub lost: Lost,
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
    pub fn copy_to<'a>(&'a self, target: &'a Engine, progress: Progress) -> BoxFuture<'a, Result<CopyReport>> {
        Box::pin(
            async move { copy(self.exporter(Selection::Store).await?.with_secrets(), self, target, progress).await },
        )
    }

    /// The same if some data is damaged: everything else is copied, and the report lists what is missing. Damaged
    /// messages keep their place in the copy, where their damage is reported.
    ///
    /// # Errors
    /// As [`Engine::copy_to`]; damage to derived data, which `threadkeep doctor --repair` mends.
    pub fn copy_readable_to<'a>(&'a self, target: &'a Engine, progress: Progress) -> BoxFuture<'a, Result<CopyReport>> {
        Box::pin(async move {
            copy(self.exporter(Selection::Store).await?.with_secrets().leaving_damage(), self, target, progress).await
        })
    }

    /// Copies keys, projects and secrets. Documents that the target has already stay: a key revoked there does not
    /// come back.
    async fn copy_registry(&self, target: &Engine) -> Result<()> {
        self.copy_documents(target, &RegistryKind::COPIED).await
    }

    /// Copies documents of these kinds that the target does not have.
    pub(crate) async fn copy_documents(&self, target: &Engine, kinds: &[RegistryKind]) -> Result<()> {
        let (from, to) = (&self.shared.stores.registry, &target.shared.stores.registry);
        for kind in kinds.iter().copied() {
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
}

async fn copy(mut source: Exporter, from: &Engine, target: &Engine, progress: Progress) -> Result<CopyReport> {
    refuse_others(&mut source, target).await?;
    source.rewind().await?;
    let mut copy = Copying::begin(target).await.map_err(of_target)?;
    let (mut hash, total) = (Digest::new(), source.size().entries);
    while let Some(item) = source.next_of_log().await? {
        hash.item(&item);
        copy.take(item).await.map_err(of_target)?;
        progress("entries", copy.counts.entries, Some(total.max(copy.counts.entries)));
    }
    progress("entries", copy.counts.entries, Some(copy.counts.entries));
    let mut after = None;
    loop {
        let some = source.tombstones(after).await?;
        let Some(last) = some.last() else { break };
        after = Some(last.thread);
        for tombstone in some {
            copy.take_deleted(tombstone).await.map_err(of_target)?;
        }
    }
    copy.importer.expect(source.size().threads);
    loop {
        let some = source.page_of_threads().await?;
        if some.is_empty() {
            break;
        }
        some.iter().for_each(|thread| hash.item(&ExportItem::from(thread.clone())));
        copy.take_threads(some).await.map_err(of_target)?;
        progress("threads", copy.counts.threads, Some(source.size().threads));
    }
    let may_resume = copy.may_resume;
    let (counts, was_finished) = copy.finish().await.map_err(of_target)?;
    let lost = source.lost();
    let others = may_resume.then_some(from);
    let (hash, copied) = verified(source, hash, target, others, counts.entries, &progress).await?;
    if copied != hash {
        let what = format!("what it holds has the hash {copied}, and not {hash}");
        return Err(Error::CopyDiffers { what });
    }
    from.copy_registry(target).await?;
    let Counts { threads, segments, entries, blobs, deleted, already_there } = counts;
    Ok(CopyReport { threads, segments, entries, blobs, deleted, already_there, was_finished, hash, lost })
}

/// Reads everything again from the target. Returns the hash of the source, of whose items all but the deleted threads
/// are in `sent`, and that of the target.
async fn verified(
    mut source: Exporter,
    mut sent: Digest,
    target: &Engine,
    others: Option<&Engine>,
    total: u64,
    progress: &Progress,
) -> Result<(ContentHash, ContentHash)> {
    source.read_from(target).await?;
    let (mut found, mut entries) = (Digest::new(), 0);
    while let Some(item) = source.next_of_log().await.map_err(of_target)? {
        found.item(&item);
        entries += u64::from(matches!(item, ExportItem::Entry { .. }));
        progress("entries verified", entries, Some(total));
    }
    loop {
        let some = source.page_of_threads().await.map_err(of_target)?;
        if some.is_empty() {
            break;
        }
        if let Some(from) = others {
            refuse_branches(from, target, &some).await?;
        }
        some.into_iter().for_each(|thread| found.item(&ExportItem::from(thread)));
    }
    let (mut after, mut there) = (None, Tombstones::of(target));
    loop {
        let some = source.tombstones(after).await?;
        let Some(last) = some.last() else { return Ok((sent.end(), found.end())) };
        after = Some(last.thread);
        for tombstone in some {
            sent.deleted(&tombstone);
            if let Some(theirs) = there.find(tombstone.thread).await.map_err(of_target)? {
                found.deleted(&theirs);
            }
        }
    }
}

/// Refuses a target on which a thread of the source lives and differs. Nothing has been written then.
async fn refuse_others(source: &mut Exporter, target: &Engine) -> Result<()> {
    loop {
        let some = source.page_of_threads().await?;
        if some.is_empty() {
            return Ok(());
        }
        let ids = some.iter().map(|thread| thread.id).collect();
        let theirs = target.shared.stores.store.threads(ids).await;
        for there in theirs.map_err(|error| of_target(error.into()))? {
            let Some(thread) = some.iter().find(|thread| thread.id == there.id) else { continue };
            let (id, version, in_source) = (there.id, there.head.version, thread.head.version);
            if version != in_source {
                let what = format!("thread {id} is at version {version} there, and at {in_source} in the source");
                return Err(Error::CopyDiffers { what });
            }
            if ExportItem::from(there) != ExportItem::from(thread.clone()) {
                return Err(Error::CopyDiffers { what: format!("thread {id} is there already, and differs") });
            }
        }
    }
}

/// Refuses threads that have a branch on the target which they lack in the source: a copy that was broken off may have
/// brought it, before the source went back to an earlier state.
async fn refuse_branches(from: &Engine, target: &Engine, threads: &[Thread]) -> Result<()> {
    for thread in threads {
        let branches = async |engine: &Engine| -> Result<Vec<SegmentId>> {
            let own = engine.shared.stores.store.segments(thread.id, thread.head.version, usize::MAX).await?;
            Ok(own.into_iter().map(|own| own.id).collect())
        };
        if branches(from).await? != branches(target).await? {
            return Err(Error::CopyDiffers { what: format!("thread {} has another branch there", thread.id) });
        }
    }
    Ok(())
}

/// The deleted threads of a store, read in step with those of another one.
struct Tombstones<'a> {
    engine: &'a Engine,
    page: VecDeque<Tombstone>,
    after: Option<ThreadId>,
}

impl<'a> Tombstones<'a> {
    fn of(engine: &'a Engine) -> Self {
        Self { engine, page: VecDeque::new(), after: None }
    }

    /// That of `thread`. Threads are asked for in the order of their ids.
    async fn find(&mut self, thread: ThreadId) -> Result<Option<Tombstone>> {
        loop {
            while self.page.front().is_some_and(|first| first.thread.short() < thread.short()) {
                self.page.pop_front();
            }
            if let Some(first) = self.page.front() {
                return Ok(Some(*first).filter(|first| first.thread == thread));
            }
            let some = self.engine.shared.stores.upkeep.all_tombstones(self.after, MOVED_AT_ONCE).await?;
            let Some(last) = some.last() else { return Ok(None) };
            self.after = Some(last.thread);
            self.page = some.into();
        }
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
    /// The segment whose entries come, as far as the target has them.
    there: Option<There>,
    /// Blobs whose entry comes next.
    blobs: Vec<(BlobId, Bytes)>,
    /// Whether a thread came that the target did not have.
    has_new: bool,
    counts: Counts,
}

impl Copying {
    async fn begin(target: &Engine) -> Result<Self> {
        let mut importer = target.importer();
        // Invariant: segments and blobs found there from here on are not freed before their thread exists.
        importer.hold().await?;
        let may_resume = !target.shared.stores.upkeep.all_segments(None, 1).await?.is_empty();
        Ok(Self {
            target: target.clone(),
            importer,
            may_resume,
            there: None,
            blobs: Vec::new(),
            has_new: false,
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
            ExportItem::Lost(_) | ExportItem::Thread { .. } => self.importer.push(item).await,
        }
    }

    /// Lets threads appear that the target does not have. Those that it has are as in the source.
    async fn take_threads(&mut self, threads: Vec<Thread>) -> Result<()> {
        self.counts.threads += threads.len() as u64;
        let ids = threads.iter().map(|thread| thread.id).collect();
        let living = self.target.shared.stores.store.threads(ids).await?;
        for thread in threads {
            if !living.iter().any(|there| there.id == thread.id) {
                self.has_new = true;
                self.importer.push(thread.into()).await?;
            }
        }
        Ok(())
    }

    async fn take_deleted(&mut self, tombstone: Tombstone) -> Result<()> {
        self.counts.deleted += 1;
        self.importer.push_deleted(tombstone).await
    }

    /// Ends it; returns the counts of the copy, and whether the target had all of it before.
    async fn finish(self) -> Result<(Counts, bool)> {
        let was_finished = !self.has_new && self.counts.already_there == self.counts.entries;
        self.importer.finish().await?;
        Ok((self.counts, was_finished))
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
                    self.may_go_on = self.page.len() == MOVED_AT_ONCE;
                }
                None => return Ok(None),
            }
        }
    }
}

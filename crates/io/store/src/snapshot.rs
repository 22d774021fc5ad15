//! Threads and segments as they were at one moment, in the order of exports, page by page.
//!
//! A snapshot holds no page but the one it gives: stores keep the rest in tables of their own. Entries are not part of
//! it: they never change, and are read from the log as far as the snapshot shows them.

use std::collections::{HashMap, HashSet};
use std::future::ready;

use threadkeep_model::{BlobId, Bounds, Segment, SegmentId, Thread, ThreadId, Version, reachable};

use crate::{BoxFuture, Result, SegmentRow, StoreError, StoredEntry, Tombstone};

/// A segment of a snapshot, and how far it is seen.
#[derive(Debug)]
pub struct SeenSegment {
    /// The segment with its origin. A damaged record is replaced by an empty one.
    pub row: SegmentRow,
    /// The version of its thread, if the snapshot has that thread: all entries up to it are seen.
    pub head: Option<Version>,
    /// How much of it other segments of the snapshot see.
    pub bounds: Bounds,
    /// Why its first record cannot be read.
    pub damage: Option<StoreError>,
}

impl SeenSegment {
    /// Whether the snapshot shows this entry of the segment.
    pub fn shows(&self, entry: &StoredEntry) -> bool {
        entry.position <= self.head.unwrap_or_else(|| self.bounds.of(entry.kind.class()))
    }
}

/// The size of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SnapshotSize {
    /// Segments that it shows.
    pub segments: u64,
    /// Threads that it shows.
    pub threads: u64,
    /// Entries in the store at that moment. The snapshot may show fewer.
    pub entries: u64,
}

/// Threads and segments as they were at one moment.
pub trait Snapshot: Send {
    /// How much there is.
    fn size(&self) -> SnapshotSize;

    /// Up to `limit` segments after those of the last call, by [`SegmentRow::order`] and id, so that each comes after the
    /// one it grew from; none at the end.
    fn segments(&mut self, limit: usize) -> BoxFuture<'_, Result<Vec<SeenSegment>>>;

    /// Up to `limit` threads after those of the last call, in the order of their ids; none at the end.
    fn threads(&mut self, limit: usize) -> BoxFuture<'_, Result<Vec<Thread>>>;

    /// Up to `limit` deleted threads above `after`, of all accounts, in the order of their ids.
    fn tombstones(&mut self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Tombstone>>>;

    /// Begins again with the first segment and the first thread, and forgets the blobs of [`Snapshot::new_blobs`].
    fn rewind(&mut self) -> BoxFuture<'_, Result<()>>;

    /// Those of `blobs` that were in no earlier call, each once.
    fn new_blobs(&mut self, blobs: Vec<BlobId>) -> BoxFuture<'_, Result<Vec<BlobId>>>;
}

/// A snapshot of some threads that is held in memory.
pub struct HeldSnapshot {
    segments: Vec<(SegmentRow, Option<Version>, Bounds)>,
    threads: Vec<Thread>,
    tombstones: Vec<Tombstone>,
    entries: u64,
    next_segment: usize,
    next_thread: usize,
    blobs: HashSet<BlobId>,
}

impl HeldSnapshot {
    /// The snapshot of `threads` with the segments among `rows` that they see. Both were read at one moment.
    pub fn new(mut threads: Vec<Thread>, rows: Vec<SegmentRow>, entries: u64) -> Self {
        threads.sort_by_key(|thread| (thread.id.short(), thread.id));
        threads.dedup_by_key(|thread| thread.id);
        let heads: HashMap<ThreadId, Version> = threads.iter().map(|thread| (thread.id, thread.head.version)).collect();
        let living: HashSet<ThreadId> = heads.keys().copied().collect();
        let known: Vec<Segment> = rows.iter().map(|row| row.segment.clone()).collect();
        let reach: HashMap<SegmentId, Bounds> = reachable(&known, &living);
        let seen = rows.into_iter().filter_map(|row| {
            let bounds = reach.get(&row.segment.id).copied()?;
            Some((heads.get(&row.segment.thread).copied(), bounds, row))
        });
        let mut segments: Vec<_> = seen.map(|(head, bounds, row)| (row, head, bounds)).collect();
        segments.sort_by_key(|(row, ..)| (row.order(), row.segment.id));
        let tombstones = Vec::new();
        Self { segments, threads, tombstones, entries, next_segment: 0, next_thread: 0, blobs: HashSet::new() }
    }

    /// The same with deleted threads, in the order of their ids.
    #[must_use]
    pub fn with_deleted(self, tombstones: Vec<Tombstone>) -> Self {
        Self { tombstones, ..self }
    }
}

impl Snapshot for HeldSnapshot {
    fn size(&self) -> SnapshotSize {
        let (segments, threads) = (self.segments.len() as u64, self.threads.len() as u64);
        SnapshotSize { segments, threads, entries: self.entries }
    }

    fn segments(&mut self, limit: usize) -> BoxFuture<'_, Result<Vec<SeenSegment>>> {
        let page = self.segments[self.next_segment..].iter().take(limit).map(|(row, head, bounds)| SeenSegment {
            row: row.clone(),
            head: *head,
            bounds: *bounds,
            damage: None,
        });
        let page: Vec<_> = page.collect();
        self.next_segment += page.len();
        Box::pin(ready(Ok(page)))
    }

    fn threads(&mut self, limit: usize) -> BoxFuture<'_, Result<Vec<Thread>>> {
        let page: Vec<_> = self.threads[self.next_thread..].iter().take(limit).cloned().collect();
        self.next_thread += page.len();
        Box::pin(ready(Ok(page)))
    }

    fn tombstones(&mut self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Tombstone>>> {
        let is_after = |gone: &&Tombstone| after.is_none_or(|after| gone.thread.short() > after.short());
        let page = self.tombstones.iter().filter(is_after).take(limit).copied().collect();
        Box::pin(ready(Ok(page)))
    }

    fn rewind(&mut self) -> BoxFuture<'_, Result<()>> {
        (self.next_segment, self.next_thread) = (0, 0);
        self.blobs.clear();
        Box::pin(ready(Ok(())))
    }

    fn new_blobs(&mut self, blobs: Vec<BlobId>) -> BoxFuture<'_, Result<Vec<BlobId>>> {
        let new = blobs.into_iter().filter(|blob| self.blobs.insert(*blob)).collect();
        Box::pin(ready(Ok(new)))
    }
}

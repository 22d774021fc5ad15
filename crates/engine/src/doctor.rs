//! The doctor: compares derived data with the log, checks the search index, and compares blobs with their hashes.

use std::collections::{BTreeMap, HashSet};

use threadkeep_model::{
    CellIs, Derived, Entry, ItemIs, ItemKind, Kind, MessageId, Position, QueuedId, Record, RelationKind, SegmentId,
    Space, Tally, Thread, Timestamp,
};
use threadkeep_store::{
    BoxFuture, CellNames, CellQuery, ChangeQuery, EntryQuery, Item, Order, Progress, RegistryKind, RegistryQuery,
    SeenSegment, SegmentRow, Snapshot, StoreError,
};

use crate::{Engine, Error, Result};

mod blobs;
mod compared;
mod settled;

use blobs::blobs;
use compared::Compared;
use settled::{Settled, settled};

/// Rows read at once.
const WALKED_AT_ONCE: usize = 1_000;
/// Findings that are listed one by one.
const FINDINGS_MAX: usize = 100;

/// What a check of the whole store found and repaired.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DoctorReport {
    /// Threads that were looked at.
    pub threads: u64,
    /// Entries that were looked at.
    pub entries: u64,
    /// Blobs that were looked at.
    pub blobs: u64,
    /// Threads that were written to or deleted meanwhile. Each was compared at one version of its own.
    pub changed: u64,
    /// Derived data that differs from the log, one sentence each; a repair rebuilds it.
    pub derived: Vec<String>,
    /// Damage to the log or to blobs, which nothing can rebuild, one sentence each.
    pub damage: Vec<String>,
}

impl DoctorReport {
    /// Whether nothing was found.
    pub fn is_healthy(&self) -> bool {
        self.derived.is_empty() && self.damage.is_empty()
    }

    /// Adds what was found in one thread.
    fn add(&mut self, found: Self) {
        found.derived.into_iter().for_each(|finding| self.derived(finding));
        found.damage.into_iter().for_each(|finding| self.damage(finding));
    }

    fn derived(&mut self, finding: String) {
        if self.derived.len() < FINDINGS_MAX {
            self.derived.push(finding);
        }
    }

    fn damage(&mut self, finding: String) {
        if self.damage.len() < FINDINGS_MAX {
            self.damage.push(finding);
        }
    }
}

/// The facts about one thread found in its segments.
#[derive(Default)]
struct Told {
    record: Option<Record>,
    checkpoints: BTreeMap<String, Position>,
    relations: HashSet<(SegmentId, Position)>,
    items: BTreeMap<(ItemKind, String), (MessageId, Option<Timestamp>)>,
    newest: Option<(Position, SegmentId, Position, Tally)>,
}

impl Engine {
    /// Frees data that no existing thread reaches; with `vacuum`, gives the space back to the file system.
    ///
    /// # Errors
    /// If the store cannot be written, or an import is under way.
    pub fn gc(&self, vacuum: bool, progress: Progress) -> BoxFuture<'_, Result<threadkeep_store::GcReport>> {
        Box::pin(async move {
            self.sweep_sealed().await?;
            self.sweep_memories().await?;
            let options = threadkeep_store::GcOptions { vacuum, now: self.shared.now() };
            let mut report = self.shared.stores.upkeep.gc(options, Progress::clone(&progress)).await?;
            // After the rows that named them: an object whose row is gone is never named again.
            self.shared.stores.blobs.sweep_objects().await?;
            let of_index = self.sweep_index(&progress).await?;
            report.bytes += if vacuum { of_index } else { 0 };
            Ok(report)
        })
    }

    /// Rewrites the store as small as can be, if that gives back a good part of it; returns the bytes given back. Others
    /// that write wait meanwhile: it is not for a store that a server serves.
    ///
    /// # Errors
    /// If the store cannot be written, or there is no room for a second copy of it.
    pub fn compact(&self, progress: Progress) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async move { Ok(self.shared.stores.upkeep.compact(progress).await?) })
    }

    /// Compares derived data with the log, and blobs with their hashes.
    ///
    /// # Errors
    /// If the store cannot be read at all.
    pub fn doctor(&self, progress: Progress) -> BoxFuture<'_, Result<DoctorReport>> {
        Box::pin(async move { examine(self, &progress).await })
    }

    /// Builds everything derived anew from the log. A search index in which something is wrong is emptied, and filled
    /// again like one that was never there.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn repair(&self, progress: Progress) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.shared.stores.upkeep.rebuild(progress).await?;
            self.repair_index().await
        })
    }
}

async fn examine(engine: &Engine, progress: &Progress) -> Result<DoctorReport> {
    let mut report = DoctorReport::default();
    documents(engine, &mut report).await?;
    blobs(engine, progress, &mut report).await?;
    // Threads and segments of one moment: the segments of a thread that was read are there.
    let mut moment = engine.shared.stores.upkeep.snapshot(None).await?;
    // Everything is compared with threads and segments: without them, only their damage can be told.
    match orphans(engine, &mut *moment, progress, &mut report).await {
        Err(error) if error.is_damage() => {
            report.damage(error.to_string());
            return Ok(report);
        }
        walked => walked?,
    }
    let (total, mut done) = (moment.size().threads, 0);
    loop {
        progress("threads", done, Some(total));
        let threads = match moment.threads(WALKED_AT_ONCE).await {
            Err(error @ StoreError::Corrupt { .. }) => {
                report.derived(error.to_string());
                return Ok(report);
            }
            threads => threads?,
        };
        if threads.is_empty() {
            break;
        }
        for listed in &threads {
            living_thread(engine, listed, &mut report).await?;
            done += 1;
            progress("threads", done, Some(total.max(done)));
            // Some stores read at once: others have their turn between two threads.
            tokio::task::yield_now().await;
        }
    }
    drop(moment);
    for finding in engine.shared.stores.upkeep.check_lists(FINDINGS_MAX).await? {
        report.derived(finding);
    }
    for finding in engine.check_index(FINDINGS_MAX).await {
        report.derived(finding);
    }
    Ok(report)
}

/// Looks at the links of all segments, and reads those that are seen although their threads are deleted.
async fn orphans(
    engine: &Engine,
    moment: &mut dyn Snapshot,
    progress: &Progress,
    report: &mut DoctorReport,
) -> Result<()> {
    let (total, mut done) = (moment.size().segments, 0);
    loop {
        progress("segments", done, Some(total));
        let page = moment.segments(WALKED_AT_ONCE).await?;
        if page.is_empty() {
            return Ok(());
        }
        done += page.len() as u64;
        let links = page.iter().filter_map(|seen| seen.row.segment.link.map(|link| (link.parent, seen)));
        let by_parent: BTreeMap<SegmentId, &SeenSegment> = links.collect();
        let store = &engine.shared.stores.store;
        // The parents come first in the list of all that they grew from.
        let found = store.chains(by_parent.keys().copied().collect(), by_parent.len()).await?;
        let found: HashSet<SegmentId> = found.into_iter().map(|segment| segment.id).collect();
        for (missing, child) in by_parent.into_iter().filter(|(parent, _)| !found.contains(parent)) {
            // Not `chain`, which a store may answer from memory: a segment never changes.
            if !store.chains(vec![missing], 1).await?.is_empty() {
                continue;
            }
            // The segments of a thread that was deleted meanwhile may be freed.
            if child.head.is_none() || store.head(child.row.segment.thread).await?.is_some() {
                report.damage(format!("segment {missing} is missing, and others link to it"));
            }
        }
        for seen in page {
            if let Some(damage) = seen.damage {
                report.damage(damage.to_string());
            }
            if seen.head.is_none() {
                segment(engine, &seen.row, None, &mut Told::default(), report).await?;
            }
        }
        tokio::task::yield_now().await;
    }
}

/// Reads the documents beside the threads: keys, projects, secrets.
async fn documents(engine: &Engine, report: &mut DoctorReport) -> Result<()> {
    for kind in RegistryKind::ALL {
        let mut after = None;
        loop {
            let query = RegistryQuery { kind, account: None, after, limit: WALKED_AT_ONCE };
            let some = match engine.shared.stores.registry.registry(query).await {
                Err(error @ StoreError::Corrupt { .. }) => {
                    report.damage(error.to_string());
                    break;
                }
                some => some?,
            };
            let Some(last) = some.last() else { break };
            after = Some(last.id.clone());
        }
    }
    Ok(())
}

/// Compares a thread with its log up to one version, which may be later than the one that was `listed`.
async fn living_thread(engine: &Engine, listed: &Thread, report: &mut DoctorReport) -> Result<()> {
    let id = listed.id;
    let Some(state) = settled(engine, id).await? else {
        report.changed += 1;
        return Ok(());
    };
    let head = state.thread.head;
    let has_changed = head != listed.head;
    let own = engine.shared.stores.store.segments(id, Position::END, usize::MAX).await?;
    let own = own.into_iter().map(|own| own.id).collect();
    let mut rows = match engine.shared.stores.upkeep.segment_rows(own).await {
        // Told already, with its segment.
        Err(StoreError::Corrupt { .. }) => return Ok(()),
        rows => rows?,
    };
    rows.sort_by_key(SegmentRow::order);
    let (mut told, mut found) = (Told::default(), DoctorReport::default());
    for row in rows.iter().filter(|row| row.segment.first <= head.version || row.segment.id == head.segment) {
        segment(engine, row, Some(head.version), &mut told, &mut found).await?;
    }
    compare(engine, state, told, &mut found).await?;
    let is_there = found.is_healthy() || engine.shared.stores.store.head(id).await?.is_some();
    report.threads += 1;
    report.entries += found.entries;
    report.changed += u64::from(has_changed || !is_there);
    // gc may free the rows of a thread that was deleted meanwhile.
    if is_there {
        report.add(found);
    }
    Ok(())
}

/// Reads a segment's entries in order, and compares the rows that follow from them. Of a living thread, up to the
/// version `at`: later ones may still be written.
async fn segment(
    engine: &Engine,
    row: &SegmentRow,
    at: Option<Position>,
    told: &mut Told,
    report: &mut DoctorReport,
) -> Result<()> {
    let (lives, until) = (at.is_some(), at.unwrap_or(Position::END));
    let store = &engine.shared.stores.store;
    let id = row.segment.id;
    if let Some((_, record)) = &row.origin {
        told.record = Some(record.clone());
    }
    let mut compared = Compared::default();
    let mut changes: HashSet<(u64, Position, Position, u8)> = HashSet::new();
    let mut cells: BTreeMap<(Space, String), (Position, CellIs)> = BTreeMap::new();
    let (mut from, mut tally) = (row.segment.first, row.segment.birth);
    let mut last = row.segment.first.previous();
    while from <= until {
        let query = EntryQuery { segment: id, positions: from..=until, order: Order::Ascending, limit: WALKED_AT_ONCE };
        let entries = store.entries(query).await?;
        let Some(newest) = entries.last() else { break };
        from = newest.position.next();
        let mut messages: BTreeMap<u64, Position> = BTreeMap::new();
        let counted = if compared.has_begun { tally.ordinals } else { 0 };
        for stored in &entries {
            report.entries += 1;
            let place = format!("entry {} of segment {id}", stored.position);
            if lives && stored.position != last.next() {
                report.damage(format!(
                    "entries {} to {} of segment {id} are missing",
                    last.next(),
                    stored.position.previous()
                ));
            }
            last = stored.position;
            let body = match engine.body(stored).await {
                Ok(body) => body,
                Err(Error::Store(error)) => {
                    report.damage(error.to_string());
                    tally = stored.tally;
                    if stored.derived_if_damaged().is_some() {
                        messages.insert(tally.ordinals, stored.position);
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            let entry = match Entry::decode(stored.kind, stored.format, &body) {
                Ok(entry) => entry,
                Err(what) => {
                    report.damage(format!("{place} cannot be read: {what}"));
                    tally = stored.tally;
                    continue;
                }
            };
            let derived = entry.derived();
            tally = tally.after(&derived, stored.position, stored.time, body.len() as u64);
            if lives && tally != stored.tally {
                report.damage(format!("{place} carries a wrong tally"));
            }
            tally = stored.tally;
            match derived {
                Derived::Nothing | Derived::State => {}
                Derived::Cells { space, cells: said, .. } => {
                    cells.extend(said.into_iter().map(|cell| ((space, cell.name), (stored.position, cell.is))));
                }
                Derived::Message { .. } => drop(messages.insert(tally.ordinals, stored.position)),
                Derived::Delivered { item, .. } => {
                    messages.insert(tally.ordinals, stored.position);
                    let place = MessageId { segment: id, position: stored.position };
                    if engine.shared.stores.store.delivered(item).await? != Some(place) {
                        report.derived(format!("{place} is not found by its name {item}"));
                    }
                    for kind in [ItemKind::Queued, ItemKind::QueuedSilently] {
                        told.items.remove(&(kind, item.to_string()));
                    }
                }
                Derived::Item { kind, key, is, due } => {
                    let place = MessageId { segment: id, position: stored.position };
                    let key = (kind, key.unwrap_or_else(|| QueuedId(place).to_string()));
                    match is {
                        ItemIs::InsteadOf(before) => {
                            told.items.remove(&(before, key.1.clone()));
                            told.items.insert(key, (place, due));
                        }
                        ItemIs::There => drop(told.items.insert(key, (place, due))),
                        ItemIs::Gone => drop(told.items.remove(&key)),
                    }
                }
                Derived::Change(change) => {
                    let op = change.op.code();
                    changes.extend(change.targets.iter().map(|target| (change.root, stored.position, *target, op)));
                }
                Derived::Relation {
                    kind:
                        RelationKind::Fork
                        | RelationKind::Handoff
                        | RelationKind::Mention
                        | RelationKind::Spawn
                        | RelationKind::Reference,
                    ..
                } => {
                    told.relations.insert((id, stored.position));
                }
                Derived::Checkpoint { name, version } => drop(told.checkpoints.insert(name, version)),
            }
            if Record::CHANGED_BY.contains(&entry.kind()) {
                told.record = told.record.take().unwrap_or_default().after(&entry).ok();
            }
        }
        compared.messages(store, id, counted..tally.ordinals.max(counted), until, messages).await?;
    }
    told.newest = Some((row.segment.first, id, last, tally));
    compared.messages(store, id, tally.ordinals..i64::MAX as u64, until, BTreeMap::new()).await?;
    if compared.differ {
        let (found, told) = (compared.found, compared.told);
        report.derived(format!("segment {id}: the index of messages has {found} rows, the log {told}"));
    }
    let query = ChangeQuery { spans: vec![(id, Position::START..=until)], roots: 0..u64::MAX };
    let rows = store.changes(query).await?;
    let found: HashSet<_> = rows.iter().map(|row| (row.root, row.position, row.target, row.op.code())).collect();
    if found != changes {
        report.derived(format!(
            "segment {id}: the index of changes has {} rows, the log {}",
            found.len(),
            changes.len()
        ));
    }
    let mut found = BTreeMap::new();
    for space in [Space::Files, Space::Values] {
        let mut next = Some(String::new());
        while let Some(from) = next {
            let names = CellNames::Between(from, None);
            let query = CellQuery { space, spans: vec![(id, until)], names, limit: WALKED_AT_ONCE };
            let page = match store.cells(query).await {
                Err(error @ StoreError::Corrupt { .. }) => {
                    report.derived(error.to_string());
                    break;
                }
                page => page?,
            };
            found.extend(page.cells.into_iter().map(|cell| ((space, cell.name), (cell.position, cell.is))));
            next = page.next;
        }
    }
    if found != cells {
        report.derived(format!("segment {id}: the index of files and values is not what the log says"));
    }
    Ok(())
}

/// Compares a thread's head, record, checkpoints and relations with its segments.
async fn compare(engine: &Engine, state: Settled, told: Told, report: &mut DoctorReport) -> Result<()> {
    let (store, thread) = (&engine.shared.stores.store, &state.thread);
    let id = thread.id;
    match told.newest {
        None => report.damage(format!("thread {id} has no segment")),
        Some((_, segment, version, tally)) => {
            let head = &thread.head;
            if (head.segment, head.version, head.tally) != (segment, version, tally) {
                report.derived(format!("thread {id}: its head says version {}, the log {version}", head.version));
            }
        }
    }
    if told.record.as_ref() != Some(&thread.record) {
        report.derived(format!("thread {id}: its record is not what the log says"));
    }
    if !state.is_whole {
        return Ok(());
    }
    if state.is_behind {
        report.derived(format!("thread {id}: its head says version {}, the log goes on", thread.head.version));
    }
    let found: BTreeMap<String, Position> =
        state.checkpoints.iter().map(|checkpoint| (checkpoint.name.clone(), checkpoint.version)).collect();
    if found != told.checkpoints {
        report.derived(format!("thread {id}: its checkpoints are not what the log says"));
    }
    let place = |item: &Item| MessageId { segment: item.entry.segment, position: item.entry.position };
    let items: BTreeMap<_, _> =
        state.items.iter().map(|(kind, item)| ((*kind, item.key.clone()), (place(item), item.due))).collect();
    if items != told.items {
        report
            .derived(format!("thread {id}: its queue, subagents, approvals or other items are not what the log says"));
    }
    // Relations to threads that are deleted, or not in this store, have no row.
    let relations = match state.relations {
        Err(error @ StoreError::Corrupt { .. }) => {
            report.derived(error.to_string());
            return Ok(());
        }
        relations => relations?,
    };
    let made = relations.iter().filter(|relation| relation.parent == id);
    if made.clone().any(|relation| !told.relations.contains(&(relation.made.segment, relation.made.position))) {
        report.derived(format!("thread {id}: it has a relation that the log does not tell of"));
    }
    let rows: HashSet<_> = made.map(|relation| (relation.made.segment, relation.made.position)).collect();
    for (segment, position) in told.relations.difference(&rows) {
        let place = MessageId { segment: *segment, position: *position };
        let Some(entry) = engine.entry_at(place).await? else { continue };
        if !matches!(entry.kind, Kind::Forked | Kind::Related) {
            continue;
        }
        if let Derived::Relation { child, .. } = engine.decode(&entry).await?.derived()
            && store.thread(child.into()).await?.is_some()
        {
            report.derived(format!("thread {id}: its relation to {child} has no row"));
        }
    }
    Ok(())
}

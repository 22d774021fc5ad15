//! The doctor: compares derived data with the log, checks the search index, and compares blobs with their hashes.

use std::collections::{BTreeMap, HashMap, HashSet};

use threadkeep_model::{
    CellIs, Derived, Entry, ItemIs, ItemKind, Kind, MessageId, Position, QueuedId, Record, RelationKind, Segment,
    SegmentId, Space, Tally, Thread, ThreadId, Timestamp, reachable,
};
use threadkeep_store::{
    CellNames, CellQuery, ChangeQuery, EntryQuery, Item, MessageFilter, MessageQuery, Order, Progress, RegistryKind,
    RegistryQuery, SegmentRow, StoreError,
};

use crate::{Engine, Error, Result};

mod settled;

use settled::{Settled, settled};

/// Rows read at once.
const WALKED_AT_ONCE: usize = 1_000;
/// Findings that are listed one by one.
const FINDINGS_MAX: usize = 100;

/// The doctor's findings.
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
    pub async fn gc(&self, vacuum: bool, progress: Progress) -> Result<threadkeep_store::GcReport> {
        self.sweep_sealed().await?;
        let options = threadkeep_store::GcOptions { vacuum, now: self.shared.now() };
        let report = self.shared.stores.upkeep.gc(options, Progress::clone(&progress)).await?;
        self.sweep_index(&progress).await?;
        Ok(report)
    }

    /// Compares derived data with the log, and blobs with their hashes.
    ///
    /// # Errors
    /// If the store cannot be read at all.
    pub async fn doctor(&self, progress: Progress) -> Result<DoctorReport> {
        examine(self, &progress).await
    }

    /// Builds everything derived anew from the log. A search index in which something is wrong is emptied, and filled
    /// again like one that was never there.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn repair(&self, progress: Progress) -> Result<()> {
        self.shared.stores.upkeep.rebuild(progress).await?;
        self.repair_index().await
    }
}

async fn examine(engine: &Engine, progress: &Progress) -> Result<DoctorReport> {
    let mut report = DoctorReport::default();
    documents(engine, &mut report).await?;
    blobs(engine, progress, &mut report).await?;
    // Threads first: the segments of a thread that was read are there when segments are read.
    let threads = all_threads(engine).await;
    // Everything else is compared with these two: without them, only their damage can be told.
    let mut segments = match all_segments(engine).await {
        Err(error) if error.is_damage() => {
            report.damage(error.to_string());
            return Ok(report);
        }
        segments => segments?,
    };
    segments.sort_by_key(|row| (row.segment.thread, row.order()));
    let mut threads: HashMap<ThreadId, Thread> = match threads {
        Err(error) if error.is_damage() => {
            report.derived(error.to_string());
            return Ok(report);
        }
        threads => threads?.into_iter().map(|thread| (thread.id, thread)).collect(),
    };
    let living: HashSet<ThreadId> = threads.keys().copied().collect();
    let known: Vec<_> = segments.iter().map(|row| row.segment.clone()).collect();
    let ids: HashSet<SegmentId> = known.iter().map(|segment| segment.id).collect();
    let reach = reachable(&known, &living);
    for child in known.iter().filter(|segment| reach.contains_key(&segment.id)) {
        let missing = child.link.map(|link| link.parent).filter(|parent| !ids.contains(parent));
        let Some(missing) = missing else { continue };
        // The segments of a thread that was deleted meanwhile may be freed.
        if !living.contains(&child.thread) || engine.shared.stores.store.head(child.thread).await?.is_some() {
            report.damage(format!("segment {missing} is missing, and others link to it"));
        }
    }
    let total = segments.len() as u64;
    let mut done = 0;
    for rows in segments.chunk_by(|a, b| a.segment.thread == b.segment.thread) {
        progress("segments", done, Some(total));
        done += rows.len() as u64;
        // Unreachable segments wait for gc, and may have gaps.
        let rows: Vec<_> = rows.iter().filter(|row| reach.contains_key(&row.segment.id)).cloned().collect();
        let Some(first) = rows.first() else { continue };
        match threads.remove(&first.segment.thread) {
            Some(thread) => living_thread(engine, &thread, rows, &mut report).await?,
            None => {
                for row in &rows {
                    segment(engine, row, None, &mut Told::default(), &mut report).await?;
                }
            }
        }
    }
    progress("segments", total, Some(total));
    for thread in threads.into_values() {
        living_thread(engine, &thread, Vec::new(), &mut report).await?;
    }
    for finding in engine.shared.stores.upkeep.check_lists(FINDINGS_MAX).await? {
        report.derived(finding);
    }
    for finding in engine.check_index(FINDINGS_MAX).await {
        report.derived(finding);
    }
    Ok(report)
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

async fn all_segments(engine: &Engine) -> Result<Vec<SegmentRow>> {
    let mut all: Vec<SegmentRow> = Vec::new();
    loop {
        let after = all.last().map(|row| row.segment.id);
        let some = engine.shared.stores.upkeep.all_segments(after, WALKED_AT_ONCE).await?;
        if some.is_empty() {
            return Ok(all);
        }
        all.extend(some);
    }
}

async fn all_threads(engine: &Engine) -> Result<Vec<Thread>> {
    let mut all: Vec<Thread> = Vec::new();
    loop {
        let after = all.last().map(|thread| thread.id);
        let some = engine.shared.stores.upkeep.all_threads(after, WALKED_AT_ONCE).await?;
        if some.is_empty() {
            return Ok(all);
        }
        all.extend(some);
    }
}

/// Compares a thread with its log up to one version, which may be later than the one that was `listed`.
async fn living_thread(
    engine: &Engine,
    listed: &Thread,
    mut rows: Vec<SegmentRow>,
    report: &mut DoctorReport,
) -> Result<()> {
    let id = listed.id;
    let Some(state) = settled(engine, id).await? else {
        report.changed += 1;
        return Ok(());
    };
    let head = state.thread.head;
    let has_changed = head != listed.head;
    if has_changed {
        let now = engine.shared.stores.store.segments(id, head.version, usize::MAX).await?;
        let is_new = |segment: &Segment| !rows.iter().any(|row| row.segment.id == segment.id);
        let new: Vec<_> = now.into_iter().filter(is_new).collect();
        rows.extend(new.into_iter().map(|segment| SegmentRow { segment, origin: None }));
        rows.sort_by_key(SegmentRow::order);
    }
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
    let mut messages: BTreeMap<u64, Position> = BTreeMap::new();
    let mut changes: HashSet<(u64, Position, Position, u8)> = HashSet::new();
    let mut cells: BTreeMap<(Space, String), (Position, CellIs)> = BTreeMap::new();
    let (mut from, mut tally) = (row.segment.first, row.segment.birth);
    let mut last = row.segment.first.previous();
    while from <= until {
        let query = EntryQuery { segment: id, positions: from..=until, order: Order::Ascending, limit: WALKED_AT_ONCE };
        let entries = store.entries(query).await?;
        let Some(newest) = entries.last() else { break };
        from = newest.position.next();
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
    }
    told.newest = Some((row.segment.first, id, last, tally));
    let query = MessageQuery {
        segment: id,
        ordinals: 0..i64::MAX as u64,
        filter: MessageFilter::ALL,
        order: Order::Ascending,
        limit: usize::MAX,
    };
    let mut rows = store.messages(query).await?;
    rows.retain(|row| row.position <= until);
    let found: BTreeMap<u64, Position> = rows.iter().map(|row| (row.tally.ordinals, row.position)).collect();
    if found != messages {
        report.derived(format!(
            "segment {id}: the index of messages has {} rows, the log {}",
            found.len(),
            messages.len()
        ));
    }
    let query = ChangeQuery { segment: id, roots: 0..u64::MAX, positions: Position::START..=until };
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

async fn blobs(engine: &Engine, progress: &Progress, report: &mut DoctorReport) -> Result<()> {
    let mut after = None;
    loop {
        let some = engine.shared.stores.upkeep.all_blobs(after, WALKED_AT_ONCE).await?;
        let Some(last) = some.last() else { return Ok(()) };
        after = Some(*last);
        for id in &some {
            report.blobs += 1;
            // A store compares a blob with its hash.
            match engine.shared.stores.blobs.blob(*id).await {
                Ok(Some(_)) => {}
                Ok(None) => report.damage(format!("blob {id} is missing")),
                Err(error @ StoreError::Corrupt { .. }) => report.damage(error.to_string()),
                Err(error) => return Err(error.into()),
            }
        }
        progress("blobs", report.blobs, None);
    }
}

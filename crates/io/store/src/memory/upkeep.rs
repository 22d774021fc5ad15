//! Freeing, importing and rebuilding in memory.

use std::collections::HashSet;

use threadkeep_model::{BlobId, IdempotencyKey, Segment, ThreadId, Timestamp, reachable};

use super::state::{News, SegmentState, State};
use super::uploads::Content;
use crate::{GcReport, ImportBatch, ImportedEntry, KeptKey, Result, StoreError};

impl State {
    pub(super) fn gc(&mut self, now: Timestamp) -> Result<GcReport> {
        if self.import_until > now {
            return Err(StoreError::import_under_way());
        }
        let segments: Vec<Segment> = self.segments.values().map(|state| state.row.segment.clone()).collect();
        let living: HashSet<ThreadId> = self.threads.values().map(|thread| thread.id).collect();
        let reach = reachable(&segments, &living);
        let mut report = GcReport::default();
        for segment in segments.iter().filter(|segment| !living.contains(&segment.thread)) {
            let Some(bounds) = reach.get(&segment.id) else {
                let freed = self.segments.remove(&segment.id);
                report.segments += 1;
                report.entries += freed.map_or(0, |state| state.entries.len() as u64);
                continue;
            };
            let Some(state) = self.segments.get_mut(&segment.id) else { continue };
            let before = state.entries.len();
            state.entries.retain(|position, (entry, ..)| *position <= bounds.of(entry.kind.class()));
            let SegmentState { entries, messages, changes, cells, .. } = state;
            messages.retain(|_, (position, ..)| entries.contains_key(position));
            changes.retain(|(_, position, _), _| entries.contains_key(position));
            cells.retain(|(_, _, position), _| entries.contains_key(position));
            report.entries += (before - entries.len()) as u64;
        }
        let Self { segments, feed, .. } = self;
        feed.retain(|_, (_, news)| match news {
            News::Began(segment) => segments.contains_key(segment),
            News::Entry(segment, position) => {
                segments.get(segment).is_some_and(|state| state.entries.contains_key(position))
            }
            News::Deleted => true,
        });
        let Self { segments, aliases, .. } = self;
        aliases.retain(|_, to| segments.get(&to.segment).is_some_and(|state| state.entries.contains_key(&to.position)));
        let entries = self.segments.values().flat_map(|state| state.entries.values());
        let named: HashSet<BlobId> = entries.flat_map(|(.., blobs)| blobs.iter().copied()).collect();
        let before = self.blobs.len();
        let unfinished = self.uploads.expire(now);
        let Self { blobs, uploads, .. } = self;
        blobs.retain(|blob, _| named.contains(blob) || uploads.hold(blob));
        report.blobs = (before - self.blobs.len() + unfinished) as u64;
        let since = now.plus_micros(-IdempotencyKey::KEPT_MICROS);
        self.idempotency.retain(|_, row| row.first.time >= since);
        Ok(report)
    }

    pub(super) fn import(&mut self, batch: ImportBatch) -> Result<()> {
        self.check_import(&batch)?;
        self.import_until = batch.kept_until();
        for (blob, bytes) in batch.blobs {
            self.blobs.insert(blob, Content::Here(bytes));
        }
        for row in batch.segments {
            if !self.segments.contains_key(&row.segment.id) {
                self.open(row);
            }
        }
        for imported in batch.entries {
            let Some(state) = self.segments.get(&imported.entry.segment) else { continue };
            let thread = state.row.segment.thread;
            if !state.entries.contains_key(&imported.entry.position) {
                self.insert(thread, imported.entry, imported.derived, imported.blobs);
            } else if imported.comes_back() && self.living(thread).is_err() {
                self.derive(thread, &imported.entry, &imported.derived);
            }
        }
        for thread in batch.threads {
            self.threads.entry(thread.id.short().bits()).or_insert(thread);
        }
        for tombstone in batch.tombstones {
            if !self.tombstones.contains_key(&tombstone.thread.short().bits()) {
                self.delete(tombstone);
            }
        }
        for KeptKey { thread, account, key, row } in batch.keys {
            self.idempotency.insert((thread, account, key), row);
        }
        if let Some((account, documents)) = batch.documents {
            self.registry.retain(|(kind, _), document| !kind.is_of_account() || document.account != account);
            self.registry
                .extend(documents.into_iter().map(|document| ((document.kind, document.id.clone()), document)));
        }
        Ok(())
    }

    /// Refuses an import that does not fit what is here, before anything of it is taken in.
    fn check_import(&self, batch: &ImportBatch) -> Result<()> {
        let clash = |what: String| Err(StoreError::Import { what });
        // All that is a living thread's own is here: an import can add nothing to it.
        let lives = |thread: ThreadId| self.threads.get(&thread.short().bits()).is_some_and(|here| here.id == thread);
        let differs = |thread: ThreadId| clash(format!("thread {thread} is here already, and differs"));
        for row in &batch.segments {
            match self.segments.get(&row.segment.id) {
                Some(state) if state.row == *row => {}
                Some(_) => return clash(format!("segment {} is here already, and differs", row.segment.id)),
                None if lives(row.segment.thread) => return differs(row.segment.thread),
                None => {}
            }
        }
        for ImportedEntry { entry, .. } in &batch.entries {
            match self.segments.get(&entry.segment) {
                Some(state) => match state.entries.get(&entry.position) {
                    Some((here, ..)) if here.body != entry.body => {
                        let place = format!("entry {} of segment {}", entry.position, entry.segment);
                        return clash(format!("{place} is here already, and differs"));
                    }
                    Some(_) => {}
                    None if lives(state.row.segment.thread) => return differs(state.row.segment.thread),
                    None => {}
                },
                None if batch.segments.iter().any(|row| row.segment.id == entry.segment) => {}
                None => return clash(format!("segment {} is missing", entry.segment)),
            }
        }
        if let Some(lives) = batch.tombstones.iter().find(|gone| self.threads.contains_key(&gone.thread.short().bits()))
        {
            return Err(StoreError::lives_here(lives.thread));
        }
        for thread in &batch.threads {
            let short = thread.id.short().bits();
            if self.tombstones.contains_key(&short) {
                return clash(format!("thread {} was deleted here, and stays deleted", thread.id));
            }
            let here = self.threads.get(&short);
            let newest = self.segments.get(&thread.head.segment);
            let goes_on = newest.is_some_and(|state| state.entries.keys().any(|at| *at > thread.head.version));
            if here.is_none() && goes_on {
                return clash(format!("thread {} goes on here after version {}", thread.id, thread.head.version));
            }
            if here.is_some_and(|here| here.id != thread.id || here.head.version != thread.head.version) {
                return differs(thread.id);
            }
        }
        Ok(())
    }

    pub(super) fn rebuild(&mut self) {
        self.relations.clear();
        self.checkpoints.clear();
        self.items.clear();
        self.aliases.clear();
        let mut entries = Vec::new();
        for state in self.segments.values_mut() {
            state.messages.clear();
            state.changes.clear();
            state.cells.clear();
            let thread = state.row.segment.thread;
            entries.extend(state.entries.values().map(|(entry, derived, _)| (thread, entry.clone(), derived.clone())));
        }
        // Within a thread positions rise, across its branches.
        entries.sort_by_key(|(thread, entry, _)| (*thread, entry.position));
        for (thread, entry, derived) in entries {
            self.derive(thread, &entry, &derived);
        }
        let Self { threads, relations, checkpoints, items, .. } = self;
        let lives = |id: &ThreadId| threads.get(&id.short().bits()).is_some_and(|thread| thread.id == *id);
        relations.retain(|relation| lives(&relation.parent) && lives(&relation.child));
        checkpoints.retain(|thread, _| lives(thread));
        items.retain(|(thread, ..), _| lives(thread));
    }
}

//! How a commit is written: all checks first, then the rows.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use threadkeep_model::{
    Account, Advanced, Body, Caller, Commit, Committed, Expect, Head, Kind, Lease, NewEntry, Position, Segment,
    ThreadCommit, ThreadId, Timestamp, advance, born,
};
use threadkeep_store::sum::{content_sum, entry_sum};
use threadkeep_store::terms::{Filing, UNFILED};
use threadkeep_store::{KeyQuery, Result, SegmentRow, StoreError};

use crate::codec::{self, blob_key, key, rest, segment_key};
use crate::error::from_sqlite;
use crate::fences;
use crate::filing;
use crate::keys;
use crate::lease;
use crate::processes;
use crate::tables::{
    EntryPlace, EntryRow, delete_thread, exists, insert_derived, insert_thread, is_taken, last_seq, put_blob,
    update_record,
};
use crate::terms;

/// The cache of the writer. It is valid while no other process writes to the file.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Heads by thread key. Those that are dirty are written once, before the transaction ends.
    heads: HashMap<i64, KnownHead>,
    actors: HashMap<(Account, u8, String), i64>,
    /// The number of what happened last, once it was looked up.
    last: Option<i64>,
    /// Whether any account is frozen, once it was looked up.
    is_any_frozen: Option<bool>,
    /// Threads that this transaction put on the shelf of lists, each with the minute under which it is filed.
    on_shelf: Vec<(i64, i64)>,
}

#[derive(Debug)]
struct KnownHead {
    thread: ThreadId,
    head: Head,
    /// The minute under which the thread is listed, and the moment within it, unless it changed again since.
    minute: i64,
    moment: Option<i64>,
    /// The minute under which its terms lie, if it has any.
    filed: i64,
    dirty: bool,
    /// The last lease on the thread, held or not.
    lease: Option<Lease>,
}

/// Heads kept between transactions.
const KNOWN_HEADS_MAX: usize = 4_096;
const KNOWN_ACTORS_MAX: usize = 4_096;

/// The change of one thread by a commit, decided before the first write.
enum Step<'a> {
    Create(&'a threadkeep_model::Create, Advanced),
    Write(&'a threadkeep_model::Write, Advanced),
    Delete(ThreadId),
}

/// Whether a failed commit left rows behind.
pub(crate) enum Failure {
    /// The commit wrote nothing.
    Refused(StoreError),
    /// Something was: the transaction must be rolled back.
    Broken(StoreError),
}

impl Known {
    /// Forgets everything: the file changed behind the writer's back.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// The number of what happened last, if it was looked up.
    pub(crate) fn last(&self) -> Option<i64> {
        self.last
    }

    /// Forgets one thread: its lease changed.
    pub(crate) fn forget_thread(&mut self, thread: ThreadId) {
        self.heads.remove(&key(thread));
    }

    /// Keeps memory bounded between transactions.
    pub(crate) fn trim(&mut self) {
        if self.heads.len() > KNOWN_HEADS_MAX {
            self.heads.clear();
        }
        if self.actors.len() > KNOWN_ACTORS_MAX {
            self.actors.clear();
        }
    }

    /// Writes `commit` within the open transaction. Heads are kept back for [`Known::flush`].
    pub(crate) fn apply(&mut self, connection: &Connection, commit: &Commit) -> Result<Committed, Failure> {
        if let Some(first) = self.replay(connection, commit).map_err(Failure::Refused)? {
            return Ok(first);
        }
        // Invariant: all checks of a commit come before its first write, so a refused one leaves no trace.
        let steps = self.plan(connection, commit).map_err(Failure::Refused)?;
        self.write(connection, commit, steps).map_err(Failure::Broken)
    }

    /// Writes the heads that changed, and files threads in lists if too many wait for it.
    pub(crate) fn flush(&mut self, connection: &Connection) -> Result<()> {
        for (thread, known) in self.heads.iter_mut().filter(|(_, known)| known.dirty) {
            let head = &known.head;
            connection
                .prepare_cached(
                    "UPDATE heads SET version = ?2, segment = ?3, era = ?4, fence = ?5, updated = ?6, tally = ?7
                     WHERE thread = ?1",
                )
                .and_then(|mut statement| {
                    statement.execute(params![
                        thread,
                        head.version.0 as i64,
                        segment_key(head.segment),
                        head.era as i64,
                        head.fence as i64,
                        head.updated.as_micros(),
                        head.tally.encode(),
                    ])
                })
                .map_err(from_sqlite)?;
            let (minute, moment) = (head.updated.minute(), terms::moment(head.updated));
            if known.minute != minute {
                terms::move_thread(connection, *thread, head.updated)?;
                self.on_shelf.extend((known.minute == known.filed).then_some((*thread, known.filed)));
                (known.minute, known.moment) = (minute, Some(moment));
            } else if known.moment.is_some_and(|listed| listed != moment) {
                terms::forget_moment(connection, *thread)?;
                known.moment = None;
            }
            known.dirty = false;
        }
        // The last of the transaction: it fills the memory of SQLite with pages that nothing after it should need.
        for (thread, filed) in std::mem::take(&mut self.on_shelf) {
            for (thread, filed) in filing::tidy_shelf(connection, thread, filed)? {
                if let Some(known) = self.heads.get_mut(&thread) {
                    (known.filed, known.moment) = (filed, Some(terms::moment(known.head.updated)));
                }
            }
        }
        Ok(())
    }

    fn head(&mut self, connection: &Connection, id: ThreadId) -> Result<Head> {
        let missing = || StoreError::ThreadNotFound { thread: id };
        if let Some(known) = self.heads.get(&key(id)) {
            return if known.thread == id { Ok(known.head) } else { Err(missing()) };
        }
        let mut statement = connection
            .prepare_cached(
                "SELECT t.rest, t.minute, t.moment, t.filed, h.version, h.segment, h.era, h.fence, h.updated, h.tally
                 FROM threads t JOIN heads h ON h.thread = t.id WHERE t.id = ?1",
            )
            .map_err(from_sqlite)?;
        let mut rows = statement.query([key(id)]).map_err(from_sqlite)?;
        let Some(row) = rows.next().map_err(from_sqlite)? else { return Err(missing()) };
        let read = || -> rusqlite::Result<_> {
            Ok((row.get_ref(0)?.as_blob()?, row.get(1)?, row.get(2)?, row.get(3)?, codec::head_at(row, 4)?))
        };
        let (found, minute, moment, filed, (head, bytes)) = read().map_err(from_sqlite)?;
        let head = Head { tally: codec::tally(bytes)?, ..head };
        let thread = codec::thread_id(key(id), found)?;
        let lease = lease::last(connection, thread)?;
        self.heads.insert(key(id), KnownHead { thread, head, minute, moment, filed, dirty: false, lease });
        if thread == id { Ok(head) } else { Err(missing()) }
    }

    /// The result of an earlier commit under the same key, if there is one.
    fn replay(&mut self, connection: &Connection, commit: &Commit) -> Result<Option<Committed>> {
        let (Some(idempotency), Some(query)) = (&commit.idempotency, KeyQuery::of(commit)) else { return Ok(None) };
        let earlier = keys::remembered_at(connection, &query, |thread| self.head(connection, thread))?;
        earlier.map(|earlier| earlier.answer(&idempotency.hash)).transpose()
    }

    fn plan<'a>(&mut self, connection: &Connection, commit: &'a Commit) -> Result<Vec<Step<'a>>> {
        if let Some(owner) = commit.owner
            && !processes::owns(connection, owner)?
        {
            return Err(StoreError::ProcessLost);
        }
        let is_any_frozen = match self.is_any_frozen {
            Some(known) => known,
            None => *self.is_any_frozen.insert(fences::is_any(connection)?),
        };
        let mut steps = Vec::with_capacity(commit.threads.len());
        for thread in &commit.threads {
            // Invariant: the store checks the fence inside the commit, so no server writes to a place that was left.
            if is_any_frozen {
                fences::check_thread(connection, thread)?;
            }
            let step = match thread {
                ThreadCommit::Create(create) => {
                    if is_taken(connection, create.thread)? {
                        return Err(StoreError::ThreadTaken { thread: create.thread });
                    }
                    Step::Create(create, born(create, commit.time))
                }
                ThreadCommit::Write(write) => {
                    let head = self.head(connection, write.thread)?;
                    self.admit(thread, write.thread, &write.expect, commit.time)?;
                    let advanced = advance(&head, write, commit.time)
                        .map_err(|refusal| StoreError::refused(write.thread, &write.expect, refusal))?;
                    Step::Write(write, advanced)
                }
                ThreadCommit::Delete { thread: doomed, expect } => {
                    let head = self.head(connection, *doomed)?;
                    self.admit(thread, *doomed, expect, commit.time)?;
                    expect.check(&head).map_err(|refusal| StoreError::refused(*doomed, expect, refusal))?;
                    Step::Delete(*doomed)
                }
            };
            let (opened, entries): (_, &[NewEntry]) = match &step {
                Step::Create(create, advanced) => (advanced.opened.as_ref(), &create.entries),
                Step::Write(write, advanced) => (advanced.opened.as_ref(), &write.entries),
                Step::Delete(_) => (None, &[]),
            };
            if let Some(opened) = opened
                && exists(connection, "SELECT 1 FROM segments WHERE id = ?1", segment_key(opened.id))?
            {
                return Err(StoreError::SegmentTaken);
            }
            for blob in entries.iter().flat_map(|entry| &entry.blobs) {
                let brought = commit.blobs.iter().any(|(id, _)| id == blob);
                if !brought && blob_key(connection, blob)?.is_none() {
                    return Err(StoreError::BlobMissing { blob: *blob });
                }
            }
            steps.push(step);
        }
        Ok(steps)
    }

    /// Refuses what the exclusive writer of a thread, whose head is known, keeps out.
    fn admit(&self, commit: &ThreadCommit, thread: ThreadId, expect: &Expect, now: Timestamp) -> Result<()> {
        let last = self.heads.get(&key(thread)).and_then(|known| known.lease.as_ref());
        Lease::admit(last, commit, now).map_err(|refusal| StoreError::refused(thread, expect, refusal))
    }

    fn write(&mut self, connection: &Connection, commit: &Commit, steps: Vec<Step<'_>>) -> Result<Committed> {
        for (id, bytes) in &commit.blobs {
            put_blob(connection, id, bytes)?;
        }
        let actor = self.actor(connection, &commit.caller)?;
        let mut threads = Vec::with_capacity(steps.len());
        let mut pending = terms::Pending::new(Filing::Later);
        for step in steps {
            match step {
                Step::Create(create, advanced) => {
                    insert_thread(
                        connection,
                        create.thread,
                        &create.account,
                        advanced.created(),
                        &advanced.head,
                        &create.record,
                        &mut pending,
                    )?;
                    if let Some(segment) = &advanced.opened {
                        let origin = Some((create.account.clone(), create.record.clone()));
                        self.insert_segment(connection, &SegmentRow { segment: segment.clone(), origin })?;
                    }
                    self.insert_entries(connection, commit, create.thread, actor, &advanced, &create.entries)?;
                    self.on_shelf.push((key(create.thread), UNFILED));
                    threads.push(advanced.committed(create.thread));
                }
                Step::Write(write, advanced) => {
                    if let Some(segment) = &advanced.opened {
                        self.insert_segment(connection, &SegmentRow { segment: segment.clone(), origin: None })?;
                    }
                    self.insert_entries(connection, commit, write.thread, actor, &advanced, &write.entries)?;
                    if let Some(record) = &write.record {
                        pending.write(connection)?;
                        update_record(connection, write.thread, record, write.owner.as_ref())?;
                    }
                    if let Some(known) = self.heads.get_mut(&key(write.thread)) {
                        (known.head, known.dirty) = (advanced.head, true);
                    }
                    threads.push(advanced.committed(write.thread));
                }
                Step::Delete(thread) => {
                    self.heads.remove(&key(thread));
                    let seq = self.next(connection)?;
                    pending.write(connection)?;
                    delete_thread(connection, thread, commit.time, seq)?;
                }
            }
        }
        pending.write(connection)?;
        keys::remember(connection, commit, &threads)?;
        Ok(Committed { threads, replayed: false })
    }

    fn insert_entries(
        &mut self,
        connection: &Connection,
        commit: &Commit,
        thread: ThreadId,
        actor: i64,
        advanced: &Advanced,
        entries: &[NewEntry],
    ) -> Result<()> {
        let by = (&commit.caller.account, &commit.caller.actor);
        for (entry, at) in entries.iter().zip(&advanced.places) {
            let place = EntryPlace { thread, segment: advanced.head.segment, position: at.position };
            let row = EntryRow {
                kind: entry.kind,
                format: Kind::FORMAT,
                time: at.time,
                actor,
                cause: commit.caller.cause.as_deref(),
                tally: &at.tally.encode(),
                ordinal: at.tally.ordinals.saturating_sub(1),
                body: &entry.body,
                sum: content_sum(entry.kind, Kind::FORMAT, by, commit.caller.cause.as_deref(), &entry.body),
                derived: &entry.derived,
                blobs: &entry.blobs,
            };
            self.insert_entry(connection, &place, &row)?;
        }
        Ok(())
    }

    /// Writes one entry and the rows that follow from it.
    pub(crate) fn insert_entry(
        &mut self,
        connection: &Connection,
        place: &EntryPlace,
        row: &EntryRow<'_>,
    ) -> Result<()> {
        let seq = self.next(connection)?;
        let (body, large) = match row.body {
            Body::Inline(bytes) => (Some(&bytes[..]), None),
            Body::Blob(id) => (None, Some(id.as_bytes())),
            // A damaged entry has a checksum that no row has.
            Body::Absent | Body::Damaged => (None, None),
        };
        connection
            .prepare_cached("INSERT INTO entries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)")
            .and_then(|mut statement| {
                statement.execute(params![
                    seq,
                    segment_key(place.segment),
                    place.position.0 as i64,
                    row.kind.code(),
                    row.format,
                    row.time.as_micros(),
                    row.actor,
                    row.cause,
                    row.tally,
                    body,
                    large,
                    entry_sum(row.sum, place.segment, place.position, row.time),
                ])
            })
            .map_err(from_sqlite)?;
        for blob in row.blobs {
            let blob = blob_key(connection, blob)?.ok_or(StoreError::BlobMissing { blob: *blob })?;
            connection
                .prepare_cached("INSERT OR IGNORE INTO blob_refs VALUES (?1, ?2)")
                .and_then(|mut statement| statement.execute([seq, blob]))
                .map_err(from_sqlite)?;
        }
        insert_derived(connection, place, seq, row.time, row.ordinal, row.derived)
    }

    /// Writes the row of a segment.
    pub(crate) fn insert_segment(&mut self, connection: &Connection, row: &SegmentRow) -> Result<()> {
        let seq = self.next(connection)?;
        let Segment { id, thread, first, link, birth, created } = &row.segment;
        let bounds = link.map(|link| link.bounds);
        let bound = |position: Option<Position>| position.map(|position| position.0 as i64);
        connection
            .prepare_cached("INSERT INTO segments VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)")
            .and_then(|mut statement| {
                statement.execute(params![
                    segment_key(*id),
                    key(*thread),
                    rest(*thread),
                    first.0 as i64,
                    link.map(|link| segment_key(link.parent)),
                    bound(bounds.map(|bounds| bounds.messages)),
                    bound(bounds.map(|bounds| bounds.changes)),
                    bound(bounds.map(|bounds| bounds.files)),
                    bound(bounds.map(|bounds| bounds.values)),
                    birth.encode(),
                    created.as_micros(),
                    seq,
                    row.origin.as_ref().map(|(account, _)| account.as_str()),
                    row.origin.as_ref().map(|(_, record)| codec::sealed_record(record, segment_key(*id))),
                ])
            })
            .map_err(from_sqlite)?;
        Ok(())
    }

    /// The row of the caller's account and actor.
    pub(crate) fn actor(&mut self, connection: &Connection, caller: &Caller) -> Result<i64> {
        let kind = caller.actor.kind.code();
        let name = (caller.account.clone(), kind, caller.actor.name.clone());
        if let Some(id) = self.actors.get(&name) {
            return Ok(*id);
        }
        let values = params![caller.account.as_str(), kind, caller.actor.name];
        let find = "SELECT id FROM actors WHERE account = ?1 AND kind = ?2 AND name = ?3";
        let insert = "INSERT INTO actors (account, kind, name) VALUES (?1, ?2, ?3) RETURNING id";
        let found = connection.query_row(find, values, |row| row.get(0)).optional().map_err(from_sqlite)?;
        let id = match found {
            Some(id) => id,
            None => connection.query_row(insert, values, |row| row.get(0)).map_err(from_sqlite)?,
        };
        self.actors.insert(name, id);
        Ok(id)
    }

    /// The next number of the feed. It is never reused, also after the newest rows were freed.
    pub(crate) fn next(&mut self, connection: &Connection) -> Result<i64> {
        let last = match self.last {
            Some(last) => last,
            None => last_seq(connection)?,
        };
        self.last = Some(last + 1);
        Ok(last + 1)
    }
}

//! Rebuilding what is derived, and taking in what another store exported. Garbage collection is next door, in `gc`.

use rusqlite::{Connection, OptionalExtension, params};
use threadkeep_model::{Account, BlobId, Body, Caller, Entry, Kind, Position, Record, SegmentId, Thread, ThreadId};
use threadkeep_store::terms::Filing;
use threadkeep_store::{
    BoxFuture, EntryQuery, GcOptions, GcReport, ImportBatch, ImportedEntry, Order, Progress, Result, SegmentRow,
    Snapshot, StoreError, StoredEntry, Tombstone, Upkeep, rebuilt_head, sum,
};
use tokio::sync::oneshot;

use crate::codec::{Actors, key, rest, segment_key};
use crate::commit::Known;
use crate::error::from_sqlite;
use crate::fences::take_out_documents;
use crate::registry::put;
use crate::snapshot::FileSnapshot;
use crate::tables::{
    self, EntryPlace, EntryRow, delete_thread, in_transaction, insert_derived, insert_derived_again, insert_thread,
    is_deleted, put_blob,
};
use crate::terms::Pending;
use crate::writer::Job;
use crate::{SqliteStore, WRITER_CACHE_KIB, cells, keys, read, terms};

/// Threads of a batch from which on it gets more memory, and how much.
const THREADS_WITHOUT_ROOM: usize = 600;
const IMPORT_CACHE_KIB: i64 = 64 << 10;
/// Rows read at once while everything is walked.
const WALKED_AT_ONCE: usize = 1_000;

impl SqliteStore {
    /// Runs `work` on the writer's connection, between transactions.
    pub(crate) async fn upkeep<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let job = Job::Upkeep(Box::new(move |connection| drop(reply.send(work(connection)))));
        self.submit(job).await?;
        answer.await.map_err(|_| StoreError::Unavailable { what: "its writer has stopped".into() })?
    }
}

impl Upkeep for SqliteStore {
    fn gc(&self, options: GcOptions, progress: Progress) -> BoxFuture<'_, Result<GcReport>> {
        Box::pin(self.collect(options, progress))
    }

    fn compact(&self, progress: Progress) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.rewrite(progress))
    }

    fn rebuild(&self, progress: Progress) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.upkeep(move |connection| rebuild(connection, &progress)))
    }

    fn threads_by_prefix(&self, prefix: String, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>>> {
        self.read(|connection, _| read::threads_by_prefix(connection, &prefix, limit))
    }

    fn all_threads(&self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Thread>>> {
        self.read(|connection, _| read::all_threads(connection, after, limit))
    }

    fn all_segments(&self, after: Option<SegmentId>, limit: usize) -> BoxFuture<'_, Result<Vec<SegmentRow>>> {
        self.read(|connection, _| read::all_segments(connection, after, limit))
    }

    fn segment_rows(&self, segments: Vec<SegmentId>) -> BoxFuture<'_, Result<Vec<SegmentRow>>> {
        self.read(|connection, _| read::segment_rows(connection, &segments))
    }

    fn snapshot(&self, account: Option<Account>) -> BoxFuture<'_, Result<Box<dyn Snapshot>>> {
        self.aside(move |shared, is_gone| {
            let opened = FileSnapshot::open(&shared.path, account.as_ref(), is_gone)?;
            Ok(Box::new(opened) as Box<dyn Snapshot>)
        })
    }

    fn all_blobs(&self, after: Option<BlobId>, limit: usize) -> BoxFuture<'_, Result<Vec<BlobId>>> {
        self.read(|connection, _| read::all_blobs(connection, after, limit))
    }

    fn all_tombstones(&self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Tombstone>>> {
        self.read(|connection, _| read::tombstones(connection, "tombstones", after, limit))
    }

    fn check_lists(&self, limit: usize) -> BoxFuture<'_, Result<Vec<String>>> {
        self.read_long(move |connection| terms::check(connection, limit))
    }

    fn import(&self, batch: ImportBatch) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.upkeep(move |connection| import_with_room(connection, &batch)).await?;
            self.shared.signals.tell_all();
            Ok(())
        })
    }
}

pub(crate) fn meta(connection: &Connection, name: &str) -> Result<Option<i64>> {
    connection
        .query_row("SELECT value FROM meta WHERE key = ?1", [name], |row| row.get(0))
        .optional()
        .map_err(from_sqlite)
}

pub(crate) fn set_meta(connection: &Connection, name: &str, value: i64) -> Result<()> {
    connection
        .execute("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", params![name, value])
        .map(|_| ())
        .map_err(from_sqlite)
}

/// Takes in a batch. Each of many threads writes to pages here and there in the indexes for lists: with room for them in
/// memory, a page is written once for a batch.
fn import_with_room(connection: &mut Connection, batch: &ImportBatch) -> Result<()> {
    if batch.threads.len() < THREADS_WITHOUT_ROOM {
        return import(connection, batch);
    }
    let cache =
        |connection: &Connection, kib: i64| connection.pragma_update(None, "cache_size", -kib).map_err(from_sqlite);
    cache(connection, IMPORT_CACHE_KIB)?;
    let imported = import(connection, batch);
    cache(connection, WRITER_CACHE_KIB)?;
    connection.execute_batch("PRAGMA shrink_memory").map_err(from_sqlite)?;
    imported
}

fn import(connection: &mut Connection, batch: &ImportBatch) -> Result<()> {
    let clash = |what: String| StoreError::Import { what };
    in_transaction(connection, |connection| {
        let mut known = Known::default();
        for (id, bytes) in &batch.blobs {
            put_blob(connection, id, bytes)?;
        }
        for row in &batch.segments {
            let sql = format!("SELECT {} FROM segments WHERE id = ?1", crate::codec::SEGMENT_COLUMNS);
            let here = read::rows(connection, &sql, [segment_key(row.segment.id)], crate::codec::segment_row)?;
            match here.first() {
                None if lives(connection, row.segment.thread)? => return Err(differs(row.segment.thread)),
                None => known.insert_segment(connection, row)?,
                Some(here) if here == row => {}
                Some(_) => return Err(clash(format!("segment {} is here already, and differs", row.segment.id))),
            }
        }
        for imported in &batch.entries {
            import_entry(connection, &mut known, imported)?;
        }
        let mut pending = Pending::new(Filing::Now);
        for thread in &batch.threads {
            if is_deleted(connection, thread.id)? {
                return Err(clash(format!("thread {} was deleted here, and stays deleted", thread.id)));
            }
            match read::thread(connection, threadkeep_model::ThreadName::Short(thread.id.short()))? {
                None => {
                    let newest = params![segment_key(thread.head.segment), thread.head.version.0 as i64];
                    let goes_on = connection
                        .prepare_cached("SELECT 1 FROM entries WHERE segment = ?1 AND position > ?2 LIMIT 1")
                        .and_then(|mut statement| statement.exists(newest))
                        .map_err(from_sqlite)?;
                    if goes_on {
                        let version = thread.head.version;
                        return Err(clash(format!("thread {} goes on here after version {version}", thread.id)));
                    }
                    insert_thread(
                        connection,
                        thread.id,
                        &thread.account,
                        thread.created,
                        &thread.head,
                        &thread.record,
                        &mut pending,
                    )?;
                }
                Some(here) if here.id == thread.id && here.head.version == thread.head.version => {}
                Some(here) => {
                    return Err(differs(here.id));
                }
            }
        }
        pending.write(connection)?;
        for Tombstone { thread, time } in &batch.tombstones {
            if tables::exists(connection, "SELECT 1 FROM threads WHERE id = ?1", key(*thread))? {
                return Err(StoreError::lives_here(*thread));
            }
            if !is_deleted(connection, *thread)? {
                let seq = known.next(connection)?;
                delete_thread(connection, *thread, *time, seq)?;
            }
        }
        batch.keys.iter().try_for_each(|kept| keys::put(connection, kept))?;
        if let Some((account, documents)) = &batch.documents {
            take_out_documents(connection, account)?;
            documents.iter().try_for_each(|document| put(connection, document))?;
        }
        set_meta(connection, "import_until", batch.kept_until().as_micros())
    })
}

/// Whether a thread lives here. Then all that is its own is here too, and an import can add nothing to it.
fn lives(connection: &Connection, thread: ThreadId) -> Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM threads WHERE id = ?1 AND rest = ?2")
        .and_then(|mut statement| statement.exists(params![key(thread), rest(thread)]))
        .map_err(from_sqlite)
}

fn differs(thread: ThreadId) -> StoreError {
    StoreError::Import { what: format!("thread {thread} is here already, and differs") }
}

fn import_entry(connection: &Connection, known: &mut Known, imported: &ImportedEntry) -> Result<()> {
    let ImportedEntry { entry, derived, blobs } = imported;
    let clash = |what: String| StoreError::Import { what };
    let place = params![segment_key(entry.segment), entry.position.0 as i64];
    let here = connection
        .prepare_cached("SELECT body, seq FROM entries WHERE segment = ?1 AND position = ?2")
        .and_then(|mut statement| {
            statement.query_row(place, |row| Ok((row.get::<_, Option<Vec<u8>>>(0)?, row.get(1)?))).optional()
        })
        .map_err(from_sqlite)?;
    if let Some((body, _)) = &here
        && body.as_deref() != entry.inline().map(|bytes| &bytes[..])
    {
        let place = format!("entry {} of segment {}", entry.position, entry.segment);
        return Err(clash(format!("{place} is here already, and differs")));
    }
    if here.is_some() && !imported.comes_back() {
        return Ok(());
    }
    let owner = connection
        .prepare_cached("SELECT thread, rest FROM segments WHERE id = ?1")
        .and_then(|mut statement| {
            statement
                .query_row([segment_key(entry.segment)], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)))
                .optional()
        })
        .map_err(from_sqlite)?;
    let Some((thread, rest)) = owner else {
        return Err(clash(format!("segment {} is missing", entry.segment)));
    };
    let thread = crate::codec::thread_id(thread, &rest)?;
    let lives = lives(connection, thread)?;
    if let Some((_, seq)) = here {
        let place = EntryPlace { thread, segment: entry.segment, position: entry.position };
        return if lives { Ok(()) } else { insert_derived_again(connection, &place, seq, entry.time, derived) };
    }
    if lives {
        return Err(differs(thread));
    }
    let caller =
        Caller { account: (*entry.account).clone(), actor: (*entry.actor).clone(), cause: entry.cause.clone() };
    let actor = known.actor(connection, &caller)?;
    let place = EntryPlace { thread, segment: entry.segment, position: entry.position };
    let row = EntryRow {
        kind: entry.kind,
        format: entry.format,
        time: entry.time,
        actor,
        cause: entry.cause.as_deref(),
        tally: &entry.tally.encode(),
        ordinal: entry.tally.ordinals.saturating_sub(1),
        body: &entry.body,
        sum: sum::content_sum(
            entry.kind,
            entry.format,
            (&entry.account, &entry.actor),
            entry.cause.as_deref(),
            &entry.body,
        ),
        derived,
        blobs,
    };
    known.insert_entry(connection, &place, &row)
}

/// Builds all derived rows anew, and with them the heads and records of threads.
fn rebuild(connection: &mut Connection, progress: &Progress) -> Result<()> {
    let actors = Actors::default();
    in_transaction(connection, |connection| {
        for table in ["messages", "changes", "relations", "checkpoints", "items", "aliases", "cells"] {
            connection.execute(&format!("DELETE FROM {table}"), []).map_err(from_sqlite)?;
        }
        let total: i64 =
            connection.query_row("SELECT count(*) FROM entries", [], |row| row.get(0)).map_err(from_sqlite)?;
        let sql = format!(
            "SELECT {}, e.seq, s.thread, s.rest, t.id IS NOT NULL FROM entries e JOIN segments s ON s.id = e.segment
             LEFT JOIN threads t ON t.id = s.thread WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2",
            crate::codec::ENTRY_COLUMNS
        );
        let (mut after, mut done) = (0, 0);
        loop {
            let walked = read::rows(connection, &sql, [after, WALKED_AT_ONCE as i64], |row| {
                let entry = actors.entry(connection, row)?;
                let at = |n: usize| crate::codec::ENTRY_WIDTH + n;
                let read = || {
                    Ok((row.get(at(0))?, row.get(at(1))?, row.get::<_, Vec<u8>>(at(2))?, row.get::<_, bool>(at(3))?))
                };
                let (seq, thread, rest, lives) = read().map_err(from_sqlite)?;
                Ok((entry, seq, crate::codec::thread_id(thread, &rest)?, lives))
            })?;
            let Some((_, last, ..)) = walked.last() else { break };
            after = *last;
            done += walked.len() as u64;
            for (entry, seq, thread, lives) in &walked {
                let read = decode(connection, entry)?.map(|entry| entry.derived());
                let Some(derived) = read.or_else(|| entry.derived_if_damaged()) else { continue };
                if !lives && derived.is_of_thread() {
                    continue;
                }
                let place = EntryPlace { thread: *thread, segment: entry.segment, position: entry.position };
                let ordinal = entry.tally.ordinals.saturating_sub(1);
                insert_derived(connection, &place, *seq, entry.time, ordinal, &derived)?;
            }
            progress("entries", done, Some(total as u64));
        }
        rebuild_threads(connection, &actors, progress)?;
        terms::fill(connection)?;
        terms::set_moments(connection)
    })
}

/// A stored entry, decoded; none if its body is gone or damaged, which is not for a rebuild to mend.
fn decode(connection: &Connection, entry: &StoredEntry) -> Result<Option<Entry>> {
    let body = match &entry.body {
        Body::Inline(bytes) => Some(bytes.clone()),
        Body::Blob(id) => cells::blob(connection, *id).ok().flatten(),
        Body::Absent | Body::Damaged => None,
    };
    Ok(body.and_then(|body| Entry::decode(entry.kind, entry.format, &body).ok()))
}

/// Empties the records that cannot be read, so that their threads can be walked; then they are made anew.
fn empty_damaged_records(connection: &Connection) -> Result<()> {
    let sql = "SELECT id, record FROM threads";
    let damaged = read::rows(connection, sql, [], |row| {
        let (id, record): (i64, String) = (row.get(0).map_err(from_sqlite)?, row.get(1).map_err(from_sqlite)?);
        Ok(crate::codec::record(&record, id, || StoreError::damaged_copy("")).is_err().then_some(id))
    })?;
    for id in damaged.into_iter().flatten() {
        let empty = crate::codec::sealed_record(&Record::default(), id);
        let emptied = connection.execute("UPDATE threads SET record = ?2 WHERE id = ?1", params![id, empty]);
        emptied.map_err(from_sqlite)?;
    }
    Ok(())
}

fn rebuild_threads(connection: &Connection, actors: &Actors, progress: &Progress) -> Result<()> {
    empty_damaged_records(connection)?;
    let (mut after, mut done) = (None, 0);
    loop {
        let threads = read::all_threads(connection, after, WALKED_AT_ONCE)?;
        let Some(last) = threads.last() else { return Ok(()) };
        after = Some(last.id);
        done += threads.len() as u64;
        for thread in &threads {
            rebuild_thread(connection, actors, thread)?;
        }
        progress("threads", done, None);
    }
}

/// Sets a thread's head and record to what its own segments say.
fn rebuild_thread(connection: &Connection, actors: &Actors, thread: &Thread) -> Result<()> {
    let mut segments = read::segments(connection, thread.id, Position::END, usize::MAX)?;
    segments.reverse();
    let (Some(first), Some(newest)) = (segments.first(), segments.last()) else { return Ok(()) };
    let sql = format!("SELECT {} FROM segments WHERE id = ?1", crate::codec::SEGMENT_COLUMNS);
    let rows = read::rows(connection, &sql, [segment_key(first.id)], crate::codec::segment_row)?;
    let (mut owner, mut record) = match rows.into_iter().next().and_then(|row| row.origin) {
        Some(origin) => origin,
        None => return Ok(()),
    };
    for segment in &segments {
        let all = EntryQuery {
            segment: segment.id,
            positions: Position::START..=Position::END,
            order: Order::Ascending,
            limit: usize::MAX,
        };
        for entry in read::entries(connection, actors, &all)? {
            if !Record::CHANGED_BY.contains(&entry.kind) && entry.kind != Kind::OwnerChanged {
                continue;
            }
            match decode(connection, &entry)? {
                Some(Entry::OwnerChanged(changed)) => owner = changed.to,
                Some(entry) => record = record.clone().after(&entry).unwrap_or(record),
                None => {}
            }
        }
    }
    let last = EntryQuery {
        segment: newest.id,
        positions: Position::START..=Position::END,
        order: Order::Descending,
        limit: 1,
    };
    let last = read::entries(connection, actors, &last)?.into_iter().next();
    let head = rebuilt_head(newest, last.as_ref(), &thread.head);
    if head == thread.head && record == thread.record && owner == thread.account {
        return Ok(());
    }
    for sql in ["DELETE FROM threads WHERE id = ?1", "DELETE FROM heads WHERE thread = ?1"] {
        connection.execute(sql, [key(thread.id)]).map_err(from_sqlite)?;
    }
    let mut pending = Pending::new(Filing::Now);
    insert_thread(connection, thread.id, &owner, first.created, &head, &record, &mut pending)?;
    pending.write(connection)
}

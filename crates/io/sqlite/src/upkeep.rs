//! Freeing what nothing reaches, rebuilding what is derived, and taking in what another store exported.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use threadkeep_model::{
    BlobId, Body, Bounds, Caller, Derived, Entry, IdempotencyKey, Kind, Position, Record, SegmentId, Thread, ThreadId,
    Timestamp, reachable,
};
use threadkeep_store::{
    BoxFuture, EntryQuery, GcOptions, GcReport, ImportBatch, ImportedEntry, Order, Progress, Result, SegmentRow,
    StoreError, StoredEntry, Tombstone, Upkeep, rebuilt_head, sum,
};
use tokio::sync::oneshot;

use crate::codec::{Actors, chunk_keys, key, position, rest, segment_key};
use crate::commit::Known;
use crate::error::from_sqlite;
use crate::tables::{self, EntryPlace, EntryRow, delete_thread, insert_derived, insert_thread, is_deleted, put_blob};
use crate::writer::Job;
use crate::{SqliteStore, blobs, cells, read, terms};

/// Rows freed in one transaction, so that writers wait only for a moment.
const FREED_AT_ONCE: usize = 2_000;
/// Pages given back to the file system in one transaction.
const VACUUMED_AT_ONCE: i64 = 2_000;
/// Rows read at once while everything is walked.
const WALKED_AT_ONCE: usize = 1_000;

impl SqliteStore {
    /// Runs `work` on the writer's connection, between transactions.
    async fn upkeep<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let job = Job::Upkeep(Box::new(move |connection| drop(reply.send(work(connection)))));
        self.submit(job).await?;
        answer.await.map_err(|_| StoreError::Unavailable { what: "its writer has stopped".into() })?
    }

    async fn collect(&self, options: GcOptions, progress: Progress) -> Result<GcReport> {
        let mut report = GcReport::default();
        let doomed = self.upkeep(move |connection| find_garbage(connection, options.now)).await?;
        let total = doomed.len() as u64;
        for (done, (segment, bounds)) in doomed.into_iter().enumerate() {
            progress("segments", done as u64, Some(total));
            let mut from = Some(Position::START);
            while let Some(at) = from {
                let (freed, next) =
                    self.upkeep(move |connection| free_entries(connection, segment, bounds, at)).await?;
                report.entries += freed;
                from = next;
            }
            if bounds.is_none() {
                report.segments += 1;
            }
        }
        progress("segments", total, Some(total));
        while let Some((upload, finished)) = self.read(|connection, _| blobs::expired(connection, options.now)).await? {
            self.end(upload).await?;
            report.blobs += u64::from(!finished);
        }
        loop {
            let swept = self.upkeep(sweep).await?;
            report.blobs += swept;
            progress("blobs", report.blobs, None);
            if swept == 0 {
                break;
            }
        }
        let mut more = options.vacuum;
        while more {
            let freed;
            (freed, more) = self.upkeep(vacuum).await?;
            report.bytes += freed;
            progress("bytes", report.bytes, None);
        }
        // The freed data is still in the write-ahead log until that is emptied.
        self.upkeep(|connection| {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(from_sqlite)
        })
        .await?;
        Ok(report)
    }
}

impl Upkeep for SqliteStore {
    fn gc(&self, options: GcOptions, progress: Progress) -> BoxFuture<'_, Result<GcReport>> {
        Box::pin(self.collect(options, progress))
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

    fn all_blobs(&self, after: Option<BlobId>, limit: usize) -> BoxFuture<'_, Result<Vec<BlobId>>> {
        self.read(|connection, _| read::all_blobs(connection, after, limit))
    }

    fn all_tombstones(&self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Tombstone>>> {
        self.read(|connection, _| read::all_tombstones(connection, after, limit))
    }

    fn check_lists(&self, limit: usize) -> BoxFuture<'_, Result<Vec<String>>> {
        self.read(|connection, _| terms::check(connection, limit))
    }

    fn import(&self, batch: ImportBatch) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.upkeep(move |connection| import(connection, &batch)).await?;
            self.shared.signals.tell_all();
            Ok(())
        })
    }
}

fn in_transaction<T>(connection: &mut Connection, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(from_sqlite)?;
    let result = work(&transaction)?;
    transaction.commit().map_err(from_sqlite)?;
    Ok(result)
}

fn meta(connection: &Connection, name: &str) -> Result<Option<i64>> {
    connection
        .query_row("SELECT value FROM meta WHERE key = ?1", [name], |row| row.get(0))
        .optional()
        .map_err(from_sqlite)
}

fn set_meta(connection: &Connection, name: &str, value: i64) -> Result<()> {
    connection
        .execute("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", params![name, value])
        .map(|_| ())
        .map_err(from_sqlite)
}

/// The segments of deleted threads, with how far they are still seen. Living threads cannot begin to see more of
/// them, so what is found here stays true while it is freed.
fn find_garbage(connection: &mut Connection, now: Timestamp) -> Result<Vec<(SegmentId, Option<Bounds>)>> {
    in_transaction(connection, |connection| {
        if meta(connection, "import_until")?.is_some_and(|until| until > now.as_micros()) {
            return Err(StoreError::import_under_way());
        }
        // The newest rows may be freed now: their numbers must not come back.
        set_meta(connection, "last_seq", tables::last_seq(connection)?)?;
        let expired = now.plus_micros(-IdempotencyKey::KEPT_MICROS).as_micros();
        connection.execute("DELETE FROM idempotency WHERE time < ?1", [expired]).map_err(from_sqlite)?;
        let segments = read::all_segments(connection, None, usize::MAX)?;
        let segments: Vec<_> = segments.into_iter().map(|row| row.segment).collect();
        let mut living = HashSet::new();
        read::rows(connection, "SELECT id, rest FROM threads", [], |row| {
            let rest: Vec<u8> = row.get(1).map_err(from_sqlite)?;
            living.insert(crate::codec::thread_id(row.get(0).map_err(from_sqlite)?, &rest)?);
            Ok(())
        })?;
        let reach = reachable(&segments, &living);
        let dead = segments.iter().filter(|segment| !living.contains(&segment.thread));
        Ok(dead.map(|segment| (segment.id, reach.get(&segment.id).copied())).collect())
    })
}

/// Frees some entries of a segment that lie beyond `bounds`, from `from` on, and says where to go on. The segment
/// itself goes with its last entry if nothing reaches it.
fn free_entries(
    connection: &mut Connection,
    segment: SegmentId,
    bounds: Option<Bounds>,
    from: Position,
) -> Result<(u64, Option<Position>)> {
    in_transaction(connection, |connection| {
        let id = segment_key(segment);
        let sql = "SELECT seq, position, kind FROM entries WHERE segment = ?1 AND position >= ?2
                   ORDER BY position LIMIT ?3";
        let rows = read::rows(connection, sql, params![id, from.0 as i64, FREED_AT_ONCE as i64], |row| {
            let read = || Ok((row.get::<_, i64>(0)?, position(row.get(1)?), row.get::<_, u8>(2)?));
            read().map_err(from_sqlite)
        })?;
        let mut freed = 0;
        for (seq, position, kind) in &rows {
            let seen = bounds.zip(Kind::from_code(*kind)).map(|(bounds, kind)| bounds.of(kind.class()));
            if seen.is_some_and(|seen| *position <= seen) {
                continue;
            }
            for sql in ["DELETE FROM blob_refs WHERE seq = ?1", "DELETE FROM entries WHERE seq = ?1"] {
                connection
                    .prepare_cached(sql)
                    .and_then(|mut statement| statement.execute([seq]))
                    .map_err(from_sqlite)?;
            }
            freed += 1;
        }
        let next = (rows.len() == FREED_AT_ONCE).then(|| rows.last().map(|(_, position, _)| position.next())).flatten();
        if next.is_none() {
            for sql in [
                "DELETE FROM messages WHERE segment = ?1
                 AND NOT EXISTS (SELECT 1 FROM entries WHERE entries.seq = messages.seq)",
                "DELETE FROM changes WHERE segment = ?1 AND NOT EXISTS (SELECT 1 FROM entries
                 WHERE entries.segment = changes.segment AND entries.position = changes.position)",
                "DELETE FROM cells WHERE segment = ?1 AND NOT EXISTS (SELECT 1 FROM entries
                 WHERE entries.segment = cells.segment AND entries.position = cells.position)",
                "DELETE FROM aliases WHERE to_segment = ?1 AND NOT EXISTS (SELECT 1 FROM entries
                 WHERE entries.segment = aliases.to_segment AND entries.position = aliases.to_position)",
            ] {
                connection.execute(sql, [id]).map_err(from_sqlite)?;
            }
            if bounds.is_none() {
                connection.execute("DELETE FROM segments WHERE id = ?1", [id]).map_err(from_sqlite)?;
            }
        }
        Ok((freed, next))
    })
}

/// Frees some blobs that neither an entry nor an upload names, and says how many.
fn sweep(connection: &mut Connection) -> Result<u64> {
    const SWEPT_AT_ONCE: i64 = 100;
    in_transaction(connection, |connection| {
        let sql = "SELECT id FROM blobs WHERE NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.blob = blobs.id)
                   AND NOT EXISTS (SELECT 1 FROM uploads WHERE uploads.blob = blobs.id) LIMIT ?1";
        let blobs = read::rows(connection, sql, [SWEPT_AT_ONCE], |row| row.get::<_, i64>(0).map_err(from_sqlite))?;
        for blob in &blobs {
            let chunks = chunk_keys(*blob);
            connection
                .execute("DELETE FROM blob_chunks WHERE id BETWEEN ?1 AND ?2", [chunks.start(), chunks.end()])
                .and_then(|_| connection.execute("DELETE FROM blobs WHERE id = ?1", [blob]))
                .map_err(from_sqlite)?;
        }
        Ok(blobs.len() as u64)
    })
}

/// Gives some free pages back to the file system; says how many bytes, and whether there are more.
fn vacuum(connection: &mut Connection) -> Result<(u64, bool)> {
    let pragma = |name: &str| -> Result<i64> {
        connection.pragma_query_value(None, name, |row| row.get(0)).map_err(from_sqlite)
    };
    let before = pragma("page_count")?;
    read::rows(connection, &format!("PRAGMA incremental_vacuum({VACUUMED_AT_ONCE})"), [], |_| Ok(()))?;
    let freed = before - pragma("page_count")?;
    Ok(((freed * pragma("page_size")?).max(0) as u64, freed > 0 && pragma("freelist_count")? > 0))
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
        for ImportedEntry { entry, derived, blobs } in &batch.entries {
            import_entry(connection, &mut known, entry, derived, blobs)?;
        }
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
                    )?;
                }
                Some(here) if here.id == thread.id && here.head.version == thread.head.version => {}
                Some(here) => {
                    return Err(differs(here.id));
                }
            }
        }
        for Tombstone { thread, time } in &batch.tombstones {
            if tables::exists(connection, "SELECT 1 FROM threads WHERE id = ?1", key(*thread))? {
                return Err(StoreError::lives_here(*thread));
            }
            if !is_deleted(connection, *thread)? {
                let seq = known.next(connection)?;
                delete_thread(connection, *thread, *time, seq)?;
            }
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

fn import_entry(
    connection: &Connection,
    known: &mut Known,
    entry: &StoredEntry,
    derived: &Derived,
    blobs: &[BlobId],
) -> Result<()> {
    let clash = |what: String| StoreError::Import { what };
    let place = params![segment_key(entry.segment), entry.position.0 as i64];
    let here = connection
        .prepare_cached("SELECT body FROM entries WHERE segment = ?1 AND position = ?2")
        .and_then(|mut statement| statement.query_row(place, |row| row.get::<_, Option<Vec<u8>>>(0)).optional())
        .map_err(from_sqlite)?;
    if let Some(body) = here {
        let same = body.as_deref() == entry.inline().map(|bytes| &bytes[..]);
        let place = format!("entry {} of segment {}", entry.position, entry.segment);
        return if same { Ok(()) } else { Err(clash(format!("{place} is here already, and differs"))) };
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
    if lives(connection, thread)? {
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
    insert_thread(connection, thread.id, &owner, first.created, &head, &record)
}

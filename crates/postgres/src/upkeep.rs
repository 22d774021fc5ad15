//! Freeing what nothing reaches, rebuilding what is derived, and taking in what another store exported.
//!
//! Each step is a transaction that nobody else writes beside: it holds the lock of which all writers have a share.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deadpool_postgres::Object;
use threadkeep_model::{
    BlobId, Body, Bounds, Caller, Derived, Entry, IdempotencyKey, Kind, Position, SegmentId, Thread, ThreadId,
    Timestamp, reachable,
};
use threadkeep_store::{
    BoxFuture, EntryQuery, GcOptions, GcReport, ImportBatch, ImportedEntry, Order, Progress, Result, SegmentRow,
    StoreError, StoredEntry, Tombstone, Upkeep, rebuilt_head,
};

use crate::codec::{
    Actors, ENTRY_WIDTH, SEGMENT_COLUMNS, entry_columns, get, key, position, rest, segment, segment_id, segment_key,
    segment_row, thread_id,
};
use crate::commit::Transaction;
use crate::error::{from_commit, from_postgres};
use crate::read::{self, rows};
use crate::tables::{DerivedRows, EntryRow, Place, Rows, message_columns, put_blobs};
use crate::{PostgresStore, Shared, reading};

/// Rows freed in one transaction, so that writers wait only for a moment.
const FREED_AT_ONCE: usize = 2_000;
/// Rows read at once while everything is walked.
const WALKED_AT_ONCE: usize = 1_000;
const SWEPT_AT_ONCE: i64 = 100;
const TABLES: &str = "entries, segments, threads, heads, changes, relations, checkpoints, idempotency, blobs, \
     blob_chunks, blob_refs, tombstones";

impl Shared {
    /// Begins a transaction beside which nobody writes, and which may take its time.
    async fn alone(&self) -> Result<Transaction> {
        let transaction = Transaction::begun(self.connections.get().await?);
        let begin = format!(
            "BEGIN; SELECT pg_advisory_xact_lock({}); SET LOCAL statement_timeout = 0; SET LOCAL enable_seqscan = on;
             SET LOCAL enable_hashjoin = on; SET LOCAL enable_bitmapscan = on;
             SET LOCAL idle_in_transaction_session_timeout = '10min'",
            self.upkeep_lock
        );
        transaction.client().batch_execute(&begin).await.map_err(from_postgres)?;
        Ok(transaction)
    }

    async fn gc(&self, options: GcOptions, progress: Progress) -> Result<GcReport> {
        let mut report = GcReport::default();
        let doomed = self.find_garbage(options.now).await?;
        let total = doomed.len() as u64;
        for (done, (segment, bounds)) in doomed.into_iter().enumerate() {
            progress("segments", done as u64, Some(total));
            let mut from = Some(Position::START);
            while let Some(at) = from {
                let freed;
                (freed, from) = self.free_entries(segment, bounds, at, options.now).await?;
                report.entries += freed;
            }
            if bounds.is_none() {
                report.segments += 1;
            }
        }
        progress("segments", total, Some(total));
        loop {
            let swept = self.sweep().await?;
            report.blobs += swept;
            progress("blobs", report.blobs, None);
            if swept == 0 {
                break;
            }
        }
        if options.vacuum {
            report.bytes = self.vacuum().await?;
            progress("bytes", report.bytes, None);
        }
        Ok(report)
    }

    /// The segments of deleted threads, with how far they are still seen. Living threads cannot begin to see more of
    /// them, so what is found here stays true while it is freed.
    async fn find_garbage(&self, now: Timestamp) -> Result<Vec<(SegmentId, Option<Bounds>)>> {
        let transaction = self.alone().await?;
        let client = transaction.client();
        refuse_during_import(client, now).await?;
        // The newest rows may be freed now; the place of what happened last must stay known.
        let last = "INSERT INTO meta SELECT 'last_feed', greatest((SELECT max(feed) FROM entries),
                        (SELECT max(feed) FROM segments), (SELECT max(feed) FROM tombstones), 0)
                    ON CONFLICT (key) DO UPDATE SET value = greatest(meta.value, excluded.value)";
        rows(client, last, &[]).await?;
        let expired = now.plus_micros(-IdempotencyKey::KEPT_MICROS).as_micros();
        rows(client, "DELETE FROM idempotency WHERE time < $1", &[&expired]).await?;
        let columns = SEGMENT_COLUMNS.split(", ").map(|column| format!("s.{column}")).collect::<Vec<_>>().join(", ");
        let sql = format!(
            "SELECT {columns}, t.id IS NOT NULL FROM segments s
             LEFT JOIN threads t ON t.id = s.thread AND t.rest = s.rest ORDER BY s.id"
        );
        let (mut segments, mut living) = (Vec::new(), HashSet::new());
        for row in rows(client, &sql, &[]).await? {
            let segment = segment(&row)?;
            if get(&row, 13)? {
                living.insert(segment.thread);
            }
            segments.push(segment);
        }
        transaction.end("COMMIT").await.map_err(from_commit)?;
        let reach = reachable(&segments, &living);
        let dead = segments.iter().filter(|segment| !living.contains(&segment.thread));
        Ok(dead.map(|segment| (segment.id, reach.get(&segment.id).copied())).collect())
    }

    /// Frees some entries of a segment that lie beyond `bounds`, from `from` on, and says where to go on. The segment
    /// itself goes with its last entry if nothing reaches it.
    async fn free_entries(
        &self,
        segment: SegmentId,
        bounds: Option<Bounds>,
        from: Position,
        now: Timestamp,
    ) -> Result<(u64, Option<Position>)> {
        let transaction = self.alone().await?;
        let client = transaction.client();
        refuse_during_import(client, now).await?;
        let id = segment_key(segment);
        let sql = "SELECT feed, position, kind FROM entries WHERE segment = $1 AND position >= $2
                   ORDER BY position LIMIT $3";
        let found = rows(client, sql, &[&id, &(from.0 as i64), &(FREED_AT_ONCE as i64)]).await?;
        let (mut doomed, mut last) = (Vec::<i64>::new(), None);
        for row in &found {
            let (at, code): (i64, i16) = (get(row, 1)?, get(row, 2)?);
            last = Some(position(at));
            let kind = u8::try_from(code).ok().and_then(Kind::from_code);
            let seen = bounds.zip(kind).map(|(bounds, kind)| bounds.of(kind.class()));
            if seen.is_none_or(|seen| position(at) > seen) {
                doomed.push(get(row, 0)?);
            }
        }
        for sql in ["DELETE FROM blob_refs WHERE feed = ANY($1)", "DELETE FROM entries WHERE feed = ANY($1)"] {
            rows(client, sql, &[&doomed]).await?;
        }
        let next = last.filter(|_| found.len() == FREED_AT_ONCE).map(Position::next);
        if next.is_none() {
            let sql = "DELETE FROM changes c WHERE c.segment = $1 AND NOT EXISTS
                       (SELECT 1 FROM entries e WHERE e.segment = c.segment AND e.position = c.position)";
            rows(client, sql, &[&id]).await?;
            if bounds.is_none() {
                rows(client, "DELETE FROM segments WHERE id = $1", &[&id]).await?;
            }
        }
        transaction.end("COMMIT").await.map_err(from_commit)?;
        Ok((doomed.len() as u64, next))
    }

    /// Frees some blobs that no entry names, and says how many.
    async fn sweep(&self) -> Result<u64> {
        let transaction = self.alone().await?;
        let client = transaction.client();
        let sql = "SELECT b.id FROM blobs b WHERE NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.blob = b.id) LIMIT $1";
        let found = rows(client, sql, &[&SWEPT_AT_ONCE]).await?;
        let blobs = found.iter().map(|row| get(row, 0)).collect::<Result<Vec<i64>>>()?;
        for sql in ["DELETE FROM blob_chunks WHERE blob = ANY($1)", "DELETE FROM blobs WHERE id = ANY($1)"] {
            rows(client, sql, &[&blobs]).await?;
        }
        transaction.end("COMMIT").await.map_err(from_commit)?;
        Ok(blobs.len() as u64)
    }

    /// Gives free pages back, as far as PostgreSQL does that while others use the tables.
    async fn vacuum(&self) -> Result<u64> {
        let client = self.connections.get().await?;
        let size = "SELECT sum(pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass))::bigint
                    FROM pg_tables WHERE schemaname = current_schema()";
        let bytes = async || -> Result<i64> {
            let found = rows(&client, size, &[]).await?;
            found.first().map_or(Ok(0), |row| get(row, 0))
        };
        let before = bytes().await?;
        // Each in a request of its own: in one with others they would be one transaction, where VACUUM is not allowed.
        for statement in ["SET statement_timeout = 0", &format!("VACUUM {TABLES}"), "RESET statement_timeout"] {
            client.batch_execute(statement).await.map_err(from_postgres)?;
        }
        Ok((before - bytes().await?).max(0) as u64)
    }

    async fn import(&self, batch: &ImportBatch) -> Result<()> {
        let client = self.connections.get().await?;
        let mut actors = HashMap::new();
        for ImportedEntry { entry, .. } in &batch.entries {
            let who = (Arc::clone(&entry.account), Arc::clone(&entry.actor));
            if let std::collections::hash_map::Entry::Vacant(vacant) = actors.entry(who) {
                let (account, actor) = ((*entry.account).clone(), (*entry.actor).clone());
                let id = self.actors.id(&client, &Caller { account, actor, cause: None }).await?;
                vacant.insert(id);
            }
        }
        drop(client);
        let transaction = self.alone().await?;
        let client = transaction.client();
        put_blobs(client, batch.blobs.iter()).await.map_err(from_postgres)?;
        let here = Here::look(client, batch).await?;
        let mut new = Rows::default();
        for row in &batch.segments {
            if here.lacks_segment(row)? {
                new.segment(row);
            }
        }
        for ImportedEntry { entry, derived, blobs } in &batch.entries {
            let Some(thread) = here.lacks_entry(entry)? else { continue };
            let actor = actors.get(&(Arc::clone(&entry.account), Arc::clone(&entry.actor))).copied().unwrap_or(0);
            let place = Place { thread, segment: entry.segment, position: entry.position };
            let row = EntryRow {
                kind: entry.kind,
                format: entry.format,
                time: entry.time,
                actor,
                cause: entry.cause.as_deref(),
                tally: &entry.tally,
                body: &entry.body,
                derived,
                blobs,
            };
            new.entry(&place, &row);
        }
        for thread in &batch.threads {
            if lacks_thread(client, thread).await? {
                new.imported(thread);
            }
        }
        let gone: Vec<i64> = batch.tombstones.iter().map(|tombstone| key(tombstone.thread)).collect();
        let sql = "SELECT id, true FROM threads WHERE id = ANY($1) UNION ALL
                   SELECT id, false FROM tombstones WHERE id = ANY($1)";
        let mut known = HashMap::new();
        for row in rows(client, sql, &[&gone]).await? {
            known.insert(get::<i64>(&row, 0)?, get::<bool>(&row, 1)?);
        }
        for Tombstone { thread, time } in &batch.tombstones {
            match known.get(&key(*thread)) {
                Some(true) => return Err(StoreError::lives_here(*thread)),
                Some(false) => {}
                None => new.bury(*thread, *time),
            }
        }
        new.write(client, Vec::new()).await.map_err(from_postgres)?;
        let sql = "INSERT INTO meta VALUES ('import_until', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        rows(client, sql, &[&batch.kept_until().as_micros()]).await?;
        transaction.end("COMMIT").await.map_err(from_commit)
    }

    /// Builds all derived rows anew, and with them the heads and records of threads.
    async fn rebuild(&self, progress: &Progress) -> Result<()> {
        let transaction = self.alone().await?;
        let client = transaction.client();
        for table in ["changes", "relations", "checkpoints"] {
            rows(client, &format!("DELETE FROM {table}"), &[]).await?;
        }
        let total: i64 = match rows(client, "SELECT count(*) FROM entries", &[]).await?.first() {
            Some(row) => get(row, 0)?,
            None => 0,
        };
        let columns = entry_columns();
        let sql = format!(
            "SELECT {columns}, e.feed, s.thread, s.rest, t.id IS NOT NULL FROM entries e
             JOIN segments s ON s.id = e.segment LEFT JOIN threads t ON t.id = s.thread
             WHERE e.feed > $1 ORDER BY e.feed LIMIT $2"
        );
        let (mut after, mut done) = (-1i64, 0);
        loop {
            let found = rows(client, &sql, &[&after, &(WALKED_AT_ONCE as i64)]).await?;
            let Some(last) = found.last() else { break };
            after = get(last, ENTRY_WIDTH)?;
            done += found.len() as u64;
            let mut derived_rows = DerivedRows::default();
            let mut messages = MessageColumns::default();
            for (entry, row) in self.actors.entries(client, &found).await?.iter().zip(&found) {
                let feed: i64 = get(row, ENTRY_WIDTH)?;
                let thread = thread_id(get(row, ENTRY_WIDTH + 1)?, get(row, ENTRY_WIDTH + 2)?)?;
                let lives: bool = get(row, ENTRY_WIDTH + 3)?;
                let Some(derived) = decode(client, entry).await?.map(|entry| entry.derived()) else { continue };
                messages.push(feed, &derived);
                if !lives && matches!(derived, Derived::Relation { .. } | Derived::Checkpoint { .. }) {
                    continue;
                }
                let place = Place { thread, segment: entry.segment, position: entry.position };
                derived_rows.push(&place, entry.time, &derived, feed);
            }
            derived_rows.write(client).await.map_err(from_postgres)?;
            messages.write(client).await?;
            progress("entries", done, Some(total as u64));
        }
        let orphans = "DELETE FROM relations r WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.id = r.child)";
        rows(client, orphans, &[]).await?;
        self.rebuild_threads(client, progress).await?;
        transaction.end("COMMIT").await.map_err(from_commit)
    }

    async fn rebuild_threads(&self, client: &Object, progress: &Progress) -> Result<()> {
        let (mut after, mut done) = (None, 0);
        loop {
            let threads = read::all_threads(client, after, WALKED_AT_ONCE).await?;
            let Some(last) = threads.last() else { return Ok(()) };
            after = Some(last.id);
            done += threads.len() as u64;
            for thread in &threads {
                rebuild_thread(client, &self.actors, thread).await?;
            }
            progress("threads", done, None);
        }
    }
}

impl Upkeep for PostgresStore {
    fn gc(&self, options: GcOptions, progress: Progress) -> BoxFuture<'_, Result<GcReport>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move { shared.gc(options, progress).await })
    }

    fn rebuild(&self, progress: Progress) -> BoxFuture<'_, Result<()>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move { shared.rebuild(&progress).await })
    }

    fn threads_by_prefix(&self, prefix: String, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>>> {
        reading!(self, |client, shared| read::threads_by_prefix(&client, &prefix, limit))
    }

    fn all_threads(&self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Thread>>> {
        reading!(self, |client, shared| read::all_threads(&client, after, limit))
    }

    fn all_segments(&self, after: Option<SegmentId>, limit: usize) -> BoxFuture<'_, Result<Vec<SegmentRow>>> {
        reading!(self, |client, shared| read::all_segments(&client, after, limit))
    }

    fn all_blobs(&self, after: Option<BlobId>, limit: usize) -> BoxFuture<'_, Result<Vec<BlobId>>> {
        reading!(self, |client, shared| read::all_blobs(&client, after, limit))
    }

    fn all_tombstones(&self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Tombstone>>> {
        reading!(self, |client, shared| read::all_tombstones(&client, after, limit))
    }

    fn import(&self, batch: ImportBatch) -> BoxFuture<'_, Result<()>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            shared.import(&batch).await?;
            shared.signals.tell_all();
            Ok(())
        })
    }
}

async fn refuse_during_import(client: &Object, now: Timestamp) -> Result<()> {
    let sql = "SELECT 1 FROM meta WHERE key = 'import_until' AND value > $1";
    let under_way = !rows(client, sql, &[&now.as_micros()]).await?.is_empty();
    if under_way { Err(StoreError::import_under_way()) } else { Ok(()) }
}

fn clash(what: String) -> StoreError {
    StoreError::Import { what }
}

fn differs(thread: ThreadId) -> StoreError {
    clash(format!("thread {thread} is here already, and differs"))
}

/// What is here already of what a batch brings.
struct Here {
    segments: HashMap<SegmentId, SegmentRow>,
    /// The segments that are here or come with the batch, and whose they are.
    owners: HashMap<SegmentId, ThreadId>,
    /// All that is a living thread's own is here: an import can add nothing to it.
    living: HashSet<ThreadId>,
    bodies: HashMap<(SegmentId, Position), Option<Vec<u8>>>,
}

impl Here {
    async fn look(client: &Object, batch: &ImportBatch) -> Result<Self> {
        let entries = batch.entries.iter().map(|imported| &imported.entry);
        let named: HashSet<SegmentId> = batch.segments.iter().map(|row| row.segment.id).collect();
        let wanted: HashSet<i64> =
            named.iter().copied().chain(entries.clone().map(|entry| entry.segment)).map(segment_key).collect();
        let wanted: Vec<i64> = wanted.into_iter().collect();
        let sql = format!("SELECT {SEGMENT_COLUMNS} FROM segments WHERE id = ANY($1)");
        let mut segments = HashMap::new();
        for row in rows(client, &sql, &[&wanted]).await? {
            let row = segment_row(&row)?;
            segments.insert(row.segment.id, row);
        }
        let mut owners: HashMap<_, _> = segments.iter().map(|(id, row)| (*id, row.segment.thread)).collect();
        for row in &batch.segments {
            owners.entry(row.segment.id).or_insert(row.segment.thread);
        }
        let threads: Vec<i64> = owners.values().map(|thread| key(*thread)).collect();
        let mut living = HashSet::new();
        for row in rows(client, "SELECT id, rest FROM threads WHERE id = ANY($1)", &[&threads]).await? {
            living.insert(thread_id(get(&row, 0)?, get(&row, 1)?)?);
        }
        let (at_segments, at_positions): (Vec<i64>, Vec<i64>) =
            entries.map(|entry| (segment_key(entry.segment), entry.position.0 as i64)).unzip();
        let sql = "SELECT e.segment, e.position, e.body FROM unnest($1::bigint[], $2::bigint[]) AS u(segment, position)
                   JOIN entries e ON e.segment = u.segment AND e.position = u.position";
        let mut bodies = HashMap::new();
        for row in rows(client, sql, &[&at_segments, &at_positions]).await? {
            bodies.insert((segment_id(get(&row, 0)?), position(get(&row, 1)?)), get(&row, 2)?);
        }
        Ok(Self { segments, owners, living, bodies })
    }

    /// Whether a segment has to be written.
    fn lacks_segment(&self, row: &SegmentRow) -> Result<bool> {
        match self.segments.get(&row.segment.id) {
            None if self.living.contains(&row.segment.thread) => Err(differs(row.segment.thread)),
            None => Ok(true),
            Some(here) if here == row => Ok(false),
            Some(_) => Err(clash(format!("segment {} is here already, and differs", row.segment.id))),
        }
    }

    /// The thread to which an entry belongs that has to be written.
    fn lacks_entry(&self, entry: &StoredEntry) -> Result<Option<ThreadId>> {
        if let Some(body) = self.bodies.get(&(entry.segment, entry.position)) {
            let same = body.as_deref() == entry.inline().map(|bytes| &bytes[..]);
            let place = format!("entry {} of segment {}", entry.position, entry.segment);
            return if same { Ok(None) } else { Err(clash(format!("{place} is here already, and differs"))) };
        }
        let Some(thread) = self.owners.get(&entry.segment) else {
            return Err(clash(format!("segment {} is missing", entry.segment)));
        };
        if self.living.contains(thread) { Err(differs(*thread)) } else { Ok(Some(*thread)) }
    }
}

/// Whether a thread has to be written.
async fn lacks_thread(client: &Object, thread: &Thread) -> Result<bool> {
    if !rows(client, "SELECT 1 FROM tombstones WHERE id = $1", &[&key(thread.id)]).await?.is_empty() {
        return Err(clash(format!("thread {} was deleted here, and stays deleted", thread.id)));
    }
    match read::thread(client, threadkeep_model::ThreadName::Short(thread.id.short())).await? {
        None => {
            let version = thread.head.version;
            let sql = "SELECT 1 FROM entries WHERE segment = $1 AND position > $2 LIMIT 1";
            let goes_on = rows(client, sql, &[&segment_key(thread.head.segment), &(version.0 as i64)]).await?;
            if goes_on.is_empty() {
                return Ok(true);
            }
            Err(clash(format!("thread {} goes on here after version {version}", thread.id)))
        }
        Some(here) if here.id == thread.id && here.head.version == thread.head.version => Ok(false),
        Some(here) => Err(differs(here.id)),
    }
}

/// What `entries` says of messages, as it should be.
#[derive(Default)]
struct MessageColumns {
    feed: Vec<i64>,
    role: Vec<Option<i16>>,
    depth: Vec<Option<i16>>,
    silent: Vec<Option<bool>>,
}

impl MessageColumns {
    fn push(&mut self, feed: i64, derived: &Derived) {
        let (role, depth, silent) = message_columns(derived);
        self.feed.push(feed);
        self.role.push(role);
        self.depth.push(depth);
        self.silent.push(silent);
    }

    async fn write(&self, client: &Object) -> Result<()> {
        let sql = "UPDATE entries e SET role = u.role, depth = u.depth, silent = u.silent
                   FROM unnest($1::bigint[], $2::smallint[], $3::smallint[], $4::boolean[]) AS u(feed, role, depth, silent)
                   WHERE e.feed = u.feed AND (e.role, e.depth, e.silent) IS DISTINCT FROM (u.role, u.depth, u.silent)";
        rows(client, sql, &[&self.feed, &self.role, &self.depth, &self.silent]).await.map(drop)
    }
}

/// A stored entry, decoded; none if its body is gone or damaged, which is not for a rebuild to mend.
async fn decode(client: &Object, entry: &StoredEntry) -> Result<Option<Entry>> {
    let body = match &entry.body {
        Body::Inline(bytes) => Some(bytes.clone()),
        Body::Blob(id) => read::blob(client, *id).await?,
        Body::Absent => None,
    };
    Ok(body.and_then(|body| Entry::decode(entry.kind, entry.format, &body).ok()))
}

/// Sets a thread's head and record to what its own segments say.
async fn rebuild_thread(client: &Object, actors: &Actors, thread: &Thread) -> Result<()> {
    let sql = format!("SELECT {SEGMENT_COLUMNS} FROM segments WHERE thread = $1 AND rest = $2");
    let found = rows(client, &sql, &[&key(thread.id), &rest(thread.id)]).await?;
    let mut segments = found.iter().map(segment_row).collect::<Result<Vec<_>>>()?;
    segments.sort_by_key(SegmentRow::order);
    let (Some(first), Some(newest)) = (segments.first(), segments.last()) else { return Ok(()) };
    let Some((_, mut record)) = first.origin.clone() else { return Ok(()) };
    let columns = entry_columns();
    let sql = format!(
        "SELECT {columns} FROM entries e JOIN segments s ON s.id = e.segment
         WHERE s.thread = $1 AND s.rest = $2 AND e.kind = $3 ORDER BY e.position"
    );
    let kind = i16::from(Kind::ThreadChanged.code());
    let found = rows(client, &sql, &[&key(thread.id), &rest(thread.id), &kind]).await?;
    for entry in actors.entries(client, &found).await? {
        if let Some(Entry::ThreadChanged(changed)) = decode(client, &entry).await?
            && let Ok(merged) = record.merge(&changed.fields)
        {
            record = merged;
        }
    }
    let newest = &newest.segment;
    let last = EntryQuery {
        segment: newest.id,
        positions: Position::START..=Position::END,
        order: Order::Descending,
        limit: 1,
    };
    let last = read::entries(client, actors, &last).await?.into_iter().next();
    let head = rebuilt_head(newest, last.as_ref(), &thread.head);
    if head == thread.head && record == thread.record {
        return Ok(());
    }
    let mut new = Rows::default();
    new.head(thread.id, &head);
    new.record(thread.id, &record);
    new.write(client, Vec::new()).await.map_err(from_postgres)
}

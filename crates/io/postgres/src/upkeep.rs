//! Garbage collection. Rebuilds and imports have files of their own.
//!
//! Each step is a transaction without other writers: it takes the lock of which all writers have a share.

use std::sync::Arc;

use deadpool_postgres::Object;
use threadkeep_model::{
    Account, BlobId, Bounds, IdempotencyKey, Kind, Position, SegmentId, Thread, ThreadId, Timestamp,
};
use threadkeep_store::{
    BoxFuture, GcOptions, GcReport, ImportBatch, Progress, Result, SegmentRow, Snapshot, StoreError, Tombstone, Upkeep,
    UploadId,
};
use tokio_postgres::Row;

use crate::codec::{get, position, segment_id, segment_key};
use crate::commit::Transaction;
use crate::error::{from_commit, from_postgres};
use crate::read::{self, rows};
use crate::snapshot::{FURTHEST, ServerSnapshot, living_and_ways, moment};
use crate::{PostgresStore, Shared, blobs, reading, terms};

/// Rows freed in one transaction, so that writers wait only for a moment.
const FREED_AT_ONCE: usize = 2_000;
const SWEPT_AT_ONCE: i64 = 100;
/// Segments read at once from the list of those to free.
const DOOMED_AT_ONCE: usize = 1_000;
/// How long a transaction without other writers may do nothing on the server.
const STOPPED_MAX: &str = "30s";
const TABLES: &str = "entries, segments, threads, heads, changes, relations, checkpoints, items, aliases, cells, idempotency, blobs, \
     blob_chunks, blob_refs, uploads, tombstones, terms, thread_terms";

impl Shared {
    /// Begins a transaction without other writers, without a limit on its time. If this process stops meanwhile, other
    /// writers wait [`STOPPED_MAX`] at most.
    pub(crate) async fn alone(&self) -> Result<Transaction> {
        let transaction = Transaction::begun(self.connections.get().await?);
        let begin = format!(
            "BEGIN; SELECT pg_advisory_xact_lock({}); SET LOCAL statement_timeout = 0; SET LOCAL enable_seqscan = on;
             SET LOCAL enable_hashjoin = on; SET LOCAL enable_bitmapscan = on;
             SET LOCAL idle_in_transaction_session_timeout = '{STOPPED_MAX}'",
            self.upkeep_lock
        );
        transaction.client().batch_execute(&begin).await.map_err(from_postgres)?;
        Ok(transaction)
    }

    async fn gc(&self, options: GcOptions, progress: Progress) -> Result<GcReport> {
        let mut report = GcReport::default();
        self.begin_gc(options.now).await?;
        let (garbage, total) = self.find_garbage().await?;
        let mut done = 0;
        loop {
            let doomed = next_garbage(garbage.client()).await?;
            if doomed.is_empty() {
                break;
            }
            for (segment, bounds) in doomed {
                progress("segments", done, Some(total));
                let mut from = Some(Position::START);
                while let Some(at) = from {
                    let freed;
                    (freed, from) = self.free_entries(segment, bounds, at, options.now).await?;
                    report.entries += freed;
                }
                done += 1;
                if bounds.is_none() {
                    report.segments += 1;
                }
            }
        }
        progress("segments", total, Some(total));
        garbage.end("ROLLBACK").await.map_err(from_postgres)?;
        report.blobs += self.end_old_uploads(options.now).await?;
        let mut after = -1;
        while let Some((swept, last)) = self.sweep(after).await? {
            after = last;
            report.blobs += swept;
            progress("blobs", report.blobs, None);
        }
        if options.vacuum {
            report.bytes = self.vacuum().await?;
            progress("bytes", report.bytes, None);
        }
        Ok(report)
    }

    async fn begin_gc(&self, now: Timestamp) -> Result<()> {
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
        transaction.end("COMMIT").await.map_err(from_commit)
    }

    /// A cursor over the segments of deleted threads, with how far they are still seen, and how many there are. Living
    /// threads cannot begin to see more of them, so what is found here stays true while it is freed.
    async fn find_garbage(&self) -> Result<(Transaction, u64)> {
        let moment = moment(self, None).await?;
        let dead =
            "FROM segments s WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.id = s.thread AND t.rest = s.rest)";
        let declare = format!(
            "DECLARE garbage NO SCROLL CURSOR FOR {} SELECT id, {FURTHEST}
             FROM (SELECT id, false AS is_dead, messages, changes, files, vals FROM ways
                   UNION ALL SELECT s.id, true, NULL, NULL, NULL, NULL {dead}) x
             GROUP BY id HAVING bool_or(is_dead) ORDER BY id",
            living_and_ways()
        );
        let client = moment.client();
        let total = client.query_one(&format!("SELECT count(*) {dead}"), &[]).await.map_err(from_postgres)?;
        client.batch_execute(&declare).await.map_err(from_postgres)?;
        let total: i64 = get(&total, 0)?;
        Ok((moment, total as u64))
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
            let sql = "DELETE FROM cells c WHERE c.segment = $1 AND NOT EXISTS
                       (SELECT 1 FROM entries e WHERE e.segment = c.segment AND e.position = c.position)";
            rows(client, sql, &[&id]).await?;
            let sql = "DELETE FROM aliases a WHERE a.to_segment = $1 AND NOT EXISTS
                       (SELECT 1 FROM entries e WHERE e.segment = a.to_segment AND e.position = a.to_position)";
            rows(client, sql, &[&id]).await?;
            if bounds.is_none() {
                rows(client, "DELETE FROM segments WHERE id = $1", &[&id]).await?;
            }
        }
        transaction.end("COMMIT").await.map_err(from_commit)?;
        Ok((doomed.len() as u64, next))
    }

    /// Ends the uploads that are older than uploads become; says how many of them were not finished.
    async fn end_old_uploads(&self, now: Timestamp) -> Result<u64> {
        let mut unfinished = 0;
        loop {
            let transaction = self.alone().await?;
            let sql = "SELECT id, blob IS NULL FROM uploads WHERE began < $1 ORDER BY id LIMIT 1";
            let found = rows(transaction.client(), sql, &[&UploadId::kept_since(now).as_micros()]).await?;
            let Some(row) = found.first() else {
                transaction.end("COMMIT").await.map_err(from_commit)?;
                return Ok(unfinished);
            };
            blobs::end(transaction.client(), &[get(row, 0)?]).await?;
            unfinished += u64::from(get::<bool>(row, 1)?);
            transaction.end("COMMIT").await.map_err(from_commit)?;
        }
    }

    /// Frees some blobs after `after` that neither an entry nor an upload names. Says how many, and which was the last.
    async fn sweep(&self, after: i64) -> Result<Option<(u64, i64)>> {
        let transaction = self.alone().await?;
        let client = transaction.client();
        let sql =
            "SELECT b.id FROM blobs b WHERE b.id > $1 AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.blob = b.id)
                   AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.blob = b.id) ORDER BY b.id LIMIT $2";
        let found = rows(client, sql, &[&after, &SWEPT_AT_ONCE]).await?;
        let blobs = found.iter().map(|row| get(row, 0)).collect::<Result<Vec<i64>>>()?;
        for sql in ["DELETE FROM blob_chunks WHERE blob = ANY($1)", "DELETE FROM blobs WHERE id = ANY($1)"] {
            rows(client, sql, &[&blobs]).await?;
        }
        transaction.end("COMMIT").await.map_err(from_commit)?;
        Ok(blobs.last().map(|last| (blobs.len() as u64, *last)))
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
        unhurried(&client, &format!("VACUUM {TABLES}")).await?;
        Ok((before - bytes().await?).max(0) as u64)
    }
}

impl Upkeep for PostgresStore {
    fn gc(&self, options: GcOptions, progress: Progress) -> BoxFuture<'_, Result<GcReport>> {
        let shared = Arc::clone(&self.shared);
        self.run_long(async move { shared.gc(options, progress).await })
    }

    fn compact(&self, _progress: Progress) -> BoxFuture<'_, Result<u64>> {
        // It would lock every table for as long as it takes.
        Box::pin(std::future::ready(Ok(0)))
    }

    fn rebuild(&self, progress: Progress) -> BoxFuture<'_, Result<()>> {
        let shared = Arc::clone(&self.shared);
        self.run_long(async move { shared.rebuild(&progress).await })
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

    fn segment_rows(&self, segments: Vec<SegmentId>) -> BoxFuture<'_, Result<Vec<SegmentRow>>> {
        reading!(self, |client, shared| read::segment_rows(&client, &segments))
    }

    fn snapshot(&self, account: Option<Account>) -> BoxFuture<'_, Result<Box<dyn Snapshot>>> {
        let shared = Arc::clone(&self.shared);
        self.run_long(async move {
            let opened = ServerSnapshot::open(shared, account).await?;
            Ok(Box::new(opened) as Box<dyn Snapshot>)
        })
    }

    fn all_blobs(&self, after: Option<BlobId>, limit: usize) -> BoxFuture<'_, Result<Vec<BlobId>>> {
        reading!(self, |client, shared| read::all_blobs(&client, after, limit))
    }

    fn all_tombstones(&self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Tombstone>>> {
        reading!(self, |client, shared| read::all_tombstones(&client, after, limit))
    }

    fn check_lists(&self, limit: usize) -> BoxFuture<'_, Result<Vec<String>>> {
        let shared = Arc::clone(&self.shared);
        self.run_long(async move {
            let transaction = Transaction::begun(shared.connections.get().await?);
            let client = transaction.client();
            // One moment for all statements: others write meanwhile.
            let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0";
            client.batch_execute(begin).await.map_err(from_postgres)?;
            let wrong = terms::check(client, limit).await;
            transaction.end("ROLLBACK").await.map_err(from_postgres)?;
            wrong
        })
    }

    fn import(&self, batch: ImportBatch) -> BoxFuture<'_, Result<()>> {
        let shared = Arc::clone(&self.shared);
        self.run_long(async move {
            shared.import(&batch).await?;
            shared.signals.tell_all();
            Ok(())
        })
    }
}

/// Runs a statement without a limit on its time. It is a request of its own: together with others it would be a
/// transaction, where VACUUM is not allowed.
pub(crate) async fn unhurried(client: &Object, statement: &str) -> Result<()> {
    client.batch_execute("SET statement_timeout = 0").await.map_err(from_postgres)?;
    let done = client.batch_execute(statement).await;
    client.batch_execute("RESET statement_timeout").await.map_err(from_postgres)?;
    done.map_err(from_postgres)
}

/// The next segments of the cursor over garbage; none at the end.
async fn next_garbage(client: &Object) -> Result<Vec<(SegmentId, Option<Bounds>)>> {
    let found = client.query(&format!("FETCH {DOOMED_AT_ONCE} FROM garbage"), &[]).await.map_err(from_postgres)?;
    let read = |row: &Row| {
        let bound = |at: usize| get(row, at).map(position);
        let bounds = match get::<Option<i64>>(row, 1)? {
            None => None,
            Some(_) => Some(Bounds { messages: bound(1)?, changes: bound(2)?, files: bound(3)?, values: bound(4)? }),
        };
        Ok((segment_id(get(row, 0)?), bounds))
    };
    found.iter().map(read).collect()
}

async fn refuse_during_import(client: &Object, now: Timestamp) -> Result<()> {
    let sql = "SELECT 1 FROM meta WHERE key = 'import_until' AND value > $1";
    let under_way = !rows(client, sql, &[&now.as_micros()]).await?.is_empty();
    if under_way { Err(StoreError::import_under_way()) } else { Ok(()) }
}

//! Snapshots: a read-only transaction that sees one moment, with a cursor over the segments.

use std::future::Future;
use std::sync::Arc;

use deadpool_postgres::Object;
use threadkeep_model::{Account, BlobId, Bounds, Position, Thread, ThreadId};
use threadkeep_store::{BoxFuture, Result, SeenSegment, Snapshot, SnapshotSize, Tombstone};
use tokio_postgres::Row;

use crate::Shared;
use crate::bound::{Leaves, erased};
use crate::codec::{self, SEGMENT_COLUMNS, SEGMENT_WIDTH, get, key, limit, position, thread_columns};
use crate::commit::Transaction;
use crate::error::from_postgres;
use crate::read::{all_tombstones, rows};

/// How long a snapshot may wait for its reader between two pages.
const IDLE_MAX: &str = "1h";

/// The account whose threads are asked for, as a condition on `t`; the empty text is all of them.
const OF_ACCOUNT: &str =
    "(current_setting('threadkeep.account') = '' OR t.account = current_setting('threadkeep.account'))";

/// Begins a statement with `living`, the segments of threads that are asked for, and `ways`, in which living threads see
/// segments of other threads: a row for each path to one.
///
/// Whether a parent is living is looked up, one by one: a join with `living` would compare each with each, because nobody
/// can tell beforehand how many there are.
pub(crate) fn living_and_ways() -> String {
    let of_living = format!(
        "FROM segments p JOIN threads t ON t.id = p.thread AND t.rest = p.rest JOIN heads h ON h.thread = t.id
         WHERE {OF_ACCOUNT} AND (p.id = h.segment OR p.first <= h.version)"
    );
    format!(
        "WITH RECURSIVE living AS MATERIALIZED (
             SELECT p.id, p.parent, p.messages, p.changes, p.files, p.vals, h.version {of_living}),
         ways (id, messages, changes, files, vals) AS (
             SELECT l.parent, l.messages, l.changes, l.files, l.vals FROM living l
             WHERE l.parent IS NOT NULL AND NOT EXISTS (SELECT 1 {of_living} AND p.id = l.parent OFFSET 0)
             UNION
             SELECT s.parent, least(s.messages, w.messages), least(s.changes, w.changes), least(s.files, w.files),
                 least(s.vals, w.vals) FROM ways w JOIN segments s ON s.id = w.id
             WHERE s.parent IS NOT NULL AND NOT EXISTS (SELECT 1 {of_living} AND p.id = s.parent OFFSET 0))"
    )
}

/// How far a segment is seen that several ways lead to.
pub(crate) const FURTHEST: &str =
    "max(messages) AS messages, max(changes) AS changes, max(files) AS files, max(vals) AS vals";

/// Begins a transaction that sees one moment, for the threads of an account or of all.
pub(crate) async fn moment(shared: &Shared, account: Option<&Account>) -> Result<Transaction> {
    let transaction = Transaction::begun(shared.connections.get().await?);
    let client = transaction.client();
    let begin = format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL statement_timeout = 0; SET LOCAL enable_seqscan = on;
         SET LOCAL enable_hashjoin = on; SET LOCAL enable_bitmapscan = on;
         SET LOCAL idle_in_transaction_session_timeout = '{IDLE_MAX}'"
    );
    client.batch_execute(&begin).await.map_err(from_postgres)?;
    let account = account.map_or("", Account::as_str);
    rows(client, "SELECT set_config('threadkeep.account', $1, true)", &[&account]).await?;
    Ok(transaction)
}

/// A snapshot in a transaction.
pub(crate) struct ServerSnapshot {
    shared: Arc<Shared>,
    transaction: Arc<Transaction>,
    size: SnapshotSize,
    after_thread: i64,
}

async fn declare(client: &Object) -> Result<()> {
    let sql = format!(
        "DECLARE seen_segments NO SCROLL CURSOR FOR {} SELECT {}, x.head, x.messages, x.changes, x.files, x.vals
         FROM (SELECT id, version AS head, 0 AS messages, 0 AS changes, 0 AS files, 0 AS vals FROM living
               UNION ALL SELECT id, NULL, {FURTHEST} FROM ways GROUP BY id) x
         JOIN segments s ON s.id = x.id ORDER BY s.first, s.record IS NULL, s.id",
        living_and_ways(),
        codec::of_table("s", SEGMENT_COLUMNS)
    );
    client.batch_execute(&sql).await.map_err(from_postgres)
}

impl ServerSnapshot {
    pub(crate) async fn open(shared: Arc<Shared>, account: Option<Account>) -> Result<Self> {
        let transaction = moment(&shared, account.as_ref()).await?;
        let client = transaction.client();
        let counts = format!(
            "{} SELECT (SELECT count(*) FROM living) + (SELECT count(DISTINCT id) FROM ways),
                 (SELECT count(*) FROM threads t WHERE {OF_ACCOUNT}), (SELECT count(*) FROM entries)",
            living_and_ways()
        );
        let counts = client.query_one(&counts, &[]).await.map_err(from_postgres)?;
        let count = |at: usize| get::<i64>(&counts, at).map(|count| count as u64);
        let size = SnapshotSize { segments: count(0)?, threads: count(1)?, entries: count(2)? };
        client
            .batch_execute("CREATE TEMP TABLE seen_blobs (hash bytea PRIMARY KEY) ON COMMIT DROP")
            .await
            .map_err(from_postgres)?;
        declare(client).await?;
        Ok(Self { shared, transaction: Arc::new(transaction), size, after_thread: -1 })
    }

    /// Works on the store's own runtime.
    fn run<T: Send + 'static, W: Future<Output = Result<T>> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Transaction>) -> W,
    ) -> BoxFuture<'static, Result<T>> {
        let (work, result) = erased(work(Arc::clone(&self.transaction)));
        result.after(self.shared.spawn_long(Leaves::Nothing, work))
    }
}

fn seen_segment(row: &Row) -> Result<SeenSegment> {
    let (seen, damage) = codec::segment_row_and_damage(row)?;
    let head = get::<Option<i64>>(row, SEGMENT_WIDTH)?.map(position);
    let bound = |at: usize| get(row, SEGMENT_WIDTH + at).map(position);
    let bounds = match head {
        Some(_) => Bounds::all(Position::END),
        None => Bounds { messages: bound(1)?, changes: bound(2)?, files: bound(3)?, values: bound(4)? },
    };
    Ok(SeenSegment { row: seen, head, bounds, damage })
}

impl Snapshot for ServerSnapshot {
    fn size(&self) -> SnapshotSize {
        self.size
    }

    fn segments(&mut self, most: usize) -> BoxFuture<'_, Result<Vec<SeenSegment>>> {
        self.run(async move |transaction: Arc<Transaction>| {
            let fetch = format!("FETCH {} FROM seen_segments", limit(most));
            let found = transaction.client().query(&fetch, &[]).await.map_err(from_postgres)?;
            found.iter().map(seen_segment).collect()
        })
    }

    fn threads(&mut self, most: usize) -> BoxFuture<'_, Result<Vec<Thread>>> {
        let after = self.after_thread;
        Box::pin(async move {
            let page = self.run(async move |transaction: Arc<Transaction>| {
                let sql = format!(
                    "SELECT {} FROM threads t JOIN heads h ON h.thread = t.id WHERE t.id > $1 AND {OF_ACCOUNT}
                     ORDER BY t.id LIMIT $2",
                    thread_columns()
                );
                let found = rows(transaction.client(), &sql, &[&after, &limit(most)]).await?;
                found.iter().map(codec::thread).collect::<Result<Vec<_>>>()
            });
            let page = page.await?;
            self.after_thread = page.last().map_or(after, |thread| key(thread.id));
            Ok(page)
        })
    }

    fn tombstones(&mut self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Tombstone>>> {
        self.run(async move |transaction: Arc<Transaction>| all_tombstones(transaction.client(), after, limit).await)
    }

    fn rewind(&mut self) -> BoxFuture<'_, Result<()>> {
        self.after_thread = -1;
        self.run(async move |transaction: Arc<Transaction>| {
            let client = transaction.client();
            let close = "CLOSE seen_segments; DELETE FROM seen_blobs";
            client.batch_execute(close).await.map_err(from_postgres)?;
            declare(client).await
        })
    }

    fn new_blobs(&mut self, blobs: Vec<BlobId>) -> BoxFuture<'_, Result<Vec<BlobId>>> {
        self.run(async move |transaction: Arc<Transaction>| {
            let mut new = Vec::new();
            for blob in blobs {
                let sql = "INSERT INTO pg_temp.seen_blobs VALUES ($1) ON CONFLICT DO NOTHING RETURNING 1";
                let hash: &[u8] = blob.as_bytes();
                let noted = transaction.client().query(sql, &[&hash]).await.map_err(from_postgres)?;
                if !noted.is_empty() {
                    new.push(blob);
                }
            }
            Ok(new)
        })
    }
}

//! Snapshots: threads and segments of one moment, in temporary tables of a connection of their own.
//!
//! A read transaction that lasts as long as an export would keep the write-ahead log from starting over. So the moment
//! is copied, which takes about a second for 100,000 threads.

use std::future::ready;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rusqlite::{Connection, Row, params};
use threadkeep_model::{Account, BlobId, Bounds, Position, Thread, ThreadId};
use threadkeep_store::{BoxFuture, Result, SeenSegment, Snapshot, SnapshotSize, Tombstone};

use crate::aside::while_wanted;
use crate::codec::{self, SEGMENT_COLUMNS, SEGMENT_WIDTH, key, position, segment_key};
use crate::connect;
use crate::error::from_sqlite;
use crate::read::{limit, rows, tombstones};

/// Memory for pages of the store and of the temporary tables, each.
const CACHE_KIB: i64 = 2_048;

/// Whether the thread of a segment `of` lives and belongs to the account, if one is asked for.
macro_rules! lives {
    ($of:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM threads t WHERE t.id = ",
            $of,
            ".thread AND t.rest = ",
            $of,
            ".rest AND (?1 IS NULL OR t.account = ?1))"
        )
    };
}

/// The segments that living threads see although their own threads do not live: first those that a living thread
/// grew from, then those further up.
const SEEN_FIRST: &str = concat!(
    "INSERT INTO dead_seen SELECT p.id, max(s.messages), max(s.changes), max(s.files), max(s.vals)
     FROM segments s CROSS JOIN segments p ON p.id = s.parent WHERE s.parent IS NOT NULL AND ",
    lives!("s"),
    " AND NOT ",
    lives!("p"),
    " GROUP BY p.id"
);
const DEAD: &str = concat!(
    "SELECT s.id, s.parent, s.messages, s.changes, s.files, s.vals FROM segments s
     WHERE s.parent IS NOT NULL AND NOT ",
    lives!("s"),
    " ORDER BY s.first DESC, s.record IS NULL DESC, s.id DESC"
);
const SEEN_ABOVE: &str = concat!(
    "INSERT INTO dead_seen SELECT p.id, min(?2, d.messages), min(?3, d.changes), min(?4, d.files), min(?5, d.vals)
     FROM dead_seen d CROSS JOIN segments p ON p.id = ?6 WHERE d.id = ?7 AND NOT ",
    lives!("p"),
    " ON CONFLICT (id) DO UPDATE SET messages = max(messages, excluded.messages),
     changes = max(changes, excluded.changes), files = max(files, excluded.files), vals = max(vals, excluded.vals)"
);

/// A connection for temporary tables, with a small cache, which keeps them in a file.
pub(crate) fn connect_apart(path: &Path) -> Result<Connection> {
    let connection = connect(path)?;
    connection
        .execute_batch(&format!(
            "PRAGMA mmap_size = 0; PRAGMA temp_store = FILE; PRAGMA cache_size = -{CACHE_KIB};
             PRAGMA temp.cache_size = -{CACHE_KIB};"
        ))
        .map_err(from_sqlite)?;
    Ok(connection)
}

/// Fills `dead_seen`: how far each segment is seen whose own thread does not live, or is not the account's. It looks at
/// each segment once, however many others see it.
pub(crate) fn fill_dead_seen(connection: &Connection, account: Option<&str>) -> Result<()> {
    let fill = || -> rusqlite::Result<()> {
        connection.execute_batch(
            "CREATE TEMP TABLE dead_seen (id INTEGER PRIMARY KEY, messages INTEGER, changes INTEGER, files INTEGER,
             vals INTEGER)",
        )?;
        connection.execute(SEEN_FIRST, [account])?;
        let mut dead = connection.prepare(DEAD)?;
        let mut above = connection.prepare(SEEN_ABOVE)?;
        // Positions rise along every lineage, so each segment comes before the one it grew from.
        let mut dead = dead.query([account])?;
        while let Some(row) = dead.next()? {
            let number = |at: usize| row.get::<_, i64>(at);
            above.execute(params![account, number(2)?, number(3)?, number(4)?, number(5)?, number(1)?, number(0)?])?;
        }
        Ok(())
    };
    fill().map_err(from_sqlite)
}

/// A snapshot in temporary tables.
pub(crate) struct FileSnapshot {
    connection: Connection,
    size: SnapshotSize,
    /// The order of the last segment that was given.
    after_segment: (i64, i64, i64),
    after_thread: i64,
}

/// The order before the first segment.
const BEFORE_ALL: (i64, i64, i64) = (-1, 0, 0);

impl FileSnapshot {
    pub(crate) fn open(path: &Path, account: Option<&Account>, is_gone: Arc<AtomicBool>) -> Result<Self> {
        let mut connection = connect_apart(path)?;
        let account = account.map(Account::as_str);
        let size = while_wanted(&mut connection, None, is_gone, |connection| {
            let moment = connection.unchecked_transaction().map_err(from_sqlite)?;
            fill_dead_seen(connection, account)?;
            let size = fill(connection, account).map_err(from_sqlite)?;
            moment.commit().map_err(from_sqlite)?;
            Ok(size)
        })?;
        Ok(Self { connection, size, after_segment: BEFORE_ALL, after_thread: -1 })
    }

    fn page_of_segments(&mut self, most: usize) -> Result<Vec<SeenSegment>> {
        let sql = format!(
            "SELECT {SEGMENT_COLUMNS}, branch, head, seen_messages, seen_changes, seen_files, seen_vals FROM seen_segments
             WHERE (first, branch, id) > (?1, ?2, ?3) ORDER BY first, branch, id LIMIT ?4"
        );
        let (first, branch, id) = self.after_segment;
        let mut last = self.after_segment;
        let found = rows(&self.connection, &sql, params![first, branch, id, limit(most)], |row| {
            let (order, segment) = seen_segment(row)?;
            last = order;
            Ok(segment)
        })?;
        self.after_segment = last;
        Ok(found)
    }

    fn page_of_threads(&mut self, most: usize) -> Result<Vec<Thread>> {
        let sql = "SELECT * FROM seen_threads WHERE id > ?1 ORDER BY id LIMIT ?2";
        let found = rows(&self.connection, sql, params![self.after_thread, limit(most)], codec::thread)?;
        self.after_thread = found.last().map_or(self.after_thread, |thread| key(thread.id));
        Ok(found)
    }
}

/// Copies the threads, and the segments that they see.
fn fill(connection: &Connection, account: Option<&str>) -> rusqlite::Result<SnapshotSize> {
    connection.execute_batch(
        "CREATE TEMP TABLE seen_threads (id INTEGER PRIMARY KEY, rest BLOB, account TEXT, created INTEGER, record TEXT,
             version INTEGER, segment INTEGER, era INTEGER, fence INTEGER, updated INTEGER, tally BLOB);
         CREATE TEMP TABLE seen_segments (id INTEGER, thread INTEGER, rest BLOB, first INTEGER, parent INTEGER,
             messages INTEGER, changes INTEGER, files INTEGER, vals INTEGER, birth BLOB, created INTEGER, account TEXT,
             record TEXT, branch INTEGER, head INTEGER, seen_messages INTEGER, seen_changes INTEGER, seen_files INTEGER,
             seen_vals INTEGER, PRIMARY KEY (first, branch, id)) WITHOUT ROWID;
         CREATE TEMP TABLE seen_tombstones (id INTEGER PRIMARY KEY, rest BLOB, time INTEGER);
         INSERT INTO seen_tombstones SELECT id, rest, time FROM tombstones ORDER BY id;
         CREATE TEMP TABLE seen_blobs (hash BLOB PRIMARY KEY) WITHOUT ROWID",
    )?;
    let threads = connection.execute(
        "INSERT INTO seen_threads SELECT t.id, t.rest, t.account, t.created, t.record, h.version, h.segment, h.era,
             h.fence, h.updated, h.tally FROM threads t CROSS JOIN heads h ON h.thread = t.id
         WHERE ?1 IS NULL OR t.account = ?1 ORDER BY t.id",
        [account],
    )?;
    let columns = SEGMENT_COLUMNS.split(", ").map(|column| format!("s.{column}")).collect::<Vec<_>>().join(", ");
    let living = connection.execute(
        &format!(
            "INSERT INTO seen_segments SELECT {columns}, s.record IS NULL, h.version, 0, 0, 0, 0 FROM segments s
             CROSS JOIN threads t ON t.id = s.thread AND t.rest = s.rest CROSS JOIN heads h ON h.thread = t.id
             WHERE (?1 IS NULL OR t.account = ?1) AND (s.id = h.segment OR s.first <= h.version)"
        ),
        [account],
    )?;
    let dead = connection.execute(
        &format!(
            "INSERT INTO seen_segments SELECT {columns}, s.record IS NULL, NULL, d.messages, d.changes, d.files, d.vals
             FROM dead_seen d CROSS JOIN segments s ON s.id = d.id"
        ),
        [],
    )?;
    let entries: i64 = connection.query_row("SELECT count(*) FROM entries", [], |row| row.get(0))?;
    Ok(SnapshotSize { segments: (living + dead) as u64, threads: threads as u64, entries: entries as u64 })
}

fn seen_segment(row: &Row<'_>) -> Result<((i64, i64, i64), SeenSegment)> {
    let (seen, damage) = codec::segment_row_and_damage(row)?;
    let number = |at: usize| row.get::<_, i64>(SEGMENT_WIDTH + at).map_err(from_sqlite);
    let order = (seen.segment.first.0 as i64, number(0)?, segment_key(seen.segment.id));
    let head = row.get::<_, Option<i64>>(SEGMENT_WIDTH + 1).map_err(from_sqlite)?.map(position);
    let bound = |at: usize| number(at).map(position);
    let bounds = match head {
        Some(_) => Bounds::all(Position::END),
        None => Bounds { messages: bound(2)?, changes: bound(3)?, files: bound(4)?, values: bound(5)? },
    };
    Ok((order, SeenSegment { row: seen, head, bounds, damage }))
}

impl Snapshot for FileSnapshot {
    fn size(&self) -> SnapshotSize {
        self.size
    }

    fn segments(&mut self, limit: usize) -> BoxFuture<'_, Result<Vec<SeenSegment>>> {
        let page = self.page_of_segments(limit);
        Box::pin(ready(page))
    }

    fn threads(&mut self, limit: usize) -> BoxFuture<'_, Result<Vec<Thread>>> {
        let page = self.page_of_threads(limit);
        Box::pin(ready(page))
    }

    fn tombstones(&mut self, after: Option<ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<Tombstone>>> {
        Box::pin(ready(tombstones(&self.connection, "seen_tombstones", after, limit)))
    }

    fn rewind(&mut self) -> BoxFuture<'_, Result<()>> {
        (self.after_segment, self.after_thread) = (BEFORE_ALL, -1);
        let forgotten = self.connection.execute("DELETE FROM seen_blobs", []).map(drop).map_err(from_sqlite);
        Box::pin(ready(forgotten))
    }

    fn new_blobs(&mut self, blobs: Vec<BlobId>) -> BoxFuture<'_, Result<Vec<BlobId>>> {
        let note = || -> rusqlite::Result<Vec<BlobId>> {
            let mut insert = self.connection.prepare_cached("INSERT OR IGNORE INTO seen_blobs VALUES (?1)")?;
            let mut new = Vec::new();
            for blob in blobs {
                if insert.execute([blob.as_bytes()])? > 0 {
                    new.push(blob);
                }
            }
            Ok(new)
        };
        Box::pin(ready(note().map_err(from_sqlite)))
    }
}

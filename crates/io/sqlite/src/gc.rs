//! Garbage collection, in steps so short that no writer waits for long.
//!
//! Garbage is found aside, on a connection of its own: no living thread can begin to see more of it. Each step on the
//! writer's connection frees a bounded number of rows, pages or bytes in one transaction.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rusqlite::{Connection, params};
use threadkeep_model::{Bounds, IdempotencyKey, Kind, Position, SegmentId, Timestamp};
use threadkeep_store::{GcOptions, GcReport, Progress, Result, StoreError, UploadId};

use crate::aside::while_wanted;
use crate::codec::{self, chunk_keys, position, segment_key};
use crate::error::from_sqlite;
use crate::read::{self, limit};
use crate::snapshot::{connect_apart, fill_dead_seen};
use crate::tables::in_transaction;
use crate::upkeep::{meta, set_meta};
use crate::{SqliteStore, blobs, tables};

/// Rows freed in one transaction. Each has rows in some other tables, on pages here and there.
const FREED_AT_ONCE: usize = 250;
/// The cost of a segment's own rows, beside its entries.
const ROWS_OF_SEGMENT: usize = 4;
/// Doomed segments read at once.
const DOOMED_AT_ONCE: usize = 1_000;
/// Unnamed blobs read at once.
const SWEPT_AT_ONCE: usize = 100;
/// Bytes of blobs freed in one transaction. Larger blobs are freed in parts, like an upload that was given up.
const SWEPT_BYTES: i64 = 2 << 20;
/// Pages given back to the file system in one transaction.
const VACUUMED_AT_ONCE: i64 = 128;

/// A file of which one part in so many is unused is rewritten.
const REWRITTEN_FROM: i64 = 10;

/// A segment of a deleted thread, and how far its rows were freed.
struct Doomed {
    segment: SegmentId,
    /// How far it is still seen; none if it goes whole.
    bounds: Option<Bounds>,
    next: Next,
}

/// The rows of a doomed segment that are looked at next.
enum Next {
    /// Entries from a position on, with the rows derived from each.
    Entries(Position),
    /// Files and values after this one.
    Cells(i64, String, i64),
}

/// The doomed segments, in a temporary table.
struct Garbage {
    connection: Connection,
    total: u64,
    after: i64,
}

impl Garbage {
    fn find(path: &Path, is_gone: Arc<AtomicBool>) -> Result<Self> {
        let mut connection = connect_apart(path)?;
        let total = while_wanted(&mut connection, None, is_gone, |connection| {
            let moment = connection.unchecked_transaction().map_err(from_sqlite)?;
            fill_dead_seen(connection, None)?;
            let doom = "CREATE TEMP TABLE doomed (id INTEGER PRIMARY KEY);
                        INSERT INTO doomed SELECT s.id FROM segments s WHERE NOT EXISTS
                            (SELECT 1 FROM threads t WHERE t.id = s.thread AND t.rest = s.rest) ORDER BY s.id";
            connection.execute_batch(doom).map_err(from_sqlite)?;
            moment.commit().map_err(from_sqlite)?;
            connection.query_row("SELECT count(*) FROM doomed", [], |row| row.get::<_, i64>(0)).map_err(from_sqlite)
        })?;
        Ok(Self { connection, total: total as u64, after: -1 })
    }

    /// The next doomed segments; none at the end.
    fn next(&mut self) -> Result<VecDeque<Doomed>> {
        let sql =
            "SELECT x.id, d.messages, d.changes, d.files, d.vals FROM doomed x LEFT JOIN dead_seen d ON d.id = x.id
                   WHERE x.id > ?1 ORDER BY x.id LIMIT ?2";
        let found = read::rows(&self.connection, sql, params![self.after, limit(DOOMED_AT_ONCE)], |row| {
            let bound = |at: usize| row.get(at).map(position);
            let read = || -> rusqlite::Result<_> {
                let bounds = match row.get::<_, Option<i64>>(1)? {
                    None => None,
                    Some(_) => {
                        Some(Bounds { messages: bound(1)?, changes: bound(2)?, files: bound(3)?, values: bound(4)? })
                    }
                };
                let segment = SegmentId::from_bits(row.get::<_, i64>(0)? as u64);
                Ok(Doomed { segment, bounds, next: Next::Entries(Position::START) })
            };
            read().map_err(from_sqlite)
        })?;
        self.after = found.last().map_or(self.after, |last| segment_key(last.segment));
        Ok(found.into())
    }
}

impl SqliteStore {
    pub(crate) async fn collect(&self, options: GcOptions, progress: Progress) -> Result<GcReport> {
        let (mut report, now) = (GcReport::default(), options.now);
        self.upkeep(move |connection| begin(connection, now)).await?;
        self.forget_keys(now).await?;
        let mut garbage = self.aside(|shared, is_gone| Garbage::find(&shared.path, is_gone)).await?;
        let (total, mut done) = (garbage.total, 0);
        loop {
            progress("segments", done, Some(total));
            let mut doomed = garbage.next()?;
            if doomed.is_empty() {
                break;
            }
            while !doomed.is_empty() {
                let before = doomed.len();
                let freed;
                (freed, doomed) = self.upkeep(move |connection| free_some(connection, doomed, now)).await?;
                report.entries += freed.entries;
                report.segments += freed.segments;
                done += (before - doomed.len()) as u64;
                progress("segments", done, Some(total));
            }
        }
        drop(garbage);
        report.blobs += self.end_old_uploads(now).await?;
        report.blobs += self.sweep_blobs(&progress).await?;
        if options.vacuum {
            report.bytes = self.vacuum(&progress).await?;
        }
        self.empty_log().await?;
        Ok(report)
    }

    /// Forgets the idempotency keys that have expired.
    async fn forget_keys(&self, now: Timestamp) -> Result<()> {
        let expired = now.plus_micros(-IdempotencyKey::KEPT_MICROS).as_micros();
        let mut after = (-1, String::new(), String::new());
        loop {
            let from = after.clone();
            let old = self.read_long(move |connection| {
                let sql = "SELECT thread, account, key FROM idempotency
                           WHERE (thread, account, key) > (?1, ?2, ?3) AND time < ?4
                           ORDER BY thread, account, key LIMIT ?5";
                let place = params![from.0, from.1, from.2, expired, limit(FREED_AT_ONCE)];
                read::rows(connection, sql, place, |row| {
                    let read = || -> rusqlite::Result<_> { Ok((row.get(0)?, row.get(1)?, row.get(2)?)) };
                    read().map_err(from_sqlite)
                })
            });
            let old: Vec<(i64, String, String)> = old.await?;
            let Some(last) = old.last() else { return Ok(()) };
            after = last.clone();
            let forget = move |connection: &mut Connection| {
                in_transaction(connection, |connection| {
                    // A key may have been used again meanwhile.
                    let sql = "DELETE FROM idempotency WHERE thread = ?1 AND account = ?2 AND key = ?3 AND time < ?4";
                    for (thread, account, key) in &old {
                        let mut delete = connection.prepare_cached(sql).map_err(from_sqlite)?;
                        delete.execute(params![thread, account, key, expired]).map_err(from_sqlite)?;
                    }
                    Ok(())
                })
            };
            self.upkeep(forget).await?;
        }
    }

    /// Ends uploads that are older than uploads become, and says how many of them were not finished.
    async fn end_old_uploads(&self, now: Timestamp) -> Result<u64> {
        let mut unfinished = 0;
        while let Some((upload, finished)) = self.read(|connection, _| blobs::expired(connection, now)).await? {
            self.end(upload).await?;
            unfinished += u64::from(!finished);
        }
        Ok(unfinished)
    }

    /// Frees the blobs that neither an entry nor an upload names.
    async fn sweep_blobs(&self, progress: &Progress) -> Result<u64> {
        let (mut after, mut swept) = (-1, 0);
        loop {
            let unnamed = self.read_long(move |connection| unnamed(connection, after)).await?;
            let Some((last, _)) = unnamed.last() else { return Ok(swept) };
            after = *last;
            let mut rest = VecDeque::from(unnamed);
            while !rest.is_empty() {
                let (freed, large);
                (freed, large, rest) = self.upkeep(move |connection| free_blobs(connection, rest)).await?;
                swept += freed + large.len() as u64;
                for upload in large {
                    self.end(upload).await?;
                }
                progress("blobs", swept, None);
            }
        }
    }

    /// Gives free pages back to the file system, and says how many bytes.
    async fn vacuum(&self, progress: &Progress) -> Result<u64> {
        let (mut bytes, mut pages, mut total) = (0, 0, None);
        loop {
            let step = self.upkeep(vacuum_some).await?;
            bytes += step.pages * step.page_bytes;
            pages += step.pages;
            let total = *total.get_or_insert(step.pages + step.left);
            progress("pages given back", pages, Some(total.max(pages)));
            if step.pages == 0 || step.left == 0 {
                return Ok(bytes);
            }
        }
    }

    /// Rewrites the file if enough of it is unused: rows that were freed here and there leave room on pages that others
    /// still use. The writer waits for about a second for each 100 MB.
    pub(crate) async fn rewrite(&self, progress: Progress) -> Result<u64> {
        progress("unused space", 0, None);
        let is_worth_it = self.aside(|shared, is_gone| {
            while_wanted(&mut connect_apart(&shared.path)?, None, is_gone, |connection| {
                let sql = "SELECT sum(unused) * ?1 >= sum(pgsize) FROM dbstat";
                connection.query_row(sql, [REWRITTEN_FROM], |row| row.get::<_, bool>(0)).map_err(from_sqlite)
            })
        });
        if !is_worth_it.await? {
            return Ok(0);
        }
        progress("rewriting the file", 0, None);
        let rewrite = |connection: &mut Connection| {
            let pages = |connection: &Connection| -> rusqlite::Result<i64> {
                connection.pragma_query_value(None, "page_count", |row| row.get(0))
            };
            let rewritten = || -> rusqlite::Result<i64> {
                let before = pages(connection)?;
                // A copy of everything is made on the way, which must not be in memory.
                connection.execute_batch("PRAGMA temp_store = FILE; VACUUM")?;
                let freed = before - pages(connection)?;
                Ok(freed * connection.pragma_query_value(None, "page_size", |row| row.get::<_, i64>(0))?)
            };
            let freed = rewritten().map_err(from_sqlite);
            connection.execute_batch("PRAGMA temp_store = MEMORY").map_err(from_sqlite)?;
            freed
        };
        let freed = self.upkeep(rewrite).await?;
        self.empty_log().await?;
        Ok(freed.max(0) as u64)
    }

    /// Empties the write-ahead log, which still has the freed data. Most of it is copied aside, so that the writer copies
    /// little.
    async fn empty_log(&self) -> Result<()> {
        let copy = |how: &'static str| {
            move |connection: &Connection| {
                let sql = format!("PRAGMA wal_checkpoint({how})");
                connection.query_row(&sql, [], |_| Ok(())).map_err(from_sqlite)
            }
        };
        self.aside(move |shared, _| copy("PASSIVE")(&connect_apart(&shared.path)?)).await?;
        self.upkeep(move |connection| copy("TRUNCATE")(connection)).await
    }
}

fn refuse_during_import(connection: &Connection, now: Timestamp) -> Result<()> {
    let is_under_way = meta(connection, "import_until")?.is_some_and(|until| until > now.as_micros());
    if is_under_way { Err(StoreError::import_under_way()) } else { Ok(()) }
}

fn begin(connection: &mut Connection, now: Timestamp) -> Result<()> {
    in_transaction(connection, |connection| {
        refuse_during_import(connection, now)?;
        // The newest rows may be freed now: their numbers must not come back.
        set_meta(connection, "last_seq", tables::last_seq(connection)?)
    })
}

#[derive(Default)]
struct Freed {
    entries: u64,
    segments: u64,
}

/// Frees rows of the first of `doomed`, at most so many, and gives back those that are not done.
fn free_some(
    connection: &mut Connection,
    mut doomed: VecDeque<Doomed>,
    now: Timestamp,
) -> Result<(Freed, VecDeque<Doomed>)> {
    in_transaction(connection, |connection| {
        // What an import finds here must stay until its thread comes.
        refuse_during_import(connection, now)?;
        let (mut freed, mut room) = (Freed::default(), FREED_AT_ONCE);
        while room > 0
            && let Some(mut first) = doomed.pop_front()
        {
            let looked_at = match &first.next {
                Next::Entries(from) => {
                    let (looked_at, entries, next) = free_entries(connection, &first, *from, room)?;
                    freed.entries += entries;
                    first.next = next.map_or_else(|| Next::Cells(-1, String::new(), -1), Next::Entries);
                    doomed.push_front(first);
                    looked_at
                }
                Next::Cells(space, name, at) => {
                    let (looked_at, next) = free_cells(connection, first.segment, (*space, name, *at), room)?;
                    match next {
                        Some((space, name, at)) => {
                            first.next = Next::Cells(space, name, at);
                            doomed.push_front(first);
                        }
                        None if first.bounds.is_none() => {
                            let id = segment_key(first.segment);
                            connection.execute("DELETE FROM segments WHERE id = ?1", [id]).map_err(from_sqlite)?;
                            freed.segments += 1;
                        }
                        None => {}
                    }
                    looked_at + ROWS_OF_SEGMENT
                }
            };
            room = room.saturating_sub(looked_at);
        }
        Ok((freed, doomed))
    })
}

/// Frees the entries beyond the bounds of a segment, from `from` on, with the rows derived from each of them. Says how
/// many it looked at and freed, and where to go on.
fn free_entries(
    connection: &Connection,
    doomed: &Doomed,
    from: Position,
    most: usize,
) -> Result<(usize, u64, Option<Position>)> {
    let id = segment_key(doomed.segment);
    let sql = "SELECT seq, position, kind, tally FROM entries WHERE segment = ?1 AND position >= ?2
               ORDER BY position LIMIT ?3";
    let found = read::rows(connection, sql, params![id, from.0 as i64, limit(most)], |row| {
        let read = || -> rusqlite::Result<_> {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, u8>(2)?, row.get::<_, Vec<u8>>(3)?))
        };
        read().map_err(from_sqlite)
    })?;
    let mut freed = 0;
    for (seq, at, kind, tally) in &found {
        let seen = doomed.bounds.zip(Kind::from_code(*kind)).map(|(bounds, kind)| bounds.of(kind.class()));
        if seen.is_some_and(|seen| position(*at) <= seen) {
            continue;
        }
        let execute = |sql: &str, params: &[&dyn rusqlite::ToSql]| {
            connection.prepare_cached(sql).and_then(|mut statement| statement.execute(params)).map_err(from_sqlite)
        };
        let ordinal = codec::tally(tally)?.ordinals.saturating_sub(1) as i64;
        execute("DELETE FROM messages WHERE segment = ?1 AND ordinal = ?2 AND seq = ?3", &[&id, &ordinal, seq])?;
        execute("DELETE FROM changes WHERE segment = ?1 AND position = ?2", &[&id, at])?;
        execute("DELETE FROM aliases WHERE to_segment = ?1 AND to_position = ?2", &[&id, at])?;
        execute("DELETE FROM blob_refs WHERE seq = ?1", &[seq])?;
        execute("DELETE FROM entries WHERE seq = ?1", &[seq])?;
        freed += 1;
    }
    let next = found.last().filter(|_| found.len() == most).map(|(_, at, ..)| position(*at).next());
    Ok((found.len(), freed, next))
}

/// A place among the cells of a segment: space, name and position.
type CellPlace = (i64, String, i64);

/// Frees files and values of a segment whose entries are gone.
fn free_cells(
    connection: &Connection,
    segment: SegmentId,
    after: (i64, &str, i64),
    most: usize,
) -> Result<(usize, Option<CellPlace>)> {
    let id = segment_key(segment);
    let sql = "SELECT c.space, c.name, c.position, EXISTS
                   (SELECT 1 FROM entries e WHERE e.segment = c.segment AND e.position = c.position) FROM cells c
               WHERE c.segment = ?1 AND (c.space, c.name, c.position) > (?2, ?3, ?4)
               ORDER BY c.space, c.name, c.position LIMIT ?5";
    let found = read::rows(connection, sql, params![id, after.0, after.1, after.2, limit(most)], |row| {
        let read = || -> rusqlite::Result<_> {
            Ok(((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?), row.get::<_, bool>(3)?))
        };
        read().map_err(from_sqlite)
    })?;
    let sql = "DELETE FROM cells WHERE segment = ?1 AND space = ?2 AND name = ?3 AND position = ?4";
    for ((space, name, at), _) in found.iter().filter(|(_, is_there)| !is_there) {
        let mut delete = connection.prepare_cached(sql).map_err(from_sqlite)?;
        delete.execute(params![id, space, name, at]).map_err(from_sqlite)?;
    }
    let looked_at = found.len();
    Ok((looked_at, found.into_iter().next_back().map(|(place, _)| place).filter(|_| looked_at == most)))
}

const IS_NAMED: &str = "EXISTS (SELECT 1 FROM blob_refs r WHERE r.blob = b.id)
                        OR EXISTS (SELECT 1 FROM uploads u WHERE u.blob = b.id)";

/// Some blobs after `after` that neither an entry nor an upload names, with their sizes.
fn unnamed(connection: &Connection, after: i64) -> Result<Vec<(i64, i64)>> {
    let sql = format!("SELECT b.id, b.size FROM blobs b WHERE b.id > ?1 AND NOT ({IS_NAMED}) ORDER BY b.id LIMIT ?2");
    read::rows(connection, &sql, params![after, limit(SWEPT_AT_ONCE)], |row| {
        let read = || -> rusqlite::Result<_> { Ok((row.get(0)?, row.get(1)?)) };
        read().map_err(from_sqlite)
    })
}

/// Frees the first of these blobs that still have no name. Large ones become uploads that were given up: their bytes are
/// freed in parts. Gives back those that are not done.
#[expect(clippy::type_complexity, reason = "how many were freed, which are to be freed in parts, and which are left")]
fn free_blobs(
    connection: &mut Connection,
    mut blobs: VecDeque<(i64, i64)>,
) -> Result<(u64, Vec<UploadId>, VecDeque<(i64, i64)>)> {
    in_transaction(connection, |connection| {
        let (mut freed, mut large, mut room) = (0, Vec::new(), SWEPT_BYTES);
        while room > 0
            && let Some((blob, size)) = blobs.pop_front()
        {
            let sql = format!("DELETE FROM blobs AS b WHERE b.id = ?1 AND NOT ({IS_NAMED})");
            let delete = connection.prepare_cached(&sql).and_then(|mut statement| statement.execute([blob]));
            if delete.map_err(from_sqlite)? == 0 {
                continue;
            }
            if size > SWEPT_BYTES {
                connection.execute("INSERT INTO uploads (id, began) VALUES (?1, 0)", [blob]).map_err(from_sqlite)?;
                large.push(UploadId(blob));
                continue;
            }
            let chunks = chunk_keys(blob);
            connection
                .prepare_cached("DELETE FROM blob_chunks WHERE id BETWEEN ?1 AND ?2")
                .and_then(|mut statement| statement.execute([chunks.start(), chunks.end()]))
                .map_err(from_sqlite)?;
            freed += 1;
            room -= size.max(4_096);
        }
        Ok((freed, large, blobs))
    })
}

/// Pages given back in one step, and how many are left to give.
struct Vacuumed {
    pages: u64,
    left: u64,
    page_bytes: u64,
}

fn vacuum_some(connection: &mut Connection) -> Result<Vacuumed> {
    let pragma = |name: &str| -> Result<u64> {
        let found: i64 = connection.pragma_query_value(None, name, |row| row.get(0)).map_err(from_sqlite)?;
        Ok(found.max(0) as u64)
    };
    let before = pragma("page_count")?;
    read::rows(connection, &format!("PRAGMA incremental_vacuum({VACUUMED_AT_ONCE})"), [], |_| Ok(()))?;
    let pages = before.saturating_sub(pragma("page_count")?);
    Ok(Vacuumed { pages, left: pragma("freelist_count")?, page_bytes: pragma("page_size")? })
}

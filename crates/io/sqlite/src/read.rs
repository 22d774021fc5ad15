//! Reads. Each is one short transaction on a connection of the pool.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use rusqlite::{Connection, Params, params};
use threadkeep_model::{
    Account, BlobId, ChangeOp, Checkpoint, Head, MessageId, Position, QueuedId, Segment, SegmentId, Thread, ThreadId,
    ThreadName, Timestamp, Visibility,
};
use threadkeep_store::{
    ChangeQuery, ChangeRow, EntryQuery, FeedCursor, FeedItem, FeedNews, IdPrefix, LeftOutQuery, MessageFilter,
    MessageQuery, Order, Result, SegmentRow, StoreError, StoredEntry, Tombstone, visibility_of,
};

use crate::codec::{
    self, Actors, ENTRY_COLUMNS, ENTRY_WIDTH, SEGMENT_COLUMNS, THREAD_COLUMNS, key, position, segment_key,
};
use crate::error::from_sqlite;

/// Runs a query and reads each row.
pub(crate) fn rows<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&rusqlite::Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    some_rows(connection, sql, 0, params, read)
}

/// Rows that are given room before they are read.
const ROOM_MAX: usize = 64;

/// The same where so many rows are expected: a page of large rows is not moved again and again while it grows.
pub(crate) fn some_rows<T>(
    connection: &Connection,
    sql: &str,
    expected: usize,
    params: impl Params,
    mut read: impl FnMut(&rusqlite::Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(from_sqlite)?;
    let mut rows = statement.query(params).map_err(from_sqlite)?;
    let mut found = Vec::with_capacity(expected.min(ROOM_MAX));
    while let Some(row) = rows.next().map_err(from_sqlite)? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// Joins the parts of a statement. Statements are cached by their text.
pub(crate) fn joined(parts: &[&str]) -> String {
    parts.concat()
}

pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(crate) fn thread(connection: &Connection, name: ThreadName) -> Result<Option<Thread>> {
    let sql = joined(&["SELECT ", THREAD_COLUMNS, " FROM threads t JOIN heads h ON h.thread = t.id WHERE t.id = ?1"]);
    let found = rows(connection, &sql, [name.short().bits() as i64], codec::thread)?;
    Ok(found.into_iter().find(|thread| name.names(thread.id)))
}

pub(crate) fn head(connection: &Connection, thread: ThreadId) -> Result<Option<Head>> {
    let sql = "SELECT h.version, h.segment, h.era, h.fence, h.updated, h.tally
               FROM heads h CROSS JOIN threads t ON t.id = h.thread WHERE h.thread = ?1 AND t.rest = ?2";
    let found = rows(connection, sql, params![key(thread), codec::rest(thread)], |row| {
        let (head, bytes) = codec::head_at(row, 0).map_err(from_sqlite)?;
        Ok(Head { tally: codec::tally(bytes)?, ..head })
    })?;
    Ok(found.into_iter().next())
}

pub(crate) fn chain(connection: &Connection, segment: SegmentId, most: usize) -> Result<Vec<Segment>> {
    let sql = joined(&[
        "WITH RECURSIVE chain(n, id) AS (SELECT 0, ?1 UNION ALL
             SELECT n + 1, s.parent FROM chain JOIN segments s USING (id) WHERE s.parent IS NOT NULL AND n + 1 < ?2)
         SELECT ",
        SEGMENT_COLUMNS,
        " FROM chain JOIN segments USING (id) ORDER BY n",
    ]);
    rows(connection, &sql, params![segment_key(segment), limit(most)], codec::segment)
}

pub(crate) fn chains(connection: &Connection, segments: &[SegmentId], most: usize) -> Result<Vec<Segment>> {
    let sql = joined(&[
        "WITH RECURSIVE chain(id) AS (SELECT value FROM json_each(?1) UNION
             SELECT s.parent FROM chain JOIN segments s USING (id) WHERE s.parent IS NOT NULL LIMIT ?2)
         SELECT ",
        SEGMENT_COLUMNS,
        " FROM chain JOIN segments USING (id)",
    ]);
    rows(connection, &sql, params![keys(segments.iter().map(|id| segment_key(*id))), limit(most)], codec::segment)
}

/// Keys as a JSON array, which a statement takes as one value.
pub(crate) fn keys(keys: impl Iterator<Item = i64>) -> String {
    let mut json = String::from("[");
    for key in keys {
        // A string takes all that is written to it.
        let _ = write!(json, "{}{key}", if json.len() == 1 { "" } else { "," });
    }
    json.push(']');
    json
}

pub(crate) fn segments(connection: &Connection, thread: ThreadId, at: Position, most: usize) -> Result<Vec<Segment>> {
    let sql = joined(&[
        "SELECT ",
        SEGMENT_COLUMNS,
        " FROM segments WHERE thread = ?1 AND first <= ?2 ORDER BY first DESC, account IS NOT NULL LIMIT ?3",
    ]);
    let found = rows(connection, &sql, params![key(thread), bound(at), limit(most)], codec::segment)?;
    Ok(found.into_iter().filter(|segment| segment.thread == thread).collect())
}

fn bound(position: Position) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}

pub(crate) fn entries(connection: &Connection, actors: &Actors, query: &EntryQuery) -> Result<Vec<StoredEntry>> {
    let sql = joined(&[
        "SELECT ",
        ENTRY_COLUMNS,
        " FROM entries e WHERE e.segment = ?1 AND e.position BETWEEN ?2 AND ?3 ORDER BY e.position",
        direction(query.order),
        " LIMIT ?4",
    ]);
    let (first, last) = (bound(*query.positions.start()), bound(*query.positions.end()));
    let params = params![segment_key(query.segment), first, last, limit(query.limit)];
    rows(connection, &sql, params, |row| actors.entry(connection, row))
}

fn direction(order: Order) -> &'static str {
    match order {
        Order::Ascending => "",
        Order::Descending => " DESC",
    }
}

pub(crate) fn messages(connection: &Connection, actors: &Actors, query: &MessageQuery) -> Result<Vec<StoredEntry>> {
    let sql = joined(&[
        "SELECT ",
        ENTRY_COLUMNS,
        " FROM messages m CROSS JOIN entries e ON e.seq = m.seq
          WHERE m.segment = ?1 AND m.ordinal >= ?2 AND m.ordinal < ?3 AND m.depth <= ?4 AND m.silent <= ?5",
        if query.filter.role.is_some() { " AND m.role = ?7" } else { "" },
        " ORDER BY m.ordinal LIMIT ?6",
    ]);
    let MessageFilter { role, max_depth, include_silent } = query.filter;
    let mut statement = connection.prepare_cached(&sql).map_err(from_sqlite)?;
    let mut reading = actors.reading();
    let mut found = Vec::with_capacity(query.limit.min(ROOM_MAX));
    // The first messages of `ordinals` that pass the filter.
    let mut some = |found: &mut Vec<StoredEntry>, segment: SegmentId, ordinals: Range<u64>, most: usize| {
        let (first, end) = (ordinal(ordinals.start), ordinal(ordinals.end));
        let (segment, most) = (segment_key(segment), limit(most));
        let rows = match role {
            None => statement.query(params![segment, first, end, max_depth, include_silent, most]),
            Some(role) => statement.query(params![segment, first, end, max_depth, include_silent, most, role.code()]),
        };
        let mut rows = rows.map_err(from_sqlite)?;
        while let Some(row) = rows.next().map_err(from_sqlite)? {
            found.push(reading.entry(connection, row)?);
        }
        Ok::<_, StoreError>(())
    };
    for (segment, ordinals) in &query.spans {
        if query.order == Order::Ascending {
            let most = query.limit - found.len();
            some(&mut found, *segment, ordinals.clone(), most)?;
            continue;
        }
        // Backwards, but each stretch is read forwards: SQLite steps from a row to the next faster than to the one
        // before. Ordinals have no gaps, so the last few are known; where the filter leaves some out, the next stretch
        // is longer.
        let (mut end, mut stretch) = (ordinals.end, (query.limit - found.len()) as u64);
        while found.len() < query.limit && end > ordinals.start {
            let (start, known) = (end.saturating_sub(stretch).max(ordinals.start), found.len());
            some(&mut found, *segment, start..end, usize::MAX)?;
            found[known..].reverse();
            found.truncate(query.limit);
            (end, stretch) = (start, stretch.saturating_mul(2));
        }
    }
    Ok(found)
}

fn ordinal(ordinal: u64) -> i64 {
    i64::try_from(ordinal).unwrap_or(i64::MAX)
}

/// Without a role this reads the index of messages that lists leave out: the first condition is that index's own.
pub(crate) fn left_out(connection: &Connection, query: &LeftOutQuery) -> Result<Vec<u64>> {
    let hidden = "SELECT ordinal FROM messages INDEXED BY messages_hidden WHERE (silent OR depth > 0) AND segment = ?1 AND ordinal >= ?2
                  AND ordinal < ?3 AND NOT (depth <= ?4 AND silent <= ?5)";
    let of_role = "SELECT ordinal FROM messages WHERE segment = ?1 AND ordinal >= ?2 AND ordinal < ?3
                   AND NOT (depth <= ?4 AND silent <= ?5 AND role = ?6)";
    let MessageFilter { role, max_depth, include_silent } = query.filter;
    let sql = if role.is_none() { hidden } else { of_role };
    let mut statement = connection.prepare_cached(sql).map_err(from_sqlite)?;
    let mut left_out = Vec::new();
    for (segment, ordinals) in &query.spans {
        let (segment, first, end) = (segment_key(*segment), ordinal(ordinals.start), ordinal(ordinals.end));
        let rows = match role {
            None => statement.query(params![segment, first, end, max_depth, include_silent]),
            Some(role) => statement.query(params![segment, first, end, max_depth, include_silent, role.code()]),
        };
        let mut rows = rows.map_err(from_sqlite)?;
        while let Some(row) = rows.next().map_err(from_sqlite)? {
            left_out.push(row.get::<_, i64>(0).map_err(from_sqlite)? as u64);
        }
    }
    left_out.sort_unstable();
    Ok(left_out)
}

pub(crate) fn changes(connection: &Connection, query: &ChangeQuery) -> Result<Vec<ChangeRow>> {
    let whole_history = query.roots.start == 0 && query.roots.end == u64::MAX;
    let sql = if whole_history {
        // By position: all changes after a point.
        "SELECT root, position, target, op FROM changes INDEXED BY changes_position
         WHERE segment = ?1 AND root >= ?2 AND root < ?3 AND position BETWEEN ?4 AND ?5"
    } else {
        "SELECT root, position, target, op FROM changes
         WHERE segment = ?1 AND root >= ?2 AND root < ?3 AND position BETWEEN ?4 AND ?5"
    };
    let roots = query.roots.start as i64..ordinal(query.roots.end);
    let mut statement = connection.prepare_cached(sql).map_err(from_sqlite)?;
    let mut found = Vec::new();
    for (segment, positions) in &query.spans {
        let (first, last) = (bound(*positions.start()), bound(*positions.end()));
        let rows = statement.query(params![segment_key(*segment), roots.start, roots.end, first, last]);
        let mut rows = rows.map_err(from_sqlite)?;
        while let Some(row) = rows.next().map_err(from_sqlite)? {
            let code: u8 = row.get(3).map_err(from_sqlite)?;
            let op = ChangeOp::from_code(code);
            found.push(ChangeRow {
                segment: *segment,
                root: row.get::<_, i64>(0).map_err(from_sqlite)? as u64,
                position: position(row.get(1).map_err(from_sqlite)?),
                target: position(row.get(2).map_err(from_sqlite)?),
                op: op.ok_or_else(|| StoreError::corrupt(format!("a change has the code {code}")))?,
            });
        }
    }
    found.sort_by_key(|change| (change.root, change.position, change.target));
    Ok(found)
}

pub(crate) fn owners(connection: &Connection, threads: &[ThreadId]) -> Result<Vec<(ThreadId, Account, Visibility)>> {
    let sql =
        "SELECT t.id, t.rest, t.account, t.visibility FROM json_each(?1) k CROSS JOIN threads t ON t.id = k.value";
    let found = rows(connection, sql, [keys(threads.iter().map(|id| key(*id)))], |row| {
        let read = || -> rusqlite::Result<_> {
            Ok((row.get(0)?, row.get_ref(1)?.as_blob()?, row.get::<_, String>(2)?, row.get::<_, i16>(3)?))
        };
        let (id, rest, account, visibility) = read().map_err(from_sqlite)?;
        let (account, visibility) = owner(account, visibility)?;
        Ok((codec::thread_id(id, rest)?, account, visibility))
    })?;
    // Another thread may have the short id of one that is asked for.
    let asked: HashSet<ThreadId> = threads.iter().copied().collect();
    Ok(found.into_iter().filter(|(id, ..)| asked.contains(id)).collect())
}

pub(crate) fn owner(account: String, visibility: i16) -> Result<(Account, Visibility)> {
    let account = Account::stored(account).map_err(|error| StoreError::corrupt(error.to_string()))?;
    let visibility = visibility_of(visibility)
        .ok_or_else(|| StoreError::corrupt(format!("a thread has the visibility {visibility}")))?;
    Ok((account, visibility))
}

pub(crate) fn checkpoints(connection: &Connection, thread: ThreadId) -> Result<Vec<Checkpoint>> {
    let sql = "SELECT name, version, created FROM checkpoints WHERE thread = ?1 ORDER BY seq";
    rows(connection, sql, [key(thread)], |row| {
        let read = || -> rusqlite::Result<_> {
            Ok(Checkpoint {
                name: row.get(0)?,
                version: position(row.get(1)?),
                created: Timestamp::from_micros(row.get(2)?),
            })
        };
        read().map_err(from_sqlite)
    })
}

pub(crate) fn delivered(connection: &Connection, queued: QueuedId) -> Result<Option<MessageId>> {
    let sql = "SELECT to_segment, to_position FROM aliases WHERE segment = ?1 AND position = ?2";
    let found = rows(connection, sql, [segment_key(queued.0.segment), bound(queued.0.position)], |row| {
        let read = || -> rusqlite::Result<_> { Ok((row.get::<_, i64>(0)?, row.get(1)?)) };
        let (segment, at) = read().map_err(from_sqlite)?;
        Ok(MessageId { segment: SegmentId::from_bits(segment as u64), position: position(at) })
    })?;
    Ok(found.into_iter().next())
}

pub(crate) fn subagents(connection: &Connection, main: ThreadId) -> Result<Vec<Thread>> {
    let sql = joined(&[
        "SELECT ",
        THREAD_COLUMNS,
        " FROM threads t JOIN heads h ON h.thread = t.id WHERE t.main = ?1 ORDER BY t.created, t.id",
    ]);
    let found = rows(connection, &sql, [key(main)], codec::thread)?;
    Ok(found.into_iter().filter(|thread| thread.record.main_thread_id == Some(main)).collect())
}

pub(crate) fn feed(connection: &Connection, actors: &Actors, after: FeedCursor, most: usize) -> Result<Vec<FeedItem>> {
    let after = i64::try_from(after.0).unwrap_or(i64::MAX);
    // One snapshot for the three tables: a commit between two reads would be skipped otherwise.
    let snapshot = connection.unchecked_transaction().map_err(from_sqlite)?;
    let cursor = |row: &rusqlite::Row<'_>, at: usize| -> Result<FeedCursor> {
        Ok(FeedCursor(row.get::<_, i64>(at).map_err(from_sqlite)? as u64))
    };
    let owner = |row: &rusqlite::Row<'_>, at: usize| -> Result<ThreadId> {
        let rest = row.get_ref(at + 1).and_then(|value| Ok(value.as_blob()?)).map_err(from_sqlite)?;
        codec::thread_id(row.get(at).map_err(from_sqlite)?, rest)
    };
    let sql = joined(&[
        "SELECT ",
        ENTRY_COLUMNS,
        ", e.seq, s.thread, s.rest FROM entries e JOIN segments s ON s.id = e.segment
          WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2",
    ]);
    let mut items = rows(connection, &sql, [after, limit(most)], |row| {
        let news = FeedNews::Entry(Box::new(actors.entry(connection, row)?));
        Ok(FeedItem { cursor: cursor(row, ENTRY_WIDTH)?, thread: owner(row, ENTRY_WIDTH + 1)?, news })
    })?;
    let sql = joined(&["SELECT ", SEGMENT_COLUMNS, ", seq FROM segments WHERE seq > ?1 ORDER BY seq LIMIT ?2"]);
    items.extend(rows(connection, &sql, [after, limit(most)], |row| {
        let segment = codec::segment(row)?;
        let thread = segment.thread;
        Ok(FeedItem { cursor: cursor(row, 13)?, thread, news: FeedNews::Began(Box::new(segment)) })
    })?);
    let sql = "SELECT id, rest, seq FROM tombstones WHERE seq > ?1 ORDER BY seq LIMIT ?2";
    items.extend(rows(connection, sql, [after, limit(most)], |row| {
        Ok(FeedItem { cursor: cursor(row, 2)?, thread: owner(row, 0)?, news: FeedNews::Deleted })
    })?);
    // Each of the three is complete up to its own limit, so the lowest of all of them are the next ones.
    drop(snapshot);
    items.sort_by_key(|item| item.cursor);
    items.truncate(most);
    Ok(items)
}

pub(crate) fn all_threads(connection: &Connection, after: Option<ThreadId>, most: usize) -> Result<Vec<Thread>> {
    let sql = joined(&[
        "SELECT ",
        THREAD_COLUMNS,
        " FROM threads t JOIN heads h ON h.thread = t.id WHERE t.id > ?1 ORDER BY t.id LIMIT ?2",
    ]);
    rows(connection, &sql, params![after.map_or(-1, key), limit(most)], codec::thread)
}

pub(crate) fn all_segments(connection: &Connection, after: Option<SegmentId>, most: usize) -> Result<Vec<SegmentRow>> {
    let sql = joined(&["SELECT ", SEGMENT_COLUMNS, " FROM segments WHERE id > ?1 ORDER BY id LIMIT ?2"]);
    rows(connection, &sql, params![after.map_or(-1, segment_key), limit(most)], codec::segment_row)
}

pub(crate) fn segment_rows(connection: &Connection, segments: &[SegmentId]) -> Result<Vec<SegmentRow>> {
    let sql = joined(&["SELECT ", SEGMENT_COLUMNS, " FROM segments WHERE id IN (SELECT value FROM json_each(?1))"]);
    rows(connection, &sql, [keys(segments.iter().map(|id| segment_key(*id)))], codec::segment_row)
}

pub(crate) fn all_blobs(connection: &Connection, after: Option<BlobId>, most: usize) -> Result<Vec<BlobId>> {
    let after = after.map_or(Vec::new(), |blob| blob.as_bytes().to_vec());
    let sql = "SELECT hash FROM blobs WHERE hash > ?1 ORDER BY hash LIMIT ?2";
    rows(connection, sql, params![after, limit(most)], |row| row.get(0).map(BlobId::from_bytes).map_err(from_sqlite))
}

/// Deleted threads from `table`.
pub(crate) fn tombstones(
    connection: &Connection,
    table: &str,
    after: Option<ThreadId>,
    most: usize,
) -> Result<Vec<Tombstone>> {
    let sql = joined(&["SELECT id, rest, time FROM ", table, " WHERE id > ?1 ORDER BY id LIMIT ?2"]);
    rows(connection, &sql, params![after.map_or(-1, key), limit(most)], |row| {
        let rest = row.get_ref(1).and_then(|value| Ok(value.as_blob()?)).map_err(from_sqlite)?;
        let thread = codec::thread_id(row.get(0).map_err(from_sqlite)?, rest)?;
        Ok(Tombstone { thread, time: Timestamp::from_micros(row.get(2).map_err(from_sqlite)?) })
    })
}

pub(crate) fn threads_by_prefix(connection: &Connection, prefix: &str, most: usize) -> Result<Vec<ThreadId>> {
    let read = |row: &rusqlite::Row<'_>| -> Result<ThreadId> {
        let rest = row.get_ref(1).and_then(|value| Ok(value.as_blob()?)).map_err(from_sqlite)?;
        codec::thread_id(row.get(0).map_err(from_sqlite)?, rest)
    };
    match IdPrefix::parse(prefix) {
        None => Ok(Vec::new()),
        Some(IdPrefix::Short(range)) => {
            let sql = "SELECT id, rest FROM threads WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3";
            let (first, last) = (*range.start() as i64, *range.end() as i64);
            rows(connection, sql, params![first, last, limit(most)], read)
        }
        Some(IdPrefix::Full { digits }) => {
            let sql = "SELECT id, rest FROM threads
                       WHERE lower(hex(rest)) || printf('%012x', id) LIKE ?1 || '%' ORDER BY id LIMIT ?2";
            rows(connection, sql, params![digits, limit(most)], read)
        }
    }
}

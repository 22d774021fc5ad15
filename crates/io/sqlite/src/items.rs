//! Reading what has a key of its own within a thread: by thread, by key, by account, and by the time it is due.

use rusqlite::{Connection, params};
use threadkeep_model::{ItemKind, MessageId, SegmentId, ThreadId, Timestamp};
use threadkeep_store::{BoxFuture, Due, DueQuery, Item, ItemList, ItemQuery, Result, StoreError, Timers};

use crate::SqliteStore;
use crate::codec::{Actors, ENTRY_COLUMNS, ENTRY_WIDTH, key, position, thread_id};
use crate::error::from_sqlite;
use crate::read::{joined, limit, rows};

/// The columns of `items` beside the entry.
const ITEM_COLUMNS: &str = ", i.key, i.born_segment, i.born, i.made, i.due";
/// How many columns an item has with its entry.
const ITEM_WIDTH: usize = ENTRY_WIDTH + 5;

fn item(connection: &Connection, actors: &Actors, row: &rusqlite::Row<'_>) -> Result<Item> {
    let entry = actors.entry(connection, row)?;
    let read = || -> rusqlite::Result<_> {
        let born = MessageId {
            segment: SegmentId::from_bits(row.get::<_, i64>(ENTRY_WIDTH + 1)? as u64),
            position: position(row.get(ENTRY_WIDTH + 2)?),
        };
        let made = Timestamp::from_micros(row.get(ENTRY_WIDTH + 3)?);
        let due = row.get::<_, Option<i64>>(ENTRY_WIDTH + 4)?.map(Timestamp::from_micros);
        Ok((row.get(ENTRY_WIDTH)?, born, made, due))
    };
    let (key, born, made, due) = read().map_err(from_sqlite)?;
    Ok(Item { key, born, made, due, entry })
}

/// An item, and after its columns those that name its thread.
fn item_of_thread(connection: &Connection, actors: &Actors, row: &rusqlite::Row<'_>) -> Result<(ThreadId, Item)> {
    let read = || -> rusqlite::Result<_> { Ok((row.get(ITEM_WIDTH)?, row.get::<_, Vec<u8>>(ITEM_WIDTH + 1)?)) };
    let (thread, rest) = read().map_err(from_sqlite)?;
    Ok((thread_id(thread, &rest)?, item(connection, actors, row)?))
}

pub(crate) fn items(connection: &Connection, actors: &Actors, query: &ItemQuery) -> Result<Vec<Item>> {
    let sql = joined(&[
        "SELECT ",
        ENTRY_COLUMNS,
        ITEM_COLUMNS,
        " FROM items i CROSS JOIN entries e ON e.seq = i.seq WHERE i.thread = ?1 AND i.kind = ?2",
        if query.key.is_some() { " AND i.key = ?4" } else { " AND ?4 IS NULL" },
        " ORDER BY i.born LIMIT ?3",
    ]);
    let params = params![key(query.thread), query.kind.code(), limit(query.limit), query.key];
    rows(connection, &sql, params, |row| item(connection, actors, row))
}

/// The items of these kinds, in the order of making.
pub(crate) fn of_kinds(
    connection: &Connection,
    actors: &Actors,
    thread: ThreadId,
    kinds: &[ItemKind],
) -> Result<Vec<(ItemKind, Item)>> {
    let mut found = Vec::new();
    for kind in kinds {
        let query = ItemQuery { thread, kind: *kind, key: None, limit: usize::MAX };
        found.extend(items(connection, actors, &query)?.into_iter().map(|item| (*kind, item)));
    }
    found.sort_by_key(|(_, item)| item.born.position);
    Ok(found)
}

pub(crate) fn count(connection: &Connection, query: &ItemQuery) -> Result<usize> {
    let sql = "SELECT count(*) FROM
               (SELECT 1 FROM items WHERE thread = ?1 AND kind = ?2 AND (?4 IS NULL OR key = ?4) LIMIT ?3)";
    let params = params![key(query.thread), query.kind.code(), limit(query.limit), query.key];
    let counted = rows(connection, sql, params, |row| row.get::<_, i64>(0).map_err(from_sqlite))?;
    Ok(counted.first().map_or(0, |count| usize::try_from(*count).unwrap_or(usize::MAX)))
}

pub(crate) fn one(
    connection: &Connection,
    actors: &Actors,
    kind: ItemKind,
    key: &str,
) -> Result<Option<(ThreadId, Item)>> {
    let sql = joined(&[
        "SELECT ",
        ENTRY_COLUMNS,
        ITEM_COLUMNS,
        ", t.id, t.rest FROM items i CROSS JOIN threads t ON t.id = i.thread CROSS JOIN entries e ON e.seq = i.seq
          WHERE i.kind = ?1 AND i.key = ?2 LIMIT 1",
    ]);
    let found = rows(connection, &sql, params![kind.code(), key], |row| item_of_thread(connection, actors, row))?;
    Ok(found.into_iter().next())
}

pub(crate) fn all(connection: &Connection, actors: &Actors, list: &ItemList) -> Result<Vec<(ThreadId, Item)>> {
    let sql = joined(&[
        "SELECT ",
        ENTRY_COLUMNS,
        ITEM_COLUMNS,
        ", t.id, t.rest FROM items i CROSS JOIN threads t ON t.id = i.thread CROSS JOIN entries e ON e.seq = i.seq
          WHERE i.kind = ?1 AND (i.made, i.key) > (?2, ?3)",
        if list.account.is_some() { " AND t.account = ?4" } else { " AND ?4 IS NULL" },
        " ORDER BY i.made, i.key LIMIT ?5",
    ]);
    let (made, after) = match &list.after {
        Some((made, key)) => (made.as_micros(), key.as_str()),
        None => (i64::MIN, ""),
    };
    let account = list.account.as_ref().map(|account| account.as_str());
    let params = params![list.kind.code(), made, after, account, limit(list.limit)];
    rows(connection, &sql, params, |row| item_of_thread(connection, actors, row))
}

fn due(connection: &Connection, query: &DueQuery) -> Result<Vec<Due>> {
    let sql = "SELECT i.due, i.kind, i.key, t.id, t.rest FROM items i CROSS JOIN threads t ON t.id = i.thread
               WHERE i.kind = ?5 AND i.due <= ?1 AND (i.due, i.key) > (?2, ?3) ORDER BY i.due, i.key LIMIT ?4";
    let (at, after) = match &query.after {
        Some((at, key)) => (at.as_micros(), key.as_str()),
        None => (i64::MIN, ""),
    };
    let params = params![query.until.as_micros(), at, after, limit(query.limit), query.kind.code()];
    rows(connection, sql, params, |row| {
        let read = || -> rusqlite::Result<_> {
            Ok((row.get(0)?, row.get::<_, u8>(1)?, row.get(2)?, row.get(3)?, row.get::<_, Vec<u8>>(4)?))
        };
        let (due, kind, key, thread, rest) = read().map_err(from_sqlite)?;
        let kind = ItemKind::from_code(kind)
            .ok_or_else(|| StoreError::corrupt(format!("an item that is due has the kind {kind}")))?;
        Ok(Due { due: Timestamp::from_micros(due), thread: thread_id(thread, &rest)?, kind, key })
    })
}

impl Timers for SqliteStore {
    fn due(&self, query: DueQuery) -> BoxFuture<'_, Result<Vec<Due>>> {
        self.read(|connection, _| due(connection, &query))
    }

    fn next_due(&self, kind: ItemKind, after: Timestamp) -> BoxFuture<'_, Result<Option<Timestamp>>> {
        self.read(|connection, _| {
            let sql = "SELECT i.due FROM items i CROSS JOIN threads t ON t.id = i.thread
                       WHERE i.kind = ?2 AND i.due > ?1 ORDER BY i.due LIMIT 1";
            let found =
                rows(connection, sql, params![after.as_micros(), kind.code()], |row| row.get(0).map_err(from_sqlite))?;
            Ok(found.into_iter().next().map(Timestamp::from_micros))
        })
    }
}

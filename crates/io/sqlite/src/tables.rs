//! Single rows: how each table is written and read. `commit` decides which rows a commit writes.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use threadkeep_model::{
    Account, BlobId, Body, Derived, Head, ItemIs, ItemKind, Kind, MessageId, Position, QueuedId, Record, SegmentId,
    ThreadId, Timestamp,
};
use threadkeep_store::sum::{bytes_sum, sealed_cell, sealed_comment};
use threadkeep_store::{CHUNK_BYTES, Result};

use crate::codec::{self, key, rest, segment_key};
use crate::error::from_sqlite;
use crate::terms;

/// Where an entry goes.
pub(crate) struct EntryPlace {
    pub(crate) thread: ThreadId,
    pub(crate) segment: SegmentId,
    pub(crate) position: Position,
}

/// The values of the row of an entry.
pub(crate) struct EntryRow<'a> {
    pub(crate) kind: Kind,
    pub(crate) format: u8,
    pub(crate) time: Timestamp,
    pub(crate) actor: i64,
    pub(crate) cause: Option<&'a str>,
    pub(crate) tally: &'a [u8],
    /// The ordinal, if it is an appended message.
    pub(crate) ordinal: u64,
    pub(crate) body: &'a Body,
    /// The checksum of its content.
    pub(crate) sum: i64,
    pub(crate) derived: &'a Derived,
    pub(crate) blobs: &'a [BlobId],
}

/// Writes the rows that follow from an entry.
pub(crate) fn insert_derived(
    connection: &Connection,
    place: &EntryPlace,
    seq: i64,
    time: Timestamp,
    ordinal: u64,
    derived: &Derived,
) -> Result<()> {
    let segment = segment_key(place.segment);
    let position = place.position.0 as i64;
    let written = match derived {
        Derived::Nothing | Derived::State => Ok(0),
        Derived::Message { role, silent, depth } | Derived::Delivered { role, silent, depth, .. } => {
            connection.prepare_cached("INSERT INTO messages VALUES (?1, ?2, ?3, ?4, ?5, ?6)").and_then(
                |mut statement| statement.execute(params![segment, ordinal as i64, seq, role.code(), silent, depth]),
            )
        }
        Derived::Change(change) => {
            let mut insert =
                connection.prepare_cached("INSERT INTO changes VALUES (?1, ?2, ?3, ?4, ?5)").map_err(from_sqlite)?;
            change.targets.iter().try_fold(0, |_, target| {
                insert.execute(params![segment, change.root as i64, position, target.0 as i64, change.op.code()])
            })
        }
        Derived::Relation { child, kind, index, anchor, comment } => connection
            .prepare_cached("INSERT OR REPLACE INTO relations VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
            .and_then(|mut statement| {
                statement.execute(params![
                    key(place.thread),
                    segment,
                    position,
                    key(*child),
                    kind.code(),
                    index.map(|index| index as i64),
                    anchor.map(|anchor| anchor.0 as i64),
                    time.as_micros(),
                    sealed_comment(comment.as_deref(), place.segment, place.position),
                ])
            }),
        Derived::Checkpoint { name, version } => connection
            .prepare_cached("INSERT OR REPLACE INTO checkpoints VALUES (?1, ?2, ?3, ?4, ?5)")
            .and_then(|mut statement| {
                statement.execute(params![key(place.thread), name, version.0 as i64, time.as_micros(), seq])
            }),
        Derived::Cells { space, cells, .. } => {
            let mut insert = connection
                .prepare_cached("INSERT OR REPLACE INTO cells VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
                .map_err(from_sqlite)?;
            cells.iter().try_fold(0, |_, cell| {
                let text = sealed_cell(&cell.is, place.segment, place.position, &cell.name);
                insert.execute(params![segment, space.code(), cell.name, position, time.as_micros(), text])
            })
        }
        Derived::Item { kind, key: name, is, due } => {
            let own = MessageId { segment: place.segment, position: place.position };
            let name = name.clone().unwrap_or_else(|| QueuedId(own).to_string());
            match is {
                ItemIs::There => put_item(connection, place, (*kind, &name), seq, time, *due),
                ItemIs::InsteadOf(before) => remove_item(connection, place, *before, &name)
                    .and_then(|_| put_item(connection, place, (*kind, &name), seq, time, *due)),
                ItemIs::Gone => remove_item(connection, place, *kind, &name),
            }
        }
    };
    written.map_err(from_sqlite)?;
    match derived {
        Derived::Delivered { item, .. } => deliver(connection, place, *item).map_err(from_sqlite),
        _ => Ok(()),
    }
}

/// Writes again the rows that a thread has only while it lives. The entry and its other rows are there.
pub(crate) fn insert_derived_again(
    connection: &Connection,
    place: &EntryPlace,
    seq: i64,
    time: Timestamp,
    derived: &Derived,
) -> Result<()> {
    match derived {
        Derived::Delivered { item, .. } => deliver(connection, place, *item).map_err(from_sqlite),
        other => insert_derived(connection, place, seq, time, 0, other),
    }
}

/// Puts an item in its place.
fn put_item(
    connection: &Connection,
    place: &EntryPlace,
    (kind, name): (ItemKind, &str),
    seq: i64,
    time: Timestamp,
    due: Option<Timestamp>,
) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(
            "INSERT INTO items VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (thread, kind, key) DO UPDATE SET seq = excluded.seq, due = excluded.due",
        )?
        .execute(params![
            key(place.thread),
            kind.code(),
            name,
            segment_key(place.segment),
            place.position.0 as i64,
            seq,
            time.as_micros(),
            due.map(Timestamp::as_micros),
        ])
}

/// Takes an item away.
fn remove_item(connection: &Connection, place: &EntryPlace, kind: ItemKind, name: &str) -> rusqlite::Result<usize> {
    connection.prepare_cached("DELETE FROM items WHERE thread = ?1 AND kind = ?2 AND key = ?3")?.execute(params![
        key(place.thread),
        kind.code(),
        name
    ])
}

/// The other rows of a delivery: the item is removed, and its name becomes another name of the message.
fn deliver(connection: &Connection, place: &EntryPlace, item: QueuedId) -> rusqlite::Result<()> {
    for kind in [ItemKind::Queued, ItemKind::QueuedSilently] {
        remove_item(connection, place, kind, &item.to_string())?;
    }
    let QueuedId(queued) = item;
    connection.prepare_cached("INSERT OR REPLACE INTO aliases VALUES (?1, ?2, ?3, ?4)")?.execute(params![
        segment_key(queued.segment),
        queued.position.0 as i64,
        segment_key(place.segment),
        place.position.0 as i64
    ])?;
    Ok(())
}

/// The highest number of the feed so far.
pub(crate) fn last_seq(connection: &Connection) -> Result<i64> {
    connection
        .prepare_cached(
            "SELECT max(ifnull((SELECT max(seq) FROM entries), 0), ifnull((SELECT max(seq) FROM segments), 0),
                        ifnull((SELECT max(seq) FROM tombstones), 0),
                        ifnull((SELECT value FROM meta WHERE key = 'last_seq'), 0))",
        )
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(from_sqlite)
}

/// Puts a blob into the file, unless its content is there.
pub(crate) fn put_blob(connection: &Connection, id: &BlobId, bytes: &[u8]) -> Result<()> {
    // A blob whose content is elsewhere comes home: the body of an entry has to be in the file.
    let sql = "INSERT INTO blobs (hash, size) VALUES (?1, ?2)
               ON CONFLICT (hash) DO UPDATE SET elsewhere = 0 WHERE elsewhere RETURNING id";
    let put: Option<i64> = connection
        .prepare_cached(sql)
        .and_then(|mut put| put.query_row(params![id.as_bytes(), bytes.len() as i64], |row| row.get(0)).optional())
        .map_err(from_sqlite)?;
    let Some(blob) = put else { return Ok(()) };
    let mut insert = connection.prepare_cached("INSERT INTO blob_chunks VALUES (?1, ?2, ?3)").map_err(from_sqlite)?;
    for (n, chunk) in bytes.chunks(CHUNK_BYTES).enumerate() {
        let place = codec::chunk_key(blob, n);
        insert.execute(params![place, chunk, bytes_sum(chunk, place)]).map_err(from_sqlite)?;
    }
    Ok(())
}

/// Does some work in a transaction of its own: all of it is written, or nothing.
pub(crate) fn in_transaction<T>(connection: &mut Connection, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(from_sqlite)?;
    let result = work(&transaction)?;
    transaction.commit().map_err(from_sqlite)?;
    Ok(result)
}

/// Writes a thread that was not there, but for its terms.
pub(crate) fn insert_thread(
    connection: &Connection,
    id: ThreadId,
    account: &Account,
    created: Timestamp,
    head: &Head,
    record: &Record,
    pending: &mut terms::Pending,
) -> Result<()> {
    terms::insert_thread(connection, id, account, created, head.updated, record, pending)?;
    connection
        .prepare_cached("INSERT INTO heads VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
        .and_then(|mut statement| {
            statement.execute(params![
                key(id),
                head.version.0 as i64,
                segment_key(head.segment),
                head.era as i64,
                head.fence as i64,
                head.updated.as_micros(),
                head.tally.encode(),
            ])
        })
        .map_err(from_sqlite)?;
    Ok(())
}

/// Replaces a thread's record, and its owner where there is a new one.
pub(crate) fn update_record(
    connection: &Connection,
    id: ThreadId,
    record: &Record,
    owner: Option<&Account>,
) -> Result<()> {
    terms::update_record(connection, id, record, owner)?;
    connection
        .prepare_cached("UPDATE threads SET record = ?2 WHERE id = ?1")
        .and_then(|mut statement| statement.execute(params![key(id), codec::sealed_record(record, key(id))]))
        .map_err(from_sqlite)?;
    Ok(())
}

/// Takes a thread out of everything but the log, and leaves a tombstone.
pub(crate) fn delete_thread(connection: &Connection, id: ThreadId, time: Timestamp, seq: i64) -> Result<()> {
    take_out(connection, id)?;
    connection
        .prepare_cached("INSERT INTO tombstones VALUES (?1, ?2, ?3, ?4)")
        .and_then(|mut statement| statement.execute(params![key(id), rest(id), time.as_micros(), seq]))
        .map_err(from_sqlite)?;
    Ok(())
}

/// Takes a thread out of everything but the log.
pub(crate) fn take_out(connection: &Connection, id: ThreadId) -> Result<()> {
    terms::delete_thread(connection, id)?;
    for sql in [
        "DELETE FROM threads WHERE id = ?1",
        "DELETE FROM heads WHERE thread = ?1",
        "DELETE FROM relations WHERE parent = ?1",
        "DELETE FROM relations WHERE child = ?1",
        "DELETE FROM checkpoints WHERE thread = ?1",
        "DELETE FROM items WHERE thread = ?1",
        "DELETE FROM idempotency WHERE thread = ?1",
        "DELETE FROM leases WHERE thread = ?1",
    ] {
        connection.prepare_cached(sql).and_then(|mut statement| statement.execute([key(id)])).map_err(from_sqlite)?;
    }
    Ok(())
}

/// Whether an id, or its short id, is in use or was in use before.
pub(crate) fn is_taken(connection: &Connection, id: ThreadId) -> Result<bool> {
    Ok(exists(connection, "SELECT 1 FROM threads WHERE id = ?1", key(id))? || is_deleted(connection, id)?)
}

/// Whether an id, or its short id, was deleted.
pub(crate) fn is_deleted(connection: &Connection, id: ThreadId) -> Result<bool> {
    exists(connection, "SELECT 1 FROM tombstones WHERE id = ?1", key(id))
}

/// Whether a query by a key finds a row.
pub(crate) fn exists(connection: &Connection, sql: &str, id: i64) -> Result<bool> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.exists([id])).map_err(from_sqlite)
}

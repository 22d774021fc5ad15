//! Idempotency keys: one row a key, which goes with its thread or after a day.

use rusqlite::{Connection, OptionalExtension, params};
use threadkeep_model::{BlobId, Commit, Head, SegmentId, ThreadCommitted, ThreadId, Timestamp};
use threadkeep_store::{KeyPlace, KeyQuery, KeyRow, Remembered, Result, StoreError};

use crate::codec::{key, position, segment_key};
use crate::error::from_sqlite;
use crate::read;

/// The result that a key stands for.
pub(crate) fn remembered(connection: &Connection, query: &KeyQuery) -> Result<Option<Remembered>> {
    let head = |thread| read::head(connection, thread)?.ok_or(StoreError::ThreadNotFound { thread });
    remembered_at(connection, query, head)
}

/// The same, where `head` knows heads that are not written yet.
pub(crate) fn remembered_at(
    connection: &Connection,
    query: &KeyQuery,
    head: impl FnMut(ThreadId) -> Result<Head>,
) -> Result<Option<Remembered>> {
    let found = connection
        .prepare_cached(
            "SELECT hash, segment, first, count, time, made FROM idempotency
             WHERE thread = ?1 AND account = ?2 AND key = ?3 AND time >= ?4",
        )
        .and_then(|mut statement| {
            let (account, retry) = (query.account.as_str(), query.key.as_str());
            statement
                .query_row(params![key(query.thread), account, retry, query.since().as_micros()], |row| {
                    let first = KeyPlace {
                        thread: query.thread,
                        segment: SegmentId::from_bits(row.get::<_, i64>(1)? as u64),
                        first: position(row.get(2)?),
                        count: row.get::<_, i64>(3)? as u64,
                        time: Timestamp::from_micros(row.get(4)?),
                    };
                    let made: Option<Vec<u8>> = row.get(5)?;
                    Ok((BlobId::from_bytes(row.get(0)?), first, made))
                })
                .optional()
        })
        .map_err(from_sqlite)?;
    let Some((hash, first, made)) = found else { return Ok(None) };
    KeyRow::stored(hash, first, made.as_deref())?.remembered(head).map(Some)
}

/// Keeps the key of `commit`, if it carries one, with what came of it.
pub(crate) fn remember(connection: &Connection, commit: &Commit, threads: &[ThreadCommitted]) -> Result<()> {
    let (Some(query), Some(row)) = (KeyQuery::of(commit), KeyRow::of(commit, threads)) else { return Ok(()) };
    connection
        .prepare_cached("INSERT OR REPLACE INTO idempotency VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
        .and_then(|mut statement| {
            statement.execute(params![
                key(query.thread),
                query.account.as_str(),
                query.key.as_str(),
                row.hash.as_bytes(),
                segment_key(row.first.segment),
                row.first.first.0 as i64,
                row.first.count as i64,
                row.first.time.as_micros(),
                row.encode_made(),
            ])
        })
        .map_err(from_sqlite)?;
    Ok(())
}

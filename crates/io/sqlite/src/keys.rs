//! Idempotency keys: one row a key, which goes with its thread or after a day.

use rusqlite::{Connection, OptionalExtension, params};
use threadkeep_model::{
    Account, BlobId, Commit, Head, IdempotencyKey, SegmentId, ThreadCommitted, ThreadId, Timestamp,
};
use threadkeep_store::{KeptKey, KeyPlace, KeyQuery, KeyRow, Remembered, Result, StoreError};

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

/// The keys that lie under a thread; only those of `account`, if it is named.
pub(crate) fn under(connection: &Connection, thread: ThreadId, account: Option<&Account>) -> Result<Vec<KeptKey>> {
    let sql = "SELECT hash, segment, first, count, time, made, account, key FROM idempotency
               WHERE thread = ?1 AND (?2 IS NULL OR account = ?2)";
    read::rows(connection, sql, params![key(thread), account.map(Account::as_str)], |row| {
        let columns = || -> rusqlite::Result<_> {
            let first = KeyPlace {
                thread,
                segment: SegmentId::from_bits(row.get::<_, i64>(1)? as u64),
                first: position(row.get(2)?),
                count: row.get::<_, i64>(3)? as u64,
                time: Timestamp::from_micros(row.get(4)?),
            };
            let made: Option<Vec<u8>> = row.get(5)?;
            let named: (String, String) = (row.get(6)?, row.get(7)?);
            Ok((BlobId::from_bytes(row.get(0)?), first, made, named))
        };
        let (hash, first, made, (account, key)) = columns().map_err(from_sqlite)?;
        let damaged = |error: threadkeep_model::Invalid| StoreError::corrupt(error.to_string());
        let account = Account::stored(account).map_err(|error| StoreError::corrupt(error.to_string()))?;
        let row = KeyRow::stored(hash, first, made.as_deref())?;
        Ok(KeptKey { thread, account, key: IdempotencyKey::new(&key).map_err(damaged)?, row })
    })
}

/// Keeps the key of `commit`, if it carries one, with what came of it.
pub(crate) fn remember(connection: &Connection, commit: &Commit, threads: &[ThreadCommitted]) -> Result<()> {
    match (KeyQuery::of(commit), KeyRow::of(commit, threads)) {
        (Some(KeyQuery { thread, account, key, .. }), Some(row)) => {
            put(connection, &KeptKey { thread, account, key, row })
        }
        _ => Ok(()),
    }
}

/// Keeps a key, or replaces the one of the same name.
pub(crate) fn put(connection: &Connection, kept: &KeptKey) -> Result<()> {
    let row = &kept.row;
    connection
        .prepare_cached("INSERT OR REPLACE INTO idempotency VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
        .and_then(|mut statement| {
            statement.execute(params![
                key(kept.thread),
                kept.account.as_str(),
                kept.key.as_str(),
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

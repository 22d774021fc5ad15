//! Idempotency keys: one row a key, which goes with its thread or after a day. Appends keep theirs in `append.sql`.

use std::collections::HashMap;

use deadpool_postgres::Object;
use threadkeep_model::{BlobId, ThreadId, Timestamp};
use threadkeep_store::{KeyPlace, KeyQuery, KeyRow, Remembered, Result, StoreError};
use tokio_postgres::Row;

use crate::codec::{HEAD_COLUMNS, get, head, key, position, segment_id, thread_id};
use crate::read::rows;

/// Finds the row of a key by [`KeyQuery`]: thread, account, key and the time of the oldest that counts.
pub(crate) const FIND: &str = "SELECT hash, segment, first, count, time, made FROM idempotency
                               WHERE thread = $1 AND account = $2 AND key = $3 AND time >= $4";

/// The result that a key stands for.
pub(crate) async fn remembered(client: &Object, query: &KeyQuery) -> Result<Option<Remembered>> {
    let (account, retry, since) = (query.account.as_str(), query.key.as_str(), query.since().as_micros());
    let found = rows(client, FIND, &[&key(query.thread), &account, &retry, &since]).await?;
    match found.first() {
        Some(row) => told(client, query.thread, row).await.map(Some),
        None => Ok(None),
    }
}

/// The result in the row of a key under `thread`.
pub(crate) async fn told(client: &Object, thread: ThreadId, row: &Row) -> Result<Remembered> {
    let row = stored(thread, row)?;
    let wanted: Vec<i64> = row.places().map(|place| key(place.thread)).collect();
    let sql = format!("SELECT h.thread, h.rest, {HEAD_COLUMNS} FROM heads h WHERE h.thread = ANY($1)");
    let mut heads = HashMap::new();
    for row in rows(client, &sql, &[&wanted]).await? {
        heads.insert(thread_id(get(&row, 0)?, get(&row, 1)?)?, head(&row, 2)?);
    }
    row.remembered(|thread| heads.get(&thread).copied().ok_or(StoreError::ThreadNotFound { thread }))
}

/// Reads the columns of [`FIND`].
fn stored(thread: ThreadId, row: &Row) -> Result<KeyRow> {
    let hash = get::<&[u8]>(row, 0)?.try_into();
    let hash = hash.map_err(|_| StoreError::corrupt("an idempotency key has no full hash"))?;
    let first = KeyPlace {
        thread,
        segment: segment_id(get(row, 1)?),
        first: position(get(row, 2)?),
        count: get::<i64>(row, 3)? as u64,
        time: Timestamp::from_micros(get(row, 4)?),
    };
    KeyRow::stored(BlobId::from_bytes(hash), first, get(row, 5)?)
}

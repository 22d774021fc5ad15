//! Idempotency keys: one row a key, which goes with its thread or after a day. Appends keep theirs in `append.sql`.

use std::collections::HashMap;

use deadpool_postgres::Object;
use threadkeep_model::{Account, BlobId, IdempotencyKey, ThreadId, Timestamp};
use threadkeep_store::{KeptKey, KeyPlace, KeyQuery, KeyRow, Remembered, Result, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::codec::{HEAD_COLUMNS, get, head, key, position, segment_id, segment_key, thread_id};
use crate::read::rows;

/// Finds the row of a key by [`KeyQuery`]: thread, account, key and the time of the oldest that counts.
pub(crate) const FIND: &str = "SELECT hash, segment, first, count, time, made FROM idempotency
                               WHERE thread = $1 AND account = $2 AND key = $3 AND time >= $4";

/// Keeps the row of a key, or replaces the one of the same name.
pub(crate) const PUT: &str = "INSERT INTO idempotency VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (thread, account, key) DO UPDATE SET hash = excluded.hash, segment = excluded.segment,
        first = excluded.first, count = excluded.count, time = excluded.time, made = excluded.made";

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

/// The keys that lie under these threads; under [`KeyQuery::NEW`], only those of `account`.
pub(crate) async fn under(client: &Object, account: &Account, threads: &[ThreadId]) -> Result<Vec<KeptKey>> {
    let wanted: Vec<i64> = threads.iter().map(|thread| key(*thread)).collect();
    let by_key: HashMap<i64, ThreadId> = threads.iter().map(|thread| (key(*thread), *thread)).collect();
    let sql = "SELECT hash, segment, first, count, time, made, thread, account, key FROM idempotency
               WHERE thread = ANY($1) AND (thread <> $2 OR account = $3)";
    let found = rows(client, sql, &[&wanted, &key(KeyQuery::NEW), &account.as_str()]).await?;
    let read = |row: &Row| -> Result<Option<KeptKey>> {
        let Some(thread) = by_key.get(&get::<i64>(row, 6)?).copied() else { return Ok(None) };
        let sent = IdempotencyKey::new(get::<&str>(row, 8)?);
        let sent = sent.map_err(|error| StoreError::corrupt(error.to_string()))?;
        let account = crate::codec::account(get(row, 7)?)?;
        Ok(Some(KeptKey { thread, account, key: sent, row: stored(thread, row)? }))
    };
    found.iter().filter_map(|row| read(row).transpose()).collect()
}

/// Keeps a key, or replaces the one of the same name.
pub(crate) async fn put(client: &Object, kept: &KeptKey) -> Result<()> {
    let KeptKey { thread, account, key: sent, row } = kept;
    let (segment, at) = (segment_key(row.first.segment), row.first.first.0 as i64);
    let (count, time) = (row.first.count as i64, row.first.time.as_micros());
    let (hash, made) = (&row.hash.as_bytes()[..], row.encode_made());
    let (account, sent) = (account.as_str(), sent.as_str());
    let values: [&(dyn ToSql + Sync); 9] = [&key(*thread), &account, &sent, &hash, &segment, &at, &count, &time, &made];
    rows(client, PUT, &values).await.map(drop)
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

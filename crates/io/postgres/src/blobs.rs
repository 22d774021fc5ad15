//! Blobs as they are read, and as they are brought bit by bit. Those that come whole, with their commit, are put by
//! `tables`.
//!
//! An upload has a blob number, and its chunks lie where the chunks of that blob will lie: finishing it writes the row
//! of the blob. Every write here holds a share in the lock that gc takes exclusively.

use std::sync::Arc;

use bytes::Bytes;
use deadpool_postgres::Object;
use threadkeep_model::{BlobId, Timestamp};
use threadkeep_store::sum::{bytes_sum, chunk_place};
use threadkeep_store::{Blobs, BoxFuture, CHUNK_BYTES, Result, StoreError, UploadId};

use crate::codec::get;
use crate::commit::Transaction;
use crate::error::{from_commit, from_postgres};
use crate::read::rows;
use crate::{PostgresStore, Shared, cells, reading};

impl Blobs for PostgresStore {
    fn blob(&self, blob: BlobId) -> BoxFuture<'_, Result<Option<Bytes>>> {
        reading!(self, |client, shared| cells::blob(&client, blob))
    }

    fn blobs(&self, blobs: Vec<BlobId>) -> BoxFuture<'_, Result<Vec<Option<Bytes>>>> {
        reading!(self, |client, shared| cells::blobs(&client, &blobs))
    }

    fn blob_part(&self, blob: BlobId, range: std::ops::Range<u64>) -> BoxFuture<'_, Result<Option<Bytes>>> {
        self.run_unchanging(move |client| {
            let range = range.clone();
            async move { cells::blob_part(&client, blob, range).await }
        })
    }

    fn begin_upload(&self, now: Timestamp) -> BoxFuture<'_, Result<UploadId>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let client = shared.connections.get().await?;
            let sql =
                "INSERT INTO uploads VALUES (nextval(pg_get_serial_sequence('blobs', 'id')), $1, NULL) RETURNING id";
            let begun = rows(&client, sql, &[&now.as_micros()]).await?;
            begun.first().map_or(Err(StoreError::upload_gone()), |row| get(row, 0).map(UploadId))
        })
    }

    fn add_to_upload(&self, upload: UploadId, at: u64, bytes: Bytes) -> BoxFuture<'_, Result<()>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let transaction = shared.beside_upkeep().await?;
            let client = transaction.client();
            refuse_gone(client, upload).await?;
            let first = i32::try_from(at / CHUNK_BYTES as u64).unwrap_or(i32::MAX);
            let sql = "INSERT INTO blob_chunks VALUES ($1, $2, $3, $4)
                       ON CONFLICT (blob, n) DO UPDATE SET bytes = excluded.bytes, sum = excluded.sum";
            for (n, chunk) in (first..).zip(bytes.chunks(CHUNK_BYTES)) {
                let sum = bytes_sum(chunk, chunk_place(upload.0, n));
                rows(client, sql, &[&upload.0, &n, &chunk, &sum]).await?;
            }
            transaction.end("COMMIT").await.map_err(from_commit)
        })
    }

    fn finish_upload(&self, upload: UploadId, blob: BlobId, size: u64) -> BoxFuture<'_, Result<()>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let transaction = shared.beside_upkeep().await?;
            finish(transaction.client(), upload, blob, size).await?;
            transaction.end("COMMIT").await.map_err(from_commit)
        })
    }

    fn finish_elsewhere(&self, upload: UploadId, blob: BlobId, size: u64) -> BoxFuture<'_, Result<bool>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let transaction = shared.beside_upkeep().await?;
            refuse_gone(transaction.client(), upload).await?;
            let is_new = name(transaction.client(), upload, blob, size, true).await?;
            transaction.end("COMMIT").await.map_err(from_commit)?;
            Ok(is_new)
        })
    }

    fn objects_in_use(&self, objects: Vec<UploadId>) -> BoxFuture<'_, Result<Vec<UploadId>>> {
        reading!(self, |client, shared| async {
            let numbers: Vec<i64> = objects.iter().map(|object| object.0).collect();
            let sql = "SELECT id FROM blobs WHERE id = ANY($1) AND elsewhere
                       UNION SELECT id FROM uploads WHERE id = ANY($1)";
            rows(&client, sql, &[&numbers]).await?.iter().map(|row| get(row, 0).map(UploadId)).collect()
        })
    }

    fn end_upload(&self, upload: UploadId) -> BoxFuture<'_, Result<()>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let transaction = shared.beside_upkeep().await?;
            end(transaction.client(), &[upload.0]).await?;
            transaction.end("COMMIT").await.map_err(from_commit)
        })
    }
}

impl Shared {
    /// Begins a transaction beside which no upkeep runs.
    async fn beside_upkeep(&self) -> Result<Transaction> {
        let transaction = Transaction::begun(self.connections.get().await?);
        let begin = format!("BEGIN; SELECT pg_advisory_xact_lock_shared({})", self.upkeep_lock);
        transaction.client().batch_execute(&begin).await.map_err(from_postgres)?;
        Ok(transaction)
    }
}

/// Refuses an upload that has ended. Until the transaction ends, no other one can end it.
async fn refuse_gone(client: &Object, upload: UploadId) -> Result<()> {
    let sql = "SELECT 1 FROM uploads WHERE id = $1 AND blob IS NULL FOR UPDATE";
    if rows(client, sql, &[&upload.0]).await?.is_empty() { Err(StoreError::upload_gone()) } else { Ok(()) }
}

async fn finish(client: &Object, upload: UploadId, blob: BlobId, size: u64) -> Result<()> {
    refuse_gone(client, upload).await?;
    let sql = "SELECT coalesce(sum(length(bytes)), 0)::bigint FROM blob_chunks WHERE blob = $1";
    let found = rows(client, sql, &[&upload.0]).await?;
    let found = found.first().map_or(Ok(0), |row| get::<i64>(row, 0))? as u64;
    if found != size {
        return Err(StoreError::upload_incomplete(found, size));
    }
    name(client, upload, blob, size, false).await?;
    free_chunks(client, &[upload.0]).await
}

/// Makes what an upload brought the blob `blob`; false if that one is here already.
async fn name(client: &Object, upload: UploadId, blob: BlobId, size: u64, elsewhere: bool) -> Result<bool> {
    let hash = &blob.as_bytes()[..];
    let sql = "INSERT INTO blobs (id, hash, size, elsewhere) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4)
               ON CONFLICT (hash) DO NOTHING RETURNING id";
    let made = rows(client, sql, &[&upload.0, &hash, &(size as i64), &elsewhere]).await?;
    let sql = "UPDATE uploads SET blob = b.id FROM blobs b WHERE uploads.id = $1 AND b.hash = $2";
    rows(client, sql, &[&upload.0, &hash]).await?;
    Ok(!made.is_empty())
}

pub(crate) async fn end(client: &Object, uploads: &[i64]) -> Result<()> {
    rows(client, "DELETE FROM uploads WHERE id = ANY($1)", &[&uploads]).await?;
    free_chunks(client, uploads).await
}

/// Frees the chunks under the numbers of uploads, unless they became blobs.
async fn free_chunks(client: &Object, uploads: &[i64]) -> Result<()> {
    let sql =
        "DELETE FROM blob_chunks c WHERE c.blob = ANY($1) AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.id = c.blob)";
    rows(client, sql, &[&uploads]).await.map(drop)
}

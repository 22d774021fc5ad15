//! Blobs as they are read, and as they are brought bit by bit. Those that come whole, with their commit, are put by
//! `tables`.
//!
//! An upload has a number of the blobs, and its chunks lie where those of that blob will: to finish it is to write the
//! row of the blob.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use threadkeep_model::{BlobId, Timestamp};
use threadkeep_store::sum::bytes_sum;
use threadkeep_store::{Blobs, BoxFuture, CHUNK_BYTES, Result, StoreError, UploadId};
use tokio::sync::oneshot;

use crate::codec::{blob_key, chunk_key, chunk_keys};
use crate::error::{from_sqlite, is_failed_sync};
use crate::writer::Job;
use crate::{SqliteStore, cells};

/// Chunks freed in one transaction, so that writers wait only for a moment.
const FREED_AT_ONCE: i64 = 64;

impl Blobs for SqliteStore {
    fn blob(&self, blob: BlobId) -> BoxFuture<'_, Result<Option<Bytes>>> {
        self.read(|connection, _| cells::blob(connection, blob))
    }

    fn blobs(&self, blobs: Vec<BlobId>) -> BoxFuture<'_, Result<Vec<Option<Bytes>>>> {
        self.read(|connection, _| cells::blobs(connection, &blobs))
    }

    fn blob_part(&self, blob: BlobId, range: std::ops::Range<u64>) -> BoxFuture<'_, Result<Option<Bytes>>> {
        self.read(|connection, _| cells::blob_part(connection, blob, range))
    }

    fn begin_upload(&self, now: Timestamp) -> BoxFuture<'_, Result<UploadId>> {
        self.beside_log(move |connection| begin(connection, now))
    }

    fn add_to_upload(&self, upload: UploadId, at: u64, bytes: Bytes) -> BoxFuture<'_, Result<()>> {
        self.beside_log(move |connection| add(connection, upload, at, &bytes))
    }

    fn finish_upload(&self, upload: UploadId, blob: BlobId, size: u64) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            match self.beside_log(move |connection| finish(connection, upload, &blob, size)).await? {
                Became::Blob => Ok(()),
                Became::Same => self.free_chunks(upload).await,
            }
        })
    }

    fn finish_elsewhere(&self, upload: UploadId, blob: BlobId, size: u64) -> BoxFuture<'_, Result<bool>> {
        self.beside_log(move |connection| {
            refuse_gone(connection, upload)?;
            Ok(name(connection, upload, &blob, size, true)? == Became::Blob)
        })
    }

    fn objects_in_use(&self, objects: Vec<UploadId>) -> BoxFuture<'_, Result<Vec<UploadId>>> {
        self.read(|connection, _| {
            let sql = "SELECT EXISTS (SELECT 1 FROM blobs WHERE id = ?1 AND elsewhere)
                           OR EXISTS (SELECT 1 FROM uploads WHERE id = ?1)";
            let mut is_used = connection.prepare_cached(sql).map_err(from_sqlite)?;
            let mut used = Vec::new();
            for object in objects {
                if is_used.query_row([object.0], |row| row.get(0)).map_err(from_sqlite)? {
                    used.push(object);
                }
            }
            Ok(used)
        })
    }

    fn end_upload(&self, upload: UploadId) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.end(upload))
    }
}

impl SqliteStore {
    /// Runs `work` in a transaction of its own on the connection of the writer. Its rows are not part of the log.
    pub(crate) fn beside_log<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        let failed = Arc::clone(&self.shared.failed);
        let in_transaction = move |connection: &mut Connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(from_sqlite)?;
            let result = work(&transaction)?;
            transaction.commit().map_err(|error| match is_failed_sync(&error) {
                true => {
                    failed.store(true, Ordering::Release);
                    StoreError::Failed { what: error.to_string() }
                }
                false => from_sqlite(error),
            })?;
            Ok(result)
        };
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let work = move |connection: Result<&mut Connection>| drop(reply.send(connection.and_then(in_transaction)));
            self.submit(Job::Beside(Box::new(work))).await?;
            answer.await.map_err(|_| crate::stopped())?
        })
    }

    /// Ends an upload. Its row goes last: until then gc finds what is left of it.
    pub(crate) async fn end(&self, upload: UploadId) -> Result<()> {
        self.free_chunks(upload).await?;
        self.beside_log(move |connection| {
            connection.execute("DELETE FROM uploads WHERE id = ?1", [upload.0]).map(drop).map_err(from_sqlite)
        })
        .await
    }

    /// Frees the chunks under an upload's number, unless they became a blob.
    async fn free_chunks(&self, upload: UploadId) -> Result<()> {
        loop {
            let freed = self.beside_log(move |connection| {
                let chunks = chunk_keys(upload.0);
                let sql = "DELETE FROM blob_chunks WHERE id IN (
                               SELECT id FROM blob_chunks WHERE id BETWEEN ?1 AND ?2 LIMIT ?3)
                           AND NOT EXISTS (SELECT 1 FROM blobs WHERE id = ?4)";
                connection
                    .execute(sql, params![chunks.start(), chunks.end(), FREED_AT_ONCE, upload.0])
                    .map_err(from_sqlite)
            });
            if (freed.await? as i64) < FREED_AT_ONCE {
                return Ok(());
            }
        }
    }
}

/// The result of a finished upload.
#[derive(PartialEq, Eq)]
enum Became {
    /// A blob that was not here.
    Blob,
    /// The blob that was here already.
    Same,
}

fn begin(connection: &Connection, now: Timestamp) -> Result<UploadId> {
    // A number of the blobs that none of them gets, before or after.
    let number = || -> rusqlite::Result<i64> {
        let taken = "INSERT INTO blobs (hash, size) VALUES (randomblob(32), 0) RETURNING id";
        let id = connection.prepare_cached(taken)?.query_row([], |row| row.get(0))?;
        connection.prepare_cached("DELETE FROM blobs WHERE id = ?1")?.execute([id])?;
        connection
            .prepare_cached("INSERT INTO uploads (id, began) VALUES (?1, ?2)")?
            .execute(params![id, now.as_micros()])?;
        Ok(id)
    };
    number().map(UploadId).map_err(from_sqlite)
}

fn refuse_gone(connection: &Connection, upload: UploadId) -> Result<()> {
    let open = connection
        .prepare_cached("SELECT 1 FROM uploads WHERE id = ?1 AND blob IS NULL")
        .and_then(|mut statement| statement.exists([upload.0]))
        .map_err(from_sqlite)?;
    if open { Ok(()) } else { Err(StoreError::upload_gone()) }
}

fn add(connection: &Connection, upload: UploadId, at: u64, bytes: &[u8]) -> Result<()> {
    refuse_gone(connection, upload)?;
    let first = (at / CHUNK_BYTES as u64) as usize;
    let mut insert =
        connection.prepare_cached("INSERT OR REPLACE INTO blob_chunks VALUES (?1, ?2, ?3)").map_err(from_sqlite)?;
    for (n, chunk) in (first..).zip(bytes.chunks(CHUNK_BYTES)) {
        let place = chunk_key(upload.0, n);
        insert.execute(params![place, chunk, bytes_sum(chunk, place)]).map_err(from_sqlite)?;
    }
    Ok(())
}

fn finish(connection: &Connection, upload: UploadId, blob: &BlobId, size: u64) -> Result<Became> {
    refuse_gone(connection, upload)?;
    let chunks = chunk_keys(upload.0);
    let found: i64 = connection
        .query_row(
            "SELECT coalesce(sum(length(bytes)), 0) FROM blob_chunks WHERE id BETWEEN ?1 AND ?2",
            [chunks.start(), chunks.end()],
            |row| row.get(0),
        )
        .map_err(from_sqlite)?;
    if found as u64 != size {
        return Err(StoreError::upload_incomplete(found as u64, size));
    }
    name(connection, upload, blob, size, false)
}

/// Makes what an upload brought the blob `blob`, unless that one is here.
fn name(connection: &Connection, upload: UploadId, blob: &BlobId, size: u64, elsewhere: bool) -> Result<Became> {
    let here = blob_key(connection, blob)?;
    if here.is_none() {
        connection
            .execute(
                "INSERT INTO blobs (id, hash, size, elsewhere) VALUES (?1, ?2, ?3, ?4)",
                params![upload.0, blob.as_bytes(), size as i64, elsewhere],
            )
            .map_err(from_sqlite)?;
    }
    connection
        .execute("UPDATE uploads SET blob = ?2 WHERE id = ?1", [upload.0, here.unwrap_or(upload.0)])
        .map_err(from_sqlite)?;
    Ok(if here.is_some() { Became::Same } else { Became::Blob })
}

/// One upload that is older than uploads become, if there is any, and whether it is finished.
pub(crate) fn expired(connection: &Connection, now: Timestamp) -> Result<Option<(UploadId, bool)>> {
    connection
        .query_row(
            "SELECT id, blob IS NOT NULL FROM uploads WHERE began < ?1 LIMIT 1",
            [UploadId::kept_since(now).as_micros()],
            |row| Ok((UploadId(row.get(0)?), row.get(1)?)),
        )
        .optional()
        .map_err(from_sqlite)
}

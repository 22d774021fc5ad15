//! The search index in the database, so that all servers see the same one.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use deadpool_postgres::Object;
use threadkeep_model::Account;
use threadkeep_store::{BoxFuture, Reshelving, Result, Shelves, StoreError, VolumeRow};
use tokio_postgres::Row;

use crate::codec::{account, get};
use crate::connect::give_back;
use crate::error::from_postgres;
use crate::read::rows;
use crate::upkeep::unhurried;
use crate::{PostgresStore, reading};

fn number(row: &Row, at: usize) -> Result<u64> {
    let number: i64 = get(row, at)?;
    u64::try_from(number).map_err(|_| StoreError::corrupt(format!("{number} is less than nothing")))
}

fn read(row: &Row) -> Result<VolumeRow> {
    let (id, documents, text_bytes, bytes) = (number(row, 0)?, number(row, 2)?, number(row, 3)?, number(row, 4)?);
    Ok(VolumeRow { id, account: account(get(row, 1)?)?, documents, text_bytes, bytes, model: get(row, 5)? })
}

async fn parts(client: &Object, id: u64, ranges: &[Range<usize>]) -> Result<Option<Vec<Bytes>>> {
    // The column is not compressed, so that a part is read without the rest.
    const SQL: &str = "SELECT substring(content FROM part.begin + 1 FOR part.length)
                       FROM volumes LEFT JOIN unnest($2::int4[], $3::int4[]) WITH ORDINALITY AS part (begin, length, at)
                         ON true
                       WHERE id = $1 ORDER BY part.at";
    let begins: Vec<i32> = ranges.iter().map(|range| range.start as i32).collect();
    let lengths: Vec<i32> = ranges.iter().map(|range| range.len() as i32).collect();
    let found = rows(client, SQL, &[&(id as i64), &begins, &lengths]).await?;
    if found.is_empty() {
        return Ok(None);
    }
    let mut parts = Vec::with_capacity(ranges.len());
    for (row, range) in found.iter().zip(ranges) {
        let part: Vec<u8> = get(row, 0)?;
        if part.len() != range.len() {
            return Err(StoreError::corrupt(format!("volume {id} of the search index ends early")));
        }
        parts.push(Bytes::from(part));
    }
    Ok(Some(parts))
}

impl Shelves for PostgresStore {
    fn volumes(&self, account: Option<Account>) -> BoxFuture<'_, Result<Vec<VolumeRow>>> {
        const SQL: &str = "SELECT id, account, documents, text_bytes, bytes, model FROM volumes
                           WHERE $1::text IS NULL OR account = $1 ORDER BY id";
        reading!(self, |client, shared| async {
            let own = account.as_ref().map(Account::as_str);
            rows(&client, SQL, &[&own]).await?.iter().map(read).collect()
        })
    }

    fn volume(&self, id: u64) -> BoxFuture<'_, Result<Option<Bytes>>> {
        self.run_unchanging(move |client| async move {
            let found = rows(&client, "SELECT content FROM volumes WHERE id = $1", &[&(id as i64)]).await?;
            found.first().map(|row| get::<Vec<u8>>(row, 0).map(Bytes::from)).transpose()
        })
    }

    fn parts(&self, id: u64, ranges: Vec<Range<usize>>) -> BoxFuture<'_, Result<Option<Vec<Bytes>>>> {
        let ranges = Arc::new(ranges);
        self.run_unchanging(move |client| {
            let ranges = Arc::clone(&ranges);
            async move { parts(&client, id, &ranges).await }
        })
    }

    fn edition(&self) -> BoxFuture<'_, Result<(u64, String)>> {
        reading!(self, |client, shared| async {
            let found = rows(&client, "SELECT edition, note FROM editions", &[]).await?;
            match found.first() {
                Some(row) => Ok((number(row, 0)?, get(row, 1)?)),
                None => Err(StoreError::corrupt("the edition of the search index is missing".to_owned())),
            }
        })
    }

    fn reshelve(&self, change: Reshelving) -> BoxFuture<'_, Result<bool>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let mut client = shared.connections.get().await?;
            let transaction = client.transaction().await.map_err(from_postgres)?;
            let sql = "UPDATE editions SET edition = edition + 1, note = $1 WHERE edition = $2";
            let changed = transaction.execute(sql, &[&change.note, &(change.edition as i64)]).await;
            if changed.map_err(from_postgres)? == 0 {
                return Ok(false);
            }
            let remove: Vec<i64> = change.remove.iter().map(|id| *id as i64).collect();
            transaction.execute("DELETE FROM volumes WHERE id = ANY($1)", &[&remove]).await.map_err(from_postgres)?;
            for volume in &change.add {
                let sql = "INSERT INTO volumes (account, documents, text_bytes, bytes, model, content)
                           VALUES ($1, $2, $3, $4, $5, $6)";
                let (documents, text_bytes) = (volume.documents as i64, volume.text_bytes as i64);
                let (bytes, content) = (volume.content.len() as i64, &volume.content[..]);
                transaction
                    .execute(sql, &[&volume.account.as_str(), &documents, &text_bytes, &bytes, &volume.model, &content])
                    .await
                    .map_err(from_postgres)?;
            }
            transaction.commit().await.map_err(from_postgres)?;
            give_back(client, change.add.iter().map(|volume| volume.content.len()).max().unwrap_or(0));
            Ok(true)
        })
    }

    fn clear(&self) -> BoxFuture<'_, Result<()>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let client = shared.connections.get().await?;
            // Sent together, they are one transaction. The edition comes first, as it does in every other change.
            let sql = "UPDATE editions SET edition = edition + 1, note = ''; DELETE FROM volumes";
            client.batch_execute(sql).await.map_err(from_postgres)
        })
    }

    fn sweep(&self) -> BoxFuture<'_, Result<u64>> {
        let shared = Arc::clone(&self.shared);
        self.run_long(async move {
            let client = shared.connections.get().await?;
            let bytes = async || -> Result<i64> {
                let sql = "SELECT pg_total_relation_size('volumes'::regclass)";
                let row = client.query_one(sql, &[]).await.map_err(from_postgres)?;
                row.try_get(0).map_err(from_postgres)
            };
            let before = bytes().await?;
            unhurried(&client, "VACUUM volumes").await?;
            Ok((before - bytes().await?).max(0) as u64)
        })
    }
}

//! The tables of the PostgreSQL saver. Values of channels are rows of their own, which checkpoints share by version.

use std::collections::HashMap;

use futures_util::TryStreamExt;
use threadkeep_postgres::{PostgresUrl, visit};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use super::{Checkpoint, Listed, Reader, Stored};
use crate::database::VALUE_BYTES_MAX;
use crate::reading::{Reading, Refused};

/// The threads, each with a mark that changes when a row of it changes: every version of a row has an `xmin`.
const SESSIONS: &str = "
    SELECT c.thread_id, c.checkpoint_ns, concat_ws(' ', max(c.checkpoint_id COLLATE \"C\"), count(*),
           sum(c.xmin::text::bigint), max(w.mark))
    FROM checkpoints c
    LEFT JOIN (SELECT thread_id, checkpoint_ns, concat_ws(' ', count(*), sum(xmin::text::bigint)) AS mark
               FROM checkpoint_writes WHERE channel = 'messages' GROUP BY 1, 2) w USING (thread_id, checkpoint_ns)
    GROUP BY c.thread_id, c.checkpoint_ns
    ORDER BY c.thread_id COLLATE \"C\", c.checkpoint_ns COLLATE \"C\"";

/// Writes to the messages that no later checkpoint holds. `{order}` is the order of the tasks.
const WRITES: &str = "
    SELECT w.checkpoint_id, w.type, CASE WHEN octet_length(w.blob) <= $3 THEN w.blob END
    FROM checkpoint_writes w
    WHERE w.thread_id = $1 AND w.checkpoint_ns = $2 AND w.channel = 'messages'
      AND NOT EXISTS (SELECT FROM checkpoints c WHERE c.thread_id = $1 AND c.checkpoint_ns = $2
                      AND c.parent_checkpoint_id = w.checkpoint_id)
    ORDER BY w.checkpoint_id COLLATE \"C\", {order} w.task_id COLLATE \"C\", w.idx";

/// The checkpoints, a row for each channel. The first row of a checkpoint has the checkpoint itself. A value that the
/// checkpoint before it had too is not sent again.
const CHECKPOINTS: &str = "
    SELECT checkpoint_id,
           CASE WHEN number = 1 AND octet_length(checkpoint::text) <= $3 THEN checkpoint::text END,
           CASE WHEN number = 1 THEN metadata::text END,
           channel, type, is_same, CASE WHEN NOT is_same AND octet_length(blob) <= $3 THEN blob END
    FROM (SELECT c.checkpoint_id, c.checkpoint, c.metadata, b.channel, b.type, b.blob, coalesce(v.number, 1) AS number,
                 lag(b.version) OVER (PARTITION BY b.channel ORDER BY c.checkpoint_id COLLATE \"C\")
                     IS NOT DISTINCT FROM b.version AS is_same
          FROM checkpoints c
          LEFT JOIN LATERAL jsonb_each_text(
              CASE jsonb_typeof(c.checkpoint -> 'channel_versions') WHEN 'object'
                   THEN c.checkpoint -> 'channel_versions' END) WITH ORDINALITY AS v (channel, version, number) ON true
          LEFT JOIN checkpoint_blobs b ON b.thread_id = c.thread_id AND b.checkpoint_ns = c.checkpoint_ns
              AND b.channel = v.channel AND b.version = v.version
          WHERE c.thread_id = $1 AND c.checkpoint_ns = $2) AS rows
    ORDER BY checkpoint_id COLLATE \"C\", number";

/// A saver on a PostgreSQL server. The connection cannot write.
pub struct Saver {
    runtime: Runtime,
    client: Client,
    /// The order of pending writes: older tables lack the path of their task.
    writes: String,
}

impl Saver {
    /// Connects to the database at `url`. Works outside of a runtime only: it blocks.
    ///
    /// # Errors
    /// If it cannot be reached, or lacks the tables of a saver.
    pub fn open(url: &PostgresUrl) -> Result<Self, Refused> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Refused::new(format_args!("no connection can be made: {error}")))?;
        let client = runtime.block_on(visit(url)).map_err(Refused::new)?;
        let looked = "SELECT to_regclass('checkpoints') IS NOT NULL AND to_regclass('checkpoint_blobs') IS NOT NULL
                          AND to_regclass('checkpoint_writes') IS NOT NULL,
                      EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('checkpoint_writes')
                          AND attname = 'task_path' AND NOT attisdropped)";
        let found = runtime.block_on(client.query_one(looked, &[])).map_err(failed)?;
        if !found.get::<_, bool>(0) {
            let rule = "this is not a database of a LangGraph saver: the tables checkpoints, checkpoint_blobs and \
                        checkpoint_writes are not in its schema; name another one with ?schema=NAME";
            return Err(Refused::new(rule));
        }
        let order = if found.get::<_, bool>(1) { "w.task_path COLLATE \"C\"," } else { "" };
        Ok(Self { runtime, client, writes: WRITES.replace("{order}", order) })
    }

    /// The threads, each with a text that changes when the thread does.
    ///
    /// # Errors
    /// If the tables cannot be read.
    pub fn sessions(&self) -> Result<Vec<(Listed, String)>, Refused> {
        let mut all = Vec::new();
        self.runtime.block_on(rows(&self.client, SESSIONS, &[], |row| {
            all.push((Listed { thread: row.try_get(0)?, namespace: row.try_get(1)? }, row.try_get(2)?));
            Ok(())
        }))?;
        Ok(all)
    }

    /// Reads one thread, as it is at one moment.
    ///
    /// # Errors
    /// If its rows cannot be read.
    pub fn read_session(&self, listed: &Listed) -> Result<Reading, Refused> {
        self.runtime.block_on(async {
            let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
            self.client.batch_execute(begin).await.map_err(failed)?;
            let reading = self.read(listed).await;
            self.client.batch_execute("ROLLBACK").await.map_err(failed)?;
            reading
        })
    }

    async fn read(&self, listed: &Listed) -> Result<Reading, Refused> {
        let most = i32::try_from(VALUE_BYTES_MAX).unwrap_or(i32::MAX);
        let key: [&(dyn ToSql + Sync); 3] = [&listed.thread, &listed.namespace, &most];
        let mut reader = Reader::new(listed);
        let mut pending: HashMap<String, Vec<Stored>> = HashMap::new();
        rows(&self.client, &self.writes, &key, |row| {
            let (id, kind, bytes): (String, Option<String>, Option<Vec<u8>>) =
                (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            match bytes {
                Some(bytes) => {
                    let stored = Stored { kind: kind.unwrap_or_default(), bytes };
                    pending.entry(id).or_default().push(stored);
                }
                None => reader.skipped.add(format_args!("checkpoint {id} write"), TOO_LARGE),
            }
            Ok(())
        })
        .await?;
        let mut values: HashMap<String, Stored> = HashMap::new();
        let mut current: Option<Checkpoint> = None;
        rows(&self.client, CHECKPOINTS, &key, |row| {
            let id: String = row.try_get(0)?;
            if current.as_ref().is_none_or(|current| current.id != id) {
                current.take().into_iter().for_each(|whole| reader.checkpoint(whole));
                let (value, metadata): (Option<String>, Option<String>) = (row.try_get(1)?, row.try_get(2)?);
                let value = Stored { kind: "json".to_owned(), bytes: value.unwrap_or_default().into() };
                let writes = pending.remove(&id).unwrap_or_default();
                let metadata = metadata.unwrap_or_default().into();
                current = Some(Checkpoint { id, value, metadata, channels: Vec::new(), writes });
            }
            let (Some(channel), Some(current)) = (row.try_get::<_, Option<String>>(3)?, &mut current) else {
                return Ok(());
            };
            if !row.try_get::<_, bool>(5)? {
                values.remove(&channel);
                let (kind, bytes): (String, Option<Vec<u8>>) = (row.try_get(4)?, row.try_get(6)?);
                match (kind.as_str(), bytes) {
                    // The channel was never written to.
                    ("empty", _) => {}
                    (_, Some(bytes)) => drop(values.insert(channel.clone(), Stored { kind, bytes })),
                    (_, None) => {
                        reader.skipped.add(format_args!("checkpoint {} channel {channel}", current.id), TOO_LARGE);
                    }
                }
            }
            current.channels.extend(values.get(&channel).map(|stored| (channel, stored.clone())));
            Ok(())
        })
        .await?;
        current.into_iter().for_each(|last| reader.checkpoint(last));
        Ok(reader.finish())
    }
}

const TOO_LARGE: &str = "it has more than 64 MiB";

/// Hands each row to `each`. The server waits while a row is worked on.
async fn rows(
    client: &Client,
    query: &str,
    parameters: &[&(dyn ToSql + Sync)],
    mut each: impl FnMut(&Row) -> Result<(), tokio_postgres::Error>,
) -> Result<(), Refused> {
    let found = client.query_raw(query, parameters.iter().copied()).await.map_err(failed)?;
    let mut found = std::pin::pin!(found);
    while let Some(row) = found.try_next().await.map_err(failed)? {
        each(&row).map_err(failed)?;
    }
    Ok(())
}

fn failed(error: tokio_postgres::Error) -> Refused {
    match error.as_db_error() {
        Some(said) => Refused::new(format_args!("the database cannot be read: {}", said.message())),
        None => Refused::new(format_args!("the database cannot be read: {error}")),
    }
}

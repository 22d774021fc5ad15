//! Leases of processes, by the clock of the server.

use std::sync::Arc;

use threadkeep_model::{ProcessId, Uuid};
use threadkeep_store::{BoxFuture, Processes, Result, StoreError};

use crate::clock::NOW;
use crate::codec::get;
use crate::read::rows;
use crate::{PostgresStore, reading};

/// Those of the ids in `$1` whose leases hold. A lease that ends later than any can was written before the clock was set
/// back, and does not hold.
pub(crate) fn holding() -> String {
    let max = ProcessId::TTL_MICROS_MAX;
    format!("SELECT id FROM processes WHERE id = ANY($1) AND until > {NOW} AND until <= {NOW} + {max}")
}

impl Processes for PostgresStore {
    fn begin(&self, process: ProcessId, ttl_micros: i64) -> BoxFuture<'_, Result<()>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let client = shared.connections.get().await?;
            let max = ProcessId::TTL_MICROS_MAX;
            let sql = format!(
                "WITH ended AS (DELETE FROM processes WHERE until <= {NOW} OR until > {NOW} + {max})
                 INSERT INTO processes VALUES ($1, {NOW} + $2::bigint)"
            );
            rows(&client, &sql, &[&process.to_string(), &ttl_micros]).await.map(drop)
        })
    }

    fn renew(&self, process: ProcessId, ttl_micros: i64) -> BoxFuture<'_, Result<bool>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let client = shared.connections.get().await?;
            let max = ProcessId::TTL_MICROS_MAX;
            let sql = format!(
                "UPDATE processes SET until = {NOW} + $2::bigint
                 WHERE id = $1 AND until > {NOW} AND until <= {NOW} + {max} RETURNING id"
            );
            Ok(!rows(&client, &sql, &[&process.to_string(), &ttl_micros]).await?.is_empty())
        })
    }

    fn holding(&self, processes: Vec<ProcessId>) -> BoxFuture<'_, Result<Vec<ProcessId>>> {
        let (sql, ids) = (holding(), processes.iter().map(ToString::to_string).collect::<Vec<_>>());
        reading!(self, |client, shared| async {
            let read = |row: &tokio_postgres::Row| -> Result<ProcessId> {
                let id: Result<Uuid, _> = get::<&str>(row, 0)?.parse();
                Ok(ProcessId(id.map_err(|_| StoreError::corrupt("the lease of a process has no id"))?))
            };
            rows(&client, &sql, &[&ids]).await?.iter().map(read).collect()
        })
    }
}

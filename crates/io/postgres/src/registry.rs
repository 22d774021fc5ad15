//! Documents beside threads, in a table of their own.

use threadkeep_model::{Account, Timestamp};
use threadkeep_store::{BoxFuture, Registered, Registry, RegistryKind, RegistryQuery, Result};
use tokio_postgres::Row;

use std::sync::Arc;

use crate::codec::{account, get, limit};
use crate::read::rows;
use crate::{PostgresStore, reading};

const COLUMNS: &str = "SELECT id, account, json, created FROM registry WHERE kind = $1";

fn code(kind: RegistryKind) -> i16 {
    i16::from(kind.code())
}

fn read(kind: RegistryKind, row: &Row) -> Result<Registered> {
    let created = Timestamp::from_micros(get(row, 3)?);
    Registered { kind, id: get(row, 0)?, account: account(get(row, 1)?)?, json: get(row, 2)?, created }.unsealed()
}

impl Registry for PostgresStore {
    fn register(&self, document: Registered) -> BoxFuture<'_, Result<()>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let client = shared.connections.get().await?;
            let json = document.sealed();
            let Registered { kind, id, account, created, .. } = document;
            let sql = "INSERT INTO registry VALUES ($1, $2, $3, $4, $5)
                       ON CONFLICT (kind, id) DO UPDATE SET account = excluded.account, json = excluded.json";
            rows(&client, sql, &[&code(kind), &id, &account.as_str(), &json, &created.as_micros()]).await.map(drop)
        })
    }

    fn register_over(&self, document: Registered, before: Option<String>) -> BoxFuture<'_, Result<bool>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let client = shared.connections.get().await?;
            let before = before.map(|json| Registered { json, ..document.clone() }.sealed());
            let json = document.sealed();
            let Registered { kind, id, account, created, .. } = document;
            let written = match before {
                None => {
                    let sql = "INSERT INTO registry VALUES ($1, $2, $3, $4, $5)
                               ON CONFLICT (kind, id) DO NOTHING RETURNING id";
                    rows(&client, sql, &[&code(kind), &id, &account.as_str(), &json, &created.as_micros()]).await?
                }
                Some(before) => {
                    let sql = "UPDATE registry SET json = $3 WHERE kind = $1 AND id = $2 AND json = $4 RETURNING id";
                    rows(&client, sql, &[&code(kind), &id, &json, &before]).await?
                }
            };
            Ok(!written.is_empty())
        })
    }

    fn registered(&self, kind: RegistryKind, ids: Vec<String>) -> BoxFuture<'_, Result<Vec<Registered>>> {
        let sql = format!("{COLUMNS} AND id = ANY($2)");
        reading!(self, |client, shared| async {
            rows(&client, &sql, &[&code(kind), &ids]).await?.iter().map(|row| read(kind, row)).collect()
        })
    }

    fn registry(&self, query: RegistryQuery) -> BoxFuture<'_, Result<Vec<Registered>>> {
        let sql = format!("{COLUMNS} AND id > $2 AND ($3::text IS NULL OR account = $3) ORDER BY id LIMIT $4");
        reading!(self, |client, shared| async {
            let (after, own) =
                (query.after.as_deref().unwrap_or_default(), query.account.as_ref().map(Account::as_str));
            let found = rows(&client, &sql, &[&code(query.kind), &after, &own, &limit(query.limit)]).await?;
            found.iter().map(|row| read(query.kind, row)).collect()
        })
    }

    fn unregister(&self, kind: RegistryKind, id: String) -> BoxFuture<'_, Result<bool>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let client = shared.connections.get().await?;
            let sql = "DELETE FROM registry WHERE kind = $1 AND id = $2 RETURNING id";
            Ok(!rows(&client, sql, &[&code(kind), &id]).await?.is_empty())
        })
    }
}

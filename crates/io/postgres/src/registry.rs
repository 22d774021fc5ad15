//! Documents beside threads, in a table of their own.

use deadpool_postgres::Object;
use threadkeep_model::{Account, Timestamp};
use threadkeep_store::{BoxFuture, Registered, Registry, RegistryKind, RegistryQuery, Result, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use std::sync::Arc;

use crate::codec::{account, get, limit};
use crate::fences::check_document;
use crate::read::rows;
use crate::{PostgresStore, reading};

/// Whether the account `$3` may be written; `$6` says whether the document moves with it.
const NOT_FROZEN: &str = "NOT ($6 AND EXISTS (SELECT FROM frozen WHERE account = $3))";
const COLUMNS: &str = "SELECT id, account, json, created FROM registry WHERE kind = $1";

fn code(kind: RegistryKind) -> i16 {
    i16::from(kind.code())
}

fn read(kind: RegistryKind, row: &Row) -> Result<Registered> {
    let created = Timestamp::from_micros(get(row, 3)?);
    Registered { kind, id: get(row, 0)?, account: account(get(row, 1)?)?, json: get(row, 2)?, created }.unsealed()
}

/// The fence that kept a document out was taken away since.
fn thawed() -> StoreError {
    StoreError::Unavailable { what: "its account moved; try again".into() }
}

/// Registers a document, or replaces the one under its id, whatever is frozen.
pub(crate) async fn put(client: &Object, document: &Registered) -> Result<()> {
    let Registered { kind, id, account, created, .. } = document;
    let sql = "INSERT INTO registry VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT (kind, id) DO UPDATE SET account = excluded.account, json = excluded.json";
    let (kind, json, created) = (code(*kind), document.sealed(), created.as_micros());
    rows(client, sql, &[&kind, id, &account.as_str(), &json, &created]).await.map(drop)
}

impl Registry for PostgresStore {
    fn register(&self, document: Registered) -> BoxFuture<'_, Result<()>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let client = shared.connections.get().await?;
            let json = document.sealed();
            let Registered { kind, id, account, created, .. } = document;
            let sql = format!(
                "INSERT INTO registry SELECT $1, $2, $3, $4, $5 WHERE {NOT_FROZEN}
                 ON CONFLICT (kind, id) DO UPDATE SET account = excluded.account, json = excluded.json RETURNING id"
            );
            let fenced = kind.is_of_account();
            let params: [&(dyn ToSql + Sync); 6] =
                [&code(kind), &id, &account.as_str(), &json, &created.as_micros(), &fenced];
            if rows(&client, &sql, &params).await?.is_empty() {
                check_document(&client, kind, account.as_str()).await?;
                return Err(thawed());
            }
            Ok(())
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
                    let sql = format!(
                        "INSERT INTO registry SELECT $1, $2, $3, $4, $5 WHERE {NOT_FROZEN}
                         ON CONFLICT (kind, id) DO NOTHING RETURNING id"
                    );
                    let fenced = kind.is_of_account();
                    let params: [&(dyn ToSql + Sync); 6] =
                        [&code(kind), &id, &account.as_str(), &json, &created.as_micros(), &fenced];
                    rows(&client, &sql, &params).await?
                }
                Some(before) => {
                    let sql = "UPDATE registry SET json = $3 WHERE kind = $1 AND id = $2 AND json = $4
                               AND NOT ($5 AND account IN (SELECT account FROM frozen)) RETURNING id";
                    rows(&client, sql, &[&code(kind), &id, &json, &before, &kind.is_of_account()]).await?
                }
            };
            if written.is_empty() {
                check_document(&client, kind, account.as_str()).await?;
            }
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
            let sql = "DELETE FROM registry WHERE kind = $1 AND id = $2
                       AND NOT ($3 AND account IN (SELECT account FROM frozen)) RETURNING id";
            if !rows(&client, sql, &[&code(kind), &id, &kind.is_of_account()]).await?.is_empty() {
                return Ok(true);
            }
            let sql = "SELECT account FROM registry WHERE kind = $1 AND id = $2";
            for row in rows(&client, sql, &[&code(kind), &id]).await? {
                check_document(&client, kind, get(&row, 0)?).await?;
            }
            Ok(false)
        })
    }
}

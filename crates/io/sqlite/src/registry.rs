//! Documents beside threads, in a table of their own.

use rusqlite::{Connection, Row, params};
use threadkeep_model::{Account, Timestamp};
use threadkeep_store::{BoxFuture, Registered, Registry, RegistryKind, RegistryQuery, Result, StoreError};

use crate::SqliteStore;
use crate::error::from_sqlite;
use crate::fences::check_document;
use crate::read::rows;
use crate::tables::in_transaction;

const COLUMNS: &str = "SELECT id, account, json, created FROM registry WHERE kind = ?1";

fn read(kind: RegistryKind, row: &Row<'_>) -> Result<Registered> {
    let columns = || -> rusqlite::Result<_> { Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?, row.get(3)?)) };
    let (id, account, json, created) = columns().map_err(from_sqlite)?;
    let account = Account::stored(account).map_err(|error| StoreError::corrupt(error.to_string()))?;
    Registered { kind, id, account, json, created: Timestamp::from_micros(created) }.unsealed()
}

/// Registers a document, or replaces the one under its id.
pub(crate) fn put(connection: &Connection, document: &Registered) -> Result<()> {
    let Registered { kind, id, account, created, .. } = document;
    let params = params![kind.code(), id, account.as_str(), document.sealed(), created.as_micros()];
    let sql = "INSERT INTO registry VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (kind, id) DO UPDATE SET account = excluded.account, json = excluded.json";
    connection.prepare_cached(sql).and_then(|mut put| put.execute(params)).map(drop).map_err(from_sqlite)
}

impl SqliteStore {
    /// Runs `work` in a transaction of its own on the writer's connection.
    fn registry_job<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        Box::pin(self.upkeep(move |connection| in_transaction(connection, work)))
    }
}

impl Registry for SqliteStore {
    fn register(&self, document: Registered) -> BoxFuture<'_, Result<()>> {
        self.registry_job(move |connection| {
            check_document(connection, document.kind, &document.account)?;
            put(connection, &document)
        })
    }

    fn register_over(&self, document: Registered, before: Option<String>) -> BoxFuture<'_, Result<bool>> {
        self.registry_job(move |connection| {
            check_document(connection, document.kind, &document.account)?;
            let before = before.map(|json| Registered { json, ..document.clone() }.sealed());
            let json = document.sealed();
            let Registered { kind, id, account, created, .. } = document;
            let written = match before {
                None => connection
                    .prepare_cached(
                        "INSERT INTO registry VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (kind, id) DO NOTHING",
                    )
                    .and_then(|mut insert| {
                        insert.execute(params![kind.code(), id, account.as_str(), json, created.as_micros()])
                    }),
                Some(before) => connection
                    .prepare_cached("UPDATE registry SET json = ?3 WHERE kind = ?1 AND id = ?2 AND json = ?4")
                    .and_then(|mut update| update.execute(params![kind.code(), id, json, before])),
            };
            Ok(written.map_err(from_sqlite)? > 0)
        })
    }

    fn registered(&self, kind: RegistryKind, ids: Vec<String>) -> BoxFuture<'_, Result<Vec<Registered>>> {
        self.read(|connection, _| {
            let sql = format!("{COLUMNS} AND id = ?2");
            let mut found = Vec::with_capacity(ids.len());
            for id in ids {
                found.extend(rows(connection, &sql, params![kind.code(), id], |row| read(kind, row))?);
            }
            Ok(found)
        })
    }

    fn registry(&self, query: RegistryQuery) -> BoxFuture<'_, Result<Vec<Registered>>> {
        self.read(|connection, _| {
            let sql = format!("{COLUMNS} AND id > ?2 AND (?3 IS NULL OR account = ?3) ORDER BY id LIMIT ?4");
            let (after, limit) = (query.after.unwrap_or_default(), i64::try_from(query.limit).unwrap_or(i64::MAX));
            let account = query.account.as_ref().map(Account::as_str);
            rows(connection, &sql, params![query.kind.code(), after, account, limit], |row| read(query.kind, row))
        })
    }

    fn unregister(&self, kind: RegistryKind, id: String) -> BoxFuture<'_, Result<bool>> {
        self.registry_job(move |connection| {
            let sql = format!("{COLUMNS} AND id = ?2");
            for found in rows(connection, &sql, params![kind.code(), id], |row| read(kind, row))? {
                check_document(connection, kind, &found.account)?;
            }
            let sql = "DELETE FROM registry WHERE kind = ?1 AND id = ?2";
            Ok(connection.execute(sql, params![kind.code(), id]).map_err(from_sqlite)? > 0)
        })
    }
}

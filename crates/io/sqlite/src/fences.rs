//! Fences of accounts. The writer is alone with the file, so a fence holds from the transaction on that makes it.

use rusqlite::{Connection, OptionalExtension, params};
use threadkeep_model::{Account, ThreadCommit, ThreadId};
use threadkeep_store::{BoxFuture, Fences, KeptKey, KeyQuery, RegistryKind, Result, StoreError};

use crate::SqliteStore;
use crate::codec::{self, key};
use crate::error::from_sqlite;
use crate::keys;
use crate::read::rows;
use crate::tables::{in_transaction, take_out};

/// Whether any account is frozen. Usually none is, and then nothing else has to be asked.
pub(crate) fn is_any(connection: &Connection) -> Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM frozen LIMIT 1")
        .and_then(|mut statement| statement.exists([]))
        .map_err(from_sqlite)
}

/// Refuses a write of a frozen account.
pub(crate) fn check(connection: &Connection, account: &Account) -> Result<()> {
    match note(connection, account)? {
        Some(note) => Err(StoreError::Frozen { account: account.clone(), note }),
        None => Ok(()),
    }
}

fn note(connection: &Connection, account: &Account) -> Result<Option<String>> {
    connection
        .prepare_cached("SELECT note FROM frozen WHERE account = ?1")
        .and_then(|mut statement| statement.query_row([account.as_str()], |row| row.get(0)).optional())
        .map_err(from_sqlite)
}

/// Refuses a change of a thread whose owner, now or after it, is frozen.
pub(crate) fn check_thread(connection: &Connection, commit: &ThreadCommit) -> Result<()> {
    let (thread, given) = match commit {
        ThreadCommit::Create(create) => return check(connection, &create.account),
        ThreadCommit::Write(write) => (write.thread, write.owner.as_ref()),
        ThreadCommit::Delete { thread, .. } => (*thread, None),
    };
    let owner: Option<String> = connection
        .prepare_cached("SELECT account FROM threads WHERE id = ?1")
        .and_then(|mut statement| statement.query_row([key(thread)], |row| row.get(0)).optional())
        .map_err(from_sqlite)?;
    if let Some(owner) = owner {
        check(connection, &Account::stored(owner).map_err(|error| StoreError::corrupt(error.to_string()))?)?;
    }
    given.map_or(Ok(()), |owner| check(connection, owner))
}

/// Refuses a change of a document that moves with a frozen account.
pub(crate) fn check_document(connection: &Connection, kind: RegistryKind, account: &Account) -> Result<()> {
    if kind.is_of_account() { check(connection, account) } else { Ok(()) }
}

/// Takes out all documents that move with an account.
pub(crate) fn take_out_documents(connection: &Connection, account: &Account) -> Result<()> {
    let mut delete =
        connection.prepare_cached("DELETE FROM registry WHERE kind = ?1 AND account = ?2").map_err(from_sqlite)?;
    for kind in RegistryKind::OF_ACCOUNTS {
        delete.execute(params![kind.code(), account.as_str()]).map_err(from_sqlite)?;
    }
    Ok(())
}

fn release(connection: &mut Connection, account: &Account, expected: &str) -> Result<Option<u64>> {
    in_transaction(connection, |connection| {
        if note(connection, account)?.as_deref() != Some(expected) {
            return Ok(None);
        }
        let sql = "SELECT id, rest FROM threads WHERE account = ?1";
        let own = rows(connection, sql, [account.as_str()], |row| {
            let read = || -> rusqlite::Result<_> { Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)) };
            let (id, rest) = read().map_err(from_sqlite)?;
            codec::thread_id(id, &rest)
        })?;
        own.iter().try_for_each(|thread| take_out(connection, *thread))?;
        take_out_documents(connection, account)?;
        Ok(Some(own.len() as u64))
    })
}

impl Fences for SqliteStore {
    fn freeze(&self, account: Account, note: String) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.upkeep(move |connection| {
            let row = params![account.as_str(), note];
            connection.execute("INSERT OR REPLACE INTO frozen VALUES (?1, ?2)", row).map(drop).map_err(from_sqlite)
        }))
    }

    fn thaw(&self, account: Account) -> BoxFuture<'_, Result<bool>> {
        Box::pin(self.upkeep(move |connection| {
            let removed = connection.execute("DELETE FROM frozen WHERE account = ?1", [account.as_str()]);
            Ok(removed.map_err(from_sqlite)? > 0)
        }))
    }

    fn frozen(&self, account: Account) -> BoxFuture<'_, Result<Option<String>>> {
        self.read(|connection, _| note(connection, &account))
    }

    fn keys(&self, account: Account, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<KeptKey>>> {
        self.read(|connection, _| {
            let mut kept = Vec::new();
            for thread in threads {
                let sent_by = Some(&account).filter(|_| thread == KeyQuery::NEW);
                kept.extend(keys::under(connection, thread, sent_by)?);
            }
            Ok(kept)
        })
    }

    fn release(&self, account: Account, note: String) -> BoxFuture<'_, Result<Option<u64>>> {
        Box::pin(async move {
            let released = self.upkeep(move |connection| release(connection, &account, &note)).await?;
            self.shared.signals.tell_all();
            Ok(released)
        })
    }
}

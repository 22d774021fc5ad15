//! Fences of accounts.
//!
//! Every statement that writes for an account reads the table `frozen`. PostgreSQL locks the tables of a statement before the
//! statement sees anything, and keeps the lock until its transaction ends. So a freeze, which locks the table for itself,
//! waits for all writes under way, and every later write sees it.

use std::sync::Arc;

use deadpool_postgres::Object;
use threadkeep_model::{Account, Commit, ThreadCommit, ThreadId};
use threadkeep_store::{BoxFuture, Fences, KeptKey, RegistryKind, Result, StoreError};
use tokio_postgres::Row;

use crate::codec::{account, get};
use crate::commit::Transaction;
use crate::error::{from_commit, from_postgres};
use crate::keys;
use crate::read::rows;
use crate::{PostgresStore, reading};

/// How long a freeze waits for writes under way. Later writes wait behind it.
const LOCKED_WITHIN: &str = "5s";

/// The fences of the accounts in `$1`, and of the owners of the threads in `$2`.
pub(crate) const FIND: &str = "
    SELECT account, note FROM frozen WHERE account = ANY($1::text[])
        OR account IN (SELECT account FROM threads WHERE id = ANY($2::bigint[])) LIMIT 1";

/// The accounts that get a thread by a commit.
pub(crate) fn given(commit: &Commit) -> Vec<&str> {
    let given = commit.threads.iter().filter_map(|thread| match thread {
        ThreadCommit::Create(create) => Some(create.account.as_str()),
        ThreadCommit::Write(write) => write.owner.as_ref().map(Account::as_str),
        ThreadCommit::Delete { .. } => None,
    });
    given.collect()
}

/// The refusal that a row of [`FIND`] stands for.
pub(crate) fn refusal(row: &Row) -> Result<StoreError> {
    Ok(StoreError::Frozen { account: account(get(row, 0)?)?, note: get(row, 1)? })
}

/// The refusal by the function `append`: the account and the note, on a line each.
pub(crate) fn told_by_append(text: &str) -> Result<StoreError> {
    let (owner, note) = text.split_once('\n').ok_or_else(|| StoreError::corrupt("a fence has no note"))?;
    Ok(StoreError::Frozen { account: account(owner)?, note: note.to_owned() })
}

/// Why a document was not written: a fence of its account, if it moves with that.
pub(crate) async fn check_document(client: &Object, kind: RegistryKind, account: &str) -> Result<()> {
    if !kind.is_of_account() {
        return Ok(());
    }
    match rows(client, FIND, &[&vec![account], &Vec::<i64>::new()]).await?.first() {
        Some(row) => Err(refusal(row)?),
        None => Ok(()),
    }
}

/// Takes out all documents that move with an account.
pub(crate) async fn take_out_documents(client: &Object, account: &Account) -> Result<()> {
    let kinds: Vec<i16> = RegistryKind::OF_ACCOUNTS.iter().map(|kind| i16::from(kind.code())).collect();
    let sql = "DELETE FROM registry WHERE kind = ANY($1) AND account = $2";
    rows(client, sql, &[&kinds, &account.as_str()]).await.map(drop)
}

impl Fences for PostgresStore {
    fn freeze(&self, account: Account, note: String) -> BoxFuture<'_, Result<()>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let transaction = Transaction::begun(shared.connections.get().await?);
            let client = transaction.client();
            let lock = format!(
                "BEGIN; SET LOCAL lock_timeout = '{LOCKED_WITHIN}'; LOCK TABLE frozen IN ACCESS EXCLUSIVE MODE"
            );
            client.batch_execute(&lock).await.map_err(from_postgres)?;
            let sql = "INSERT INTO frozen VALUES ($1, $2) ON CONFLICT (account) DO UPDATE SET note = excluded.note";
            rows(client, sql, &[&account.as_str(), &note]).await?;
            transaction.end("COMMIT").await.map_err(from_commit)
        })
    }

    fn thaw(&self, account: Account) -> BoxFuture<'_, Result<bool>> {
        let shared = Arc::clone(&self.shared);
        self.run(async move {
            let client = shared.connections.get().await?;
            let sql = "DELETE FROM frozen WHERE account = $1 RETURNING account";
            Ok(!rows(&client, sql, &[&account.as_str()]).await?.is_empty())
        })
    }

    fn frozen(&self, account: Account) -> BoxFuture<'_, Result<Option<String>>> {
        reading!(self, |client, shared| async {
            let sql = "SELECT note FROM frozen WHERE account = $1";
            rows(&client, sql, &[&account.as_str()]).await?.first().map(|row| get(row, 0)).transpose()
        })
    }

    fn keys(&self, account: Account, threads: Vec<ThreadId>) -> BoxFuture<'_, Result<Vec<KeptKey>>> {
        reading!(self, |client, shared| async { keys::under(&client, &account, &threads).await })
    }

    fn release(&self, account: Account, note: String) -> BoxFuture<'_, Result<Option<u64>>> {
        let shared = Arc::clone(&self.shared);
        self.run_long(async move {
            let transaction = shared.alone().await?;
            let client = transaction.client();
            // The row stays locked until the end, so that the fence cannot be taken away meanwhile.
            let sql = "SELECT account FROM frozen WHERE account = $1 AND note = $2 FOR UPDATE";
            if rows(client, sql, &[&account.as_str(), &note]).await?.is_empty() {
                return Ok(None);
            }
            let sql = "SELECT take_out(id) FROM threads WHERE account = $1";
            let released = rows(client, sql, &[&account.as_str()]).await?.len() as u64;
            take_out_documents(client, &account).await?;
            transaction.end("COMMIT").await.map_err(from_commit)?;
            shared.signals.tell_all();
            Ok(Some(released))
        })
    }
}

//! Errors of PostgreSQL as errors of the store.

use std::time::Duration;

use deadpool_postgres::{PoolError, TimeoutType};
use threadkeep_store::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use crate::url::PostgresUrl;

/// How long a caller waits for a free connection.
pub(crate) const POOL_WAIT_SECONDS: u64 = 5;

fn unavailable(what: impl Into<String>) -> StoreError {
    StoreError::Unavailable { what: what.into() }
}

/// An error of PostgreSQL as an error of the store.
pub(crate) fn from_postgres(error: Error) -> StoreError {
    match error.as_db_error() {
        Some(said) => from_server(said),
        None => unavailable(format!("the connection to the server was lost ({}); try again", reason(&error))),
    }
}

/// An error of a commit that was under way.
pub(crate) fn from_commit(error: Error) -> StoreError {
    let is_known = error.as_db_error().is_some_and(|said| !is_going_down(said.code()));
    if is_known {
        return from_postgres(error);
    }
    unavailable(format!("the connection to the server was lost during a write ({}){IS_NOT_KNOWN}", reason(&error)))
}

/// What a caller has to know whose write was cut off.
pub(crate) const IS_NOT_KNOWN: &str =
    "; whether it was kept is not known: look before you retry, or retry under the same idempotency key";

fn is_going_down(code: &SqlState) -> bool {
    [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::DATABASE_DROPPED].contains(code)
}

/// Whether the server took the request back, so that it can be tried again in another way.
pub(crate) fn is_taken_back(error: &Error) -> bool {
    error.as_db_error().is_some_and(|said| !is_going_down(said.code()))
}

fn from_server(said: &DbError) -> StoreError {
    let message = said.message();
    match *said.code() {
        SqlState::DISK_FULL => StoreError::DiskFull,
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => StoreError::corrupt(message),
        SqlState::TOO_MANY_CONNECTIONS => {
            unavailable("the server has no free connection; raise its max_connections, or lower ours in the URL")
        }
        SqlState::CANNOT_CONNECT_NOW | SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN => {
            unavailable(format!("the server is not ready ({message}); try again"))
        }
        SqlState::QUERY_CANCELED => unavailable(format!("the server took too long ({message}); try again")),
        SqlState::LOCK_NOT_AVAILABLE => {
            unavailable("another process writes to the same thread, and did not finish in time; try again")
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => unavailable(
            "the server accepts no writes; is it a standby? Name the primary, or add \
                         target_session_attrs=read-write to the URL",
        ),
        SqlState::UNDEFINED_TABLE | SqlState::UNDEFINED_FUNCTION => {
            StoreError::corrupt(format!("a part of the schema is missing: {message}"))
        }
        _ => unavailable(format!("PostgreSQL says: {message} ({})", said.code().code())),
    }
}

/// No connection could be had.
pub(crate) fn from_pool(error: PoolError, url: &PostgresUrl) -> StoreError {
    match error {
        PoolError::Timeout(TimeoutType::Wait) => unavailable(format!(
            "all {} connections to PostgreSQL were busy for {POOL_WAIT_SECONDS} s; ask for less at once, or raise \
             max_connections in the URL",
            url.pool()
        )),
        PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle) => silent(url),
        PoolError::Backend(error) => match error.as_db_error() {
            Some(said) => from_server(said),
            None => unavailable(format!("{url} cannot be reached ({}); is the server running?", reason(&error))),
        },
        other @ (PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_)) => {
            unavailable(other.to_string())
        }
    }
}

/// A server that can be reached, and says nothing.
pub(crate) fn silent(url: &PostgresUrl) -> StoreError {
    unavailable(format!("{url} did not answer in time; try again"))
}

/// A server that did not answer a call, and what follows for the caller.
pub(crate) fn unanswered(url: &PostgresUrl, waited: Duration, and: &str) -> StoreError {
    let and = if and.is_empty() { "; try again" } else { and };
    unavailable(format!("{url} does not answer (waited up to {} s){and}", waited.as_secs()))
}

/// Why a store could not be opened.
pub(crate) fn cannot_open(error: &Error, url: &PostgresUrl) -> StoreError {
    let path = url.to_string();
    let Some(said) = error.as_db_error() else {
        let why = reason(error);
        // The crate does not tell these apart but by their words.
        return match error.to_string() {
            said if said.contains("TLS") => {
                StoreError::CannotOpen { path, what: format!("the connection cannot be encrypted as asked ({why})") }
            }
            _ if why.contains("password missing") => {
                let what = "it asks for a password; put it into PGPASSWORD or the URL".into();
                StoreError::Unauthorized { path, what }
            }
            _ => {
                unavailable(format!("{path} cannot be reached ({why}); is the server running, and the address right?"))
            }
        };
    };
    let message = said.message();
    match *said.code() {
        SqlState::PROTOCOL_VIOLATION if message.contains("startup parameter") => pooled(url),
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            let what = format!("the server does not let user '{}' in: {message}", url.user());
            StoreError::Unauthorized { path, what }
        }
        SqlState::INVALID_CATALOG_NAME => {
            StoreError::NotFound { path, what: format!("the server has no database '{}'", url.database()) }
        }
        SqlState::INSUFFICIENT_PRIVILEGE | SqlState::READ_ONLY_SQL_TRANSACTION => {
            StoreError::Forbidden { path, what: message.to_owned() }
        }
        _ => from_server(said),
    }
}

/// A connection pooler answers, and takes no settings for the session.
pub(crate) fn pooled(url: &PostgresUrl) -> StoreError {
    let what = "a connection pooler such as PgBouncer answers there, and does not keep the settings of a connection. \
                Threadkeep pools its own connections: each has settings, prepared statements and notifications, which a \
                pooler drops between transactions. Name the PostgreSQL server itself; max_connections in the URL (16) \
                bounds how many connections a process opens"
        .to_owned();
    StoreError::CannotOpen { path: url.to_string(), what }
}

/// The innermost reason: the outer ones only say that something failed.
fn reason(error: &Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

//! The ledger of files: how far each was read, so that the next run goes on there.
//!
//! It only saves work. Without it every file is read again, and the store finds what it has already.

use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, params};
use threadkeep_model::ThreadId;
use threadkeep_store::private;

use super::places::Found;
use crate::reading::{Refused, Resume};

/// The version of its tables. One of another version is made anew.
const VERSION: i64 = 1;

/// What is known of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) bytes: u64,
    pub(crate) modified: i64,
    /// Where the reading ended, and the hash of all bytes before.
    pub(crate) resume: Resume,
    pub(crate) sum: Option<String>,
    pub(crate) digests: HashMap<String, String>,
    /// The family of each session of the file.
    pub(crate) homes: HashMap<String, ThreadId>,
    /// Further names of messages that the file had so far, since the row before.
    pub(crate) aliases: Vec<(String, String, String)>,
}

impl Row {
    /// Whether a file is as it was then.
    pub(crate) fn is_of(&self, found: &Found) -> bool {
        (self.bytes, self.modified) == (found.bytes, micros(found.modified))
    }
}

/// A time of the file system, in microseconds since 1970.
pub(crate) fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_micros());
    i64::try_from(since).unwrap_or(i64::MAX)
}

/// The ledger of one store.
pub struct Ledger {
    connection: Connection,
    /// The store that the files were imported to.
    target: String,
}

impl Ledger {
    /// Opens the ledger at `path`, for the store or server that `target` names.
    ///
    /// # Errors
    /// If it cannot be opened or made.
    pub fn open(path: &Path, target: &str) -> Result<Self, Refused> {
        let failed =
            |what: String| Refused::new(format_args!("the ledger {} cannot be opened: {what}", path.display()));
        if let Some(folder) = path.parent() {
            private::make_folder(folder).map_err(|error| failed(error.to_string()))?;
        }
        if !path.exists() {
            private::new_file(path).map_err(|error| failed(error.to_string()))?;
        }
        let connection = Connection::open(path).map_err(|error| failed(error.to_string()))?;
        Self::with(connection, target).map_err(|error| failed(error.to_string()))
    }

    /// A ledger that is gone with this process.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn in_memory(target: &str) -> Result<Self, Refused> {
        let made = Connection::open_in_memory().and_then(|connection| Self::with(connection, target));
        made.map_err(|error| Refused::new(format_args!("the ledger cannot be made: {error}")))
    }

    fn with(connection: Connection, target: &str) -> rusqlite::Result<Self> {
        connection.busy_timeout(std::time::Duration::from_secs(10))?;
        // It can be made anew, so it need not survive a power cut.
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version != VERSION {
            connection.execute_batch(&format!(
                "DROP TABLE IF EXISTS files; DROP TABLE IF EXISTS aliases;
                 CREATE TABLE files (target TEXT, path TEXT, bytes INTEGER, modified INTEGER, resume TEXT, sum TEXT,
                     digests TEXT, homes TEXT, PRIMARY KEY (target, path)) WITHOUT ROWID;
                 CREATE TABLE aliases (target TEXT, path TEXT, session TEXT, name TEXT, message TEXT,
                     PRIMARY KEY (target, path, session, name)) WITHOUT ROWID;
                 PRAGMA user_version = {VERSION}"
            ))?;
        }
        Ok(Self { connection, target: target.to_owned() })
    }

    pub(crate) fn row(&self, path: &str) -> Option<Row> {
        let sql = "SELECT bytes, modified, resume, sum, digests, homes FROM files WHERE target = ?1 AND path = ?2";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let read = |row: &rusqlite::Row<'_>| {
                let text = |at: usize| row.get::<_, String>(at);
                Ok((row.get::<_, i64>(0)?, row.get(1)?, text(2)?, row.get(3)?, text(4)?, text(5)?))
            };
            statement.query_row([&self.target, path], read).optional()
        });
        // A row that cannot be read is none: the file is read again.
        let (bytes, modified, resume, sum, digests, homes) = found.ok().flatten()?;
        Some(Row {
            bytes: u64::try_from(bytes).ok()?,
            modified,
            resume: serde_json::from_str(&resume).ok()?,
            sum,
            digests: serde_json::from_str(&digests).ok()?,
            homes: serde_json::from_str(&homes).ok()?,
            aliases: Vec::new(),
        })
    }

    /// Further names of the messages of a session.
    pub(crate) fn aliases(&self, path: &str, session: &str) -> Vec<(String, String)> {
        let sql = "SELECT name, message FROM aliases WHERE target = ?1 AND path = ?2 AND session = ?3";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let rows = statement.query_map([&self.target, path, session], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        });
        found.unwrap_or_default()
    }

    /// Keeps the rows of files whose sessions are in the store.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub(crate) fn keep(&mut self, rows: &[(String, Row)]) -> Result<(), Refused> {
        let failed = |error: rusqlite::Error| Refused::new(format_args!("the ledger cannot be written: {error}"));
        let transaction = self.connection.transaction().map_err(failed)?;
        for (path, row) in rows {
            let (bytes, target) = (i64::try_from(row.bytes).unwrap_or(i64::MAX), &self.target);
            let (resume, digests, homes) = (json(&row.resume), json(&row.digests), json(&row.homes));
            transaction
                .prepare_cached("INSERT OR REPLACE INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
                .and_then(|mut statement| {
                    statement.execute(params![target, path, bytes, row.modified, resume, row.sum, digests, homes])
                })
                .map_err(failed)?;
            for (session, name, message) in &row.aliases {
                transaction
                    .prepare_cached("INSERT OR REPLACE INTO aliases VALUES (?1, ?2, ?3, ?4, ?5)")
                    .and_then(|mut statement| statement.execute(params![target, path, session, name, message]))
                    .map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

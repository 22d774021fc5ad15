//! Leases of processes, by the clock that counts since the machine was started, which nobody can set. All processes of the
//! machine share it. A lease of an earlier start of the machine, or of another machine, has ended.

use std::sync::OnceLock;

use rusqlite::{Connection, OptionalExtension, params};
use threadkeep_model::ProcessId;
use threadkeep_store::{BoxFuture, Processes, Result};

use crate::SqliteStore;
use crate::error::from_sqlite;

/// A row that holds at the moment `?3` of the start `?2` of the machine, of a clock that cannot be further than `?4` ahead.
const HOLDS: &str = "id = ?1 AND boot = ?2 AND until > ?3 AND until <= ?3 + ?4";

/// Which start of the machine this is. Empty where the system does not tell: then the clock alone counts.
fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let told = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        told.map_or_else(|_| String::new(), |id| id.trim().to_owned())
    })
}

/// Microseconds on the clock that nobody can set.
#[cfg(unix)]
fn micros() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1_000)
}

/// Where there is no clock that processes share and nobody can set, the time of day stands in.
#[cfg(not(unix))]
fn micros() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Whether the lease of `process` holds at this moment.
pub(crate) fn owns(connection: &Connection, process: ProcessId) -> Result<bool> {
    connection
        .prepare_cached(&format!("SELECT 1 FROM processes WHERE {HOLDS}"))
        .and_then(|mut statement| {
            let params = params![process.to_string(), boot(), micros(), ProcessId::TTL_MICROS_MAX];
            statement.query_row(params, |_| Ok(())).optional()
        })
        .map(|found| found.is_some())
        .map_err(from_sqlite)
}

impl Processes for SqliteStore {
    fn begin(&self, process: ProcessId, ttl_micros: i64) -> BoxFuture<'_, Result<()>> {
        self.beside_log(move |connection| {
            let now = micros();
            let begin = || -> rusqlite::Result<()> {
                let ended = "DELETE FROM processes WHERE boot <> ?1 OR until <= ?2 OR until > ?2 + ?3";
                connection.execute(ended, params![boot(), now, ProcessId::TTL_MICROS_MAX])?;
                let row = params![process.to_string(), boot(), now.saturating_add(ttl_micros)];
                connection.execute("INSERT INTO processes VALUES (?1, ?2, ?3)", row).map(drop)
            };
            begin().map_err(from_sqlite)
        })
    }

    fn renew(&self, process: ProcessId, ttl_micros: i64) -> BoxFuture<'_, Result<bool>> {
        self.beside_log(move |connection| {
            let now = micros();
            let renewed = connection.execute(
                &format!("UPDATE processes SET until = ?5 WHERE {HOLDS}"),
                params![process.to_string(), boot(), now, ProcessId::TTL_MICROS_MAX, now.saturating_add(ttl_micros)],
            );
            Ok(renewed.map_err(from_sqlite)? > 0)
        })
    }

    fn holding(&self, processes: Vec<ProcessId>) -> BoxFuture<'_, Result<Vec<ProcessId>>> {
        self.read(|connection, _| {
            let mut holding = Vec::new();
            for process in processes {
                if owns(connection, process)? {
                    holding.push(process);
                }
            }
            Ok(holding)
        })
    }
}

//! Databases of other agents: opened so that nothing in them can change or run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row};
use serde_json::{Map, Value};

use crate::reading::Refused;

/// Most virtual machine steps of one statement, in thousands: a crafted file cannot run for ever.
const STEPS_THOUSANDS_MAX: u64 = 500_000;
/// Most bytes of one value; a larger one reads as empty, and its row is skipped.
pub const VALUE_BYTES_MAX: usize = 64 << 20;

/// A database of another agent, read-only and immutable: no lock is taken, no journal is replayed, no file beside it is
/// made.
///
/// An immutable database shows the state of its last checkpoint. If a `-wal` file lies beside it, its newest rows are
/// only there: copy both files to a private folder, let SQLite merge the copy, and open that.
pub struct Database {
    connection: Connection,
    /// Steps of the current statement, in thousands.
    steps: Arc<AtomicU64>,
}

impl Database {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// If it cannot be opened, or is not a SQLite database.
    pub fn open(path: &Path) -> Result<Self, Refused> {
        let failed = |error: rusqlite::Error| Refused::new(format_args!("the database cannot be opened: {error}"));
        let path = path.to_str().ok_or_else(|| Refused::new("the path is not UTF-8"))?;
        // The path becomes an address, so its special characters must not.
        let address = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection =
            Connection::open_with_flags(format!("file:{address}?mode=ro&immutable=1"), flags).map_err(failed)?;
        let settings = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON;";
        connection.execute_batch(settings).map_err(failed)?;
        let steps = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&steps);
        let is_over = move || counted.fetch_add(1, Ordering::Relaxed) > STEPS_THOUSANDS_MAX;
        connection.progress_handler(1_000, Some(is_over)).map_err(failed)?;
        let database = Self { connection, steps };
        database.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(failed)?;
        Ok(database)
    }

    /// Whether `name` is a plain table: a view or a virtual table could run anything.
    pub(crate) fn has(&self, name: &str) -> bool {
        let found = self.connection.query_row(
            "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND rootpage > 0",
            [name],
            |_| Ok(()),
        );
        matches!(found.optional(), Ok(Some(())))
    }

    /// The columns of the table `name` that have plain names. Others could not be asked for, and a damaged name would be a
    /// panic of the library.
    pub(crate) fn columns(&self, name: &str) -> Result<Vec<String>, Refused> {
        let mut names = Vec::new();
        self.rows("SELECT name FROM pragma_table_info(?1)", &[&name], |row| {
            names.push(text(row, 0));
            Ok(())
        })?;
        names.retain(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
        Ok(names)
    }

    /// The row of the table `name` with this id, as an object of its columns. Text that is JSON stays text.
    pub(crate) fn object(&self, name: &'static str, id: &str) -> Result<Map<String, Value>, Refused> {
        let columns = self.columns(name)?;
        let quoted: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
        let mut fields = Map::new();
        self.rows(&format!("SELECT {} FROM {name} WHERE id = ?1", quoted.join(", ")), &[&id], |row| {
            for (at, column) in columns.iter().enumerate() {
                let value = match row.get_ref(at) {
                    Ok(ValueRef::Null) | Err(_) => continue,
                    Ok(ValueRef::Integer(number)) => number.into(),
                    Ok(ValueRef::Real(number)) => number.into(),
                    Ok(ValueRef::Text(_)) => text(row, at).into(),
                    Ok(ValueRef::Blob(bytes)) => format!("({} bytes)", bytes.len()).into(),
                };
                fields.insert(column.clone(), value);
            }
            Ok(())
        })?;
        Ok(fields)
    }

    /// Hands each row to `each`, until one is damaged.
    pub(crate) fn rows(
        &self,
        query: &str,
        parameters: &[&dyn rusqlite::ToSql],
        mut each: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), Refused> {
        let failed = |error: rusqlite::Error| Refused::new(format_args!("the database cannot be read: {error}"));
        self.steps.store(0, Ordering::Relaxed);
        let mut statement = self.connection.prepare(query).map_err(failed)?;
        let mut rows = statement.query(parameters).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(row).map_err(failed)?;
        }
        Ok(())
    }
}

/// The text of a column; empty if it holds none, or too much.
pub(crate) fn text(row: &Row<'_>, at: usize) -> String {
    match row.get_ref(at) {
        Ok(ValueRef::Text(text)) if text.len() <= VALUE_BYTES_MAX => String::from_utf8_lossy(text).into_owned(),
        Ok(ValueRef::Integer(number)) => number.to_string(),
        Ok(ValueRef::Text(_) | ValueRef::Real(_) | ValueRef::Blob(_) | ValueRef::Null) | Err(_) => String::new(),
    }
}

/// The bytes of a column, of text too.
pub(crate) fn bytes(row: &Row<'_>, at: usize) -> Vec<u8> {
    match row.get_ref(at) {
        Ok(ValueRef::Blob(bytes) | ValueRef::Text(bytes)) if bytes.len() <= VALUE_BYTES_MAX => bytes.to_vec(),
        Ok(ValueRef::Blob(_) | ValueRef::Text(_) | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Null)
        | Err(_) => Vec::new(),
    }
}

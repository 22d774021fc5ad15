//! A private copy of a database whose newest rows are only in its write-ahead log. SQLite merges the copy; the original
//! is only read.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use threadkeep_store::private;

use super::places::beside;
use crate::reading::Refused;

/// A folder with the copy. It is gone when this is dropped.
pub(crate) struct PrivateCopy {
    folder: PathBuf,
    path: PathBuf,
}

impl PrivateCopy {
    /// Copies the database at `path`, and merges its write-ahead log into the copy.
    ///
    /// # Errors
    /// If it cannot be copied, or is damaged.
    pub(crate) fn merged(path: &Path) -> Result<Self, Refused> {
        let failed = |error: std::io::Error| Refused::new(format_args!("the database cannot be copied: {error}"));
        let copy = Self::empty("source.db").map_err(failed)?;
        for suffix in ["", "-wal"] {
            let from = beside(path, suffix);
            if std::fs::symlink_metadata(&from).map_err(failed)?.is_symlink() {
                return Err(Refused::new("a link lies beside the database"));
            }
            let mut from = std::fs::File::open(from).map_err(failed)?;
            let mut to = private::new_file(&beside(&copy.path, suffix)).map_err(failed)?;
            std::io::copy(&mut from, &mut to).map_err(failed)?;
        }
        let merge = || -> rusqlite::Result<()> {
            let connection = rusqlite::Connection::open(&copy.path)?;
            connection.execute_batch("PRAGMA trusted_schema = OFF")?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            connection.execute_batch("PRAGMA journal_mode = DELETE")
        };
        merge().map_err(|error| Refused::new(format_args!("the write-ahead log cannot be merged: {error}")))?;
        Ok(copy)
    }

    /// An empty private folder, and the path of a file in it that does not exist yet.
    pub(crate) fn empty(name: &str) -> std::io::Result<Self> {
        let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let folder = std::env::temp_dir().join(format!("threadkeep-import-{}-{nanos}", std::process::id()));
        // An existing folder may be another's, so it must not exist.
        if folder.symlink_metadata().is_ok() {
            return Err(std::io::ErrorKind::AlreadyExists.into());
        }
        private::make_folder(&folder)?;
        Ok(Self { path: folder.join(name), folder })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateCopy {
    fn drop(&mut self) {
        // What is left lies in the system's temporary folder, for its owner alone.
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

//! Errors of SQLite as errors of the store.

use rusqlite::{Error, ErrorCode, ffi};
use threadkeep_store::{Result, StoreError};

/// An error of SQLite as an error of the store.
pub(crate) fn from_sqlite(error: Error) -> StoreError {
    let code = error.sqlite_error().map(|error| (error.code, error.extended_code));
    match code {
        Some((ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE)) => StoreError::DiskFull,
        Some((ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _)) => StoreError::Unavailable {
            what: "another process is writing to the file, and did not finish in time".into(),
        },
        Some((ErrorCode::OperationInterrupted, _)) => StoreError::TooExpensive,
        Some((ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _)) => StoreError::corrupt(error.to_string()),
        Some((ErrorCode::ReadOnly | ErrorCode::PermissionDenied, _)) => {
            StoreError::Unavailable { what: "the file or its folder cannot be written to".into() }
        }
        Some((ErrorCode::SystemIoFailure, _)) => {
            StoreError::Unavailable { what: format!("the disk reported an error: {error}") }
        }
        _ => StoreError::corrupt(error.to_string()),
    }
}

/// Whether another process kept the file to itself for too long.
pub(crate) fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether the disk did not confirm a write, so that nothing more may be written.
pub(crate) fn is_failed_sync(error: &Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        error.code == ErrorCode::SystemIoFailure
            || matches!(error.extended_code, ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC)
    })
}

/// Turns an error of SQLite into one that names the file that could not be opened.
pub(crate) trait CannotOpen<T> {
    fn cannot_open(self, path: &str) -> Result<T>;
}

impl<T> CannotOpen<T> for rusqlite::Result<T> {
    fn cannot_open(self, path: &str) -> Result<T> {
        self.map_err(|error| cannot_open(&error, path))
    }
}

pub(crate) fn cannot_open(error: &Error, path: &str) -> StoreError {
    // Beside the file lies one that the processes share; that it cannot grow is how a full disk shows first.
    if error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMSIZE) {
        return StoreError::DiskFull;
    }
    let what = match error.sqlite_error().map(|error| error.code) {
        Some(ErrorCode::NotADatabase) => "it is not a Threadkeep store (no SQLite database at all)".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => format!("the file is damaged ({error}); restore it from a backup"),
        Some(ErrorCode::CannotOpen) => format!("{error}; check that the folder exists and that you may write to it"),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "the file or its folder cannot be written to".to_owned()
        }
        Some(ErrorCode::DiskFull) => return StoreError::DiskFull,
        _ => error.to_string(),
    };
    StoreError::CannotOpen { path: path.to_owned(), what }
}

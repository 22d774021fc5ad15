//! Backups: a backup is a store in one file, whatever the store it was taken of. It can be opened, listed and copied like
//! any other.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use threadkeep_engine::{CopyReport, Engine, Error, Result};
use threadkeep_model::Invalid;
use threadkeep_store::{Progress, StoreError, private};

use crate::open;

/// What a backup is called until it is whole.
const PARTIAL: &str = ".partial";
/// What SQLite keeps beside a file that is open.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Writes everything that `engine`'s store holds to a new file, while others go on reading and writing: all of it as it
/// was at one moment. Then it is read back and compared. The file appears under its name once it is whole and on disk.
///
/// Damaged data does not stop it: everything else is kept, and the report lists what is missing.
///
/// It holds threads, deletions, keys and projects. Leases and idempotency keys are not kept: they are about minutes.
///
/// # Errors
/// If there is a file of that name, or it cannot be written.
pub async fn backup(engine: &Engine, path: &Path, progress: Progress) -> Result<CopyReport> {
    if path.exists() {
        return Err(Invalid::parameter("file", format!("{} is there already", path.display())).into());
    }
    let partial = with_suffix(path, PARTIAL);
    remove(&partial);
    let written = write(engine, &partial, progress).await.and_then(|report| {
        let kept = File::open(&partial).and_then(|file| file.sync_all());
        let named = kept.and_then(|()| std::fs::rename(&partial, path)).and_then(|()| sync_folder(path));
        named.map(|()| report).map_err(|error| cannot("write", path, &error).into())
    });
    if written.is_err() {
        remove(&partial);
    }
    written
}

async fn write(engine: &Engine, path: &Path, progress: Progress) -> Result<CopyReport> {
    private::new_file(path).map_err(|error| cannot("write", path, &error))?;
    let target = open(&format!("sqlite:{}", path.display()))?;
    let report = engine.copy_readable_to(&target, progress).await?;
    // Its last connection puts everything into the one file.
    drop(target);
    if with_suffix(path, BESIDE[0]).exists() {
        return Err(StoreError::corrupt(format!("{} is still being written", path.display())).into());
    }
    Ok(report)
}

/// Brings back what [`backup`] wrote, into a store without threads. `scratch` is a folder with room for a copy of the
/// file: the backup itself stays as it is, also where it was written by an older program.
///
/// A restore that was broken off goes on where it stopped when it is begun again.
///
/// # Errors
/// If the store has threads already, the file is no store, or it differs from what arrived.
pub async fn restore(engine: &Engine, path: &Path, scratch: &Path, progress: Progress) -> Result<CopyReport> {
    let is_there = std::fs::metadata(path).map_err(|error| cannot("read", path, &error))?;
    if !is_there.is_file() || is_there.len() == 0 {
        return Err(Invalid::parameter("file", format!("{} is not a backup", path.display())).into());
    }
    if engine.has_threads().await? {
        let rule = "can only be restored into a store without threads, and this one has some; name another store";
        return Err(Invalid::parameter("file", rule).into());
    }
    let copy = scratch.join(format!("restore-{}.db", std::process::id()));
    remove(&copy);
    let restored = async {
        let mut to = private::new_file(&copy).map_err(|error| cannot("write", &copy, &error))?;
        // Not `fs::copy`: it would give the copy the mode of the backup.
        let copied = File::open(path).and_then(|mut from| io::copy(&mut from, &mut to));
        copied.map_err(|error| cannot("read", path, &error))?;
        let source = open(&format!("sqlite:{}", copy.display())).map_err(|error| named(error, path))?;
        source.copy_readable_to(engine, progress).await
    };
    let restored = restored.await;
    remove(&copy);
    restored
}

/// What is wrong with the copy is wrong with the backup.
fn named(error: Error, backup: &Path) -> Error {
    match error {
        Error::Store(StoreError::CannotOpen { what, .. }) => {
            StoreError::CannotOpen { path: backup.display().to_string(), what }.into()
        }
        other => other,
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Removes a store's file, and what may stand beside it.
fn remove(path: &Path) {
    for suffix in BESIDE {
        drop(std::fs::remove_file(with_suffix(path, suffix)));
    }
    // If it stays, whoever makes it anew says so.
    drop(std::fs::remove_file(path));
}

/// Makes sure that the name of a new file is on disk too.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull => StoreError::DiskFull,
        _ => StoreError::CannotOpen { path: path.display().to_string(), what: format!("cannot {what} it: {error}") },
    }
}

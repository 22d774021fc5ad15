//! The data folder of a server: who holds it, and where the server is found.
//!
//! `server.lock` is locked for as long as a server lives, however it ends, and says who it is. `server.json` holds its
//! URL and its local key, for its owner's eyes alone, and goes when the server does.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use threadkeep::{Timestamp, private};
use threadkeep_calls::{ErrorCode, Problem, Status};

const LOCK_FILE: &str = "server.lock";
const SERVER_FILE: &str = "server.json";

/// Who holds a folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Holder {
    pid: u32,
    since: Timestamp,
    url: String,
}

/// The address of a server, and the key to it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<&'a str>,
    pid: u32,
}

/// A data folder that this process holds.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    lock: File,
}

fn cannot(path: &Path, error: &io::Error) -> Problem {
    let detail = format!("the data folder {} cannot be used: {error}", path.display());
    Problem::new(Status::Unavailable, ErrorCode::CannotWrite, detail)
}

impl Folder {
    /// Takes the folder, and makes it if it is not there.
    ///
    /// # Errors
    /// If another server holds it: which one, and since when.
    pub(crate) fn take(path: &Path) -> Result<Self, Problem> {
        let failed = |error: io::Error| cannot(path, &error);
        private::make_folder(path).map_err(failed)?;
        let path = path.canonicalize().map_err(failed)?;
        let file = path.join(LOCK_FILE);
        let mut lock = private::file().read(true).create(true).truncate(false).open(file).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let said = lock.read_to_string(&mut text).ok().and_then(|_| serde_json::from_str::<Holder>(&text).ok());
                let who = said.map_or_else(
                    || "another server, which is just starting".to_owned(),
                    |holder| format!("the server with pid {}, since {}, at {}", holder.pid, holder.since, holder.url),
                );
                let detail = format!("the data folder {} is held by {who}", path.display());
                let problem = Problem::new(Status::Conflict, ErrorCode::ServerRunning, detail);
                return Err(problem.hint("use that server, stop it, or name another folder with --data"));
            }
            Err(TryLockError::Error(error)) => return Err(cannot(&path, &error)),
        }
        // The content of the last holder is out of date.
        lock.set_len(0).map_err(|error| cannot(&path, &error))?;
        Ok(Self { path, lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Says where the server is found.
    pub(crate) fn tell(&mut self, url: &str, api_key: Option<&str>, since: Timestamp) -> Result<(), Problem> {
        let pid = std::process::id();
        let holder = Holder { pid, since, url: url.to_owned() };
        let told =
            self.tell_lock(&holder).and_then(|()| write_private(&self.server_file(), &Found { url, api_key, pid }));
        told.map_err(|error| cannot(&self.path, &error))
    }

    fn tell_lock(&mut self, holder: &Holder) -> io::Result<()> {
        self.lock.set_len(0)?;
        self.lock.rewind()?;
        self.lock.write_all(&serde_json::to_vec(holder)?)
    }

    fn server_file(&self) -> PathBuf {
        self.path.join(SERVER_FILE)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it cannot be removed, it is out of date, and the next server replaces it.
        drop(std::fs::remove_file(self.server_file()));
        drop(self.lock.set_len(0));
    }
}

/// Writes a file that only its owner reads, whole or not at all.
fn write_private(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let unfinished = path.with_extension("json.part");
    let mut file = private::new_file(&unfinished)?;
    let mut json = serde_json::to_vec(value)?;
    json.push(b'\n');
    file.write_all(&json)?;
    std::fs::rename(&unfinished, path)
}

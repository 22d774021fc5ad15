//! A built store of one size: where it is, its server, and commands on it.
//!
//! A kept store is never opened again: each run measures a copy of it. So runs do not disturb each other, and a
//! program that brings tables up to date leaves the kept ones to older programs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::build::build;
use super::generate::EDITION;
use super::sizes::{Effort, Sizes};
use crate::Result;
use crate::bench::{Bench, Place, Room};
use crate::http::client::Target;
use crate::http::serving::{Home, Serving};
use crate::meter::process;

/// The file of a store in a data folder.
const STORE_FILE: &str = "threadkeep.db";
/// How often the memory of a command is read.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A store of one size.
pub(super) struct Site {
    /// For the data folder of a store that is elsewhere, and for the files that commands write.
    aside: TempDir,
    /// Dropped before the runtime of the bench, which it needs to drop a schema.
    room: Room,
    pub(super) bench: Bench,
    pub(super) sizes: Sizes,
    pub(super) effort: Effort,
    /// How many times the small store the large one is.
    pub(super) part: f64,
    /// The size of the store before any row has changed it.
    pub(super) built_bytes: u64,
    /// For requests. The library has a runtime without sockets, as a program that embeds it may have.
    pub(super) net: Runtime,
    program: PathBuf,
    folder: PathBuf,
}

/// A command that has ended.
pub(super) struct Ran {
    pub(super) took: Duration,
    /// The most memory that was resident, in bytes.
    pub(super) peak: u64,
    pub(super) succeeded: bool,
    pub(super) stdout: String,
    stderr: String,
}

impl Ran {
    /// The same, if the command succeeded.
    pub(super) fn well(self, what: &str) -> Result<Self> {
        if self.succeeded {
            return Ok(self);
        }
        Err(format!("`threadkeep {what}` failed: {}{}", self.stderr.trim(), self.stdout.trim()).into())
    }
}

impl Site {
    /// Builds the store, or copies it from `keep`, where it is kept under a name of its own.
    pub(super) fn prepare(bench: Bench, program: &Path, sizes: Sizes, part: f64, keep: Option<&Path>) -> Result<Self> {
        let room = bench.room()?;
        let aside = match &room {
            Room::Folder(folder) => tempfile::tempdir_in(folder.path())?,
            Room::Schema(_) => tempfile::tempdir()?,
        };
        let folder = aside.path().join("data");
        std::fs::create_dir(&folder)?;
        let net = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let effort = Effort::of(bench.quick);
        let program = program.to_owned();
        let mut site = Self { bench, sizes, effort, part, built_bytes: 0, net, program, folder, room, aside };
        match keep {
            None => site.build_in(&site.folder)?,
            Some(keep) => {
                let kept =
                    keep.join(format!("edition-{EDITION}-{}-threads-{}-messages", sizes.threads, sizes.messages));
                if !kept.is_dir() {
                    let unfinished = kept.with_extension("part");
                    if unfinished.is_dir() {
                        std::fs::remove_dir_all(&unfinished)?;
                    }
                    std::fs::create_dir_all(&unfinished)
                        .map_err(|error| format!("{} cannot be made: {error}", unfinished.display()))?;
                    site.build_in(&unfinished)?;
                    std::fs::rename(&unfinished, &kept)?;
                }
                copy_files(&kept, &site.folder)?;
                // The program may be newer than the kept index.
                site.index(&site.folder)?;
            }
        }
        site.room.settle()?;
        site.built_bytes = site.bytes()?;
        Ok(site)
    }

    fn build_in(&self, folder: &Path) -> Result<()> {
        let place = self.place_in(folder);
        build(&self.bench, &place, &self.sizes)?;
        self.index(folder)
    }

    /// Brings the search index up to the log.
    fn index(&self, folder: &Path) -> Result<()> {
        self.run_in(folder, &["index", "backfill"])?.well("index backfill").map(drop)
    }

    fn place_in(&self, folder: &Path) -> Place {
        match &self.room {
            Room::Folder(_) => Place::File(folder.join(STORE_FILE)),
            Room::Schema(_) => self.room.place(STORE_FILE),
        }
    }

    /// Where the store is, for a program that embeds the library.
    pub(super) fn place(&self) -> Place {
        self.place_in(&self.folder)
    }

    /// A place for stores beside it.
    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    /// A path for the output of a command.
    pub(super) fn aside(&self, name: &str) -> PathBuf {
        self.aside.path().join(name)
    }

    /// The size of the store.
    pub(super) fn bytes(&self) -> Result<u64> {
        self.place().bytes()
    }

    fn url(&self) -> Option<String> {
        match &self.room {
            Room::Folder(_) => None,
            Room::Schema(_) => Some(self.room.url()),
        }
    }

    /// Starts a server on the store. Its local key acts for the account that owns all threads.
    pub(super) fn serve(&self) -> Result<(Serving, Target)> {
        let serving = Home::new(&self.program, self.folder.clone(), self.url().as_deref()).serve(0)?;
        let target = Target { address: serving.address, key: serving.key.clone() };
        Ok((serving, target))
    }

    /// Runs a command on the store, or on the server that runs on it.
    pub(super) fn run(&self, args: &[&str]) -> Result<Ran> {
        self.run_in(&self.folder, args)
    }

    /// Runs a command on another data folder.
    pub(super) fn run_in(&self, folder: &Path, args: &[&str]) -> Result<Ran> {
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| self.aside(name));
        let mut command = Command::new(&self.program);
        command.args(args).env("THREADKEEP_DATA", folder);
        // Not as an argument, which others can read: it may hold a password.
        match self.url() {
            Some(url) => command.env("THREADKEEP_STORE", url),
            None => command.env_remove("THREADKEEP_STORE"),
        };
        command.stdin(Stdio::null()).stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        let begun = Instant::now();
        let mut child = command.spawn()?;
        let mut peak = 0;
        // The kernel's own record of a child's peak begins with the memory of its parent, so it is read from outside.
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            // It may end in between, and has no memory then.
            peak = process::memory_of(child.id(), "VmHWM:").unwrap_or(peak);
            std::thread::sleep(LOOK_EVERY);
        };
        let took = begun.elapsed();
        let (stdout, stderr) = (std::fs::read_to_string(stdout)?, std::fs::read_to_string(stderr)?);
        Ok(Ran { took, peak, succeeded: status.success(), stdout, stderr })
    }
}

/// Copies all files of a folder.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

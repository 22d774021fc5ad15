//! Where PostgreSQL's programs are, whom they run as, and how one is run.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Error;

const VERSION_MIN: u32 = 15;
const DEBIAN: &str = "/usr/lib/postgresql";

/// The programs of one version, and the user they run as.
#[derive(Debug)]
pub(crate) struct Installation {
    programs: PathBuf,
    /// `None` is the caller. The server refuses to run as root, for whom it runs as `postgres`.
    user: Option<User>,
}

#[derive(Debug, Clone, Copy)]
struct User {
    uid: u32,
    gid: u32,
}

impl Installation {
    /// The newest of Debian's versions, else the first on the path.
    pub(crate) fn find() -> Result<Installation, Error> {
        let programs = newest_of_debian().or_else(first_on_path).ok_or_else(|| {
            Error::new(format!(
                "no PostgreSQL {VERSION_MIN} or later in {DEBIAN}/*/bin, nor initdb and pg_ctl on the path"
            ))
        })?;
        let user = match id(&["-u"])? {
            0 => Some(User { uid: id(&["-u", "postgres"])?, gid: id(&["-g", "postgres"])? }),
            _ => None,
        };
        Ok(Installation { programs, user })
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// A command that runs as the server's user and knows nothing of the caller's environment: a `PGDATA`, `PGPORT` or
    /// `PGOPTIONS` would lead it to another server.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        // The caller's working folder may be closed to the server's user. TZ spares initdb the search for a time zone.
        command.env_clear().env("LC_ALL", "C").env("TZ", "UTC").current_dir("/").stdin(Stdio::null());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        if let Some(User { uid, gid }) = self.user {
            // Setting the user as root also clears the supplementary groups.
            command.uid(uid).gid(gid);
        }
        command
    }

    /// The folder for folders that the server's user can enter, and can remove its own from.
    pub(crate) fn temporary_folder(&self) -> PathBuf {
        match self.user {
            // Root's TMPDIR may be root's alone.
            Some(_) => PathBuf::from("/tmp"),
            None => std::env::temp_dir(),
        }
    }

    /// Makes `path` belong to the server's user.
    pub(crate) fn give(&self, path: &Path) -> Result<(), Error> {
        let Some(User { uid, gid }) = self.user else { return Ok(()) };
        std::os::unix::fs::chown(path, Some(uid), Some(gid))
            .map_err(|error| Error::because(format_args!("giving {} to user {uid}", path.display()), &error))
    }
}

/// Runs `command` to its end and gives its output; a failure says what was run, its exit and what it wrote.
pub(crate) fn run(command: &mut Command) -> Result<String, Error> {
    let shown = std::iter::once(command.get_program()).chain(command.get_args());
    let shown = shown.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ");
    let output = command.output().map_err(|error| Error::because(format_args!("running `{shown}`"), &error))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(format!("`{shown}` failed with {}\n{}\n{}", output.status, text.trim_end(), stderr.trim_end())))
}

fn newest_of_debian() -> Option<PathBuf> {
    let versions = std::fs::read_dir(DEBIAN).ok()?.filter_map(Result::ok);
    versions
        .filter_map(|folder| Some((folder.file_name().to_str()?.parse::<u32>().ok()?, folder.path().join("bin"))))
        .filter(|(version, programs)| *version >= VERSION_MIN && is_complete(programs))
        .max_by_key(|(version, _)| *version)
        .map(|(_, programs)| programs)
}

fn first_on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find(|programs| {
        is_complete(programs) && version(&programs.join("initdb")).is_some_and(|version| version >= VERSION_MIN)
    })
}

fn is_complete(programs: &Path) -> bool {
    ["initdb", "pg_ctl", "postgres"].iter().all(|program| programs.join(program).is_file())
}

/// The major version, from a line like `initdb (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`.
fn version(program: &Path) -> Option<u32> {
    let line = run(Command::new(program).arg("--version")).ok()?;
    let number = line.split(' ').nth(2)?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn id(arguments: &[&str]) -> Result<u32, Error> {
    let output = run(Command::new("id").args(arguments))?;
    output.trim().parse().map_err(|error| Error::because(format_args!("`id` answered {output:?}"), &error))
}

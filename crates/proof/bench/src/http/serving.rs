//! The real server, as a child: how it is started and stopped, and its cost.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Result;
use crate::meter::process::{self, Signal};

/// The name of the program that is measured.
const PROGRAM: &str = "threadkeep";
/// How long a server may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the server's start and end are checked for.
const LOOK_EVERY: Duration = Duration::from_micros(500);

/// The `threadkeep` to measure: the one that was named, or the one beside this program.
pub(crate) fn program(named: Option<&Path>) -> Result<PathBuf> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?.with_file_name(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX)),
    };
    if path.is_file() {
        return Ok(path);
    }
    let path = path.display();
    Err(format!("there is no {path} to measure: run `cargo build --release` first, or name one with --threadkeep PATH")
        .into())
}

/// The place of a server's data.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    program: PathBuf,
    folder: PathBuf,
    /// A store elsewhere, by its URL, which may hold a password.
    store: Option<String>,
}

impl Home {
    /// A data folder, and the URL of its store if that is elsewhere.
    pub(crate) fn new(program: &Path, folder: PathBuf, store: Option<&str>) -> Self {
        Self { program: program.to_owned(), folder, store: store.map(str::to_owned) }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a server that listens on `port`; 0 is any that is free.
    pub(crate) fn spawn(&self, port: u16) -> Result<Spawned> {
        std::fs::create_dir_all(&self.folder)?;
        let log = self.folder.with_extension("log");
        let mut command = Command::new(&self.program);
        command.args(["serve", "--json", "--listen", &format!("127.0.0.1:{port}")]);
        // Not as arguments, which others can read: a store's URL may hold a password.
        command.env_remove("THREADKEEP_LISTEN").env("THREADKEEP_DATA", &self.folder);
        match &self.store {
            Some(url) => command.env("THREADKEEP_STORE", url),
            None => command.env_remove("THREADKEEP_STORE"),
        };
        // Where its log usually goes: to a file.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        let begun = Instant::now();
        let child = command.spawn().map_err(|error| format!("{} cannot be run: {error}", self.program.display()))?;
        Ok(Spawned { child, begun, log })
    }

    /// Starts a server, and waits until it says that it is ready.
    pub(crate) fn serve(&self, port: u16) -> Result<Serving> {
        self.spawn(port)?.ready()
    }
}

/// A server that was started. It ends, at the latest, when this is dropped.
pub(crate) struct Spawned {
    child: Child,
    begun: Instant,
    log: PathBuf,
}

impl Spawned {
    /// How long ago it was started.
    pub(crate) fn since(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(crate) fn ready(mut self) -> Result<Serving> {
        let mut line = String::new();
        if let Some(stdout) = self.child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let said = |name: &str| {
            let ready: Value = serde_json::from_str(&line).ok()?;
            Some(ready.get(name)?.as_str()?.to_owned())
        };
        let address = said("url").and_then(|url| url.strip_prefix("http://")?.parse().ok());
        match (address, said("apiKey")) {
            (Some(address), Some(key)) => Ok(Serving { spawned: self, address, key }),
            _ => Err(self.explain("the server did not start")),
        }
    }

    /// An error, with the server's last output.
    fn explain(&self, what: &str) -> crate::Error {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last = log.lines().last().unwrap_or("and it said nothing");
        format!("{what}: {last}").into()
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A server that answers.
pub(crate) struct Serving {
    spawned: Spawned,
    pub(crate) address: SocketAddr,
    /// Its local key, which is another one after each start.
    pub(crate) key: String,
}

impl Serving {
    /// User and system time so far.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        Ok(process::cpu_of(self.spawned.child.id())?)
    }

    /// Resident memory: now, and at its peak, in bytes.
    pub(crate) fn memory(&self) -> Result<(u64, u64)> {
        let id = self.spawned.child.id();
        Ok((process::memory_of(id, "VmRSS:")?, process::memory_of(id, "VmHWM:")?))
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(mut self) -> Result<()> {
        let child = &mut self.spawned.child;
        process::signal(child.id(), Signal::Terminate)?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = child.try_wait()? {
                return if status.success() {
                    Ok(())
                } else {
                    Err(self.spawned.explain("the server did not end well"))
                };
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Err(self.spawned.explain("the server does not stop"))
    }

    /// Ends the server with `kill -9`.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.spawned.child.kill()?;
        self.spawned.child.wait()?;
        Ok(())
    }
}

/// A port that is free at this moment.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Waits until `holds`, and says how long after `spawned` that was.
pub(crate) fn until(spawned: &Spawned, mut holds: impl FnMut() -> bool) -> Result<Duration> {
    while !holds() {
        if spawned.since() > PATIENCE {
            return Err(spawned.explain("the server did not start in time"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(spawned.since())
}

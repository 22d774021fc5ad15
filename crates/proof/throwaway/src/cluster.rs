//! One PostgreSQL server in a temporary folder, and the watchdog that clears both away. `standby` makes a second one that
//! follows it.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::installation::{Installation, run};
use crate::{Error, random_hex, random_port};

pub(crate) const SUPERUSER: &str = "threadkeep";

const PORTS_TRIED_MAX: usize = 20;

/// Durable against a crash of the server, which is what tests see, and not against a power cut, which is slow. A socket
/// in the data folder itself, as `.`, is never too long a path.
const SETTINGS: &str = "
fsync = off
full_page_writes = off
max_connections = 200
shared_buffers = 64MB
listen_addresses = '127.0.0.1'
unix_socket_directories = '.'
logging_collector = off
dynamic_shared_memory_type = mmap
";

/// A private PostgreSQL server on 127.0.0.1, with a superuser and a password. Dropping it stops the server and removes
/// its folder; so does every end of this process.
#[derive(Debug)]
pub struct Cluster {
    pub(crate) installation: Installation,
    folder: PathBuf,
    pub(crate) port: u16,
    pub(crate) password: String,
    watchdog: Watchdog,
}

impl Cluster {
    /// Makes a cluster and starts it. It accepts connections once this returns.
    ///
    /// # Errors
    /// If PostgreSQL is missing, or one of its programs fails: the command, its exit, its stderr and the log of the
    /// server.
    pub fn start() -> Result<Cluster, Error> {
        Self::start_from(random_hex::<16>(), Self::init)
    }

    /// Makes the data of a cluster with `fill`, and starts it.
    pub(crate) fn start_from(password: String, fill: impl FnOnce(&Self) -> Result<(), Error>) -> Result<Self, Error> {
        let installation = Installation::find()?;
        let failed = |error: std::io::Error| Error::because("making a folder for PostgreSQL", &error);
        let folder = tempfile::Builder::new().prefix("threadkeep-").tempdir_in(installation.temporary_folder());
        let folder = folder.map_err(failed)?;
        installation.give(folder.path())?;
        let watchdog = Watchdog::over(&installation, folder.path())?;
        let folder = folder.keep();

        let mut cluster = Cluster { installation, folder, port: 0, password, watchdog };
        fill(&cluster)?;
        let mut tried = 0;
        loop {
            cluster.port = random_port();
            tried += 1;
            match cluster.launch() {
                Err(_) if tried < PORTS_TRIED_MAX && cluster.port_was_taken() => {}
                outcome => return outcome.map(|()| cluster),
            }
        }
    }

    /// `postgres://threadkeep:PASSWORD@127.0.0.1:PORT/postgres`, the same after a restart.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://{SUPERUSER}:{}@127.0.0.1:{}/postgres", self.password, self.port)
    }

    /// Stops the server as a crash does: connections break, nothing is flushed, and the next start recovers from the
    /// log. The server is gone once this returns.
    ///
    /// # Errors
    /// If it was not running, or did not stop.
    pub fn crash(&self) -> Result<(), Error> {
        run(self.pg_ctl("stop")?.args(["--mode=immediate", "--wait"])).map(drop)
    }

    /// Ends every process of the server with `SIGKILL`, as the end of its machine does: it has no time for a last word. It
    /// is gone once this returns.
    ///
    /// # Errors
    /// If it is not running.
    pub fn kill(&self) -> Result<(), Error> {
        let hung = self.hang()?;
        hung.signal("-KILL")?;
        let file = self.data().join("postmaster.pid");
        // The seventh line names the segment of shared memory, which outlives its server.
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if let Some(segment) = text.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)) {
            drop(self.installation.command("ipcrm").args(["-m", segment]).stderr(Stdio::null()).status());
        }
        std::fs::remove_file(&file).map_err(|error| Error::because(format_args!("removing {}", file.display()), &error))
    }

    /// Starts the server again after a [`crash`](Cluster::crash), on the same port. It accepts connections once this
    /// returns.
    ///
    /// # Errors
    /// If it does not start, with the server's log.
    pub fn restart(&self) -> Result<(), Error> {
        self.launch()
    }

    /// Stops every process of the server where it is, as a machine that hangs does: connections stay open, and nothing is
    /// answered. It goes on when the result is dropped.
    ///
    /// # Errors
    /// If it is not running.
    pub fn hang(&self) -> Result<Hung, Error> {
        let file = self.data().join("postmaster.pid");
        let text = std::fs::read_to_string(&file)
            .map_err(|error| Error::because(format_args!("reading {}", file.display()), &error))?;
        let pid = text.lines().next().unwrap_or_default().trim().to_owned();
        let mut hung = Hung { processes: vec![pid.clone()] };
        // First the one that starts the others.
        hung.signal("-STOP")?;
        hung.processes.extend(children(&pid));
        hung.signal("-STOP")?;
        Ok(hung)
    }

    fn init(&self) -> Result<(), Error> {
        let password_file = self.folder.join("password");
        write(&password_file, &self.password)?;
        self.installation.give(&password_file)?;
        run(self
            .command("initdb")?
            .arg("--pgdata")
            .arg(self.data())
            .arg("--pwfile")
            .arg(&password_file)
            .args(["--username", SUPERUSER, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"])
            .args(["--no-sync", "--no-instructions"]))?;
        let settings = self.data().join("postgresql.conf");
        let defaults = std::fs::read_to_string(&settings)
            .map_err(|error| Error::because(format_args!("reading {}", settings.display()), &error))?;
        write(&settings, &(defaults + SETTINGS))
    }

    fn launch(&self) -> Result<(), Error> {
        let _ = std::fs::remove_file(self.log());
        run(self.pg_ctl("start")?.arg("--wait").arg("--log").arg(self.log()).args(["-o", &format!("-p {}", self.port)]))
            .map(drop)
            .map_err(|error| Error::new(format!("{error}\nThe server's log:\n{}", self.logged())))
    }

    fn port_was_taken(&self) -> bool {
        self.logged().contains("could not create any TCP/IP sockets")
    }

    fn logged(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap_or_else(|error| format!("({}: {error})", self.log().display()))
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    pub(crate) fn pg_ctl(&self, action: &str) -> Result<Command, Error> {
        let mut command = self.command("pg_ctl")?;
        command.arg(action).arg("--pgdata").arg(self.data());
        Ok(command)
    }

    /// Invariant: the watchdog waits for every program that works in the folder, because each holds the pipe too. Else
    /// a server could start after the watchdog looked for one. The server itself reads from /dev/null and does not hold
    /// it.
    pub(crate) fn command(&self, program: &str) -> Result<Command, Error> {
        let mut command = self.installation.command(self.installation.program(program));
        command.stdin(self.watchdog.leash()?);
        Ok(command)
    }
}

/// A server that hangs, until this is dropped. See [`Cluster::hang`].
#[derive(Debug)]
pub struct Hung {
    processes: Vec<String>,
}

impl Hung {
    fn signal(&self, signal: &str) -> Result<(), Error> {
        // A process may have ended meanwhile, so only the first one has to be there.
        let sent = Command::new("kill").arg(signal).args(&self.processes).stderr(Stdio::null()).status();
        sent.map(drop).map_err(|error| Error::because("running kill", &error))
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        if let Err(error) = self.signal("-CONT") {
            eprintln!("a PostgreSQL server hangs for ever: {error}");
        }
    }
}

/// The processes that a process started.
fn children(parent: &str) -> Vec<String> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let is_child = |pid: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // After the name, which is in brackets and may hold anything: the state, then the parent.
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)) == Some(parent)
    };
    let names = processes.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter(is_child).collect()
}

/// A shell that waits for the end of its input, which comes when the last holder of the pipe's other end is gone; then
/// it stops the server and removes the folder.
#[derive(Debug)]
struct Watchdog {
    shell: Child,
    /// `None` only while dropping.
    pipe: Option<ChildStdin>,
}

impl Watchdog {
    fn over(installation: &Installation, folder: &Path) -> Result<Watchdog, Error> {
        const SCRIPT: &str = r#"
            trap '' HUP INT TERM
            read -r end
            if [ -e "$2/data/postmaster.pid" ]; then
                kill -CONT "$(head -n 1 "$2/data/postmaster.pid")"
                "$1" stop --pgdata "$2/data" --mode=immediate --wait
            fi
            rm -rf "$2"
        "#;
        let mut command = installation.command("/bin/sh");
        command.arg("-c").arg(SCRIPT).arg("watchdog").arg(installation.program("pg_ctl")).arg(folder);
        // A process group of its own: Ctrl-C on the terminal ends the tests and not the watchdog. And no output, or
        // readers of the tests' output would wait for the end of the watchdog.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell =
            command.spawn().map_err(|error| Error::because("starting the watchdog with /bin/sh", &error))?;
        let pipe = shell.stdin.take();
        Ok(Watchdog { shell, pipe })
    }

    /// One more holder of the pipe.
    fn leash(&self) -> Result<Stdio, Error> {
        let pipe = self.pipe.as_ref().expect("the pipe is open until the watchdog is dropped");
        let copy: OwnedFd = pipe
            .as_fd()
            .try_clone_to_owned()
            .map_err(|error| Error::because("copying the pipe to the watchdog", &error))?;
        Ok(Stdio::from(copy))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.pipe = None;
        if let Err(error) = self.shell.wait() {
            eprintln!("waiting for the watchdog of a PostgreSQL server: {error}");
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|error| Error::because(format_args!("writing {}", path.display()), &error))
}

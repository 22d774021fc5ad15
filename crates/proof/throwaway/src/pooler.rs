//! A connection pooler in front of a PostgreSQL server: PgBouncer, from Debian's package `pgbouncer`.

use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{Error, random_port};

/// How long it may take until it listens.
const START_MAX: Duration = Duration::from_secs(30);
const PORTS_TRIED_MAX: usize = 20;

/// Starts the pooler, and kills it when the pipe ends. It refuses to run as root.
const SCRIPT: &str = r#"
    trap '' HUP INT TERM
    if [ "$(id -u)" = 0 ]; then set -- --user postgres "$@"; fi
    PATH="$PATH:/usr/sbin" pgbouncer --quiet "$@" </dev/null &
    read -r end
    kill -KILL $!
    wait
"#;

/// A PgBouncer in transaction mode on 127.0.0.1. Dropping it stops it; so does every end of this process.
#[derive(Debug)]
pub struct Pooler {
    _folder: TempDir,
    user: String,
    port: u16,
    path: String,
    shell: Option<Child>,
}

impl Pooler {
    /// Starts a pooler in front of the server at `url`, with these lines among its settings. It listens once this returns.
    ///
    /// # Errors
    /// If PgBouncer is missing (apt-get install pgbouncer), or does not start.
    pub fn start(url: &str, more: &str) -> Result<Self, Error> {
        let parts = || -> Option<(&str, &str, &str)> {
            let (login, place) = url.strip_prefix("postgres://")?.split_once('@')?;
            let (address, path) = place.split_once('/')?;
            Some((login, address, path))
        };
        let (login, address, path) = parts().ok_or_else(|| Error::new("the server has no plain URL".to_owned()))?;
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, to) = address.split_once(':').unwrap_or((address, "5432"));
        let failed = |error: std::io::Error| Error::because("writing the settings of PgBouncer", &error);
        let folder = tempfile::Builder::new().prefix("threadkeep-").tempdir_in("/tmp").map_err(failed)?;
        // Its user is another one than ours if we are root.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
        let users = folder.path().join("users");
        std::fs::write(&users, format!("\"{user}\" \"{password}\"\n")).map_err(failed)?;
        let settings = folder.path().join("settings");
        let mut pooler = Self { _folder: folder, user: login.to_owned(), port: 0, path: path.to_owned(), shell: None };
        let mut tried = 0;
        loop {
            pooler.port = random_port();
            tried += 1;
            let text = format!(
                "[databases]\n* = host={host} port={to}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {}\n\
                 unix_socket_dir =\nauth_type = plain\nauth_file = {}\npool_mode = transaction\n{more}\n",
                pooler.port,
                users.display()
            );
            std::fs::write(&settings, text).map_err(failed)?;
            let mut command = Command::new("/bin/sh");
            command.args(["-c", SCRIPT, "watchdog"]).arg(&settings).process_group(0).stdin(Stdio::piped());
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let shell = command.spawn().map_err(|error| Error::because("starting PgBouncer with /bin/sh", &error))?;
            pooler.shell = Some(shell);
            match pooler.wait() {
                Err(_) if tried < PORTS_TRIED_MAX && tried * 2 < PORTS_TRIED_MAX => pooler.stop(),
                outcome => return outcome.map(|()| pooler),
            }
        }
    }

    fn wait(&self) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            match TcpStream::connect(("127.0.0.1", self.port)) {
                Ok(_) => return Ok(()),
                Err(error) if began.elapsed() > START_MAX => return Err(Error::because("reaching PgBouncer", &error)),
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// The URL of the same database, through the pooler.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://{}@127.0.0.1:{}/{}", self.user, self.port, self.path)
    }

    fn stop(&mut self) {
        if let Some(mut shell) = self.shell.take() {
            drop(shell.stdin.take());
            if let Err(error) = shell.wait() {
                eprintln!("waiting for the watchdog of a PgBouncer: {error}");
            }
        }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.stop();
    }
}

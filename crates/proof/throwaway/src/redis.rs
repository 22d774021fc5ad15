//! One Redis server in a temporary folder, from Debian's package `redis-server` or from the path.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{Error, random_hex, random_port};

/// How long a server may take to answer for the first time.
const START_MAX: Duration = Duration::from_secs(30);
/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(10);
const PORTS_TRIED_MAX: usize = 20;
/// Files for encrypted connections.
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";

/// Starts the server, and kills it when the pipe ends: with the owner of this, or with the whole test process.
const SCRIPT: &str = r#"
    trap '' HUP INT TERM
    redis-server "$@" </dev/null &
    read -r end
    kill -CONT $! 2>/dev/null
    kill -KILL $!
    wait
"#;

/// A private Redis server on 127.0.0.1, with a password, which keeps nothing on disk. Dropping it stops the server; so does
/// every end of this process.
#[derive(Debug)]
pub struct RedisServer {
    folder: TempDir,
    port: u16,
    /// The port for encrypted connections, if it has a certificate.
    tls_port: Option<u16>,
    password: String,
    shell: Option<Child>,
}

impl RedisServer {
    /// Starts a server. It answers once this returns.
    ///
    /// # Errors
    /// If Redis is missing (apt-get install redis-server), or does not answer.
    pub fn start() -> Result<Self, Error> {
        Self::start_with(None)
    }

    /// Starts a server that also takes encrypted connections, with this certificate and its key as PEM. See
    /// [`tls_url`](Self::tls_url).
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_encrypted(certificate: &str, key: &str) -> Result<Self, Error> {
        Self::start_with(Some((certificate, key)))
    }

    fn start_with(tls: Option<(&str, &str)>) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::because("making a folder for Redis", &error);
        let folder = tempfile::Builder::new().prefix("threadkeep-").tempdir().map_err(failed)?;
        if let Some((certificate, key)) = tls {
            std::fs::write(folder.path().join(CERTIFICATE), certificate).map_err(failed)?;
            std::fs::write(folder.path().join(KEY), key).map_err(failed)?;
        }
        let mut server = Self { folder, port: 0, tls_port: None, password: random_hex::<16>(), shell: None };
        let mut tried = 0;
        loop {
            server.port = random_port();
            server.tls_port = tls.map(|_| random_port());
            tried += 1;
            // Another program may have the port.
            match server.restart() {
                Err(_) if tried < PORTS_TRIED_MAX => server.stop(),
                outcome => return outcome.map(|()| server),
            }
        }
    }

    /// `redis://:PASSWORD@127.0.0.1:PORT`, the same after a restart.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}", self.password, self.port)
    }

    /// `rediss://:PASSWORD@127.0.0.1:PORT`, for encrypted connections.
    ///
    /// # Panics
    /// If it was started without a certificate.
    #[must_use]
    pub fn tls_url(&self) -> String {
        let port = self.tls_port.expect("it was started with a certificate");
        format!("rediss://:{}@127.0.0.1:{port}", self.password)
    }

    /// The file with its certificate.
    #[must_use]
    pub fn certificate(&self) -> std::path::PathBuf {
        self.folder.path().join(CERTIFICATE)
    }

    /// Stops the server as a crash does. All that it had is gone.
    pub fn stop(&mut self) {
        if let Some(mut shell) = self.shell.take() {
            drop(shell.stdin.take());
            if let Err(error) = shell.wait() {
                eprintln!("waiting for the watchdog of a Redis server: {error}");
            }
        }
    }

    /// Starts the server again after [`stop`](Self::stop), on the same port and empty. It answers once this returns.
    ///
    /// # Errors
    /// If it does not start.
    pub fn restart(&mut self) -> Result<(), Error> {
        let port = self.port.to_string();
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "watchdog", "--port", &port, "--bind", "127.0.0.1", "--requirepass", &self.password])
            .args(["--save", "", "--appendonly", "no", "--dir"])
            .arg(self.folder.path())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(port) = self.tls_port {
            command.args(["--tls-port", &port.to_string(), "--tls-auth-clients", "no"]);
            for (option, file) in [("cert", CERTIFICATE), ("key", KEY), ("ca-cert", CERTIFICATE)] {
                command.arg(format!("--tls-{option}-file")).arg(self.folder.path().join(file));
            }
        }
        let shell = command.spawn().map_err(|error| Error::because("starting Redis with /bin/sh", &error))?;
        self.shell = Some(shell);
        let began = Instant::now();
        loop {
            match self.ask("PING") {
                Ok(answer) if answer.starts_with("+PONG") => return Ok(()),
                Ok(answer) => return Err(Error::new(format!("Redis answers {answer}"))),
                Err(error) if began.elapsed() > START_MAX => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Sends a command, such as `FLUSHALL` or `TTL key`, and gives the answer as it came.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn ask(&self, command: &str) -> Result<String, Error> {
        let failed = |error: std::io::Error| Error::because(format_args!("asking Redis for {command}"), &error);
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).map_err(failed)?;
        socket.set_read_timeout(Some(ANSWER_MAX)).map_err(failed)?;
        let text = format!("AUTH {}\r\n{command}\r\nQUIT\r\n", self.password);
        socket.write_all(text.as_bytes()).map_err(failed)?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).map_err(failed)?;
        let of_command = answer.strip_prefix("+OK\r\n").and_then(|rest| rest.strip_suffix("+OK\r\n"));
        of_command.map(str::to_owned).ok_or_else(|| Error::new(format!("Redis answers {answer:?}")))
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.stop();
    }
}

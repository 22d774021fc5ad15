//! One helper that knows the command line: a store in a folder of its own, and ways to run the binary on it.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// How long anything may take before a test gives up on it.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A store in a folder of its own, and the server on it, where stories are told by a server.
pub struct Keep {
    folder: TempDir,
    store: PathBuf,
    server: Option<Mutex<Running>>,
}

thread_local! {
    static SERVED: Cell<bool> = const { Cell::new(false) };
}

/// Tells a story while a server runs on the data folder of each of its stores.
pub fn served(story: fn()) {
    SERVED.set(true);
    story();
    SERVED.set(false);
}

/// How a command ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        }
    }
}

impl Ran {
    /// Its output, if all went well.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout.trim_end().to_owned()
    }

    /// Refused with this exit code, nothing on stdout, and stderr that says all of `words`.
    #[track_caller]
    pub fn refused(self, code: i32, words: &[&str]) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "a refusal prints no data: {self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "'{word}' is not said: {self:?}");
        }
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        self.stderr
    }
}

/// The binary, with a clean environment.
pub fn threadkeep() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_threadkeep"));
    let names = ["STORE", "DATA", "OBJECTS", "SERVER", "KEY", "STREAMS"].map(|name| format!("THREADKEEP_{name}"));
    for name in names.iter().map(String::as_str).chain(["FAILPOINTS", "PGPASSWORD", "PGUSER"]) {
        command.env_remove(name);
    }
    // No model of the machine on which the tests run is asked.
    for name in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"] {
        command.env_remove(name);
    }
    command.env("THREADKEEP_OLLAMA_PORT", "0").env("THREADKEEP_LLAMA_CPP_PORT", "0");
    command
}

impl Keep {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        if SERVED.get() {
            return Self::served_in(folder);
        }
        let store = folder.path().join("keep.db");
        Self { folder, store, server: None }
    }

    /// One whose commands find a server on the data folder.
    pub fn served() -> Self {
        Self::served_in(tempfile::tempdir().expect("a folder"))
    }

    fn served_in(folder: TempDir) -> Self {
        let store = folder.path().join("data").join("threadkeep.db");
        let server = Some(Mutex::new(serve(&folder.path().join("data"), "127.0.0.1:0").0));
        Self { folder, store, server }
    }

    /// The data folder of one that is served.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The server of one that is served.
    pub fn server(&mut self) -> &mut Running {
        self.server.as_mut().expect("a server").get_mut().expect("no panic")
    }

    pub fn on(url: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder, store: url.into(), server: None }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn store(&self) -> &Path {
        &self.store
    }

    /// The same folder, another store.
    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command on this store.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = threadkeep();
        command.current_dir(self.folder.path());
        match &self.server {
            Some(_) => command.arg("--data").arg(self.data()),
            None => command.arg("--store").arg(&self.store),
        };
        command.args(args);
        // No person is there to be asked.
        if matches!(args, ["rm" | "delete", ..] | ["thread", "rm" | "delete", ..]) {
            command.arg("--yes");
        }
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        run(self.command(args), b"")
    }

    pub fn run_with(&self, args: &[&str], stdin: &[u8]) -> Ran {
        run(self.command(args), stdin)
    }

    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> String {
        self.run(args).ok()
    }

    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let printed = self.run(&args).ok();
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{args:?} printed {printed}: {error}"))
    }

    /// A new thread, by its id.
    #[track_caller]
    pub fn create(&self, title: &str) -> String {
        self.ok(&["create", title])
    }

    #[track_caller]
    pub fn say(&self, thread: &str, text: &str) -> String {
        self.ok(&["say", thread, "--", text])
    }

    #[track_caller]
    pub fn version(&self, thread: &str) -> u64 {
        self.json(&["show", thread])["thread"]["v"].as_u64().expect("a version")
    }

    /// The messages of the thread: `role: text` for each, joined by ` | `.
    #[track_caller]
    pub fn conversation(&self, thread: &str) -> String {
        self.conversation_by(&["show", thread, "--all", "--include-silent", "--max-depth", "255"])
    }

    #[track_caller]
    pub fn conversation_by(&self, args: &[&str]) -> String {
        let shown = self.json(args);
        let items = shown["messages"]["items"].as_array().expect("messages").iter();
        let said = items.map(|item| {
            let (role, text) = (item["role"].as_str().expect("a role"), item["content"].as_str().unwrap_or("…"));
            format!("{role}: {text}")
        });
        said.collect::<Vec<_>>().join(" | ")
    }

    /// The ids of the messages that the thread shows.
    #[track_caller]
    pub fn message_ids(&self, thread: &str) -> Vec<String> {
        let shown = self.json(&["show", thread, "--all", "--include-silent"]);
        let items = shown["messages"]["items"].as_array().expect("messages").iter();
        items.map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
    }

    /// Everything in the store, as text: equal before and after means that nothing changed.
    #[track_caller]
    pub fn everything(&self) -> String {
        self.ok(&["export"])
    }

    /// Starts a command that is talked to while it runs.
    pub fn start(&self, args: &[&str]) -> Running {
        Running::start(self.command(args))
    }
}

impl Drop for Keep {
    /// The commands of one that is served asked the server, and did not go past it.
    fn drop(&mut self) {
        let Some(server) = self.server.take() else { return };
        if std::thread::panicking() {
            return;
        }
        let server = server.into_inner().expect("no panic");
        server.signal("TERM");
        let (_, log) = server.end();
        // Commands that look for a server greet it so.
        let is_greeting = |line: &&str| line.contains("\"path\":\"/v1/projects\"");
        let asked = log.lines().filter(|line| line.contains("\"status\":20") && !is_greeting(line)).count();
        assert!(asked > 0 || log.is_empty(), "nobody asked the server: {log}");
    }
}

/// A server on `folder`, once it answers, with what it said.
pub fn serve(folder: &Path, listen: &str) -> (Running, Value) {
    let mut command = threadkeep();
    command.args(["serve", "--json", "--listen", listen, "--data"]).arg(folder);
    let running = Running::start(command);
    let ready = running.next_json();
    (running, ready)
}

/// Runs `command` to its end, with `stdin`.
pub fn run(mut command: Command, stdin: &[u8]) -> Ran {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut input = child.stdin.take().expect("stdin");
    std::thread::scope(|scope| {
        // The child may end before it has read everything.
        scope.spawn(move || drop(input.write_all(stdin)));
        child.wait_with_output().expect("it ends").into()
    })
}

/// A command that runs, with its stdin, and its lines as they come.
pub struct Running {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Receiver<String>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let lines = lines_of(child.stdout.take().expect("stdout"));
        let errors = lines_of(child.stderr.take().expect("stderr"));
        Self { stdin: child.stdin.take(), child, lines, errors }
    }

    /// Gives it one line.
    #[track_caller]
    pub fn tell(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(format!("{line}\n").as_bytes()).expect("it reads");
    }

    /// Its next line; none once it has ended.
    #[track_caller]
    pub fn next_line(&self) -> Option<String> {
        match self.lines.recv_timeout(DEADLINE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line came in time"),
        }
    }

    /// The next line that it says on stderr; none once it has ended.
    #[track_caller]
    pub fn next_error(&self) -> Option<String> {
        match self.errors.recv_timeout(DEADLINE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("nothing was said in time"),
        }
    }

    /// The next line that it has said on stderr already, if there is one.
    pub fn said(&self) -> Option<String> {
        self.errors.try_recv().ok()
    }

    #[track_caller]
    pub fn next_json(&self) -> Value {
        let line = self.next_line().unwrap_or_else(|| panic!("it ended: {:?}", self.errors.iter().collect::<Vec<_>>()));
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// All whole lines that are still to come.
    pub fn rest(&self) -> Vec<String> {
        std::iter::from_fn(|| self.next_line()).collect()
    }

    /// Closes its stdin and waits until it ends.
    #[track_caller]
    pub fn end(mut self) -> (ExitStatus, String) {
        drop(self.stdin.take());
        let status = wait(&mut self.child);
        let errors: Vec<String> = self.errors.iter().collect();
        (status, errors.join("\n"))
    }

    /// Sends it a signal, such as `STOP`.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("sh runs").success());
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that fails leaves nothing running; one that went well has waited already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The lines of a stream as they come; a last one without a line break is no whole line, and left out.
fn lines_of(from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = String::new();
        while from.read_line(&mut line).is_ok_and(|bytes| bytes > 0) && line.ends_with('\n') {
            if send.send(line.trim_end_matches('\n').to_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    lines
}

/// A terminal of this size, made by `script`, in which commands run as a person sees them.
pub struct Terminal {
    columns: u16,
    rows: u16,
}

impl Terminal {
    pub fn new(columns: u16, rows: u16) -> Self {
        Self { columns, rows }
    }

    /// Runs `command` while `keys` are typed. All that the screen shows is its stdout, without carriage returns.
    pub fn run(&self, command: Command, keys: &str) -> Ran {
        let word = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"));
        let words: Vec<String> = std::iter::once(command.get_program()).chain(command.get_args()).map(word).collect();
        let line = format!("stty cols {} rows {} -echo; exec {}", self.columns, self.rows, words.join(" "));
        let mut script = Command::new("script");
        script.args(["-q", "-e", "-c", &line, "/dev/null"]).env("TERM", "xterm").env("SHELL", "/bin/sh");
        for name in ["COLUMNS", "LINES", "NO_COLOR", "PAGER", "LESS"] {
            script.env_remove(name);
        }
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => script.env(name, value),
                None => script.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            script.current_dir(folder);
        }
        let ran = run(script, keys.as_bytes());
        Ran { stdout: ran.stdout.replace('\r', ""), ..ran }
    }
}

/// Waits until a child ends by itself.
#[track_caller]
pub fn wait(child: &mut Child) -> ExitStatus {
    let mut status = None;
    eventually("the process ends", || {
        status = child.try_wait().expect("it can be waited for");
        status.is_some()
    });
    status.expect("it ended")
}

#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < DEADLINE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Chance by seed, so that a run can be repeated.
pub struct Chance(pub u64);

impl Chance {
    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

//! Checks of merges: the merged files in a folder of their own, and a command that the operator configured over
//! them.
//!
//! A command never comes from a request. The files it runs may come from a thread, so it gets nothing of the
//! server: no input, an environment with only the variables a shell needs, and it ends with every process it
//! started.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use threadkeep::model::{Validation, ValidationResult};
use threadkeep::{BoxFuture, Error, FilePath, MergedTree, StoreError, Validate};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

/// Bytes of a command's output that are kept, from the end.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// Commands that run at the same time; others wait for their turn.
const AT_ONCE_MAX: usize = 4;
/// How long to wait for the last output, once a command has ended.
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);
/// The variables of the server's environment that a command gets.
const ENVIRONMENT: [&str; 2] = ["PATH", "LANG"];

/// The commands that check merges, for a shell, and how long they may take.
#[derive(Debug, Clone)]
pub struct ValidationSettings {
    /// The command of `compile`; without it there is no such check.
    pub compile: Option<String>,
    /// The command of `test`; without it there is no such check.
    pub test: Option<String>,
    /// How long a command may take: 10 min.
    pub timeout: Duration,
}

impl Default for ValidationSettings {
    fn default() -> Self {
        Self { compile: None, test: None, timeout: Duration::from_secs(600) }
    }
}

/// Runs the commands of its settings.
pub(crate) struct Validator {
    settings: ValidationSettings,
    turns: Semaphore,
}

impl Validator {
    pub(crate) fn new(settings: ValidationSettings) -> Self {
        Self { settings, turns: Semaphore::new(AT_ONCE_MAX) }
    }

    async fn check(&self, what: Validation, tree: &MergedTree) -> Result<Option<ValidationResult>, Error> {
        let command = match what {
            Validation::None => None,
            Validation::Compile => self.settings.compile.as_deref(),
            Validation::Test => self.settings.test.as_deref(),
        };
        let Some(command) = command else { return Ok(None) };
        let _turn = self.turns.acquire().await.expect("nobody closes it");
        let folder = Arc::new(Folder::make().map_err(cannot)?);
        let ended = match folder.fill(tree).await? {
            Some(refused) => Ended { output: refused, ..Ended::default() },
            None => run(command, &folder, self.settings.timeout).await.map_err(cannot)?,
        };
        // Off the threads that answer requests: a build leaves a lot behind.
        drop(tokio::task::spawn_blocking(move || drop(folder)).await);
        let Ended { exit_code, output, timed_out } = ended;
        Ok(Some(ValidationResult { validation: what, passed: exit_code == Some(0), exit_code, output, timed_out }))
    }
}

impl Validate for Validator {
    fn validate<'a>(
        &'a self,
        what: Validation,
        tree: &'a MergedTree,
    ) -> BoxFuture<'a, Result<Option<ValidationResult>, Error>> {
        Box::pin(self.check(what, tree))
    }
}

/// The machine does not let a check be made.
fn cannot(error: io::Error) -> Error {
    let error = match error.kind() {
        ErrorKind::StorageFull => StoreError::DiskFull,
        _ => StoreError::Unavailable { what: format!("the check of a merge cannot be run: {error}") },
    };
    error.into()
}

/// A folder for one check, for this user alone. It is removed, with its content, when this value is dropped.
struct Folder(tempfile::TempDir);

impl Folder {
    fn make() -> io::Result<Self> {
        let folder = Self(tempfile::Builder::new().prefix("threadkeep-merge-").tempdir()?);
        for part in [folder.tree(), folder.home(), folder.scratch()] {
            std::fs::create_dir(part)?;
        }
        Ok(folder)
    }

    fn tree(&self) -> PathBuf {
        self.0.path().join("tree")
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn scratch(&self) -> PathBuf {
        self.0.path().join("tmp")
    }

    /// Writes the merged files; says why if such files cannot be written on this machine.
    async fn fill(self: &Arc<Self>, tree: &MergedTree) -> Result<Option<String>, Error> {
        for (number, path) in tree.paths().enumerate() {
            let content = tree.content(number).await?;
            let written = match within(&self.tree(), path) {
                Some(place) => write(Arc::clone(self), place, content).await,
                None => Err(ErrorKind::InvalidFilename.into()),
            };
            match written {
                Ok(()) => {}
                Err(error) if is_about_the_name(error.kind()) => {
                    return Ok(Some(format!("{path} cannot be written on this machine: {error}")));
                }
                Err(error) => return Err(cannot(error)),
            }
        }
        Ok(None)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::fs::remove_dir_all(self.0.path()).is_err() {
            // A folder without write permission cannot be emptied; then the rest removes itself.
            unlock(self.0.path());
        }
    }
}

/// Where a file of the tree goes. Paths of files are normalised; this holds even if one were not.
fn within(root: &Path, path: &FilePath) -> Option<PathBuf> {
    let relative = Path::new(path.as_str().trim_start_matches('/'));
    let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    is_plain.then(|| root.join(relative))
}

async fn write(folder: Arc<Folder>, place: PathBuf, content: Bytes) -> io::Result<()> {
    let write = move || {
        // If the check is cancelled meanwhile, its folder is not removed before this ends.
        let _folder = folder;
        if let Some(above) = place.parent() {
            std::fs::create_dir_all(above)?;
        }
        std::fs::write(place, content)
    };
    tokio::task::spawn_blocking(write).await.map_err(io::Error::other)?
}

/// Whether a file cannot be written because of its name, now and on every retry.
fn is_about_the_name(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::InvalidFilename
            | ErrorKind::InvalidInput
            | ErrorKind::AlreadyExists
            | ErrorKind::IsADirectory
            | ErrorKind::NotADirectory
    )
}

/// Makes every folder below `root` one that can be emptied. Links are not followed.
#[cfg(unix)]
fn unlock(root: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        drop(std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)));
        let found = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        folders.extend(found.filter(|item| item.file_type().is_ok_and(|kind| kind.is_dir())).map(|item| item.path()));
    }
}

#[cfg(not(unix))]
fn unlock(_: &Path) {}

/// How a command ended.
#[derive(Default)]
struct Ended {
    /// None if it was stopped.
    exit_code: Option<i32>,
    output: String,
    timed_out: bool,
}

/// Runs a command in the folder. However this ends, every process that the command left in its group has ended,
/// too.
async fn run(command: &str, folder: &Folder, timeout: Duration) -> io::Result<Ended> {
    let mut shell = Command::new("sh");
    // Stderr and stdout are read as one text, in its order.
    shell.arg("-c").arg(format!("exec 2>&1\n{command}"));
    shell.current_dir(folder.tree()).env_clear().env("HOME", folder.home()).env("TMPDIR", folder.scratch());
    shell.envs(ENVIRONMENT.into_iter().filter_map(|name| Some((OsStr::new(name), std::env::var_os(name)?))));
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    #[cfg(unix)]
    shell.process_group(0);
    let mut child = shell.spawn()?;
    let group = Group::of(&child);
    let mut said = child.stdout.take().expect("it was asked for");
    let mut kept = Kept::default();
    let ends = async {
        tokio::select! {
            ended = child.wait() => return ended,
            () = kept.read(&mut said) => {}
        }
        // It closed its output, and goes on.
        child.wait().await
    };
    let ended = tokio::time::timeout(timeout, ends).await;
    drop(group);
    // Until the ended processes are gone; a process that left the group and holds the pipe is not waited for.
    let gone = async {
        kept.read(&mut said).await;
        drop(child.wait().await);
    };
    drop(tokio::time::timeout(LAST_WORDS_MAX, gone).await);
    let (exit_code, timed_out) = match ended {
        Ok(status) => (status?.code(), false),
        Err(_) => (None, true),
    };
    Ok(Ended { exit_code, output: kept.text(), timed_out })
}

/// The processes of a command, which end with this value.
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl Group {
    #[cfg(unix)]
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: id.and_then(rustix::process::Pid::from_raw) }
    }

    #[cfg(not(unix))]
    fn of(_: &Child) -> Self {
        Self {}
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader {
            // It fails if no process is left, which is the goal.
            let _nobody_left = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

/// The end of a command's output.
#[derive(Default)]
struct Kept(VecDeque<u8>);

impl Kept {
    /// Reads until there is no more. If this is cancelled, the bytes read so far stay.
    async fn read(&mut self, from: &mut (impl AsyncRead + Unpin)) {
        let mut buffer = [0; 8 << 10];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            self.0.extend(&buffer[..count]);
            let over = self.0.len().saturating_sub(OUTPUT_BYTES_MAX);
            self.0.drain(..over);
        }
    }

    fn text(self) -> String {
        String::from_utf8_lossy(&Vec::from(self.0)).into_owned()
    }
}

//! What every command needs: the store, who acts, where to print, and the threads that people name.

use std::path::{Path, PathBuf};

use clap::Args;
use threadkeep::model::Code;
use threadkeep::{Actor, ActorKind, Caller, Engine, Error, Invalid, StoreUrl, Thread, ThreadId, ThreadName, Version};
use threadkeep_api::{ErrorCode, Problem, Status};

use crate::failure::{self, Failure};
use crate::out::Out;
use crate::text::{quoted, visible};

/// The file of a store in a data folder.
const STORE_FILE: &str = "threadkeep.db";
/// The data folder unless somebody says otherwise.
const DEFAULT_FOLDER: &str = "./threadkeep-data";
const DEFAULT_STORE: &str = "sqlite:./threadkeep-data/threadkeep.db";
/// Fewest digits of an id prefix.
const PREFIX_DIGITS_MIN: usize = 4;
/// Threads that are listed when a prefix names several.
const CANDIDATES_MAX: usize = 10;

/// Which store, and how to say so in a command that is pasted.
#[derive(Debug)]
pub(crate) struct Place {
    url: String,
    /// The data folder, which a server needs whatever its store is.
    folder: PathBuf,
    hints: Hints,
}

/// Writes commands that work when they are pasted, and show no password.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hints {
    environment: &'static str,
    flags: String,
}

impl Hints {
    /// With `--store URL`.
    fn with_store(url: &str) -> Self {
        let flags = |url: &str| format!(" --store {}", quoted(url));
        match url.parse() {
            #[cfg(feature = "postgres")]
            Ok(StoreUrl::Postgres(url)) => {
                let environment = if url.has_password() { "PGPASSWORD=$PGPASSWORD " } else { "" };
                Self { environment, flags: flags(&url.to_string()) }
            }
            Ok(StoreUrl::Sqlite(_) | StoreUrl::Memory) => Self { environment: "", flags: flags(url) },
            // What it holds is not known.
            Err(_) => Self { environment: "", flags: " --store URL".into() },
        }
    }

    /// `threadkeep REST`, on the same store.
    pub(crate) fn command(&self, rest: &str) -> String {
        format!("{}threadkeep{} {rest}", self.environment, self.flags)
    }
}

impl Place {
    /// The store by `--store` and `--data`, each with whether it stood on the command line: there it goes before the
    /// environment.
    pub(crate) fn new(store: Option<(String, bool)>, data: Option<(PathBuf, bool)>) -> Self {
        let in_folder = |folder: &Path| format!("sqlite:{}", folder.join(STORE_FILE).display());
        let folder = data.as_ref().map_or_else(|| PathBuf::from(DEFAULT_FOLDER), |(data, _)| data.clone());
        let hints = |flags: String| Hints { flags, ..Hints::default() };
        let place = |url: String, flags: String| Self { url, folder: folder.clone(), hints: hints(flags) };
        match (store, data) {
            (Some((store, true)), _) => Self { hints: Hints::with_store(&store), url: store, folder },
            (_, Some((data, true))) => {
                place(in_folder(&data), format!(" --data {}", quoted(&data.display().to_string())))
            }
            (Some((store, false)), _) => place(store, String::new()),
            (None, Some((data, false))) => place(in_folder(&data), String::new()),
            (None, None) => place(DEFAULT_STORE.to_owned(), String::new()),
        }
    }

    /// The store at `url`, as if it had been named by `--store`.
    pub(crate) fn on_command_line(url: &str) -> Self {
        Self::new(Some((url.to_owned(), true)), None)
    }

    /// Whether a flag named it, and not the environment or nobody.
    pub(crate) fn is_on_command_line(&self) -> bool {
        !self.hints.flags.is_empty()
    }

    pub(crate) fn hints(&self) -> Hints {
        self.hints.clone()
    }
}

/// On what condition a thread is changed.
#[derive(Debug, Args)]
pub(crate) struct Conditions {
    /// Only if the thread is at this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) expected_version: Option<Version>,
    /// Write as the thread's exclusive writer, by the token of the lease (see threadkeep writer)
    #[arg(long, value_name = "TOKEN")]
    writer: Option<u64>,
}

/// Who acts.
#[derive(Debug)]
pub(crate) struct Acting {
    pub(crate) kind: ActorKind,
    pub(crate) name: Option<String>,
}

/// The store, who acts, and where to print.
pub(crate) struct Context {
    pub(crate) engine: Engine,
    pub(crate) out: Out,
    pub(crate) json: bool,
    pub(crate) hints: Hints,
    /// The data folder.
    pub(crate) folder: PathBuf,
    named: Option<ThreadId>,
}

impl Context {
    /// Opens the store. Unless the command `may_begin` one, there has to be one: nothing is made.
    pub(crate) fn open(place: &Place, acting: Acting, json: bool, may_begin: bool) -> Result<Self, Failure> {
        let Acting { kind, name } = acting;
        let mut caller = Caller::local();
        if kind != caller.actor.kind || name.is_some() {
            caller.actor = Actor::new(kind, name.unwrap_or(caller.actor.name))?;
        }
        if !may_begin
            && let StoreUrl::Sqlite(path) = place.url.parse()?
            && is_missing(&path)
        {
            let detail = format!("there is no store at {}", path.display());
            let problem = Problem::new(Status::NotFound, ErrorCode::StoreNotFound, detail);
            return Err(problem.hint(place.hints.command("create \"My first thread\"")).into());
        }
        let engine = threadkeep::open(&place.url)?.acting_as(caller);
        Ok(Self { engine, out: Out::new(), json, hints: place.hints(), folder: place.folder.clone(), named: None })
    }

    /// The thread that the command is about, once it was found.
    pub(crate) fn named(&self) -> Option<ThreadId> {
        self.named
    }

    /// Says something to people, beside the data: on stderr, and not to programs.
    pub(crate) fn note(&self, note: impl AsRef<str>) {
        if !self.json {
            failure::note(note.as_ref());
        }
    }

    /// The thread that `text` names: by its id, its short id, or a prefix of either that names no other.
    pub(crate) async fn thread(&mut self, text: &str) -> Result<Thread, Failure> {
        let thread = match text.parse::<ThreadName>() {
            Ok(name) => self.engine.thread(name).await?,
            Err(malformed) if is_prefix(text) => self.by_prefix(text, malformed).await?,
            Err(malformed) => return Err(malformed.into()),
        };
        self.named = Some(thread.id);
        Ok(thread)
    }

    /// The same, to be changed: from here on, what is written to it is written as `conditions` say.
    pub(crate) async fn thread_to_change(&mut self, text: &str, conditions: &Conditions) -> Result<Thread, Failure> {
        let thread = self.thread(text).await?;
        self.write_as(thread.id, conditions);
        Ok(thread)
    }

    /// From here on, what is written to `thread` is written as `conditions` say.
    pub(crate) fn write_as(&mut self, thread: ThreadId, conditions: &Conditions) {
        if let Some(token) = conditions.writer {
            self.engine = self.engine.writing_under(thread, token);
        }
    }

    async fn by_prefix(&self, prefix: &str, malformed: Invalid) -> Result<Thread, Failure> {
        if prefix.bytes().filter(u8::is_ascii_hexdigit).count() < PREFIX_DIGITS_MIN {
            let rule = format!("'{prefix}' is too short: a prefix of an id has at least {PREFIX_DIGITS_MIN} digits");
            return Err(Invalid::new(Code::InvalidThreadId, malformed.field, rule).into());
        }
        let found = self.engine.threads_by_prefix(prefix, CANDIDATES_MAX + 1).await?;
        match &found[..] {
            [] => {
                let detail = format!("there is no thread whose id begins with {prefix}");
                Err(Problem::new(Status::NotFound, ErrorCode::ThreadNotFound, detail).into())
            }
            [one] => Ok(self.engine.thread(*one).await?),
            several => {
                let mut detail = format!("several threads have an id that begins with {prefix}:");
                for id in several.iter().take(CANDIDATES_MAX) {
                    let title = match self.engine.thread(*id).await {
                        Ok(thread) => thread.record.title.unwrap_or_default(),
                        Err(Error::ThreadNotFound { .. }) => continue,
                        Err(error) => return Err(error.into()),
                    };
                    detail.push_str(&format!("\n  {id}  {}", visible(&title)));
                }
                if several.len() > CANDIDATES_MAX {
                    detail.push_str("\n  …");
                }
                Err(Problem::new(Status::BadRequest, ErrorCode::AmbiguousThreadId, detail).into())
            }
        }
    }
}

/// Whether nothing was ever stored at `path`. A file without a byte is one that nobody finished making.
fn is_missing(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(metadata) => metadata.is_file() && metadata.len() == 0,
        Err(error) => matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory),
    }
}

/// Whether `text` has the shape of the beginning of an id, in either spelling.
fn is_prefix(text: &str) -> bool {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    const UUID_LENGTH: usize = 36;
    match text.strip_prefix("T-") {
        Some(uuid) => {
            let fits =
                |(at, byte): (usize, u8)| if DASHES.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
            !uuid.is_empty() && uuid.len() < UUID_LENGTH && uuid.bytes().enumerate().all(fits)
        }
        None => {
            let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            !text.is_empty() && text.len() < 12 && text.bytes().all(hex)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_the_shape_of_an_id() {
        for text in ["4e36", "4e36442142e", "T-5928a90d", "T-5928A90D-d53b-4", "T-59"] {
            assert!(is_prefix(text), "{text}");
        }
        for text in ["", "T-", "4E36", "4e36442142ee", "x", "-123", "T-5928a90dd", "T-5928a90d_d", "hello", "4e36 "] {
            assert!(!is_prefix(text), "{text}");
        }
    }

    #[test]
    fn a_hint_names_the_store_and_no_password() {
        let hint = |store: &str| Place::new(Some((store.to_owned(), true)), None).hints().command("list");
        assert_eq!(hint("it's.db"), r"threadkeep --store 'it'\''s.db' list");
        #[cfg(feature = "postgres")]
        {
            let shown = "threadkeep --store postgres://ann@db:6432/work list";
            assert_eq!(hint("postgres://ann@db:6432/work"), shown);
            assert_eq!(hint("postgres://ann:secret@db:6432/work"), format!("PGPASSWORD=$PGPASSWORD {shown}"));
        }
        assert_eq!(hint("postgres://ann:sec@ret@db/work"), "threadkeep --store URL list");
        assert_eq!(hint("mysql://ann:secret@db/work"), "threadkeep --store URL list");
    }

    #[test]
    fn the_command_line_goes_before_the_environment_and_a_store_before_a_folder() {
        let url = |store: Option<(&str, bool)>, data: Option<(&str, bool)>| {
            let store = store.map(|(store, flag)| (store.to_owned(), flag));
            Place::new(store, data.map(|(data, flag)| (data.into(), flag))).url
        };
        assert_eq!(url(None, None), DEFAULT_STORE);
        assert_eq!(url(Some(("a.db", false)), Some(("d", true))), "sqlite:d/threadkeep.db");
        assert_eq!(url(Some(("a.db", true)), Some(("d", true))), "a.db");
        assert_eq!(url(Some(("a.db", false)), Some(("d", false))), "a.db");
        assert_eq!(url(None, Some(("d", false))), "sqlite:d/threadkeep.db");
    }
}

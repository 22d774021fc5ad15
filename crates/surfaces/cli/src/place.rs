//! The server or store of a command, and the flags that name it in a command to be pasted.

use std::path::{Path, PathBuf};

use threadkeep::{KEY_FILE, KeyFileAt, StoreUrl};

use crate::objects::ObjectsUrl;
use crate::text::quoted;

/// The file of a store in a data folder.
pub(crate) const STORE_FILE: &str = "threadkeep.db";
/// The default data folder.
pub(crate) const DEFAULT_FOLDER: &str = "./threadkeep-data";
const DEFAULT_STORE: &str = "sqlite:./threadkeep-data/threadkeep.db";

/// A server or store, and the flags that name it in a command to be pasted.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// How it is reached.
    pub(crate) reach: Reach,
    /// The store, wherever there is one of ours.
    pub(crate) url: String,
    /// The data folder, which a server needs with every kind of store.
    pub(crate) folder: PathBuf,
    /// The key file of the secrets, if another one than usual is named.
    pub(crate) key_file: Option<PathBuf>,
    /// The object store of its large contents.
    pub(crate) objects: Option<ObjectsUrl>,
    hints: Hints,
}

/// How threads are reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// By the server at this URL.
    Server(String),
    /// By the server that runs on the data folder; without one, by the folder's store.
    Folder,
    /// By the store, even if a server runs.
    Store,
}

/// What a command does where there is no store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Begin,
    Empty,
    /// It fails: nothing is made.
    Fail,
}

/// A value, with whether it was on the command line: there it goes before the environment.
pub(crate) type Given<T> = Option<(T, bool)>;

/// Writes commands that work when they are pasted, and show no password.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hints {
    environment: &'static str,
    flags: String,
    /// The command that is carried out, as it is typed.
    running: String,
}

impl Hints {
    fn with_store(url: &str) -> Self {
        let flags = |url: &str| format!(" --store {}", quoted(url));
        if cells_file(url).is_some() {
            return Self { flags: flags(url), ..Self::default() };
        }
        match url.parse() {
            #[cfg(feature = "postgres")]
            Ok(StoreUrl::Postgres(url)) => {
                let environment = if url.has_password() { "PGPASSWORD=$PGPASSWORD " } else { "" };
                Self { environment, flags: flags(&url.to_string()), ..Self::default() }
            }
            Ok(StoreUrl::Sqlite(_) | StoreUrl::Memory) => Self { flags: flags(url), ..Self::default() },
            // An unknown URL may hold a password.
            Err(_) => Self { flags: " --store URL".into(), ..Self::default() },
        }
    }

    /// The same, while `running` is carried out.
    pub(crate) fn while_running(self, running: String) -> Self {
        Self { running, ..self }
    }

    /// The command that explains the one that is carried out.
    pub(crate) fn help(&self) -> String {
        let running = if self.running.is_empty() { "threadkeep" } else { &self.running };
        format!("{running} -h")
    }

    /// Whether the command that is carried out names a store by an argument of its own.
    pub(crate) fn names_a_file(&self) -> bool {
        let own = ["backup", "copy", "restore"];
        own.iter().any(|verb| self.running.strip_prefix("threadkeep store ") == Some(verb))
    }

    /// `threadkeep REST`, on the same store.
    pub(crate) fn command(&self, rest: &str) -> String {
        format!("{}threadkeep{} {rest}", self.environment, self.flags)
    }
}

impl Place {
    /// The folder of definitions that belongs to it, unless another one is named.
    pub(crate) fn definitions(&self) -> PathBuf {
        self.folder.join("definitions")
    }

    /// The server or store by `--server`, `--store` and `--data`.
    pub(crate) fn new(server: Given<String>, store: Given<String>, data: Given<PathBuf>) -> Self {
        let in_folder = |folder: &Path| format!("sqlite:{}", folder.join(STORE_FILE).display());
        let folder = data.as_ref().map_or_else(|| PathBuf::from(DEFAULT_FOLDER), |(data, _)| data.clone());
        let flags = |flags: String| Hints { flags, ..Hints::default() };
        let (reach, url, hints) = match (server, store, data) {
            (Some((server, true)), ..) => {
                let said = flags(format!(" --server {}", quoted(&server)));
                (Reach::Server(server), String::new(), said)
            }
            (_, Some((store, true)), _) => (Reach::Store, store.clone(), Hints::with_store(&store)),
            (_, _, Some((data, true))) => {
                let said = flags(format!(" --data {}", quoted(&data.display().to_string())));
                (Reach::Folder, in_folder(&data), said)
            }
            (Some((server, false)), ..) => (Reach::Server(server), String::new(), Hints::default()),
            (_, Some((store, false)), _) => (Reach::Store, store, Hints::default()),
            (.., Some((data, false))) => (Reach::Folder, in_folder(&data), Hints::default()),
            (None, None, None) => (Reach::Folder, DEFAULT_STORE.to_owned(), Hints::default()),
        };
        Self { reach, url, folder, key_file: None, objects: None, hints }
    }

    /// The store at `url`, as if it had been named by `--store`.
    pub(crate) fn on_command_line(url: &str) -> Self {
        Self::new(None, Some((url.to_owned(), true)), None)
    }

    /// The same, past any server that runs on the folder.
    pub(crate) fn without_server(self) -> Self {
        let reach = if self.reach == Reach::Folder { Reach::Store } else { self.reach };
        Self { reach, ..self }
    }

    /// The same with this object store.
    pub(crate) fn with_objects(self, objects: Option<ObjectsUrl>) -> Self {
        Self { objects, ..self }
    }

    /// The same with this key file.
    pub(crate) fn with_key_file(self, key_file: Option<PathBuf>) -> Self {
        Self { key_file, ..self }
    }

    /// The key file of the secrets: the one that is named, or the one beside the store, or in the data folder.
    pub(crate) fn keys(&self) -> KeyFileAt {
        match (&self.key_file, self.url.parse()) {
            (Some(path), _) => KeyFileAt::new(path),
            (None, Ok(StoreUrl::Sqlite(path))) => KeyFileAt::beside(&path),
            (None, _) => KeyFileAt::new(self.folder.join(KEY_FILE)),
        }
    }

    /// Whether there is a store already, as far as can be known without opening it.
    pub(crate) fn has_store(&self) -> bool {
        match self.url.parse() {
            Ok(StoreUrl::Sqlite(path)) => !is_missing(&path),
            // Opening it gives the error.
            _ => true,
        }
    }

    /// Whether a flag named it, and not the environment or the default.
    pub(crate) fn is_on_command_line(&self) -> bool {
        !self.hints.flags.is_empty()
    }

    pub(crate) fn hints(&self) -> Hints {
        self.hints.clone()
    }
}

/// Whether nothing was ever stored at `path`. An empty file is left from a creation that was interrupted.
fn is_missing(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(metadata) => metadata.is_file() && metadata.len() == 0,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// What the URL of a file of cells begins with.
const CELLS_SCHEME: &str = "cells:";

/// The path of a file of cells, if a URL names one.
pub(crate) fn cells_file(url: &str) -> Option<&str> {
    url.strip_prefix(CELLS_SCHEME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_store_and_no_password() {
        let hint = |store: &str| Place::on_command_line(store).hints().command("ls");
        assert_eq!(hint("it's.db"), r"threadkeep --store 'it'\''s.db' ls");
        #[cfg(feature = "postgres")]
        {
            let shown = "threadkeep --store postgres://ann@db:6432/work ls";
            assert_eq!(hint("postgres://ann@db:6432/work"), shown);
            assert_eq!(hint("postgres://ann:secret@db:6432/work"), format!("PGPASSWORD=$PGPASSWORD {shown}"));
        }
        assert_eq!(hint("postgres://ann:sec@ret@db/work"), "threadkeep --store URL ls");
        assert_eq!(hint("mysql://ann:secret@db/work"), "threadkeep --store URL ls");
    }

    #[test]
    fn the_command_line_goes_before_the_environment_and_a_store_before_a_folder() {
        let given = |value: Option<(&str, bool)>| value.map(|(value, flag)| (value.to_owned(), flag));
        let url = |store: Option<(&str, bool)>, data: Option<(&str, bool)>| {
            Place::new(None, given(store), data.map(|(data, flag)| (data.into(), flag))).url
        };
        assert_eq!(url(None, None), DEFAULT_STORE);
        assert_eq!(url(Some(("a.db", false)), Some(("d", true))), "sqlite:d/threadkeep.db");
        assert_eq!(url(Some(("a.db", true)), Some(("d", true))), "a.db");
        assert_eq!(url(Some(("a.db", false)), Some(("d", false))), "a.db");
        assert_eq!(url(None, Some(("d", false))), "sqlite:d/threadkeep.db");
        let reach = |server: Option<(&str, bool)>, store: Option<(&str, bool)>, data: Option<(&str, bool)>| {
            Place::new(given(server), given(store), data.map(|(data, flag)| (data.into(), flag))).reach
        };
        let server = Reach::Server("s".to_owned());
        assert_eq!(reach(Some(("s", true)), Some(("a.db", false)), Some(("d", true))), server);
        assert_eq!(reach(Some(("s", false)), Some(("a.db", false)), None), server);
        assert_eq!(reach(Some(("s", false)), Some(("a.db", true)), None), Reach::Store);
        assert_eq!(reach(Some(("s", false)), None, Some(("d", true))), Reach::Folder);
        assert_eq!(reach(None, Some(("a.db", false)), None), Reach::Store);
        assert_eq!(reach(None, None, None), Reach::Folder);
    }
}

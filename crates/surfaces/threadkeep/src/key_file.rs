//! The key file of a store's secrets, and the variables of the instance.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use threadkeep_engine::{KeyFile, KeyKeeper, KeyProblem};
use threadkeep_model::EnvName;
use threadkeep_store::private;

/// The name of the key file in a data folder.
pub const KEY_FILE: &str = "secrets.key";
/// Variables of the process whose names begin with this are variables of the instance.
const INSTANCE: &str = "THREADKEEP_ENV_";
/// Variables of providers, under the names that their own programs use.
const OF_PROVIDERS: [&str; 4] = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"];
/// Most bytes of a key file.
const BYTES_MAX: u64 = 64 << 10;

/// A key file on disk, for its owner alone. It is made when the first secret is kept, or a server starts.
#[derive(Debug, Clone)]
pub struct KeyFileAt(PathBuf);

impl KeyFileAt {
    /// The key file at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The key file beside a store.
    pub fn beside(store: &Path) -> Self {
        Self(store.parent().unwrap_or(Path::new("")).join(KEY_FILE))
    }

    fn wrong(&self, what: impl std::fmt::Display) -> KeyProblem {
        KeyProblem(format!("the key file {} {what}", self.0.display()))
    }

    fn with_suffix(&self, suffix: &str) -> PathBuf {
        let mut name = self.0.clone().into_os_string();
        name.push(suffix);
        name.into()
    }

    /// Writes `keys` to a file beside this one.
    fn write(&self, unfinished: &Path, keys: &KeyFile) -> Result<(), KeyProblem> {
        let written = private::new_file(unfinished).and_then(|mut file| {
            file.write_all(keys.text().as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| self.wrong(format_args!("cannot be written: {error}")))
    }

    fn lock_file(&self) -> Result<File, KeyProblem> {
        let file = private::file().create(true).truncate(false).open(self.with_suffix(".lock"));
        file.map_err(|error| self.wrong(format_args!("cannot be locked: {error}")))
    }

    /// Makes a change of the folder durable.
    fn sync_folder(&self) {
        let folder = self.0.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Not every system can sync a folder; the file itself is on disk.
        drop(File::open(folder).and_then(|folder| folder.sync_all()));
    }
}

impl KeyKeeper for KeyFileAt {
    fn read(&self) -> Result<Option<KeyFile>, KeyProblem> {
        let cannot = |error: std::io::Error| self.wrong(format_args!("cannot be read: {error}"));
        let size = match std::fs::metadata(&self.0) {
            Ok(metadata) if metadata.is_file() => metadata.len(),
            Ok(_) => return Err(self.wrong("is not a file")),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot(error)),
        };
        if let Some(mode) = private::wider_mode(&self.0) {
            return Err(self.wrong(format_args!("is open to other users (mode {mode:04o}); run: chmod 600 on it")));
        }
        if size > BYTES_MAX {
            return Err(self.wrong(format_args!("has more than {BYTES_MAX} bytes")));
        }
        let text = std::fs::read_to_string(&self.0).map_err(cannot)?;
        KeyFile::parse(&text).map(Some).map_err(|wrong| self.wrong(format_args!("is damaged: {wrong}")))
    }

    fn make(&self, keys: KeyFile) -> Result<KeyFile, KeyProblem> {
        if let Some(folder) = self.0.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private::make_folder(folder).map_err(|error| self.wrong(format_args!("cannot be made: {error}")))?;
        }
        // Invariant: the file appears whole, and never in the place of another one. One process at a time makes it.
        let alone = self.lock_file()?;
        alone.lock().map_err(|error| self.wrong(format_args!("cannot be locked: {error}")))?;
        if let Some(there) = self.read()? {
            return Ok(there);
        }
        self.replace(keys)?;
        self.read()?.ok_or_else(|| self.wrong("was made, and is gone"))
    }

    fn replace(&self, keys: KeyFile) -> Result<(), KeyProblem> {
        let unfinished = self.with_suffix(".part");
        self.write(&unfinished, &keys)?;
        let replaced = std::fs::rename(&unfinished, &self.0);
        replaced.map_err(|error| self.wrong(format_args!("cannot be replaced: {error}")))?;
        self.sync_folder();
        Ok(())
    }

    fn lock(&self) -> Result<Box<dyn Send>, KeyProblem> {
        let file = self.lock_file()?;
        file.try_lock().map_err(|_| self.wrong("is being rotated by another process"))?;
        Ok(Box::new(file))
    }
}

/// A store that several machines share has no file beside it: its key file has to be named.
#[derive(Debug)]
pub(crate) struct Unnamed;

impl KeyKeeper for Unnamed {
    fn read(&self) -> Result<Option<KeyFile>, KeyProblem> {
        Ok(None)
    }

    fn make(&self, _: KeyFile) -> Result<KeyFile, KeyProblem> {
        Err(KeyProblem("a shared store needs a key file that every server has: name it with --key-file".to_owned()))
    }

    fn replace(&self, keys: KeyFile) -> Result<(), KeyProblem> {
        self.make(keys).map(drop)
    }

    fn lock(&self) -> Result<Box<dyn Send>, KeyProblem> {
        Ok(Box::new(()))
    }
}

/// The variables of this process that are variables of the instance: `THREADKEEP_ENV_NAME` is `NAME`, and those of model
/// providers keep their names. The first kind wins.
pub fn instance_env() -> Vec<(EnvName, String)> {
    let named = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        let name = name.to_str()?.strip_prefix(INSTANCE)?.parse().ok()?;
        Some((name, value.into_string().ok()?))
    };
    let usual = |name: &&str| Some((name.parse().ok()?, std::env::var(name).ok().filter(|value| !value.is_empty())?));
    OF_PROVIDERS.iter().filter_map(usual).chain(std::env::vars_os().filter_map(named)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_is_made_once_and_a_wrong_one_is_left_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = KeyFileAt::beside(&folder.path().join("threadkeep.db"));
        assert!(at.read().expect("no file").is_none());
        let keys = |byte: u8| KeyFile::parse(&format!("key {}", format!("{byte:02x}").repeat(32))).expect("keys");
        let made = at.make(keys(1)).expect("made");
        assert_eq!(made.first().id(), keys(1).first().id());
        assert_eq!(at.make(keys(2)).expect("the first").first().id(), keys(1).first().id());
        assert_eq!(private::wider_mode(&at.0), None);
        at.replace(keys(3)).expect("replaced");
        assert_eq!(at.read().expect("a file").expect("keys").first().id(), keys(3).first().id());
        let guard = at.lock().expect("locked");
        assert!(at.lock().is_err(), "one at a time");
        drop(guard);
        at.lock().expect("locked again");
        for text in ["", "key 00\n", "hello\n"] {
            std::fs::write(&at.0, text).expect("written");
            assert!(at.read().is_err() && at.make(keys(1)).is_err(), "{text:?}");
            assert_eq!(std::fs::read_to_string(&at.0).expect("read"), text);
        }
        #[cfg(unix)]
        {
            std::fs::write(&at.0, keys(1).text().as_bytes()).expect("written");
            let open = std::os::unix::fs::PermissionsExt::from_mode(0o640);
            std::fs::set_permissions(&at.0, open).expect("opened");
            assert!(at.read().expect_err("too open").0.contains("mode 0640"));
        }
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|it| it.file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().contains("part")), "{left:?}");
    }
}

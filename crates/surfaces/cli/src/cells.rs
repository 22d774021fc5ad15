//! The file of cells: `--store cells:FILE`. It names databases with some of the accounts each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use threadkeep::{Account, CellNames, Directory, Engine, Invalid, StoreUrl};
use threadkeep_calls::{ErrorCode, Problem, Status};
use threadkeep_server::Cells;
use toml::{Table, Value};

use crate::failure::{Failure, cannot_read};
use crate::objects::{self, ObjectsUrl};
use crate::place::{Place, cells_file};

/// Longest name of a cell, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Refuses a command about a whole store on several cells.
pub(crate) fn refuse(place: &Place) -> Result<(), Failure> {
    let Some(file) = cells_file(&place.url) else { return Ok(()) };
    let urls = CellsFile::read(file)?.shown_urls();
    let detail = "this command is about a whole store, and there are several cells";
    let problem = Problem::new(Status::Conflict, ErrorCode::OtherCell, detail);
    Err(problem.hint(format!("run it on each of them by itself, with --store {}", urls.join(" or --store "))).into())
}

/// A file of cells.
#[derive(Debug)]
pub(crate) struct CellsFile {
    names: CellNames,
    cells: BTreeMap<String, CellAt>,
}

/// Where a cell is.
#[derive(Debug)]
struct CellAt {
    store: String,
    objects: Option<ObjectsUrl>,
}

impl CellsFile {
    /// Reads the file at `path`. Paths in it are relative to its folder.
    pub(crate) fn read(path: &str) -> Result<Self, Failure> {
        if path.is_empty() {
            return Err(Invalid::parameter("store", "names no file of cells; use cells:FILE").into());
        }
        let text = std::fs::read_to_string(path).map_err(|error| cannot_read(path, &error))?;
        let folder = Path::new(path).parent().unwrap_or(Path::new(""));
        parse(&text, folder).map_err(|what| {
            let problem = Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, format!("{path}: {what}"));
            problem.hint("docs/scaling.md has an example of a file of cells").into()
        })
    }

    /// The URLs of all cells, without passwords.
    pub(crate) fn shown_urls(&self) -> Vec<String> {
        let shown = |at: &CellAt| match at.store.parse() {
            #[cfg(feature = "postgres")]
            Ok(StoreUrl::Postgres(url)) => url.to_string(),
            _ => at.store.clone(),
        };
        self.cells.values().map(shown).collect()
    }

    /// Asks the object stores whether they answer.
    pub(crate) async fn check_objects(&self) -> Result<(), Failure> {
        for at in self.cells.values() {
            objects::check(at.objects.as_ref()).await?;
        }
        Ok(())
    }

    /// Opens all cells, with the key file of `place`.
    pub(crate) fn open(&self, place: &Place) -> Result<OpenCells, Failure> {
        if place.objects.is_some() {
            let rule = "goes with one store; each cell names its own in the file of cells: objects = \"…\"";
            return Err(Invalid::parameter("objects", rule).into());
        }
        let mut engines = Vec::with_capacity(self.cells.len());
        for (name, at) in &self.cells {
            let engine = objects::open(&at.store, at.objects.as_ref())?;
            engines.push((name.clone(), engine.with_key_keeper(Arc::new(place.keys()))));
        }
        Ok(OpenCells { names: self.names.clone(), engines })
    }
}

/// All cells, open.
#[derive(Clone)]
pub(crate) struct OpenCells {
    names: CellNames,
    engines: Vec<(String, Engine)>,
}

impl OpenCells {
    /// The engine of the home cell.
    pub(crate) fn home(&self) -> Result<Engine, Failure> {
        self.engine(&self.names.home)
    }

    pub(crate) fn engines(&self) -> &[(String, Engine)] {
        &self.engines
    }

    pub(crate) fn directory(&self) -> Result<Directory, Failure> {
        Ok(Directory::new(self.home()?, self.names.clone()))
    }

    /// The engine of the cell that an account lives in.
    pub(crate) async fn of(&self, account: &Account) -> Result<Engine, Failure> {
        self.engine(&self.directory()?.cell_of(account).await?)
    }

    /// The same cells with these engines.
    pub(crate) fn with(self, engines: Vec<(String, Engine)>) -> Self {
        Self { engines, ..self }
    }

    /// The parts that a server needs beside the home cell.
    pub(crate) fn for_server(&self) -> Result<Cells, Failure> {
        let others = self.engines.iter().filter(|(name, _)| *name != self.names.home).cloned().collect();
        Ok(Cells { directory: self.directory()?, others })
    }

    fn engine(&self, name: &str) -> Result<Engine, Failure> {
        let found = self.engines.iter().find(|(known, _)| known == name).map(|(_, engine)| engine.clone());
        let missing = || Problem::new(Status::Internal, ErrorCode::Internal, format!("cell {name} is not open"));
        Ok(found.ok_or_else(missing)?)
    }
}

/// Says what is wrong, with the key that it concerns.
fn parse(text: &str, folder: &Path) -> Result<CellsFile, String> {
    let mut table: Table = text.parse().map_err(|error: toml::de::Error| error.to_string().trim().to_owned())?;
    let cells = match table.remove("cells") {
        Some(Value::Table(cells)) if !cells.is_empty() => cells,
        Some(_) | None => return Err("there is no cell; name each with [cells.NAME] and its store".to_owned()),
    };
    let home = text_of(&mut table, "home")?.ok_or("'home' is missing: the cell with the keys and the directory")?;
    let new_accounts = text_of(&mut table, "new-accounts")?.unwrap_or_else(|| home.clone());
    if let Some(unknown) = table.keys().next() {
        return Err(format!("there is no key '{unknown}'; there are: home, new-accounts, cells"));
    }
    let mut found = BTreeMap::new();
    for (name, value) in cells {
        let at = cell(&name, value, folder).map_err(|what| format!("[cells.{name}]: {what}"))?;
        let same = |(_, other): &(&String, &CellAt)| other.store == at.store;
        if let Some((other, _)) = found.iter().find(same) {
            return Err(format!("[cells.{name}]: 'store' is that of cell '{other}' already"));
        }
        found.insert(name, at);
    }
    let all: Vec<String> = found.keys().cloned().collect();
    for (key, name) in [("home", &home), ("new-accounts", &new_accounts)] {
        if !all.contains(name) {
            return Err(format!("'{key}' is '{name}', and there is no such cell; there are: {}", all.join(", ")));
        }
    }
    Ok(CellsFile { names: CellNames { home, new_accounts, all }, cells: found })
}

fn cell(name: &str, value: Value, folder: &Path) -> Result<CellAt, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(fits) {
        return Err(format!("a name has 1 to {NAME_BYTES_MAX} letters, digits, hyphens, dots or underscores"));
    }
    let Value::Table(mut table) = value else { return Err("is not a table with a 'store'".to_owned()) };
    let store = text_of(&mut table, "store")?.ok_or("'store' is missing")?;
    let store = match store.parse::<StoreUrl>().map_err(|error| format!("'store': {error}"))? {
        StoreUrl::Sqlite(path) => format!("sqlite:{}", folder.join(path).display()),
        StoreUrl::Memory => return Err("'store' is memory:, which is gone when the program ends".to_owned()),
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(_) => store,
    };
    let objects = text_of(&mut table, "objects")?.map(|url| in_folder(url, folder));
    let objects = objects.map(|url| objects::parse(&url).map_err(|error| format!("'objects': {error}"))).transpose()?;
    match table.keys().next() {
        Some(unknown) => Err(format!("there is no key '{unknown}'; there are: store, objects")),
        None => Ok(CellAt { store, objects }),
    }
}

/// The URL of an object store, whose folder is relative to `folder`.
fn in_folder(url: String, folder: &Path) -> String {
    match url.strip_prefix("file:").map(PathBuf::from) {
        Some(path) if path.is_relative() => format!("file:{}", folder.join(path).display()),
        Some(_) | None => url,
    }
}

fn text_of(table: &mut Table, key: &str) -> Result<Option<String>, String> {
    match table.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("'{key}' is not a text in quotes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_cells_relative_to_itself() {
        let text = "home = \"a\"\nnew-accounts = \"b\"\n[cells.a]\nstore = \"a.db\"\n\
                    [cells.b]\nstore = \"sqlite:/var/b.db\"\nobjects = \"file:big\"\n";
        let file = parse(text, Path::new("/etc/keep")).expect("a file of cells");
        assert_eq!((file.names.home.as_str(), file.names.new_accounts.as_str()), ("a", "b"));
        assert_eq!(file.shown_urls(), ["sqlite:/etc/keep/a.db", "sqlite:/var/b.db"]);
        assert!(file.cells["b"].objects.is_some());
        let one = parse("home = \"a\"\n[cells.a]\nstore = \"a.db\"", Path::new("")).expect("one cell");
        assert_eq!(one.names.new_accounts, "a", "new accounts go home");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_key() {
        let a = "[cells.a]\nstore = \"a.db\"";
        for (text, told) in [
            (String::new(), "there is no cell"),
            ("home = \"a\"\n[cells]".to_owned(), "there is no cell"),
            (a.to_owned(), "'home' is missing"),
            (format!("home = 1\n{a}"), "'home' is not a text in quotes"),
            (format!("home = \"c\"\n{a}"), "'home' is 'c', and there is no such cell; there are: a"),
            (format!("home = \"a\"\nnew-accounts = \"c\"\n{a}"), "'new-accounts' is 'c'"),
            (format!("home = \"a\"\nhouse = \"a\"\n{a}"), "there is no key 'house'"),
            (format!("home = \"a\"\n{a}\nstores = \"b\""), "[cells.a]: there is no key 'stores'"),
            ("home = \"a\"\n[cells.a]".to_owned(), "[cells.a]: 'store' is missing"),
            ("home = \"a\"\n[cells]\na = 1".to_owned(), "[cells.a]: is not a table"),
            ("home = \"a\"\n[cells.a]\nstore = \"mysql://h\"".to_owned(), "[cells.a]: 'store':"),
            ("home = \"a\"\n[cells.a]\nstore = \"memory:\"".to_owned(), "[cells.a]: 'store' is memory:"),
            ("home = \"a\"\n[cells.a]\nstore = \"cells:b\"".to_owned(), "[cells.a]: 'store':"),
            (format!("home = \"a\"\n{a}\nobjects = \"ftp://x\""), "[cells.a]: 'objects':"),
            (format!("home = \"a\"\n{a}\n[cells.\"b c\"]\nstore = \"b.db\""), "[cells.b c]: a name has"),
            (
                format!("home = \"a\"\n{a}\n[cells.b]\nstore = \"sqlite:a.db\""),
                "[cells.b]: 'store' is that of cell 'a'",
            ),
            ("home = ".to_owned(), "TOML"),
        ] {
            let error = parse(&text, Path::new("")).expect_err(&text);
            assert!(error.contains(told), "{text}\n{error}");
        }
    }
}

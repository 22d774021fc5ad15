//! The files of a folder of definitions: which there are, what they are called, what they hold.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use super::{Kind, Name, Problem};

/// Bytes of one file.
pub const FILE_BYTES_MAX: u64 = 1 << 20;
/// Files of one folder of definitions.
pub const FILES_MAX: usize = 10_000;
/// Folders inside folders: `api/` may have them.
const DEPTH_MAX: usize = 8;
/// Characters of a name.
const NAME_MAX: usize = 64;

/// A file of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its path from the folder, with `/`.
    pub file: String,
    /// Its content.
    pub text: String,
}

impl Source {
    /// The ending of its name.
    pub(super) fn ending(&self) -> &str {
        self.file.rsplit_once('.').map_or("", |(_, ending)| ending)
    }
}

#[derive(Default)]
pub(super) struct Files {
    pub(super) sources: BTreeMap<Name, Source>,
    pub(super) strays: Vec<Problem>,
    pub(super) hash: String,
}

/// Reads all files, in the order of their names.
pub(super) fn read(folder: &Path) -> io::Result<Files> {
    let mut files = Files { sources: BTreeMap::new(), strays: Vec::new(), hash: String::new() };
    let mut hasher = blake3::Hasher::new();
    let mut walk = Walk { root: folder, files: &mut files, hasher: &mut hasher, count: 0 };
    walk.kinds(None, "")?;
    for package in entries(&folder.join("packages"))? {
        let (name, at) = (package.clone(), format!("packages/{package}/"));
        if name.starts_with('.') {
            continue;
        }
        if is_name(&name) {
            walk.kinds(Some(&name), &at)?;
        } else {
            walk.stray(&at, "a package is named by small letters, digits, '_' and '-'");
        }
    }
    files.hash = hasher.finalize().to_hex().to_string();
    Ok(files)
}

/// What tells a changed folder from an unchanged one without reading its files: their names, sizes and times.
pub(crate) fn stamp(folder: &Path) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    let mut next = vec![(folder.to_owned(), 0)];
    let mut count = 0;
    while let Some((folder, depth)) = next.pop() {
        for entry in entries(&folder)? {
            let path = folder.join(entry);
            // One that is gone by now changes the next stamp.
            let Ok(is) = fs::symlink_metadata(&path) else { continue };
            hasher.update(path.as_os_str().as_encoded_bytes());
            count += 1;
            if is.is_dir() && depth < DEPTH_MAX + 3 && count <= 4 * FILES_MAX {
                next.push((path, depth + 1));
            } else {
                let changed = is.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
                hasher.update(&is.len().to_le_bytes());
                hasher.update(&changed.unwrap_or_default().as_nanos().to_le_bytes());
            }
        }
    }
    Ok(hasher.finalize())
}

struct Walk<'a> {
    root: &'a Path,
    files: &'a mut Files,
    hasher: &'a mut blake3::Hasher,
    count: usize,
}

impl Walk<'_> {
    fn kinds(&mut self, package: Option<&str>, at: &str) -> io::Result<()> {
        for kind in Kind::ALL {
            self.folder(kind, package, &format!("{at}{}/", kind.folder()), "", 0)?;
        }
        Ok(())
    }

    /// The files of one folder. `prefix` is the path inside the folder of its kind.
    fn folder(&mut self, kind: Kind, package: Option<&str>, at: &str, prefix: &str, depth: usize) -> io::Result<()> {
        for entry in entries(&self.root.join(at))? {
            let file = format!("{at}{entry}");
            let is = fs::symlink_metadata(self.root.join(&file))?;
            if entry.starts_with('.') {
                continue;
            }
            if is.is_symlink() {
                self.stray(&file, "a link is not followed: put the file itself here");
            } else if is.is_dir() {
                if kind == Kind::Endpoint && depth < DEPTH_MAX {
                    self.folder(kind, package, &format!("{file}/"), &format!("{prefix}{entry}/"), depth + 1)?;
                } else {
                    self.stray(&file, &format!("{}/ has no folders inside it", kind.folder()));
                }
            } else {
                self.file(kind, package, file, prefix, &entry, is.len())?;
            }
        }
        Ok(())
    }

    fn file(
        &mut self,
        kind: Kind,
        package: Option<&str>,
        file: String,
        prefix: &str,
        entry: &str,
        bytes: u64,
    ) -> io::Result<()> {
        let endings = endings(kind);
        let Some((stem, _)) = entry.rsplit_once('.').filter(|(_, ending)| endings.contains(ending)) else {
            let endings = endings.join(", .");
            self.stray(&file, &format!("a file in {}/ ends in .{endings}", kind.folder()));
            return Ok(());
        };
        let is_named = matches!(kind, Kind::Endpoint | Kind::Vendor) || is_name(stem);
        if !is_named {
            self.stray(&file, "a definition is named by small letters, digits, '_' and '-'; at most 64");
            return Ok(());
        }
        self.count += 1;
        if self.count > FILES_MAX {
            return Err(io::Error::other(format!("the folder of definitions has more than {FILES_MAX} files")));
        }
        if bytes > FILE_BYTES_MAX {
            self.stray(&file, &format!("a file has at most {FILE_BYTES_MAX} bytes"));
            return Ok(());
        }
        let content = fs::read(self.root.join(&file))?;
        self.hasher.update(&(file.len() as u64).to_le_bytes());
        self.hasher.update(file.as_bytes());
        self.hasher.update(&(content.len() as u64).to_le_bytes());
        self.hasher.update(&content);
        let Ok(text) = String::from_utf8(content) else {
            self.stray(&file, "the file is no text in UTF-8");
            return Ok(());
        };
        let name = Name { kind, package: package.map(str::to_owned), name: format!("{prefix}{stem}") };
        if let Some(other) = self.files.sources.get(&name) {
            let what = format!("{} defines the {} '{}' too", other.file, kind.word(), name.text());
            self.stray(&file, &what);
            return Ok(());
        }
        self.files.sources.insert(name, Source { file, text });
        Ok(())
    }

    fn stray(&mut self, file: &str, what: &str) {
        self.files.strays.push(Problem { file: file.to_owned(), line: 1, column: 1, what: what.to_owned() });
    }
}

/// The endings of the files of a kind.
fn endings(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Agent | Kind::Prompt | Kind::Model | Kind::Mcp => &["toml", "json"],
        Kind::Tool => &["ts", "js", "toml"],
        Kind::Effect | Kind::Hook | Kind::Endpoint => &["ts", "js"],
        Kind::Skill => &["md"],
        Kind::Vendor => &["js"],
    }
}

pub(crate) fn is_name(name: &str) -> bool {
    let accepted = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    (1..=NAME_MAX).contains(&name.len()) && name.chars().all(accepted) && !name.starts_with('-')
}

/// The names in a folder, in order; none if the folder does not exist.
fn entries(folder: &Path) -> io::Result<Vec<String>> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in listed {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

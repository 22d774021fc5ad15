//! Files and values of a thread: what is where, and how it came there.
//!
//! A file is a name for a blob; a value is JSON under a key. Both are *cells*: the newest one of a name that a lineage shows
//! is what the thread holds. Nothing is ever overwritten, so every version stays readable.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{BlobId, Code, Invalid, Json, Timestamp, Version};

/// Where a file or directory is: absolute, normalised, and never outside the thread.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(String);

impl FilePath {
    /// Longest path, in bytes.
    pub const BYTES_MAX: usize = 1_024;
    /// Longest name of a file or directory, in bytes.
    pub const NAME_BYTES_MAX: usize = 255;

    /// The directory that holds everything.
    pub fn root() -> Self {
        Self("/".to_owned())
    }

    /// The path as text, with a slash in front and none behind.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the directory that holds everything.
    pub fn is_root(&self) -> bool {
        self.0 == "/"
    }

    /// The last part; empty for the root.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(_, name)| name)
    }

    /// The directories above it, the nearest first, without the root.
    pub fn ancestors(&self) -> impl Iterator<Item = &str> {
        let mut rest = self.0.as_str();
        std::iter::from_fn(move || {
            let (above, _) = rest.rsplit_once('/')?;
            rest = above;
            (!above.is_empty()).then_some(above)
        })
    }

    /// What every path below it begins with: the path and a slash.
    pub fn prefix(&self) -> String {
        if self.is_root() { self.0.clone() } else { format!("{}/", self.0) }
    }

    /// This path with what follows `from` moved below `to`; none if it is not below `from`.
    pub fn moved(&self, from: &FilePath, to: &FilePath) -> Option<Result<FilePath, Invalid>> {
        if self == from {
            return Some(Ok(to.clone()));
        }
        let rest = self.0.strip_prefix(&from.prefix())?;
        Some(format!("{}{rest}", to.prefix()).parse())
    }
}

impl FromStr for FilePath {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let refused = |rule: String| Err(Invalid::parameter("path", rule));
        if text.len() > 4 * Self::BYTES_MAX {
            return refused(format!("has at most {} bytes", Self::BYTES_MAX));
        }
        if text.chars().any(char::is_control) {
            return refused("must not hold control characters".to_owned());
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if parts.pop().is_none() {
                        let rule = format!("'{text}' leads out of the thread: '..' goes no higher than '/'");
                        return Err(Invalid::new(Code::PathEscapesRoot, "path", rule));
                    }
                }
                name if name.len() > Self::NAME_BYTES_MAX => {
                    return refused(format!("has names of at most {} bytes", Self::NAME_BYTES_MAX));
                }
                name => parts.push(name),
            }
        }
        let path = format!("/{}", parts.join("/"));
        if path.len() > Self::BYTES_MAX {
            return refused(format!("has at most {} bytes", Self::BYTES_MAX));
        }
        Ok(Self(path))
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for FilePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for FilePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Body of [`Entry::FilesChanged`](crate::Entry::FilesChanged).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilesChanged {
    /// What changed, each path once.
    pub changes: Vec<FileChange>,
    /// How much that is.
    #[serde(default, skip_serializing_if = "DiffStats::is_zero")]
    pub stats: DiffStats,
    /// The version to which a file was brought back, if that is what happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<Version>,
}

/// What happened at one path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum FileChange {
    /// A file was written, whole.
    Write {
        /// Where.
        path: FilePath,
        /// What it is from here on.
        file: FileCell,
    },
    /// A file was removed.
    Remove {
        /// Where.
        path: FilePath,
    },
    /// A directory was made.
    MakeDirectory {
        /// Where.
        path: FilePath,
    },
    /// An empty directory was removed.
    RemoveDirectory {
        /// Where.
        path: FilePath,
    },
}

impl FileChange {
    /// Where it happened.
    pub fn path(&self) -> &FilePath {
        match self {
            Self::Write { path, .. }
            | Self::Remove { path }
            | Self::MakeDirectory { path }
            | Self::RemoveDirectory { path } => path,
        }
    }
}

/// What a file is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileCell {
    /// The hash of its content.
    pub hash: BlobId,
    /// Its size, in bytes.
    pub size: u64,
    /// What it is, such as `text/plain`.
    pub mime_type: String,
    /// When it came to be; none if with this very version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// The width of an image, in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// The height of an image, in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// The hash of a small picture of it that its writer gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thumbnail: Option<BlobId>,
    /// What its writer says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

/// How much files changed: of the files themselves, and of the lines in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DiffStats {
    /// Files that were not there before.
    pub files_added: u64,
    /// Files that have other content than before.
    pub files_changed: u64,
    /// Files that are gone.
    pub files_removed: u64,
    /// Lines that were not there before.
    pub lines_added: u64,
    /// Lines that say something else than before.
    pub lines_changed: u64,
    /// Lines that are gone.
    pub lines_removed: u64,
}

impl DiffStats {
    /// Whether nothing changed.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            files_added: self.files_added + other.files_added,
            files_changed: self.files_changed + other.files_changed,
            files_removed: self.files_removed + other.files_removed,
            lines_added: self.lines_added + other.lines_added,
            lines_changed: self.lines_changed + other.lines_changed,
            lines_removed: self.lines_removed + other.lines_removed,
        }
    }
}

/// Under what a value lies: 1 to 512 bytes of text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ValueKey(String);

impl ValueKey {
    /// Longest key, in bytes.
    pub const BYTES_MAX: usize = 512;

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ValueKey {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let text = crate::strip_nulls(text.to_owned());
        if text.is_empty() || text.len() > Self::BYTES_MAX {
            return Err(Invalid::parameter("key", format!("has 1 to {} bytes", Self::BYTES_MAX)));
        }
        Ok(Self(text))
    }
}

impl fmt::Display for ValueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ValueKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Body of [`Entry::ValuesChanged`](crate::Entry::ValuesChanged).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValuesChanged {
    /// What changed, each key once.
    pub changes: Vec<ValueChange>,
}

/// What happened under one key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValueChange {
    /// The key.
    pub key: ValueKey,
    /// What lies there from here on; none if nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
}

/// What cells are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Space {
    /// Files and directories, by path.
    Files = 1,
    /// Values, by key.
    Values = 2,
}

impl Space {
    /// The code on disk.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// What bounds its cells when they are seen through a link.
    pub fn class(self) -> crate::Class {
        match self {
            Self::Files => crate::Class::Files,
            Self::Values => crate::Class::Values,
        }
    }
}

/// What one name holds from an entry on.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCell {
    /// The path or the key.
    pub name: String,
    /// What it holds.
    pub is: CellIs,
}

/// What a name holds.
#[derive(Debug, Clone, PartialEq)]
pub enum CellIs {
    /// Nothing any more.
    Gone,
    /// This, as JSON: a [`FileCell`], `null` for a directory, or a value.
    There(String),
    /// A value that is too large for a row: it is in the entry.
    InEntry,
}

/// Values up to this many bytes lie in the row too, so that lists need no other read.
const IN_ROW_BYTES_MAX: usize = 2_048;

impl FilesChanged {
    /// The cells that follow from it.
    pub(crate) fn cells(&self) -> Vec<NewCell> {
        let is = |change: &FileChange| match change {
            FileChange::Write { file, .. } => {
                CellIs::There(serde_json::to_string(file).expect("a file has text keys and plain values"))
            }
            FileChange::MakeDirectory { .. } => CellIs::There("null".to_owned()),
            FileChange::Remove { .. } | FileChange::RemoveDirectory { .. } => CellIs::Gone,
        };
        self.changes.iter().map(|change| NewCell { name: change.path().to_string(), is: is(change) }).collect()
    }

    /// Bytes of content it wrote.
    pub fn bytes(&self) -> u64 {
        let size = |change: &FileChange| match change {
            FileChange::Write { file, .. } => file.size,
            FileChange::Remove { .. } | FileChange::MakeDirectory { .. } | FileChange::RemoveDirectory { .. } => 0,
        };
        self.changes.iter().map(size).sum()
    }

    /// The content it names.
    pub(crate) fn blobs(&self) -> Vec<BlobId> {
        let files = self.changes.iter().filter_map(|change| match change {
            FileChange::Write { file, .. } => Some(file),
            FileChange::Remove { .. } | FileChange::MakeDirectory { .. } | FileChange::RemoveDirectory { .. } => None,
        });
        files.flat_map(|file| std::iter::once(file.hash).chain(file.thumbnail)).collect()
    }
}

impl ValuesChanged {
    /// The cells that follow from it.
    pub(crate) fn cells(&self) -> Vec<NewCell> {
        let is = |value: &Option<Json>| match value {
            None => CellIs::Gone,
            Some(value) if value.as_str().len() <= IN_ROW_BYTES_MAX => CellIs::There(value.as_str().to_owned()),
            Some(_) => CellIs::InEntry,
        };
        let cell = |change: &ValueChange| NewCell { name: change.key.to_string(), is: is(&change.value) };
        self.changes.iter().map(cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Result<String, &'static str> {
        text.parse::<FilePath>().map(|path| path.to_string()).map_err(|invalid| invalid.code.as_str())
    }

    #[test]
    fn paths_are_normalised_and_stay_inside() {
        for (text, normal) in [
            ("", "/"),
            ("/", "/"),
            ("a", "/a"),
            ("//a///b/", "/a/b"),
            ("/a/./b", "/a/b"),
            ("/a/../b", "/b"),
            ("a/b/../../c", "/c"),
            ("/a\\b", "/a\\b"),
            ("/ä/ß ", "/ä/ß "),
            ("/...", "/..."),
        ] {
            assert_eq!(path(text), Ok(normal.to_owned()), "{text}");
        }
        for text in ["..", "/..", "/a/../..", "a/../../b"] {
            assert_eq!(path(text), Err("path_escapes_root"), "{text}");
        }
        let (long_name, long) = ("x".repeat(256), "/abc".repeat(257));
        for text in ["/a\0b", "/a\nb", &long_name, &long] {
            assert_eq!(path(text), Err("invalid_parameter"), "{text}");
        }
    }

    #[test]
    fn a_path_knows_what_is_above_and_below_it() {
        let path: FilePath = "/a/b/c.txt".parse().expect("a path");
        assert_eq!(path.ancestors().collect::<Vec<_>>(), ["/a/b", "/a"]);
        assert_eq!((path.name(), path.prefix().as_str()), ("c.txt", "/a/b/c.txt/"));
        let (from, to): (FilePath, FilePath) = ("/a".parse().expect("a path"), "/x/y".parse().expect("a path"));
        assert_eq!(
            path.moved(&from, &to).and_then(Result::ok).map(|path| path.to_string()),
            Some("/x/y/b/c.txt".into())
        );
        assert_eq!(path.moved(&"/a/b/c".parse().expect("a path"), &to), None);
        assert_eq!(FilePath::root().ancestors().count(), 0);
    }
}

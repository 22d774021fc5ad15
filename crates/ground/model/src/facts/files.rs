//! Facts about files and values.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::{BlobId, CellIs, Derived, DiffStats, FileCell, FilePath, Json, NewCell, Space, ValueKey, Version};

/// Files or directories were written or removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilesChanged {
    /// The changes, each path once.
    pub changes: Vec<FileChange>,
    /// How many files and lines they changed.
    #[serde(default, skip_serializing_if = "DiffStats::is_zero")]
    pub stats: DiffStats,
    /// The version that a file was restored to, if the change is a restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<Version>,
}

/// A change at one path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "a path is where the change happened, and a file is its new content")]
pub enum FileChange {
    /// A file was written, whole.
    Write { path: FilePath, file: FileCell },
    /// A file was removed.
    Remove { path: FilePath },
    /// A directory was made.
    MakeDirectory { path: FilePath },
    /// An empty directory was removed.
    RemoveDirectory { path: FilePath },
}

impl FileChange {
    /// The path that changed.
    pub fn path(&self) -> &FilePath {
        match self {
            Self::Write { path, .. }
            | Self::Remove { path }
            | Self::MakeDirectory { path }
            | Self::RemoveDirectory { path } => path,
        }
    }
}

/// Values were set or removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValuesChanged {
    /// The changes, each key once.
    pub changes: Vec<ValueChange>,
}

/// A change of one value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValueChange {
    /// The key of the value.
    pub key: ValueKey,
    /// The new value; none if the key was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
}

/// Values up to this many bytes lie in the row too, so that lists need no other read.
const IN_ROW_BYTES_MAX: usize = 2_048;

impl FilesChanged {
    fn cells(&self) -> Vec<NewCell> {
        let is = |change: &FileChange| match change {
            FileChange::Write { file, .. } => {
                CellIs::There(serde_json::to_string(file).expect("a file has text keys and plain values"))
            }
            FileChange::MakeDirectory { .. } => CellIs::There("null".to_owned()),
            FileChange::Remove { .. } | FileChange::RemoveDirectory { .. } => CellIs::Gone,
        };
        self.changes.iter().map(|change| NewCell { name: change.path().to_string(), is: is(change) }).collect()
    }

    /// Bytes of content that it wrote.
    pub fn bytes(&self) -> u64 {
        let size = |change: &FileChange| match change {
            FileChange::Write { file, .. } => file.size,
            FileChange::Remove { .. } | FileChange::MakeDirectory { .. } | FileChange::RemoveDirectory { .. } => 0,
        };
        self.changes.iter().map(size).sum()
    }
}

impl Fact for FilesChanged {
    fn derived(&self) -> Derived {
        Derived::Cells { space: Space::Files, cells: self.cells(), stats: self.stats, bytes: self.bytes() }
    }

    fn blobs(&self) -> Vec<BlobId> {
        let files = self.changes.iter().filter_map(|change| match change {
            FileChange::Write { file, .. } => Some(file),
            FileChange::Remove { .. } | FileChange::MakeDirectory { .. } | FileChange::RemoveDirectory { .. } => None,
        });
        files.flat_map(|file| std::iter::once(file.hash).chain(file.thumbnail)).collect()
    }
}

impl Fact for ValuesChanged {
    fn derived(&self) -> Derived {
        let is = |value: &Option<Json>| match value {
            None => CellIs::Gone,
            Some(value) if value.as_str().len() <= IN_ROW_BYTES_MAX => CellIs::There(value.as_str().to_owned()),
            Some(_) => CellIs::InEntry,
        };
        let cell = |change: &ValueChange| NewCell { name: change.key.to_string(), is: is(&change.value) };
        let cells = self.changes.iter().map(cell).collect();
        Derived::Cells { space: Space::Values, cells, stats: DiffStats::default(), bytes: 0 }
    }
}

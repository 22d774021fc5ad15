//! Files and values as *cells*: the newest cell of a name that a lineage shows is the one that the thread holds. Cells
//! are never overwritten, so every version stays readable.

use serde::{Deserialize, Serialize};

use crate::{BlobId, Class, Json, Timestamp};

/// A file: its content by hash, and its description.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileCell {
    /// The hash of its content.
    pub hash: BlobId,
    /// Its size, in bytes.
    pub size: u64,
    /// Its media type, such as `text/plain`.
    pub mime_type: String,
    /// When the file was first written; none if this version is the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// The width of an image, in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// The height of an image, in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// The hash of a small picture of it, as its writer gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thumbnail: Option<BlobId>,
    /// A JSON object from its writer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

/// How many files changed, and how many lines in them. A line counts as changed if another one replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct DiffStats {
    pub files_added: u64,
    pub files_changed: u64,
    pub files_removed: u64,
    pub lines_added: u64,
    pub lines_changed: u64,
    pub lines_removed: u64,
}

impl DiffStats {
    /// Whether all counts are zero.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// The sums of both.
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

/// The two kinds of cells.
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

    /// The class that bounds its cells when they are seen through a link.
    pub fn class(self) -> Class {
        match self {
            Self::Files => Class::Files,
            Self::Values => Class::Values,
        }
    }
}

/// A cell that an entry writes.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCell {
    /// The path or the key.
    pub name: String,
    /// The content of the cell from the entry on.
    pub is: CellIs,
}

/// The content of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum CellIs {
    /// None: the name was removed.
    Gone,
    /// JSON: a [`FileCell`], `null` for a directory, or a value.
    There(String),
    /// A value that is too large for a row. The entry holds it.
    InEntry,
}

//! Files on the wire: what is at a path, its versions, and what searches find.

use serde::{Deserialize, Serialize};
use threadkeep_model::{Actor, BlobId, FilePath, Json, Timestamp, Version};

/// The header with what the writer of a file says about it: a JSON object.
pub const METADATA_HEADER: &str = "threadkeep-metadata";

/// The header with a small picture of a file, as base64.
pub const THUMBNAIL_HEADER: &str = "threadkeep-thumbnail";

/// A file or a directory. A directory that is there only because of what is below it has no times and no version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileRecord {
    /// Its path from the root of the thread.
    pub path: FilePath,
    /// The last part of its path.
    pub name: String,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Its size in bytes; 0 for a directory.
    pub size: u64,
    /// The media type of a file, such as `text/plain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The hash of its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<BlobId>,
    /// The width of an image, in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// The height of an image, in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// Metadata that its writer gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<threadkeep_model::schema::Object>")]
    pub metadata: Option<Json>,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// The version of the thread with which it last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

/// A version of a file: one entry that wrote or removed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileVersion {
    /// The version of the thread that the entry made.
    pub version: Version,
    /// When the entry was committed.
    pub created_at: Timestamp,
    /// The actor. Visitors of a public thread see no names.
    pub actor: Actor,
    /// Whether the file was removed.
    pub deleted: bool,
    /// Its size in bytes from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Its media type from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The hash of its content from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<BlobId>,
}

/// What is directly in a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Directory {
    /// Directories first, then by name.
    pub entries: Vec<FileRecord>,
}

/// The size of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileStats {
    /// How many files the thread has.
    pub file_count: u64,
    /// Directories, those included that are there because of what is below them.
    pub directory_count: u64,
    /// Bytes of all files.
    pub total_size: u64,
}

/// Files by their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Found {
    /// Where they are, in order.
    pub paths: Vec<FilePath>,
    /// Whether there may be more.
    pub truncated: bool,
}

/// Files with lines that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Grepped {
    /// The files, in the order of their paths.
    pub files: Vec<FileMatches>,
    /// Whether there may be more.
    pub truncated: bool,
}

/// The lines of a file that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FileMatches {
    /// The path of the file.
    pub path: FilePath,
    /// The matching lines, in order.
    pub matches: Vec<LineMatch>,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LineMatch {
    /// Which line, counted from 1.
    pub line: u64,
    /// At which character of the line the first match begins, counted from 1.
    pub column: u64,
    /// The line; of a long one, what is around the match.
    pub text: String,
}

/// The result of a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Moved {
    /// Where it is now.
    pub path: FilePath,
    /// Number of moved files.
    pub files: u64,
}

/// One file, as it was at a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactVersion {
    /// The path of the file.
    pub path: FilePath,
    /// The version of the thread at which it was so.
    pub version: Version,
}

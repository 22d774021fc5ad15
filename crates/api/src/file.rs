//! Files on the wire: what is at a path, its versions, and what searches find.

use serde::{Deserialize, Serialize};
use threadkeep_engine as engine;
use threadkeep_model::{Actor, BlobId, FilePath, Json, Timestamp, Version};

/// The header with what the writer of a file says about it: a JSON object.
pub const METADATA_HEADER: &str = "threadkeep-metadata";

/// A file or a directory. A directory that is there only because of what is below it has no times and no version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileRecord {
    /// Where it is.
    pub path: FilePath,
    /// The last part of its path.
    pub name: String,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Its size in bytes; 0 for a directory.
    pub size: u64,
    /// What a file is, such as `text/plain`.
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
    /// What its writer says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<threadkeep_model::schema::Object>"))]
    pub metadata: Option<Json>,
    /// When it came to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// The version of the thread with which it last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

impl From<&engine::FileRecord> for FileRecord {
    fn from(record: &engine::FileRecord) -> Self {
        let file = record.file();
        Self {
            path: record.path.clone(),
            name: record.path.name().to_owned(),
            is_directory: record.is_directory(),
            size: record.size(),
            mime_type: file.map(|file| file.mime_type.clone()),
            hash: file.map(|file| file.hash),
            width: file.and_then(|file| file.width),
            height: file.and_then(|file| file.height),
            metadata: record.metadata().cloned(),
            created_at: record.created,
            updated_at: record.updated,
            version: record.version,
        }
    }
}

/// A version of a file: one entry that wrote or removed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileVersion {
    /// The version of the thread that the entry made.
    pub version: Version,
    /// When.
    pub created_at: Timestamp,
    /// Who; visitors are told no names.
    pub actor: Actor,
    /// Whether the file was removed.
    pub deleted: bool,
    /// Its size in bytes from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What it was from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The hash of its content from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<BlobId>,
}

impl From<&engine::FileVersion> for FileVersion {
    fn from(version: &engine::FileVersion) -> Self {
        let file = version.record.as_ref().and_then(engine::FileRecord::file);
        Self {
            version: version.version,
            created_at: version.time,
            actor: (*version.actor).clone(),
            deleted: version.record.is_none(),
            size: file.map(|file| file.size),
            mime_type: file.map(|file| file.mime_type.clone()),
            hash: file.map(|file| file.hash),
        }
    }
}

/// What is directly in a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Directory {
    /// Directories first, then by name.
    pub entries: Vec<FileRecord>,
}

/// How much there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileStats {
    /// Files.
    pub file_count: u64,
    /// Directories, those included that are there because of what is below them.
    pub directory_count: u64,
    /// Bytes of all files.
    pub total_size: u64,
}

impl From<engine::FileStats> for FileStats {
    fn from(stats: engine::FileStats) -> Self {
        Self { file_count: stats.files, directory_count: stats.directories, total_size: stats.bytes }
    }
}

/// Files by their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Found {
    /// Where they are, in order.
    pub paths: Vec<FilePath>,
    /// Whether there may be more.
    pub truncated: bool,
}

/// Files with lines that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Grepped {
    /// The files, in the order of their paths.
    pub files: Vec<FileMatches>,
    /// Whether there may be more.
    pub truncated: bool,
}

/// The lines of a file that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileMatches {
    /// Which file.
    pub path: FilePath,
    /// The lines.
    pub matches: Vec<LineMatch>,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineMatch {
    /// Which line, counted from 1.
    pub line: u64,
    /// At which character of the line the first match begins, counted from 1.
    pub column: u64,
    /// The line; of a long one, what is around the match.
    pub text: String,
}

impl From<engine::Grepped> for Grepped {
    fn from(grepped: engine::Grepped) -> Self {
        let line =
            |found: engine::Match| LineMatch { line: found.line as u64, column: found.column as u64, text: found.text };
        let files = grepped.files.into_iter().map(|(path, matches)| {
            let matches = matches.into_iter().map(line).collect();
            FileMatches { path, matches }
        });
        Self { files: files.collect(), truncated: grepped.truncated }
    }
}

/// What a move did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moved {
    /// Where it is now.
    pub path: FilePath,
    /// How many files that were.
    pub files: u64,
}

/// One file, as it was at a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ArtifactVersion {
    /// Which file.
    pub path: FilePath,
    /// The version of the thread at which it was so.
    pub version: Version,
}

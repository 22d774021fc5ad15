//! Changing files: `write-file`, `delete-file`, `move-file`, `mkdir`, `rmdir`. Each is one entry, and every write
//! makes a new version: the old one stays readable.
//! [`decide`] decides each change; [`describe`] fills in the details of a file, [`stats`] counts changed lines.

mod decide;
mod describe;
mod guard;
mod stats;

use std::collections::BTreeSet;

use bytes::Bytes;
use threadkeep_calls::At;
use threadkeep_model::{
    BlobId, Entry, FileCell, FileChange, FilePath, FilesChanged, Invalid, Json, ThreadId, Timestamp, Version,
};

use self::decide::Decided;
use super::upload::FileContent;
use crate::files::{FileIs, FileRecord};
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::{Engine, Result};

/// A file to write.
#[derive(Debug, Clone)]
pub struct NewFile {
    /// Its path. An existing file gets a new version.
    pub path: FilePath,
    /// The content, whole or already uploaded.
    pub content: FileContent,
    /// Its MIME type, such as `text/plain`; guessed from its name and content if not given.
    pub mime_type: Option<String>,
    /// The writer's metadata: a JSON object.
    pub metadata: Option<Json>,
    /// The width of an image, in pixels.
    pub width: Option<u32>,
    /// The height of an image, in pixels.
    pub height: Option<u32>,
    /// A small picture of it.
    pub thumbnail: Option<Bytes>,
}

impl NewFile {
    /// A file with this content.
    ///
    /// # Errors
    /// If the path breaks a rule.
    pub fn new(path: &str, content: impl Into<FileContent>) -> Result<Self, Invalid> {
        Ok(Self {
            path: path.parse()?,
            content: content.into(),
            mime_type: None,
            metadata: None,
            width: None,
            height: None,
            thumbnail: None,
        })
    }
}

/// Whether a write may replace an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Over {
    /// Replaces an existing file: it gets a new version.
    #[default]
    Anything,
    /// Nothing: the file must be new.
    Nothing,
}

/// Writes files, all of them or none.
#[derive(Debug, Clone)]
pub struct WriteFiles {
    /// The files, each path once.
    pub files: Vec<NewFile>,
    /// Whether they may replace existing files.
    pub over: Over,
}

impl From<NewFile> for WriteFiles {
    fn from(file: NewFile) -> Self {
        Self { files: vec![file], over: Over::Anything }
    }
}

/// Deletes a file. That there is none is no error.
#[derive(Debug, Clone)]
pub struct DeleteFile {
    /// The path of the file.
    pub path: FilePath,
}

/// Moves a file, or a directory with all that is below it.
#[derive(Debug, Clone)]
pub struct MoveFile {
    /// The path of the file or directory now.
    pub from: FilePath,
    /// To where. A file that is there gets a new version.
    pub to: FilePath,
}

/// Makes a directory, and those above it. That it is there is no error.
#[derive(Debug, Clone)]
pub struct MakeDirectory {
    /// The path of the new directory.
    pub path: FilePath,
}

/// Removes an empty directory. That there is none is no error.
#[derive(Debug, Clone)]
pub struct RemoveDirectory {
    /// The path of the empty directory.
    pub path: FilePath,
}

enum Wanted<'a> {
    Write(&'a [NewFile], &'a [FileCell], Over),
    Delete(&'a FilePath),
    Move(&'a FilePath, &'a FilePath),
    MakeDirectory(&'a FilePath),
    RemoveDirectory(&'a FilePath),
    Restore(&'a FilePath, Version),
}

/// The result of a change: its version and time, if anything changed, and the changes.
struct Happened {
    place: Option<(Version, Timestamp)>,
    changes: Vec<FileChange>,
}

impl Engine {
    /// Writes files in one commit, and returns their new records.
    ///
    /// # Errors
    /// [`Error::IsADirectory`], [`Error::NotADirectory`] if a path cannot hold a file; [`Error::FileExists`] if it must
    /// be new and is not; [`Error::QuotaExceeded`]; [`TooLarge`](threadkeep_model::Code::TooLarge);
    /// [`Error::SecretInFile`] and [`Error::ApprovalRequired`] for an agent; [`Error::ThreadClosed`];
    /// [`Error::VersionConflict`].
    pub async fn write_files(&self, at: impl Into<At>, files: impl Into<WriteFiles>) -> Result<Vec<FileRecord>> {
        let at = at.into();
        let WriteFiles { mut files, over } = files.into();
        if let Err(refused) = self.guard_files(&at, &mut files).await {
            for file in &files {
                file.content.let_go().await;
            }
            return Err(refused);
        }
        let cells = files.iter().map(|file| self.new_cell(file)).collect::<Result<Vec<_>>>()?;
        let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        if files.is_empty() || paths.len() != files.len() {
            return Err(Invalid::body("files", "must name at least one path, and each once").into());
        }
        let written = files.iter().zip(&cells).map(|(file, cell)| format!("{} {cell:?}", file.path));
        let request: Vec<String> = written.chain([format!("{over:?}")]).collect();
        let request: Vec<&[u8]> = request.iter().map(String::as_bytes).collect();
        let (engine, thread) = self.enter(at, "write-file", &request).await?;
        let happened = engine.change_files(thread, Wanted::Write(&files, &cells, over)).await;
        for file in &files {
            file.content.let_go().await;
        }
        let Happened { place, changes } = happened?;
        let Some((version, time)) = place else { return Ok(Vec::new()) };
        let written = changes.into_iter().filter_map(|change| match change {
            FileChange::Write { path, file } => Some(FileRecord {
                path,
                created: Some(file.created.unwrap_or(time)),
                is: FileIs::File(file),
                updated: Some(time),
                version: Some(version),
            }),
            FileChange::Remove { .. } | FileChange::MakeDirectory { .. } | FileChange::RemoveDirectory { .. } => None,
        });
        Ok(written.collect())
    }

    /// Writes one file.
    ///
    /// # Errors
    /// As [`Engine::write_files`].
    pub async fn write_file(&self, at: impl Into<At>, file: NewFile) -> Result<FileRecord> {
        let written = self.write_files(at, file).await?.pop();
        written.ok_or_else(|| Invalid::body("files", "must name at least one path").into())
    }

    /// Deletes a file, and says whether there was one.
    ///
    /// # Errors
    /// [`Error::IsADirectory`]; [`Error::ApprovalRequired`];
    /// [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn delete_file(&self, at: impl Into<At>, delete: DeleteFile) -> Result<bool> {
        let (engine, thread) = self.enter(at.into(), "delete-file", &[delete.path.as_str().as_bytes()]).await?;
        let happened = engine.change_files(thread, Wanted::Delete(&delete.path)).await?;
        Ok(happened.place.is_some())
    }

    /// Moves a file, or a directory with all that is below it; gives how many files that were.
    ///
    /// # Errors
    /// [`Error::FileNotFound`] if there is nothing to move; [`Error::IsADirectory`], [`Error::NotADirectory`] if the
    /// target cannot hold it; [`Error::ApprovalRequired`]; [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn move_file(&self, at: impl Into<At>, moving: MoveFile) -> Result<usize> {
        let at = at.into();
        let MoveFile { from, to } = moving;
        let to = self.guard_path(&at, to).await?;
        if from.is_root() || to == from || to.as_str().starts_with(&from.prefix()) {
            let rule = format!("{from} cannot be moved to {to}: it would be inside itself");
            return Err(Invalid::parameter("moveTo", rule).into());
        }
        let request = [from.as_str().as_bytes(), to.as_str().as_bytes()];
        let (engine, thread) = self.enter(at, "move-file", &request).await?;
        let happened = engine.change_files(thread, Wanted::Move(&from, &to)).await?;
        Ok(happened.changes.iter().filter(|change| matches!(change, FileChange::Write { .. })).count())
    }

    /// Makes a directory, and says whether it was not there.
    ///
    /// # Errors
    /// [`Error::NotADirectory`] if a file is there or above it; [`Error::ApprovalRequired`];
    /// [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn make_directory(&self, at: impl Into<At>, make: MakeDirectory) -> Result<bool> {
        let at = at.into();
        let path = self.guard_path(&at, make.path).await?;
        let (engine, thread) = self.enter(at, "mkdir", &[path.as_str().as_bytes()]).await?;
        let happened = engine.change_files(thread, Wanted::MakeDirectory(&path)).await?;
        Ok(happened.place.is_some())
    }

    /// Removes an empty directory, and says whether there was one.
    ///
    /// # Errors
    /// [`Error::DirectoryNotEmpty`]; [`Error::NotADirectory`]; [`Error::ApprovalRequired`];
    /// [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn remove_directory(&self, at: impl Into<At>, remove: RemoveDirectory) -> Result<bool> {
        if remove.path.is_root() {
            return Err(Invalid::parameter("path", "the root cannot be removed").into());
        }
        let (engine, thread) = self.enter(at.into(), "rmdir", &[remove.path.as_str().as_bytes()]).await?;
        let happened = engine.change_files(thread, Wanted::RemoveDirectory(&remove.path)).await?;
        Ok(happened.place.is_some())
    }

    /// Restores one file as it was at a version: the content it had, or its absence.
    pub(crate) async fn restore_file(&self, thread: ThreadId, path: &FilePath, to: Version) -> Result<()> {
        self.change_files(thread, Wanted::Restore(path, to)).await.map(drop)
    }

    /// Decides and commits a change of files. Nothing changes where nothing is decided.
    async fn change_files(&self, thread: ThreadId, wanted: Wanted<'_>) -> Result<Happened> {
        let (blobs, restored): (Vec<(BlobId, Bytes)>, _) = match &wanted {
            Wanted::Write(files, ..) => {
                let contents = files.iter().flat_map(|file| file.content.whole().into_iter().chain(&file.thumbnail));
                (contents.map(|bytes| (BlobId::of(bytes), bytes.clone())).collect(), None)
            }
            Wanted::Restore(_, to) => (Vec::new(), Some(*to)),
            Wanted::Delete(_) | Wanted::Move(..) | Wanted::MakeDirectory(_) | Wanted::RemoveDirectory(_) => {
                (Vec::new(), None)
            }
        };
        let told = self
            .tell(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let view = self.view(thread.id, &thread.head, None).await?;
                let decided = self.decide_files(&thread, &view, &wanted).await?;
                let changed = decided.map(|Decided { changes, stats }| FilesChanged { changes, stats, restored });
                let entries = changed.map(Entry::FilesChanged).into_iter().collect();
                Ok(Plan::new(thread, entries).bringing(blobs.iter().cloned()))
            })
            .await?;
        let (first, time) = (told.place.first, told.place.time);
        Ok(match told.entries.into_iter().next() {
            Some(Entry::FilesChanged(changed)) => Happened { place: Some((first, time)), changes: changed.changes },
            _ => Happened { place: None, changes: Vec::new() },
        })
    }
}

//! Changing files: `write-file`, `delete-file`, `move-file`, `mkdir`, `rmdir`. Each is one entry, and every write makes a new
//! version: what was there before stays readable. Agents need authority for each: to edit, or to delete.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use threadkeep_model::{
    BlobId, Capability, CellIs, Code, DiffStats, Entry, FileCell, FileChange, FilePath, FilesChanged, Invalid, Json,
    NewEntry, Space, Tally, Thread, ThreadId, Timestamp, Version,
};
use threadkeep_store::Cell;

use super::upload::FileContent;
use super::write;
use crate::files::{FileIs, FileRecord, record};
use crate::gate::{Change, open_for};
use crate::lines::{is_text, line_stats, lines_in};
use crate::view::View;
use crate::{Engine, Error, Result};

/// Largest number of files that one move takes along.
const MOVED_MAX: usize = 10_000;
/// Files above this size are not compared line by line.
const COMPARED_BYTES_MAX: u64 = 1 << 20;
/// Longest type of a file, in bytes.
const MIME_BYTES_MAX: usize = 255;
/// What a file is if nobody says.
const ANY_TYPE: &str = "application/octet-stream";

/// A file to write.
#[derive(Debug, Clone)]
pub struct NewFile {
    /// Where. What is there already gets a new version.
    pub path: FilePath,
    /// Its content.
    pub content: FileContent,
    /// What it is, such as `text/plain`; guessed from its name and content if nobody says.
    pub mime_type: Option<String>,
    /// What the writer says about it: a JSON object.
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

/// What a file may be written over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Over {
    /// Whatever is there: it gets a new version.
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
    /// What they may be written over.
    pub over: Over,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl From<NewFile> for WriteFiles {
    fn from(file: NewFile) -> Self {
        Self { files: vec![file], over: Over::Anything, expected: None }
    }
}

/// Deletes a file. That there is none is no error.
#[derive(Debug, Clone)]
pub struct DeleteFile {
    /// Where.
    pub path: FilePath,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

/// Moves a file, or a directory with all that is below it.
#[derive(Debug, Clone)]
pub struct MoveFile {
    /// From where.
    pub from: FilePath,
    /// To where. A file that is there gets a new version.
    pub to: FilePath,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

/// Makes a directory, and those above it. That it is there is no error.
#[derive(Debug, Clone)]
pub struct MakeDirectory {
    /// Where.
    pub path: FilePath,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

/// Removes an empty directory. That there is none is no error.
#[derive(Debug, Clone)]
pub struct RemoveDirectory {
    /// Where.
    pub path: FilePath,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

/// What is decided, before it is an entry.
struct Decided {
    changes: Vec<FileChange>,
    stats: DiffStats,
}

impl Decided {
    /// One change of what is no file's content.
    fn plain(change: FileChange) -> Option<Self> {
        Some(Self { changes: vec![change], stats: DiffStats::default() })
    }
}

/// What is to happen.
enum Wanted<'a> {
    Write(&'a [NewFile], &'a [FileCell], Over),
    Delete(&'a FilePath),
    Move(&'a FilePath, &'a FilePath),
    MakeDirectory(&'a FilePath),
    RemoveDirectory(&'a FilePath),
    Restore(&'a FilePath, Version),
}

impl Wanted<'_> {
    /// What an agent needs to be allowed for it. What a move removes is there again under another name.
    fn needs(&self) -> Capability {
        match self {
            Self::Write(..) | Self::Move(..) | Self::MakeDirectory(_) | Self::Restore(..) => Capability::CodeEdit,
            Self::Delete(_) | Self::RemoveDirectory(_) => Capability::DeleteFile,
        }
    }
}

/// What happened: the version and the time it got, if anything did, and what changed.
struct Happened {
    place: Option<(Version, Timestamp)>,
    changes: Vec<FileChange>,
}

impl Engine {
    /// Writes files in one commit, and gives what they are now.
    ///
    /// # Errors
    /// [`Error::IsADirectory`], [`Error::NotADirectory`] if a path cannot hold a file; [`Error::FileExists`] if it must be
    /// new and is not; [`Error::QuotaExceeded`]; [`Code::TooLarge`]; [`Error::ApprovalRequired`] for an agent; [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn write_files(&self, thread: ThreadId, files: impl Into<WriteFiles>) -> Result<Vec<FileRecord>> {
        let WriteFiles { files, over, expected } = files.into();
        let cells = files.iter().map(|file| self.new_cell(file)).collect::<Result<Vec<_>>>()?;
        let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        if files.is_empty() || paths.len() != files.len() {
            return Err(Invalid::body("files", "must name at least one path, and each once").into());
        }
        let happened = self.change_files(thread, expected, Wanted::Write(&files, &cells, over)).await;
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
    pub async fn write_file(&self, thread: ThreadId, file: NewFile) -> Result<FileRecord> {
        let written = self.write_files(thread, file).await?.pop();
        written.ok_or_else(|| Invalid::body("files", "must name at least one path").into())
    }

    /// Deletes a file, and says whether there was one.
    ///
    /// # Errors
    /// [`Error::IsADirectory`]; [`Error::ApprovalRequired`];
    /// [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn delete_file(&self, thread: ThreadId, delete: DeleteFile) -> Result<bool> {
        let happened = self.change_files(thread, delete.expected, Wanted::Delete(&delete.path)).await?;
        Ok(happened.place.is_some())
    }

    /// Moves a file, or a directory with all that is below it; gives how many files that were.
    ///
    /// # Errors
    /// [`Error::FileNotFound`] if there is nothing to move; [`Error::IsADirectory`], [`Error::NotADirectory`] if the target
    /// cannot hold it; [`Error::ApprovalRequired`];
    /// [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn move_file(&self, thread: ThreadId, moving: MoveFile) -> Result<usize> {
        let MoveFile { from, to, expected } = moving;
        if from.is_root() || to == from || to.as_str().starts_with(&from.prefix()) {
            let rule = format!("{from} cannot be moved to {to}: it would be inside itself");
            return Err(Invalid::parameter("moveTo", rule).into());
        }
        let happened = self.change_files(thread, expected, Wanted::Move(&from, &to)).await?;
        Ok(happened.changes.iter().filter(|change| matches!(change, FileChange::Write { .. })).count())
    }

    /// Makes a directory, and says whether it was not there.
    ///
    /// # Errors
    /// [`Error::NotADirectory`] if a file is there or above it; [`Error::ApprovalRequired`];
    /// [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn make_directory(&self, thread: ThreadId, make: MakeDirectory) -> Result<bool> {
        let happened = self.change_files(thread, make.expected, Wanted::MakeDirectory(&make.path)).await?;
        Ok(happened.place.is_some())
    }

    /// Removes an empty directory, and says whether there was one.
    ///
    /// # Errors
    /// [`Error::DirectoryNotEmpty`]; [`Error::NotADirectory`]; [`Error::ApprovalRequired`];
    /// [`Error::ThreadClosed`]; [`Error::VersionConflict`].
    pub async fn remove_directory(&self, thread: ThreadId, remove: RemoveDirectory) -> Result<bool> {
        if remove.path.is_root() {
            return Err(Invalid::parameter("path", "the root cannot be removed").into());
        }
        let happened = self.change_files(thread, remove.expected, Wanted::RemoveDirectory(&remove.path)).await?;
        Ok(happened.place.is_some())
    }

    /// Brings one file back to what it was at a version: the content it had, or its absence.
    pub(crate) async fn restore_file(
        &self,
        thread: ThreadId,
        path: &FilePath,
        to: Version,
        expected: Option<Version>,
    ) -> Result<()> {
        self.change_files(thread, expected, Wanted::Restore(path, to)).await.map(drop)
    }

    /// Decides and commits a change of files. Nothing changes where nothing is decided.
    async fn change_files(&self, thread: ThreadId, expected: Option<Version>, wanted: Wanted<'_>) -> Result<Happened> {
        // Nobody is asked to allow what is refused anyway.
        open_for(&self.thread(thread).await?, Change::Content)?;
        self.authorize(thread, wanted.needs()).await?;
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
        let (committed, changes) = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let view = self.view(thread.id, &thread.head, None).await?;
                let (entries, changes) = match self.decide_files(&thread, &view, &wanted).await? {
                    Some(Decided { changes, stats }) => {
                        let changed = FilesChanged { changes: changes.clone(), stats, restored };
                        (vec![NewEntry::new(&Entry::FilesChanged(changed))], changes)
                    }
                    None => (Vec::new(), Vec::new()),
                };
                // Without entries, the commit still checks what the caller expects.
                let mut commit = self.commit(vec![write(&thread, expected, None, entries, None)]);
                commit.blobs.extend(blobs.iter().cloned());
                Ok((commit, changes))
            })
            .await?;
        let place = committed.threads.first().filter(|_| !changes.is_empty()).map(|place| (place.first, place.time));
        Ok(Happened { place, changes })
    }

    async fn decide_files(&self, thread: &Thread, view: &View, wanted: &Wanted<'_>) -> Result<Option<Decided>> {
        match wanted {
            Wanted::Write(files, cells, over) => {
                if *over == Over::Nothing {
                    self.refuse_taken(thread, view, files).await?;
                }
                self.check_quota(&thread.head.tally, files.iter().map(|file| file.content.size()).sum())?;
                self.decide_write(view, files, cells).await.map(Some)
            }
            Wanted::Delete(path) => {
                let Some(found) = self.stat_in(view, path).await? else { return Ok(None) };
                let Some(file) = found.file() else { return Err(Error::IsADirectory { path: (*path).clone() }) };
                let stats = self.stats_of_removal(file).await?;
                Ok(Some(Decided { changes: vec![FileChange::Remove { path: (*path).clone() }], stats }))
            }
            Wanted::Move(from, to) => self.decide_move(view, from, to).await.map(Some),
            Wanted::MakeDirectory(path) => {
                let path = (*path).clone();
                match self.stat_in(view, &path).await? {
                    Some(found) if !found.is_directory() => return Err(Error::NotADirectory { path }),
                    Some(found) if found.version.is_some() || path.is_root() => return Ok(None),
                    Some(_) => {}
                    None => self.refuse_blocked(view, &path).await?,
                }
                Ok(Decided::plain(FileChange::MakeDirectory { path }))
            }
            Wanted::RemoveDirectory(path) => {
                let path = (*path).clone();
                let Some(found) = self.stat_in(view, &path).await? else { return Ok(None) };
                if !found.is_directory() {
                    return Err(Error::NotADirectory { path });
                }
                if self.holds_something(view, &path).await? {
                    return Err(Error::DirectoryNotEmpty { path });
                }
                Ok(Decided::plain(FileChange::RemoveDirectory { path }))
            }
            Wanted::Restore(path, to) => self.decide_restore(thread, view, path, *to).await.map(Some),
        }
    }

    async fn decide_move(&self, view: &View, from: &FilePath, to: &FilePath) -> Result<Decided> {
        let Some(found) = self.stat_in(view, from).await? else {
            return Err(Error::FileNotFound { path: from.clone() });
        };
        self.refuse_blocked(view, to).await?;
        if self.stat_in(view, to).await?.is_some_and(|target| target.is_directory() || found.is_directory()) {
            return Err(Error::IsADirectory { path: to.clone() });
        }
        let mut moved = if found.is_directory() && found.version.is_none() { Vec::new() } else { vec![found] };
        let (below, more) = self.files_in(view, Some(from), None, MOVED_MAX).await?;
        moved.extend(below);
        if more.is_some() || moved.len() > MOVED_MAX {
            let rule = format!("holds more than {MOVED_MAX} files, which is as many as one move takes along");
            return Err(Invalid::new(Code::TooLarge, "path", rule).into());
        }
        let (mut changes, mut come) = (Vec::new(), Vec::new());
        for record in moved {
            let path = record.path.moved(from, to).transpose()?.unwrap_or_else(|| to.clone());
            match record.is {
                FileIs::File(file) => {
                    changes.push(FileChange::Remove { path: record.path });
                    come.push(FileChange::Write { path, file: FileCell { created: record.created, ..file } });
                }
                FileIs::Directory => {
                    changes.push(FileChange::RemoveDirectory { path: record.path });
                    come.push(FileChange::MakeDirectory { path });
                }
            }
        }
        changes.extend(come);
        Ok(Decided { changes, stats: DiffStats::default() })
    }

    async fn decide_restore(&self, thread: &Thread, view: &View, path: &FilePath, to: Version) -> Result<Decided> {
        open_for(thread, Change::Work)?;
        let then = self.view(thread.id, &thread.head, Some(to)).await?;
        let (was, is) = (self.stat_in(&then, path).await?, self.stat_in(view, path).await?);
        if [&was, &is].into_iter().flatten().any(FileRecord::is_directory) {
            return Err(Error::IsADirectory { path: path.clone() });
        }
        let now = is.as_ref().and_then(FileRecord::file);
        match (was, now) {
            (Some(FileRecord { is: FileIs::File(file), created, .. }), now) => {
                self.refuse_blocked(view, path).await?;
                let stats = self.stats_of_write(now, &file, None).await?;
                let file = FileCell { created, ..file };
                Ok(Decided { changes: vec![FileChange::Write { path: path.clone(), file }], stats })
            }
            (_, Some(now)) => {
                let stats = self.stats_of_removal(now).await?;
                Ok(Decided { changes: vec![FileChange::Remove { path: path.clone() }], stats })
            }
            (_, None) => Err(Error::FileNotFound { path: path.clone() }),
        }
    }

    fn new_cell(&self, file: &NewFile) -> Result<FileCell> {
        let limits = &self.shared.limits;
        if file.path.is_root() {
            return Err(Error::IsADirectory { path: file.path.clone() });
        }
        if file.content.size() > limits.file_bytes_max as u64 {
            let rule = format!("a file has at most {} bytes", limits.file_bytes_max);
            return Err(Invalid::new(Code::TooLarge, "content", rule).into());
        }
        if file.thumbnail.as_ref().is_some_and(|thumbnail| thumbnail.len() > limits.message_bytes_max) {
            let rule = format!("has at most {} bytes", limits.message_bytes_max);
            return Err(Invalid::new(Code::TooLarge, "thumbnail", rule).into());
        }
        if file.metadata.as_ref().is_some_and(|metadata| !metadata.is_object()) {
            return Err(Invalid::body("metadata", "must be a JSON object").into());
        }
        let mime_type = match &file.mime_type {
            Some(said)
                if said.len() > MIME_BYTES_MAX || said.chars().any(char::is_control) || said.trim().is_empty() =>
            {
                let rule = format!("has 1 to {MIME_BYTES_MAX} bytes and no control characters");
                return Err(Invalid::parameter("Content-Type", rule).into());
            }
            Some(said) => said.clone(),
            None => guessed(&file.path, &file.content).to_owned(),
        };
        let picture = threadkeep_tree::image::probe(file.content.head());
        Ok(FileCell {
            hash: file.content.hash(),
            size: file.content.size(),
            mime_type,
            created: None,
            width: file.width.or(picture.map(|picture| picture.width)),
            height: file.height.or(picture.map(|picture| picture.height)),
            thumbnail: file.thumbnail.as_ref().map(|bytes| BlobId::of(bytes)),
            metadata: file.metadata.clone(),
        })
    }

    /// Refuses to write `more` bytes to a thread that stands at `tally`.
    pub(crate) fn check_quota(&self, tally: &Tally, more: u64) -> Result<()> {
        let (used, max) = (tally.work.written, self.shared.limits.files_bytes_max);
        if used.saturating_add(more) > max { Err(Error::QuotaExceeded { used, more, max }) } else { Ok(()) }
    }

    async fn decide_write(&self, view: &View, files: &[NewFile], cells: &[FileCell]) -> Result<Decided> {
        let beside: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let above = files.iter().flat_map(|file| file.path.ancestors());
        let names: BTreeSet<String> = beside.iter().copied().chain(above).map(str::to_owned).collect();
        let found = self.cells_of(view, Space::Files, names.into_iter().collect()).await?;
        let (mut changes, mut stats) = (Vec::with_capacity(files.len()), DiffStats::default());
        for (file, cell) in files.iter().zip(cells) {
            blocked(&file.path, &found, &beside)?;
            let before = found.get(file.path.as_str()).map(record).transpose()?.flatten();
            match &before {
                Some(before) if before.is_directory() => return Err(Error::IsADirectory { path: file.path.clone() }),
                Some(_) => {}
                // A directory that nobody made is there if anything is below it; a file has nothing below it.
                None if self.holds_something(view, &file.path).await? => {
                    return Err(Error::IsADirectory { path: file.path.clone() });
                }
                None => {}
            }
            let created = before.as_ref().and_then(|before| before.created);
            let old = before.as_ref().and_then(FileRecord::file);
            stats = stats.plus(self.stats_of_write(old, cell, file.content.whole()).await?);
            changes.push(FileChange::Write { path: file.path.clone(), file: FileCell { created, ..cell.clone() } });
        }
        Ok(Decided { changes, stats })
    }

    /// Refuses paths where something is.
    async fn refuse_taken(&self, thread: &Thread, view: &View, files: &[NewFile]) -> Result<()> {
        for NewFile { path, .. } in files {
            if self.stat_in(view, path).await?.is_some() {
                return Err(Error::FileExists { path: path.clone(), current: thread.head.version });
            }
        }
        Ok(())
    }

    /// Refuses a path below a file.
    pub(crate) async fn refuse_blocked(&self, view: &View, path: &FilePath) -> Result<()> {
        let names = path.ancestors().map(str::to_owned).collect();
        blocked(path, &self.cells_of(view, Space::Files, names).await?, &BTreeSet::new())
    }

    /// How much a write changes. Binary and large files count as files only.
    pub(crate) async fn stats_of_write(
        &self,
        old: Option<&FileCell>,
        new: &FileCell,
        content: Option<&Bytes>,
    ) -> Result<DiffStats> {
        if old.is_some_and(|old| old.hash == new.hash) {
            return Ok(DiffStats::default());
        }
        let counted = match old {
            None => DiffStats { files_added: 1, ..DiffStats::default() },
            Some(_) => DiffStats { files_changed: 1, ..DiffStats::default() },
        };
        if new.size > COMPARED_BYTES_MAX || old.is_some_and(|old| old.size > COMPARED_BYTES_MAX) {
            return Ok(counted);
        }
        let new = match content {
            Some(content) => content.clone(),
            None => self.content(new.hash, None).await?,
        };
        let old = match old {
            Some(old) => self.content(old.hash, None).await?,
            None => Bytes::new(),
        };
        Ok(if is_text(&old) && is_text(&new) { counted.plus(line_stats(&old, &new)) } else { counted })
    }

    /// How much the removal of a file changes.
    pub(crate) async fn stats_of_removal(&self, old: &FileCell) -> Result<DiffStats> {
        let counted = DiffStats { files_removed: 1, ..DiffStats::default() };
        if old.size > COMPARED_BYTES_MAX {
            return Ok(counted);
        }
        let content = self.content(old.hash, None).await?;
        let lines_removed = if is_text(&content) { lines_in(&content) } else { 0 };
        Ok(DiffStats { lines_removed, ..counted })
    }
}

/// Refuses a path below a file, one that is there or one that is written beside it.
fn blocked(path: &FilePath, found: &BTreeMap<String, Cell>, beside: &BTreeSet<&str>) -> Result<()> {
    for above in path.ancestors() {
        let is_file = match found.get(above) {
            Some(cell) if cell.is != CellIs::Gone => record(cell)?.is_some_and(|above| !above.is_directory()),
            _ => false,
        };
        if is_file || beside.contains(above) {
            return Err(Error::NotADirectory { path: above.parse()? });
        }
    }
    Ok(())
}

/// What a file is, by its name and by what it holds.
fn guessed(path: &FilePath, content: &FileContent) -> &'static str {
    let ending = path.name().rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    match ending.as_str() {
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        _ if content.is_utf8_text() => "text/plain",
        _ => ANY_TYPE,
    }
}

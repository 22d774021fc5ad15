//! Reading files: the files a thread holds, now or as of a version. How they change is in `ops::files`.
//!
//! A directory exists because it was made, or because something is below it.

mod picture;
mod referred;
mod search;
mod tree;
mod values;
mod versions;

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;
use threadkeep_model::{BlobId, Capability, CellIs, FileCell, FilePath, Json, Space, ThreadId, Timestamp, Version};
use threadkeep_store::{BoxFuture, Cell, CellNames, CellPage, CellQuery, StoreError};

pub use referred::ReferredPage;
pub use search::{Find, Grep};
pub use tree::Files;
pub use values::Values;
pub use versions::FileVersion;

use crate::ground::view::View;
use crate::{Engine, Error, Result, Verb};

/// A file or a directory.
#[derive(Debug, Clone, PartialEq)]
pub struct FileRecord {
    /// The path from the root of the thread.
    pub path: FilePath,
    /// Whether it is a file or a directory.
    pub is: FileIs,
    /// When it was created; none for a directory that exists only because something is below it.
    pub created: Option<Timestamp>,
    /// When it last changed.
    pub updated: Option<Timestamp>,
    /// The version of the thread with which it last changed.
    pub version: Option<Version>,
}

/// A file or a directory, with its details.
#[derive(Debug, Clone, PartialEq)]
pub enum FileIs {
    /// A file with its content.
    File(FileCell),
    /// A directory, which has no content.
    Directory,
}

impl FileRecord {
    /// The file, unless it is a directory.
    pub fn file(&self) -> Option<&FileCell> {
        match &self.is {
            FileIs::File(file) => Some(file),
            FileIs::Directory => None,
        }
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.is == FileIs::Directory
    }

    /// Its size in bytes; 0 for a directory.
    pub fn size(&self) -> u64 {
        self.file().map_or(0, |file| file.size)
    }

    /// The metadata that the writer gave, if any.
    pub fn metadata(&self) -> Option<&Json> {
        self.file().and_then(|file| file.metadata.as_ref())
    }

    /// A directory that exists only because something is below it.
    pub(crate) fn implied(path: FilePath) -> Self {
        Self { path, is: FileIs::Directory, created: None, updated: None, version: None }
    }
}

/// The file record in a cell; none if the path was deleted.
pub(crate) fn record(cell: &Cell) -> Result<Option<FileRecord>> {
    let damaged =
        |what: String| Error::from(StoreError::corrupt(format!("the file {} cannot be read: {what}", cell.name)));
    let text = match &cell.is {
        CellIs::Gone => return Ok(None),
        CellIs::There(text) => text,
        CellIs::InEntry => return Err(damaged("it is not in its row".to_owned())),
    };
    let file: Option<FileCell> = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
    let path = cell.name.parse().map_err(|error: threadkeep_model::Invalid| damaged(error.to_string()))?;
    let created = file.as_ref().and_then(|file| file.created).unwrap_or(cell.time);
    Ok(Some(FileRecord {
        path,
        is: file.map_or(FileIs::Directory, FileIs::File),
        created: Some(created),
        updated: Some(cell.time),
        version: Some(cell.position),
    }))
}

/// The end of the names that begin with `prefix`, which ends with a slash or is empty.
pub(crate) fn prefix_end(prefix: &str) -> Option<String> {
    prefix.strip_suffix('/').map(|path| format!("{path}0"))
}

impl Engine {
    /// The file or directory at `path`, now or as of a version, if any.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`], [`Error::VersionInFuture`].
    pub fn stat<'a>(
        &'a self,
        thread: ThreadId,
        path: &'a FilePath,
        as_of: Option<Version>,
    ) -> BoxFuture<'a, Result<Option<FileRecord>>> {
        Box::pin(async move {
            let view = self.file_view(thread, Capability::Read, as_of).await?;
            self.stat_in(&view, path).await
        })
    }

    /// The file at `path`; none if nothing is there.
    ///
    /// # Errors
    /// [`Error::IsADirectory`]; otherwise as [`Engine::stat`].
    pub fn file<'a>(
        &'a self,
        thread: ThreadId,
        path: &'a FilePath,
        as_of: Option<Version>,
    ) -> BoxFuture<'a, Result<Option<FileRecord>>> {
        Box::pin(async move {
            match self.stat(thread, path, as_of).await? {
                Some(found) if found.is_directory() => Err(Error::IsADirectory { path: path.clone() }),
                found => Ok(found),
            }
        })
    }

    /// The content of a file, or the requested range of it. A caller that has the record was allowed to see the file.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn file_content<'a>(&'a self, file: &'a FileCell, range: Option<Range<u64>>) -> BoxFuture<'a, Result<Bytes>> {
        Box::pin(async move { self.content(file.hash, range).await })
    }

    /// The whole content of the file at `path`; none if nothing is there.
    ///
    /// # Errors
    /// As [`Engine::file`].
    pub fn read_file<'a>(
        &'a self,
        thread: ThreadId,
        path: &'a FilePath,
        as_of: Option<Version>,
    ) -> BoxFuture<'a, Result<Option<Bytes>>> {
        Box::pin(async move {
            match self.file(thread, path, as_of).await?.as_ref().and_then(FileRecord::file) {
                Some(file) => Ok(Some(self.file_content(file, None).await?)),
                None => Ok(None),
            }
        })
    }

    pub(crate) async fn content(&self, hash: BlobId, range: Option<Range<u64>>) -> Result<Bytes> {
        let blobs = &self.shared.stores.blobs;
        let found = match range {
            Some(range) => blobs.blob_part(hash, range).await?,
            None => blobs.blob(hash).await?,
        };
        found.ok_or_else(|| StoreError::corrupt(format!("the content {hash} of a file is missing")).into())
    }

    /// The view of a thread for a caller that may read its files and has the capability `needs`.
    pub(crate) async fn file_view(&self, thread: ThreadId, needs: Capability, as_of: Option<Version>) -> Result<View> {
        self.authorize(thread, needs).await?;
        self.held_view(thread, as_of).await
    }

    /// The view of a thread for a caller that may see its files and values.
    pub(crate) async fn held_view(&self, thread: ThreadId, as_of: Option<Version>) -> Result<View> {
        let head = self.head(thread, Verb::ReadFile).await?;
        self.view(thread, &head, as_of).await
    }

    /// Cells that a view shows.
    pub(crate) async fn cells(&self, view: &View, space: Space, names: CellNames, limit: usize) -> Result<CellPage> {
        let spans = view.lineage.holding(space, view.bounds, &view.tally);
        if spans.is_empty() {
            return Ok(CellPage::default());
        }
        Ok(self.shared.stores.store.cells(CellQuery { space, spans, names, limit }).await?)
    }

    /// The cells of these names, by name.
    pub(crate) async fn cells_of(
        &self,
        view: &View,
        space: Space,
        names: Vec<String>,
    ) -> Result<BTreeMap<String, Cell>> {
        let limit = names.len();
        let found = self.cells(view, space, CellNames::These(names), limit).await?;
        Ok(found.cells.into_iter().map(|cell| (cell.name.clone(), cell)).collect())
    }

    pub(crate) async fn stat_in(&self, view: &View, path: &FilePath) -> Result<Option<FileRecord>> {
        if path.is_root() {
            return Ok(Some(FileRecord::implied(path.clone())));
        }
        let found = self.cells_of(view, Space::Files, vec![path.to_string()]).await?;
        if let Some(found) = found.values().next().map(record).transpose()?.flatten() {
            return Ok(Some(found));
        }
        Ok(self.holds_something(view, path).await?.then(|| FileRecord::implied(path.clone())))
    }

    /// Whether anything is below `path`.
    pub(crate) async fn holds_something(&self, view: &View, path: &FilePath) -> Result<bool> {
        let mut from = Some(path.prefix());
        let end = prefix_end(&path.prefix());
        while let Some(start) = from {
            let page = self.cells(view, Space::Files, CellNames::Between(start, end.clone()), LOOKED_AT).await?;
            if page.cells.iter().any(|cell| cell.is != CellIs::Gone && cell.name != path.as_str()) {
                return Ok(true);
            }
            from = page.next;
        }
        Ok(false)
    }
}

/// Cells that are looked at in one read while something is searched for.
pub(crate) const LOOKED_AT: usize = 1_000;

//! Walking the tree: the entries of a directory, everything below one, and their number.

use std::collections::BTreeMap;

use threadkeep_calls::FileStats;
use threadkeep_model::{Capability, FilePath, Space, ThreadId, Version};
use threadkeep_store::{BoxFuture, CellNames};

use super::{FileRecord, LOOKED_AT, prefix_end, record};
use crate::ground::view::View;
use crate::{Engine, Error, Result};

/// Everything below a directory, in the order of paths.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// The directory; the whole thread without it.
    pub below: Option<FilePath>,
    /// From the path after this one on.
    pub after: Option<FilePath>,
    /// Most files to return.
    pub limit: Option<usize>,
    /// As of this version.
    pub as_of: Option<Version>,
}

impl Engine {
    /// The entries of the directory `path`: directories first, then by name. Empty if there is no such directory.
    ///
    /// # Errors
    /// [`Error::NotADirectory`] if a file is there; [`Error::ThreadNotFound`], [`Error::VersionInFuture`].
    pub fn readdir<'a>(
        &'a self,
        thread: ThreadId,
        path: &'a FilePath,
        as_of: Option<Version>,
    ) -> BoxFuture<'a, Result<Vec<FileRecord>>> {
        Box::pin(async move {
            let view = self.file_view(thread, Capability::Read, as_of).await?;
            self.readdir_in(&view, path).await
        })
    }

    pub(crate) async fn readdir_in(&self, view: &View, path: &FilePath) -> Result<Vec<FileRecord>> {
        if !path.is_root()
            && let Some(cell) = self.cells_of(view, Space::Files, vec![path.to_string()]).await?.values().next()
            && record(cell)?.is_some_and(|found| !found.is_directory())
        {
            return Err(Error::NotADirectory { path: path.clone() });
        }
        let (prefix, end) = (path.prefix(), prefix_end(&path.prefix()));
        let mut children: BTreeMap<String, FileRecord> = BTreeMap::new();
        let mut from = Some(prefix.clone());
        while let Some(start) = from {
            let page = self.cells(view, Space::Files, CellNames::Between(start, end.clone()), LOOKED_AT).await?;
            from = page.next;
            for cell in &page.cells {
                let Some(found) = record(cell)? else { continue };
                let Some(rest) = cell.name.strip_prefix(&prefix).filter(|rest| !rest.is_empty()) else { continue };
                match rest.split_once('/') {
                    None => drop(children.insert(rest.to_owned(), found)),
                    Some((name, _)) => {
                        let child = format!("{prefix}{name}");
                        if !children.contains_key(name) {
                            children.insert(name.to_owned(), FileRecord::implied(child.parse()?));
                        }
                        // The other paths below it need not be read.
                        if from.as_ref().is_some_and(|next| next.starts_with(&format!("{child}/"))) {
                            from = Some(format!("{child}0"));
                            break;
                        }
                    }
                }
            }
        }
        let mut found: Vec<FileRecord> = children.into_values().collect();
        found.sort_by(|a, b| (!a.is_directory(), a.path.name()).cmp(&(!b.is_directory(), b.path.name())));
        Ok(found)
    }

    /// Files and explicitly made directories, everywhere below a directory, and the path after which to go on.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`], [`Error::VersionInFuture`].
    pub fn files(&self, thread: ThreadId, files: Files) -> BoxFuture<'_, Result<(Vec<FileRecord>, Option<FilePath>)>> {
        Box::pin(async move {
            let view = self.file_view(thread, Capability::Read, files.as_of).await?;
            let limit = files.limit.unwrap_or(self.shared.limits.page_max);
            self.files_in(&view, files.below.as_ref(), files.after.as_ref(), limit).await
        })
    }

    pub(crate) async fn files_in(
        &self,
        view: &View,
        below: Option<&FilePath>,
        after: Option<&FilePath>,
        limit: usize,
    ) -> Result<(Vec<FileRecord>, Option<FilePath>)> {
        let prefix = below.map_or("/".to_owned(), FilePath::prefix);
        let end = prefix_end(&prefix);
        let mut found = Vec::new();
        let mut from = Some(after.map_or(prefix, |after| format!("{after}\u{1}")));
        while let Some(start) = from {
            let wanted = (limit - found.len()).clamp(1, LOOKED_AT) + 1;
            let page = self.cells(view, Space::Files, CellNames::Between(start, end.clone()), wanted).await?;
            from = page.next;
            for cell in &page.cells {
                let Some(record) = record(cell)? else { continue };
                if found.len() == limit {
                    return Ok((found.clone(), found.last().map(|last: &FileRecord| last.path.clone())));
                }
                found.push(record);
            }
        }
        Ok((found, None))
    }

    /// How many files and directories there are below `path`, and how large they are together.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`], [`Error::VersionInFuture`].
    pub fn file_stats<'a>(
        &'a self,
        thread: ThreadId,
        path: &'a FilePath,
        as_of: Option<Version>,
    ) -> BoxFuture<'a, Result<FileStats>> {
        Box::pin(async move {
            let view = self.file_view(thread, Capability::Read, as_of).await?;
            let mut stats = FileStats { file_count: 0, directory_count: 0, total_size: 0 };
            let mut directories = std::collections::BTreeSet::new();
            let mut after = None;
            loop {
                let (found, next) = self.files_in(&view, Some(path), after.as_ref(), LOOKED_AT).await?;
                for record in found {
                    let above = record.path.ancestors().filter(|above| above.starts_with(&path.prefix()));
                    directories.extend(above.map(str::to_owned));
                    if record.is_directory() {
                        directories.insert(record.path.to_string());
                    } else {
                        stats.file_count += 1;
                        stats.total_size += record.size();
                    }
                }
                match next {
                    Some(next) => after = Some(next),
                    None => break,
                }
            }
            stats.directory_count = directories.len() as u64;
            Ok(stats)
        })
    }
}

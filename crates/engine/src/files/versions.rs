//! The versions of a file: their writers, content and times. Every version stays readable.

use std::sync::Arc;

use threadkeep_model::{Actor, Capability, FilePath, MessageId, Space, ThreadId, Timestamp, Version};
use threadkeep_store::{BoxFuture, CellNames, StoreError};

use super::{FileRecord, record};
use crate::{Engine, Result};

/// A version of a file: one entry that wrote or removed it.
#[derive(Debug, Clone, PartialEq)]
pub struct FileVersion {
    /// The version of the thread that the entry made.
    pub version: Version,
    /// When it was written, by the store's clock.
    pub time: Timestamp,
    /// The person or agent who wrote it.
    pub actor: Arc<Actor>,
    /// The file or directory at the path from then on; none if it was deleted.
    pub record: Option<FileRecord>,
}

impl Engine {
    /// The versions of the file at `path` that a thread shows, the newest first; at most `limit`, 50 by default.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`], [`crate::Error::VersionInFuture`].
    pub fn file_versions<'a>(
        &'a self,
        thread: ThreadId,
        path: &'a FilePath,
        as_of: Option<Version>,
        limit: Option<usize>,
    ) -> BoxFuture<'a, Result<Vec<FileVersion>>> {
        Box::pin(async move {
            let view = self.file_view(thread, Capability::Read, as_of).await?;
            let limit = limit.unwrap_or(self.shared.limits.page).min(self.shared.limits.page_max);
            let cells = self.cells(&view, Space::Files, CellNames::VersionsOf(path.to_string()), limit).await?.cells;
            let mut versions = Vec::with_capacity(cells.len());
            for cell in &cells {
                let place = MessageId { segment: cell.segment, position: cell.position };
                let entry = self.entry_at(place).await?;
                let missing = || StoreError::corrupt(format!("the entry {place} that wrote {path} is missing"));
                versions.push(FileVersion {
                    version: cell.position,
                    time: cell.time,
                    actor: entry.ok_or_else(missing)?.actor,
                    record: record(cell)?,
                });
            }
            Ok(versions)
        })
    }
}

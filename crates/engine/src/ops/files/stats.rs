//! How much a change of a file changes, in files and in lines.

use bytes::Bytes;
use threadkeep_model::{DiffStats, FileCell};

use crate::lines::{is_text, line_stats, lines_in};
use crate::{Engine, Result};

/// Files above this size are not compared line by line.
const COMPARED_BYTES_MAX: u64 = 1 << 20;

impl Engine {
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

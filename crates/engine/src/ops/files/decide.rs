//! Decides a change of files from the view of a thread: the changes to log, or the error.

use std::collections::{BTreeMap, BTreeSet};

use threadkeep_model::{
    CellIs, Code, DiffStats, FileCell, FileChange, FilePath, Invalid, Space, Tally, Thread, Version,
};
use threadkeep_store::Cell;

use super::{NewFile, Over, Wanted};
use crate::files::{FileIs, FileRecord, record};
use crate::ground::gate::{Change, open_for};
use crate::ground::view::View;
use crate::{Engine, Error, Result};

/// Largest number of files that one move takes along.
const MOVED_MAX: usize = 10_000;

/// A decided change, before it is an entry.
pub(super) struct Decided {
    pub(super) changes: Vec<FileChange>,
    pub(super) stats: DiffStats,
}

impl Decided {
    /// One change that writes no content.
    fn plain(change: FileChange) -> Option<Self> {
        Some(Self { changes: vec![change], stats: DiffStats::default() })
    }
}

impl Engine {
    pub(super) async fn decide_files(
        &self,
        thread: &Thread,
        view: &View,
        wanted: &Wanted<'_>,
    ) -> Result<Option<Decided>> {
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
                // A directory that was not made explicitly exists if anything is below it; a file has nothing below it.
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

    async fn decide_move(&self, view: &View, from: &FilePath, to: &FilePath) -> Result<Decided> {
        let Some(found) = self.stat_in(view, from).await? else {
            return Err(Error::FileNotFound { path: from.clone() });
        };
        self.refuse_blocked(view, to).await?;
        let target = self.stat_in(view, to).await?;
        if target.as_ref().is_some_and(|target| target.is_directory() || found.is_directory()) {
            return Err(Error::IsADirectory { path: to.clone() });
        }
        let stats = match target.as_ref().and_then(FileRecord::file) {
            Some(replaced) => self.stats_of_removal(replaced).await?,
            None => DiffStats::default(),
        };
        let mut moved = if found.is_directory() && found.version.is_none() { Vec::new() } else { vec![found] };
        let (below, more) = self.files_in(view, Some(from), None, MOVED_MAX).await?;
        moved.extend(below);
        if more.is_some() || moved.len() > MOVED_MAX {
            let rule = format!("has more than {MOVED_MAX} files, the maximum of one move");
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
        Ok(Decided { changes, stats })
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

    /// Refuses to write `more` bytes to a thread if that exceeds its quota; `tally` has the bytes written so far.
    pub(crate) fn check_quota(&self, tally: &Tally, more: u64) -> Result<()> {
        let (used, max) = (tally.work.written, self.shared.limits.files_bytes_max);
        if used.saturating_add(more) > max { Err(Error::QuotaExceeded { used, more, max }) } else { Ok(()) }
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

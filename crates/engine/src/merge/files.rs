//! Files on both sides of a merge. Files that only the source changed are taken; files that both changed are
//! merged line by line, or are a conflict, which a choice or a strategy resolves.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use threadkeep_merge::{Labels, is_binary};
use threadkeep_model::{
    BlobId, Choice, ConflictType, FileCell, FileChange, FileConflict, FileOrigin, FilePath, FileStrategy, Json,
    MergeAction, MergeConflict, MergePlan, MergedFile, Resolved, Take, ThreadId,
};

use super::scope::Scope;
use crate::files::{FileIs, FileRecord};
use crate::ground::view::View;
use crate::{Engine, Result};

/// Files above this size are not merged line by line.
const MERGED_BYTES_MAX: u64 = 16 << 20;
/// Longest text with markers that a conflict shows.
const SHOWN_BYTES_MAX: usize = 64 << 10;
/// Files that are read at once.
const READ_AT_ONCE: usize = 1_000;

/// Files and explicitly made directories, by their paths.
pub(super) type Tree = BTreeMap<FilePath, FileRecord>;

/// The files of the target while threads are merged into it.
pub(super) struct Files {
    before: Tree,
    now: Tree,
    origins: BTreeMap<FilePath, Vec<FileOrigin>>,
    merged: BTreeSet<FilePath>,
    fresh: HashMap<BlobId, Bytes>,
    conflicts: Vec<MergeConflict>,
}

/// The result of merging files.
pub(super) struct Done {
    pub(super) before: BTreeMap<FilePath, FileCell>,
    pub(super) changes: Vec<FileChange>,
    pub(super) files: Vec<MergedFile>,
    pub(super) fresh: HashMap<BlobId, Bytes>,
    pub(super) conflicts: Vec<MergeConflict>,
}

/// One path on the three sides.
struct Sides<'a> {
    base: Option<&'a FileRecord>,
    ours: Option<&'a FileRecord>,
    theirs: Option<&'a FileRecord>,
}

impl Sides<'_> {
    fn conflict(&self) -> FileConflict {
        match (self.ours, self.theirs) {
            (Some(ours), Some(theirs)) if ours.is_directory() != theirs.is_directory() => FileConflict::TypeChanged,
            (None, _) => FileConflict::DeletedHere,
            (_, None) => FileConflict::DeletedThere,
            (Some(_), Some(_)) if self.base.and_then(FileRecord::file).is_none() => FileConflict::BothAdded,
            (Some(_), Some(_)) => FileConflict::BothChanged,
        }
    }
}

/// Whether two sides hold the same at a path.
fn same(one: Option<&FileRecord>, other: Option<&FileRecord>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.file().map(|file| file.hash) == other.file().map(|file| file.hash),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

impl Files {
    pub(super) fn new(tree: Tree) -> Self {
        Self {
            before: tree.clone(),
            now: tree,
            origins: BTreeMap::new(),
            merged: BTreeSet::new(),
            fresh: HashMap::new(),
            conflicts: Vec::new(),
        }
    }

    /// Every file there is now, with its content.
    pub(super) fn tree(&self) -> Vec<(FilePath, BlobId)> {
        self.now.values().filter_map(|record| Some((record.path.clone(), record.file()?.hash))).collect()
    }

    /// The paths that block a file at `path`: files above it, and everything below it.
    fn in_the_way(&self, path: &FilePath) -> Vec<FilePath> {
        let is_file = |above: &FilePath| self.now.get(above).is_some_and(|record| !record.is_directory());
        let above = path.ancestors().filter_map(|above| above.parse().ok()).filter(is_file);
        let below = self.now.keys().filter(|other| other.as_str().starts_with(&path.prefix())).cloned();
        above.chain(below).collect()
    }

    fn put(&mut self, path: &FilePath, record: Option<&FileRecord>, source: ThreadId) {
        for blocked in record.map_or(Vec::new(), |_| self.in_the_way(path)) {
            self.now.remove(&blocked);
            self.origins.entry(blocked).or_default().push(FileOrigin { thread_id: source, version: None });
        }
        match record {
            Some(record) => drop(self.now.insert(path.clone(), record.clone())),
            None => drop(self.now.remove(path)),
        }
        let version = record.and_then(|record| record.version);
        self.origins.entry(path.clone()).or_default().push(FileOrigin { thread_id: source, version });
    }

    /// Puts content that neither side has.
    fn put_content(&mut self, sides: &Sides<'_>, path: &FilePath, content: Vec<u8>, source: ThreadId) {
        let like = sides.ours.or(sides.theirs).and_then(FileRecord::file);
        let content = Bytes::from(content);
        let cell = FileCell {
            hash: BlobId::of(&content),
            size: content.len() as u64,
            mime_type: like.map_or("text/plain".to_owned(), |file| file.mime_type.clone()),
            created: None,
            width: None,
            height: None,
            thumbnail: None,
            metadata: like.and_then(|file| file.metadata.clone()),
        };
        self.fresh.insert(cell.hash, content);
        let version = sides.theirs.and_then(|record| record.version);
        let record = FileRecord { path: path.clone(), is: FileIs::File(cell), created: None, updated: None, version };
        self.merged.insert(path.clone());
        self.put(path, Some(&record), source);
    }

    /// The changes, their sources, and the conflicts.
    pub(super) fn done(self) -> Done {
        let (mut gone, mut come, mut files) = (Vec::new(), Vec::new(), Vec::new());
        for (path, from) in self.origins {
            let (before, now) = (self.before.get(&path), self.now.get(&path));
            if same(before, now) {
                continue;
            }
            match now.map(|record| &record.is) {
                Some(FileIs::File(file)) => {
                    let created = before.filter(|before| !before.is_directory()).and_then(|before| before.created);
                    come.push(FileChange::Write { path: path.clone(), file: FileCell { created, ..file.clone() } });
                }
                Some(FileIs::Directory) => come.push(FileChange::MakeDirectory { path: path.clone() }),
                None if before.is_some_and(FileRecord::is_directory) => {
                    gone.push(FileChange::RemoveDirectory { path: path.clone() });
                }
                None => gone.push(FileChange::Remove { path: path.clone() }),
            }
            let action = match (before, now) {
                (_, None) => MergeAction::Removed,
                (_, Some(_)) if self.merged.contains(&path) => MergeAction::Merged,
                (None, Some(_)) => MergeAction::Added,
                (Some(_), Some(_)) => MergeAction::Taken,
            };
            let hash = now.and_then(FileRecord::file).map(|file| file.hash);
            files.push(MergedFile { path, action, from, hash });
        }
        gone.extend(come);
        let kept: BTreeSet<BlobId> = files.iter().filter_map(|file| file.hash).collect();
        let fresh = self.fresh.into_iter().filter(|(hash, _)| kept.contains(hash)).collect();
        let cell = |record: FileRecord| Some((record.path.clone(), record.file()?.clone()));
        let before = self.before.into_values().filter_map(cell).collect();
        Done { before, changes: gone, files, fresh, conflicts: self.conflicts }
    }
}

impl Engine {
    /// The files and directories that a view shows.
    pub(super) async fn tree_of(&self, view: &View) -> Result<Tree> {
        let mut tree = Tree::new();
        let mut after = None;
        loop {
            let (found, next) = self.files_in(view, None, after.as_ref(), READ_AT_ONCE).await?;
            tree.extend(found.into_iter().map(|record| (record.path.clone(), record)));
            match next {
                Some(next) => after = Some(next),
                None => return Ok(tree),
            }
        }
    }

    /// Merges the files of one source.
    pub(super) async fn merge_files(
        &self,
        files: &mut Files,
        (source, before, after): (ThreadId, &Tree, &Tree),
        scope: &Scope,
        plan: &MergePlan,
    ) -> Result<()> {
        let paths: BTreeSet<&FilePath> = before.keys().chain(after.keys()).collect();
        for path in paths.into_iter().filter(|path| scope.has_file(path.as_str())) {
            let ours = files.now.get(path).cloned();
            let sides = Sides { base: before.get(path), ours: ours.as_ref(), theirs: after.get(path) };
            if same(sides.theirs, sides.base) || same(sides.ours, sides.theirs) {
                continue;
            }
            let is_removed_directory = sides.theirs.is_none() && sides.base.is_some_and(FileRecord::is_directory);
            if is_removed_directory && !files.in_the_way(path).is_empty() {
                // Something is in it here: it stays.
                continue;
            }
            let blocked =
                sides.theirs.is_some_and(|theirs| !theirs.is_directory()) && !files.in_the_way(path).is_empty();
            if same(sides.ours, sides.base) && !blocked {
                files.put(path, sides.theirs, source);
                continue;
            }
            let detail = if blocked { FileConflict::TypeChanged } else { sides.conflict() };
            self.resolve_file(files, path, &sides, (source, detail), plan).await?;
        }
        Ok(())
    }

    /// Decides the result for a file that both sides changed.
    async fn resolve_file(
        &self,
        files: &mut Files,
        path: &FilePath,
        sides: &Sides<'_>,
        (source, detail): (ThreadId, FileConflict),
        plan: &MergePlan,
    ) -> Result<()> {
        let choice = plan.choices.iter().find(|choice| choice.path.as_ref() == Some(path));
        let both = sides.ours.and_then(FileRecord::file).zip(sides.theirs.and_then(FileRecord::file));
        let texts = match both.filter(|_| detail != FileConflict::TypeChanged) {
            Some((ours, theirs)) => self.texts(files, sides.base.and_then(FileRecord::file), ours, theirs).await?,
            None => None,
        };
        let detail = if both.is_some() && texts.is_none() && detail != FileConflict::TypeChanged {
            FileConflict::Binary
        } else {
            detail
        };
        let merged = match texts.clone() {
            Some([base, ours, theirs]) => {
                let merge = move || {
                    let labels = Labels { ours: "target", theirs: &source.to_string() };
                    threadkeep_merge::merge(&base, &ours, &theirs, &labels)
                };
                Some(self.shared.heavy.turn().await.work(merge).await?)
            }
            None => None,
        };
        let strategy = plan.conflict_strategy.file;
        if choice.is_none()
            && matches!(strategy, FileStrategy::ThreeWay | FileStrategy::Union)
            && let Some(merged) = merged.as_ref().filter(|merged| merged.is_clean())
        {
            files.put_content(sides, path, merged.bytes.clone(), source);
            return Ok(());
        }
        let resolved =
            wanted(choice, strategy).filter(|wanted| *wanted != Resolved::Union || both.is_none() || texts.is_some());
        match resolved {
            Some(Resolved::Theirs) => files.put(path, sides.theirs, source),
            Some(Resolved::Content) => {
                let content = choice.and_then(|choice| choice.content.clone()).unwrap_or_default();
                files.put_content(sides, path, content.into_bytes(), source);
            }
            Some(Resolved::Union) => match &texts {
                Some([base, ours, theirs]) => {
                    let [base, ours, theirs] = [base.clone(), ours.clone(), theirs.clone()];
                    let union = move || threadkeep_merge::union(&base, &ours, &theirs);
                    let both = self.shared.heavy.turn().await.work(union).await?;
                    files.put_content(sides, path, both, source);
                }
                // If one side deleted a file, the other side's content is kept.
                None => files.put(path, sides.ours.or(sides.theirs), source),
            },
            Some(Resolved::Ours) | None => {}
        }
        let hash = |record: Option<&FileRecord>| {
            record.map(|record| match record.file() {
                Some(file) => Json::string(&file.hash.to_string()),
                None => Json::string("directory"),
            })
        };
        let shown = merged.filter(|merged| merged.bytes.len() <= SHOWN_BYTES_MAX);
        files.conflicts.push(MergeConflict {
            detail: Some(detail),
            source: Some(source),
            path: Some(path.clone()),
            base: hash(sides.base),
            ours: hash(sides.ours),
            theirs: hash(sides.theirs),
            merged: shown.and_then(|merged| String::from_utf8(merged.bytes).ok()),
            resolved,
            ..MergeConflict::of(ConflictType::File)
        });
        Ok(())
    }

    /// The three texts of a file, if they are texts that can be merged line by line.
    async fn texts(
        &self,
        files: &Files,
        base: Option<&FileCell>,
        ours: &FileCell,
        theirs: &FileCell,
    ) -> Result<Option<[Bytes; 3]>> {
        let mut texts = [Bytes::new(), Bytes::new(), Bytes::new()];
        for (text, cell) in texts.iter_mut().zip([base, Some(ours), Some(theirs)]) {
            let Some(cell) = cell else { continue };
            if cell.size > MERGED_BYTES_MAX {
                return Ok(None);
            }
            *text = match files.fresh.get(&cell.hash) {
                Some(bytes) => bytes.clone(),
                None => self.content(cell.hash, None).await?,
            };
        }
        Ok(texts.iter().all(|text| !is_binary(text)).then_some(texts))
    }
}

/// The result that a choice, or else the strategy, asks for in a conflict.
fn wanted(choice: Option<&Choice>, strategy: FileStrategy) -> Option<Resolved> {
    match choice {
        Some(Choice { content: Some(_), .. }) => Some(Resolved::Content),
        Some(Choice { take: Some(take), .. }) => Some(match take {
            Take::Ours => Resolved::Ours,
            Take::Theirs => Resolved::Theirs,
            Take::Union => Resolved::Union,
        }),
        Some(_) | None => match strategy {
            FileStrategy::ThreeWay | FileStrategy::Manual => None,
            FileStrategy::Ours => Some(Resolved::Ours),
            FileStrategy::Theirs => Some(Resolved::Theirs),
            FileStrategy::Union => Some(Resolved::Union),
        },
    }
}

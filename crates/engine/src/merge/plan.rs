//! The plan of a merge: collected, compared and resolved, before anything is written.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use threadkeep_calls::Decision;
use threadkeep_model::{
    BlobId, Choice, Decided, DiffStats, Entry, FileCell, FileChange, FilePath, FilesChanged, Invalid, MergeConflict,
    MergePlan, MergeSource, MergeStatus, MergedFile, MergedValue, Take, Thread, ThreadId, ValidationResult,
    ValueChange, ValuesChanged, Version,
};

use super::answers::Answers;
use super::files::Files;
use super::scope::Scope;
use super::values::Held;
use crate::{Engine, Error, Result, Standing, Verb};

/// The changes and conflicts of a merge.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    pub(crate) sources: Vec<MergeSource>,
    pub(crate) files: Vec<MergedFile>,
    pub(crate) values: Vec<MergedValue>,
    pub(crate) conflicts: Vec<MergeConflict>,
    pub(crate) validation: Option<ValidationResult>,
    /// The files that the target would hold.
    pub(crate) tree: Vec<(FilePath, BlobId)>,
    /// Contents that are new.
    pub(crate) fresh: HashMap<BlobId, Bytes>,
    changes: Vec<FileChange>,
    stats: DiffStats,
    set: Vec<ValueChange>,
    decided: Vec<Decided>,
}

impl Planned {
    /// Whether an unresolved conflict is left.
    pub(crate) fn is_conflicted(&self) -> bool {
        self.conflicts.iter().any(|conflict| conflict.resolved.is_none())
    }

    /// Why it does not go through now; none if it does.
    pub(crate) fn status(&self, requires_approval: bool) -> Option<MergeStatus> {
        if self.validation.as_ref().is_some_and(|validation| !validation.passed) {
            Some(MergeStatus::Failed)
        } else if self.is_conflicted() {
            Some(MergeStatus::Conflicted)
        } else {
            requires_approval.then_some(MergeStatus::PendingApproval)
        }
    }

    /// The entries of a successful merge, beside its record.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        if !self.changes.is_empty() {
            let changes = self.changes.clone();
            entries.push(Entry::FilesChanged(FilesChanged { changes, stats: self.stats, restored: None }));
        }
        if !self.set.is_empty() {
            entries.push(Entry::ValuesChanged(ValuesChanged { changes: self.set.clone() }));
        }
        entries.extend(self.decided.iter().cloned().map(Entry::Decided));
        entries
    }
}

/// Refuses choices that name nothing, or more than one thing.
pub(super) fn checked(plan: MergePlan) -> Result<MergePlan, Invalid> {
    Scope::read(&plan.artifact_scope)?;
    let refused = |rule: &str| Err(Invalid::body("choices", rule));
    for choice in &plan.choices {
        let Choice { path, key, question, take, content, value } = choice;
        let names = [path.is_some(), key.is_some(), question.is_some()].into_iter().filter(|named| *named).count();
        let says = [take.is_some(), content.is_some(), value.is_some()].into_iter().filter(|said| *said).count();
        if names != 1 {
            return refused("each names one of path, key and question");
        }
        if says != 1 {
            return refused("each says one of take, content and value");
        }
        if value.is_some() != key.is_some() && (value.is_some() || content.is_some() && key.is_some()) {
            return refused("a value goes with a key, content with a path or a question");
        }
        if *take == Some(Take::Union) && path.is_none() {
            return refused("only files are kept from both sides");
        }
    }
    Ok(plan)
}

impl Engine {
    /// Plans the merge of `sources`, each as it is or as of a version, into `target`.
    pub(super) async fn plan_merge(
        &self,
        target: &Thread,
        sources: &[(ThreadId, Option<Version>)],
        plan: &MergePlan,
    ) -> Result<Planned> {
        let scope = Scope::read(&plan.artifact_scope)?;
        let ours = self.view(target.id, &target.head, None).await?;
        let mut planned = Planned::default();
        let mut answers = Answers::new(self.decisions(target.id, None).await?);
        let mut files = Files::new(self.tree_of(&ours).await?);
        let mut held = Held::new(if scope.has_values() { self.held_in(&ours, &scope).await? } else { BTreeMap::new() });
        for (source, at) in sources {
            let (source, standing) = self.seen(*source, Verb::ReadFile).await?;
            let version = at.unwrap_or(source.head.version);
            let theirs = self.view(source.id, &source.head, Some(version)).await?;
            let (base, common) = self.merge_base((target, &ours), (&source, &theirs)).await?;
            if scope.has_files() {
                let mut before = BTreeMap::new();
                for (layer, view) in &common {
                    before.retain(|path: &FilePath, _| !layer.has_file(path.as_str()));
                    let shown = self.tree_of(view).await?.into_iter();
                    before.extend(shown.filter(|(path, _)| layer.has_file(path.as_str())));
                }
                let after = self.tree_of(&theirs).await?;
                self.merge_files(&mut files, (source.id, &before, &after), &scope, plan).await?;
            }
            if scope.has_values() {
                let mut before = BTreeMap::new();
                for (layer, view) in &common {
                    before.retain(|key: &String, _| !layer.has_value(key));
                    let shown = self.held_in(view, &scope).await?.into_iter();
                    before.extend(shown.filter(|(key, _)| layer.has_value(key)));
                }
                held.merge(source.id, &before, &self.held_in(&theirs, &scope).await?, plan)?;
            }
            if standing == Standing::Owner {
                for theirs in self.answers_of(&source, version, &base).await? {
                    planned.conflicts.extend(answers.merge(source.id, theirs, plan));
                }
            }
            planned.sources.push(MergeSource { thread_id: source.id, version, base });
        }
        planned.decided = answers.adopted();
        let max = self.shared.limits.decisions_max;
        if answers.before + planned.decided.len() > max {
            return Err(Error::DecisionsFull { max });
        }
        planned.tree = files.tree();
        let done = files.done();
        for change in &done.changes {
            planned.stats = planned.stats.plus(self.stats_of(&done.before, change, &done.fresh).await?);
        }
        planned.changes = done.changes;
        planned.files = done.files;
        planned.fresh = done.fresh;
        planned.conflicts.splice(0..0, done.conflicts);
        let (set, values, conflicts) = held.done();
        (planned.set, planned.values) = (set, values);
        planned.conflicts.extend(conflicts);
        Ok(planned)
    }

    /// How much one change of a merge changes.
    async fn stats_of(
        &self,
        before: &BTreeMap<FilePath, FileCell>,
        change: &FileChange,
        fresh: &HashMap<BlobId, Bytes>,
    ) -> Result<DiffStats> {
        match change {
            FileChange::Write { path, file } => {
                self.stats_of_write(before.get(path), file, fresh.get(&file.hash)).await
            }
            FileChange::Remove { path } => match before.get(path) {
                Some(file) => self.stats_of_removal(file).await,
                None => Ok(DiffStats::default()),
            },
            FileChange::MakeDirectory { .. } | FileChange::RemoveDirectory { .. } => Ok(DiffStats::default()),
        }
    }

    /// The answers of a source that no earlier merge compared.
    async fn answers_of(
        &self,
        source: &Thread,
        version: Version,
        base: &threadkeep_model::MergeBase,
    ) -> Result<Vec<Decision>> {
        let since = match base {
            threadkeep_model::MergeBase::Merge { thread_id, version, .. } if *thread_id == source.id => *version,
            _ => Version::START,
        };
        let mut answers = self.decisions(source.id, Some(version)).await?;
        answers.retain(|decision| decision.version > since);
        Ok(answers)
    }
}

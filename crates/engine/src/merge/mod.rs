//! `merge`: what other threads made comes together in this one. Not their conversations: their files, and their values.
//!
//! Collect, detect, resolve, validate, commit: all of it is decided against one state of the target, and becomes one commit
//! or none. A merge that is refused, fails its check or waits for an approval changes nothing but its own record.

mod base;
mod files;
mod plan;
mod scope;
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::{
    ApprovalAsked, ApprovalState, BlobId, Capability, ConflictType, Entry, FilePath, Invalid, ItemKind, MergeConflict,
    MergePlan, MergeStatus, Merged, NewEntry, Thread, ThreadId, Timestamp, Uuid, Validation, ValidationResult, Version,
};
use threadkeep_store::{BoxFuture, Item, ItemQuery, StoreError};

use self::plan::Planned;
use crate::gate::{Change, open_for};
use crate::ops::write;
use crate::{Engine, Error, Result};

/// Most threads that are merged at once.
const SOURCES_MAX: usize = 16;

/// Merges what other threads made into a thread.
#[derive(Debug, Clone, Default)]
pub struct Merge {
    /// The threads, in the order in which they are merged.
    pub sources: Vec<ThreadId>,
    /// How.
    pub plan: MergePlan,
    /// Whether to say only what would happen.
    pub dry_run: bool,
    /// The version the caller expects the target to be at.
    pub expected: Option<Version>,
}

impl Merge {
    /// Merges one thread, line by line where both sides changed a file.
    pub fn from(source: ThreadId) -> Self {
        Self { sources: vec![source], ..Self::default() }
    }
}

/// A merge, as far as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadMerge {
    /// The thread it was, or would be, merged into.
    pub thread: ThreadId,
    /// What is known of it.
    pub merged: Merged,
    /// The version and the time of its newest record; none for a dry run.
    pub at: Option<(Version, Timestamp)>,
}

/// Runs the commands that check the result of a merge. Whoever runs the program says which those are; a request never does.
pub trait Validate: Send + Sync {
    /// Runs a check over a tree; none if no command was configured for it.
    fn validate<'a>(
        &'a self,
        what: Validation,
        tree: &'a MergedTree,
    ) -> BoxFuture<'a, Result<Option<ValidationResult>>>;
}

/// The files that a merge would leave.
pub struct MergedTree {
    engine: Engine,
    files: Vec<(FilePath, BlobId)>,
    fresh: HashMap<BlobId, Bytes>,
}

impl MergedTree {
    /// Their paths.
    pub fn paths(&self) -> impl Iterator<Item = &FilePath> {
        self.files.iter().map(|(path, _)| path)
    }

    /// The content of the file with this number.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn content(&self, number: usize) -> Result<Bytes> {
        let Some((_, hash)) = self.files.get(number) else { return Ok(Bytes::new()) };
        match self.fresh.get(hash) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.engine.content(*hash, None).await,
        }
    }
}

/// Entries that a merge adds to a commit, with the contents they name.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) entries: Vec<NewEntry>,
    pub(crate) blobs: Vec<(BlobId, Bytes)>,
}

impl Engine {
    /// The same engine, whose merges are checked by `validator`.
    #[must_use]
    pub fn validating_by(&self, validator: Arc<dyn Validate>) -> Self {
        Self { validator: Some(validator), ..self.clone() }
    }

    /// Merges files and values of other threads into `target`, and says how far that came.
    ///
    /// Conflicts that no strategy and no choice resolves, and a check that fails, are no error: the answer says what they
    /// are, and nothing changed but the record of the merge.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`] for a thread the caller cannot see; a plan that breaks a rule;
    /// [`Error::ValidationNotConfigured`]; [`Error::ApprovalRequired`] for an agent that may not edit here;
    /// [`Error::ThreadClosed`]; [`Error::QuotaExceeded`]; [`Error::VersionConflict`].
    pub async fn merge(&self, target: ThreadId, merge: Merge) -> Result<ThreadMerge> {
        let Merge { sources, plan, dry_run, expected } = merge;
        check_sources(target, &sources)?;
        let plan = plan::checked(plan)?;
        if plan.validation != Validation::None {
            self.authorize(target, Capability::ExecuteCommand).await?;
        }
        let sources: Vec<(ThreadId, Option<Version>)> = sources.into_iter().map(|source| (source, None)).collect();
        if dry_run {
            let thread = self.thread(target).await?;
            let current = thread.head.version;
            if let Some(expected) = expected.filter(|expected| *expected != current) {
                return Err(Error::VersionConflict { expected, current });
            }
            let planned = self.validated(self.plan_merge(&thread, &sources, &plan).await?, &plan).await?;
            let status = planned.status(false).unwrap_or(MergeStatus::Clean);
            let merged = self.record_of(Uuid::from_chance(0), status, planned, plan, None);
            return Ok(ThreadMerge { thread: target, merged, at: None });
        }
        self.authorize(target, Capability::CodeEdit).await?;
        let id = Uuid::from_chance(self.shared.world.chance());
        let (committed, merged) = self
            .settle(target, || async {
                let thread = self.thread(target).await?;
                open_for(&thread, Change::Content)?;
                let planned = self.validated(self.plan_merge(&thread, &sources, &plan).await?, &plan).await?;
                let status = planned.status(plan.requires_approval).unwrap_or(MergeStatus::Merged);
                let (told, merged) = self.tell_merge(&thread, id, status, planned, plan.clone())?;
                let mut commit = self.commit(vec![write(&thread, expected, None, told.entries, None)]);
                commit.blobs.extend(told.blobs);
                Ok((commit, merged))
            })
            .await?;
        let place = committed.threads.first().map(|place| (place.head.version, place.time));
        Ok(ThreadMerge { thread: target, merged, at: place })
    }

    /// A merge into `thread` by its id.
    ///
    /// # Errors
    /// [`Error::MergeNotFound`] if there is none; [`Error::ThreadNotFound`].
    pub async fn merge_record(&self, thread: ThreadId, id: Uuid) -> Result<ThreadMerge> {
        let thread = self.thread(thread).await?;
        let found = self.merge_items(thread.id, Some(id)).await?.pop();
        let item = found.ok_or(Error::MergeNotFound { merge: id })?;
        self.read_merge(thread.id, &item).await
    }

    /// The merges into a thread, in the order in which they were asked for.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn merges(&self, thread: ThreadId) -> Result<Vec<ThreadMerge>> {
        let thread = self.thread(thread).await?;
        let mut merges = Vec::new();
        for item in self.merge_items(thread.id, None).await? {
            merges.push(self.read_merge(thread.id, &item).await?);
        }
        Ok(merges)
    }

    pub(crate) async fn merge_items(&self, thread: ThreadId, id: Option<Uuid>) -> Result<Vec<Item>> {
        let key = id.map(|id| id.to_string());
        let query = ItemQuery { thread, kind: ItemKind::Merge, key, limit: usize::MAX };
        Ok(self.shared.stores.store.items(query).await?)
    }

    pub(crate) async fn read_merge(&self, thread: ThreadId, item: &Item) -> Result<ThreadMerge> {
        match self.decode(&item.entry).await? {
            Entry::Merged(merged) => {
                Ok(ThreadMerge { thread, merged: *merged, at: Some((item.entry.position, item.entry.time)) })
            }
            other => Err(StoreError::corrupt(format!("merge {} is a {}", item.key, other.kind().as_str())).into()),
        }
    }

    /// What an answer to an approval means for the merge that waits for it: it goes through as it was approved, or not at
    /// all. The sources are those that were looked at; the target may have gone on, and is merged as it is now.
    pub(crate) async fn merge_answered(
        &self,
        thread: &Thread,
        asked: &ApprovalAsked,
        state: ApprovalState,
    ) -> Result<Told> {
        let Some(id) = asked.merge else { return Ok(Told::default()) };
        let Some(item) = self.merge_items(thread.id, Some(id)).await?.pop() else { return Ok(Told::default()) };
        let merged = self.read_merge(thread.id, &item).await?.merged;
        if merged.status != MergeStatus::PendingApproval {
            return Ok(Told::default());
        }
        let again = |status| {
            let entry = NewEntry::new(&Entry::Merged(Box::new(Merged { status, ..merged.clone() })));
            Told { entries: vec![entry], blobs: Vec::new() }
        };
        match state {
            ApprovalState::Pending => Ok(Told::default()),
            ApprovalState::Denied | ApprovalState::Revoked => Ok(again(MergeStatus::Rejected)),
            ApprovalState::Approved => {
                open_for(thread, Change::Content)?;
                let sources: Vec<_> =
                    merged.sources.iter().map(|source| (source.thread_id, Some(source.version))).collect();
                let plan = merged.plan.clone();
                let planned = self.validated(self.plan_merge(thread, &sources, &plan).await?, &plan).await?;
                let status = planned.status(false).unwrap_or(MergeStatus::Merged);
                let (mut told, new) = self.tell_merge(thread, id, status, planned, plan)?;
                // It is still the merge that somebody else asked for.
                let new = Merged { by: merged.by, approval: merged.approval, ..new };
                told.entries.pop();
                told.entries.push(NewEntry::new(&Entry::Merged(Box::new(new))));
                Ok(told)
            }
        }
    }

    /// Checks what a plan leads to, if it is to be checked and nothing is in conflict.
    async fn validated(&self, planned: Planned, plan: &MergePlan) -> Result<Planned> {
        if plan.validation == Validation::None || planned.is_conflicted() {
            return Ok(planned);
        }
        let missing = || Error::ValidationNotConfigured { validation: plan.validation };
        let validator = self.validator.as_ref().ok_or_else(missing)?;
        let tree = MergedTree {
            engine: self.clone(),
            files: planned.tree.clone(),
            fresh: planned.fresh.iter().map(|(hash, bytes)| (*hash, bytes.clone())).collect(),
        };
        let result = validator.validate(plan.validation, &tree).await?.ok_or_else(missing)?;
        let mut planned = planned;
        if !result.passed {
            planned.conflicts.push(MergeConflict::of(ConflictType::CodeDependency));
        }
        planned.validation = Some(result);
        Ok(planned)
    }

    /// The entries of a merge that came this far, its record last.
    fn tell_merge(
        &self,
        thread: &Thread,
        id: Uuid,
        status: MergeStatus,
        planned: Planned,
        plan: MergePlan,
    ) -> Result<(Told, Merged)> {
        let mut told = Told::default();
        let mut approval = None;
        match status {
            MergeStatus::Merged => {
                self.check_quota(&thread.head.tally, planned.bytes())?;
                told.entries.extend(planned.entries().iter().map(NewEntry::new));
                told.blobs.extend(planned.fresh.iter().map(|(hash, bytes)| (*hash, bytes.clone())));
            }
            MergeStatus::PendingApproval => {
                let asked = ApprovalAsked { merge: Some(id), ..self.asked_for(Capability::ApproveMerge) };
                approval = Some(asked.id);
                told.entries.push(NewEntry::new(&Entry::ApprovalRequested(asked)));
            }
            MergeStatus::Clean | MergeStatus::Conflicted | MergeStatus::Failed | MergeStatus::Rejected => {}
        }
        let merged = self.record_of(id, status, planned, plan, approval);
        told.entries.push(NewEntry::new(&Entry::Merged(Box::new(merged.clone()))));
        Ok((told, merged))
    }

    fn record_of(
        &self,
        id: Uuid,
        status: MergeStatus,
        planned: Planned,
        plan: MergePlan,
        approval: Option<Uuid>,
    ) -> Merged {
        let Planned { sources, files, values, conflicts, validation, .. } = planned;
        let by = self.caller.actor.clone();
        Merged { id, status, sources, plan, files, values, conflicts, validation, approval, by }
    }
}

fn check_sources(target: ThreadId, sources: &[ThreadId]) -> Result<(), Invalid> {
    let refused = |rule: String| Err(Invalid::body("sources", rule));
    if sources.is_empty() || sources.len() > SOURCES_MAX {
        return refused(format!("names 1 to {SOURCES_MAX} threads"));
    }
    if sources.contains(&target) {
        return refused("must not name the target itself".to_owned());
    }
    let mut seen = std::collections::HashSet::new();
    match sources.iter().find(|source| !seen.insert(**source)) {
        Some(twice) => refused(format!("names {twice} twice")),
        None => Ok(()),
    }
}

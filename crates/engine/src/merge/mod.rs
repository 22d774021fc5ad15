//! `merge`: brings the files and values of other threads into this one, not their conversations.
//!
//! Collect, detect, resolve, validate, commit: all of it is decided against one state of the target, and becomes one
//! commit or none. A merge that is refused, fails its check or waits for an approval changes nothing but its own
//! record.

mod answers;
mod base;
mod files;
mod plan;
mod scope;
mod values;

use std::sync::Arc;

use bytes::Bytes;
use threadkeep_calls::{FamilyMerge, GetMerge, ListMerges, Merge, MergeTold, Page};
use threadkeep_model::{
    ApprovalAsked, ApprovalState, BlobId, Capability, ConflictType, Entry, Invalid, ItemKind, MergeConflict, MergePlan,
    MergeStatus, Merged, Thread, ThreadId, Timestamp, Uuid, Validation, Version,
};
use threadkeep_store::{BoxFuture, Item, ItemQuery, StoreError};

use self::plan::Planned;
use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::ground::policy::Verb;
use crate::ground::validate::{MergedTree, Validate};
use crate::{Engine, Error, Result};

/// Most threads that are merged at once.
const SOURCES_MAX: usize = 16;

/// Entries that a merge adds to a commit, with the contents they name.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) entries: Vec<Entry>,
    pub(crate) blobs: Vec<(BlobId, Bytes)>,
}

impl Carry for Merge {
    type Made = MergeTold;

    async fn carry(self, engine: &Engine, target: ThreadId) -> Result<MergeTold> {
        let plan = plan::checked(self.plan()?)?;
        let checks = async {
            let mut sources = Vec::with_capacity(self.sources.len());
            for source in &self.sources {
                sources.push(engine.seen(*source, Verb::ReadFile).await?.0.id);
            }
            check_sources(target, &sources)?;
            if plan.validation != Validation::None {
                engine.authorize(target, Capability::ExecuteCommand).await?;
            }
            Ok(sources)
        };
        let sources = engine.unless_repeated(target, checks).await?;
        let sources: Vec<(ThreadId, Option<Version>)> = sources.into_iter().map(|source| (source, None)).collect();
        if self.dry_run {
            return engine.try_merge(target, &sources, plan).await;
        }
        let id = Uuid::from_chance(engine.shared.world.chance());
        let told = engine
            .tell(target, || async {
                let thread = engine.thread(target).await?;
                open_for(&thread, Change::Content)?;
                let planned = engine.validated(engine.plan_merge(&thread, &sources, &plan).await?, &plan).await?;
                let status = planned.status(plan.requires_approval).unwrap_or(MergeStatus::Merged);
                let (told, _) = engine.tell_merge(&thread, id, status, planned, plan.clone())?;
                Ok(Plan::new(thread, told.entries).bringing(told.blobs))
            })
            .await?;
        let version = told.position(told.entries.len().saturating_sub(1));
        match told.entries.into_iter().next_back() {
            Some(Entry::Merged(merged)) => Ok(shown(*merged, Some((version, told.place.time)))),
            _ => Err(Error::broken("a merge ends with its record")),
        }
    }
}

/// A merge in the form of the API; `at` is the version and the time of its newest record, none for a dry run.
fn shown(merged: Merged, at: Option<(Version, Timestamp)>) -> MergeTold {
    let Merged { id, status, sources, plan: _, files, values, conflicts, validation, approval, by } = merged;
    MergeTold {
        merge_id: at.map(|_| id),
        status,
        sources,
        files,
        values,
        conflicts,
        validation,
        approval_id: approval,
        by,
        version: at.map(|(version, _)| version),
        created_at: at.map(|(_, time)| time),
    }
}

impl Carry for ListMerges {
    type Made = Page<MergeTold>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Page<MergeTold>> {
        let merges = engine.merges(thread).await?;
        engine.part(thread, merges, (self.limit, self.cursor), |item| format!("merge {:?}", item.merge_id))
    }
}

impl Carry for GetMerge {
    type Made = MergeTold;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<MergeTold> {
        engine.merge_record(thread, self.merge).await
    }
}

impl Engine {
    /// The same engine, whose merges are checked by `validator`.
    #[must_use]
    pub fn validating_by(&self, validator: Arc<dyn Validate>) -> Self {
        Self { validator: Some(validator), ..self.clone() }
    }

    /// The outcome that a merge would have. Nothing is kept of it.
    async fn try_merge(
        &self,
        target: ThreadId,
        sources: &[(ThreadId, Option<Version>)],
        plan: MergePlan,
    ) -> Result<MergeTold> {
        let thread = self.thread(target).await?;
        let current = thread.head.version;
        if let Some(expected) = self.expects_of(target).filter(|expected| *expected != current) {
            return Err(Error::VersionConflict { expected, current });
        }
        let planned = self.validated(self.plan_merge(&thread, sources, &plan).await?, &plan).await?;
        let status = planned.status(false).unwrap_or(MergeStatus::Clean);
        Ok(shown(self.record_of(Uuid::from_chance(0), status, planned, plan, None), None))
    }

    /// A merge into `thread` by its id.
    ///
    /// # Errors
    /// [`Error::MergeNotFound`] if there is none; [`Error::ThreadNotFound`].
    pub fn merge_record(&self, thread: ThreadId, id: Uuid) -> BoxFuture<'_, Result<MergeTold>> {
        Box::pin(async move {
            let thread = self.thread(thread).await?;
            let found = self.merge_items(thread.id, Some(id)).await?.pop();
            let item = found.ok_or(Error::MergeNotFound { merge: id })?;
            let (merged, at) = self.read_merge(&item).await?;
            Ok(shown(merged, Some(at)))
        })
    }

    /// The merges into a thread, in the order in which they were asked for.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn merges(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<MergeTold>>> {
        Box::pin(async move {
            let thread = self.thread(thread).await?;
            let mut merges = Vec::new();
            for item in self.merge_items(thread.id, None).await? {
                let (merged, at) = self.read_merge(&item).await?;
                merges.push(shown(merged, Some(at)));
            }
            Ok(merges)
        })
    }

    /// The merges among a thread's items that changed it, an edge for each source.
    pub(crate) async fn merged_into(&self, thread: ThreadId, merges: &[Item]) -> Result<Vec<FamilyMerge>> {
        let mut edges = Vec::new();
        for item in merges {
            let (merged, (version, _)) = self.read_merge(item).await?;
            if merged.status == MergeStatus::Merged {
                edges.extend(merged.sources.iter().map(|source| FamilyMerge {
                    merge_id: merged.id,
                    source_id: source.thread_id,
                    source_version: source.version,
                    target_id: thread,
                    version,
                }));
            }
        }
        Ok(edges)
    }

    pub(crate) async fn merge_items(&self, thread: ThreadId, id: Option<Uuid>) -> Result<Vec<Item>> {
        let key = id.map(|id| id.to_string());
        let query = ItemQuery { thread, kind: ItemKind::Merge, key, limit: usize::MAX };
        Ok(self.shared.stores.store.items(query).await?)
    }

    /// The newest record of a merge, with its version and its time.
    pub(crate) async fn read_merge(&self, item: &Item) -> Result<(Merged, (Version, Timestamp))> {
        match self.decode(&item.entry).await? {
            Entry::Merged(merged) => Ok((*merged, (item.entry.position, item.entry.time))),
            other => Err(StoreError::corrupt(format!("merge {} is a {}", item.key, other.kind().as_str())).into()),
        }
    }

    /// The effect of an answer on the merge that waits for it: it is committed as it was approved, or not at all. The
    /// sources are those that were reviewed; the target may have changed since, and is merged as it is now.
    pub(crate) async fn merge_answered(
        &self,
        thread: &Thread,
        asked: &ApprovalAsked,
        state: ApprovalState,
    ) -> Result<Told> {
        let Some(id) = asked.merge else { return Ok(Told::default()) };
        let Some(item) = self.merge_items(thread.id, Some(id)).await?.pop() else { return Ok(Told::default()) };
        let (merged, _) = self.read_merge(&item).await?;
        if merged.status != MergeStatus::PendingApproval {
            return Ok(Told::default());
        }
        let again = |status| {
            let entry = Entry::Merged(Box::new(Merged { status, ..merged.clone() }));
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
                // It is still the merge that another actor asked for.
                let new = Merged { by: merged.by, approval: merged.approval, ..new };
                told.entries.pop();
                told.entries.push(Entry::Merged(Box::new(new)));
                Ok(told)
            }
        }
    }

    /// Checks the result of a plan, if a check is wanted and nothing is in conflict.
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
                let entries = planned.entries();
                for entry in &entries {
                    // As the tally counts it: a file taken unchanged counts as written here too.
                    if let Entry::FilesChanged(changed) = entry
                        && changed.bytes() > 0
                    {
                        self.check_quota(&thread.head.tally, changed.bytes())?;
                    }
                }
                told.entries.extend(entries);
                told.blobs.extend(planned.fresh.iter().map(|(hash, bytes)| (*hash, bytes.clone())));
            }
            MergeStatus::PendingApproval => {
                let asked = ApprovalAsked { merge: Some(id), ..self.asked_for(vec![Capability::ApproveMerge]) };
                approval = Some(asked.id);
                told.entries.push(Entry::ApprovalRequested(asked));
            }
            MergeStatus::Clean | MergeStatus::Conflicted | MergeStatus::Failed | MergeStatus::Rejected => {}
        }
        let merged = self.record_of(id, status, planned, plan, approval);
        told.entries.push(Entry::Merged(Box::new(merged.clone())));
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

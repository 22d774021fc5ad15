//! Checks an agent's authority. Every commit comes here before the store gets it, and is judged by its effect:
//! which files change or vanish, and whether a thread is deleted, published or gets another environment. So no
//! verb can forget the check.

use std::collections::{BTreeMap, BTreeSet};

use threadkeep_model::{
    ActorKind, ApprovalAnswered, ApprovalAsked, ApprovalState, AskedCall, Authorisation, BlobId, Body, Capability,
    Commit, Entry, FileChange, FilePath, FilesChanged, Json, Kind, NewEntry, NewSegment, Thread, ThreadCommit,
    ThreadId, Uuid, Write,
};
use threadkeep_store::BoxFuture;

use crate::files::{FileIs, FileRecord};
use crate::ground::plan::Plan;
use crate::ground::view::View;
use crate::ops::attach::is_received_at;
use crate::{Engine, Error, Result};

/// The capabilities that something needs.
type Needs = BTreeSet<Capability>;

impl Engine {
    /// Passes if the caller may do this on `thread`. Humans and the system may. So may agents if the capability needs
    /// no approval ([`Capability::authorisation`]), if a human delegated it to them, or if their request was
    /// approved: an approval holds for that agent, on that thread, for all that it names, until it is revoked.
    ///
    /// Otherwise this asks for an approval, once: while it is pending, the same agent gets the same approval.
    ///
    /// # Errors
    /// [`Error::ApprovalRequired`] with the approval; [`Error::ThreadNotFound`].
    pub fn authorize(&self, thread: ThreadId, capability: Capability) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { self.authorize_all(thread, &Needs::from([capability])).await })
    }

    /// The same for several capabilities. Those that are missing are asked for together.
    async fn authorize_all(&self, thread: ThreadId, needs: &Needs) -> Result<()> {
        let asks = |capability: &&Capability| capability.authorisation() == Authorisation::RequireHuman;
        if !self.is_agent() || !needs.iter().any(|needed| asks(&needed)) {
            return Ok(());
        }
        let needs: Vec<Capability> = needs.iter().filter(asks).cloned().collect();
        // Asking for an approval is not the call itself: the call's envelope does not apply to it.
        let engine = self.aside();
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                let (missing, asked) = engine.missing_of(&thread, &needs).await?;
                let entries = match asked {
                    _ if missing.is_empty() => Vec::new(),
                    Some(approval) => return Err(approval_required(approval, &missing)),
                    None => vec![Entry::ApprovalRequested(engine.asked_for(missing))],
                };
                Ok(Plan::new(thread, entries))
            })
            .await?;
        match told.entries.into_iter().next() {
            Some(Entry::ApprovalRequested(asked)) => Err(approval_required(asked.id, &asked.scope)),
            _ => Ok(()),
        }
    }

    /// Passes if the caller may make this one call of a tool, which needs these capabilities. A delegation of all of
    /// them is enough. So is an approval of this call with these arguments, which is used up by it: `id` is the id of the
    /// call, and the same call may be made again.
    ///
    /// Otherwise this asks for an approval of the call, once.
    ///
    /// # Errors
    /// [`Error::ApprovalRequired`] with the approval; [`Error::ThreadNotFound`].
    pub fn authorize_call<'a>(
        &'a self,
        thread: ThreadId,
        (tool, args, id): (&'a str, &'a Json, &'a str),
        needs: &'a [Capability],
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let asks = |capability: &&Capability| capability.authorisation() == Authorisation::RequireHuman;
            let needs: Needs = needs.iter().filter(asks).cloned().collect();
            if !self.is_agent() || needs.is_empty() {
                return Ok(());
            }
            let needs: Vec<Capability> = needs.into_iter().collect();
            let engine = self.aside();
            let told = engine
                .tell(thread, || async {
                    let thread = engine.thread(thread).await?;
                    let mut delegated = true;
                    for capability in &needs {
                        delegated = delegated && engine.is_delegated(&thread, capability).await?;
                    }
                    let entry =
                        if delegated { None } else { engine.about_call(&thread, (tool, args, id), &needs).await? };
                    Ok(Plan::new(thread, entry.into_iter().collect()))
                })
                .await?;
            match told.entries.into_iter().next() {
                Some(Entry::ApprovalRequested(asked)) => Err(approval_required(asked.id, &asked.scope)),
                _ => Ok(()),
            }
        })
    }

    /// The entry that a call of a tool needs: its request for an approval, or the use of one; none if the same call used
    /// one before.
    async fn about_call(
        &self,
        thread: &Thread,
        (tool, args, id): (&str, &Json, &str),
        needs: &[Capability],
    ) -> Result<Option<Entry>> {
        let mut held = self.holding_approvals(thread).await?;
        held.retain(|approval| approval.asked.asked_by == self.caller.actor && approval.asked.scope == needs);
        let same = |asked: &AskedCall| asked.tool == tool && asked.args == *args;
        let about = held.into_iter().filter(|approval| approval.asked.call.as_ref().is_some_and(same));
        let mut approved = None;
        for approval in about {
            let used = approval.asked.call.as_ref().and_then(|call| call.used.as_deref());
            match (approval.state, used) {
                (ApprovalState::Pending, _) => return Err(approval_required(approval.asked.id, needs)),
                (ApprovalState::Approved, Some(used)) if used == id => return Ok(None),
                (ApprovalState::Approved, None) => approved = approved.or(Some(approval)),
                (ApprovalState::Approved, Some(_)) | (ApprovalState::Denied | ApprovalState::Revoked, _) => {}
            }
        }
        let call = AskedCall { tool: tool.to_owned(), args: args.clone(), used: None };
        let Some(approval) = approved else {
            let asked = ApprovalAsked { call: Some(call), ..self.asked_for(needs.to_vec()) };
            return Ok(Some(Entry::ApprovalRequested(asked)));
        };
        let call = AskedCall { used: Some(id.to_owned()), ..call };
        let (state, timed_out) = (ApprovalState::Approved, approval.answered.as_ref().is_some_and(|it| it.timed_out));
        let reason = approval.answered.and_then(|answer| answer.reason);
        let approval = ApprovalAsked { call: Some(call), ..approval.asked };
        Ok(Some(Entry::ApprovalAnswered(ApprovalAnswered { approval, state, timed_out, reason })))
    }

    /// The capabilities among `needs` for which the caller has no authority on `thread`, and the pending approval with
    /// which it asked for just these.
    async fn missing_of(&self, thread: &Thread, needs: &[Capability]) -> Result<(Vec<Capability>, Option<Uuid>)> {
        let mut missing = Vec::new();
        let mut held = self.holding_approvals(thread).await?;
        // An approval of one call of a tool gives nothing else.
        held.retain(|approval| approval.asked.asked_by == self.caller.actor && approval.asked.call.is_none());
        for capability in needs {
            let approved = held
                .iter()
                .any(|approval| approval.state == ApprovalState::Approved && approval.asked.scope.contains(capability));
            if !approved && !self.is_delegated(thread, capability).await? {
                missing.push(capability.clone());
            }
        }
        let asked = held
            .iter()
            .rev()
            .find(|approval| approval.state == ApprovalState::Pending && approval.asked.scope == missing);
        Ok((missing, asked.map(|approval| approval.asked.id)))
    }

    /// Whether the caller is an agent.
    pub(crate) fn is_agent(&self) -> bool {
        match self.caller.actor.kind {
            ActorKind::Human | ActorKind::System => false,
            ActorKind::Agent => true,
        }
    }

    /// Passes if the caller has the authority for all that `commit` does.
    ///
    /// Invariant: every commit of the engine passes here first.
    pub(crate) fn permit<'a>(&'a self, commit: &'a Commit) -> BoxFuture<'a, Result<()>> {
        // Asking for an approval is a commit, too, which needs no authority.
        if self.is_agent() { Box::pin(self.permit_agent(commit)) } else { Box::pin(std::future::ready(Ok(()))) }
    }

    async fn permit_agent(&self, commit: &Commit) -> Result<()> {
        let (mut deletes, mut gives) = (false, false);
        for one in &commit.threads {
            let needs = match one {
                // A new thread changes nothing that exists.
                ThreadCommit::Create(_) => continue,
                // Subagents go with the thread that they work for, which comes first.
                ThreadCommit::Delete { .. } if std::mem::replace(&mut deletes, true) => continue,
                ThreadCommit::Delete { .. } => Needs::from([Capability::DeleteThread]),
                ThreadCommit::Write(write) => {
                    let mut needs = self.needs_of(write, commit).await?;
                    if write.owner.is_some() && !std::mem::replace(&mut gives, true) {
                        needs.insert(Capability::Publish);
                    }
                    needs
                }
            };
            self.authorize_all(one.thread(), &needs).await?;
        }
        Ok(())
    }

    /// The capabilities that a write needs.
    async fn needs_of(&self, write: &Write, commit: &Commit) -> Result<Needs> {
        let (mut needs, mut merge_approved) = (Needs::new(), false);
        if let Some(branch) = &write.branch {
            needs.extend(self.needs_of_branch(write.thread, branch).await?);
        }
        let is_received = self.only_receives(write, commit).await?;
        for entry in &write.entries {
            match entry.kind {
                Kind::FilesChanged if is_received => continue,
                Kind::FilesChanged | Kind::ThreadChanged | Kind::ApprovalAnswered => {}
                Kind::EnvChanged => {
                    needs.insert(Capability::SetEnv);
                    continue;
                }
                Kind::MessageAppended
                | Kind::EventLogged
                | Kind::MessageInserted
                | Kind::MessageEdited
                | Kind::MessagesDeleted
                | Kind::Truncated
                | Kind::RolledBack
                | Kind::CheckpointSet
                | Kind::Forked
                | Kind::Related
                | Kind::MessageQueued
                | Kind::QueuedEdited
                | Kind::QueuedRemoved
                | Kind::MessageDelivered
                | Kind::ExecutionBegan
                | Kind::ExecutionStepped
                | Kind::ExecutionEnded
                | Kind::RunStarted
                | Kind::RunStepped
                | Kind::RunStopAsked
                | Kind::RunTurnAsked
                | Kind::RunWoken
                | Kind::RunEnded
                | Kind::SkillActivated
                | Kind::AgentAssigned
                | Kind::ChildChanged
                | Kind::ChildRemoved
                // The owner is in the write itself.
                | Kind::OwnerChanged
                | Kind::ValuesChanged
                | Kind::ContextSummarized
                | Kind::LifecycleChanged
                | Kind::Injected
                | Kind::InjectionTaken
                | Kind::Decided
                | Kind::Referenced
                | Kind::ApprovalRequested
                | Kind::Delegated
                | Kind::DelegationRevoked
                | Kind::Observed
                | Kind::ObserverRemoved
                | Kind::ToolQueued
                | Kind::ToolTaken
                | Kind::Merged
                // Its handler acts for the actor who schedules it, and is judged when it runs.
                | Kind::EffectScheduled
                | Kind::EffectClaimed
                | Kind::EffectEnded => continue,
            }
            match read(entry, commit)? {
                Entry::FilesChanged(changed) => needs.extend(self.needs_of_files(write.thread, &changed).await?),
                Entry::ThreadChanged(changed) => {
                    let named = |(field, needed)| changed.fields.0.contains_key(field).then_some(needed);
                    let guarded = [("visibility", Capability::Publish), ("env", Capability::SetEnv)];
                    needs.extend(guarded.into_iter().filter_map(named));
                }
                Entry::ApprovalAnswered(answered) => merge_approved = answered.approval.merge.is_some(),
                _ => {}
            }
        }
        if merge_approved {
            // The merge was approved by one who may: that is its authority.
            needs.retain(|capability| !matches!(capability, Capability::CodeEdit | Capability::DeleteFile));
        }
        Ok(needs)
    }

    /// Whether a write only queues a message for a subagent, with files that go to free places below `/attachments`. A
    /// subagent that begins is given its files in the same way, without an approval.
    async fn only_receives(&self, write: &Write, commit: &Commit) -> Result<bool> {
        let (mut paths, mut attached) = (Vec::new(), BTreeSet::new());
        for entry in &write.entries {
            if entry.kind == Kind::RunWoken {
                continue;
            }
            if !matches!(entry.kind, Kind::FilesChanged | Kind::MessageQueued) {
                return Ok(false);
            }
            let entry = read(entry, commit)?;
            if let Entry::FilesChanged(changed) = &entry {
                for change in &changed.changes {
                    let FileChange::Write { path, .. } = change else { return Ok(false) };
                    paths.push(path.clone());
                }
            }
            if let Entry::MessageQueued(queued) = &entry {
                attached.extend(queued.message.attachments.iter().filter_map(|file| file.path.clone()));
            }
        }
        let is_named = !paths.is_empty() && paths.iter().all(|path| attached.contains(path) && is_received_at(path));
        if !is_named || write.branch.is_some() || self.parent_thread(write.thread).await?.is_none() {
            return Ok(false);
        }
        let view = self.held_view(write.thread, None).await?;
        for path in &paths {
            if self.stat_in(&view, path).await?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The capabilities that a change of files needs. A file that goes to another path with its content is not
    /// deleted.
    async fn needs_of_files(&self, thread: ThreadId, changed: &FilesChanged) -> Result<Needs> {
        let (mut needs, mut written, mut removed, mut made) = (Needs::new(), BTreeSet::new(), Vec::new(), false);
        for change in &changed.changes {
            match change {
                FileChange::Write { file, .. } => drop(written.insert(file.hash)),
                FileChange::MakeDirectory { .. } => made = true,
                FileChange::Remove { path } | FileChange::RemoveDirectory { path } => removed.push(path),
            }
        }
        if made || !written.is_empty() {
            needs.insert(Capability::CodeEdit);
        }
        let view = self.held_view(thread, None).await?;
        for path in removed {
            let kept = match self.stat_in(&view, path).await?.map(|found| found.is) {
                Some(FileIs::File(file)) => written.contains(&file.hash),
                Some(FileIs::Directory) => made,
                None => true,
            };
            if !kept {
                needs.insert(Capability::DeleteFile);
            }
        }
        Ok(needs)
    }

    /// The capabilities that a new segment needs, by the files that it shows otherwise than the thread does now.
    async fn needs_of_branch(&self, thread: ThreadId, branch: &NewSegment) -> Result<Needs> {
        let now = self.held_view(thread, None).await?;
        // The position of the last change of files names all changes before it.
        if now.tally.work.last_files == branch.birth.work.last_files {
            return Ok(Needs::new());
        }
        let mut before = self.contents(&now).await?;
        let after = match branch.link {
            Some(link) => {
                let lineage = self.lineage(link.parent).await?;
                self.contents(&View { lineage, bounds: link.bounds, tally: branch.birth }).await?
            }
            None => BTreeMap::new(),
        };
        let mut needs = Needs::new();
        for (path, content) in after {
            if before.remove(&path) != Some(content) {
                needs.insert(Capability::CodeEdit);
            }
        }
        if !before.is_empty() {
            needs.insert(Capability::DeleteFile);
        }
        Ok(needs)
    }

    /// The paths that a view shows, with the hashes of the files; directories have none.
    async fn contents(&self, view: &View) -> Result<BTreeMap<FilePath, Option<BlobId>>> {
        let (found, _) = self.files_in(view, None, None, usize::MAX).await?;
        let content = |found: FileRecord| {
            let hash = found.file().map(|file| file.hash);
            (found.path, hash)
        };
        Ok(found.into_iter().map(content).collect())
    }
}

fn approval_required(approval: Uuid, missing: &[Capability]) -> Error {
    let named: Vec<String> = missing.iter().map(ToString::to_string).collect();
    Error::ApprovalRequired { approval, capability: named.join(" and ") }
}

/// An entry of a commit.
fn read(entry: &NewEntry, commit: &Commit) -> Result<Entry> {
    let body = match &entry.body {
        Body::Inline(bytes) => Some(bytes),
        Body::Blob(id) => commit.blobs.iter().find(|(blob, _)| blob == id).map(|(_, bytes)| bytes),
        Body::Absent | Body::Damaged => None,
    };
    let body = body.ok_or(Error::broken("a commit brings the bodies of its entries"))?;
    Entry::decode(entry.kind, Kind::FORMAT, body).map_err(|_| Error::broken("a new entry can be read"))
}

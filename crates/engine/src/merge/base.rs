//! The base of a merge: the state an earlier merge of the two threads took, or the point where their histories
//! part.

use threadkeep_model::Version;
use threadkeep_model::{
    Bounds, MergeBase, MergeStatus, MessageId, Position, Tally, Thread, ThreadId, Timestamp, Uuid, Work,
};

use super::scope::Scope;
use crate::ground::view::View;
use crate::{Engine, Result};

/// A merge that one thread made of another.
struct Earlier {
    merge: Uuid,
    of: ThreadId,
    /// The version of the other thread that it took.
    version: Version,
    /// Its version in the log of the thread that merged.
    made: Version,
    time: Timestamp,
    scope: Scope,
}

impl Earlier {
    /// Whether this came before `other`, which the other thread made. The later merge includes the earlier one, so
    /// clocks need not agree. If neither includes the other, the clocks decide.
    fn is_before(&self, other: &Self) -> bool {
        if self.made <= other.version {
            true
        } else if other.made <= self.version {
            false
        } else {
            self.time <= other.time
        }
    }
}

/// The state that the sides of a merge have in common: each view covers its scope, and lies over those before.
pub(super) type Layers = Vec<(Scope, View)>;

impl Engine {
    /// The common base of `target` and `source`, seen like this; no layers if there is none.
    pub(super) async fn merge_base(
        &self,
        (target, ours): (&Thread, &View),
        (source, theirs): (&Thread, &View),
    ) -> Result<(MergeBase, Layers)> {
        let here = self.earlier_merges(target, ours, source.id).await?;
        // Only a thread of one's own account shows its record.
        let there = if source.account == self.caller.account {
            self.earlier_merges(source, theirs, target.id).await?
        } else {
            Vec::new()
        };
        let mut earlier = in_order(here, there);
        // A merge of everything replaces all layers before it.
        let whole = earlier.iter().rposition(|earlier| earlier.scope.is_everything());
        let (mut base, mut layers) = match whole {
            Some(whole) => {
                earlier.drain(..whole);
                (MergeBase::Empty, Layers::new())
            }
            None => {
                let (base, view) = self.shared_base((target, ours), (source, theirs)).await?;
                (base, view.map(|view| (Scope::everything(), view)).into_iter().collect())
            }
        };
        for Earlier { merge, of, version, scope, .. } in earlier {
            let of = if of == source.id { source } else { target };
            base = MergeBase::Merge { merge_id: merge, thread_id: of.id, version };
            layers.push((scope, self.view(of.id, &of.head, Some(version)).await?));
        }
        Ok((base, layers))
    }

    /// The common base of two threads, without their earlier merges.
    async fn shared_base(
        &self,
        (target, ours): (&Thread, &View),
        (source, theirs): (&Thread, &View),
    ) -> Result<(MergeBase, Option<View>)> {
        let parted = self.parting(ours, theirs).await?;
        let shared = parted.as_ref().map(|view| view.bounds);
        let is_whole = shared.is_some_and(|bounds| bounds.files != Position::START && bounds.values != Position::START);
        // Partly inherited entries were logged anew, and are no shared history: the base is the child at its birth.
        let child = [(source, target), (target, source)]
            .into_iter()
            .find(|(child, parent)| child.record.parent_id == Some(parent.id));
        if let Some((child, _)) = child.filter(|_| !is_whole) {
            let version = self.born_at(child).await?;
            let view = self.view(child.id, &child.head, Some(version)).await?;
            return Ok((MergeBase::Birth { thread_id: child.id, version }, Some(view)));
        }
        Ok(match parted.filter(|view| view.bounds.highest() != Position::START) {
            Some(view) => (MergeBase::History { files: view.bounds.files, values: view.bounds.values }, Some(view)),
            None => (MergeBase::Empty, None),
        })
    }

    /// The version with which a thread was born. A thread without it uses the time: entries within the same
    /// microsecond as its birth count as part of it.
    async fn born_at(&self, thread: &Thread) -> Result<Version> {
        match thread.record.born_at {
            Some(version) => Ok(version.min(thread.head.version)),
            None => self.version_at(thread, thread.created).await,
        }
    }

    /// The merges of `of` into `into` that went through and are in view, in the order in which they were made.
    async fn earlier_merges(&self, into: &Thread, view: &View, of: ThreadId) -> Result<Vec<Earlier>> {
        let mut earlier = Vec::new();
        for item in self.merge_items(into.id, None).await? {
            let place = MessageId { segment: item.entry.segment, position: item.entry.position };
            if !view.holds(place) {
                continue;
            }
            let (merged, _) = self.read_merge(&item).await?;
            let source = merged.sources.iter().find(|source| source.thread_id == of);
            if let (MergeStatus::Merged, Some(source)) = (merged.status, source) {
                let (version, made, time) = (source.version, item.entry.position, item.entry.time);
                let scope = Scope::read(&merged.plan.artifact_scope)?;
                earlier.push(Earlier { merge: merged.id, of, version, made, time, scope });
            }
        }
        earlier.sort_by_key(|earlier| earlier.made);
        Ok(earlier)
    }

    /// The part of the shared history that both views show.
    async fn parting(&self, ours: &View, theirs: &View) -> Result<Option<View>> {
        for lineage in ours.lineage.chain() {
            let id = lineage.segment.id;
            let seen = ours.lineage.bounds_of(id, ours.bounds).zip(theirs.lineage.bounds_of(id, theirs.bounds));
            if let Some((here, there)) = seen {
                let bounds: Bounds = here.min(there);
                // How much there is need not be known: the bounds say how far it is seen.
                let work = Work { last_files: Position::END, last_values: Position::END, ..Work::default() };
                let tally = Tally { work, ..Tally::default() };
                return Ok(Some(View { lineage: self.lineage(id).await?, bounds, tally }));
            }
        }
        Ok(None)
    }
}

/// The merges of both sides, each in their order, as they came one after the other.
fn in_order(here: Vec<Earlier>, there: Vec<Earlier>) -> Vec<Earlier> {
    let mut all = Vec::with_capacity(here.len() + there.len());
    let (mut here, mut there) = (here.into_iter().peekable(), there.into_iter().peekable());
    loop {
        let next = match (here.peek(), there.peek()) {
            (Some(one), Some(other)) if one.is_before(other) => here.next(),
            (Some(_), None) => here.next(),
            (_, Some(_)) => there.next(),
            (None, None) => return all,
        };
        all.extend(next);
    }
}

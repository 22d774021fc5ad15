//! What two sides of a merge are compared with: what an earlier merge of the two took, or where their histories part.

use threadkeep_model::Version;
use threadkeep_model::{
    Bounds, MergeBase, MergeStatus, MessageId, Position, Tally, Thread, ThreadId, Timestamp, Uuid, Work,
};

use crate::view::View;
use crate::{Engine, Result};

/// A merge that one thread made of another.
struct Earlier {
    merge: Uuid,
    of: ThreadId,
    version: Version,
    time: Timestamp,
}

impl Engine {
    /// What `target` and `source`, seen like this, are compared with; no view if with nothing.
    pub(super) async fn merge_base(
        &self,
        (target, ours): (&Thread, &View),
        (source, theirs): (&Thread, &View),
    ) -> Result<(MergeBase, Option<View>)> {
        let here = self.last_merge(target, ours, source.id).await?;
        // Only whose threads are one's own shows its record.
        let there = if source.account == self.caller.account {
            self.last_merge(source, theirs, target.id).await?
        } else {
            None
        };
        if let Some(earlier) = here.into_iter().chain(there).max_by_key(|earlier| earlier.time) {
            let of = if earlier.of == source.id { source } else { target };
            let view = self.view(of.id, &of.head, Some(earlier.version)).await?;
            let base = MergeBase::Merge { merge_id: earlier.merge, thread_id: of.id, version: earlier.version };
            return Ok((base, Some(view)));
        }
        let parted = self.parting(ours, theirs).await?;
        let shared = parted.as_ref().map(|view| view.bounds);
        let is_whole = shared.is_some_and(|bounds| bounds.files != Position::START && bounds.values != Position::START);
        // What was inherited in part was told again, and is no shared history: it was at the birth of the child.
        let child = [(source, target), (target, source)]
            .into_iter()
            .find(|(child, parent)| child.record.parent_id == Some(parent.id));
        if let Some((child, _)) = child.filter(|_| !is_whole) {
            let version = self.version_at(child, child.created).await?;
            let view = self.view(child.id, &child.head, Some(version)).await?;
            return Ok((MergeBase::Birth { thread_id: child.id, version }, Some(view)));
        }
        Ok(match parted.filter(|view| view.bounds.highest() != Position::START) {
            Some(view) => (MergeBase::History { files: view.bounds.files, values: view.bounds.values }, Some(view)),
            None => (MergeBase::Empty, None),
        })
    }

    /// The last merge of `of` into `into` that went through and is in view.
    async fn last_merge(&self, into: &Thread, view: &View, of: ThreadId) -> Result<Option<Earlier>> {
        let mut last: Option<Earlier> = None;
        for item in self.merge_items(into.id, None).await? {
            let place = MessageId { segment: item.entry.segment, position: item.entry.position };
            if !view.holds(place) {
                continue;
            }
            let merged = self.read_merge(into.id, &item).await?.merged;
            let source = merged.sources.iter().find(|source| source.thread_id == of);
            if let (MergeStatus::Merged, Some(source)) = (merged.status, source)
                && last.as_ref().is_none_or(|last| last.time <= item.entry.time)
            {
                let (version, time) = (source.version, item.entry.time);
                last = Some(Earlier { merge: merged.id, of, version, time });
            }
        }
        Ok(last)
    }

    /// What both views show of the history they share.
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

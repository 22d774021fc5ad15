//! The changes a rollback makes to the list of messages: only the part where the two views differ is read.
//!
//! Two views of a thread share a part of their lineage. Up to where they part they show the same messages, except in
//! the slots that an edit, a deletion or an insertion touches which only one of them sees. Behind it, the messages of
//! the one go and those of the other come.

use std::collections::{BTreeSet, HashMap};

use threadkeep_model::{Position, SegmentId, ThreadId, Version};

use super::changes::MessageChange;
use crate::ground::slot::{SlotItem, slot};
use crate::ground::view::View;
use crate::{Engine, Page, Result};

/// Messages that come back in one step.
const BACK_AT_ONCE: usize = 500;

/// Messages at the end of a view that are still to be read.
pub(crate) struct Tail {
    page: Page,
    index: u64,
}

impl Tail {
    /// The next of them, and whether there are more. If it fails, it can be asked again.
    pub(crate) async fn read(&mut self, engine: &Engine, thread: ThreadId) -> Result<(Vec<MessageChange>, bool)> {
        let limit = BACK_AT_ONCE.min(engine.limits().page_max);
        let found = engine.messages(thread, self.page.clone().everything().limit(limit)).await?;
        let numbered = (self.index..).zip(found.items);
        let added: Vec<_> = numbered.map(|(index, message)| MessageChange::Added { index, message }).collect();
        self.index += added.len() as u64;
        let more = found.next.is_some();
        if let Some(cursor) = found.next {
            self.page = Page::after(cursor);
        }
        Ok((added, more))
    }
}

impl Engine {
    /// The changes that turn the messages of `before` into those of `now`, which the thread shows at `version`; and
    /// the messages at the end that are to be added after it.
    pub(crate) async fn rewound(
        &self,
        before: &View,
        now: &View,
        version: Version,
    ) -> Result<(Vec<MessageChange>, Option<Tail>)> {
        let (common, changes) = shared(before, now);
        let (shape_before, shape_now) = (self.shape(before).await?, self.shape(now).await?);
        let mut messages = Vec::new();
        let (kept, count) = (shape_before.index_of(common), before.tally.messages());
        if count > kept {
            messages.push(MessageChange::Removed { index: kept, count: count - kept });
        }
        let mut touched = BTreeSet::new();
        for view in [before, now] {
            let later = self.changes_between(view, changes.next()..=Position::END, view.tally.last_change).await?;
            touched.extend(later.into_iter().map(|change| change.root).filter(|root| *root < common));
        }
        // From the end, so that no index moves before its turn.
        for root in touched.into_iter().rev() {
            self.rewound_slot((before, now), root, shape_before.index_of(root), &mut messages).await?;
        }
        let index = shape_now.index_of(common);
        let page = Page::first().everything().offset(index).as_of(version);
        Ok((messages, (now.tally.messages() > index).then_some(Tail { page, index })))
    }

    /// The changes that turn one slot into the other. `index` is that of its first message.
    async fn rewound_slot(
        &self,
        (before, now): (&View, &View),
        root: u64,
        index: u64,
        messages: &mut Vec<MessageChange>,
    ) -> Result<()> {
        let base = self.base(before, root).await?;
        let old = slot(base.position, &self.changes(before, root..root + 1).await?);
        let new = slot(base.position, &self.changes(now, root..root + 1).await?);
        let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let (old, new): (&[SlotItem], &[SlotItem]) = (&old[same..], &new[same..]);
        let ends = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
        let (old, new) = (&old[..old.len() - ends], &new[..new.len() - ends]);
        let first = index + same as u64;
        if let ([old], [new]) = (old, new)
            && (old.inserted, old.position) == (new.inserted, new.position)
        {
            let message = self.assemble(&base, *new).await?;
            let (content, metadata) = (old.content != new.content, old.metadata != new.metadata);
            messages.push(MessageChange::Edited { index: first, message, content, metadata });
            return Ok(());
        }
        if !old.is_empty() {
            messages.push(MessageChange::Removed { index: first, count: old.len() as u64 });
        }
        for (index, item) in (first..).zip(new) {
            messages.push(MessageChange::Added { index, message: self.assemble(&base, *item).await? });
        }
        Ok(())
    }
}

/// How many appended messages two views share, from the first on, and up to which position they see the same changes.
fn shared(one: &View, other: &View) -> (u64, Position) {
    let spans = |view: &View| -> Vec<(SegmentId, u64, Position)> {
        let spans = view.lineage.spans(view.bounds, &view.tally);
        spans.map(|span| (span.segment().id, span.ordinals.end, span.bounds.changes)).collect()
    };
    let known: HashMap<SegmentId, (u64, Position)> =
        spans(one).into_iter().map(|(id, ordinals, changes)| (id, (ordinals, changes))).collect();
    for (segment, ordinals, changes) in spans(other) {
        if let Some((also, changes_also)) = known.get(&segment) {
            return (ordinals.min(*also), changes.min(*changes_also));
        }
    }
    (0, Position::START)
}

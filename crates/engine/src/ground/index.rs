//! Indexes: the index of a message is its place in the default list. Silent messages and those at a depth have no place
//! there, so they are not counted; each belongs to the message of the list that it precedes.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadkeep_model::{ChangeOp, Entry, MessageId};
use threadkeep_store::{ChangeRow, LeftOutQuery, MessageFilter, StoreError, StoredEntry};

use crate::ground::shape::Shape;
use crate::ground::slot::{SlotItem, slot};
use crate::ground::view::{Located, View};
use crate::{Engine, Error, Result};

impl Engine {
    /// Finds a message by its index: its place in the default list.
    pub(crate) async fn locate_index(&self, view: &View, index: u64) -> Result<Located> {
        let shape = self.shape_under(view, MessageFilter::SHOWN).await?;
        let count = shape.index_of(view.tally.ordinals);
        if index >= count {
            return Err(Error::IndexOutOfRange { index, count });
        }
        self.locate_under(view, &shape, MessageFilter::SHOWN, index).await
    }

    /// Finds the last message of a view, whether lists show it or not.
    pub(crate) async fn locate_last(&self, view: &View) -> Result<Option<Located>> {
        let Some(last) = view.tally.messages().checked_sub(1) else { return Ok(None) };
        let shape = self.shape(view).await?;
        self.locate_under(view, &shape, MessageFilter::ALL, last).await.map(Some)
    }

    /// Finds the message with this number among those that pass `filter`, whose shape `shape` is.
    pub(crate) async fn locate_under(
        &self,
        view: &View,
        shape: &Shape,
        filter: MessageFilter,
        number: u64,
    ) -> Result<Located> {
        let (root, mut nth) = shape.root_of(number);
        let base = self.base(view, root).await?;
        let items = slot(base.position, &self.changes(view, root..root + 1).await?);
        let mut located = Located { root, base, items, at: 0 };
        while located.at < located.items.len() {
            if self.passes(&located.base, located.item(), filter).await? {
                if nth == 0 {
                    return Ok(located);
                }
                nth -= 1;
            }
            located.at += 1;
        }
        Err(StoreError::corrupt(format!("message {number} is miscounted; run `threadkeep store doctor`")).into())
    }

    /// Whether a message of a slot passes `filter`.
    async fn passes(&self, base: &StoredEntry, item: SlotItem, filter: MessageFilter) -> Result<bool> {
        if filter == MessageFilter::ALL {
            return Ok(true);
        }
        let body = self.assemble(base, item).await?.body()?;
        Ok(filter.passes(body.role, body.silent, body.depth))
    }

    /// The index of a message: how many messages of the default list come before it.
    pub(crate) async fn index_of(&self, view: &View, located: &Located) -> Result<u64> {
        let mut index = self.shape_under(view, MessageFilter::SHOWN).await?.index_of(located.root);
        for item in &located.items[..located.at] {
            index += u64::from(self.passes(&located.base, *item, MessageFilter::SHOWN).await?);
        }
        Ok(index)
    }

    /// The index of the last message of the default list at or before `located`.
    pub(crate) async fn last_index_at(&self, view: &View, located: &Located) -> Result<Option<u64>> {
        let shown = self.passes(&located.base, located.item(), MessageFilter::SHOWN).await?;
        Ok((self.index_of(view, located).await? + u64::from(shown)).checked_sub(1))
    }

    /// How many messages come before this one, those that lists leave out included.
    pub(crate) async fn place_of(&self, view: &View, located: &Located) -> Result<u64> {
        Ok(self.shape(view).await?.index_of(located.root) + located.at as u64)
    }

    /// How many messages of a view pass `filter`.
    pub(crate) async fn count_under(&self, view: &View, filter: MessageFilter) -> Result<u64> {
        if filter == MessageFilter::ALL {
            return Ok(view.tally.messages());
        }
        Ok(self.shape_under(view, filter).await?.index_of(view.tally.ordinals))
    }

    /// How many messages that pass `filter` each slot of a view shows.
    pub(crate) async fn shape_under(&self, view: &View, filter: MessageFilter) -> Result<Arc<Shape>> {
        if filter == MessageFilter::ALL {
            return self.shape(view).await;
        }
        let key = (view.lineage.segment.id, view.tally.last_change, Some(view.tally.ordinals));
        let is_kept = filter == MessageFilter::SHOWN && view.is_whole();
        if let Some(shape) = self.shared.shapes.get(key).filter(|_| is_kept) {
            return Ok(shape);
        }
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        let spans = view.lineage.spans(view.bounds, &view.tally).filter(|span| !span.ordinals.is_empty());
        let spans: Vec<_> = spans.map(|span| (span.segment().id, span.ordinals)).collect();
        if !spans.is_empty() {
            let left_out = self.shared.stores.store.left_out(LeftOutQuery { spans, filter }).await?;
            counts.extend(left_out.into_iter().map(|root| (root, 0)));
        }
        if !view.tally.is_plain() {
            let mut by_root: BTreeMap<u64, Vec<ChangeRow>> = BTreeMap::new();
            for change in self.changes(view, 0..view.tally.ordinals).await? {
                by_root.entry(change.root).or_default().push(change);
            }
            for (root, changes) in by_root {
                let base = counts.get(&root).copied().unwrap_or(1);
                counts.insert(root, self.shown_after(base, &changes, filter).await?);
            }
        }
        let shape = Arc::new(Shape::of_counts(counts));
        if is_kept {
            self.shared.shapes.put(key, &shape);
        }
        Ok(shape)
    }

    /// How many messages that pass `filter` a slot shows after `changes`, where `base` counts its appended message.
    async fn shown_after(&self, base: u64, changes: &[ChangeRow], filter: MessageFilter) -> Result<u64> {
        let deleted =
            |position| changes.iter().any(|change| change.op == ChangeOp::Delete && change.target == position);
        let inserted = || changes.iter().filter(|change| matches!(change.op, ChangeOp::Insert { .. }));
        let mut shown = 0;
        for change in inserted().filter(|change| !deleted(change.position)) {
            let id = MessageId { segment: change.segment, position: change.position };
            let entry =
                self.entry_at(id).await?.ok_or_else(|| StoreError::corrupt(format!("message {id} is missing")))?;
            if let Entry::MessageInserted(inserted) = self.decode(&entry).await? {
                let body = &inserted.message;
                shown += u64::from(filter.passes(body.role, body.silent, body.depth));
            }
        }
        // A deletion of none of the inserted messages is that of the appended one.
        let is_inserted = |position| inserted().any(|change| change.position == position);
        let mut deletions = changes.iter().filter(|change| change.op == ChangeOp::Delete);
        Ok(if deletions.any(|change| !is_inserted(change.target)) { shown } else { shown + base })
    }
}

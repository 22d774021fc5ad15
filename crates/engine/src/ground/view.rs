//! The view of a thread, now or as of a version: a lineage, how far each kind of entry is seen in it, and the
//! tally of the seen entries.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use threadkeep_model::{
    Bounds, ChangeOp, Entry, Head, Kind, Lineage, MessageId, Position, Segment, SegmentId, Tally, ThreadId, Version,
};
use threadkeep_store::{
    ChangeQuery, ChangeRow, EntryQuery, MessageFilter, MessageQuery, Order, StoreError, StoredEntry,
};

use crate::ground::shape::Shape;
use crate::ground::slot::{SlotItem, slot};
use crate::{Engine, Error, Result};

/// The state of a thread, now or as of a version.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) lineage: Arc<Lineage>,
    pub(crate) bounds: Bounds,
    pub(crate) tally: Tally,
}

impl View {
    /// Whether an entry of the thread's record holds here: it was not undone.
    pub(crate) fn holds(&self, made: MessageId) -> bool {
        holds(&self.lineage, self.bounds, made)
    }

    /// Whether no message was cut off before the last change: its shape follows from its segment then.
    pub(crate) fn is_whole(&self) -> bool {
        self.bounds.changes <= self.bounds.messages
    }
}

/// Whether an entry of a thread's record is in view under `bounds`. Records follow the bound of changes to
/// messages: a truncation leaves them, a rollback undoes them.
pub(crate) fn holds(lineage: &Lineage, bounds: Bounds, made: MessageId) -> bool {
    lineage.bounds_of(made.segment, bounds).is_some_and(|bounds| made.position <= bounds.changes)
}

/// A visible message in its slot.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    /// The ordinal of the appended message that anchors it.
    pub(crate) root: u64,
    pub(crate) base: StoredEntry,
    /// The items that the slot shows.
    pub(crate) items: Vec<SlotItem>,
    /// The message's index in `items`.
    pub(crate) at: usize,
}

impl Located {
    pub(crate) fn item(&self) -> SlotItem {
        self.items[self.at]
    }

    pub(crate) fn id_of(&self, item: SlotItem) -> MessageId {
        MessageId { segment: item.inserted.unwrap_or(self.base.segment), position: item.position }
    }
}

impl Engine {
    /// The view of `thread` now, or as of `at`.
    pub(crate) async fn view(&self, thread: ThreadId, head: &Head, at: Option<Version>) -> Result<View> {
        let Some(at) = at.filter(|at| *at != head.version) else {
            let lineage = self.lineage(head.segment).await?;
            return Ok(View { lineage, bounds: Bounds::all(head.version), tally: head.tally });
        };
        if at > head.version {
            return Err(Error::VersionInFuture { version: at, current: head.version });
        }
        let segment = self.segment_at(thread, at).await?;
        let whole = self.lineage(segment.id).await?;
        let (lineage, bounds) = whole.at(at, Bounds::all(at));
        let tally = self.count(&lineage, bounds).await?;
        Ok(View { lineage, bounds, tally })
    }

    pub(crate) async fn lineage(&self, segment: threadkeep_model::SegmentId) -> Result<Arc<Lineage>> {
        self.shared.lineages.get(&*self.shared.stores.store, segment).await
    }

    /// The thread's own segment that holds version `at`, abandoned branches included; its first one for versions
    /// from before its birth.
    pub(crate) async fn segment_at(&self, thread: ThreadId, at: Version) -> Result<Segment> {
        let store = &self.shared.stores.store;
        let mut found = store.segments(thread, at, 1).await?;
        if found.is_empty() {
            found = store.segments(thread, Position::END, usize::MAX).await?;
        }
        found.pop().ok_or_else(|| StoreError::corrupt(format!("thread {thread} has no segment")).into())
    }

    /// The last entry of a segment at or before `position`.
    pub(crate) async fn entry_before(&self, segment: &Segment, position: Position) -> Result<Option<StoredEntry>> {
        let query =
            EntryQuery { segment: segment.id, positions: segment.first..=position, order: Order::Descending, limit: 1 };
        Ok(self.shared.stores.store.entries(query).await?.pop())
    }

    /// One entry by its place.
    pub(crate) async fn entry_at(&self, place: MessageId) -> Result<Option<StoredEntry>> {
        let query = EntryQuery {
            segment: place.segment,
            positions: place.position..=place.position,
            order: Order::Ascending,
            limit: 1,
        };
        Ok(self.shared.stores.store.entries(query).await?.pop())
    }

    /// Counts the entries of `lineage` under `bounds`: the tally at the last message, and the changes after it.
    pub(crate) async fn count(&self, lineage: &Arc<Lineage>, bounds: Bounds) -> Result<Tally> {
        let (holder, _) = lineage.at(bounds.messages, bounds);
        let mut tally = match self.entry_before(&holder.segment, bounds.messages).await? {
            Some(entry) => entry.tally,
            None => holder.segment.birth,
        };
        if bounds.files != bounds.messages {
            let work = self.tally_at(lineage, bounds, |bounds| bounds.files).await?.work;
            (tally.work.last_files, tally.work.stats) = (work.last_files, work.stats);
        }
        if bounds.values != bounds.messages {
            let at = self.tally_at(lineage, bounds, |bounds| bounds.values).await?;
            tally.work.last_values = at.work.last_values;
            if bounds.values > bounds.messages {
                tally.last_state = at.last_state;
            }
        }
        if bounds.changes <= bounds.messages {
            return Ok(tally);
        }
        let view = View { lineage: Arc::clone(lineage), bounds, tally };
        let later = self.changes_between(&view, bounds.messages.next()..=bounds.changes, bounds.changes).await?;
        for change in later {
            tally.last_change = tally.last_change.max(change.position);
            if change.root < tally.ordinals {
                match change.op {
                    ChangeOp::Insert { .. } => tally.inserted += 1,
                    ChangeOp::Delete => tally.deleted += 1,
                    ChangeOp::Edit { .. } => {}
                }
            }
        }
        Ok(tally)
    }

    /// The tally at the last entry that is seen under one of `bounds`: that of files, or of values, where they are seen
    /// up to another place than messages.
    async fn tally_at(&self, lineage: &Arc<Lineage>, bounds: Bounds, of: fn(Bounds) -> Position) -> Result<Tally> {
        let (holder, seen) = lineage.last_seen(bounds, of);
        Ok(match self.entry_before(&holder.segment, of(seen)).await? {
            Some(entry) => entry.tally,
            None => holder.segment.birth,
        })
    }

    /// All changes, of any kind, that are seen at `positions`.
    pub(crate) async fn changes_between(
        &self,
        view: &View,
        positions: RangeInclusive<Position>,
        last: Position,
    ) -> Result<Vec<ChangeRow>> {
        let mut spans = Vec::new();
        let counted = Tally { last_change: last, ..view.tally };
        for span in view.lineage.spans(view.bounds, &counted) {
            if span.may_hold_changes {
                let end = (*positions.end()).min(span.bounds.changes);
                spans.push((span.segment().id, *positions.start()..=end));
            }
            if span.segment().first <= *positions.start() {
                break;
            }
        }
        self.changes_in(spans, 0..u64::MAX).await
    }

    async fn changes_in(
        &self,
        spans: Vec<(SegmentId, RangeInclusive<Position>)>,
        roots: Range<u64>,
    ) -> Result<Vec<ChangeRow>> {
        if spans.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.shared.stores.store.changes(ChangeQuery { spans, roots }).await?)
    }

    /// The changes to the slots of `roots` that are seen.
    ///
    /// A truncation lets ordinals be given again, while changes stay seen up to now. A change belongs to the message
    /// that holds the ordinal now only if it came after that message's segment began: truncations begin a segment.
    pub(crate) async fn changes(&self, view: &View, roots: Range<u64>) -> Result<Vec<ChangeRow>> {
        if view.tally.last_change == Position::START {
            return Ok(Vec::new());
        }
        let mut spans = Vec::new();
        // From the near end, so with falling ordinals.
        let mut holders: Vec<(u64, Position)> = Vec::new();
        for span in view.lineage.spans(view.bounds, &view.tally) {
            if !span.ordinals.is_empty() && span.ordinals.end > roots.start {
                holders.push((span.ordinals.start, span.segment().first));
            }
            if span.may_hold_changes {
                spans.push((span.segment().id, Position::START..=span.bounds.changes));
            }
        }
        let mut found = self.changes_in(spans, roots).await?;
        found.retain(|change: &ChangeRow| {
            let holder = holders.partition_point(|(start, _)| *start > change.root);
            holders.get(holder).is_some_and(|(_, first)| change.position >= *first)
        });
        Ok(found)
    }

    /// Appended messages by their ordinals, deleted ones included, in `order`; at most `limit`.
    pub(crate) async fn appended(
        &self,
        view: &View,
        ordinals: Range<u64>,
        filter: MessageFilter,
        order: Order,
        limit: usize,
    ) -> Result<Vec<StoredEntry>> {
        let wanted = |span: Range<u64>| ordinals.start.max(span.start)..ordinals.end.min(span.end);
        let spans = view.lineage.spans(view.bounds, &view.tally);
        // Spans come from the near end, and positions only fall from there: nothing wanted lies below the first.
        let spans = spans.take_while(|span| span.ordinals.end > ordinals.start);
        let spans = spans.map(|span| (span.segment().id, wanted(span.ordinals)));
        let spans = spans.filter(|(_, wanted)| !wanted.is_empty());
        let mut spans: Box<dyn Iterator<Item = (SegmentId, Range<u64>)> + Send + '_> = match order {
            Order::Ascending => Box::new(spans.collect::<Vec<_>>().into_iter().rev()),
            Order::Descending => Box::new(spans),
        };
        // One read covers as many segments as a full page needs. Where the filter left messages out, the next covers more.
        let (mut found, mut covered_min) = (Vec::new(), limit as u64);
        while found.len() < limit {
            let (mut some, mut covered) = (Vec::new(), 0);
            while covered < covered_min
                && let Some((segment, ordinals)) = spans.next()
            {
                covered += ordinals.end - ordinals.start;
                some.push((segment, ordinals));
            }
            if some.is_empty() {
                break;
            }
            let query = MessageQuery { spans: some, filter, order, limit: limit - found.len() };
            let messages = self.shared.stores.store.messages(query).await?;
            if found.is_empty() {
                found = messages;
            } else {
                found.extend(messages);
            }
            covered_min = covered_min.saturating_mul(4);
        }
        Ok(found)
    }

    pub(crate) async fn base(&self, view: &View, root: u64) -> Result<StoredEntry> {
        let found = self.appended(view, root..root + 1, MessageFilter::ALL, Order::Ascending, 1).await?;
        found.into_iter().next().ok_or_else(|| StoreError::corrupt(format!("message {root} is missing")).into())
    }

    /// Finds a visible message by its id.
    pub(crate) async fn locate(&self, view: &View, id: MessageId) -> Result<Located> {
        let missing = || Error::MessageNotFound { message: id.into() };
        let bounds = view.lineage.bounds_of(id.segment, view.bounds).ok_or_else(missing)?;
        let entry = self.entry_at(id).await?.ok_or_else(missing)?;
        let root = match entry.kind {
            Kind::MessageAppended | Kind::MessageDelivered if id.position <= bounds.messages => entry.ordinal()?,
            Kind::MessageInserted if id.position <= bounds.changes => {
                match Entry::decode(entry.kind, entry.format, &self.body(&entry).await?) {
                    Ok(Entry::MessageInserted(inserted)) => inserted.root,
                    Ok(_) => return Err(missing()),
                    Err(what) => return Err(StoreError::corrupt(format!("message {id}: {what}")).into()),
                }
            }
            _ => return Err(missing()),
        };
        if root >= view.tally.ordinals {
            return Err(missing());
        }
        let base = if entry.kind != Kind::MessageInserted { entry } else { self.base(view, root).await? };
        let items = slot(base.position, &self.changes(view, root..root + 1).await?);
        let at = items.iter().position(|item| item.position == id.position).ok_or_else(missing)?;
        Ok(Located { root, base, items, at })
    }

    /// How insertions and deletions shift the messages of a view.
    pub(crate) async fn shape(&self, view: &View) -> Result<Arc<Shape>> {
        if view.tally.is_plain() {
            return Ok(Arc::default());
        }
        // The items of a segment up to its last change never change, unless messages are cut off before it.
        let key = (view.lineage.segment.id, view.tally.last_change, None);
        let is_whole = view.is_whole();
        if let Some(shape) = self.shared.shapes.get(key).filter(|_| is_whole) {
            return Ok(shape);
        }
        let shape = Arc::new(Shape::of(&self.changes(view, 0..view.tally.ordinals).await?));
        if is_whole {
            self.shared.shapes.put(key, &shape);
        }
        Ok(shape)
    }
}

//! The part of a thread that the index needs: checked before a document counts as found.

use std::collections::{HashMap, HashSet};

use threadkeep_model::{ChangeOp, MessageId, Position, SegmentId, Thread};
use threadkeep_search::{Form, Place, Shelf};

use crate::ground::view::View;
use crate::{Engine, Result};

/// A thread, and which documents it shows.
pub(crate) struct Seen {
    pub(crate) thread: Thread,
    pub(crate) view: View,
    /// Its segments, the newest first, each with the last position where messages are seen.
    pub(crate) path: Vec<(SegmentId, Position)>,
    deleted: HashSet<Position>,
    /// The last edit of each message that was edited.
    edited: HashMap<Position, MessageId>,
    inserted: HashSet<MessageId>,
}

impl Engine {
    /// The seen part of `thread` now.
    pub(crate) async fn what_shows(&self, thread: Thread) -> Result<Seen> {
        let view = self.view(thread.id, &thread.head, None).await?;
        self.shown_by(thread, view).await
    }

    /// The seen part of `thread` at a version.
    pub(crate) async fn what_showed(&self, thread: Thread, at: Position) -> Result<Seen> {
        let view = self.view(thread.id, &thread.head, Some(at)).await?;
        self.shown_by(thread, view).await
    }

    async fn shown_by(&self, thread: Thread, view: View) -> Result<Seen> {
        let spans = view.lineage.spans(view.bounds, &view.tally);
        let path = spans.map(|span| (span.segment().id, span.bounds.messages)).collect();
        let (mut deleted, mut edited, mut inserted) = (HashSet::new(), HashMap::new(), HashSet::new());
        // Positions rise along a lineage, so they name messages of a view, and the last edit has the highest.
        let mut changes = self.changes(&view, 0..u64::MAX).await?;
        changes.sort_by_key(|change| change.position);
        for change in changes {
            let place = MessageId { segment: change.segment, position: change.position };
            match change.op {
                ChangeOp::Delete => drop(deleted.insert(change.target)),
                ChangeOp::Insert { .. } => drop(inserted.insert(place)),
                ChangeOp::Edit { content: true, .. } => drop(edited.insert(change.target, place)),
                ChangeOp::Edit { content: false, .. } => {}
            }
        }
        Ok(Seen { thread, view, path, deleted, edited, inserted })
    }
}

impl Seen {
    /// Whether the thread showed a message and deleted it. One that a rollback or a truncation hides is not deleted.
    pub(crate) fn has_deleted(&self, message: MessageId) -> bool {
        let in_path = self.path.iter().any(|(segment, _)| *segment == message.segment);
        in_path && self.deleted.contains(&message.position)
    }

    /// Whether the thread shows the entry of a document.
    pub(crate) fn shows(&self, shelf: &Shelf, at: Place) -> bool {
        let (message, carrier) = (shelf.message(at), shelf.carrier(at));
        if self.deleted.contains(&message.position) {
            return false;
        }
        match self.edited.get(&message.position) {
            Some(edit) if *edit != carrier => return false,
            None if carrier != message => return false,
            Some(_) | None => {}
        }
        if self.inserted.contains(&message) {
            return true;
        }
        let volume = shelf.volume(at);
        volume.form(shelf.doc(at)) != Form::Inserted
            && self.path.iter().any(|(segment, last)| *segment == message.segment && message.position <= *last)
    }

    /// The documents before and after one, as the thread shows them.
    pub(crate) fn around(&self, shelf: &Shelf, at: Place) -> (Vec<Place>, Vec<Place>) {
        shelf.around(at, &self.path, |near| self.shows(shelf, near))
    }
}

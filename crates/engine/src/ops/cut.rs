//! Where to cut a conversation: after which message it ends, for a fork or a truncation.

use threadkeep_model::{Bounds, Link, MessagesDeleted, Position, Tally};

use crate::ground::view::{Located, View};
use crate::{Engine, Result};

/// A conversation cut off after a message: the part of it that a new segment sees.
#[derive(Debug, Clone)]
pub(crate) struct Cut {
    /// Messages up to the cut; edits, deletions and insertions up to now.
    pub(crate) bounds: Bounds,
    /// The tally under these bounds.
    pub(crate) tally: Tally,
    /// Messages under the bounds, but after the cut: they are in the same slot.
    pub(crate) hidden: Option<MessagesDeleted>,
}

impl Cut {
    /// How many messages are left.
    pub(crate) fn count(&self) -> u64 {
        self.tally.messages() - self.hidden.as_ref().map_or(0, |hidden| hidden.targets.len() as u64)
    }
}

impl Engine {
    /// Cuts `view` after the message at `located`.
    ///
    /// An appended message is a bound by itself. An inserted one lies in the slot of a message after it, so the bound
    /// is that message, and the rest of the slot is deleted from the new segment.
    pub(crate) async fn cut_after(&self, view: &View, located: &Located) -> Result<Cut> {
        let at = located.base.position;
        let changed_later = view.tally.last_change > at;
        let changes = if changed_later { view.tally.last_change.min(view.bounds.changes) } else { at };
        let bounds = Bounds { messages: at, changes, files: at, values: at };
        let mut tally = located.base.tally;
        if changed_later {
            let shape = self.shape(view).await?;
            (tally.inserted, tally.deleted) = shape.before(tally.ordinals);
            tally.last_change = changes;
        }
        let after = &located.items[located.at + 1..];
        let targets: Vec<_> = after.iter().map(|item| located.id_of(*item)).collect();
        let hidden = (!targets.is_empty()).then_some(MessagesDeleted { targets, root: located.root });
        Ok(Cut { bounds, tally, hidden })
    }

    /// Cuts `view` before its first message. Nothing that changes messages is left to see.
    pub(crate) fn cut_all(&self) -> Cut {
        Cut { bounds: Bounds::all(Position::START), tally: Tally::default(), hidden: None }
    }
}

/// The link to `view` under `bounds`. Segments that lie above all bounds are passed over.
pub(crate) fn link(view: &View, bounds: Bounds) -> Option<Link> {
    let (holder, bounds) = view.lineage.at(bounds.highest(), view.bounds.min(bounds));
    let seen = holder.segment.link.is_some() || bounds.highest() >= holder.segment.first;
    seen.then_some(Link { parent: holder.segment.id, bounds })
}

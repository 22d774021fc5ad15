//! One appended message and the messages inserted before it: their order, deletions and edits. Pure.

use std::collections::{HashMap, HashSet};

use threadkeep_model::{ChangeOp, Position, SegmentId};
use threadkeep_store::ChangeRow;

/// A message that a slot shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotItem {
    /// Where the message entered the log, if it was inserted; the appended message itself otherwise.
    pub(crate) inserted: Option<SegmentId>,
    /// The position where it entered the log.
    pub(crate) position: Position,
    /// The last edit of its content.
    pub(crate) content: Option<(SegmentId, Position)>,
    /// The last edit of its metadata.
    pub(crate) metadata: Option<(SegmentId, Position)>,
}

/// The items that the slot of the appended message at `root` shows, in order, after all of `changes`.
pub(crate) fn slot(root: Position, changes: &[ChangeRow]) -> Vec<SlotItem> {
    let mut order: Vec<&ChangeRow> = changes.iter().collect();
    order.sort_by_key(|change| change.position);
    let mut before: HashMap<Position, Vec<(SegmentId, Position)>> = HashMap::new();
    let mut deleted: HashSet<Position> = HashSet::new();
    let mut contents: HashMap<Position, (SegmentId, Position)> = HashMap::new();
    let mut metadatas: HashMap<Position, (SegmentId, Position)> = HashMap::new();
    for change in order {
        let place = (change.segment, change.position);
        match change.op {
            ChangeOp::Insert { .. } => before.entry(change.target).or_default().push(place),
            ChangeOp::Delete => drop(deleted.insert(change.target)),
            ChangeOp::Edit { content, metadata } => {
                if content {
                    contents.insert(change.target, place);
                }
                if metadata {
                    metadatas.insert(change.target, place);
                }
            }
        }
    }
    // Items inserted before a message come first, in the order of their insertion. A stack, since insertions can
    // nest without limit.
    enum Visit {
        Enter(Option<SegmentId>, Position),
        Show(Option<SegmentId>, Position),
    }
    let mut shown = Vec::new();
    let mut stack = vec![Visit::Enter(None, root)];
    while let Some(visit) = stack.pop() {
        match visit {
            Visit::Enter(inserted, position) => {
                stack.push(Visit::Show(inserted, position));
                let inserts = before.remove(&position).unwrap_or_default();
                stack.extend(inserts.into_iter().rev().map(|(segment, at)| Visit::Enter(Some(segment), at)));
            }
            Visit::Show(_, position) if deleted.contains(&position) => {}
            Visit::Show(inserted, position) => shown.push(SlotItem {
                inserted,
                position,
                content: contents.get(&position).copied(),
                metadata: metadatas.get(&position).copied(),
            }),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_model::Role;

    fn change(position: u64, op: ChangeOp, target: u64) -> ChangeRow {
        let segment = SegmentId::from_chance(1);
        ChangeRow { segment, position: Position(position), root: 0, op, target: Position(target) }
    }

    fn shown(changes: &[ChangeRow]) -> Vec<u64> {
        slot(Position(1), changes).into_iter().map(|item| item.position.0).collect()
    }

    const INSERT: ChangeOp = ChangeOp::Insert { role: Role::User };

    #[test]
    fn insertions_stand_before_their_target_in_the_order_they_were_made() {
        assert_eq!(shown(&[]), [1]);
        assert_eq!(shown(&[change(5, INSERT, 1), change(6, INSERT, 1)]), [5, 6, 1]);
        assert_eq!(shown(&[change(5, INSERT, 1), change(6, INSERT, 1), change(7, INSERT, 6)]), [5, 7, 6, 1]);
    }

    #[test]
    fn a_deleted_message_leaves_what_was_inserted_before_it() {
        let changes = [change(5, INSERT, 1), change(6, ChangeOp::Delete, 1)];
        assert_eq!(shown(&changes), [5]);
        assert_eq!(shown(&[change(5, INSERT, 1), change(6, ChangeOp::Delete, 5)]), [1]);
    }

    #[test]
    fn the_last_edit_of_each_part_wins() {
        let edit = |content, metadata| ChangeOp::Edit { content, metadata };
        let changes = [change(5, edit(true, true), 1), change(6, edit(true, false), 1)];
        let item = slot(Position(1), &changes)[0];
        assert_eq!(item.content.map(|(_, position)| position), Some(Position(6)));
        assert_eq!(item.metadata.map(|(_, position)| position), Some(Position(5)));
    }

    #[test]
    fn deep_insertions_do_not_overflow_the_stack() {
        let changes: Vec<ChangeRow> = (2..100_000).map(|position| change(position, INSERT, position - 1)).collect();
        assert_eq!(shown(&changes).len(), 99_999);
    }
}

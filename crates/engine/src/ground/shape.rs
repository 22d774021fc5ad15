//! How insertions and deletions shift messages: from an index to the slot that shows it, and back. Pure.

use std::collections::BTreeMap;

use threadkeep_model::ChangeOp;
use threadkeep_store::ChangeRow;

/// The insertions and deletions a view shows, summed up along the slots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The slots in which something was inserted or deleted, in order.
    slots: Vec<Slot>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    root: u64,
    /// Insertions in this slot and all before it.
    inserted: u64,
    /// Deletions in this slot and all before it.
    deleted: u64,
}

impl Slot {
    /// Messages that are shown by all slots up to this one.
    fn shown(&self) -> u64 {
        (self.root + 1 + self.inserted).saturating_sub(self.deleted)
    }
}

impl Shape {
    /// The shape that `changes` give.
    pub(crate) fn of(changes: &[ChangeRow]) -> Self {
        let mut counts: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for change in changes {
            let (inserted, deleted) = match change.op {
                ChangeOp::Insert { .. } => (1, 0),
                ChangeOp::Delete => (0, 1),
                ChangeOp::Edit { .. } => continue,
            };
            let count = counts.entry(change.root).or_default();
            *count = (count.0 + inserted, count.1 + deleted);
        }
        let mut sum = (0, 0);
        let slots = counts.into_iter().map(|(root, count)| {
            sum = (sum.0 + count.0, sum.1 + count.1);
            Slot { root, inserted: sum.0, deleted: sum.1 }
        });
        Self { slots: slots.collect() }
    }

    /// The shape of slots that show so many messages each, given by rising root; the others show one.
    pub(crate) fn of_counts(counts: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut sum = (0, 0);
        let slots = counts.into_iter().map(|(root, shown)| {
            sum = (sum.0 + shown.saturating_sub(1), sum.1 + 1u64.saturating_sub(shown));
            Slot { root, inserted: sum.0, deleted: sum.1 }
        });
        Self { slots: slots.collect() }
    }

    /// How many slots it holds.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Insertions and deletions in all slots before `root`.
    pub(crate) fn before(&self, root: u64) -> (u64, u64) {
        let at = self.slots.partition_point(|slot| slot.root < root);
        at.checked_sub(1).map_or((0, 0), |last| (self.slots[last].inserted, self.slots[last].deleted))
    }

    /// The index of the first message that the slot of `root` shows, if it shows any.
    pub(crate) fn index_of(&self, root: u64) -> u64 {
        let (inserted, deleted) = self.before(root);
        (root + inserted).saturating_sub(deleted)
    }

    /// The slot that shows the message with this index, and at which place.
    pub(crate) fn root_of(&self, index: u64) -> (u64, usize) {
        let at = self.slots.partition_point(|slot| slot.shown() <= index);
        if let Some(slot) = self.slots.get(at) {
            let first = self.index_of(slot.root);
            if index >= first {
                return (slot.root, (index - first) as usize);
            }
        }
        // A slot without insertions and deletions shows one message.
        let (inserted, deleted) =
            at.checked_sub(1).map_or((0, 0), |last| (self.slots[last].inserted, self.slots[last].deleted));
        ((index + deleted).saturating_sub(inserted), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_model::{Position, Role, SegmentId};

    /// For each slot how many messages it shows, said plainly.
    fn shape(shown: &[u64]) -> Shape {
        let change = |root: usize, op| ChangeRow {
            segment: SegmentId::from_chance(1),
            position: Position(99),
            root: root as u64,
            op,
            target: Position(1),
        };
        let mut changes = Vec::new();
        for (root, shown) in shown.iter().enumerate() {
            let inserts = (1..*shown).map(|_| change(root, ChangeOp::Insert { role: Role::User }));
            changes.extend(inserts);
            if *shown == 0 {
                changes.push(change(root, ChangeOp::Delete));
            }
        }
        Shape::of(&changes)
    }

    #[test]
    fn an_index_leads_to_its_slot_and_back() {
        for slots in [&[1, 1, 1][..], &[0, 1, 2], &[3, 0, 0, 1], &[0, 0, 2, 1, 1, 0, 4], &[2]] {
            let shape = shape(slots);
            let mut index = 0;
            for (root, shown) in slots.iter().enumerate() {
                assert_eq!(shape.index_of(root as u64), index, "{slots:?}");
                for at in 0..*shown {
                    assert_eq!(shape.root_of(index), (root as u64, at as usize), "{slots:?}, index {index}");
                    index += 1;
                }
            }
            assert_eq!(shape.root_of(index + 2), (slots.len() as u64 + 2, 0), "what comes after is plain");
        }
    }
}

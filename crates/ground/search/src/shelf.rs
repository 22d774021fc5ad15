//! The volumes of one account, and the way from message to message through them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use threadkeep_model::{MessageId, Position, SegmentId};

use crate::row::{REACH, Strand};
use crate::volume::Volume;

/// How many documents are looked at to find one that shows.
const PASSED_OVER_MAX: usize = 16;

/// A document: in which volume, and where there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub(crate) volume: u32,
    pub(crate) doc: u32,
}

/// All volumes of one account.
#[derive(Debug, Default)]
pub struct Shelf {
    pub(crate) volumes: Vec<Arc<Volume>>,
    /// Who grew from whom; found out when it is first asked.
    children: OnceLock<HashMap<SegmentId, Vec<Strand>>>,
}

impl Shelf {
    /// A shelf with these volumes.
    pub fn new(volumes: Vec<Arc<Volume>>) -> Self {
        Self { volumes, children: OnceLock::new() }
    }

    /// The volumes of the account.
    pub fn volumes(&self) -> &[Arc<Volume>] {
        &self.volumes
    }

    /// How many documents it has.
    pub fn len(&self) -> usize {
        self.volumes.iter().map(|volume| volume.len()).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how much memory they take.
    pub fn memory(&self) -> usize {
        self.volumes.iter().map(|volume| volume.memory()).sum()
    }

    /// The volume of a document.
    pub fn volume(&self, at: Place) -> &Volume {
        &self.volumes[at.volume as usize]
    }

    /// The number of a document in its volume.
    pub fn doc(&self, at: Place) -> u32 {
        at.doc
    }

    /// The message that a document is about.
    pub fn message(&self, at: Place) -> MessageId {
        self.volume(at).message(at.doc)
    }

    /// The entry that says what the document says.
    pub fn carrier(&self, at: Place) -> MessageId {
        self.volume(at).carrier(at.doc)
    }

    /// The segment that holds the text of a document.
    pub fn origin(&self, at: Place) -> &Strand {
        self.volume(at).origin(at.doc)
    }

    /// What is known of a segment.
    pub fn strand(&self, segment: SegmentId) -> Option<&Strand> {
        self.volumes.iter().find_map(|volume| volume.strand_of(segment))
    }

    /// A segment and all that it grew from, the newest first; none if not all of them are known here.
    pub fn chain(&self, segment: SegmentId) -> Option<Vec<SegmentId>> {
        let (mut chain, mut next) = (Vec::new(), Some(segment));
        while let Some(segment) = next {
            chain.push(segment);
            next = self.strand(segment)?.parent;
        }
        Some(chain)
    }

    /// The segments that grew from `segment`, the oldest first.
    pub fn children(&self, segment: SegmentId) -> &[Strand] {
        let children = self.children.get_or_init(|| {
            let (mut children, mut known): (HashMap<SegmentId, Vec<Strand>>, HashSet<SegmentId>) = Default::default();
            for strand in self.volumes.iter().flat_map(|volume| volume.strands()) {
                if let Some(parent) = strand.parent
                    && known.insert(strand.segment)
                {
                    children.entry(parent).or_default().push(*strand);
                }
            }
            for of_one in children.values_mut() {
                of_one.sort_by_key(|strand| (strand.created, strand.segment));
            }
            children
        });
        children.get(&segment).map_or(&[], Vec::as_slice)
    }

    /// Whether the shelf has a document with this text.
    pub fn holds(&self, message: MessageId, carrier: MessageId) -> bool {
        self.volumes.iter().any(|volume| {
            let docs = volume.of_segment(message.segment);
            let begin = first_at(volume, docs.clone(), message.position);
            (begin..docs.end)
                .take_while(|doc| volume.columns.position[*doc as usize] == message.position.0)
                .any(|doc| volume.carrier(doc) == carrier)
        })
    }

    /// The documents around one, the nearest first, before it and after it, along a path of segments, each with the
    /// last position that is seen there, the newest segment first. What does not show is passed over.
    pub fn around(
        &self,
        at: Place,
        path: &[(SegmentId, Position)],
        shows: impl Fn(Place) -> bool,
    ) -> (Vec<Place>, Vec<Place>) {
        let message = self.message(at);
        let Some(here) = path.iter().position(|(segment, _)| *segment == message.segment) else {
            return (Vec::new(), Vec::new());
        };
        let mut before = Vec::new();
        for (index, (segment, last)) in path.iter().enumerate().skip(here) {
            let below = if index == here { message.position } else { last.next() };
            before.extend(self.before(*segment, below).into_iter().filter(|near| shows(*near)));
            if before.len() >= REACH {
                break;
            }
        }
        before.truncate(REACH);
        let mut after = Vec::new();
        for (index, (segment, last)) in path.iter().enumerate().take(here + 1).rev() {
            let above = if index == here { message.position } else { Position::START };
            after.extend(self.after(*segment, above, *last).into_iter().filter(|near| shows(*near)));
            if after.len() >= REACH {
                break;
            }
        }
        after.truncate(REACH);
        (before, after)
    }

    /// The documents of a segment below a position, the nearest first.
    fn before(&self, segment: SegmentId, below: Position) -> Vec<Place> {
        let mut found = Vec::new();
        for (at, volume) in self.volumes.iter().enumerate() {
            let docs = volume.of_segment(segment);
            let end = first_at(volume, docs.clone(), below);
            let begin = docs.start.max(end.saturating_sub(PASSED_OVER_MAX as u32));
            found.extend(
                (begin..end).map(|doc| (volume.columns.position[doc as usize], Place { volume: at as u32, doc })),
            );
        }
        found.sort_by(|one, other| other.cmp(one));
        found.into_iter().map(|(_, place)| place).collect()
    }

    /// The documents of a segment above a position, up to another one, the nearest first.
    fn after(&self, segment: SegmentId, above: Position, last: Position) -> Vec<Place> {
        let mut found = Vec::new();
        for (at, volume) in self.volumes.iter().enumerate() {
            let docs = volume.of_segment(segment);
            let begin = first_at(volume, docs.clone(), above.next());
            let end = docs.end.min(begin.saturating_add(PASSED_OVER_MAX as u32));
            let near = (begin..end).take_while(|doc| volume.columns.position[*doc as usize] <= last.0);
            found.extend(near.map(|doc| (volume.columns.position[doc as usize], Place { volume: at as u32, doc })));
        }
        found.sort();
        found.into_iter().map(|(_, place)| place).collect()
    }
}

/// The first of some documents of one segment at or above a position.
fn first_at(volume: &Volume, docs: std::ops::Range<u32>, position: Position) -> u32 {
    let positions = &volume.columns.position[docs.start as usize..docs.end as usize];
    docs.start + positions.partition_point(|at| *at < position.0) as u32
}

//! Which documents are wanted.

use std::collections::HashSet;

use threadkeep_model::{Role, SegmentId, Timestamp};

use crate::volume::Volume;

/// The filters for documents.
#[derive(Debug, Clone, Default)]
pub struct Wants {
    /// Only of this role.
    pub role: Option<Role>,
    /// Only from this moment on.
    pub after: Option<Timestamp>,
    /// Only before this moment.
    pub before: Option<Timestamp>,
    /// Only those whose text is in one of these segments.
    pub segments: Option<HashSet<SegmentId>>,
    /// How many candidates to find by words, and as many by vectors.
    pub candidates: usize,
}

/// The filters for documents of one volume.
pub(crate) struct Filter<'a> {
    pub(crate) volume: &'a Volume,
    wants: &'a Wants,
    /// Whether all of them are.
    everything: bool,
    /// Strand by strand, if segments are asked for.
    strands: Option<Vec<bool>>,
}

impl<'a> Filter<'a> {
    pub(crate) fn new(volume: &'a Volume, wants: &'a Wants) -> Self {
        let strands = wants
            .segments
            .as_ref()
            .map(|segments| volume.strands().iter().map(|strand| segments.contains(&strand.segment)).collect());
        let Wants { role, after, before, .. } = wants;
        let everything = strands.is_none() && role.is_none() && after.is_none() && before.is_none();
        Self { volume, wants, everything, strands }
    }

    #[inline]
    pub(crate) fn passes(&self, doc: u32) -> bool {
        self.everything || self.is_wanted(doc)
    }

    fn is_wanted(&self, doc: u32) -> bool {
        let (at, columns) = (doc as usize, &self.volume.columns);
        let strand = || columns.carriers.get(&doc).map_or(columns.strand[at], |(strand, _)| *strand);
        self.strands.as_ref().is_none_or(|strands| strands[strand() as usize])
            && self.wants.role.is_none_or(|role| self.volume.role(doc) == role)
            && self.wants.after.is_none_or(|after| columns.time[at] >= after.as_micros())
            && self.wants.before.is_none_or(|before| columns.time[at] < before.as_micros())
    }
}

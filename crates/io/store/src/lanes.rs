//! How a page of any list is found with few, short reads.
//!
//! A *lane* is one index of a store, read in the order of the list: all threads of an account, those with one value in
//! one column, or those with one term. [`ListRun`] chooses the lanes with the fewest threads, reads them side by side,
//! checks every thread with [`ListFilter::matches`](crate::ListFilter::matches), and reads on until the page is full. It
//! decides and does no I/O: a store answers what it [asks](Ask), so that the rules are the same in every store.
//!
//! A term lies under the minute in which its thread was *filed*. A thread that changed since then is *moved on*: its
//! terms stay where they are. So a list by a common term reads the threads that are where they were filed, in order, and
//! beside them those that moved on, which it checks one by one. A rare term is read as a whole, and beside it the threads
//! that are not filed yet.

use threadkeep_model::{Thread, Timestamp};

use crate::list::{INDEX_TOTAL_MAX, ListCursor, ListFilter, ListQuery, ListSort, TOTAL_MAX, TimeRange};
pub use crate::list_run::ListRun;
use crate::terms::{Bucket, Gist, Need};

/// Rows that are counted to find the lane with the fewest. A lane with fewer is read as a whole and sorted.
pub const COUNTED_MAX: usize = 1_000;
/// Terms that begin with two letters, as far as they are read side by side.
pub const SPELLED_MAX: usize = 64;

/// A column of threads that lists go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The agent of the thread.
    Agent,
    /// The project of the thread.
    Project,
    /// The lifecycle of the thread.
    Lifecycle,
    /// Who may read it.
    Visibility,
    /// The thread it was spawned from.
    Parent,
    /// The main thread of a subagent.
    Main,
}

impl Column {
    /// The columns for which `filter` asks a value.
    pub fn asked(filter: &ListFilter) -> impl Iterator<Item = Self> {
        let asked = [
            (Self::Agent, filter.agent.is_some()),
            (Self::Project, filter.project.is_some()),
            (Self::Lifecycle, filter.lifecycle.is_some()),
            (Self::Visibility, filter.visibility.is_some()),
            (Self::Parent, filter.parent.is_some()),
            (Self::Main, filter.main.is_some()),
        ];
        asked.into_iter().filter(|(_, asked)| *asked).map(|(column, _)| column)
    }
}

/// The index that leads to the threads of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drive {
    /// All threads of the account.
    All,
    /// Those born in the asked range, in the order of their births.
    Born,
    /// Those with the asked value in a column.
    Column(Column),
    /// Those with a term.
    Term {
        /// The number of the term.
        term: i32,
        /// The time bucket of the term.
        bucket: Bucket,
    },
    /// Those with a term that did not change since they were filed: their buckets are the minutes of their last change.
    Settled {
        /// The number of the term.
        term: i32,
    },
    /// Those that changed since they were filed, whatever terms they have, and those that are not filed yet.
    Moved,
    /// Those that are not filed yet.
    Unfiled,
}

/// One index, read in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// Archived threads, or the others.
    pub archived: bool,
    /// The index that leads to its threads.
    pub drive: Drive,
}

impl Lane {
    /// Whether the buckets of its terms come in the order of the list. The rows of others are sorted as a whole.
    pub fn is_sorted(&self, sort: ListSort) -> bool {
        match (self.drive, sort) {
            // Every thread has both: one index for each is enough.
            (Drive::Column(Column::Lifecycle | Column::Visibility), sort) => sort == ListSort::Updated,
            (Drive::All | Drive::Column(_), _) => true,
            (Drive::Born | Drive::Term { bucket: Bucket::Born, .. }, sort) => sort == ListSort::Created,
            (Drive::Settled { .. } | Drive::Moved | Drive::Unfiled, sort) => sort == ListSort::Updated,
            (Drive::Term { bucket: Bucket::Filed, .. }, _) => false,
        }
    }

    /// The term that leads to its threads.
    pub fn term(&self) -> Option<i32> {
        match self.drive {
            Drive::Term { term, .. } | Drive::Settled { term } => Some(term),
            Drive::All | Drive::Born | Drive::Column(_) | Drive::Moved | Drive::Unfiled => None,
        }
    }

    pub(crate) fn bucket(&self) -> Option<Bucket> {
        match self.drive {
            Drive::Term { bucket, .. } => Some(bucket),
            Drive::Settled { .. } => Some(Bucket::Filed),
            Drive::All | Drive::Born | Drive::Column(_) | Drive::Moved | Drive::Unfiled => None,
        }
    }
}

/// A stretch of a lane.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The lane to read.
    pub lane: Lane,
    /// Terms that matching threads have once they are filed; the store may leave out filed threads without them.
    pub needs: Vec<Need>,
    /// Of each, the gist of a matching thread has one bit; the store may leave out threads whose gist has none.
    pub gists: Vec<Gist>,
    /// Only those last changed in this range; it lies within the one that is asked.
    pub updated: TimeRange,
    /// Only what comes after this place.
    pub after: Option<ListCursor>,
    /// So many are passed over.
    pub skip: usize,
    /// At most so many.
    pub limit: usize,
}

/// The next question of a run.
#[derive(Debug)]
pub enum Ask {
    /// How many threads each lane has, counted to [`COUNTED_MAX`]: [`Answer::Counts`].
    Count(Vec<Lane>),
    /// How many threads of these stretches pass the filter, each once, counted to `most`: [`Answer::Total`].
    Total {
        /// The stretches to scan, in order.
        scans: Vec<Scan>,
        /// Where counting ends.
        most: usize,
        /// Whether the records have to be looked at, since no column tells.
        looks: bool,
    },
    /// The time by which thread number `.1` of these lanes, from 0 on, is sorted, as exactly as their index has it:
    /// [`Answer::Rank`].
    Rank(Vec<Lane>, usize),
    /// The terms from the first number to the last, for each range, [`SPELLED_MAX`] and one more of each at the most:
    /// [`Answer::Spelled`].
    Spelled(Vec<(i32, i32)>),
    /// When the oldest and the newest thread of the account were born: [`Answer::Span`].
    Span,
    /// The last bucket of each lane's term that is not above a bucket: [`Answer::Tops`].
    Tops(Vec<i32>, i64),
    /// Threads that pass the filter as far as the store can tell, in order: [`Answer::Rows`].
    Rows(Vec<Scan>),
}

/// The answer of a store.
#[derive(Debug)]
pub enum Answer {
    /// A number for each lane.
    Counts(Vec<u64>),
    /// A number for all of them.
    Total(u64),
    /// No thread has a later time than this one, but for so many threads; none if the lanes have fewer threads.
    Rank(Option<(Timestamp, usize)>),
    /// Terms for each range.
    Spelled(Vec<Vec<i32>>),
    /// The first and the last moment; none if there is no thread.
    Span(Option<(Timestamp, Timestamp)>),
    /// A bucket for each term.
    Tops(Vec<Option<i64>>),
    /// Threads for each stretch.
    Rows(Vec<Vec<Thread>>),
}

impl ListFilter {
    /// Whether the columns of a store tell which threads match. They have the short ids of other threads, no texts.
    pub(crate) fn is_exact(&self) -> bool {
        let Self { title, metadata, tag, parent, main, .. } = self;
        title.is_none() && metadata.is_none() && tag.is_none() && parent.is_none() && main.is_none()
    }
}

impl ListQuery {
    /// Whether one index of a store has all that its filter and its order ask.
    pub fn is_of_one_index(&self) -> bool {
        let filter = &self.filter;
        let is_of_column = Column::asked(filter).count() <= 1 && filter.created.is_open() && filter.updated.is_open();
        filter.is_exact() && is_of_column
    }

    /// The threads up to which its total is exact.
    pub fn total_max(&self) -> usize {
        if self.is_of_one_index() { INDEX_TOTAL_MAX } else { TOTAL_MAX }
    }
}

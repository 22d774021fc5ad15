//! Where the bytes of a volume lie: in memory, or in a store that gives parts of them.

use std::error::Error;
use std::fmt::Debug;
use std::ops::Range;

use ::bytes::Bytes;

use crate::Damaged;

/// The bytes of a volume. They never change, but the volume may be removed while it is in use.
pub trait Source: Debug + Send + Sync {
    /// How many bytes the volume has.
    fn size(&self) -> usize;

    /// Whether they are in memory, so that reading them takes no time.
    fn is_in_memory(&self) -> bool;

    /// The bytes of each of these ranges, in the order of the ranges. It may block the thread.
    ///
    /// # Errors
    /// [`Unreadable::Gone`] if the volume was removed; others if it is damaged, or the store fails.
    fn read(&self, ranges: &[Range<usize>]) -> Result<Vec<Bytes>, Unreadable>;
}

/// Why a volume cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The stored index is damaged.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// It was removed: the list of volumes is another one now.
    #[error("a volume of the search index was removed")]
    Gone,
    /// The store could not be read.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync>),
}

impl Source for Bytes {
    fn size(&self) -> usize {
        self.len()
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn read(&self, ranges: &[Range<usize>]) -> Result<Vec<Bytes>, Unreadable> {
        let slice = |range: &Range<usize>| {
            let is_inside = range.start <= range.end && range.end <= self.len();
            is_inside.then(|| self.slice(range.clone())).ok_or_else(|| Damaged("it ends early".to_owned()).into())
        };
        ranges.iter().map(slice).collect()
    }
}

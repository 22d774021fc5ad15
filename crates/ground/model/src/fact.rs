//! The consequences of a fact, declared beside its struct. The rest of the declaration is a row in the table of
//! `entry`.

use crate::{BlobId, Derived, Invalid, Record};

/// The record of a thread after a fact of type `F`; none for facts that leave the record as it is.
pub(crate) type RecordChange<F> = Option<fn(&F, Record) -> Result<Record, Invalid>>;

/// A fact about a thread: the body of one kind of entry.
pub(crate) trait Fact: Sized {
    /// How the record follows from the fact.
    const RECORD: RecordChange<Self> = None;

    /// The rows that follow from the fact.
    fn derived(&self) -> Derived {
        Derived::Nothing
    }

    /// The blobs that the fact names.
    fn blobs(&self) -> Vec<BlobId> {
        Vec::new()
    }
}

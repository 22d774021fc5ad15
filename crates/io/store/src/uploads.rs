//! Uploads: blobs that are brought bit by bit, before an entry names them.

use threadkeep_model::Timestamp;

use crate::StoreError;

/// How many bytes of a blob lie together in a store.
pub const CHUNK_BYTES: usize = 256 * 1024;

/// A blob that is being brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UploadId(pub i64);

impl UploadId {
    /// How long an upload is kept, in microseconds: a day.
    pub const KEPT_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

    /// Uploads that began before this are freed.
    pub fn kept_since(now: Timestamp) -> Timestamp {
        now.plus_micros(-Self::KEPT_MICROS)
    }
}

impl StoreError {
    /// An upload to which nothing can be added any more.
    pub fn upload_gone() -> Self {
        Self::Unavailable { what: "the upload has ended, or took longer than a day; send it again".into() }
    }

    /// An upload that is finished before all of it is there.
    pub fn upload_incomplete(found: u64, size: u64) -> Self {
        Self::corrupt(format!("an upload has {found} of {size} bytes"))
    }
}

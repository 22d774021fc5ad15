//! Blobs that are brought bit by bit, in memory.

use std::collections::BTreeMap;

use bytes::Bytes;
use threadkeep_model::{BlobId, Timestamp};

use super::state::State;
use crate::{Result, StoreError, UploadId};

/// Uploads that have not ended.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    last: i64,
    all: BTreeMap<UploadId, Upload>,
}

#[derive(Debug)]
struct Upload {
    began: Timestamp,
    is: Is,
}

/// The content of a blob.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Here(Bytes),
    /// An object outside the store, with its size.
    Elsewhere(UploadId, u64),
}

impl Content {
    /// The bytes of `blob`, which has this content.
    pub(super) fn bytes(&self, blob: BlobId) -> Result<&Bytes> {
        match self {
            Self::Here(bytes) => Ok(bytes),
            Self::Elsewhere(object, size) => Err(StoreError::Elsewhere { blob, object: *object, size: *size }),
        }
    }
}

#[derive(Debug)]
enum Is {
    Unfinished(Vec<u8>),
    Finished(BlobId),
}

impl Uploads {
    pub(super) fn begin(&mut self, now: Timestamp) -> UploadId {
        self.last += 1;
        let id = UploadId(self.last);
        self.all.insert(id, Upload { began: now, is: Is::Unfinished(Vec::new()) });
        id
    }

    fn unfinished(&mut self, upload: UploadId) -> Result<&mut Vec<u8>> {
        match self.all.get_mut(&upload) {
            Some(Upload { is: Is::Unfinished(bytes), .. }) => Ok(bytes),
            Some(Upload { is: Is::Finished(_), .. }) | None => Err(StoreError::upload_gone()),
        }
    }

    pub(super) fn add(&mut self, upload: UploadId, at: u64, bytes: &[u8]) -> Result<()> {
        let here = self.unfinished(upload)?;
        here.truncate(usize::try_from(at).unwrap_or(usize::MAX));
        here.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn end(&mut self, upload: UploadId) {
        self.all.remove(&upload);
    }

    /// Whether one that is finished and has not ended keeps this blob.
    pub(super) fn hold(&self, blob: &BlobId) -> bool {
        self.all.values().any(|upload| matches!(&upload.is, Is::Finished(id) if id == blob))
    }

    /// Lets go of those that are too old, and says how many of them were not finished.
    pub(super) fn expire(&mut self, now: Timestamp) -> usize {
        let since = UploadId::kept_since(now);
        let old = |upload: &Upload| upload.began < since;
        let unfinished =
            self.all.values().filter(|upload| old(upload) && matches!(upload.is, Is::Unfinished(_))).count();
        self.all.retain(|_, upload| !old(upload));
        unfinished
    }
}

impl State {
    pub(super) fn finish_upload(&mut self, upload: UploadId, blob: BlobId, size: u64) -> Result<()> {
        let bytes = self.uploads.unfinished(upload)?;
        if bytes.len() as u64 != size {
            return Err(StoreError::upload_incomplete(bytes.len() as u64, size));
        }
        let bytes = Bytes::from(std::mem::take(bytes));
        if let Some(upload) = self.uploads.all.get_mut(&upload) {
            upload.is = Is::Finished(blob);
        }
        self.blobs.entry(blob).or_insert(Content::Here(bytes));
        Ok(())
    }

    pub(super) fn finish_elsewhere(&mut self, upload: UploadId, blob: BlobId, size: u64) -> Result<bool> {
        self.uploads.unfinished(upload)?;
        if let Some(upload) = self.uploads.all.get_mut(&upload) {
            upload.is = Is::Finished(blob);
        }
        let is_new = !self.blobs.contains_key(&blob);
        self.blobs.entry(blob).or_insert(Content::Elsewhere(upload, size));
        Ok(is_new)
    }

    pub(super) fn uses_object(&self, object: UploadId) -> bool {
        let of_blob = |content: &Content| matches!(content, Content::Elsewhere(own, _) if *own == object);
        self.uploads.all.contains_key(&object) || self.blobs.values().any(of_blob)
    }
}

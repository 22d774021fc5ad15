//! Contents that go to the object store before the commit or the import that names them.
//!
//! Bodies of entries always go with their commit: the log stays whole in the store.

use std::collections::HashSet;

use bytes::Bytes;
use threadkeep_model::{BlobId, Body, Commit, Committed, ThreadCommit, Timestamp};
use threadkeep_store::{CHUNK_BYTES, ImportBatch, StoreError, UploadId};

use super::engine::Shared;

type Result<T> = std::result::Result<T, StoreError>;

/// Bytes of a content that are handed over at once.
const PART_BYTES: usize = 4 * CHUNK_BYTES;

impl Shared {
    /// Applies a commit, after its large contents.
    pub(crate) async fn apply(&self, mut commit: Commit) -> Result<Committed> {
        if !self.has_large(&commit.blobs) {
            return self.stores.store.commit(commit).await;
        }
        let entries = commit.threads.iter().flat_map(ThreadCommit::entries);
        let bodies = entries.filter_map(|entry| large(&entry.body)).collect();
        let uploads = self.upload_large(&mut commit.blobs, &bodies, commit.time).await?;
        let committed = self.stores.store.commit(commit).await;
        self.let_go(uploads).await;
        committed
    }

    /// Imports a batch, after its large contents.
    pub(crate) async fn take_in(&self, mut batch: ImportBatch) -> Result<()> {
        if !self.has_large(&batch.blobs) {
            return self.stores.upkeep.import(batch).await;
        }
        // The entry that names a blob may come with a later batch. Bodies are JSON objects, so a blob that begins
        // otherwise is none.
        let may_be_body = |(id, bytes): &(BlobId, Bytes)| bytes.starts_with(b"{").then_some(*id);
        let kept = batch.blobs.iter().filter_map(may_be_body).collect();
        let uploads = self.upload_large(&mut batch.blobs, &kept, batch.now).await?;
        let imported = self.stores.upkeep.import(batch).await;
        self.let_go(uploads).await;
        imported
    }

    fn has_large(&self, blobs: &[(BlobId, Bytes)]) -> bool {
        blobs.iter().any(|(_, bytes)| bytes.len() > self.stores.blobs.apart_above())
    }

    /// Uploads the large ones among `blobs`, but those in `kept`. They are held until the uploads are let go.
    async fn upload_large(
        &self,
        blobs: &mut Vec<(BlobId, Bytes)>,
        kept: &HashSet<BlobId>,
        now: Timestamp,
    ) -> Result<Vec<UploadId>> {
        let is_large =
            |(id, bytes): &mut (BlobId, Bytes)| bytes.len() > self.stores.blobs.apart_above() && !kept.contains(id);
        let mut uploads = Vec::new();
        for (id, bytes) in blobs.extract_if(.., is_large).collect::<Vec<_>>() {
            let upload = self.stores.blobs.begin_upload(now).await?;
            uploads.push(upload);
            if let Err(error) = self.upload(upload, id, &bytes).await {
                self.let_go(uploads).await;
                return Err(error);
            }
        }
        Ok(uploads)
    }

    async fn upload(&self, upload: UploadId, id: BlobId, bytes: &Bytes) -> Result<()> {
        for at in (0..bytes.len()).step_by(PART_BYTES) {
            let part = bytes.slice(at..bytes.len().min(at + PART_BYTES));
            self.stores.blobs.add_to_upload(upload, at as u64, part).await?;
        }
        self.stores.blobs.finish_upload(upload, id, bytes.len() as u64).await
    }

    /// By now entries name what was uploaded, or none will. What cannot be ended now is freed once it is old.
    async fn let_go(&self, uploads: Vec<UploadId>) {
        for upload in uploads {
            drop(self.stores.blobs.end_upload(upload).await);
        }
    }
}

fn large(body: &Body) -> Option<BlobId> {
    match body {
        Body::Blob(id) => Some(*id),
        Body::Inline(_) | Body::Absent | Body::Damaged => None,
    }
}

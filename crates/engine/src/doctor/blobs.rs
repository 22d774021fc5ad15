//! Blobs beside their hashes, part by part.

use threadkeep_model::BlobId;
use threadkeep_store::{Progress, StoreError};

use super::{DoctorReport, WALKED_AT_ONCE};
use crate::{Engine, Result};

/// Bytes of a blob read at once.
const PART_BYTES: u64 = 4 << 20;

pub(super) async fn blobs(engine: &Engine, progress: &Progress, report: &mut DoctorReport) -> Result<()> {
    let mut after = None;
    loop {
        let some = engine.shared.stores.upkeep.all_blobs(after, WALKED_AT_ONCE).await?;
        let Some(last) = some.last() else { return Ok(()) };
        after = Some(*last);
        for id in &some {
            report.blobs += 1;
            match whole(engine, *id).await {
                Ok(()) => {}
                Err(error @ StoreError::Corrupt { .. }) => report.damage(error.to_string()),
                Err(error) => return Err(error.into()),
            }
            tokio::task::yield_now().await;
        }
        progress("blobs", report.blobs, None);
    }
}

/// Compares a blob with its hash, part by part.
async fn whole(engine: &Engine, id: BlobId) -> Result<(), StoreError> {
    let (mut hash, mut at) = (blake3::Hasher::new(), 0);
    loop {
        let part = engine.shared.stores.blobs.blob_part(id, at..at + PART_BYTES).await?;
        let part = part.ok_or_else(|| StoreError::corrupt(format!("blob {id} is missing")))?;
        hash.update(&part);
        at += part.len() as u64;
        if (part.len() as u64) < PART_BYTES {
            break;
        }
    }
    if hash.finalize().as_bytes() == id.as_bytes() { Ok(()) } else { Err(StoreError::damaged(&format!("blob {id}"))) }
}

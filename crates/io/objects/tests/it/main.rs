//! Stores with an object store beside them: the suite that every store runs, and what only an object store can show.

mod folder;
mod s3;
mod service;

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use threadkeep_model::{BlobId, Timestamp};
use threadkeep_objects::Objects;
use threadkeep_sqlite::SqliteStore;
use threadkeep_store::{Blobs, GcOptions, Result, Stores, UploadId};

/// How long anything may take before a test gives up on it.
const DEADLINE: Duration = Duration::from_secs(60);
/// Bytes that are handed over at once.
const HANDED: usize = 1 << 20;

/// A store in a file, with the objects at `url`.
fn stores(folder: &Path, objects: Objects) -> Stores {
    objects.beside(Stores::of(SqliteStore::open(folder.join("threads.db")).expect("a store")))
}

/// Runs a test that has to end in time.
fn within<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(DEADLINE, test).await.expect("in time") })
}

/// Bytes that differ from place to place, and with `seed`.
fn content(seed: u32, size: usize) -> Bytes {
    (0..size as u32).map(|n| ((n / 7).wrapping_mul(seed + 3) % 251) as u8).collect::<Vec<u8>>().into()
}

fn now() -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000)
}

async fn upload(blobs: &dyn Blobs, content: &Bytes) -> Result<UploadId> {
    let upload = blobs.begin_upload(now()).await?;
    for at in (0..content.len()).step_by(HANDED) {
        blobs.add_to_upload(upload, at as u64, content.slice(at..content.len().min(at + HANDED))).await?;
    }
    blobs.finish_upload(upload, BlobId::of(content), content.len() as u64).await?;
    Ok(upload)
}

/// Frees what nothing names: first the rows, then the objects.
async fn gc(stores: &Stores) -> u64 {
    let options = GcOptions { vacuum: false, now: now() };
    stores.upkeep.gc(options, std::sync::Arc::new(|_, _, _| {})).await.expect("gc");
    stores.blobs.sweep_objects().await.expect("a sweep")
}

//! The blobs of a store, of which the large ones are objects.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use threadkeep_model::{Account, BlobId, Timestamp};
use threadkeep_store::sum::check_blob;
use threadkeep_store::{Blobs, BoxFuture, Registered, Registry, RegistryKind, Result, StoreError, Stores, UploadId};
use tokio::sync::OnceCell;

use crate::bucket::{Objects, Parts};

/// Bytes of an object that are read by one request.
const READ_BYTES: u64 = 8 << 20;
/// Objects that the store is asked about at once.
const ASKED_AT_ONCE: usize = 1_000;
/// The document of the registry that names the folder.
const DOCUMENT: &str = "objects";

impl Objects {
    /// The same stores, with large contents in this object store.
    pub fn beside(self, stores: Stores) -> Stores {
        let (inner, registry) = (Arc::clone(&stores.blobs), Arc::clone(&stores.registry));
        let (folder, open) = (OnceCell::new(), Mutex::default());
        Stores { blobs: Arc::new(Beside { inner, registry, objects: self, folder, open }), ..stores }
    }
}

struct Beside {
    /// The blobs of the store, with a row for each object.
    inner: Arc<dyn Blobs>,
    registry: Arc<dyn Registry>,
    objects: Objects,
    /// The folder of the objects of this store.
    folder: OnceCell<String>,
    /// Uploads under way in this process.
    open: Mutex<HashMap<UploadId, Arc<tokio::sync::Mutex<Open>>>>,
}

/// An upload under way.
#[derive(Default)]
struct Open {
    /// Bytes in memory: less than a part.
    rest: BytesMut,
    /// Bytes in parts.
    sent: u64,
    parts: Option<Parts>,
}

impl Open {
    fn total(&self) -> u64 {
        self.sent + self.rest.len() as u64
    }
}

impl Beside {
    fn open(&self) -> MutexGuard<'_, HashMap<UploadId, Arc<tokio::sync::Mutex<Open>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self, upload: UploadId) -> Result<Arc<tokio::sync::Mutex<Open>>> {
        self.open().get(&upload).cloned().ok_or_else(StoreError::upload_gone)
    }

    /// The folder of this store, which is drawn when it is first asked for.
    async fn folder(&self) -> Result<&str> {
        self.folder.get_or_try_init(|| self.find_folder()).await.map(String::as_str)
    }

    async fn find_folder(&self) -> Result<String> {
        let kind = RegistryKind::Store;
        loop {
            if let Some(found) = self.registry.registered(kind, vec![DOCUMENT.to_owned()]).await?.pop() {
                let folder = found.json.trim_matches('"');
                return match folder.len() == 32 && folder.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    true => Ok(folder.to_owned()),
                    false => Err(StoreError::corrupt("the folder of the objects has no name")),
                };
            }
            let mut drawn = [0; 16];
            getrandom::fill(&mut drawn)
                .map_err(|error| StoreError::Unavailable { what: format!("no name can be drawn: {error}") })?;
            let json = format!("\"{:032x}\"", u128::from_ne_bytes(drawn));
            let (id, account, created) = (DOCUMENT.to_owned(), Account::local(), Timestamp::from_micros(0));
            // If another process was faster, its folder counts.
            self.registry.register_over(Registered { kind, id, account, json, created }, None).await?;
        }
    }

    async fn add(&self, upload: UploadId, at: u64, bytes: Bytes) -> Result<()> {
        let open = self.opened(upload)?;
        let mut open = open.lock().await;
        if at + bytes.len() as u64 <= open.total() && at < open.total() {
            // Sent again, as if the answer had been lost.
            return Ok(());
        }
        if at != open.total() {
            return Err(StoreError::upload_incomplete(open.total(), at));
        }
        open.rest.extend_from_slice(&bytes);
        while open.rest.len() >= self.objects.url.part {
            let part = open.rest.split_to(self.objects.url.part).freeze();
            if let Err(error) = self.send(upload, &mut open, part).await {
                // What was sent of it is given up when it is ended. Nothing can be added any more.
                self.open().remove(&upload);
                return Err(error);
            }
        }
        Ok(())
    }

    async fn send(&self, upload: UploadId, open: &mut Open, part: Bytes) -> Result<()> {
        let parts = match &open.parts {
            Some(parts) => Arc::clone(parts),
            None => {
                let path = self.objects.path(self.folder().await?, upload);
                Arc::clone(open.parts.insert(self.objects.begin(path).await?))
            }
        };
        let bytes = part.len() as u64;
        if let Err(error) = self.objects.add(&parts, part).await {
            drop(self.objects.abort(&parts).await);
            return Err(error);
        }
        open.sent += bytes;
        Ok(())
    }

    async fn finish(&self, upload: UploadId, blob: BlobId, size: u64) -> Result<()> {
        let open = self.opened(upload)?;
        let mut open = open.lock().await;
        if open.total() != size {
            return Err(StoreError::upload_incomplete(open.total(), size));
        }
        let rest = open.rest.split().freeze();
        if open.parts.is_none() && rest.len() <= self.objects.url.over {
            self.open().remove(&upload);
            if !rest.is_empty() {
                self.inner.add_to_upload(upload, 0, rest).await?;
            }
            return self.inner.finish_upload(upload, blob, size).await;
        }
        let path = self.objects.path(self.folder().await?, upload);
        if open.parts.is_none() {
            self.objects.put(path.clone(), rest).await?;
        } else {
            if !rest.is_empty() {
                self.send(upload, &mut open, rest).await?;
            }
            if let Some(parts) = &open.parts {
                self.objects.complete(parts).await?;
            }
        }
        open.parts = None;
        self.open().remove(&upload);
        // Invariant: the object is durable before a row names it.
        if !self.inner.finish_elsewhere(upload, blob, size).await? {
            // The store had the content. If the object stays now, it is swept.
            drop(self.objects.remove(vec![path]).await);
        }
        Ok(())
    }

    async fn end(&self, upload: UploadId) -> Result<()> {
        let open = self.open().remove(&upload);
        if let Some(open) = open
            && let Some(parts) = open.lock().await.parts.take()
        {
            // Parts that stay are removed by a rule of the bucket, or with those that are left over in a folder.
            drop(self.objects.abort(&parts).await);
        }
        self.inner.end_upload(upload).await
    }

    /// Part of a blob, wherever it is.
    async fn part(&self, blob: BlobId, range: Range<u64>) -> Result<Option<Bytes>> {
        let mut missing = None;
        loop {
            let (object, size) = match self.inner.blob_part(blob, range.clone()).await {
                Err(StoreError::Elsewhere { object, size, .. }) => (object, size),
                found => return found,
            };
            if missing == Some(object) {
                let what = format!("the object {} of blob {blob} is missing in {}", object.0, self.objects.url);
                return Err(StoreError::corrupt(what));
            }
            let end = range.end.min(size);
            if range.start >= end {
                return Ok(Some(Bytes::new()));
            }
            match self.read(object, range.start..end, size).await? {
                Some(bytes) => return Ok(Some(bytes)),
                // It may have been freed, or come home, since the row was read.
                None => missing = Some(object),
            }
        }
    }

    async fn read(&self, object: UploadId, range: Range<u64>, size: u64) -> Result<Option<Bytes>> {
        let path = self.objects.path(self.folder().await?, object);
        if range.end - range.start <= READ_BYTES {
            return self.objects.read(path, range, size).await;
        }
        let mut bytes = BytesMut::with_capacity((range.end - range.start) as usize);
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min(at + READ_BYTES);
            let Some(some) = self.objects.read(path.clone(), at..end, size).await? else { return Ok(None) };
            bytes.extend_from_slice(&some);
            at = end;
        }
        Ok(Some(bytes.freeze()))
    }

    async fn whole(&self, blob: BlobId) -> Result<Option<Bytes>> {
        match self.inner.blob(blob).await {
            Err(StoreError::Elsewhere { .. }) => {
                self.part(blob, 0..u64::MAX).await?.map(|bytes| check_blob(blob, bytes)).transpose()
            }
            found => found,
        }
    }

    async fn sweep(&self) -> Result<u64> {
        let folder = self.folder().await?;
        // Invariant: objects are listed before the store is asked. One that is listed had its upload before that, so what
        // is not named now never will be.
        let objects = self.objects.list(folder).await?;
        let mut swept = 0;
        for some in objects.chunks(ASKED_AT_ONCE) {
            let used = self.inner.objects_in_use(some.to_vec()).await?;
            let unused = some.iter().filter(|object| !used.contains(object));
            let paths: Vec<_> = unused.map(|object| self.objects.path(folder, *object)).collect();
            swept += paths.len() as u64;
            if !paths.is_empty() {
                self.objects.remove(paths).await?;
            }
        }
        self.objects.tidy(folder).await?;
        Ok(swept)
    }
}

impl Blobs for Beside {
    fn blob(&self, blob: BlobId) -> BoxFuture<'_, Result<Option<Bytes>>> {
        Box::pin(self.whole(blob))
    }

    fn blobs(&self, blobs: Vec<BlobId>) -> BoxFuture<'_, Result<Vec<Option<Bytes>>>> {
        Box::pin(async move {
            match self.inner.blobs(blobs.clone()).await {
                Err(StoreError::Elsewhere { .. }) => {}
                found => return found,
            }
            let mut all = Vec::with_capacity(blobs.len());
            for blob in blobs {
                all.push(self.whole(blob).await?);
            }
            Ok(all)
        })
    }

    fn blob_part(&self, blob: BlobId, range: Range<u64>) -> BoxFuture<'_, Result<Option<Bytes>>> {
        Box::pin(self.part(blob, range))
    }

    fn begin_upload(&self, now: Timestamp) -> BoxFuture<'_, Result<UploadId>> {
        Box::pin(async move {
            let upload = self.inner.begin_upload(now).await?;
            self.open().insert(upload, Arc::default());
            Ok(upload)
        })
    }

    fn add_to_upload(&self, upload: UploadId, at: u64, bytes: Bytes) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.add(upload, at, bytes))
    }

    fn finish_upload(&self, upload: UploadId, blob: BlobId, size: u64) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.finish(upload, blob, size))
    }

    fn finish_elsewhere(&self, upload: UploadId, blob: BlobId, size: u64) -> BoxFuture<'_, Result<bool>> {
        self.inner.finish_elsewhere(upload, blob, size)
    }

    fn objects_in_use(&self, objects: Vec<UploadId>) -> BoxFuture<'_, Result<Vec<UploadId>>> {
        self.inner.objects_in_use(objects)
    }

    fn end_upload(&self, upload: UploadId) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.end(upload))
    }

    fn apart_above(&self) -> usize {
        self.objects.url.over
    }

    fn sweep_objects(&self) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.sweep())
    }
}

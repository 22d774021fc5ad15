//! A bucket or a folder: objects are written, read in part, listed and removed, each within a time limit.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{BackoffConfig, Error, MultipartUpload, ObjectStore, ObjectStoreExt, RetryConfig};
use threadkeep_outgoing::{Limits, Outgoing, Reach};
use threadkeep_store::{Result, StoreError, UploadId, private};
use tokio::runtime::{Handle, Runtime};

use crate::http_client::Connector;
use crate::url::{ObjectsUrl, Place, S3};

/// How much longer than others a request may take that brings a part.
const PART_FACTOR: u32 = 6;
/// How often a request is repeated.
const REPEATED_MAX: usize = 3;
/// The age at which a part of a file is left over from a process that died.
const LEFT_OVER: Duration = Duration::from_secs(24 * 60 * 60);

/// An object store.
pub struct Objects {
    pub(crate) url: ObjectsUrl,
    store: Arc<dyn ObjectStore>,
    /// What is before the names of all objects.
    prefix: Path,
    runtime: OwnRuntime,
}

/// A runtime that may be dropped inside another one, where waiting for its end is not allowed.
struct OwnRuntime(Option<Runtime>, Handle);

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// An upload in parts. The object appears when it is completed.
pub(crate) type Parts = Arc<tokio::sync::Mutex<Box<dyn MultipartUpload>>>;

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Objects").field(&self.url.to_string()).finish()
    }
}

impl Objects {
    /// Opens the object store at `url`. A folder is made if it is not there; a service is not asked yet.
    ///
    /// # Errors
    /// [`StoreError::CannotOpen`].
    pub fn open(url: ObjectsUrl) -> Result<Self> {
        let shown = url.to_string();
        let cannot = |what: String| StoreError::CannotOpen { path: shown.clone(), what };
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("threadkeep-objects").enable_all().build();
        let runtime = runtime.map_err(|error| cannot(format!("no runtime can be started: {error}")))?;
        let handle = runtime.handle().clone();
        // From here on it may be dropped inside another one, also if the rest fails.
        let runtime = OwnRuntime(Some(runtime), handle);
        let (store, prefix): (Arc<dyn ObjectStore>, _) = match &url.place {
            Place::Folder(path) => {
                private::make_folder(path).map_err(|error| cannot(format!("the folder cannot be made: {error}")))?;
                let folder = LocalFileSystem::new_with_prefix(path).map_err(|error| cannot(said(&error)))?;
                (Arc::new(folder.with_fsync(true)), Path::default())
            }
            Place::S3(s3) => {
                let prefix = Path::parse(&s3.prefix).map_err(|error| cannot(error.to_string()))?;
                (Arc::new(service(s3, url.timeout).build().map_err(|error| cannot(said(&error)))?), prefix)
            }
        };
        Ok(Self { url, store, prefix, runtime })
    }

    /// Asks the object store for something small, to see whether it answers and knows the keys.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], with the reason.
    pub async fn check(&self) -> Result<()> {
        let (store, prefix) = (Arc::clone(&self.store), self.prefix.clone());
        let first = async move { store.list(Some(&prefix)).next().await.transpose().map(drop) };
        self.run(self.url.timeout, first).await?.map_err(|error| self.failed(&error))
    }

    /// The place of an object in the folder of a store.
    pub(crate) fn path(&self, folder: &str, object: UploadId) -> Path {
        self.prefix.clone().join(folder).join(object.0.to_string())
    }

    /// Writes a whole object. It is durable once this returns.
    pub(crate) async fn put(&self, path: Path, bytes: Bytes) -> Result<()> {
        let store = Arc::clone(&self.store);
        let put = self.run(PART_FACTOR * self.url.timeout, async move { store.put(&path, bytes.into()).await }).await?;
        put.map(drop).map_err(|error| self.failed(&error))
    }

    /// Begins an object in parts.
    pub(crate) async fn begin(&self, path: Path) -> Result<Parts> {
        let store = Arc::clone(&self.store);
        let parts = self.run(self.url.timeout, async move { store.put_multipart(&path).await }).await?;
        Ok(Arc::new(tokio::sync::Mutex::new(parts.map_err(|error| self.failed(&error))?)))
    }

    /// Adds a part.
    pub(crate) async fn add(&self, parts: &Parts, bytes: Bytes) -> Result<()> {
        let parts = Arc::clone(parts);
        let part = async move {
            let part = parts.lock().await.put_part(bytes.into());
            part.await
        };
        self.run(PART_FACTOR * self.url.timeout, part).await?.map_err(|error| self.failed(&error))
    }

    /// Makes the parts an object. It is durable once this returns.
    pub(crate) async fn complete(&self, parts: &Parts) -> Result<()> {
        let parts = Arc::clone(parts);
        let whole =
            self.run(PART_FACTOR * self.url.timeout, async move { parts.lock().await.complete().await }).await?;
        whole.map(drop).map_err(|error| self.failed(&error))
    }

    /// Gives the parts up.
    pub(crate) async fn abort(&self, parts: &Parts) -> Result<()> {
        let parts = Arc::clone(parts);
        let gone = self.run(self.url.timeout, async move { parts.lock().await.abort().await }).await?;
        gone.map_err(|error| self.failed(&error))
    }

    /// Some bytes of an object with `size` bytes; none if there is no such object.
    pub(crate) async fn read(&self, path: Path, range: Range<u64>, size: u64) -> Result<Option<Bytes>> {
        let (store, wanted, at) = (Arc::clone(&self.store), range.clone(), path.clone());
        let read = self.run(self.url.timeout, async move { store.get_range(&at, wanted).await }).await?;
        match read {
            Ok(bytes) if bytes.len() as u64 == range.end - range.start => Ok(Some(bytes)),
            Ok(_) => Err(self.shorter(&path)),
            Err(Error::NotFound { .. }) => Ok(None),
            // An object that was cut off is damage, and does not get better.
            Err(error) => match self.size(path.clone()).await? {
                Some(found) if found != size => Err(self.shorter(&path)),
                Some(_) => Err(self.failed(&error)),
                None => Ok(None),
            },
        }
    }

    async fn size(&self, path: Path) -> Result<Option<u64>> {
        let store = Arc::clone(&self.store);
        match self.run(self.url.timeout, async move { store.head(&path).await }).await? {
            Ok(found) => Ok(Some(found.size)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn shorter(&self, path: &Path) -> StoreError {
        StoreError::corrupt(format!("the object {path} of {} has another size than it had", self.url))
    }

    /// The objects in the folder of a store.
    pub(crate) async fn list(&self, folder: &str) -> Result<Vec<UploadId>> {
        let (store, prefix) = (Arc::clone(&self.store), self.prefix.clone().join(folder));
        let limit = PART_FACTOR * self.url.timeout;
        let list = async move {
            let (mut found, mut objects) = (store.list(Some(&prefix)), Vec::new());
            while let Some(object) = next(&mut found, limit).await {
                let number = object?.location.filename().and_then(|name| name.parse().ok());
                objects.extend(number.map(UploadId));
            }
            Ok(objects)
        };
        self.run(Duration::MAX, list).await?.map_err(|error| self.failed(&error))
    }

    /// Removes objects. One that is not there is no error.
    pub(crate) async fn remove(&self, paths: Vec<Path>) -> Result<()> {
        let (store, limit) = (Arc::clone(&self.store), PART_FACTOR * self.url.timeout);
        let remove = async move {
            let paths = stream::iter(paths.into_iter().map(Ok)).boxed();
            let mut gone = store.delete_stream(paths);
            while let Some(removed) = next(&mut gone, limit).await {
                match removed {
                    Ok(_) | Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        };
        self.run(Duration::MAX, remove).await?.map_err(|error| self.failed(&error))
    }

    /// Removes parts of files that a process left behind when it died. A service does that by a rule of the bucket.
    pub(crate) async fn tidy(&self, folder: &str) -> Result<()> {
        let Place::Folder(path) = &self.url.place else { return Ok(()) };
        let path = path.join(folder);
        let tidied = self.run(Duration::MAX, async move {
            tokio::task::spawn_blocking(move || remove_left_over(&path)).await.map_err(io::Error::other)?
        });
        tidied.await?.map_err(|error| self.unavailable(&error.to_string()))
    }

    /// Runs a request on the own runtime, for at most `limit`. If the caller stops waiting, it goes on to its end.
    async fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let limited = self.runtime.1.spawn(async move {
            if limit == Duration::MAX { Ok(work.await) } else { tokio::time::timeout(limit, work).await }
        });
        match limited.await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(_)) => Err(self.unavailable(&format!("no answer within {} s", limit.as_secs()))),
            Err(_) => Err(self.unavailable("the program is about to end")),
        }
    }

    fn unavailable(&self, what: &str) -> StoreError {
        StoreError::Unavailable { what: format!("the object store {}: {what}", self.url) }
    }

    fn refused(&self, said: &str) -> StoreError {
        self.unavailable(&format!(
            "it refuses the keys ({said}); check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and what they may do"
        ))
    }

    fn failed(&self, error: &Error) -> StoreError {
        if is_full(error) {
            return StoreError::DiskFull;
        }
        let said = said(error);
        // Lists have no kinds of errors of their own: their status is in the text.
        let is_status = |status: &str| said.starts_with(status);
        match error {
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => self.refused(&said),
            _ if is_status("401") || is_status("403") => self.refused(&said),
            Error::NotFound { .. } => self.unavailable("there is no such bucket"),
            _ if is_status("404") => self.unavailable(&format!("there is no such bucket ({said})")),
            _ => self.unavailable(&said),
        }
    }
}

/// The next of many answers. As many as there are, each has a limit.
async fn next<T>(
    answers: &mut BoxStream<'static, object_store::Result<T>>,
    limit: Duration,
) -> Option<object_store::Result<T>> {
    let silent = |_| Some(Err(Error::Generic { store: "objects", source: "no answer in time".into() }));
    tokio::time::timeout(limit, answers.next()).await.unwrap_or_else(silent)
}

fn service(s3: &S3, limit: Duration) -> AmazonS3Builder {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(50),
        max_backoff: Duration::from_secs(1),
        ..BackoffConfig::default()
    };
    let limits = Limits { connect: limit, answer: PART_FACTOR * limit, ..Limits::default() };
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(&s3.bucket)
        .with_virtual_hosted_style_request(s3.in_host)
        .with_retry(RetryConfig { backoff, max_retries: REPEATED_MAX, retry_timeout: limit })
        .with_http_connector(Connector(Outgoing::new(Reach::Anywhere, limits)));
    if let Some(endpoint) = &s3.endpoint {
        builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
    }
    if let Some(region) = &s3.region {
        builder = builder.with_region(region);
    }
    if let Some(keys) = &s3.keys {
        builder = builder.with_access_key_id(&keys.id).with_secret_access_key(&keys.secret);
    }
    builder
}

/// The innermost reason. For an answer of a service: its status, and the code in its document.
fn said(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let text = cause.to_string();
    let Some((_, answer)) = text.split_once("status code: ") else { return text };
    let status = answer.split(": ").next().unwrap_or(answer);
    let code = answer.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    code.map_or_else(|| status.to_owned(), |(code, _)| format!("{status}, {code}"))
}

fn is_full(error: &Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::StorageFull) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Parts of files have a `#` in their names, which no object has.
fn remove_left_over(folder: &FilePath) -> io::Result<()> {
    let found = match std::fs::read_dir(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for file in found {
        let file = file?;
        let is_old = |modified: SystemTime| modified.elapsed().is_ok_and(|age| age > LEFT_OVER);
        if file.file_name().to_string_lossy().contains('#') && file.metadata()?.modified().is_ok_and(is_old) {
            std::fs::remove_file(file.path())?;
        }
    }
    Ok(())
}

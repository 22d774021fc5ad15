//! Content of files that comes bit by bit. Small content stays in memory and goes with its commit; larger content
//! goes to the store as it comes, where the commit that writes the file finds it by its hash. An interrupted
//! upload is freed.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Bytes, BytesMut};
use threadkeep_model::{BlobHasher, BlobId, Code, Invalid};
use threadkeep_store::{Blobs, BoxFuture, CHUNK_BYTES, UploadId};
use tokio::runtime::Handle;

use crate::lines::is_text;
use crate::{Engine, Result};

/// Most bytes that are in memory at once. Content up to this size goes with its commit.
const PART_BYTES_MAX: usize = 4 * CHUNK_BYTES;

/// The content of a new file.
#[derive(Debug, Clone)]
pub enum FileContent {
    /// Bytes that are in memory.
    Whole(Bytes),
    /// In the store, where it came to bit by bit.
    Uploaded(Uploaded),
}

/// Content that is in the store, and waits for the commit that names it.
#[derive(Debug, Clone)]
pub struct Uploaded {
    held: Arc<Held>,
    hash: BlobId,
    size: u64,
    head: Bytes,
    is_text: bool,
}

/// Content on its way: written as it comes, and then finished.
///
/// ```no_run
/// # async fn example(engine: threadkeep_engine::Engine, thread: threadkeep_model::ThreadId) -> Result<(), Box<dyn std::error::Error>> {
/// use threadkeep_engine::NewFile;
///
/// let mut upload = engine.upload();
/// for _ in 0..1_000 {
///     upload.write(&[7; 65_536]).await?;
/// }
/// engine.write_file(thread, NewFile::new("/sevens.bin", upload.finish().await?)?).await?;
/// # Ok(())
/// # }
/// ```
pub struct Upload {
    engine: Engine,
    held: Option<Arc<Held>>,
    hasher: BlobHasher,
    text: Text,
    head: Bytes,
    /// Bytes in the store.
    brought: u64,
    /// Bytes still in memory.
    part: BytesMut,
}

/// Keeps content in the store until it is let go.
struct Held {
    blobs: Arc<dyn Blobs>,
    upload: UploadId,
    ended: AtomicBool,
}

impl From<Bytes> for FileContent {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes)
    }
}

impl From<Vec<u8>> for FileContent {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Whole(bytes.into())
    }
}

impl From<String> for FileContent {
    fn from(text: String) -> Self {
        Self::Whole(text.into())
    }
}

impl From<&'static str> for FileContent {
    fn from(text: &'static str) -> Self {
        Self::Whole(text.into())
    }
}

impl From<&'static [u8]> for FileContent {
    fn from(bytes: &'static [u8]) -> Self {
        Self::Whole(bytes.into())
    }
}

impl FileContent {
    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Uploaded(uploaded) => uploaded.size,
        }
    }

    pub(crate) fn hash(&self) -> BlobId {
        match self {
            Self::Whole(bytes) => BlobId::of(bytes),
            Self::Uploaded(uploaded) => uploaded.hash,
        }
    }

    /// The content, if it is in memory.
    pub(crate) fn whole(&self) -> Option<&Bytes> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::Uploaded(_) => None,
        }
    }

    pub(crate) fn head(&self) -> &Bytes {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Uploaded(uploaded) => &uploaded.head,
        }
    }

    /// Whether all of it is text in UTF-8.
    pub(crate) fn is_utf8_text(&self) -> bool {
        match self {
            Self::Whole(bytes) => is_text(bytes) && std::str::from_utf8(bytes).is_ok(),
            Self::Uploaded(uploaded) => uploaded.is_text,
        }
    }

    /// Releases the store's hold on it: by now an entry names it, or none will.
    pub(crate) async fn let_go(&self) {
        match self {
            Self::Whole(_) => {}
            Self::Uploaded(uploaded) => uploaded.held.end().await,
        }
    }
}

impl Engine {
    /// Begins content that comes bit by bit; if it is dropped before it is written to a file, nothing is left.
    pub fn upload(&self) -> Upload {
        Upload {
            engine: self.clone(),
            held: None,
            hasher: BlobHasher::default(),
            text: Text::default(),
            head: Bytes::new(),
            brought: 0,
            part: BytesMut::new(),
        }
    }
}

impl Upload {
    /// Adds the next bytes.
    ///
    /// # Errors
    /// [`Code::TooLarge`] if this is more than a file may have; if the store cannot be written to.
    pub fn write<'a>(&'a mut self, mut bytes: &'a [u8]) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let max = self.engine.shared.limits.file_bytes_max;
            if self.brought + (self.part.len() + bytes.len()) as u64 > max as u64 {
                return Err(Invalid::new(Code::TooLarge, "content", format!("a file has at most {max} bytes")).into());
            }
            while !bytes.is_empty() {
                if self.part.len() == PART_BYTES_MAX {
                    self.bring().await?;
                }
                let (now, later) = bytes.split_at(bytes.len().min(PART_BYTES_MAX - self.part.len()));
                self.part.extend_from_slice(now);
                bytes = later;
            }
            Ok(())
        })
    }

    /// All of it, for a file.
    ///
    /// # Errors
    /// If the store cannot be written to.
    pub fn finish(mut self) -> BoxFuture<'static, Result<FileContent>> {
        Box::pin(async move {
            if self.held.is_none() {
                return Ok(FileContent::Whole(self.part.freeze()));
            }
            let held = self.bring().await?;
            let (hash, size) = (self.hasher.id(), self.brought);
            held.blobs.finish_upload(held.upload, hash, size).await?;
            let is_text = is_text(&self.head) && self.text.is_utf8();
            Ok(FileContent::Uploaded(Uploaded { held, hash, size, head: self.head, is_text }))
        })
    }

    /// Brings the bytes in memory to the store.
    async fn bring(&mut self) -> Result<Arc<Held>> {
        let held = match &self.held {
            Some(held) => Arc::clone(held),
            None => {
                let blobs = Arc::clone(&self.engine.shared.stores.blobs);
                let upload = blobs.begin_upload(self.engine.shared.now()).await?;
                Arc::clone(self.held.insert(Arc::new(Held { blobs, upload, ended: AtomicBool::new(false) })))
            }
        };
        let part = self.part.split().freeze();
        if part.is_empty() {
            return Ok(held);
        }
        self.hasher.update(&part);
        self.text.update(&part);
        if self.brought == 0 {
            self.head = part.clone();
        }
        held.blobs.add_to_upload(held.upload, self.brought, part.clone()).await?;
        self.brought += part.len() as u64;
        Ok(held)
    }
}

impl Held {
    /// Ends the upload. If that fails now, its data is freed once it is old.
    async fn end(&self) {
        if !self.ended.swap(true, Ordering::AcqRel) {
            drop(self.blobs.end_upload(self.upload).await);
        }
    }
}

impl Drop for Held {
    /// The sender has gone: its data is freed on the program's runtime, or, without one, by gc once it is old.
    fn drop(&mut self) {
        if self.ended.load(Ordering::Acquire) {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            let (blobs, upload) = (Arc::clone(&self.blobs), self.upload);
            runtime.spawn(async move { drop(blobs.end_upload(upload).await) });
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Held").field(&self.upload).finish()
    }
}

/// Whether content that comes bit by bit is UTF-8. A character may come in two parts.
#[derive(Default)]
struct Text {
    begun: Vec<u8>,
    is_broken: bool,
}

impl Text {
    fn update(&mut self, mut bytes: &[u8]) {
        while !self.is_broken && !self.begun.is_empty() && !bytes.is_empty() {
            self.begun.push(bytes[0]);
            bytes = &bytes[1..];
            match std::str::from_utf8(&self.begun) {
                Ok(_) => self.begun.clear(),
                Err(error) => self.is_broken = error.error_len().is_some(),
            }
        }
        if let Err(error) = std::str::from_utf8(bytes) {
            self.is_broken |= error.error_len().is_some();
            self.begun = bytes[error.valid_up_to()..].iter().take(4).copied().collect();
        }
    }

    fn is_utf8(&self) -> bool {
        !self.is_broken && self.begun.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn text_is_known_however_it_is_cut() {
        for (bytes, is_utf8) in [
            ("aäß☃𝄞z".as_bytes(), true),
            (b"", true),
            (b"a\xff", false),
            (b"\xe2\x98", false),
            (b"\xe2\x98a", false),
            (b"\xf0\x9d\x84\x9e\xf0", false),
        ] {
            for size in 1..=bytes.len().max(1) {
                let mut text = Text::default();
                bytes.chunks(size).for_each(|part| text.update(part));
                assert_eq!(text.is_utf8(), is_utf8, "{bytes:?} in parts of {size}");
            }
        }
    }
}

//! Small pictures of files, and how two versions of a file differ.

use bytes::Bytes;
use threadkeep_merge::{Names, is_binary, unified};
use threadkeep_model::{FilePath, Invalid, ThreadId, Version};
use threadkeep_store::BoxFuture;
use threadkeep_tree::image;

use super::FileRecord;
use crate::{Engine, Error, Result};

/// Text above this size is not compared.
const COMPARED_BYTES_MAX: u64 = 16 << 20;
/// Lines of context around a difference.
const CONTEXT_LINES: usize = 3;

impl Engine {
    /// A small picture of a file and its type: the one its writer gave, else one made of a PNG, JPEG, GIF or WebP.
    ///
    /// # Errors
    /// [`Error::NoThumbnail`] if it is no picture, or one that cannot or must not be decoded.
    pub fn thumbnail<'a>(
        &'a self,
        file: &'a FileRecord,
        max_edge: Option<u32>,
    ) -> BoxFuture<'a, Result<(Bytes, &'static str)>> {
        Box::pin(async move {
            let refused = |why: String| Error::NoThumbnail { path: file.path.clone(), why };
            let Some(cell) = file.file() else { return Err(Error::IsADirectory { path: file.path.clone() }) };
            if let Some(given) = cell.thumbnail {
                let bytes = self.content(given, None).await?;
                let media = image::probe(&bytes).map_or("application/octet-stream", |probe| probe.format.media_type());
                return Ok((bytes, media));
            }
            if cell.size > image::FILE_BYTES_MAX {
                return Err(refused(image::Refused::LargeFile.to_string()));
            }
            let turn = self.shared.pictures.turn().await;
            let bytes = self.content(cell.hash, None).await?;
            let edge = max_edge.unwrap_or(image::EDGE_DEFAULT);
            let made = turn.work_apart(move || image::thumbnail(bytes, edge)).await?;
            let made = made.map_err(|error| refused(error.to_string()))?;
            Ok((made.bytes.into(), made.format.media_type()))
        })
    }

    /// How the file at `path` changed from version `from` on to version `to`, or to now: as `diff -u` tells it. Nothing
    /// if it did not.
    ///
    /// # Errors
    /// [`Error::FileNotFound`] if there is no such file at either version; a parameter error if it is not text.
    pub fn file_diff<'a>(
        &'a self,
        thread: ThreadId,
        path: &'a FilePath,
        from: Version,
        to: Option<Version>,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let (old, new) = (self.file(thread, path, Some(from)).await?, self.file(thread, path, to).await?);
            if old.is_none() && new.is_none() {
                return Err(Error::FileNotFound { path: path.clone() });
            }
            let turn = self.shared.heavy.turn().await;
            let (before, after) = (self.text_of(old.as_ref()).await?, self.text_of(new.as_ref()).await?);
            if is_binary(&before) || is_binary(&after) {
                return Err(Invalid::parameter("diff", format!("{path} is binary, and has no lines to compare")).into());
            }
            let name = |record: &Option<FileRecord>, side: char| match record {
                Some(_) => format!("{side}{path}"),
                None => "/dev/null".to_owned(),
            };
            let (before_name, after_name) = (name(&old, 'a'), name(&new, 'b'));
            let compare = move || {
                let names = Names { old: &before_name, new: &after_name };
                String::from_utf8_lossy(&unified(&before, &after, &names, CONTEXT_LINES)).into_owned()
            };
            turn.work(compare).await
        })
    }

    /// The content of a file that is to be compared; nothing if there is none.
    async fn text_of(&self, record: Option<&FileRecord>) -> Result<Bytes> {
        let Some((record, file)) = record.and_then(|record| Some((record, record.file()?))) else {
            return Ok(Bytes::new());
        };
        if file.size > COMPARED_BYTES_MAX {
            let rule = format!("{} is too large to compare line by line", record.path);
            return Err(Invalid::parameter("diff", rule).into());
        }
        self.file_content(file, None).await
    }
}

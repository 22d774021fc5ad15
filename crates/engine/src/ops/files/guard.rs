//! Secrets in files: a file that holds one is refused, and a path or description gets the name of the secret instead.

use threadkeep_calls::At;
use threadkeep_model::{FilePath, Json};
use threadkeep_vault::Redactor;

use super::super::upload::FileContent;
use super::NewFile;
use crate::ground::redacted::{in_file, refuse_in_file};
use crate::{Engine, Result, WayOut};

/// Bytes of uploaded content that are searched at once.
const PART_BYTES: u64 = 1 << 20;

impl Engine {
    /// Refuses files that hold a secret, if the caller is guarded.
    pub(super) async fn guard_files(&self, at: &At, files: &mut [NewFile]) -> Result<()> {
        let Some(redactor) = self.file_guard(at).await? else { return Ok(()) };
        for file in files {
            let NewFile { path, content, mime_type, metadata, thumbnail, .. } = file;
            match content {
                FileContent::Whole(bytes) => refuse_in_file(&redactor, path.as_str(), bytes)?,
                FileContent::Uploaded(_) => self.search_uploaded(&redactor, path, content).await?,
            }
            for bytes in thumbnail.iter() {
                refuse_in_file(&redactor, path.as_str(), bytes)?;
            }
            *path = redacted_path(&redactor, path)?;
            for text in mime_type.iter_mut() {
                *text = redactor.text(text).into_owned();
            }
            for json in metadata.iter_mut() {
                *json = Json::parse("metadata", &redactor.json(json.as_str()))?;
            }
        }
        Ok(())
    }

    /// A path to write to, without secrets.
    pub(super) async fn guard_path(&self, at: &At, path: FilePath) -> Result<FilePath> {
        match self.file_guard(at).await? {
            Some(redactor) => redacted_path(&redactor, &path),
            None => Ok(path),
        }
    }

    async fn file_guard(&self, at: &At) -> Result<Option<Redactor>> {
        if !self.is_guarded() {
            return Ok(None);
        }
        let thread = self.resolve(at.thread).await?;
        self.guard(WayOut::File, thread).await
    }

    async fn search_uploaded(&self, redactor: &Redactor, path: &FilePath, content: &FileContent) -> Result<()> {
        let (blob, size) = (content.hash(), content.size());
        let (mut searching, mut from) = (redactor.search(), 0);
        while from < size {
            let part = self.shared.stores.blobs.blob_part(blob, from..size.min(from + PART_BYTES)).await?;
            let Some(part) = part.filter(|part| !part.is_empty()) else { break };
            if let Some(name) = searching.push(&part) {
                return Err(in_file(redactor, path.as_str(), name));
            }
            from += part.len() as u64;
        }
        Ok(())
    }
}

fn redacted_path(redactor: &Redactor, path: &FilePath) -> Result<FilePath> {
    Ok(redactor.text(path.as_str()).parse()?)
}

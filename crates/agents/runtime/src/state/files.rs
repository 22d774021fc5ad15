//! The files of ThreadState.

use bytes::Bytes;
use serde_json::{Map, Value};
use threadkeep_calls::{FileMatches, FileStats};
use threadkeep_engine::{
    DeleteFile, Error, FileContent, FileRecord, Find, Grep, MakeDirectory, NewFile, RemoveDirectory,
};
use threadkeep_model::{FileCell, FilePath, Json};

use super::ThreadState;
use crate::RuntimeError;

/// Bytes of a chunk.
const CHUNK_BYTES: u64 = 1 << 20;

/// What a writer says of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WriteFileOptions {
    /// Metadata of the writer.
    pub metadata: Option<Map<String, Value>>,
    /// The width of a picture, in pixels.
    pub width: Option<u32>,
    /// The height of a picture, in pixels.
    pub height: Option<u32>,
    /// A small picture of it.
    pub thumbnail: Option<Bytes>,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChunk {
    /// The bytes of the file.
    pub data: Bytes,
    /// Its place, from 0.
    pub index: u64,
    /// Number of chunks. A small file is exactly one.
    pub total_chunks: u64,
    /// Whether it is the last one.
    pub is_last: bool,
}

/// A file in chunks. All of them are of the version that was there when the reading began.
pub struct FileChunks<'a> {
    state: &'a ThreadState,
    file: FileCell,
    next: u64,
}

impl FileChunks<'_> {
    /// The next chunk; none after the last.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<FileChunk>, RuntimeError> {
        let total_chunks = self.file.size.div_ceil(CHUNK_BYTES).max(1);
        if self.next == total_chunks {
            return Ok(None);
        }
        let index = self.next;
        let range = index * CHUNK_BYTES..((index + 1) * CHUNK_BYTES).min(self.file.size);
        let data = if range.is_empty() {
            Bytes::new()
        } else {
            self.state.engine().file_content(&self.file, Some(range)).await?
        };
        self.next += 1;
        Ok(Some(FileChunk { data, index, total_chunks, is_last: self.next == total_chunks }))
    }
}

impl ThreadState {
    /// Writes a file: a new version of it if it is there. Missing directories above it are made.
    ///
    /// # Errors
    /// A path that breaks a rule or leaves the thread; a quota; an agent without authority.
    pub async fn write_file(
        &self,
        path: &str,
        data: impl Into<Bytes>,
        mime_type: &str,
        options: WriteFileOptions,
    ) -> Result<FileRecord, RuntimeError> {
        let mut file = NewFile::new(path, FileContent::from(data.into()))?;
        file.mime_type = Some(mime_type.to_owned());
        file.metadata = options.metadata.map(|metadata| Json::from_value("metadata", &metadata)).transpose()?;
        (file.width, file.height, file.thumbnail) = (options.width, options.height, options.thumbnail);
        Ok(self.engine().write_file(self.id(), file).await?)
    }

    /// The content of a file; none if there is none. An empty file has no bytes, and is there.
    ///
    /// # Errors
    /// A path that breaks a rule.
    pub async fn read_file(&self, path: &str) -> Result<Option<Bytes>, RuntimeError> {
        match self.cell(path).await? {
            Some(file) => Ok(Some(self.engine().file_content(&file, None).await?)),
            None => Ok(None),
        }
    }

    /// A file in chunks; none if there is none. Dropped, it reads no more.
    ///
    /// # Errors
    /// A path that breaks a rule.
    pub async fn read_file_stream(&self, path: &str) -> Result<Option<FileChunks<'_>>, RuntimeError> {
        Ok(self.cell(path).await?.map(|file| FileChunks { state: self, file, next: 0 }))
    }

    async fn cell(&self, path: &str) -> Result<Option<FileCell>, RuntimeError> {
        let found = self.engine().stat(self.id(), &path.parse::<FilePath>()?, None).await?;
        Ok(found.as_ref().and_then(FileRecord::file).cloned())
    }

    /// A file or a directory; none if there is none.
    ///
    /// # Errors
    /// A path that breaks a rule.
    pub async fn stat_file(&self, path: &str) -> Result<Option<FileRecord>, RuntimeError> {
        Ok(self.engine().stat(self.id(), &path.parse::<FilePath>()?, None).await?)
    }

    /// What is in a directory: directories first, then by name. Nothing if it is not there.
    ///
    /// # Errors
    /// A path that breaks a rule; a file.
    pub async fn readdir_file(&self, path: &str) -> Result<Vec<FileRecord>, RuntimeError> {
        match self.engine().readdir(self.id(), &path.parse::<FilePath>()?, None).await {
            Err(Error::FileNotFound { .. }) => Ok(Vec::new()),
            found => Ok(found?),
        }
    }

    /// Deletes a file. One that is not there is no error.
    ///
    /// # Errors
    /// A directory; an agent without authority.
    pub async fn unlink_file(&self, path: &str) -> Result<(), RuntimeError> {
        self.engine().delete_file(self.id(), DeleteFile { path: path.parse()? }).await?;
        Ok(())
    }

    /// Makes a directory, and those above it. Once more changes nothing.
    ///
    /// # Errors
    /// A file is in its place.
    pub async fn mkdir_file(&self, path: &str) -> Result<FileRecord, RuntimeError> {
        let path: FilePath = path.parse()?;
        self.engine().make_directory(self.id(), MakeDirectory { path: path.clone() }).await?;
        let made = self.engine().stat(self.id(), &path, None).await?;
        Ok(made.ok_or(Error::FileNotFound { path })?)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// [`DirectoryNotEmpty`](Error::DirectoryNotEmpty).
    pub async fn rmdir_file(&self, path: &str) -> Result<(), RuntimeError> {
        self.engine().remove_directory(self.id(), RemoveDirectory { path: path.parse()? }).await?;
        Ok(())
    }

    /// Number of files and directories, and their bytes.
    ///
    /// # Errors
    /// If the thread cannot be read.
    pub async fn get_file_stats(&self) -> Result<FileStats, RuntimeError> {
        Ok(self.engine().file_stats(self.id(), &FilePath::root(), None).await?)
    }

    /// Lines that match a regular expression, by file. It takes linear time.
    ///
    /// # Errors
    /// A pattern that breaks a rule.
    pub async fn grep_files(&self, pattern: &str) -> Result<Vec<FileMatches>, RuntimeError> {
        Ok(self.engine().grep(self.id(), Grep::regex(pattern)).await?.files)
    }

    /// The paths that match a glob: `*` stays within a directory, `**` crosses.
    ///
    /// # Errors
    /// A pattern that breaks a rule.
    pub async fn find_files(&self, pattern: &str) -> Result<Vec<FilePath>, RuntimeError> {
        let find = Find { glob: pattern.to_owned(), limit: None, as_of: None };
        Ok(self.engine().find(self.id(), find).await?.0)
    }

    /// A small picture of a file: the one that its writer gave, else one made of a PNG, JPEG, GIF or WebP. None for all
    /// else.
    ///
    /// # Errors
    /// A path that breaks a rule.
    pub async fn get_file_thumbnail(&self, path: &str) -> Result<Option<Bytes>, RuntimeError> {
        let Some(found) = self.stat_file(path).await? else { return Ok(None) };
        match self.engine().thumbnail(&found, None).await {
            Ok((bytes, _)) => Ok(Some(bytes)),
            Err(Error::NoThumbnail { .. } | Error::IsADirectory { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

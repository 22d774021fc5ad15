//! Files of a thread: written, read whole or as they come, listed, searched, compared.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::BodyExt;
use threadkeep_calls as calls;
use threadkeep_model::{FilePath, Json, ThreadName, Uuid, Version};

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::query::{Query, of, part};
use crate::transport::Body;

/// A file to write.
#[derive(Debug)]
pub struct NewFile {
    /// Its path. An existing file gets a new version.
    pub path: FilePath,
    /// The content, as bytes or a stream.
    pub content: FileContent,
    /// Its MIME type, such as `text/plain`; guessed by the server if not given.
    pub mime_type: Option<String>,
    /// The writer's metadata: a JSON object.
    pub metadata: Option<Json>,
    /// The width of an image, in pixels.
    pub width: Option<u32>,
    /// The height of an image, in pixels.
    pub height: Option<u32>,
    /// A small picture of it, at most a few KiB; the server makes one of an image if none is given.
    pub thumbnail: Option<Bytes>,
}

impl NewFile {
    /// A file with this content.
    pub fn new(path: FilePath, content: impl Into<Bytes>) -> Self {
        Self::with(path, FileContent::Whole(content.into()))
    }

    /// A file whose content is sent as it comes, and never held whole.
    pub fn poured(path: FilePath, content: Body) -> Self {
        Self::with(path, FileContent::Poured(content))
    }

    fn with(path: FilePath, content: FileContent) -> Self {
        Self { path, content, mime_type: None, metadata: None, width: None, height: None, thumbnail: None }
    }
}

/// The content of a file on its way to the server.
#[derive(Debug)]
pub enum FileContent {
    /// All of it. It is sent again where it surely did not arrive.
    Whole(Bytes),
    /// As it comes. It is sent once.
    Poured(Body),
}

/// The state of a file to read: the present one, or an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileAt {
    /// The newest version of the file.
    #[default]
    Now,
    /// As it was written with exactly this version.
    Version(Version),
    /// As it was at this version.
    AsOf(Version),
}

impl FileAt {
    fn query(self) -> Query {
        match self {
            Self::Now => Query::default(),
            Self::Version(version) => Query::default().with("version", version),
            Self::AsOf(version) => Query::default().with("asOf", version),
        }
    }
}

/// The files to list: by default all of them, in the order of paths.
#[derive(Debug, Clone, Default)]
pub struct ListFiles {
    /// Only files below this directory.
    pub below: Option<FilePath>,
    /// Most files to return; by default the server's page size.
    pub limit: Option<usize>,
    /// Goes on where an earlier page ended.
    pub cursor: Option<String>,
    /// As the thread was at this version.
    pub as_of: Option<Version>,
}

/// A search in files: the pattern and its options.
#[derive(Debug, Clone, Default)]
pub struct GrepFiles {
    /// The text or regular expression to look for.
    pub pattern: String,
    /// Whether the pattern is a regular expression, and not the text itself.
    pub regex: bool,
    /// Whether upper and lower case are the same.
    pub ignore_case: bool,
    /// Only in files that this glob matches.
    pub glob: Option<String>,
    /// Most lines to return.
    pub limit: Option<usize>,
    /// As the thread was at this version.
    pub as_of: Option<Version>,
}

/// The content of a file as it comes.
pub struct Download {
    server: String,
    body: Body,
    /// How many bytes there are to come, if the server said so.
    pub size: Option<u64>,
    /// The MIME type that the server sent.
    pub mime_type: Option<String>,
}

impl Download {
    /// The next bytes; none at the end.
    ///
    /// # Errors
    /// If it is broken off.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        while let Some(frame) = self.body.frame().await {
            let broken =
                |error: crate::BoxError| Error::Broken { server: self.server.clone(), what: error.to_string() };
            if let Ok(bytes) = frame.map_err(broken)?.into_data() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}

/// The path of a file on the server.
fn at(thread: impl Into<ThreadName>, path: &FilePath) -> String {
    of(thread, &below(path))
}

/// The path of a file that a reference shows.
fn referred(reference: Uuid, path: &FilePath) -> String {
    format!("/v1/references/{reference}{}", below(path))
}

fn below(path: &FilePath) -> String {
    if path.is_root() {
        return "/files/%2F".to_owned();
    }
    let parts: Vec<String> = path.as_str().trim_start_matches('/').split('/').map(part).collect();
    format!("/files/{}", parts.join("/"))
}

impl Client {
    /// Writes a file, whole or not at all.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: another writer may have changed it
    /// meanwhile.
    pub async fn write_file(&self, thread: impl Into<ThreadName>, file: NewFile) -> Result<calls::FileRecord, Error> {
        let NewFile { path, content, mime_type, metadata, width, height, thumbnail } = file;
        let query = Query::default().maybe("width", width).maybe("height", height);
        let mut ask = Ask::put_content(at(thread, &path), mime_type).query(query).unhurried();
        if let Some(metadata) = metadata {
            ask = ask.header(calls::METADATA_HEADER, plain_ascii(metadata.as_str()));
        }
        if let Some(thumbnail) = thumbnail {
            ask = ask.header(calls::THUMBNAIL_HEADER, STANDARD.encode(&thumbnail));
        }
        match content {
            FileContent::Whole(content) => self.ask(ask.bytes(content)).await,
            FileContent::Poured(content) => self.pour(ask, content).await,
        }
    }

    /// The whole content of a file. One of more than 256 MiB is read with [`Client::open_file`].
    ///
    /// # Errors
    /// `file_not_found`; as the server refuses it otherwise.
    pub async fn read_file(
        &self,
        thread: impl Into<ThreadName>,
        path: &FilePath,
        state: FileAt,
    ) -> Result<Bytes, Error> {
        let ask = Ask::get(at(thread, path)).query(state.query()).accepting("*/*").unhurried();
        Ok(self.answer(ask).await?.into_bytes())
    }

    /// Opens the content of a file, or a part of it, to be read as it comes.
    ///
    /// # Errors
    /// `file_not_found`; as the server refuses it otherwise.
    pub async fn open_file(
        &self,
        thread: impl Into<ThreadName>,
        path: &FilePath,
        state: FileAt,
        range: Option<Range<u64>>,
    ) -> Result<Download, Error> {
        self.download(Ask::get(at(thread, path)).query(state.query()), range).await
    }

    /// Opens the content of a file that a reference shows, or a part of it, to be read as it comes.
    ///
    /// # Errors
    /// `file_not_found`; `reference_gone` if there is nothing to read any more.
    pub async fn open_reference_file(
        &self,
        reference: Uuid,
        path: &FilePath,
        range: Option<Range<u64>>,
    ) -> Result<Download, Error> {
        self.download(Ask::get(referred(reference, path)), range).await
    }

    /// The file or directory that a reference shows at a path.
    ///
    /// # Errors
    /// `file_not_found`; `reference_gone` if there is nothing to read any more.
    pub async fn reference_stat(&self, reference: Uuid, path: &FilePath) -> Result<calls::FileRecord, Error> {
        self.ask(Ask::get(referred(reference, path)).query(Query::default().flag("stat", true))).await
    }

    /// A page of all files that a reference shows. The reference decides its target's version.
    ///
    /// # Errors
    /// `reference_gone` if there is nothing to read any more.
    pub async fn reference_files(
        &self,
        reference: Uuid,
        limit: Option<usize>,
        cursor: Option<&String>,
    ) -> Result<calls::Page<calls::FileRecord>, Error> {
        let query = Query::default().maybe("limit", limit).maybe("cursor", cursor);
        self.ask(Ask::get(format!("/v1/references/{reference}/files")).query(query)).await
    }

    async fn download(&self, ask: Ask, range: Option<Range<u64>>) -> Result<Download, Error> {
        let ask = ask.accepting("*/*");
        let range = range.map(|range| ("range", format!("bytes={}-{}", range.start, range.end.saturating_sub(1))));
        let response = self.open(&ask, range.as_slice()).await.map_err(|(error, _)| error)?;
        let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let size = text(CONTENT_LENGTH).and_then(|size| size.parse().ok());
        let mime_type = text(CONTENT_TYPE).map(str::to_owned);
        Ok(Download { server: self.way.server.to_string(), size, mime_type, body: response.into_body() })
    }

    /// The file or directory at a path.
    ///
    /// # Errors
    /// `file_not_found`; as the server refuses it otherwise.
    pub async fn stat(
        &self,
        thread: impl Into<ThreadName>,
        path: &FilePath,
        state: FileAt,
    ) -> Result<calls::FileRecord, Error> {
        self.ask(Ask::get(at(thread, path)).query(state.query().flag("stat", true))).await
    }

    /// The entries of a directory: directories first, then by name.
    ///
    /// # Errors
    /// `not_a_directory`; as the server refuses it otherwise.
    pub async fn readdir(
        &self,
        thread: impl Into<ThreadName>,
        path: &FilePath,
        as_of: Option<Version>,
    ) -> Result<Vec<calls::FileRecord>, Error> {
        let query = Query::default().flag("list", true).maybe("asOf", as_of);
        let listed: calls::Directory = self.ask(Ask::get(at(thread, path)).query(query)).await?;
        Ok(listed.entries)
    }

    /// A page of all files, and of explicitly made directories.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn files(
        &self,
        thread: impl Into<ThreadName>,
        which: &ListFiles,
    ) -> Result<calls::Page<calls::FileRecord>, Error> {
        let query = Query::default()
            .maybe("below", which.below.as_ref())
            .maybe("limit", which.limit)
            .maybe("cursor", which.cursor.as_ref())
            .maybe("asOf", which.as_of);
        self.ask(Ask::get(of(thread, "/files")).query(query)).await
    }

    /// How many files and directories there are, and how large they are together.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn file_stats(
        &self,
        thread: impl Into<ThreadName>,
        below: Option<&FilePath>,
        as_of: Option<Version>,
    ) -> Result<calls::FileStats, Error> {
        let query = Query::default().flag("stats", true).maybe("below", below).maybe("asOf", as_of);
        self.ask(Ask::get(of(thread, "/files")).query(query)).await
    }

    /// The files whose paths match a glob.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn find_files(
        &self,
        thread: impl Into<ThreadName>,
        glob: &str,
        limit: Option<usize>,
        as_of: Option<Version>,
    ) -> Result<calls::Found, Error> {
        let query = Query::default().with("find", glob).maybe("limit", limit).maybe("asOf", as_of);
        self.ask(Ask::get(of(thread, "/files")).query(query)).await
    }

    /// The lines of files that match a pattern.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn grep_files(&self, thread: impl Into<ThreadName>, grep: &GrepFiles) -> Result<calls::Grepped, Error> {
        let query = Query::default()
            .with("grep", &grep.pattern)
            .flag("regex", grep.regex)
            .flag("ignoreCase", grep.ignore_case)
            .maybe("glob", grep.glob.as_ref())
            .maybe("limit", grep.limit)
            .maybe("asOf", grep.as_of);
        self.ask(Ask::get(of(thread, "/files")).query(query).unhurried()).await
    }

    /// The versions of a file, the newest first.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn file_versions(
        &self,
        thread: impl Into<ThreadName>,
        path: &FilePath,
        limit: Option<usize>,
        cursor: Option<&str>,
    ) -> Result<calls::Page<calls::FileVersion>, Error> {
        let query = Query::default().flag("versions", true).maybe("limit", limit).maybe("cursor", cursor);
        self.ask(Ask::get(at(thread, path)).query(query)).await
    }

    /// How a file changed from a version on to another one, or to now, as `diff -u` tells it.
    ///
    /// # Errors
    /// `file_not_found`; as the server refuses it otherwise.
    pub async fn file_diff(
        &self,
        thread: impl Into<ThreadName>,
        path: &FilePath,
        from: Version,
        to: Option<Version>,
    ) -> Result<String, Error> {
        let query = Query::default().with("diff", from).maybe("asOf", to);
        Ok(self.answer(Ask::get(at(thread, path)).query(query).accepting("*/*")).await?.text())
    }

    /// A small picture of a file, and its type.
    ///
    /// # Errors
    /// `no_thumbnail`; as the server refuses it otherwise.
    pub async fn thumbnail(
        &self,
        thread: impl Into<ThreadName>,
        path: &FilePath,
        state: FileAt,
        edge: Option<u32>,
    ) -> Result<(Bytes, String), Error> {
        let edge = edge.map(|edge| edge.to_string()).unwrap_or_default();
        let ask = Ask::get(at(thread, path)).query(state.query().with("thumbnail", edge)).accepting("*/*");
        let answer = self.answer(ask).await?;
        let media = answer.media().unwrap_or("application/octet-stream").to_owned();
        Ok((answer.into_bytes(), media))
    }

    /// Makes a directory, and those above it. That it is there is no error.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn make_directory(
        &self,
        thread: impl Into<ThreadName>,
        path: &FilePath,
    ) -> Result<calls::FileRecord, Error> {
        self.ask(Ask::act(at(thread, path)).query(Query::default().flag("mkdir", true)).repeatable()).await
    }

    /// Removes an empty directory. That there is none is no error.
    ///
    /// # Errors
    /// `directory_not_empty`; as the server refuses it otherwise.
    pub async fn remove_directory(
        &self,
        thread: impl Into<ThreadName>,
        path: &FilePath,
    ) -> Result<calls::Deleted, Error> {
        self.ask(Ask::delete_once(at(thread, path)).query(Query::default().flag("rmdir", true))).await
    }

    /// Moves a file, or a directory with all that is below it.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn move_file(
        &self,
        thread: impl Into<ThreadName>,
        from: &FilePath,
        to: &FilePath,
    ) -> Result<calls::Moved, Error> {
        self.ask(Ask::act(at(thread, from)).query(Query::default().with("moveTo", to))).await
    }

    /// Deletes a file; earlier versions still show it. That there is none is no error.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: another writer may have changed it
    /// meanwhile.
    pub async fn delete_file(&self, thread: impl Into<ThreadName>, path: &FilePath) -> Result<calls::Deleted, Error> {
        self.ask(Ask::delete_once(at(thread, path))).await
    }
}

/// JSON whose characters are all ASCII, as headers want it.
fn plain_ascii(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // Between tokens, where a space means the same; within strings they are always escaped.
            '\n' | '\r' | '\t' => plain.push(' '),
            c if c.is_ascii() => plain.push(c),
            c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| plain.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_travel_in_ascii_and_mean_the_same() {
        let json = "{\"größe\":\n\"🦀\"}";
        let plain = plain_ascii(json);
        assert!(plain.is_ascii() && !plain.contains('\n'), "{plain}");
        let same = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("json");
        assert_eq!(same(&plain), same(json));
    }

    #[test]
    fn the_parts_of_a_path_are_escaped_one_by_one() {
        let thread: threadkeep_model::ThreadId = "T-5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("an id");
        let path: FilePath = "/a b/ü?/c".parse().expect("a path");
        assert!(at(thread, &path).ends_with("/files/a%20b/%C3%BC%3F/c"));
        assert!(at(thread, &FilePath::root()).ends_with("/files/%2F"));
    }
}

//! Finding files by their names and by their content.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use threadkeep_calls::{FileMatches, Grepped, LineMatch};
use threadkeep_model::{BlobId, Capability, CellIs, FileCell, FilePath, Invalid, Space, ThreadId, Version};
use threadkeep_store::{BoxFuture, CellNames, StoreError};
use threadkeep_tree::{BrokenOff, Case, Glob, Match, Mode};

use super::{LOOKED_AT, prefix_end};
use crate::ground::beside::{Queue, aside};
use crate::ground::view::View;
use crate::{Engine, Result};

/// Most bytes of files that are searched in one piece of work.
const PIECE_BYTES_MAX: u64 = 4 << 20;
/// Most files that are searched in one piece of work.
const PIECE_FILES_MAX: usize = 256;
/// Most pieces that are under way or done and not yet taken.
const PIECES_MAX: usize = 8;
/// Files above this size are not searched.
const SEARCHED_BYTES_MAX: u64 = 64 << 20;
/// How long a search may take.
const SEARCH_SECONDS_MAX: u64 = 60;
/// Lines that a search gives: the default, and the maximum.
const MATCHES: usize = 1_000;
const MATCHES_MAX: usize = 100_000;

/// A search in files: the pattern and its options.
#[derive(Debug, Clone)]
pub struct Grep {
    /// The text or regular expression to look for.
    pub pattern: String,
    /// Whether the pattern is a regular expression or the text itself.
    pub mode: Mode,
    /// Whether upper and lower case differ.
    pub case: Case,
    /// Only in files that this glob matches.
    pub glob: Option<String>,
    /// Most lines to return.
    pub limit: Option<usize>,
    /// As of this version.
    pub as_of: Option<Version>,
}

impl Grep {
    /// A regular expression, in every file.
    pub fn regex(pattern: &str) -> Self {
        Self { mode: Mode::Regex, ..Self::literal(pattern) }
    }

    /// A text, in every file.
    pub fn literal(pattern: &str) -> Self {
        let (mode, case) = (Mode::Literal, Case::Sensitive);
        Self { pattern: pattern.to_owned(), mode, case, glob: None, limit: None, as_of: None }
    }
}

/// Files by their names.
#[derive(Debug, Clone, Default)]
pub struct Find {
    /// The glob: `*` stays within a directory, `**` crosses.
    pub glob: String,
    /// Most files to return.
    pub limit: Option<usize>,
    /// As of this version.
    pub as_of: Option<Version>,
}

impl Engine {
    /// The files whose paths match a glob, in the order of paths, and whether there may be more.
    ///
    /// # Errors
    /// If the glob is none; [`crate::Error::ThreadNotFound`], [`crate::Error::VersionInFuture`].
    pub fn find(&self, thread: ThreadId, find: Find) -> BoxFuture<'_, Result<(Vec<FilePath>, bool)>> {
        Box::pin(async move {
            let glob = glob("find", &find.glob)?;
            let view = self.file_view(thread, Capability::Search, find.as_of).await?;
            let limit = find.limit.unwrap_or(MATCHES_MAX).min(MATCHES_MAX);
            let mut found = Vec::new();
            let mut next = Some(glob.literal_prefix().to_owned());
            while let Some(from) = next {
                let page = self.names(&view, from, glob.literal_prefix(), LOOKED_AT * 4).await?;
                next = page.1;
                for (name, _) in page.0.into_iter().filter(|(name, _)| glob.matches(name)) {
                    if found.len() == limit {
                        return Ok((found, true));
                    }
                    found.push(name.parse()?);
                }
            }
            Ok((found, false))
        })
    }

    /// The lines of files that match a pattern. Binary files, and those above 64 MiB, have none.
    ///
    /// # Errors
    /// If the pattern or the glob is none; [`crate::Error::ThreadNotFound`], [`crate::Error::VersionInFuture`].
    pub fn grep(&self, thread: ThreadId, grep: Grep) -> BoxFuture<'_, Result<Grepped>> {
        Box::pin(async move {
            let until = Instant::now() + Duration::from_secs(SEARCH_SECONDS_MAX);
            let Grep { pattern, mode, case, .. } = grep.clone();
            let pattern = aside(move || threadkeep_tree::Grep::new(&pattern, mode, case)).await?;
            let pattern = pattern.map_err(|error| Invalid::parameter("grep", error.to_string()))?;
            let among = grep.glob.as_deref().map(|text| glob("glob", text)).transpose()?;
            let view = self.file_view(thread, Capability::Search, grep.as_of).await?;
            let limit = grep.limit.unwrap_or(MATCHES).min(MATCHES_MAX);
            let prefix = among.as_ref().map_or("/", |glob| glob.literal_prefix()).to_owned();
            let page = |from: String| {
                let (engine, view, prefix, among) = (self.clone(), view.clone(), prefix.clone(), among.clone());
                async move { engine.searched(&view, from, &prefix, among.as_ref()).await }
            };
            let (mut pages, mut files, mut pieces) = (Queue::default(), VecDeque::new(), Queue::default());
            pages.push(page(prefix.clone()));
            let (mut grepped, mut left) = (Grepped { files: Vec::new(), truncated: false }, limit);
            loop {
                // While some files are searched, the next ones and the names after them are read.
                while pieces.len() < PIECES_MAX {
                    if let Some(piece) = piece_of(&mut files) {
                        pieces.push(self.grep_in(piece, pattern.clone(), limit, until));
                    } else if let Some(page_of_names) = pages.next().await? {
                        let (names, next) = page_of_names?;
                        files.extend(names);
                        if let Some(from) = next {
                            pages.push(page(from));
                        }
                    } else {
                        break;
                    }
                }
                let Some(found) = pieces.next().await? else { return Ok(grepped) };
                let mut found = found?.into_iter().peekable();
                while let Some((name, mut matches)) = found.next() {
                    let more = matches.len() > left;
                    matches.truncate(left);
                    left -= matches.len();
                    if !matches.is_empty() {
                        grepped.files.push(FileMatches {
                            path: name.parse()?,
                            matches: matches.into_iter().map(line).collect(),
                        });
                    }
                    let unsearched =
                        found.peek().is_some() || !(pieces.is_empty() && files.is_empty() && pages.is_empty());
                    if more || left == 0 && unsearched {
                        return Ok(Grepped { truncated: true, ..grepped });
                    }
                }
            }
        })
    }

    /// Searches some files; gives those with matches, in their order.
    fn grep_in(
        &self,
        piece: Vec<Searched>,
        pattern: threadkeep_tree::Grep,
        limit: usize,
        until: Instant,
    ) -> impl Future<Output = Result<Vec<(String, Vec<Match>)>>> + Send + use<> {
        let blobs = self.shared.stores.blobs.clone();
        async move {
            let contents = blobs.blobs(piece.iter().map(|file| file.hash).collect()).await?;
            let search = move || {
                let mut found = Vec::new();
                for (Searched { name, hash, .. }, content) in piece.into_iter().zip(contents) {
                    let missing = || StoreError::corrupt(format!("the content {hash} of {name} is missing"));
                    let goes_on = || Instant::now() < until;
                    let matches =
                        pattern.matches_while(&content.ok_or_else(missing)?, limit.saturating_add(1), goes_on);
                    let matches = matches.map_err(|BrokenOff| {
                        let rule = format!(
                            "takes more than {SEARCH_SECONDS_MAX} s: name fewer files with a glob, or use a simpler pattern"
                        );
                        Invalid::parameter("grep", rule)
                    })?;
                    if !matches.is_empty() {
                        found.push((name, matches));
                    }
                }
                Ok(found)
            };
            aside(search).await?
        }
    }

    /// Some files to search, from a name on, and where to go on.
    async fn searched(
        &self,
        view: &View,
        from: String,
        prefix: &str,
        among: Option<&Glob>,
    ) -> Result<(Vec<Searched>, Option<String>)> {
        let (names, next) = self.names(view, from, prefix, LOOKED_AT).await?;
        let mut files = Vec::with_capacity(names.len());
        for (name, cell) in names {
            if among.is_none_or(|glob| glob.matches(&name)) {
                let (hash, size) = content_of(&cell)?;
                files.push(Searched { name, hash, size });
            }
        }
        files.retain(|file| file.size <= SEARCHED_BYTES_MAX);
        Ok((files, next))
    }

    /// Some files from a name on, each with its cell as it is kept, and where to go on. Directories are left out.
    async fn names(
        &self,
        view: &View,
        from: String,
        prefix: &str,
        limit: usize,
    ) -> Result<(Vec<(String, String)>, Option<String>)> {
        let names = CellNames::Between(from, prefix_end(prefix));
        let page = self.cells(view, Space::Files, names, limit).await?;
        let files = page.cells.into_iter().filter_map(|cell| match cell.is {
            CellIs::There(text) if text != "null" => Some((cell.name, text)),
            CellIs::There(_) | CellIs::Gone | CellIs::InEntry => None,
        });
        Ok((files.collect(), page.next))
    }
}

/// A file to search.
struct Searched {
    name: String,
    hash: BlobId,
    size: u64,
}

/// The next files that are searched in one piece of work.
fn piece_of(files: &mut VecDeque<Searched>) -> Option<Vec<Searched>> {
    let mut bytes = 0;
    let mut fits = |file: &Searched| {
        bytes += file.size;
        bytes <= PIECE_BYTES_MAX
    };
    // One file that is larger is a piece of its own.
    let count = files.iter().take(PIECE_FILES_MAX).take_while(|file| fits(file)).count().max(1).min(files.len());
    (count > 0).then(|| files.drain(..count).collect())
}

fn glob(field: &str, text: &str) -> Result<Glob, Invalid> {
    Glob::new(text).map_err(|error| Invalid::parameter(field, error.to_string()))
}

/// The content that a cell names, and its size.
fn content_of(cell: &str) -> Result<(BlobId, u64)> {
    let cell: FileCell =
        serde_json::from_str(cell).map_err(|error| StoreError::corrupt(format!("a file cannot be read: {error}")))?;
    Ok((cell.hash, cell.size))
}

fn line(found: Match) -> LineMatch {
    LineMatch { line: found.line as u64, column: found.column as u64, text: found.text }
}

//! Finding files by their names and by what they say.

use threadkeep_model::{BlobId, Capability, CellIs, FileCell, FilePath, Invalid, Space, ThreadId, Version};
use threadkeep_store::{CellNames, StoreError};
use threadkeep_tree::{Case, Glob, Match, Mode};

use super::{LOOKED_AT, prefix_end};
use crate::view::View;
use crate::{Engine, Result, beside};

/// Most bytes of files that are searched in one piece of work.
const PIECE_BYTES_MAX: u64 = 4 << 20;
/// Most files that are searched in one piece of work.
const PIECE_FILES_MAX: usize = 256;
/// Files above this size are not searched.
const SEARCHED_BYTES_MAX: u64 = 64 << 20;
/// Lines that a search gives, unless it is told otherwise, and at most.
const MATCHES: usize = 1_000;
const MATCHES_MAX: usize = 100_000;

/// What to look for in files.
#[derive(Debug, Clone)]
pub struct Grep {
    /// The pattern.
    pub pattern: String,
    /// Whether the pattern is a regular expression or the text itself.
    pub mode: Mode,
    /// Which letters are taken for the same.
    pub case: Case,
    /// Only in files that this glob matches.
    pub glob: Option<String>,
    /// At most so many lines.
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

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grepped {
    /// Files with lines that match, in the order of paths.
    pub files: Vec<(FilePath, Vec<Match>)>,
    /// Whether there may be more than was asked for.
    pub truncated: bool,
}

/// Files by their names.
#[derive(Debug, Clone, Default)]
pub struct Find {
    /// The glob: `*` stays within a directory, `**` crosses.
    pub glob: String,
    /// At most so many.
    pub limit: Option<usize>,
    /// As of this version.
    pub as_of: Option<Version>,
}

impl Engine {
    /// The files whose paths match a glob, in the order of paths, and whether there may be more.
    ///
    /// # Errors
    /// If the glob is none; [`crate::Error::ThreadNotFound`], [`crate::Error::VersionInFuture`].
    pub async fn find(&self, thread: ThreadId, find: Find) -> Result<(Vec<FilePath>, bool)> {
        let glob = glob("find", &find.glob)?;
        let view = self.file_view(thread, Capability::Search, find.as_of).await?;
        let limit = find.limit.unwrap_or(MATCHES_MAX).min(MATCHES_MAX);
        let mut found = Vec::new();
        let mut next = Some(glob.literal_prefix().to_owned());
        while let Some(from) = next {
            let page = self.names(&view, from, glob.literal_prefix()).await?;
            next = page.1;
            for (name, _) in page.0.into_iter().filter(|(name, _)| glob.matches(name)) {
                if found.len() == limit {
                    return Ok((found, true));
                }
                found.push(name.parse()?);
            }
        }
        Ok((found, false))
    }

    /// The lines of files that match a pattern. Binary files, and those above 64 MiB, have none.
    ///
    /// # Errors
    /// If the pattern or the glob is none; [`crate::Error::ThreadNotFound`], [`crate::Error::VersionInFuture`].
    pub async fn grep(&self, thread: ThreadId, grep: Grep) -> Result<Grepped> {
        let pattern = threadkeep_tree::Grep::new(&grep.pattern, grep.mode, grep.case)
            .map_err(|error| Invalid::parameter("grep", error.to_string()))?;
        let among = grep.glob.as_deref().map(|text| glob("glob", text)).transpose()?;
        let view = self.file_view(thread, Capability::Search, grep.as_of).await?;
        let limit = grep.limit.unwrap_or(MATCHES).min(MATCHES_MAX);
        let prefix = among.as_ref().map_or("/", |glob| glob.literal_prefix());
        let (mut grepped, mut left) = (Grepped::default(), limit);
        let mut next = Some(prefix.to_owned());
        while let Some(from) = next {
            let page = self.names(&view, from, prefix).await?;
            next = page.1;
            let mut files = Vec::new();
            for (name, cell) in page.0 {
                if among.as_ref().is_none_or(|glob| glob.matches(&name)) {
                    files.push((name, content_of(&cell)?));
                }
            }
            for (name, matches) in self.grep_in(files, &pattern, left).await? {
                if left == 0 {
                    return Ok(Grepped { truncated: true, ..grepped });
                }
                let more = matches.len() > left;
                let matches: Vec<Match> = matches.into_iter().take(left).collect();
                left -= matches.len();
                grepped.files.push((name.parse()?, matches));
                if more {
                    return Ok(Grepped { truncated: true, ..grepped });
                }
            }
        }
        Ok(grepped)
    }

    /// Searches files in pieces, side by side; gives those with matches, in their order.
    async fn grep_in(
        &self,
        files: Vec<(String, (BlobId, u64))>,
        pattern: &threadkeep_tree::Grep,
        limit: usize,
    ) -> Result<Vec<(String, Vec<Match>)>> {
        let (mut work, mut piece, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut files = files.into_iter().filter(|(_, (_, size))| *size <= SEARCHED_BYTES_MAX).peekable();
        while let Some((name, (hash, size))) = files.next() {
            piece.push((name, hash));
            bytes += size;
            if bytes < PIECE_BYTES_MAX && piece.len() < PIECE_FILES_MAX && files.peek().is_some() {
                continue;
            }
            let (piece, blobs, pattern) =
                (std::mem::take(&mut piece), self.shared.stores.blobs.clone(), pattern.clone());
            bytes = 0;
            work.push(async move {
                let contents = blobs.blobs(piece.iter().map(|(_, hash)| *hash).collect()).await?;
                let mut found = Vec::new();
                for ((name, hash), content) in piece.into_iter().zip(contents) {
                    let missing = || StoreError::corrupt(format!("the content {hash} of {name} is missing"));
                    let matches = pattern.matches(&content.ok_or_else(missing)?, limit.saturating_add(1));
                    if !matches.is_empty() {
                        found.push((name, matches));
                    }
                }
                Ok::<_, StoreError>(found)
            });
        }
        let mut found = Vec::new();
        for done in beside::all(work).await? {
            found.extend(done?);
        }
        Ok(found)
    }

    /// Some files from a name on, each with its cell as it is kept, and where to go on. Directories are left out.
    async fn names(&self, view: &View, from: String, prefix: &str) -> Result<(Vec<(String, String)>, Option<String>)> {
        let names = CellNames::Between(from, prefix_end(prefix));
        let page = self.cells(view, Space::Files, names, LOOKED_AT * 4).await?;
        let files = page.cells.into_iter().filter_map(|cell| match cell.is {
            CellIs::There(text) if text != "null" => Some((cell.name, text)),
            CellIs::There(_) | CellIs::Gone | CellIs::InEntry => None,
        });
        Ok((files.collect(), page.next))
    }
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

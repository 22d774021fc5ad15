//! All files of a thread: in pages, by directory, counted, found by name and by line.

use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::{Case, FilePath, Files, Find, Grep, Invalid, Mode, Verb, Version, cursor, place};
use threadkeep_calls as api;

use super::files::{directory, one_of};
use super::page_limit;
use crate::access::Reader;
use crate::answer::{Answer, at_version, json};
use crate::input::{Flag, Path, Query};

/// What the list of files answers with.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "never built: it describes the answer")]
pub(super) enum Whole {
    /// A page.
    Page(api::Page<api::FileRecord>),
    /// With `list`.
    Directory(api::Directory),
    /// With `stats`.
    Stats(api::FileStats),
    /// With `find`.
    Found(api::Found),
    /// With `grep`.
    Grepped(api::Grepped),
}

/// What to say of the files of a thread.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Which {
    /// Lines that hold this text.
    #[schemars(length(min = 1, max = 4_096))]
    grep: Option<String>,
    /// Whether the pattern of `grep` is a regular expression (default: plain text).
    regex: Flag,
    /// Only in files whose paths this glob matches: `*` stays within a directory, `**` crosses.
    #[schemars(length(max = 1_024))]
    glob: Option<String>,
    /// Whether upper and lower case are the same for `grep`: false unless it is said; `smart` means unless the pattern has
    /// an upper-case letter.
    #[schemars(extend("enum" = ["false", "true", "smart"]))]
    ignore_case: Option<String>,
    /// Files whose paths this glob matches.
    #[schemars(length(max = 1_024))]
    find: Option<String>,
    /// How many files and directories there are, and how large they are together.
    stats: Flag,
    /// What is directly in the directory, and not in those below it.
    list: Flag,
    /// The directory; the whole thread without it.
    #[schemars(with = "Option<FilePath>")]
    below: Option<String>,
    /// Maximum number of items (default: 50 in a page, 1,000 lines of `grep`, 100,000 paths of `find`).
    #[schemars(range(min = 1, max = 100_000))]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    cursor: Option<String>,
    /// As the thread was at this version.
    as_of: Option<Version>,
}

/// Most lines or paths that a search gives.
const FOUND_MAX: usize = 100_000;

impl Which {
    /// Refuses two questions at once.
    fn check(&self) -> Result<(), Invalid> {
        let asked = [
            ("grep", self.grep.is_some()),
            ("find", self.find.is_some()),
            ("stats", self.stats.0),
            ("list", self.list.0),
        ];
        one_of(&asked)?;
        if self.grep.is_none() && (self.regex.0 || self.glob.is_some() || self.ignore_case.is_some()) {
            return Err(Invalid::parameter("grep", "is missing: regex, glob and ignoreCase go with it"));
        }
        if self.below.is_some() && (self.grep.is_some() || self.find.is_some()) {
            return Err(Invalid::parameter("below", "goes without a search: write the directory into the glob"));
        }
        if self.limit.is_some_and(|limit| limit == 0 || limit > FOUND_MAX) {
            return Err(Invalid::parameter("limit", format!("is 1 to {FOUND_MAX}")));
        }
        Ok(())
    }
}

pub(super) async fn whole(reader: Reader, Path(name): Path<String>, Query(which): Query<Which>) -> Answer {
    which.check()?;
    let case = case(which.ignore_case.as_deref())?;
    let below = which.below.as_deref().map(str::parse::<FilePath>).transpose()?;
    let (thread, _) = reader.seen(&name, Verb::ReadFile).await?;
    let engine = &reader.engine;
    let Which { as_of, limit, .. } = which;
    let version = as_of.unwrap_or(thread.head.version);
    let root = below.clone().unwrap_or_else(FilePath::root);
    let told = if let Some(pattern) = which.grep {
        let mode = if which.regex.0 { Mode::Regex } else { Mode::Literal };
        let grep = Grep { pattern, mode, case, glob: which.glob, limit, as_of };
        json(&engine.grep(thread.id, grep).await?)
    } else if let Some(glob) = which.find {
        let (paths, truncated) = engine.find(thread.id, Find { glob, limit, as_of }).await?;
        json(&api::Found { paths, truncated })
    } else if which.stats.0 {
        json(&engine.file_stats(thread.id, &root, as_of).await?)
    } else if which.list.0 {
        json(&directory(&engine.readdir(thread.id, &root, as_of).await?))
    } else {
        let limit = page_limit(engine, limit)?;
        let list = ("files", thread.id, below.clone());
        let (version, after) = match which.cursor.as_deref() {
            Some(cursor) => place(&list, cursor, as_of)?,
            None => (version, None),
        };
        let files = Files { below, after, limit: Some(limit), as_of: Some(version) };
        let (found, next) = engine.files(thread.id, files).await?;
        let items: Vec<_> = found.iter().map(api::FileRecord::from).collect();
        let next_cursor = next.map(|next| cursor(&list, version, next.as_str()));
        return Ok(at_version(version, json(&api::Page::new(items, next_cursor, None))));
    };
    Ok(at_version(version, told))
}

fn case(asked: Option<&str>) -> Result<Case, Invalid> {
    match asked {
        None | Some("false") => Ok(Case::Sensitive),
        Some("true" | "") => Ok(Case::Ignore),
        Some("smart") => Ok(Case::Smart),
        Some(other) => Err(Invalid::parameter("ignoreCase", format!("'{other}' is none of true, false, smart"))),
    }
}

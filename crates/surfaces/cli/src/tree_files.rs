//! The files of a thread: `files`, `find`, `grep`, `file-versions`, `file-diff`.

use clap::Args;
use threadkeep::{FilePath, Version};
use threadkeep_calls as calls;
use threadkeep_client::{GrepFiles, ListFiles};

use crate::context::Context;
use crate::failure::{Failure, note};
use crate::pages::all;
use crate::screen::{Paint, screen};
use crate::text::{counted, moment, visible};

/// Files or versions that are read at once.
pub(crate) const AT_ONCE: usize = 500;

/// Show the files of a directory, directories first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep files list 4e36                    what is at the top
  threadkeep files list 4e36 /src --recursive   everything below /src, by path
  threadkeep files list 4e36 --at-version 12 --json")]
pub(crate) struct Files {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The directory to list
    #[arg(default_value = "/")]
    directory: FilePath,
    /// Everything below it too
    #[arg(short, long)]
    recursive: bool,
    /// As they were at this version
    #[arg(long = "at-version", alias = "as-of", value_name = "VERSION")]
    as_of: Option<Version>,
}

impl Files {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let found = if self.recursive {
            let below = Some(self.directory.clone());
            let read = async |cursor| {
                let which = ListFiles { below: below.clone(), limit: Some(AT_ONCE), cursor, as_of: self.as_of };
                context.client.files(thread.id, &which).await
            };
            all(read).await?
        } else {
            context.client.readdir(thread.id, &self.directory, self.as_of).await?
        };
        tell(context, &found, if self.recursive { Named::ByPath } else { Named::Plainly })
    }
}

/// How listed files are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// By their whole paths.
    ByPath,
    Plainly,
}

/// Prints files, one a line.
pub(crate) fn tell(context: &mut Context, found: &[calls::FileRecord], named: Named) -> Result<(), Failure> {
    if context.json {
        return context.out.json(&found);
    }
    if found.is_empty() {
        context.note("there are no files");
    }
    let width = |text: fn(&calls::FileRecord) -> String| found.iter().map(|file| text(file).len()).max().unwrap_or(0);
    let (sizes, versions) = (width(size), width(version));
    for file in found {
        let name = match named {
            Named::ByPath => file.path.as_str(),
            Named::Plainly => &file.name,
        };
        let slash = if file.is_directory { "/" } else { "" };
        let time = file.updated_at.map_or_else(|| " ".repeat(20), moment);
        let line = format!("{:>sizes$}  {time:20}  {:>versions$}  {name}{slash}", size(file), version(file));
        context.out.line(visible(&line))?;
    }
    Ok(())
}

fn size(file: &calls::FileRecord) -> String {
    if file.is_directory { "-".to_owned() } else { file.size.to_string() }
}

fn version(file: &calls::FileRecord) -> String {
    file.version.map(|version| format!("v{version}")).unwrap_or_default()
}

/// Show the files whose paths match a glob
#[derive(Debug, Args)]
#[command(after_help = "\
`*` stays within a directory, `**` crosses.

Examples:
  threadkeep files find 4e36 '**/*.rs'
  threadkeep files find 4e36 '/docs/*.{md,txt}'")]
pub(crate) struct Find {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The glob, such as src/**/*.rs
    #[arg(value_name = "GLOB")]
    find: String,
    /// Maximum number of files
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// As they were at this version
    #[arg(long = "at-version", alias = "as-of", value_name = "VERSION")]
    as_of: Option<Version>,
}

impl Find {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let found = context.client.find_files(thread.id, &self.find, self.limit, self.as_of).await?;
        if context.json {
            context.out.json(&found.paths)?;
        } else if found.paths.is_empty() {
            context.note("no file matches");
        }
        if !context.json {
            found.paths.iter().try_for_each(|path| context.out.line(path.as_str()))?;
        }
        cut(context, found.truncated)
    }
}

/// Says that there is more, to programs too: a truncated list must not look complete.
fn cut(context: &mut Context, truncated: bool) -> Result<(), Failure> {
    context.out.flush()?;
    if truncated {
        note("there may be more: ask for more with --limit");
    }
    Ok(())
}

/// Show lines of files that contain a text
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep files grep 4e36 TODO
  threadkeep files grep 4e36 'fn \\w+_test' --regex --glob '**/*.rs'")]
pub(crate) struct Grep {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The text to look for
    #[arg(value_name = "PATTERN")]
    grep: String,
    /// The text is a regular expression
    #[arg(short = 'E', long)]
    regex: bool,
    /// Upper and lower case are the same
    #[arg(short, long)]
    ignore_case: bool,
    /// Only in files whose paths match this glob
    #[arg(long, value_name = "GLOB")]
    glob: Option<String>,
    /// Maximum number of lines [default: 1000]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// As they were at this version
    #[arg(long = "at-version", alias = "as-of", value_name = "VERSION")]
    as_of: Option<Version>,
}

impl Grep {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let Self { grep: pattern, regex, ignore_case, glob, limit, as_of, .. } = self;
        let grep = GrepFiles { pattern, regex, ignore_case, glob, limit, as_of };
        let found = context.client.grep_files(thread.id, &grep).await?;
        if context.json {
            context.out.json(&found.files)?;
            return cut(context, found.truncated);
        }
        if found.files.is_empty() {
            context.note("no line matches");
        }
        context.out.page()?;
        for file in &found.files {
            for at in &file.matches {
                let (path, place) = (&file.path, format!("{}:{}", at.line, at.column));
                let text = visible(&at.text);
                let (path, place) = (Paint::Magenta.on(path.as_str()), Paint::Green.on(&place));
                context.out.line(format!("{path}:{place}: {text}"))?;
            }
        }
        cut(context, found.truncated)
    }
}

/// Show who wrote a file when, the newest version first
#[derive(Debug, Args)]
pub(crate) struct FileVersions {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The path of the file
    path: FilePath,
}

impl FileVersions {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let read = async |cursor: Option<String>| {
            context.client.file_versions(thread.id, &self.path, Some(AT_ONCE), cursor.as_deref()).await
        };
        let versions = all(read).await?;
        if context.json {
            return context.out.json(&versions);
        }
        if versions.is_empty() {
            context.note(format!("there never was a file {}", self.path));
        }
        versions.iter().try_for_each(|version| {
            let what = match (version.size, &version.mime_type) {
                (Some(size), Some(kind)) => format!("{}  {kind}", counted(size, "byte", "bytes")),
                _ => "deleted".to_owned(),
            };
            let line =
                format!("version {}  {}  {}  {what}", version.version, moment(version.created_at), version.actor.name);
            context.out.line(visible(&line))
        })
    }
}

/// Show how a file changed between two versions, as diff -u does
#[derive(Debug, Args)]
#[command(after_help = "\
With --json, prints {diff}.

Examples:
  threadkeep files diff 4e36 /notes/plan.md --from 12            since version 12
  threadkeep files diff 4e36 /notes/plan.md --from 12 --to 15")]
pub(crate) struct FileDiff {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The path of the file
    path: FilePath,
    /// From what it was at this version
    #[arg(long, value_name = "VERSION")]
    from: Version,
    /// To what it was at this version [default: now]
    #[arg(long, value_name = "VERSION")]
    to: Option<Version>,
}

impl FileDiff {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let diff = context.client.file_diff(thread.id, &self.path, self.from, self.to).await?;
        if context.json {
            return context.out.json(&serde_json::json!({ "diff": diff }));
        }
        if diff.is_empty() {
            context.note("it is the same");
        }
        // A patch that is piped on is the patch to the letter.
        if screen().is_terminal {
            context.out.page()?;
            return context.out.bytes(visible(&diff).as_bytes());
        }
        context.out.bytes(diff.as_bytes())
    }
}

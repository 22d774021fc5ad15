//! Files of a thread: `write-file`, `read-file`, `delete-file`, `move-file`, `mkdir`, `rmdir`, `thumbnail`. Listing and searching
//! are next door, in `tree_files`.

use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::{ArgGroup, Args};
use threadkeep::model::Code;
use threadkeep::{FilePath, Invalid, Json, Limits, Version};
use threadkeep_api as api;
use threadkeep_client::{At, Download, NewFile};

use crate::context::{Conditions, Context};
use crate::failure::{Failure, cannot_read, cannot_write};
use crate::text::{counted, visible};
use crate::thread;

/// Write a file, whole; what is there already gets a new version
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep write-file 4e36 /notes/plan.md plan.md    from a file here
  date | threadkeep write-file 4e36 /log.txt           from stdin
  threadkeep write-file 4e36 /a.bin a.bin --mime-type application/x-thing --metadata '{\"source\":\"upload\"}'")]
pub(crate) struct WriteFile {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// Where, from the root of the thread
    path: FilePath,
    /// The file here with its content; - reads stdin
    #[arg(default_value = "-")]
    file: PathBuf,
    /// What it is, such as text/plain [default: guessed]
    #[arg(long, value_name = "TYPE")]
    mime_type: Option<String>,
    /// What to say about it: a JSON object
    #[arg(long, value_name = "JSON", value_parser = |json: &str| thread::object("metadata", json))]
    metadata: Option<Json>,
    /// The width of an image, in pixels
    #[arg(long, value_name = "N")]
    width: Option<u32>,
    /// The height of an image, in pixels
    #[arg(long, value_name = "N")]
    height: Option<u32>,
    #[command(flatten)]
    conditions: Conditions,
}

impl WriteFile {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        let Self { path, file, mime_type, metadata, width, height, .. } = self;
        let content = content_of(&file)?;
        let new = NewFile { path, content, mime_type, metadata, width, height };
        let record = context.client.write_file(thread.id, new).await?;
        let said = told(&record);
        context.say_or_show(&record, said)
    }
}

/// What a file here holds, or stdin.
fn content_of(path: &Path) -> Result<Bytes, Failure> {
    let max = Limits::default().file_bytes_max;
    let mut bytes = Vec::new();
    let (read, shown) = if path == Path::new("-") {
        (std::io::stdin().lock().take(max as u64 + 1).read_to_end(&mut bytes), "stdin".to_owned())
    } else {
        let read = File::open(path).and_then(|file| file.take(max as u64 + 1).read_to_end(&mut bytes));
        (read, path.display().to_string())
    };
    read.map_err(|error| cannot_read(&shown, &error))?;
    if bytes.len() > max {
        return Err(Invalid::new(Code::TooLarge, "file", format!("a file has at most {max} bytes")).into());
    }
    Ok(bytes.into())
}

/// `/a.txt  version 3  12 bytes  text/plain`
fn told(record: &api::FileRecord) -> String {
    let version = record.version.map(|version| format!("  version {version}")).unwrap_or_default();
    if record.is_directory {
        return visible(&format!("{}{version}", record.path)).into_owned();
    }
    let kind = record.mime_type.as_deref().unwrap_or_default();
    visible(&format!("{}{version}  {}  {kind}", record.path, counted(record.size, "byte", "bytes"))).into_owned()
}

/// Which state of a file.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("state").multiple(false))]
pub(crate) struct State {
    /// As it was written with exactly this version
    #[arg(long, value_name = "VERSION", group = "state")]
    version: Option<Version>,
    /// As it was at this version
    #[arg(long, value_name = "VERSION", group = "state")]
    as_of: Option<Version>,
}

impl State {
    fn at(&self) -> At {
        match (self.version, self.as_of) {
            (Some(version), _) => At::Version(version),
            (None, Some(version)) => At::AsOf(version),
            (None, None) => At::Now,
        }
    }
}

/// Print a file, now or as it was
#[derive(Debug, Args)]
#[command(after_help = "\
With --json, prints {file, text}: what the file is, and what it says if that is text.

Examples:
  threadkeep read-file 4e36 /notes/plan.md
  threadkeep read-file 4e36 /logo.png -o logo.png
  threadkeep read-file 4e36 /notes/plan.md --as-of 12")]
pub(crate) struct ReadFile {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// Which file
    path: FilePath,
    #[command(flatten)]
    state: State,
    /// Write it to this file here, and not to stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ReadFile {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let (path, at) = (self.path, self.state.at());
        if let Some(output) = &self.output {
            let bytes = save(context.client.open_file(thread.id, &path, at, None).await?, output).await?;
            return wrote(context, bytes, output);
        }
        if context.json {
            let file = context.client.stat(thread.id, &path, at).await?;
            let content = context.client.read_file(thread.id, &path, at).await?;
            let text = std::str::from_utf8(&content).ok();
            return context.out.json(&serde_json::json!({ "file": file, "text": text }));
        }
        let download = context.client.open_file(thread.id, &path, at, None).await?;
        print(context, &path, download).await
    }
}

/// Writes what comes to stdout. A terminal gets text only.
pub(crate) async fn print(context: &mut Context, path: &FilePath, mut download: Download) -> Result<(), Failure> {
    let is_terminal = std::io::stdout().is_terminal();
    while let Some(chunk) = download.next().await? {
        match std::str::from_utf8(&chunk) {
            _ if !is_terminal => context.out.bytes(&chunk)?,
            Ok(text) if !text.contains('\0') => context.out.bytes(visible(text).as_bytes())?,
            _ => {
                let rule = format!("{path} is not text; write it to a file with -o FILE, or to a pipe");
                return Err(Invalid::parameter("path", rule).into());
            }
        }
    }
    Ok(())
}

/// All that comes.
pub(crate) async fn whole(mut download: Download) -> Result<Vec<u8>, Failure> {
    let mut content = Vec::new();
    while let Some(chunk) = download.next().await? {
        content.extend_from_slice(&chunk);
    }
    Ok(content)
}

fn wrote(context: &mut Context, bytes: u64, output: &Path) -> Result<(), Failure> {
    if context.json {
        return context.out.json(&serde_json::json!({ "bytes": bytes }));
    }
    context.note(format!("wrote {} to {}", counted(bytes, "byte", "bytes"), output.display()));
    Ok(())
}

/// Writes what comes. The file gets its name once it is whole.
async fn save(mut from: Download, output: &Path) -> Result<u64, Failure> {
    let mut partial = output.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let failed = |error: std::io::Error| cannot_write(&output.display().to_string(), &error);
    let mut file = File::create(&partial).map_err(failed)?;
    let mut bytes = 0;
    let written = async {
        while let Some(chunk) = from.next().await? {
            bytes += chunk.len() as u64;
            file.write_all(&chunk).map_err(failed)?;
        }
        std::fs::rename(&partial, output).map_err(failed)
    };
    let written: Result<(), Failure> = written.await;
    if written.is_err() {
        drop(std::fs::remove_file(&partial));
    }
    written.map(|()| bytes)
}

/// Write a small picture of a file to a file here
#[derive(Debug, Args)]
pub(crate) struct Thumbnail {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// Which file: a PNG, JPEG, GIF or WebP
    path: FilePath,
    /// The file here that is written
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Its longer edge has at most so many pixels [default: 256]
    #[arg(long, value_name = "N")]
    edge: Option<u32>,
    #[command(flatten)]
    state: State,
}

impl Thumbnail {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let (bytes, _) = context.client.thumbnail(thread.id, &self.path, self.state.at(), self.edge).await?;
        let failed = |error: std::io::Error| cannot_write(&self.output.display().to_string(), &error);
        std::fs::write(&self.output, &bytes).map_err(failed)?;
        wrote(context, bytes.len() as u64, &self.output)
    }
}

/// Delete a file; earlier versions still show it
#[derive(Debug, Args)]
pub(crate) struct DeleteFile {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// Which file
    path: FilePath,
    #[command(flatten)]
    conditions: Conditions,
}

impl DeleteFile {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        let done = context.client.delete_file(thread.id, &self.path).await?;
        deleted(context, done, &format!("file {}", self.path))
    }
}

pub(crate) fn deleted(context: &mut Context, done: api::Deleted, what: &str) -> Result<(), Failure> {
    if context.json {
        return context.out.json(&done);
    }
    let what = visible(what);
    context.note(if done.deleted { format!("deleted {what}") } else { format!("there is no {what}") });
    Ok(())
}

/// Move a file, or a directory with all that is in it
#[derive(Debug, Args)]
pub(crate) struct MoveFile {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// From where
    from: FilePath,
    /// To where; a file that is there gets a new version
    to: FilePath,
    #[command(flatten)]
    conditions: Conditions,
}

impl MoveFile {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        let moved = context.client.move_file(thread.id, &self.from, &self.to).await?;
        if context.json {
            return context.out.json(&moved);
        }
        let files = counted(moved.files, "file", "files");
        context.note(visible(&format!("moved {files} from {} to {}", self.from, moved.path)));
        Ok(())
    }
}

/// Make a directory, and those above it
#[derive(Debug, Args)]
pub(crate) struct Mkdir {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// Which directory
    path: FilePath,
    #[command(flatten)]
    conditions: Conditions,
}

impl Mkdir {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        let record = context.client.make_directory(thread.id, &self.path).await?;
        let said = told(&record);
        context.say_or_show(&record, said)
    }
}

/// Remove an empty directory
#[derive(Debug, Args)]
pub(crate) struct Rmdir {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
    /// Which directory
    path: FilePath,
    #[command(flatten)]
    conditions: Conditions,
}

impl Rmdir {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        let done = context.client.remove_directory(thread.id, &self.path).await?;
        deleted(context, done, &format!("directory {}", self.path))
    }
}

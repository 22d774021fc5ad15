//! Files of a thread: `write-file`, `read-file`, `delete-file`, `move-file`, `mkdir`, `rmdir`, `thumbnail`. Listing and
//! searching are next door, in `tree_files`.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use threadkeep::model::Code;
use threadkeep::{FilePath, Invalid, Json, Limits, Version};
use threadkeep_calls as calls;
use threadkeep_client::{Download, FileAt, FileContent, NewFile};

use crate::context::{Conditions, Context};
use crate::failure::{Failure, cannot_read, cannot_write};
use crate::reading::{self, Unread};
use crate::text::{counted, visible};
use crate::thread;
use crate::transfer::whole_file;

/// Up to this size a file is sent from memory, and again where it surely did not arrive.
const WHOLE_BYTES_MAX: u64 = 1 << 20;

/// Write a file; an existing file gets a new version
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep files write 4e36 /notes/plan.md plan.md    from a file here
  date | threadkeep files write 4e36 /log.txt           from stdin
  threadkeep files write 4e36 /a.bin a.bin --mime-type application/x-thing --metadata '{\"source\":\"upload\"}'")]
pub(crate) struct WriteFile {
    /// The thread: its id, the beginning of it, its title, or @last
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
    /// A small picture of it, from a file here [default: made from an image]
    #[arg(long, value_name = "FILE")]
    thumbnail: Option<PathBuf>,
    #[command(flatten)]
    conditions: Conditions,
}

impl WriteFile {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread_to_change(&self.thread, &self.conditions).await?;
        let Self { path, file, mime_type, metadata, width, height, thumbnail, .. } = self;
        let picture =
            |from: PathBuf| std::fs::read(&from).map_err(|error| cannot_read(&from.display().to_string(), &error));
        let thumbnail = thumbnail.map(picture).transpose()?.map(Into::into);
        let shown = if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() };
        let (content, unread) = content_of(&file, &shown)?;
        let new = NewFile { path, content, mime_type, metadata, width, height, thumbnail };
        let written = context.client.write_file(thread.id, new).await;
        // That it could not be read is the reason why it could not be sent.
        let record = match unread.error() {
            Some(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return Err(too_large(Limits::default().file_bytes_max as u64));
            }
            Some(error) => return Err(cannot_read(&shown, &error)),
            None => written?,
        };
        let said = told(&record);
        context.say_or_show(&record, said)
    }
}

/// The content of a local file, or of stdin. Large content is read while it is sent; a read error shows only
/// afterwards.
fn content_of(path: &Path, shown: &str) -> Result<(FileContent, Unread), Failure> {
    let failed = |error: io::Error| cannot_read(shown, &error);
    let max = Limits::default().file_bytes_max as u64;
    let (mut from, size): (Box<dyn Read + Send>, _) = if path == Path::new("-") {
        (Box::new(io::stdin()), None)
    } else {
        let file = File::open(path).map_err(failed)?;
        let size = file.metadata().ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
        (Box::new(file), size)
    };
    let mut first = Vec::new();
    from.by_ref().take(WHOLE_BYTES_MAX + 1).read_to_end(&mut first).map_err(failed)?;
    let have = first.len() as u64;
    if have <= WHOLE_BYTES_MAX {
        return Ok((FileContent::Whole(first.into()), Unread::default()));
    }
    // A file that grows meanwhile is sent as large as it was.
    let size = size.filter(|size| *size >= have);
    if size.is_some_and(|size| size > max) {
        return Err(too_large(max));
    }
    let beyond = if size.is_some() { Beyond::IsLeft } else { Beyond::IsTooMuch };
    let rest = Bounded { from, left: size.unwrap_or(max) - have, beyond };
    let (body, unread) = reading::body(Box::new(io::Cursor::new(first).chain(rest)), size);
    Ok((FileContent::Poured(body), unread))
}

fn too_large(max: u64) -> Failure {
    Invalid::new(Code::TooLarge, "file", format!("a file has at most {max} bytes")).into()
}

/// The next bytes, up to a bound.
struct Bounded {
    from: Box<dyn Read + Send>,
    left: u64,
    beyond: Beyond,
}

/// How to treat bytes beyond a limit.
#[derive(Clone, Copy)]
enum Beyond {
    /// They were not there in the beginning, and are left.
    IsLeft,
    /// They are one too many.
    IsTooMuch,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return match self.beyond {
                Beyond::IsLeft => Ok(0),
                Beyond::IsTooMuch if self.from.read(&mut [0])? == 0 => Ok(0),
                Beyond::IsTooMuch => Err(io::ErrorKind::FileTooLarge.into()),
            };
        }
        let read = self.from.by_ref().take(self.left).read(buffer)?;
        self.left -= read as u64;
        Ok(read)
    }
}

/// `/a.txt  version 3  12 bytes  text/plain`
fn told(record: &calls::FileRecord) -> String {
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
    #[arg(long, value_name = "VERSION", group = "state", hide = true)]
    version: Option<Version>,
    /// As it was at this version
    #[arg(long = "at-version", alias = "as-of", value_name = "VERSION", group = "state")]
    as_of: Option<Version>,
}

impl State {
    fn at(&self) -> FileAt {
        match (self.version, self.as_of) {
            (Some(version), _) => FileAt::Version(version),
            (None, Some(version)) => FileAt::AsOf(version),
            (None, None) => FileAt::Now,
        }
    }
}

/// Print a file, now or as it was
#[derive(Debug, Args)]
#[command(after_help = "\
With --json, prints {file, text}: what the file is, and what it says if that is text.

Examples:
  threadkeep files read 4e36 /notes/plan.md
  threadkeep files read 4e36 /logo.png -o logo.png
  threadkeep files read 4e36 /notes/plan.md --at-version 12")]
pub(crate) struct ReadFile {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The path of the file
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

/// Writes a download to stdout. A terminal gets text only.
pub(crate) async fn print(context: &mut Context, path: &FilePath, mut download: Download) -> Result<(), Failure> {
    let is_terminal = io::stdout().is_terminal();
    let no_text = || {
        let rule = format!("{path} is not text; write it to a file with -o FILE, or to a pipe");
        Failure::from(Invalid::parameter("path", rule))
    };
    let mut text = Vec::new();
    while let Some(chunk) = download.next().await? {
        if !is_terminal {
            context.out.bytes(&chunk)?;
            continue;
        }
        text.extend_from_slice(&chunk);
        let whole = characters(&text).ok_or_else(no_text)?;
        let rest = text.split_off(whole.len());
        context.out.bytes(visible(&String::from_utf8_lossy(&text)).as_bytes())?;
        text = rest;
    }
    if text.is_empty() { Ok(()) } else { Err(no_text()) }
}

/// The whole characters that some bytes of a text begin with: the last one may come in two parts. None if it is no text.
fn characters(bytes: &[u8]) -> Option<&str> {
    let whole = match std::str::from_utf8(bytes) {
        Ok(all) => all,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    (!whole.contains('\0')).then_some(whole)
}

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

/// Writes a download to a file. The file gets its name once it is whole.
async fn save(mut from: Download, output: &Path) -> Result<u64, Failure> {
    let failed = |error: std::io::Error| cannot_write(&output.display().to_string(), &error);
    let write = async |mut file: &File| {
        let mut bytes = 0;
        while let Some(chunk) = from.next().await? {
            bytes += chunk.len() as u64;
            file.write_all(&chunk).map_err(failed)?;
        }
        Ok(bytes)
    };
    whole_file(output, write).await
}

/// Save a thumbnail of a file to a local file
#[derive(Debug, Args)]
pub(crate) struct Thumbnail {
    /// The thread: its id, the beginning of it, its title, or @last
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
        whole_file(&self.output, async |mut file| file.write_all(&bytes).map_err(failed)).await?;
        wrote(context, bytes.len() as u64, &self.output)
    }
}

/// Delete a file; earlier versions still show it
#[derive(Debug, Args)]
pub(crate) struct DeleteFile {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The path of the file
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

pub(crate) fn deleted(context: &mut Context, done: calls::Deleted, what: &str) -> Result<(), Failure> {
    let what = visible(what);
    let note = if done.deleted { format!("deleted {what}") } else { format!("there is no {what}") };
    context.note_or_show(&done, note)
}

/// Move a file, or a directory with all that is in it
#[derive(Debug, Args)]
pub(crate) struct MoveFile {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The path it has now
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
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The path of the new directory
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
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// The path of the empty directory
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

#[cfg(test)]
mod tests {
    use super::characters;

    #[test]
    fn a_character_that_comes_in_two_parts_waits_for_the_second() {
        let text = "für".as_bytes();
        assert_eq!(characters(&text[..2]), Some("f"));
        assert_eq!(characters(text), Some("für"));
        assert_eq!(characters(b"a\xffb"), None);
        assert_eq!(characters(b"a\0b"), None);
    }
}

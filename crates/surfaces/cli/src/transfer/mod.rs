//! From one store to another: `export`, `import`.

pub(crate) mod amp;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use threadkeep::{Engine, ExportItem, Lost, Selection, private};
use threadkeep_calls::{ErrorCode, Imported, Problem, Status};
use threadkeep_client as client;
use threadkeep_transcripts::{ExportEnd, ExportReader, ExportWriter, HeldItems, export_end};

use crate::context::Context;
use crate::failure::{Failure, cannot_read, cannot_write};
use crate::lost::tell_lost;
use crate::progress::Bar;
use crate::reading;
use crate::text::counted;

/// Bytes read or written at once.
const BUFFER_BYTES: usize = 256 << 10;
/// Longest last line of an export.
const LAST_LINE_BYTES_MAX: usize = 256;

/// Write a thread with its whole lineage, or every thread, as JSON lines
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep store export -o everything.jsonl
  threadkeep store export 4e36 | threadkeep --store other.db store import -
  threadkeep store export 4e36 --format amp -o thread.json    what it shows, in Amp's own JSON, without its history

A server gives everything it has, of every account, to a key with scope admin; one thread, and Amp's JSON, come from the
store itself.")]
pub(crate) struct Export {
    /// The thread; without one, every thread, each shared part once
    thread: Option<String>,
    /// A file to write to, instead of stdout; it is there whole or not at all
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// threadkeep, with the whole history, or amp, for one thread as it is
    #[arg(long, default_value = "threadkeep")]
    format: Format,
}

/// In what words threads are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The whole log, as Threadkeep exports it
    Threadkeep,
    /// A thread as it is, in Amp's JSON.
    Amp,
}

impl Export {
    pub(crate) async fn run(self, context: &mut Context) -> Result<ExitCode, Failure> {
        if self.format == Format::Amp {
            amp::export(context, self.thread.as_deref(), self.output.as_deref()).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let from = match &self.thread {
            Some(thread) => {
                let thread = context.thread(thread).await?.id;
                From::Store(context.engine("an export of one thread")?, Selection::Thread(thread))
            }
            None => match context.own_engine() {
                Some(engine) => From::Store(engine, Selection::All),
                None => From::Server(context.client.export().await?),
            },
        };
        let lost = match &self.output {
            None => write(from, "to stdout", io::stdout().lock()).await?,
            Some(path) => {
                let shown = path.display().to_string();
                whole_file(path, async |file| write(from, &shown, file).await).await?
            }
        };
        Ok(tell_lost(context, &lost))
    }
}

/// Writes a file whole or not at all: an existing file stays until the new one is complete and on disk. Only its owner
/// may read it.
pub(crate) async fn whole_file<T>(
    path: &Path,
    write: impl AsyncFnOnce(&File) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let shown = path.display().to_string();
    let failed = |error: io::Error| cannot_write(&shown, &error);
    if is_special(path) {
        return write(&File::create(path).map_err(failed)?).await;
    }
    let unfinished = with_suffix(path, ".part");
    let file = private::new_file(&unfinished).map_err(failed)?;
    let written = match write(&file).await {
        Ok(value) => file.sync_all().and_then(|()| std::fs::rename(&unfinished, path)).map(|()| value).map_err(failed),
        Err(failure) => Err(failure),
    };
    if written.is_err() {
        // The write error is reported; the unfinished file is of no use.
        drop(std::fs::remove_file(&unfinished));
    }
    written
}

/// Where an export comes from.
enum From {
    Store(Engine, Selection),
    Server(client::Export),
}

/// Writes an export, and says what it left out because it is damaged.
async fn write<W: Write>(from: From, what: &str, to: W) -> Result<Lost, Failure> {
    let failed = |error: io::Error| cannot_write(what, &error);
    let bar = Bar::new();
    let (engine, selection) = match from {
        From::Store(engine, selection) => (engine, selection),
        From::Server(export) => return pass_on(export, &bar, BufWriter::with_capacity(BUFFER_BYTES, to), failed).await,
    };
    let mut writer = ExportWriter::new(BufWriter::with_capacity(BUFFER_BYTES, to)).map_err(failed)?;
    let mut exporter = engine.exporter(selection).await?.leaving_damage();
    let (mut entries, total) = (0, exporter.size().entries);
    while let Some(item) = exporter.next().await? {
        entries += u64::from(matches!(item, ExportItem::Entry { .. }));
        bar.tell("entries", entries, Some(total.max(entries)));
        writer.item(&item).map_err(failed)?;
    }
    writer.finish().map_err(failed)?;
    Ok(exporter.lost())
}

/// Writes the export that a server sends. Without its last line it is incomplete, and an import would refuse it:
/// then this fails.
async fn pass_on(
    mut export: client::Export,
    bar: &Bar,
    mut to: impl Write,
    failed: impl Fn(io::Error) -> Failure,
) -> Result<Lost, Failure> {
    let (mut bytes, mut last) = (0, Vec::new());
    while let Some(chunk) = export.next().await? {
        bytes += chunk.len() as u64;
        bar.tell("bytes", bytes, None);
        to.write_all(&chunk).map_err(&failed)?;
        last.extend_from_slice(&chunk);
        last.drain(..last.len().saturating_sub(LAST_LINE_BYTES_MAX));
    }
    to.flush().map_err(&failed)?;
    if let Some(ExportEnd { lost }) = export_end(&last) {
        return Ok(Lost { count: lost, ..Lost::default() });
    }
    let detail = "the server broke off before the export was whole";
    Err(Problem::new(Status::Unavailable, ErrorCode::ExportCutOff, detail).hint("try again").into())
}

/// Whether `path` is there and no plain file, such as a pipe: it is written to in place.
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Import an export; threads that exist already stay as they are
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep store import everything.jsonl
  threadkeep store import --format amp T-*.json        threads in Amp's own JSON; its other fields go to metadata.amp")]
pub(crate) struct Import {
    /// The file, or - for stdin; several for --format amp
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// threadkeep, or amp for threads in Amp's JSON: one object, an array, or one a line
    #[arg(long, default_value = "threadkeep")]
    format: Format,
}

impl Import {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut all = Imported::default();
        for file in &self.files {
            if file.is_dir() {
                return Err(cannot_read(&file.display().to_string(), &io::ErrorKind::IsADirectory.into()));
            }
            let Imported { threads, known } = match self.format {
                Format::Threadkeep => import(context, file).await.map_err(|failure| in_file(file, failure))?,
                Format::Amp => amp::import(context, file).await?,
            };
            all.threads += threads;
            all.known += known;
        }
        let mut said = format!("imported {}", counted(all.threads, "thread", "threads"));
        if all.known > 0 {
            said.push_str(&format!("; {} here already", counted(all.known, "was", "were")));
        }
        context.say_or_show(&all, said)
    }
}

/// The same failure, with the file in which the export is wrong.
fn in_file(path: &Path, failure: Failure) -> Failure {
    let Failure::Problem(mut problem) = failure else { return failure };
    let is_of_file = [ErrorCode::InvalidExport, ErrorCode::UnknownExportVersion, ErrorCode::ExportCutOff]
        .iter()
        .any(|code| problem.code == code.as_str());
    if is_of_file && path.as_os_str() != "-" {
        problem.detail = format!("{}: {}", path.display(), problem.detail).into();
    }
    Failure::Problem(problem)
}

async fn import(context: &Context, path: &Path) -> Result<Imported, Failure> {
    let Some(engine) = context.own_engine() else { return send(context, path).await };
    if path.as_os_str() == "-" {
        return read(&engine, BufReader::with_capacity(BUFFER_BYTES, io::stdin()), |_| {}).await;
    }
    let shown = path.display().to_string();
    let file = File::open(path).map_err(|error| cannot_read(&shown, &error))?;
    let total = file.metadata().ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
    let done = Arc::new(AtomicU64::new(0));
    let counting = Counting { from: file, done: Arc::clone(&done) };
    let tell = |bar: &Bar| bar.tell("bytes", done.load(Ordering::Relaxed), total);
    read(&engine, BufReader::with_capacity(BUFFER_BYTES, counting), tell).await
}

/// Takes in all items. Threads appear once everything was read: an export that is cut off or malformed brings none.
async fn read(engine: &Engine, from: impl BufRead, tell: impl Fn(&Bar)) -> Result<Imported, Failure> {
    let bar = Bar::new();
    let mut reader = ExportReader::new(from)?;
    let mut importer = engine.importer();
    let mut threads = HeldItems::new();
    while let Some(item) = reader.next()? {
        tell(&bar);
        match item {
            ExportItem::Thread { .. } => threads.push(&item)?,
            ExportItem::Segment(_) | ExportItem::Blob(..) | ExportItem::Lost(_) | ExportItem::Entry { .. } => {
                importer.push(item).await?
            }
        }
    }
    importer.expect(threads.len());
    if let Some(mut threads) = threads.into_reader()? {
        while let Some(thread) = threads.next()? {
            importer.push(thread).await?;
        }
    }
    let known = importer.known();
    Ok(Imported { threads: importer.finish().await? - known, known })
}

/// Sends a file to the server, as it is read.
async fn send(context: &Context, path: &Path) -> Result<Imported, Failure> {
    let shown = if path.as_os_str() == "-" { "stdin".to_owned() } else { path.display().to_string() };
    let from: Box<dyn Read + Send> = if path.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(|error| cannot_read(&shown, &error))?)
    };
    let (body, unread) = reading::body(from, None);
    let imported = context.client.import(body).await;
    // That it could not be read is the reason why it could not be sent.
    match unread.error() {
        Some(error) => {
            let detail = format!("{shown} cannot be read: {error}");
            Err(Problem::new(Status::Unavailable, ErrorCode::CannotRead, detail).into())
        }
        None => Ok(imported?),
    }
}

/// Counts the bytes read.
struct Counting {
    from: File,
    done: Arc<AtomicU64>,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.from.read(buffer)?;
        self.done.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

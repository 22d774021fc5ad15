//! One run of an import: files in, threads out, and a report.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use threadkeep_calls::ImportReport;
use threadkeep_engine::{Engine, Error};
use threadkeep_model::Timestamp;

use super::ledger::{Ledger, Row, micros};
use super::places::Found;
use super::private_copy::PrivateCopy;
use super::reader::{self, Event, Work};
use super::writer::Writer;
use crate::reading::{Reading, Refused, Resume, Skipped};
use crate::shape::{Session, Source};

/// Which conversations to import, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only sessions that changed at this time or later.
    pub since: Option<Timestamp>,
    /// Only sessions whose working folder is this one, or lies in it.
    pub project: Option<PathBuf>,
    /// Only count what an import would do.
    pub is_dry: bool,
}

/// Why a run ended early. What was written stays, and the next run goes on after it.
#[derive(Debug)]
pub enum Failed {
    /// The store refused, or failed.
    Store(Error),
    /// The ledger could not be written.
    Ledger(Refused),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Ledger(refused) => refused.fmt(f),
        }
    }
}

impl std::error::Error for Failed {}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// What a run knows of a file.
#[derive(Default)]
struct Progressed {
    /// The sessions that were read of it.
    sessions: HashSet<String>,
    aliases: Vec<(String, String, String)>,
    /// A session was left out, so the file is not done.
    is_partial: bool,
    /// The names of earlier parts were asked for.
    asked: HashSet<String>,
    is_anew: bool,
}

/// Imports `files` into the store of `engine`. `tell` hears how many bytes of all were read.
///
/// # Errors
/// If the store or the ledger fails. A file or a session that cannot be read is skipped and named.
pub async fn import(
    engine: &Engine,
    ledger: &mut Ledger,
    files: Vec<Found>,
    options: &Options,
    tell: impl FnMut(u64, u64),
) -> Result<ImportReport, Failed> {
    import_as(engine, ledger, files, options, Found::reader_name, tell).await
}

/// The same, with the names under which readers know the files.
async fn import_as(
    engine: &Engine,
    ledger: &mut Ledger,
    files: Vec<Found>,
    options: &Options,
    name: impl Fn(&Found) -> String,
    mut tell: impl FnMut(u64, u64),
) -> Result<ImportReport, Failed> {
    let mut writer = Writer::new(engine.clone(), options.is_dry);
    let mut works = Vec::new();
    for found in files {
        if options.since.is_some_and(|since| micros(found.modified) < since.as_micros()) {
            continue;
        }
        let path = found.path.display().to_string();
        let (row, is_whole) = living(engine, ledger.row(&path).unwrap_or_default()).await?;
        if is_whole && row.is_of(&found) {
            writer.report.unchanged += 1;
            continue;
        }
        for (session, home) in &row.homes {
            writer.remember(found.source, session.clone(), *home);
        }
        let name = name(&found);
        works.push(Work { name, resume: row.resume, sum: row.sum, digests: row.digests, found });
    }
    let total: u64 = works.iter().map(|work| work.found.bytes).sum();
    let facts: Vec<(Source, PathBuf, u64, SystemTime)> = works
        .iter()
        .map(|work| (work.found.source, work.found.path.clone(), work.found.bytes, work.found.modified))
        .collect();
    let mut run = Run { ledger, options, states: HashMap::new(), ended: Vec::new(), chosen: HashMap::new() };
    let mut events = reader::start(works);
    let mut done = 0;
    while let Some(event) = events.recv().await {
        match event {
            Event::Changed { file } => run.states.entry(file).or_default().is_anew = true,
            Event::Same { messages } => writer.report.known += messages,
            Event::Read { file, reading } => {
                let (source, path, bytes, modified) = &facts[file];
                let read = reading.resume.offset.min(*bytes);
                run.read(&mut writer, file, *source, path, *modified, reading).await?;
                tell(done + read, total);
            }
            Event::End { file, resume, sum, digests } => {
                let (source, path, bytes, modified) = &facts[file];
                run.end(&writer, file, *source, path, (*bytes, *modified), (resume, sum, digests));
                done += bytes;
                tell(done, total);
            }
            Event::Refused { file, reason } => {
                let (_, path, bytes, _) = &facts[file];
                writer.skipped(1, &path.display().to_string(), &reason);
                done += bytes;
                tell(done, total);
            }
        }
        if writer.is_settled() {
            run.keep(&writer)?;
        }
    }
    writer.finish().await?;
    run.keep(&writer)?;
    Ok(writer.report)
}

/// What holds of a row, and whether all of it does. Another store may be in the place of the one that the ledger knows,
/// or threads were deleted: their file is then read from its beginning.
async fn living(engine: &Engine, mut row: Row) -> Result<(Row, bool), Error> {
    let mut gone = Vec::new();
    for (session, home) in &row.homes {
        if !engine.lives(*home).await? {
            gone.push(session.clone());
        }
    }
    for session in &gone {
        row.homes.remove(session);
        row.digests.remove(session);
    }
    if !gone.is_empty() {
        (row.resume, row.sum) = (Resume::default(), None);
    }
    Ok((row, gone.is_empty()))
}

struct Run<'a> {
    ledger: &'a mut Ledger,
    options: &'a Options,
    states: HashMap<usize, Progressed>,
    /// Files that were read to their end, and wait until their sessions are in the store.
    ended: Vec<(usize, Source, String, Row)>,
    /// Whether each session is among those asked for: later parts of it do not name its folder.
    chosen: HashMap<(Source, String), bool>,
}

impl Run<'_> {
    async fn read(
        &mut self,
        writer: &mut Writer,
        file: usize,
        source: Source,
        path: &Path,
        modified: SystemTime,
        reading: Reading,
    ) -> Result<(), Failed> {
        let shown = path.display().to_string();
        name_skipped(writer, &shown, &reading.skipped);
        for session in reading.sessions {
            let state = self.states.entry(file).or_default();
            if !is_chosen(self.options, &mut self.chosen, &session) {
                state.is_partial = true;
                continue;
            }
            state.sessions.insert(session.id.clone());
            let new = session.aliases.iter().map(|(from, to)| (session.id.clone(), from.clone(), to.clone()));
            state.aliases.extend(new);
            let earlier = match !state.is_anew && state.asked.insert(session.id.clone()) {
                true => self.ledger.aliases(&shown, &session.id),
                false => Vec::new(),
            };
            let modified = Timestamp::from_micros(micros(modified));
            debug_assert_eq!(session.source, source, "a reader gives sessions of its source");
            writer.take(session, earlier, modified, file).await?;
        }
        Ok(())
    }

    fn end(
        &mut self,
        writer: &Writer,
        file: usize,
        source: Source,
        path: &Path,
        (bytes, modified): (u64, SystemTime),
        (resume, sum, digests): (Resume, Option<String>, HashMap<String, String>),
    ) {
        let state = self.states.remove(&file).unwrap_or_default();
        if state.is_partial {
            return;
        }
        let shown = path.display().to_string();
        let mut homes = self.ledger.row(&shown).map(|row| row.homes).unwrap_or_default();
        homes.extend(state.sessions.into_iter().filter_map(|id| Some((id.clone(), writer.home(source, &id)?))));
        let modified = micros(modified);
        let row = Row { bytes, modified, resume, sum, digests, homes, aliases: state.aliases };
        self.ended.push((file, source, shown, row));
    }

    /// Keeps what is known of files whose sessions are in the store.
    fn keep(&mut self, writer: &Writer) -> Result<(), Failed> {
        if self.options.is_dry || self.ended.is_empty() {
            return Ok(());
        }
        let waiting = writer.waiting();
        let (wait, done) = std::mem::take(&mut self.ended).into_iter().partition(|(file, ..)| waiting.contains(file));
        self.ended = wait;
        let done: Vec<(usize, Source, String, Row)> = done;
        let mut rows = Vec::new();
        for (_, source, path, row) in done {
            if !row.homes.keys().any(|session| writer.failed(source, session)) {
                rows.push((path, row));
            }
        }
        self.ledger.keep(&rows).map_err(Failed::Ledger)
    }
}

fn is_chosen(options: &Options, chosen: &mut HashMap<(Source, String), bool>, session: &Session) -> bool {
    let key = (session.source, session.id.clone());
    let in_project = match (&options.project, &session.folder) {
        (None, _) => Some(true),
        (Some(project), Some(folder)) => Some(Path::new(folder).starts_with(project)),
        (Some(_), None) => None,
    };
    let is_new = match (options.since, session.updated) {
        (Some(since), Some(updated)) => updated >= since,
        _ => true,
    };
    let before = chosen.get(&key).copied();
    let is_chosen = in_project.or(before).unwrap_or(false) && (is_new || before == Some(true));
    chosen.insert(key, is_chosen);
    is_chosen
}

/// Names what was skipped as `file:line`.
fn name_skipped(writer: &mut Writer, file: &str, skipped: &Skipped) {
    let named = skipped.named.len() as u64;
    for record in &skipped.named {
        let place = match record.place.strip_prefix("line ") {
            Some(line) => format!("{file}:{line}"),
            None => format!("{file}: {}", record.place),
        };
        writer.skipped(1, &place, &record.reason);
    }
    writer.report.skipped += skipped.count.saturating_sub(named);
}

/// A file that is received piece by piece, to be imported. It is private, and gone when this is dropped.
pub struct Received {
    copy: PrivateCopy,
    file: std::fs::File,
    source: Source,
    name: String,
    bytes: u64,
}

impl Received {
    /// Begins to receive a file of `source`. Only the ending of `name` becomes part of a path, and the name is shown.
    ///
    /// # Errors
    /// If there is no place for it.
    pub fn begin(source: Source, name: &str) -> std::io::Result<Self> {
        let name: String = name.chars().filter(|c| !c.is_control()).take(255).collect();
        let ending = [".jsonl.zst", ".jsonl", ".json", ".zip", ".db"].iter().find(|ending| name.ends_with(**ending));
        let copy = PrivateCopy::empty(&format!("received{}", ending.unwrap_or(&"")))?;
        let file = threadkeep_store::private::new_file(copy.path())?;
        Ok(Self { copy, file, source, name, bytes: 0 })
    }

    /// Takes the next piece.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, piece: &[u8]) -> std::io::Result<()> {
        self.bytes += piece.len() as u64;
        self.file.write_all(piece)
    }

    /// The bytes that were received so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Imports it. Without a ledger, the store says what is there already.
    ///
    /// # Errors
    /// As [`import`].
    pub async fn import(self, engine: &Engine, options: &Options) -> Result<ImportReport, Failed> {
        let mut ledger = Ledger::in_memory("").map_err(Failed::Ledger)?;
        let path = self.copy.path().to_owned();
        let (source, bytes, modified) = (self.source, self.bytes, SystemTime::now());
        let found = Found { source, path: path.clone(), bytes, modified, server: None };
        let name = |_: &Found| self.name.clone();
        let mut report = import_as(engine, &mut ledger, vec![found], options, name, |_, _| {}).await?;
        // The place of the copy means nothing to the sender.
        let copied = path.display().to_string();
        report.problems.iter_mut().for_each(|problem| *problem = problem.replace(&copied, &self.name));
        Ok(report)
    }
}

//! `import`: brings the conversations of other agents, once or for as long as they are written.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use clap::Args;
use threadkeep::{Engine, Invalid, Timestamp};
use threadkeep_calls::{ErrorCode, ImportReport, Problem, Status};
use threadkeep_transcripts::import::{Failed, Found, Home, Ledger, Options, Search, import, is_server, search, server};
use threadkeep_transcripts::shape::Source;

use crate::context::Context;
use crate::duration::time;
use crate::editor;
use crate::failure::{Failure, cannot_read, cannot_write};
use crate::follow::over;
use crate::progress::Bar;
use crate::reading;
use crate::refusal::cut;
use crate::suggest::near;
use crate::text::counted;

/// The ledger of imported files, in the data folder.
const LEDGER: &str = "imports.db";
/// How often a watched place is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Problems that are shown.
const PROBLEMS_SHOWN_MAX: usize = 10;

/// Bring your conversations with other agents into threads, with their branches
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadkeep import auto                          look into all default places, show what is there, and ask
  threadkeep import claude-code                   from ~/.claude/projects
  threadkeep import chatgpt export.zip            the export of an account
  threadkeep import langgraph postgres://ann@db/work   a checkpoint saver on a PostgreSQL server
  threadkeep import codex --since 30d --dry-run   count, and write nothing
  threadkeep import claude-code --watch           follow: a session appears while it is written

Agents: claude-code, codex, opencode, goose, pi, amp, gemini-cli, cline, zed, chatgpt, langgraph.
Importing again adds only what is new. Files of the agents are only read. Then try: threadkeep search \"that parser bug\"")]
pub(crate) struct Import {
    /// The agent, or auto for all of them
    source: Which,
    /// A file or a folder, instead of the agent's default place; for langgraph also the URL of a PostgreSQL server
    path: Option<PathBuf>,
    /// Count what an import would do, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Only sessions that changed since then: 2026-01-31, a time in RFC 3339, or 12h, 30d
    #[arg(long, value_name = "TIME", value_parser = |text: &str| time("since", text))]
    since: Option<Timestamp>,
    /// Only sessions whose working folder is this one, or lies in it
    #[arg(long, value_name = "FOLDER")]
    project: Option<PathBuf>,
    /// Go on following: new messages appear within two seconds; Ctrl-C ends it
    #[arg(long)]
    watch: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Auto,
    One(Source),
}

impl FromStr for Which {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let one = |text: &str| {
            text.parse().map(Self::One).map_err(|_| {
                let known = Source::ALL.map(Source::as_str);
                let near = near(text, known.to_vec());
                let meant = near.first().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                let rule = format!("'{}' is neither a file nor auto, {}{meant}", cut(text), known.join(", "));
                Invalid::parameter("source", rule)
            })
        };
        if text == "auto" { Ok(Self::Auto) } else { one(text) }
    }
}

/// Whether `word` names an agent or all of them: else it is a file, an export of our own.
pub(crate) fn is_source(word: &str) -> bool {
    word.parse::<Which>().is_ok()
}

impl Import {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let places = self.places()?;
        let mut found = places.search();
        if found.files.is_empty() {
            return self.found_nothing(&places);
        }
        if self.source == Which::Auto && !self.agreed(context, &found)? {
            return context.note_or_show(&ImportReport::default(), "nothing was imported");
        }
        let project =
            self.project.as_ref().map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.clone()));
        if context.is_elsewhere() {
            return self.send(context, &places, found).await;
        }
        let options = Options { since: self.since, project, is_dry: self.dry_run };
        let engine = context.engine("an import")?;
        let mut ledger = ledger(context)?;
        let mut seen = looked_at(&found.files);
        let files = std::mem::take(&mut found.files);
        let mut report = read(&engine, &mut ledger, files, &options).await?;
        for (path, reason) in found.refused {
            report.skipped += 1;
            report.problems.push(format!("{}: {reason}", path.display()));
        }
        if self.path.is_some() && is_empty(&report) && !self.watch {
            match report.problems.first() {
                Some(first) => return Err(places.unreadable(first, report.skipped).into()),
                None if self.since.is_none() && self.project.is_none() => return self.found_nothing(&places),
                None => {}
            }
        }
        self.tell(context, &report)?;
        if !self.watch || self.dry_run {
            return Ok(());
        }
        context.note("following; Ctrl-C ends it");
        let mut ended = std::pin::pin!(over());
        loop {
            tokio::select! {
                () = &mut ended => return Ok(()),
                () = tokio::time::sleep(LOOK) => {}
            }
            let files = places.search().files;
            let now = looked_at(&files);
            let changed: Vec<Found> = files.into_iter().filter(|it| seen.get(&it.path) != now.get(&it.path)).collect();
            seen = now;
            if changed.is_empty() {
                continue;
            }
            let report = read(&engine, &mut ledger, changed, &options).await?;
            if report.messages + report.edited > 0 {
                self.tell(context, &report)?;
            }
        }
    }

    /// Sends the files to a server, which finds what it has already.
    async fn send(&self, context: &mut Context, places: &Places, mut found: Search) -> Result<(), Failure> {
        if self.dry_run || self.project.is_some() {
            let rule = "needs the store itself: a server imports whole files; name the store with --store or --data";
            return Err(Invalid::parameter(if self.dry_run { "dry-run" } else { "project" }, rule).into());
        }
        if matches!(places, Places::Server(_)) {
            let rule = "a database is read beside the store: name the store with --store or --data";
            return Err(Invalid::parameter("path", rule).into());
        }
        let mut ended = std::pin::pin!(over());
        let mut seen = HashMap::new();
        loop {
            let now = looked_at(&found.files);
            let mut all = ImportReport::default();
            for file in found.files.into_iter().filter(|file| seen.get(&file.path) != now.get(&file.path)) {
                let modified = file.modified.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |it| it.as_micros());
                if self.since.is_some_and(|since| i128::from(since.as_micros()) > modified as i128) {
                    continue;
                }
                let shown = file.path.display().to_string();
                let opened = std::fs::File::open(&file.path).map_err(|error| cannot_read(&shown, &error))?;
                let (body, _) = reading::body(Box::new(opened), Some(file.bytes));
                let report = context.client.import_sessions(file.source.as_str(), &file.reader_name(), body).await?;
                add(&mut all, report);
            }
            let is_first = seen.is_empty();
            seen = now;
            if is_first || all.messages + all.edited > 0 {
                self.tell(context, &all)?;
            }
            if !self.watch {
                return Ok(());
            }
            tokio::select! {
                () = &mut ended => return Ok(()),
                () = tokio::time::sleep(LOOK) => {}
            }
            found = places.search();
        }
    }

    /// The places to look at, each with its agent.
    fn places(&self) -> Result<Places, Failure> {
        let home = || {
            Home::from_environment().ok_or_else(|| {
                let detail = "the home folder is not known: HOME is not set";
                Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail)
            })
        };
        match (self.source, &self.path) {
            (Which::Auto, Some(_)) => {
                Err(Invalid::parameter("path", "goes with one agent; name it instead of auto").into())
            }
            (Which::Auto, None) => {
                let home = home()?;
                Ok(Places::Folders(Source::ALL.into_iter().map(|source| (source, home.places(source))).collect()))
            }
            (Which::One(source), Some(url)) if url.to_str().is_some_and(is_server) => {
                Ok(Places::Server(Box::new(server(source, &url.to_string_lossy())?)))
            }
            (Which::One(source), Some(path)) => {
                std::fs::metadata(path).map_err(|error| cannot_read(&path.display().to_string(), &error))?;
                Ok(Places::Folders(vec![(source, vec![path.clone()])]))
            }
            (Which::One(source), None) => {
                let places = home()?.places(source);
                if places.is_empty() {
                    let rule = format!("{source} has no default place: name the file or folder");
                    return Err(Invalid::parameter("path", rule).into());
                }
                Ok(Places::Folders(vec![(source, places)]))
            }
        }
    }

    fn found_nothing(&self, places: &Places) -> Result<(), Failure> {
        let detail = format!("no conversations were found in {}", places.names().join(", "));
        let hint = "name the place: threadkeep import AGENT PATH";
        Err(Problem::new(Status::NotFound, ErrorCode::CannotRead, detail).hint(hint).into())
    }

    /// Shows what was found, and asks.
    fn agreed(&self, context: &Context, found: &Search) -> Result<bool, Failure> {
        for source in Source::ALL {
            let files: Vec<&Found> = found.files.iter().filter(|file| file.source == source).collect();
            let Some(newest) = files.iter().map(|file| file.modified).max() else { continue };
            let bytes: u64 = files.iter().map(|file| file.bytes).sum();
            let (count, size) = (counted(files.len() as u64, "file", "files"), size(bytes));
            context.note(format!("{:<12} {count}, {size}, newest {}", source.as_str(), age(newest)));
        }
        if self.yes || self.dry_run {
            return Ok(true);
        }
        if context.json || !editor::is_attended() {
            let detail = "outside a terminal, importing all of it needs --yes";
            let again = context.hints.command("import auto --yes");
            return Err(Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail).hint(again).into());
        }
        eprint!("Import all of it? [Y/n] ");
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).map_err(|error| cannot_read("stdin", &error))?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes"))
    }

    fn tell(&self, context: &mut Context, report: &ImportReport) -> Result<(), Failure> {
        for problem in report.problems.iter().take(PROBLEMS_SHOWN_MAX) {
            context.note(format!("skipped {problem}"));
        }
        let shown = report.problems.len().min(PROBLEMS_SHOWN_MAX) as u64;
        if report.skipped > shown {
            context.note(format!("skipped {} more", report.skipped - shown));
        }
        let verb = if self.dry_run { "would import" } else { "imported" };
        let (threads, messages) =
            (counted(report.threads, "thread", "threads"), counted(report.messages, "message", "messages"));
        let mut said = format!("{verb} {threads}, {}, {messages}", counted(report.branches, "branch", "branches"));
        for (count, what) in [
            (report.edited, "changed"),
            (report.known, "already there"),
            (report.unchanged, "unchanged files"),
            (report.deleted, "deleted here"),
            (report.skipped, "skipped"),
        ] {
            if count > 0 {
                said.push_str(&format!("; {count} {what}"));
            }
        }
        context.say_or_show(report, said)?;
        context.out.flush()?;
        if report.threads > 0 && !self.dry_run {
            let (ls, find) = (context.hints.command("ls"), context.hints.command("search \"what you remember\""));
            context.note(format!("next: {ls}; {find}"));
        }
        Ok(())
    }
}

/// Where to look.
enum Places {
    /// Files and folders of each agent.
    Folders(Vec<(Source, Vec<PathBuf>)>),
    /// A database server. Whether its rows changed is only known after asking it.
    Server(Box<Found>),
}

impl Places {
    /// All that is there now.
    fn search(&self) -> Search {
        let mut all = Search::default();
        match self {
            Self::Folders(folders) => {
                for (source, places) in folders {
                    let found = search(*source, places);
                    all.files.extend(found.files);
                    all.refused.extend(found.refused);
                }
            }
            Self::Server(found) => {
                let mut now = Found::clone(found);
                now.modified = SystemTime::now();
                all.files.push(now);
            }
        }
        all
    }

    /// Nothing of it could be read: a file is the wrong one, and a server may answer later.
    fn unreadable(&self, first: &str, skipped: u64) -> Problem {
        let more = match skipped {
            0 | 1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        let (status, code) = match self {
            Self::Folders(_) => (Status::BadRequest, ErrorCode::InvalidParameter),
            Self::Server(_) => (Status::Unavailable, ErrorCode::CannotRead),
        };
        Problem::new(status, code, format!("{first}{more}"))
    }

    /// How they are shown: without passwords.
    fn names(&self) -> Vec<String> {
        match self {
            Self::Folders(folders) => {
                folders.iter().flat_map(|(_, places)| places).map(|it| it.display().to_string()).collect()
            }
            Self::Server(found) => vec![found.path.display().to_string()],
        }
    }
}

/// Whether an import found no message, new or known.
fn is_empty(report: &ImportReport) -> bool {
    report.messages + report.edited + report.known + report.unchanged + report.deleted == 0
}

fn looked_at(files: &[Found]) -> HashMap<PathBuf, (u64, SystemTime)> {
    files.iter().map(|file| (file.path.clone(), (file.bytes, file.modified))).collect()
}

async fn read(
    engine: &Engine,
    ledger: &mut Ledger,
    files: Vec<Found>,
    options: &Options,
) -> Result<ImportReport, Failure> {
    let bar = Bar::new();
    let tell = |done, total| bar.tell("bytes", done, Some(total));
    import(engine, ledger, files, options, tell).await.map_err(|failed| match failed {
        Failed::Store(error) => error.into(),
        Failed::Ledger(refused) => cannot_write("the ledger of imports", &io::Error::other(refused.to_string())),
    })
}

fn ledger(context: &Context) -> Result<Ledger, Failure> {
    let store = context.store_url();
    let made = match store {
        "memory:" => Ledger::in_memory(store),
        _ => Ledger::open(&folder_of(context).join(LEDGER), store),
    };
    made.map_err(|refused| cannot_write("the ledger of imports", &io::Error::other(refused.to_string())))
}

/// The folder of the store's file; the data folder for a store on a server.
fn folder_of(context: &Context) -> PathBuf {
    match context.store_url().parse() {
        Ok(threadkeep::StoreUrl::Sqlite(path)) => path.parent().map(Path::to_owned).unwrap_or_default(),
        _ => context.folder(),
    }
}

/// Adds what another file brought.
fn add(all: &mut ImportReport, other: ImportReport) {
    all.sessions += other.sessions;
    all.threads += other.threads;
    all.branches += other.branches;
    all.messages += other.messages;
    all.edited += other.edited;
    all.known += other.known;
    all.unchanged += other.unchanged;
    all.deleted += other.deleted;
    all.skipped += other.skipped;
    all.problems.extend(other.problems);
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{}.{} GB", bytes / 1_000_000_000, bytes / 100_000_000 % 10),
    }
}

fn age(time: SystemTime) -> String {
    let seconds = time.elapsed().map_or(0, |age| age.as_secs());
    match seconds {
        0..3_600 => "within the hour".to_owned(),
        3_600..172_800 => format!("{} hours ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

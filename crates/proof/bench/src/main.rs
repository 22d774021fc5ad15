//! Measures Threadkeep beside hand-written code, in one run.
//!
//! `rows` has a file for each measurement, `opponents` the systems to compare with, `meter` the instruments and
//! `report` the table; they share `bench`, on files or on a `server`; `http` measures our server. The README says
//! how to read it.

mod agents;
mod bench;
mod code;
mod effects;
mod files;
mod http;
mod import;
mod line;
mod lists;
mod meter;
mod opponents;
mod ours;
mod report;
mod rows;
mod scale;
mod search;
mod search_eval;
mod server;
mod world;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::bench::{Bench, STORE_VARIABLE};
use crate::report::Report;

/// Every error here ends the run.
type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T, E = Error> = std::result::Result<T, E>;

/// Measures Threadkeep beside hand-written code, in one run.
#[derive(Parser)]
#[command(name = "threadkeep-bench")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The engine: appends, forks, reads, bytes on disk and in memory.
    Engine(EngineArgs),
    /// 10,000 observers of 100 threads that change 1,000 times a second: what they see, and the memory it takes.
    Observe {
        #[command(flatten)]
        place: PlaceArgs,
        /// One JSON object instead of a table.
        #[arg(long)]
        json: bool,
        /// Updates go through read-writers, which write behind, instead of durable appends.
        #[arg(long)]
        behind: bool,
    },
    /// Lists of 50 by every filter, beside the unfiltered list. Two accounts of 100,000 threads each are made first, spread
    /// over about two years; the threads that a filter matches lie among the newest, or among the oldest.
    List(ListArgs),
    /// The server, as a process of its own, with a load generator that keeps its connections: appends and reads by 64
    /// clients, subscribers who hang up while the server is restarted and killed, how fast it starts, what memory it takes.
    Http(HttpArgs),
    /// Files: forks, spawns and rollbacks of a thread with 10,000 files and 1 GB beside an append; searches of 100 MB in
    /// 10,000 files beside ripgrep, which must be installed, and a walk over the same files on disk.
    Files(FilesArgs),
    /// Search: 100,000 messages of 1 KiB: how fast they are indexed, how large the index is, how soon questions are answered,
    /// what following the log costs those who append.
    Search(SearchArgs),
    /// A store of a team's size beside a small one: 100,000 threads that changed on one day, 1,270,000 messages. Searches,
    /// expensive reads beside cheap calls, lists, families, upkeep, writes, with the ratio of both.
    Scale(scale::ScaleArgs),
    /// Code in the sandbox: a run cold and prewarmed, beside `node -e`; runs a second; host calls; memory of a worker.
    Code(CodeArgs),
    /// Effects: an append that schedules one beside an append, and how many that are due run in a second.
    Effects(EffectsArgs),
    /// Agents: 200 at once on one server, each with 20 answers of a model and two tools: CPU for a step, memory of the server,
    /// and appends of others beside them.
    Agents(AgentsArgs),
    /// Imports: 10,000 sessions of another agent, 1 GB: CPU and memory, a second import, and when all can be searched.
    Import(ImportArgs),
    /// How good the search is: keeps conversations from a file, asks questions from another one, writes what is found.
    SearchEval(search_eval::EvalArgs),
    /// Works as a program that embeds Threadkeep, and says how much memory that took.
    #[command(hide = true)]
    Memory {
        #[command(flatten)]
        place: PlaceArgs,
    },
}

#[derive(Args)]
struct PlaceArgs {
    /// The store to measure. `sqlite:FOLDER`: files are made in a folder in there, and removed.
    /// `postgres://user@host/database`: a schema is made there, and dropped; `?schema=NAME` gives it a name.
    #[arg(long, value_name = "URL", env = STORE_VARIABLE, hide_env_values = true)]
    store: Option<String>,
    /// Smaller sizes: shows that everything works, not how fast it is.
    #[arg(long)]
    quick: bool,
}

#[derive(Args)]
struct EngineArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// How often everything is measured; medians are shown.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// Measure these rows only
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    rows: Vec<String>,
}

#[derive(Args)]
struct ListArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// How often everything is measured; medians are shown.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// Threads of each account [default: 100000, or 4000 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2_000..=10_000_000))]
    threads: Option<u32>,
}

#[derive(Args)]
struct FilesArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// How often everything is measured; medians are shown.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// Files of each thread [default: 10000, or 300 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    files: Option<u32>,
}

#[derive(Args)]
struct SearchArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// Messages to search [default: 100000, or 3000 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    messages: Option<u32>,
}

#[derive(Args)]
struct ImportArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// Sessions of about 100 kB [default: 10000, or 100 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    sessions: Option<u32>,
}

#[derive(Args)]
struct CodeArgs {
    /// Smaller sizes: shows that everything works, not how fast it is.
    #[arg(long)]
    quick: bool,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// How often everything is measured; medians are shown.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
}

#[derive(Args)]
struct AgentsArgs {
    /// Smaller sizes: shows that everything works, not how fast it is.
    #[arg(long)]
    quick: bool,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// How often everything is measured; medians are shown.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// Agents that work at the same time [default: 200, or 8 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    agents: Option<u32>,
    /// The program to measure [default: the one beside this one]
    #[arg(long, value_name = "PATH")]
    threadkeep: Option<PathBuf>,
}

#[derive(Args)]
struct EffectsArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// How often everything is measured; medians are shown.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
}

#[derive(Args)]
struct HttpArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// How often everything is measured; medians are shown.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// Measure these rows only
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    rows: Vec<String>,
    /// The program to measure [default: the one beside this one]
    #[arg(long, value_name = "PATH")]
    threadkeep: Option<PathBuf>,
    /// Appends and reads in a round, of all 64 clients together [default: 9600, or 640 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(64..=10_000_000))]
    appends: Option<u32>,
    /// Subscribers of one thread [default: 1000, or 20 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9_000))]
    subscribers: Option<u32>,
    /// Entries that each of them gets [default: 500, or 80 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(50..=100_000))]
    entries: Option<u32>,
    /// Threads in the folder on which a server starts [default: 100000, or 1000 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    threads: Option<u32>,
}

impl HttpArgs {
    fn measure(self) -> Result<()> {
        let mut sizes = http::Sizes::of(self.place.quick);
        for (size, named) in [
            (&mut sizes.appends, self.appends),
            (&mut sizes.subscribers, self.subscribers),
            (&mut sizes.entries, self.entries),
            (&mut sizes.threads, self.threads),
        ] {
            *size = named.map_or(*size, |named| named as usize);
        }
        let bench = self.place.bench(usize::from(self.rounds))?;
        http::measure(&bench, sizes, self.threadkeep, &self.rows, self.json)
    }
}

fn main() -> ExitCode {
    // The measured code runs in processes of this program.
    threadkeep::worker_if_asked();
    let done = match Cli::parse().command {
        Command::Engine(args) => measure(args),
        Command::Observe { place, json, behind } => {
            place.bench(1).and_then(|bench| rows::observe::measure(&bench, json, behind))
        }
        Command::List(args) => {
            let threads = args.threads.unwrap_or(if args.place.quick { 4_000 } else { 100_000 });
            args.place
                .bench(usize::from(args.rounds))
                .and_then(|bench| lists::measure(&bench, threads as usize, args.json))
        }
        Command::Http(args) => args.measure(),
        Command::Files(args) => {
            let mut sizes = files::Sizes::of(args.place.quick);
            sizes.files = args.files.map_or(sizes.files, |files| files as usize);
            args.place.bench(usize::from(args.rounds)).and_then(|bench| files::measure(&bench, &sizes, args.json))
        }
        Command::Search(args) => {
            let mut sizes = search::Sizes::of(args.place.quick);
            sizes.messages = args.messages.map_or(sizes.messages, |messages| messages as usize);
            args.place.bench(1).and_then(|bench| search::measure(&bench, &sizes, args.json))
        }
        Command::Scale(args) => scale::measure(&args),
        Command::Code(args) => {
            let sizes = code::Sizes::of(args.quick, usize::from(args.rounds));
            code::measure(&sizes, args.quick, args.json)
        }
        Command::Effects(args) => {
            let sizes = effects::Sizes::of(args.place.quick);
            args.place.bench(usize::from(args.rounds)).and_then(|bench| effects::measure(&bench, &sizes, args.json))
        }
        Command::Agents(args) => {
            let mut sizes = agents::Sizes::of(args.quick, usize::from(args.rounds));
            sizes.agents = args.agents.map_or(sizes.agents, |agents| agents as usize);
            agents::measure(&sizes, args.threadkeep, args.quick, args.json)
        }
        Command::Import(args) => {
            let sessions = args.sessions.unwrap_or(if args.place.quick { 100 } else { 10_000 });
            args.place.bench(1).and_then(|bench| import::measure(&bench, sessions as usize, args.json))
        }
        Command::SearchEval(args) => search_eval::evaluate(&args),
        Command::Memory { place } => place.bench(1).and_then(|bench| rows::memory::work(&bench)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let cause = error.source().map_or(String::new(), |cause| format!(": {cause}"));
            eprintln!("error: {error}{cause}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: EngineArgs) -> Result<()> {
    let is_server = args.place.is_server();
    let rows = rows::named(&args.rows, is_server)?;
    let bench = args.place.bench(usize::from(args.rounds))?;
    let mut report = Report::to(std::io::stdout().lock(), args.json);
    report.begin(&bench)?;
    for row in rows {
        report.lines(&(row.measure)(&bench)?)?;
    }
    report.end()
}

impl PlaceArgs {
    fn is_server(&self) -> bool {
        self.store.as_deref().is_some_and(|url| url.starts_with("postgres://") || url.starts_with("postgresql://"))
    }

    fn bench(&self, rounds: usize) -> Result<Bench> {
        match self.store.as_deref() {
            None => Bench::on_files(None, self.quick, rounds),
            Some(url) if self.is_server() => Bench::on_server(url, self.quick, rounds),
            Some(url) => match url.strip_prefix("sqlite:") {
                Some(path) if !path.is_empty() => Bench::on_files(Some(Path::new(path)), self.quick, rounds),
                // The value may hold a password, so it is not shown.
                _ => Err("--store cannot be measured: use sqlite:FOLDER or postgres://user@host/database".into()),
            },
        }
    }
}

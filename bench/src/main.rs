//! Measures Threadkeep beside hand-written code, in one run.
//!
//! `rows` has a file for each thing that is measured, `opponents` what it is measured beside, `meter` the instruments
//! and `report` the table. The README says how to read it.

mod bench;
mod meter;
mod opponents;
mod ours;
mod report;
mod rows;
mod world;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::bench::Bench;
use crate::report::Report;

/// Whatever goes wrong here ends the run.
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
    /// Works as a program that embeds Threadkeep, and says how much memory that took.
    #[command(hide = true)]
    Memory {
        /// The folder for the store.
        folder: PathBuf,
        /// Smaller sizes.
        #[arg(long)]
        quick: bool,
    },
}

#[derive(Args)]
struct EngineArgs {
    /// The store to measure. Only `sqlite:FOLDER` for now: files are made in a folder in there, and removed.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// Smaller sizes: shows that everything works, not how fast it is.
    #[arg(long)]
    quick: bool,
    /// How often everything is measured; medians are shown.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// Only these rows.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    rows: Vec<String>,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Engine(args) => measure(args),
        Command::Memory { folder, quick } => rows::memory::work(&folder, quick),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: EngineArgs) -> Result<()> {
    let rows = rows::named(&args.rows)?;
    let folder = args.store.as_deref().map(folder_of).transpose()?;
    let bench = Bench::new(folder, args.quick, usize::from(args.rounds))?;
    let mut report = Report::to(std::io::stdout().lock(), args.json);
    report.begin(&bench)?;
    for row in rows {
        report.lines(&(row.measure)(&bench)?)?;
    }
    report.end()
}

fn folder_of(url: &str) -> Result<&Path> {
    match url.strip_prefix("sqlite:") {
        Some(path) if !path.is_empty() => Ok(Path::new(path)),
        _ => Err(format!("'{url}' cannot be measured yet: use sqlite:FOLDER").into()),
    }
}

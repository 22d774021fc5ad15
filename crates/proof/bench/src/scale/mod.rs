//! `scale`: a store as large as that of a team beside a small one, in one run.
//!
//! `generate` and `build` make the stores, `site` keeps, copies and serves them, `ask` is the client; each of the others
//! measures some rows, and `table` prints the numbers of both stores with their ratio.

mod ask;
mod build;
mod busy;
mod chain;
mod generate;
mod lists;
mod search;
mod site;
mod sizes;
mod soak;
mod table;
mod upkeep;
mod write;
mod writers;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use self::site::Site;
use self::sizes::Sizes;
use self::table::{Measured, Table};
use crate::http::serving;
use crate::{PlaceArgs, Result};

/// What is measured, and how.
#[derive(Args)]
pub(crate) struct ScaleArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// Measure these rows only
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    rows: Vec<String>,
    /// The program to measure [default: the one beside this one]
    #[arg(long, value_name = "PATH")]
    threadkeep: Option<PathBuf>,
    /// Threads of the large store [default: 100000, or 600 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(30..=10_000_000))]
    threads: Option<u32>,
    /// Messages of the large store, three for each thread or more [default: 1270000, or 4000 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(90..=100_000_000))]
    messages: Option<u32>,
    /// How many times smaller the small store is [default: 100, or 10 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    part: Option<u32>,
    /// Keeps built stores in this folder, and uses those that are there; each run measures copies. SQLite only.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// Something that is measured, by its name.
type Row = (&'static str, fn(&Site) -> Result<Vec<Measured>>);

/// In this order: the last one changes the store too much for others.
const ROWS: [Row; 13] = [
    ("search-first", search::first),
    ("search-warm", search::warm),
    ("busy", busy::beside_reads),
    ("list", lists::lists),
    ("tree", lists::family),
    ("upkeep", upkeep::upkeep),
    ("busy-upkeep", busy::beside_upkeep),
    ("soak", soak::soak),
    ("write", write::measure),
    ("list-after", lists::lists),
    ("chain", chain::measure),
    ("writers", writers::measure),
    ("gc", upkeep::gc),
];

/// Builds both stores, measures `rows`, or all of them, and prints the results.
pub(crate) fn measure(args: &ScaleArgs) -> Result<()> {
    let rows = named(&args.rows)?;
    let quick = args.place.quick;
    let [threads, messages, part] = if quick { [600, 4_000, 10] } else { [100_000, 1_270_000, 100] };
    let threads = args.threads.unwrap_or(threads) as usize;
    let messages = args.messages.unwrap_or(messages) as usize;
    let part = args.part.unwrap_or(part) as usize;
    let large = Sizes::of(threads, messages)?;
    let small = Sizes::of(threads / part, messages / part)
        .map_err(|error| format!("the small store is 1/{part} of the large one (--part): {error}"))?;
    let program = serving::program(args.threadkeep.as_deref())?;
    if args.place.is_server() {
        if args.keep.is_some() {
            return Err("--keep works with SQLite only".into());
        }
        if args.place.store.as_deref().is_some_and(|url| url.contains("schema=")) {
            return Err("--store must not name a schema: each of both stores has its own".into());
        }
    }
    let mut table = Table::to(std::io::stdout().lock(), args.json, quick);
    let mut sites = Vec::new();
    for sizes in [small, large] {
        let begun = Instant::now();
        let bench = args.place.bench(1)?;
        let about = bench.about()?;
        sites.push(Site::prepare(bench, &program, sizes, part as f64, args.keep.as_deref())?);
        let Sizes { threads, messages, long, forks, files } = sizes;
        table.say(&format!(
            "{threads} threads, {messages} messages, {long} of them in one thread, {forks} forks of one thread, {files} \
             files: ready after {:.1} s; {about}",
            begun.elapsed().as_secs_f64()
        ))?;
    }
    if quick {
        table.say("--quick: small sizes, to show that everything works. The aims are for full sizes.")?;
    }
    table.begin()?;
    for (name, row) in rows {
        let small = row(&sites[0])?;
        table.row(name, &small, &row(&sites[1])?)?;
    }
    table.end()
}

/// The rows of these names; all of them if there is none.
fn named(names: &[String]) -> Result<Vec<Row>> {
    if let Some(unknown) = names.iter().find(|name| ROWS.iter().all(|(row, _)| row != name)) {
        let known = ROWS.map(|(row, _)| row).join(", ");
        return Err(format!("there is no row '{unknown}': {known}").into());
    }
    Ok(ROWS.into_iter().filter(|(row, _)| names.is_empty() || names.iter().any(|name| name == row)).collect())
}

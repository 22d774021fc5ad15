//! The rows of the table, a file for each thing that is measured.

mod append;
mod chain;
mod context;
mod feed;
mod fork;
mod history;
mod list;
pub(crate) mod memory;
pub(crate) mod observe;
mod read;
mod rest;
mod secrets;

use crate::Result;
use crate::bench::{Bench, Keeper, Load, SLICES};
use crate::meter::Spent;
use crate::report::{Line, Series, Unit};

/// Something that is measured.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) measure: fn(&Bench) -> Result<Vec<Line>>,
}

const ON_FILES: &[Row] = &[
    Row { name: append::ALONE, measure: append::alone },
    Row { name: append::BY_64, measure: |bench| append::many(bench, append::BY_64, 64) },
    Row { name: secrets::NAME, measure: secrets::measure },
    Row { name: history::NAME, measure: history::measure },
    Row { name: fork::NAME, measure: fork::measure },
    Row { name: read::NAME, measure: read::measure },
    Row { name: context::NAME, measure: context::measure },
    Row { name: chain::NAME, measure: chain::measure },
    Row { name: list::NAME, measure: list::measure },
    Row { name: rest::NAME, measure: rest::measure },
    Row { name: memory::NAME, measure: memory::measure },
];

const ON_A_SERVER: &[Row] = &[
    Row { name: append::ALONE, measure: append::alone },
    Row { name: append::BY_8, measure: |bench| append::many(bench, append::BY_8, 8) },
    Row { name: append::BY_32, measure: |bench| append::many(bench, append::BY_32, 32) },
    Row { name: secrets::NAME, measure: secrets::measure },
    Row { name: history::NAME, measure: history::measure },
    Row { name: fork::NAME, measure: fork::measure },
    Row { name: read::NAME, measure: read::measure },
    Row { name: context::NAME, measure: context::measure },
    Row { name: chain::NAME, measure: chain::measure },
    Row { name: list::NAME, measure: list::measure },
    Row { name: rest::NAME, measure: rest::measure },
    Row { name: memory::NAME, measure: memory::measure },
    Row { name: feed::NAME, measure: feed::measure },
];

/// The rows of these names; all of them if there is none.
pub(crate) fn named(names: &[String], on_server: bool) -> Result<Vec<&'static Row>> {
    let rows = if on_server { ON_A_SERVER } else { ON_FILES };
    if let Some(unknown) = names.iter().find(|name| rows.iter().all(|row| row.name != **name)) {
        let known = rows.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
        return Err(format!("there is no row '{unknown}': {known}").into());
    }
    Ok(rows.iter().filter(|row| names.is_empty() || names.iter().any(|name| name == row.name)).collect())
}

/// Lets each keeper do its load once a round, slice by slice in turn, and another one first each time.
fn interleave(bench: &Bench, keepers: &[(&dyn Keeper, Load)]) -> Result<Vec<Vec<Spent>>> {
    let mut rounds = vec![vec![Spent::default(); bench.rounds]; keepers.len()];
    for slice in 0..bench.rounds * SLICES {
        for n in 0..keepers.len() {
            let at = (slice + n) % keepers.len();
            let (keeper, load) = keepers[at];
            rounds[at][slice / SLICES] += keeper.measure(bench, load.slice())?;
        }
    }
    Ok(rounds)
}

/// One number of the cost.
type Number = fn(&Spent) -> f64;

/// One number of each round.
fn series(spent: &[Spent], number: Number) -> Series {
    spent.iter().map(number).collect()
}

/// A number of ours beside that of those who come after us in `spent`.
fn line(row: &'static str, measure: String, unit: Unit, spent: &[Vec<Spent>], number: Number) -> Line {
    let of = |at: usize| spent.get(at).map(|spent| series(spent, number));
    Line::new(row, measure, unit, series(&spent[0], number)).by_hand(series(&spent[1], number)).json_lines(of(2))
}

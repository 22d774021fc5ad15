//! The rows of the table, a file for each thing that is measured.

mod append;
mod chain;
mod fork;
mod history;
mod list;
pub(crate) mod memory;
mod read;
mod rest;

use crate::Result;
use crate::bench::{Bench, Keeper, Load, SLICES};
use crate::meter::Spent;
use crate::report::{Line, Series};

/// Something that is measured.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) measure: fn(&Bench) -> Result<Vec<Line>>,
}

const ROWS: [Row; 9] = [
    Row { name: append::ALONE, measure: append::alone },
    Row { name: append::MANY, measure: append::many },
    Row { name: history::NAME, measure: history::measure },
    Row { name: fork::NAME, measure: fork::measure },
    Row { name: read::NAME, measure: read::measure },
    Row { name: chain::NAME, measure: chain::measure },
    Row { name: list::NAME, measure: list::measure },
    Row { name: rest::NAME, measure: rest::measure },
    Row { name: memory::NAME, measure: memory::measure },
];

/// The rows of these names; all of them if there is none.
pub(crate) fn named(names: &[String]) -> Result<Vec<&'static Row>> {
    if let Some(unknown) = names.iter().find(|name| ROWS.iter().all(|row| row.name != **name)) {
        let known = ROWS.map(|row| row.name).join(", ");
        return Err(format!("there is no row '{unknown}': {known}").into());
    }
    Ok(ROWS.iter().filter(|row| names.is_empty() || names.iter().any(|name| name == row.name)).collect())
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

/// One number of each round.
fn series(spent: &[Spent], number: fn(&Spent) -> f64) -> Series {
    spent.iter().map(number).collect()
}

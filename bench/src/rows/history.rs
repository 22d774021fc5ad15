//! An append costs the same whatever history the thread has.

use super::{interleave, series};
use crate::Result;
use crate::bench::{Bench, Keeper, Load};
use crate::meter::Spent;
use crate::opponents::jsonl::JsonLines;
use crate::opponents::sqlite::ByHand;
use crate::ours::Ours;
use crate::report::{Aim, Line, Unit};

pub(super) const NAME: &str = "append-history";

/// Appends before anything is measured, so that what an append touches is in memory.
const WARM_UP: usize = 20;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let room = bench.room()?;
    let load = Load { clients: 1, threads: 1, each: bench.sizes.appends_alone };
    let mut keepers: Vec<Box<dyn Keeper>> = Vec::new();
    for size in bench.sizes.histories {
        let path = |name: &str| room.path().join(format!("{name}-{size}"));
        let ours = Ours::with_threads(bench, &path("ours"), 1)?;
        ours.fill(bench, ours.threads[0], size)?;
        let thread = ours.threads[0];
        drop(ours);
        let by_hand = ByHand::with_threads(&path("by-hand"), 1)?;
        by_hand.fill(bench, size)?;
        by_hand.settle()?;
        let json_lines = JsonLines::with_threads(&path("jsonl"), 1)?;
        json_lines.fill(size)?;
        keepers.push(Box::new(Ours::reopen(&path("ours"), thread)?));
        keepers.push(Box::new(by_hand));
        keepers.push(Box::new(json_lines));
    }
    for keeper in &keepers {
        keeper.append(bench, Load { each: WARM_UP, ..load })?;
    }
    let loads: Vec<_> = keepers.iter().map(|keeper| (&**keeper, load)).collect();
    let spent = interleave(bench, &loads)?;
    let (first, mut lines) = (&spent[..3], Vec::new());
    for (size, rounds) in bench.sizes.histories.into_iter().zip(spent.chunks(3)) {
        let line = |measure: &str, unit, number: fn(&Spent) -> f64| {
            let measure = format!("at {size} messages: {measure} an append");
            Line::new(NAME, measure, unit, series(&rounds[0], number)).by_hand(series(&rounds[1], number))
        };
        lines.push(line("pages read and written", Unit::Pages, Spent::pages));
        lines.push(line("CPU", Unit::Micros, Spent::cpu).json_lines(series(&rounds[2], Spent::cpu)));
        if size == bench.sizes.histories[0] {
            continue;
        }
        let beside_first = |measure: &str, number: fn(&Spent) -> f64| {
            let measure = format!("at {size} messages: {measure} beside {}", bench.sizes.histories[0]);
            let beside = |who: usize| series(&rounds[who], number).over(&series(&first[who], number));
            Line::new(NAME, measure, Unit::Times, beside(0)).by_hand(beside(1))
        };
        lines.push(beside_first("pages", Spent::pages).aim(Aim::AtMost(1.05)));
        lines.push(beside_first("CPU", Spent::cpu).aim(Aim::AtMost(1.25)));
    }
    Ok(lines)
}

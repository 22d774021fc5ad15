//! The cost of an append does not depend on the thread's history.

use super::{Number, interleave, line, series};
use crate::Result;
use crate::bench::{Bench, Keeper, Load};
use crate::meter::Spent;
use crate::opponents::{by_hand, json_lines};
use crate::ours::Ours;
use crate::report::{Aim, Line, Unit};

pub(super) const NAME: &str = "append-history";

/// Appends before anything is measured, so that the pages an append touches are in memory.
const WARM_UP: usize = 20;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let room = bench.room()?;
    let load = Load { clients: 1, threads: 1, each: bench.sizes.appends_alone };
    let mut keepers: Vec<Box<dyn Keeper>> = Vec::new();
    for size in bench.sizes.histories {
        let name = |keeper: &str| format!("{keeper}-{size}");
        let place = room.place(&name("ours"));
        let ours = Ours::with_threads(bench, &place, 1)?;
        let thread = ours.threads[0];
        ours.fill(bench, thread, size)?;
        drop(ours);
        let by_hand = by_hand(&room, &name("by-hand"), 1)?;
        by_hand.fill(bench, size)?;
        keepers.push(Box::new(Ours::reopen(&place, thread)?));
        keepers.push(by_hand);
        if let Some(json_lines) = json_lines(&room, &name("jsonl"), 1)? {
            json_lines.fill(size)?;
            keepers.push(Box::new(json_lines));
        }
    }
    room.settle()?;
    for keeper in &keepers {
        keeper.append(bench, Load { each: WARM_UP, ..load })?;
    }
    let loads: Vec<_> = keepers.iter().map(|keeper| (&**keeper, load)).collect();
    let spent = interleave(bench, &loads)?;
    let contenders = keepers.len() / bench.sizes.histories.len();
    let (first, mut lines) = (&spent[..contenders], Vec::new());
    // A server has its pages and most of the CPU for itself; only the time it takes can be seen.
    let measures: [(&str, Unit, Number, f64); 2] = match bench.is_on_server() {
        false => [("pages", Unit::Pages, Spent::pages, 1.05), ("CPU", Unit::Micros, Spent::cpu, 1.25)],
        true => [("time", Unit::Micros, Spent::time, 1.25), ("CPU", Unit::Micros, Spent::cpu, 1.25)],
    };
    for (size, rounds) in bench.sizes.histories.into_iter().zip(spent.chunks(contenders)) {
        for (measure, unit, number, _) in measures {
            let line = |measure| line(NAME, format!("at {size} messages: {measure} an append"), unit, rounds, number);
            // Lines of JSON are not written in pages.
            let is_pages = unit == Unit::Pages;
            lines.push(if is_pages { line("pages read and written").json_lines(None) } else { line(measure) });
        }
        if size == bench.sizes.histories[0] {
            continue;
        }
        for (measure, _, number, most) in measures {
            let measure = format!("at {size} messages: {measure} beside {}", bench.sizes.histories[0]);
            let beside = |who: usize| series(&rounds[who], number).over(&series(&first[who], number));
            lines.push(Line::new(NAME, measure, Unit::Times, beside(0)).by_hand(beside(1)).aim(Aim::AtMost(most)));
        }
    }
    Ok(lines)
}

//! Durable appends of 1 KiB: one writer; many writers on as many threads; many writers on one thread.

use super::{interleave, series};
use crate::Result;
use crate::bench::{Bench, CLIENTS, Keeper, Load};
use crate::meter::Spent;
use crate::opponents::jsonl::JsonLines;
use crate::opponents::sqlite::ByHand;
use crate::ours::Ours;
use crate::report::{Aim, Line, Unit};

pub(super) const ALONE: &str = "append-1";
pub(super) const MANY: &str = "append-64";

/// Appends before anything is measured.
const WARM_UP: usize = 3;

/// Ours, and those it is measured beside, on the same threads.
struct Contenders {
    ours: Ours,
    by_hand: ByHand,
    json_lines: JsonLines,
    _room: tempfile::TempDir,
}

impl Contenders {
    fn new(bench: &Bench, threads: usize) -> Result<Self> {
        let room = bench.room()?;
        let contenders = Self {
            ours: Ours::with_threads(bench, &room.path().join("ours.db"), threads)?,
            by_hand: ByHand::with_threads(&room.path().join("by-hand.db"), threads)?,
            json_lines: JsonLines::with_threads(&room.path().join("jsonl"), threads)?,
            _room: room,
        };
        let warm_up = Load { clients: threads, threads, each: WARM_UP };
        contenders.ours.append(bench, warm_up)?;
        contenders.by_hand.append(bench, warm_up)?;
        contenders.json_lines.append(bench, Load { clients: 1, ..warm_up })?;
        Ok(contenders)
    }

    /// Each with its own number of appends a client: who syncs each of them alone does fewer.
    fn loads(&self, load: Load, synced_each: usize) -> [(&dyn Keeper, Load); 3] {
        [(&self.ours, load), (&self.by_hand, load), (&self.json_lines, Load { each: synced_each, ..load })]
    }
}

pub(super) fn alone(bench: &Bench) -> Result<Vec<Line>> {
    let contenders = Contenders::new(bench, 1)?;
    let load = Load { clients: 1, threads: 1, each: bench.sizes.appends_alone };
    let spent = interleave(bench, &contenders.loads(load, load.each))?;
    let line = |measure, unit, number: fn(&Spent) -> f64| {
        Line::new(ALONE, format!("1 writer: {measure}"), unit, series(&spent[0], number))
            .by_hand(series(&spent[1], number))
            .json_lines(series(&spent[2], number))
    };
    Ok(vec![
        line("syncs an append", Unit::Syncs, Spent::syncs).aim(Aim::About(1.0)),
        line("CPU an append", Unit::Micros, Spent::cpu).aim(Aim::AtMost(200.0)),
        line("appends", Unit::PerSecond, Spent::rate),
    ])
}

pub(super) fn many(bench: &Bench) -> Result<Vec<Line>> {
    let contenders = Contenders::new(bench, CLIENTS)?;
    let spread = Load { clients: CLIENTS, threads: CLIENTS, each: bench.sizes.appends_each };
    let hot = Load { threads: 1, ..spread };
    let synced = bench.sizes.appends_each_synced;
    let loads: Vec<_> = contenders.loads(spread, synced).into_iter().chain(contenders.loads(hot, synced)).collect();
    let spent = interleave(bench, &loads)?;
    let (spread, hot) = spent.split_at(3);
    let lines = |on: &str, spent: &[Vec<Spent>]| {
        let line = |measure, unit, number: fn(&Spent) -> f64| {
            Line::new(MANY, format!("64 writers on {on}: {measure}"), unit, series(&spent[0], number))
                .by_hand(series(&spent[1], number))
                .json_lines(series(&spent[2], number))
        };
        [
            line("syncs an append", Unit::Syncs, Spent::syncs).aim(Aim::AtMost(0.1)),
            line("CPU an append", Unit::Micros, Spent::cpu).aim(Aim::AtMost(60.0)),
            line("appends", Unit::PerSecond, Spent::rate).aim(Aim::ByHandTimes(0.7)),
        ]
    };
    let rates = |spent: &[Spent]| series(spent, Spent::rate);
    let beside = Line::new(
        MANY,
        "64 writers: appends on 1 thread beside those on 64",
        Unit::Times,
        rates(&hot[0]).over(&rates(&spread[0])),
    )
    .by_hand(rates(&hot[1]).over(&rates(&spread[1])))
    .aim(Aim::AtLeast(0.5));
    Ok(lines("64 threads", spread).into_iter().chain(lines("1 thread", hot)).chain([beside]).collect())
}

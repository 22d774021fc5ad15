//! Durable appends of 1 KiB: one writer; many writers on as many threads; many writers on one thread.

use super::{interleave, line, series};
use crate::Result;
use crate::bench::{Bench, Keeper, Load, Room};
use crate::meter::Spent;
use crate::opponents::{ByHand, JsonLines, by_hand, json_lines};
use crate::ours::Ours;
use crate::report::{Aim, Line, Unit};

pub(super) const ALONE: &str = "append-1";
pub(super) const BY_8: &str = "append-8";
pub(super) const BY_32: &str = "append-32";
pub(super) const BY_64: &str = "append-64";

/// Appends before anything is measured.
const WARM_UP: usize = 3;

/// Ours, and those it is measured beside, on the same threads.
struct Contenders {
    ours: Ours,
    by_hand: Box<dyn ByHand>,
    json_lines: Option<JsonLines>,
    _room: Room,
}

impl Contenders {
    fn new(bench: &Bench, threads: usize) -> Result<Self> {
        let room = bench.room()?;
        let contenders = Self {
            ours: Ours::with_threads(bench, &room.place("ours.db"), threads)?,
            by_hand: by_hand(&room, "by-hand.db", threads)?,
            json_lines: json_lines(&room, "jsonl", threads)?,
            _room: room,
        };
        let warm_up = Load { clients: threads, threads, each: WARM_UP };
        contenders.ours.append(bench, warm_up)?;
        contenders.by_hand.append(bench, warm_up)?;
        if let Some(json_lines) = &contenders.json_lines {
            json_lines.append(bench, Load { clients: 1, ..warm_up })?;
        }
        Ok(contenders)
    }

    /// Each with its own number of appends a client: who syncs each of them alone does fewer.
    fn loads(&self, load: Load, by_hand_each: usize, json_lines_each: usize) -> Vec<(&dyn Keeper, Load)> {
        let each = |each: usize| Load { each, ..load };
        let mut loads: Vec<(&dyn Keeper, Load)> = vec![(&self.ours, load), (&*self.by_hand, each(by_hand_each))];
        loads.extend(self.json_lines.iter().map(|lines| (lines as &dyn Keeper, each(json_lines_each))));
        loads
    }
}

pub(super) fn alone(bench: &Bench) -> Result<Vec<Line>> {
    let contenders = Contenders::new(bench, 1)?;
    let load = Load { clients: 1, threads: 1, each: bench.sizes.appends_alone };
    let spent = interleave(bench, &contenders.loads(load, load.each, load.each))?;
    let line = |measure, unit, number| line(ALONE, format!("1 writer: {measure}"), unit, &spent, number);
    let syncs = line("syncs an append", Unit::Syncs, Spent::syncs).aim(Aim::About(1.0));
    let cpu = line("CPU an append", Unit::Micros, Spent::cpu);
    let rate = line("appends", Unit::PerSecond, Spent::rate);
    Ok(match bench.is_on_server() {
        false => vec![syncs, cpu.aim(Aim::AtMost(200.0)), rate],
        true => vec![cpu, rate.aim(Aim::ByHandTimes(0.7))],
    })
}

/// This many writers, on as many threads and on one.
pub(super) fn many(bench: &Bench, row: &'static str, writers: usize) -> Result<Vec<Line>> {
    let contenders = Contenders::new(bench, writers)?;
    let spread = Load { clients: writers, threads: writers, each: bench.sizes.appends_each };
    let hot = Load { threads: 1, ..spread };
    let (each, synced) = (spread.each, bench.sizes.appends_each_synced);
    // On a server, those who write by hand to one thread wait for each other's commits.
    let hot_by_hand = if bench.is_on_server() { each.div_ceil(4) } else { each };
    let on_many = contenders.loads(spread, each, synced);
    let on_one = contenders.loads(hot, hot_by_hand, synced);
    let keepers = on_many.len();
    let spent = interleave(bench, &[on_many, on_one].concat())?;
    let (spread, hot) = spent.split_at(keepers);
    let lines = |on: &str, spent: &[Vec<Spent>]| {
        let line =
            |measure, unit, number| line(row, format!("{writers} writers on {on}: {measure}"), unit, spent, number);
        let syncs = line("syncs an append", Unit::Syncs, Spent::syncs).aim(Aim::AtMost(0.1));
        let cpu = line("CPU an append", Unit::Micros, Spent::cpu);
        let rate = line("appends", Unit::PerSecond, Spent::rate).aim(Aim::ByHandTimes(0.7));
        match bench.is_on_server() {
            false => vec![syncs, cpu.aim(Aim::AtMost(60.0)), rate],
            true => vec![cpu, rate],
        }
    };
    let rates = |spent: &[Spent]| series(spent, Spent::rate);
    let beside = Line::new(
        row,
        format!("{writers} writers: appends on 1 thread beside those on {writers}"),
        Unit::Times,
        rates(&hot[0]).over(&rates(&spread[0])),
    )
    .by_hand(rates(&hot[1]).over(&rates(&spread[1])))
    .aim(Aim::AtLeast(0.5));
    let on_many = lines(&format!("{writers} threads"), spread);
    Ok(on_many.into_iter().chain(lines("1 thread", hot)).chain([beside]).collect())
}

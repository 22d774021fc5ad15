//! Reading a long thread: its newest messages, and all of it.

use crate::Result;
use crate::bench::{Bench, CLIENTS};
use crate::meter::typical_micros;
use crate::opponents::{by_hand, json_lines};
use crate::ours::{Ours, expect_count};
use crate::report::{Aim, Line, Series, Unit};

pub(super) const NAME: &str = "read";

/// Messages in a page of the newest.
const NEWEST: usize = 50;
/// One read of everything for this many reads of the newest.
const ALL_EACH: usize = 20;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let mut lines = measure_among(bench, 1, "written alone", [30.0, 10_000.0])?;
    let others = format!("interleaved with {} others", CLIENTS - 1);
    lines.extend(measure_among(bench, CLIENTS, &others, [200.0, 30_000.0])?);
    Ok(lines)
}

/// A thread among this many that were written at the same time.
fn measure_among(bench: &Bench, threads: usize, how: &str, aims: [f64; 2]) -> Result<Vec<Line>> {
    let messages = bench.sizes.messages;
    let room = bench.room()?;
    let place = room.place("ours.db");
    let ours = Ours::with_threads(bench, &place, threads)?;
    ours.fill_interleaved(bench, messages)?;
    let at = threads / 2;
    let thread = ours.threads[at];
    drop(ours);
    let by_hand = by_hand(&room, "by-hand.db", threads)?;
    by_hand.fill(bench, messages)?;
    // Its files do not know of each other, so one is enough.
    let json_lines = json_lines(&room, "jsonl", 1)?;
    if let Some(json_lines) = &json_lines {
        json_lines.fill(messages)?;
    }
    room.settle()?;
    let ours = Ours::reopen(&place, thread)?;

    let [mut last, mut all] = [(); 2].map(|()| [(); 3].map(|()| Series::default()));
    let (times, times_all) = (bench.sizes.reads, bench.sizes.reads.div_ceil(ALL_EACH));
    for _ in 0..bench.rounds {
        last[0].push(typical_micros(times, || ours.read_last(bench, thread, NEWEST))?);
        last[1].push(typical_micros(times, || expect_count(by_hand.read_last(at, NEWEST)?, NEWEST))?);
        all[0].push(typical_micros(times_all, || ours.read_all(bench, thread, messages))?);
        all[1].push(typical_micros(times_all, || expect_count(by_hand.read_all(at, messages)?, messages))?);
        if let Some(json_lines) = &json_lines {
            last[2].push(typical_micros(times, || expect_count(json_lines.read_last(0, NEWEST)?, NEWEST))?);
            all[2].push(typical_micros(times_all, || expect_count(json_lines.read_all(0)?, messages))?);
        }
    }
    let line = |measure: String, [ours, by_hand, lines]: [Series; 3], aim| {
        Line::new(NAME, measure, Unit::Micros, ours)
            .by_hand(by_hand)
            .json_lines(json_lines.is_some().then_some(lines))
            .aim_if(!bench.is_on_server(), Aim::AtMost(aim))
    };
    Ok(vec![
        line(format!("last {NEWEST} of {messages} messages, {how}"), last, aims[0]),
        line(format!("all of {messages} messages, {how}"), all, aims[1]),
    ])
}

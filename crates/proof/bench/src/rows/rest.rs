//! The size of a message on disk once everything is closed.

use crate::Result;
use crate::bench::{Bench, CLIENTS, TEXT_BYTES};
use crate::opponents::{by_hand, json_lines};
use crate::ours::Ours;
use crate::report::{Aim, Line, Series, Unit};

pub(super) const NAME: &str = "at-rest";

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let room = bench.room()?;
    let each = bench.sizes.at_rest.div_ceil(CLIENTS);
    let messages = (each * CLIENTS) as f64;
    let place = room.place("ours.db");
    Ours::with_threads(bench, &place, CLIENTS)?.fill_interleaved(bench, each)?;
    let by_hand = by_hand(&room, "by-hand.db", CLIENTS)?;
    by_hand.fill(bench, each)?;
    let json_lines = json_lines(&room, "jsonl", CLIENTS)?;
    if let Some(json_lines) = &json_lines {
        json_lines.fill(each)?;
    }
    room.settle()?;

    let measure = format!("bytes a message of {TEXT_BYTES}, {messages} over {CLIENTS} threads");
    let each = |bytes: u64| Series::from_iter([bytes as f64 / messages]);
    let line = Line::new(NAME, measure, Unit::Bytes, each(place.bytes()?))
        .by_hand(each(by_hand.bytes()?))
        .json_lines(json_lines.map(|json_lines| json_lines.bytes()).transpose()?.map(each));
    Ok(vec![line.aim_if(!bench.is_on_server(), Aim::AtMost(1_280.0))])
}

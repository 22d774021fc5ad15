//! What a message weighs on disk once everything is closed.

use crate::Result;
use crate::bench::{Bench, CLIENTS, TEXT_BYTES};
use crate::opponents::jsonl::JsonLines;
use crate::opponents::sqlite::ByHand;
use crate::ours::Ours;
use crate::report::{Aim, Line, Series, Unit};

pub(super) const NAME: &str = "at-rest";

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let room = bench.room()?;
    let each = bench.sizes.at_rest.div_ceil(CLIENTS);
    let messages = (each * CLIENTS) as f64;
    let [ours_path, by_hand_path] = ["ours.db", "by-hand.db"].map(|name| room.path().join(name));
    let size = |path: &std::path::Path| -> Result<Series> {
        Ok(Series::from_iter([std::fs::metadata(path)?.len() as f64 / messages]))
    };

    Ours::with_threads(bench, &ours_path, CLIENTS)?.fill_interleaved(bench, each)?;
    ByHand::with_threads(&by_hand_path, CLIENTS)?.fill(bench, each)?;
    let json_lines = JsonLines::with_threads(&room.path().join("jsonl"), CLIENTS)?;
    json_lines.fill(each)?;

    let measure = format!("bytes a message of {TEXT_BYTES}, {messages} over {CLIENTS} threads");
    Ok(vec![
        Line::new(NAME, measure, Unit::Bytes, size(&ours_path)?)
            .by_hand(size(&by_hand_path)?)
            .json_lines(Series::from_iter([json_lines.bytes()? as f64 / messages]))
            .aim(Aim::AtMost(1_280.0)),
    ])
}

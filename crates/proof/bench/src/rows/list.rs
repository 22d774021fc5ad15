//! Listing the threads that changed last.

use std::sync::Arc;

use threadkeep::{Create, List, MessageBody};

use crate::Result;
use crate::bench::{Bench, CLIENTS, text};
use crate::meter::typical_micros;
use crate::ours::{Ours, expect_count, join};
use crate::report::{Aim, Line, Series, Unit};
use crate::world::SteppingWorld;

pub(super) const NAME: &str = "list";

const NEWEST: usize = 50;
/// A new thread looks at the clock twice, so threads are six seconds apart.
const SPREAD_STEP_MICROS: i64 = 3_000_000;
/// All threads within one minute.
const CROWDED_STEP_MICROS: i64 = 1;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let spread = measure_with(bench, SPREAD_STEP_MICROS)?;
    let crowded = measure_with(bench, CROWDED_STEP_MICROS)?;
    let what = format!("{NEWEST} newest of {} threads", bench.sizes.threads);
    Ok(vec![
        Line::new(NAME, format!("{what}, made seconds apart"), Unit::Micros, spread)
            .aim_if(!bench.is_on_server(), Aim::AtMost(60.0)),
        Line::new(NAME, format!("{what}, worst case: all in one minute"), Unit::Micros, crowded)
            .aim_if(!bench.is_on_server(), Aim::AtMost(500.0)),
    ])
}

fn measure_with(bench: &Bench, step_micros: i64) -> Result<Series> {
    let room = bench.room()?;
    let world = Arc::new(SteppingWorld::by(step_micros));
    let ours = Ours::open_in(&room.place("ours.db"), world)?;
    let clients = (0..CLIENTS).map(|client| {
        let (engine, threads) = (ours.engine.clone(), bench.sizes.threads);
        bench.runtime.spawn(async move {
            for n in (client..threads).step_by(CLIENTS) {
                let create = Create::titled(&format!("Thread {n}")).message(MessageBody::user(text(n)));
                engine.create(create).await?;
            }
            Result::Ok(())
        })
    });
    join(bench, clients.collect())?;
    room.settle()?;
    let mut series = Series::default();
    for _ in 0..bench.rounds {
        series.push(typical_micros(bench.sizes.reads, || {
            let list = List { limit: Some(NEWEST), ..List::default() };
            expect_count(bench.runtime.block_on(ours.engine.list(list))?.items.len(), NEWEST)
        })?);
    }
    Ok(series)
}

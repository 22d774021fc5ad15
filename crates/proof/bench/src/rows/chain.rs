//! Reading at the end of a long chain of forks.

use threadkeep::{Fork, MessageBody};

use crate::Result;
use crate::bench::{Bench, text};
use crate::meter::typical_micros;
use crate::ours::{Ours, read_last};
use crate::report::{Aim, Line, Series, Unit};

pub(super) const NAME: &str = "chain";

/// Messages in the page that is read, and of the thread the chain begins with.
const NEWEST: usize = 50;
/// One cold read for this many warm ones.
const COLD_EACH: usize = 10;

/// The part that each thread adds to the chain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    WithMessage,
    Empty,
}

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let mut lines = measure_with(bench, Links::WithMessage, "with a message a link", 350.0)?;
    lines.extend(measure_with(bench, Links::Empty, "with empty links", 30.0)?);
    Ok(lines)
}

fn measure_with(bench: &Bench, links: Links, how: &str, warm_aim: f64) -> Result<Vec<Line>> {
    let room = bench.room()?;
    let ours = Ours::with_threads(bench, &room.place("ours.db"), 1)?;
    let mut thread = ours.threads[0];
    ours.fill(bench, thread, NEWEST)?;
    bench.runtime.block_on(async {
        for n in 0..bench.sizes.chain {
            thread = ours.engine.fork(thread, Fork::default()).await?.id;
            if links == Links::WithMessage {
                ours.engine.append(thread, MessageBody::user(text(n))).await?;
            }
        }
        Ok::<(), crate::Error>(())
    })?;
    room.settle()?;
    let (mut cold, mut warm) = (Series::default(), Series::default());
    for _ in 0..bench.rounds {
        let times = bench.sizes.reads.div_ceil(COLD_EACH);
        let engines: Vec<_> = (0..times).map(|_| ours.fresh_engine()).collect();
        let mut engines = engines.iter();
        cold.push(typical_micros(times, || read_last(bench, engines.next().expect("one a read"), thread, NEWEST))?);
        warm.push(typical_micros(bench.sizes.reads, || ours.read_last(bench, thread, NEWEST))?);
    }
    let what = format!("last {NEWEST} of a chain of {} forks {how}", bench.sizes.chain);
    let line = |when: &str, series, aim| {
        Line::new(NAME, format!("{what}: {when}"), Unit::Micros, series).aim_if(!bench.is_on_server(), Aim::AtMost(aim))
    };
    Ok(vec![line("cold lineage", cold, 5_000.0), line("warm", warm, warm_aim)])
}

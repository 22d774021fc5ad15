//! What a model is given costs the same, however long the thread is.

use threadkeep::Wanted;

use super::{Number, series};
use crate::Result;
use crate::bench::{Bench, SLICES};
use crate::meter::Spent;
use crate::ours::Ours;
use crate::report::{Aim, Line, Unit};

pub(super) const NAME: &str = "context";

/// Assemblies before anything is measured: afterwards tokens are counted already.
const WARM_UP: usize = 3;
/// Tokens of the conversation.
const TOKENS: u64 = 100_000;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for size in bench.sizes.conversations {
        let room = bench.room()?;
        let ours = Ours::with_threads(bench, &room.place("ours.db"), 1)?;
        ours.fill(bench, ours.threads[0], size)?;
        assemble(bench, &ours, WARM_UP)?;
        let mut spent = vec![Spent::default(); bench.rounds];
        let each = bench.sizes.reads.div_ceil(SLICES).min(10);
        for slice in 0..bench.rounds * SLICES {
            spent[slice / SLICES] += Spent::on(each, || assemble(bench, &ours, each))?;
        }
        let line = |measure: &str, number: Number| {
            let measure = format!("at {size} messages, {TOKENS} tokens: {measure}");
            Line::new(NAME, measure, Unit::Micros, series(&spent, number))
        };
        lines.push(line("CPU", Spent::cpu).aim(Aim::AtMost(30_000.0)));
        lines.push(line("time", Spent::time));
    }
    Ok(lines)
}

fn assemble(bench: &Bench, ours: &Ours, times: usize) -> Result<()> {
    let (engine, thread) = (ours.engine.clone(), ours.threads[0]);
    bench.runtime.block_on(bench.runtime.spawn(async move {
        let wanted = Wanted { tokens: TOKENS, ..Wanted::default() };
        for _ in 0..times {
            let thread = engine.thread(thread).await?;
            let told = engine.conversation(&thread, None, &wanted).await?;
            if told.messages.is_empty() {
                return Err("a model is given nothing".into());
            }
        }
        Result::Ok(())
    }))?
}

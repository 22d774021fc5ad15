//! The cost of a fork does not depend on the thread's history, also if messages were edited and deleted later.

use threadkeep::model::{Content, MessageId};
use threadkeep::{DeleteMessage, EditMessage, Fork, Page, ThreadId};

use super::{Number, series};
use crate::Result;
use crate::bench::{Bench, Keeper, Load, Place, SLICES};
use crate::meter::Spent;
use crate::ours::Ours;
use crate::report::{Aim, Line, Series, Unit};

pub(super) const NAME: &str = "fork";

/// Forks and appends before anything is measured.
const WARM_UP: usize = 5;
/// One message in this many is edited or deleted…
const CHANGED_EACH: usize = 10;
/// …but no more than this many of a long history.
const CHANGES_MAX: usize = 1_000;

/// The changes to a thread after its messages were appended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Later {
    Nothing,
    EditsAndDeletions,
}

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for size in bench.sizes.histories {
        for later in [Later::Nothing, Later::EditsAndDeletions] {
            lines.extend(measure_at(bench, size, later)?);
        }
    }
    Ok(lines)
}

fn measure_at(bench: &Bench, size: usize, later: Later) -> Result<Vec<Line>> {
    let room = bench.room()?;
    // Forks and appends have a thread each, and a file each: the growth of the one is that of the forks alone.
    let [forked, appended] = ["forked.db", "appended.db"].map(|name| room.place(name));
    let (to_fork, changes) = build(bench, &forked, size, later)?;
    let (to_append, _) = build(bench, &appended, size, later)?;
    room.settle()?;
    let bytes_before = forked.bytes()?;
    let load = Load { clients: 1, threads: 1, each: bench.sizes.appends_alone / 2 };

    let forks = Ours::reopen(&forked, to_fork)?;
    let appends = Ours::reopen(&appended, to_append)?;
    let mut copied_bytes = fork(bench, &forks, size, WARM_UP)?;
    appends.append(bench, Load { each: WARM_UP, ..load })?;
    let [mut fork_spent, mut append_spent] = [(); 2].map(|()| vec![Spent::default(); bench.rounds]);
    let forks_each = bench.sizes.forks.div_ceil(SLICES);
    for slice in 0..bench.rounds * SLICES {
        append_spent[slice / SLICES] += appends.measure(bench, load.slice())?;
        fork_spent[slice / SLICES] += Spent::on(forks_each, || {
            copied_bytes += fork(bench, &forks, size, forks_each)?;
            Ok(())
        })?;
    }
    drop((forks, appends));
    let at = match later {
        Later::Nothing => format!("at {size} messages"),
        Later::EditsAndDeletions => format!("at {size} messages, {changes} edits and deletions later"),
    };
    let line = |measure: &str, unit, ours| Line::new(NAME, format!("{at}: {measure}"), unit, ours);
    let [times, cpus]: [Number; 2] = [Spent::time, Spent::cpu];
    let cpu = line("CPU", Unit::Micros, series(&fork_spent, cpus)).aim_if(!bench.is_on_server(), Aim::AtMost(300.0));
    let beside = |measure: &str, number| {
        let beside = series(&fork_spent, number).over(&series(&append_spent, number));
        line(&format!("{measure} beside an append"), Unit::Times, beside).aim(Aim::AtMost(2.0))
    };
    if bench.is_on_server() {
        let time = line("time", Unit::Micros, series(&fork_spent, times));
        return Ok(vec![time, cpu, beside("time", times)]);
    }
    let forks = WARM_UP + bench.rounds * SLICES * forks_each;
    let bytes = ((forked.bytes()? - bytes_before) as f64 - copied_bytes as f64) / forks as f64;
    Ok(vec![
        line("syncs", Unit::Syncs, series(&fork_spent, Spent::syncs)).aim(Aim::About(1.0)),
        cpu,
        beside("CPU", cpus),
        line("bytes beyond the record", Unit::Bytes, Series::from_iter([bytes])).aim(Aim::AtMost(768.0)),
    ])
}

/// Makes a thread of `size` messages, and closes its store. Says how many of them were changed later.
fn build(bench: &Bench, place: &Place, size: usize, later: Later) -> Result<(ThreadId, usize)> {
    let ours = Ours::with_threads(bench, place, 1)?;
    let thread = ours.threads[0];
    ours.fill(bench, thread, size)?;
    if later == Later::Nothing {
        return Ok((thread, 0));
    }
    let changes = (size / CHANGED_EACH).clamp(2, CHANGES_MAX);
    let first = bench.runtime.block_on(ours.engine.messages(thread, Page::first().limit(1)))?;
    let first = first.items.first().ok_or("there is no message")?.id;
    bench.runtime.block_on(async {
        for n in 0..changes {
            // Batches give positions without gaps, so the messages are spread evenly over the whole thread.
            let step = (n * size / changes) as u64;
            let message = MessageId { position: threadkeep::Position(first.position.0 + step), ..first };
            if n % 2 == 0 {
                let edit = EditMessage::content(message, Content::text("Said better."));
                ours.engine.edit_message(thread, edit).await?;
            } else {
                ours.engine.delete_message(thread, DeleteMessage { message: message.into() }).await?;
            }
        }
        Ok::<(), crate::Error>(())
    })?;
    Ok((thread, changes))
}

/// Forks the thread so often, in the middle of its messages. Gives the bytes of the copied records.
fn fork(bench: &Bench, ours: &Ours, size: usize, forks: usize) -> Result<usize> {
    let (engine, thread) = (ours.engine.clone(), ours.threads[0]);
    let middle = Fork::at_index(size as u64 / 2 - 1);
    bench.runtime.block_on(bench.runtime.spawn(async move {
        let mut copied = 0;
        for _ in 0..forks {
            let child = engine.fork(thread, middle.clone()).await?;
            // The record is stored with the thread and with its first segment.
            copied += 2 * child.record.encode().len();
        }
        Result::Ok(copied)
    }))?
}

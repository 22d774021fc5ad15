//! How much memory a program needs that embeds Threadkeep. It is a process of its own: this program again.

use std::io::Write;
use std::process::Command;

use serde::{Deserialize, Serialize};
use threadkeep::{Fork, List};

use crate::Result;
use crate::bench::{Bench, CLIENTS, Keeper, Load, STORE_VARIABLE};
use crate::meter::process;
use crate::ours::Ours;
use crate::report::{Aim, Line, Series, Unit};

pub(super) const NAME: &str = "memory";

/// The other process's report: the most memory that was resident, in bytes.
#[derive(Serialize, Deserialize)]
struct Resident {
    /// Appending one message at a time, forking, and reading pages of 50.
    work: u64,
    /// Also with batches and pages of 1,000 messages.
    large_work: u64,
}

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let (mut work, mut large_work) = (Series::default(), Series::default());
    for _ in 0..bench.rounds {
        let room = bench.room()?;
        let mut command = Command::new(std::env::current_exe()?);
        // Not as an argument, which others can read: it may hold a password.
        command.arg("memory").env(STORE_VARIABLE, room.url());
        if bench.quick {
            command.arg("--quick");
        }
        let output = command.output()?;
        if !output.status.success() {
            return Err(format!("the process failed: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let resident: Resident = serde_json::from_slice(&output.stdout)?;
        work.push(resident.work as f64);
        large_work.push(resident.large_work as f64);
    }
    let line =
        |what: &str, series| Line::new(NAME, format!("resident memory at its peak, {what}"), Unit::Bytes, series);
    Ok(vec![
        line("single appends, pages of 50", work).aim(Aim::AtMost(20e6)),
        line("batches and pages of 1000", large_work),
    ])
}

/// The other process: appends, forks, reads and lists, then reports the memory that took.
pub(crate) fn work(bench: &Bench) -> Result<()> {
    let (sizes, room) = (bench.sizes, bench.room()?);
    let mut ours = Ours::with_threads(bench, &room.place("ours.db"), CLIENTS)?;
    ours.append(bench, Load { clients: CLIENTS, threads: CLIENTS, each: sizes.appends_each })?;
    let thread = ours.threads[0];
    for _ in 0..sizes.forks {
        ours.threads.push(bench.runtime.block_on(ours.engine.fork(thread, Fork::default()))?.id);
    }
    for thread in &ours.threads {
        ours.read_last(bench, *thread, sizes.appends_each.min(50))?;
    }
    bench.runtime.block_on(ours.engine.list(List::default()))?;
    let work = most_resident()?;
    ours.fill(bench, thread, sizes.messages)?;
    ours.read_all(bench, thread, sizes.appends_each + sizes.messages)?;
    let resident = Resident { work, large_work: most_resident()? };
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&resident)?)?;
    Ok(())
}

/// The most memory of this process that was resident so far, in bytes.
pub(crate) fn most_resident() -> Result<u64> {
    process::memory_of(std::process::id(), "VmHWM:")
}

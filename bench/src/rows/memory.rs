//! How much memory a program needs that embeds Threadkeep. It is a process of its own: this program again.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};
use threadkeep::{Fork, List};

use crate::Result;
use crate::bench::{Bench, CLIENTS, Keeper, Load};
use crate::ours::Ours;
use crate::report::{Aim, Line, Series, Unit};

pub(super) const NAME: &str = "memory";

/// What the other process says of itself.
#[derive(Serialize, Deserialize)]
struct Resident {
    now_bytes: u64,
    most_bytes: u64,
}

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let (mut now, mut most) = (Series::default(), Series::default());
    for _ in 0..bench.rounds {
        let room = bench.room()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("memory").arg(room.path());
        if bench.quick {
            command.arg("--quick");
        }
        let output = command.output()?;
        if !output.status.success() {
            return Err(format!("the process failed: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let resident: Resident = serde_json::from_slice(&output.stdout)?;
        now.push(resident.now_bytes as f64);
        most.push(resident.most_bytes as f64);
    }
    let line = |when: &str, series| Line::new(NAME, format!("resident memory of a program, {when}"), Unit::Bytes, series);
    Ok(vec![
        line("at its peak", most).aim(Aim::AtMost(20e6)),
        line("after its work", now),
    ])
}

/// The other process: appends, forks, reads and lists, then says what memory that took.
pub(crate) fn work(folder: &Path, quick: bool) -> Result<()> {
    let bench = Bench::new(Some(folder), quick, 1)?;
    let sizes = bench.sizes;
    let mut ours = Ours::with_threads(&bench, &bench.folder().join("ours.db"), CLIENTS)?;
    ours.append(&bench, Load { clients: CLIENTS, threads: CLIENTS, each: sizes.appends_each })?;
    let thread = ours.threads[0];
    ours.fill(&bench, thread, sizes.messages)?;
    for _ in 0..sizes.forks {
        ours.threads.push(bench.runtime.block_on(ours.engine.fork(thread, Fork::default()))?.id);
    }
    for thread in &ours.threads {
        ours.read_last(&bench, *thread, sizes.appends_each.min(50))?;
    }
    ours.read_all(&bench, thread, sizes.messages + sizes.appends_each)?;
    bench.runtime.block_on(ours.engine.list(List::default()))?;

    let status = std::fs::read_to_string("/proc/self/status")
        .map_err(|error| format!("/proc/self/status cannot be read, and it says what memory is in use: {error}"))?;
    let bytes = |field: &str| -> Result<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let kib: u64 = line.and_then(|line| line.split_whitespace().next()).ok_or("the field is missing")?.parse()?;
        Ok(kib * 1_024)
    };
    let resident = Resident { now_bytes: bytes("VmRSS")?, most_bytes: bytes("VmHWM")? };
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&resident)?)?;
    Ok(())
}

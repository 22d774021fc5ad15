//! Many observers of many threads that change all the time: the snapshots each gets, and their cost.

use std::collections::VecDeque;
use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;
use threadkeep::{Engine, Exclusive, MessageBody, Observed, ThreadId, Version};
use tokio::task::JoinHandle;

use super::memory::most_resident;
use crate::Result;
use crate::bench::{Bench, text};
use crate::ours::Ours;

/// Snapshots an observer may get in any second: one at once, then one in 100 ms.
const SNAPSHOTS_MAX: usize = 11;
/// Memory that all of it may take.
const RESIDENT_MAX: u64 = 150_000_000;
/// A snapshot that was not seen this long after the last update is missed.
const MISSED_AFTER: Duration = Duration::from_secs(30);

/// How much of everything there is.
struct Sizes {
    observers: usize,
    threads: usize,
    /// Updates a second, of all threads together.
    pace: usize,
    seconds: usize,
}

impl Sizes {
    fn of(quick: bool) -> Self {
        if quick {
            return Self { observers: 200, threads: 10, pace: 200, seconds: 1 };
        }
        Self { observers: 10_000, threads: 100, pace: 1_000, seconds: 5 }
    }
}

/// The snapshots that an observer saw.
struct Saw {
    snapshots: usize,
    /// The most in any second.
    most: usize,
}

/// Observes, prints the results as a line of JSON or in words, and fails if an observer missed the last snapshot.
pub(crate) fn measure(bench: &Bench, as_json: bool, behind: bool) -> Result<()> {
    let (sizes, room) = (Sizes::of(bench.quick), bench.room()?);
    let ours = Ours::with_threads(bench, &room.place("ours.db"), sizes.threads)?;
    let before = most_resident()?;
    let (saw, took) = bench.runtime.block_on(observed(&ours, &sizes, behind))?;
    let resident = most_resident()?;
    let updates = (sizes.pace * sizes.seconds) as f64 / took.as_secs_f64();
    let most = saw.iter().flatten().map(|saw| saw.most).max().unwrap_or(0);
    let snapshots: usize = saw.iter().flatten().map(|saw| saw.snapshots).sum();
    let got_last = saw.iter().flatten().count();
    let all_got_last = got_last == sizes.observers;
    let met = most <= SNAPSHOTS_MAX && all_got_last && resident <= RESIDENT_MAX;
    let mut out = std::io::stdout().lock();
    if as_json {
        let line = json!({
            "row": "observe", "behind": behind, "observers": sizes.observers, "threads": sizes.threads, "updatesPerSecond": updates,
            "snapshots": snapshots, "snapshotsPerSecondMax": most, "allGotLast": all_got_last,
            "residentBeforeBytes": before, "residentPeakBytes": resident, "met": met, "quick": bench.quick,
        });
        writeln!(out, "{line}")?;
    } else {
        let Sizes { observers, threads, seconds, .. } = sizes;
        writeln!(out, "{observers} observers of {threads} threads, {updates:.0} updates a second for {seconds} s")?;
        writeln!(out, "  most snapshots of one observer in a second  {most:>8}     at most {SNAPSHOTS_MAX}")?;
        writeln!(out, "  observers that got the last one             {got_last:>8}     all")?;
        writeln!(out, "  snapshots in all                            {snapshots:>8}")?;
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let (peak, limit) = (megabytes(resident), megabytes(RESIDENT_MAX));
        writeln!(out, "  resident memory at its peak                 {peak:>8.1} MB  at most {limit:.0} MB")?;
        writeln!(out, "  before the observers came                   {:>8.1} MB", megabytes(before))?;
    }
    if all_got_last { Ok(()) } else { Err("some observers did not get the last snapshot".into()) }
}

/// The snapshots of each observer, none if it did not get the last one; and how long the updates took.
async fn observed(ours: &Ours, sizes: &Sizes, behind: bool) -> Result<(Vec<Option<Saw>>, Duration)> {
    let each = sizes.pace * sizes.seconds / sizes.threads;
    let last = threadkeep::Position(each as u64);
    let mut observers = Vec::with_capacity(sizes.observers);
    for n in 0..sizes.observers {
        observers.push(tokio::spawn(observe(ours.engine.clone(), ours.threads[n % sizes.threads], last)));
    }
    let begun = Instant::now();
    let pause = Duration::from_secs(sizes.seconds as u64) / each.max(1) as u32;
    let writers: Vec<JoinHandle<Result<()>>> = ours
        .threads
        .iter()
        .enumerate()
        .map(|(n, thread)| {
            let (engine, thread) = (ours.engine.clone(), *thread);
            // Not all at the same moment.
            let first = begun + pause * n as u32 / sizes.threads as u32;
            tokio::spawn(async move {
                let mut ticks = tokio::time::interval_at(first.into(), pause);
                if behind {
                    let writer = engine.exclusive(thread, Exclusive::default()).await?;
                    for n in 0..each {
                        ticks.tick().await;
                        writer.update(|draft| draft.append(MessageBody::user(text(n))))?;
                    }
                    return Ok(writer.dispose().await?);
                }
                for n in 0..each {
                    ticks.tick().await;
                    engine.append(thread, MessageBody::user(text(n))).await?;
                }
                Ok(())
            })
        })
        .collect();
    for writer in writers {
        writer.await??;
    }
    let took = begun.elapsed();
    let until = Instant::now() + MISSED_AFTER;
    let mut saw = Vec::with_capacity(observers.len());
    for observer in observers {
        saw.push(match tokio::time::timeout_at(until.into(), observer).await {
            Ok(seen) => Some(seen??),
            Err(_) => None,
        });
    }
    Ok((saw, took))
}

async fn observe(engine: Engine, thread: ThreadId, last: Version) -> Result<Saw> {
    let mut observer = engine.observe(thread).await?;
    let mut recent: VecDeque<Instant> = VecDeque::with_capacity(SNAPSHOTS_MAX + 1);
    let mut saw = Saw { snapshots: 0, most: 0 };
    while let Some(Observed::Snapshot(snapshot)) = observer.next().await {
        let now = Instant::now();
        while recent.pop_front_if(|earlier| now.duration_since(*earlier) >= Duration::from_secs(1)).is_some() {}
        recent.push_back(now);
        saw.snapshots += 1;
        saw.most = saw.most.max(recent.len());
        if snapshot.version >= last {
            return Ok(saw);
        }
    }
    Err("the thread is gone".into())
}

//! One write at a time in a store of this size: appends and forks, over HTTP and in the library.

use std::time::{Duration, Instant};

use threadkeep::{Fork, MessageBody, ThreadId};

use super::generate::some_thread;
use super::site::Site;
use super::table::{Aim, Measured};
use crate::Result;
use crate::bench::text;
use crate::http::client::{Client, Target};
use crate::http::serving::Serving;
use crate::meter::Spent;
use crate::ours::Ours;
use crate::report::Unit;

/// CPU of a fork beside that of an append, and, where each takes round trips, its time.
const FORK_CPU_TIMES_MAX: f64 = 2.0;
const FORK_TIMES_MAX: f64 = 3.0;
/// The time of an append to a random thread beside that in the small store: half of what it was above it.
const APPEND_GROWTH_MAX: f64 = 1.55;

/// A kind of write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Write {
    Append(Where),
    Fork(Where),
}

/// The threads that are written to or forked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// The same one each time: its pages are warm.
    One,
    /// Another one each time, which has not changed on this day: lists file it anew.
    Random,
    /// The same random ones, again on that day.
    Again,
}

impl Write {
    const ALL: [Write; 5] = [
        Write::Append(Where::One),
        Write::Fork(Where::One),
        Write::Append(Where::Random),
        Write::Append(Where::Again),
        Write::Fork(Where::Random),
    ];
    /// Forks, each with the append that it is compared with.
    const BESIDE: [(&str, Write, Write); 3] = [
        ("one thread", Write::Fork(Where::One), Write::Append(Where::One)),
        ("random threads", Write::Fork(Where::Random), Write::Append(Where::Again)),
        ("random threads, the first change of the day", Write::Fork(Where::Random), Write::Append(Where::Random)),
    ];

    /// Whether a fork has an aim beside it. The first append of a day moves its thread in lists, as the fork does, so there
    /// is no aim beside that one.
    fn has_aim_beside(self) -> bool {
        self != Self::Append(Where::Random)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Append(Where::One) => "append to one thread",
            Self::Append(Where::Random) => "append to random threads, their first of the day",
            Self::Append(Where::Again) => "append to random threads",
            Self::Fork(Where::One) => "fork of one thread",
            Self::Fork(Where::Random | Where::Again) => "fork of random threads",
        }
    }

    /// The thread of the `n`-th write. No two kinds share their random threads, which would be warm for the second.
    fn thread(self, site: &Site, n: usize) -> ThreadId {
        const FAR: usize = 1 << 32;
        let n = match self {
            Self::Append(Where::One) => FAR,
            Self::Fork(Where::One) => 2 * FAR,
            Self::Append(Where::Random | Where::Again) => 3 * FAR + n,
            Self::Fork(Where::Random | Where::Again) => 4 * FAR + n,
        };
        some_thread(&site.sizes, n)
    }

    fn request(self, site: &Site, target: &Target, n: usize) -> Vec<u8> {
        let thread = self.thread(site, n);
        match self {
            Self::Append(_) => target.append(&thread.to_string(), "", text(n)),
            Self::Fork(_) => target.request("POST", &format!("/v1/threads/{thread}/fork"), "", "{}"),
        }
    }

    fn carry_out(self, site: &Site, ours: &Ours, n: usize) -> Result<()> {
        let (thread, runtime) = (self.thread(site, n), &site.bench.runtime);
        match self {
            Self::Append(_) => drop(runtime.block_on(ours.engine.append(thread, MessageBody::user(text(n))))?),
            Self::Fork(_) => drop(runtime.block_on(ours.engine.fork(thread, Fork::default()))?),
        }
        Ok(())
    }
}

pub(super) fn measure(site: &Site) -> Result<Vec<Measured>> {
    let mut measured = over_http(site)?;
    measured.extend(in_library(site)?);
    Ok(measured)
}

/// By one client, over one connection. As many writes of a kind come before those that are measured: a store files threads
/// in lists many at a time, and the first of a kind would pay for the kind before it.
fn over_http(site: &Site) -> Result<Vec<Measured>> {
    let (serving, target) = site.serve()?;
    let writes = site.effort.filed_writes;
    let (mut measured, mut cpus) = (Vec::new(), Vec::new());
    for write in Write::ALL {
        let requests = |from: usize| (from..from + writes).map(|n| write.request(site, &target, n)).collect::<Vec<_>>();
        // `Again` is measured on the threads that `Random` was measured on.
        send(site, &serving, &requests(if write == Write::Append(Where::Again) { 0 } else { writes }))?;
        let (time, cpu) = send(site, &serving, &requests(0))?;
        let line = |what: &str, value| Measured::new(format!("HTTP: {}: {what}", write.name()), Unit::Micros, value);
        measured.push(line("time", time).aim_if(write == Write::Append(Where::Again), Aim::Growth(APPEND_GROWTH_MAX)));
        measured.push(line("CPU", cpu));
        cpus.push((write, cpu));
    }
    serving.stop()?;
    for (of, fork, append) in Write::BESIDE {
        let has_aim = append.has_aim_beside();
        let times = of_kind(&cpus, fork) / of_kind(&cpus, append);
        let line = Measured::new(format!("HTTP: fork beside an append, {of}: CPU"), Unit::Times, times);
        measured.push(line.aim_if(has_aim && !site.bench.is_on_server(), Aim::AtMost(FORK_CPU_TIMES_MAX)));
    }
    Ok(measured)
}

/// What was measured of a kind of write.
fn of_kind<T: Copy>(measured: &[(Write, T)], kind: Write) -> T {
    let found = measured.iter().find(|(write, _)| *write == kind);
    found.expect("every kind is measured").1
}

/// Sends `requests` one after the other; gives the time and the server's CPU of each, in microseconds.
fn send(site: &Site, serving: &Serving, requests: &[Vec<u8>]) -> Result<(f64, f64)> {
    let cpu = serving.cpu()?;
    let took: Result<Duration> = site.net.block_on(async {
        let mut client = Client::connect(serving.address).await?;
        let begun = Instant::now();
        for request in requests {
            client.expect(201, request).await?;
        }
        Ok(begun.elapsed())
    });
    let each = |spent: Duration| spent.as_secs_f64() * 1e6 / requests.len() as f64;
    Ok((each(took?), each(serving.cpu()?.saturating_sub(cpu))))
}

/// In this process, where pages can be counted.
fn in_library(site: &Site) -> Result<Vec<Measured>> {
    let ours = Ours::open(&site.place())?;
    let writes = site.effort.filed_writes;
    let on_server = site.bench.is_on_server();
    let (mut measured, mut spent) = (Vec::new(), Vec::new());
    for write in Write::ALL {
        // After those of HTTP, so that random threads are others.
        let carry_out = |from: usize| (from..from + writes).try_for_each(|n| write.carry_out(site, &ours, n));
        carry_out(if write == Write::Append(Where::Again) { 2 * writes } else { 3 * writes })?;
        let cost = Spent::on(writes, || carry_out(2 * writes))?;
        let line = |what: &str, unit, value| Measured::new(format!("library: {}: {what}", write.name()), unit, value);
        measured.push(line("time", Unit::Micros, cost.time()));
        measured.push(line("CPU", Unit::Micros, cost.cpu()));
        if !on_server {
            measured.push(line("pages", Unit::Pages, cost.pages()));
        }
        spent.push((write, cost));
    }
    for (of, fork, append) in Write::BESIDE {
        let has_aim = append.has_aim_beside();
        let (append, fork) = (of_kind(&spent, append), of_kind(&spent, fork));
        let line = |what: &str, value| {
            Measured::new(format!("library: fork beside an append, {of}: {what}"), Unit::Times, value)
        };
        measured
            .push(line("time", fork.time() / append.time()).aim_if(has_aim && on_server, Aim::AtMost(FORK_TIMES_MAX)));
        measured.push(
            line("CPU", fork.cpu() / append.cpu()).aim_if(has_aim && !on_server, Aim::AtMost(FORK_CPU_TIMES_MAX)),
        );
    }
    Ok(measured)
}

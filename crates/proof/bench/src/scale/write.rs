//! Writes in a store of this size: an append, a fork beside it, the end of a chain of forks, and writers beside those
//! that write by hand.

use std::time::{Duration, Instant};

use threadkeep::{Fork, MessageBody, ThreadId};

use super::generate::{bits, thread_id};
use super::site::Site;
use super::table::{Aim, Measured};
use crate::Result;
use crate::bench::{Keeper, Load, SLICES, text};
use crate::http::client::{Client, Target};
use crate::http::serving::Serving;
use crate::meter::{Spent, typical_micros};
use crate::opponents::by_hand;
use crate::ours::{Ours, read_last};
use crate::report::Unit;

/// CPU of a fork beside that of an append, and, where each takes round trips, its time.
const FORK_CPU_TIMES_MAX: f64 = 2.0;
const FORK_TIMES_MAX: f64 = 3.0;
/// The time of an append beside that in the small store: half of what it was above it.
const APPEND_GROWTH_MAX: f64 = 1.55;
/// The last messages of a chain on a server, warm and cold, in microseconds.
const CHAIN_WARM_MICROS_MAX: f64 = 1_500.0;
const CHAIN_COLD_MICROS_MAX: f64 = 4_000.0;
/// Writers, and their appends on a server beside those by hand.
const WRITERS: usize = 8;
const WRITERS_TIMES_MIN: f64 = 0.8;
/// Messages on a page.
const PAGE: usize = 50;
/// One cold read for this many warm ones.
const COLD_EACH: usize = 10;

/// An ordinary thread, another one each time.
fn some_thread(site: &Site, n: usize) -> ThreadId {
    thread_id(bits(n as u64 + 77) as usize % site.sizes.ordinary())
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

/// An append to a thread at random and a fork of one, by one client over HTTP and in the library.
pub(super) fn fork_and_append(site: &Site) -> Result<Vec<Measured>> {
    let mut measured = over_http(site)?;
    let bench = &site.bench;
    let ours = Ours::open(&site.place())?;
    let writes = site.effort.writes;
    let append = |n: usize| -> Result<()> {
        bench.runtime.block_on(ours.engine.append(some_thread(site, n), MessageBody::user(text(n))))?;
        Ok(())
    };
    let fork = |n: usize| -> Result<()> {
        bench.runtime.block_on(ours.engine.fork(some_thread(site, n), Fork::default()))?;
        Ok(())
    };
    let (mut appends, mut forks) = (Spent::default(), Spent::default());
    for slice in 0..SLICES {
        let begin = slice * writes;
        appends += Spent::on(writes, || (begin..begin + writes).try_for_each(append))?;
        forks += Spent::on(writes, || (begin..begin + writes).try_for_each(fork))?;
    }
    let on_server = bench.is_on_server();
    for (what, spent) in [("append", &appends), ("fork", &forks)] {
        measured.push(Measured::new(format!("library: {what}: time"), Unit::Micros, spent.time()));
        measured.push(Measured::new(format!("library: {what}: CPU"), Unit::Micros, spent.cpu()));
        if !on_server {
            measured.push(Measured::new(format!("library: {what}: pages"), Unit::Pages, spent.pages()));
        }
    }
    let (time, cpu) = (forks.time() / appends.time(), forks.cpu() / appends.cpu());
    measured.extend([
        Measured::new("library: fork beside an append: time", Unit::Times, time)
            .aim_if(on_server, Aim::AtMost(FORK_TIMES_MAX)),
        Measured::new("library: fork beside an append: CPU", Unit::Times, cpu)
            .aim_if(!on_server, Aim::AtMost(FORK_CPU_TIMES_MAX)),
    ]);
    Ok(measured)
}

fn over_http(site: &Site) -> Result<Vec<Measured>> {
    let (serving, target) = site.serve()?;
    let requests = |make: fn(&Target, ThreadId, usize) -> Vec<u8>| -> Vec<Vec<u8>> {
        (0..site.effort.writes).map(|n| make(&target, some_thread(site, n), n)).collect()
    };
    let appends = requests(|target, thread, n| target.append(&thread.to_string(), "", text(n)));
    let forks = requests(|target, thread, _| target.request("POST", &format!("/v1/threads/{thread}/fork"), "", "{}"));
    // Once for the connections and caches of the store.
    send(site, &serving, &appends[..appends.len() / 4])?;
    let (append, append_cpu) = send(site, &serving, &appends)?;
    let (fork, fork_cpu) = send(site, &serving, &forks)?;
    serving.stop()?;
    let line = |what: &str, unit, value| Measured::new(format!("HTTP: {what}"), unit, value);
    Ok(vec![
        line("append: time", Unit::Micros, append).aim_if(true, Aim::Growth(APPEND_GROWTH_MAX)),
        line("append: CPU", Unit::Micros, append_cpu),
        line("fork: time", Unit::Micros, fork),
        line("fork: CPU", Unit::Micros, fork_cpu),
        line("fork beside an append: CPU", Unit::Times, fork_cpu / append_cpu)
            .aim_if(!site.bench.is_on_server(), Aim::AtMost(FORK_CPU_TIMES_MAX)),
    ])
}

/// The last messages of a chain of forks with a message a link.
pub(super) fn chain(site: &Site) -> Result<Vec<Measured>> {
    let (bench, links) = (&site.bench, site.effort.chain);
    let ours = Ours::open(&site.place())?;
    let last = bench.runtime.block_on(async {
        let mut thread = some_thread(site, 0);
        for n in 0..links {
            thread = ours.engine.fork(thread, Fork::default()).await?.id;
            ours.engine.append(thread, MessageBody::user(text(n))).await?;
        }
        Ok::<_, crate::Error>(thread)
    })?;
    site.room().settle()?;
    let reads = site.effort.writes;
    let engines: Vec<_> = (0..reads.div_ceil(COLD_EACH)).map(|_| ours.fresh_engine()).collect();
    let mut fresh = engines.iter();
    let cold = typical_micros(engines.len(), || read_last(bench, fresh.next().expect("one a read"), last, PAGE))?;
    let warm = typical_micros(reads, || ours.read_last(bench, last, PAGE))?;
    let on_server = bench.is_on_server();
    let what = format!("last {PAGE} of a chain of {links} forks");
    Ok(vec![
        Measured::new(format!("{what}: warm"), Unit::Micros, warm)
            .aim_if(on_server, Aim::AtMost(CHAIN_WARM_MICROS_MAX)),
        Measured::new(format!("{what}: cold"), Unit::Micros, cold)
            .aim_if(on_server, Aim::AtMost(CHAIN_COLD_MICROS_MAX)),
    ])
}

/// Durable appends by some writers on as many threads, in turns with the same by hand.
pub(super) fn writers(site: &Site) -> Result<Vec<Measured>> {
    let bench = &site.bench;
    let mut ours = Ours::open(&site.place())?;
    ours.threads = (0..WRITERS).map(|n| some_thread(site, n)).collect();
    let by_hand = by_hand(site.room(), "by-hand.db", WRITERS)?;
    let load = Load { clients: WRITERS, threads: WRITERS, each: site.effort.writes.div_ceil(SLICES) };
    let (mut mine, mut theirs) = (Spent::default(), Spent::default());
    for slice in 0..=SLICES {
        let spent = (ours.measure(bench, load)?, by_hand.measure(bench, load)?);
        // The first one warms up.
        if slice > 0 {
            mine += spent.0;
            theirs += spent.1;
        }
    }
    let what = format!("{WRITERS} writers on {WRITERS} threads");
    Ok(vec![
        Measured::new(format!("{what}: appends"), Unit::PerSecond, mine.rate()),
        Measured::new(format!("{what}: appends by hand"), Unit::PerSecond, theirs.rate()),
        Measured::new(format!("{what}: beside those by hand"), Unit::Times, mine.rate() / theirs.rate())
            .aim_if(bench.is_on_server(), Aim::AtLeast(WRITERS_TIMES_MIN)),
    ])
}

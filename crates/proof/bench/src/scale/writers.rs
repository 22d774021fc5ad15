//! Many writers in a store of this size, beside the same by hand.

use super::generate::some_thread;
use super::site::Site;
use super::table::{Aim, Measured};
use crate::Result;
use crate::bench::{Keeper, Load, SLICES};
use crate::meter::Spent;
use crate::opponents::by_hand;
use crate::ours::Ours;
use crate::report::Unit;

/// Writers, and their appends on a server beside those by hand.
const WRITERS: usize = 8;
const TIMES_MIN: f64 = 0.8;

/// Durable appends by some writers on as many threads, in turns with the same by hand.
pub(super) fn measure(site: &Site) -> Result<Vec<Measured>> {
    let bench = &site.bench;
    let mut ours = Ours::open(&site.place())?;
    // A small store has so few threads that some numbers lead to the same one.
    const DRAWN_MAX: usize = 1_000;
    for thread in (0..DRAWN_MAX).map(|n| some_thread(&site.sizes, n)) {
        if ours.threads.len() < WRITERS && !ours.threads.contains(&thread) {
            ours.threads.push(thread);
        }
    }
    let threads = ours.threads.len();
    let by_hand = by_hand(site.room(), "by-hand.db", threads)?;
    let load = Load { clients: WRITERS, threads, each: site.effort.writes.div_ceil(SLICES) };
    let (mut mine, mut theirs) = (Spent::default(), Spent::default());
    for slice in 0..=SLICES {
        let spent = (ours.measure(bench, load)?, by_hand.measure(bench, load)?);
        // The first one warms up.
        if slice > 0 {
            mine += spent.0;
            theirs += spent.1;
        }
    }
    let what = format!("{WRITERS} writers on {threads} threads");
    Ok(vec![
        Measured::new(format!("{what}: appends"), Unit::PerSecond, mine.rate()),
        Measured::new(format!("{what}: appends by hand"), Unit::PerSecond, theirs.rate()),
        Measured::new(format!("{what}: beside those by hand"), Unit::Times, mine.rate() / theirs.rate())
            .aim_if(bench.is_on_server(), Aim::AtLeast(TIMES_MIN)),
    ])
}

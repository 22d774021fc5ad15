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
    ours.threads = (0..WRITERS).map(|n| some_thread(&site.sizes, n)).collect();
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
            .aim_if(bench.is_on_server(), Aim::AtLeast(TIMES_MIN)),
    ])
}

//! Reading at the end of a long chain of forks in a store of this size.

use threadkeep::{Fork, MessageBody};

use super::generate::some_thread;
use super::site::Site;
use super::table::{Aim, Measured};
use crate::Result;
use crate::bench::text;
use crate::meter::typical_micros;
use crate::ours::{Ours, read_last};
use crate::report::Unit;

/// The time of a page on a server, warm and cold, in microseconds.
const WARM_MICROS_MAX: f64 = 1_500.0;
const COLD_MICROS_MAX: f64 = 4_000.0;
/// Messages on a page.
const PAGE: usize = 50;
/// One cold read for this many warm ones.
const COLD_EACH: usize = 10;

/// The last messages of a chain of forks with a message a link.
pub(super) fn measure(site: &Site) -> Result<Vec<Measured>> {
    let (bench, links) = (&site.bench, site.effort.chain);
    let ours = Ours::open(&site.place())?;
    let last = bench.runtime.block_on(async {
        let mut thread = some_thread(&site.sizes, 0);
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
        Measured::new(format!("{what}: warm"), Unit::Micros, warm).aim_if(on_server, Aim::AtMost(WARM_MICROS_MAX)),
        Measured::new(format!("{what}: cold"), Unit::Micros, cold).aim_if(on_server, Aim::AtMost(COLD_MICROS_MAX)),
    ])
}

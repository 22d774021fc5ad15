//! Appends of an agent on a thread with 100 secrets, beside those on a thread without any: the redactor's cost.

use threadkeep::{Actor, ActorKind, Caller, SetEnv};

use super::{interleave, series};
use crate::Result;
use crate::bench::{Bench, Keeper, Load};
use crate::meter::Spent;
use crate::ours::Ours;
use crate::report::{Aim, Line, Unit};

pub(super) const NAME: &str = "append-env";
/// Secrets of the thread.
const SECRETS: usize = 100;
/// Appends before anything is measured.
const WARM_UP: usize = 3;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let room = bench.room()?;
    let mut without = Ours::with_threads(bench, &room.place("without.db"), 1)?;
    let mut with = Ours::with_threads(bench, &room.place("with.db"), 1)?;
    for number in 0..SECRETS {
        let secret = SetEnv::new(&format!("SECRET_{number}"), format!("sk-{number:04}-{:032x}", number * 7_919))?;
        bench.runtime.block_on(with.engine.call(with.threads[0], secret))?;
    }
    for ours in [&mut without, &mut with] {
        let actor = Actor { kind: ActorKind::Agent, name: "coder".into() };
        ours.engine = ours.engine.acting_as(Caller { actor, ..ours.engine.caller().clone() });
        ours.append(bench, Load { clients: 1, threads: 1, each: WARM_UP })?;
    }
    let load = Load { clients: 1, threads: 1, each: bench.sizes.appends_alone };
    let spent = interleave(bench, &[(&with, load), (&without, load)])?;
    let beside = |what: &str, number: fn(&Spent) -> f64| {
        let measure = format!("{SECRETS} secrets: {what} beside none");
        Line::new(NAME, measure, Unit::Times, series(&spent[0], number).over(&series(&spent[1], number)))
    };
    let cpu = |of: usize, what: &str| {
        Line::new(NAME, format!("{what}: CPU an append of an agent"), Unit::Micros, series(&spent[of], Spent::cpu))
    };
    Ok(vec![
        cpu(0, "100 secrets"),
        cpu(1, "no secrets"),
        beside("CPU an append", Spent::cpu).aim(Aim::AtMost(1.1)),
        beside("appends a second", Spent::rate).aim(Aim::AtLeast(1.0 / 1.1)),
    ])
}

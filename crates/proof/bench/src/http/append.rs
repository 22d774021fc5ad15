//! Durable appends of 1 KiB by many clients that keep their connections, beside the same appends through the library.

use super::{Cost, Http, latencies, series};
use crate::Result;
use crate::bench::{CLIENTS, Keeper, Load, SLICES, text};
use crate::http::client::Target;
use crate::meter::Spent;
use crate::ours::Ours;
use crate::report::{Aim, Line, Series, Unit};

pub(super) const NAME: &str = "http-append";

/// CPU of the server that an append may take, in microseconds.
const CPU_MICROS_MAX: f64 = 150.0;
/// Appends of each client before anything is measured.
const WARM_UP: usize = 10;
/// Different texts of a client.
const TEXTS: usize = 16;

pub(super) fn measure(http: &Http<'_>) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (threads, on) in [(CLIENTS, format!("{CLIENTS} threads")), (1, "1 thread".to_owned())] {
        let what = format!("{CLIENTS} clients on {on}");
        let (ours, library) = compare(http, threads)?;
        let rate = Line::new(NAME, format!("{what}: appends"), Unit::PerSecond, series(&ours, Cost::rate));
        let cpu = Line::new(NAME, format!("{what}: CPU an append"), Unit::Micros, series(&ours, Cost::cpu));
        let beside = |number: fn(&Spent) -> f64| library.iter().map(number).collect::<Series>();
        lines.push(cpu.by_hand(beside(Spent::cpu)).aim(Aim::AtMost(CPU_MICROS_MAX)));
        lines.push(rate.by_hand(beside(Spent::rate)));
        lines.extend(latencies(NAME, &what, &ours));
    }
    Ok(lines)
}

/// The cost of each round over HTTP, and in the library. They take turns at every slice.
fn compare(http: &Http<'_>, threads: usize) -> Result<(Vec<Cost>, Vec<Spent>)> {
    let room = http.bench.room()?;
    let (_, serving, target) = http.serve(&room, "served")?;
    let ids = http.threads(&target, threads)?;
    let clients: Vec<Vec<Vec<u8>>> =
        (0..CLIENTS).map(|client| requests(&target, &ids[client % threads], client)).collect();
    let ours = Ours::with_threads(http.bench, &room.place("library.db"), threads)?;
    let warm_up = Load { clients: CLIENTS, threads, each: WARM_UP };
    let load = Load { each: http.sizes.appends.div_ceil(CLIENTS), ..warm_up }.slice();
    http.load(&serving, 201, &clients, WARM_UP)?;
    ours.append(http.bench, warm_up)?;
    let (mut costs, mut library) = (Vec::new(), Vec::new());
    for _ in 0..http.bench.rounds {
        let (mut cost, mut spent) = (Cost::default(), Spent::default());
        for _ in 0..SLICES {
            cost.add(http.load(&serving, 201, &clients, load.each)?);
            spent += ours.measure(http.bench, load)?;
        }
        costs.push(cost);
        library.push(spent);
    }
    serving.stop()?;
    Ok((costs, library))
}

fn requests(target: &Target, thread: &str, client: usize) -> Vec<Vec<u8>> {
    (0..TEXTS).map(|n| target.append(thread, "", text(client + n))).collect()
}

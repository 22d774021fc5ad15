//! Searches: the first ones of a server, one and many at once, and those of a warm one.

use std::time::Duration;

use serde_json::{Value, json};

use super::ask::{at_once, healthz, repeat, some};
use super::generate::{COMMON, RARE, question};
use super::site::Site;
use super::table::Measured;
use crate::Result;
use crate::http::client::Target;
use crate::report::Unit;

/// The time of the first search, in microseconds, and resident memory after it, in bytes.
const FIRST_MICROS_MAX: f64 = 500e3;
const RESIDENT_MAX: f64 = 300e6;
/// The same memory after many at once, and how long `/healthz` waits meanwhile.
const RESIDENT_MANY_MAX: f64 = 400e6;
pub(super) const HEALTHZ_MICROS_MAX: f64 = 100e3;
/// How long the server is watched before the first search.
const WATCHED_FOR: Duration = Duration::from_millis(50);
/// Many searches at once.
const MANY: usize = 16;

fn search(target: &Target, words: &str) -> Vec<u8> {
    target.request("POST", "/v1/search", "", &json!({ "query": words }).to_string())
}

/// The first searches of a server.
pub(super) fn first(site: &Site) -> Result<Vec<Measured>> {
    let mut measured = Vec::new();
    for (count, resident_max) in [(1, RESIDENT_MAX), (MANY, RESIDENT_MANY_MAX)] {
        let (serving, target) = site.serve()?;
        let before = serving.memory()?.0;
        let health = healthz(site, &target);
        // The watch is under way when they begin.
        std::thread::sleep(WATCHED_FOR);
        let took = at_once(site, &target, (0..count).map(|n| search(&target, &question(n))).collect())?;
        let (after, peak) = serving.memory()?;
        let waited = health.end(site)?;
        std::thread::sleep(site.effort.idle_after);
        let idle = serving.memory()?.0;
        serving.stop()?;
        let line = |what: &str, unit, value: f64| Measured::new(format!("{count} at once: {what}"), unit, value);
        let time = line("all are answered after", Unit::Micros, took.as_secs_f64() * 1e6);
        measured.extend([
            if count == 1 { time.at_most(FIRST_MICROS_MAX) } else { time },
            line("resident memory before", Unit::Bytes, before as f64),
            line("resident memory after", Unit::Bytes, after as f64).at_most(resident_max),
            line("resident memory at its peak", Unit::Bytes, peak as f64),
            line("resident memory once idle", Unit::Bytes, idle as f64),
            line("/healthz waits at most", Unit::Micros, waited.longest()).at_most(HEALTHZ_MICROS_MAX),
        ]);
    }
    Ok(measured)
}

/// Searches of a server that has answered some.
pub(super) fn warm(site: &Site) -> Result<Vec<Measured>> {
    let (serving, target) = site.serve()?;
    let question = question(0);
    let mut measured = Vec::new();
    for (what, words, micros_max) in [
        ("a rare word", RARE, 5e3),
        ("a word in half of all messages", COMMON, 20e3),
        ("a question in plain words", &question, 30e3),
    ] {
        let asked = repeat(site, &serving, &search(&target, words))?;
        some(&serde_json::from_slice::<Value>(&asked.body)?, "results")?;
        measured.push(Measured::new(what, Unit::Micros, asked.micros).at_most(micros_max));
        measured.push(Measured::new(format!("{what}: CPU"), Unit::Micros, asked.cpu_micros));
    }
    serving.stop()?;
    Ok(measured)
}

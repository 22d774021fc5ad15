//! How long cheap calls wait: beside clients that press expensive lists, and beside upkeep on a running server.

use super::ask::{Answers, Repeating, healthz};
use super::generate::{TITLE_RARE, some_thread};
use super::lists::far_offset;
use super::search::HEALTHZ_MICROS_MAX;
use super::site::Site;
use super::table::{Aim, Measured};
use crate::Result;
use crate::bench::text;
use crate::http::client::Target;
use crate::meter::percentile;
use crate::report::Unit;

/// The time in which 99 of 100 appends are acknowledged beside expensive reads, and that no call exceeds, in
/// microseconds.
const APPEND_MICROS_MAX: f64 = 50e3;
pub(super) const CALL_MICROS_MAX: f64 = 1e6;
/// Different appends of one client.
const APPENDS: usize = 64;

/// Appends to ordinary threads here and there.
pub(super) fn appends(site: &Site, target: &Target) -> Repeating {
    let thread = |n: usize| some_thread(&site.sizes, n).to_string();
    let requests = (0..APPENDS).map(|n| target.append(&thread(n), "", text(n)));
    Repeating::watching(site, target, requests.collect())
}

/// `/healthz` and appends while clients press expensive lists.
pub(super) fn beside_reads(site: &Site) -> Result<Vec<Measured>> {
    let (serving, target) = site.serve()?;
    let mut measured = Vec::new();
    for (what, query) in [
        ("at offset 90 %", format!("limit=50&offset={}", far_offset(site))),
        ("for two letters + total", format!("limit=50&title={TITLE_RARE}&total=true")),
    ] {
        for clients in [2, 8] {
            let request = target.request("GET", &format!("/v1/threads?{query}"), "", "");
            let readers: Vec<_> = (0..clients).map(|_| Repeating::pressing(site, &target, request.clone())).collect();
            let (health, appends) = (healthz(site, &target), appends(site, &target));
            std::thread::sleep(site.effort.busy_for);
            let (health, appends) = (health.end(site)?, appends.end(site)?);
            let mut read = Answers::default();
            for reader in readers {
                let answers = reader.end(site)?;
                read.micros.extend(answers.micros);
                read.refused += answers.refused;
            }
            let line = |of: &str, unit, value| Measured::new(format!("{clients} clients {what}: {of}"), unit, value);
            measured.extend([
                line("/healthz waits at most", Unit::Micros, health.longest()).at_most(HEALTHZ_MICROS_MAX),
                line("99 of 100 appends take", Unit::Micros, percentile(&appends.micros, 99))
                    .at_most(APPEND_MICROS_MAX),
                line("an append takes at most", Unit::Micros, appends.longest()).at_most(CALL_MICROS_MAX),
                line("lists answered", Unit::Count, read.micros.len() as f64),
                line("lists refused", Unit::Count, read.refused as f64),
            ]);
        }
    }
    serving.stop()?;
    Ok(measured)
}

/// Appends and lists while the server exports, is checked, and frees space; and whether the check finds a store healthy
/// to which others write.
pub(super) fn beside_upkeep(site: &Site) -> Result<Vec<Measured>> {
    let (serving, target) = site.serve()?;
    let mut measured = Vec::new();
    for command in ["export", "doctor", "gc"] {
        let lists = Repeating::watching(site, &target, vec![target.request("GET", "/v1/threads?limit=50", "", "")]);
        let (health, appends) = (healthz(site, &target), appends(site, &target));
        let out = site.aside("export.jsonl");
        let args = match command {
            "export" => vec!["export", "--output", out.to_str().ok_or("a path that is no text")?],
            _ => vec![command],
        };
        let ran = site.run(&args)?;
        let (health, appends, lists) = (health.end(site)?, appends.end(site)?, lists.end(site)?);
        let line = |of: &str, unit, value| Measured::new(format!("during {command}: {of}"), unit, value);
        measured.extend([
            line("/healthz waits at most", Unit::Micros, health.longest()).at_most(HEALTHZ_MICROS_MAX),
            line("an append takes at most", Unit::Micros, appends.longest()).at_most(CALL_MICROS_MAX),
            line("a list takes at most", Unit::Micros, lists.longest()).at_most(CALL_MICROS_MAX),
            line("time", Unit::Micros, ran.took.as_secs_f64() * 1e6),
        ]);
        match command {
            // It says with its exit code whether the store is healthy, and nobody damaged it.
            "doctor" => measured.push(
                line("it finds the store healthy", Unit::Count, f64::from(u8::from(ran.succeeded)))
                    .aim_if(true, Aim::AtLeast(1.0)),
            ),
            _ => drop(ran.well(command)?),
        }
        if out.exists() {
            std::fs::remove_file(out)?;
        }
    }
    serving.stop()?;
    Ok(measured)
}

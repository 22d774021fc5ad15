//! Everything at once for minutes: no call may take long, and memory must not grow.

use std::time::{Duration, Instant};

use serde_json::json;

use super::ask::{Repeating, healthz};
use super::build::forked_thread;
use super::busy::{CALL_MICROS_MAX, appends};
use super::generate::{COMMON, METADATA, RARE, TAG, TITLE_COMMON, question, some_number, some_thread, title};
use super::lists::far_offset;
use super::search::HEALTHZ_MICROS_MAX;
use super::site::Site;
use super::table::{Aim, Measured};
use crate::Result;
use crate::http::client::Target;
use crate::http::serving::Serving;
use crate::report::Unit;

/// Parts of the soak whose memory is compared: caches fill in the first of them.
const PARTS: u32 = 3;
/// How often the memory is read.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Memory at the end for memory after the first part: beyond this it grows with time.
const GROWTH_MAX: f64 = 1.15;
/// Different requests of a kind.
const KINDS: usize = 32;

/// Clients that do all of it at a steady pace: appends, forks, pages, lists, searches, families, edits of records.
pub(super) fn soak(site: &Site) -> Result<Vec<Measured>> {
    let (serving, target) = site.serve()?;
    let health = healthz(site, &target);
    let mut clients: Vec<(&str, Repeating)> = vec![("an append", appends(site, &target))];
    for (what, requests) in requests(site, &target) {
        clients.push((what, Repeating::watching(site, &target, requests)));
    }
    let mut memory = Vec::new();
    for _ in 0..PARTS {
        memory.push(typical_memory(&serving, site.effort.soak_for / PARTS)?);
    }
    let mut measured = vec![
        Measured::new("/healthz waits at most", Unit::Micros, health.end(site)?.longest()).at_most(HEALTHZ_MICROS_MAX),
    ];
    for (what, client) in clients {
        let answers = client.end(site)?;
        let line = |of: &str, unit, value| Measured::new(format!("{what}: {of}"), unit, value);
        measured.push(line("takes at most", Unit::Micros, answers.longest()).at_most(CALL_MICROS_MAX));
        measured.push(line("answered", Unit::Count, answers.micros.len() as f64));
        measured.push(line("refused", Unit::Count, answers.refused as f64));
    }
    let (first, last) = (memory[0], memory[memory.len() - 1]);
    measured.push(Measured::new("memory after the first third", Unit::Bytes, first));
    measured.push(Measured::new("memory at the end", Unit::Bytes, last).aim_if(true, Aim::AtMost(first * GROWTH_MAX)));
    serving.stop()?;
    Ok(measured)
}

fn requests<'a>(site: &Site, target: &Target) -> Vec<(&'a str, Vec<Vec<u8>>)> {
    let some = |n: usize| some_thread(&site.sizes, n);
    let get = |path: String| target.request("GET", &path, "", "");
    let search = |words: &str| target.request("POST", "/v1/search", "", &json!({ "query": words }).to_string());
    let list = |query: String| get(format!("/v1/threads?limit=50{query}"));
    let fork = |n: usize| target.request("POST", &format!("/v1/threads/{}/fork", some(n)), "", "{}");
    let title = |n: usize| {
        // Lists that are measured later ask for words of the old one.
        let body = json!({ "title": format!("{}, soaked {n}", title(some_number(&site.sizes, n))) }).to_string();
        target.request("PATCH", &format!("/v1/threads/{}", some(n)), "", &body)
    };
    let each = |one: &dyn Fn(usize) -> Vec<u8>| (0..KINDS).map(one).collect::<Vec<_>>();
    vec![
        ("a fork", each(&fork)),
        ("a new title", each(&title)),
        ("a page of messages", each(&|n| get(format!("/v1/threads/{}/messages?limit=50", some(n))))),
        (
            "a list",
            vec![
                list(String::new()),
                list(format!("&tag={TAG}&total=true")),
                list(format!("&metadata={METADATA}&total=true")),
                list(format!("&title={TITLE_COMMON}&total=true")),
                list(format!("&offset={}", far_offset(site))),
            ],
        ),
        ("a search", vec![search(RARE), search(COMMON), search(&question(1)), search(&question(2))]),
        ("a family", vec![get(format!("/v1/threads/{}/tree", forked_thread()))]),
    ]
}

/// The memory that half of the looks do not exceed.
fn typical_memory(serving: &Serving, during: Duration) -> Result<f64> {
    let begun = Instant::now();
    let mut seen = Vec::new();
    while seen.is_empty() || begun.elapsed() < during {
        std::thread::sleep(LOOK_EVERY.min(during));
        seen.push(serving.memory()?.0 as f64);
    }
    Ok(crate::meter::median(&seen))
}

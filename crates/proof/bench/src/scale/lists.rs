//! Lists of threads by every kind of filter, and the family of a thread that was forked often.

use serde_json::Value;

use super::ask::{Asked, ask, repeat, some};
use super::build::forked_thread;
use super::generate::{METADATA, TAG, TITLE_COMMON, TITLE_RARE};
use super::site::Site;
use super::table::Measured;
use crate::Result;
use crate::report::Unit;

/// The time of a page of 50 by any filter, of a total, of an offset, of two letters of a title, and of the first page
/// of a family, in microseconds.
const PAGE_MICROS_MAX: f64 = 5e3;
const TOTAL_MICROS_MAX: f64 = 50e3;
const OFFSET_MICROS_MAX: f64 = 50e3;
const LETTERS_MICROS_MAX: f64 = 20e3;
const FAMILY_MICROS_MAX: f64 = 20e3;
/// Threads on a large page.
const LARGE_PAGE: usize = 200;

/// The offset that skips nine tenths of all threads.
pub(super) fn far_offset(site: &Site) -> usize {
    site.sizes.threads * 9 / 10
}

pub(super) fn lists(site: &Site) -> Result<Vec<Measured>> {
    let (serving, target) = site.serve()?;
    let mut measured = Vec::new();
    for (what, query, most) in [
        ("plain", String::new(), PAGE_MICROS_MAX),
        ("plain + total", "&total=true".to_owned(), TOTAL_MICROS_MAX),
        ("tag of 10 %", format!("&tag={TAG}"), PAGE_MICROS_MAX),
        ("tag of 10 % + total", format!("&tag={TAG}&total=true"), TOTAL_MICROS_MAX),
        ("metadata of 33 %", format!("&metadata={METADATA}"), PAGE_MICROS_MAX),
        ("metadata of 33 % + total", format!("&metadata={METADATA}&total=true"), TOTAL_MICROS_MAX),
        ("word in 25 % of titles", format!("&title={TITLE_COMMON}"), PAGE_MICROS_MAX),
        ("word in 25 % of titles + total", format!("&title={TITLE_COMMON}&total=true"), TOTAL_MICROS_MAX),
        ("two letters in 0.02 % of titles", format!("&title={TITLE_RARE}"), LETTERS_MICROS_MAX),
        ("two letters in 0.02 % of titles + total", format!("&title={TITLE_RARE}&total=true"), TOTAL_MICROS_MAX),
        ("offset 90 %", format!("&offset={}", far_offset(site)), OFFSET_MICROS_MAX),
    ] {
        let asked = repeat(site, &serving, &target.request("GET", &format!("/v1/threads?limit=50{query}"), "", ""))?;
        some(&serde_json::from_slice::<Value>(&asked.body)?, "items")?;
        measured.push(Measured::new(what, Unit::Micros, asked.micros).at_most(most));
        measured.push(Measured::new(format!("{what}: CPU"), Unit::Micros, asked.cpu_micros));
    }
    let Asked { micros, cpu_micros, .. } = ask(site, &serving, |answer| {
        let answer: Value = if answer.is_empty() { Value::Null } else { serde_json::from_slice(answer)? };
        // After the last page it begins again.
        let cursor = answer.get("nextCursor").and_then(Value::as_str);
        let cursor = cursor.map_or(String::new(), |cursor| format!("&cursor={cursor}"));
        Ok(target.request("GET", &format!("/v1/threads?limit={LARGE_PAGE}{cursor}"), "", ""))
    })?;
    measured.push(Measured::new(format!("cursor page of {LARGE_PAGE}"), Unit::Micros, micros));
    measured.push(Measured::new(format!("cursor page of {LARGE_PAGE}: CPU"), Unit::Micros, cpu_micros));
    serving.stop()?;
    Ok(measured)
}

pub(super) fn family(site: &Site) -> Result<Vec<Measured>> {
    let (serving, target) = site.serve()?;
    let path = format!("/v1/threads/{}/tree", forked_thread());
    let asked = repeat(site, &serving, &target.request("GET", &path, "", ""))?;
    let answer: Value = serde_json::from_slice(&asked.body)?;
    let threads = some(&answer, "threads")?.len();
    serving.stop()?;
    Ok(vec![
        Measured::new("tree of a thread with many forks", Unit::Micros, asked.micros).at_most(FAMILY_MICROS_MAX),
        Measured::new("tree of a thread with many forks: CPU", Unit::Micros, asked.cpu_micros),
        Measured::new("threads in the answer", Unit::Count, threads as f64),
        Measured::new("bytes of the answer", Unit::Bytes, asked.body.len() as f64),
    ])
}

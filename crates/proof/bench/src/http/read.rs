//! Reads over HTTP by many clients: a thread, and its newest messages.

use super::{Cost, Http, latencies, series};
use crate::Result;
use crate::bench::{CLIENTS, text};
use crate::report::{Line, Unit};

pub(super) const NAME: &str = "http-read";

/// Messages of the thread that is read.
const MESSAGES: usize = 200;
/// Messages on a page.
const PAGE: usize = 50;

pub(super) fn measure(http: &Http<'_>) -> Result<Vec<Line>> {
    let room = http.bench.room()?;
    let (_, serving, target) = http.serve(&room, "served")?;
    let thread = http.threads(&target, 1)?.remove(0);
    let messages: Vec<Vec<u8>> = (0..MESSAGES).map(|n| target.append(&thread, "", text(n))).collect();
    http.load(&serving, 201, &[messages], MESSAGES)?;
    let each = http.sizes.appends.div_ceil(CLIENTS);
    let mut lines = Vec::new();
    for (what, path) in [
        ("a thread", format!("/v1/threads/{thread}")),
        ("the 50 newest messages", format!("/v1/threads/{thread}/messages?order=desc&limit={PAGE}")),
    ] {
        let clients = vec![vec![target.request("GET", &path, "", "")]; CLIENTS];
        let costs =
            (0..http.bench.rounds).map(|_| http.load(&serving, 200, &clients, each)).collect::<Result<Vec<Cost>>>()?;
        let what = format!("{CLIENTS} clients read {what}");
        lines.push(Line::new(NAME, format!("{what}: CPU a request"), Unit::Micros, series(&costs, Cost::cpu)));
        lines.push(Line::new(NAME, format!("{what}: requests"), Unit::PerSecond, series(&costs, Cost::rate)));
        lines.extend(latencies(NAME, &what, &costs));
    }
    serving.stop()?;
    Ok(lines)
}

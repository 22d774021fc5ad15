//! Many subscribers of one thread over SSE, who hang up at random and come back, while the server is restarted and
//! killed: each gets each entry once, in order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::Http;
use crate::Result;
use crate::bench::text;
use crate::http::client::{Client, Target};
use crate::http::serving::Serving;
use crate::report::{Aim, Line, Series, Unit};

pub(super) const NAME: &str = "http-streams";

/// How often each subscriber hangs up.
const HANGS_UP: usize = 20;
/// How the server ends while all of this goes on; then it is started again.
const ENDS: [End; 3] = [End::Asked, End::Killed, End::Asked];
/// Entries come so fast that subscribers follow live at times, and catch up at others.
const PACE: Duration = Duration::from_millis(5);
/// How long a reader waits before it tries a server again that was away.
const AGAIN_AFTER: Duration = Duration::from_millis(20);
/// A reader that lacks entries this long after the last one has missed them.
const MISSED_AFTER: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy)]
enum End {
    Asked,
    Killed,
}

/// Facts that hold for all subscribers, or the difference that one of them saw.
struct Seen {
    complete: usize,
    wrong: Option<String>,
    reconnects: usize,
}

/// The cost of all servers, one after the other.
#[derive(Default)]
struct Spent {
    cpu: Duration,
    memory: u64,
}

impl Spent {
    fn add(&mut self, serving: &Serving) -> Result<()> {
        self.cpu += serving.cpu()?;
        self.memory = self.memory.max(serving.memory()?.1);
        Ok(())
    }
}

pub(super) fn measure(http: &Http<'_>) -> Result<Vec<Line>> {
    let room = http.bench.room()?;
    let (subscribers, entries) = (http.sizes.subscribers, http.sizes.entries);
    let (home, mut serving, target) = http.serve(&room, "served")?;
    let thread = http.threads(&target, 1)?.remove(0);
    let port = serving.address.port();
    let (written, mut watched) = watch::channel(0);
    let writer = http.runtime.spawn(write(target.clone(), thread.clone(), entries, written));
    let all = http.runtime.spawn(subscribe(target, thread, subscribers, entries));
    let begun = Instant::now();
    let mut spent = Spent::default();
    for (n, end) in ENDS.into_iter().enumerate() {
        let enough = entries * (n + 1) / (ENDS.len() + 1);
        http.runtime.block_on(watched.wait_for(|written| *written >= enough))?;
        spent.add(&serving)?;
        match end {
            End::Asked => serving.stop()?,
            End::Killed => serving.kill()?,
        }
        serving = home.serve(port)?;
    }
    http.runtime.block_on(writer)??;
    let seen = http.runtime.block_on(async { tokio::time::timeout(MISSED_AFTER, all).await });
    let seen = seen.map_err(|_| "some subscribers did not get every entry in time")???;
    let took = begun.elapsed();
    spent.add(&serving)?;
    serving.stop()?;
    if let Some(wrong) = seen.wrong {
        return Err(wrong.into());
    }
    let what = format!("{subscribers} subscribers, {entries} entries");
    let one = |number: f64| Series::from_iter([number]);
    let line = |measure: String, unit, number| Line::new(NAME, format!("{what}: {measure}"), unit, one(number));
    let deliveries = (subscribers * entries) as f64;
    let got = "who got each entry once, in order";
    Ok(vec![
        line(got.to_owned(), Unit::Count, seen.complete as f64).aim(Aim::AtLeast(subscribers as f64)),
        line("times that one came back".to_owned(), Unit::Count, seen.reconnects as f64)
            .aim(Aim::AtLeast((subscribers * HANGS_UP) as f64)),
        line(format!("time, with {} restarts", ENDS.len()), Unit::Micros, took.as_secs_f64() * 1e6),
        line("CPU a delivery".to_owned(), Unit::Micros, spent.cpu.as_secs_f64() * 1e6 / deliveries),
        line("resident memory at its peak".to_owned(), Unit::Bytes, spent.memory as f64),
    ])
}

/// Appends entries, one after the other, each under a key of its own until it is acknowledged.
async fn write(target: Target, thread: String, entries: usize, written: watch::Sender<usize>) -> Result<()> {
    let mut client = None;
    for n in 0..entries {
        let request = target.append(&thread, &format!("Idempotency-Key: entry-{n}\r\n"), &format!("{n} {}", text(n)));
        while !sent(&mut client, &target, &request).await? {
            tokio::time::sleep(AGAIN_AFTER).await;
        }
        written.send_replace(n + 1);
        tokio::time::sleep(PACE).await;
    }
    Ok(())
}

/// Whether `request` was acknowledged; false if the server is away.
async fn sent(client: &mut Option<Client>, target: &Target, request: &[u8]) -> Result<bool> {
    let mut open = match client.take() {
        Some(open) => open,
        None => match Client::connect(target.address).await {
            Ok(open) => open,
            Err(_) => return Ok(false),
        },
    };
    match open.ask(request).await {
        Ok((201, _)) => {
            *client = Some(open);
            Ok(true)
        }
        Ok((503, _)) | Err(_) => Ok(false),
        Ok((status, body)) => Err(format!("an append was answered {status}: {}", String::from_utf8_lossy(body)).into()),
    }
}

async fn subscribe(target: Target, thread: String, subscribers: usize, entries: usize) -> Result<Seen> {
    let path: Arc<str> = format!("/v1/threads/{thread}/stream").into();
    let reconnects = Arc::new(AtomicUsize::new(0));
    let all: Vec<_> = (0..subscribers)
        .map(|n| tokio::spawn(follow(target.clone(), Arc::clone(&path), n as u64, entries, Arc::clone(&reconnects))))
        .collect();
    let mut seen = Seen { complete: 0, wrong: None, reconnects: 0 };
    for subscriber in all {
        match subscriber.await? {
            Ok(()) => seen.complete += 1,
            Err(wrong) => seen.wrong = Some(wrong.to_string()),
        }
    }
    seen.reconnects = reconnects.load(Ordering::Relaxed);
    Ok(seen)
}

/// Follows until every entry was seen; fails at the first that comes twice, is left out, or is not the one that was
/// written there.
async fn follow(target: Target, path: Arc<str>, seed: u64, entries: usize, reconnects: Arc<AtomicUsize>) -> Result<()> {
    let mut hang_up_at = moments(seed, entries);
    let (mut last, mut came) = (0, 0);
    while last < entries {
        let Ok(mut client) = Client::connect(target.address).await else {
            tokio::time::sleep(AGAIN_AFTER).await;
            continue;
        };
        let resume = if last > 0 { format!("Last-Event-ID: {last}\r\n") } else { String::new() };
        match client.open(&target.request("GET", &path, &resume, "")).await {
            // The first time is no coming back.
            Ok(200) if came == 0 => came = 1,
            Ok(200) => drop(reconnects.fetch_add(1, Ordering::Relaxed)),
            Ok(503) | Err(_) => {
                tokio::time::sleep(AGAIN_AFTER).await;
                continue;
            }
            Ok(status) => return Err(format!("a stream was answered {status}").into()),
        }
        let mut read = Vec::new();
        'connected: while let Ok(true) = client.chunk(&mut read).await {
            while let Some(end) = read.windows(2).position(|window| window == b"\n\n") {
                let event: Vec<u8> = read.drain(..end + 2).collect();
                let Some(version) = told(std::str::from_utf8(&event)?)? else { continue };
                if version != last + 1 {
                    return Err(format!("subscriber {seed} got version {version} after {last}").into());
                }
                last = version;
                if hang_up_at.pop_front_if(|at| *at <= last).is_some() || last == entries {
                    // Bytes read beyond this are thrown away, as when a connection breaks.
                    break 'connected;
                }
            }
        }
    }
    if hang_up_at.is_empty() { Ok(()) } else { Err("a subscriber did not hang up as often as it should".into()) }
}

/// After which versions a subscriber hangs up: different ones, in order, never the last.
fn moments(seed: u64, entries: usize) -> VecDeque<usize> {
    let mut state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut all: Vec<usize> = (1..entries).collect();
    let mut chosen = Vec::with_capacity(HANGS_UP);
    while chosen.len() < HANGS_UP && !all.is_empty() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        chosen.push(all.swap_remove((state >> 33) as usize % all.len()));
    }
    chosen.sort_unstable();
    chosen.into()
}

/// The version of an event; none for a comment. The text has to be the one that was written as that entry.
fn told(event: &str) -> Result<Option<usize>> {
    let mut lines = event.lines();
    let Some(id) = lines.next().and_then(|line| line.strip_prefix("id: ")) else { return Ok(None) };
    let version: usize = id.parse()?;
    let written = format!("\"content\":\"{} ", version - 1);
    let is_whole = lines.any(|line| line.starts_with("data: ") && line.contains(&written));
    if is_whole { Ok(Some(version)) } else { Err(format!("the event with id {version} tells another entry").into()) }
}

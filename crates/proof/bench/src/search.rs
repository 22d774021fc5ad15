//! Search: how fast messages are indexed, how large the index is, how soon a question is answered, and how much
//! following the log slows appends.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use threadkeep::{Append, Create, Engine, Fork, MessageBody, Search, ThreadId};

use crate::Result;
use crate::bench::{Bench, Place};
use crate::line::Line;
use crate::meter::{Spent, median, percentile};
use crate::ours::Ours;

/// Bytes of a message.
const TEXT_BYTES: usize = 1_024;
/// Messages of a thread.
const MESSAGES_A_THREAD: usize = 100;
/// Different words in all messages, from the most usual to the rarest.
const WORDS: u64 = 20_000;
/// A word in 95 of a hundred messages, one in a few of them, and two in every thousandth.
const COMMON: &str = "zzcommon";
const RARE: &str = "zzrare";
const PAIR: [&str; 2] = ["zzleft", "zzright"];
/// Messages after which the index looks, where they come in a trickle.
const TRICKLE: usize = 100;

/// How much is made.
pub(crate) struct Sizes {
    pub(crate) messages: usize,
    /// Messages that come in a trickle.
    pub(crate) trickle: usize,
    /// Questions of each kind.
    pub(crate) questions: usize,
    /// Messages that are appended with and without a follower.
    pub(crate) appends: usize,
    /// Forks of a thread with a thousand messages.
    pub(crate) forks: usize,
}

impl Sizes {
    pub(crate) fn of(quick: bool) -> Self {
        match quick {
            true => Self { messages: 3_000, trickle: 300, questions: 20, appends: 300, forks: 20 },
            false => Self { messages: 100_000, trickle: 10_000, questions: 500, appends: 100_000, forks: 500 },
        }
    }
}

pub(crate) fn measure(bench: &Bench, sizes: &Sizes, json: bool) -> Result<()> {
    let room = bench.room()?;
    let place = room.place("search.db");
    let ours = Ours::open(&place)?;
    if !json {
        writeln!(std::io::stdout(), "Search; {}", bench.about()?)?;
    }
    let single = |row, measure, unit, value: f64, most: Option<f64>| {
        Line { row, measure, unit, ours: vec![value], other: None, most }.print(json, bench.quick)
    };
    let engine = &ours.engine;
    fill(bench, engine, 0, sizes.messages)?;
    let bulk = Spent::on(sizes.messages, || index(bench, engine))?;
    single("index", "bulk, CPU a message (aim 5,000/s)", "µs", bulk.cpu(), Some(200.0))?;
    single("index", "bulk, messages a second", "/s", bulk.rate(), None)?;
    let status = bench.runtime.block_on(engine.index_status())?;
    if status.messages != sizes.messages as u64 || status.embedded != status.messages {
        return Err(format!("{} of {} messages were indexed", status.embedded, sizes.messages).into());
    }
    single("size", "index with vectors, of the text", "×", status.bytes as f64 / status.text_bytes as f64, Some(0.8))?;
    let pair = PAIR.join(" ");
    let kinds = [
        ("a rare word, p99", RARE, 2.0),
        ("two words, p99", &pair, 5.0),
        ("a word in 95 % of all, p99", COMMON, 20.0),
        ("a question in plain words, p99", "how did we fix the broken upload of large files", f64::INFINITY),
    ];
    for (measure, query, most) in kinds {
        let (times, cpu) = ask(bench, engine, query, sizes.questions)?;
        let most = most.is_finite().then_some(most);
        single("ask", measure, "ms", percentile(&times, 99), most)?;
        single("ask", "  the same, typically", "ms", median(&times), None)?;
        single("ask", "  the same, CPU", "ms", cpu, None)?;
    }
    trickle(bench, engine, sizes, &single)?;
    forks(bench, engine, sizes, &single)?;
    drop(ours);
    following(bench, sizes, json)
}

/// Indexes everything that there is.
fn index(bench: &Bench, engine: &Engine) -> Result<()> {
    bench.runtime.block_on(engine.backfill(None, Arc::new(|_, _, _| {})))?;
    Ok(())
}

/// Message number `n`: 1 KiB of words, of which few are usual and most are rare, as in any language.
fn text(n: usize) -> String {
    let mut text = String::with_capacity(TEXT_BYTES + 16);
    if n % 20 != 7 {
        text.push_str(COMMON);
    }
    if n % 40_000 == 11 {
        text.push(' ');
        text.push_str(RARE);
    }
    for (at, word) in PAIR.into_iter().enumerate() {
        if n % 1_000 == 13 + at * (n / 1_000 % 3) {
            text.push(' ');
            text.push_str(word);
        }
    }
    let mut state = n as u64 + 1;
    while text.len() < TEXT_BYTES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chance = (state >> 33) as f64 / f64::from(1u32 << 31);
        // The n-th word is as usual as one n-th of the first.
        let rank = ((WORDS as f64).powf(chance) - 1.0) as u64;
        text.push(' ');
        text.push_str(&word(rank));
    }
    text.truncate(TEXT_BYTES);
    text
}

/// The word of this rank, shorter the more usual it is.
pub(crate) fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 16] =
        ["ta", "re", "mi", "con", "ver", "lo", "sen", "pa", "di", "ful", "ne", "gra", "bu", "tor", "ex", "hy"];
    let mut word = String::new();
    let mut rest = rank + 16;
    while rest > 0 {
        word.push_str(SYLLABLES[(rest % 16) as usize]);
        rest /= 16;
    }
    word
}

/// Appends this many messages, to threads of a hundred each.
fn fill(bench: &Bench, engine: &Engine, first: usize, count: usize) -> Result<Vec<ThreadId>> {
    let numbers: Vec<usize> = (first..first + count).collect();
    let mut threads = Vec::new();
    for some in numbers.chunks(MESSAGES_A_THREAD) {
        let thread = bench.runtime.block_on(engine.create(Create::titled(&format!("Thread {}", some[0]))))?.id;
        let append = Append::batch(some.iter().map(|n| MessageBody::user(&text(*n))));
        bench.runtime.block_on(engine.append(thread, append))?;
        threads.push(thread);
    }
    Ok(threads)
}

/// Asks so often, and says how long each answer took and how much CPU they took on average, in milliseconds. The first
/// ones are not counted: the index is warm.
fn ask(bench: &Bench, engine: &Engine, query: &str, times: usize) -> Result<(Vec<f64>, f64)> {
    let asked = || -> Result<()> {
        let found = bench.runtime.block_on(engine.search(Search::new(query)))?;
        match found.is_empty() && query.starts_with("zz") {
            true => Err(format!("nothing was found for {query}").into()),
            false => Ok(()),
        }
    };
    (0..10).try_for_each(|_| asked())?;
    let mut millis = Vec::with_capacity(times);
    let spent = Spent::on(times, || {
        (0..times).try_for_each(|_| {
            let began = Instant::now();
            asked()?;
            millis.push(began.elapsed().as_secs_f64() * 1_000.0);
            Ok(())
        })
    })?;
    Ok((millis, spent.cpu() / 1_000.0))
}

type Single<'a> = &'a dyn Fn(&'static str, &'static str, &'static str, f64, Option<f64>) -> Result<()>;

/// Messages that come a few at a time.
fn trickle(bench: &Bench, engine: &Engine, sizes: &Sizes, single: Single<'_>) -> Result<()> {
    let mut spent = Spent::default();
    for some in (0..sizes.trickle).step_by(TRICKLE) {
        fill(bench, engine, sizes.messages + some, TRICKLE)?;
        spent += Spent::on(TRICKLE, || index(bench, engine))?;
    }
    single("index", "trickle, CPU a message (aim 1,500/s)", "µs", spent.cpu(), Some(1e6 / 1_500.0))
}

/// Forks of one thread: the index does not grow, and they are not found beside it.
fn forks(bench: &Bench, engine: &Engine, sizes: &Sizes, single: Single<'_>) -> Result<()> {
    let thread = bench.runtime.block_on(engine.create(Create::titled("Forked")))?.id;
    let said = Append::batch((0..1_000).map(|n| MessageBody::user(&format!("zzforked {}", text(n + 17)))));
    bench.runtime.block_on(engine.append(thread, said))?;
    index(bench, engine)?;
    let before = bench.runtime.block_on(engine.index_status())?;
    for _ in 0..sizes.forks {
        bench.runtime.block_on(engine.fork(thread, Fork::default()))?;
    }
    index(bench, engine)?;
    let after = bench.runtime.block_on(engine.index_status())?;
    if after.messages != before.messages {
        return Err("forks added messages to the index".into());
    }
    let search = Search { limit: Some(50), ..Search::new("zzforked") };
    let found = bench.runtime.block_on(engine.search(search))?;
    if found.len() != 1 || found[0].thread != thread || found[0].also_in != sizes.forks as u64 {
        return Err("a message that forks share was not found once, under the thread that wrote it".into());
    }
    let grown = after.bytes.saturating_sub(before.bytes) as f64 / sizes.forks as f64;
    single("forks", "bytes of the index a fork", "bytes", grown, Some(100.0))
}

/// Appends with and without a follower of the log, and how soon the follower has caught up.
fn following(bench: &Bench, sizes: &Sizes, json: bool) -> Result<()> {
    let rate = |follow: bool| -> Result<(f64, f64)> {
        let room = bench.room()?;
        let place: Place = room.place("following.db");
        let ours = Ours::open(&place)?;
        let follower = follow.then(|| bench.runtime.spawn(ours.engine.clone().run_index(|_| {})));
        let began = Instant::now();
        let clients = (0..16).map(|client| {
            let (engine, count) = (ours.engine.clone(), sizes.appends / 16);
            bench.runtime.spawn(async move {
                let thread = engine.create(Create::titled("Client")).await?.id;
                for n in 0..count {
                    engine.append(thread, MessageBody::user(&text(client * count + n))).await?;
                }
                Result::Ok(())
            })
        });
        crate::ours::join(bench, clients.collect())?;
        let rate = sizes.appends as f64 / began.elapsed().as_secs_f64();
        let began = Instant::now();
        while follow && !bench.runtime.block_on(ours.engine.index_status())?.caught_up {
            std::thread::sleep(Duration::from_millis(50));
        }
        let caught_up = began.elapsed().as_secs_f64();
        if let Some(follower) = follower {
            follower.abort();
        }
        Ok((rate, caught_up))
    };
    let (alone, _) = rate(false)?;
    let (followed, caught_up) = rate(true)?;
    let other = Some(("unfollowed", vec![alone]));
    // The other way round than elsewhere: more is better.
    Line {
        row: "follow",
        measure: "appends a second (aim 0.7 ×)",
        unit: "/s",
        ours: vec![followed],
        other,
        most: None,
    }
    .print(json, bench.quick)?;
    let (row, measure, unit) = ("follow", "caught up after the last append", "s");
    Line { row, measure, unit, ours: vec![caught_up], other: None, most: Some(60.0) }.print(json, bench.quick)
}

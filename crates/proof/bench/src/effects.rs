//! Effects: what scheduling one costs beside the append it rides on, and how many that are due run in a second, with a
//! handler in Rust and with one in JavaScript. Also what a tool in JavaScript costs beside its own time.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use threadkeep::{Append, Create, Engine, ListEffects, MessageBody, ScheduleEffect, ThreadId};
use threadkeep_runtime::Runtime;
use threadkeep_runtime::effects::{EffectCall, RustEffects, run_effects};
use threadkeep_runtime::tools::never;

use crate::Result;
use crate::bench::{Bench, text};
use crate::line::Line;
use crate::meter::median;
use crate::ours::Ours;

/// Effects of one append, where many are scheduled.
const AT_ONCE: usize = 100;
/// Threads over which they are spread.
const THREADS: usize = 100;
/// How often it is looked whether they have ended.
const POLL: Duration = Duration::from_millis(5);
/// How long all of them may take to end.
const ENDED_WITHIN: Duration = Duration::from_secs(300);

/// A handler that does nothing.
const EFFECT: &str =
    "import { defineEffect } from \"threadkeep\";\nexport default defineEffect({ handler: async () => {} });\n";
/// A tool that does nothing.
const TOOL: &str =
    "import { defineTool } from \"threadkeep\";\nexport default defineTool({ execute: async () => 1 });\n";

/// How much is measured.
pub(crate) struct Sizes {
    appends: usize,
    due: usize,
    due_in_code: usize,
    tools: usize,
}

impl Sizes {
    pub(crate) fn of(quick: bool) -> Self {
        let (appends, due, due_in_code, tools) = if quick { (20, 300, 100, 5) } else { (500, 10_000, 2_000, 200) };
        Self { appends, due, due_in_code, tools }
    }
}

pub(crate) fn measure(bench: &Bench, sizes: &Sizes, json: bool) -> Result<()> {
    let room = bench.room()?;
    if !json {
        writeln!(std::io::stdout(), "Effects beside the append that they ride on; {}", bench.about()?)?;
    }
    let (mut alone, mut with, mut spread, mut one) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut code, mut tool) = (Vec::new(), Vec::new());
    let folder = tempfile::tempdir()?;
    for (file, text) in [("effects/now.ts", EFFECT), ("tools/nothing.ts", TOOL)] {
        let file = folder.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap_or(folder.path()))?;
        std::fs::write(file, text)?;
    }
    for round in 0..bench.rounds {
        let ours = Ours::open(&room.place(&format!("effects-{round}.db")))?;
        let (append, scheduling) = bench.runtime.block_on(appends(&ours.engine, sizes.appends))?;
        alone.push(append);
        with.push(scheduling);
        spread.push(bench.runtime.block_on(rate(&ours.engine, sizes.due, THREADS))?);
        one.push(bench.runtime.block_on(rate(&ours.engine, sizes.due, 1))?);
        let runtime = Runtime::builder(ours.engine.clone()).definitions(folder.path()).build();
        code.push(bench.runtime.block_on(code_rate(&runtime, sizes.due_in_code))?);
        tool.push(bench.runtime.block_on(tools(&runtime, sizes.tools))?);
    }
    let line = |measure, unit, ours, other, most| Line { row: "effects", measure, unit, ours, other, most };
    line("an append with an effect, p50", "µs", with, Some(("an append", alone)), Some(1.2))
        .print(json, bench.quick)?;
    // At least 500 a second is at most 2 ms for each.
    let each = |rates: &[f64]| rates.iter().map(|rate| 1_000.0 / rate).collect::<Vec<_>>();
    let (spread_each, one_each) = (each(&spread), each(&one));
    line("due effects a second, 100 threads", "/s", spread, None, None).print(json, bench.quick)?;
    line("the same, time for each", "ms", spread_each, None, Some(2.0)).print(json, bench.quick)?;
    line("due effects a second, one thread", "/s", one, None, None).print(json, bench.quick)?;
    line("the same, time for each", "ms", one_each, None, Some(2.0)).print(json, bench.quick)?;
    // At least 200 a second is at most 5 ms for each.
    let code_each = each(&code);
    line("due effects a second, in JavaScript", "/s", code, None, None).print(json, bench.quick)?;
    line("the same, time for each", "ms", code_each, None, Some(5.0)).print(json, bench.quick)?;
    line("a tool in JavaScript that does nothing, p50", "ms", tool, None, Some(3.0)).print(json, bench.quick)
}

/// The time of an append alone, and of one that schedules an effect, in turns: medians in microseconds.
async fn appends(engine: &Engine, count: usize) -> Result<(f64, f64)> {
    let (plain, scheduling) =
        (engine.create(Create::titled("Plain")).await?.id, engine.create(Create::titled("Effects")).await?.id);
    let effect = ScheduleEffect::new("later")?.after_ms(24 * 3_600_000);
    let (mut alone, mut with) = (Vec::new(), Vec::new());
    for n in 0..count {
        let began = Instant::now();
        engine.append(plain, MessageBody::user(text(n))).await?;
        alone.push(began.elapsed().as_secs_f64() * 1e6);
        let append = Append::from(MessageBody::user(text(n))).scheduling(effect.clone());
        let began = Instant::now();
        engine.append(scheduling, append).await?;
        with.push(began.elapsed().as_secs_f64() * 1e6);
    }
    Ok((median(&alone), median(&with)))
}

/// Threads with effects that are due.
async fn scheduled(engine: &Engine, due: usize, threads: usize) -> Result<Vec<ThreadId>> {
    let mut made: Vec<ThreadId> = Vec::new();
    for n in 0..threads {
        made.push(engine.create(Create::titled(&format!("Due {n}"))).await?.id);
    }
    let effect = ScheduleEffect::new("now")?;
    for n in 0..due / AT_ONCE {
        let append = (0..AT_ONCE).fold(Append::from(MessageBody::user("go")), |all, _| all.scheduling(effect.clone()));
        engine.append(made[n % threads], append).await?;
    }
    Ok(made)
}

/// Waits until no effect of these threads is open.
async fn ended(engine: &Engine, threads: &[ThreadId], began: Instant) -> Result<()> {
    for thread in threads {
        let first = || ListEffects { limit: Some(1), ..ListEffects::default() };
        while !engine.effects(*thread, first()).await?.items.is_empty() {
            if began.elapsed() > ENDED_WITHIN {
                return Err("the effects do not end".into());
            }
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(())
}

/// How many effects that are due end in a second, with a handler in JavaScript that does nothing.
async fn code_rate(runtime: &Runtime, due: usize) -> Result<f64> {
    let engine = runtime.engine();
    let made = scheduled(engine, due, THREADS.min(due / AT_ONCE)).await?;
    let began = Instant::now();
    let background = runtime.start();
    ended(engine, &made, began).await?;
    let took = began.elapsed();
    background.stop().await;
    Ok(due as f64 / took.as_secs_f64())
}

/// The time of a call of a tool in JavaScript that does nothing, its log included: the median in milliseconds.
async fn tools(runtime: &Runtime, count: usize) -> Result<f64> {
    let thread = runtime.engine().create(Create::titled("Tools")).await?.id;
    let mut times = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        runtime.invoke(runtime.engine(), thread, ("nothing", serde_json::Map::new()), &never()).await?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        // Workers are made ready in the pauses between calls, as they are for an agent.
        tokio::time::sleep(POLL).await;
    }
    Ok(median(&times))
}

/// How many effects that are due end in a second, with a handler that does nothing.
async fn rate(engine: &Engine, due: usize, threads: usize) -> Result<f64> {
    let made = scheduled(engine, due, threads).await?;
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let handlers = RustEffects::default().with("now", move |_: EffectCall| {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok(()))
    });
    let began = Instant::now();
    let running = tokio::spawn(run_effects(engine.clone(), Arc::new(handlers), std::future::pending()));
    let within = || if began.elapsed() > ENDED_WITHIN { Err("the effects do not end") } else { Ok(()) };
    while ran.load(Ordering::Relaxed) < due {
        within()?;
        tokio::time::sleep(POLL).await;
    }
    // The last ends are recorded after the last handler ran.
    ended(engine, &made, began).await?;
    let took = began.elapsed();
    running.abort();
    if ran.load(Ordering::Relaxed) != due {
        return Err(format!("{} of {due} effects ran", ran.load(Ordering::Relaxed)).into());
    }
    Ok(due as f64 / took.as_secs_f64())
}

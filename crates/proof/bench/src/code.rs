//! Code in the sandbox: how long a run takes, how many run a second, what a host call costs, and the memory of a worker
//! that waits; beside `node -e` for the same script.
//!
//! This program is its own worker, as every program that embeds Threadkeep.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use threadkeep::sandbox::limits::READY_MAX;
use threadkeep::sandbox::{Code, Sandbox, Status, Value, host_function};

use crate::Result;
use crate::line::Line;
use crate::meter::median;

/// The script of a run: a little work, and a result.
const SCRIPT: &str = "const squares = Array.from({ length: 100 }, (_, i) => i * i);\n";
/// How long two workers may take to be ready.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// How much is measured.
pub(crate) struct Sizes {
    pub(crate) rounds: usize,
    runs: usize,
    at_once: usize,
    many: usize,
    calls: usize,
}

impl Sizes {
    pub(crate) fn of(quick: bool, rounds: usize) -> Self {
        let (runs, many, calls) = if quick { (3, 10, 50) } else { (100, 2_000, 20_000) };
        Self { rounds, runs, at_once: 8, many, calls }
    }
}

pub(crate) fn measure(sizes: &Sizes, quick: bool, json: bool) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (mut cold, mut warm, mut node) = (Vec::new(), Vec::new(), Vec::new());
    let (mut rate, mut call, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..sizes.rounds {
        runtime.block_on(async {
            cold.push(median(&cold_runs(sizes.runs).await?));
            let sandbox = Sandbox::default();
            run(&sandbox).await?;
            warm.push(median(&warm_runs(&sandbox, sizes.runs).await?));
            ready(&sandbox).await?;
            memory.push(resident_mb(&sandbox)?);
            rate.push(many(&sandbox, sizes).await?);
            call.push(calls(&sandbox, sizes.calls).await?);
            Ok::<(), crate::Error>(())
        })?;
        if let Some(times) = node_runs(sizes.runs)? {
            node.push(median(&times));
        }
    }
    let beside = (node.len() == sizes.rounds).then_some(("node -e", node));
    let line = |measure, unit, ours, most| Line { row: "code", measure, unit, ours, other: None, most };
    line("a run, cold, p50", "ms", cold.clone(), Some(5.0)).print(json, quick)?;
    line("a run, prewarmed, p50", "ms", warm.clone(), Some(1.0)).print(json, quick)?;
    if beside.is_some() {
        Line { other: beside.clone(), ..line("a run, cold, beside", "ms", cold, None) }.print(json, quick)?;
        Line { other: beside, ..line("a run, prewarmed, beside", "ms", warm, None) }.print(json, quick)?;
    }
    // At least 400 a second is at most 2.5 ms for each.
    let each = rate.iter().map(|rate| 1_000.0 / rate).collect();
    line("runs a second, 8 at once", "/s", rate, None).print(json, quick)?;
    line("the same, time for each", "ms", each, Some(2.5)).print(json, quick)?;
    line("a host call", "µs", call, Some(60.0)).print(json, quick)?;
    line("a worker that waits, resident", "MB", memory, Some(8.0)).print(json, quick)
}

fn script() -> Code {
    Code::new(format!("{SCRIPT}export default () => squares.reduce((a, b) => a + b);"))
}

async fn run(sandbox: &Sandbox) -> Result<Duration> {
    let began = Instant::now();
    let outcome = sandbox.start(script())?.await?;
    let took = began.elapsed();
    if outcome.status != Status::Success || outcome.result != Value::Number(328_350.0) {
        return Err(format!("the script gave {outcome:?}").into());
    }
    Ok(took)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Runs in a sandbox that is new each time: nothing is ready.
async fn cold_runs(count: usize) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    for _ in 0..count {
        let sandbox = Sandbox::default();
        times.push(ms(run(&sandbox).await?));
        // What it starts after its first run is not part of the next one.
        ready(&sandbox).await?;
    }
    Ok(times)
}

/// Runs that find a worker ready.
async fn warm_runs(sandbox: &Sandbox, count: usize) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    for _ in 0..count {
        ready(sandbox).await?;
        times.push(ms(run(sandbox).await?));
    }
    Ok(times)
}

/// Waits until as many workers are ready as should be.
async fn ready(sandbox: &Sandbox) -> Result<()> {
    let began = Instant::now();
    while sandbox.ready().len() < READY_MAX {
        if began.elapsed() > READY_WITHIN {
            return Err("no worker is ready".into());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// How many runs end in a second.
async fn many(sandbox: &Sandbox, sizes: &Sizes) -> Result<f64> {
    let began = Instant::now();
    let each = sizes.many / sizes.at_once;
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..sizes.at_once {
        let sandbox = sandbox.clone();
        all.spawn(async move {
            for _ in 0..each {
                run(&sandbox).await?;
            }
            Ok::<(), crate::Error>(())
        });
    }
    while let Some(done) = all.join_next().await {
        done??;
    }
    Ok((each * sizes.at_once) as f64 / began.elapsed().as_secs_f64())
}

/// Microseconds of a host call, one after the other.
async fn calls(sandbox: &Sandbox, count: usize) -> Result<f64> {
    let source = format!(
        "import {{ ask }} from 'host';\nexport default async () => {{ const began = Date.now(); for (let i = 0; i < {count}; i++) await ask(i); return (Date.now() - began) * 1000 / {count} }}"
    );
    let function = host_function(|args| async move { Ok(args.into_iter().next().unwrap_or_default()) });
    let outcome = sandbox.start(Code::new(source).function("host", "ask", function))?.await?;
    match outcome.result {
        Value::Number(each) => Ok(each),
        other => Err(format!("the calls gave {other:?}: {:?}", outcome.error).into()),
    }
}

/// The mean memory of the workers that wait.
fn resident_mb(sandbox: &Sandbox) -> Result<f64> {
    let mut all = Vec::new();
    for pid in sandbox.ready() {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        all.push(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1_000.0);
    }
    Ok(median(&all))
}

/// The same script by `node -e`; none if it is not installed.
fn node_runs(count: usize) -> Result<Option<Vec<f64>>> {
    let mut times = Vec::new();
    for _ in 0..count {
        let script = format!("{SCRIPT}console.log(squares.reduce((a, b) => a + b))");
        let began = Instant::now();
        let ran = Command::new("node").args(["-e", &script]).stdin(Stdio::null()).stderr(Stdio::null()).output();
        let took = began.elapsed();
        match ran {
            Ok(output) if output.stdout.trim_ascii() == b"328350" => times.push(ms(took)),
            Ok(output) => return Err(format!("node gave {output:?}").into()),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(times))
}

//! Agents at work on one server: what a step costs beyond the model and its tools, the memory of the server, and what
//! others notice who append meanwhile.
//!
//! The model plays a script, at the pace of a model. The tools are requests to a server in this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::Result;
use crate::bench::text;
use crate::http::client::{Client, Target};
use crate::http::serving::{self, Home, Serving};
use crate::line::Line;

/// Accounts of the agents: a server works on at most 64 runs of one account.
const ACCOUNTS: usize = 4;
/// Clients that append beside the agents, each on a thread of its own.
const CLIENTS: usize = 8;
/// How often a run is looked at.
const POLL: Duration = Duration::from_millis(100);
/// How long all runs may take to end.
const ENDED_WITHIN: Duration = Duration::from_secs(600);

/// How much is measured.
pub(crate) struct Sizes {
    pub(crate) rounds: usize,
    pub(crate) agents: usize,
    /// Answers of the model in a run; each but the last one calls two tools.
    steps: usize,
    /// Before each call in an answer.
    pause_ms: u64,
    /// How long others append without agents.
    alone: Duration,
}

impl Sizes {
    pub(crate) fn of(quick: bool, rounds: usize) -> Self {
        match quick {
            true => Self { rounds, agents: 8, steps: 3, pause_ms: 1, alone: Duration::from_millis(200) },
            false => Self { rounds, agents: 200, steps: 20, pause_ms: 500, alone: Duration::from_secs(10) },
        }
    }
}

pub(crate) fn measure(sizes: &Sizes, threadkeep: Option<PathBuf>, quick: bool, json: bool) -> Result<()> {
    let program = serving::program(threadkeep.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (mut took, mut cpu, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..sizes.rounds {
        let folder = tempfile::tempdir()?;
        let found = runtime.block_on(round(sizes, &program, folder.path()))?;
        took.push(found.took.as_secs_f64());
        cpu.push(found.cpu.as_secs_f64() * 1e3 / (sizes.agents * sizes.steps) as f64);
        memory.push(found.memory as f64 / 1e6);
        // The rate without agents may be at most 1 / 0.7 of the one beside them.
        alone.push(1e3 / found.alone);
        beside.push(1e3 / found.beside);
    }
    let line = |measure, unit, ours, other, most| Line { row: "agents", measure, unit, ours, other, most };
    line("all runs end within", "s", took, None, None).print(json, quick)?;
    line("CPU of the server for a step", "ms", cpu, None, Some(3.0)).print(json, quick)?;
    line("memory of the server, peak", "MB", memory, None, Some(150.0)).print(json, quick)?;
    line("an append of others, each", "ms", beside, Some(("without agents", alone)), Some(1.43)).print(json, quick)
}

/// What one round found.
struct Found {
    took: Duration,
    cpu: Duration,
    memory: u64,
    /// Appends of others a second.
    alone: f64,
    beside: f64,
}

async fn round(sizes: &Sizes, program: &Path, folder: &Path) -> Result<Found> {
    let tools = TcpListener::bind("127.0.0.1:0").await?;
    let home = Home::new(program, folder.join("data"), None);
    define(&home.folder().join("definitions"), sizes, &tools.local_addr()?.to_string())?;
    let answering = tokio::spawn(answer_tools(tools));
    let serving = home.serve(0)?;
    let local = Target { address: serving.address, key: serving.key.clone() };
    let mut accounts = Vec::new();
    for n in 0..ACCOUNTS {
        let asked = json!({ "account": format!("bench-{n}"), "scope": "write" }).to_string();
        let made = ask(&local, "POST", "/v1/keys", &asked).await?;
        accounts.push(Target { address: serving.address, key: text_of(&made, "key")? });
    }
    let before = serving.cpu()?;
    let took = agents(sizes, &accounts).await?;
    let (cpu, memory) = (serving.cpu()?.saturating_sub(before), serving.memory()?.1);
    let alone = others(&local, async {
        tokio::time::sleep(sizes.alone).await;
        Ok(())
    });
    let alone = alone.await?;
    let beside = others(&local, async { agents(sizes, &accounts).await.map(drop) }).await?;
    answering.abort();
    Serving::stop(serving)?;
    Ok(Found { took, cpu, memory, alone, beside })
}

/// Writes an agent whose model plays a script.
fn define(folder: &Path, sizes: &Sizes, tools: &str) -> Result<()> {
    let calls = json!({ "pauseMs": sizes.pause_ms, "calls": [{ "name": "one" }, { "name": "two" }] });
    let mut answers = vec![calls; sizes.steps - 1];
    answers.push(json!({ "text": "Done." }));
    let tool = format!("description = \"Answers\"\nurl = \"http://{tools}/\"\nneeds = []\nrepeatable = true\n");
    for (file, text) in [
        ("agents/worker.toml", "[sideA]\nprompt = \"worker\"\n".to_owned()),
        ("prompts/worker.toml", "prompt = \"Work.\"\nmodel = \"play\"\ntools = [\"one\", \"two\"]\n".to_owned()),
        ("models/play.toml", "provider = \"script\"\nmodel = \"scripts/play.json\"\n".to_owned()),
        ("scripts/play.json", json!({ "answers": answers }).to_string()),
        ("tools/one.toml", tool.clone()),
        ("tools/two.toml", tool),
    ] {
        let file = folder.join(file);
        std::fs::create_dir_all(file.parent().unwrap_or(folder))?;
        std::fs::write(file, text)?;
    }
    Ok(())
}

/// Answers the requests of tools, which have no body.
async fn answer_tools(listener: TcpListener) {
    while let Ok((socket, _)) = listener.accept().await {
        tokio::spawn(answer_tool(socket));
    }
}

async fn answer_tool(mut socket: TcpStream) {
    let mut read = Vec::new();
    loop {
        // The server closes connections that it does not need any more.
        match socket.read_buf(&mut read).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if read.windows(4).any(|four| four == b"\r\n\r\n") {
            read.clear();
            if socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.is_err() {
                return;
            }
        }
    }
}

/// Has all agents work at once, and says how long it took until the last one was done.
async fn agents(sizes: &Sizes, accounts: &[Target]) -> Result<Duration> {
    let mut threads = Vec::new();
    for n in 0..sizes.agents {
        let target = &accounts[n % accounts.len()];
        let made = ask(target, "POST", "/v1/threads", r#"{"title":"Work","agentId":"worker"}"#).await?;
        threads.push((target, text_of(&made, "id")?));
    }
    let began = Instant::now();
    for (target, thread) in &threads {
        ask(target, "POST", &format!("/v1/threads/{thread}/queue"), r#"{"role":"user","content":"go"}"#).await?;
    }
    for (target, thread) in &threads {
        let path = format!("/v1/threads/{thread}/runs?limit=1");
        loop {
            let runs = ask(target, "GET", &path, "").await?;
            // Null until the dispatcher has started a run.
            let run = &runs["items"][0];
            if run["completedAt"].is_string() {
                if run["status"] != "completed" || run["stepCount"].as_u64() != Some(sizes.steps as u64) {
                    return Err(format!("a run did not do its work: {run}").into());
                }
                break;
            }
            if began.elapsed() > ENDED_WITHIN {
                return Err(format!("the runs do not end: {run}").into());
            }
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(began.elapsed())
}

/// Appends of clients in a second, while `meanwhile` goes on.
async fn others(target: &Target, meanwhile: impl Future<Output = Result<()>>) -> Result<f64> {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut clients = Vec::new();
    for n in 0..CLIENTS {
        let thread = text_of(&ask(target, "POST", "/v1/threads", r#"{"title":"Others"}"#).await?, "id")?;
        let (request, address) = (target.append(&thread, "", text(n)), target.address);
        let (stop, count) = (Arc::clone(&stop), Arc::clone(&count));
        clients.push(tokio::spawn(async move {
            let mut client = Client::connect(address).await?;
            while !stop.load(Ordering::Relaxed) {
                client.expect(201, &request).await?;
                count.fetch_add(1, Ordering::Relaxed);
            }
            Result::<()>::Ok(())
        }));
    }
    let (began, before) = (Instant::now(), count.load(Ordering::Relaxed));
    meanwhile.await?;
    let rate = (count.load(Ordering::Relaxed) - before) as f64 / began.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.await??;
    }
    Ok(rate)
}

/// The answer to a request that has to succeed.
async fn ask(target: &Target, method: &str, path: &str, body: &str) -> Result<Value> {
    let mut client = Client::connect(target.address).await?;
    let (status, said) = client.ask(&target.request(method, path, "", body)).await?;
    let said: Value = serde_json::from_slice(said)?;
    if status >= 300 {
        return Err(format!("{method} {path} was answered {status}: {said}").into());
    }
    Ok(said)
}

/// A text in an answer.
fn text_of(answer: &Value, field: &str) -> Result<String> {
    let text = answer.get(field).and_then(Value::as_str);
    Ok(text.ok_or_else(|| format!("the answer has no '{field}': {answer}"))?.to_owned())
}

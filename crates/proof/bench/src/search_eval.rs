//! How good the search is: questions over conversations, in files of JSON lines; the answers are written for a scorer.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use threadkeep::{
    Create, Engine, Json, Limits, MemoryStore, MessageBody, MessageId, Role, Search, Stores, SystemWorld, ThreadId,
    Timestamp, World,
};

use crate::Result;
use crate::meter::{median, percentile};

/// Threads that are given for each question.
const RESULTS: usize = 20;

#[derive(Args)]
pub(crate) struct EvalArgs {
    /// Conversations: {"thread_id", "agent_id", "title", "created_at", "messages": [{"message_id", "role", "speaker", "ts", "text"}]}
    #[arg(long, value_name = "FILE")]
    threads: std::path::PathBuf,
    /// Questions: {"query_id", "agent_id", "text"}
    #[arg(long, value_name = "FILE")]
    queries: std::path::PathBuf,
    /// Where to write the answers: {"query_id", "results": [{"thread_id", "message_id", "score"}]}
    #[arg(long, value_name = "FILE")]
    out: std::path::PathBuf,
    /// Looks only among the threads of each question's agent.
    #[arg(long)]
    scoped: bool,
}

#[derive(Deserialize)]
struct GivenThread {
    thread_id: String,
    #[serde(default)]
    agent_id: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    created_at: Option<Value>,
    messages: Vec<GivenMessage>,
}

#[derive(Deserialize)]
struct GivenMessage {
    message_id: String,
    role: String,
    #[serde(default)]
    speaker: Option<String>,
    #[serde(default)]
    ts: Option<Value>,
    text: String,
}

#[derive(Deserialize)]
struct GivenQuery {
    query_id: String,
    #[serde(default)]
    agent_id: Option<String>,
    text: String,
}

#[derive(Serialize)]
struct Answered<'a> {
    query_id: &'a str,
    results: Vec<Answer<'a>>,
}

#[derive(Serialize)]
struct Answer<'a> {
    thread_id: &'a str,
    message_id: &'a str,
    score: f32,
}

/// A clock that shows the time it was set to: messages get the times in their file.
#[derive(Default)]
struct SetWorld(AtomicI64);

impl World for SetWorld {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }

    fn chance(&self) -> u128 {
        SystemWorld.chance()
    }
}

pub(crate) fn evaluate(args: &EvalArgs) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let world = Arc::new(SetWorld::default());
        let stores = Stores::of(MemoryStore::new());
        let engine = Engine::new(stores, Arc::clone(&world) as Arc<dyn World>, Limits::default());
        let (mut threads, mut messages) = (HashMap::new(), HashMap::new());
        for line in lines(&args.threads)? {
            let given: GivenThread = serde_json::from_str(&line?)?;
            let thread = keep(&engine, &world, &given, &mut messages).await?;
            threads.insert(thread, given.thread_id);
        }
        let began = Instant::now();
        let done = engine.backfill(None, Arc::new(|_, _, _| {})).await?;
        let indexed_in = began.elapsed();
        let mut out = BufWriter::new(std::fs::File::create(&args.out)?);
        let mut times = Vec::new();
        for line in lines(&args.queries)? {
            let query: GivenQuery = serde_json::from_str(&line?)?;
            let search = Search {
                agent: query.agent_id.filter(|_| args.scoped),
                limit: Some(RESULTS),
                context: Some(0),
                ..Search::new(&query.text)
            };
            let began = Instant::now();
            let found = match engine.search(search).await {
                Ok(found) => found,
                Err(error) => {
                    eprintln!("question {}: {error}", query.query_id);
                    Vec::new()
                }
            };
            times.push(began.elapsed().as_secs_f64() * 1_000.0);
            let results = found.iter().map(|hit| Answer {
                thread_id: &threads[&hit.thread],
                message_id: messages.get(&hit.message).map_or("", String::as_str),
                score: hit.score,
            });
            let answered = Answered { query_id: &query.query_id, results: results.collect() };
            writeln!(out, "{}", serde_json::to_string(&answered)?)?;
        }
        out.flush()?;
        let (count, rate) = (done.embedded, done.embedded as f64 / indexed_in.as_secs_f64().max(1e-9));
        let (typical, slow) = (median(&times), percentile(&times, 99));
        eprintln!(
            "{} threads, {count} messages indexed ({rate:.0} a second); {} questions, {typical:.1} ms typically, {slow:.1} ms p99",
            threads.len(),
            times.len()
        );
        Ok(())
    })
}

fn lines(path: &Path) -> Result<impl Iterator<Item = std::io::Result<String>>> {
    let file = std::fs::File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = BufReader::new(file).lines();
    Ok(lines.filter(|line| line.as_ref().map_or(true, |line| !line.trim().is_empty())))
}

/// A time as files have it: RFC 3339, the same without a zone or with the date alone, or seconds since 1970.
fn moment(given: &Value) -> Result<Timestamp> {
    if let Some(seconds) = given.as_f64() {
        return Ok(Timestamp::from_micros((seconds * 1e6) as i64));
    }
    let text = given.as_str().unwrap_or_default().trim();
    let forms = [text.to_owned(), format!("{text}Z"), format!("{text}T00:00:00Z")];
    let found = forms.iter().find_map(|form| form.parse().ok());
    found.ok_or_else(|| format!("{given} is no time such as 2026-01-31T12:00:00Z").into())
}

/// Keeps a conversation as it was had: who spoke, and when.
async fn keep(
    engine: &Engine,
    world: &SetWorld,
    given: &GivenThread,
    names: &mut HashMap<MessageId, String>,
) -> Result<ThreadId> {
    let set = |time: &Option<Value>| -> Result<()> {
        if let Some(time) = time.as_ref().filter(|time| !time.is_null()) {
            world.0.store(moment(time)?.as_micros(), Ordering::Relaxed);
        }
        Ok(())
    };
    set(&given.created_at)?;
    let mut create = Create::titled(given.title.as_deref().unwrap_or_default());
    if let Some(agent) = &given.agent_id {
        create = create.field("agentId", Json::parse("agentId", &serde_json::to_string(agent)?)?);
    }
    let thread = engine.create(create).await?.id;
    for message in &given.messages {
        set(&message.ts)?;
        let role = if message.role == "assistant" { Role::Assistant } else { Role::User };
        let mut body = MessageBody::new(role, &message.text);
        body.name = message.speaker.clone().filter(|speaker| !speaker.is_empty());
        let kept = engine.append(thread, body).await?;
        let id = kept.first().map(|kept| kept.id).ok_or("an append gave no message")?;
        names.insert(id, message.message_id.clone());
    }
    Ok(thread)
}

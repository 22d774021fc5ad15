//! Imports: sessions of Claude Code, made from a seed, become threads. CPU of the whole process counts, as on one core.

use std::io::Write;
use std::time::Instant;

use serde_json::json;
use threadkeep_transcripts::import::{Ledger, Options, import, search};
use threadkeep_transcripts::shape::Source;

use crate::Result;
use crate::bench::Bench;
use crate::line::Line;
use crate::meter::{Spent, process};
use crate::ours::Ours;

/// Messages of a session; with the text they make it about 100 kB.
const MESSAGES: usize = 50;
const TEXT_BYTES: usize = 1_600;
const WORDS: [&str; 12] =
    ["parser", "token", "index", "the", "of", "loop", "fails", "when", "empty", "line", "\n", "cache"];

pub(crate) fn measure(bench: &Bench, sessions: usize, json: bool) -> Result<()> {
    let folder = tempfile::tempdir()?;
    for number in 0..sessions {
        std::fs::write(folder.path().join(format!("{number}.jsonl")), session(number))?;
    }
    let files = search(Source::ClaudeCode, &[folder.path().to_owned()]).files;
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let room = bench.room()?;
    let ours = Ours::open(&room.place("import.db"))?;
    if !json {
        writeln!(std::io::stdout(), "{} sessions, {} MB; {}", files.len(), bytes / 1_000_000, bench.about()?)?;
    }
    let mut ledger = Ledger::in_memory("")?;
    let before = process::memory_of(std::process::id(), "VmRSS:")?;
    let options = Options::default();
    let mut run = || -> Result<Spent> {
        let files = files.clone();
        Spent::on(usize::try_from(bytes)?, || {
            let done = bench.runtime.block_on(import(&ours.engine, &mut ledger, files, &options, |_, _| {}))?;
            if done.skipped > 0 { Err(format!("{done:?}").into()) } else { Ok(()) }
        })
    };
    let first = run()?;
    let peak = process::memory_of(std::process::id(), "VmHWM:")?.saturating_sub(before);
    let again = run()?;
    let began = Instant::now();
    bench.runtime.block_on(ours.engine.backfill(None, std::sync::Arc::new(|_, _, _| {})))?;
    let searchable = began.elapsed().as_secs_f64();
    let single = |measure, unit, value: f64, most: Option<f64>| {
        Line { row: "import", measure, unit, ours: vec![value], other: None, most }.print(json, bench.quick)
    };
    // 20 ms of CPU a MB are 50 MB/s on one core.
    single("cpu of an import", "ms/MB", first.cpu() * 1e3, Some(20.0))?;
    single("rate of an import", "MB/s", first.rate() / 1e6, None)?;
    single("memory of an import", "MB", peak as f64 / 1e6, Some(200.0))?;
    single("cpu of an import that finds nothing new", "ms/MB", again.cpu() * 1e3, None)?;
    single("searchable after", "s", searchable, Some(120.0))
}

/// Prompts and answers in turn. Every tenth answer is given twice: the first is a branch that was left.
fn session(number: usize) -> String {
    let mut lines = String::new();
    let mut parent: Option<String> = None;
    for at in 0..MESSAGES {
        let mut said = String::with_capacity(TEXT_BYTES + 10);
        let mut word = 0;
        while said.len() < TEXT_BYTES {
            said.push_str(WORDS[(number * 7 + at * 13 + word * word) % WORDS.len()]);
            said.push(' ');
            word += 1;
        }
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        let time = format!("2026-01-{:02}T10:{:02}:{:02}.000Z", number % 28 + 1, at / 60, at % 60);
        for version in 0..=usize::from(at % 20 == 19) {
            let uuid = format!("{number:08x}-0000-4000-8{version:03x}-{at:012x}");
            let message =
                json!({ "id": uuid, "role": role, "model": "claude", "content": [{ "type": "text", "text": said }] });
            let record = json!({
                "type": role, "uuid": uuid, "parentUuid": parent, "sessionId": format!("session-{number}"),
                "timestamp": time, "cwd": "/home/ann/work/parser", "gitBranch": "main", "version": "2.1.0",
                "isSidechain": false, "userType": "external", "message": message,
            });
            lines.push_str(&format!("{record}\n"));
            if version == usize::from(at % 20 == 19) {
                parent = Some(uuid);
            }
        }
    }
    lines
}

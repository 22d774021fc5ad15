//! Files: the cost of forks, spawns and rollbacks of a thread with many files beside an append, and the speed of
//! searches beside ripgrep and a walk over the same files on disk. All in one run.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use threadkeep::{
    Create, Fork, Grep, Inherit, MessageBody, NewFile, Over, RollbackTo, Spawn, ThreadId, Version, WriteFiles,
};

use crate::Result;
use crate::bench::{Bench, Place, text};
use crate::line::Line;
use crate::meter::Spent;
use crate::ours::Ours;

/// Files that are written in one commit while a thread is filled.
const WRITTEN_AT_ONCE: usize = 250;
/// The allowed cost of a fork, a spawn or a rollback beside an append, and of a search beside its opponent.
const APPENDS_MAX: f64 = 4.0;
const SEARCH_TIMES_MAX: f64 = 2.0;

/// How much is made.
pub(crate) struct Sizes {
    /// Files of each thread.
    pub(crate) files: usize,
    /// Bytes of each file of the thread that is forked.
    pub(crate) large: usize,
    /// Bytes of each file of the thread that is searched.
    pub(crate) small: usize,
    /// Forks of one thread.
    pub(crate) forks: usize,
}

impl Sizes {
    pub(crate) fn of(quick: bool) -> Self {
        match quick {
            true => Self { files: 300, large: 20_000, small: 2_000, forks: 20 },
            false => Self { files: 10_000, large: 100_000, small: 10_000, forks: 1_000 },
        }
    }
}

pub(crate) fn measure(bench: &Bench, sizes: &Sizes, json: bool) -> Result<()> {
    let room = bench.room()?;
    let place = room.place("files.db");
    let ours = Ours::open(&place)?;
    if !json {
        let about = bench.about()?;
        writeln!(std::io::stdout(), "Threadkeep beside an append, ripgrep and a walk over the same files; {about}")?;
    }
    for line in shapes(bench, &ours, &place, sizes)? {
        line.print(json, bench.quick)?;
    }
    let folder = tempfile::tempdir()?;
    for line in searches(bench, &ours, folder.path(), sizes)? {
        line.print(json, bench.quick)?;
    }
    Ok(())
}

/// A thread with files, on disk too if there is a folder for them.
fn filled(bench: &Bench, ours: &Ours, files: usize, bytes: usize, folder: Option<&Path>) -> Result<ThreadId> {
    let thread =
        bench.runtime.block_on(ours.engine.create(Create::titled("Files").message(MessageBody::user("go"))))?.id;
    let numbers: Vec<usize> = (0..files).collect();
    for some in numbers.chunks(WRITTEN_AT_ONCE) {
        let mut written = Vec::with_capacity(some.len());
        for n in some {
            let path = format!("/src/part{}/module{}/file{n}.rs", n % 17, n % 101);
            let content = content(*n, bytes);
            if let Some(folder) = folder {
                let on_disk = folder.join(&path[1..]);
                std::fs::create_dir_all(on_disk.parent().unwrap_or(folder))?;
                std::fs::write(on_disk, &content)?;
            }
            written.push(NewFile::new(&path, content)?);
        }
        let write = WriteFiles { files: written, over: Over::Anything };
        bench.runtime.block_on(ours.engine.write_files(thread, write))?;
    }
    Ok(thread)
}

/// Lines of words, different in each file; one in a hundred files names a walrus.
fn content(n: usize, bytes: usize) -> String {
    let mut content = String::with_capacity(bytes + 80);
    if n.is_multiple_of(100) {
        content.push_str("// the walrus is here\n");
    }
    let mut line = 0;
    while content.len() < bytes {
        line += 1;
        let words = text(n.wrapping_mul(31).wrapping_add(line * 7));
        let end = words.char_indices().nth(60).map_or(words.len(), |(end, _)| end);
        content.push_str(&format!("let value_{n}_{line} = \"{}\";\n", words[..end].replace('\n', " ")));
    }
    content
}

/// Forks, spawns and rollbacks of a thread with much in its files.
fn shapes(bench: &Bench, ours: &Ours, place: &Place, sizes: &Sizes) -> Result<Vec<Line>> {
    let engine = &ours.engine;
    let thread = filled(bench, ours, sizes.files, sizes.large, None)?;
    let each = if bench.quick { 20 } else { 200 };
    let (mut appends, mut forks, mut spawns, mut rollbacks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let before_blobs = blobs(bench, ours)?;
    for _ in 0..bench.rounds {
        let cost = |work: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
            Ok(Spent::on(each, || (0..each).try_for_each(|_| work()))?.cpu())
        };
        appends.push(cost(&mut || {
            bench.runtime.block_on(engine.append(thread, MessageBody::user(text(1))))?;
            Ok(())
        })?);
        forks.push(cost(&mut || {
            bench.runtime.block_on(engine.fork(thread, Fork::default()))?;
            Ok(())
        })?);
        spawns.push(cost(&mut || {
            bench.runtime.block_on(engine.spawn(thread, Spawn::new("go on").inherit(Inherit::Full)))?;
            Ok(())
        })?);
        let back = bench.runtime.block_on(engine.fork(thread, Fork::default()))?;
        bench.runtime.block_on(engine.append(back.id, MessageBody::user(text(2))))?;
        let version: Version = back.head.version;
        rollbacks.push(cost(&mut || {
            bench.runtime.block_on(engine.rollback(back.id, RollbackTo::Version(version)))?;
            Ok(())
        })?);
    }
    let before = place.bytes()?;
    for _ in 0..sizes.forks {
        bench.runtime.block_on(engine.fork(thread, Fork::default()))?;
    }
    let grown = (place.bytes()?.saturating_sub(before)) as f64 / sizes.forks as f64;
    let new_blobs = blobs(bench, ours)? - before_blobs;
    let beside = |row, ours: Vec<f64>| Line {
        row,
        measure: "CPU, beside an append",
        unit: "µs",
        ours,
        other: Some(("append", appends.clone())),
        most: Some(APPENDS_MAX),
    };
    let alone =
        |row, measure, unit, value: f64, most| Line { row, measure, unit, ours: vec![value], other: None, most };
    Ok(vec![
        beside("fork", forks),
        beside("spawn", spawns),
        beside("rollback", rollbacks),
        alone("forks", "bytes of each of many forks", "B", grown, None),
        alone("forks", "contents that were copied", "", new_blobs as f64, Some(0.0)),
    ])
}

/// How many contents there are.
fn blobs(bench: &Bench, ours: &Ours) -> Result<usize> {
    let (mut after, mut count) = (None, 0);
    loop {
        let some = bench.runtime.block_on(ours.stores().upkeep.all_blobs(after, 10_000))?;
        let Some(last) = some.last() else { return Ok(count) };
        (after, count) = (Some(*last), count + some.len());
    }
}

/// Searches by line and by name, beside ripgrep and a walk over the same files.
fn searches(bench: &Bench, ours: &Ours, folder: &Path, sizes: &Sizes) -> Result<Vec<Line>> {
    let thread = filled(bench, ours, sizes.files, sizes.small, Some(folder))?;
    let engine = &ours.engine;
    let expected = sizes.files.div_ceil(100);
    let patterns = [
        ("a word in 1 % of the files", "walrus", false),
        ("a regular expression", r"the \w+us is", true),
        ("a word that is nowhere", "xyzzyplugh", false),
    ];
    let mut lines = Vec::new();
    for (measure, pattern, is_regex) in patterns {
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        // Once for the caches, then in turns.
        for round in 0..=bench.rounds {
            let began = Instant::now();
            let grep = if is_regex { Grep::regex(pattern) } else { Grep::literal(pattern) };
            let found = bench.runtime.block_on(bench.runtime.spawn({
                let engine = engine.clone();
                async move { engine.grep(thread, grep).await }
            }))??;
            let took = began.elapsed().as_secs_f64() * 1e3;
            if found.files.len() != expected && !found.files.is_empty() {
                return Err(format!("{pattern} was found in {} files, not in {expected}", found.files.len()).into());
            }
            let began = Instant::now();
            let mut command = Command::new("rg");
            command.args(["--no-config", "--no-ignore", "--line-number", "--column"]);
            if !is_regex {
                command.arg("--fixed-strings");
            }
            let output = command.arg("--").arg(pattern).arg(folder).output();
            let output = output.map_err(|error| format!("ripgrep is needed beside us (package ripgrep): {error}"))?;
            let other = began.elapsed().as_secs_f64() * 1e3;
            let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
            if lines != found.files.iter().map(|file| file.matches.len()).sum::<usize>() {
                return Err(format!("ripgrep found {lines} lines with {pattern}, we did not").into());
            }
            if round > 0 {
                mine.push(took);
                theirs.push(other);
            }
        }
        let other = Some(("ripgrep", theirs));
        lines.push(Line { row: "grep", measure, unit: "ms", ours: mine, other, most: Some(SEARCH_TIMES_MAX) });
    }
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=bench.rounds {
        let began = Instant::now();
        let find = threadkeep::Find { glob: "**/file*7.rs".into(), ..Default::default() };
        let (found, _) = bench.runtime.block_on(engine.find(thread, find))?;
        let took = began.elapsed().as_secs_f64() * 1e3;
        let began = Instant::now();
        let mut walked = 0;
        walk(folder, &mut walked)?;
        let other = began.elapsed().as_secs_f64() * 1e3;
        if found.len() != walked {
            return Err(format!("{} files were found, and {walked} walked over", found.len()).into());
        }
        if round > 0 {
            mine.push(took);
            theirs.push(other);
        }
    }
    let other = Some(("walk", theirs));
    lines.push(Line {
        row: "find",
        measure: "files by name",
        unit: "ms",
        ours: mine,
        other,
        most: Some(SEARCH_TIMES_MAX),
    });
    Ok(lines)
}

/// Counts the files below `folder` that the search by name finds too.
fn walk(folder: &Path, count: &mut usize) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), count)?;
        } else {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            *count += usize::from(name.starts_with("file") && name.ends_with("7.rs"));
        }
    }
    Ok(())
}

//! The README and the pages in `docs/` are run as they are written. Every block marked `console` is a session:
//! lines after `$` are commands, the lines below them the expected output. Ids, keys, times and addresses may
//! differ, and a later command that names one means the one that was really printed. `…` matches anything; alone
//! on a line, any lines. A block whose first line is a comment with a path, such as `// definitions/tools/add.ts`, is
//! written to that file. Commands in a comment `<!-- run … -->` are run too, and not shown to readers.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::support::threadkeep;

const END: &str = "== done with status";
/// Fewest digits of an id that a command may name.
const PREFIX_DIGITS_MIN: usize = 4;

#[test]
fn the_readme_shows_what_happens() {
    run("README.md");
}

#[test]
fn the_page_on_concepts_shows_what_happens() {
    run("docs/concepts.md");
}

#[test]
fn the_page_on_patterns_shows_what_happens() {
    run("docs/patterns.md");
}

#[test]
fn the_page_on_the_api_shows_what_happens() {
    run("docs/api.md");
}

#[test]
fn the_page_on_search_shows_what_happens() {
    run("docs/search.md");
}

#[test]
#[cfg(target_os = "linux")]
fn the_page_on_the_sandbox_shows_what_happens() {
    run("docs/sandbox.md");
}

#[test]
#[cfg(target_os = "linux")]
fn the_page_on_tools_shows_what_happens() {
    run("docs/tools.md");
}

#[cfg(target_os = "linux")]
#[test]
fn the_page_on_agents_shows_what_happens() {
    run("docs/agents.md");
}

#[test]
fn the_page_on_operating_shows_what_happens() {
    run("docs/operating.md");
}

#[test]
fn the_page_on_secrets_shows_what_happens() {
    run("docs/secrets.md");
}

#[test]
fn the_page_on_effects_shows_what_happens() {
    run("docs/effects.md");
}

#[test]
fn links_between_pages_lead_somewhere() {
    let pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "crates/proof/bench/README.md"]
        .map(|page| root().join(page));
    let in_docs = std::fs::read_dir(root().join("docs")).expect("a folder").map(|page| page.expect("a page").path());
    for page in pages.into_iter().chain(in_docs.filter(|page| page.extension().is_some_and(|kind| kind == "md"))) {
        let text = std::fs::read_to_string(&page).expect("a page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") {
                continue;
            }
            let target = page.parent().expect("a folder").join(file);
            assert!(target.exists(), "{} links to {link}, which is not there", page.display());
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Runs a page from top to bottom, in one shell and a folder of its own.
fn run(page: &str) {
    let text = std::fs::read_to_string(root().join(page)).expect("a page");
    let steps = steps(&text);
    assert!(steps.iter().any(|step| !step.is_hidden), "{page} shows no session");
    let mut shell = Shell::start();
    let mut printed = HashMap::new();
    for step in steps {
        let command = with_real_names(&step.command, &printed);
        let (shown, status) = shell.run(&command);
        let at = format!("{page}, line {}: $ {command}", step.line);
        assert_eq!(status, "0", "{at}\n{}", shown.join("\n"));
        if !step.is_hidden
            && let Err(what) = compare(&step.shows, &shown, &mut printed)
        {
            panic!("{at}\n{what}\nit shows:\n{}\nthe page says:\n{}", shown.join("\n"), step.shows.join("\n"));
        }
    }
}

/// A command, and what it shows.
struct Step {
    line: usize,
    command: String,
    shows: Vec<String>,
    is_hidden: bool,
}

fn steps(text: &str) -> Vec<Step> {
    enum Within {
        Text,
        Session,
        Hidden,
        File(String, Vec<String>),
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut within = Within::Text;
    let mut goes_on = false;
    for (n, line) in text.lines().enumerate() {
        let step =
            |command: &str, is_hidden| Step { line: n + 1, command: command.into(), shows: Vec::new(), is_hidden };
        match &mut within {
            Within::Text if line == "```console" => within = Within::Session,
            Within::Text if line == "<!-- run" => within = Within::Hidden,
            Within::Text if line == "```ts" || line == "```toml" => within = Within::File(String::new(), Vec::new()),
            Within::Text => {}
            Within::File(path, lines) if line == "```" => {
                if path.contains('/') {
                    let (text, folder) = (lines.join("\n"), path.rsplit_once('/').map_or(".", |(folder, _)| folder));
                    let write = format!("mkdir -p {folder} && cat > {path} <<'END_OF_FILE'\n{text}\nEND_OF_FILE");
                    steps.push(step(&write, true));
                }
                within = Within::Text;
            }
            Within::File(path, lines) => {
                let comment = line.strip_prefix("// ").or_else(|| line.strip_prefix("# "));
                if let (true, Some(comment)) = (lines.is_empty(), comment) {
                    *path = comment.to_owned();
                }
                lines.push(line.to_owned());
            }
            Within::Session if line == "```" => within = Within::Text,
            Within::Hidden if line == "-->" => within = Within::Text,
            Within::Hidden => steps.push(step(line, true)),
            Within::Session => match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(step(command, false)),
                (None, Some(last)) if goes_on => last.command = format!("{}\n{line}", last.command),
                (None, Some(last)) => last.shows.push(line.to_owned()),
                (None, None) => panic!("line {}: a session begins with a command", n + 1),
            },
        }
        goes_on = matches!(within, Within::Session) && line.ends_with('\\');
    }
    steps
}

/// A shell that runs one command after the other.
struct Shell {
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    _folder: tempfile::TempDir,
}

impl Shell {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let program = PathBuf::from(threadkeep().get_program());
        let mut paths = vec![program.parent().expect("a folder").to_owned()];
        paths.extend(std::env::split_paths(&std::env::var_os("PATH").expect("a PATH")));
        let mut process = Command::new("bash")
            .args(["--norc", "--noprofile"])
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", std::env::join_paths(paths).expect("paths"))
            .env("HOME", folder.path())
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let (stdin, stdout) = (process.stdin.take().expect("stdin"), process.stdout.take().expect("stdout"));
        let mut shell = Self { process, stdin, stdout: BufReader::new(stdout), _folder: folder };
        shell.run("exec 2>&1; trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT");
        shell
    }

    /// Its output, and its exit status.
    fn run(&mut self, command: &str) -> (Vec<String>, String) {
        // A line of its own, also after a command that leaves its last line open.
        writeln!(self.stdin, "{command}\nstatus=$?; echo; echo \"{END} $status\"").expect("the shell listens");
        let mut shown = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line).expect("the shell speaks");
            assert_ne!(read, 0, "the shell ended in: {command}");
            let line = line.trim_end_matches('\n');
            if let Some(status) = line.strip_prefix(END) {
                while shown.last().is_some_and(String::is_empty) {
                    shown.pop();
                }
                return (shown, status.trim().to_owned());
            }
            shown.push(line.to_owned());
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(writeln!(self.stdin, "exit"));
        drop(self.process.wait());
    }
}

/// The command with the names that were really printed in place of those on the page.
fn with_real_names(command: &str, printed: &HashMap<String, String>) -> String {
    pieces(command)
        .into_iter()
        .map(|piece| {
            let is_meant =
                |said: &str| piece.len() >= PREFIX_DIGITS_MIN && said.starts_with(piece) && kind(said) == Some("hex");
            let real =
                printed.get(piece).or_else(|| printed.iter().find(|(said, _)| is_meant(said)).map(|(_, real)| real));
            real.map_or_else(|| piece.to_owned(), Clone::clone)
        })
        .collect()
}

/// Compares line by line, and remembers what was printed in place of what.
fn compare(said: &[String], shown: &[String], printed: &mut HashMap<String, String>) -> Result<(), String> {
    let said: Vec<&str> = said.iter().map(|line| line.trim_end()).collect();
    let said = match said.iter().rposition(|line| !line.is_empty()) {
        Some(last) => &said[..=last],
        None => &[],
    };
    let mut shown = shown.iter().map(|line| line.trim_end());
    let mut skips = false;
    for line in said {
        if *line == "…" {
            skips = true;
            continue;
        }
        loop {
            let Some(real) = shown.next() else { return Err(format!("missing: {line}")) };
            if is_alike(line, real, printed) {
                break;
            }
            if !skips {
                return Err(format!("differs: {line}"));
            }
        }
        skips = false;
    }
    match shown.next() {
        Some(more) if !skips => Err(format!("not on the page: {more}")),
        _ => Ok(()),
    }
}

fn is_alike(said: &str, real: &str, printed: &mut HashMap<String, String>) -> bool {
    if let Some((before, after)) = said.split_once('…') {
        // The text in between may be anything.
        let Some(rest) = real.strip_prefix(before) else {
            let cut = real.char_indices().map(|(at, _)| at).chain([real.len()]);
            return cut
                .into_iter()
                .any(|at| is_alike(before, &real[..at], printed) && ends_alike(after, &real[at..], printed));
        };
        return ends_alike(after, rest, printed);
    }
    let (said, real) = (pieces(said), pieces(real));
    let same = |(said, real): (&&str, &&str)| said == real || (kind(said).is_some() && kind(said) == kind(real));
    if said.len() != real.len() || !said.iter().zip(&real).all(same) {
        return false;
    }
    let is_name = |word: &str| kind(word).is_some_and(|kind| kind != "moment");
    for (said, real) in said.iter().zip(real).filter(|(said, _)| is_name(said)) {
        printed.insert((*said).to_owned(), real.to_owned());
        if let (Some(said), Some(real)) = (said.rsplit('-').next(), real.rsplit('-').next()) {
            printed.insert(said.to_owned(), real.to_owned());
        }
    }
    true
}

/// Whether some end of `real` is like `said`.
fn ends_alike(said: &str, real: &str, printed: &mut HashMap<String, String>) -> bool {
    let starts = real.char_indices().map(|(at, _)| at).chain([real.len()]);
    starts.into_iter().any(|at| is_alike(said, &real[at..], printed))
}

/// Words, and what stands between them.
fn pieces(line: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (piece, more) = rest.split_at(end);
        pieces.push(piece);
        rest = more;
    }
    pieces
}

/// The kind of a word that differs each time; none for all others.
fn kind(word: &str) -> Option<&'static str> {
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_uuid = |text: &str| text.len() == 36 && text.split('-').all(is_hex);
    if let Some(rest) = word.strip_prefix("T-") {
        return is_uuid(rest).then_some("thread");
    }
    if let Some(rest) = word.strip_prefix("M-") {
        return (rest.len() == 17 && is_hex(rest)).then_some("message");
    }
    if let Some(rest) = word.strip_prefix("queued-") {
        return is_uuid(rest).then_some("queued");
    }
    if is_uuid(word) {
        return Some("uuid");
    }
    if word.starts_with("tk_") {
        return Some("key");
    }
    if word.starts_with("127.0.0.1:") {
        return Some("address");
    }
    let is_moment = |text: &str| {
        let marks = text.bytes().filter(|byte| matches!(byte, b'-' | b':')).count();
        marks >= 2 && text.bytes().all(|byte| byte.is_ascii_digit() || b"-:TZ.".contains(&byte))
    };
    if is_moment(word) {
        return Some("moment");
    }
    (is_hex(word) && word.len() >= 8 && word.bytes().any(|byte| byte.is_ascii_digit())).then_some("hex")
}

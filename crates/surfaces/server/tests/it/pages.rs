//! Every command on the pages of `/docs` is run as it is shown, against a real server. The answers are the samples that the
//! pages show.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::Server;

const ANSWERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../spec/docs/answers.json");

/// Between the outputs of commands, which never print it.
const END: &str = "== end of the command ==";

/// Most bytes of a page, and of a page that is compressed.
const PAGE_BYTES_MAX: usize = 160 << 10;
const GZIP_BYTES_MAX: usize = 24 << 10;
/// Most lines of a sample.
const SAMPLE_LINES_MAX: usize = 40;

#[test]
fn every_command_on_a_page_works_as_it_is_shown() {
    let (mut answers, mut failed) = (BTreeMap::new(), Vec::new());
    for path in areas() {
        let server = Server::start();
        let page = server.anonymous().get(&path).body;
        let (setup, mut calls) = commands(&page);
        assert!(!calls.is_empty(), "{path}");
        // Code runs in a process of the program itself, which is not here. The tests of the command run it.
        calls.retain(|(id, _)| id != "runCode" && !id.ends_with("Endpoint"));
        // In the order of the page, and each alone after the block of the page.
        let in_order: Vec<&str> = calls.iter().map(|(_, call)| call.as_str()).collect();
        for ((id, call), said) in calls.iter().zip(run(&server, &setup, &in_order)) {
            failed.extend(said.failure(&path, id, call));
        }
        for (id, call) in &calls {
            let server = if changes_the_sample(id) { &Server::start() } else { &server };
            let setup = setup.replace(&url(&setup), &format!("http://{}", server.address()));
            let said = run(server, &setup, &[call]).remove(0);
            failed.extend(said.failure(&path, id, call));
            if let Some(sample) = said.sample(server) {
                answers.insert(id.clone(), sample);
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    if std::env::var_os("BLESS").is_some() {
        let mut text = serde_json::to_string_pretty(&answers).expect("texts");
        text.push('\n');
        std::fs::write(ANSWERS, text).expect("the samples are written");
    }
    let golden = std::fs::read_to_string(ANSWERS).expect("the samples");
    let golden: BTreeMap<String, String> = serde_json::from_str(&golden).expect("texts");
    for (id, answer) in &answers {
        assert_eq!(golden.get(id), Some(answer), "{id}: BLESS=1 cargo test -p threadkeep-server --test it pages");
    }
    assert_eq!(golden.len(), answers.len(), "no sample is left over");
}

#[test]
fn the_commands_on_the_first_page_work() {
    let server = Server::start();
    let page = server.anonymous().get("/docs").body;
    let (setup, calls) = commands(&page);
    let said = run(&server, &setup, &calls.iter().map(|(_, call)| call.as_str()).collect::<Vec<_>>());
    assert_eq!(said.len(), 3);
    for (said, (id, call)) in said.iter().zip(&calls) {
        assert_eq!(said.failure("/docs", id, call), None);
    }
}

#[test]
fn pages_are_small_and_compressed_for_clients_that_accept_it() {
    let server = Server::start();
    let client = server.anonymous();
    let mut paths = areas();
    paths.extend(["/docs", "/docs/errors", "/llms.txt", "/openapi.json"].map(str::to_owned));
    for path in paths {
        let plain = client.get(&path);
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{path}");
        let small = client.send("GET", &path, "Accept-Encoding: br, gzip;q=0.8\r\n", None);
        assert_eq!((small.status, small.header("content-encoding")), (200, Some("gzip")), "{path}");
        assert_eq!((small.header("vary"), small.header("etag")), (Some("accept-encoding"), plain.header("etag")));
        let length: usize = small.header("content-length").and_then(|length| length.parse().ok()).expect("a length");
        if path != "/openapi.json" {
            assert!(plain.body.len() < PAGE_BYTES_MAX && length < GZIP_BYTES_MAX, "{path}: {length}");
        }
        let refused = client.send("GET", &path, "Accept-Encoding: gzip;q=0\r\n", None);
        assert_eq!((refused.header("content-encoding"), &refused.body), (None, &plain.body), "{path}");
        for table in plain.body.split("<table").skip(1) {
            assert!(table.split("</tr>").next().is_some_and(|head| head.contains("<th>")), "{path}: {table}");
        }
    }
}

#[test]
fn the_map_for_agents_names_every_call_and_links_to_every_page() {
    let server = Server::start();
    let client = server.anonymous();
    let map = client.get("/llms.txt");
    assert_eq!(map.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(map.body.starts_with("# Threadkeep\n\n> ") && map.body.contains(server.address()), "{}", map.body);
    let document = client.get("/openapi.json").ok(200);
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            let line = format!("\n- `{} {path}`: ", method.to_ascii_uppercase());
            assert!(map.body.contains(&line), "{line}");
        }
    }
    for link in map.body.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert_eq!(client.get(link).status, 200, "{link}");
    }
}

/// The paths of the pages with calls.
fn areas() -> Vec<String> {
    let index = Server::start().anonymous().get("/docs").body;
    let navigation = index.split("<nav>").nth(1).and_then(|rest| rest.split("</nav>").next()).expect("a navigation");
    let links = navigation.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let areas: Vec<String> = links.map(str::to_owned).collect();
    assert!(areas.len() > 10, "{areas:?}");
    areas
}

/// Whether the answer depends on all that is in the store, so that it needs one of its own.
fn changes_the_sample(id: &str) -> bool {
    id.starts_with("list")
        || matches!(id, "search" | "backfillSearch" | "getSearchStatus" | "collectGarbage" | "runDoctor")
        || id == "importStore"
}

fn url(setup: &str) -> String {
    setup.lines().next().and_then(|line| line.strip_prefix("URL=")).expect("an address").to_owned()
}

/// The block that a page begins with, and its calls by their names.
fn commands(page: &str) -> (String, Vec<(String, String)>) {
    let block = |text: &str| plain(text.split("</pre>").next().unwrap_or_default());
    let setup = block(page.split("<pre class=\"setup\">").nth(1).expect("a block"));
    let calls = page.split("<pre class=\"call\">").collect::<Vec<_>>();
    let calls = calls.windows(2).map(|pair| {
        let id = pair[0].rsplit("<article id=\"").next().and_then(|rest| rest.split('"').next());
        (id.unwrap_or_default().to_owned(), block(pair[1]))
    });
    (setup, calls.collect())
}

/// HTML as the browser shows it.
fn plain(html: &str) -> String {
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    marks.iter().fold(html.to_owned(), |text, (mark, character)| text.replace(mark, character))
}

/// What a command printed, and the statuses of its requests.
struct Said {
    out: String,
    statuses: String,
}

/// Runs the block, then the calls, in one shell, in a folder that holds the data of the server.
fn run(server: &Server, setup: &str, calls: &[&str]) -> Vec<Said> {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(server.folder(), folder.path().join("threadkeep-data")).expect("a link");
    let end = format!("\necho; echo '{END}'; echo '{END}' >&2\n");
    let wrapper = "curl() { command curl -w '%{stderr}%{http_code} %{url_effective}\\n' \"$@\"; }\n";
    let script = format!("{wrapper}{setup}{end}{}{end}", calls.join(&end));
    let ran = shell(&script, folder.path());
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
    let parts = |text: &str| text.split(END).skip(1).map(|part| part.trim().to_owned()).collect::<Vec<_>>();
    let first = errors.split(END).next().unwrap_or_default();
    assert!(statuses(first).all(|status| status < 400), "{setup}\n{first}");
    let said = parts(&out).into_iter().zip(parts(&errors));
    said.take(calls.len()).map(|(out, statuses)| Said { out, statuses }).collect()
}

fn shell(script: &str, folder: &Path) -> std::process::Output {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-c", script]).current_dir(folder).env_remove("KEY").env_remove("URL");
    bash.stdin(Stdio::null()).output().expect("bash and curl")
}

fn statuses(errors: &str) -> impl Iterator<Item = u16> {
    errors.lines().filter_map(|line| line.split(' ').next()?.parse().ok())
}

impl Said {
    /// What went wrong, if something did.
    fn failure(&self, page: &str, id: &str, call: &str) -> Option<String> {
        let statuses: Vec<u16> = statuses(&self.statuses).collect();
        let worked = !statuses.is_empty() && statuses.iter().all(|status| (100..400).contains(status));
        (!worked || self.statuses.contains("command not found"))
            .then(|| format!("{page} {id}\n{call}\n{}\n{}", self.out, self.statuses))
    }

    /// The answer with ids and times that are the same each time; none if it is a page or binary.
    fn sample(&self, server: &Server) -> Option<String> {
        let text = Same::default().told(&self.out.replace(server.address(), "localhost:8473"));
        if text.is_empty() || text.starts_with("<!doctype") || text.starts_with("# HELP") || text.starts_with("# T") {
            return None;
        }
        let text = match serde_json::from_str::<Value>(&text) {
            Ok(value) if value["openapi"].is_string() => return None,
            Ok(value) => serde_json::to_string_pretty(&shortened(value)).expect("JSON"),
            Err(_) if text.starts_with("HTTP/1.1") => text.lines().next().unwrap_or_default().trim().to_owned(),
            // A stream says now and then that it is still there.
            Err(_) => {
                // The id of an event in a run's stream begins with a number of the process.
                let same = |line: &str| match line.strip_prefix("id: ").and_then(|id| id.split_once('.')) {
                    Some((_, sequence)) => format!("id: 5f0c3a9e1b7d2468.{sequence}"),
                    None => line.to_owned(),
                };
                let lines = text.lines().filter(|line| !line.starts_with(": ")).map(same);
                lines.collect::<Vec<_>>().join("\n").trim().to_owned()
            }
        };
        let count = text.lines().count();
        let mut lines: Vec<&str> = text.lines().take(SAMPLE_LINES_MAX).collect();
        if count > SAMPLE_LINES_MAX {
            lines.push("…");
        }
        Some(lines.join("\n"))
    }
}

/// The same answer with two items a list, and without numbers that differ each time.
fn shortened(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().take(2).map(shortened).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| {
                let varies = ["tookMs", "took", "ms", "bytes", "pages", "score", "words", "vectors"];
                let value =
                    if varies.contains(&name.as_str()) && value.is_number() { 1.into() } else { shortened(value) };
                let secret =
                    matches!(name.as_str(), "key" | "ticket") && value.as_str().is_some_and(|text| text.len() > 30);
                (name, if secret { "…".into() } else { value })
            });
            fields.collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// Names that differ each time, with the ones that stand for them.
#[derive(Default)]
struct Same(BTreeMap<String, String>);

impl Same {
    fn told(&mut self, text: &str) -> String {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
        let mut said = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
            let (piece, more) = rest.split_at(end);
            // A secret in a link.
            said.push_str(&if said.ends_with("code=") { "…".to_owned() } else { self.word(piece) });
            rest = more;
        }
        said
    }

    fn word(&mut self, word: &str) -> String {
        let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_uuid = |text: &str| text.len() == 36 && text.split('-').count() == 5 && text.split('-').all(is_hex);
        if let Some(known) = self.0.get(word) {
            return known.clone();
        }
        let n = self.0.len() + 1;
        let (kind, rest) = ["T-", "M-", "queued-"]
            .iter()
            .find_map(|kind| word.strip_prefix(kind).map(|rest| (*kind, rest)))
            .unwrap_or(("", word));
        let uuid = format!("5928a90d-d53b-488f-a829-{n:012x}");
        let same = if is_uuid(rest) {
            self.0.insert(rest[24..].to_owned(), uuid[24..].to_owned());
            format!("{kind}{uuid}")
        } else if kind == "M-" && rest.len() == 17 && is_hex(rest) {
            format!("M-0d6c1bb5df6f1{n:04x}")
        } else if word.len() > 19 && word.as_bytes()[4] == b'-' && word.as_bytes()[10] == b'T' && word.ends_with('Z') {
            return "2026-11-16T09:00:00.000000Z".to_owned();
        } else if (word.len() == 16 || word.len() == 12 || word.len() == 32)
            && is_hex(word)
            && word.bytes().any(|b| b.is_ascii_digit())
        {
            format!("{n:0width$x}", width = word.len())
        } else if word.starts_with('f')
            && word.rsplit_once('-').is_some_and(|(_, check)| check.len() == 6 && is_hex(check))
        {
            format!("f{n}-0000{n:02x}")
        } else if let Some((kind, _)) =
            ["tk_", "tt_"].iter().find_map(|kind| word.strip_prefix(kind).map(|rest| (kind, rest)))
        {
            format!("{kind}…")
        } else {
            return word.to_owned();
        };
        self.0.insert(word.to_owned(), same.clone());
        same
    }
}

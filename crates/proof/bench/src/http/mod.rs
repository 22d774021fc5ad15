//! `http`: the real server as a child process, and a load generator of our own that talks to it.
//!
//! `client` is our side of HTTP, `serving` the child; each of the others is a row of the table. The library, in
//! this process, does the same work for comparison.

mod append;
pub(crate) mod client;
mod read;
pub(crate) mod serving;
mod start;
mod streams;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::Result;
use crate::bench::{Bench, CLIENTS, Room};
use crate::http::client::{Client, Target};
use crate::http::serving::{Home, Serving};
use crate::meter::percentile;
use crate::report::{Line, Report, Series, Unit};

/// The account that the load generator's key speaks for.
const ACCOUNT: &str = "bench";

/// How much of everything is done, and which server does it.
pub(crate) struct Sizes {
    /// Appends in a round, of all clients together.
    pub(crate) appends: usize,
    /// Subscribers of one thread.
    pub(crate) subscribers: usize,
    /// Entries that they get.
    pub(crate) entries: usize,
    /// Threads in the folder on which a server starts.
    pub(crate) threads: usize,
}

impl Sizes {
    pub(crate) fn of(quick: bool) -> Self {
        if quick {
            return Self { appends: 640, subscribers: 20, entries: 80, threads: 1_000 };
        }
        Self { appends: 150 * CLIENTS, subscribers: 1_000, entries: 500, threads: 100_000 }
    }
}

/// State shared by the rows.
struct Http<'a> {
    bench: &'a Bench,
    sizes: Sizes,
    program: PathBuf,
    /// For the load generator. The library has one without sockets, as a program that embeds it may have.
    runtime: Runtime,
    /// For data folders whose store is elsewhere.
    aside: TempDir,
}

/// Something that is measured, by its name.
type Row = (&'static str, fn(&Http<'_>) -> Result<Vec<Line>>);

const ROWS: [Row; 4] = [
    (append::NAME, append::measure),
    (read::NAME, read::measure),
    (start::NAME, start::measure),
    (streams::NAME, streams::measure),
];

/// Measures `rows`, or all of them, and prints the results.
pub(crate) fn measure(bench: &Bench, sizes: Sizes, named: Option<PathBuf>, rows: &[String], json: bool) -> Result<()> {
    if let Some(unknown) = rows.iter().find(|name| ROWS.iter().all(|(row, _)| row != name)) {
        let known = ROWS.map(|(row, _)| row).join(", ");
        return Err(format!("there is no row '{unknown}': {known}").into());
    }
    let program = serving::program(named.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let aside = tempfile::tempdir()?;
    let http = Http { bench, sizes, program, runtime, aside };
    let mut report = Report::to(std::io::stdout().lock(), json);
    report.begin_http(bench)?;
    for (name, row) in ROWS {
        if rows.is_empty() || rows.iter().any(|wanted| wanted == name) {
            report.lines(&row(&http)?)?;
        }
    }
    report.end()
}

impl Http<'_> {
    /// A data folder in `room`, or for a store that is there.
    fn home(&self, room: &Room, name: &str) -> Home {
        match room {
            Room::Folder(folder) => Home::new(&self.program, folder.path().join(name), None),
            Room::Schema(server) => Home::new(&self.program, self.aside.path().join(name), Some(server.url())),
        }
    }

    /// A server on a new folder in `room`, and a key that holds across its restarts.
    fn serve(&self, room: &Room, name: &str) -> Result<(Home, Serving, Target)> {
        let home = self.home(room, name);
        let serving = home.serve(0)?;
        let local = Target { address: serving.address, key: serving.key.clone() };
        let key = self.runtime.block_on(async {
            let mut client = Client::connect(local.address).await?;
            let asked = format!(r#"{{"account":"{ACCOUNT}","scope":"write"}}"#);
            text_of(client.expect(201, &local.request("POST", "/v1/keys", "", &asked)).await?, "key")
        })?;
        let target = Target { address: serving.address, key };
        Ok((home, serving, target))
    }

    /// Makes this many new threads, and returns their ids.
    fn threads(&self, target: &Target, threads: usize) -> Result<Vec<String>> {
        self.runtime.block_on(async {
            let mut client = Client::connect(target.address).await?;
            let mut ids = Vec::with_capacity(threads);
            for n in 0..threads {
                let request = target.request("POST", "/v1/threads", "", &format!(r#"{{"title":"Thread {n}"}}"#));
                ids.push(text_of(client.expect(201, &request).await?, "id")?);
            }
            Ok(ids)
        })
    }

    /// Lets each of `clients` send its requests one after the other over a connection of its own, `each` of them in
    /// turn, and returns the cost. All answers have to have this status.
    fn load(&self, serving: &Serving, status: u16, clients: &[Vec<Vec<u8>>], each: usize) -> Result<Cost> {
        let before = serving.cpu()?;
        let begun = Instant::now();
        let micros = self.runtime.block_on(async {
            let work: Vec<_> = clients
                .iter()
                .map(|requests| {
                    let (requests, address) = (requests.clone(), serving.address);
                    tokio::spawn(async move {
                        let mut client = Client::connect(address).await?;
                        let mut micros = Vec::with_capacity(each);
                        for n in 0..each {
                            let begun = Instant::now();
                            client.expect(status, &requests[n % requests.len()]).await?;
                            micros.push(begun.elapsed().as_secs_f64() * 1e6);
                        }
                        Result::<_>::Ok(micros)
                    })
                })
                .collect();
            let mut all = Vec::with_capacity(clients.len() * each);
            for client in work {
                all.append(&mut client.await??);
            }
            Result::<_>::Ok(all)
        })?;
        Ok(Cost { wall: begun.elapsed(), cpu: serving.cpu()?.saturating_sub(before), micros })
    }
}

/// The cost of requests.
#[derive(Default)]
struct Cost {
    wall: Duration,
    /// Of the server alone.
    cpu: Duration,
    /// How long each took.
    micros: Vec<f64>,
}

impl Cost {
    fn add(&mut self, mut other: Self) {
        self.wall += other.wall;
        self.cpu += other.cpu;
        self.micros.append(&mut other.micros);
    }

    /// Microseconds of the server's CPU a request.
    fn cpu(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.micros.len() as f64
    }

    /// How many requests it did in a second.
    fn rate(&self) -> f64 {
        self.micros.len() as f64 / self.wall.as_secs_f64()
    }

    fn percentile(&self, percent: usize) -> f64 {
        percentile(&self.micros, percent)
    }
}

/// One number of each round.
fn series(costs: &[Cost], number: impl Fn(&Cost) -> f64) -> Series {
    costs.iter().map(number).collect()
}

/// The times that half of the requests, and all but one in a hundred, stay under.
fn latencies(row: &'static str, what: &str, costs: &[Cost]) -> [Line; 2] {
    [("half", 50), ("99 of 100", 99)].map(|(share, percent)| {
        let measure = format!("{what}: {share} are answered within");
        Line::new(row, measure, Unit::Micros, series(costs, |cost| cost.percentile(percent)))
    })
}

/// A text in an answer.
fn text_of(body: &[u8], field: &str) -> Result<String> {
    let answer: Value = serde_json::from_slice(body)?;
    let text = answer.get(field).and_then(Value::as_str);
    Ok(text.ok_or_else(|| format!("the answer has no '{field}': {answer}"))?.to_owned())
}

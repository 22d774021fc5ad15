//! Requests: one after the other, many at once, and at a steady pace beside others to see how long those wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinHandle;

use super::site::Site;
use crate::Result;
use crate::http::client::{Client, Target};
use crate::http::serving::Serving;
use crate::meter::median;

/// Time between the end of one request and the next one, where waiting is measured.
const PACE: Duration = Duration::from_millis(5);
/// How long a client waits after it was refused.
const REFUSED_FOR: Duration = Duration::from_millis(100);
/// Never fewer requests than this are measured.
const ASKS_MIN: usize = 3;

/// The cost of a request that was repeated.
pub(super) struct Asked {
    /// As clients see it: half are answered within this.
    pub(super) micros: f64,
    /// Of the server, an answer.
    pub(super) cpu_micros: f64,
    pub(super) body: Vec<u8>,
}

/// Sends a request over one connection, again and again; the first answers warm up. `next` makes a request from the
/// answer to the one before.
pub(super) fn ask(site: &Site, serving: &Serving, mut next: impl FnMut(&[u8]) -> Result<Vec<u8>>) -> Result<Asked> {
    site.net.block_on(async {
        let mut client = Client::connect(serving.address).await?;
        let mut body = client.expect(200, &next(&[])?).await?.to_vec();
        let (mut micros, begun, cpu) = (Vec::new(), Instant::now(), serving.cpu()?);
        while micros.len() < ASKS_MIN || (micros.len() < site.effort.asks && begun.elapsed() < site.effort.asks_for) {
            let request = next(&body)?;
            let sent = Instant::now();
            let answer = client.expect(200, &request).await?;
            micros.push(sent.elapsed().as_secs_f64() * 1e6);
            body.clear();
            body.extend_from_slice(answer);
        }
        let cpu = serving.cpu()?.saturating_sub(cpu);
        Ok(Asked { micros: median(&micros), cpu_micros: cpu.as_secs_f64() * 1e6 / micros.len() as f64, body })
    })
}

/// The same request each time.
pub(super) fn repeat(site: &Site, serving: &Serving, request: &[u8]) -> Result<Asked> {
    ask(site, serving, |_| Ok(request.to_vec()))
}

/// Sends all requests at once, each over its own connection; gives the time until the last answer.
pub(super) fn at_once(site: &Site, target: &Target, requests: Vec<Vec<u8>>) -> Result<Duration> {
    let address = target.address;
    site.net.block_on(async {
        let mut clients = Vec::new();
        for request in requests {
            clients.push((Client::connect(address).await?, request));
        }
        let begun = Instant::now();
        let asked: Vec<JoinHandle<Result<()>>> = clients
            .into_iter()
            .map(|(mut client, request)| tokio::spawn(async move { client.expect(200, &request).await.map(drop) }))
            .collect();
        for one in asked {
            one.await??;
        }
        Ok(begun.elapsed())
    })
}

/// A client that repeats requests in turn until it is told to stop.
pub(super) struct Repeating {
    stop: Arc<AtomicBool>,
    task: JoinHandle<Result<Answers>>,
}

/// How a client fared.
#[derive(Default)]
pub(super) struct Answers {
    /// How long each answer took.
    pub(super) micros: Vec<f64>,
    /// Requests that were answered with 429 or 503.
    pub(super) refused: usize,
}

impl Answers {
    pub(super) fn longest(&self) -> f64 {
        self.micros.iter().copied().fold(0.0, f64::max)
    }
}

impl Repeating {
    /// At a steady pace, so that it costs little itself.
    pub(super) fn watching(site: &Site, target: &Target, requests: Vec<Vec<u8>>) -> Self {
        Self::start(site, target, requests, PACE)
    }

    /// As fast as it can.
    pub(super) fn pressing(site: &Site, target: &Target, request: Vec<u8>) -> Self {
        Self::start(site, target, vec![request], Duration::ZERO)
    }

    fn start(site: &Site, target: &Target, requests: Vec<Vec<u8>>, pace: Duration) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, address) = (Arc::clone(&stop), target.address);
        let task = site.net.spawn(async move {
            let mut client = Client::connect(address).await?;
            let mut answers = Answers::default();
            for request in requests.iter().cycle() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                let sent = Instant::now();
                let (status, body) = client.ask(request).await?;
                match status {
                    200..=299 => answers.micros.push(sent.elapsed().as_secs_f64() * 1e6),
                    429 | 503 => {
                        answers.refused += 1;
                        tokio::time::sleep(REFUSED_FOR).await;
                    }
                    _ => {
                        let said = String::from_utf8_lossy(body);
                        return Err(format!("the server answered {status}: {said}").into());
                    }
                }
                tokio::time::sleep(pace).await;
            }
            Ok(answers)
        });
        Self { stop, task }
    }

    /// Stops it after its current request.
    pub(super) fn end(self, site: &Site) -> Result<Answers> {
        self.stop.store(true, Ordering::Relaxed);
        site.net.block_on(self.task)?
    }
}

/// Asks for `/healthz`, which needs neither a key nor the store.
pub(super) fn healthz(site: &Site, target: &Target) -> Repeating {
    Repeating::watching(site, target, vec![target.request("GET", "/healthz", "", "")])
}

/// The array under `field` of an answer; it must not be empty.
pub(super) fn some<'a>(answer: &'a Value, field: &str) -> Result<&'a Vec<Value>> {
    let found = answer.get(field).and_then(Value::as_array).filter(|found| !found.is_empty());
    Ok(found.ok_or_else(|| format!("the answer has no '{field}'"))?)
}

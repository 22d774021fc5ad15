//! Text of runs as it is made, in memory: the chunks of the present step of each run, for the readers of its stream.
//!
//! Chunks never enter the log. The message that a step stores replaces them, so a ring holds one step at most.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use threadkeep_model::Uuid;
use threadkeep_vault::{Redacting, Redactor};
use tokio::sync::watch;
use tokio::time::Instant;

/// Most bytes of chunks of one run. Later chunks are left out; the stored message has the whole text.
const RUN_BYTES_MAX: usize = 4 << 20;
/// Most bytes of chunks of all runs.
const ALL_BYTES_MAX: usize = 64 << 20;
/// How long the chunks of a run stay that nothing was added to.
const KEPT: Duration = Duration::from_secs(3_600);

/// A piece of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Chunk {
    Text(String),
    /// The chunks before it do not count.
    Discarded,
}

/// The chunks of all runs on this engine and its clones.
#[derive(Default)]
pub(crate) struct Chunks {
    runs: Mutex<HashMap<Uuid, Arc<Ring>>>,
    bytes: Arc<AtomicUsize>,
    /// Tells the places of this process from those of others.
    pub(super) epoch: OnceLock<u64>,
}

/// The chunks of one run.
pub(crate) struct Ring {
    step: Mutex<Step>,
    /// Counts up with every change.
    changes: watch::Sender<u64>,
    all_bytes: Arc<AtomicUsize>,
}

/// The step of a run that is being made.
pub(super) struct Step {
    pub(super) attempt: u64,
    /// The number of the step, counted from 1.
    pub(super) number: u64,
    pub(super) chunks: Vec<Chunk>,
    /// Time from the start of the run to its first chunk, in milliseconds.
    pub(super) first_ms: Option<f64>,
    bytes: usize,
    /// None where the chunks come from another process, which took the secrets out.
    redacting: Option<Redacting>,
    /// Whether a chunk of another process was lost: those after it are left out.
    has_gap: bool,
    /// Bytes of a character that is not whole yet.
    tail: Vec<u8>,
    touched: Instant,
}

impl Chunks {
    fn runs(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<Ring>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ring of a run, which is made if there is none.
    pub(crate) fn of(&self, run: Uuid) -> Arc<Ring> {
        let mut runs = self.runs();
        if !runs.contains_key(&run) {
            runs.retain(|_, ring| ring.changes.receiver_count() > 0 || ring.step().touched.elapsed() < KEPT);
        }
        let ring = runs.entry(run).or_insert_with(|| {
            let (changes, all_bytes) = (watch::Sender::new(0), Arc::clone(&self.bytes));
            Arc::new(Ring { step: Mutex::new(Step::new(0, 0, None)), changes, all_bytes })
        });
        Arc::clone(ring)
    }

    /// Forgets a run that ended. Its readers have the log.
    pub(crate) fn forget(&self, run: Uuid) {
        self.runs().remove(&run);
    }
}

impl Step {
    fn new(attempt: u64, number: u64, redactor: Option<&Redactor>) -> Self {
        Self {
            attempt,
            number,
            chunks: Vec::new(),
            first_ms: None,
            bytes: 0,
            redacting: redactor.map(Redactor::stream),
            has_gap: false,
            tail: Vec::new(),
            touched: Instant::now(),
        }
    }
}

impl Ring {
    pub(super) fn step(&self) -> MutexGuard<'_, Step> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Whether the next chunk of this step is its first here, so that it needs a redactor.
    pub(crate) fn begins(&self, attempt: u64, number: u64) -> bool {
        let step = self.step();
        let here = (step.attempt, step.number);
        here < (attempt, number) || (here == (attempt, number) && step.redacting.is_none())
    }

    /// Begins a step: the chunks of the one before go. A step that others began already stays.
    pub(crate) fn begin(&self, attempt: u64, number: u64, redactor: &Redactor) {
        let mut step = self.step();
        self.turn_to(&mut step, attempt, number);
        if (step.attempt, step.number) == (attempt, number) {
            step.redacting.get_or_insert_with(|| redactor.stream());
        }
    }

    /// Goes on to a later step.
    fn turn_to(&self, step: &mut Step, attempt: u64, number: u64) {
        if (step.attempt, step.number) < (attempt, number) {
            self.all_bytes.fetch_sub(step.bytes, Ordering::Relaxed);
            let first_ms = step.first_ms;
            *step = Step { first_ms, ..Step::new(attempt, number, None) };
        }
    }

    /// Whether text of the present step is made in this process.
    pub(super) fn is_here(&self) -> bool {
        self.step().redacting.is_some()
    }

    /// Takes in a chunk of another process, which is the `place`th of its step, counted from 1. A chunk that is here already
    /// is left out, and so are all after one that was lost.
    pub(super) fn adopt(&self, (attempt, number): (u64, u64), place: u64, chunk: Chunk, first_ms: Option<f64>) {
        let mut step = self.step();
        self.turn_to(&mut step, attempt, number);
        let next = step.chunks.len() as u64 + 1;
        if (step.attempt, step.number) != (attempt, number) || step.redacting.is_some() || place < next {
            return;
        }
        let bytes = match &chunk {
            Chunk::Text(text) => text.len(),
            Chunk::Discarded => 0,
        };
        step.touched = Instant::now();
        step.has_gap |= place > next || !self.has_room(&step, bytes);
        if !step.has_gap {
            step.first_ms = step.first_ms.or(first_ms);
            step.bytes += bytes;
            self.all_bytes.fetch_add(bytes, Ordering::Relaxed);
            step.chunks.push(chunk);
            self.changes.send_modify(|count| *count += 1);
        }
    }

    fn has_room(&self, step: &Step, bytes: usize) -> bool {
        step.bytes + bytes <= RUN_BYTES_MAX && self.all_bytes.load(Ordering::Relaxed) + bytes <= ALL_BYTES_MAX
    }

    /// Adds text, without its secrets, and gives the number of chunks and the new one. Text of an earlier step is left
    /// out.
    pub(crate) fn push(&self, attempt: u64, number: u64, text: &str, since_start_ms: f64) -> (u64, Option<String>) {
        let mut step = self.step();
        let mut new = None;
        if (step.attempt, step.number) == (attempt, number) && !text.is_empty() {
            step.touched = Instant::now();
            step.first_ms.get_or_insert(since_start_ms);
            let clean = match &mut step.redacting {
                Some(redacting) => redacting.push(text.as_bytes()),
                // The step is begun with a redactor before anything is added.
                None => return (step.chunks.len() as u64, None),
            };
            step.tail.extend(clean);
            let whole = match std::str::from_utf8(&step.tail) {
                Ok(all) => all.len(),
                Err(cut) if cut.error_len().is_none() => cut.valid_up_to(),
                // Bytes that are no text never become any.
                Err(_) => step.tail.len(),
            };
            let bytes: Vec<u8> = step.tail.drain(..whole).collect();
            if whole > 0 && self.has_room(&step, whole) {
                step.bytes += whole;
                self.all_bytes.fetch_add(whole, Ordering::Relaxed);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                new = Some(text.clone());
                step.chunks.push(Chunk::Text(text));
            }
        }
        self.changes.send_modify(|count| *count += 1);
        (step.chunks.len() as u64, new)
    }

    /// Says that the chunks of the step so far do not count, and gives the number of chunks if there were any.
    pub(crate) fn discard(&self, attempt: u64, number: u64) -> Option<u64> {
        let mut step = self.step();
        if (step.attempt, step.number) != (attempt, number) || step.chunks.is_empty() {
            return None;
        }
        step.chunks.push(Chunk::Discarded);
        step.tail.clear();
        self.changes.send_modify(|count| *count += 1);
        Some(step.chunks.len() as u64)
    }

    /// The text that readers were shown of the step so far.
    pub(crate) fn shown(&self, attempt: u64, number: u64) -> String {
        let step = self.step();
        if (step.attempt, step.number) != (attempt, number) {
            return String::new();
        }
        let mut text = String::new();
        for chunk in &step.chunks {
            match chunk {
                Chunk::Text(more) => text.push_str(more),
                Chunk::Discarded => text.clear(),
            }
        }
        text
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let step = self.step.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.all_bytes.fetch_sub(step.bytes, Ordering::Relaxed);
    }
}

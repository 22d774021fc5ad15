//! The log: lines of JSON on stderr, written by a thread of their own.
//!
//! Lines that come within a few milliseconds are written together. A reader of stderr that stops reading must not stop
//! the server: once too many lines wait, further ones are dropped, and counted.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use serde::Serialize;
use threadkeep::Redactor;

/// Lines that wait to be written.
const WAITING_MAX: usize = 4_096;
/// How long lines are gathered before they are written together.
const GATHER: Duration = Duration::from_millis(5);
/// Room for gathered lines that is kept, in bytes.
const TEXT_BYTES_KEPT: usize = 64 << 10;
/// How long the end waits until all lines are written.
const FLUSH_MAX: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Log {
    lines: Option<SyncSender<Item>>,
    /// Takes out the secrets of the instance, whoever writes a line.
    redactor: Redactor,
    dropped: AtomicU64,
}

#[derive(Debug)]
enum Item {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

impl Log {
    /// A log on stderr, or one that keeps nothing.
    pub(crate) fn new(is_on: bool, redactor: &Redactor) -> Self {
        let lines = is_on.then(|| sync_channel(WAITING_MAX)).and_then(|(send, receive)| {
            let writer = std::thread::Builder::new().name("threadkeep-log".into()).spawn(move || write(&receive));
            writer.ok().map(|_| send)
        });
        Self { lines, redactor: redactor.unnamed(), dropped: AtomicU64::new(0) }
    }

    /// Whether anything is written at all.
    pub(crate) fn is_on(&self) -> bool {
        self.lines.is_some()
    }

    /// Writes one line, unless too many wait.
    pub(crate) fn line(&self, line: &impl Serialize) {
        let Some(lines) = &self.lines else { return };
        if let Ok(line) = serde_json::to_string(line) {
            let mut line = self.redactor.json_strings(&line).into_owned().into_bytes();
            line.push(b'\n');
            if lines.try_send(Item::Line(line)).is_err() {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// How many lines were dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits a moment until all lines so far are written.
    pub(crate) fn flush(&self) {
        let (done, is_done) = sync_channel(1);
        if let Some(lines) = &self.lines
            && lines.try_send(Item::Flush(done)).is_ok()
        {
            // If stderr is not read, the failure cannot be reported.
            is_done.recv_timeout(FLUSH_MAX).unwrap_or(());
        }
    }
}

fn write(lines: &Receiver<Item>) {
    let mut text = Vec::new();
    while let Ok(first) = lines.recv() {
        let mut flushed = Vec::new();
        for item in std::iter::once(first).chain(lines.try_iter().take(WAITING_MAX)) {
            match item {
                Item::Line(line) => text.extend_from_slice(&line),
                Item::Flush(done) => flushed.push(done),
            }
        }
        drop(std::io::stderr().lock().write_all(&text));
        text.clear();
        text.shrink_to(TEXT_BYTES_KEPT);
        let is_idle = flushed.is_empty();
        for done in flushed {
            // The thread that asked may have gone on.
            done.send(()).unwrap_or(());
        }
        // While this waits for more, no writer has to wake it: under load waking costs more than writing the line.
        if is_idle {
            std::thread::sleep(GATHER);
        }
    }
}

//! The worker: a process that runs one piece of code, and reaches its host by one socket.
//!
//! [`engine`] runs the code, [`bridge`] is its way to the host, [`convert`] carries values across, [`modules`] finds what it
//! imports, [`typescript`] removes types, [`names`] finds names in sources, [`failure`] tells errors, [`memory`] counts the
//! heap, [`wire`] reads and writes.

mod bridge;
mod convert;
mod engine;
mod failure;
mod memory;
mod modules;
mod names;
mod typescript;
mod wire;

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cage::{self, Protections};
use crate::cbor;
use crate::frame::Kind;
use crate::task::read_library;
use crate::value::Value;

/// The first argument of a worker.
const MARK: &str = "threadkeep-sandbox-worker";
/// The exit code of a worker that ran out of memory.
pub(crate) const MEMORY_EXIT: i32 = 97;

/// Whether this program can be a worker.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Turns this process into a worker if it was started as one, and then never returns. Call it first in `main`: before it,
/// nothing should read arguments, open files or start threads.
///
/// A program that does not call it cannot run code: its own executable would not understand what it is asked.
pub fn worker_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == MARK) {
        serve(arguments);
    }
    ASKED.store(true, Ordering::Relaxed);
}

/// Whether [`worker_if_asked`] was called in this process.
pub(crate) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// The arguments of a worker.
pub(crate) fn arguments(protections: Protections) -> [String; 4] {
    let flag = |on: bool| String::from(if on { "1" } else { "0" });
    [MARK.to_owned(), std::process::id().to_string(), flag(protections.landlock), flag(protections.seccomp)]
}

fn serve(mut arguments: impl Iterator<Item = OsString>) -> ! {
    // A bug of ours ends the worker at once, and reads as one.
    std::panic::set_hook(Box::new(|_| wire::end(1)));
    let mut next = || arguments.next().and_then(|text| text.into_string().ok()).unwrap_or_default();
    let (parent, landlock, seccomp) = (next().parse().unwrap_or(0), next() == "1", next() == "1");
    let protections = Protections { landlock, seccomp };
    let base = match cage::enter(parent, protections) {
        Ok(base) => base,
        Err(why) => refuse(why),
    };
    engine::with(|engine| {
        // Our own modules are compiled while nothing waits for them.
        let Some(library) = read_library(received(Kind::Library)) else { wire::end(1) };
        let before = memory::used();
        engine.compile(library);
        let compiled = memory::used().saturating_sub(before);
        wire::send(Kind::Ready, 0, &[]);
        let limits = received(Kind::Limits);
        let Value::Array(limits) = limits else { wire::end(1) };
        let [Value::Number(memory), Value::Number(seconds)] = limits[..] else { wire::end(1) };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the host sends whole numbers")]
        let (memory, seconds) = (memory as u64, seconds as u64);
        if let Err(why) = cage::lock(&base, protections, memory, seconds) {
            refuse(why);
        }
        // Our own modules are not the code's.
        memory::limit(usize::try_from(memory).unwrap_or(usize::MAX).saturating_add(compiled));
        // Invariant: code is read only after every limit holds.
        wire::send(Kind::Caged, 0, &cbor::write(&Value::Undefined));
        engine.run(received(Kind::Run))
    })
}

/// Says why the cage does not close, and ends.
fn refuse(why: String) -> ! {
    wire::send(Kind::Caged, 0, &cbor::write(&why.into()));
    wire::end(1)
}

/// The value of the next frame, which has to be of this kind.
fn received(kind: Kind) -> Value {
    let (head, payload) = wire::receive();
    match cbor::read(&payload) {
        Ok((value, _)) if head.kind == kind => value,
        _ => wire::end(1),
    }
}

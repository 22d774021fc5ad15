//! One run, as the host follows it. The worker is not trusted: every frame is checked again, and a worker that breaks a
//! limit is killed.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Unavailable;
use super::process::{Frames, Process, Worker};
use crate::code::{Code, Event, Failure, HostError, HostFunction, Log, Outcome, Reports, Status};
use crate::frame::{HEAD_BYTES, Head, Kind, frame};
use crate::limits::{
    CALLS_MAX, CALLS_OPEN_MAX, DEPTH_MAX, ERROR_BYTES_MAX, FRAME_BYTES_MAX, LOG_ENTRY_BYTES, LOGS_BYTES_MAX,
    REPORTS_BYTES_MAX, REPORTS_VALUES_MAX, RUN_BYTES_MAX, VALUES_MAX,
};
use crate::task::{self, Done};
use crate::value::Value;
use crate::worker::MEMORY_EXIT;
use crate::{cbor, limits};

/// The error of a run that took too long.
const TIMEOUT_NAME: &str = "code_timeout";
/// CPU seconds beyond the time limit after which the kernel kills a worker that its host forgot.
const CPU_SECONDS_MORE: u64 = 2;

/// The outcome of a run that was ended from outside.
pub(super) fn terminated(reason: String) -> Outcome {
    let reason = if reason.is_empty() { "the run was terminated".to_owned() } else { reason };
    Outcome::failed(Status::Terminated, Failure::new("terminated", reason))
}

/// Runs `code` in `worker` until it ends, is stopped, or reaches its deadline.
pub(super) async fn drive(
    worker: Worker,
    code: Code,
    stopped: &mut mpsc::UnboundedReceiver<String>,
    events: &mpsc::UnboundedSender<Event>,
) -> Result<Outcome, Unavailable> {
    let Worker { process, frames, mut to } = worker;
    let (timeout, memory) = (code.timeout, code.memory_bytes);
    let seconds = timeout.as_secs() + CPU_SECONDS_MORE;
    #[allow(clippy::cast_precision_loss, reason = "both are small")]
    let limits = Value::Array(vec![(memory as f64).into(), (seconds as f64).into()]);
    let (task, functions) = task::write(code);
    let (values, depth) = task.measure();
    let payload = cbor::write(&task);
    drop(task);
    if payload.len() + HEAD_BYTES > FRAME_BYTES_MAX || values > VALUES_MAX || depth > DEPTH_MAX {
        let message = format!(
            "the code and its values have more than {FRAME_BYTES_MAX} bytes, {VALUES_MAX} values or {DEPTH_MAX} levels"
        );
        return Ok(Outcome::link_error("LimitError", message));
    }
    // What goes to the worker has a task of its own: while the worker writes, it does not read.
    let (send, mut outbox) = mpsc::unbounded_channel::<Vec<u8>>();
    let mut first = frame(Kind::Limits, 0, &cbor::write(&limits));
    first.extend(frame(Kind::Run, 0, &payload));
    drop(payload);
    drop(send.send(first));
    let writer = tokio::spawn(async move {
        while let Some(bytes) = outbox.recv().await {
            // A worker that is gone is noticed by its reader.
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    let mut run = Run::new(functions, send, events.clone());
    let ended = run.follow(frames, stopped, timeout).await;
    let duration = run.began.elapsed();
    writer.abort();
    run.calls.abort_all();
    let outcome = run.outcome(ended, process, timeout).await?;
    Ok(Outcome { reports: run.reports, logs: run.logs, duration, ..outcome })
}

/// How the frames of a worker ended.
enum Ended {
    /// It told the outcome.
    Done(Done),
    /// It is gone without a word.
    Gone,
    /// It broke the protocol or a limit.
    Broke(String),
    /// It was stopped from outside.
    Stopped(String),
    /// It took too long.
    TooLong,
    /// Its cage does not close.
    Uncaged(String),
}

struct Run {
    began: Instant,
    functions: Vec<HostFunction>,
    send: mpsc::UnboundedSender<Vec<u8>>,
    events: mpsc::UnboundedSender<Event>,
    calls: JoinSet<()>,
    made: usize,
    open: Arc<AtomicUsize>,
    bytes: usize,
    logged: usize,
    reported: (usize, usize),
    reports: Reports,
    logs: Vec<Log>,
    started: bool,
}

impl Run {
    fn new(
        functions: Vec<HostFunction>,
        send: mpsc::UnboundedSender<Vec<u8>>,
        events: mpsc::UnboundedSender<Event>,
    ) -> Self {
        Self {
            began: Instant::now(),
            functions,
            send,
            events,
            calls: JoinSet::new(),
            made: 0,
            open: Arc::default(),
            bytes: 0,
            logged: 0,
            reported: (0, 0),
            reports: Reports::default(),
            logs: Vec::new(),
            started: false,
        }
    }

    async fn follow(
        &mut self,
        mut frames: Frames,
        stopped: &mut mpsc::UnboundedReceiver<String>,
        timeout: Duration,
    ) -> Ended {
        let deadline = tokio::time::sleep_until(self.began + timeout);
        tokio::pin!(deadline);
        loop {
            let next = tokio::select! {
                biased;
                reason = stopped.recv() => return Ended::Stopped(reason.unwrap_or_default()),
                () = &mut deadline => return Ended::TooLong,
                next = frames.next() => next,
            };
            let taken = match next {
                Ok(Some((head, payload))) => self.take(head, &payload),
                Ok(None) => return Ended::Gone,
                Err(broken) => return Ended::Broke(broken),
            };
            match taken {
                Ok(None) => {}
                Ok(Some(ended)) => return ended,
                Err(broken) => return Ended::Broke(broken),
            }
        }
    }

    /// Takes a frame; gives the end if it is the last one.
    fn take(&mut self, head: Head, payload: &[u8]) -> Result<Option<Ended>, String> {
        self.bytes += payload.len() + HEAD_BYTES;
        // The outcome and the log have limits of their own.
        if self.bytes > RUN_BYTES_MAX + FRAME_BYTES_MAX + 2 * LOGS_BYTES_MAX {
            return Err(format!("it sent more than {RUN_BYTES_MAX} bytes"));
        }
        if head.kind == Kind::Started {
            self.started = true;
            return Ok(None);
        }
        let (value, values) = cbor::read(payload).map_err(|error| error.to_string())?;
        match head.kind {
            Kind::Caged => Ok(value.as_str().map(|why| Ended::Uncaged(why.to_owned()))),
            Kind::Log => self.log(value).map(|()| None),
            Kind::Report => self.report(value, values, payload).map(|()| None),
            Kind::Call => self.call(head.call, value).map(|()| None),
            Kind::Done => {
                Done::read(value).map(|done| Some(Ended::Done(done))).ok_or_else(|| "an outcome of no form".to_owned())
            }
            Kind::Ready | Kind::Started | Kind::Library | Kind::Limits | Kind::Run | Kind::Answer | Kind::Refusal => {
                Err("a frame that it may not send now".to_owned())
            }
        }
    }

    fn log(&mut self, value: Value) -> Result<(), String> {
        let Value::Array(parts) = value else { return Err("a log of no form".to_owned()) };
        let Ok([Value::String(level), Value::String(message)]) = <[Value; 2]>::try_from(parts) else {
            return Err("a log of no form".to_owned());
        };
        self.logged += level.len() + message.len() + LOG_ENTRY_BYTES;
        // The last line says that the log is full.
        if self.logged > 2 * LOGS_BYTES_MAX {
            return Err(format!("its log has more than {LOGS_BYTES_MAX} bytes"));
        }
        let log = Log { level, message };
        if !self.events.is_closed() {
            drop(self.events.send(Event::Log(log.clone())));
        }
        self.logs.push(log);
        Ok(())
    }

    fn report(&mut self, value: Value, values: usize, payload: &[u8]) -> Result<(), String> {
        self.reported = (self.reported.0 + payload.len(), self.reported.1 + values);
        if self.reported.0 > REPORTS_BYTES_MAX || self.reported.1 > REPORTS_VALUES_MAX {
            return Err("its reports are too large".to_owned());
        }
        self.reports.push(payload);
        // If nothing follows the run, the value is dropped.
        drop(self.events.send(Event::Report(value)));
        Ok(())
    }

    fn call(&mut self, call: u32, value: Value) -> Result<(), String> {
        let Value::Array(mut args) = value else { return Err("a call of no form".to_owned()) };
        let number = match args.first() {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "out of range saturates")]
            Some(Value::Number(number)) => *number as usize,
            _ => return Err("a call of no form".to_owned()),
        };
        args.remove(0);
        let function = self.functions.get(number).cloned().ok_or("a call of a function that it was not given")?;
        self.made += 1;
        if self.made > CALLS_MAX {
            return Err(format!("it made more than {CALLS_MAX} host calls"));
        }
        if self.open.fetch_add(1, Ordering::Relaxed) >= CALLS_OPEN_MAX {
            return Err(format!("more than {CALLS_OPEN_MAX} of its host calls are open"));
        }
        let (send, open) = (self.send.clone(), Arc::clone(&self.open));
        // Those that ended leave no trace.
        while self.calls.try_join_next().is_some() {}
        self.calls.spawn(async move {
            let answer = answered(function(args).await, call);
            // Before it is sent: the worker may call again at once.
            open.fetch_sub(1, Ordering::Relaxed);
            drop(send.send(answer));
        });
        Ok(())
    }

    /// The outcome, once the process is on its way out.
    async fn outcome(&self, ended: Ended, process: Process, timeout: Duration) -> Result<Outcome, Unavailable> {
        let failed = |status, name: &str, message: String| Ok(Outcome::failed(status, Failure::new(name, message)));
        let exit = match ended {
            // It ends by itself; dropped, it is killed if it does not.
            Ended::Done(Done { status, result, error }) => {
                drop(process);
                let outcome = Outcome::failed(status, Failure::default());
                return Ok(Outcome { result, error: error.map(short), ..outcome });
            }
            Ended::Gone => process.ended().await,
            Ended::Broke(why) => {
                process.end().await;
                return failed(Status::Terminated, "LimitError", format!("the worker was killed: {why}"));
            }
            Ended::Stopped(reason) => {
                drop(process);
                return Ok(terminated(reason));
            }
            Ended::TooLong => {
                drop(process);
                let message = format!("the run took longer than {} ms", timeout.as_millis());
                return failed(Status::Terminated, TIMEOUT_NAME, message);
            }
            Ended::Uncaged(why) => return Err(Unavailable::Failed(why)),
        };
        Ok(self.crashed(exit))
    }

    /// The outcome of a worker that ended without one.
    fn crashed(&self, exit: Option<ExitStatus>) -> Outcome {
        let failed = |status, name: &str, message: &str| Outcome::failed(status, Failure::new(name, message));
        let memory = || failed(Status::Memory, "MemoryError", "the code needed more memory than its limit");
        let Some(exit) = exit else { return memory() };
        match (exit.code(), exit.signal()) {
            (Some(MEMORY_EXIT), _) => memory(),
            (_, Some(libc::SIGSYS)) => {
                failed(Status::Terminated, "SandboxViolation", "the code reached for something that is not allowed")
            }
            // The parser runs before the code does, and has nothing but its stack to lose.
            (_, Some(libc::SIGSEGV | libc::SIGABRT | libc::SIGBUS)) if !self.started => {
                failed(Status::LinkError, "SyntaxError", "the source is nested too deeply to be compiled")
            }
            (_, Some(libc::SIGXCPU)) => failed(Status::Terminated, TIMEOUT_NAME, "the run used up its CPU time"),
            // No memory or no stack is left, or the kernel chose it when memory ran out.
            (_, Some(_)) => memory(),
            (_, None) => failed(Status::Error, "InternalError", "the worker failed"),
        }
    }
}

/// The answer to a call, as a frame.
fn answered(answer: Result<Value, HostError>, call: u32) -> Vec<u8> {
    let refusal = |name: &str, message: &str| {
        let message = &message[..message.floor_char_boundary(limits::ERROR_BYTES_MAX)];
        frame(Kind::Refusal, call, &cbor::write(&Value::Array(vec![name.into(), message.into()])))
    };
    match answer {
        Ok(value) => {
            let (values, depth) = value.measure();
            let payload = cbor::write(&value);
            if payload.len() + HEAD_BYTES > FRAME_BYTES_MAX || values > VALUES_MAX || depth > DEPTH_MAX {
                return refusal("LimitError", "the answer is too large to enter the sandbox");
            }
            frame(Kind::Answer, call, &payload)
        }
        Err(HostError { name, message }) => refusal(&name, &message),
    }
}

/// The error with texts that are not too long, whatever the worker says.
fn short(error: Failure) -> Failure {
    let cut = |mut text: String| {
        text.truncate(text.floor_char_boundary(ERROR_BYTES_MAX));
        text
    };
    let Failure { name, message, stack, line, column, filename } = error;
    let (stack, filename) = (stack.map(cut), filename.map(cut));
    Failure { name: cut(name), message: cut(message), stack, line, column, filename }
}

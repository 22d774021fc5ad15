//! `say --lines`: one message for each line of stdin, acknowledged one by one, in order.
//!
//! A thread reads stdin while the store syncs; all lines that wait at that moment become one batch, so that one sync
//! serves many lines. The order of the lines is the order of the messages and of the acknowledgements. Each batch has a
//! key of its own, so that one whose fate is not known can be sent again: no line is lost or doubled.

use std::io::{BufRead, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use threadkeep::{Content, Invalid, Limits, ThreadId};
use threadkeep_calls::{Append, At, Message, Problem, Status};
use threadkeep_client::{Client, Error, Retry as Again};
use tokio::sync::Notify;

use crate::context::Context;
use crate::failure::{Failure, cannot_read};
use crate::retry::Retry;
use crate::say::{Keys, MessageArgs};
use crate::text::counted;

/// Lines that may wait; more wait in the pipe.
const WAITING_LINES_MAX: usize = 1_000;
/// Bytes of lines that may wait, beside the last one.
const WAITING_BYTES_MAX: usize = 8 << 20;

/// Appends every line of stdin.
pub(crate) async fn append(
    context: &mut Context,
    thread: ThreadId,
    like: &MessageArgs,
    retry: Retry,
) -> Result<(), Failure> {
    let limits = Limits::default();
    let waiting = Arc::new(Waiting::default());
    let reader = Arc::clone(&waiting);
    // It is never joined: when the command ends early, it still waits for the next line.
    std::thread::spawn(move || reader.fill(&mut std::io::stdin().lock(), limits.message_bytes_max));
    let client = context.client.retrying(Again::never());
    let mut appending =
        Appending { context, client, thread, like, retry, keys: Keys::new(), kept: 0, is_unread: false };
    loop {
        let (lines, end) = waiting.take(limits.batch_max).await;
        if !lines.is_empty() {
            appending.append(&lines).await.map_err(|failure| appending.stopped(failure))?;
        }
        match end {
            None => {}
            Some(Ok(())) => return Ok(()),
            Some(Err(failure)) => return Err(appending.stopped(failure)),
        }
    }
}

/// The way of lines into a thread.
struct Appending<'a> {
    context: &'a mut Context,
    client: Client,
    thread: ThreadId,
    like: &'a MessageArgs,
    retry: Retry,
    keys: Keys,
    /// Lines that were stored.
    kept: u64,
    /// Whether the reader of the acknowledgements has gone. All lines are stored nevertheless.
    is_unread: bool,
}

impl Appending<'_> {
    async fn append(&mut self, lines: &[String]) -> Result<(), Failure> {
        match self.append_batch(lines).await? {
            Ok(messages) => self.acknowledge(&messages),
            // One of them breaks a rule: those before it are kept.
            Err(_) if lines.len() > 1 => {
                for line in lines {
                    match self.append_batch(std::slice::from_ref(line)).await? {
                        Ok(messages) => self.acknowledge(&messages)?,
                        Err(invalid) => return Err(Failure::Problem(invalid)),
                    }
                }
                Ok(())
            }
            Err(invalid) => Err(Failure::Problem(invalid)),
        }
    }

    /// All of `lines` or none: the same lines under the same key until the store has answered.
    async fn append_batch(&mut self, lines: &[String]) -> Result<Result<Vec<Message<'static>>, Box<Problem>>, Failure> {
        let append = Append::batch(lines.iter().map(|line| self.like.body(Content::text(line))));
        let at = At::of(self.thread).keyed(self.keys.next()?);
        match self.retry.until_there(async || self.client.call(at.clone(), append.clone()).await).await {
            Ok(appended) => Ok(Ok(appended.messages)),
            Err(Error::Refused(problem)) if matches!(problem.status, Status::BadRequest | Status::TooLarge) => {
                Ok(Err(problem))
            }
            Err(error) if error.is_away() => {
                let hint = "see whether the line is there before you send it again";
                Err(Problem::from(error).hint(hint).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn acknowledge(&mut self, messages: &[Message<'_>]) -> Result<(), Failure> {
        self.kept += messages.len() as u64;
        if self.is_unread {
            return Ok(());
        }
        let out = &mut self.context.out;
        match messages.iter().try_for_each(|message| out.json(message)).and_then(|()| out.flush()) {
            Err(Failure::Closed) => {
                self.is_unread = true;
                Ok(())
            }
            done => done,
        }
    }

    /// Says which line was refused, and how many were kept.
    fn stopped(&self, failure: Failure) -> Failure {
        let Failure::Problem(problem) = failure else { return failure };
        let kept = counted(self.kept, "line was", "lines were");
        let detail = format!("line {}: {}; {kept} kept", self.kept + 1, problem.detail);
        Problem { detail: detail.into(), ..*problem }.into()
    }
}

/// Lines that were read and not yet appended.
#[derive(Default)]
struct Waiting {
    state: Mutex<State>,
    /// There are lines, or there is the end.
    filled: Notify,
    /// There is room for lines.
    emptied: Condvar,
}

#[derive(Default)]
struct State {
    lines: Vec<String>,
    bytes: usize,
    /// How stdin ended, once it did.
    end: Option<Result<(), Failure>>,
}

/// Lines, and how stdin ended if these are the last.
type Taken = (Vec<String>, Option<Result<(), Failure>>);

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits for lines or for the end, and takes up to `most`. The end comes with the last lines.
    async fn take(&self, most: usize) -> Taken {
        loop {
            if let Some(taken) = self.take_now(most) {
                return taken;
            }
            self.filled.notified().await;
        }
    }

    fn take_now(&self, most: usize) -> Option<Taken> {
        let mut state = self.lock();
        if state.lines.is_empty() && state.end.is_none() {
            return None;
        }
        let lines = if state.lines.len() > most {
            state.lines.drain(..most).collect()
        } else {
            std::mem::take(&mut state.lines)
        };
        state.bytes -= lines.iter().map(String::len).sum::<usize>();
        let end = if state.lines.is_empty() { state.end.take() } else { None };
        self.emptied.notify_all();
        Some((lines, end))
    }

    /// Reads lines of at most `max` bytes until the end.
    fn fill(&self, from: &mut impl BufRead, max: usize) {
        loop {
            let line = next_line(from, max);
            let mut state = self.lock();
            while state.lines.len() >= WAITING_LINES_MAX || state.bytes >= WAITING_BYTES_MAX {
                state = self.emptied.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
            }
            match line {
                Ok(Some(line)) => {
                    state.bytes += line.len();
                    state.lines.push(line);
                }
                Ok(None) => state.end = Some(Ok(())),
                Err(failure) => state.end = Some(Err(failure)),
            }
            let ended = state.end.is_some();
            drop(state);
            self.filled.notify_one();
            if ended {
                return;
            }
        }
    }
}

/// The next line without its line break; none at the end.
fn next_line(from: &mut impl BufRead, max: usize) -> Result<Option<String>, Failure> {
    let mut bytes = Vec::new();
    // Two bytes for the line break.
    from.take(max as u64 + 2).read_until(b'\n', &mut bytes).map_err(|error| cannot_read("stdin", &error))?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.ends_with(b"\n") {
        bytes.pop();
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
    }
    if bytes.len() > max {
        let rule = format!("a message has at most {max} bytes of JSON; this one has more");
        return Err(Invalid::new(threadkeep::model::Code::TooLarge, "content", rule).into());
    }
    let text = String::from_utf8(bytes).map_err(|_| Invalid::body("content", "the line is not UTF-8 text"))?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8], max: usize) -> (Vec<String>, bool) {
        let waiting = Waiting::default();
        waiting.fill(&mut &*input, max);
        let (lines, end) = waiting.take_now(usize::MAX).expect("it ended");
        (lines, end.expect("it ended").is_ok())
    }

    #[test]
    fn every_line_is_one_message_and_the_last_needs_no_line_break() {
        assert_eq!(read(b"a\n\r\n b \r\nc", 100), (vec!["a".into(), "".into(), " b ".into(), "c".into()], true));
        assert_eq!(read(b"", 100), (vec![], true));
        assert_eq!(read(b"\n", 100), (vec!["".into()], true));
    }

    #[test]
    fn a_line_that_is_too_long_or_not_text_ends_it_after_the_lines_before() {
        assert_eq!(read(b"abc\nabcd\n", 3), (vec!["abc".into()], false));
        assert_eq!(read(b"a\n\xff\nb\n", 100), (vec!["a".into()], false));
    }

    #[test]
    fn the_end_comes_with_the_last_lines() {
        let waiting = Waiting::default();
        waiting.fill(&mut &b"a\nb\nc\n"[..], 100);
        let (lines, end) = waiting.take_now(2).expect("there are lines");
        assert_eq!((lines.len(), end.is_none()), (2, true));
        let (lines, end) = waiting.take_now(2).expect("there are lines");
        assert_eq!((lines.len(), end.is_some()), (1, true));
    }
}

//! Processes of workers: started by one thread, and never left behind.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc as blocking;
use std::thread;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::oneshot;

use super::{Settings, Unavailable};
use crate::cage::Protections;
use crate::frame::{HEAD_BYTES, Head, Kind};
use crate::limits::{FRAME_BYTES_MAX, START_TIMEOUT};
use crate::{cbor, worker};

/// A worker that waits for its limits and its code.
pub(super) struct Worker {
    pub(super) process: Process,
    pub(super) frames: Frames,
    pub(super) to: OwnedWriteHalf,
}

impl Worker {
    /// Whether its process still waits.
    pub(super) fn is_alive(&mut self) -> bool {
        self.process.0.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    pub(super) fn id(&self) -> u32 {
        self.process.0.as_ref().map_or(0, Child::id)
    }
}

/// The process of a worker. Dropped, it is killed, and its end is awaited by a thread.
pub(super) struct Process(Option<Child>);

impl Process {
    /// Kills it, and waits until it is gone.
    pub(super) async fn end(mut self) -> Option<ExitStatus> {
        let child = self.0.take()?;
        tokio::task::spawn_blocking(move || reap(child)).await.ok().flatten()
    }

    /// Waits until it is gone by itself, which it is soon: its socket is closed.
    pub(super) async fn ended(mut self) -> Option<ExitStatus> {
        let mut child = self.0.take()?;
        tokio::task::spawn_blocking(move || child.wait().ok()).await.ok().flatten()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = self.0.take() {
            thread::spawn(move || reap(child));
        }
    }
}

fn reap(mut child: Child) -> Option<ExitStatus> {
    // One that is gone already cannot be killed.
    drop(child.kill());
    child.wait().ok()
}

/// Starts workers, all by one thread: a worker dies with the thread that started it.
pub(super) struct Spawner {
    asked: blocking::Sender<oneshot::Sender<io::Result<(Child, UnixStream)>>>,
}

impl Spawner {
    pub(super) fn new(settings: &Settings) -> Self {
        let (asked, asks) = blocking::channel::<oneshot::Sender<_>>();
        let (program, protections) = (settings.worker.clone(), settings.protections);
        // Invariant: the thread lives as long as the sandbox. It ends when nothing asks any more.
        thread::spawn(move || {
            while let Ok(answer) = asks.recv() {
                // If the asker is gone, the process is killed.
                if let Err(Ok((child, _))) = answer.send(spawn(program.as_ref(), protections)) {
                    reap(child);
                }
            }
        });
        Self { asked }
    }

    /// A worker that is ready. `library` is the first frame that it gets.
    pub(super) async fn spawn(&self, library: &[u8]) -> Result<Worker, Unavailable> {
        let (answer, answered) = oneshot::channel();
        let stopped = || Unavailable::Failed("the sandbox was stopped".to_owned());
        self.asked.send(answer).map_err(|_| stopped())?;
        let (child, socket) =
            answered.await.map_err(|_| stopped())?.map_err(|error| Unavailable::Failed(error.to_string()))?;
        let process = Process(Some(child));
        let socket = socket.set_nonblocking(true).and_then(|()| tokio::net::UnixStream::from_std(socket));
        let (from, mut to) = socket.map_err(|error| Unavailable::Failed(error.to_string()))?.into_split();
        // A worker that is gone is noticed by its reader.
        drop(to.write_all(library).await);
        let mut frames = Frames { from, buffer: Vec::new() };
        let first = tokio::time::timeout(START_TIMEOUT, frames.next()).await;
        match first {
            Ok(Ok(Some((head, _)))) if head.kind == Kind::Ready => Ok(Worker { process, frames, to }),
            Ok(Ok(Some((_, payload)))) => {
                let why = cbor::read(&payload).ok().and_then(|(why, _)| Some(why.as_str()?.to_owned()));
                Err(Unavailable::Failed(why.unwrap_or_else(|| "it does not speak this protocol".to_owned())))
            }
            Ok(Ok(None)) => Err(Unavailable::Failed("it ended at once".to_owned())),
            Ok(Err(broken)) => Err(Unavailable::Failed(broken)),
            Err(_) => Err(Unavailable::Failed("it took too long".to_owned())),
        }
    }
}

fn spawn(program: Option<&PathBuf>, protections: Protections) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    let program = match program {
        Some(program) => program.clone(),
        // The file that runs, also after an upgrade put another one in its place.
        None if cfg!(target_os = "linux") => PathBuf::from("/proc/self/exe"),
        None => std::env::current_exe()?,
    };
    let mut command = Command::new(program);
    command
        .arg0("threadkeep-worker")
        .args(worker::arguments(protections))
        .env_clear()
        .env("TZ", "UTC0")
        .current_dir("/");
    command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::null());
    Ok((command.spawn()?, ours))
}

/// Frames of a worker, which may be cut anywhere.
pub(super) struct Frames {
    from: OwnedReadHalf,
    buffer: Vec<u8>,
}

impl Frames {
    /// The next frame; none at the end. It may be dropped while it waits, and goes on later.
    ///
    /// # Errors
    /// Says how the worker breaks the protocol.
    pub(super) async fn next(&mut self) -> Result<Option<(Head, Vec<u8>)>, String> {
        use tokio::io::AsyncReadExt;
        loop {
            if let Some(head) = self.buffer.first_chunk::<HEAD_BYTES>() {
                let head = Head::read(*head).ok_or("a frame of no known kind")?;
                if head.bytes + HEAD_BYTES > FRAME_BYTES_MAX {
                    return Err(format!("a frame of more than {FRAME_BYTES_MAX} bytes"));
                }
                let end = HEAD_BYTES + head.bytes;
                if self.buffer.len() >= end {
                    let rest = self.buffer.split_off(end);
                    let mut frame = std::mem::replace(&mut self.buffer, rest);
                    frame.drain(..HEAD_BYTES);
                    return Ok(Some((head, frame)));
                }
            }
            // A socket that breaks is a worker that is gone.
            match self.from.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return Ok(None),
                Ok(_) => {}
            }
        }
    }
}

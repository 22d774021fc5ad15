//! Reads files in a thread of its own, and hands over what it read, part by part. Memory holds a few parts at a time.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use threadkeep_model::{BlobHasher, BlobId};
use tokio::sync::mpsc;

use super::places::{Found, beside};
use super::private_copy::PrivateCopy;
use super::server::Address;
use crate::database::Database;
use crate::reading::{Reading, Refused, Resume, Window};
use crate::shape::{Session, Source};
use crate::sources::{amp, chatgpt, claude_code, cline, codex, gemini_cli, goose, langgraph, opencode, pi, zed};
use crate::{LINE_BYTES_MAX, unpack};

/// Bytes of a file of lines that are read at once.
const WINDOW_BYTES: usize = 4 << 20;
/// Most bytes of a file that is one JSON value.
const OBJECT_BYTES_MAX: u64 = 128 << 20;
/// Parts that wait to be written.
const WAITING_MAX: usize = 1;

/// A file to read, and what an earlier run knows of it.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) found: Found,
    /// The name by which reports call it.
    pub(crate) name: String,
    /// Where the last run ended, and the hash of all bytes before.
    pub(crate) resume: Resume,
    pub(crate) sum: Option<String>,
    /// A hash of each session, for files that are read whole.
    pub(crate) digests: HashMap<String, String>,
}

/// What the thread hands over. `file` is the number of the work.
pub(crate) enum Event {
    /// The beginning of the file is not what it was: it is read anew.
    Changed {
        file: usize,
    },
    Read {
        file: usize,
        reading: Reading,
    },
    /// A session is what it was.
    Same {
        messages: u64,
    },
    /// The file was read to its end.
    End {
        file: usize,
        resume: Resume,
        sum: Option<String>,
        digests: HashMap<String, String>,
    },
    Refused {
        file: usize,
        reason: String,
    },
}

/// Starts the thread.
pub(crate) fn start(all: Vec<Work>) -> mpsc::Receiver<Event> {
    let (send, receive) = mpsc::channel(WAITING_MAX);
    std::thread::spawn(move || {
        for (file, work) in all.into_iter().enumerate() {
            let mut reader = Reader { file, work: &work, send: &send, digests: HashMap::new() };
            let ended = match reader.read() {
                Ok((resume, sum)) => Event::End { file, resume, sum, digests: reader.digests },
                Err(refused) => Event::Refused { file, reason: refused.to_string() },
            };
            // The writer is gone: nobody waits for the rest.
            if send.blocking_send(ended).is_err() {
                return;
            }
        }
    });
    receive
}

struct Reader<'a> {
    file: usize,
    work: &'a Work,
    send: &'a mpsc::Sender<Event>,
    digests: HashMap<String, String>,
}

type Ended = (Resume, Option<String>);

impl Reader<'_> {
    fn read(&mut self) -> Result<Ended, Refused> {
        if let Some(server) = &self.work.found.server {
            return self.server(server);
        }
        let (source, path) = (self.work.found.source, self.work.found.path.as_path());
        let mut magic = [0; 16];
        let length = open(path)?.read(&mut magic).map_err(unreadable)?;
        let magic = &magic[..length];
        if magic == b"SQLite format 3\0" {
            return self.database(source, path);
        }
        let is_lines = path.extension().is_some_and(|extension| extension == "jsonl");
        match source {
            Source::ChatGpt => self.archive(path),
            Source::ClaudeCode | Source::Pi => self.lines(path),
            Source::Codex if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => {
                let bytes = unpack::zstd(&whole(path)?)?;
                let reading = codex::read(&Window::whole(&self.work.name, &bytes), &Resume::default());
                self.whole(reading)
            }
            Source::Codex | Source::GeminiCli | Source::Goose if is_lines => self.lines(path),
            Source::OpenCode if is_tree(path) => {
                let reading = tree(path)?;
                self.whole(reading)
            }
            Source::Codex
            | Source::GeminiCli
            | Source::Goose
            | Source::OpenCode
            | Source::Amp
            | Source::Cline
            | Source::Zed => {
                let bytes = whole(path)?;
                let window = Window::whole(&self.work.name, &bytes);
                let reading = match source {
                    Source::Codex => codex::read_object(&window),
                    Source::GeminiCli => gemini_cli::read_object(&window),
                    Source::Goose => goose::read_object(&window),
                    Source::OpenCode => opencode::read_object(&window),
                    Source::Amp => amp::read_object(&window),
                    Source::Cline => cline::read_object(&window),
                    _ => zed::read_object(window.stem(), &bytes),
                }?;
                self.whole(reading)
            }
            Source::LangGraph => Err(Refused::new("this is not a database of a checkpoint saver")),
            Source::Threadkeep => Err(Refused::new("exports of Threadkeep are read by 'threadkeep store import'")),
        }
    }

    fn send(&self, event: Event) -> Result<(), Refused> {
        self.send.blocking_send(event).map_err(|_| Refused::new("the import was stopped"))
    }

    /// A file of lines, from where the last run ended.
    fn lines(&self, path: &Path) -> Result<Ended, Refused> {
        let mut from = open(path)?;
        let mut hasher = BlobHasher::default();
        let mut resume = self.work.resume.clone();
        if resume.offset > 0 {
            let hashed = hash_prefix(&mut from, &mut hasher, resume.offset)?;
            if !hashed || self.work.sum.as_deref() != Some(&hasher.id().to_string()) {
                self.send(Event::Changed { file: self.file })?;
                (from, hasher, resume) = (open(path)?, BlobHasher::default(), Resume::default());
            }
        }
        let meta = whole(&path.with_extension("meta.json")).ok();
        let (mut bytes, mut size) = (Vec::new(), WINDOW_BYTES);
        loop {
            let missing = size.saturating_sub(bytes.len()) as u64;
            let read = from.by_ref().take(missing).read_to_end(&mut bytes).map_err(unreadable)?;
            let is_last = (read as u64) < missing;
            let window = Window { name: &self.work.name, bytes: &bytes, is_last };
            let mut reading = match self.work.found.source {
                Source::ClaudeCode => claude_code::read(&window, meta.as_deref(), &resume),
                Source::Codex => codex::read(&window, &resume),
                Source::Pi => pi::read(&window, &resume),
                Source::GeminiCli => gemini_cli::read(&window, &resume),
                _ => goose::read(&window, &resume),
            };
            let settled = usize::try_from(reading.resume.offset - resume.offset).unwrap_or(bytes.len());
            if settled == 0 && !is_last {
                // One line is longer than the window.
                size = (size * 2).min(LINE_BYTES_MAX + WINDOW_BYTES);
                if bytes.len() < size {
                    continue;
                }
                return Err(Refused::new("a record is too long"));
            }
            hasher.update(&bytes[..settled]);
            bytes.drain(..settled);
            size = WINDOW_BYTES.max(bytes.len() + WINDOW_BYTES / 2);
            resume = std::mem::take(&mut reading.resume);
            self.send(Event::Read { file: self.file, reading })?;
            if is_last {
                return Ok((resume, Some(hasher.id().to_string())));
            }
        }
    }

    /// Sessions of a file that is read whole. Those that did not change are not written again.
    fn whole(&mut self, reading: Reading) -> Result<Ended, Refused> {
        let Reading { sessions, skipped, .. } = reading;
        let mut changed = Vec::new();
        for session in sessions {
            if let Some(session) = self.changed(session)? {
                changed.push(session);
            }
        }
        let reading = Reading { sessions: changed, skipped, resume: Resume::default() };
        self.send(Event::Read { file: self.file, reading })?;
        Ok((Resume::default(), None))
    }

    fn changed(&mut self, session: Session) -> Result<Option<Session>, Refused> {
        let digest = BlobId::of(format!("{session:?}").as_bytes()).to_string();
        let is_same = self.work.digests.get(&session.id) == Some(&digest);
        self.digests.insert(session.id.clone(), digest);
        if is_same {
            self.send(Event::Same { messages: session.messages.len() as u64 })?;
        }
        Ok((!is_same).then_some(session))
    }

    fn archive(&mut self, path: &Path) -> Result<Ended, Refused> {
        let mut failed = None;
        let each = |reading| {
            if failed.is_none() {
                failed = self.whole(reading).err();
            }
        };
        chatgpt::read(|| File::open(path), each)?;
        failed.map_or(Ok((Resume::default(), None)), Err)
    }

    fn database(&mut self, source: Source, path: &Path) -> Result<Ended, Refused> {
        let copy = match std::fs::symlink_metadata(beside(path, "-wal")) {
            Ok(log) if log.len() > 0 => Some(PrivateCopy::merged(path)?),
            _ => None,
        };
        let database = Database::open(copy.as_ref().map_or(path, PrivateCopy::path))?;
        let ended = Ok((Resume::default(), None));
        let ids = match source {
            Source::LangGraph => {
                for listed in langgraph::sessions(&database)? {
                    let reading = langgraph::read_session(&database, &listed)?;
                    self.whole(reading)?;
                }
                return ended;
            }
            Source::OpenCode => opencode::sessions(&database)?,
            Source::Goose => goose::sessions(&database)?,
            Source::Zed => zed::sessions(&database)?,
            other => return Err(Refused::new(format_args!("{other} keeps no conversations in databases"))),
        };
        for id in ids {
            let reading = match source {
                Source::OpenCode => opencode::read_session(&database, &id),
                Source::Goose => goose::read_session(&database, &id),
                _ => zed::read_session(&database, &id),
            };
            match reading {
                Ok(reading) => drop(self.whole(reading)?),
                Err(refused) => {
                    let mut reading = Reading::default();
                    reading.skipped.add(format_args!("session {id}"), refused);
                    self.send(Event::Read { file: self.file, reading })?;
                }
            }
        }
        ended
    }
}

#[cfg(feature = "postgres")]
impl Reader<'_> {
    /// The threads of a saver that changed since the last run.
    fn server(&mut self, address: &Address) -> Result<Ended, Refused> {
        let saver = langgraph::Saver::open(address)?;
        for (listed, mark) in saver.sessions()? {
            let id = listed.id();
            let known = self.work.digests.get(&id).and_then(|digest| digest.rsplit_once(" messages "));
            if let Some((_, count)) = known.filter(|(before, _)| *before == mark) {
                self.digests.insert(id.clone(), self.work.digests[&id].clone());
                self.send(Event::Same { messages: count.parse().unwrap_or_default() })?;
                continue;
            }
            let reading = saver.read_session(&listed)?;
            let count: usize = reading.sessions.iter().map(|session| session.messages.len()).sum();
            self.digests.insert(id, format!("{mark} messages {count}"));
            self.send(Event::Read { file: self.file, reading })?;
        }
        Ok((Resume::default(), None))
    }
}

#[cfg(not(feature = "postgres"))]
impl Reader<'_> {
    fn server(&mut self, address: &Address) -> Result<Ended, Refused> {
        match *address {}
    }
}

fn unreadable(error: io::Error) -> Refused {
    Refused::new(format_args!("the file cannot be read: {error}"))
}

fn open(path: &Path) -> Result<File, Refused> {
    File::open(path).map_err(unreadable)
}

fn whole(path: &Path) -> Result<Vec<u8>, Refused> {
    let mut bytes = Vec::new();
    open(path)?.take(OBJECT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > OBJECT_BYTES_MAX {
        return Err(Refused::new(format_args!("the file has more than {OBJECT_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

/// Hashes the first bytes of a file; false if it has fewer.
fn hash_prefix(from: &mut File, hasher: &mut BlobHasher, length: u64) -> Result<bool, Refused> {
    let mut chunk = vec![0; 256 << 10];
    let mut left = length;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(chunk.len()).min(chunk.len());
        let read = from.read(&mut chunk[..most]).map_err(unreadable)?;
        if read == 0 {
            return Ok(false);
        }
        hasher.update(&chunk[..read]);
        left -= read as u64;
    }
    Ok(true)
}

/// Whether a session of opencode is a file of the older tree.
fn is_tree(path: &Path) -> bool {
    let session = path.parent().and_then(Path::parent);
    session.is_some_and(|folder| folder.file_name().is_some_and(|name| name == "session"))
}

/// A session of the older tree, with its messages and their parts.
fn tree(path: &Path) -> Result<Reading, Refused> {
    let storage = path.ancestors().nth(3).ok_or_else(|| Refused::new("the file is not in a tree of opencode"))?;
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let id = stem(path);
    let files = |folder: &Path| -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let plain = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        plain.filter_map(|entry| Some((stem(&entry.path()), whole(&entry.path()).ok()?))).collect()
    };
    let messages = files(&storage.join("message").join(&id));
    let parts: Vec<(String, Vec<u8>)> =
        messages.iter().flat_map(|(message, _)| files(&storage.join("part").join(message))).collect();
    let messages: Vec<(&str, &[u8])> = messages.iter().map(|(id, bytes)| (id.as_str(), &bytes[..])).collect();
    let parts: Vec<(&str, &[u8])> = parts.iter().map(|(id, bytes)| (id.as_str(), &bytes[..])).collect();
    opencode::read_tree((&id, &whole(path)?), &messages, &parts)
}

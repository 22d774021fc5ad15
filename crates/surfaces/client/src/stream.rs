//! Streams: the entries of a thread, or of many, then live. They reconnect by themselves.
//!
//! A stream knows the place of the last entry it gave. Whenever the connection ends, breaks or falls silent it opens
//! another one from there on, so that every entry comes once, in order.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;
use threadkeep_calls::{HistoryEntry, Problem, Status, ThreadEvent};
use threadkeep_model::{Actor, Position, ThreadId, ThreadName, Timestamp, Version};
use threadkeep_outgoing::{Pauses, piece};

use crate::ask::{Again, Ask};
use crate::client::Client;
use crate::error::Error;
use crate::query::{Query, of};
use crate::sse::{Event, Reader};
use crate::transport::Body;

/// A connection that ended sooner than this without any news was of no use…
const SHORT_LIVED: Duration = Duration::from_secs(1);
/// …and after this many of them in a row, the next one is not opened at once.
const FRUITLESS_MAX: u32 = 1;

/// The cursor of a stream that begins with new entries.
const LATEST: &str = "latest";
/// Where a server says after which place a stream begins.
const CURSOR_HEADER: &str = "threadkeep-cursor";

/// From where on to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// From the first entry on.
    Start,
    /// Entries after this version; for one thread.
    Version(Version),
    /// Entries after this place, as [`Stream::cursor`] gave it.
    Cursor(String),
    /// Begin with the next entry.
    Latest,
}

/// Something that a stream tells.
#[derive(Debug, Clone)]
pub enum News {
    /// A thread got an entry.
    Entry(Box<HistoryEntry<'static>>),
    /// An emitted event, which is not logged.
    Emitted(Box<Emitted>),
    /// This many unlogged events were missed.
    Missed(u64),
    /// A thread came into being; from streams over many threads.
    Created {
        /// The id of the thread.
        thread_id: ThreadId,
        /// When it was made.
        time: Timestamp,
    },
    /// A thread was deleted; from streams over many threads.
    Deleted {
        /// The id of the thread.
        thread_id: ThreadId,
    },
    /// Something that this version of the client does not know.
    Other {
        /// The name of the event.
        kind: String,
        /// The data of the event, as sent.
        data: String,
    },
}

/// An event that is not logged.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Emitted {
    /// The thread it is about.
    pub thread_id: ThreadId,
    /// When it was emitted.
    pub time: Timestamp,
    /// The actor that emitted it.
    pub actor: Actor,
    /// The name of the event.
    pub event: String,
    /// The data of the event.
    pub data: Box<RawValue>,
}

/// A stream that goes on.
pub struct Stream {
    client: Client,
    ask: Ask,
    /// The place of the last entry, as the server reads it.
    cursor: Option<String>,
    /// Whether places are versions, which can be compared.
    is_of_one_thread: bool,
    /// Whether it was ever open: then a missing thread was deleted.
    was_open: bool,
    open: Option<Open>,
    pauses: Pauses,
    /// Connections in a row that were of no use.
    fruitless: u32,
    /// When to open the next connection.
    wait: Option<tokio::time::Instant>,
}

/// A connection that is open.
struct Open {
    body: Body,
    reader: Reader,
    since: Instant,
    had_news: bool,
}

impl Client {
    /// Follows one thread.
    ///
    /// # Errors
    /// As the server refuses it. Nothing is opened before [`Stream::next`], but for [`After::Latest`] the thread is
    /// read, so that it is this moment that counts.
    pub async fn stream(&self, thread: impl Into<ThreadName>, after: After) -> Result<Stream, Error> {
        let thread = thread.into();
        let cursor = match after {
            After::Start => None,
            After::Version(version) => Some(version.to_string()),
            After::Cursor(cursor) => Some(cursor),
            After::Latest => Some(self.thread(thread).await?.v.to_string()),
        };
        Ok(Stream::new(self, Ask::get(of(thread, "/stream")), cursor, true))
    }

    /// Follows these threads. With [`After::Latest`] it begins when the connection is made, and as long as nothing came
    /// it begins anew with each one.
    pub fn stream_of_threads<'a>(&self, threads: impl IntoIterator<Item = &'a ThreadId>, after: After) -> Stream {
        let threads: Vec<String> = threads.into_iter().map(ToString::to_string).collect();
        self.stream_of_many(Query::default().with("threads", threads.join(",")), after)
    }

    /// Follows the threads of a project.
    pub fn stream_of_project(&self, project: &str, after: After) -> Stream {
        self.stream_of_many(Query::default().with("projectId", project), after)
    }

    fn stream_of_many(&self, query: Query, after: After) -> Stream {
        let cursor = match after {
            After::Start => None,
            After::Version(version) => Some(version.to_string()),
            After::Cursor(cursor) => Some(cursor),
            After::Latest => Some(LATEST.to_owned()),
        };
        Stream::new(self, Ask::get("/v1/stream".to_owned()).query(query), cursor, false)
    }
}

impl Stream {
    pub(crate) fn new(client: &Client, ask: Ask, cursor: Option<String>, is_of_one_thread: bool) -> Self {
        Self {
            client: client.clone(),
            ask: ask.accepting("text/event-stream"),
            cursor,
            is_of_one_thread,
            was_open: false,
            open: None,
            pauses: Pauses::new(client.settings.retry),
            fruitless: 0,
            wait: None,
        }
    }

    /// The place of the last entry that was given, to go on from with [`After::Cursor`].
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// Connects, unless it is connected; false if the thread was deleted. [`Stream::next`] does so by itself.
    ///
    /// # Errors
    /// As [`Stream::next`].
    pub async fn open(&mut self) -> Result<bool, Error> {
        Ok(self.open.is_some() || self.connect().await?)
    }

    /// Waits for the next item; none once the thread was deleted, or may not be seen any more.
    ///
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// A permanent refusal by the server, such as a revoked key; or the server is away for longer than the settings
    /// allow. After that, the next call tries again from the same place.
    pub async fn next(&mut self) -> Result<Option<News>, Error> {
        loop {
            if self.open.is_none() && !self.connect().await? {
                return Ok(None);
            }
            match self.read().await {
                Ok(Some(event)) => {
                    if let Some(news) = self.news(event)? {
                        return Ok(Some(news));
                    }
                }
                Ok(None) => self.ended("it ended")?,
                Err(what) => self.ended(&what)?,
            }
        }
    }

    /// Opens a connection; false if the thread is gone.
    async fn connect(&mut self) -> Result<bool, Error> {
        loop {
            if let Some(until) = self.wait {
                tokio::time::sleep_until(until).await;
                self.wait = None;
            }
            let place: Vec<_> = self.cursor.iter().map(|cursor| ("last-event-id", cursor.clone())).collect();
            match self.client.open(&self.ask, &place).await {
                Ok(response) => {
                    self.was_open = true;
                    // A stream that began with the latest entry learns its place here.
                    if self.cursor.as_deref().is_none_or(|cursor| cursor == LATEST) {
                        let began = response.headers().get(CURSOR_HEADER).and_then(|began| began.to_str().ok());
                        self.cursor = began.map(str::to_owned).or(self.cursor.take());
                    }
                    let (body, since) = (response.into_body(), Instant::now());
                    self.open = Some(Open { body, reader: Reader::default(), since, had_news: false });
                    return Ok(true);
                }
                Err((error, _)) if self.is_gone(&error) => return Ok(false),
                Err((error, again)) => self.later(error, again)?,
            }
        }
    }

    fn is_gone(&self, error: &Error) -> bool {
        self.was_open && self.is_of_one_thread && error.is_refused_as("thread_not_found")
    }

    /// Sets when to try again.
    ///
    /// # Errors
    /// If that does not help, or there is no time left.
    fn later(&mut self, error: Error, again: Again) -> Result<(), Error> {
        let pause = match again {
            Again::After(asked) => self.pauses.next(asked),
            Again::Never => None,
        };
        match pause {
            Some(pause) => {
                self.wait = Some(tokio::time::Instant::now() + pause);
                Ok(())
            }
            None => {
                self.pauses = Pauses::new(self.client.settings.retry);
                Err(error)
            }
        }
    }

    /// The next event of the connection; none at its end.
    async fn read(&mut self) -> Result<Option<Event>, String> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let silence_max = self.client.settings.silence_max;
        loop {
            if let Some(event) = open.reader.next()? {
                return Ok(Some(event));
            }
            match piece(&mut open.body, silence_max).await {
                Ok(Some(bytes)) => open.reader.push(&bytes),
                Ok(None) => return Ok(None),
                Err(failed) => return Err(failed.what),
            }
        }
    }

    /// The connection is over: the next one is opened at once, unless this one was of no use.
    fn ended(&mut self, what: &str) -> Result<(), Error> {
        let Some(open) = self.open.take() else { return Ok(()) };
        if open.had_news || open.since.elapsed() >= SHORT_LIVED {
            self.pauses = Pauses::new(self.client.settings.retry);
            self.fruitless = 0;
            return Ok(());
        }
        self.fruitless += 1;
        if self.fruitless <= FRUITLESS_MAX {
            return Ok(());
        }
        let (server, what) = (self.client.way.server.to_string(), what.to_owned());
        self.later(Error::Broken { server, what }, Again::After(None))
    }

    /// The news in an event; none if it is internal to the protocol, or was given before.
    fn news(&mut self, event: Event) -> Result<Option<News>, Error> {
        if event.kind == "error" {
            // The stream is over. A problem on a stream comes without its status.
            self.open = None;
            let told = serde_json::from_str::<Problem>(&event.data).map_err(|error| self.odd("error", &error))?;
            let status = if told.code == "unavailable" { Status::Unavailable } else { told.status };
            let problem = Box::new(Problem { status, ..told });
            let again = Again::by(&problem, None);
            self.later(Error::Refused(problem), again)?;
            return Ok(None);
        }
        if let Some(id) = &event.id {
            let place = |text: &str| text.parse::<Position>().ok();
            let told = self.cursor.as_deref().filter(|_| self.is_of_one_thread).and_then(place);
            if told.is_some_and(|told| place(id).is_some_and(|id| id <= told)) {
                return Ok(None);
            }
        }
        let Event { id, kind, data } = event;
        let news = self.read_news(kind, data, id.is_some())?;
        if let Some(open) = &mut self.open {
            open.had_news = true;
        }
        self.pauses = Pauses::new(self.client.settings.retry);
        if id.is_some() {
            self.cursor = id;
        }
        Ok(Some(news))
    }

    fn odd(&self, kind: &str, error: &serde_json::Error) -> Error {
        let (server, what) = (self.client.way.server.to_string(), format!("a '{kind}' event: {error}"));
        Error::NotUnderstood { server, what }
    }

    fn read_news(&self, kind: String, data: String, has_place: bool) -> Result<News, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Thread {
            thread_id: ThreadId,
            #[serde(default)]
            time: Timestamp,
        }
        #[derive(Deserialize)]
        struct Missed {
            events: u64,
        }
        let odd = |error: serde_json::Error| self.odd(&kind, &error);
        Ok(match kind.as_str() {
            // An event that follows from an entry comes beside it, by its own name.
            name if name == "emitted" || !has_place && name.parse::<ThreadEvent>().is_ok() => {
                News::Emitted(serde_json::from_str(&data).map_err(odd)?)
            }
            "missed" => News::Missed(serde_json::from_str::<Missed>(&data).map_err(odd)?.events),
            "thread_created" => {
                let Thread { thread_id, time } = serde_json::from_str(&data).map_err(odd)?;
                News::Created { thread_id, time }
            }
            "thread_deleted" => {
                News::Deleted { thread_id: serde_json::from_str::<Thread>(&data).map_err(odd)?.thread_id }
            }
            _ => match serde_json::from_str(&data) {
                Ok(entry) => News::Entry(entry),
                Err(_) => News::Other { kind, data },
            },
        })
    }
}

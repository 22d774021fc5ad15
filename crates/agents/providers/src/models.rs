//! Asks models: sends the request, reads the pieces, tries again, and falls back to the next model.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use serde_json::Value;
use threadkeep_outgoing::{Address, Body, Limits, Outgoing, Reach, full, piece, retry_after, whole};
use tokio::time::{Instant, sleep, timeout_at};

use crate::failure::{Failure, Problem};
use crate::names::Names;
use crate::sse::Events;
use crate::{Answer, Key, Piece, Prices, Request, Script, anthropic, openai, script};

/// Bytes of a refusal, and of an answer that does not stream.
const BODY_BYTES_MAX: usize = 16 << 20;

/// How a provider is spoken to.
#[derive(Debug, Clone)]
pub enum Protocol {
    /// Chat completions of OpenAI and compatible servers.
    OpenAi,
    /// Messages of Anthropic.
    Anthropic,
    /// A file that is played.
    Script(Arc<Script>),
}

impl Protocol {
    /// Its name in definitions, and in the reasoning that it made.
    pub fn name(&self) -> &'static str {
        match self {
            Self::OpenAi => openai::NAME,
            Self::Anthropic => anthropic::NAME,
            Self::Script(_) => script::NAME,
        }
    }

    /// The base URL of the company that defined it.
    pub fn base_url(&self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Script(_) => "",
        }
    }
}

/// A model that can be asked.
#[derive(Debug, Clone)]
pub struct Model {
    /// Its name in the definitions.
    pub name: String,
    /// How its provider is spoken to.
    pub protocol: Protocol,
    /// The provider's name of the model.
    pub model: String,
    /// Where the provider is. It comes from the same place as the key, or another's URL would be given our key.
    pub base_url: String,
    /// The key, if the provider wants one.
    pub key: Option<Key>,
    /// The addresses that may be reached: all, if the operator configured the URL.
    pub reach: Reach,
    /// Prices of a million tokens.
    pub prices: Prices,
}

/// How long to wait, and how often to try.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Until the first piece: 120 s.
    pub first: Duration,
    /// Between the bytes after it: 45 s.
    pub between: Duration,
    /// How often one model is asked: 2.
    pub tries: u32,
    /// Before the second try: 1 s, or what the provider asks for…
    pub pause: Duration,
    /// …up to this: 60 s. If it asks for more, the next model is asked instead.
    pub pause_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { first: seconds(120), between: seconds(45), tries: 2, pause: seconds(1), pause_max: seconds(60) }
    }
}

/// Asks models. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Models {
    anywhere: Outgoing,
    public: Outgoing,
    patience: Patience,
}

impl Models {
    /// Asks with this patience.
    pub fn new(patience: Patience) -> Self {
        let limits = Limits { answer: patience.first, bytes: BODY_BYTES_MAX, ..Limits::default() };
        let outgoing = |reach| Outgoing::new(reach, limits);
        Self { anywhere: outgoing(Reach::Anywhere), public: outgoing(Reach::Public), patience }
    }

    /// Asks the first of `models`; the next one if that one fails for a passing reason. Nothing is sent before the first
    /// [`Asking::next`].
    pub fn ask(&self, models: impl IntoIterator<Item = Model>, request: Request) -> Asking {
        let models: VecDeque<Model> = models.into_iter().collect();
        let tries = self.patience.tries;
        Asking { asks: self.clone(), models, request, tries, came: Came::Nothing, shown: false, ready: VecDeque::new() }
    }
}

/// A request under way. Dropping it aborts it.
#[derive(Debug)]
pub struct Asking {
    asks: Models,
    /// The model that is asked now, and those to fall back to.
    models: VecDeque<Model>,
    request: Request,
    tries: u32,
    came: Came,
    /// Whether pieces of this try were shown.
    shown: bool,
    ready: VecDeque<Piece>,
}

/// How far an answer has come.
#[derive(Debug)]
enum Came {
    /// The request was not sent.
    Nothing,
    /// Bytes are coming.
    Stream(Box<Stream>),
    /// A script is being played.
    Played(VecDeque<(Duration, Piece)>, Box<Answer>),
    /// The answer was given.
    All,
}

/// An answer that comes by the network.
#[derive(Debug)]
struct Stream {
    body: Body,
    events: Events,
    reader: Reader,
    names: Names,
    /// Pieces of an answer that came whole.
    early: Vec<Piece>,
    /// Whether a piece came.
    has_begun: bool,
    /// When the next bytes have to come.
    until: Instant,
}

#[derive(Debug)]
enum Reader {
    OpenAi(openai::Reader),
    Anthropic(anthropic::Reader),
}

impl Reader {
    fn event(&mut self, data: &str, pieces: &mut Vec<Piece>) -> Result<(), Failure> {
        match self {
            Self::OpenAi(reader) => reader.event(data, pieces),
            Self::Anthropic(reader) => reader.event(data, pieces),
        }
    }

    fn whole(&mut self, body: &[u8], pieces: &mut Vec<Piece>) -> Result<(), Failure> {
        match self {
            Self::OpenAi(reader) => reader.whole(body, pieces),
            Self::Anthropic(reader) => reader.whole(body, pieces),
        }
    }

    fn end(self, names: &Names, answered: usize) -> Result<Answer, Failure> {
        match self {
            Self::OpenAi(reader) => reader.end(names, answered),
            Self::Anthropic(reader) => reader.end(names, answered),
        }
    }
}

impl Asking {
    /// The next piece; none after [`Piece::Ended`]. It is to be awaited to its end: a call that is dropped may lose
    /// pieces.
    ///
    /// # Errors
    /// If no model gave an answer: the failure of the last one.
    pub async fn next(&mut self) -> Result<Option<Piece>, Failure> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                self.shown |= matches!(piece, Piece::Text(_) | Piece::Thinking(_) | Piece::Call { .. });
                return Ok(Some(piece));
            }
            if matches!(self.came, Came::All) {
                return Ok(None);
            }
            if let Err(failure) = self.step().await {
                self.failed(failure).await?;
            }
        }
    }

    /// Sends, or reads the next bytes.
    async fn step(&mut self) -> Result<(), Failure> {
        let Some(model) = self.models.front() else {
            return Err(Failure::new(Problem::Unknown, "no model is defined"));
        };
        match &mut self.came {
            Came::Nothing => {
                let came = match &model.protocol {
                    Protocol::Script(script) => {
                        let (pieces, answer) = script.play(&self.request)?;
                        Came::Played(pieces, Box::new(answer))
                    }
                    Protocol::OpenAi | Protocol::Anthropic => {
                        Came::Stream(Box::new(self.asks.send(model, &self.request).await?))
                    }
                };
                self.ready.push_back(Piece::Began { model: model.name.clone() });
                self.came = came;
            }
            Came::Stream(stream) => {
                let mut pieces = Vec::new();
                let is_over = stream.read(self.asks.patience.between, &mut pieces).await?;
                let ours = |piece| match piece {
                    Piece::Call { name } => Piece::Call { name: stream.names.ours(&name) },
                    piece => piece,
                };
                self.ready.extend(pieces.into_iter().map(ours));
                if is_over {
                    let Came::Stream(stream) = std::mem::replace(&mut self.came, Came::Nothing) else { return Ok(()) };
                    let answer = stream.reader.end(&stream.names, self.request.answered)?;
                    self.ended(answer);
                }
            }
            Came::Played(pieces, answer) => match pieces.pop_front() {
                Some((pause, piece)) => {
                    if !pause.is_zero() {
                        sleep(pause).await;
                    }
                    self.ready.push_back(piece);
                }
                None => {
                    let answer = std::mem::take(&mut **answer);
                    self.ended(answer);
                }
            },
            Came::All => {}
        }
        Ok(())
    }

    fn ended(&mut self, mut answer: Answer) {
        answer.model = self.models.front().map(|model| model.name.clone()).unwrap_or_default();
        self.ready.push_back(Piece::Ended(answer));
        self.came = Came::All;
    }

    /// Another try, or another model, if that may help.
    async fn failed(&mut self, failure: Failure) -> Result<(), Failure> {
        let Some(model) = self.models.front() else { return Err(failure) };
        let failure = failure.of(&model.name, model.key.as_ref());
        // Pieces that nobody saw need not be taken back.
        self.ready.clear();
        self.came = Came::Nothing;
        let patience = self.asks.patience;
        let pause = failure.wait.unwrap_or(patience.pause);
        let is_again = failure.problem.is_passing() && self.tries > 1 && pause <= patience.pause_max;
        if !is_again && (!failure.problem.is_passing() || self.models.len() == 1) {
            self.came = Came::All;
            return Err(failure);
        }
        if std::mem::take(&mut self.shown) {
            self.ready.push_back(Piece::Discarded { why: failure.to_string() });
        }
        if is_again {
            self.tries -= 1;
            sleep(pause).await;
        } else {
            self.models.pop_front();
            self.tries = patience.tries;
        }
        Ok(())
    }
}

impl Models {
    async fn send(&self, model: &Model, request: &Request) -> Result<Stream, Failure> {
        let until = Instant::now() + self.patience.first;
        let base = model.base_url.trim_end_matches('/');
        let (path, reader, (body, names)) = match &model.protocol {
            Protocol::Anthropic => {
                let reader = Reader::Anthropic(anthropic::Reader::default());
                ("/v1/messages", reader, anthropic::body(request, &model.model))
            }
            Protocol::OpenAi | Protocol::Script(_) => {
                // The company itself has given the field another name, which others do not know yet.
                let is_company = base == Protocol::OpenAi.base_url();
                let tokens = if is_company { "max_completion_tokens" } else { "max_tokens" };
                let reader = Reader::OpenAi(openai::Reader::default());
                ("/chat/completions", reader, openai::body(request, &model.model, tokens))
            }
        };
        let wrong = |error: &dyn std::fmt::Display| Failure::new(Problem::Unknown, format!("{base}: {error}"));
        let address = Address::parse(&format!("{base}{path}")).map_err(|error| wrong(&error))?;
        let sent = sent(model, &address, &body).map_err(|error| wrong(&error))?;
        let outgoing = if model.reach == Reach::Anywhere { &self.anywhere } else { &self.public };
        let answer = timeout_at(until, outgoing.send(&address, sent)).await.map_err(|_| self.too_slow())?;
        let answer = answer.map_err(|failed| Failure::of_connection(&failed))?;
        let (head, body) = answer.into_parts();
        let (events, early) = (Events::default(), Vec::new());
        let mut stream = Stream { body, events, reader, names, early, has_begun: false, until };
        if !head.status.is_success() {
            let body = stream.whole().await.unwrap_or_default();
            return Err(Failure::of_status(head.status.as_u16(), &body, retry_after(&head.headers)));
        }
        let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("text/event-stream");
        if kind.starts_with("application/json") {
            let body = stream.whole().await?;
            stream.reader.whole(&body, &mut stream.early)?;
        } else if !kind.starts_with("text/event-stream") {
            let what = format!("{base} answers {kind}, which is no stream of a model");
            return Err(Failure::new(Problem::Unknown, what));
        }
        Ok(stream)
    }

    fn too_slow(&self) -> Failure {
        Failure::new(Problem::Time, format!("no answer within {:?}", self.patience.first))
    }
}

fn sent(model: &Model, address: &Address, body: &Value) -> Result<threadkeep_outgoing::Request, http::Error> {
    let mut request = http::Request::post(address.path.as_str())
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "text/event-stream, application/json");
    match (&model.protocol, &model.key) {
        (Protocol::Anthropic, key) => {
            request = request.header("anthropic-version", anthropic::VERSION);
            if let Some(key) = key {
                request = request.header("x-api-key", key.as_str());
            }
        }
        (Protocol::OpenAi | Protocol::Script(_), Some(key)) => {
            request = request.header(AUTHORIZATION, format!("Bearer {}", key.as_str()));
        }
        (Protocol::OpenAi | Protocol::Script(_), None) => {}
    }
    request.body(full(body.to_string()))
}

impl Stream {
    /// Reads the next bytes; whether they were the last.
    async fn read(&mut self, between: Duration, pieces: &mut Vec<Piece>) -> Result<bool, Failure> {
        pieces.append(&mut self.early);
        let silent = |_| Failure::new(Problem::Time, "the answer stopped coming");
        let bytes = timeout_at(self.until, piece(&mut self.body, Duration::MAX)).await.map_err(silent)?;
        let Some(bytes) = bytes.map_err(|failed| Failure::of_connection(&failed))? else {
            if let Some(data) = self.events.end()? {
                self.reader.event(&data, pieces)?;
            }
            return Ok(true);
        };
        for data in self.events.push(&bytes)? {
            self.reader.event(&data, pieces)?;
        }
        // Bytes that only keep the connection alive do not put off the first piece.
        self.has_begun |= !pieces.is_empty();
        if self.has_begun {
            self.until = Instant::now() + between;
        }
        Ok(false)
    }

    async fn whole(&mut self) -> Result<Bytes, Failure> {
        let body = std::mem::replace(&mut self.body, full(Bytes::new()));
        let slow = |_| Failure::new(Problem::Time, "the answer stopped coming");
        let body = timeout_at(self.until, whole(body, BODY_BYTES_MAX)).await.map_err(slow)?;
        body.map_err(|failed| Failure::of_connection(&failed))
    }
}

//! Vectors from any endpoint that speaks OpenAI's `/v1/embeddings`: a service, or a model server of one's own.
//!
//! Repeated texts are answered from memory. The others go out in batches, one request after another, not faster than
//! the settings allow. A temporary failure is retried for a while, with growing pauses, and not before the endpoint
//! allows it.
//!
//! The key, and what was to be embedded, are in no error and in no `Debug`; of what an endpoint says about a failure
//! only its status and its code are passed on.

mod cache;
mod pace;
mod wire;

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use threadkeep_outgoing::{Address, Failed, Limits, Outgoing, Pauses, Reach, Retry, full, retry_after};

use self::cache::Cache;
use self::pace::Pace;
use crate::{BoxFuture, EmbedError, Embedder, Model, Vector};

/// Size of an answer: 64 texts at 4,096 dimensions in twenty letters each are 5 MiB.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// The longest pause after the first failure.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause after any failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Where vectors come from, and how much is asked for at once.
#[derive(Clone, Debug)]
pub struct EndpointSettings {
    /// The address before `/embeddings`, such as `https://api.example/v1`. `/v1` is added where there is no path.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// What is sent as bearer token, if anything is.
    pub key: Option<Key>,
    /// How long the model's vectors are. If it is not given, the endpoint is asked when it is first used.
    pub dimensions: Option<usize>,
    /// Texts in a request: 64.
    pub batch_texts_max: usize,
    /// Bytes of text in a request, unless one text alone has more: 128 KiB.
    pub batch_bytes_max: usize,
    /// What is sent of a text: 2,000 characters, some 500 tokens, which is what small models read.
    pub text_chars_max: usize,
    /// Requests a minute: 300. A tenth of them may go out at once.
    pub requests_per_minute: u32,
    /// How long a request may take: 30 s.
    pub time_limit: Duration,
    /// How long to go on from the first failure on: 60 s.
    pub give_up_after: Duration,
    /// Vectors that are kept in memory: 10,000.
    pub cached_max: usize,
}

impl EndpointSettings {
    /// The usual ones for `model` at `url`, without a key.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            dimensions: None,
            batch_texts_max: 64,
            batch_bytes_max: 128 << 10,
            text_chars_max: 2_000,
            requests_per_minute: 300,
            time_limit: Duration::from_secs(30),
            give_up_after: Duration::from_secs(60),
            cached_max: 10_000,
        }
    }
}

/// A secret that is never shown.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// A key with this secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// An embedder whose vectors come from an endpoint.
#[derive(Debug)]
pub struct Endpoint {
    settings: EndpointSettings,
    outgoing: Outgoing,
    address: Address,
    /// Every request, without its body.
    head: http::Request<()>,
    /// The host and the path as they were given, which contain no secret. They are part of the model's id.
    place: String,
    model: Model,
    pace: Pace,
    cache: Mutex<Cache>,
}

impl Endpoint {
    /// The endpoint of `settings`. Unless they say how long its vectors are, it is asked for one, so that what is wrong
    /// with them is told at once.
    ///
    /// # Errors
    /// [`EmbedError::Refused`] if the settings are wrong; what [`embed`](Embedder::embed) can say.
    pub async fn connect(settings: EndpointSettings) -> Result<Self, EmbedError> {
        let refused =
            |what: &str| EmbedError::Refused { who: "the embeddings endpoint".to_owned(), what: what.to_owned() };
        let address = Address::parse(&settings.url).map_err(|wrong| refused(&wrong.to_string()))?;
        let given = settings.url.split_once("://").map_or("", |(_, given)| given).trim_end_matches('/');
        let (place, path) = match address.path.as_str() {
            "" => (format!("{given}/v1"), "/v1"),
            path => (given.to_owned(), path),
        };
        let head = http::Request::post(format!("{path}/embeddings")).header(CONTENT_TYPE, "application/json").body(());
        let mut head = head.map_err(|_| refused("its address has a path that cannot be sent"))?;
        if let Some(Key(key)) = &settings.key {
            let value = HeaderValue::from_str(&format!("Bearer {key}"));
            let mut value = value.map_err(|_| refused("its key has characters that no key can have"))?;
            value.set_sensitive(true);
            head.headers_mut().insert(AUTHORIZATION, value);
        }
        let limits = Limits { answer: settings.time_limit, bytes: ANSWER_BYTES_MAX, ..Limits::default() };
        let sizes = [settings.batch_texts_max, settings.text_chars_max, settings.requests_per_minute as usize];
        if sizes.contains(&0) || settings.dimensions == Some(0) || settings.model.is_empty() {
            return Err(refused("its settings have a zero or no model's name"));
        }
        let mut endpoint = Self {
            outgoing: Outgoing::new(Reach::Anywhere, limits),
            address,
            head,
            place,
            model: Model { id: String::new(), dimensions: settings.dimensions.unwrap_or(0) },
            pace: Pace::new(settings.requests_per_minute),
            cache: Mutex::new(Cache::new(settings.cached_max)),
            settings,
        };
        if endpoint.model.dimensions == 0 {
            let probed = endpoint.request(&["threadkeep"]).await?;
            endpoint.model.dimensions = probed.first().map_or(0, Vector::dimensions);
        }
        // The same name may be another model elsewhere.
        let (model, dimensions) = (&endpoint.settings.model, endpoint.model.dimensions);
        endpoint.model.id = format!("endpoint:{model}@{}:{dimensions}", endpoint.place);
        Ok(endpoint)
    }

    async fn vectors(&self, mut texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        let mut vectors: Vec<Option<Vector>> = Vec::with_capacity(texts.len());
        let mut missing = Vec::new();
        for (at, text) in texts.iter_mut().enumerate() {
            if let Some((end, _)) = text.char_indices().nth(self.settings.text_chars_max) {
                text.truncate(end);
            }
            // Many endpoints refuse texts that are empty.
            let known =
                if text.trim().is_empty() { Some(Vector::zeros(self.model.dimensions)) } else { self.cached(text) };
            if known.is_none() {
                missing.push(at);
            }
            vectors.push(known);
        }
        for batch in self.batches(&texts, &missing) {
            let asked: Vec<&str> = batch.iter().map(|&at| texts[at].as_str()).collect();
            for (&at, vector) in batch.iter().zip(self.request(&asked).await?) {
                self.cache.lock().unwrap_or_else(PoisonError::into_inner).put(&texts[at], vector.clone());
                vectors[at] = Some(vector);
            }
        }
        Ok(vectors.into_iter().flatten().collect())
    }

    fn cached(&self, text: &str) -> Option<Vector> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(text)
    }

    /// `missing`, divided by number and by bytes.
    fn batches<'a>(&self, texts: &[String], missing: &'a [usize]) -> Vec<&'a [usize]> {
        let (mut batches, mut start, mut bytes) = (Vec::new(), 0, 0);
        for (end, &at) in missing.iter().enumerate() {
            let full =
                end - start == self.settings.batch_texts_max || bytes + texts[at].len() > self.settings.batch_bytes_max;
            if full && end > start {
                batches.push(&missing[start..end]);
                (start, bytes) = (end, 0);
            }
            bytes += texts[at].len();
        }
        if start < missing.len() {
            batches.push(&missing[start..]);
        }
        batches
    }

    /// Asks until there is an answer, a refusal, or no time left.
    async fn request(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let body = wire::request(&self.settings.model, texts);
        let mut pauses = Pauses::new(Retry {
            give_up_after: self.settings.give_up_after,
            first_pause: FIRST_PAUSE,
            longest_pause: LONGEST_PAUSE,
        });
        loop {
            self.pace.wait().await;
            let request = self.head.clone().map(|()| full(body.clone()));
            let (failed, asked) = match self.outgoing.ask(&self.address, request).await {
                Ok(answer) if answer.status() == 200 => return self.understood(answer.body(), texts.len()),
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    let failed = Failed::after(wire::refusal(status, answer.body()));
                    let passes = matches!(status, 408 | 425 | 429 | 500..);
                    (if passes { failed } else { failed.for_good() }, retry_after(answer.headers()))
                }
                Err(failed) => (failed, None),
            };
            if failed.for_good {
                return Err(EmbedError::Refused { who: self.who(), what: failed.what });
            }
            match pauses.next(asked) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(EmbedError::Unavailable { who: self.who(), what: failed.what }),
            }
        }
    }

    fn understood(&self, body: &[u8], count: usize) -> Result<Vec<Vector>, EmbedError> {
        let known = Some(self.model.dimensions).filter(|dimensions| *dimensions > 0);
        wire::vectors(body, count, known).map_err(|what| EmbedError::NotUnderstood { who: self.who(), what })
    }

    fn who(&self) -> String {
        format!("the embeddings endpoint {}", self.place)
    }
}

impl Embedder for Endpoint {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        Box::pin(self.vectors(texts))
    }
}

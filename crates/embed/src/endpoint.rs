//! Vectors from any endpoint that speaks OpenAI's `/v1/embeddings`: a service, or a model server of one's own.
//!
//! Texts that were asked for before are answered from memory. The others go out in batches, one request after another,
//! not faster than the settings allow. What fails for the moment is tried again for a while, with growing pauses, and
//! not before the endpoint wants it. Every request has a connection of its own: an answer takes far longer than that.
//!
//! The key, and what was to be embedded, are in no error and in no `Debug`; of what an endpoint says about a failure only
//! its status and its code are passed on.

mod cache;
mod http;
mod pace;
mod wire;

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use self::cache::Cache;
use self::http::{Address, Answer, Broken, Http};
use self::pace::{Pace, Pauses};
use crate::{BoxFuture, EmbedError, Embedder, Model, Vector};

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
    /// The key `secret`.
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
    http: Http,
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
        let address = Address::parse(&settings.url).map_err(refused)?;
        let sizes = [settings.batch_texts_max, settings.text_chars_max, settings.requests_per_minute as usize];
        if sizes.contains(&0) || settings.dimensions == Some(0) || settings.model.is_empty() {
            return Err(refused("its settings have a zero or no model's name"));
        }
        let mut endpoint = Self {
            http: Http::new(address, settings.key.as_ref().map(|key| key.0.as_str())).map_err(refused)?,
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
        endpoint.model.id = format!("endpoint:{model}@{}:{dimensions}", endpoint.http.place());
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
        let mut pauses = Pauses::new(self.settings.give_up_after);
        loop {
            self.pace.wait().await;
            let exchange = tokio::time::timeout(self.settings.time_limit, self.http.post(body.clone())).await;
            let (what, asked) = match exchange {
                Err(_) => (format!("no answer within {:?}", self.settings.time_limit), None),
                Ok(Err(Broken { what, for_good: true })) => {
                    return Err(EmbedError::Refused { who: self.who(), what });
                }
                Ok(Err(Broken { what, .. })) => (what, None),
                Ok(Ok(Answer { status: 200, body, .. })) => return self.understood(&body, texts.len()),
                Ok(Ok(answer)) => {
                    let what = wire::refusal(answer.status, &answer.body);
                    if !matches!(answer.status, 408 | 425 | 429 | 500..) {
                        return Err(EmbedError::Refused { who: self.who(), what });
                    }
                    (what, answer.retry_after)
                }
            };
            match pauses.next(asked) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(EmbedError::Unavailable { who: self.who(), what }),
            }
        }
    }

    fn understood(&self, body: &[u8], count: usize) -> Result<Vec<Vector>, EmbedError> {
        let known = Some(self.model.dimensions).filter(|dimensions| *dimensions > 0);
        wire::vectors(body, count, known).map_err(|what| EmbedError::NotUnderstood { who: self.who(), what })
    }

    fn who(&self) -> String {
        format!("the embeddings endpoint {}", self.http.place())
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

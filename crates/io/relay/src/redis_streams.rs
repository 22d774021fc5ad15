//! The relay over Redis Streams: a note is an entry of the stream under its key.
//!
//! Two connections: one sends, and one waits for the notes of all keys that are followed. A stream is deleted some time
//! after its last note, and has a bounded length. After a failure both connect again; notes of the time between are lost.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::streams::{StreamMaxlen, StreamReadOptions, StreamReadReply};
use redis::{AsyncCommands, AsyncConnectionConfig, RedisResult, Value};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::url::RedisUrl;
use crate::{Followed, Hear, Relay, Since};

/// Notes that wait to be sent. Later ones are dropped.
const WAITING_MAX: usize = 4_096;
/// Notes that are sent together.
const TOGETHER_MAX: usize = 256;
/// Notes that a stream keeps, roughly.
const KEPT_MAX: usize = 20_000;
/// Notes of one key that are read at once.
const READ_MAX: usize = 1_000;
/// How long a read waits for notes: the most by which a new follower waits for its first note.
const WAIT: Duration = Duration::from_millis(50);
/// Longest time for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// The pause before another attempt to connect.
const PAUSE: Duration = Duration::from_millis(500);

/// The fields of an entry: the process that sent it, and the note.
const FROM: &str = "from";
const DATA: &str = "data";

/// A relay over Redis Streams.
pub struct Redis {
    notes: mpsc::Sender<(String, String)>,
    keys: Arc<Keys>,
    trouble: watch::Sender<Option<String>>,
    tasks: [JoinHandle<()>; 2],
}

/// The keys that are followed.
#[derive(Default)]
struct Keys {
    all: Mutex<HashMap<String, Key>>,
    /// Notified when there is one.
    any: Notify,
}

struct Key {
    since: Since,
    /// The place of the last note that was read; none before the first read.
    last: Option<String>,
    hear: Vec<(u64, Hear)>,
}

impl Keys {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Key>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that hears the notes of a key.
struct Hearing {
    keys: Weak<Keys>,
    key: String,
    number: u64,
}

impl Drop for Hearing {
    fn drop(&mut self) {
        let Some(keys) = self.keys.upgrade() else { return };
        let mut keys = keys.lock();
        if let Some(key) = keys.get_mut(&self.key) {
            key.hear.retain(|(number, _)| *number != self.number);
            if key.hear.is_empty() {
                keys.remove(&self.key);
            }
        }
    }
}

impl Redis {
    /// Connects in the background, on the runtime in which it is called. Streams are deleted `kept` after their last note.
    pub fn start(url: RedisUrl, kept: Duration) -> Arc<Self> {
        let (notes, waiting) = mpsc::channel(WAITING_MAX);
        let keys = Arc::<Keys>::default();
        let trouble = watch::Sender::new(None);
        let from = format!("{:016x}", getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id())));
        let at = Arc::new(At { url, from, kept: kept.max(Duration::from_secs(1)), trouble: trouble.clone() });
        let sending = tokio::spawn(send_all(Arc::clone(&at), waiting));
        let reading = tokio::spawn(read_all(at, Arc::clone(&keys)));
        Arc::new(Self { notes, keys, trouble, tasks: [sending, reading] })
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Relay for Redis {
    fn send(&self, key: String, note: String) {
        // A full queue drops the note: its readers have the log.
        drop(self.notes.try_send((key, note)));
    }

    fn follow(&self, key: String, since: Since, hear: Hear) -> Followed {
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let new = || Key { since, last: None, hear: Vec::new() };
        self.keys.lock().entry(key.clone()).or_insert_with(new).hear.push((number, hear));
        self.keys.any.notify_one();
        Followed::until_dropped(Hearing { keys: Arc::downgrade(&self.keys), key, number })
    }

    fn trouble(&self) -> watch::Receiver<Option<String>> {
        self.trouble.subscribe()
    }
}

/// Where to connect, and as who.
struct At {
    url: RedisUrl,
    from: String,
    kept: Duration,
    trouble: watch::Sender<Option<String>>,
}

impl At {
    async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(ANSWER_MAX))
            .set_response_timeout(Some(ANSWER_MAX));
        self.url.client()?.get_multiplexed_async_connection_with_config(&config).await
    }

    fn well(&self) {
        self.trouble.send_if_modified(|trouble| trouble.take().is_some());
    }

    async fn failed(&self, error: &redis::RedisError) {
        let what = format!("{}: {error}", self.url);
        self.trouble.send_if_modified(|trouble| trouble.replace(what.clone()).as_ref() != Some(&what));
        sleep(PAUSE).await;
    }
}

/// Sends notes until the relay is dropped.
async fn send_all(at: Arc<At>, mut waiting: mpsc::Receiver<(String, String)>) {
    loop {
        let mut connection = match at.connect().await {
            Ok(connection) => connection,
            Err(error) => {
                at.failed(&error).await;
                // What waits is old by now: readers had it from the log.
                while waiting.try_recv().is_ok() {}
                continue;
            }
        };
        at.well();
        let mut some = Vec::new();
        loop {
            if waiting.recv_many(&mut some, TOGETHER_MAX).await == 0 {
                return;
            }
            let mut pipe = redis::pipe();
            for (key, note) in some.drain(..) {
                pipe.xadd_maxlen(&key, StreamMaxlen::Approx(KEPT_MAX), "*", &[(FROM, at.from.as_str()), (DATA, &note)])
                    .ignore();
                pipe.expire(&key, at.kept.as_secs() as i64).ignore();
            }
            if let Err(error) = pipe.query_async::<()>(&mut connection).await {
                at.failed(&error).await;
                break;
            }
        }
    }
}

/// Reads the notes of the keys that are followed, until the relay is dropped.
async fn read_all(at: Arc<At>, keys: Arc<Keys>) {
    loop {
        let mut connection = match at.connect().await {
            Ok(connection) => connection,
            Err(error) => {
                at.failed(&error).await;
                continue;
            }
        };
        at.well();
        if let Err(error) = read_from(&at, &keys, &mut connection).await {
            at.failed(&error).await;
        }
    }
}

async fn read_from(at: &At, keys: &Keys, connection: &mut MultiplexedConnection) -> RedisResult<()> {
    let options = StreamReadOptions::default().block(WAIT.as_millis() as usize).count(READ_MAX);
    loop {
        let any = keys.any.notified();
        let (new, places) = followed(keys);
        let has_new = !new.is_empty();
        for (key, since) in new {
            let last = match since {
                Since::Start => "0-0".to_owned(),
                Since::Now => newest(connection, &key).await?,
            };
            if let Some(known) = keys.lock().get_mut(&key) {
                known.last.get_or_insert(last);
            }
        }
        if has_new {
            continue;
        }
        if places.is_empty() {
            // Nothing is followed. A sign of life finds a broken connection.
            if timeout(ANSWER_MAX, any).await.is_err() {
                connection.ping::<()>().await?;
                at.well();
            }
            continue;
        }
        let (names, lasts): (Vec<String>, Vec<String>) = places.into_iter().unzip();
        let found: Option<StreamReadReply> = connection.xread_options(&names, &lasts, &options).await?;
        for stream in found.map(|found| found.keys).unwrap_or_default() {
            let Some(last) = stream.ids.last().map(|entry| entry.id.clone()) else { continue };
            let hear: Vec<Hear> = match keys.lock().get_mut(&stream.key) {
                Some(known) => {
                    known.last = Some(last);
                    known.hear.iter().map(|(_, hear)| Arc::clone(hear)).collect()
                }
                None => continue,
            };
            for entry in stream.ids {
                let text = |name: &str| match entry.map.get(name) {
                    Some(Value::BulkString(bytes)) => String::from_utf8(bytes.clone()).ok(),
                    _ => None,
                };
                if text(FROM).as_deref() != Some(&at.from)
                    && let Some(note) = text(DATA)
                {
                    hear.iter().for_each(|hear| hear(&note));
                }
            }
        }
    }
}

/// The keys without a place yet, and the places of the others.
#[expect(clippy::type_complexity, reason = "two lists of pairs")]
fn followed(keys: &Keys) -> (Vec<(String, Since)>, Vec<(String, String)>) {
    let (mut new, mut places) = (Vec::new(), Vec::new());
    for (name, key) in keys.lock().iter() {
        match &key.last {
            Some(last) => places.push((name.clone(), last.clone())),
            None => new.push((name.clone(), key.since)),
        }
    }
    (new, places)
}

/// The place of the newest note of a key.
async fn newest(connection: &mut MultiplexedConnection, key: &str) -> RedisResult<String> {
    let found: redis::streams::StreamRangeReply = connection.xrevrange_count(key, "+", "-", 1).await?;
    Ok(found.ids.first().map_or_else(|| "0-0".to_owned(), |entry| entry.id.clone()))
}

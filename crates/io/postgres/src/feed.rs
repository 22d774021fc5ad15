//! The feed, and how processes tell each other that there is news.
//!
//! A place in the feed is the number of a transaction and a counter within it. A running transaction may still add rows
//! below those of one that has ended. So the feed shows only rows below the oldest running transaction, and never
//! skips. NOTIFY goes out after the commit on a connection of its own, and is a hint: a follower that misses it finds
//! the news at the next poll.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use deadpool_postgres::Object;
use threadkeep_model::ThreadId;
use threadkeep_store::{FeedCursor, FeedItem, FeedNews, Result};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Row};

use crate::codec::{self, Actors, ENTRY_WIDTH, SEGMENT_COLUMNS, entry_columns, get, limit};
use crate::read::rows;
use crate::{POLL_MS, Shared};

/// How long a reader of the feed waits for transactions that hold it up, before it is told that there is nothing.
const HELD_UP_MAX: Duration = Duration::from_millis(1_000);
const HELD_UP_POLL: Duration = Duration::from_millis(5);
/// Notifications go out at most so often; later news goes out with the next one.
const NOTIFY_PAUSE: Duration = Duration::from_millis(10);
/// Threads that one notification names; more are told as "look everywhere".
const NOTIFY_THREADS_MAX: usize = 200;
/// How often to look whether this process has a follower: only then does a connection listen.
const WATCHED_PAUSE: Duration = Duration::from_millis(20);
/// How often the listener looks whether the store was closed.
const CLOSED_PAUSE: Duration = Duration::from_millis(500);
const RECONNECT_PAUSE: Duration = Duration::from_millis(250);

const LATEST: &str = "SELECT coalesce(greatest((SELECT max(feed) FROM entries), (SELECT max(feed) FROM segments),
    (SELECT max(feed) FROM tombstones), (SELECT value FROM meta WHERE key = 'last_feed')), 0), feed_horizon()";

/// The place of what happened last, and the place below which everything is decided.
async fn latest_and_horizon(client: &Object) -> Result<(i64, i64)> {
    let found = rows(client, LATEST, &[]).await?;
    let row = found.first().ok_or_else(|| threadkeep_store::StoreError::corrupt("the feed has no base"))?;
    Ok((get(row, 0)?, get(row, 1)?))
}

pub(crate) async fn latest(client: &Object) -> Result<FeedCursor> {
    Ok(FeedCursor(latest_and_horizon(client).await?.0 as u64))
}

pub(crate) async fn feed(client: &Object, actors: &Actors, after: FeedCursor, most: usize) -> Result<Vec<FeedItem>> {
    let after = i64::try_from(after.0).unwrap_or(i64::MAX);
    let began = tokio::time::Instant::now();
    loop {
        let (latest, horizon) = latest_and_horizon(client).await?;
        if latest <= after {
            return Ok(Vec::new());
        }
        let items = below(client, actors, after, horizon, most).await?;
        // There is news, but a transaction that could still add something before it is running.
        let is_held_up = items.is_empty() && latest >= horizon;
        if !is_held_up || began.elapsed() >= HELD_UP_MAX {
            return Ok(items);
        }
        tokio::time::sleep(HELD_UP_POLL).await;
    }
}

/// All events after `after` and below `horizon`. That range is complete, so three statements see the same.
async fn below(client: &Object, actors: &Actors, after: i64, horizon: i64, most: usize) -> Result<Vec<FeedItem>> {
    let most_rows = limit(most);
    let cursor = |row: &Row, at: usize| -> Result<FeedCursor> { Ok(FeedCursor(get::<i64>(row, at)? as u64)) };
    let columns = entry_columns();
    let sql = format!(
        "SELECT {columns}, e.feed, s.thread, s.rest FROM entries e JOIN segments s ON s.id = e.segment
         WHERE e.feed > $1 AND e.feed < $2 ORDER BY e.feed LIMIT $3"
    );
    let found = rows(client, &sql, &[&after, &horizon, &most_rows]).await?;
    let mut items = Vec::with_capacity(found.len());
    for (entry, row) in actors.entries(client, &found).await?.into_iter().zip(&found) {
        let thread = codec::thread_id(get(row, ENTRY_WIDTH + 1)?, get(row, ENTRY_WIDTH + 2)?)?;
        items.push(FeedItem { cursor: cursor(row, ENTRY_WIDTH)?, thread, news: FeedNews::Entry(Box::new(entry)) });
    }
    let sql =
        format!("SELECT {SEGMENT_COLUMNS}, feed FROM segments WHERE feed > $1 AND feed < $2 ORDER BY feed LIMIT $3");
    for row in rows(client, &sql, &[&after, &horizon, &most_rows]).await? {
        let segment = codec::segment(&row)?;
        let thread = segment.thread;
        items.push(FeedItem { cursor: cursor(&row, 13)?, thread, news: FeedNews::Began(Box::new(segment)) });
    }
    let sql = "SELECT id, rest, feed FROM tombstones WHERE feed > $1 AND feed < $2 ORDER BY feed LIMIT $3";
    for row in rows(client, sql, &[&after, &horizon, &most_rows]).await? {
        let thread = codec::thread_id(get(&row, 0)?, get(&row, 1)?)?;
        items.push(FeedItem { cursor: cursor(&row, 2)?, thread, news: FeedNews::Deleted });
    }
    // Each of the three is complete up to its own limit, so the lowest of all of them are the next ones.
    items.sort_by_key(|item| item.cursor);
    items.truncate(most);
    Ok(items)
}

impl Shared {
    /// There is news of `thread`: tells those who wait here, and the other processes.
    pub(crate) fn tell(&self, thread: ThreadId) {
        self.signals.tell(thread);
        // If it is full, the pollers of the others will see.
        let _ = self.news.try_send(thread);
    }

    /// The channel on which processes that share this store tell each other of news.
    fn channel(&self) -> String {
        format!("threadkeep_{}", self.connections.url.schema)
    }
}

/// Tells other processes of news, until the store is closed.
pub(crate) async fn notify(shared: Weak<Shared>, mut news: mpsc::Receiver<ThreadId>) {
    let mut client = None;
    while let Some(thread) = news.recv().await {
        let mut threads = HashSet::from([thread]);
        while let Ok(thread) = news.try_recv() {
            threads.insert(thread);
        }
        let Some(shared) = shared.upgrade() else { return };
        if client.as_ref().is_none_or(tokio_postgres::Client::is_closed) {
            client = shared.connections.apart(|_| {}).await.ok().map(|(client, _)| client);
            if let Some(client) = &client {
                // A hint needs no sync.
                drop(client.batch_execute("SET synchronous_commit = off").await);
            }
        }
        if let Some(client) = &client {
            let all = threads.len() > NOTIFY_THREADS_MAX;
            let names = threads.iter().map(|thread| format!("{:032x}", thread.bits()));
            let payload = if all { "*".to_owned() } else { names.collect::<Vec<_>>().join(",") };
            let payload = format!("{:016x} {payload}", shared.process);
            drop(client.execute("SELECT pg_notify($1, $2)", &[&shared.channel(), &payload]).await);
        }
        drop(shared);
        tokio::time::sleep(NOTIFY_PAUSE).await;
    }
}

/// Hears of news from other processes, until the store is closed. One connection serves all who follow in this process.
pub(crate) async fn listen(shared: Weak<Shared>) {
    loop {
        let Some(strong) = shared.upgrade() else { return };
        if !strong.signals.is_watched() {
            drop(strong);
            tokio::time::sleep(WATCHED_PAUSE).await;
            continue;
        }
        let told = Weak::clone(&shared);
        let heard = move |message: AsyncMessage| {
            if let (AsyncMessage::Notification(news), Some(shared)) = (message, told.upgrade()) {
                shared.heard(news.payload());
            }
        };
        let listening = strong.connections.apart(heard).await;
        if let Ok((client, mut alive)) = listening
            && client.batch_execute(&format!("LISTEN {}", strong.channel())).await.is_ok()
        {
            // News from before this process listened was not heard.
            strong.signals.tell_all();
            drop(strong);
            // Until the connection ends, or the store does.
            while tokio::time::timeout(CLOSED_PAUSE, &mut alive).await.is_err() {
                if shared.strong_count() == 0 {
                    return;
                }
            }
        } else {
            drop(strong);
        }
        // No more news arrives. Waiting followers look for themselves, and learn if the server is away.
        if let Some(shared) = shared.upgrade() {
            shared.signals.tell_all();
        }
        tokio::time::sleep(RECONNECT_PAUSE).await;
    }
}

impl Shared {
    fn heard(&self, payload: &str) {
        let Some((process, threads)) = payload.split_once(' ') else { return };
        if process == format!("{:016x}", self.process) || !self.signals.is_watched() {
            return;
        }
        for thread in threads.split(',') {
            match u128::from_str_radix(thread, 16) {
                Ok(bits) => self.signals.tell(ThreadId::from_bits(bits)),
                Err(_) => self.signals.tell_all(),
            }
        }
    }
}

/// Looks for news without a notification while a follower exists: lost ones, and ones that were held up by a
/// transaction that has ended since.
pub(crate) async fn poll(shared: Weak<Shared>) {
    loop {
        tokio::time::sleep(Duration::from_millis(POLL_MS)).await;
        let Some(shared) = shared.upgrade() else { return };
        if !shared.signals.is_watched() {
            continue;
        }
        // If the read fails, the next round tries again.
        let Ok(client) = shared.connections.get().await else { continue };
        let Ok((latest, horizon)) = latest_and_horizon(&client).await else { continue };
        let shown = latest.min(horizon);
        if shared.polled.swap(shown, Ordering::AcqRel) != shown {
            shared.signals.tell_all();
        }
    }
}

/// Starts everything that runs beside commits and reads.
pub(crate) fn start(shared: &Arc<Shared>, news: mpsc::Receiver<ThreadId>) {
    tokio::spawn(notify(Arc::downgrade(shared), news));
    tokio::spawn(listen(Arc::downgrade(shared)));
    tokio::spawn(poll(Arc::downgrade(shared)));
}

//! The feed: everything that happens, in one order. `news` tells followers when to look.
//!
//! A place in the feed is the number of a transaction and a counter within it. A running transaction may still add rows
//! below those of one that has ended. So the feed shows only rows below the oldest running transaction of this store, and
//! never skips. It shows what it can and does not wait: a connection is held for as long as the read takes.
//!
//! Numbers are given to the transactions of all databases of a server. Only writers of this store count: each holds a
//! share in the store's upkeep lock from before it has its number until it has ended, and the server says who does.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::Object;
use threadkeep_model::{ThreadId, Timestamp};
use threadkeep_store::{Behind, FeedCursor, FeedItem, FeedNews, Result, StoreError};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use crate::Shared;
use crate::clock::NOW;
use crate::codec::{self, Actors, ENTRY_WIDTH, SEGMENT_COLUMNS, entry_columns, get, limit};
use crate::error::from_postgres;
use crate::read::rows;

/// How far the feed reaches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach {
    /// The place of what happened last.
    pub(crate) latest: i64,
    /// Everything below this place is decided.
    pub(crate) horizon: i64,
    pub(crate) now: i64,
}

impl Reach {
    /// Whether something happened that the feed cannot show yet.
    pub(crate) fn is_held_up(&self) -> bool {
        self.latest >= self.horizon
    }
}

/// The statements that ask for it.
pub(crate) struct Asking {
    last: Statement,
    running: Statement,
    snapshot: Statement,
}

const LATEST: &str = "coalesce(greatest((SELECT max(feed) FROM entries), (SELECT max(feed) FROM segments),
    (SELECT max(feed) FROM tombstones), (SELECT value FROM meta WHERE key = 'last_feed')), 0)";
const SNAPSHOT: &str = "SELECT pg_current_snapshot()::text";
/// The transactions with a number, in all databases, and whether each holds a share in the upkeep lock. An advisory lock
/// with a 64-bit key is shown in two halves.
const RUNNING: &str = "
    WITH held AS MATERIALIZED (SELECT * FROM pg_locks WHERE granted)
    SELECT t.transactionid::text::bigint, EXISTS (
        SELECT 1 FROM held a WHERE a.virtualtransaction = t.virtualtransaction AND a.locktype = 'advisory'
            AND a.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND a.classid::bigint = ($1::bigint >> 32) & 4294967295 AND a.objid::bigint = $1 & 4294967295
            AND a.objsubid = 1)
    FROM held t WHERE t.locktype = 'transactionid' AND t.mode = 'ExclusiveLock'";

fn last() -> String {
    format!("SELECT {LATEST}, {NOW}, (SELECT value FROM meta WHERE key = 'feed_base'), pg_current_snapshot()::text")
}

impl Asking {
    pub(crate) async fn on(client: &Client) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            last: client.prepare(&last()).await?,
            running: client.prepare(RUNNING).await?,
            snapshot: client.prepare(SNAPSHOT).await?,
        })
    }

    async fn of_pool(client: &Object) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            last: client.prepare_cached(&last()).await?,
            running: client.prepare_cached(RUNNING).await?,
            snapshot: client.prepare_cached(SNAPSHOT).await?,
        })
    }

    /// How far the feed of the store with this upkeep lock reaches.
    pub(crate) async fn reach(&self, client: &Client, upkeep_lock: i64) -> Result<Reach> {
        let row = client.query_one(&self.last, &[]).await.map_err(from_postgres)?;
        let (latest, now, base): (i64, i64, i64) = (get(&row, 0)?, get(&row, 1)?, get(&row, 2)?);
        let before = Snapshot::read(get(&row, 3)?)?;
        let place = |transaction: i64| (transaction + base) << 20;
        if latest < place(before.oldest()) {
            return Ok(Reach { latest, horizon: place(before.oldest()), now });
        }
        // Each statement sees a moment of its own, in this order.
        let (running, after) = tokio::join!(
            biased;
            async { client.query(&self.running, &[&upkeep_lock]).await },
            async { client.query_one(&self.snapshot, &[]).await },
        );
        let mut is_ours = HashMap::new();
        for row in running.map_err(from_postgres)? {
            is_ours.insert(get::<i64>(&row, 0)?, get::<bool>(&row, 1)?);
        }
        let after = after.map_err(from_postgres)?;
        let after: HashSet<i64> = Snapshot::read(get(&after, 0)?)?.running.into_iter().collect();
        // A transaction that ran before and runs after is ours if it holds the lock. A transaction that the server did not
        // show in between has a number and is about to be shown, so it may be ours too. Locks show 32 bits of a number.
        let is_waited_for = |transaction: &&i64| {
            after.contains(transaction) && *is_ours.get(&(**transaction & 0xffff_ffff)).unwrap_or(&true)
        };
        let oldest = before.running.iter().filter(is_waited_for).min().copied().unwrap_or(before.next);
        Ok(Reach { latest, horizon: place(oldest), now })
    }
}

/// Which transactions were running at a moment, in all databases of the server.
struct Snapshot {
    /// The number above those of all transactions that had ended.
    next: i64,
    running: Vec<i64>,
}

impl Snapshot {
    fn read(text: &str) -> Result<Self> {
        let damaged = || StoreError::corrupt(format!("a snapshot cannot be read: {text}"));
        let mut parts = text.split(':').skip(1);
        let (Some(next), Some(running)) = (parts.next(), parts.next()) else { return Err(damaged()) };
        let number = |text: &str| text.parse().map_err(|_| damaged());
        let running = running.split(',').filter(|number| !number.is_empty()).map(number).collect::<Result<_>>()?;
        Ok(Self { next: number(next)?, running })
    }

    fn oldest(&self) -> i64 {
        self.running.iter().min().copied().unwrap_or(self.next)
    }
}

/// The last place that the feed shows. What happened above it may still get something in front.
pub(crate) async fn latest(client: &Object, shared: &Shared) -> Result<FeedCursor> {
    let asking = Asking::of_pool(client).await.map_err(from_postgres)?;
    let reach = asking.reach(client, shared.upkeep_lock).await?;
    Ok(FeedCursor(reach.latest.min(reach.horizon - 1).max(0) as u64))
}

pub(crate) async fn feed(client: &Object, shared: &Shared, after: FeedCursor, most: usize) -> Result<Vec<FeedItem>> {
    let after = place(after);
    let asking = Asking::of_pool(client).await.map_err(from_postgres)?;
    let reach = asking.reach(client, shared.upkeep_lock).await?;
    if reach.latest <= after {
        return Ok(Vec::new());
    }
    if reach.is_held_up() {
        // The reader is told as soon as the feed reaches further.
        shared.held_up.notify_one();
    }
    below(client, &shared.actors, after, reach.horizon, most).await
}

fn place(cursor: FeedCursor) -> i64 {
    i64::try_from(cursor.0).unwrap_or(i64::MAX)
}

/// Entries after `after`, those that the feed cannot show yet included.
pub(crate) async fn behind(client: &Object, after: FeedCursor, most: usize) -> Result<Behind> {
    let sql = "SELECT count(*), min(time) FROM (
        (SELECT feed, time FROM entries WHERE feed > $1 ORDER BY feed LIMIT $2) UNION ALL
        (SELECT feed, created FROM segments WHERE feed > $1 ORDER BY feed LIMIT $2) UNION ALL
        (SELECT feed, time FROM tombstones WHERE feed > $1 ORDER BY feed LIMIT $2) LIMIT $2) unread";
    let found = rows(client, sql, &[&place(after), &limit(most)]).await?;
    let Some(row) = found.first() else { return Ok(Behind::default()) };
    let since = get::<Option<i64>>(row, 1)?.map(Timestamp::from_micros);
    Ok(Behind { items: get::<i64>(row, 0)? as u64, since })
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
    let began =
        format!("SELECT {SEGMENT_COLUMNS}, feed FROM segments WHERE feed > $1 AND feed < $2 ORDER BY feed LIMIT $3");
    let deleted = "SELECT id, rest, feed FROM tombstones WHERE feed > $1 AND feed < $2 ORDER BY feed LIMIT $3";
    let range: [&(dyn ToSql + Sync); 3] = [&after, &horizon, &most_rows];
    let (found, began, deleted) = tokio::join!(
        biased;
        rows(client, &sql, &range),
        rows(client, &began, &range),
        rows(client, deleted, &range),
    );
    let found = found?;
    let mut items = Vec::with_capacity(found.len());
    for (entry, row) in actors.entries(client, &found).await?.into_iter().zip(&found) {
        let thread = codec::thread_id(get(row, ENTRY_WIDTH + 1)?, get(row, ENTRY_WIDTH + 2)?)?;
        items.push(FeedItem { cursor: cursor(row, ENTRY_WIDTH)?, thread, news: FeedNews::Entry(Box::new(entry)) });
    }
    for row in began? {
        let segment = codec::segment(&row)?;
        let thread = segment.thread;
        items.push(FeedItem { cursor: cursor(&row, 13)?, thread, news: FeedNews::Began(Box::new(segment)) });
    }
    for row in deleted? {
        let thread = codec::thread_id(get(&row, 0)?, get(&row, 1)?)?;
        items.push(FeedItem { cursor: cursor(&row, 2)?, thread, news: FeedNews::Deleted });
    }
    // Each of the three is complete up to its own limit, so the lowest of all of them are the next ones.
    items.sort_by_key(|item| item.cursor);
    items.truncate(most);
    Ok(items)
}

/// The threads with news from `from` up to `to`; none if there may be more than `most`.
pub(crate) async fn changed(client: &Client, from: i64, to: i64, most: usize) -> Result<Option<HashSet<ThreadId>>> {
    let sql = "
        (SELECT s.thread, s.rest FROM entries e JOIN segments s ON s.id = e.segment
         WHERE e.feed >= $1 AND e.feed < $2 ORDER BY e.feed LIMIT $3) UNION ALL
        (SELECT thread, rest FROM segments WHERE feed >= $1 AND feed < $2 ORDER BY feed LIMIT $3) UNION ALL
        (SELECT id, rest FROM tombstones WHERE feed >= $1 AND feed < $2 ORDER BY feed LIMIT $3)";
    let found = client.query(sql, &[&from, &to, &limit(most)]).await.map_err(from_postgres)?;
    if found.len() >= most {
        return Ok(None);
    }
    found.iter().map(|row| codec::thread_id(get(row, 0)?, get(row, 1)?)).collect::<Result<_>>().map(Some)
}

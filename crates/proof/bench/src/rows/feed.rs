//! How long it takes until a follower elsewhere sees a commit, also while another transaction stays open.

use std::time::{Duration, Instant};

use threadkeep::{Engine, FeedReader, MessageBody, ThreadId};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::Result;
use crate::bench::{Bench, Place, text};
use crate::meter::{median, percentile};
use crate::ours::Ours;
use crate::report::{Aim, Line, Series, Unit};

pub(super) const NAME: &str = "feed";

/// How long another transaction stays open: less and more than a reader of the feed waits for it.
const HELD: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(1_500)];
/// The delay allowed on top of the longest open transaction.
const LATE_MAX: Duration = Duration::from_secs(1);
/// Between appends that come one at a time: more than notifications are held back to go out together.
const PAUSE: Duration = Duration::from_millis(20);
/// Appends before anything is measured: a follower listens a moment after it began.
const WARM_UP: usize = 10;
/// An entry that was not seen after this time is lost.
const LOST_AFTER: Duration = Duration::from_secs(30);

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let room = bench.room()?;
    let place = room.place("ours.db");
    let Place::Schema(server) = &place else { return Err("only a server has followers elsewhere to wait for".into()) };
    let ours = Ours::with_threads(bench, &place, 1)?;
    let elsewhere = Ours::open(&place)?;
    let appends = bench.sizes.appends_alone;
    bench.runtime.block_on(async {
        let mut pair = Pair::new(&ours, &elsewhere).await?;
        pair.delays(WARM_UP, PAUSE).await?;
        let mut lines = Vec::new();
        for (how, pause) in [("one at a time", PAUSE), ("back to back", Duration::ZERO)] {
            let (mut typical, mut late) = (Series::default(), Series::default());
            for _ in 0..bench.rounds {
                let delays = pair.delays(appends, pause).await?;
                typical.push(median(&delays));
                late.push(percentile(&delays, 99));
            }
            let line = |number: &str, series| {
                Line::new(NAME, format!("from a commit to a follower elsewhere, {how}: {number}"), Unit::Micros, series)
            };
            lines.push(line("median", typical));
            lines.push(line("99 of 100", late).aim(Aim::AtMost(LATE_MAX.as_secs_f64() * 1e6)));
        }
        let other = server.connect().await?;
        for held in HELD {
            let mut longest: f64 = 0.0;
            for _ in 0..bench.rounds {
                let delays = pair.delays_while_held(&other, held).await?;
                longest = delays.into_iter().fold(longest, f64::max);
            }
            let measure = format!("the same, with a transaction open for {} ms: longest", held.as_millis());
            let aim = Aim::AtMost((held + LATE_MAX).as_secs_f64() * 1e6);
            lines.push(Line::new(NAME, measure, Unit::Micros, Series::from_iter([longest])).aim(aim));
        }
        Ok(lines)
    })
}

/// A writer, and a follower through a store of its own.
struct Pair {
    writer: Engine,
    thread: ThreadId,
    follower: JoinHandle<()>,
    seen: mpsc::UnboundedReceiver<Result<Instant>>,
}

impl Pair {
    async fn new(ours: &Ours, elsewhere: &Ours) -> Result<Self> {
        let feed = elsewhere.engine.feed(elsewhere.engine.feed_latest().await?).await?;
        let (tell, seen) = mpsc::unbounded_channel();
        let follower = tokio::spawn(follow(feed, tell));
        Ok(Self { writer: ours.engine.clone(), thread: ours.threads[0], follower, seen })
    }

    /// Appends so often, `pause` apart, and gives the microseconds from each commit until it was seen.
    async fn delays(&mut self, appends: usize, pause: Duration) -> Result<Vec<f64>> {
        let mut committed = Vec::with_capacity(appends);
        for n in 0..appends {
            committed.push(self.append(n).await?);
            tokio::time::sleep(pause).await;
        }
        self.seen_after(committed).await
    }

    /// The same while `other` has a transaction open that writes, for as long as `held`.
    async fn delays_while_held(&mut self, other: &Client, held: Duration) -> Result<Vec<f64>> {
        other.batch_execute("BEGIN; SELECT pg_current_xact_id()").await?;
        let begun = Instant::now();
        let mut committed = Vec::new();
        while begun.elapsed() + PAUSE < held {
            committed.push(self.append(committed.len()).await?);
            tokio::time::sleep(PAUSE).await;
        }
        tokio::time::sleep(held.saturating_sub(begun.elapsed())).await;
        other.batch_execute("COMMIT").await?;
        self.seen_after(committed).await
    }

    async fn append(&self, n: usize) -> Result<Instant> {
        self.writer.append(self.thread, MessageBody::user(text(n))).await?;
        Ok(Instant::now())
    }

    /// One thread is written to, so its entries are seen in the order of the commits.
    async fn seen_after(&mut self, committed: Vec<Instant>) -> Result<Vec<f64>> {
        let mut delays = Vec::with_capacity(committed.len());
        for committed in committed {
            let seen = tokio::time::timeout(LOST_AFTER, self.seen.recv()).await;
            let seen = seen.map_err(|_| "a commit was not seen by a follower")?.ok_or("the follower is gone")??;
            delays.push(seen.saturating_duration_since(committed).as_secs_f64() * 1e6);
        }
        Ok(delays)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

async fn follow(mut feed: FeedReader, tell: mpsc::UnboundedSender<Result<Instant>>) {
    loop {
        let next = feed.next().await;
        let (seen, is_last) = (Instant::now(), next.is_err());
        if tell.send(next.map(|_| seen).map_err(Into::into)).is_err() || is_last {
            return;
        }
    }
}

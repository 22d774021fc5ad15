//! How fast a follower elsewhere reads the feed, and how long after a commit it sees an entry.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use threadkeep::{Engine, FeedCursor, FeedReader, MessageBody, ThreadId};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use crate::Result;
use crate::bench::{Bench, Place, text};
use crate::meter::{median, percentile};
use crate::ours::Ours;
use crate::report::{Aim, Line, Series, Unit};

pub(super) const NAME: &str = "feed";

/// Entries a second that a follower reads at least while it catches up.
const READ_A_SECOND_MIN: f64 = 20_000.0;
/// The delay allowed for 99 of 100 entries.
const LATE_MAX: Duration = Duration::from_millis(50);
/// How long a foreign transaction stays open.
const HELD: Duration = Duration::from_millis(1_500);
/// Writers of the steady load, each with a thread of its own…
const WRITERS: usize = 32;
/// …and the appends a second of all together.
const STEADY_A_SECOND: usize = 2_000;
/// How long the steady load lasts in a round.
const STEADY: Duration = Duration::from_secs(3);
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
    let ours = Ours::with_threads(bench, &place, WRITERS)?;
    ours.fill_interleaved(bench, bench.sizes.messages)?;
    let mut read = Series::default();
    for _ in 0..bench.rounds {
        let elsewhere = Ours::open(&place)?;
        read.push(bench.runtime.block_on(caught_up(&elsewhere.engine, WRITERS * bench.sizes.messages))?);
    }
    let mut lines = vec![
        Line::new(NAME, "entries that a follower elsewhere catches up with".to_owned(), Unit::PerSecond, read)
            .aim(Aim::AtLeast(READ_A_SECOND_MIN)),
    ];

    let elsewhere = Ours::open(&place)?;
    let appends = bench.sizes.appends_alone;
    bench.runtime.block_on(async {
        let mut followed = Followed::new(&ours, &elsewhere).await?;
        followed.delays(1, WARM_UP, PAUSE).await?;
        let steady = Duration::from_secs(1) * u32::try_from(WRITERS)? / u32::try_from(STEADY_A_SECOND)?;
        let steady_appends = appends.min(usize::try_from(STEADY.as_nanos() / steady.as_nanos())?);
        let steady_load = format!("{STEADY_A_SECOND} a second on {WRITERS} threads");
        for (how, writers, appends, pause) in [
            ("one at a time", 1, appends, PAUSE),
            ("back to back", 1, appends, Duration::ZERO),
            (&steady_load, WRITERS, steady_appends, steady),
        ] {
            let (mut typical, mut late) = (Series::default(), Series::default());
            for _ in 0..bench.rounds {
                let delays = followed.delays(writers, appends, pause).await?;
                typical.push(median(&delays));
                late.push(percentile(&delays, 99));
            }
            lines.push(line(how, "median", typical));
            lines.push(line(how, "99 of 100", late).aim(Aim::AtMost(LATE_MAX.as_secs_f64() * 1e6)));
        }
        let other = server.connect().await?;
        let mut late = Series::default();
        for _ in 0..bench.rounds {
            other.batch_execute("BEGIN; SELECT pg_current_xact_id()").await?;
            let appends = usize::try_from(HELD.as_nanos() / PAUSE.as_nanos())?;
            late.push(percentile(&followed.delays(1, appends, PAUSE).await?, 99));
            other.batch_execute("COMMIT").await?;
        }
        let how = format!("with a foreign transaction open for {} ms", HELD.as_millis());
        lines.push(line(&how, "99 of 100", late).aim(Aim::AtMost(LATE_MAX.as_secs_f64() * 1e6)));
        Ok(lines)
    })
}

fn line(how: &str, number: &str, series: Series) -> Line {
    Line::new(NAME, format!("from a commit to a follower elsewhere, {how}: {number}"), Unit::Micros, series)
}

/// Entries a second that a follower reads from the beginning of the feed.
async fn caught_up(engine: &Engine, entries: usize) -> Result<f64> {
    let began = Instant::now();
    let mut feed = engine.feed(FeedCursor::default()).await?;
    let mut read = 0;
    while feed.next_so_far().await?.is_some() {
        read += 1;
    }
    if read < entries {
        return Err(format!("the feed has {read} entries of {entries}").into());
    }
    Ok(f64::from(u32::try_from(read)?) / began.elapsed().as_secs_f64())
}

/// Writers, and a follower through a store of its own.
struct Followed {
    writer: Engine,
    threads: Vec<ThreadId>,
    follower: JoinHandle<()>,
    seen: mpsc::UnboundedReceiver<Result<(ThreadId, Instant)>>,
}

impl Followed {
    async fn new(ours: &Ours, elsewhere: &Ours) -> Result<Self> {
        let feed = elsewhere.engine.feed(elsewhere.engine.feed_latest().await?).await?;
        let (tell, seen) = mpsc::unbounded_channel();
        let follower = tokio::spawn(follow(feed, tell));
        Ok(Self { writer: ours.engine.clone(), threads: ours.threads.clone(), follower, seen })
    }

    /// Lets each of so many writers append so often, `pause` apart. Gives the microseconds from each commit until it
    /// was seen.
    async fn delays(&mut self, writers: usize, appends: usize, pause: Duration) -> Result<Vec<f64>> {
        let writing: Vec<_> = self.threads[..writers]
            .iter()
            .map(|thread| tokio::spawn(write(self.writer.clone(), *thread, appends, pause)))
            .collect();
        let mut committed = HashMap::new();
        for (thread, writing) in self.threads.iter().zip(writing) {
            committed.insert(*thread, writing.await??);
        }
        let mut delays = Vec::with_capacity(writers * appends);
        while delays.len() < writers * appends {
            let seen = tokio::time::timeout(LOST_AFTER, self.seen.recv()).await;
            let (thread, seen) =
                seen.map_err(|_| "a commit was not seen by a follower")?.ok_or("the follower is gone")??;
            // The entries of one thread are seen in the order of its commits.
            let committed = committed.get_mut(&thread).and_then(VecDeque::pop_front);
            let committed = committed.ok_or("the follower saw an entry that was not written")?;
            delays.push(seen.saturating_duration_since(committed).as_secs_f64() * 1e6);
        }
        Ok(delays)
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

/// Appends so often, and gives when each append was acknowledged.
async fn write(engine: Engine, thread: ThreadId, appends: usize, pause: Duration) -> Result<VecDeque<Instant>> {
    let mut ticks = (!pause.is_zero()).then(|| tokio::time::interval(pause));
    if let Some(ticks) = &mut ticks {
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    }
    let mut committed = VecDeque::with_capacity(appends);
    for n in 0..appends {
        if let Some(ticks) = &mut ticks {
            ticks.tick().await;
        }
        engine.append(thread, MessageBody::user(text(n))).await?;
        committed.push_back(Instant::now());
    }
    Ok(committed)
}

async fn follow(mut feed: FeedReader, tell: mpsc::UnboundedSender<Result<(ThreadId, Instant)>>) {
    loop {
        let next = feed.next().await;
        let (seen, is_last) = (Instant::now(), next.is_err());
        if tell.send(next.map(|item| (item.thread, seen)).map_err(Into::into)).is_err() || is_last {
            return;
        }
    }
}

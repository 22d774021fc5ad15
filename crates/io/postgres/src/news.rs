//! How processes tell each other that there is news, and how this one finds out what it was not told.
//!
//! NOTIFY goes out after the commit, on a connection beside the pool, and is a hint. The pulse asks the server again and
//! again: for news that was not heard of, for commits that held up the feed and have ended, for the time, and whether it
//! answers at all.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use threadkeep_model::ThreadId;
use threadkeep_store::Result;
use tokio::sync::{Mutex, mpsc};
use tokio_postgres::{AsyncMessage, Client, Statement};

use crate::clock::ASKED_EVERY;
use crate::connect::Connections;
use crate::error::from_postgres;
use crate::feed::{Asking, Reach, changed};
use crate::{POLL_MS, Shared};

/// Notifications go out at most so often; later news goes out with the next one.
const NOTIFY_PAUSE: Duration = Duration::from_millis(10);
/// Threads that one notification names; more are told as "look everywhere".
const NOTIFY_THREADS_MAX: usize = 200;
/// News between two pulses that are told thread by thread; more are told as "look everywhere".
const POLLED_MAX: usize = 2_000;
/// How often to look whether this process has a follower: only then does a connection listen.
const WATCHED_PAUSE: Duration = Duration::from_millis(20);
/// How often the listener looks whether the store was closed.
const CLOSED_PAUSE: Duration = Duration::from_millis(500);
const RECONNECT_PAUSE: Duration = Duration::from_millis(250);
/// How soon the pulse looks again while commits hold up a reader of the feed, at first and at last.
const HELD_UP_PAUSE: Duration = Duration::from_millis(5);
const HELD_UP_PAUSE_MAX: Duration = Duration::from_millis(40);

/// The connection beside the pool on which the pulse asks and notifications go out.
#[derive(Default)]
pub(crate) struct Side(Mutex<Option<Arc<SideClient>>>);

pub(crate) struct SideClient {
    client: Client,
    asking: Asking,
    notify: Statement,
}

impl Side {
    /// The connection; a new one if it was lost.
    async fn get(&self, connections: &Connections) -> Result<Arc<SideClient>> {
        let mut side = self.0.lock().await;
        if let Some(side) = side.as_ref().filter(|side| !side.client.is_closed()) {
            return Ok(Arc::clone(side));
        }
        let (client, _) = connections.apart(|_| {}).await?;
        let prepare = async || -> Result<_, tokio_postgres::Error> {
            // A hint needs no sync.
            client.batch_execute("SET synchronous_commit = off").await?;
            Ok((Asking::on(&client).await?, client.prepare("SELECT pg_notify($1, $2)").await?))
        };
        let (asking, notify) = prepare().await.map_err(from_postgres)?;
        Ok(Arc::clone(side.insert(Arc::new(SideClient { client, asking, notify }))))
    }

    /// Forgets a connection on which no answer came.
    async fn forget(&self) {
        drop(self.0.lock().await.take());
    }
}

impl Shared {
    /// There is news of `thread`: tells those who wait here, and the other processes.
    pub(crate) fn tell(&self, thread: ThreadId) {
        self.signals.tell(thread);
        // If it is full, the pulses of the others will see.
        let _ = self.news.try_send(thread);
    }

    /// The channel on which processes that share this store tell each other of news.
    fn channel(&self) -> String {
        format!("threadkeep_{}", self.connections.url.schema)
    }
}

/// Tells other processes of news, until the store is closed.
pub(crate) async fn notify(shared: Weak<Shared>, mut news: mpsc::Receiver<ThreadId>) {
    while let Some(thread) = news.recv().await {
        let mut threads = HashSet::from([thread]);
        while let Ok(thread) = news.try_recv() {
            threads.insert(thread);
        }
        let Some(shared) = shared.upgrade() else { return };
        let all = threads.len() > NOTIFY_THREADS_MAX;
        let names = threads.iter().map(|thread| format!("{:032x}", thread.bits()));
        let payload = if all { "*".to_owned() } else { names.collect::<Vec<_>>().join(",") };
        let payload = format!("{:016x} {payload}", shared.process);
        let told = async {
            let side = shared.side.get(&shared.connections).await?;
            side.client.execute(&side.notify, &[&shared.channel(), &payload]).await.map_err(from_postgres)
        };
        // It is a hint: where it is lost, the pulses of the others see the news.
        drop(tokio::time::timeout(shared.call_timeout(), told).await);
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
            && matches!(listened(&strong, &client).await, Ok(Ok(())))
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

/// Asks for the notifications of the channel.
async fn listened(
    shared: &Shared,
    client: &Client,
) -> Result<Result<(), tokio_postgres::Error>, tokio::time::error::Elapsed> {
    let listen = format!("LISTEN {}", shared.channel());
    tokio::time::timeout(shared.call_timeout(), client.batch_execute(&listen)).await
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

/// Asks the server again and again, until the store is closed.
pub(crate) async fn pulse(shared: Weak<Shared>) {
    let Some(held_up) = shared.upgrade().map(|shared| Arc::clone(&shared.held_up)) else { return };
    let (mut polled_at, mut pause) = (None::<Instant>, Duration::ZERO);
    loop {
        {
            let Some(shared) = shared.upgrade() else { return };
            let is_due = |every: Duration| polled_at.is_none_or(|at| at.elapsed() >= every);
            let is_poll =
                is_due(ASKED_EVERY) || (shared.signals.is_watched() && is_due(Duration::from_millis(POLL_MS)));
            if is_poll || pause < Duration::from_millis(POLL_MS) {
                let looked = shared.look(is_poll).await;
                polled_at = if is_poll { Some(Instant::now()) } else { polled_at };
                pause = match looked {
                    Some(reach) if reach.is_held_up() => (2 * pause).clamp(HELD_UP_PAUSE, HELD_UP_PAUSE_MAX),
                    Some(_) | None => Duration::from_millis(POLL_MS),
                };
            }
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = held_up.notified(), if pause > HELD_UP_PAUSE_MAX => {
                pause = HELD_UP_PAUSE;
                tokio::time::sleep(pause).await;
            }
        }
    }
}

impl Shared {
    /// Asks the server how far the feed reaches, and tells those who wait if it is further than before. In a poll each
    /// thread with news is told as well. None if the server gave no answer.
    async fn look(&self, is_poll: bool) -> Option<Reach> {
        let asked = Instant::now();
        let looking = async {
            let side = self.side.get(&self.connections).await?;
            let reach = side.asking.reach(&side.client, self.upkeep_lock).await?;
            self.time.told(reach.now, asked);
            let shown = reach.horizon.min(reach.latest + 1);
            if self.shown.swap(shown, Ordering::AcqRel) != shown {
                self.signals.tell_any();
            }
            let polled = self.polled.load(Ordering::Acquire);
            if is_poll && polled != shown {
                match changed(&side.client, polled, shown, POLLED_MAX).await? {
                    Some(threads) if polled >= 0 => threads.into_iter().for_each(|thread| self.signals.tell(thread)),
                    Some(_) | None => self.signals.tell_all(),
                }
                self.polled.store(shown, Ordering::Release);
            }
            Ok::<_, threadkeep_store::StoreError>(reach)
        };
        let looked = tokio::time::timeout(self.call_timeout(), looking).await;
        self.silent.send_if_modified(|silent| std::mem::replace(silent, looked.is_err()) != looked.is_err());
        match looked {
            Ok(Ok(reach)) => Some(reach),
            // It was refused, or cut off: calls notice that by themselves.
            Ok(Err(_)) | Err(_) => {
                self.side.forget().await;
                None
            }
        }
    }
}

/// Starts everything that runs beside commits and reads.
pub(crate) fn start(shared: &Arc<Shared>, news: mpsc::Receiver<ThreadId>) {
    tokio::spawn(notify(Arc::downgrade(shared), news));
    tokio::spawn(listen(Arc::downgrade(shared)));
    tokio::spawn(pulse(Arc::downgrade(shared)));
}

//! Runs effects: takes those that are due, runs their handlers, and says how each ended.
//!
//! Any number of processes may run effects of one store. A claim is a commit, so one of them gets an effect; if it dies,
//! another one takes the effect once its lease has ended. So a handler runs at least once, and not again after its end was
//! recorded. A handler that fails is tried three times by the process that has the effect.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use threadkeep_engine::{ClaimedEffect, DueBy, DueEffect, EffectEnd, Engine, KnowEffects, Owned, PassedOver, Result};
use threadkeep_model::{EffectName, ThreadId, Uuid};
use threadkeep_store::BoxFuture;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// Handlers that run at the same time.
const AT_ONCE_MAX: usize = 64;
/// Effects that this process holds, those between two tries included.
const HELD_MAX: usize = 1_024;
/// Rows of effects that are due, read at once.
const READ_AT_ONCE: usize = 256;
/// Threads that are written to at the same time.
const THREADS_AT_ONCE: usize = 16;
/// Tries of a handler, and the pause after the first; each later one is twice as long.
const TRIES_MAX: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);
/// Longest time of one try.
const TRY_TIME_MAX: Duration = Duration::from_secs(600);
/// How often all effects that are due are looked at again: one that waited may run by now, and processes may have died.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// The shortest time between two looks, so that a busy store is not asked with every commit.
const REST: Duration = Duration::from_millis(20);
/// The pause after a failure of the store.
const AFTER_FAILURE: Duration = Duration::from_millis(500);
/// How long the lease is kept after the last effect.
const IDLE: Duration = Duration::from_secs(4);
/// How long a process that stops waits for its handlers.
const GRACE: Duration = Duration::from_secs(5);

/// An effect, as its handler gets it.
#[derive(Clone)]
pub struct EffectCall {
    /// Acts for the actor who scheduled the effect, while the lease of this process holds. No run is open for it.
    pub engine: Engine,
    /// The effect: its thread, its id, its name and its arguments.
    pub effect: ClaimedEffect,
}

/// Runs effects by their names.
pub trait RunEffects: KnowEffects {
    /// Runs the handler of an effect that it knows. The error says why it failed, in words for people.
    fn run(&self, call: EffectCall) -> BoxFuture<'static, Result<(), String>>;

    /// Changes whenever names come or go.
    fn generation(&self) -> u64 {
        0
    }

    /// Makes ready what `knows` looks at. It is called first, and for each generation.
    fn prepare(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A handler in Rust.
pub type RustEffect = Arc<dyn Fn(EffectCall) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Handlers in Rust, by the names of their effects.
#[derive(Clone, Default)]
pub struct RustEffects(BTreeMap<String, RustEffect>);

impl RustEffects {
    /// The same, with one more handler.
    #[must_use]
    pub fn with<F, R>(mut self, name: &str, handler: F) -> Self
    where
        F: Fn(EffectCall) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.0.insert(name.to_owned(), Arc::new(move |call| Box::pin(handler(call))));
        self
    }

    /// Whether there is no handler.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl KnowEffects for RustEffects {
    fn knows(&self, name: &EffectName) -> bool {
        self.0.contains_key(name.as_str())
    }
}

impl RunEffects for RustEffects {
    fn run(&self, call: EffectCall) -> BoxFuture<'static, Result<(), String>> {
        match self.0.get(call.effect.name.as_str()) {
            Some(handler) => handler(call),
            None => Box::pin(std::future::ready(Err(format!("there is no effect '{}' here", call.effect.name)))),
        }
    }
}

/// Runs effects that are due, now and from now on, until `stop` resolves. Then it takes no more, and waits a moment for
/// handlers that run.
pub async fn run_effects(engine: Engine, handlers: Arc<dyn RunEffects>, stop: impl Future<Output = ()>) {
    let (ended, ends) = mpsc::unbounded_channel();
    let (told, done) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    tasks.spawn(record(engine.clone(), ends, told));
    let mut running = Running {
        news: engine.news(),
        engine,
        generation: None,
        handlers,
        slots: Arc::new(Semaphore::new(AT_ONCE_MAX)),
        passed: Arc::default(),
        held: HashSet::new(),
        owned: None,
        looked_up_to: None,
        again: Instant::now(),
        set_back: HashMap::new(),
        ended,
        done,
        tasks,
    };
    tokio::pin!(stop);
    loop {
        let wait = match running.look().await {
            Ok(wait) => wait,
            Err(error) => {
                tracing::warn!(%error, "effects cannot be run at this moment");
                AFTER_FAILURE
            }
        };
        running.let_go();
        tokio::select! {
            () = &mut stop => break,
            () = running.rest(wait) => {}
        }
    }
    // Handlers that do not end in time are taken over by another process.
    drop(timeout(GRACE, running.drain()).await);
}

/// An effect that ran, and the lease under which it did.
struct Ended {
    thread: ThreadId,
    end: EffectEnd,
    owned: Owned,
}

struct Running {
    engine: Engine,
    handlers: Arc<dyn RunEffects>,
    /// That of the last look; none before the first.
    generation: Option<u64>,
    news: threadkeep_store::Signal,
    /// Places for handlers.
    slots: Arc<Semaphore>,
    passed: Arc<PassedOver>,
    /// Effects that this process took and whose ends are not recorded.
    held: HashSet<Uuid>,
    /// The lease, and when it was last needed.
    owned: Option<(Owned, Instant)>,
    /// Everything that is due up to here was looked at.
    looked_up_to: Option<DueEffect>,
    /// When to begin again.
    again: Instant,
    /// Effects whose time will not come, because the clock was set back, and when that was noticed.
    set_back: HashMap<Uuid, Instant>,
    ended: mpsc::UnboundedSender<Ended>,
    done: mpsc::UnboundedReceiver<Uuid>,
    tasks: JoinSet<()>,
}

impl Running {
    /// Takes what is due, as far as there are places. Gives the time until the next look.
    async fn look(&mut self) -> Result<Duration> {
        let generation = Some(self.handlers.generation());
        if self.generation != generation {
            self.handlers.prepare().await;
            self.generation = generation;
            self.passed.clear();
            self.again = Instant::now();
        }
        if self.again <= Instant::now() {
            (self.looked_up_to, self.again) = (None, Instant::now() + LOOK_AGAIN);
            self.look_at_set_back().await?;
        }
        loop {
            let mut room = self.room();
            if room == 0 {
                // An end wakes it.
                return Ok(LOOK_AGAIN);
            }
            let due = self.engine.due_effects(self.looked_up_to.as_ref(), READ_AT_ONCE).await?;
            let is_last = due.len() < READ_AT_ONCE;
            let mut threads: BTreeMap<ThreadId, Vec<Uuid>> = BTreeMap::new();
            let mut left = false;
            for effect in due {
                if !self.held.contains(&effect.id) {
                    if room == 0 {
                        left = true;
                        break;
                    }
                    room -= 1;
                    threads.entry(effect.thread).or_default().push(effect.id);
                }
                self.looked_up_to = Some(effect);
            }
            self.claim(threads, DueBy::Clock).await?;
            if is_last && !left {
                break;
            }
        }
        let next = self.engine.next_effect().await?.unwrap_or(LOOK_AGAIN);
        Ok(next.min(self.again.saturating_duration_since(Instant::now())))
    }

    /// How many effects it may take.
    fn room(&self) -> usize {
        self.slots.available_permits().min(HELD_MAX.saturating_sub(self.held.len()))
    }

    /// Takes effects that were scheduled by a clock that was set back since, once their delay has passed here.
    async fn look_at_set_back(&mut self) -> Result<()> {
        let found = self.engine.effects_set_back().await?;
        let ids: HashSet<Uuid> = found.iter().map(|(effect, _)| effect.id).collect();
        self.set_back.retain(|id, _| ids.contains(id));
        let (now, mut room) = (Instant::now(), self.room());
        let mut threads: BTreeMap<ThreadId, Vec<Uuid>> = BTreeMap::new();
        for (effect, delay) in found {
            let noticed = *self.set_back.entry(effect.id).or_insert(now);
            if now >= noticed + delay && room > 0 && !self.held.contains(&effect.id) {
                room -= 1;
                threads.entry(effect.thread).or_default().push(effect.id);
            }
        }
        self.claim(threads, DueBy::Delay).await
    }

    /// Takes effects, thread by thread, and starts their handlers.
    async fn claim(&mut self, threads: BTreeMap<ThreadId, Vec<Uuid>>, due_by: DueBy) -> Result<()> {
        if threads.is_empty() {
            return Ok(());
        }
        let owned = match self.owned.take() {
            Some((owned, _)) if !owned.is_lost() => owned,
            _ => self.engine.own().await?,
        };
        self.owned = Some((owned.clone(), Instant::now()));
        let (mut claims, mut waiting) = (JoinSet::new(), threads.into_iter());
        loop {
            while claims.len() < THREADS_AT_ONCE
                && let Some((thread, ids)) = waiting.next()
            {
                let (engine, owned) = (self.engine.clone(), owned.clone());
                let (handlers, passed) = (Arc::clone(&self.handlers), Arc::clone(&self.passed));
                claims.spawn(async move {
                    let known: &dyn KnowEffects = &*handlers;
                    let claimed = engine.claim_effects(thread, ids, due_by, &owned, known, &passed).await;
                    (thread, claimed)
                });
            }
            match claims.join_next().await {
                None => return Ok(()),
                Some(Ok((_, Ok(claimed)))) => claimed.into_iter().for_each(|effect| self.start(effect, &owned)),
                // One thread that is damaged, or too busy, does not keep the others waiting.
                Some(Ok((thread, Err(error)))) => tracing::warn!(%thread, %error, "an effect was not claimed"),
                Some(Err(error)) => tracing::error!(%error, "claiming an effect broke off"),
            }
        }
    }

    fn start(&mut self, effect: ClaimedEffect, owned: &Owned) {
        self.held.insert(effect.id);
        let (handlers, slots, ended) = (Arc::clone(&self.handlers), Arc::clone(&self.slots), self.ended.clone());
        // A handler whose process was paused past its lease writes nothing more: another process has the effect.
        let (engine, owned) = (self.engine.for_effect(&effect).owned(owned), owned.clone());
        self.tasks.spawn(async move {
            let result = tried(&*handlers, &slots, EffectCall { engine, effect: effect.clone() }).await;
            let end = EffectEnd { id: effect.id, attempt: effect.attempt, result };
            // The receiver lives as long as this task.
            drop(ended.send(Ended { thread: effect.thread, end, owned }));
        });
    }

    /// Lets the lease go when nothing has needed it for a while.
    fn let_go(&mut self) {
        if self.held.is_empty() && self.owned.as_ref().is_some_and(|(_, used)| used.elapsed() > IDLE) {
            self.owned = None;
        }
    }

    /// Waits until it is worth to look again: at most `wait`, or until something was committed or an effect ended.
    async fn rest(&mut self, wait: Duration) {
        sleep(REST.min(wait)).await;
        tokio::select! {
            () = sleep(wait.saturating_sub(REST)) => {}
            () = self.news.wait() => {}
            Some(id) = self.done.recv() => drop(self.held.remove(&id)),
        }
        while let Ok(id) = self.done.try_recv() {
            self.held.remove(&id);
        }
        while self.tasks.try_join_next().is_some() {}
    }

    /// Waits until every end is recorded.
    async fn drain(&mut self) {
        while !self.held.is_empty() {
            let Some(id) = self.done.recv().await else { return };
            self.held.remove(&id);
        }
    }
}

/// Runs a handler until it succeeds, at most three times.
async fn tried(handlers: &dyn RunEffects, slots: &Semaphore, call: EffectCall) -> Result<(), String> {
    let (mut tries, mut pause) = (1, PAUSE);
    loop {
        let place = slots.acquire().await;
        // A task of its own, so that a panic is a failure of this try alone. It ends with this one.
        let mut task = JoinSet::new();
        task.spawn(handlers.run(call.clone()));
        let result = match timeout(TRY_TIME_MAX, task.join_next()).await {
            Ok(Some(Ok(result))) => result,
            Ok(Some(Err(_)) | None) => Err("its handler panicked".to_owned()),
            Err(_) => Err(format!("its handler took longer than {} s", TRY_TIME_MAX.as_secs())),
        };
        drop(place);
        if result.is_ok() || tries == TRIES_MAX {
            return result;
        }
        sleep(pause).await;
        (tries, pause) = (tries + 1, pause * 2);
    }
}

/// Records how effects ended, those of one thread together.
async fn record(engine: Engine, mut ends: mpsc::UnboundedReceiver<Ended>, told: mpsc::UnboundedSender<Uuid>) {
    let mut some = Vec::new();
    while ends.recv_many(&mut some, READ_AT_ONCE).await > 0 {
        let mut threads: HashMap<(ThreadId, _), (Owned, Vec<EffectEnd>)> = HashMap::new();
        for Ended { thread, end, owned } in some.drain(..) {
            threads.entry((thread, owned.id())).or_insert_with(|| (owned, Vec::new())).1.push(end);
        }
        let (mut writes, mut waiting) = (JoinSet::new(), threads.into_iter());
        loop {
            while writes.len() < THREADS_AT_ONCE
                && let Some(((thread, _), (owned, ends))) = waiting.next()
            {
                writes.spawn(recorded(engine.clone(), thread, ends, owned, told.clone()));
            }
            if writes.join_next().await.is_none() {
                break;
            }
        }
    }
}

async fn recorded(
    engine: Engine,
    thread: ThreadId,
    ends: Vec<EffectEnd>,
    owned: Owned,
    told: mpsc::UnboundedSender<Uuid>,
) {
    while !owned.is_lost() {
        match engine.end_effects(thread, &ends, &owned).await {
            Ok(_) => break,
            Err(error) if passes(&error) => sleep(AFTER_FAILURE).await,
            Err(error) => {
                tracing::warn!(%thread, %error, "the end of an effect was not recorded: it may run again");
                break;
            }
        }
    }
    for end in ends {
        // The receiver is gone when effects run no more.
        let _ = told.send(end.id);
    }
}

/// Whether a failure may be over in a moment.
fn passes(error: &threadkeep_engine::Error) -> bool {
    use threadkeep_engine::Error;
    use threadkeep_store::StoreError;
    matches!(error, Error::Busy | Error::Store(StoreError::Unavailable { .. } | StoreError::DiskFull))
}

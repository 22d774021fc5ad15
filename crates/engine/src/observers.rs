//! Tells observers: follows all that happens in the store, and hands each event to those who want to hear of it.
//!
//! One cursor for all of them is kept in the store, and moves only past delivered entries. So after a crash
//! nothing is missed, and some entries are delivered again: an idempotency key keeps a thread from being told
//! twice, and a webhook can drop repeats by the id of the event. Of several processes on one store one delivers,
//! while it holds the claim.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use threadkeep_calls::{Inject, ThreadEvent, WebhookEvent};
use threadkeep_model::{
    Account, Actor, ActorKind, Caller, Deliver, Entry, IdempotencyKey, InjectionType, ItemKind, Json, Kind,
    ObserverAdded, ThreadId, Timestamp, Uuid, Version,
};
use threadkeep_store::{
    BoxFuture, FeedCursor, FeedItem, FeedNews, Item, ItemList, Registered, RegistryKind, StoreError, StoredEntry,
};
use tokio::sync::Notify;

use crate::ground::engine::Shared;
use crate::search::BEHIND_COUNTED_MAX;
use crate::{Engine, Error, Result, WayOut};

/// Entries read at once.
const READ_AT_ONCE: usize = 200;
/// Observers read at once.
const OBSERVERS_AT_ONCE: usize = 1_000;
/// The shortest time between two looks.
const REST: Duration = Duration::from_millis(50);
/// The pause after a failure.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long one process delivers, unless it says so again.
const CLAIM: Duration = Duration::from_secs(10);
/// How often it says so, and keeps the cursor.
const KEEP: Duration = Duration::from_secs(4);
/// Most webhook deliveries under way. Until there is room, nothing more is read.
const UNDER_WAY_MAX: usize = 1_000;
/// The id of the document that holds the cursor.
const CURSOR: &str = "observers";

/// Something that happened to a thread, for one observer.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The same for each try: who has seen it before drops it.
    pub id: String,
    /// The id of the observer.
    pub observer: Uuid,
    /// The thread that observes.
    pub thread: ThreadId,
    /// The thread it happened to.
    pub target: ThreadId,
    /// The event that it reports.
    pub event: ThreadEvent,
    /// The version of the observed thread.
    pub version: Version,
    /// When the event was committed.
    pub time: Timestamp,
    /// The entry, as the log keeps it; for a webhook without secrets.
    pub data: Json,
}

/// Brings events to addresses outside.
pub trait Courier: Send + Sync {
    /// Delivers `delivery` to `url`, with its own retries. The error says why the receiver did not accept it.
    fn bring(&self, url: String, delivery: Delivery) -> BoxFuture<'_, Result<(), String>>;
}

/// Where the delivery is, as it lies in the store.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Place {
    cursor: u64,
    holder: Uuid,
    until: Timestamp,
}

/// The number of webhook deliveries under way, by their place in the feed.
#[derive(Default)]
struct UnderWay {
    places: Mutex<BTreeMap<FeedCursor, usize>>,
    done: Notify,
}

impl UnderWay {
    fn begin(&self, at: FeedCursor) {
        *self.places.lock().unwrap_or_else(PoisonError::into_inner).entry(at).or_default() += 1;
    }

    fn end(&self, at: FeedCursor) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = places.get_mut(&at) {
            *count -= 1;
            if *count == 0 {
                places.remove(&at);
            }
        }
        drop(places);
        self.done.notify_one();
    }

    /// The last place up to which everything was delivered, where `read` is how far the feed was read.
    fn delivered(&self, read: FeedCursor) -> FeedCursor {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.keys().next().map_or(read, |first| FeedCursor(first.0.saturating_sub(1)))
    }

    fn count(&self) -> usize {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

/// An observer, its target, and since when.
struct Observing {
    thread: ThreadId,
    added: ObserverAdded,
    at: Timestamp,
}

impl From<&Delivery> for WebhookEvent {
    fn from(delivery: &Delivery) -> Self {
        Self {
            id: delivery.id.clone(),
            event: delivery.event.as_str().to_owned(),
            observer_id: delivery.observer,
            thread_id: delivery.thread,
            target: delivery.target,
            version: delivery.version,
            time: delivery.time,
            data: delivery.data.clone(),
        }
    }
}

/// One process that delivers, or waits until it may.
struct Follower {
    courier: Option<Arc<dyn Courier>>,
    holder: Uuid,
    /// How far the feed was read; none while another process delivers, or there is no observer.
    read: Option<FeedCursor>,
    /// Where the feed was when there was no observer.
    idle: Option<FeedCursor>,
    /// Who observes each thread.
    observers: HashMap<ThreadId, Vec<Observing>>,
    under_way: Arc<UnderWay>,
    kept: Option<tokio::time::Instant>,
}

impl Engine {
    /// Tells observers about events, from where the last process stopped, until the future is dropped or the engine
    /// is gone. A server runs this. Without a courier, webhooks are skipped.
    pub async fn run_observers(self, courier: Option<Arc<dyn Courier>>) {
        let mut signal = self.shared.stores.feed.signals().any();
        let holder = Uuid::from_chance(self.shared.world.chance());
        let shared = Arc::downgrade(&self.shared);
        drop(self);
        let (observers, under_way) = (HashMap::new(), Arc::new(UnderWay::default()));
        let (read, idle, kept) = (None, None, None);
        let mut follower = Follower { courier, holder, read, idle, observers, under_way, kept };
        loop {
            let Some(engine) = system(&shared) else { return };
            let pause = match follower.look(&engine).await {
                Ok(pause) => pause,
                Err(_) => AFTER_FAILURE,
            };
            drop(engine);
            tokio::time::sleep(REST).await;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = signal.wait(), if pause != AFTER_FAILURE && follower.listens() => {}
                () = follower.under_way.done.notified() => {}
            }
        }
    }

    /// How far the delivery to observers is behind the log: entries counted up to 1,000, and the seconds since the oldest of
    /// them; none behind if there is no observer. A server notes every few seconds how far it is.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn observers_behind(&self) -> BoxFuture<'_, Result<(u64, u64)>> {
        Box::pin(async move {
            if !any_observer(self).await? {
                return Ok((0, 0));
            }
            let Some(place) = place(self).await? else { return Ok((0, 0)) };
            let behind = self.shared.stores.feed.behind(FeedCursor(place.cursor), BEHIND_COUNTED_MAX).await?;
            Ok((behind.items, behind.seconds(self.now())))
        })
    }

    /// Where an event is injected into the thread that observes: once, however often it is tried.
    async fn deliver_to_thread(&self, delivery: &Delivery) -> Result<()> {
        let actor = Actor { kind: ActorKind::System, name: "observe".to_owned() };
        let Some(thread) = self.shared.stores.store.thread(delivery.thread.into()).await? else { return Ok(()) };
        let engine = self.acting_as(Caller { account: thread.account, actor, cause: Some(delivery.id.clone()) });
        let said = serde_json::json!({
            "observer": delivery.observer,
            "target": delivery.target,
            "event": delivery.event.as_str(),
            "version": delivery.version,
            "time": delivery.time,
        });
        let inject = Inject::new(InjectionType::Data, Json::from_value("content", &said)?);
        match engine.inject_once(delivery.thread, inject, IdempotencyKey::new(delivery.id.clone())?).await {
            Ok(_) => Ok(()),
            // A thread that takes no injections misses the event.
            Err(
                Error::InjectionsFull { .. }
                | Error::ThreadClosed { .. }
                | Error::ThreadTerminated
                | Error::ThreadNotFound { .. },
            ) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn system(shared: &Weak<Shared>) -> Option<Engine> {
    let shared = shared.upgrade()?;
    Some(Engine {
        shared,
        caller: Arc::new(Caller::local()),
        writes_to: None,
        envelope: None,
        happened: None,
        validator: None,
        defined: None,
        guarded: false,
        owner: None,
        effects: None,
        embedder: None,
    })
}

impl Follower {
    /// Whether news of the store matter to it: not while another process delivers.
    fn listens(&self) -> bool {
        self.read.is_some() || self.idle.is_some()
    }

    /// Delivers new entries. Returns how long nothing has to be done.
    async fn look(&mut self, engine: &Engine) -> Result<Duration> {
        loop {
            let Some(mut read) = self.claim(engine).await? else { return Ok(KEEP) };
            if self.under_way.count() >= UNDER_WAY_MAX {
                return Ok(KEEP);
            }
            let news = engine.shared.stores.feed.feed(read, READ_AT_ONCE).await?;
            for item in &news {
                self.hear(engine, item).await?;
                read = item.cursor;
                self.read = Some(read);
            }
            if news.len() < READ_AT_ONCE {
                return Ok(KEEP);
            }
        }
    }

    /// How far the feed was read, if there are observers and this process is the one that delivers.
    async fn claim(&mut self, engine: &Engine) -> Result<Option<FeedCursor>> {
        if self.observers.is_empty() {
            // Observers are not told of entries from before they were added.
            let latest = engine.shared.stores.feed.latest().await?;
            if !any_observer(engine).await? {
                (self.read, self.kept, self.idle) = (None, None, Some(latest));
                return Ok(None);
            }
        } else if let Some(read) = self.read
            && self.kept.is_some_and(|kept| kept.elapsed() < KEEP)
        {
            return Ok(Some(read));
        }
        let place = place(engine).await?;
        let now = engine.shared.now();
        if place.as_ref().is_some_and(|place| place.holder != self.holder && place.until > now) {
            (self.read, self.kept, self.idle) = (None, None, None);
            return Ok(None);
        }
        let read = match self.read {
            Some(read) => read,
            None => {
                self.observers = all_observers(engine).await?;
                let delivered = place.map_or(FeedCursor::default(), |place| FeedCursor(place.cursor));
                delivered.max(self.idle.take().unwrap_or_default())
            }
        };
        self.read = Some(read);
        self.keep(engine, read).await?;
        Ok(Some(read))
    }

    /// Says in the store how far everything was delivered, and that this process goes on.
    async fn keep(&mut self, engine: &Engine, read: FeedCursor) -> Result<()> {
        let now = engine.shared.now();
        let until = now.plus_micros(CLAIM.as_micros() as i64);
        let place = Place { cursor: self.under_way.delivered(read).0, holder: self.holder, until };
        let json = serde_json::to_string(&place).map_err(|error| StoreError::corrupt(error.to_string()))?;
        let (kind, account) = (RegistryKind::Follower, Account::local());
        let document = Registered { kind, id: CURSOR.to_owned(), account, json, created: now };
        engine.shared.stores.registry.register(document).await?;
        self.kept = Some(tokio::time::Instant::now());
        Ok(())
    }

    async fn hear(&mut self, engine: &Engine, item: &FeedItem) -> Result<()> {
        let entry = match &item.news {
            FeedNews::Began(_) => return Ok(()),
            FeedNews::Entry(entry) => entry,
            FeedNews::Deleted => {
                self.observers.remove(&item.thread);
                self.observers.values_mut().for_each(|those| those.retain(|observer| observer.thread != item.thread));
                self.observers.retain(|_, those| !those.is_empty());
                return Ok(());
            }
        };
        if entry.kind == Kind::Observed
            && let Some(Entry::Observed(added)) = engine.read_if_whole(entry).await?
        {
            let those = self.observers.entry(added.target).or_default();
            if those.iter().all(|observer| observer.added.id != added.id) {
                let at = entry.time;
                those.push(Observing { thread: item.thread, added, at });
            }
        } else if entry.kind == Kind::ObserverRemoved
            && let Some(Entry::ObserverRemoved(removed)) = engine.read_if_whole(entry).await?
        {
            self.observers.values_mut().for_each(|those| those.retain(|it| it.added.id != removed.id));
            self.observers.retain(|_, those| !those.is_empty());
        } else if self.observers.contains_key(&item.thread) {
            self.tell(engine, item, entry).await?;
        }
        Ok(())
    }

    /// Tells every observer of the thread about an entry.
    async fn tell(&self, engine: &Engine, item: &FeedItem, entry: &StoredEntry) -> Result<()> {
        let Some(fact) = engine.read_if_whole(entry).await? else { return Ok(()) };
        let events = ThreadEvent::of(&fact);
        let those = self.observers.get(&item.thread).map(Vec::as_slice).unwrap_or_default();
        let body = String::from_utf8_lossy(&fact.encode()).into_owned();
        let goes_out = |observer: &Observing| matches!(observer.added.deliver, Deliver::Webhook(_));
        let body = if !events.is_empty() && those.iter().any(goes_out) {
            match engine.redactor(WayOut::Webhook, Some(item.thread)).await {
                Ok(redactor) => redactor.json(&body).into_owned(),
                // Without the key no secret can be found, and other observers must not wait for it: the event goes
                // out without its data.
                Err(Error::SecretsUnavailable { .. }) => "null".to_owned(),
                Err(error) => return Err(error),
            }
        } else {
            body
        };
        for observer in those.iter().filter(|observer| !events.is_empty() && observer.at <= entry.time) {
            if !engine.still_observes(observer).await? {
                continue;
            }
            for event in events.iter().filter(|event| observer.added.events.iter().any(|it| it == event.as_str())) {
                let delivery = Delivery {
                    id: format!(
                        "observe-{}-{}-{}-{}",
                        observer.added.id,
                        entry.segment,
                        entry.position,
                        event.as_str()
                    ),
                    observer: observer.added.id,
                    thread: observer.thread,
                    target: item.thread,
                    event: *event,
                    version: entry.position,
                    time: entry.time,
                    data: Json::parse("data", &body)?,
                };
                match &observer.added.deliver {
                    Deliver::Thread => engine.deliver_to_thread(&delivery).await?,
                    Deliver::Webhook(url) => self.bring(item.cursor, url.clone(), delivery, engine),
                }
            }
        }
        Ok(())
    }

    /// Delivers an event to a webhook in the background. If every try fails, the thread is told.
    fn bring(&self, at: FeedCursor, url: String, delivery: Delivery, engine: &Engine) {
        let Some(courier) = self.courier.clone() else { return };
        let (under_way, shared) = (Arc::clone(&self.under_way), Arc::downgrade(&engine.shared));
        under_way.begin(at);
        tokio::spawn(async move {
            if let Err(why) = courier.bring(url, delivery.clone()).await
                && let Some(engine) = system(&shared)
            {
                // If the store is unavailable, too, the failure cannot be reported anywhere.
                drop(engine.tell_undelivered(&delivery, &why).await);
            }
            under_way.end(at);
        });
    }
}

impl Engine {
    /// Whether an observer still holds: its thread lives, belongs with its target, and the entry that added it is in
    /// view.
    async fn still_observes(&self, observer: &Observing) -> Result<bool> {
        let store = &self.shared.stores.store;
        let found = store.item(ItemKind::Observer, observer.added.id.to_string()).await?;
        let Some((thread, item)) = found.filter(|(thread, _)| *thread == observer.thread) else { return Ok(false) };
        let Some(own) = store.thread(thread.into()).await? else { return Ok(false) };
        let Some(target) = store.thread(observer.added.target.into()).await? else { return Ok(false) };
        Ok(own.account == target.account && self.read_observer(thread, &own.head, &item).await?.holds)
    }

    /// Says on the observing thread that a webhook was not taken.
    async fn tell_undelivered(&self, delivery: &Delivery, why: &str) -> Result<()> {
        let Some(thread) = self.shared.stores.store.thread(delivery.thread.into()).await? else { return Ok(()) };
        let actor = Actor { kind: ActorKind::System, name: "observe".to_owned() };
        let engine = self.acting_as(Caller { account: thread.account, actor, cause: Some(delivery.id.clone()) });
        let data = serde_json::json!({
            "error": "webhook_failed",
            "observer": delivery.observer,
            "delivery": delivery.id,
            "detail": why,
        });
        let event = threadkeep_model::Event {
            kind: threadkeep_model::EventKind::Result,
            data: Json::from_value("data", &data)?,
        };
        engine.append_event(delivery.thread, event).await.map(drop)
    }
}

/// Where the delivery is.
async fn place(engine: &Engine) -> Result<Option<Place>> {
    let found = engine.shared.stores.registry.registered(RegistryKind::Follower, vec![CURSOR.to_owned()]).await?;
    let read = |document: &Registered| {
        serde_json::from_str(&document.json)
            .map_err(|error| StoreError::corrupt(format!("where observers are told: {error}")).into())
    };
    found.first().map(read).transpose()
}

/// Whether there is any observer.
async fn any_observer(engine: &Engine) -> Result<bool> {
    let list = ItemList { kind: ItemKind::Observer, account: None, after: None, limit: 1 };
    Ok(!engine.shared.stores.store.all_items(list).await?.is_empty())
}

/// All observers, by the thread that they observe.
async fn all_observers(engine: &Engine) -> Result<HashMap<ThreadId, Vec<Observing>>> {
    let mut all: HashMap<ThreadId, Vec<Observing>> = HashMap::new();
    let mut after = None;
    loop {
        let list = ItemList { kind: ItemKind::Observer, account: None, after, limit: OBSERVERS_AT_ONCE };
        let some: Vec<(ThreadId, Item)> = engine.shared.stores.store.all_items(list).await?;
        let Some((_, last)) = some.last() else { return Ok(all) };
        after = Some((last.made, last.key.clone()));
        for (thread, item) in &some {
            if let Some(Entry::Observed(added)) = engine.read_if_whole(&item.entry).await? {
                let at = item.made;
                let those = all.entry(added.target).or_default();
                those.push(Observing { thread: *thread, added, at });
            }
        }
    }
}

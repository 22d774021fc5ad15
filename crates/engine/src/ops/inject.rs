//! `inject` and `ack`: gives a text to the executor of a thread, once.
//!
//! An injection is no message: it never joins the conversation. The next start or step of a run gives it to the
//! executor and acknowledges it in the same commit. It is an entry of the record, so it needs no lease, and no
//! fork inherits it. It holds while the entry that made it is in view: one that a rollback undid does not wait,
//! until the rollback is undone. A rollback does not undo an acknowledgement.

use threadkeep_calls as calls;
use threadkeep_calls::{Acknowledge, At, Inject, Injection, InjectionState, ListInjections, Page};
use threadkeep_model::{
    Actor, Code, Entry, IdempotencyKey, Injected, InjectionTaken, Invalid, ItemKind, MessageId, Thread, ThreadId,
    Timestamp, Urgency, Uuid, Version,
};
use threadkeep_store::{BoxFuture, Item, ItemQuery, StoreError, StoredEntry};

use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::ground::show::Shown;
use crate::ground::view::View;
use crate::{Engine, Error, Result};

/// An injection that waits, and the place of the entry that made it.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) injection: Injection,
    place: MessageId,
}

impl Waiting {
    /// The entry that says that `run` took it up.
    pub(crate) fn taken_by(&self, run: Option<Uuid>) -> Entry {
        Entry::InjectionTaken(InjectionTaken { id: self.injection.id, injected: self.place, execution: run })
    }
}

impl Carry for Inject {
    type Made = Injection;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Injection> {
        engine.inject_as(thread, Uuid::from_chance(engine.shared.world.chance()), self).await
    }

    async fn told(made: Injection, _: &Engine) -> Result<Shown> {
        Shown::plain(&calls::Injected { injection_id: made.id })
    }
}

impl Carry for ListInjections {
    type Made = Page<Injection>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Page<Injection>> {
        let injections = engine.injections(thread, self.state).await?;
        engine.part(thread, injections, (self.limit, self.cursor), |item| format!("injection {}", item.id))
    }
}

impl Carry for Acknowledge {
    type Made = Injection;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Injection> {
        let id = self.injection;
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                let view = engine.view(thread.id, &thread.head, None).await?;
                let found = engine.injected(&thread, ItemKind::Injection, Some(id)).await?;
                if let Some(item) = found.into_iter().find(|item| view.holds(item.born)) {
                    let taken = engine.read_waiting(&item).await?.taken_by(None);
                    return Ok(Plan::new(thread, vec![taken]));
                }
                // Invariant: what was taken up is looked for last. In between, a step may take up what waits.
                match engine.found_taken(&thread, id).await? {
                    Some(_) => Ok(Plan::new(thread, Vec::new())),
                    None => Err(Error::InjectionNotFound { injection: id }),
                }
            })
            .await?;
        if let Some(Entry::InjectionTaken(taken)) = told.entries.first() {
            return engine.taken_injection(taken, &told.by, told.place.time).await;
        }
        let taken = engine.found_taken(&told.thread, id).await?;
        taken.ok_or(Error::InjectionNotFound { injection: id })
    }
}

impl Engine {
    /// Injects something once: however often it is tried with this key, it is injected the first time.
    pub(crate) async fn inject_once(&self, thread: ThreadId, inject: Inject, key: IdempotencyKey) -> Result<Injection> {
        // A repeat is the same in everything, its identity too.
        let mut bits = [0; 16];
        blake3::Hasher::new().update(key.as_str().as_bytes()).finalize_xof().fill(&mut bits);
        let request = [inject.content.as_str().as_bytes()];
        let (engine, thread) = self.enter(At::of(thread).keyed(key), "inject", &request).await?;
        engine.inject_as(thread, Uuid::from_chance(u128::from_be_bytes(bits)), inject).await
    }

    async fn inject_as(&self, thread: ThreadId, id: Uuid, inject: Inject) -> Result<Injection> {
        let Inject { kind, content, urgency } = inject;
        let max = self.shared.limits.message_bytes_max;
        if content.as_str().len() > max {
            return Err(Invalid::new(Code::TooLarge, "content", format!("has at most {max} bytes of JSON")).into());
        }
        let injected = Injected { id, kind, content, urgency };
        let told = self
            .tell(thread, || async {
                let thread = self.thread(thread).await?;
                let waiting = self.waiting_places(&thread).await?.len();
                decide(thread, injected.clone(), waiting, self.shared.limits.injections_max)
            })
            .await?;
        match told.entries.into_iter().next() {
            Some(Entry::Injected(injected)) => Ok(waiting(injected, &told.by, told.place.time, told.place.first)),
            _ => Err(Error::broken("an injection is one entry")),
        }
    }

    /// The injections of a thread that hold, in the order they were made.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn injections(&self, thread: ThreadId, state: InjectionState) -> BoxFuture<'_, Result<Vec<Injection>>> {
        Box::pin(async move {
            let thread = self.thread(thread).await?;
            let mut found = Vec::new();
            if matches!(state, InjectionState::Waiting | InjectionState::All) {
                for item in self.waiting_places(&thread).await? {
                    found.push(self.read_waiting(&item).await?.injection);
                }
            }
            if matches!(state, InjectionState::Taken | InjectionState::All) {
                let view = self.view(thread.id, &thread.head, None).await?;
                for item in self.injected(&thread, ItemKind::InjectionTaken, None).await? {
                    found.extend(self.read_taken(&view, &item).await?);
                }
            }
            found.sort_by_key(|injection| injection.version);
            Ok(found)
        })
    }

    /// An injection that an entry at this time says was taken up.
    pub(crate) async fn taken_injection(&self, taken: &InjectionTaken, by: &Actor, at: Timestamp) -> Result<Injection> {
        let missing = || StoreError::corrupt(format!("injection {} is not where it was taken up from", taken.id));
        let entry = self.entry_at(taken.injected).await?.ok_or_else(missing)?;
        let injection = self.read_injected(&entry, &taken.id.to_string()).await?;
        Ok(Injection {
            state: InjectionState::Taken,
            taken_by: Some(by.clone()),
            taken_at: Some(at),
            run_id: taken.execution,
            ..injection
        })
    }

    /// The injections a run takes up next: immediate ones first, then in order. Those that do not fit into one
    /// answer go on waiting.
    pub(crate) async fn waiting_injections(&self, thread: &Thread) -> Result<Vec<Waiting>> {
        let mut waiting = Vec::new();
        for item in self.waiting_places(thread).await? {
            waiting.push(self.read_waiting(&item).await?);
        }
        waiting.sort_by_key(|waiting| (waiting.injection.urgency == Urgency::NextStep, waiting.injection.version));
        let mut bytes = 0;
        let fits = waiting.iter().take_while(|waiting| {
            let room = bytes < self.shared.limits.page_bytes_max;
            bytes += waiting.injection.content.as_str().len();
            room
        });
        let fits = fits.count();
        waiting.truncate(fits);
        Ok(waiting)
    }

    /// The injections that wait and hold, not read yet.
    async fn waiting_places(&self, thread: &Thread) -> Result<Vec<Item>> {
        let mut items = self.injected(thread, ItemKind::Injection, None).await?;
        if !items.is_empty() {
            let view = self.view(thread.id, &thread.head, None).await?;
            items.retain(|item| view.holds(item.born));
        }
        Ok(items)
    }

    async fn injected(&self, thread: &Thread, kind: ItemKind, id: Option<Uuid>) -> Result<Vec<Item>> {
        let key = id.map(|id| id.to_string());
        Ok(self.shared.stores.store.items(ItemQuery { thread: thread.id, kind, key, limit: usize::MAX }).await?)
    }

    async fn found_taken(&self, thread: &Thread, id: Uuid) -> Result<Option<Injection>> {
        match self.injected(thread, ItemKind::InjectionTaken, Some(id)).await?.first() {
            Some(item) => self.read_taken(&self.view(thread.id, &thread.head, None).await?, item).await,
            None => Ok(None),
        }
    }

    async fn read_waiting(&self, item: &Item) -> Result<Waiting> {
        Ok(Waiting { injection: self.read_injected(&item.entry, &item.key).await?, place: item.born })
    }

    async fn read_injected(&self, entry: &StoredEntry, key: &str) -> Result<Injection> {
        match self.decode(entry).await? {
            Entry::Injected(injected) => Ok(waiting(injected, &entry.actor, entry.time, entry.position)),
            other => Err(odd(key, &other)),
        }
    }

    /// An injection that was taken up; none if it was undone.
    async fn read_taken(&self, view: &View, item: &Item) -> Result<Option<Injection>> {
        let taken = match self.decode(&item.entry).await? {
            Entry::InjectionTaken(taken) => taken,
            other => return Err(odd(&item.key, &other)),
        };
        if !view.holds(taken.injected) {
            return Ok(None);
        }
        self.taken_injection(&taken, &item.entry.actor, item.entry.time).await.map(Some)
    }
}

/// The plan, on a thread on which `waiting` injections wait.
fn decide(thread: Thread, injected: Injected, waiting: usize, max: usize) -> Result<Plan> {
    open_for(&thread, Change::Content)?;
    if thread.record.terminated.is_some() {
        return Err(Error::ThreadTerminated);
    }
    if waiting >= max {
        return Err(Error::InjectionsFull { max });
    }
    Ok(Plan::new(thread, vec![Entry::Injected(injected)]))
}

/// An injection that waits.
fn waiting(injected: Injected, by: &Actor, created_at: Timestamp, version: Version) -> Injection {
    let Injected { id, kind, content, urgency } = injected;
    Injection {
        id,
        kind,
        content,
        urgency,
        state: InjectionState::Waiting,
        actor: by.clone(),
        created_at,
        version,
        taken_by: None,
        taken_at: None,
        run_id: None,
    }
}

fn odd(key: &str, entry: &Entry) -> Error {
    StoreError::corrupt(format!("item {key} is a {} entry", entry.kind().as_str())).into()
}

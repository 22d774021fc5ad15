//! `inject` and `ack`: something is put before whoever works on a thread, and is taken up once.
//!
//! An injection is no message: it never joins the conversation. The next `begin` or `step` gives it to the executor and
//! acknowledges it in the same commit. It is an entry of the record, so it needs no lease, and no fork inherits it; it
//! holds while the entry that made it is in view, so one that was undone waits no more until that is taken back. What was
//! taken up stays so, whatever is rolled back.

use std::sync::Arc;

use bytes::Bytes;
use threadkeep_model::{
    Actor, Code, Entry, Idempotency, IdempotencyKey, Injected, InjectionTaken, InjectionType, Invalid, ItemKind, Json,
    MessageId, NewEntry, Thread, ThreadId, Timestamp, Urgency, Uuid, Version,
};
use threadkeep_store::{Item, ItemQuery, StoreError};

use super::append::hash;
use super::write;
use crate::gate::{Change, open_for};
use crate::view::View;
use crate::{Engine, Error, Result};

/// Something for whoever works on a thread.
#[derive(Debug, Clone)]
pub struct Inject {
    /// What it is.
    pub kind: InjectionType,
    /// What it says: any JSON.
    pub content: Json,
    /// How soon it shall be taken up.
    pub urgency: Urgency,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl Inject {
    /// `content`, with the next step.
    pub fn new(kind: InjectionType, content: Json) -> Self {
        Self { kind, content, urgency: Urgency::default(), expected: None }
    }

    /// The same before everything else that waits.
    #[must_use]
    pub fn immediate(self) -> Self {
        Self { urgency: Urgency::Immediate, ..self }
    }
}

/// Takes up an injection by hand.
#[derive(Debug, Clone, Copy)]
pub struct Acknowledge {
    /// Which one.
    pub injection: Uuid,
}

/// Something that was injected.
#[derive(Debug, Clone, PartialEq)]
pub struct Injection {
    /// Its identity.
    pub id: Uuid,
    /// What it is.
    pub kind: InjectionType,
    /// What it says.
    pub content: Json,
    /// How soon it shall be taken up.
    pub urgency: Urgency,
    /// Who injected it.
    pub actor: Arc<Actor>,
    /// When.
    pub created: Timestamp,
    /// Where it stands in the thread's history.
    pub version: Version,
    /// How it was taken up; none while it waits.
    pub taken: Option<Taken>,
}

/// How an injection was taken up.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// By the execution that began or stepped then; none if it was acknowledged by hand.
    pub execution: Option<Uuid>,
    /// By whom.
    pub by: Arc<Actor>,
    /// When.
    pub at: Timestamp,
}

/// Which injections to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InjectionState {
    /// Those that nobody took up yet.
    #[default]
    Waiting,
    /// Those that were taken up.
    Taken,
    /// All.
    All,
}

/// An injection that waits, and the place of the entry that made it.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) injection: Injection,
    place: MessageId,
}

impl Waiting {
    /// What says that `execution` took it up.
    pub(crate) fn taken_by(&self, execution: Option<Uuid>) -> Entry {
        Entry::InjectionTaken(InjectionTaken { id: self.injection.id, injected: self.place, execution })
    }
}

impl Engine {
    /// Puts something before whoever works on a thread. The next `begin` or `step` of an execution takes it up; until then
    /// it waits, also across restarts. Whoever follows the thread sees it at once.
    ///
    /// # Errors
    /// [`Error::InjectionsFull`]; [`Error::ThreadClosed`]; [`Error::ThreadTerminated`]; [`Error::VersionConflict`];
    /// content that is too large.
    pub async fn inject(&self, thread: ThreadId, inject: Inject) -> Result<Injection> {
        self.inject_as(thread, Uuid::from_chance(self.shared.world.chance()), inject, None).await
    }

    /// The same, once: however often it is tried with this key, it is injected the first time.
    pub(crate) async fn inject_once(&self, thread: ThreadId, inject: Inject, key: IdempotencyKey) -> Result<Injection> {
        // A repeat is the same in everything, its identity too.
        let mut bits = [0; 16];
        blake3::Hasher::new().update(key.as_str().as_bytes()).finalize_xof().fill(&mut bits);
        self.inject_as(thread, Uuid::from_chance(u128::from_be_bytes(bits)), inject, Some(key)).await
    }

    async fn inject_as(
        &self,
        thread: ThreadId,
        id: Uuid,
        inject: Inject,
        key: Option<IdempotencyKey>,
    ) -> Result<Injection> {
        let Inject { kind, content, urgency, expected } = inject;
        let max = self.shared.limits.message_bytes_max;
        if content.as_str().len() > max {
            return Err(Invalid::new(Code::TooLarge, "content", format!("has at most {max} bytes of JSON")).into());
        }
        let injected = Entry::Injected(Injected { id, kind, content: content.clone(), urgency });
        let entry = NewEntry::new(&injected);
        let hash = || hash(&[Bytes::from_static(b"inject"), injected.encode()]);
        let idempotency = key.map(|key| Idempotency { key, hash: hash() });
        let (committed, ()) = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                if thread.record.terminated {
                    return Err(Error::ThreadTerminated);
                }
                let max = self.shared.limits.injections_max;
                if self.waiting_places(&thread).await?.len() >= max {
                    return Err(Error::InjectionsFull { max });
                }
                let mut commit = self.commit(vec![write(&thread, expected, None, vec![entry.clone()], None)]);
                commit.idempotency = idempotency.clone();
                Ok((commit, ()))
            })
            .await?;
        let place = committed.threads.first().ok_or(Error::Busy)?;
        let (actor, created) = (Arc::new(self.caller.actor.clone()), place.time);
        Ok(Injection { id, kind, content, urgency, actor, created, version: place.first, taken: None })
    }

    /// The injections of a thread that hold, in the order they were made.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn injections(&self, thread: ThreadId, state: InjectionState) -> Result<Vec<Injection>> {
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
    }

    /// Takes up an injection by hand. Once more changes nothing, and says who took it up.
    ///
    /// # Errors
    /// [`Error::InjectionNotFound`] if there is none, or it was undone.
    pub async fn acknowledge(&self, thread: ThreadId, acknowledge: Acknowledge) -> Result<Injection> {
        let id = acknowledge.injection;
        if let Some(taken) = self.found_taken(&self.thread(thread).await?, id).await? {
            return Ok(taken);
        }
        let settled = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                let view = self.view(thread.id, &thread.head, None).await?;
                let found = self.injected(&thread, ItemKind::Injection, Some(id)).await?;
                let Some(item) = found.into_iter().find(|item| view.holds(item.born)) else {
                    return Err(Error::InjectionNotFound { injection: id });
                };
                let waiting = self.read_waiting(&item).await?;
                let entry = NewEntry::new(&waiting.taken_by(None));
                Ok((self.commit(vec![write(&thread, None, None, vec![entry], None)]), waiting.injection))
            })
            .await;
        match settled {
            Ok((committed, injection)) => {
                let at = committed.threads.first().map(|place| place.time).ok_or(Error::Busy)?;
                let taken = Some(Taken { execution: None, by: Arc::new(self.caller.actor.clone()), at });
                Ok(Injection { taken, ..injection })
            }
            // Somebody else may have been faster.
            Err(Error::InjectionNotFound { .. }) => {
                let taken = self.found_taken(&self.thread(thread).await?, id).await?;
                taken.ok_or(Error::InjectionNotFound { injection: id })
            }
            Err(error) => Err(error),
        }
    }

    /// What an execution takes up next: immediate ones first, then in order; the rest waits where they are too many for
    /// one answer.
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
        match self.decode(&item.entry).await? {
            Entry::Injected(Injected { id, kind, content, urgency }) => {
                let (actor, created, version) = (Arc::clone(&item.entry.actor), item.entry.time, item.entry.position);
                let injection = Injection { id, kind, content, urgency, actor, created, version, taken: None };
                Ok(Waiting { injection, place: item.born })
            }
            other => Err(odd(&item.key, &other)),
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
        let missing = || StoreError::corrupt(format!("injection {} is not where it was taken up from", taken.id));
        let entry = self.entry_at(taken.injected).await?.ok_or_else(missing)?;
        let waiting = self.read_waiting(&Item { born: taken.injected, entry, ..item.clone() }).await?;
        let (execution, by, at) = (taken.execution, Arc::clone(&item.entry.actor), item.entry.time);
        Ok(Some(Injection { taken: Some(Taken { execution, by, at }), ..waiting.injection }))
    }
}

fn odd(key: &str, entry: &Entry) -> Error {
    StoreError::corrupt(format!("item {key} is a {} entry", entry.kind().as_str())).into()
}

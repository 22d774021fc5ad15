//! `schedule-effect`, `effects`, `remove-effect`, `adopt-effects`: work that runs later.
//!
//! An effect is an item until it ends. It holds while the entry that scheduled it is in view: one that a rollback undid
//! waits, until the rollback is undone. No fork inherits it. Processes that run effects are next door, in `effects`.

use std::sync::Arc;

use threadkeep_calls::{
    AdoptEffects, Adopted, At, Deleted, Effect, EffectState, ListEffects, Page, RemoveEffect, ScheduleEffect,
};
use threadkeep_model::{
    Actor, ActorKind, Caller, Code, EffectClaimed, EffectEnded, EffectOutcome, EffectScheduled, Entry, Invalid,
    ItemKind, Json, MessageId, Thread, ThreadId, Uuid,
};
use threadkeep_store::{BoxFuture, Item, ItemList, ItemQuery, StoreError};

use crate::approvals::not_an_item;
use crate::ground::carry::Carry;
use crate::ground::defined::KnowEffects;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::{Engine, Error, Result};

/// Items read at once where all are looked at.
const READ_AT_ONCE: usize = 200;

/// An effect that has not ended, with all that the log says of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenEffect {
    pub(crate) scheduled: EffectScheduled,
    /// The place of the entry that scheduled it here.
    pub(crate) place: MessageId,
    /// The place of the first entry: while it is in view, the effect holds.
    pub(crate) born: MessageId,
    /// The newest claim.
    pub(crate) claim: Option<EffectClaimed>,
}

impl OpenEffect {
    /// The effect as calls tell it, in the store with this id.
    fn told(self, store: Uuid) -> Effect {
        let EffectScheduled { id, name, args, at, created, by, store: own } = self.scheduled;
        let state = match &self.claim {
            _ if own != store => EffectState::Foreign,
            Some(_) => EffectState::Running,
            None => EffectState::Pending,
        };
        let attempt = self.claim.map_or(0, |claim| claim.attempt);
        Effect { id, name, args, scheduled_at: at, created_at: created, state, attempt, actor: by }
    }
}

impl Carry for ScheduleEffect {
    type Made = Effect;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Effect> {
        let scheduled = engine.scheduled(self).await?;
        let store = scheduled.store;
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                engine.admit_more_effects(&thread, 1).await?;
                Ok(Plan::new(thread, vec![Entry::EffectScheduled(scheduled.clone())]))
            })
            .await?;
        let place = MessageId { segment: told.place.segment, position: told.place.first };
        match told.entries.into_iter().next() {
            Some(Entry::EffectScheduled(scheduled)) => {
                Ok(OpenEffect { scheduled, place, born: place, claim: None }.told(store))
            }
            _ => Err(Error::broken("an effect is one entry")),
        }
    }
}

impl Carry for ListEffects {
    type Made = Page<Effect>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Page<Effect>> {
        let own = engine.thread(thread).await?;
        let (view, store) = (engine.view(own.id, &own.head, None).await?, engine.store_id().await?);
        let mut effects = Vec::new();
        for item in engine.effect_items(own.id, None).await? {
            if view.holds(item.born) {
                effects.push(engine.read_effect(&item).await?.told(store));
            }
        }
        effects.retain(|effect| self.name.as_ref().is_none_or(|name| effect.name.as_str() == name));
        engine.part(thread, effects, (self.limit, self.cursor), |effect| format!("effect {}", effect.id))
    }
}

impl Carry for RemoveEffect {
    type Made = Deleted;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Deleted> {
        let id = self.effect;
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                let mut entries = Vec::new();
                for item in engine.effect_items(thread.id, Some(id)).await? {
                    let effect = engine.read_effect(&item).await?;
                    let runs = match &effect.claim {
                        Some(claim) => !engine.living([claim.by]).await?.is_empty(),
                        None => false,
                    };
                    if !runs && engine.is_in_view(&thread.head, item.born).await? {
                        entries.push(cancelled(id, "it was removed"));
                    }
                }
                Ok(Plan::new(thread, entries))
            })
            .await?;
        Ok(Deleted { deleted: !told.entries.is_empty() })
    }
}

impl Carry for AdoptEffects {
    type Made = Adopted;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Adopted> {
        let only = match self.thread_id {
            Some(name) => Some(engine.any_thread(name).await?.id),
            None => None,
        };
        let (store, mut after, mut adopted) = (engine.store_id().await?, None, 0);
        let mut threads: Vec<ThreadId> = Vec::new();
        loop {
            let list = ItemList { kind: ItemKind::Effect, account: None, after: after.take(), limit: READ_AT_ONCE };
            let some = engine.shared.stores.store.all_items(list).await?;
            let Some((_, last)) = some.last() else { break };
            after = Some((last.made, last.key.clone()));
            for (thread, item) in &some {
                let wanted = only.is_none_or(|only| only == *thread) && !threads.contains(thread);
                if wanted && engine.read_effect(item).await?.scheduled.store != store {
                    threads.push(*thread);
                }
            }
        }
        for thread in threads {
            match engine.adopt(thread, store).await {
                Ok(count) => adopted += count,
                // It was deleted in between.
                Err(Error::ThreadNotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Adopted { adopted })
    }
}

/// The actor of what the store itself does with effects.
pub(crate) fn runner() -> Actor {
    Actor { kind: ActorKind::System, name: "effects".to_owned() }
}

/// The entry that cancels an effect.
fn cancelled(id: Uuid, why: &str) -> Entry {
    let (outcome, error) = (EffectOutcome::Cancelled, Some(why.to_owned()));
    Entry::EffectEnded(EffectEnded { id, outcome, attempt: None, error })
}

impl Engine {
    /// The same engine, which refuses to schedule effects that `known` does not know.
    #[must_use]
    pub fn with_effects(&self, known: Arc<dyn KnowEffects>) -> Self {
        Self { effects: Some(known), ..self.clone() }
    }

    /// Cancels an effect that waits; false if it runs, has ended, or there is none.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; [`Error::VersionConflict`].
    pub async fn remove_effect(&self, at: impl Into<At>, remove: RemoveEffect) -> Result<bool> {
        Ok(self.call(at, remove).await?.deleted)
    }

    /// Passes if `effect` can be scheduled beside `held` others that are not committed yet.
    ///
    /// # Errors
    /// As [`ScheduleEffect`].
    pub fn may_schedule<'a>(
        &'a self,
        thread: ThreadId,
        effect: &'a ScheduleEffect,
        held: usize,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.scheduled(effect.clone()).await?;
            let thread = self.thread(thread).await?;
            open_for(&thread, Change::Content)?;
            self.admit_more_effects(&thread, held + 1).await
        })
    }

    /// An effect as it will be scheduled, checked.
    pub(crate) async fn scheduled(&self, effect: ScheduleEffect) -> Result<EffectScheduled> {
        let ScheduleEffect { name, args, delay, id } = effect;
        if self.effects.as_ref().is_some_and(|known| !known.knows(&name)) {
            return Err(Error::EffectNotFound { name });
        }
        if delay > ScheduleEffect::DELAY_MS_MAX {
            let rule = format!("has at most {} milliseconds", ScheduleEffect::DELAY_MS_MAX);
            return Err(Invalid::body("delay", rule).into());
        }
        let args = match args {
            Some(args) => args,
            None => Json::parse("args", "{}")?,
        };
        if !args.is_object() {
            return Err(Invalid::body("args", "must be a JSON object").into());
        }
        if args.as_str().len() > ScheduleEffect::ARGS_BYTES_MAX {
            let rule = format!("has at most {} bytes of JSON", ScheduleEffect::ARGS_BYTES_MAX);
            return Err(Invalid::new(Code::TooLarge, "args", rule).into());
        }
        let (created, delay) = (self.shared.now(), i64::try_from(delay.saturating_mul(1_000)).unwrap_or(i64::MAX));
        Ok(EffectScheduled {
            id: id.unwrap_or_else(|| Uuid::from_chance(self.shared.world.chance())),
            name,
            args,
            at: created.plus_micros(delay),
            created,
            by: self.caller.actor.clone(),
            store: self.store_id().await?,
        })
    }

    /// The entries that cancel all effects of a thread, which takes no more work.
    pub(crate) async fn cancelled_effects(&self, thread: ThreadId, why: &str) -> Result<Vec<Entry>> {
        let items = self.effect_items(thread, None).await?;
        items.iter().map(|item| Ok(cancelled(item.key.parse()?, why))).collect()
    }

    /// The effects of a thread that have not ended, or the one with this id, in the order in which they were scheduled.
    pub(crate) async fn effect_items(&self, thread: ThreadId, id: Option<Uuid>) -> Result<Vec<Item>> {
        let key = id.map(|id| id.to_string());
        let query = ItemQuery { thread, kind: ItemKind::Effect, key, limit: usize::MAX };
        Ok(self.shared.stores.store.items(query).await?)
    }

    pub(crate) async fn read_effect(&self, item: &Item) -> Result<OpenEffect> {
        let newest = MessageId { segment: item.entry.segment, position: item.entry.position };
        let (place, claim, entry) = match self.decode(&item.entry).await? {
            Entry::EffectClaimed(claim) => {
                let missing = || StoreError::corrupt(format!("effect {} is not where it was claimed", item.key));
                let entry = self.entry_at(claim.scheduled).await?.ok_or_else(missing)?;
                (claim.scheduled, Some(claim), self.decode(&entry).await?)
            }
            other => (newest, None, other),
        };
        match entry {
            Entry::EffectScheduled(scheduled) => Ok(OpenEffect { scheduled, place, born: item.born, claim }),
            other => Err(not_an_item(item, &other)),
        }
    }

    /// Makes this store run the effects of a thread that another store scheduled. Gives their number.
    async fn adopt(&self, thread: ThreadId, store: Uuid) -> Result<u64> {
        let found = self.any_thread(thread).await?;
        let system = self.acting_as(Caller { account: found.account, actor: runner(), cause: None });
        let told = system
            .tell(thread, || async {
                let thread = system.thread(thread).await?;
                let mut entries = Vec::new();
                for item in system.effect_items(thread.id, None).await? {
                    let scheduled = system.read_effect(&item).await?.scheduled;
                    if scheduled.store != store {
                        entries.push(Entry::EffectScheduled(EffectScheduled { store, ..scheduled }));
                    }
                }
                Ok(Plan::new(thread, entries))
            })
            .await?;
        Ok(told.entries.len() as u64)
    }

    /// A living thread of any account.
    pub(crate) async fn any_thread(&self, name: impl Into<threadkeep_model::ThreadName>) -> Result<Thread> {
        let name = name.into();
        self.shared.stores.store.thread(name).await?.ok_or(Error::ThreadNotFound { thread: name })
    }
}

#[cfg(test)]
mod tests {
    use threadkeep_model::Timestamp;

    use super::*;
    use crate::ground::plan::testing::human;

    fn scheduled() -> EffectScheduled {
        let at = Timestamp::from_micros(5);
        EffectScheduled {
            id: Uuid::from_chance(1),
            name: "remind".parse().expect("a name"),
            args: Json::parse("args", "{}").expect("json"),
            at,
            created: at,
            by: human(),
            store: Uuid::from_chance(2),
        }
    }

    #[test]
    fn an_effect_of_another_store_is_told_as_foreign() {
        let place =
            MessageId { segment: threadkeep_model::SegmentId::from_bits(1), position: threadkeep_model::Position(1) };
        let open = OpenEffect { scheduled: scheduled(), place, born: place, claim: None };
        assert_eq!(open.clone().told(Uuid::from_chance(2)).state, EffectState::Pending);
        assert_eq!(open.told(Uuid::from_chance(3)).state, EffectState::Foreign);
    }
}
